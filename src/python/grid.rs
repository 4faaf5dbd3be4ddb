//! Grids as Python has them: shapes in the order of arrays, positions and spacings in the order x, y, z.

use super::errors::argument;
use geometry::Grid;
use glam::DVec3;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Positions of the voxels of an array ``[z, y, x]`` in patient space (DICOM LPS, mm).
///
/// Voxel ``[k, j, i]`` is centred on ``origin + i dx X + j dy Y + planes[k] Z`` with the rows of ``directions`` as X, Y, Z.
/// Planes may be uneven. Parameters: ``shape`` (planes, rows, columns); ``spacing_mm`` (x, y, z); ``origin_mm`` (x, y, z) of
/// the centre of voxel [0, 0, 0]; ``directions`` unit vectors of x, y and z, a row each (default: the patient's axes);
/// ``planes_mm`` positions of uneven planes along Z from the origin, ascending, in place of the spacing along z.
/// Raises ArgumentError for numbers that make no grid.
#[pyclass(frozen, eq, name = "Grid", module = "beamsight", from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub struct PyGrid(pub Arc<Grid>);

#[pymethods]
impl PyGrid {
    #[new]
    #[pyo3(signature = (shape, spacing_mm, origin_mm = [0.0; 3], directions = None, planes_mm = None))]
    fn new(
        shape: [usize; 3],
        spacing_mm: [f64; 3],
        origin_mm: [f64; 3],
        directions: Option<[[f64; 3]; 3]>,
        planes_mm: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let [nz, ny, nx] = shape;
        if nz
            .checked_mul(ny)
            .and_then(|n| n.checked_mul(nx))
            .is_none_or(|n| n > isize::MAX as usize / 4)
        {
            return Err(argument(format!(
                "a grid of the shape {shape:?} exceeds any memory"
            )));
        }
        let [x, y, z] = directions.unwrap_or([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        let (x, y, z) = (DVec3::from(x), DVec3::from(y), DVec3::from(z));
        if x.cross(y).dot(z) < 0.99 {
            return Err(argument(
                "the third direction is not the cross product of the first two: turn the array (array[::-1]) and move the origin",
            ));
        }
        let planes = planes_mm.map_or_else(
            || {
                if spacing_mm[2] > 0.0 {
                    Ok((0..nz).map(|k| k as f64 * spacing_mm[2]).collect())
                } else {
                    Err(argument("the spacing along z is not above 0 mm"))
                }
            },
            Ok,
        )?;
        if planes.len() != nz {
            return Err(argument(format!(
                "{} positions of planes are given for {nz} planes",
                planes.len()
            )));
        }
        let xy = [spacing_mm[0], spacing_mm[1]];
        Grid::new(DVec3::from(origin_mm), x, y, xy, [nx, ny], &planes)
            .map_err(argument)
            .map(|grid| Self(Arc::new(grid)))
    }

    /// Planes, rows, columns: the shape of its arrays.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let [nx, ny, nz] = self.0.size();
        (nz, ny, nx)
    }

    /// Centre of voxel [0, 0, 0]: x, y, z in patient LPS, mm.
    #[getter]
    fn origin_mm(&self) -> (f64, f64, f64) {
        self.0.origin_mm().into()
    }

    /// Spacing along x, y, z, mm; of uneven planes their mean.
    #[getter]
    pub fn spacing_mm(&self) -> (f64, f64, f64) {
        let [dx, dy] = self.0.spacing_xy_mm();
        let planes = self.0.planes_mm();
        let dz = self
            .0
            .even_plane_spacing_mm()
            .unwrap_or_else(|| planes[planes.len() - 1] / (planes.len() - 1) as f64);
        (dx, dy, dz)
    }

    /// Whether the planes are evenly spaced, to 1e-3 mm.
    #[getter]
    fn is_even(&self) -> bool {
        self.0.even_plane_spacing_mm().is_some()
    }

    /// Positions of the planes along Z from the origin, mm.
    #[getter]
    fn planes_mm<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.planes_mm())
    }

    /// Unit vectors of x, y and z in patient LPS, a row each.
    #[getter]
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.0.axes().map(|axis| axis.to_array().to_vec());
        PyArray2::from_vec2(py, &rows).map_err(argument)
    }

    /// Coordinates along z, y and x in patient LPS, mm, in the order of the array's axes, as pymedphys takes them.
    /// Raises ArgumentError where the grid is turned against the patient's axes.
    #[allow(clippy::type_complexity)]
    fn axes<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
    )> {
        let expected = [DVec3::X, DVec3::Y, DVec3::Z];
        if self
            .0
            .axes()
            .iter()
            .zip(expected)
            .any(|(axis, expected)| axis.dot(expected) < 1.0 - 1e-9)
        {
            return Err(argument(
                "the grid is turned against the patient's axes: it has no coordinates along them",
            ));
        }
        let (origin, [nx, ny, _]) = (self.0.origin_mm(), self.0.size());
        let [dx, dy] = self.0.spacing_xy_mm();
        let [x, y] = [(origin.x, dx, nx), (origin.y, dy, ny)].map(|(first, step, count)| {
            let coordinates = (0..count).map(|n| first + n as f64 * step);
            coordinates.collect::<Vec<f64>>()
        });
        let z = self
            .0
            .planes_mm()
            .iter()
            .map(|plane| origin.z + plane)
            .collect();
        Ok((
            PyArray1::from_vec(py, z),
            PyArray1::from_vec(py, y),
            PyArray1::from_vec(py, x),
        ))
    }

    /// The voxel indices [k, j, i] of a position (x, y, z in patient LPS, mm), not rounded.
    fn voxel(&self, position_mm: [f64; 3]) -> (f64, f64, f64) {
        let voxel = self.0.voxel_from_patient(DVec3::from(position_mm));
        (voxel.z, voxel.y, voxel.x)
    }

    /// The position (x, y, z in patient LPS, mm) of voxel indices [k, j, i], which may be fractions.
    fn position_mm(&self, voxel: [f64; 3]) -> (f64, f64, f64) {
        let [k, j, i] = voxel;
        self.0.patient_from_voxel(DVec3::new(i, j, k)).into()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.size().hash(&mut hasher);
        self.0
            .origin_mm()
            .to_array()
            .map(f64::to_bits)
            .hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, grid) = (slf.py(), &slf.get().0);
        let [dx, dy] = grid.spacing_xy_mm();
        let directions = grid.axes().map(|axis| axis.to_array());
        let planes_mm = grid.planes_mm().to_vec();
        // The spacing along z is not looked at where planes are given.
        let arguments = (
            slf.get().shape(),
            (dx, dy, 1.0),
            grid.origin_mm().to_array(),
            directions,
            planes_mm,
        );
        (slf.get_type(), arguments).into_pyobject(py)
    }

    /// A grid never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let ((nz, ny, nx), (dx, dy, dz), (x, y, z)) =
            (self.shape(), self.spacing_mm(), self.origin_mm());
        let uneven = if self.is_even() {
            ""
        } else {
            " (uneven planes)"
        };
        let [dx, dy, dz, x, y, z] = [dx, dy, dz, x, y, z].map(|mm| (mm * 1e4).round() / 1e4);
        format!(
            "Grid of {nz} x {ny} x {nx} voxels (z, y, x), {dx} x {dy} x {dz} mm (x, y, z){uneven}, from ({x}, {y}, {z}) mm"
        )
    }
}
