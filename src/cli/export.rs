//! `beamsight export`: a case as DICOM files that other systems read, as one study.

use super::outputs::OutputArgs;
use super::plan_args::PlanArgs;
use super::words::CaseArgs;
use super::{Answer, Failure};
use crate::analysis::{DEFAULT_GRID_MM, beams_left_out, why_left_out};
use crate::case::{Case, DoseStatus, Plan};
use crate::dicom::{
    DoseBits, ExportOptions, ExportPart, Exported, PlanDoses, check_export, export, is_export_file,
    why_no_plan_dose,
};
use crate::engine::DeviceChoice;
use crate::engine::cccs::Quality;
use crate::files::{Inputs, NewFolder};
use crate::open::paths_of;
use anyhow::{anyhow, bail};
use serde_json::json;
use std::collections::BTreeMap;
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

    /// What leaves, of ct, structures, plan, dose [default: all that the case has]
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', value_parser = part)]
    only: Option<Vec<ExportPart>>,

    /// Which doses leave: plan, beams (each by itself) or both
    #[arg(long, value_name = "WHICH", default_value = "both")]
    dose: Doses,

    /// Bits of a stored dose value, 16 or 32
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = bits)]
    bits: DoseBits,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Doses {
    Plan,
    Beams,
    Both,
}

fn part(word: &str) -> Result<ExportPart, String> {
    let known = ExportPart::ALL.map(ExportPart::word).join(", ");
    ExportPart::ALL.into_iter().find(|part| part.word() == word).ok_or_else(|| format!("it is of {known}"))
}

fn bits(word: &str) -> Result<DoseBits, String> {
    match word {
        "16" => Ok(DoseBits::Sixteen),
        "32" => Ok(DoseBits::ThirtyTwo),
        _ => Err("it is 16 or 32".to_owned()),
    }
}

/// # Errors
/// What cannot leave, by name; errors of opening, computing and writing. Nothing is written then.
pub fn run(args: &Args, device: DeviceChoice) -> Result<Answer, Failure> {
    let mut inputs = Inputs::default();
    paths_of(&args.case.case).into_iter().for_each(|path| inputs.add("the CASE", path));
    args.plan.inputs().into_iter().for_each(|(what, path)| inputs.add(what, path));
    let overwrite = args.output.overwrite;
    let folder = NewFolder::prepare(&args.out, &inputs, is_export_file, overwrite, "--overwrite")?;
    args.plan.check()?;
    let mut case = args.case.open()?;
    if args.plan.names_a_plan() {
        case.plans = vec![Arc::new(args.plan.plan(&case)?)];
    } else {
        case.plans.iter_mut().for_each(|plan| args.plan.set_machine(Arc::make_mut(plan)));
    }
    let in_case = || ExportPart::ALL.into_iter().filter(|part| part.is_in(&case)).collect();
    let options = ExportOptions { parts: args.only.clone().unwrap_or_else(in_case), bits: args.bits };
    check_export(&case, &options)?;
    if options.has(ExportPart::Dose) {
        check_doses(args, &case)?;
    }
    let compute = |case: &Case| -> anyhow::Result<Vec<PlanDoses>> {
        case.plans.iter().map(|plan| doses(args, case, plan, device)).collect()
    };
    let exported = export(folder.path(), &case, &options, compute, &|_| true)?;
    let target = folder.finish()?;
    let text = describe(&exported, &target.display().to_string());
    let json = json!({ "case": case.source, "folder": target, "files": exported.files, "remarks": exported.remarks });
    Ok(Answer { json, text })
}

/// Refuses, before the computation, a dose that could not leave.
fn check_doses(args: &Args, case: &Case) -> anyhow::Result<()> {
    if args.plan.grid_mm() > DEFAULT_GRID_MM || args.plan.quality() != Quality::default() {
        bail!(
            "only a final dose leaves: leave --quality out, and --grid or give it as {DEFAULT_GRID_MM} or less; or export without \
             it (--only ct,structures,plan)"
        );
    }
    for plan in case.plans.iter().filter(|_| args.dose != Doses::Beams) {
        let partial =
            beams_left_out(plan).and_then(|left_out| why_no_plan_dose(DoseStatus::Partial, &[left_out]));
        if let Some(why) = partial {
            bail!(
                "the dose of the plan '{}' does not leave: {why} ({}). The doses of its other beams do with --dose beams, the rest \
                 without any with --only ct,structures,plan",
                plan.name,
                why_left_out(plan).join("; ")
            );
        }
    }
    Ok(())
}

fn doses(args: &Args, case: &Case, plan: &Plan, device: DeviceChoice) -> anyhow::Result<PlanDoses> {
    let (result, beams) = args.plan.compute_written(case, plan.clone(), device)?;
    let machines: BTreeMap<&str, ()> = plan.beams.iter().map(|beam| (plan.machine_of(beam), ())).collect();
    let machines: Vec<&str> = machines.into_keys().collect();
    let mut note = format!(
        "Beamsight, collapsed cone, {} mm, machine model {}, all {} fraction(s). Not for clinical use.",
        args.plan.grid_mm(),
        machines.join(", "),
        plan.fractions
    );
    let left_out = why_left_out(plan);
    if !left_out.is_empty() {
        let _ = write!(note, " Not computed: {}.", left_out.join("; "));
    }
    // A beam may have parts that are not modelled where another has none.
    let leave = |(number, dose): &(u32, crate::case::Dose)| {
        why_no_plan_dose(dose.status, &dose.caveats).map_or(Ok(()), |why| {
            Err(anyhow!("the dose of beam {number} of the plan '{}' does not leave: {why}", plan.name))
        })
    };
    let by_beam = args.dose != Doses::Plan;
    if by_beam {
        beams.iter().try_for_each(leave)?;
    }
    if args.dose != Doses::Beams
        && let Some(why) = why_no_plan_dose(result.dose.status, &result.dose.caveats)
    {
        bail!("the dose of the plan '{}' does not leave: {why}", plan.name);
    }
    Ok(PlanDoses {
        plan: result.plan,
        dose: (args.dose != Doses::Beams).then_some(result.dose),
        beams: if by_beam { beams } else { Vec::new() },
        beam_doses: result.beam_doses,
        note,
    })
}

fn describe(exported: &Exported, folder: &str) -> String {
    let mut text = String::new();
    let images = exported.files.iter().filter(|file| file.what == "CT");
    if images.clone().count() > 0 {
        let unchanged = if images.clone().all(|file| file.unchanged) { ", unchanged" } else { "" };
        let _ = writeln!(text, "  CT0001.dcm ...   {} images{unchanged}", images.count());
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
