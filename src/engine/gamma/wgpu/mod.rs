//! Gamma on a graphics device (`kernels/engine_gamma.wgsl`): the search of [`engine::gamma::cpu`](crate::gamma::cpu), its cells
//! shared out over the threads.

mod places;

use crate::JobControl;
use crate::gamma::{
    CardCall, Checked, Criterion, GammaError, GammaMap, GammaRequest, GammaResult, HULL_MM, Layers,
    Limits, planes_per_mm, select, threshold,
};
use crate::kernel_size::int;
use crate::wgpu::{Bound, Buffer, Device, Failure, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};
use geometry::Volume;
use places::{SplitPosition, places};
use std::sync::Arc;
use std::time::Instant;

const PREPARE: &[&str] = &[include_str!(
    "../../../../kernels/engine_gamma_prepare.wgsl"
)];
const SEARCH: &[&str] = &[
    include_str!("../../../../kernels/engine_gamma_simplex.wgsl"),
    include_str!("../../../../kernels/engine_gamma_point.wgsl"),
    include_str!("../../../../kernels/engine_gamma_search.wgsl"),
    include_str!("../../../../kernels/engine_gamma.wgsl"),
];
const CELLS: Kernel = Kernel {
    name: "gamma_cells",
    sources: PREPARE,
};
const BLOCKS: Kernel = Kernel {
    name: "gamma_blocks",
    sources: PREPARE,
};
const VERTICES: Kernel = Kernel {
    name: "gamma_vertices",
    sources: SEARCH,
};
const NEAR: Kernel = Kernel {
    name: "gamma_near",
    sources: SEARCH,
};
const FAR: Kernel = Kernel {
    name: "gamma_far",
    sources: SEARCH,
};
#[cfg(test)]
pub(crate) const KERNELS: &[&Kernel] = &[&CELLS, &BLOCKS, &VERTICES, &NEAR, &FAR];
/// Threads of a workgroup of the preparation.
const CELL_THREADS: [u32; 3] = [32, 4, 1];
/// Points of a workgroup of the kernels of the search, in order, and workgroups of a layer.
const VERTEX_POINTS: usize = 128;
// Workgroups of 128 threads take 2.9 ms beyond the first cells, of 64 threads 2.2.
const NEAR_POINTS: usize = 64;
const FAR_POINTS: usize = 8;
/// Workgroups of gamma_far that a device has room for: fewer have fewer points each.
const FAR_GROUPS: usize = 8192;
const LAYER: u32 = 16;
/// `WIDE` of the kernels.
const WIDE: usize = 4;
/// A squared gamma beyond all: the kernels' compilers may not know infinity.
const BEYOND: f32 = 3e38;

/// `struct Cells` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Cells {
    size: [u32; 3],
    is_flat: u32,
}

/// `struct Search` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Search {
    limits: Limits,
    reference_size: [u32; 3],
    is_flat: u32,
    size: [i32; 3],
    threshold_gy: f32,
    spacing_mm: [f32; 2],
    sides: [f32; 2],
    planes_per_mm: f32,
    hull_mm: f32,
    shell: i32,
    far_points: u32,
}

impl Search {
    fn new(
        request: &GammaRequest,
        checked: Checked,
        criterion: &Criterion,
        layers: &Layers,
    ) -> Self {
        let grid = layers.values.grid();
        let mut limits = Limits::new(request, checked, criterion, grid.spacing_xy_mm());
        limits.most = limits.most.min(BEYOND);
        let spacing_mm = grid.spacing_xy_mm().map(|step| step as f32);
        Self {
            limits,
            reference_size: request
                .reference
                .grid()
                .size()
                .map(|n| int(n).unsigned_abs()),
            is_flat: u32::from(layers.flat()),
            size: grid.size().map(int),
            threshold_gy: threshold(checked.threshold_gy),
            spacing_mm,
            sides: spacing_mm.map(|step| step * limits.per_mm),
            planes_per_mm: planes_per_mm(grid) as f32,
            hull_mm: HULL_MM as f32,
            shell: 0,
            far_points: 0,
        }
    }
}

/// Answers a request, with its receipt. Its phases: `prepare` (ranges of dose) and `search` by the device's clock, `host`, the rest of
/// the call. The same bits at every run.
///
/// # Errors
/// The request or the device at fault, or a cancelled job.
pub fn gamma(
    request: &GammaRequest,
    device: &Device,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError>> {
    let start = Instant::now();
    let checked = request.check(control.cache())?;
    let layers = Layers::new(request)?;
    let chosen = (request.region.is_some() || request.subset.is_some())
        .then(|| select(request, checked))
        .transpose()?;
    let mut session = device.session(control);
    let work = GammaBuffers::new(&mut session, request, &layers, chosen.as_deref())?;
    work.prepare(&mut session)?;
    let mut maps = Vec::with_capacity(request.criteria.len());
    for (n, criterion) in request.criteria.iter().enumerate() {
        work.search(
            &mut session,
            Search::new(request, checked, criterion, &layers),
        )?;
        let gamma = session.download("gamma", &work.gamma)?;
        maps.push(GammaMap::new(
            *criterion,
            Volume::new(Arc::clone(request.reference.grid()), gamma),
        ));
        control.report((n + 1) as f32 / request.criteria.len() as f32);
    }
    let phases_ms = session.finish()?;
    let call = CardCall {
        device: device.adapter().to_string(),
        start,
        phases_ms,
    };
    Ok(GammaResult::by_card(
        request,
        checked,
        &layers,
        maps,
        call,
        control.cache(),
    )?)
}

/// Buffers of the kernels.
struct GammaBuffers {
    size: [usize; 3],
    is_flat: bool,
    reference: Arc<Buffer<f32>>,
    values: Arc<Buffer<f32>>,
    places: Buffer<SplitPosition>,
    /// Least and greatest dose of each cell, then of each block.
    ranges: Buffer<[f32; 2]>,
    gamma: Buffer<f32>,
    /// Points that a kernel leaves to the next, in turn: how many, then their voxels.
    left: [Buffer<u32>; 2],
}

impl GammaBuffers {
    /// Takes all memory that the job needs.
    fn new(
        session: &mut Session<'_>,
        request: &GammaRequest,
        layers: &Layers,
        chosen: Option<&[u32]>,
    ) -> Result<Self, WgpuError> {
        let voxels = request.reference.data().len();
        let size = layers.values.grid().size();
        let is_flat = layers.flat();
        let blocks: usize = blocks(size, is_flat).iter().product();
        Ok(Self {
            size,
            is_flat,
            reference: match chosen {
                Some(points) => {
                    Arc::new(session.upload("reference dose", &masked(request, points))?)
                }
                None => session.uploaded("reference dose", &request.reference)?,
            },
            values: session.uploaded("evaluated dose", &layers.values)?,
            places: session.upload(
                "places of voxels",
                &places(request.reference.grid(), layers),
            )?,
            ranges: session.alloc("ranges of dose", layers.values.data().len() + blocks)?,
            gamma: session.alloc("gamma", voxels)?,
            left: [
                session.alloc("points", voxels + 1)?,
                session.alloc("points", voxels + 1)?,
            ],
        })
    }

    /// Queues the ranges of dose.
    fn prepare(&self, session: &mut Session<'_>) -> Result<(), WgpuError> {
        let size = self.size.map(|n| int(n).unsigned_abs());
        let cells = session.upload(
            "cells",
            &[Cells {
                size,
                is_flat: u32::from(self.is_flat),
            }],
        )?;
        for (kernel, count) in [
            (&CELLS, self.size),
            (&BLOCKS, blocks(self.size, self.is_flat)),
        ] {
            let groups = Session::groups(count, CELL_THREADS);
            session.run(kernel, &[&cells, &*self.values, &self.ranges], groups)?;
        }
        session.phase("prepare")
    }

    /// Searches every point under a criterion.
    fn search(&self, session: &mut Session<'_>, mut search: Search) -> Result<(), WgpuError> {
        let Self {
            reference,
            values,
            places,
            ranges,
            gamma,
            left: [left, points],
            ..
        } = self;
        let (mut left, mut points) = (left, points);
        let first = session.upload("criterion", &[search])?;
        session.clear_first(left);
        let buffers: [&dyn Bound; 6] = [&first, places, &**reference, &**values, gamma, left];
        session.run(
            &VERTICES,
            &buffers,
            groups_for(gamma.count(), VERTEX_POINTS),
        )?;
        loop {
            let count = session.first("counting points", left)?;
            if count == 0 {
                return session.phase("search");
            }
            let (kernel, of_group) = match search.shell {
                0 => (&NEAR, NEAR_POINTS),
                _ => (&FAR, (count as usize / FAR_GROUPS).clamp(1, FAR_POINTS)),
            };
            search.far_points = of_group as u32;
            (left, points) = (points, left);
            session.clear_first(left);
            let part = session.upload("criterion", &[search])?;
            let buffers: [&dyn Bound; 8] = [
                &part,
                places,
                &**reference,
                &**values,
                gamma,
                left,
                ranges,
                points,
            ];
            let groups = groups_for(count as usize, of_group);
            session.run_weighted(kernel, &buffers, groups, blocks_of(&search))?;
            search.shell += 1;
        }
    }
}

/// Workgroups for `points` points.
fn groups_for(points: usize, of_group: usize) -> [u32; 3] {
    let [_, _, layers] = Session::groups([1, 1, points.div_ceil(of_group)], [1, 1, LAYER]);
    [LAYER, 1, layers]
}

/// Blocks of the shell to search for the points of a workgroup, with which its time goes: the first shell has the block within it, too.
fn blocks_of(search: &Search) -> f64 {
    let up_to = |shell: i32| {
        if shell > 0 {
            f64::from(2 * shell + 1).powi(3)
        } else {
            0.0
        }
    };
    f64::from(search.far_points) * (up_to(search.shell) - up_to(search.shell - 1))
}

/// Blocks of cells along the axes.
fn blocks([nx, ny, nz]: [usize; 3], is_flat: bool) -> [usize; 3] {
    [
        (nx - 1).div_ceil(WIDE),
        (ny - 1).div_ceil(WIDE),
        if is_flat { nz } else { (nz - 1).div_ceil(WIDE) },
    ]
}

/// The reference dose, below every threshold but at the points chosen.
fn masked(request: &GammaRequest, points: &[u32]) -> Vec<f32> {
    let dose = request.reference.data();
    let mut masked = vec![-1.0; dose.len()];
    points
        .iter()
        .for_each(|&point| masked[point as usize] = dose[point as usize]);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgpu::kernel::constant;

    #[test]
    fn the_kernels_have_the_constants_of_the_host() {
        for kernel in [&CELLS, &BLOCKS, &NEAR, &FAR] {
            assert_eq!(constant(kernel, "WIDE") as usize, WIDE);
        }
        assert_eq!(
            constant(&VERTICES, "VERTEX_THREADS") as usize,
            VERTEX_POINTS
        );
        assert_eq!(constant(&NEAR, "THREADS") as usize, NEAR_POINTS);
        assert_eq!(constant(&FAR, "FAR_POINTS") as usize, FAR_POINTS);
        assert_eq!(constant(&VERTICES, "BEYOND") as f32, BEYOND);
    }

    /// The last block has fewer cells, and no block spans two planes of a flat dose.
    #[test]
    fn blocks_cover_all_cells() {
        assert_eq!(blocks([9, 10, 2], false), [2, 3, 1]);
        assert_eq!(blocks([2, 5, 7], true), [1, 1, 7]);
    }

    #[test]
    fn a_shell_is_weighed_by_its_blocks() {
        let blocks_of_shell = |shell, far_points| {
            blocks_of(&Search {
                shell,
                far_points,
                ..Search::zeroed()
            })
        };
        assert_eq!(
            [
                blocks_of_shell(0, 64),
                blocks_of_shell(1, 1),
                blocks_of_shell(2, 1),
                blocks_of_shell(2, 8)
            ],
            [0.0, 27.0, 98.0, 784.0]
        );
    }
}
