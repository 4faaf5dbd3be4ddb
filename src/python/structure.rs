//! Structures: contours as points, volumes as masks.

use super::case::{shown_structure, structure};
use super::errors::{argument, failure};
use super::grid::PyGrid;
use super::html::{cells, page};
use super::job::run;
use super::pickle;
use case::{Case, Structure};
use geometry::{Mask, Volume};
use numpy::ndarray::ArrayView3;
use numpy::{PyArray2, PyArray3, ToPyArray as _};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyTuple};
use results::{Graph, MaskOf};
use std::sync::Arc;

/// The structures of a case, in the order of the files: ``case.structures["PTV"]``, ``case.structures[0]``.
#[pyclass(frozen, name = "Structures", module = "beamsight")]
pub struct PyStructures(pub Case);

/// A region of interest as planar contours.
#[pyclass(frozen, name = "Structure", module = "beamsight")]
pub struct PyStructure {
    pub case: Case,
    pub number: u32,
}

#[derive(FromPyObject)]
enum NameOrPlace {
    Place(isize),
    Name(String),
}

#[pymethods]
impl PyStructures {
    fn __len__(&self) -> usize {
        self.0.structures.structures.len()
    }

    fn __getitem__(&self, place: NameOrPlace) -> PyResult<PyStructure> {
        let structures = &self.0.structures.structures;
        let structure = match place {
            NameOrPlace::Name(name) => {
                structure(&self.0, &name).map_err(|error| PyKeyError::new_err(error.to_string()))?
            }
            NameOrPlace::Place(place) => {
                let index = if place < 0 {
                    place + structures.len() as isize
                } else {
                    place
                };
                let structure = usize::try_from(index)
                    .ok()
                    .and_then(|index| structures.get(index));
                structure.ok_or_else(|| {
                    PyIndexError::new_err(format!("there are {} structures", structures.len()))
                })?
            }
        };
        Ok(shown_structure(&self.0, structure.number))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.structures.by_name(name).is_some()
    }

    /// Their names, in order.
    fn names(&self) -> Vec<String> {
        self.0
            .structures
            .structures
            .iter()
            .map(|s| s.name.clone())
            .collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::structures(py, &self.0)
    }

    /// The list never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// A table of pandas: ``name``, ``number``, ``kind`` and ``contours`` of each.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.0.structures.structures.iter().map(|structure| {
            let contours = structure.contours.iter().count();
            (
                structure.name.clone(),
                structure.number,
                kind_word(structure),
                contours,
            )
        });
        let rows: Vec<_> = rows.collect();
        let columns = [("columns", ("name", "number", "kind", "contours"))].into_py_dict(py)?;
        py.import("pandas")?
            .call_method("DataFrame", (rows,), Some(&columns))
    }

    fn _repr_html_(&self) -> String {
        let mut rows = vec![cells(&[
            String::new(),
            "kind".to_owned(),
            "contours".to_owned(),
        ])];
        for structure in &self.0.structures.structures {
            let contours = structure.contours.iter().count();
            rows.push(cells(&[
                structure.name.clone(),
                kind_word(structure),
                contours.to_string(),
            ]));
        }
        page("Structures", &rows, &[])
    }

    fn __repr__(&self) -> String {
        format!("Structures: {}", self.names().join(", "))
    }
}

impl PyStructure {
    fn structure(&self) -> PyResult<&Structure> {
        self.case
            .structures
            .by_number(self.number)
            .ok_or_else(|| argument("the structure is gone"))
    }

    fn rasterised(&self, py: Python<'_>, grid: Option<&PyGrid>) -> PyResult<Arc<Mask>> {
        let structure = self.structure()?;
        let query = match grid {
            Some(grid) => {
                // A volume on the grid: a mask says which volume it belongs to.
                let size = grid.0.len();
                Some(MaskOf::on(
                    &Volume::new(Arc::clone(&grid.0), vec![0.0; size]),
                    structure,
                ))
            }
            None => MaskOf::new(&self.case, structure),
        };
        let query = query.ok_or_else(|| {
            argument(format!(
                "{} has no contours, or the case no images: there are no voxels",
                structure.name
            ))
        })?;
        run(py, None, |control, _| {
            Graph::default()
                .full(&query, control)
                .map_err(|why| failure(&why))
        })
    }
}

#[pymethods]
impl PyStructure {
    #[getter]
    fn name(&self) -> PyResult<&str> {
        self.structure().map(|s| s.name.as_str())
    }

    /// DICOM ROI number.
    #[getter]
    fn number(&self) -> u32 {
        self.number
    }

    /// external, ptv, ctv, gtv, organ, support, bolus or other.
    #[getter]
    fn kind(&self) -> PyResult<String> {
        self.structure().map(kind_word)
    }

    /// Red, green, blue, 0 to 255.
    #[getter]
    fn colour(&self) -> PyResult<(u8, u8, u8)> {
        self.structure().map(|s| s.colour.0.into())
    }

    /// Closed planar polygons, each an array ``(n, 3)`` of positions (x, y, z in patient LPS, mm); the last point joins the
    /// first. On one plane they combine by exclusive-or, so that an inner one is a hole.
    #[getter]
    fn contours<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let contours = self.structure()?.contours.iter().map(|contour| {
            let points = contour.points_mm.iter();
            let rows: Vec<Vec<f64>> = points.map(|p| p.to_array().to_vec()).collect();
            PyArray2::from_vec2(py, &rows).map_err(argument)
        });
        contours.collect()
    }

    /// Share of each voxel that the structure fills, float32 ``[z, y, x]`` from 0 to 1, on the CT's grid or another.
    /// Raises ComputationError for contours without a volume there.
    #[pyo3(signature = (grid = None))]
    fn coverage<'py>(
        &self,
        py: Python<'py>,
        grid: Option<&PyGrid>,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let mask = self.rasterised(py, grid)?;
        let mut coverage = vec![0.0_f32; mask.grid().len()];
        mask.iter()
            .for_each(|(index, share)| coverage[index] = share);
        array(py, &mask, &coverage)
    }

    /// Voxels of which the structure fills half or more, bool ``[z, y, x]``, on the CT's grid or another.
    #[pyo3(signature = (grid = None))]
    fn mask<'py>(
        &self,
        py: Python<'py>,
        grid: Option<&PyGrid>,
    ) -> PyResult<Bound<'py, PyArray3<bool>>> {
        let mask = self.rasterised(py, grid)?;
        let mut inside = vec![false; mask.grid().len()];
        mask.iter()
            .for_each(|(index, share)| inside[index] = share >= 0.5);
        array(py, &mask, &inside)
    }

    /// Volume of the structure in the image, cm3.
    fn volume_cm3(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.rasterised(py, None)?.volume_cm3())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::structure(py, self)
    }

    /// A structure never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> PyResult<String> {
        let structure = self.structure()?;
        Ok(format!(
            "Structure '{}' ({}), {} contours",
            structure.name,
            self.kind()?,
            structure.contours.iter().count()
        ))
    }
}

/// The word of a structure's kind.
pub fn kind_word(structure: &Structure) -> String {
    let word = serde_json::to_value(structure.kind).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn array<'py, T: numpy::Element + Copy>(
    py: Python<'py>,
    mask: &Mask,
    values: &[T],
) -> PyResult<Bound<'py, PyArray3<T>>> {
    let [nx, ny, nz] = mask.grid().size();
    Ok(ArrayView3::from_shape((nz, ny, nx), values)
        .map_err(argument)?
        .to_pyarray(py))
}
