//! A case: its CT, structures, plans and doses.

use super::arrays::{as_asked, shown};
use super::dose::PyDose;
use super::errors::{Kind, argument};
use super::grid::PyGrid;
use super::html::{page, row};
use super::job::run;
use super::json::dictionary;
use super::pickle;
use super::plan::PyPlan;
use super::structure::{PyStructure, PyStructures};
use case::{Case, Ct, Remark};
use dicom::Choice;
use geometry::PatientPosition;
use numpy::PyArray3;
use open::{CaseWord, OpenOptions, open};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// CT, structures, plans and doses of one patient. ``beamsight.open`` makes one.
#[pyclass(frozen, name = "Case", module = "beamsight", from_py_object)]
#[derive(Clone, Debug)]
pub struct PyCase(pub Case);

/// A CT: Hounsfield units on a grid whose planes stand where the files put them.
#[pyclass(frozen, name = "Ct", module = "beamsight")]
pub struct PyCt(pub Arc<Ct>);

/// Opens a case.
///
/// ``case``: a folder of DICOM files (searched with its subfolders), one such file, a ``.mha`` volume in HU, a session
/// (``.json``), or ``demo:water``, ``demo:slab``, ``demo:tg119``, ``demo:thorax``. ``series``, ``structure_set`` and
/// ``rtplan`` choose by the numbers of ``beamsight info``, from 1. Raises FileError.
#[pyfunction(name = "open")]
#[pyo3(signature = (case, /, *, series = None, structure_set = None, rtplan = None, accept_patient_mismatch = false,
    position = None, progress = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the options of a CASE, by keyword"
)]
pub fn open_case(
    py: Python<'_>,
    case: PathBuf,
    series: Option<usize>,
    structure_set: Option<usize>,
    rtplan: Option<usize>,
    accept_patient_mismatch: bool,
    position: Option<&str>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyCase> {
    let word = match case.to_str() {
        Some(text) => text
            .parse::<CaseWord>()
            .map_err(|error| Kind::File.caused_by(&error))?,
        None => CaseWord::of_path(case),
    };
    let choice = Choice {
        series: index("series", series)?,
        structure_set: index("structure_set", structure_set)?,
        plan: index("rtplan", rtplan)?,
        other_patients: accept_patient_mismatch,
    };
    let position = position
        .map(|word| {
            word.parse::<PatientPosition>()
                .map_err(|why| argument(format!("position is '{word}': {why}")))
        })
        .transpose()?;
    let case = run(py, progress.as_ref(), |control, _| {
        let case = open(&word, OpenOptions { choice, position }, &|done| {
            control.report(done);
            !control.is_cancelled()
        });
        case.map_err(|error| Kind::File.caused_by(&error))
    })?;
    if let (Some(declared), Some(ct)) = (position, &case.ct)
        && declared != ct.position
    {
        let states = ct.position;
        return Err(argument(format!(
            "{word}: the images say the patient lies {states}, position says {declared}; leave it out for DICOM images"
        )));
    }
    Ok(PyCase(case))
}

/// The index of a number that counts from 1.
fn index(name: &str, number: Option<usize>) -> PyResult<Option<usize>> {
    match number {
        Some(0) => Err(argument(format!("{name} counts from 1"))),
        number => Ok(number.map(|n| n - 1)),
    }
}

impl PyCase {
    /// The CT of a case that needs one.
    pub fn ct_of(&self) -> PyResult<Arc<Ct>> {
        ct_of(&self.0)
    }
}

/// The CT of a case.
///
/// # Errors
/// `ArgumentError`: it has none.
pub fn ct_of(case: &Case) -> PyResult<Arc<Ct>> {
    case.ct
        .clone()
        .ok_or_else(|| argument(format!("{} has no CT", case.source)))
}

#[pymethods]
impl PyCase {
    /// Source of the case: a folder, a file, ``demo:thorax``.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// Name, ID, birth date and sex, as far as the files state them.
    #[getter]
    fn patient<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0.patient)
    }

    #[getter]
    fn ct(&self) -> Option<PyCt> {
        self.0.ct.clone().map(PyCt)
    }

    /// Structures by name (letter case does not count) or by place.
    #[getter]
    fn structures(&self) -> PyStructures {
        PyStructures(self.0.clone())
    }

    #[getter]
    fn plans(&self) -> Vec<PyPlan> {
        self.0
            .plans
            .iter()
            .map(|plan| PyPlan(Arc::clone(plan)))
            .collect()
    }

    /// Doses of the files, as they were read.
    #[getter]
    fn doses(&self) -> Vec<PyDose> {
        self.0.doses.iter().map(PyDose::from_dose).collect()
    }

    /// Remarks on the files as a whole, on the CT series, the structures and the plans, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        let of_ct = self.0.ct.iter().flat_map(|ct| &ct.remarks);
        let of_plans = self.0.plans.iter().flat_map(|plan| &plan.remarks);
        let names = self
            .0
            .remarks
            .iter()
            .chain(of_ct)
            .chain(&self.0.structures.remarks)
            .chain(of_plans);
        names.map(Remark::with_files).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::case(py, &self.0)
    }

    /// A case never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _repr_html_(&self) -> String {
        let Case {
            source,
            patient,
            ct,
            structures,
            plans,
            doses,
            ..
        } = &self.0;
        let ct = ct
            .as_ref()
            .map_or("none".to_owned(), |ct| PyCt(Arc::clone(ct)).__repr__());
        let names: Vec<&str> = structures
            .structures
            .iter()
            .map(|s: &case::Structure| s.name.as_str())
            .collect();
        let mut rows = vec![
            row("patient", patient.in_words()),
            row("CT", ct),
            row("structures", names.join(", ")),
        ];
        rows.extend(plans.iter().map(|plan| row("plan", &plan.name)));
        rows.extend(
            doses
                .iter()
                .map(|dose| row("dose", format!("{}: {}", dose.label, dose.status_text()))),
        );
        page(&format!("Case {source}"), &rows, &self.remarks())
    }

    fn __repr__(&self) -> String {
        let Case {
            ct,
            structures,
            plans,
            doses,
            ..
        } = &self.0;
        let ct = if ct.is_some() { "CT" } else { "no CT" };
        let set: Vec<&str> = structures
            .structures
            .iter()
            .map(|s: &case::Structure| s.name.as_str())
            .collect();
        format!(
            "Case {}: {ct}, {} structures ({}), {} plans, {} doses",
            self.0.source,
            set.len(),
            set.join(", "),
            plans.len(),
            doses.len()
        )
    }
}

#[pymethods]
impl PyCt {
    /// Hounsfield units, float32 ``[z, y, x]``: a read-only view of the CT's own memory.
    #[getter]
    fn hu<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        shown(py, &self.0.hu)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        as_asked(shown(py, &self.0.hu)?.into_any(), dtype, copy)
    }

    #[getter]
    fn grid(&self) -> PyGrid {
        PyGrid(Arc::clone(self.0.hu.grid()))
    }

    /// The shape of its array: planes, rows, columns.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let [nx, ny, nz] = self.0.hu.grid().size();
        (nz, ny, nx)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::ct(py, &self.0)
    }

    /// A CT never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// How the patient lies: HFS, HFP, FFS, FFP, HFDL, HFDR, FFDL or FFDR.
    #[getter]
    fn position(&self) -> &str {
        self.0.position.code()
    }

    #[getter]
    fn frame_of_reference_uid(&self) -> &str {
        &self.0.frame_of_reference_uid
    }

    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    fn __repr__(&self) -> String {
        let [nx, ny, nz] = self.0.hu.grid().size();
        format!(
            "CT '{}': {nz} x {ny} x {nx} voxels (z, y, x), {}",
            self.0.description, self.0.position
        )
    }
}

/// The structure of a name, else the exception that names those that are there.
pub fn structure<'a>(case: &'a Case, name: &str) -> PyResult<&'a case::Structure> {
    case.structures.referenced(None, name).map_err(argument)
}

/// A structure of a case for Python.
pub fn shown_structure(case: &Case, number: u32) -> PyStructure {
    PyStructure {
        case: case.clone(),
        number,
    }
}
