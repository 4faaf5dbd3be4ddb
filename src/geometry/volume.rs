//! Voxel data on a grid.

use super::Grid;
use glam::DVec3;
use rayon::prelude::*;
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Identity of a volume: device copies and textures are keyed by it. Never used twice in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VolumeId(u64);

impl VolumeId {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Values at the voxels of a grid, `[z][y][x]`, x fastest. Immutable: share it as `Arc<Volume<T>>`.
#[derive(Debug)]
pub struct Volume<T: 'static> {
    id: VolumeId,
    grid: Arc<Grid>,
    data: Values<T>,
    /// Greatest value of a volume of numbers, kept from its first use: sums, isodoses and views of a drag all need it.
    greatest: OnceLock<f32>,
}

/// The values of a volume: owned, or borrowed from an array of another library, whose owner is held as long.
enum Values<T: 'static> {
    Own(Vec<T>),
    Lent {
        values: &'static [T],
        _owner: Box<dyn Any + Send + Sync>,
    },
}

impl<T> Values<T> {
    fn all(&self) -> &[T] {
        match self {
            Self::Own(values) => values,
            Self::Lent { values, .. } => values,
        }
    }
}

impl<T> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.all().len())
    }
}

impl<T> Volume<T> {
    /// Wraps `data`, one value a voxel.
    ///
    /// # Panics
    /// When the number of values is not the number of the grid's voxels: a mistake of the calling code, never of a file
    /// (readers check what a file holds before they come here).
    pub fn new(grid: Arc<Grid>, data: Vec<T>) -> Self {
        assert_eq!(data.len(), grid.len(), "one value a voxel");
        Self {
            id: VolumeId::next(),
            grid,
            data: Values::Own(data),
            greatest: OnceLock::new(),
        }
    }

    /// Values in memory that is another's: `owner` keeps them where they are, unchanged, as long as the volume holds it.
    ///
    /// # Panics
    /// As [`Volume::new`].
    pub fn lent(grid: Arc<Grid>, values: &'static [T], owner: Box<dyn Any + Send + Sync>) -> Self {
        assert_eq!(values.len(), grid.len(), "one value a voxel");
        let data = Values::Lent {
            values,
            _owner: owner,
        };
        Self {
            id: VolumeId::next(),
            grid,
            data,
            greatest: OnceLock::new(),
        }
    }

    pub fn id(&self) -> VolumeId {
        self.id
    }

    pub fn grid(&self) -> &Arc<Grid> {
        &self.grid
    }

    pub fn data(&self) -> &[T] {
        self.data.all()
    }

    /// One plane of values, `[y][x]`.
    pub fn plane(&self, k: usize) -> &[T] {
        let [nx, ny, _] = self.grid.size();
        &self.data()[k * nx * ny..(k + 1) * nx * ny]
    }
}

impl<T: Copy> Volume<T> {
    pub fn at(&self, i: usize, j: usize, k: usize) -> T {
        self.data()[self.grid.index(i, j, k)]
    }

    /// The value of the voxel that holds a patient position, `None` outside the grid.
    pub fn nearest(&self, patient_mm: DVec3) -> Option<T> {
        self.grid
            .voxel_at(patient_mm)
            .map(|[i, j, k]| self.at(i, j, k))
    }
}

impl<T: Copy + Sync> Volume<T> {
    /// Index and value of the first voxel that `holds`.
    pub fn first_where(&self, holds: impl Fn(T) -> bool + Sync) -> Option<([usize; 3], T)> {
        let [nx, ny, _] = self.grid.size();
        // Whole parts are looked at without a branch, as hardly any has one.
        let n = self
            .data()
            .par_chunks(TAKEN)
            .enumerate()
            .find_map_first(|(n, part)| {
                let any = part.iter().fold(false, |any, value| any | holds(*value));
                any.then(|| {
                    n * TAKEN
                        + part
                            .iter()
                            .position(|value| holds(*value))
                            .unwrap_or_default()
                })
            })?;
        Some(([n % nx, n / nx % ny, n / (nx * ny)], self.data()[n]))
    }

    /// The smallest box of voxels with all values that `holds`; `None` where there are none.
    pub fn box_of(&self, holds: impl Fn(T) -> bool + Sync) -> Option<[Range<usize>; 3]> {
        let [nx, ny, _] = self.grid.size();
        self.data()
            .par_chunks(nx)
            .with_min_len(64)
            .enumerate()
            .filter_map(|(n, row): (usize, &[T])| -> Option<[Range<usize>; 3]> {
                let first = row.iter().position(|v| holds(*v))?;
                let last = row.iter().rposition(|v| holds(*v))?;
                let (j, k) = (n % ny, n / ny);
                Some([first..last + 1, j..j + 1, k..k + 1])
            })
            .reduce_with(|a: [Range<usize>; 3], b: [Range<usize>; 3]| {
                std::array::from_fn(|i| a[i].start.min(b[i].start)..a[i].end.max(b[i].end))
            })
    }
}

/// Values that are compared at a time; as many threads as there are share the rest.
const LANES: usize = 16;
const TAKEN: usize = 1 << 15;

impl Volume<f32> {
    /// All values times `factor`; another volume, as its identity tells.
    #[must_use]
    pub fn scaled(self, factor: f32) -> Self {
        let mut data = match self.data {
            Values::Own(values) => values,
            Values::Lent { values, .. } => values.to_vec(),
        };
        data.par_chunks_mut(TAKEN)
            .for_each(|part| part.iter_mut().for_each(|value| *value *= factor));
        Self::new(self.grid, data)
    }

    /// The greatest of 0 and the finite values; not-a-number is none.
    pub fn greatest(&self) -> f32 {
        *self
            .greatest
            .get_or_init(|| self.greatest_below(f32::INFINITY))
    }

    /// The greatest of 0 and the values below `limit`; not-a-number is none.
    pub fn greatest_below(&self, limit: f32) -> f32 {
        self.data()
            .par_chunks(TAKEN)
            .map(|part: &[f32]| {
                let (lane_parts, remainder) = part.as_chunks::<LANES>();
                let start = remainder
                    .iter()
                    .fold(0.0, |greatest, gy| greater_below(greatest, *gy, limit));
                let lanes = lane_parts.iter().fold([start; LANES], |greatest, values| {
                    std::array::from_fn(|n| greater_below(greatest[n], values[n], limit))
                });
                lanes.into_iter().fold(0.0, f32::max)
            })
            .reduce(|| 0.0, f32::max)
    }

    /// Trilinear value at a patient position. `None` outside the box of voxels; in the half voxel between the
    /// outermost centres and the box's faces the value of the outermost centre holds.
    pub fn trilinear(&self, patient_mm: DVec3) -> Option<f32> {
        let v = self.grid.voxel_from_patient(patient_mm);
        let s = self.grid.size();
        let mut low = [0usize; 3];
        let mut high = [0usize; 3];
        let mut t = [0f64; 3];
        for a in 0..3 {
            let last = (s[a] - 1) as f64;
            if !(v[a] >= -0.5 && v[a] <= last + 0.5) {
                return None;
            }
            let x = v[a].clamp(0.0, last);
            low[a] = x.floor() as usize;
            high[a] = (low[a] + 1).min(s[a] - 1);
            t[a] = x - low[a] as f64;
        }
        let [below, above] = [low[2], high[2]].map(|k| {
            let [near, far] = [low[1], high[1]].map(|j| {
                let [left, right] = [low[0], high[0]].map(|i| f64::from(self.at(i, j, k)));
                mix(left, right, t[0])
            });
            mix(near, far, t[1])
        });
        Some(mix(below, above, t[2]) as f32)
    }
}

fn greater_below(greatest: f32, gy: f32, limit: f32) -> f32 {
    if gy > greatest && gy < limit {
        gy
    } else {
        greatest
    }
}

fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_is_that_of_a_plain_search() {
        let size = [37, 41, 53];
        let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, size).unwrap());
        for place in [0, 1, 70_000, 80_396] {
            let mut data: Vec<f32> = (0..80_401)
                .map(|n| ((n * 7919) % 1000) as f32 * 0.01)
                .collect();
            data[place] = 12.5;
            data[500] = f32::NAN;
            data[80_400] = f32::INFINITY;
            let volume = Volume::new(Arc::clone(&grid), data);
            assert_eq!([volume.greatest(), volume.greatest()], [12.5; 2]);
            assert_eq!(volume.greatest_below(12.5), 9.99);
        }
        let cold = Volume::new(grid, vec![-1.0; 80_401]);
        assert_eq!(cold.greatest(), 0.0);
    }

    /// A volume of another's memory holds its owner and shows the values where they are; scaled it has its own.
    #[test]
    fn lent_values_stay_where_they_are_as_long_as_their_owner_is_held() {
        static LENT: [f32; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let grid = Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2; 3]).unwrap());
        let owner = Arc::new(());
        let volume = Volume::lent(grid, &LENT, Box::new(Arc::clone(&owner)));
        assert!(std::ptr::eq(volume.data(), &LENT[..]) && volume.at(1, 0, 1) == 6.0);
        assert_eq!(Arc::strong_count(&owner), 2);
        let (id, twice) = (volume.id(), volume.scaled(2.0));
        assert_eq!(
            (twice.data()[7], LENT[7], Arc::strong_count(&owner)),
            (16.0, 8.0, 1)
        );
        assert_ne!(twice.id(), id);
    }

    #[test]
    fn trilinear_reproduces_a_linear_function_on_uneven_planes() {
        let grid = Grid::new(
            DVec3::new(1.0, 2.0, 3.0),
            DVec3::X,
            DVec3::Y,
            [2.0, 3.0],
            [6, 5],
            &[0.0, 1.0, 4.0, 5.5],
        )
        .expect("a valid grid");
        let [nx, ny, nz] = grid.size();
        let mut data = Vec::new();
        for k in 0..nz {
            for j in 0..ny {
                data.extend((0..nx).map(|i| linear_field(grid.centre_mm(i, j, k)) as f32));
            }
        }
        let v = Volume::new(Arc::new(grid), data);
        for p in [
            DVec3::new(1.5, 3.0, 3.5),
            DVec3::new(10.0, 13.0, 8.1),
            DVec3::new(4.4, 9.0, 5.0),
        ] {
            let got = f64::from(v.trilinear(p).expect("inside"));
            assert!(
                (got - linear_field(p)).abs() < 1e-4,
                "{got} for {}",
                linear_field(p)
            );
        }
        assert_eq!(v.trilinear(DVec3::new(1.0, 2.0, 10.0)), None);
        assert_eq!(v.trilinear(DVec3::new(-0.1, 2.0, 3.0)), None);
    }

    fn linear_field(p: DVec3) -> f64 {
        2.0 * p.x - 0.5 * p.y + 0.25 * p.z + 7.0
    }
}
