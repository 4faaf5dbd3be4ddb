//! `beamsight export`: a case as DICOM files that other systems read, as one study.

use super::dose::histories;
use super::outputs::OutputArgs;
use super::plan_args::PlanArgs;
use super::words::{self, CaseArgs};
use super::xrays::XRayArgs;
use super::{Failure, VerbOutput};
use analysis::{Engine, EngineOptions};
use anyhow::anyhow;
use case::DoseEngine;
use dicom::{Anonymise, DoseBits, ExportOptions, ExportPart, Exported};
use engine::{DeviceChoice, JobControl};
use files::{Inputs, NewFolder};
use open::paths_of;
use results::{DosesToExport, ExportFailure, ExportHow, XRays, export_case};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "All files appear together in a folder of their own, or none. What was not changed leaves as the \
file it was read from, with its UID; everything else is a new object of the same study. Only a final dose leaves, with \
the plan it was computed for; beams that are not computed here leave as they were in their file.\n\n\
Examples:\n  \
beamsight export demo:thorax --out chest\n  \
beamsight export work.json --out plan-2 --only ct,structures,plan\n  \
beamsight export ~/ct/patient-7 --out out --dose beams --bits 16\n  \
beamsight export head.mha --out head --overwrite"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// Folder to write into: made where it is missing, refused where it is not empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    xrays: XRayArgs,

    /// Objects that leave, of ct, structures, plan, dose, registration, drr, xray [default: all that the case has]
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', value_parser = part)]
    only: Option<Vec<ExportPart>>,

    /// Which doses leave: plan, beams (each by itself) or both [default: both, by Monte Carlo plan]
    #[arg(long, value_name = "WHICH", value_parser = doses)]
    dose: Option<DosesToExport>,

    /// How doses are computed; Monte Carlo has no doses of single beams
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// With --engine mccs or mc: photons to run, like 5e7
    #[arg(long, value_name = "N", value_parser = histories, conflicts_with = "uncertainty")]
    histories: Option<u64>,

    /// With --engine mccs or mc: run until the mean standard deviation of voxels above half the maximum is this, percent, 2 at
    /// most [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = words::within(0.01, 2.0))]
    uncertainty: Option<f64>,

    /// Bits of a stored dose value, 16 or 32
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = bits)]
    bits: DoseBits,

    /// Remove names, numbers, dates, places and private elements from every object, give it other UIDs, and replace names of
    /// structures that are not words of the field (DICOM PS3.15, basic profile). Text burned into pixels stays
    #[arg(long)]
    anonymise: bool,

    /// With --anonymise: move all dates by this many days in place of removing them; the times of day stay
    #[arg(long, value_name = "DAYS", requires = "anonymise", allow_hyphen_values = true, value_parser = days)]
    shift_dates: Option<i32>,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    fn engine(&self) -> Result<Engine, Failure> {
        let Self {
            engine,
            histories,
            uncertainty: uncertainty_percent,
            ..
        } = *self;
        let options = EngineOptions {
            engine,
            histories,
            uncertainty_percent,
            ..EngineOptions::default()
        };
        options
            .engine()
            .map_err(|error| words::engine_refusal(&error))
    }
}

/// A century either way; 0 would leave the dates as they are.
fn days(word: &str) -> Result<i32, String> {
    let why = "it must be a whole number of days from -36525 to 36525, and not 0";
    word.trim()
        .parse()
        .ok()
        .filter(|days: &i32| *days != 0 && days.abs() <= 36_525)
        .ok_or_else(|| why.to_owned())
}

fn part(word: &str) -> Result<ExportPart, String> {
    let words = ExportPart::ALL.map(ExportPart::word).join(", ");
    ExportPart::ALL
        .into_iter()
        .find(|part| part.word() == word)
        .ok_or_else(|| format!("it is of {words}"))
}

fn doses(word: &str) -> Result<DosesToExport, String> {
    match word {
        "plan" => Ok(DosesToExport::Plan),
        "beams" => Ok(DosesToExport::Beams),
        "both" => Ok(DosesToExport::Both),
        _ => Err("it is plan, beams or both".to_owned()),
    }
}

fn bits(word: &str) -> Result<DoseBits, String> {
    match word {
        "16" => Ok(DoseBits::Sixteen),
        "32" => Ok(DoseBits::ThirtyTwo),
        _ => Err("it is 16 or 32".to_owned()),
    }
}

/// # Errors
/// Objects that cannot leave, by name; errors of opening, computing and writing. Nothing is written then.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let mut inputs = Inputs::default();
    paths_of(&args.case.case)
        .into_iter()
        .for_each(|path| inputs.add("the CASE", path));
    args.plan
        .inputs()
        .into_iter()
        .for_each(|(what, path)| inputs.add(what, path));
    args.xrays
        .xray
        .iter()
        .for_each(|path| inputs.add("an X-ray", path.clone()));
    let overwrite = args.output.overwrite;
    let folder = NewFolder::prepare(&args.out, &inputs, overwrite, "--overwrite")?;
    args.plan.check()?;
    let engine = args.engine()?;
    let mut case = args.case.open()?;
    if args.plan.names_a_plan() {
        case.plans = vec![Arc::new(args.plan.plan(&case)?)];
    } else {
        case.plans
            .iter_mut()
            .for_each(|plan| args.plan.computing.set_machine(Arc::make_mut(plan)));
    }
    let settings = args.plan.computing.settings(&case, device)?;
    let wanted = args
        .only
        .as_ref()
        .is_none_or(|parts| parts.iter().any(|part| part.is_of_xrays()));
    let xrays = if wanted {
        args.xrays.read(&args.case, &case, &settings.hu_table)?
    } else {
        None
    };
    let parts = args.only.clone().unwrap_or_else(|| {
        let of_case = ExportPart::ALL.into_iter().filter(|part| part.is_in(&case));
        of_case.chain(xrays.iter().flat_map(XRays::parts)).collect()
    });
    let anonymise = args.anonymise.then_some(Anonymise {
        shift_days: args.shift_dates,
    });
    let options = ExportOptions {
        parts,
        bits: args.bits,
        anonymise,
        imaging: None,
    };
    let engines = vec![engine; case.plans.len()];
    let doses = args.dose.unwrap_or_else(|| DosesToExport::all_of(engine));
    let how = ExportHow {
        doses,
        settings: &settings,
        engines: &engines,
        xrays: xrays.as_ref(),
    };
    let exported = export_case(
        folder.path(),
        &case,
        &options,
        how,
        &JobControl::new(),
        &super::tell,
    )
    .map_err(|failure| without_dose(failure, &options, engine))?;
    let target = folder.finish()?;
    let text = describe(&exported, &target.display().to_string());
    let json = json!({ "case": case.source, "folder": target, "files": exported.files, "remarks": exported.remarks });
    Ok(VerbOutput { json, text })
}

/// A dose that does not leave, with the words for an export without it.
fn without_dose(failure: ExportFailure, options: &ExportOptions, engine: Engine) -> anyhow::Error {
    if !options.has(ExportPart::Dose) {
        return failure.into();
    }
    let (why, beams) = match failure {
        ExportFailure::Refused(why) if engine.is_by_beam() => (why, "--dose beams, or "),
        ExportFailure::Refused(why) | ExportFailure::NoDoseLeaves(why) => (why, ""),
        other => return other.into(),
    };
    let others = options
        .parts
        .iter()
        .filter(|part| **part != ExportPart::Dose);
    let others: Vec<&str> = others.map(|part| part.word()).collect();
    anyhow!("{why}: {beams}--only {}", others.join(","))
}

fn describe(exported: &Exported, folder: &str) -> String {
    let mut text = String::new();
    let images = exported.files.iter().filter(|file| file.what == "CT");
    if images.clone().count() > 0 {
        let unchanged = if images.clone().all(|file| file.unchanged) {
            ", unchanged"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "  CT0001.dcm ...   {} images{unchanged}",
            images.count()
        );
    }
    for file in exported.files.iter().filter(|file| file.what != "CT") {
        let unchanged = if file.unchanged { ", unchanged" } else { "" };
        let _ = writeln!(text, "  {:<16} {}{unchanged}", file.name, file.what);
    }
    for remark in &exported.remarks {
        let _ = writeln!(text, "  note: {remark}");
    }
    let _ = write!(text, "{} files written to {folder}", exported.files.len());
    text
}
