//! The dose of a plan: the queries of the verb `dose`, with its arguments.

use super::case::{PyCase, ct_of};
use super::dose::PyDose;
use super::errors::{argument, failure};
use super::job::run;
use super::plan::PyPlan;
use super::words;
use analysis::{BodyWord, DEFAULT_GRID_MM, Engine, EngineOptions, MOST_HISTORIES};
use case::{Case, DoseEngine, Plan};
use engine::dose::{DoseTo, Quality};
use engine::mc::ElectronCut;
use engine::mccs::Variant;
use physics::HuTable;
use pyo3::prelude::*;
use results::{PlanJob, Settings, compute_plan, compute_plan_on_card};
use std::sync::Arc;

/// How doses are computed: arguments that several jobs share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    pub grid: Option<f64>,
    pub quality: Option<String>,
    pub dose_to: Option<String>,
    pub machine: Option<String>,
    pub hu_table: Option<String>,
    pub body: Option<String>,
    pub device: String,
}

impl How {
    fn hu_table(&self) -> &str {
        self.hu_table.as_deref().unwrap_or(HuTable::DEFAULT)
    }

    /// # Errors
    /// `ArgumentError`: words and numbers out of their ranges, a table that cannot be read, a body that the case has not.
    pub fn settings(&self, case: &Case) -> PyResult<Settings> {
        let quality = self.quality.as_deref().unwrap_or(Quality::default().word());
        let qualities = Quality::NAMED.map(|quality| (quality.word(), quality));
        let body: Option<BodyWord> = self
            .body
            .as_ref()
            .map(|word| word.parse().unwrap_or(BodyWord::Auto));
        Ok(Settings {
            engine: DoseEngine::default(),
            quality: words::one_of("quality", quality, &qualities)?,
            dose_to: words::one_of(
                "dose_to",
                self.dose_to.as_deref().unwrap_or("medium"),
                &[("medium", DoseTo::Medium), ("water", DoseTo::Water)],
            )?,
            grid_mm: words::within("grid", self.grid.unwrap_or(DEFAULT_GRID_MM), [0.5, 100.0])?,
            device: words::device(&self.device)?,
            hu_table: Arc::new(HuTable::resolve(self.hu_table()).map_err(argument)?),
            body: body
                .map(|word| word.choice(&case.structures))
                .transpose()
                .map_err(argument)?
                .unwrap_or_default(),
            machine_changes: 0,
        })
    }

    /// The job of the caller's plan, else of the case's first.
    ///
    /// # Errors
    /// As [`Self::settings`] and [`Self::plan`]; a case without a CT.
    pub fn job(&self, case: &PyCase, plan: Option<&PyPlan>, engine: Engine) -> PyResult<PlanJob> {
        self.job_of(&case.0, self.plan(&case.0, plan)?, engine)
    }

    /// The job of a plan in a case.
    ///
    /// # Errors
    /// As [`Self::settings`]; a case without a CT.
    pub fn job_of(&self, case: &Case, plan: Plan, engine: Engine) -> PyResult<PlanJob> {
        let (ct, settings) = (ct_of(case)?, self.settings(case)?);
        Ok(PlanJob {
            ct,
            structures: Arc::clone(&case.structures),
            remarks: case.remarks.clone(),
            plan,
            body: settings.body,
            hu_table: self.hu_table().to_owned(),
            grid_mm: settings.grid_mm,
            quality: settings.quality,
            dose_to: settings.dose_to,
            device: settings.device,
            engine,
            parts: None,
        })
    }

    /// The caller's plan, else the case's first, on the caller's machine, if there is one.
    pub fn plan(&self, case: &Case, plan: Option<&PyPlan>) -> PyResult<Plan> {
        let mut plan = match plan {
            Some(plan) => Plan::clone(&plan.0),
            None => case
                .plans
                .first()
                .map(|plan| Plan::clone(plan))
                .ok_or_else(|| {
                    argument(format!(
                        "{}; give one: Plan.read(\"plan.toml\")",
                        case.no_plan()
                    ))
                })?,
        };
        if let Some(machine) = &self.machine {
            plan.set_machine(machine);
        }
        Ok(plan)
    }
}

/// Number of histories, which Python has as a float.
fn whole_histories(histories: f64) -> PyResult<u64> {
    if histories >= 1.0 && histories.fract() == 0.0 && histories <= MOST_HISTORIES as f64 {
        return Ok(histories as u64);
    }
    Err(argument(format!(
        "histories is {histories}: it is a whole number up to 1e11, like 5e7"
    )))
}

fn electron_cut(kev: u32) -> PyResult<ElectronCut> {
    ElectronCut::of_kev(kev).ok_or_else(|| {
        argument(format!(
            "electron_cut_kev is {kev}: it must be 100 or 200, for which there are tables"
        ))
    })
}

/// The engine of a dose with its options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Histories {
    engine: String,
    histories: Option<f64>,
    uncertainty: Option<f64>,
    seed: Option<u64>,
    directions: Option<u32>,
    variant: Option<String>,
    electron_cut_kev: Option<u32>,
}

impl Histories {
    /// # Errors
    /// `ArgumentError`: an engine or a variant that is not known, numbers out of their ranges, options of the other engine.
    pub fn engine(&self) -> PyResult<Engine> {
        let engine = words::engine(&self.engine)?;
        let uncertainty_percent = self
            .uncertainty
            .map(|percent| words::within("uncertainty", percent, [0.01, 100.0]))
            .transpose()?;
        let histories = self.histories.map(whole_histories).transpose()?;
        if let Some(directions) = self.directions.filter(|n| !(1..=24).contains(n)) {
            return Err(argument(format!(
                "directions is {directions}: it must be from 1 to 24"
            )));
        }
        let variants = [("own", Variant::Own), ("paper", Variant::Paper)];
        let variant = self
            .variant
            .as_deref()
            .map(|word| words::one_of("variant", word, &variants))
            .transpose()?;
        let electron_cut = self.electron_cut_kev.map(electron_cut).transpose()?;
        let (seed, directions) = (self.seed, self.directions);
        let options = EngineOptions {
            engine,
            histories,
            uncertainty_percent,
            seed,
            directions,
            variant,
            electron_cut,
        };
        options.engine().map_err(argument)
    }
}

/// Computes a plan; `beamsight.dose` says how.
#[pyfunction(name = "_dose")]
#[pyo3(signature = (case, plan, how, histories, on_card, progress = None))]
pub fn compute(
    py: Python<'_>,
    case: &PyCase,
    plan: Option<&PyPlan>,
    how: How,
    histories: Histories,
    on_card: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyDose> {
    let job = how.job(case, plan, histories.engine()?)?;
    let result = run(py, progress.as_ref(), |control, steps| {
        let tell: &(dyn Fn(&str) + Sync) = &|words| steps.tell(words);
        if on_card {
            let computed =
                compute_plan_on_card(&job, control, tell).map_err(|why| failure(&why))?;
            return Ok((computed.0, Some(computed.1)));
        }
        let computed = compute_plan(&job, control, tell).map_err(|why| failure(&why))?;
        Ok((computed, None))
    })?;
    Ok(PyDose::computed(&case.0, result.0, result.1))
}
