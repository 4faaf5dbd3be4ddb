//! Radiological depth: the job of the verb `path`.

use super::arrays::{as_asked, shown};
use super::case::PyCase;
use super::errors::{Kind, argument};
use super::grid::PyGrid;
use super::job::run;
use super::json::dictionary;
use super::words;
use analysis::depths;
use engine::path::DepthMap;
use geometry::BeamFrame;
use glam::DVec3;
use numpy::PyArray3;
use physics::HuTable;
use pyo3::prelude::*;
use std::sync::Arc;

/// Radiological depths: line integrals of the relative electron density from the source to voxels, mm of water.
#[pyclass(frozen, name = "Depth", module = "beamsight")]
pub struct PyDepth {
    map: DepthMap,
    source_mm: DVec3,
}

/// Radiological depth from the source to every voxel of the CT, mm of water.
///
/// ``gantry``, ``couch``: degrees, IEC 61217. ``isocentre``: x, y, z in patient LPS, mm; left out, the isocentre of the case's
/// first beam. ``sad``: mm from source to axis. Everything in the image counts. Raises ArgumentError, ComputationError.
#[pyfunction]
#[pyo3(signature = (case, /, *, gantry = 0.0, couch = 0.0, isocentre = None, sad = 1000.0, hu_table = HuTable::DEFAULT,
    device = "auto", progress = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the options of the verb, by keyword"
)]
pub fn path(
    py: Python<'_>,
    case: &PyCase,
    gantry: f64,
    couch: f64,
    isocentre: Option<[f64; 3]>,
    sad: f64,
    hu_table: &str,
    device: &str,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyDepth> {
    let ct = case.ct_of()?;
    let first = case
        .0
        .plans
        .iter()
        .flat_map(|plan| &plan.beams)
        .next()
        .map(|beam| beam.isocentre_mm);
    let isocentre_mm = match isocentre {
        Some(xyz) => words::position("isocentre", xyz)?,
        None => {
            first.ok_or_else(|| argument(format!("{}; give the isocentre", case.0.no_plan())))?
        }
    };
    let (gantry, couch) = (
        words::angle("gantry", gantry)?,
        words::angle("couch", couch)?,
    );
    let sad = words::within("sad", sad, [1.0, 100_000.0])?;
    let table = HuTable::resolve(hu_table).map_err(argument)?;
    let device = words::device(device)?;
    let frame = BeamFrame::new(ct.position, gantry, 0.0, couch, isocentre_mm, sad);
    let map = run(py, progress.as_ref(), |control, _| {
        let device = device
            .resolve()
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        depths(
            &ct,
            &case.0.source,
            &table,
            &frame,
            isocentre_mm,
            &device,
            control,
        )
        .map_err(|error| Kind::Computation.caused_by(&error))
    })?;
    Ok(PyDepth {
        map,
        source_mm: frame.source_mm,
    })
}

#[pymethods]
impl PyDepth {
    /// mm of water, float32 ``[z, y, x]``: a read-only view.
    #[getter]
    fn depth_mm<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        shown(py, &self.map.depth_mm)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        as_asked(self.depth_mm(py)?.into_any(), dtype, copy)
    }

    /// The CT's grid; where its planes are uneven, even planes as close as the closest of the CT.
    #[getter]
    fn grid(&self) -> PyGrid {
        PyGrid(Arc::clone(self.map.depth_mm.grid()))
    }

    /// The source: x, y, z in patient LPS, mm.
    #[getter]
    fn source_mm(&self) -> (f64, f64, f64) {
        self.source_mm.into()
    }

    #[getter]
    fn receipt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &*self.map.receipt)
    }

    fn __repr__(&self) -> String {
        let [nx, ny, nz] = self.map.depth_mm.grid().size();
        let mut text = format!(
            "Depth of {nz} x {ny} x {nx} voxels (z, y, x), mm of water, by {}",
            self.map.receipt.device
        );
        self.map
            .receipt
            .warnings
            .iter()
            .for_each(|warning| text += &format!("\n  note: {warning}"));
        text
    }
}
