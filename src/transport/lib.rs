//! Transport of photons, electrons and positrons through voxels by Monte Carlo: the scalar form, by which forms for
//! cards are judged. `assets/PHYSICS.md` has the sources.
//!
//! 1. Energies are multiples of a quantum, so that every history accounts for its energy to the last one.
//! 2. Every particle draws its random numbers from its own key, so that a dose depends on neither order nor threads.
//! 3. An electron ends where it reaches its cut-off within a voxel, never by crossing into one.

mod charged;
pub mod draws;
pub mod energy;
mod hard;
mod hinge;
mod history;
mod ledger;
mod majorants;
mod particle;
pub mod philox;
mod photon;
mod rotation;
pub mod run;
pub mod tables;
mod voxels;
mod world;

#[cfg(test)]
mod test_worlds;

pub use history::Histories;
pub use ledger::Ledger;
pub use majorants::{Blocks, MajorantBox, Majorants};
pub use particle::{Deposit, Kind, Particle, Scorer};
pub use rotation::isotropic;
pub use voxels::{Cell, VoxelGrid, Voxels, VoxelsError};
pub use world::{Matter, Settings, World, WorldError};
