//! The search of Gu 2010 on a card (`kernels/paper_gu.cu`; his algorithms A1 and A2, section 2.2): cells by distance, points as they
//! lie or sorted by dose difference. The answers are those of the program's search.

use beamsight::engine::JobControl;
use beamsight::engine::cuda::{Arg, Buffer, CardLock, CudaError, Device, Failure, Shape};
use beamsight::engine::gamma::cuda::{Points, gamma_by};
use beamsight::engine::gamma::{GammaError, GammaRequest, GammaResult};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

pub const PTX: &str = include_str!("../../kernels/ptx/paper_gu.ptx");
const SOURCE: &str = "paper_gu";
/// Threads of a block of the search, and the most blocks of a launch: each takes several points in turn.
const THREADS: u32 = 128;
const MOST_BLOCKS: u32 = 1 << 15;
/// `BINS` of the kernels, and the threads of their blocks.
const BINS: usize = 256;
/// Blocks of a sorting kernel, at most.
const MOST_SORTING_BLOCKS: u32 = 4096;

/// Gamma by the search of Gu 2010, its points `sorted` by dose difference or as they lie.
///
/// # Panics
/// Doses on different grids.
pub fn gamma(
    sorted: bool,
    request: &GammaRequest,
    card: &Device,
    control: &JobControl,
) -> Result<GammaResult, Failure<GammaError>> {
    assert_eq!(
        request.reference.grid(),
        request.evaluated.grid(),
        "both doses are on one grid"
    );
    gamma_by(
        &|card, points| queue(card, points, request, sorted),
        request,
        card,
        control,
    )
}

/// Queues the search of the points listed.
fn queue(
    card: &mut CardLock<'_>,
    points: &Points<'_>,
    request: &GammaRequest,
    sorted: bool,
) -> Result<(), CudaError> {
    card.load(SOURCE, PTX)?;
    let sorted = sorted.then(|| by_difference(card, points)).transpose()?;
    let offsets = card.upload(&offsets(request, points))?;
    let args = [
        points.pair.clone(),
        points.limits.clone(),
        Arg::from(points.reference),
        Arg::from(points.values),
        Arg::from(points.quads),
        Arg::from(points.heights),
        Arg::from(points.reference_planes),
        Arg::from(points.planes),
        Arg::from(points.layer_of),
        Arg::from(sorted.as_ref().unwrap_or(points.list)),
        Arg::from(points.count),
        Arg::from(&offsets),
        Arg::int(offsets.count()),
        Arg::from(points.gamma),
    ];
    card.launch(
        SOURCE,
        "gu_search",
        line(points.list.count(), THREADS, MOST_BLOCKS),
        &args,
    )
}

/// The list of points by dose difference.
fn by_difference(card: &mut CardLock<'_>, points: &Points<'_>) -> Result<Buffer<u32>, CudaError> {
    let bins: Buffer<i32> = card.alloc(BINS)?;
    card.fill(&bins, 0)?;
    let sorted = card.alloc(points.list.count())?;
    let mut args = vec![
        points.pair.clone(),
        points.limits.clone(),
        Arg::from(points.reference),
        Arg::from(points.values),
        Arg::from(points.reference_planes),
        Arg::from(points.planes),
        Arg::from(points.layer_of),
        Arg::from(points.list),
        Arg::from(points.count),
        Arg::from(&bins),
    ];
    let wide = BINS as u32;
    let shape = line(points.list.count(), wide, MOST_SORTING_BLOCKS);
    card.launch(SOURCE, "gu_bins", shape, &args)?;
    card.launch(SOURCE, "gu_begin", line(BINS, wide, 1), &[Arg::from(&bins)])?;
    args.push(Arg::from(&sorted));
    card.launch(SOURCE, "gu_sort", shape, &args)?;
    Ok(sorted)
}

fn line(count: usize, threads: u32, most_blocks: u32) -> Shape {
    let mut shape = Shape::covering([count, 1, 1], [threads, 1, 1]);
    shape.blocks[0] = shape.blocks[0].min(most_blocks);
    shape
}

/// Offset of a cell from that of a point, and the least squared distance between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Offset {
    cells: [i32; 3],
    far: f32,
}

/// Every offset that the greatest dose difference lets matter, the nearest first.
fn offsets(request: &GammaRequest, points: &Points<'_>) -> Vec<Offset> {
    let grid = request.evaluated.grid();
    let [dx, dy] = grid.spacing_xy_mm();
    // Planes may be uneven: no two are nearer.
    let dz = grid
        .planes_mm()
        .windows(2)
        .map(|two| two[1] - two[0])
        .fold(f64::INFINITY, f64::min);
    let side = [dx, dy, dz].map(|mm| mm / points.criterion.dta_mm);
    let reach = greatest(request, points);
    let reach = request
        .max_gamma
        .map_or(reach, |most| reach.min(f64::from(most)));
    let most: [i32; 3] = std::array::from_fn(|axis| {
        let cells = (reach / side[axis]).ceil() + 1.0;
        cells.min(grid.size()[axis] as f64) as i32
    });
    let apart =
        |axis: usize, cells: i32| (f64::from(cells.abs() - 1).max(0.0) * side[axis]).powi(2);
    let mut offsets: Vec<Offset> = (-most[2]..=most[2])
        .into_par_iter()
        .flat_map_iter(|k| {
            (-most[1]..=most[1]).flat_map(move |j| {
                (-most[0]..=most[0])
                    .map(move |i| (apart(0, i) + apart(1, j) + apart(2, k), [i, j, k]))
            })
        })
        .filter(|(far, _)| *far <= reach * reach)
        .map(|(far, cells)| Offset {
            cells,
            far: far as f32,
        })
        .collect();
    offsets.par_sort_by(|a, b| a.far.total_cmp(&b.far));
    offsets
}

/// The greatest dose difference between voxels at one place: no gamma is more.
fn greatest(request: &GammaRequest, points: &Points<'_>) -> f64 {
    let doses = request
        .reference
        .data()
        .par_iter()
        .zip(request.evaluated.data());
    let of = |(&reference, &evaluated): (&f32, &f32)| {
        let [reference, evaluated] = [reference, evaluated].map(f64::from);
        let dose_gy = points
            .criterion
            .dose_gy(points.checked.normalisation_gy, reference);
        let is_point = reference >= points.checked.threshold_gy && dose_gy > 0.0;
        if is_point {
            (evaluated - reference).abs() / dose_gy
        } else {
            0.0
        }
    };
    doses.map(of).reduce(|| 0.0, f64::max)
}
