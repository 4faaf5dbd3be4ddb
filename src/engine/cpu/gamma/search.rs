//! The search of one point: a box of cells that grows towards its nearest side.

use super::lattice::Lattice;
use crate::engine::gamma::simplex::{self, Axis, ON_FACE};
use crate::engine::gamma::{GammaRequest, Locate, OUTSIDE, Place, Surface, UNDEFINED, settled, trilinear};

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
                let per_mm = (1.0 / criterion.dta_mm) as f32;
                let search = Search {
                    lattice: &self.lattice,
                    place: &place,
                    surface: self.request.surface,
                    dose,
                    per_mm,
                    sides: self.lattice.spacing_mm.map(|step| Side::new(step * per_mm)),
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

/// Side of the cells along an axis in DTA: its inverse, its square, the inverse of that.
#[derive(Clone, Copy)]
struct Side {
    per: f32,
    square: f32,
    per_square: f32,
}

impl Side {
    #[inline(always)]
    fn new(side: f32) -> Self {
        let per = 1.0 / side;
        Self { per, square: side * side, per_square: per * per }
    }

    #[inline(always)]
    fn axis(self, low: f32) -> Axis {
        Axis { q: low * self.per, l: self.square, per_l: self.per_square, per: self.per }
    }
}

/// One point under one criterion.
struct Search<'a> {
    lattice: &'a Lattice<'a>,
    place: &'a Place,
    surface: Surface,
    dose: f32,
    /// 1 / DTA and 1 / dose difference.
    per_mm: f32,
    per_gy: f32,
    /// Along x and y.
    sides: [Side; 2],
}

impl Search<'_> {
    /// The least squared distance, `most` at most.
    fn least(&self, most: f32) -> f32 {
        let (to_corner, start) = self.begin();
        let mut best = most.min(to_corner);
        // First and last cell of the box along each axis, and how far its sides are: below and above along x, y, z.
        let (mut first, mut last) = (start, start);
        let mut gaps = [f32::INFINITY; 6];
        for axis in 0..if self.lattice.flat { 2 } else { 3 } {
            gaps[2 * axis] = self.below(axis, first[axis]);
            gaps[2 * axis + 1] = self.above(axis, last[axis]);
        }
        self.visit(start, start, &mut best);
        loop {
            let (mut side, mut gap) = (0, gaps[0]);
            for (n, other) in gaps.iter().enumerate().skip(1) {
                if *other < gap {
                    (side, gap) = (n, *other);
                }
            }
            if gap * gap >= best {
                return best;
            }
            let axis = side / 2;
            let (mut from, mut until) = (first, last);
            if side % 2 == 1 {
                last[axis] += 1;
                gaps[side] = self.above(axis, last[axis]);
                (from[axis], until[axis]) = (last[axis], last[axis]);
            } else {
                first[axis] -= 1;
                gaps[side] = self.below(axis, first[axis]);
                (from[axis], until[axis]) = (first[axis], first[axis]);
            }
            self.visit(from, until, &mut best);
        }
    }

    /// Where to begin: the squared distance to the nearest corner of the cell that holds the point, and the cell to look at
    /// first. A point on a face, an edge or a corner lies in several: the one in which the dose goes most steeply to the point's.
    fn begin(&self) -> (f32, [usize; 3]) {
        let axes = if self.lattice.flat { 2 } else { 3 };
        let (mut near, mut on, mut square) = (self.place.cell, [false; 3], 0.0);
        for axis in 0..axes {
            let (low, high) = (self.edge(axis, near[axis]), self.edge(axis, near[axis] + 1));
            let up = high < -low;
            let way = if up { high } else { low };
            near[axis] += usize::from(up);
            on[axis] = way.abs() <= ON_FACE * (high - low);
            square += way * way;
        }
        let [nx, ny, _] = self.lattice.size;
        let off = |at: [usize; 3]| self.lattice.values[(at[2] * ny + at[1]) * nx + at[0]] - self.dose;
        let corner = off(near);
        let sign = if corner < 0.0 { -1.0 } else { 1.0 };
        let mut start = self.place.cell;
        for axis in 0..axes {
            if on[axis] && near[axis] > 0 && near[axis] + 1 < self.lattice.size[axis] {
                let (mut above, mut below) = (near, near);
                above[axis] += 1;
                below[axis] -= 1;
                let up = sign * off(above) <= sign * off(below);
                start[axis] = if up { near[axis] } else { near[axis] - 1 };
            }
        }
        let corner = corner * self.per_gy;
        (square + corner * corner, start)
    }

    /// How far the lower side of a cell is, where there are cells beyond.
    #[inline(always)]
    fn below(&self, axis: usize, cell: usize) -> f32 {
        if cell > 0 { (-self.edge(axis, cell)).max(0.0) } else { f32::INFINITY }
    }

    /// How far the upper side of a cell is, where there are cells beyond.
    #[inline(always)]
    fn above(&self, axis: usize, cell: usize) -> f32 {
        if cell + 2 < self.lattice.size[axis] { self.edge(axis, cell + 1).max(0.0) } else { f32::INFINITY }
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

    /// Looks at the cells of a box, except those that their distance and their range of dose keep from being nearer.
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
                        self.cell([i, j, k], [gap_x, gap_y, gap_z], best);
                    }
                }
            }
        }
    }

    #[inline]
    fn cell(&self, [i, j, k]: [usize; 3], gap: [f32; 3], best: &mut f32) {
        let [nx, ny, _] = self.lattice.size;
        let values = self.lattice.values;
        let pair = |j: usize, k: usize| {
            let at = (k * ny + j) * nx + i;
            [values[at], values[at + 1]].map(|gy| (gy - self.dose) * self.per_gy)
        };
        let ([a, b], [c, d]) = (pair(j, k), pair(j + 1, k));
        let [x, y] = [self.edge(0, i), self.edge(1, j)];
        let exact = self.surface == Surface::Simplices;
        if self.lattice.flat {
            let axes = [self.sides[0].axis(x), self.sides[1].axis(y)];
            match exact {
                true => simplex::square(axes, &[a, b, c, d], best),
                // The same dose above and below.
                false => trilinear::cell([x, y, 0.0], self.high(x, y, 1.0), &[a, b, c, d, a, b, c, d], best),
            }
            return;
        }
        let ([e, f], [g, h]) = (pair(j, k + 1), pair(j + 1, k + 1));
        let z = self.edge(2, k);
        let side_z = (self.lattice.planes_mm[k + 1] - self.lattice.planes_mm[k]) as f32 * self.per_mm;
        let dose = [a, b, c, d, e, f, g, h];
        match exact {
            true => {
                let axes = [self.sides[0].axis(x), self.sides[1].axis(y), Side::new(side_z).axis(z)];
                if simplex::may_hold(&axes, gap, &dose, *best) {
                    simplex::cell(axes, &dose, best);
                }
            }
            false => trilinear::cell([x, y, z], self.high(x, y, z + side_z), &dose, best),
        }
    }

    /// The highest corner of the cell whose lowest is at `x`, `y`.
    fn high(&self, x: f32, y: f32, z: f32) -> [f32; 3] {
        let [side_x, side_y] = self.lattice.spacing_mm.map(|step| step * self.per_mm);
        [x + side_x, y + side_y, z]
    }
}
