//! Doses of single fractions at the poses of their days, and their sum.

use super::figures::{DoseFigures, dvhs_in};
use super::{DeliveredPlan, drop_doses};
use crate::graph::{Failure, Graph};
use crate::plan_job::PlanJob;
use analysis::{DayPlan, Sampling, no_beams};
use case::{Dose, DoseStatus, Plan, Pose, add_each_once};
use engine::JobControl;
use geometry::Volume;
use glam::DVec3;
use std::sync::Arc;

/// A fraction that was delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Day {
    /// Its date or number, as the user names it.
    pub name: String,
    /// How the patient lay.
    pub pose: Pose,
    /// Centre about which the pose turns, patient LPS, mm; by default the isocentre of the first beam that is computed.
    pub centre_mm: Option<DVec3>,
}

/// A fraction with the figures of a course of such fractions.
#[derive(Clone, Debug)]
pub struct DayResult {
    pub day: Day,
    pub figures: DoseFigures,
}

/// The course: fractions that were delivered, and those to come.
#[derive(Clone, Debug)]
pub struct Course {
    pub days: Vec<DayResult>,
    /// Fractions to come, each at the mean of the poses so far.
    pub to_come: u32,
    pub mean_pose: Pose,
    /// Sum over all fractions, Gy.
    pub sum: Dose,
    pub figures: DoseFigures,
}

/// Computes a plan, whose monitor units are those that are delivered, at the pose of each day, and the sum over its fractions; those
/// to come count at the mean pose so far. `tell` receives a line before each dose.
///
/// # Errors
/// [`Failure`]: a pose of no treatment, more days than the plan has fractions, none; why a dose cannot be computed.
pub fn compute_fractions(
    job: &PlanJob,
    days: &[Day],
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Course, Failure> {
    let fractions = job.plan.fractions;
    let to_come = fractions_to_come(fractions, days)?;
    let mean_pose = mean_of(days);
    // All poses are refused before anything is computed.
    let mut plans = Vec::new();
    for day in days {
        plans.push(plan_of_day(&job.plan, day)?);
    }
    let mean_day = Day {
        name: "the mean pose".to_owned(),
        pose: mean_pose,
        centre_mm: days[0].centre_mm,
    };
    let mean_plan = plan_of_day(&job.plan, &mean_day)?;

    let delivered = DeliveredPlan::of_job(job)?;
    let doses = DosesAtPoses::new(&delivered, control);
    let mut sum: Option<DoseSum> = None;
    let mut results = Vec::new();
    for (n, (day, plan)) in days.iter().zip(&plans).enumerate() {
        let DayPlan { plan, caveats } = plan;
        tell(&format!("fraction {} of {fractions}: {}", n + 1, day.name));
        let dose = doses.dose(plan, caveats)?;
        DoseSum::add(&mut sum, &dose, 1.0 / f64::from(fractions))?;
        results.push(DayResult {
            day: day.clone(),
            figures: doses.figures(&dose)?,
        });
    }
    if to_come > 0 {
        tell(&format!("{to_come} fractions to come, at the mean pose"));
        let dose = doses.dose(&mean_plan.plan, &mean_plan.caveats)?;
        let share = f64::from(to_come) / f64::from(fractions);
        DoseSum::add(&mut sum, &dose, share)?;
    }
    let sum = sum.ok_or_else(|| Failure::here("there is no fraction"))?;
    let sum = sum.dose(&job.plan, to_come);
    Ok(Course {
        days: results,
        to_come,
        mean_pose,
        figures: doses.figures(&sum)?,
        sum,
    })
}

/// The dose of a course of fractions at the pose of a day, Gy; partial at best.
///
/// # Errors
/// [`Failure`]: a pose of no treatment; why a dose cannot be computed.
pub fn dose_of_day(
    delivered: &DeliveredPlan,
    day: &Day,
    control: &JobControl,
) -> Result<Dose, Failure> {
    let DayPlan { plan, caveats } = plan_of_day(&delivered.plan, day)?;
    let dose = DosesAtPoses::new(delivered, control).dose(&plan, &caveats)?;
    Ok(Dose {
        label: format!("{}, {}", plan.name, day.name),
        ..dose
    })
}

fn fractions_to_come(fractions: u32, days: &[Day]) -> Result<u32, Failure> {
    if days.is_empty() {
        return Err(Failure::here("there is no fraction"));
    }
    let delivered = u32::try_from(days.len()).unwrap_or(u32::MAX);
    fractions.checked_sub(delivered).ok_or_else(|| {
        Failure::Here(format!(
            "there are more poses ({delivered}) than fractions in the plan ({fractions})"
        ))
    })
}

fn plan_of_day(plan: &Plan, day: &Day) -> Result<DayPlan, Failure> {
    DayPlan::new(plan, &day.pose, day.centre_mm)
        .map_err(|why| Failure::Here(format!("{}: {why}", day.name)))
}

/// Mean of the numbers of poses: their turns are small.
fn mean_of(days: &[Day]) -> Pose {
    let count = days.len().max(1) as f64;
    let poses = days.iter().map(|day| day.pose);
    poses.fold(Pose::default(), |mean, pose| Pose {
        translation_mm: mean.translation_mm + pose.translation_mm / count,
        rotation_deg: mean.rotation_deg + pose.rotation_deg / count,
    })
}

/// Doses of a plan at poses, one held at a time.
struct DosesAtPoses<'a> {
    graph: Graph,
    delivered: &'a DeliveredPlan,
    control: &'a JobControl,
}

impl<'a> DosesAtPoses<'a> {
    fn new(delivered: &'a DeliveredPlan, control: &'a JobControl) -> Self {
        Self {
            graph: Graph::default(),
            delivered,
            control,
        }
    }

    /// The dose of a course of fractions like this one, Gy.
    fn dose(&self, plan: &Plan, caveats: &[String]) -> Result<Dose, Failure> {
        let query = self.delivered.dose_of(&Arc::new(plan.clone()));
        let query = query.ok_or_else(|| Failure::Here(no_beams(plan)))?;
        let summed = self.graph.full(&query, self.control)?;
        drop_doses(&self.graph);
        let mut dose = Dose::clone(&summed.dose);
        dose.status = dose.status.worst(DoseStatus::Partial);
        dose.caveats.extend_from_slice(caveats);
        Ok(dose)
    }

    fn figures(&self, dose: &Dose) -> Result<DoseFigures, Failure> {
        let masks = self
            .delivered
            .masks(|query| self.graph.full(query, self.control))?;
        let dvhs = dvhs_in(dose, &masks, Sampling::Full, self.control)?;
        Ok(DoseFigures::new(dose, dvhs))
    }
}

/// A weighed sum of doses on one grid.
struct DoseSum {
    /// The first dose: its grid, and what is known of all.
    dose: Dose,
    gy: Vec<f64>,
}

impl DoseSum {
    fn add(sum: &mut Option<Self>, dose: &Dose, weight: f64) -> Result<(), Failure> {
        let Self {
            dose: summed_dose,
            gy,
        } = sum.get_or_insert_with(|| Self {
            dose: dose.clone(),
            gy: vec![0.0; dose.gy.data().len()],
        });
        if dose.gy.grid() != summed_dose.gy.grid() {
            return Err(Failure::here("the dose grid depends on the isocentre"));
        }
        for (sum_gy, dose_gy) in gy.iter_mut().zip(dose.gy.data()) {
            *sum_gy += weight * f64::from(*dose_gy);
        }
        summed_dose.status = summed_dose.status.worst(dose.status);
        let caveats = dose.caveats.iter().map(String::as_str);
        add_each_once(&mut summed_dose.caveats, caveats);
        Ok(())
    }

    fn dose(self, plan: &Plan, to_come: u32) -> Dose {
        let Self { mut dose, gy } = self;
        let gy = gy.into_iter().map(|gy| gy as f32).collect();
        dose.gy = Volume::new(Arc::clone(dose.gy.grid()), gy).into();
        dose.label = format!("{}, sum of fractions", plan.name);
        // A receipt is of one computation.
        dose.receipt = None;
        if to_come > 0 {
            dose.caveats.push(format!(
                "{to_come} of {} fractions are to come: they count at the mean pose so far",
                plan.fractions
            ));
        }
        dose
    }
}
