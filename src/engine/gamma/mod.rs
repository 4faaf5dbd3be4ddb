//! Gamma index: how far each point of a reference dose is from an evaluated one, in dose and distance together (Low 1998;
//! Gu 2010, section 2.1).
//!
//! `gamma(r)^2` is the least of `|r - e|^2 / DTA^2 + (De(e) - Dr(r))^2 / DD^2` over every position `e` of the evaluated
//! dose. That dose is not sampled: it is the continuous surface through its voxels, each cell between eight of them divided
//! into six tetrahedra, and the least distance to tetrahedra, faces, edges and vertices is computed in closed form (Ju
//! 2008; [`simplex`]). Cells are visited outward from the point (Wendling 2007) until the next one is farther than the best
//! found, and skipped where their distance, the range of their dose and its gradient show that they cannot be nearer. A point
//! at a voxel of the evaluated dose whose gamma is small needs no search: one formula gives the least distance to the
//! tetrahedra that meet there (`cpu::vertex`).
//!
//! The evaluated dose is not resampled, whatever its spacing, planes, origin and orientation: positions of reference
//! voxels are transformed into its frame. It is defined between the centres of its outermost voxels; a reference voxel outside
//! is counted as such, has no gamma, and neither passes nor fails.
//!
//! # Tetrahedra and trilinear interpolation
//!
//! Both agree at voxels and on the edges of cells. Elsewhere the tetrahedra leave out the mixed terms of the trilinear
//! polynomial and have folds along the diagonals in their place: in the middle of a face they differ by a quarter of its
//! mixed difference `d00 + d11 - d01 - d10`, in the middle of the cell by the mean of its eight corners minus the mean of the two on
//! the diagonal. That is nothing where the dose is linear, and of the second order in the spacing elsewhere.
//! [`Surface::Trilinear`] finds the least distance to the trilinear surface instead, on the CPU, at several times the work.

pub mod bench;
pub mod cpu;
pub mod cuda;
mod error;
mod layers;
mod limits;
mod near_maximum;
mod points;
mod request;
mod result;
mod scan;
pub(crate) mod selftest;
pub(crate) mod simplex;
pub(crate) mod trilinear;
pub(crate) mod wgpu;

pub use error::{GammaError, Role};
pub(crate) use layers::Layers;
pub(crate) use limits::{Limits, planes_per_mm, threshold};
pub use near_maximum::near_maximum;
pub(crate) use points::{CellPoint, HULL_MM, Locate, select};
pub use request::{Checked, Criterion, Dims, GammaRequest, Normalisation, Subset, Surface};
pub(crate) use result::{CardCall, ROUNDING, settled};
pub use result::{Counts, GammaMap, GammaResult, OUTSIDE, UNDEFINED};
pub(crate) use scan::{look, remember};

use crate::dispatch::{HasReceipt, answer};
use crate::{Compute, JobControl};
use case::Receipt;
use std::sync::Arc;

impl HasReceipt for GammaResult {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// Answers a request on a device. Where a card fails, the CPU answers and the receipt says why. The trilinear surface is the
/// CPU's alone.
///
/// # Errors
/// [`GammaError`]: a request or doses that make no sense, doses that do not meet, nothing to analyse; cancelled.
pub fn gamma(
    request: &GammaRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<GammaResult, GammaError> {
    let device = if request.surface == Surface::Trilinear {
        &Compute::Cpu
    } else {
        device
    };
    answer(
        device,
        |card| cuda::gamma(request, card, control),
        |card| wgpu::gamma(request, card, control),
        || cpu::gamma(request, control),
    )
}
