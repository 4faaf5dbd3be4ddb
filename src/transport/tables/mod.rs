//! Tables of a material in single precision: what the CPU and a card draw from alike.

pub mod angles;
mod bit_grid;
pub mod bremsstrahlung;
pub mod charged;
pub mod compton;
mod file;
mod material;
pub mod photon;
pub mod rayleigh;
mod thresholds;

pub use bit_grid::{BitGrid, Place};
pub use file::{TableFileError, read, write};
pub use material::MaterialTables;
pub use thresholds::Thresholds;

use std::sync::LazyLock;

static STANDARD: LazyLock<Result<Vec<MaterialTables>, TableFileError>> =
    LazyLock::new(|| read(include_bytes!("../../../assets/physics/mc/standard.bin")));

/// Tables of all materials for `Thresholds::STANDARD`, as they ship.
///
/// # Errors
///
/// A file that is not what was written.
pub fn standard() -> Result<&'static [MaterialTables], TableFileError> {
    STANDARD.as_deref().map_err(Clone::clone)
}
