//! Collapsed-cone convolution/superposition: the dose of a beam.

pub(crate) mod angles;
pub(crate) mod beam;
pub mod bench;
pub(crate) mod calibrate;
pub(crate) mod correction;
pub mod cpu;
pub mod cuda;
pub(crate) mod directions;
pub(crate) mod field_tables;
mod fluences;
pub(crate) mod job;
pub mod reference;
pub(crate) mod selftest;
pub(crate) mod terma;
pub(crate) mod wgpu;

use crate::dispatch::answer;
use crate::dose::{BeamDose, DoseError, DoseRequest};
use crate::{Compute, JobControl};
pub use cuda::CardDose;
pub use fluences::prepare_fluences;

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why.
///
/// # Errors
/// [`DoseError`]: a beam that is no photon beam or delivers nothing, a grid that is uneven or lies outside the
/// patient, or the job was cancelled.
pub fn beam_dose(
    request: &DoseRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<BeamDose, DoseError> {
    answer(
        device,
        |card| cuda::beam_dose(request, card, control),
        |card| wgpu::beam_dose(request, card, control),
        || cpu::beam_dose(request, control),
    )
}
