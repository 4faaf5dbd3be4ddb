//! Head source of a plan's beams, for every engine that samples histories: photons of the focal and the extra-focal source and
//! contaminant electrons, through jaws and leaves, as position, direction, energy and weight in the frame of the dose lattice.
//!
//! [`HeadSource::new`] tabulates the beams, [`HeadSource::set_lines`] takes from the engine how often it samples each energy, and
//! [`HeadSource::sample`] draws a history. Cards sample the same tables (`kernels/head.cuh`).

mod beams;
mod check;
mod collimators;
mod raster;
mod sample;
mod shutter;
mod source;
pub mod tables;

pub(crate) use check::{check_beams, refusal};
pub use sample::{ENGINE_PLACES, PLACE_DELIVERY, Particle};
pub use source::{Cells, HeadRequest, HeadSource, MachineHead, MachineOutput, SampledLine};

#[cfg(test)]
mod tests;
