//! Plans: read, changed as dictionaries, written.

use super::case::PyCase;
use super::errors::{Kind, argument, guarded};
use super::html::{page, row};
use super::json::dictionary;
use super::pickle;
use super::words::check_new;
use case::{Plan, Remark};
use files::plan_toml;
use geometry::PatientPosition;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// A plan: beams with their angles, apertures and monitor units, prescription and fractions.
///
/// A changed plan is another one: ``Plan.from_dict({**plan.to_dict(), "fractions": 5})``. Angles are degrees (IEC 61217),
/// positions mm (patient LPS), doses Gy of all fractions.
#[pyclass(frozen, name = "Plan", module = "beamsight", from_py_object)]
#[derive(Clone, Debug)]
pub struct PyPlan(pub Arc<Plan>);

#[pymethods]
impl PyPlan {
    /// Reads a plan file (``.toml``, assets/plans/README.md); one without a patient position gets the position of the case's CT.
    /// Raises FileError.
    #[staticmethod]
    #[pyo3(signature = (path, case = None))]
    fn read(path: PathBuf, case: Option<&PyCase>) -> PyResult<Self> {
        let position = case
            .and_then(|case| case.0.ct.as_ref())
            .map_or(PatientPosition::default(), |ct| ct.position);
        let plan = guarded(|| {
            plan_toml::read(&path, position).map_err(|error| Kind::File.caused_by(&error))
        })?;
        Ok(Self(Arc::new(plan)))
    }

    /// The plan of a dictionary with the keys of ``to_dict``. Raises ArgumentError for what no plan may hold.
    #[staticmethod]
    fn from_dict(plan: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text: String = guarded(|| {
            plan.py()
                .import("json")?
                .call_method1("dumps", (plan,))?
                .extract()
        })?;
        let plan: Plan = serde_json::from_str(&text)
            .map_err(|error| argument(format!("this is no plan: {error}")))?;
        if let Some(fault) = plan.fault() {
            return Err(argument(fault));
        }
        Ok(Self(Arc::new(plan)))
    }

    /// All that the plan holds, with the names of a session file.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &*self.0)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Machine of all beams without their own: a shipped name, or a file.
    #[getter]
    fn machine(&self) -> &str {
        &self.0.machine
    }

    /// Gy for the whole course; None where the plan does not say.
    #[getter]
    fn prescription_gy(&self) -> Option<f64> {
        self.0.prescription_gy
    }

    #[getter]
    fn fractions(&self) -> u32 {
        self.0.fractions
    }

    /// The beams, a dictionary each.
    #[getter]
    fn beams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0.beams)
    }

    /// Writes a plan file (``.toml``). Raises FileError.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save(&self, path: PathBuf, overwrite: bool) -> PyResult<()> {
        check_new(&path, overwrite)?;
        guarded(|| plan_toml::write(&path, &self.0).map_err(|error| Kind::File.caused_by(&error)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::plan(py, &self.0)
    }

    /// A plan never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _repr_html_(&self) -> String {
        let plan = &self.0;
        let prescribed = plan
            .prescription_gy
            .map_or("no prescription".to_owned(), |gy| format!("{gy} Gy"));
        let mut rows = vec![
            row(
                "prescribed",
                format!("{prescribed} in {} fractions", plan.fractions),
            ),
            row("machine", &plan.machine),
        ];
        rows.extend(
            plan.beams
                .iter()
                .map(|beam| row("beam", format!("{}: {} MU", beam.name, beam.mu))),
        );
        let remarks: Vec<String> = plan.remarks.iter().map(Remark::with_files).collect();
        page(&format!("Plan {}", plan.name), &rows, &remarks)
    }

    fn __repr__(&self) -> String {
        let beams: Vec<&str> = self.0.beams.iter().map(|beam| beam.name.as_str()).collect();
        let prescribed = self
            .0
            .prescription_gy
            .map_or("no prescription".to_owned(), |gy| format!("{gy} Gy"));
        format!(
            "Plan '{}': {prescribed} in {} fractions, beams {}, {}",
            self.0.name,
            self.0.fractions,
            beams.join(", "),
            self.0.machine
        )
    }
}
