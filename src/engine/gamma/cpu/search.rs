//! The search of points: at a voxel first the tetrahedra that meet there; then the cell in which a dose that is linear about the
//! nearest voxel would be nearest, the cells about that voxel, and a box of cells that grows from there towards its nearest
//! side, without the cells whose distance and dose keep them from being nearer.

use super::bound::{Row, Where};
use super::lattice::Lattice;
use super::vertex::VertexNeighbourhood;
use crate::gamma::simplex::{self, AxisTerms, NEARER, ON_FACE};
use crate::gamma::{
    CellPoint, Criterion, GammaRequest, Locate, OUTSIDE, Surface, UNDEFINED, settled, trilinear,
};
use crate::lanes::F32xN;

/// Points searched together, and cells.
const POINTS: usize = 8;
const CELLS: usize = 4;
/// A cell whose bound exceeds a squared distance by this factor is farther, whatever the rounding of its simplices.
const BEYOND: f32 = 1.0 + 1e-4;
/// Cells on either side of the voxel nearest to a point that the search begins with.
const REACH: usize = 2;

/// Data common to the points of a request.
pub struct Job<'a> {
    pub request: &'a GammaRequest,
    pub normalisation_gy: f64,
    pub locate: Locate<'a>,
    pub lattice: Lattice<'a>,
}

impl Job<'_> {
    /// Gamma of reference voxels, by their indices in ascending order: `[point][criterion]`.
    pub fn part(&self, voxels: &[u32], out: &mut [f32]) {
        let criteria = self.request.criteria.len();
        let nx = self.request.reference.grid().size()[0] as u32;
        let mut out = out;
        for run in voxels.chunk_by(|a, b| a + 1 == *b && !b.is_multiple_of(nx)) {
            let (of_run, of_other_runs) = out.split_at_mut(run.len() * criteria);
            out = of_other_runs;
            self.run(run[0] as usize, run.len(), of_run);
        }
    }

    /// ... of voxels side by side.
    fn run(&self, first: usize, count: usize, out: &mut [f32]) {
        let criteria = &self.request.criteria;
        let corners = self.corners(first, count);
        for (n, criterion) in criteria.iter().enumerate() {
            let per_mm = (1.0 / criterion.dta_mm) as f32;
            // Points at voxels need no search: the bench's case H1 takes 0.29 s in place of 2.8, H2 2.9 in place of 3.7.
            let vertex = corners.and_then(|corner| self.neighbourhood(corner, per_mm));
            for start in (0..count).step_by(POINTS) {
                let squares = match (corners, vertex) {
                    (Some([i, j, k]), Some(vertex)) => {
                        self.squares(&vertex, [i + start, j, k], first + start, criterion)
                    }
                    _ => [f32::INFINITY; POINTS],
                };
                for (m, square) in squares.into_iter().enumerate().take(count - start) {
                    let voxel = first + start + m;
                    out[(start + m) * criteria.len() + n] = self.point(voxel, n, per_mm, square);
                }
            }
        }
    }

    fn place(&self, voxel: usize) -> Option<CellPoint> {
        self.locate
            .at(self.request.reference.grid().voxel_of(voxel))
    }

    /// The voxel of the evaluated dose on which the first of a run lies, where all lie on voxels side by side.
    fn corners(&self, first: usize, count: usize) -> Option<[usize; 3]> {
        let start = self.corner(&self.place(first)?)?;
        let end = self.corner(&self.place(first + count - 1)?)?;
        ([start[0] + count - 1, start[1], start[2]] == end).then_some(start)
    }

    /// The voxel on which a point lies.
    fn corner(&self, place: &CellPoint) -> Option<[usize; 3]> {
        if self.lattice.flat || self.request.surface != Surface::Simplices {
            return None;
        }
        let mut corner = place.cell;
        for axis in 0..3 {
            let side = match axis {
                2 => {
                    (self.lattice.planes_mm[corner[2] + 1] - self.lattice.planes_mm[corner[2]])
                        as f32
                }
                _ => self.lattice.spacing_mm[axis],
            };
            let off = place.offset_mm[axis];
            let up = side - off < off;
            corner[axis] += usize::from(up);
            if (if up { side - off } else { off }).abs() > ON_FACE * side {
                return None;
            }
        }
        Some(corner)
    }

    /// For the voxels of a row, where there are cells on either side of it.
    fn neighbourhood(&self, [_, j, k]: [usize; 3], per_mm: f32) -> Option<VertexNeighbourhood> {
        let Lattice {
            size: [_, ny, nz],
            planes_mm: z,
            ..
        } = self.lattice;
        let inside = j > 0 && j + 1 < ny && k > 0 && k + 1 < nz;
        inside.then(|| {
            let along_z = [z[k + 1] - z[k], z[k] - z[k - 1]].map(|mm| mm as f32 * per_mm);
            VertexNeighbourhood::new(self.lattice.spacing_mm.map(|mm| mm * per_mm), along_z)
        })
    }

    /// Squared distances of points at voxels side by side; infinite where they are to be searched for.
    fn squares(
        &self,
        vertex: &VertexNeighbourhood,
        [i, j, k]: [usize; 3],
        voxel: usize,
        criterion: &Criterion,
    ) -> [f32; POINTS] {
        let [nx, ny, _] = self.lattice.size;
        let dose = F32xN::<POINTS>::load(self.request.reference.data(), voxel);
        let per_gy = F32xN(dose.0.map(|gy| (1.0 / self.dose_gy(criterion, gy)) as f32));
        let index = (k * ny + j) * nx + i;
        let F32xN(mut squares) =
            vertex.squares(self.lattice.values, index, [1, nx, nx * ny], dose, per_gy);
        for (n, square) in squares.iter_mut().enumerate() {
            if i + n == 0 || i + n + 1 >= nx {
                *square = f32::INFINITY;
            }
        }
        squares
    }

    fn dose_gy(&self, criterion: &Criterion, reference_gy: f32) -> f64 {
        criterion.dose_gy(self.normalisation_gy, f64::from(reference_gy))
    }

    /// Gamma of a voxel. `square`: its squared distance where that is known.
    fn point(&self, voxel: usize, criterion: usize, per_mm: f32, square: f32) -> f32 {
        let criterion = &self.request.criteria[criterion];
        let dose = self.request.reference.data()[voxel];
        let dose_gy = self.dose_gy(criterion, dose);
        let max_square = self
            .request
            .max_gamma
            .map_or(f32::INFINITY, |max_gamma| max_gamma * max_gamma);
        if square < f32::INFINITY && dose_gy > 0.0 {
            return settled(square.min(max_square));
        }
        let Some(place) = self.place(voxel) else {
            return OUTSIDE;
        };
        if dose_gy <= 0.0 {
            return UNDEFINED;
        }
        let search = Search {
            lattice: &self.lattice,
            place: &place,
            surface: self.request.surface,
            dose,
            per_mm,
            per_gy: (1.0 / dose_gy) as f32,
            sides: self.lattice.spacing_mm.map(|step| step * per_mm),
        };
        settled(search.least(max_square))
    }
}

/// The search of a point under a criterion.
struct Search<'a> {
    lattice: &'a Lattice<'a>,
    place: &'a CellPoint,
    surface: Surface,
    dose: f32,
    /// 1 / DTA and 1 / dose difference.
    per_mm: f32,
    per_gy: f32,
    /// Sides of the cells along x and y, in DTA.
    sides: [f32; 2],
}

/// Start of a search: the voxel nearest to the point, the squared distance to it, and the first cell.
struct Start {
    near: [usize; 3],
    square: f32,
    cell: [usize; 3],
}

impl Search<'_> {
    fn axes(&self) -> usize {
        if self.lattice.flat { 2 } else { 3 }
    }

    /// The least squared distance, at most `max_square`.
    fn least(&self, max_square: f32) -> f32 {
        let start = self.begin();
        if start.square >= max_square
            && self.apart(start.cell) >= max_square * BEYOND
            && self.is_out_of_reach(max_square)
        {
            return max_square;
        }
        let mut best = max_square.min(start.square);
        // A near point first: by it the bounds refuse most of the cells round the start.
        self.cell(start.cell, &mut best);
        // First and last cell of the box along each axis, and how far its sides are: below and above along x, y, z.
        let (mut first, mut last) = (self.place.cell, self.place.cell);
        let mut gaps = [f32::INFINITY; 6];
        for axis in 0..self.axes() {
            first[axis] = start.near[axis].saturating_sub(REACH);
            last[axis] = (start.near[axis] + REACH - 1).min(self.lattice.size[axis] - 2);
            gaps[2 * axis] = self.below(axis, first[axis]);
            gaps[2 * axis + 1] = self.above(axis, last[axis]);
        }
        self.visit(first, last, start.cell, &mut best);
        loop {
            // The nearest side moves first: where it is no nearer than the best point, nothing beyond any side is.
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
            self.visit(from, until, start.cell, &mut best);
        }
    }

    /// Bound of a cell's squared distance, from its distance in space and its range of dose.
    fn apart(&self, [i, j, k]: [usize; 3]) -> f32 {
        let [nx, ny, _] = self.lattice.size;
        let index = (k * ny + j) * nx + i;
        let gap_z = if self.lattice.flat {
            0.0
        } else {
            self.gap(2, k)
        };
        let (gap_y, gap_x) = (self.gap(1, j), self.gap(0, i));
        let [low, high] = [self.lattice.low[index], self.lattice.high[index]];
        let gap_dose = ((low - self.dose).max(self.dose - high) * self.per_gy).max(0.0);
        gap_z * gap_z + gap_y * gap_y + gap_x * gap_x + gap_dose * gap_dose
    }

    /// Whether the squared distance of no cell is below `max_square`: judged by the dose range of whole blocks of cells, where doses have
    /// nothing to do with each other. Each cell is at least as far as its block, to the last bit, so that the search would look into none.
    fn is_out_of_reach(&self, max_square: f32) -> bool {
        if max_square == f32::INFINITY {
            return false;
        }
        let (mut first, mut last) = (self.place.cell, self.place.cell);
        for axis in 0..self.axes() {
            while self.below(axis, first[axis]).powi(2) < max_square {
                first[axis] -= 1;
            }
            while self.above(axis, last[axis]).powi(2) < max_square {
                last[axis] += 1;
            }
        }
        let blocks = self.lattice.blocks();
        let side = [0, 1, 2].map(|axis| self.lattice.block_side(axis));
        // The part of a block within reach, along an axis.
        let gap = |axis: usize, block: usize| {
            let from = (block * side[axis]).max(first[axis]);
            let until = ((block + 1) * side[axis] - 1).min(last[axis]);
            self.edge(axis, from)
                .max(-self.edge(axis, until + 1))
                .max(0.0)
        };
        let blocks_within_reach = |axis: usize| first[axis] / side[axis]..=last[axis] / side[axis];
        blocks_within_reach(2).all(|k| {
            let gap_z = if self.lattice.flat { 0.0 } else { gap(2, k) };
            blocks_within_reach(1).all(|j| {
                let gap_y = gap(1, j);
                let far = gap_z * gap_z + gap_y * gap_y;
                blocks_within_reach(0).all(|i| {
                    let index = (k * blocks.size[1] + j) * blocks.size[0] + i;
                    let gap_x = gap(0, i);
                    let gap_dose = (blocks.low[index] - self.dose)
                        .max(self.dose - blocks.high[index])
                        * self.per_gy;
                    let gap_dose = gap_dose.max(0.0);
                    far + gap_x * gap_x + gap_dose * gap_dose >= max_square
                })
            })
        })
    }

    fn begin(&self) -> Start {
        let [nx, ny, _] = self.lattice.size;
        let (mut near, mut way) = (self.place.cell, [0.0; 3]);
        for axis in 0..self.axes() {
            let (low, high) = (self.edge(axis, near[axis]), self.edge(axis, near[axis] + 1));
            let up = high < -low;
            way[axis] = if up { high } else { low };
            near[axis] += usize::from(up);
        }
        let off = |voxel: [usize; 3]| {
            (self.lattice.values[(voxel[2] * ny + voxel[1]) * nx + voxel[0]] - self.dose)
                * self.per_gy
        };
        let corner = off(near);
        let sign = if corner < 0.0 { -1.0 } else { 1.0 };
        let (mut square, mut remaining, mut n) = (corner * corner, corner.abs(), 1.0_f32);
        // Along each axis, to the side on which the dose falls faster towards the point's: how fast, and a cell's side.
        let mut falls = [(0.0_f32, 1.0_f32); 3];
        for axis in 0..self.axes() {
            let position = self.edge(axis, near[axis]);
            let towards = |to: usize| {
                let mut other = near;
                other[axis] = to;
                let step = self.edge(axis, to) - position;
                (sign * (corner - off(other)) / step.abs(), step)
            };
            let up = if near[axis] + 1 < self.lattice.size[axis] {
                towards(near[axis] + 1)
            } else {
                (0.0, 1.0)
            };
            let down = if near[axis] > 0 {
                towards(near[axis] - 1)
            } else {
                (0.0, -1.0)
            };
            let (fall, step) = if up.0 >= down.0 { up } else { down };
            let fall = fall.max(0.0);
            falls[axis] = (fall, step);
            remaining += step.signum() * fall * way[axis];
            n += fall * fall;
            square += way[axis] * way[axis];
        }
        // The dose as a plane through the voxel with these falls: its nearest point names the cell to begin in.
        let v = remaining.max(0.0) / n;
        let mut cell = self.place.cell;
        for axis in 0..self.axes() {
            let (fall, step) = falls[axis];
            let cells = ((step.signum() * v * fall - way[axis]) / step).max(0.0) as usize;
            let first_cell = if step > 0.0 {
                near[axis] + cells
            } else {
                near[axis].saturating_sub(cells + 1)
            };
            cell[axis] = first_cell.min(self.lattice.size[axis] - 2);
        }
        Start { near, square, cell }
    }

    /// How far the lower side of a cell is, where there are cells beyond.
    #[inline(always)]
    fn below(&self, axis: usize, cell: usize) -> f32 {
        if cell > 0 {
            (-self.edge(axis, cell)).max(0.0)
        } else {
            f32::INFINITY
        }
    }

    /// How far the upper side of a cell is, where there are cells beyond.
    #[inline(always)]
    fn above(&self, axis: usize, cell: usize) -> f32 {
        if cell + 2 < self.lattice.size[axis] {
            self.edge(axis, cell + 1).max(0.0)
        } else {
            f32::INFINITY
        }
    }

    /// Beginning of a cell along an axis, seen from the point, in DTA.
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
        self.edge(axis, cell)
            .max(-self.edge(axis, cell + 1))
            .max(0.0)
    }

    /// Searches the cells of a box but `done`, except those ruled out by their distance and range of dose.
    fn visit(&self, from: [usize; 3], until: [usize; 3], done: [usize; 3], best: &mut f32) {
        for k in from[2]..=until[2] {
            let gap_z = if self.lattice.flat {
                0.0
            } else {
                self.gap(2, k)
            };
            for j in from[1]..=until[1] {
                let gap_y = self.gap(1, j);
                let far = gap_z * gap_z + gap_y * gap_y;
                for i in (from[0]..=until[0]).step_by(CELLS) {
                    if far >= *best {
                        break;
                    }
                    let cells = (until[0] + 1 - i).min(CELLS);
                    self.row([i, j, k], cells, [far, gap_y, gap_z], done, best);
                }
            }
        }
    }

    /// Up to `CELLS` cells side by side. `far`: squared distance along y and z, and the distances.
    #[inline]
    fn row(
        &self,
        [i, j, k]: [usize; 3],
        cells: usize,
        far: [f32; 3],
        done: [usize; 3],
        best: &mut f32,
    ) {
        let [nx, ny, _] = self.lattice.size;
        let index = (k * ny + j) * nx + i;
        let zero = F32xN::<CELLS>::ZERO;
        let begins = F32xN(std::array::from_fn(|n| self.edge(0, i + n)));
        let ends = F32xN(std::array::from_fn(|n| self.edge(0, i + n + 1)));
        let gap_x = begins.max(-ends).max(zero);
        let [low, high] =
            [&self.lattice.low, &self.lattice.high].map(|range| F32xN::<CELLS>::load(range, index));
        let dose = F32xN::splat(self.dose);
        let gap_dose = ((low - dose).max(dose - high) * self.per_gy).max(zero);
        let apart = F32xN::splat(far[0]) + gap_x * gap_x + gap_dose * gap_dose;
        let may = |n: usize, best: f32| n < cells && apart.0[n] < best && [i + n, j, k] != done;
        if !(0..CELLS).any(|n| may(n, *best)) {
            return;
        }
        let bound = if self.lattice.flat || self.surface != Surface::Simplices {
            apart
        } else {
            let doses = std::array::from_fn(|c: usize| {
                let step = (c & 1) + (c >> 1 & 1) * nx + (c >> 2) * nx * ny;
                (F32xN::<CELLS>::load(self.lattice.values, index + step) - dose) * self.per_gy
            });
            let (y, z) = (self.way(1, j), self.way(2, k));
            let per = [1.0 / self.sides[0], 1.0 / self.sides[1], z.per_l.sqrt()];
            let gap = [gap_x, F32xN::splat(far[1]), F32xN::splat(far[2])];
            let (y, z) = (Where::new(y.q), Where::new(z.q));
            Row {
                q_x: begins * per[0],
                y,
                z,
                gap,
                per,
                dose: &doses,
            }
            .bound()
        };
        for n in 0..CELLS {
            if may(n, *best) && bound.0[n] < *best * NEARER {
                self.cell([i + n, j, k], best);
            }
        }
    }

    /// Along an axis of a cell.
    #[inline(always)]
    fn way(&self, axis: usize, cell: usize) -> AxisTerms {
        let side = match axis {
            2 => {
                (self.lattice.planes_mm[cell + 1] - self.lattice.planes_mm[cell]) as f32
                    * self.per_mm
            }
            _ => self.sides[axis],
        };
        let per = 1.0 / side;
        AxisTerms {
            q: self.edge(axis, cell) * per,
            l: side * side,
            per_l: per * per,
        }
    }

    /// Lowers `best` to the distance of a cell.
    fn cell(&self, [i, j, k]: [usize; 3], best: &mut f32) {
        let [nx, ny, _] = self.lattice.size;
        let index = (k * ny + j) * nx + i;
        let dose = |c: usize| {
            let above = if self.lattice.flat { 0 } else { c >> 2 };
            (self.lattice.values[index + (c & 1) + (c >> 1 & 1) * nx + above * nx * ny] - self.dose)
                * self.per_gy
        };
        match (self.surface, self.lattice.flat) {
            (Surface::Simplices, false) => {
                let ways = [self.way(0, i), self.way(1, j), self.way(2, k)];
                simplex::cell(ways, &std::array::from_fn(dose), best);
            }
            (Surface::Simplices, true) => {
                simplex::square(
                    [self.way(0, i), self.way(1, j)],
                    &std::array::from_fn(dose),
                    best,
                );
            }
            (Surface::Trilinear, flat) => {
                let low = [
                    self.edge(0, i),
                    self.edge(1, j),
                    if flat { 0.0 } else { self.edge(2, k) },
                ];
                // In a plane, the same dose above and below.
                let high_z = if flat { 1.0 } else { self.edge(2, k + 1) };
                let high = [self.edge(0, i + 1), self.edge(1, j + 1), high_z];
                trilinear::cell(low, high, &std::array::from_fn(dose), best);
            }
        }
    }
}
