//! The search of one point: a box of cells that grows towards its nearest side.

use super::lattice::Lattice;
use crate::engine::gamma::{GammaRequest, Locate, OUTSIDE, Place, UNDEFINED, settled, simplex};

/// All that the points of a request have in common.
pub struct Job<'a> {
    pub request: &'a GammaRequest,
    pub normalisation_gy: f64,
    pub locate: Locate<'a>,
    pub lattice: Lattice<'a>,
}

impl Job<'_> {
    /// Gamma of a reference voxel, by its index, for every criterion.
    pub fn point(&self, voxel: u32, out: &mut [f32]) {
        let reference = &self.request.reference;
        let [nx, ny, _] = reference.grid().size();
        let voxel = voxel as usize;
        let Some(place) = self.locate.at([voxel % nx, voxel / nx % ny, voxel / (nx * ny)]) else {
            out.fill(OUTSIDE);
            return;
        };
        let dose = reference.data()[voxel];
        for (criterion, out) in self.request.criteria.iter().zip(out) {
            let dose_gy = criterion.dose_gy(self.normalisation_gy, f64::from(dose));
            *out = if dose_gy > 0.0 {
                let search = Search {
                    lattice: &self.lattice,
                    place: &place,
                    dose,
                    per_mm: (1.0 / criterion.dta_mm) as f32,
                    per_gy: (1.0 / dose_gy) as f32,
                };
                let most = self.request.max_gamma.map_or(f32::INFINITY, |most| most * most);
                settled(search.least(most))
            } else {
                UNDEFINED
            };
        }
    }
}

/// One point under one criterion.
struct Search<'a> {
    lattice: &'a Lattice<'a>,
    place: &'a Place,
    dose: f32,
    /// 1 / DTA and 1 / dose difference.
    per_mm: f32,
    per_gy: f32,
}

impl Search<'_> {
    /// The least squared distance, `most` at most.
    fn least(&self, most: f32) -> f32 {
        let mut best = most;
        let home = self.place.cell;
        // First and last cell of the box along each axis.
        let (mut first, mut last) = (home, home);
        self.visit(home, home, &mut best);
        loop {
            let mut nearest = (f32::INFINITY, 0, false);
            for axis in 0..if self.lattice.flat { 2 } else { 3 } {
                if first[axis] > 0 {
                    let gap = -self.edge(axis, first[axis]);
                    if gap < nearest.0 {
                        nearest = (gap, axis, false);
                    }
                }
                if last[axis] + 2 < self.lattice.size[axis] {
                    let gap = self.edge(axis, last[axis] + 1);
                    if gap < nearest.0 {
                        nearest = (gap, axis, true);
                    }
                }
            }
            let (gap, axis, up) = nearest;
            if gap == f32::INFINITY || gap.max(0.0) * gap.max(0.0) >= best {
                return best;
            }
            let (mut from, mut until) = (first, last);
            if up {
                last[axis] += 1;
                (from[axis], until[axis]) = (last[axis], last[axis]);
            } else {
                first[axis] -= 1;
                (from[axis], until[axis]) = (first[axis], first[axis]);
            }
            self.visit(from, until, &mut best);
        }
    }

    /// Where a cell begins along an axis, seen from the point, in DTA.
    #[inline(always)]
    fn edge(&self, axis: usize, cell: usize) -> f32 {
        let home = self.place.cell[axis];
        let way_mm = if axis < 2 {
            (cell as f32 - home as f32) * self.lattice.spacing_mm[axis]
        } else {
            (self.lattice.planes_mm[cell] - self.lattice.planes_mm[home]) as f32
        };
        (way_mm - self.place.offset_mm[axis]) * self.per_mm
    }

    /// How far a cell is along an axis, in DTA.
    #[inline(always)]
    fn gap(&self, axis: usize, cell: usize) -> f32 {
        self.edge(axis, cell).max(-self.edge(axis, cell + 1)).max(0.0)
    }

    /// Looks at the cells of a box.
    #[inline]
    fn visit(&self, from: [usize; 3], until: [usize; 3], best: &mut f32) {
        let [nx, ny, _] = self.lattice.size;
        for k in from[2]..=until[2] {
            let gap_z = if self.lattice.flat { 0.0 } else { self.gap(2, k) };
            let far_z = gap_z * gap_z;
            for j in from[1]..=until[1] {
                let gap_y = self.gap(1, j);
                let far_y = far_z + gap_y * gap_y;
                if far_y >= *best {
                    continue;
                }
                for i in from[0]..=until[0] {
                    let gap_x = self.gap(0, i);
                    let [low, high] = self.lattice.range[(k * ny + j) * nx + i];
                    let gap_dose = ((low - self.dose).max(self.dose - high) * self.per_gy).max(0.0);
                    if far_y + gap_x * gap_x + gap_dose * gap_dose < *best {
                        self.cell([i, j, k], best);
                    }
                }
            }
        }
    }

    #[inline]
    fn cell(&self, [i, j, k]: [usize; 3], best: &mut f32) {
        let [nx, ny, _] = self.lattice.size;
        let values = self.lattice.values;
        let low = [self.edge(0, i), self.edge(1, j)];
        let side = self.lattice.spacing_mm.map(|step| step * self.per_mm);
        let pair = |j: usize, k: usize| {
            let at = (k * ny + j) * nx + i;
            [values[at], values[at + 1]].map(|gy| (gy - self.dose) * self.per_gy)
        };
        let ([a, b], [c, d]) = (pair(j, k), pair(j + 1, k));
        if self.lattice.flat {
            simplex::square(low, side, &[a, b, c, d], best);
            return;
        }
        let ([e, f], [g, h]) = (pair(j, k + 1), pair(j + 1, k + 1));
        let low_z = self.edge(2, k);
        let side_z = (self.lattice.planes_mm[k + 1] - self.lattice.planes_mm[k]) as f32 * self.per_mm;
        simplex::cell([low[0], low[1], low_z], [side[0], side[1], side_z], &[a, b, c, d, e, f, g, h], best);
    }
}
