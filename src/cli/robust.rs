//! `beamsight robust`: a plan under set-up errors.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::PlanArgs;
use super::scorecard::{goals_of, outcome_in_words};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use analysis::{DvhBand, GoalRow, MOST_SET_UP_MM, ShiftDirections, met_text};
use anyhow::Context as _;
use case::{Case, DoseEngine, Plan};
use clap::ValueEnum;
use engine::{DeviceChoice, JobControl};
use files::mha::Quantity;
use files::{csv_cell, replace_file, write_dose_volume};
use results::{RobustPlan, RobustReport, compute_scenarios};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each scenario is a true dose of the same monitor units with all isocentres shifted in the patient. A plan that is \
normalised is so without an error alone. Rotations, breathing and errors of delivery are not among the scenarios.\n\n\
Examples:\n  \
beamsight robust demo:tg119 --goals tg119-c-shape --shift-mm 3\n  \
beamsight robust ~/ct/patient-7 --plan leaves.toml --goals quantec-pelvis --shift-mm 5 --scenarios 27 --out bands.csv --json"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// Template of goals: a shipped name or a file; left out: the goals of the case
    #[arg(long, value_name = "GOALS")]
    goals: Option<String>,

    /// Length of the shifts, mm
    #[arg(long, value_name = "MM", default_value = "3", value_parser = words::within(0.0, MOST_SET_UP_MM))]
    shift_mm: f64,

    /// Number of scenarios: 7 along the axes of the patient, or 27 with the diagonals
    #[arg(long, value_enum, value_name = "N", default_value = "7")]
    scenarios: Count,

    /// How doses are computed
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// File for the bands of the DVHs (.csv), or for all figures (.json)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// File for the least dose of each voxel over all scenarios, Gy (.mha)
    #[arg(long, value_name = "FILE")]
    least: Option<PathBuf>,

    /// File for the greatest dose of each voxel, likewise (.mha)
    #[arg(long, value_name = "FILE")]
    greatest: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Number of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Count {
    #[value(name = "7")]
    Seven,
    #[value(name = "27")]
    TwentySeven,
}

impl From<Count> for ShiftDirections {
    fn from(count: Count) -> Self {
        match count {
            Count::Seven => Self::Axes,
            Count::TwentySeven => Self::AllRound,
        }
    }
}

fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    outputs.file("--least", &args.least);
    outputs.file("--greatest", &args.greatest);
    outputs.reads_case(&args.case.case);
    args.goals
        .iter()
        .for_each(|word| outputs.reads_word("the goals", word));
    args.plan.reads(&mut outputs);
    outputs
}

/// # Errors
/// Errors of opening, of the plan, of a dose and of writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if let Some(out) = &args.out {
        words::ending(out, &["csv", "json"])?;
    }
    for (path, option) in [(&args.least, "--least"), (&args.greatest, "--greatest")] {
        if let Some(path) = path {
            words::ending_of(path, &["mha"], option)?;
        }
    }
    let outputs = outputs(args);
    outputs.check()?;
    args.plan.check()?;
    let case = args.case.open()?;
    let plan = args.plan.plan(&case)?;
    let goals = goals_of(&case, args.goals.as_deref())?;
    let engine = words::engine_to(args.engine, None)?;
    let start = Instant::now();
    let scenarios = ShiftDirections::from(args.scenarios).scenarios(args.shift_mm);
    let job = args.plan.computing.job(&case, plan, engine, device)?;
    let control = JobControl::new();
    let job = job.delivered(&control, &super::tell)?;
    let robust = compute_scenarios(&job, &scenarios, &control, &super::tell)?;
    let goals = goals.map(|matched| matched.goals).unwrap_or_default();
    let report = RobustReport::new(
        &robust,
        args.shift_mm,
        &goals,
        &case.structures,
        job.plan.prescription_gy,
    );
    let mut json = serde_json::to_value(&report).map_err(anyhow::Error::from)?;
    json["case"] = json!(case.source);
    json["plan"] = json!(job.plan.name);
    json["engine"] = json!(args.engine);
    json["seconds"] = json!(start.elapsed().as_secs_f64());
    let written = outputs.write(|| write(args, &case, &job.plan, &robust, &report, &json))?;
    let mut text = format!("{}\n{}", job.plan.name, text_of(&report));
    for path in written {
        let _ = writeln!(text, "written to {}", path.display());
    }
    Ok(VerbOutput { json, text })
}

/// The goals as planned and in their worst scenarios, in words.
pub fn text_of(report: &RobustReport) -> String {
    let mut text = format!(
        "set-up error {} mm, {} scenarios\n",
        report.shift_mm,
        report.scenarios.len()
    );
    for caveat in report.caveats() {
        let _ = writeln!(text, "note: in one scenario at least: {caveat}");
    }
    let rows = report.rows();
    if rows.is_empty() {
        return text;
    }
    let planned: Vec<GoalRow> = rows.iter().map(|g| g.planned.clone()).collect();
    let worst: Vec<GoalRow> = rows.iter().map(|g| g.worst.clone()).collect();
    let _ = writeln!(
        text,
        "goals: as planned {}; each in its worst scenario {}",
        met_text(&planned),
        met_text(&worst)
    );
    let names = planned.iter().map(|row| row.goal.short_text());
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for (goal, entry) in rows.iter().zip(&report.goals) {
        let name = goal.planned.goal.short_text();
        let [planned, worst] = [&goal.planned, &goal.worst].map(outcome_in_words);
        let scenario = &entry.worst_scenario;
        let _ = writeln!(
            text,
            "  {name:<width$}  {planned}; worst {worst}, {scenario}"
        );
    }
    text
}

fn write(
    args: &Args,
    case: &Case,
    plan: &Plan,
    robust: &RobustPlan,
    report: &RobustReport,
    json: &Value,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    if let Some(out) = &args.out {
        let is_csv = out
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let text = if is_csv {
            csv_of(&report.bands)
        } else {
            format!("{json:#}\n")
        };
        replace_file(out, |file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", out.display()))?;
        written.push(out.clone());
    }
    let extremes = [
        (&args.least, robust.least(plan)),
        (&args.greatest, robust.greatest(plan)),
    ];
    for (path, dose) in extremes {
        let Some(path) = path else { continue };
        write_dose_volume(path, Quantity::Dose, &dose.gy, &dose, case)?;
        written.push(path.clone());
    }
    Ok(written)
}

/// Columns: structure, dose, volume as planned, least, greatest.
pub fn csv_of(bands: &[DvhBand]) -> String {
    let mut csv =
        "structure,dose (Gy),volume as planned (%),least volume (%),greatest volume (%)\n"
            .to_owned();
    for band in bands {
        let name = csv_cell(&band.structure);
        for (n, gy) in band.gy.iter().enumerate() {
            let _ = writeln!(
                csv,
                "{name},{gy:.4},{:.4},{:.4},{:.4}",
                band.planned_percent[n], band.least_percent[n], band.greatest_percent[n]
            );
        }
    }
    csv
}
