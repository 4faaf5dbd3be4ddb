//! `beamsight check`: the second check of a plan from elsewhere, or of a folder of them.

mod text;

use super::outputs::{OutputArgs, Outputs};
use super::words;
use super::{Failure, VerbOutput};
use analysis::second_check::{SecondCheck, Tolerances, Verdict};
use analysis::{DEFAULT_GRID_MM, Engine};
use anyhow::Context as _;
use case::DoseEngine;
use dicom::scan;
use engine::{DeviceChoice, JobControl};
use files::{GoalTemplate, replace_file, state_folder};
use input::read_folder;
use results::{CheckFiles, CheckJob, CheckMachines, Settings, second_check};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The dose of the plan and of each beam is recomputed for the plan's own monitor units and compared with the \
doses in the folder: gamma, the dose at a point that the plan states (else at the isocentre or the greatest dose), metrics and \
goals. Gamma and points are judged for the plan and each beam. Where each beam has a planned dose of its own, the plan's dose must be \
their sum. What the machine model does not have (wedge, bolus, block, \
applicator, electrons, another energy, an MLC of several layers) is not judged, and neither is a plan with it. A folder that \
holds folders of plans gives a table, a row for each plan.\n\n\
--machine is kept for the treatment machine's name and energy; give it once for each energy. The tolerances are those of \
assets/tolerances/second-check.toml, which names their sources.\n\n\
Exit 0: within tolerance. 1: not within tolerance. 2: wrong words. 3: could not be judged. Of several plans 1 goes before 3.\n\n\
Examples:\n  \
beamsight check ~/plans/patient-7\n  \
beamsight check ~/plans/patient-7 --machine linac-a-6mv.toml --machine linac-a-10mv.toml --report check.pdf\n  \
beamsight check ~/plans --json\n  \
beamsight check chest --gamma 2%/2mm --goals quantec-thorax --engine mccs"
)]
pub struct Args {
    /// Folder with CT, RTPLAN and RTDOSE (and RTSTRUCT) of a plan, or a folder of such folders
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// Model of the plan's treatment machine, a shipped name or a file; once for each energy
    #[arg(long, value_name = "NAME|FILE")]
    machine: Vec<String>,

    /// How the dose is computed
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// With --engine mccs or mc: run until the mean standard deviation of voxels above half the maximum is this, percent, 2 at
    /// most [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = words::within(0.01, 2.0))]
    uncertainty: Option<f64>,

    /// Spacing of the dose grid, mm, 2.5 at most [default: 2.5]
    #[arg(long, value_name = "MM", value_parser = words::within(0.5, DEFAULT_GRID_MM))]
    grid: Option<f64>,

    /// Criterion of gamma, global [default: the tolerances' criterion, 3%/2mm]
    #[arg(long, value_name = "DOSE/DISTANCE", value_parser = criterion)]
    gamma: Option<[f64; 2]>,

    /// Goals shown in both doses: a template (.toml), or a shipped one by its word, like quantec-thorax
    #[arg(long, value_name = "FILE|WORD")]
    goals: Option<String>,

    /// File of tolerances (.toml), as assets/tolerances/second-check.toml
    #[arg(long, value_name = "FILE")]
    tolerances: Option<PathBuf>,

    /// File for the report (.pdf)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// `3%/2mm`.
fn criterion(word: &str) -> Result<[f64; 2], String> {
    let (dose, distance) = word
        .split_once('/')
        .ok_or_else(|| "it is percent and mm, like 3%/2mm".to_owned())?;
    Ok([
        part_of_criterion(dose, "%")?,
        part_of_criterion(distance, "mm")?,
    ])
}

fn part_of_criterion(part: &str, unit: &str) -> Result<f64, String> {
    words::within(0.1, 10.0)(part.trim().trim_end_matches(unit).trim_end())
        .map_err(|why| format!("'{part}': {why}"))
}

/// A fault of the user's words, with what caused it.
fn wrong(error: impl Into<anyhow::Error>) -> Failure {
    Failure::Words(super::chain(&error.into()))
}

/// A checked plan of a folder, or why its folder has none.
enum Row {
    Checked(Box<SecondCheck>),
    Failed { folder: String, why: String },
}

impl Row {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Checked(check) => check.judgement.verdict,
            Self::Failed { .. } => Verdict::NotJudged,
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Checked(check) => json!(check),
            Self::Failed { folder, why } => json!({
                "case": folder, "judgement": { "verdict": Verdict::NotJudged, "reasons": [why] },
            }),
        }
    }
}

/// The files that it writes and reads.
pub fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--report", &args.report);
    outputs.reads("FOLDER", [&args.folder]);
    outputs.reads("--tolerances", &args.tolerances);
    args.machine
        .iter()
        .chain(&args.goals)
        .for_each(|word| outputs.reads_word("an option", word));
    outputs
}

/// # Errors
/// Wrong words; a device that is not there; a report that cannot be written. What cannot be judged is no error.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    if !args.folder.is_dir() {
        let folder = args.folder.display();
        return Err(Failure::Words(format!(
            "there is no folder '{folder}'; name the folder of a plan's files"
        )));
    }
    let engine = words::engine_to(args.engine, args.uncertainty)?;
    let outputs = outputs(args);
    if let Some(report) = &args.report {
        words::ending_of(report, &["pdf"], "--report")?;
    }
    outputs.check()?;
    device.check()?;
    let tolerances = tolerances(args).map_err(wrong)?;
    let goals = args.goals.as_deref().map(GoalTemplate::resolve).transpose();
    let goals = goals.map_err(wrong)?;
    let mut machines = CheckMachines::new(&args.machine, state_folder()).map_err(wrong)?;
    let grid_mm = args.grid.unwrap_or(DEFAULT_GRID_MM);
    let settings = Settings {
        device,
        grid_mm,
        ..Settings::default()
    };
    let folders = folders_of(&args.folder);
    let options = CheckOptions {
        engine,
        tolerances: &tolerances,
        template: goals.as_ref(),
        settings: &settings,
    };
    let mut rows = Vec::new();
    for folder in folders
        .as_deref()
        .unwrap_or(std::slice::from_ref(&args.folder))
    {
        if folders.is_some() {
            super::tell(&format!("{}", folder.display()));
        }
        rows.extend(check_folder(folder, &options, &mut machines));
    }
    let verdict = rows
        .iter()
        .map(Row::verdict)
        .fold(Verdict::Within, Verdict::worst);
    let mut text = text::checks(&rows, folders.is_some());
    for note in machines.keep() {
        text += &format!("note: {note}\n");
    }
    if let Some(path) = &args.report {
        let (mut checked, mut failed) = (Vec::new(), Vec::new());
        for row in &rows {
            match row {
                Row::Checked(check) => checked.push(&**check),
                Row::Failed { folder, why } => failed.push((folder.as_str(), why.as_str())),
            }
        }
        let bytes = report::check::draw(&checked, &failed);
        outputs.write(|| {
            replace_file(path, |file| file.write_all(&bytes))
                .with_context(|| format!("cannot write {}", path.display()))
        })?;
        text += &format!("written to {}\n", path.display());
    }
    let checks: Vec<serde_json::Value> = rows.iter().map(Row::json).collect();
    let json = json!({ "verdict": verdict, "checks": checks, "report": args.report });
    let answer = VerbOutput { json, text };
    match verdict {
        Verdict::Within => Ok(answer),
        Verdict::Outside => Err(Failure::Checks(answer)),
        Verdict::NotJudged => Err(Failure::NotJudged(answer)),
    }
}

fn tolerances(args: &Args) -> anyhow::Result<Tolerances> {
    let tolerances = args
        .tolerances
        .as_deref()
        .map_or(Ok(Tolerances::default()), Tolerances::read)?;
    Ok(match args.gamma {
        Some(gamma) => tolerances.with_gamma(gamma),
        None => tolerances,
    })
}

/// The folders of a folder of cases, which holds folders alone, some of them with a plan and its images or doses. `None` for the
/// folder of one case, whose folders may hold its parts.
fn folders_of(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut inside: Vec<PathBuf> = Vec::new();
    read_folder(folder);
    for entry in std::fs::read_dir(folder).ok()? {
        let path = entry.ok()?.path();
        if !path.is_dir() {
            return None;
        }
        inside.push(path);
    }
    inside.sort();
    let has_case = inside.iter().any(|path| {
        let catalogue = scan(path, &|_| true);
        catalogue
            .is_ok_and(|c| !c.plans.is_empty() && (!c.series.is_empty() || !c.doses.is_empty()))
    });
    has_case.then_some(inside)
}

fn not_judged(folder: &Path, why: &str) -> Row {
    Row::Failed {
        folder: folder.display().to_string(),
        why: format!("Not judged: {why}."),
    }
}

/// Options of a check that hold for every folder.
struct CheckOptions<'a> {
    engine: Engine,
    tolerances: &'a Tolerances,
    template: Option<&'a GoalTemplate>,
    settings: &'a Settings,
}

/// The checks of all plans of a folder.
fn check_folder(
    folder: &Path,
    options: &CheckOptions<'_>,
    machines: &mut CheckMachines,
) -> Vec<Row> {
    let CheckOptions {
        engine,
        tolerances,
        template,
        settings,
    } = *options;
    let files = match CheckFiles::read(folder) {
        Ok(files) => files,
        Err(error) => return vec![not_judged(folder, &error.to_string())],
    };
    if files.case.plans.is_empty() && files.unchecked().is_empty() {
        return vec![not_judged(folder, &files.case.no_plan())];
    }
    let goals = template
        .map(|template| template.matched(&files.case.structures).goals)
        .unwrap_or_default();
    let mut rows: Vec<Row> = files
        .unchecked()
        .iter()
        .map(|why| not_judged(folder, why))
        .collect();
    for plan in &files.case.plans {
        let stated = files.stated(plan);
        let mut plan = (**plan).clone();
        let uses = machines.set(&mut plan, &stated);
        let job = CheckJob {
            files: &files,
            plan: Arc::new(plan),
            machines: uses,
            settings,
            engine,
            tolerances,
            goals: &goals,
            changed_here: Vec::new(),
        };
        match second_check(&job, &JobControl::new(), &super::tell) {
            Ok(check) => rows.push(Row::Checked(Box::new(check))),
            Err(error) => rows.push(not_judged(folder, &error.to_string())),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria() {
        for word in ["3%/2mm", " 3 % / 2 mm ", "3/2"] {
            assert_eq!(criterion(word), Ok([3.0, 2.0]), "{word}");
        }
        for word in [
            "3%", "3mm/2%", "0%/2mm", "3%/2mm/1", "nan/2", "/", "3%/99mm",
        ] {
            assert!(criterion(word).is_err(), "{word}");
        }
    }
}
