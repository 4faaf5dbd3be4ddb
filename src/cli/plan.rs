//! `beamsight plan`: from CT and structures to leaves, dose and goals, by a protocol.

use super::delivery;
use super::dose::dvh_table;
use super::optimise::{ProgressLines, cancel_on_signal};
use super::outputs::OutputArgs;
use super::plan_args::{ComputingArgs, DoseBy};
use super::plan_report::plan_report;
use super::robust::{csv_of, text_of};
use super::scorecard::Scorecard;
use super::words::CaseArgs;
use super::{Failure, VerbOutput};
use analysis::{PlannedCase, USUAL_MACHINE, plan_by_protocol};
use anyhow::{Context as _, anyhow};
use case::{Case, Plan};
use dicom::{DoseBits, ExportOptions, ExportPart, check_export};
use engine::{DeviceChoice, JobControl};
use files::mha::Quantity;
use files::{
    Delivery, Inputs, NewFolder, Protocol, plan_toml, replace_file, session, write_dose_volume,
};
use open::paths_of;
use results::{
    DosesToExport, ExportFailure, ExportHow, OptimisedPlan, PlanByProtocol, PlanResult,
    RobustReport, Settings, compute_by_protocol, export_case, technique_of,
};
use sequence::PlanDelivery;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A protocol is a TOML file with prescriptions, beams, structures to make and goals (assets/protocols/README.md). The folder \
gets plan.toml, session.json (which opens in the window), dose.mha, dvh.csv, plan.json, and bands.csv where the protocol has a set-up error, all \
together or none.\n\n\
Examples:\n  \
beamsight plan demo:tg119 --protocol c-shape-50-25 --out planned\n  \
beamsight plan ~/ct/patient-7 --protocol head-neck-70-63-56 --technique step --out planned --json\n  \
beamsight plan ~/ct/patient-7 --protocol our-prostate.toml --machine our-linac.toml --out planned"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    /// Protocol: a shipped name or a file
    #[arg(long, value_name = "PROTOCOL")]
    protocol: String,

    /// Delivery in place of the protocol's: maps, imrt (sliding window) or step or few (step and shoot, few segments) of its fields, vmat of its arcs
    #[arg(long, value_name = "TECHNIQUE", value_parser = delivery::any())]
    technique: Option<Delivery>,

    #[command(flatten)]
    computing: ComputingArgs,

    /// Folder to write into: made where it is missing, refused where it is not empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// The protocol of the words, with the delivery that they choose.
fn protocol_of(args: &Args) -> Result<Protocol, Failure> {
    let protocol = Protocol::resolve(&args.protocol).with_context(|| {
        let shipped: Vec<&str> = Protocol::shipped().collect();
        format!(
            "--protocol is the path of a protocol, or one of {}",
            shipped.join(", ")
        )
    })?;
    match args.technique {
        None => Ok(protocol),
        Some(delivery) => protocol
            .delivered_by(delivery)
            .map_err(|fault| Failure::Words(format!("--technique and the protocol: {fault}"))),
    }
}

/// # Errors
/// A protocol that is none or does not fit the case; errors of the optimisation, of the dose and of writing. Nothing is written then.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let mut inputs = Inputs::default();
    paths_of(&args.case.case)
        .into_iter()
        .for_each(|path| inputs.add("the CASE", path));
    inputs.add("the protocol", PathBuf::from(&args.protocol));
    args.computing
        .inputs()
        .for_each(|(what, path)| inputs.add(what, path));
    let protocol = protocol_of(args)?;
    let folder = NewFolder::prepare(&args.out, &inputs, args.output.overwrite, "--overwrite")?;
    let case = args.case.open()?;
    let control = JobControl::new();
    cancel_on_signal(&control);
    let start = Instant::now();
    super::tell("targets, structures and beams");
    let machine = args.computing.machine.as_deref().unwrap_or(USUAL_MACHINE);
    let planned = plan_by_protocol(&case, &protocol, machine, &control)?;
    let new_plan = MadePlan::new(args, &protocol, planned, device, &control)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut json = new_plan.json(args, &protocol, seconds);
    let settings = args.computing.settings(&new_plan.planned.case, device)?;
    // An export goes into an empty folder.
    let not_exported = new_plan.export(&folder, &settings, &control)?;
    new_plan.write_report(&folder, &settings, &control)?;
    json["not_exported"] = json!(not_exported);
    let target = new_plan.write(args, &case, folder, &json)?;
    json["out"] = json!(target);
    let mut text = new_plan.text(&protocol, seconds);
    if let Some(why) = not_exported {
        let _ = writeln!(text, "note: no DICOM files are written: {why}");
    }
    let _ = writeln!(text, "written to {}", target.display());
    Ok(VerbOutput { json, text })
}

/// A plan by a protocol, with its dose.
struct MadePlan {
    planned: PlannedCase,
    optimum: OptimisedPlan,
    /// Names of the beams that get 0 MU, and are taken out.
    idle: Vec<String>,
    result: PlanResult,
    scorecard: Scorecard,
    /// Figures of the delivery; `None` for maps.
    delivery: Option<PlanDelivery>,
    /// Under the set-up error of the protocol, where it has one.
    robust: Option<RobustReport>,
}

impl MadePlan {
    fn new(
        args: &Args,
        protocol: &Protocol,
        planned: PlannedCase,
        device: DeviceChoice,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        let by = DoseBy::collapsed_cone(device);
        let plan = planned.plan.clone();
        let job = args.computing.job(&planned.case, plan, by.engine, device)?;
        let mut lines = ProgressLines::new(by.engine);
        let PlanByProtocol {
            optimum,
            idle,
            result,
            with_matter,
            robust,
        } = compute_by_protocol(
            &job,
            &planned,
            protocol,
            control,
            &mut |progress| lines.tell(progress),
            &super::tell,
        )?;
        let scorecard = Scorecard::of_plan(
            &planned.case,
            planned.goals.clone(),
            (&result, with_matter.as_ref()),
            planned.plan.prescription_gy,
        );
        let has_leaves = technique_of(protocol.delivery).is_some();
        let delivery = PlanDelivery::new(&result.plan, 1.0).filter(|_| has_leaves);
        Ok(Self {
            planned,
            optimum,
            idle,
            result,
            scorecard,
            delivery,
            robust,
        })
    }

    fn mu_per_gy(&self) -> Option<f64> {
        self.delivery.as_ref()?.mu_per_gy
    }

    /// Whether the monitor units are within the protocol's limit, where it has one and they are known.
    fn is_mu_met(&self, protocol: &Protocol) -> Option<bool> {
        Some(self.mu_per_gy()? <= protocol.most_mu_per_gy?)
    }

    /// Everything that was found, in the order in which a planner asks for it.
    fn text(&self, protocol: &Protocol, seconds: f64) -> String {
        let mut text = format!("{}\n", protocol.name);
        for (target, structure, gy) in &self.planned.targets {
            let _ = writeln!(text, "  {target}: '{structure}', {gy} Gy");
        }
        if !self.planned.made.is_empty() {
            let _ = writeln!(text, "  made: {}", self.planned.made.join(", "));
        }
        let remarks = self.planned.remarks.iter();
        remarks.for_each(|remark| _ = writeln!(text, "note: {remark}"));
        let answer = &self.optimum.answer;
        let end = if answer.stopped {
            ", stopped before it came to rest"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{}\n  objective {:.6}{end}; {seconds:.1} s: {}",
            self.result.figures,
            answer.objective,
            answer.receipt.words()
        );
        if let Some(delivery) = &self.delivery {
            let _ = writeln!(text, "  {}", delivery.words());
            let remark = delivery.remark.iter();
            remark.for_each(|remark| _ = writeln!(text, "note: {remark}"));
        }
        if let (Some(is_met), Some(limit)) = (self.is_mu_met(protocol), protocol.most_mu_per_gy) {
            let verdict = if is_met { "met" } else { "not met" };
            let _ = writeln!(text, "  at most {limit} MU/Gy: {verdict}");
        }
        for beam in &self.idle {
            let _ = writeln!(text, "note: beam '{beam}' gets 0 MU, and is taken out");
        }
        for (goal, why) in &self.optimum.only_judged {
            let _ = writeln!(text, "  not optimised: {goal}: {why}");
        }
        text.push_str(&self.scorecard.text());
        if let Some(robust) = &self.robust {
            text.push_str(&text_of(robust));
        }
        let remarks = self.result.remarks.iter();
        remarks.for_each(|remark| _ = writeln!(text, "note: {remark}"));
        text
    }

    fn json(&self, args: &Args, protocol: &Protocol, seconds: f64) -> Value {
        let answer = &self.optimum.answer;
        let figures = self.delivery.as_ref().map(|delivery| delivery.figures);
        let targets = self.planned.targets.iter();
        let targets: Vec<Value> = targets
            .map(|(target, structure, gy)| json!({"target": target, "structure": structure, "gy": gy}))
            .collect();
        let only_judged = self.optimum.only_judged.iter();
        let only_judged: Vec<Value> = only_judged
            .map(|(goal, why)| json!({"goal": goal, "why": why}))
            .collect();
        json!({
            "case": self.planned.case.source,
            "protocol": {
                "word": args.protocol,
                "name": protocol.name,
                "site": protocol.site,
                "version": protocol.version,
                "source": protocol.source,
            },
            "plan": self.result.plan.name,
            "technique": protocol.delivery.word(),
            "targets": targets,
            "made_structures": self.planned.made,
            "protocol_remarks": self.planned.remarks,
            "objective": answer.objective,
            "stopped": answer.stopped,
            "receipt": answer.receipt,
            "optimiser_remarks": answer.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "not_optimised": only_judged,
            "seconds": seconds,
            "status": self.result.dose.status,
            "caveats": self.result.dose.caveats,
            "remarks": self.result.remarks,
            "figures": self.result.figures,
            "goals": self.scorecard.json(),
            "hottest_outside_targets": self.optimum.outside.hottest(&self.result.dose.gy),
            "mu": figures.map(|f| f.mu),
            "mu_per_gy": self.mu_per_gy(),
            "most_mu_per_gy": protocol.most_mu_per_gy,
            "mu_met": self.is_mu_met(protocol),
            "beam_on_s": figures.map(|f| f.beam_on_s),
            "robust": self.robust,
            "undelivered": self.idle,
        })
    }

    fn write_report(
        &self,
        folder: &NewFolder,
        settings: &Settings,
        control: &JobControl,
    ) -> Result<(), Failure> {
        super::tell("report");
        let case = self.case_with(&self.result.plan);
        let goals = self.scorecard.rows().to_vec();
        let report = plan_report(&case, &self.result, goals, settings, control)?;
        report::plan::write(&report, &folder.path().join("report.pdf"))
            .map_err(|why| anyhow!("{why}").into())
    }

    /// Writes the case with this plan alone and its doses as DICOM files, or says why they do not leave.
    fn export(
        &self,
        folder: &NewFolder,
        settings: &Settings,
        control: &JobControl,
    ) -> Result<Option<String>, Failure> {
        let mut case = self.case_with(&self.result.plan);
        case.plans.truncate(1);
        case.doses.clear();
        let parts = ExportPart::ALL.into_iter().filter(|part| part.is_in(&case));
        let options = ExportOptions {
            parts: parts.collect(),
            bits: DoseBits::default(),
            anonymise: None,
            imaging: None,
        };
        let how = ExportHow {
            doses: DosesToExport::default(),
            settings,
            engines: &[],
            xrays: None,
        };
        // Maps without leaves, for one, have no place in DICOM.
        if let Err(why) = check_export(&case, &options) {
            return Ok(Some(why.to_string()));
        }
        match export_case(folder.path(), &case, &options, how, control, &super::tell) {
            Ok(_) => Ok(None),
            Err(ExportFailure::Refused(why) | ExportFailure::NoDoseLeaves(why)) => Ok(Some(why)),
            Err(failure) => Err(anyhow::Error::from(failure).into()),
        }
    }

    /// Writes the folder; returns where it stands.
    fn write(
        &self,
        args: &Args,
        opened: &Case,
        folder: NewFolder,
        json: &Value,
    ) -> Result<PathBuf, Failure> {
        let case = self.case_with(&self.result.plan);
        let place = folder.path();
        plan_toml::write(&place.join("plan.toml"), &self.result.plan)?;
        write_dose_volume(
            &place.join("dose.mha"),
            Quantity::Dose,
            &self.result.dose.gy,
            &self.result.dose,
            &case,
        )?;
        write_bytes(&place.join("dvh.csv"), dvh_table(&self.result).as_bytes())?;
        if let Some(robust) = &self.robust {
            write_bytes(&place.join("bands.csv"), csv_of(&robust.bands).as_bytes())?;
        }
        write_bytes(&place.join("plan.json"), format!("{json:#}\n").as_bytes())?;
        let word = args.case.case.absolute().in_utf8();
        let word = word.ok_or_else(|| {
            anyhow!(
                "the name of '{}' is not UTF-8, and a session names its case: rename it",
                args.case.case
            )
        })?;
        let saved = session::Session::new(&case, &word, &opened.structures, Value::Null);
        session::write(&place.join("session.json"), &saved)?;
        Ok(folder.finish()?)
    }

    /// The case with the plan in the place of the one without maps.
    fn case_with(&self, plan: &Plan) -> Case {
        let mut case = self.planned.case.clone();
        case.plans[0] = Arc::new(plan.clone());
        case
    }
}

fn write_bytes(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace_file(path, |out| out.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}
