//! Interactions of photons, electrons and positrons with the materials of the house: cross sections, stopping
//! powers, multiple scattering and the densities that Monte Carlo samples, in f64. Sources stand at each formula;
//! `assets/physics/particles/README.md` lists the sources of the tables.

pub mod bremsstrahlung;
pub mod charge;
pub mod constants;
pub mod density_effect;
pub mod elastic;
pub mod goudsmit_saunderson;
pub mod hard;
mod medium;
pub mod mott;
mod numeric;
pub mod photon;
#[cfg(test)]
#[path = "../../tests/common/skip.rs"]
mod skip;
pub mod stopping;
mod table;
#[cfg(test)]
mod test_data;

pub use charge::Charge;
pub use medium::{Constituent, Medium};
