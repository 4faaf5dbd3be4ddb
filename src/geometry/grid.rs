//! Positions of the voxels of a volume: one definition for CT, dose and masks.

use glam::DVec3;
use thiserror::Error;

/// A rectangular grid of voxels in patient space (LPS, mm): evenly spaced columns and rows, and planes at
/// positions of their own, which may be uneven. Voxel `(i, j, k)` is centred on
/// `origin + i dx X + j dy Y + plane[k] Z`, with `X`, `Y`, `Z` the orthonormal, right-handed axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    origin_mm: DVec3,
    axes: [DVec3; 3],
    spacing_xy_mm: [f64; 2],
    /// Plane centres along `axes[2]`, from the origin; strictly ascending, the first is 0.
    planes_mm: Vec<f64>,
    size: [usize; 3],
}

/// Why a grid cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GridError {
    #[error("the grid has no voxels ({0} x {1} x {2})")]
    Empty(usize, usize, usize),
    #[error("the voxel spacing {0} mm is not a positive number")]
    Spacing(f64),
    #[error("the plane positions do not ascend at plane {index} ({before} mm, then {after} mm)")]
    Planes {
        index: usize,
        before: f64,
        after: f64,
    },
    #[error(
        "the row and column directions are not unit vectors at right angles (dot product {dot:.6})"
    )]
    Axes { dot: f64 },
    #[error("the origin is not a finite position")]
    Origin,
}

impl Grid {
    /// A grid with planes at `planes_mm` along the normal (ascending offsets of the plane centres; shifted so
    /// that the first is 0 and the origin moved along). `row` is the direction in which x grows, `column` the direction in which y grows.
    ///
    /// # Errors
    /// [`GridError`] when a size is zero, a number is not finite or positive, planes do not ascend, or the
    /// axes are not orthonormal to 1e-3 (they are re-orthonormalised within that).
    pub fn new(
        origin_mm: DVec3,
        row: DVec3,
        column: DVec3,
        spacing_xy_mm: [f64; 2],
        size_xy: [usize; 2],
        planes_mm: &[f64],
    ) -> Result<Self, GridError> {
        if size_xy[0] == 0 || size_xy[1] == 0 || planes_mm.is_empty() {
            return Err(GridError::Empty(size_xy[0], size_xy[1], planes_mm.len()));
        }
        if !origin_mm.is_finite() {
            return Err(GridError::Origin);
        }
        for spacing in spacing_xy_mm {
            if !(spacing.is_finite() && spacing > 0.0) {
                return Err(GridError::Spacing(spacing));
            }
        }
        let dot = row.dot(column);
        if !(is_unit(row) && is_unit(column) && dot.abs() < 1e-3) {
            return Err(GridError::Axes { dot });
        }
        if !planes_mm[0].is_finite() {
            return Err(GridError::Spacing(planes_mm[0]));
        }
        for (i, pair) in planes_mm.windows(2).enumerate() {
            let step = pair[1] - pair[0];
            if !(step.is_finite() && step > 0.0) {
                return Err(GridError::Planes {
                    index: i + 1,
                    before: pair[0],
                    after: pair[1],
                });
            }
        }
        let x = row.normalize();
        let z = x.cross(column).normalize();
        let axes = [x, z.cross(x), z];
        let first = planes_mm[0];
        Ok(Self {
            origin_mm: origin_mm + axes[2] * first,
            axes,
            spacing_xy_mm,
            planes_mm: planes_mm.iter().map(|p| p - first).collect(),
            size: [size_xy[0], size_xy[1], planes_mm.len()],
        })
    }

    /// An even grid along the patient axes.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn axis_aligned(
        origin_mm: DVec3,
        spacing_mm: DVec3,
        size: [usize; 3],
    ) -> Result<Self, GridError> {
        let planes: Vec<f64> = (0..size[2]).map(|k| k as f64 * spacing_mm.z).collect();
        if !(spacing_mm.z.is_finite() && spacing_mm.z > 0.0) {
            return Err(GridError::Spacing(spacing_mm.z));
        }
        Self::new(
            origin_mm,
            DVec3::X,
            DVec3::Y,
            [spacing_mm.x, spacing_mm.y],
            [size[0], size[1]],
            &planes,
        )
    }

    /// Voxels along x, y, z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.size[0] * self.size[1] * self.size[2]
    }

    /// Never true: a grid has at least one voxel.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Centre of voxel (0, 0, 0), patient LPS, mm.
    pub fn origin_mm(&self) -> DVec3 {
        self.origin_mm
    }

    /// Unit vectors of x (along a row), y (down a column) and z (normal), patient LPS.
    pub fn axes(&self) -> [DVec3; 3] {
        self.axes
    }

    /// Spacing along x and y, mm.
    pub fn spacing_xy_mm(&self) -> [f64; 2] {
        self.spacing_xy_mm
    }

    /// Plane centres along the normal from the origin, mm; ascending, the first is 0.
    pub fn planes_mm(&self) -> &[f64] {
        &self.planes_mm
    }

    /// The plane spacing where it is the same throughout (to 1e-3 mm); `None` where planes are uneven. A single
    /// plane counts as even, with the spacing of x.
    pub fn even_plane_spacing_mm(&self) -> Option<f64> {
        let n = self.planes_mm.len();
        if n == 1 {
            return Some(self.spacing_xy_mm[0]);
        }
        let mean = self.planes_mm[n - 1] / (n - 1) as f64;
        let even = self
            .planes_mm
            .iter()
            .enumerate()
            .all(|(k, p)| (p - mean * k as f64).abs() < 1e-3);
        even.then_some(mean)
    }

    /// Index into voxel data, x fastest.
    pub fn index(&self, i: usize, j: usize, k: usize) -> usize {
        (k * self.size[1] + j) * self.size[0] + i
    }

    /// The voxel of an index into voxel data.
    pub fn voxel_of(&self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.size;
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    /// Voxel boundaries along an axis (0 x, 1 y, 2 z), mm in the grid's own frame (from the centre of voxel
    /// (0,0,0) along the axis): `size + 1` ascending values. Uneven planes meet half-way between their centres;
    /// the outermost reach as far outward as inward.
    pub fn edges_mm(&self, axis: usize) -> Vec<f64> {
        if axis < 2 {
            let d = self.spacing_xy_mm[axis];
            return (0..=self.size[axis])
                .map(|i| (i as f64 - 0.5) * d)
                .collect();
        }
        let p = &self.planes_mm;
        let n = p.len();
        if n == 1 {
            let half = 0.5 * self.spacing_xy_mm[0];
            return vec![-half, half];
        }
        let mut edges = Vec::with_capacity(n + 1);
        edges.push(p[0] - 0.5 * (p[1] - p[0]));
        edges.extend(p.windows(2).map(|w| 0.5 * (w[0] + w[1])));
        edges.push(p[n - 1] + 0.5 * (p[n - 1] - p[n - 2]));
        edges
    }

    /// Patient position (LPS, mm) -> the grid's own frame (mm along the axes from the centre of voxel (0,0,0)).
    pub fn local_from_patient(&self, patient_mm: DVec3) -> DVec3 {
        let d = patient_mm - self.origin_mm;
        DVec3::new(
            d.dot(self.axes[0]),
            d.dot(self.axes[1]),
            d.dot(self.axes[2]),
        )
    }

    /// The grid's own frame (mm) -> patient position (LPS, mm).
    pub fn patient_from_local(&self, local_mm: DVec3) -> DVec3 {
        self.origin_mm
            + self.axes[0] * local_mm.x
            + self.axes[1] * local_mm.y
            + self.axes[2] * local_mm.z
    }

    /// Patient direction -> the grid's own frame.
    pub fn local_direction(&self, direction: DVec3) -> DVec3 {
        DVec3::new(
            direction.dot(self.axes[0]),
            direction.dot(self.axes[1]),
            direction.dot(self.axes[2]),
        )
    }

    /// Patient position -> continuous voxel index; voxel centres are whole numbers. Beyond the outermost planes
    /// the index goes on with the spacing of the outermost pair.
    pub fn voxel_from_patient(&self, patient_mm: DVec3) -> DVec3 {
        let l = self.local_from_patient(patient_mm);
        DVec3::new(
            l.x / self.spacing_xy_mm[0],
            l.y / self.spacing_xy_mm[1],
            self.plane_index(l.z),
        )
    }

    /// The voxel that holds a patient position, `None` outside the grid.
    pub fn voxel_at(&self, patient_mm: DVec3) -> Option<[usize; 3]> {
        let voxel = self.voxel_from_patient(patient_mm).round().to_array();
        let inside = voxel
            .iter()
            .zip(self.size())
            .all(|(v, n)| (0.0..n as f64).contains(v));
        inside.then(|| voxel.map(|v| v as usize))
    }

    /// Whether a patient position lies in the box of all voxels, its faces among it (to a thousandth of a mm).
    pub fn contains(&self, patient_mm: DVec3) -> bool {
        let local = self.local_from_patient(patient_mm).to_array();
        (0..3).all(|axis| {
            let edges = self.edges_mm(axis);
            (edges[0] - 1e-3..=edges[self.size[axis]] + 1e-3).contains(&local[axis])
        })
    }

    /// Continuous voxel index -> patient position (LPS, mm).
    pub fn patient_from_voxel(&self, voxel: DVec3) -> DVec3 {
        let n = self.planes_mm.len();
        let z = if n == 1 {
            voxel.z * self.spacing_xy_mm[0]
        } else {
            let k = (voxel.z.floor().max(0.0) as usize).min(n - 2);
            let p = &self.planes_mm;
            p[k] + (voxel.z - k as f64) * (p[k + 1] - p[k])
        };
        self.patient_from_local(DVec3::new(
            voxel.x * self.spacing_xy_mm[0],
            voxel.y * self.spacing_xy_mm[1],
            z,
        ))
    }

    /// Centre of a voxel, patient LPS, mm.
    pub fn centre_mm(&self, i: usize, j: usize, k: usize) -> DVec3 {
        self.patient_from_local(self.local_centre_mm(i, j, k))
    }

    /// Centre of the voxel of an index into voxel data, patient LPS, mm.
    pub fn centre_of_mm(&self, index: usize) -> DVec3 {
        let [i, j, k] = self.voxel_of(index);
        self.centre_mm(i, j, k)
    }

    /// Centre of a voxel in the grid's own frame, mm.
    pub fn local_centre_mm(&self, i: usize, j: usize, k: usize) -> DVec3 {
        DVec3::new(
            i as f64 * self.spacing_xy_mm[0],
            j as f64 * self.spacing_xy_mm[1],
            self.planes_mm[k],
        )
    }

    /// Extent along z of plane `k`, mm.
    pub fn plane_thickness_mm(&self, k: usize) -> f64 {
        let edges = self.edges_mm(2);
        edges[k + 1] - edges[k]
    }

    /// Volume of a voxel of plane `k`, cm3.
    pub fn voxel_cm3(&self, k: usize) -> f64 {
        self.spacing_xy_mm[0] * self.spacing_xy_mm[1] * self.plane_thickness_mm(k) / 1000.0
    }

    /// The eight corners of the box of all voxels, patient LPS, mm.
    pub fn corners_mm(&self) -> [DVec3; 8] {
        let e = [self.edges_mm(0), self.edges_mm(1), self.edges_mm(2)];
        std::array::from_fn(|c| {
            let corner = [0, 1, 2].map(|axis| {
                if c >> axis & 1 == 0 {
                    e[axis][0]
                } else {
                    e[axis][self.size[axis]]
                }
            });
            self.patient_from_local(DVec3::from(corner))
        })
    }

    /// Middle of the box of all voxels, patient LPS, mm.
    pub fn middle_mm(&self) -> DVec3 {
        self.corners_mm().iter().sum::<DVec3>() / 8.0
    }

    fn plane_index(&self, z: f64) -> f64 {
        let p = &self.planes_mm;
        let n = p.len();
        if n == 1 {
            return z / self.spacing_xy_mm[0];
        }
        let k = p.partition_point(|&q| q <= z).clamp(1, n - 1) - 1;
        k as f64 + (z - p[k]) / (p[k + 1] - p[k])
    }
}

fn is_unit(v: DVec3) -> bool {
    v.is_finite() && (v.length() - 1.0).abs() < 1e-3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uneven() -> Grid {
        let (s, c) = 0.3_f64.sin_cos();
        Grid::new(
            DVec3::new(-10.0, 20.0, 5.0),
            DVec3::new(c, s, 0.0),
            DVec3::new(-s, c, 0.0),
            [0.9, 1.1],
            [20, 30],
            &[-3.0, -1.0, 0.5, 4.5],
        )
        .expect("a valid grid")
    }

    #[test]
    fn voxel_and_patient_are_each_others_inverse() {
        let g = uneven();
        for v in [
            DVec3::new(0.0, 0.0, 0.0),
            DVec3::new(3.25, 17.5, 1.7),
            DVec3::new(-2.0, 40.0, 4.5),
        ] {
            let back = g.voxel_from_patient(g.patient_from_voxel(v));
            assert!((back - v).length() < 1e-9, "{v} became {back}");
        }
    }

    #[test]
    fn uneven_planes_meet_half_way() {
        let e = uneven().edges_mm(2);
        let want = [-1.0, 1.0, 2.75, 5.5, 9.5];
        assert!(
            e.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12),
            "{e:?}"
        );
    }

    #[test]
    fn bad_grids_are_refused() {
        let z = [0.0, 1.0];
        assert!(matches!(
            grid_of_two(DVec3::X, DVec3::Y, [0.0, 1.0], &z),
            Err(GridError::Spacing(_))
        ));
        assert!(matches!(
            grid_of_two(DVec3::X, DVec3::Y, [1.0, f64::NAN], &z),
            Err(GridError::Spacing(_))
        ));
        assert!(matches!(
            grid_of_two(DVec3::X, DVec3::X, [1.0, 1.0], &z),
            Err(GridError::Axes { .. })
        ));
        assert!(matches!(
            grid_of_two(DVec3::X, DVec3::Y, [1.0, 1.0], &[0.0, 0.0]),
            Err(GridError::Planes { .. })
        ));
        assert!(matches!(
            grid_of_two(DVec3::X, DVec3::Y, [1.0, 1.0], &[]),
            Err(GridError::Empty(..))
        ));
    }

    fn grid_of_two(row: DVec3, col: DVec3, s: [f64; 2], p: &[f64]) -> Result<Grid, GridError> {
        Grid::new(DVec3::ZERO, row, col, s, [2, 2], p)
    }
}
