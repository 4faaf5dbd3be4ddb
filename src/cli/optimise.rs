//! `beamsight optimise`: fluence maps of a plan's beams, by the goals of its structures.

use super::delivery;
use super::dose::histories_line;
use super::outputs::{OutputArgs, Outputs};
use super::plan_args::{DoseBy, PlanArgs};
use super::scorecard::{Scorecard, goals_of};
use super::sequence::Cut;
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use analysis::{Engine, HotSpot, percent_words};
use anyhow::{Context as _, anyhow};
use case::DoseEngine;
use engine::{DeviceChoice, JobControl};
use files::{Delivery, plan_toml, replace_file, stop_in_order};
use inverse::{OptimiseRemark, Progress, RUNS, with_arcs, write_matrix};
use results::{BEAMLET_MM, Graph, OptimiseQuery, optimise_plan, technique_of};
use sequence::{SequencedPlan, arc_of, check_machines};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The beams of the plan keep their angles and isocentres; each gets a map of fluence that its leaves would have to \
deliver. The dose of maps is true and not deliverable, and they leave as a plan.toml alone; --technique cuts them into leaves.\n\n\
Examples:\n  \
beamsight optimise demo:tg119 --goals goals.toml --out optimised.toml\n  \
beamsight optimise demo:tg119 --goals tg119-c-shape --technique imrt --out leaves.toml\n  \
beamsight optimise demo:thorax --goals goals.toml --engine mc --uncertainty 1 --out corrected.toml\n  \
beamsight optimise ~/ct/patient-7 --plan nine-fields.toml --goals quantec-pelvis --out optimised.toml --matrix matrix.npz"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// Template of goals: a shipped name or a file; left out: the goals of the case
    #[arg(long, value_name = "GOALS")]
    goals: Option<String>,

    /// Width of a beamlet along the leaves' travel, mm
    #[arg(long, value_name = "MM", default_value_t = BEAMLET_MM, value_parser = words::within(1.0, 20.0))]
    beamlets: f64,

    /// Spacing of the voxels that objectives are evaluated on, mm; left out: the spacing of the dose grid
    #[arg(long, value_name = "MM", value_parser = words::grid)]
    rows: Option<f64>,

    /// Content of the plan that is written: maps, or the leaves that deliver them, by a sliding window (imrt), by step and shoot (step, or few for
    /// few segments), or by arcs (vmat): the plan's arcs, or whole turns about its isocentre where it has none
    #[arg(long, value_parser = delivery::any(), value_name = "TECHNIQUE", default_value = "maps")]
    technique: Delivery,

    /// For vmat: arcs of a plan that has none
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    arcs: u8,

    /// Dose that corrects the maps at rest and judges their goals; the search before is by collapsed cone
    #[arg(long, value_name = "ENGINE", default_value_t, value_parser = words::engines())]
    engine: DoseEngine,

    /// With --engine mccs or mc: each run until the mean standard deviation of voxels above half the maximum is this, percent, 2 at
    /// most [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = words::within(0.01, 2.0))]
    uncertainty: Option<f64>,

    /// Plan to write (.toml)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Objectives and matrix that were minimised, for others to check: a numpy archive (.npz)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// The files that it writes and reads.
fn outputs(args: &Args) -> Outputs {
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", [&args.out]);
    outputs.file("--matrix", &args.matrix);
    outputs.reads_case(&args.case.case);
    args.goals
        .iter()
        .for_each(|word| outputs.reads_word("the goals", word));
    args.plan.reads(&mut outputs);
    outputs
}

/// Lines of progress on standard error.
pub struct ProgressLines {
    engine: Engine,
    /// Time of the last line of evaluations.
    told: Instant,
}

impl ProgressLines {
    /// Lines of an optimisation that an engine corrects.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            told: Instant::now(),
        }
    }

    pub fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Columns { done, of } => {
                super::tell(&format!("influence of beamlets: {done} of {of} beams"));
            }
            Progress::TrueDose { moved_percent } => {
                super::tell(&format!(
                    "true dose: moved by {moved_percent:.2} % of the reference dose in the targets"
                ));
            }
            Progress::Iteration {
                objective,
                evaluations,
            } if self.told.elapsed() >= TELL_EVERY => {
                self.told = Instant::now();
                super::tell(&format!(
                    "{evaluations} evaluations, objective {objective:.6}"
                ));
            }
            Progress::Iteration { .. } => {}
            Progress::Histories {
                run,
                uncertainty_percent,
            } => {
                let uncertainty = uncertainty_percent.map_or_else(String::new, |percent| {
                    format!(", {}", percent_words(percent))
                });
                super::tell(&format!(
                    "correction by {}: run {run} of {RUNS}{uncertainty}",
                    self.engine.method()
                ));
            }
            Progress::Leaves { before, after } => {
                super::tell(&format!(
                    "leaves refined: objective {before:.6}, then {after:.6}"
                ));
            }
        }
    }
}

/// Cancels a job at the first signal, also while a run of histories reports nothing.
pub fn cancel_on_signal(control: &JobControl) {
    const LOOK_EVERY: Duration = Duration::from_millis(100);
    let (signalled, control) = (stop_in_order(), control.clone());
    std::thread::spawn(move || {
        while !signalled.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
        }
        control.cancel();
    });
}

/// Lines of progress at most so often.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// # Errors
/// Errors of opening, of the optimisation, of the true dose and of writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    words::ending(&args.out, &["toml"])?;
    if let Some(matrix) = &args.matrix {
        words::ending_of(matrix, &["npz"], "--matrix")?;
    }
    let by = DoseBy {
        engine: words::engine_to(args.engine, args.uncertainty)?,
        device,
    };
    let outputs = outputs(args);
    outputs.check()?;
    args.plan.check()?;
    let case = args.case.open()?;
    let mut plan = args.plan.plan(&case)?;
    if args.technique == Delivery::Vmat && !plan.beams.iter().any(|beam| arc_of(beam).is_some()) {
        plan = with_arcs(&plan, args.arcs.into());
    }
    let matched = goals_of(&case, args.goals.as_deref())?;
    let goals = matched
        .as_ref()
        .map(|matched| matched.goals.clone())
        .unwrap_or_default();
    let settings = args.plan.computing.settings(&case, device)?;
    if args.technique != Delivery::Maps {
        check_machines(
            &plan,
            plan.beams.iter().filter(|beam| analysis::is_computed(beam)),
        )?;
    }
    let plan = Arc::new(plan);
    let query = OptimiseQuery::new(&case, &plan, goals, &settings, args.rows, args.beamlets)
        .map_err(|why| anyhow!("{why}"))?
        .corrected_by(by.engine);
    let technique = technique_of(args.technique);
    let start = Instant::now();
    let control = JobControl::new();
    cancel_on_signal(&control);
    let mut lines = ProgressLines::new(by.engine);
    let graph = Graph::default();
    let optimum = optimise_plan(&query, technique, &graph, &control, &mut |progress| {
        lines.tell(progress);
    })?;
    let answer = &optimum.answer;
    let seconds = start.elapsed().as_secs_f64();
    super::tell("true dose of the maps");
    let result = args
        .plan
        .computing
        .compute(&case, answer.plan.clone(), by)?;
    let cut = answer.leaves.as_ref().map(|leaves| {
        let sequenced = SequencedPlan::new(&answer.plan, leaves.plan.clone())?;
        Cut::with_dose(
            &case,
            &args.plan.computing,
            (&result, matched.clone()),
            (sequenced, leaves.objective),
            by,
        )
    });
    let cut = cut.transpose()?;
    let with_matter =
        args.plan
            .computing
            .with_matter_outside(&case, (&result, matched.as_ref()), by)?;
    let scorecard = matched.map(|matched| {
        Scorecard::of_plan(
            &case,
            matched,
            (&result, with_matter.as_ref()),
            plan.prescription_gy,
        )
    });
    outputs.write(|| {
        plan_toml::write(&args.out, cut.as_ref().map_or(&answer.plan, Cut::plan))?;
        if let Some(path) = &args.matrix {
            replace_file(path, |out| {
                write_matrix(std::io::BufWriter::new(out), answer)
            })
            .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    })?;
    let mut text = format!(
        "{}: {} beamlets of {} beams, {} voxels\n",
        answer.plan.name,
        answer.fluences.len(),
        answer
            .plan
            .beams
            .iter()
            .filter(|beam| beam.fluence.is_some())
            .count(),
        answer.rows.voxels.len()
    );
    let end = if answer.stopped {
        "stopped before it came to rest"
    } else {
        "at rest"
    };
    let _ = writeln!(
        text,
        "  objective {:.6}, {end}; true dose within {:.2} % in the targets; {seconds:.1} s: {}",
        answer.objective,
        answer.moved_percent,
        answer.receipt.words()
    );
    let _ = writeln!(text, "{}", result.figures);
    if let Some(certainty) = &result.certainty {
        let _ = writeln!(text, "  goals are judged by {}", by.engine.method());
        text.push_str(&histories_line(certainty));
    }
    let hottest = optimum.outside.hottest(&result.dose.gy);
    text.push_str(&hottest_line(hottest, plan.prescription_gy));
    for (goal, why) in &optimum.only_judged {
        let _ = writeln!(text, "  not optimised: {goal}: {why}");
    }
    // Of leaves their figures of delivery say it.
    for remark in answer
        .remarks
        .iter()
        .filter(|remark| cut.is_none() || !matches!(remark, OptimiseRemark::ManyMonitorUnits(_)))
    {
        let _ = writeln!(text, "  {remark}");
    }
    if let Some(scorecard) = &scorecard {
        text.push_str(&scorecard.text());
    }
    result
        .remarks
        .iter()
        .for_each(|remark| _ = writeln!(text, "note: {remark}"));
    let hottest_of_leaves = cut
        .as_ref()
        .and_then(|cut| optimum.outside.hottest(cut.dose_gy()));
    if let Some(cut) = &cut {
        text.push_str(&cut.text());
        text.push_str(&hottest_line(hottest_of_leaves, plan.prescription_gy));
    }
    let mut of_leaves = cut.as_ref().map(Cut::json);
    if let Some(leaves) = &mut of_leaves {
        leaves["hottest_outside_targets"] = json!(hottest_of_leaves);
    }
    let caveat = if cut.is_none() {
        " (fluence, not deliverable)"
    } else {
        ""
    };
    let _ = writeln!(text, "written to {}{caveat}", args.out.display());
    let of_maps = answer.remarks.iter().map(ToString::to_string);
    let of_dose = result.remarks.iter().map(ToString::to_string);
    let remarks: Vec<String> = of_maps.chain(of_dose).collect();
    let json = json!({
        "case": case.source,
        "plan": answer.plan.name,
        "engine": args.engine,
        "uncertainty_percent": result.certainty.as_ref().map(|certainty| certainty.uncertainty_percent),
        "objective": answer.objective,
        "evaluations": answer.receipt.evaluations,
        "receipt": answer.receipt,
        "stopped": answer.stopped,
        "true_dose_moved_percent": answer.moved_percent,
        "beamlets": answer.fluences.len(),
        "rows": answer.rows.voxels.len(),
        "seconds": seconds,
        "status": result.dose.status,
        "caveats": result.dose.caveats,
        "figures": result.figures,
        "not_optimised": optimum.only_judged.iter().map(|(goal, why)| json!({"goal": goal, "why": why})).collect::<Vec<_>>(),
        "goals": scorecard.as_ref().map(Scorecard::json),
        "hottest_outside_targets": hottest,
        "remarks": remarks,
        "leaves": of_leaves,
        "out": args.out,
        "matrix": args.matrix,
    });
    Ok(VerbOutput { json, text })
}

/// The greatest dose outside the targets, on a line.
fn hottest_line(hottest: Option<HotSpot>, prescription_gy: Option<f64>) -> String {
    let Some(HotSpot { gy, at_mm }) = hottest else {
        return String::new();
    };
    let percent = prescription_gy.map_or_else(String::new, |hundred| {
        format!(" ({:.0} %)", 100.0 * gy / hundred)
    });
    let [x, y, z] = at_mm.to_array();
    format!("  outside the targets up to {gy:.2} Gy{percent}, at {x:.1}, {y:.1}, {z:.1} mm\n")
}
