//! A plan under set-up errors, and at the poses of its fractions.

use super::case::PyCase;
use super::dose::PyDose;
use super::dose_job::{Histories, How};
use super::errors::{Kind, argument, failure};
use super::job::run;
use super::json::dictionary;
use super::optimise::goals_of;
use super::plan::PyPlan;
use super::words;
use analysis::{MOST_SET_UP_MM, ShiftDirections};
use case::Pose;
use files::read_poses;
use pyo3::prelude::*;
use results::{CourseReport, Day, RobustReport, compute_fractions, compute_scenarios};
use std::path::PathBuf;
use std::sync::Arc;

/// Shifts and goals, as `beamsight.robust` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Shifts {
    shift_mm: f64,
    scenarios: u32,
    goals: Option<String>,
}

/// The figures of a plan under set-up errors, with its least and greatest dose; `beamsight.robust` says how.
#[pyfunction(name = "_robust")]
#[pyo3(signature = (case, plan, how, shifts, histories, progress = None))]
pub fn robust<'py>(
    py: Python<'py>,
    case: &PyCase,
    plan: Option<&PyPlan>,
    how: How,
    shifts: Shifts,
    histories: Histories,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, PyDose, PyDose)> {
    let directions = match shifts.scenarios {
        7 => ShiftDirections::Axes,
        27 => ShiftDirections::AllRound,
        other => {
            return Err(argument(format!(
                "scenarios is {other}: it must be 7 or 27"
            )));
        }
    };
    let shift_mm = words::within("shift_mm", shifts.shift_mm, [0.0, MOST_SET_UP_MM])?;
    let goals = goals_of(&case.0, shifts.goals.as_deref())?;
    let job = how.job(case, plan, histories.engine()?)?;
    let (job, robust) = run(py, progress.as_ref(), |control, steps| {
        let tell: &(dyn Fn(&str) + Sync) = &|words| steps.tell(words);
        let job = job.delivered(control, tell).map_err(|why| failure(&why))?;
        let scenarios = directions.scenarios(shift_mm);
        let robust = compute_scenarios(&job, &scenarios, control, tell);
        Ok((job, robust.map_err(|why| failure(&why))?))
    })?;
    let report = RobustReport::new(
        &robust,
        shift_mm,
        &goals,
        &case.0.structures,
        job.plan.prescription_gy,
    );
    let [least_dose, greatest_dose] = [robust.least(&job.plan), robust.greatest(&job.plan)]
        .map(|dose| PyDose::from_dose(&Arc::new(dose)));
    Ok((dictionary(py, &report)?, least_dose, greatest_dose))
}

/// Poses and goals, as `beamsight.fractions` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Poses {
    /// A table, or the six numbers of each pose.
    poses: PosesFrom,
    goals: Option<String>,
}

#[derive(FromPyObject)]
enum PosesFrom {
    Table(PathBuf),
    Numbers(Vec<[f64; 6]>),
}

impl PosesFrom {
    fn days(self, case: &PyCase) -> PyResult<Vec<Day>> {
        let named: Vec<(String, Pose)> = match self {
            Self::Table(path) => {
                let poses = read_poses(&path, &case.0.patient);
                let poses = poses.map_err(|error| Kind::File.caused_by(&error))?;
                poses.into_iter().map(|p| (p.name, p.pose)).collect()
            }
            Self::Numbers(poses) => (1..)
                .zip(poses)
                .map(|(number, [tx, ty, tz, rx, ry, rz]): (u32, _)| {
                    let pose = Pose::new([tx, ty, tz], [rx, ry, rz]);
                    (number.to_string(), pose)
                })
                .collect(),
        };
        let days = named.into_iter().map(|(name, pose)| Day {
            name,
            pose,
            centre_mm: None,
        });
        Ok(days.collect())
    }
}

/// The figures of fractions at poses, with the sum of the course; `beamsight.fractions` says how.
#[pyfunction(name = "_fractions")]
#[pyo3(signature = (case, plan, how, poses, histories, progress = None))]
pub fn fractions<'py>(
    py: Python<'py>,
    case: &PyCase,
    plan: Option<&PyPlan>,
    how: How,
    poses: Poses,
    histories: Histories,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, PyDose)> {
    let goals = goals_of(&case.0, poses.goals.as_deref())?;
    let days = poses.poses.days(case)?;
    let job = how.job(case, plan, histories.engine()?)?;
    let (job, course) = run(py, progress.as_ref(), |control, steps| {
        let tell: &(dyn Fn(&str) + Sync) = &|words| steps.tell(words);
        let job = job.delivered(control, tell).map_err(|why| failure(&why))?;
        let course = compute_fractions(&job, &days, control, tell);
        Ok((job, course.map_err(|why| failure(&why))?))
    })?;
    let report = CourseReport::new(&course, &job.plan, &goals, &case.0.structures);
    let sum = PyDose::from_dose(&Arc::new(course.sum));
    Ok((dictionary(py, &report)?, sum))
}
