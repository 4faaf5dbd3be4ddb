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
pub use file::{TableFileError, TableSet, read, write};
pub use material::MaterialTables;
pub use thresholds::Thresholds;

use std::sync::LazyLock;

static SHIPPED: LazyLock<Result<Vec<TableSet>, TableFileError>> =
    LazyLock::new(|| read(include_bytes!("../../../assets/physics/mc/tables.bin")));

/// Tables of all materials as they ship, for `Thresholds::STANDARD`, then for `Thresholds::FINE`.
///
/// # Errors
///
/// A file that is not what was written.
pub fn shipped() -> Result<&'static [TableSet], TableFileError> {
    SHIPPED.as_deref().map_err(Clone::clone)
}
