//! Dose-volume histograms and their metrics.

use super::case::{PyCase, structure};
use super::dose::PyDose;
use super::errors::{argument, failure};
use super::html::{page, row};
use super::job::run;
use super::pickle;
use analysis::{Dvh, Metric, NoValue, dvhs_of};
use case::Structure;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyTuple};
use results::{Failure, patient_grid};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The distribution of dose over the volume of a structure.
///
/// Voxels count by the share that the structure fills; dose is read trilinearly. Volume outside the dose grid has no dose,
/// which is not zero: percentages are of the volume that has one, and ``outside_percent`` says how much has not.
#[pyclass(frozen, name = "Dvh", module = "beamsight")]
#[derive(Serialize, Deserialize)]
pub struct PyDvh {
    dvh: Dvh,
    structure: String,
    status_text: String,
    prescription_gy: Option<f64>,
}

/// A DVH, or the sentence that says why there is none.
#[derive(IntoPyObject)]
pub enum Answer {
    Dvh(PyDvh),
    Why(String),
}

/// DVHs of structures in a dose, by name; of a structure without one the sentence that says why.
#[pyfunction(name = "_dvh")]
#[pyo3(signature = (case, dose, structures, prescription_gy, any_patient))]
pub fn dvh(
    py: Python<'_>,
    case: &PyCase,
    dose: &PyDose,
    structures: Option<Vec<String>>,
    prescription_gy: Option<f64>,
    any_patient: bool,
) -> PyResult<Vec<(String, Answer)>> {
    let dose = dose.check(&case.0, any_patient)?;
    let set = &case.0.structures.structures;
    let named: Vec<&Structure> = match structures {
        Some(names) => names
            .iter()
            .map(|name| structure(&case.0, name))
            .collect::<PyResult<_>>()?,
        None => set.iter().filter(|s| !s.contours.is_empty()).collect(),
    };
    // Without images only what lies in the dose grid counts, as the DVH's remarks say.
    let grid =
        patient_grid(&case.0).map_or_else(|| Arc::clone(dose.dose.gy.grid()), |(grid, _)| grid);
    let rows = run(py, None, |control, _| {
        dvhs_of(named, &grid, &dose.dose, control)
            .map_err(|cancelled| failure(&Failure::from(cancelled)))
    })?;
    let status_text = dose.dose.status_text();
    let answers = rows.into_iter().map(|(structure, dvh)| {
        let name = structure.name.clone();
        let answer = match dvh {
            Ok(dvh) => Answer::Dvh(PyDvh {
                dvh,
                structure: name.clone(),
                status_text: status_text.clone(),
                prescription_gy,
            }),
            Err(why) => Answer::Why(why.to_string()),
        };
        (name, answer)
    });
    Ok(answers.collect())
}

#[pymethods]
impl PyDvh {
    #[getter]
    fn structure(&self) -> &str {
        &self.structure
    }

    /// Status of the dose, with its caveats.
    #[getter]
    fn status_text(&self) -> &str {
        &self.status_text
    }

    /// Volume of the structure inside the image, with or without dose, cm3.
    #[getter]
    fn volume_cm3(&self) -> f64 {
        self.dvh.volume_cm3()
    }

    /// Share of that volume outside the dose grid, percent.
    #[getter]
    fn outside_percent(&self) -> f64 {
        self.dvh.outside_percent()
    }

    #[getter]
    fn min_gy(&self) -> f64 {
        self.dvh.min_gy()
    }

    #[getter]
    fn max_gy(&self) -> f64 {
        self.dvh.max_gy()
    }

    #[getter]
    fn mean_gy(&self) -> f64 {
        self.dvh.mean_gy()
    }

    /// Remarks to be known with the figures, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.dvh.remarks()
    }

    /// A metric by its word: ``D95%``, ``D0.03cc``, ``V20Gy``, ``V95%``, ``Dmean``, ``CI``, ``HI``, ``gEUD(a=8)`` and
    /// others of ``beamsight dvh``: doses in Gy, volumes in percent of the structure. Percent of the prescription need
    /// ``prescription_gy``. Raises ArgumentError for an unknown word and where there is no value, with the reason.
    #[pyo3(signature = (word, /))]
    fn metric(&self, word: &str) -> PyResult<f64> {
        let metric: Metric = word.parse().map_err(argument)?;
        self.dvh
            .metric(metric, self.prescription_gy)
            .map_err(|why| match why {
                NoValue::NoHundred => argument(format!(
                    "{word}: there is no prescription; give it with prescription_gy"
                )),
                why => argument(format!("{word}: {why}")),
            })
    }

    /// The cumulative curve: doses (Gy) and the volume (percent) that gets each or more.
    fn cumulative<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        curve(py, &self.dvh.cumulative())
    }

    /// The cumulative curve as a table of pandas: ``dose_gy`` and ``volume_percent``; its ``attrs`` say of what and of which status.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (gy, percent) = self.cumulative(py);
        let columns = [("dose_gy", gy), ("volume_percent", percent)].into_py_dict(py)?;
        let table = py.import("pandas")?.call_method1("DataFrame", (columns,))?;
        let attributes = [
            ("structure", &self.structure),
            ("status", &self.status_text),
        ]
        .into_py_dict(py)?;
        table.setattr("attrs", attributes)?;
        Ok(table)
    }

    /// The differential curve: doses (Gy) and the volume (percent) per Gy.
    fn differential<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
        curve(py, &self.dvh.differential())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::dvh(py, self)
    }

    /// A DVH never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _repr_html_(&self) -> String {
        let rows = [
            row("dose", &self.status_text),
            row("volume", format!("{:.2} cm3", self.volume_cm3())),
            row(
                "outside the dose",
                format!("{:.1} %", self.outside_percent()),
            ),
            row("least", format!("{:.3} Gy", self.min_gy())),
            row("mean", format!("{:.3} Gy", self.mean_gy())),
            row("greatest", format!("{:.3} Gy", self.max_gy())),
        ];
        page(
            &format!("DVH of {}", self.structure),
            &rows,
            &self.remarks(),
        )
    }

    fn __repr__(&self) -> String {
        let Self {
            dvh,
            structure,
            status_text,
            ..
        } = self;
        let [minimum, mean, maximum] = [dvh.min_gy(), dvh.mean_gy(), dvh.max_gy()];
        let mut text = format!(
            "DVH of {structure} ({status_text}): {:.2} cm3, {minimum:.3} to {maximum:.3} Gy, mean {mean:.3} Gy",
            dvh.volume_cm3()
        );
        dvh.remarks()
            .iter()
            .for_each(|remark| text += &format!("\n  note: {remark}"));
        text
    }
}

fn curve<'py>(
    py: Python<'py>,
    points: &[[f64; 2]],
) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>) {
    let [doses, volumes] =
        [0, 1].map(|n| PyArray1::from_vec(py, points.iter().map(|point| point[n]).collect()));
    (doses, volumes)
}
