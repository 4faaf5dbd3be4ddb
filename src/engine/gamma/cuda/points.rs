//! A search by kernels of the caller, which the program does not embed: a paper's search, for its tables (`benches/gu`).

use super::{GammaBuffers, Search, gamma_with};
use crate::JobControl;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Failure};
use crate::gamma::{Checked, Criterion, GammaError, GammaRequest, GammaResult};

/// Inputs and outputs of a search in space on a card.
pub struct Points<'a> {
    pub criterion: &'a Criterion,
    pub checked: Checked,
    /// `struct Pair` and `struct Criterion` of `kernels/gamma_search.cuh`.
    pub pair: Arg,
    pub limits: Arg,
    pub reference: &'a Buffer<f32>,
    /// The evaluated dose, and each of its voxels with those next to it along x, y and both.
    pub values: &'a Buffer<f32>,
    pub quads: &'a Buffer<[f32; 4]>,
    /// Planes of the evaluated dose, each as the sum of two numbers; and of both doses.
    pub heights: &'a Buffer<[f32; 2]>,
    pub reference_planes: &'a Buffer<f64>,
    pub planes: &'a Buffer<f64>,
    pub layer_of: &'a Buffer<i32>,
    /// Voxels of the reference over the threshold, and how many.
    pub list: &'a Buffer<u32>,
    pub count: &'a Buffer<i32>,
    /// The map.
    pub gamma: &'a Buffer<f32>,
}

/// As [`gamma`](super::gamma), but `search` queues the kernels of a search in space.
// The paper's search, by distance, takes 50 to 84 ms where bounds take 0.5 to 1.5.
pub fn gamma_by(
    search: &dyn Fn(&mut CardLock<'_>, &Points<'_>) -> Result<(), CudaError>,
    request: &GammaRequest,
    device: &Device,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError>> {
    gamma_with(
        request,
        device,
        control,
        true,
        |card, work: &GammaBuffers, query: &Search<'_>| {
            if work.flat {
                return work.queue_plane(card, &query.limits);
            }
            let points = Points {
                criterion: query.criterion,
                checked: query.checked,
                pair: Arg::value(&work.pair),
                limits: Arg::value(&query.limits),
                reference: &work.doses.reference,
                values: &work.doses.values,
                quads: &work.cells.quads,
                heights: &work.heights,
                reference_planes: &work.reference_planes,
                planes: &work.planes,
                layer_of: &work.layer_of,
                list: &work.list,
                count: &work.count,
                gamma: &work.gamma,
            };
            search(card, &points)
        },
    )
}
