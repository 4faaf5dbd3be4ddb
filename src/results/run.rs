//! A Monte Carlo run of a plan.

use super::graph::{Access, Failure, Grade, Priority, Query};
use super::inputs::Settings;
use super::monte_carlo::{Certainty, RunInputs};
use super::patient::Densities;
use super::shared::Shared;
use analysis::{
    Certainty as Certain, MonteCarlo, Ready, RunDose, Spread, beam_caveats, caveats_of,
    contradiction, is_computed, part_of_plan, run_of_plan,
};
use case::{Beam, Dose, DoseStatus, Plan, Receipt};
use engine::histories::{HistoriesDose, Next, PartTally, RunPart};
use geometry::Volume;
use physics::Machine;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use worker::Lane;

/// The dose of a plan by Monte Carlo, for one fraction and before any normalisation.
#[derive(Clone, Debug)]
pub struct RunOfPlan {
    inputs: Shared<RunInputs>,
    densities: Densities,
    plan: Arc<Plan>,
    /// Beams meet different boluses, and a run has one patient.
    boluses_differ: bool,
    /// The number by which the run is ended.
    number: u64,
    /// The number of the run that shall end with its dose so far.
    keep: Arc<AtomicU64>,
    /// Its histories, where they were run elsewhere.
    parts: Option<Arc<PartTally>>,
}

/// A dose of a run, for one fraction, after some histories.
#[derive(Clone, Debug)]
pub struct RunResult {
    pub dose: Arc<Dose>,
    pub certainty: Arc<Certainty>,
    /// Set once the run has ended.
    pub ended: Option<Arc<Certain>>,
}

impl RunOfPlan {
    /// `None` where the plan is computed by the other engine, or has no beam to compute. `number` and `keep`
    /// belong to a run that would begin now; `previous` is the previous request.
    pub fn new(
        densities: &Densities,
        plan: &Arc<Plan>,
        settings: &Settings,
        how: Option<MonteCarlo>,
        number: u64,
        keep: &Arc<AtomicU64>,
        previous: Option<&Self>,
    ) -> Option<Self> {
        let computed = plan.beams.iter().filter(|b| is_computed(b));
        let met: Vec<Densities> = computed.map(|beam| densities.for_beam(beam)).collect();
        let boluses_differ = met.iter().any(|densities| Some(densities) != met.first());
        let densities = met.into_iter().next().unwrap_or_else(|| densities.clone());
        let inputs = RunInputs::new(&densities.inputs, plan, settings, how?);
        let inputs = Shared::new(inputs, previous.map(|previous| &previous.inputs));
        let number = previous
            .filter(|previous| previous.inputs == inputs)
            .map_or(number, |previous| previous.number);
        (!inputs.beams.is_empty()).then(|| Self {
            inputs,
            densities,
            plan: Arc::clone(plan),
            boluses_differ,
            number,
            keep: Arc::clone(keep),
            parts: None,
        })
    }

    /// The same of histories that were run elsewhere.
    pub fn of_parts(self, parts: Option<Arc<PartTally>>) -> Self {
        Self { parts, ..self }
    }

    /// The densities, and the plan with the beams of the run.
    fn prepared(&self, inputs: &Access<'_>) -> Result<(Ready, Plan), Failure> {
        let Self {
            inputs: run_inputs,
            densities,
            plan,
            boluses_differ,
            ..
        } = self;
        if *boluses_differ {
            let why = "its beams have different boluses, and a Monte Carlo run counts all beams with the same: give them the \
                       same, or compute with collapsed cone";
            return Err(Failure::Here(format!("Not computed: {why}.")));
        }
        let ready = inputs.get(densities)?;
        let mut computed = plan.beams.iter().filter(|b| is_computed(b));
        if let Some(why) = computed.find_map(|beam| contradiction(plan, beam, densities.ct())) {
            return Err(Failure::Here(format!("Not computed: {why}.")));
        }
        let mut plan = Plan::new(
            &plan.name,
            run_inputs
                .beams
                .first()
                .and_then(|b| b.machine.as_deref())
                .unwrap_or_default(),
        );
        plan.position = run_inputs.position;
        plan.beams = run_inputs
            .beams
            .iter()
            .map(|beam| self.named(beam))
            .collect();
        Ok((ready, plan))
    }

    /// A beam of the run with the name that it has in the plan.
    fn named(&self, beam: &Beam) -> Beam {
        let in_plan = self.plan.beams.iter().find(|b| b.number == beam.number);
        Beam {
            name: in_plan.map(|b| b.name.clone()).unwrap_or_default(),
            ..beam.clone()
        }
    }

    pub fn inputs(&self) -> &Shared<RunInputs> {
        &self.inputs
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    fn result(
        &self,
        dose: Dose,
        sigma_gy: &Arc<Volume<f32>>,
        percent: Option<f64>,
        histories: u64,
    ) -> RunResult {
        let spread = Spread::new(Arc::clone(&dose.gy), Arc::clone(sigma_gy));
        let certainty = Certainty {
            spread,
            uncertainty_percent: percent,
            histories,
        };
        RunResult {
            dose: Arc::new(dose),
            certainty: Arc::new(certainty),
            ended: None,
        }
    }
}

impl PartialEq for RunOfPlan {
    fn eq(&self, other: &Self) -> bool {
        self.inputs == other.inputs
            && self.boluses_differ == other.boluses_differ
            && self.parts.as_ref().map(Arc::as_ptr) == other.parts.as_ref().map(Arc::as_ptr)
    }
}

impl Query for RunOfPlan {
    type Answer = RunResult;

    const PRIORITY: Option<Priority> = Some(Priority::Run);
    const LISTED: bool = true;
    const REFINES: bool = true;

    fn name(&self) -> String {
        format!("Monte Carlo of plan {}", self.plan.name)
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn receipt(answer: &RunResult) -> Option<Arc<Receipt>> {
        answer.dose.receipt.clone()
    }

    /// A run that was ended early may be started again.
    fn is_whole(answer: &RunResult) -> bool {
        answer.dose.status != DoseStatus::Preview
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<RunResult, Failure> {
        let Self {
            inputs: run_inputs,
            number,
            keep,
            parts,
            ..
        } = self;
        let (ready, plan) = self.prepared(inputs)?;
        let caveats: Vec<Vec<String>> = run_inputs.beams.iter().map(caveats_so_far).collect();
        let mut show = |so_far: &HistoriesDose| {
            if keep.load(Ordering::Relaxed) == *number {
                return Next::Keep;
            }
            let dose = Dose {
                gy: Arc::clone(&so_far.gy),
                status: so_far.status,
                label: plan.name.clone(),
                frame_of_reference_uid: ready.frame_of_reference_uid().to_owned(),
                receipt: Some(Arc::clone(&so_far.receipt)),
                caveats: caveats_of(&caveats),
                remarks: ready.reservations().remarks.clone(),
                part: None,
            };
            let result = self.result(
                dose,
                &so_far.sigma_gy,
                so_far.uncertainty_percent,
                so_far.histories,
            );
            inputs.publish(self, result);
            Next::GoOn
        };
        let computation = run_inputs.settings.computation();
        let (how, parts) = (run_inputs.how, parts.as_deref());
        let run_dose = run_of_plan(
            &plan,
            &ready,
            computation,
            how,
            parts,
            inputs.control(),
            &mut show,
        );
        inputs.control().check()?;
        let RunDose { dose, certainty } =
            run_dose.map_err(|e| Failure::Here(format!("{}: {e}", self.name())))?;
        let Certain {
            sigma_gy,
            uncertainty_percent,
            histories,
            ..
        } = &certainty;
        let result = self.result(dose, sigma_gy, *uncertainty_percent, *histories);
        Ok(RunResult {
            ended: Some(Arc::new(certainty)),
            ..result
        })
    }
}

/// Caveats of an intermediate dose; without its machine only the parts that no engine models.
fn caveats_so_far(beam: &Beam) -> Vec<String> {
    let machine = beam
        .machine
        .as_deref()
        .and_then(|name| Machine::resolve(name).ok());
    machine.map_or_else(
        || beam.not_modelled.clone(),
        |machine| beam_caveats(beam, &machine),
    )
}

/// The sums of a part of a run's histories.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOfRun {
    pub run: RunOfPlan,
    pub part: RunPart,
}

impl Query for PartOfRun {
    type Answer = Arc<PartTally>;

    fn name(&self) -> String {
        format!("part {} of the {}", self.part, self.run.name())
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<PartTally>, Failure> {
        let (ready, plan) = self.run.prepared(inputs)?;
        let RunInputs { settings, how, .. } = &*self.run.inputs;
        let tally = part_of_plan(
            &plan,
            &ready,
            settings.computation(),
            *how,
            self.part,
            inputs.control(),
        );
        inputs.control().check()?;
        tally
            .map(Arc::new)
            .map_err(|e| Failure::Here(format!("{}: {e}", self.name())))
    }
}
