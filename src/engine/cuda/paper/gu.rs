//! The search of Gu 2010 on a card (`kernels/paper_gu.cu`; his algorithms A1 and A2, section 2.2): cells by distance, points as they
//! lie or sorted by dose difference. The answers are those of the usual search.

use crate::cuda::gamma::{Reads, Work, line};
use crate::cuda::{Arg, Buffer, CardLock, CudaError};
use crate::jobs::gamma::{Checked, Criterion, GammaRequest, Layers, Limits, Locate};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

/// `BINS` of the kernels, and the threads of their blocks.
const BINS: usize = 256;
/// Blocks of a sorting kernel, at most.
const MOST_BLOCKS: u32 = 4096;

/// Queues the search of the points listed, `sorted` by dose difference or as they lie.
pub fn queue(
    work: &Work,
    session: &mut CardLock<'_>,
    limits: &Limits,
    sorted: bool,
    offsets: &[Offset],
) -> Result<(), CudaError> {
    let sorted = sorted.then(|| by_difference(work, session, limits)).transpose()?;
    let offsets = session.upload(offsets)?;
    let mut args = work.search_args(limits, Reads::Quads);
    args.extend([
        Arg::from(sorted.as_ref().unwrap_or(&work.list)),
        Arg::from(&work.count),
        Arg::from(&offsets),
        Arg::int(offsets.count()),
        Arg::from(&work.gamma),
    ]);
    session.launch("paper_gu", "gu_search", work.points(), &args)
}

/// The list of points by dose difference.
fn by_difference(work: &Work, session: &mut CardLock<'_>, limits: &Limits) -> Result<Buffer<u32>, CudaError> {
    let bins: Buffer<i32> = session.alloc(BINS)?;
    session.fill(&bins, 0)?;
    let sorted = session.alloc(work.list.count())?;
    let mut args = vec![
        Arg::value(&work.pair),
        Arg::value(limits),
        Arg::from(&*work.doses.reference),
        Arg::from(&*work.doses.values),
        Arg::from(&work.reference_planes),
        Arg::from(&work.planes),
        Arg::from(&work.layer_of),
        Arg::from(&work.list),
        Arg::from(&work.count),
        Arg::from(&bins),
    ];
    let mut shape = line(work.list.count(), BINS as u32);
    shape.blocks[0] = shape.blocks[0].min(MOST_BLOCKS);
    session.launch("paper_gu", "gu_bins", shape, &args)?;
    session.launch("paper_gu", "gu_begin", line(BINS, BINS as u32), &[Arg::from(&bins)])?;
    args.push(Arg::from(&sorted));
    session.launch("paper_gu", "gu_sort", shape, &args)?;
    Ok(sorted)
}

/// Offset of a cell from that of a point, and the least squared distance between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Offset {
    pub cells: [i32; 3],
    pub far: f32,
}

/// Every offset that the greatest dose difference lets matter, the nearest first.
pub fn offsets(
    request: &GammaRequest,
    checked: Checked,
    layers: &Layers,
    criterion: &Criterion,
) -> Vec<Offset> {
    let grid = layers.values.grid();
    let [dx, dy] = grid.spacing_xy_mm();
    // Planes may be uneven: no two are nearer.
    let dz = grid.planes_mm().windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min);
    let side = [dx, dy, dz].map(|mm| mm / criterion.dta_mm);
    let reach = greatest(request, checked, layers, criterion);
    let reach = request.max_gamma.map_or(reach, |most| reach.min(f64::from(most)));
    let most: [i32; 3] = std::array::from_fn(|axis| {
        let cells = (reach / side[axis]).ceil() + 1.0;
        cells.min(grid.size()[axis] as f64) as i32
    });
    let apart = |axis: usize, cells: i32| (f64::from(cells.abs() - 1).max(0.0) * side[axis]).powi(2);
    let mut offsets: Vec<Offset> = (-most[2]..=most[2])
        .into_par_iter()
        .flat_map_iter(|k| {
            (-most[1]..=most[1]).flat_map(move |j| {
                (-most[0]..=most[0]).map(move |i| (apart(0, i) + apart(1, j) + apart(2, k), [i, j, k]))
            })
        })
        .filter(|(far, _)| *far <= reach * reach)
        .map(|(far, cells)| Offset { cells, far: far as f32 })
        .collect();
    offsets.par_sort_by(|a, b| a.far.total_cmp(&b.far));
    offsets
}

/// The farthest that the voxel nearest to a point is from it, in dose and distance: no gamma is more.
fn greatest(request: &GammaRequest, checked: Checked, layers: &Layers, criterion: &Criterion) -> f64 {
    let (reference, values) = (&request.reference, &layers.values);
    let [nx, ny, _] = reference.grid().size();
    let planes_mm = values.grid().planes_mm();
    let [dx, dy] = values.grid().spacing_xy_mm();
    let locate = Locate::new(reference.grid(), layers);
    let of = |(n, &gy): (usize, &f32)| {
        let gy = f64::from(gy);
        let dose_gy = criterion.dose_gy(checked.normalisation_gy, gy);
        if gy < checked.threshold_gy || dose_gy <= 0.0 {
            return 0.0;
        }
        let Some(place) = locate.at([n % nx, n / nx % ny, n / (nx * ny)]) else { return 0.0 };
        let (mut at, mut square) = (place.cell, 0.0);
        let sides = [dx, dy, planes_mm[at[2] + 1] - planes_mm[at[2]]];
        for axis in 0..3 {
            let off = f64::from(place.offset_mm[axis]);
            let up = sides[axis] - off < off;
            at[axis] += usize::from(up);
            square += ((if up { sides[axis] - off } else { off }) / criterion.dta_mm).powi(2);
        }
        let difference = (f64::from(values.at(at[0], at[1], at[2])) - gy) / dose_gy;
        (square + difference * difference).sqrt()
    };
    reference.data().par_iter().enumerate().map(of).reduce(|| 0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use crate::cuda::gamma::Pair;
    use crate::cuda::kernels::{ptx, signature};
    use crate::jobs::gamma::Limits;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("paper_gu").unwrap();
        let of = |rest: &[usize]| [&[size_of::<Pair>(), size_of::<Limits>()], rest].concat();
        assert_eq!(signature(ptx, "gu_search"), Some(of(&[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 8])));
        assert_eq!(signature(ptx, "gu_bins"), Some(of(&[8; 8])));
        assert_eq!(signature(ptx, "gu_begin"), Some(vec![8]));
        assert_eq!(signature(ptx, "gu_sort"), Some(of(&[8; 9])));
    }
}
