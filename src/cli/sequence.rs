//! `beamsight sequence`: leaves for the fluence maps of a plan, and what is lost from maps to leaves.

use super::delivery;
use super::outputs::{OutputArgs, Outputs};
use super::plan_args::{ComputingArgs, DoseBy, PlanArgs};
use super::scorecard::{Scorecard, goals_of};
use super::words::{self, CaseArgs};
use super::{Failure, VerbOutput};
use case::{Case, Plan};
use engine::DeviceChoice;
use files::{Matched, plan_toml};
use geometry::Volume;
use results::PlanResult;
use sequence::{PlanDelivery, SequencedPlan, Technique, sequence_plan, undelivered};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each map is cut into leaves of the beam's machine, within the limits of delivery that its file states. The plan that is \
written has control points and no maps: its dose is final, and it leaves as DICOM.\n\n\
Examples:\n  \
beamsight sequence demo:tg119 --plan optimised.toml --technique imrt --out leaves.toml\n  \
beamsight sequence ~/ct/patient-7 --plan optimised.toml --technique step --goals quantec-pelvis --out leaves.toml"
)]
pub struct Args {
    #[command(flatten)]
    case: CaseArgs,

    #[command(flatten)]
    plan: PlanArgs,

    /// How leaves deliver the maps: imrt (sliding window), step (step and shoot) or few (step and shoot in few segments)
    #[arg(long, value_parser = delivery::of_static_beams(), value_name = "TECHNIQUE", default_value = "imrt")]
    technique: Technique,

    /// Template of goals: a shipped name or a file; left out: the goals of the case
    #[arg(long, value_name = "GOALS")]
    goals: Option<String>,

    /// Plan to write, with leaves (.toml)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// # Errors
/// Errors of opening, of the sequencing, of either dose and of writing.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    words::ending(&args.out, &["toml"])?;
    let mut outputs = Outputs::new(args.output);
    outputs.file("--out", [&args.out]);
    outputs.reads_case(&args.case.case);
    args.goals
        .iter()
        .for_each(|word| outputs.reads_word("the goals", word));
    args.plan.reads(&mut outputs);
    outputs.check()?;
    args.plan.check()?;
    let case = args.case.open()?;
    let plan = args.plan.plan(&case)?;
    let goals = goals_of(&case, args.goals.as_deref())?;
    // Maps that cannot be cut are refused before any dose.
    sequence_plan(&plan, args.technique)?;
    let by = DoseBy::collapsed_cone(device);
    super::tell("dose of the maps");
    let maps = args.plan.computing.compute(&case, plan, by)?;
    let cut = Cut::new(
        &case,
        &args.plan.computing,
        &maps,
        goals,
        args.technique,
        by,
    )?;
    outputs.write(|| Ok(plan_toml::write(&args.out, cut.plan())?))?;
    let mut text = cut.text();
    for beam in undelivered(cut.plan()) {
        let _ = writeln!(
            text,
            "  beam '{beam}' gets 0 MU: its map is empty, or its segments are all too small"
        );
    }
    cut.leaves
        .remarks
        .iter()
        .for_each(|remark| _ = writeln!(text, "note: {remark}"));
    let _ = writeln!(text, "written to {}", args.out.display());
    let mut json = cut.json();
    json["case"] = json!(case.source);
    json["undelivered"] = json!(undelivered(cut.plan()).collect::<Vec<_>>());
    json["out"] = json!(args.out);
    Ok(VerbOutput { json, text })
}

/// A plan sequenced into leaves, with its dose for comparison with the maps' dose.
pub struct Cut {
    sequenced: SequencedPlan,
    /// The objective under true dose before and after the refinement of the leaves, where they were refined.
    refined: Option<[f64; 2]>,
    leaves: PlanResult,
    delivery: Option<PlanDelivery>,
    /// Goals in the dose of the maps and in the dose of the leaves.
    scorecards: Option<[Scorecard; 2]>,
}

impl Cut {
    /// Cuts the maps of a computed plan, with its normalised monitor units, and computes the dose of the leaves.
    ///
    /// # Errors
    /// [`sequence::SequenceError`]; errors of the dose.
    pub fn new(
        case: &Case,
        how: &ComputingArgs,
        maps: &PlanResult,
        goals: Option<Matched>,
        technique: Technique,
        by: DoseBy,
    ) -> Result<Self, Failure> {
        super::tell("leaves");
        let sequenced = sequence_plan(&maps.plan, technique)?;
        Self::with_dose(case, how, (maps, goals), (sequenced, None), by)
    }

    /// Computes the dose of leaves, and compares it with the maps' dose.
    ///
    /// # Errors
    /// Errors of the dose.
    pub fn with_dose(
        case: &Case,
        how: &ComputingArgs,
        (maps, goals): (&PlanResult, Option<Matched>),
        (sequenced, refined): (SequencedPlan, Option<[f64; 2]>),
        by: DoseBy,
    ) -> Result<Self, Failure> {
        super::tell("dose of the leaves");
        let leaves = how.compute(case, sequenced.plan.clone(), by)?;
        let scorecards = match goals {
            Some(goals) => Some([
                scorecard(case, how, maps, goals.clone(), by)?,
                scorecard(case, how, &leaves, goals, by)?,
            ]),
            None => None,
        };
        Ok(Self {
            delivery: PlanDelivery::new(&leaves.plan, 1.0),
            sequenced,
            refined,
            leaves,
            scorecards,
        })
    }

    pub fn plan(&self) -> &Plan {
        &self.sequenced.plan
    }

    /// The dose of the leaves, Gy of all fractions.
    pub fn dose_gy(&self) -> &Volume<f32> {
        &self.leaves.dose.gy
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.leaves.figures);
        if let Some(delivery) = &self.delivery {
            let _ = writeln!(text, "  {}", delivery.words());
            if let Some(remark) = &delivery.remark {
                let _ = writeln!(text, "  {remark}");
            }
        }
        if let Some([before, after]) = self.refined {
            let _ = writeln!(
                text,
                "  refined on the true dose: objective {before:.6}, then {after:.6}"
            );
        }
        if !self.sequenced.beams.is_empty() {
            text.push_str(
                "fluence of the leaves less that of the maps, percent of each map's greatest:\n",
            );
        }
        for cut in &self.sequenced.beams {
            let d = &cut.difference;
            let _ = writeln!(
                text,
                "  {:<12} {:8.1} MU  mean {:+.2}, rms {:.2}, worst {:+.1}",
                cut.beam.name, cut.beam.mu, d.mean_percent, d.rms_percent, d.worst_percent
            );
        }
        if let Some([maps, leaves]) = &self.scorecards {
            text.push_str(&maps.beside("maps", leaves, "leaves"));
        }
        text
    }

    pub fn json(&self) -> Value {
        let beams = self.sequenced.beams.iter().map(|cut| {
            json!({
                "name": cut.beam.name,
                "mu": cut.beam.mu,
                "control_points": cut.beam.control_points.len(),
                "mean_percent": cut.difference.mean_percent,
                "rms_percent": cut.difference.rms_percent,
                "worst_percent": cut.difference.worst_percent,
            })
        });
        let beams: Vec<Value> = beams.collect();
        let figures = self.delivery.as_ref().map(|delivery| delivery.figures);
        let [maps, leaves] = match &self.scorecards {
            Some([maps, leaves]) => [maps.json(), leaves.json()],
            None => [Value::Null, Value::Null],
        };
        json!({
            "status": self.leaves.dose.status,
            "caveats": self.leaves.dose.caveats,
            "remarks": self.leaves.remarks,
            "figures": self.leaves.figures,
            "mu": figures.map(|f| f.mu),
            "mu_per_gy": self.delivery.as_ref().and_then(|delivery| delivery.mu_per_gy),
            "beam_on_s": figures.map(|f| f.beam_on_s),
            "complexity_score": figures.map(|f| f.complexity),
            "mean_gap_mm": figures.map(|f| f.mean_gap_mm),
            "smallest_cm2": figures.map(|f| f.smallest_cm2),
            "apertures": figures.map(|f| f.apertures),
            "remark": self.delivery.as_ref().and_then(|delivery| delivery.remark.clone()),
            "beams": beams,
            "objective_before_refinement": self.refined.map(|[before, _]| before),
            "objective_after_refinement": self.refined.map(|[_, after]| after),
            "goals_of_maps": maps,
            "goals": leaves,
        })
    }
}

/// Goals held against the dose of a plan.
fn scorecard(
    case: &Case,
    how: &ComputingArgs,
    result: &PlanResult,
    goals: Matched,
    by: DoseBy,
) -> Result<Scorecard, Failure> {
    let with_matter = how.with_matter_outside(case, (result, Some(&goals)), by)?;
    let hundred_gy = result.plan.prescription_gy;
    Ok(Scorecard::of_plan(
        case,
        goals,
        (result, with_matter.as_ref()),
        hundred_gy,
    ))
}
