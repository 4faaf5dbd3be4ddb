//! The collapsed-cone engine: its kernels, the transport against direct superposition, the dose against Monte
//! Carlo and published measurements, and its behaviour as a job.

mod axis;
mod behaviour;
mod delivery;
mod direct;
mod energy;
mod kernel;
mod kernel_sets;
mod machines;
pub mod phantom;
mod photons;
mod reference;
mod superposition;
mod water;
mod wide;
