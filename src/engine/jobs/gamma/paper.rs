//! What the search of Gu 2010 goes by (its algorithms A1 and A2, steps 1 to 3): cells by distance, as far as the greatest dose
//! difference can reach. It stays callable for the tables of the paper; its answers are those of the usual search.

use super::{Checked, Criterion, GammaRequest, Layers, Locate};
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

/// A cell by how many cells it is from that of a point, and no nearer to it than this, squared.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Offset {
    pub cells: [i32; 3],
    pub far: f32,
}

/// All that may be needed, the nearest first.
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
