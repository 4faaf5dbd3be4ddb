//! `beamsight robust`: a plan under set-up errors.

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::{DoseBy, PlanArgs};
use super::scorecard::{goals_of, outcome_in_words};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use analysis::{DvhBand, EngineOptions, GoalRow, MOST_SET_UP_MM, RobustGoal, Scenario, met_text};
use anyhow::Context as _;
use case::{Case, Dose, DoseEngine, Plan};
use clap::ValueEnum;
use engine::{DeviceChoice, JobControl};
use files::mha::Quantity;
use files::{csv_cell, replace_file, write_dose_volume};
use results::{PlanJob, RobustPlan, compute_scenarios};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
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
    let options = EngineOptions {
        engine: args.engine,
        ..EngineOptions::default()
    };
    let engine = options
        .engine()
        .map_err(|error| words::engine_refusal(&error))?;
    let by = DoseBy { engine, device };
    let start = Instant::now();
    let scenarios = match args.scenarios {
        Count::Seven => Scenario::along_axes(args.shift_mm),
        Count::TwentySeven => Scenario::all_round(args.shift_mm),
    };
    let job = args.plan.computing.job(&case, plan, engine, device)?;
    let control = JobControl::new();
    let job = with_delivered_units(job, args, &case, by)?;
    let robust = compute_scenarios(&job, &scenarios, &control, &super::tell)?;
    let goals = goals
        .map(|matched| robust.goals(&matched.goals, &case.structures, job.plan.prescription_gy));
    let figures = RobustFigures::new(robust, args.shift_mm, goals.unwrap_or_default());
    let mut json = figures.json();
    json["case"] = json!(case.source);
    json["plan"] = json!(job.plan.name);
    json["engine"] = json!(args.engine);
    json["seconds"] = json!(start.elapsed().as_secs_f64());
    let written = outputs.write(|| figures.write(args, &case, &job.plan, &json))?;
    let mut text = format!("{}\n{}", job.plan.name, figures.text());
    for path in written {
        let _ = writeln!(text, "written to {}", path.display());
    }
    Ok(VerbOutput { json, text })
}

/// The job of the plan with the monitor units that deliver its normalisation: those stay, wherever the patient lies.
fn with_delivered_units(
    job: PlanJob,
    args: &Args,
    case: &Case,
    by: DoseBy,
) -> Result<PlanJob, Failure> {
    if job.plan.normalisation.is_none() {
        return Ok(job);
    }
    super::tell("dose of the plan, for its monitor units");
    let normalised = args.plan.computing.compute(case, job.plan.clone(), by)?;
    let plan = Plan {
        normalisation: None,
        ..normalised.plan
    };
    Ok(PlanJob { plan, ..job })
}

/// Figures of a plan under set-up errors.
pub struct RobustFigures {
    shift_mm: f64,
    robust: RobustPlan,
    bands: Vec<DvhBand>,
    goals: Vec<RobustGoal>,
}

impl RobustFigures {
    pub fn new(robust: RobustPlan, shift_mm: f64, goals: Vec<RobustGoal>) -> Self {
        Self {
            shift_mm,
            bands: robust.bands(),
            robust,
            goals,
        }
    }

    /// Caveats of the scenarios, each once.
    fn caveats(&self) -> Vec<&str> {
        let mut caveats: Vec<&str> = Vec::new();
        for caveat in self.robust.scenarios.iter().flat_map(|s| &s.caveats) {
            if !caveats.contains(&caveat.as_str()) {
                caveats.push(caveat);
            }
        }
        caveats
    }

    fn scenario(&self, goal: &RobustGoal) -> Scenario {
        self.robust.scenarios[goal.scenario].scenario
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "set-up error {} mm, {} scenarios\n",
            self.shift_mm,
            self.robust.scenarios.len()
        );
        for caveat in self.caveats() {
            let _ = writeln!(text, "note: in one scenario at least: {caveat}");
        }
        if self.goals.is_empty() {
            return text;
        }
        let planned: Vec<GoalRow> = self.goals.iter().map(|g| g.planned.clone()).collect();
        let worst: Vec<GoalRow> = self.goals.iter().map(|g| g.worst.clone()).collect();
        let _ = writeln!(
            text,
            "goals: as planned {}; each in its worst scenario {}",
            met_text(&planned),
            met_text(&worst)
        );
        let names = planned.iter().map(|row| row.goal.short_text());
        let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
        for goal in &self.goals {
            let name = goal.planned.goal.short_text();
            let [planned, worst] = [&goal.planned, &goal.worst].map(outcome_in_words);
            let scenario = self.scenario(goal);
            let _ = writeln!(
                text,
                "  {name:<width$}  {planned}; worst {worst}, {scenario}"
            );
        }
        text
    }

    pub fn json(&self) -> Value {
        let scenarios = self.robust.scenarios.iter().map(|result| {
            json!({
                "shift_mm": result.scenario.shift_mm.to_array(),
                "name": result.scenario.to_string(),
                "status": result.status,
                "caveats": result.caveats,
            })
        });
        let goals = self.goals.iter().map(|goal| {
            json!({
                "goal": goal.planned.goal,
                "value": value(&goal.planned),
                "met": met(&goal.planned),
                "worst": value(&goal.worst),
                "worst_met": met(&goal.worst),
                "worst_shift_mm": self.scenario(goal).shift_mm.to_array(),
                "worst_scenario": self.scenario(goal).to_string(),
            })
        });
        json!({
            "shift_mm": self.shift_mm,
            "scenarios": scenarios.collect::<Vec<_>>(),
            "goals": goals.collect::<Vec<_>>(),
            "bands": self.bands,
        })
    }

    fn write(
        &self,
        args: &Args,
        case: &Case,
        plan: &Plan,
        json: &Value,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        if let Some(out) = &args.out {
            let is_csv = out
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
            let text = if is_csv {
                self.csv()
            } else {
                format!("{json:#}\n")
            };
            replace_file(out, |file| file.write_all(text.as_bytes()))
                .with_context(|| format!("cannot write {}", out.display()))?;
            written.push(out.clone());
        }
        let extremes = [
            (&args.least, "least", self.robust.least_gy()),
            (&args.greatest, "greatest", self.robust.greatest_gy()),
        ];
        for (path, word, gy) in extremes {
            let Some(path) = path else { continue };
            let dose = self.dose_of_extremes(gy, &format!("{word} dose, {}", plan.name));
            write_volume(path, &dose, case)?;
            written.push(path.clone());
        }
        Ok(written)
    }

    /// A volume of extremes as a dose, which no plan delivers.
    fn dose_of_extremes(&self, gy: geometry::Volume<f32>, label: &str) -> Dose {
        let mut caveats = vec![format!(
            "extreme of each voxel over {} scenarios of {} mm",
            self.robust.scenarios.len(),
            self.shift_mm
        )];
        caveats.extend(self.caveats().into_iter().map(str::to_owned));
        Dose {
            gy: gy.into(),
            status: case::DoseStatus::Partial,
            label: label.to_owned(),
            frame_of_reference_uid: String::new(),
            receipt: None,
            caveats,
            remarks: Vec::new(),
            part: None,
        }
    }

    /// Columns: structure, dose, volume as planned, least, greatest.
    pub fn csv(&self) -> String {
        let mut csv =
            "structure,dose (Gy),volume as planned (%),least volume (%),greatest volume (%)\n"
                .to_owned();
        for band in &self.bands {
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
}

fn write_volume(path: &Path, dose: &Dose, case: &Case) -> anyhow::Result<()> {
    Ok(write_dose_volume(
        path,
        Quantity::Dose,
        &dose.gy,
        dose,
        case,
    )?)
}

fn value(row: &GoalRow) -> Option<f64> {
    row.answer.as_ref().ok().map(|outcome| outcome.value)
}

fn met(row: &GoalRow) -> Option<bool> {
    (!row.is_undecided()).then(|| row.is_met())
}
