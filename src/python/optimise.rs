//! Inverse planning: the influence of beamlets as arrays, and the maps that meet goals.

use super::case::PyCase;
use super::columns::PyCardColumns;
use super::dose_job::{Histories, How};
use super::errors::{Kind, argument, failure};
use super::grid::PyGrid;
use super::job::{Steps, run};
use super::json::dictionary;
use super::plan::PyPlan;
use super::words;
use analysis::Engine;
use case::{Case, Goal, Plan};
use engine::JobControl;
use files::{Delivery, GoalTemplate};
use inverse::{Optimised, Progress, RUNS, with_arcs};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, ToPyArray as _};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};
use results::{Graph, OptimiseQuery, optimise_plan, technique_of};
use sequence::{Technique, arc_of, check_machines};
use std::sync::Arc;

/// The influence of beamlets at sampled voxels, and fluences.
///
/// The dose of the rows is ``influence.T @ fluences + offset_gy`` (Gy of all fractions). Maps are true fluences, not
/// deliverable; the dose of their plan says so. ``leaves`` is the plan that delivers them, where a technique was requested.
#[pyclass(frozen, name = "Optimum", module = "beamsight")]
pub struct PyOptimum {
    answer: Optimised,
    only_judged: Vec<(Goal, String)>,
    /// Whether a search was requested.
    is_searched: bool,
}

/// The goals of a template, else the goals of the case's session.
pub fn goals_of(case: &Case, template: Option<&str>) -> PyResult<Vec<Goal>> {
    let Some(word) = template else {
        return Ok(case
            .goals
            .as_ref()
            .map(|goals| goals.to_vec())
            .unwrap_or_default());
    };
    let template = GoalTemplate::resolve(word).map_err(|why| {
        let shipped: Vec<&str> = GoalTemplate::shipped().collect();
        argument(format!(
            "goals is the path of a template, or one of {}: {why}",
            shipped.join(", ")
        ))
    })?;
    Ok(template.matched(&case.structures).goals)
}

/// Goals, beamlets and the technique that delivers them, as `beamsight.optimise` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    goals: Option<String>,
    beamlets: f64,
    rows: Option<f64>,
    technique: String,
    arcs: usize,
    /// False for the influence alone.
    search: bool,
}

impl Asked {
    /// The technique of the leaves, and the plan that it cuts; `None` of maps.
    fn technique(&self, plan: Plan) -> PyResult<(Option<Technique>, Plan)> {
        let deliveries = Delivery::ALL.map(|delivery| (delivery.word(), delivery));
        let delivery = words::one_of("technique", &self.technique, &deliveries)?;
        let technique = technique_of(delivery);
        if !(1..=4).contains(&self.arcs) {
            return Err(argument(format!(
                "arcs is {}: it must be from 1 to 4",
                self.arcs
            )));
        }
        let plan = if delivery == Delivery::Vmat
            && !plan.beams.iter().any(|beam| arc_of(beam).is_some())
        {
            with_arcs(&plan, self.arcs)
        } else {
            plan
        };
        if technique.is_some() {
            let computed = plan.beams.iter().filter(|beam| analysis::is_computed(beam));
            check_machines(&plan, computed).map_err(|error| Kind::Computation.caused_by(&error))?;
        }
        Ok((technique, plan))
    }
}

/// Reports a step of an optimiser, whose maps `engine` corrects, to the caller.
pub fn report(progress: Progress, engine: Engine, control: &JobControl, steps: &Steps) {
    match progress {
        Progress::Columns { done, of: count } => {
            control.report(done as f32 / count.max(1) as f32);
            steps.tell("influence of beamlets");
        }
        Progress::Iteration { objective, .. } => steps.tell(&format!("objective {objective:.6}")),
        Progress::TrueDose { .. } => steps.tell("true dose"),
        Progress::Histories { run, .. } => {
            steps.tell(&format!("{}: run {run} of {RUNS}", engine.method()));
        }
        Progress::Leaves { after, .. } => steps.tell(&format!("leaves: objective {after:.6}")),
    }
}

/// Maps, with leaves where a technique is requested, or the influence alone; `beamsight.optimise` says how.
#[pyfunction(name = "_optimise")]
#[pyo3(signature = (case, plan, how, asked, histories, progress = None))]
pub fn optimise(
    py: Python<'_>,
    case: &PyCase,
    plan: Option<&PyPlan>,
    how: How,
    asked: Asked,
    histories: Histories,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyOptimum> {
    let (technique, plan) = asked.technique(how.plan(&case.0, plan)?)?;
    let goals = goals_of(&case.0, asked.goals.as_deref())?;
    let (settings, search) = (how.settings(&case.0)?, asked.search);
    let engine = histories.engine()?;
    let rows_mm = asked
        .rows
        .map(|mm| words::within("rows", mm, [0.5, 100.0]))
        .transpose()?;
    let beamlet_mm = words::within("beamlets", asked.beamlets, [1.0, 20.0])?;
    let plan = Arc::new(plan);
    let query = OptimiseQuery::new(&case.0, &plan, goals, &settings, rows_mm, beamlet_mm)
        .map_err(|why| Kind::Computation.exception(why))?
        .corrected_by(engine);
    let optimum = run(py, progress.as_ref(), |control, steps| {
        // The influence alone is the search, stopped before its first step.
        let search_control = control.child();
        let mut tell = |progress: Progress| match progress {
            Progress::Iteration { .. } if !search => search_control.cancel(),
            progress => report(progress, engine, control, steps),
        };
        optimise_plan(
            &query,
            technique,
            &Graph::default(),
            &search_control,
            &mut tell,
        )
        .map_err(|why| failure(&why))
    })?;
    Ok(PyOptimum {
        answer: optimum.answer,
        only_judged: optimum.only_judged,
        is_searched: search,
    })
}

#[pymethods]
impl PyOptimum {
    /// Gy of all fractions at the rows for fluence 1 of each beamlet, float32 ``[beamlet, row]``.
    #[getter]
    fn influence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let columns = &self.answer.columns;
        let gy: Vec<f32> = columns
            .iter()
            .flat_map(|(steps, gy)| steps.iter().map(move |s| f32::from(*s) * gy))
            .collect();
        let array =
            Array2::from_shape_vec((columns.beamlets(), columns.rows()), gy).map_err(argument)?;
        Ok(array.to_pyarray(py))
    }

    /// The influence as a matrix of scipy.sparse, ``csr_array`` of float32 ``[beamlet, row]``: ``influence`` without its zeros, which
    /// are most of it.
    fn sparse<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns = &self.answer.columns;
        let (mut values, mut rows, mut starts) = (Vec::new(), Vec::new(), vec![0_i64]);
        for (steps, gy) in columns.iter() {
            let entries = steps.iter().enumerate().filter(|(_, step)| **step != 0);
            for (row, step) in entries {
                values.push(f32::from(*step) * gy);
                rows.push(row as i64);
            }
            starts.push(values.len() as i64);
        }
        let parts = (
            PyArray1::from_vec(py, values),
            PyArray1::from_vec(py, rows),
            PyArray1::from_vec(py, starts),
        );
        let shape = [("shape", (columns.beamlets(), columns.rows()))].into_py_dict(py)?;
        py.import("scipy.sparse")?
            .call_method("csr_array", (parts,), Some(&shape))
    }

    /// The columns of each beam in the memory of the card that made the matrix, for torch, CuPy or JAX by DLPack; none on the CPU.
    fn on_card(&self) -> Vec<PyCardColumns> {
        self.answer
            .columns
            .on_card()
            .into_iter()
            .map(|columns| PyCardColumns(Arc::new(columns)))
            .collect()
    }

    /// Dose offset of the rows, Gy: the true dose of the maps minus the dose of the columns.
    #[getter]
    fn offset_gy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.answer.offset_gy.to_pyarray(py)
    }

    /// Fluences of the beamlets.
    #[getter]
    fn fluences<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.answer.fluences.to_pyarray(py)
    }

    /// Their upper bounds, infinite where there is none.
    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.answer.upper.to_pyarray(py)
    }

    /// Doses of the rows, Gy.
    #[getter]
    fn doses_gy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.answer.doses_gy.to_pyarray(py)
    }

    /// The grid of the rows.
    #[getter]
    fn grid(&self) -> PyGrid {
        PyGrid(Arc::clone(&self.answer.rows.grid))
    }

    /// Indices of the rows into the flattened array ``[z, y, x]`` of the grid.
    #[getter]
    fn voxels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(
            py,
            self.answer
                .rows
                .voxels
                .iter()
                .map(|voxel| *voxel as i64)
                .collect(),
        )
    }

    /// Rows of each structure (uint32) and the volume that each stands for (cm3, float32), by name.
    #[getter]
    fn structures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sets = self.answer.rows.sets.iter();
        sets.map(|set| (&set.name, (set.rows.to_pyarray(py), set.cm3.to_pyarray(py))))
            .into_py_dict(py)
    }

    /// Beam number, sides in u and v (mm, four numbers) and gantry angle of each beamlet, ``[beamlet, 6]``.
    #[getter]
    fn beamlets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<Vec<f64>> = self
            .answer
            .beamlets
            .iter()
            .map(|beamlet| beamlet.to_vec())
            .collect();
        PyArray2::from_vec2(py, &rows).map_err(argument)
    }

    /// All that is minimised, a dictionary each.
    #[getter]
    fn objectives<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.answer.objectives)
    }

    /// Goals that were not optimised, each with why.
    #[getter]
    fn only_judged(&self) -> Vec<(String, String)> {
        self.only_judged
            .iter()
            .map(|(goal, why)| (goal.to_string(), why.clone()))
            .collect()
    }

    /// Deviations from the plan or its goals: targets without beamlets, beams of 0 MU and the like.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.answer
            .remarks
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// Greatest true dose of the maps outside the targets when it was last looked at, Gy of all fractions, and its place (patient LPS,
    /// mm); None where it was not.
    #[getter]
    fn hottest_outside_targets(&self) -> Option<(f64, (f64, f64, f64))> {
        self.answer
            .greatest
            .outside
            .map(|spot| (spot.gy, spot.at_mm.into()))
    }

    /// Value of the objectives.
    #[getter]
    fn objective(&self) -> f64 {
        self.answer.objective
    }

    #[getter]
    fn evaluations(&self) -> u64 {
        self.answer.receipt.evaluations
    }

    /// Device, work and times (ms) of the search, as a dictionary; ``histories`` in it tells the runs that corrected the maps, with their
    /// engine and ``uncertainty_percent``.
    #[getter]
    fn receipt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.answer.receipt)
    }

    /// The last move of the true dose in the targets, percent of the prescription.
    #[getter]
    fn moved_percent(&self) -> f64 {
        self.answer.moved_percent
    }

    /// The plan with the maps; ``beamsight.dose`` computes its true dose.
    #[getter]
    fn plan(&self) -> PyPlan {
        PyPlan(Arc::new(self.answer.plan.clone()))
    }

    /// The plan with the leaves that deliver the maps, refined on their true dose; None where no technique was requested.
    #[getter]
    fn leaves(&self) -> Option<PyPlan> {
        self.answer
            .leaves
            .as_ref()
            .map(|leaves| PyPlan(Arc::new(leaves.plan.clone())))
    }

    /// Value of the objectives under true dose: of the leaves as they were cut, and refined; None without leaves.
    #[getter]
    fn leaves_objective(&self) -> Option<(f64, f64)> {
        self.answer
            .leaves
            .as_ref()
            .and_then(|leaves| leaves.objective)
            .map(Into::into)
    }

    fn __repr__(&self) -> String {
        let columns = &self.answer.columns;
        let what = if self.is_searched {
            let leaves = match self.leaves_objective() {
                Some((_, after)) => format!("leaves refined to {after:.6} on their true dose"),
                None => "fluence, not deliverable".to_owned(),
            };
            let Optimised {
                objective, receipt, ..
            } = &self.answer;
            let evaluations = receipt.evaluations;
            format!("objective {objective:.6} after {evaluations} evaluations; {leaves}")
        } else {
            "influence alone, fluences where a search starts".to_owned()
        };
        format!(
            "Optimum: {} beamlets, {} rows; {what}",
            columns.beamlets(),
            columns.rows()
        )
    }
}
