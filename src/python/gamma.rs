//! Gamma of two doses: the query of the verb `gamma`, with its arguments.

use super::arrays::{as_asked, shown};
use super::case::{PyCase, structure};
use super::dose::PyDose;
use super::errors::{argument, failure, warn};
use super::grid::PyGrid;
use super::html::{cells, page};
use super::job::run;
use super::json::dictionary;
use super::pickle;
use super::threads::compute;
use super::words;
use analysis::{GammaReport, not_final, stricter};
use case::Receipt;
use engine::gamma::{Criterion, Dims, Normalisation, Subset, Surface};
use geometry::{Mask, Volume};
use numpy::PyArray3;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use results::{DoseOfPlan, GammaAnswer, GammaOfPair, Graph, MaskOf, Shared};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Gamma at the voxels of the reference dose, with its report. ``numpy.asarray`` of it is the map.
#[pyclass(frozen, name = "Gamma", module = "beamsight")]
pub struct PyGamma {
    /// By criterion, on the grid of the reference.
    pub maps: Vec<Arc<Volume<f32>>>,
    pub figures: GammaFigures,
    signed: Signed,
}

/// All that is said of the maps.
#[derive(Serialize, Deserialize)]
pub struct GammaFigures {
    counts: Vec<PointCounts>,
    normalisation_gy: f64,
    receipt: Receipt,
    report: serde_json::Value,
    /// The report as it prints.
    report_text: String,
    remarks: Vec<String>,
}

/// Points over the threshold of a criterion.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct PointCounts {
    judged: usize,
    passing: usize,
    not_judged: usize,
}

/// The first map with signs: made where it is first read.
enum Signed {
    Of(GammaAnswer),
    Made(Arc<Volume<f32>>),
}

/// The 100 % dose: a word or Gy.
#[derive(FromPyObject)]
pub enum Norm {
    Gy(f64),
    Word(String),
}

/// Arguments of gamma, as `beamsight.gamma` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    criteria: Vec<(f64, f64)>,
    /// A stricter criterion is reported beside a single one, as the verb does.
    stricter: bool,
    local: bool,
    threshold: f64,
    norm: Norm,
    max_gamma: Option<f64>,
    dims: String,
    structure: Option<String>,
    measured: bool,
    any_patient: bool,
    subset: Option<u32>,
    seed: u64,
    trilinear: bool,
    device: String,
}

impl How {
    fn normalisation(&self, case: Option<&PyCase>) -> PyResult<Normalisation> {
        let word = match &self.norm {
            Norm::Gy(gy) => return words::positive("norm", *gy).map(Normalisation::Typed),
            Norm::Word(word) => word,
        };
        match word.as_str() {
            "near-max" => Ok(Normalisation::NearMaximum),
            "max" => Ok(Normalisation::Maximum),
            "rx" => {
                let plans = case.into_iter().flat_map(|case| &case.0.plans);
                let prescribed = plans.filter_map(|plan| plan.prescription_gy).next();
                let none =
                    "norm='rx': no plan of the case says what is prescribed; give the dose in Gy";
                prescribed
                    .map(Normalisation::Prescription)
                    .ok_or_else(|| argument(none))
            }
            other => Err(argument(format!(
                "norm is '{other}': it is near-max, max, rx or a dose in Gy above 0"
            ))),
        }
    }
}

/// Gamma of two doses; `beamsight.gamma` says how.
#[pyfunction(name = "_gamma")]
#[pyo3(signature = (reference, evaluated, how, case = None, progress = None))]
pub fn gamma(
    py: Python<'_>,
    reference: &PyDose,
    evaluated: &PyDose,
    how: How,
    case: Option<&PyCase>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyGamma> {
    let [mut reference, mut evaluated] = reference.check_pair(evaluated, how.any_patient)?;
    if let Some(case) = case {
        [reference, evaluated] = [
            reference.check(&case.0, how.any_patient)?,
            evaluated.check(&case.0, how.any_patient)?,
        ];
    }
    let region = match (&how.structure, case) {
        (Some(name), Some(case)) => Some(MaskOf::on(&reference.dose.gy, structure(&case.0, name)?)),
        (Some(_), None) => return Err(argument("a structure is one of a case: give the case too")),
        (None, _) => None,
    };
    let criteria = how.criteria.iter().map(|(dose_percent, dta_mm)| Criterion {
        dose_percent: *dose_percent,
        dta_mm: *dta_mm,
        local: how.local,
    });
    let mut criteria: Vec<Criterion> = criteria.collect();
    if let [only] = criteria[..]
        && how.stricter
    {
        criteria.push(stricter(only));
    }
    let dims = [
        ("3", Dims::Volume),
        ("2.5", Dims::Slices),
        ("2", Dims::Plane),
    ];
    let query = GammaOfPair {
        normalisation: how.normalisation(case)?,
        threshold_percent: words::within("threshold", how.threshold, [0.0, 100.0])?,
        max_gamma: how
            .max_gamma
            .map(|limit| words::within("max_gamma", limit, [1.1, 1e6]))
            .transpose()?,
        dims: words::one_of("dims", &how.dims, &dims)?,
        region,
        subset: how.subset.map(|count| Subset {
            count: count as usize,
            seed: how.seed,
        }),
        surface: if how.trilinear {
            Surface::Trilinear
        } else {
            Surface::Simplices
        },
        ..GammaOfPair::new(
            Shared::new(DoseOfPlan::of_file(&reference.dose, 0, None), None),
            Shared::new(DoseOfPlan::of_file(&evaluated.dose, 1, None), None),
            criteria,
            words::device(&how.device)?,
        )
    };
    let structures = case
        .map(|case| Arc::clone(&case.0.structures))
        .unwrap_or_default();
    let measured = how.measured;
    let not_final = not_final([
        ("the reference", &*reference.dose),
        ("the evaluated", &*evaluated.dose),
    ]);
    let labels = [reference.dose.label.as_str(), &evaluated.dose.label];
    let region = how.structure.as_deref();
    let (answer, report) = run(py, progress.as_ref(), |control, _| {
        let graph = Graph::default();
        let answer = graph.full(&query, control).map_err(|why| failure(&why))?;
        // Of structures that have nothing on the reference dose gamma says nothing.
        let masks = structures.structures.iter().filter_map(|structure| {
            let query = MaskOf::on(&reference.dose.gy, structure);
            Some((structure.name.clone(), graph.full(&query, control).ok()?))
        });
        let masks: Vec<(String, Arc<Mask>)> = masks.collect();
        let structures: Vec<(&str, &Mask)> = masks
            .iter()
            .map(|(name, mask)| (name.as_str(), &**mask))
            .collect();
        let report = GammaReport::new(
            labels,
            &answer.request,
            &answer.result,
            measured,
            not_final,
            region,
            &structures,
        );
        Ok((answer, report))
    })?;
    let result = &answer.result;
    let counts = result.maps.iter().map(|map| PointCounts {
        judged: map.counts.analysed,
        passing: map.counts.passing,
        not_judged: map.counts.unjudged(),
    });
    let figures = GammaFigures {
        counts: counts.collect(),
        normalisation_gy: result.normalisation_gy,
        receipt: Receipt::clone(&result.receipt),
        report: serde_json::to_value(&report).map_err(argument)?,
        report_text: report.to_string().trim_end().to_owned(),
        remarks: [reference.remarks, evaluated.remarks].concat(),
    };
    let maps = result
        .maps
        .iter()
        .map(|map| Arc::clone(&map.gamma))
        .collect();
    Ok(PyGamma {
        maps,
        figures,
        signed: Signed::Of(answer),
    })
}

impl PyGamma {
    /// A gamma that was pickled.
    pub fn restored(
        maps: Vec<Arc<Volume<f32>>>,
        signed: Arc<Volume<f32>>,
        figures: GammaFigures,
    ) -> Self {
        Self {
            maps,
            figures,
            signed: Signed::Made(signed),
        }
    }

    fn map(&self, index: usize) -> PyResult<&Arc<Volume<f32>>> {
        self.maps
            .get(index)
            .ok_or_else(|| argument(format!("there is no criterion {index}")))
    }

    /// The points of the first criterion.
    fn counts(&self) -> PyResult<PointCounts> {
        self.figures
            .counts
            .first()
            .copied()
            .ok_or_else(|| argument("there is no criterion"))
    }

    pub fn signed_map(&self) -> PyResult<Arc<Volume<f32>>> {
        match &self.signed {
            Signed::Made(signed) => Ok(Arc::clone(signed)),
            Signed::Of(answer) => {
                let first = answer
                    .result
                    .maps
                    .first()
                    .ok_or_else(|| argument("there is no criterion"))?;
                compute(|| Arc::new(first.signed(&answer.request)))
            }
        }
    }
}

#[pymethods]
impl PyGamma {
    /// Gamma, float32 ``[z, y, x]`` on the reference's grid; NaN where nothing was evaluated: below the threshold, outside
    /// the region, outside the evaluated dose. A read-only view.
    #[getter]
    fn gamma<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        self.of_criterion(py, 0)
    }

    /// Gamma by the criterion of a place: 0 is the first that was requested.
    fn of_criterion<'py>(
        &self,
        py: Python<'py>,
        index: usize,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        shown(py, self.map(index)?)
    }

    /// Gamma with the sign of evaluated minus reference at the voxel.
    #[getter]
    fn signed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        shown(py, &self.signed_map()?)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let PointCounts {
            judged, not_judged, ..
        } = self.counts()?;
        if not_judged > 0 {
            let words = format!(
                "{not_judged} of {} points have no gamma (NaN) in this array: they neither pass nor fail, and the array does not count \
                 them",
                judged + not_judged
            );
            warn(py, "UnjudgedWarning", words)?;
        }
        as_asked(self.gamma(py)?.into_any(), dtype, copy)
    }

    #[getter]
    fn grid(&self) -> PyResult<PyGrid> {
        Ok(PyGrid(Arc::clone(self.map(0)?.grid())))
    }

    /// Share of the judged points with gamma of at most 1, percent.
    #[getter]
    fn pass_rate_percent(&self) -> PyResult<f64> {
        self.counts()
            .map(|counts| 100.0 * counts.passing as f64 / counts.judged as f64)
    }

    /// Points that have a gamma.
    #[getter]
    fn points(&self) -> PyResult<usize> {
        self.counts().map(|counts| counts.judged)
    }

    /// Points over the threshold without gamma, which neither pass nor fail.
    #[getter]
    fn not_judged(&self) -> PyResult<usize> {
        self.counts().map(|counts| counts.not_judged)
    }

    /// The dose that is 100 %, Gy.
    #[getter]
    fn normalisation_gy(&self) -> f64 {
        self.figures.normalisation_gy
    }

    /// Everything that ``beamsight gamma --json`` says: criteria with figures, histogram, verdict and structures.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.figures.report)
    }

    /// The criteria with their figures as a table of pandas, a row each, as in ``report["criteria"]``.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let criteria = self.report(py)?.get_item("criteria")?;
        py.import("pandas")?
            .call_method1("json_normalize", (criteria,))
    }

    fn _repr_html_(&self) -> String {
        let lines = self.figures.report_text.lines();
        let rows: Vec<String> = lines.map(|line| cells(&[line.to_owned()])).collect();
        page("Gamma", &rows, &self.figures.remarks)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::gamma(py, self)
    }

    /// An answer never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn receipt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.figures.receipt)
    }

    /// Remarks on the files of the doses, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.figures.remarks.clone()
    }

    fn __repr__(&self) -> String {
        let mut text = self.figures.report_text.clone();
        self.figures
            .remarks
            .iter()
            .for_each(|remark| text += &format!("\nnote: {remark}"));
        text
    }
}
