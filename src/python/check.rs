//! The second check of plans from elsewhere, as the verb `check` makes it, a folder at a time.

use super::errors::{Kind, argument, failure};
use super::job::run;
use super::json::dictionary;
use super::words;
use analysis::second_check::Tolerances;
use analysis::{DEFAULT_GRID_MM, EngineOptions};
use files::{GoalTemplate, state_folder};
use pyo3::prelude::*;
use results::{CheckFiles, CheckJob, CheckMachines, Settings, second_check};
use std::path::PathBuf;
use std::sync::Arc;

/// The checks of the plans of a folder; `beamsight.check` says how.
#[pyfunction(name = "_check")]
#[pyo3(signature = (folder, machines, engine, uncertainty, grid, gamma, goals, tolerances, device, progress = None))]
#[expect(clippy::too_many_arguments, reason = "the options of the verb")]
pub fn check<'py>(
    py: Python<'py>,
    folder: PathBuf,
    machines: Vec<String>,
    engine: &str,
    uncertainty: Option<f64>,
    grid: Option<f64>,
    gamma: Option<[f64; 2]>,
    goals: Option<&str>,
    tolerances: Option<PathBuf>,
    device: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !folder.is_dir() {
        return Err(Kind::File.exception(format!(
            "there is no folder '{}'; name that of a plan's files",
            folder.display()
        )));
    }
    let uncertainty_percent = uncertainty
        .map(|percent| words::within("uncertainty", percent, [0.01, 2.0]))
        .transpose()?;
    let options = EngineOptions {
        engine: words::engine(engine)?,
        uncertainty_percent,
        ..EngineOptions::default()
    };
    let engine = options.engine().map_err(argument)?;
    let read = tolerances
        .as_deref()
        .map_or(Ok(Tolerances::default()), Tolerances::read);
    let mut tolerances = read.map_err(|error| Kind::File.caused_by(&error))?;
    if let Some(gamma) = gamma {
        for number in gamma {
            words::within("gamma", number, [0.1, 10.0])?;
        }
        tolerances = tolerances.with_gamma(gamma);
    }
    let template = goals
        .map(GoalTemplate::resolve)
        .transpose()
        .map_err(argument)?;
    let mut models = CheckMachines::new(&machines, state_folder()).map_err(argument)?;
    let grid_mm = words::within(
        "grid",
        grid.unwrap_or(DEFAULT_GRID_MM),
        [0.5, DEFAULT_GRID_MM],
    )?;
    let settings = Settings {
        device: words::device(device)?,
        grid_mm,
        ..Settings::default()
    };
    let checks = run(py, progress.as_ref(), |control, steps| {
        let files = CheckFiles::read(&folder).map_err(|error| Kind::File.caused_by(&error))?;
        if let Some(why) = files.unchecked().first() {
            return Err(Kind::File.exception(format!("{}: {why}", folder.display())));
        }
        if files.case.plans.is_empty() {
            return Err(Kind::File.exception(files.case.no_plan()));
        }
        let goals = template
            .map(|template| template.matched(&files.case.structures).goals)
            .unwrap_or_default();
        let mut checks = Vec::new();
        for plan in &files.case.plans {
            let mut plan = (**plan).clone();
            let stated = files.stated(&plan);
            let machines = models.set(&mut plan, &stated);
            let job = CheckJob {
                files: &files,
                plan: Arc::new(plan),
                machines,
                settings: &settings,
                engine,
                tolerances: &tolerances,
                goals: &goals,
                changed_here: Vec::new(),
            };
            checks.push(
                second_check(&job, control, &|words| steps.tell(words))
                    .map_err(|why| failure(&why))?,
            );
        }
        Ok(checks)
    })?;
    let notes = models.keep();
    dictionary(py, &serde_json::json!({ "checks": checks, "notes": notes }))
}
