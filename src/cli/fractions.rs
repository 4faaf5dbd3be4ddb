//! `beamsight fractions`: doses of fractions at the poses of their days, and their sum.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::PlanArgs;
use super::scorecard::{goals_of, outcome_in_words};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use analysis::GoalRow;
use case::{Case, DoseEngine, Goal, Plan};
use clap::ValueHint;
use engine::{DeviceChoice, JobControl};
use files::mha::Quantity;
use files::{read_poses, write_dose_volume};
use results::{Course, CourseReport, Day, DoseFigures, compute_fractions};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A pose says how the patient lay, as 'register' finds it in X-rays: a turn about the isocentre, then a shift, in mm and \
degrees. The table has a header fraction,tx,ty,tz,rx,ry,rz ('patient' where wanted) and a row for each fraction that was delivered.\n\n\
Each dose is a true dose of the same monitor units in the planning CT moved as a whole: anatomy that changed is not in it, and its \
status is partial at best. Fractions to come count at the mean pose. Arcs are shifted and not turned; their doses say so.\n\n\
Examples:\n  \
beamsight fractions demo:thorax --poses poses.csv\n  \
beamsight fractions ~/ct/patient-7 --plan leaves.toml --poses poses.csv --goals quantec-pelvis --out sum.mha --json"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// Table of the poses (.csv)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    poses: PathBuf,

    /// Template of goals: a shipped name or a file; left out: the goals of the case
    #[arg(long, value_name = "GOALS")]
    goals: Option<String>,

    /// How doses are computed
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// File for the sum over all fractions, Gy (.mha)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.reads_case(&args.case.case);
    outputs.reads("the poses", [&args.poses]);
    args.goals
        .iter()
        .for_each(|word| outputs.reads_word("the goals", word));
    args.plan.reads(&mut outputs);
    outputs
}

/// # Errors
/// Errors of opening, of the plan, of the poses, of a dose and of writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if let Some(out) = &args.out {
        words::ending(out, &["mha"])?;
    }
    let outputs = outputs(args);
    outputs.check()?;
    args.plan.check()?;
    let case = args.case.open()?;
    let plan = args.plan.plan(&case)?;
    let goals = goals_of(&case, args.goals.as_deref())?;
    let days = read_poses(&args.poses, &case.patient).map_err(anyhow::Error::from)?;
    let days: Vec<Day> = days
        .into_iter()
        .map(|named| Day {
            name: named.name,
            pose: named.pose,
            centre_mm: None,
        })
        .collect();
    let engine = words::engine_to(args.engine, None)?;
    let start = Instant::now();
    let job = args.plan.computing.job(&case, plan, engine, device)?;
    let control = JobControl::new();
    let job = job.delivered(&control, &super::tell)?;
    let course = compute_fractions(&job, &days, &control, &super::tell)?;
    let figures = CourseFigures {
        case: &case,
        plan: &job.plan,
        goals: goals.map(|matched| matched.goals).unwrap_or_default(),
        course: &course,
    };
    let report = CourseReport::new(&course, &job.plan, &figures.goals, &case.structures);
    let mut json = serde_json::to_value(&report).map_err(anyhow::Error::from)?;
    json["case"] = json!(case.source);
    json["engine"] = json!(args.engine);
    json["seconds"] = json!(start.elapsed().as_secs_f64());
    let written = outputs.write(|| -> anyhow::Result<Vec<PathBuf>> {
        if let Some(out) = &args.out {
            write_dose_volume(out, Quantity::Dose, &course.sum.gy, &course.sum, &case)?;
        }
        Ok(args.out.iter().cloned().collect())
    })?;
    let mut text = figures.text();
    for path in written {
        let _ = writeln!(text, "written to {}", path.display());
    }
    Ok(VerbOutput { json, text })
}

/// A course with the goals in it.
struct CourseFigures<'a> {
    case: &'a Case,
    plan: &'a Plan,
    goals: Vec<Goal>,
    course: &'a Course,
}

impl CourseFigures<'_> {
    fn rows(&self, figures: &DoseFigures) -> Vec<GoalRow> {
        figures.goals(
            &self.goals,
            &self.case.structures,
            self.plan.prescription_gy,
        )
    }

    fn text(&self) -> String {
        let Course {
            days,
            to_come,
            mean_pose,
            figures,
            ..
        } = self.course;
        let mut text = format!(
            "{}: {} fractions delivered, {to_come} to come at the mean pose {mean_pose:.2}\n",
            self.plan.name,
            days.len()
        );
        for caveat in &figures.caveats {
            let _ = writeln!(text, "note: {caveat}");
        }
        for result in days {
            let _ = writeln!(
                text,
                "fraction {}: pose {}",
                result.day.name, result.day.pose
            );
        }
        let sum_rows = self.rows(figures);
        let of_days: Vec<Vec<GoalRow>> = days
            .iter()
            .map(|result| self.rows(&result.figures))
            .collect();
        for (n, row) in sum_rows.iter().enumerate() {
            let _ = writeln!(
                text,
                "  {}: sum {}",
                row.goal.short_text(),
                outcome_in_words(row)
            );
            for (result, rows) in days.iter().zip(&of_days) {
                let _ = writeln!(
                    text,
                    "    a course like fraction {}: {}",
                    result.day.name,
                    outcome_in_words(&rows[n])
                );
            }
        }
        text
    }
}
