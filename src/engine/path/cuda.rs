//! Radiological depth on a card (de Greef 2009; `kernels/path.cu`).

use crate::JobControl;
use crate::cuda::grid::{Exact, Frame, WalkGrid};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Resident, Shape, int};
use crate::job_control::Phases;
use crate::path::request::{DepthMap, PathRequest};
use bytemuck::{Pod, Zeroable};
use geometry::{Grid, Volume};
use glam::DVec3;
use std::ops::Range;
use std::sync::Arc;

/// Threads of a block: lanes across the rays, eight rows along them.
const THREADS: [u32; 3] = [32, 8, 1];

/// `struct Rays` of `kernels/path.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Rays {
    grid: WalkGrid,
    spacing_mm: [f32; 2],
    source: [Exact; 3],
    first: [Exact; 3],
    step_i: [Exact; 3],
    step_j: [Exact; 3],
    normal: [Exact; 3],
    targets: [i32; 3],
    out_stride: [i32; 3],
}

/// Answers a request, with its receipt.
pub fn trace(
    request: &PathRequest,
    device: &Device,
    control: &JobControl,
) -> Result<DepthMap, CudaError> {
    let PathRequest {
        density,
        source_mm,
        targets,
    } = request;
    let (depth, phases_ms) = radiological_depth_at(
        device,
        density,
        *source_mm,
        targets,
        PathMethod::default(),
        control,
    )?;
    Ok(request.answer(depth, device.card().to_string(), phases_ms, control.cache()))
}

/// As [`engine::path::cpu::radiological_depth_at`](crate::path::cpu::radiological_depth_at), in f32 and with the
/// times of the phases: `upload` (data that the card does not hold), `trace`, `download`. The same bits at every run.
pub fn radiological_depth_at(
    device: &Device,
    density: &Volume<f32>,
    source_mm: DVec3,
    targets: &Arc<Grid>,
    way: PathMethod,
    control: &JobControl,
) -> Result<(Volume<f32>, Phases), CudaError> {
    let mut card = device.lock();
    control.check()?;
    let mut clock = card.clock()?;
    let work = PathBuffers::prepare(&mut card, density, source_mm, targets, way)?;
    clock.mark(&card, "upload")?;
    control.check()?;
    work.queue(&mut card)?;
    clock.mark(&card, "trace")?;
    let depth = card.download(&work.depth_mm)?;
    clock.mark(&card, "download")?;
    let phases = clock.finish(&card)?;
    control.report(1.0);
    Ok((Volume::new(targets.clone(), depth), phases))
}

/// Method of the ray trace. Both are exact; columns are 2.8 to 3.9 times as fast (`benches/RESULTS.md`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathMethod {
    /// Column by column, through running sums of the density; voxel by voxel where rays are not steep along any column.
    #[default]
    Columns,
    /// Voxel by voxel, as in the paper.
    // With branches: Xiao's branch-free walk gains 1 %.
    Voxels,
}

impl PathMethod {
    pub fn word(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Voxels => "voxels",
        }
    }
}

/// Everything on the card but the launch.
pub struct PathBuffers {
    /// `None` where there is nothing but air.
    rays: Option<(Rays, RayInput)>,
    plane_edges_mm: Vec<Exact>,
    target_planes_mm: Vec<Exact>,
    /// Output of the launch: mm of water, `[z][y][x]` of the targets.
    pub depth_mm: Buffer<f32>,
}

/// Input of the kernels, x and y exchanged where rays run mostly along x.
enum RayInput {
    Density(Arc<Density>),
    Edges(Arc<Edges>),
}

/// The density; values that are not finite are air.
struct Density(Buffer<f32>);

/// At the edges along columns of y: the sum of the densities before, and the density after (the bits of an `f32`), both
/// in quanta.
struct Edges {
    edges: Buffer<[i32; 2]>,
    /// Density of a quantum.
    quantum: f32,
}

/// The box of voxels that hold anything and the greatest density; `None` for air.
struct Matter(Option<([Range<usize>; 3], f32)>);

impl Resident for Density {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Resident for Edges {
    fn bytes(&self) -> usize {
        self.edges.bytes()
    }
}

impl Resident for Matter {
    fn bytes(&self) -> usize {
        0
    }
}

/// A column has one edge more than voxels.
const EDGES_MORE: usize = 1;

impl PathBuffers {
    /// Uploads data that the card does not hold and prepares a launch.
    pub fn prepare(
        card: &mut CardLock<'_>,
        density: &Volume<f32>,
        source_mm: DVec3,
        targets: &Grid,
        way: PathMethod,
    ) -> Result<Self, CudaError> {
        card.fits_int("a grid of depths", targets.len())?;
        let grid = density.grid();
        // Rays mostly along x are traced with x and y exchanged: the lanes of a warp lie across the rays.
        let mean = grid.local_direction(targets.middle_mm() - source_mm).abs();
        let frame = Frame::new(grid, mean.x > mean.y && mean.x > mean.z);
        let [nx, ny, nz] = frame.size();
        card.fits_int("a density", nx * (ny + EDGES_MORE) * nz)?;
        let matter = card.cached((density.id(), "matter"), |card| matter(card, density))?;
        let swapped = frame.swapped;
        let rays = match &matter.0 {
            Some((part, highest))
                if way == PathMethod::Columns && steep(&frame, source_mm, targets) =>
            {
                let name = if swapped {
                    "edges along x"
                } else {
                    "edges along y"
                };
                let edges = card.cached((density.id(), name), |card| {
                    edges(card, density, swapped, *highest)
                })?;
                Some((
                    rays(&frame, part, ny + EDGES_MORE, source_mm, targets),
                    RayInput::Edges(edges),
                ))
            }
            Some((part, _)) => {
                let name = if swapped {
                    "density, x and y exchanged"
                } else {
                    "density"
                };
                let density = card.cached((density.id(), name), |card| {
                    oriented(card, density, swapped).map(Density)
                })?;
                Some((
                    rays(&frame, part, ny, source_mm, targets),
                    RayInput::Density(density),
                ))
            }
            None => None,
        };
        let target_planes_mm = targets
            .planes_mm()
            .iter()
            .map(|&z| Exact::from(z))
            .collect();
        let depth_mm = card.alloc(targets.len())?;
        Ok(Self {
            rays,
            plane_edges_mm: frame.plane_edges_mm(),
            target_planes_mm,
            depth_mm,
        })
    }

    /// Queues the tracing.
    pub fn queue(&self, card: &mut CardLock<'_>) -> Result<(), CudaError> {
        let Some((rays, source)) = &self.rays else {
            return card.fill(&self.depth_mm, 0);
        };
        card.set_constant("path", "plane_edges_mm", &self.plane_edges_mm)?;
        card.set_constant("path", "target_planes_mm", &self.target_planes_mm)?;
        let shape = Shape::covering(rays.targets.map(|n| n.unsigned_abs() as usize), THREADS);
        let out = Arg::from(&self.depth_mm);
        match source {
            RayInput::Density(density) => card.launch(
                "path",
                "path_step",
                shape,
                &[Arg::value(rays), Arg::from(&density.0), out],
            ),
            RayInput::Edges(columns) => {
                let args = [
                    Arg::value(rays),
                    Arg::from(&columns.edges),
                    Arg::value(&columns.quantum),
                    out,
                ];
                card.launch("path", "path_columns", shape, &args)
            }
        }
    }

    /// How the rays are followed.
    pub fn way(&self) -> PathMethod {
        if matches!(self.rays, Some((_, RayInput::Density(_)))) {
            PathMethod::Voxels
        } else {
            PathMethod::Columns
        }
    }
}

/// Whether every ray runs along the columns for at least a quarter of its length, all the same way: then rounding is
/// multiplied by 4 at most. That is least at a corner of the targets.
fn steep(frame: &Frame<'_>, source_mm: DVec3, targets: &Grid) -> bool {
    let grid = frame.grid();
    let axis = usize::from(!frame.swapped);
    let along = targets.corners_mm().map(|corner| {
        let way = grid.local_direction(corner - source_mm);
        way[axis] / way.length()
    });
    along.iter().all(|&a| a >= 0.25) || along.iter().all(|&a| a <= -0.25)
}

fn rays(
    frame: &Frame<'_>,
    part: &[Range<usize>; 3],
    rows: usize,
    source_mm: DVec3,
    targets: &Grid,
) -> Rays {
    let [row, column, normal] = targets.axes();
    let [dx, dy] = targets.spacing_xy_mm();
    let steps = [row * dx, column * dy].map(|step| frame.direction(step));
    let [i, j] = if frame.swapped { [1, 0] } else { [0, 1] };
    let size = targets.size().map(int);
    let stride = [1, size[0], size[0] * size[1]];
    Rays {
        grid: frame.walk_grid(part, rows),
        spacing_mm: frame.spacing_mm(),
        source: frame.position(source_mm),
        first: frame.position(targets.origin_mm()),
        step_i: steps[i],
        step_j: steps[j],
        normal: frame.direction(normal),
        targets: [size[i], size[j], size[2]],
        out_stride: [stride[i], stride[j], stride[2]],
    }
}

/// Finds where a density holds anything.
fn matter(card: &mut CardLock<'_>, density: &Volume<f32>) -> Result<Matter, CudaError> {
    let values = card.uploaded(density)?;
    let extent = card.upload(&[i32::MAX, i32::MAX, i32::MAX, 0, 0, 0, 0])?;
    let [nx, ny, nz] = density.grid().size();
    // Each thread looks through a good part of a row of y.
    let shape = Shape::covering([nx, ny.div_ceil(16), nz], THREADS);
    let args = [
        Arg::from(&*values),
        Arg::int(nx),
        Arg::int(ny),
        Arg::int(nz),
        Arg::from(&extent),
    ];
    card.launch("path", "path_matter", shape, &args)?;
    let extent = card.download(&extent)?;
    let range = |axis: usize| {
        extent[axis].unsigned_abs() as usize..extent[axis + 3].unsigned_abs() as usize
    };
    let highest = f32::from_bits(extent[6].cast_unsigned());
    Ok(Matter(
        (extent[3] > 0).then(|| ([range(0), range(1), range(2)], highest)),
    ))
}

/// A copy in which values that are not finite are air, x and y exchanged where `swapped`.
fn oriented(
    card: &mut CardLock<'_>,
    density: &Volume<f32>,
    swapped: bool,
) -> Result<Buffer<f32>, CudaError> {
    let values = card.uploaded(density)?;
    let out = card.alloc::<f32>(values.count())?;
    let [nx, ny, nz] = density.grid().size();
    let (stride_x, stride_y) = if swapped { (ny, 1) } else { (1, nx) };
    let shape = Shape {
        threads: THREADS,
        ..Shape::covering([nx, ny, nz], [32, 32, 1])
    };
    let [nx, ny, stride_x, stride_y] = [nx, ny, stride_x, stride_y].map(Arg::int);
    let args = [
        Arg::from(&*values),
        nx,
        ny,
        stride_x,
        stride_y,
        Arg::from(&out),
    ];
    card.launch("path", "path_orient", shape, &args)?;
    Ok(out)
}

fn edges(
    card: &mut CardLock<'_>,
    density: &Volume<f32>,
    swapped: bool,
    highest: f32,
) -> Result<Edges, CudaError> {
    let values = if swapped {
        oriented(card, density, true)?
    } else {
        (*card.uploaded(density)?).clone()
    };
    let [nx, ny, nz] = Frame::new(density.grid(), swapped).size();
    // No sum may overflow. A power of two, so that water (1) is exact.
    let quantum = (f64::from(highest) * ny as f64 / f64::from(i32::MAX / 4))
        .log2()
        .ceil()
        .exp2()
        .max(1e-30) as f32;
    let edges = card.alloc::<[i32; 2]>(nx * (ny + EDGES_MORE) * nz)?;
    let shape = Shape::covering([nx, nz, 1], [64, 1, 1]);
    let args = [
        Arg::from(&values),
        Arg::int(nx),
        Arg::int(ny),
        Arg::value(&quantum.recip()),
        Arg::from(&edges),
    ];
    card.launch("path", "path_edges", shape, &args)?;
    Ok(Edges { edges, quantum })
}
