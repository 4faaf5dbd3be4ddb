//! Photons: cross sections by process, and the densities of what each process leaves.

pub mod compton;
mod cross_sections;
pub mod pair;
pub mod photoelectric;
pub mod rayleigh;
mod scattering_functions;

pub use cross_sections::{CrossSections, Processes};
pub use scattering_functions::ScatteringFunctions;
