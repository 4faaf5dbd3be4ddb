//! `beamsight dose`: the dose of a plan, its figures and its files.

mod parts;

use super::outputs::{OutputArgs, Outputs};
use super::plan_args::PlanArgs;
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use analysis::{
    self, Certainty, DEFAULT_GRID_MM, Dvh, Engine, EngineOptions, MOST_HISTORIES, StructureFigures,
    dvh_csv, percent_words, why_bolus_stays,
};
use anyhow::{Context as _, bail};
use case::{Case, DoseEngine, DoseStatus, Plan, new_uid};
use dicom::{
    Belonging, DoseBits, DoseFile, DoseOf, plan_faults, why_no_plan_dose, write_dose_file,
    write_plan,
};
use engine::dose::Quality;
use engine::histories::RunPart;
use engine::mc::ElectronCut;
use engine::mccs::{DIRECTIONS, Variant};
use engine::{DeviceChoice, JobControl};
use files::mha::Quantity;
use files::{replace_file, write_dose_volume};
use physics::Machine;
use results::{PlanJob, PlanResult, compute_plan};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The plan file is described in assets/plans/README.md. What --out ends in decides what is written: \
.mha the dose in Gy, .dcm an RTDOSE with its RTPLAN beside it, .csv the DVHs, .json the figures and receipts. As DICOM \
only a final dose leaves, and only of a plan that the machine computing it can say (energy, filter, source-axis distance).\n\n\
Examples:\n  \
beamsight dose demo:thorax --grid 5 --quality fast\n  \
beamsight dose demo:water --plan assets/plans/ap-water.toml --grid 2.5 --out dose.mha\n  \
beamsight dose ~/ct/patient-7 --plan plan.toml --machine generic-10mv --out dose.dcm\n  \
beamsight dose demo:tg119 --json --out dvh.csv\n  \
beamsight dose demo:tg119 --engine mccs --histories 1e9 --part 1/4 --tally 1.tally"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// How the dose is computed
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// File to write (.mha, .dcm, .csv, .json)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    histories: Histories,
}

impl Args {
    /// Whether it runs a number of histories, which can be split into parts.
    pub fn has_histories(&self) -> bool {
        self.engine.is_statistical() && self.histories.histories.is_some()
    }
}

/// Arguments of engines that sample histories.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Monte Carlo (--engine mccs, mc)")]
struct Histories {
    /// Photons to run, like 5e7
    #[arg(long, value_name = "N", value_parser = histories, conflicts_with = "uncertainty")]
    histories: Option<u64>,

    /// Run until the mean standard deviation of voxels above half the maximum is this, percent [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = words::within(0.01, 100.0))]
    uncertainty: Option<f64>,

    /// Equal seeds give equal doses, whatever the number of threads or cards [default: 1]
    #[arg(long, value_name = "N", value_parser = words::whole::<u64>)]
    seed: Option<u64>,

    #[arg(
        long,
        value_name = "N",
        value_parser = directions,
        help = format!("With mccs: directions that a photon is split over, 1 to 24 [default: {DIRECTIONS}]")
    )]
    directions: Option<u32>,

    /// With mccs: own, or paper: sampled as Zhou 2010 does [default: own]
    #[arg(long, value_name = "VARIANT", value_parser = variant)]
    variant: Option<Variant>,

    /// With mc: kinetic energy at which electrons end, 100 or 200 keV [default: 200]
    #[arg(long, value_name = "KEV", value_parser = electron_cut)]
    electron_cut: Option<ElectronCut>,

    /// File for the standard deviation of every voxel, Gy (.mha)
    #[arg(long, value_name = "FILE")]
    sigma: Option<PathBuf>,

    /// Run only this part of the histories, like 2/4, whose sums go into --tally
    #[arg(long, value_name = "K/N", requires_all = ["tally", "histories"], conflicts_with_all = ["out", "sigma", "merge"])]
    part: Option<RunPart>,

    /// File for the sums of a part (.tally)
    #[arg(long, value_name = "FILE", requires = "part")]
    tally: Option<PathBuf>,

    /// Sums of a part that was run before (.tally); with the sums of all parts, and the same words otherwise, the dose equals the dose
    /// of one run, to the bit
    #[arg(long, value_name = "FILE", requires = "histories")]
    merge: Vec<PathBuf>,
}

impl Histories {
    fn engine(&self, engine: DoseEngine) -> Result<Engine, Failure> {
        if self.sigma.is_some() && !engine.is_statistical() {
            return Err(Failure::Words(words::needs_histories(
                "--sigma is an option",
            )));
        }
        let options = EngineOptions {
            engine,
            histories: self.histories,
            uncertainty_percent: self.uncertainty,
            seed: self.seed,
            directions: self.directions,
            variant: self.variant,
            electron_cut: self.electron_cut,
        };
        let engine = options
            .engine()
            .map_err(|error| words::engine_refusal(&error))?;
        Ok(engine.show_every(Duration::from_secs(2)))
    }
}

/// A whole number, like 5e7 or 672000.
pub fn histories(word: &str) -> Result<u64, String> {
    let n = words::positive(word)?;
    let is_whole = n.fract() == 0.0 && n <= MOST_HISTORIES as f64;
    if is_whole {
        Ok(n as u64)
    } else {
        Err("it is a whole number up to 1e11, like 5e7".to_owned())
    }
}

fn directions(word: &str) -> Result<u32, String> {
    words::whole(word)
        .ok()
        .filter(|n| (1..=24).contains(n))
        .ok_or_else(|| "it must be from 1 to 24".to_owned())
}

fn electron_cut(word: &str) -> Result<ElectronCut, String> {
    words::whole(word)
        .ok()
        .and_then(ElectronCut::of_kev)
        .ok_or_else(|| "it must be 100 or 200, for which there are tables".to_owned())
}

fn variant(word: &str) -> Result<Variant, String> {
    match word {
        "own" => Ok(Variant::Own),
        "paper" => Ok(Variant::Paper),
        _ => Err("it is own or paper".to_owned()),
    }
}

/// # Errors
/// Errors of opening, of the plan, of computing or of writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let ending = match &args.out {
        Some(out) => {
            let ending = words::ending(out, &["mha", "dcm", "csv", "json"])?;
            Some((out.as_path(), ending))
        }
        None => None,
    };
    let engine = args.histories.engine(args.engine)?;
    if let Some(sigma) = &args.histories.sigma {
        words::ending_of(sigma, &["mha"], "--sigma")?;
    }
    if let Some(tally) = &args.histories.tally {
        words::ending_of(tally, &["tally"], "--tally")?;
    }
    let outputs = outputs(args);
    outputs.check()?;
    let computing = device.resolve()?.to_string();
    args.plan.check()?;
    let dicom = matches!(ending, Some((_, "dcm")));
    if dicom
        && (args.plan.computing.grid_mm() > DEFAULT_GRID_MM
            || args.plan.computing.quality() != Quality::default())
    {
        return Err(Failure::Words(format!(
            "--out .dcm is the dose of a plan, which only a final dose is: leave --quality out, and --grid or give it as \
             {DEFAULT_GRID_MM} or less; or write a .mha, which says what it is"
        )));
    }
    let case = args.case.open()?;
    let plan = args.plan.plan(&case)?;
    if dicom {
        check_leaves(&as_written(args, &plan)?, &case)?;
    }
    let start = Instant::now();
    let job = args.plan.computing.job(&case, plan, engine, device)?;
    if let Some(part) = args.histories.part {
        return parts::run(part, args.histories.tally.as_deref(), &job, &outputs);
    }
    let job = PlanJob {
        parts: parts::read(&args.histories.merge)?,
        ..job
    };
    let result = compute_plan(&job, &JobControl::new(), &super::tell)?;
    let seconds = start.elapsed().as_secs_f64();
    // The devices used: the CPU where it replaced a requested card.
    let mut devices: Vec<&str> = Vec::new();
    for receipt in &result.receipts {
        if !devices.contains(&receipt.device.as_str()) {
            devices.push(&receipt.device);
        }
    }
    let on = if devices.is_empty() {
        computing
    } else {
        devices.join(" and ")
    };
    let json = figures_json(args, engine, &case, &result, &on, seconds);
    let mut text = describe(&result);
    let _ = writeln!(text, "  whole run {seconds:.2} s on {on}");
    let written = outputs.write(|| {
        let mut written = Vec::new();
        if let (Some(path), Some(certainty)) = (&args.histories.sigma, &result.certainty) {
            write_dose_volume(
                path,
                Quantity::DoseDeviation,
                &certainty.sigma_gy,
                &result.dose,
                &case,
            )?;
            written.push(path.clone());
        }
        if let Some((out, ending)) = ending {
            match ending {
                "dcm" => written.extend(write_dicom(out, args, engine, &case, &result)?),
                "mha" => {
                    write_dose_volume(out, Quantity::Dose, &result.dose.gy, &result.dose, &case)
                        .map(|()| written.push(out.to_owned()))?
                }
                _ => write(out, ending, &result, &json).map(|()| written.push(out.to_owned()))?,
            }
        }
        Ok(written)
    })?;
    for file in written {
        let _ = writeln!(
            text,
            "written to {} ({})",
            file.display(),
            result.dose.status_text()
        );
    }
    Ok(VerbOutput { json, text })
}

/// The files that it writes and reads.
pub fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", &args.out);
    let dicom = args.out.as_ref().filter(|out| {
        out.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("dcm"))
    });
    outputs.file("--out", &dicom.map(|out| plan_beside(out)));
    outputs.file("--sigma", &args.histories.sigma);
    outputs.file("--tally", &args.histories.tally);
    outputs.reads("--merge", &args.histories.merge);
    outputs.reads_case(&args.case.case);
    args.plan.reads(&mut outputs);
    outputs
}

/// Histories of a Monte Carlo dose and its uncertainty, on a line.
pub fn histories_line(certainty: &Certainty) -> String {
    let uncertainty = certainty
        .uncertainty_percent
        .map_or("unknown".to_owned(), |u| format!("{u:.2} %"));
    format!(
        "  {:.2} million histories, {:.2} million a second; standard deviation above half the maximum {uncertainty}\n",
        certainty.histories as f64 * 1e-6,
        certainty.histories_per_s * 1e-6
    )
}

fn describe(result: &PlanResult) -> String {
    let mut text = format!("{}\n", result.figures);
    if let Some(to) = &result.plan.normalisation {
        let _ = writeln!(
            text,
            "  monitor units scaled by {:.4}{} to the plan's normalisation: {to}",
            result.factor,
            result
                .factor_uncertainty_percent
                .map_or(String::new(), |p| format!(" {}", percent_words(p)))
        );
    }
    if let Some(certainty) = &result.certainty {
        text.push_str(&histories_line(certainty));
    }
    let target = result.figures.target.as_ref().map(|t| &t.name);
    for (structure, dvh) in result.dvhs.iter().filter(|(s, _)| Some(&s.name) != target) {
        let _ = writeln!(text, "  {}", StructureFigures::new(&structure.name, dvh));
    }
    for remark in &result.remarks {
        let _ = writeln!(text, "  note: {remark}");
    }
    text
}

fn figures_json(
    args: &Args,
    engine: Engine,
    case: &Case,
    result: &PlanResult,
    device: &str,
    seconds: f64,
) -> Value {
    let run = engine.monte_carlo();
    let grid = result.dose.gy.grid();
    let structures: Vec<_> = result
        .dvhs
        .iter()
        .map(|(s, d)| StructureFigures::new(&s.name, d))
        .collect();
    json!({
        "case": case.source,
        "engine": args.engine,
        "quality": (!args.engine.is_statistical()).then_some(args.plan.computing.quality()),
        "monte_carlo": run.zip(result.certainty.as_ref()).map(|(run, c)| json!({
            "histories": c.histories,
            "batches": c.batches,
            "uncertainty_percent": c.uncertainty_percent,
            "histories_per_s": c.histories_per_s,
            "seed": run.seed,
            "directions": run.directions,
            "variant": run.variant,
            "sigma": args.histories.sigma,
            "receipt": result.receipts.first().map(|r| (**r).clone()),
        })),
        "dose_to": args.plan.computing.dose_to(),
        "device": device,
        "seconds": seconds,
        "status": result.dose.status,
        "caveats": result.dose.caveats,
        "beam_doses": result.beam_doses,
        "figures": result.figures,
        "normalisation": result.plan.normalisation.as_ref().map(ToString::to_string),
        "normalisation_factor": result.factor,
        "normalisation_uncertainty_percent": result.factor_uncertainty_percent,
        "structures": structures,
        "beams": result.plan.beams.iter().enumerate().map(|(n, b)| json!({
            "name": b.name, "number": b.number, "mu": b.mu, "receipt": result.receipts.get(n).map(|r| (**r).clone()),
        })).collect::<Vec<_>>(),
        "grid": {
            "size": grid.size(),
            "spacing_mm": args.plan.computing.grid_mm(),
            "origin_mm": grid.origin_mm().to_array(),
        },
        "remarks": result.remarks,
        "out": args.out,
    })
}

fn write(out: &Path, ending: &str, result: &PlanResult, json: &Value) -> anyhow::Result<()> {
    let written = match ending {
        "csv" => replace_file(out, |file| file.write_all(dvh_table(result).as_bytes())),
        _ => replace_file(out, |file| writeln!(file, "{json:#}")),
    };
    written.with_context(|| format!("cannot write {}", out.display()))
}

/// The plan as it is written beside its dose: the machine of `--machine` overrides the plan's energy and
/// filter.
fn as_written(args: &Args, plan: &Plan) -> anyhow::Result<Plan> {
    // A plan with scaled monitor units, or from a file, is another object than the case's plan.
    let mut plan = Plan {
        uid: Some(new_uid()),
        ..plan.clone()
    };
    if args.plan.computing.machine.is_some() {
        let flattened = Machine::resolve(&plan.machine)?.is_flattened();
        for beam in &mut plan.beams {
            beam.energy_mv = None;
            beam.unflattened &= flattened.is_none();
        }
    }
    Ok(plan)
}

/// Refuses, before the computation, a plan whose dose could not be written as a plan dose.
fn check_leaves(plan: &Plan, case: &Case) -> anyhow::Result<()> {
    let mut reservations = case.reservations();
    reservations.add(&plan.reservations());
    let caveats: Vec<String> = analysis::beams_left_out(plan)
        .into_iter()
        .chain(reservations.caveats)
        .collect();
    let partial = (!caveats.is_empty())
        .then(|| why_no_plan_dose(DoseStatus::Partial, &caveats))
        .flatten();
    let bolus = why_bolus_stays(&case.structures);
    let faults = partial
        .into_iter()
        .chain(bolus)
        .chain(plan_faults(plan))
        .collect::<Vec<_>>();
    if faults.is_empty() {
        return Ok(());
    }
    bail!(
        "{}: the plan '{}' does not leave as DICOM: {}. Compute it with a machine of its own (--machine FILE), or write a .mha",
        case.source,
        plan.name,
        faults.join("; ")
    )
}

/// The path of a dose's plan.
fn plan_beside(out: &Path) -> PathBuf {
    out.with_extension("plan.dcm")
}

/// A plan dose must reference its plan: the computed plan is written beside the dose.
fn write_dicom(
    out: &Path,
    args: &Args,
    engine: Engine,
    case: &Case,
    result: &PlanResult,
) -> anyhow::Result<Vec<PathBuf>> {
    let plan = as_written(args, &result.plan)?;
    let source_plan_uid = result.plan.uid.clone();
    let belonging = Belonging {
        plan_uid: plan.uid.clone(),
        source_plan_uid,
        ..Belonging::new(case)
    };
    let plan_file = plan_beside(out);
    let dose_file = DoseFile {
        dose: &result.dose,
        of: DoseOf::Plan,
        bits: DoseBits::ThirtyTwo,
        comment: &method_comment(args, engine, result),
        uncertainty_percent: { result.certainty.as_ref() }
            .and_then(|certainty| certainty.uncertainty_percent),
    };
    write_dose_file(out, &dose_file, &belonging)?;
    write_plan(&plan_file, &plan, &result.beam_doses, &belonging)?;
    Ok(vec![out.to_owned(), plan_file])
}

/// Engine, grid and statistics of a dose, for those who read its file.
fn method_comment(args: &Args, engine: Engine, result: &PlanResult) -> String {
    let histories = result
        .certainty
        .as_ref()
        .map_or(String::new(), |certainty| {
            let million = certainty.histories as f64 * 1e-6;
            format!(", {million:.2} million histories")
        });
    format!(
        "Beamsight: {}{histories}, {} mm, dose to {}; not for clinical use.",
        engine.method(),
        args.plan.computing.grid_mm(),
        args.plan.computing.dose_to().word()
    )
}

/// The DVHs of all structures.
pub fn dvh_table(result: &PlanResult) -> String {
    let dvhs: Vec<(&str, &Dvh)> = result
        .dvhs
        .iter()
        .map(|(s, dvh)| (s.name.as_str(), &**dvh))
        .collect();
    dvh_csv(&result.dose.status_with_remarks(), &dvhs)
}
