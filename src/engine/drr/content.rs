//! Content of a volume of attenuation, found once: its empty cells, its box, its range.

use crate::cache::{ByteSize, Cache};
use geometry::Volume;
use rayon::prelude::*;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

/// Voxels to a side of a cell of occupancy.
pub const CELL: usize = 8;
/// Samples tested together: in an empty cell none of them, around a place in the cell and at most a voxel apart along each axis,
/// touches anything.
pub const TOGETHER: usize = 8;
/// Their reach beyond the cell: half of `TOGETHER`, the two voxels each lies between, and one for rounding.
const REACH_LOW: usize = TOGETHER / 2 + 1;
const REACH_HIGH: usize = TOGETHER / 2 + 2;

/// Content of a volume.
#[derive(Debug)]
pub struct Content {
    /// A copy in which values that are no finite numbers are 0; only where there are such.
    cleaned: Option<Arc<Volume<f32>>>,
    /// The box of voxels that are not 0; `None` where all are.
    pub part: Option<[Range<usize>; 3]>,
    /// Lowest (0 at most) and highest (0 at least) value.
    pub range: [f32; 2],
    /// For each cell of [`CELL`] voxels to a side, `[z][y][x]`: 1 where it or its surroundings hold anything, else 0.
    pub occupied: Vec<u8>,
    /// Cells along x, y, z.
    pub cells: [usize; 3],
}

impl ByteSize for Content {
    fn bytes(&self) -> usize {
        self.occupied.len()
            + self
                .cleaned
                .as_ref()
                .map_or(0, |clean| size_of_val(clean.data()))
    }
}

impl Content {
    /// The content of a volume, cached.
    pub fn cached(volume: &Volume<f32>, cache: &Cache) -> Arc<Self> {
        let Ok(content) = cache.get(volume.id(), || Ok::<_, Infallible>(Self::new(volume)));
        content
    }

    fn new(volume: &Volume<f32>) -> Self {
        let [nx, ny, nz] = volume.grid().size();
        let cells = [nx, ny, nz].map(|n| n.div_ceil(CELL));
        // Occupied cells along x, row by row of voxels: along x voxels are contiguous.
        let mut rows = vec![0_u8; cells[0] * ny * nz];
        let looked: Vec<[f32; 2]> = rows
            .par_chunks_mut(cells[0] * ny)
            .zip(volume.data().par_chunks(nx * ny))
            .map(|(rows, plane)| {
                let ranges = rows
                    .chunks_mut(cells[0])
                    .zip(plane.chunks(nx))
                    .map(|(cells, row)| look(row, cells));
                ranges.fold([0.0_f32, 0.0], |a, b| [a[0].min(b[0]), a[1].max(b[1])])
            })
            .collect();
        let range = looked
            .iter()
            .fold([0.0_f32, 0.0], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let part = part_of(volume, &rows, cells[0]);
        let planes = spread(&rows, [cells[0], ny, nz], 1);
        let marks = spread(&planes, [cells[0], cells[1], nz], 2);
        let occupied = spread_cells(&marks, cells);
        let finite = range.iter().all(|v| v.is_finite());
        let mut content = Self {
            cleaned: None,
            part,
            range,
            occupied,
            cells,
        };
        if !finite {
            let values = volume
                .data()
                .par_iter()
                .map(|v| if v.is_finite() { *v } else { 0.0 })
                .collect();
            let cleaned = Volume::new(Arc::clone(volume.grid()), values);
            content = Self {
                cleaned: None,
                ..Self::new(&cleaned)
            };
            content.cleaned = Some(Arc::new(cleaned));
        }
        content
    }

    /// The volume, or its cleaned copy.
    pub fn clean(&self, volume: &Arc<Volume<f32>>) -> Arc<Volume<f32>> {
        Arc::clone(self.cleaned.as_ref().unwrap_or(volume))
    }
}

/// Lowest and highest value of a row, infinite where there is a NaN; marks its cells that hold anything.
fn look(row: &[f32], cells: &mut [u8]) -> [f32; 2] {
    let mut range = [0.0_f32; 2];
    for (cell, values) in cells.iter_mut().zip(row.chunks(CELL)) {
        let (mut low, mut high, mut bits) = (0.0_f32, 0.0_f32, 0_u32);
        let mut sum = 0.0_f32;
        for &v in values {
            low = low.min(v);
            high = high.max(v);
            bits |= v.to_bits() << 1;
            sum += v * 0.0;
        }
        *cell = u8::from(bits != 0);
        // Not a number: 0 times it is none either.
        range = if sum == 0.0 {
            [range[0].min(low), range[1].max(high)]
        } else {
            [f32::NEG_INFINITY, f32::INFINITY]
        };
    }
    range
}

/// The box of voxels that are not 0.
fn part_of(volume: &Volume<f32>, rows: &[u8], cells_x: usize) -> Option<[Range<usize>; 3]> {
    let [nx, ny, _] = volume.grid().size();
    let (mut low, mut high) = ([usize::MAX; 3], [0_usize; 3]);
    for (n, cells) in rows.chunks(cells_x).enumerate() {
        let Some(first) = cells.iter().position(|&c| c != 0) else {
            continue;
        };
        let last = cells.iter().rposition(|&c| c != 0).unwrap_or(first);
        let row = &volume.data()[n * nx..(n + 1) * nx];
        let row_and_plane = [n % ny, n / ny];
        let begin = (low[0] > first * CELL).then(|| {
            row[first * CELL..]
                .iter()
                .position(|v| *v != 0.0)
                .map_or(nx, |i| first * CELL + i)
        });
        let until = (last + 1) * CELL;
        let end = (high[0] < until).then(|| {
            row[..until.min(nx)]
                .iter()
                .rposition(|v| *v != 0.0)
                .map_or(0, |i| i + 1)
        });
        low = [
            low[0].min(begin.unwrap_or(nx)),
            low[1].min(row_and_plane[0]),
            low[2].min(row_and_plane[1]),
        ];
        high = [
            high[0].max(end.unwrap_or(0)),
            high[1].max(row_and_plane[0] + 1),
            high[2].max(row_and_plane[1] + 1),
        ];
    }
    (high[2] > 0).then(|| [0, 1, 2].map(|a| low[a]..high[a]))
}

/// Along y (axis 1) or z (2): voxels to cells, each dilated by the reach.
fn spread(marks: &[u8], size: [usize; 3], axis: usize) -> Vec<u8> {
    let stride: usize = size[..axis].iter().product();
    let outer: usize = size[axis + 1..].iter().product();
    let cells = size[axis].div_ceil(CELL);
    let mut out = vec![0_u8; stride * cells * outer];
    for (o, out) in out.chunks_mut(stride * cells).enumerate() {
        for (cell, out) in out.chunks_mut(stride).enumerate() {
            let from = (cell * CELL).saturating_sub(REACH_LOW);
            let until = ((cell + 1) * CELL + REACH_HIGH).min(size[axis]);
            for n in from..until {
                let marks = &marks[(o * size[axis] + n) * stride..][..stride];
                out.iter_mut()
                    .zip(marks)
                    .for_each(|(out, mark)| *out |= mark);
            }
        }
    }
    out
}

/// Along x, where only cells are known: a cell with its neighbours.
fn spread_cells(marks: &[u8], cells: [usize; 3]) -> Vec<u8> {
    marks
        .chunks(cells[0])
        .flat_map(|row| {
            let marked = (0..row.len()).map(|n| {
                row[n.saturating_sub(1)..(n + 2).min(row.len())]
                    .iter()
                    .any(|&m| m != 0)
            });
            marked.map(u8::from).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;

    fn volume(size: [usize; 3], set: &[([usize; 3], f32)]) -> Volume<f32> {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, size).expect("a grid");
        let mut data = vec![0.0; grid.len()];
        set.iter()
            .for_each(|(voxel, value)| data[grid.index(voxel[0], voxel[1], voxel[2])] = *value);
        Volume::new(Arc::new(grid), data)
    }

    /// Wherever eight samples around a place touch a voxel that holds something, the place's cell is marked.
    #[test]
    fn no_sample_is_missed() {
        let size = [37, 50, 29];
        for marked_voxel in [
            [0, 0, 0],
            [36, 49, 28],
            [17, 23, 8],
            [16, 24, 7],
            [15, 25, 16],
        ] {
            let content = Content::new(&volume(size, &[(marked_voxel, 0.5)]));
            assert_eq!(content.part, Some(marked_voxel.map(|n| n..n + 1)));
            // The marked voxel is touched by samples less than a voxel from its centre, these lie less than four from the place.
            let near = |axis: usize| {
                marked_voxel[axis].saturating_sub(4)..(marked_voxel[axis] + 5).min(size[axis])
            };
            for (z, y, x) in
                near(2).flat_map(|z| near(1).flat_map(move |y| near(0).map(move |x| (z, y, x))))
            {
                let cell = [x, y, z].map(|n| n / CELL);
                let index = (cell[2] * content.cells[1] + cell[1]) * content.cells[0] + cell[0];
                assert_eq!(
                    content.occupied[index], 1,
                    "{marked_voxel:?} from {x} {y} {z}"
                );
            }
            let marked = content.occupied.iter().filter(|&&m| m == 1).count();
            assert!(
                marked <= 27,
                "{marked} of {} for one voxel",
                content.occupied.len()
            );
        }
    }

    #[test]
    fn box_and_range_are_those_of_the_values() {
        let content = Content::new(&volume(
            [20, 9, 5],
            &[([3, 7, 1], -0.25), ([19, 2, 4], 2.0), ([11, 8, 1], 1.0)],
        ));
        assert_eq!(content.part, Some([3..20, 2..9, 1..5]));
        assert_eq!(content.range, [-0.25, 2.0]);
        let nothing = Content::new(&volume([20, 9, 5], &[]));
        assert!(nothing.part.is_none() && nothing.occupied.iter().all(|&m| m == 0));
    }

    #[test]
    fn what_is_no_number_becomes_nothing() {
        let dirty = Arc::new(volume(
            [9, 9, 9],
            &[
                ([4, 4, 4], f32::NAN),
                ([5, 4, 4], f32::INFINITY),
                ([6, 4, 4], 1.0),
            ],
        ));
        let content = Content::new(&dirty);
        let clean = content.clean(&dirty);
        assert_eq!(
            (clean.at(4, 4, 4), clean.at(5, 4, 4), clean.at(6, 4, 4)),
            (0.0, 0.0, 1.0)
        );
        assert_eq!(content.part, Some([6..7, 4..5, 4..5]));
        assert_eq!(content.range, [0.0, 1.0]);
    }
}
