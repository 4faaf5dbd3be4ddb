//! What is on view and what it is worth: derived from what each dose answers and what the case gives now, after every
//! change and every report, in this one place.

use super::Follow;
use crate::analysis::is_computed;
use crate::app::compare::Side;
use crate::app::state::State;
use crate::case::Dose;
use crate::results::{
    BeamInputs, DoseInputs, EngineChoice, Node, PatientInputs, RunInputs, Shown, Standing, SumInputs, Summed,
    standing_of,
};
use std::sync::Arc;

/// A dose as it stands to the case.
#[derive(Clone, Debug, Default)]
pub struct OnView {
    /// With the status it has now.
    pub dose: Option<Arc<Dose>>,
    pub standing: Option<Standing>,
    /// Why the case as it stands has no such dose.
    pub trouble: Option<String>,
}

impl State {
    /// Derives what everything on view is worth. To be called whenever the case, the settings or the results have changed.
    pub(in crate::app) fn derive_standing(&mut self) {
        self.note_what_is_wanted();
        let view = self.view_of(self.follow.shown, &self.follow.on_show);
        let plan_trouble = self.trouble(Shown::Plan);
        let sides = Side::BOTH.map(|side| self.view_of_side(side));
        self.follow.view = view;
        self.follow.plan_trouble = plan_trouble;
        self.follow.set_side_views(sides);
    }

    /// Beam doses and the run are wanted for the case as it stands, whether or not they are asked for where the user looks.
    fn note_what_is_wanted(&mut self) {
        let case = self.history.case();
        let follow = &mut self.follow;
        let patient = PatientInputs::of(case, &follow.settings);
        let (Some(plan), Some(patient)) = (case.plans.get(self.plan), patient) else { return };
        for beam in &plan.beams {
            if let Some(now) = follow.beams.get_mut(&beam.number).and_then(|node| node.now.as_mut()) {
                let preview = now.preview;
                *now = BeamInputs { preview, ..BeamInputs::of(&patient, plan, beam, &follow.settings) };
            }
        }
        let how = follow.engines.get(&self.plan).and_then(EngineChoice::how);
        if let (Some(now), Some(how)) = (&mut follow.run.wanted.now, how) {
            *now = RunInputs::of(&patient, plan, &follow.settings, how);
        }
    }

    /// A sum of the plan on show, of one of its beams, or a dose of a file.
    pub(super) fn view_of(&self, what: Shown, sum: &Node<SumInputs, Summed>) -> OnView {
        let case = self.case();
        let follow = &self.follow;
        let engine = follow.engines.get(&self.plan).copied().unwrap_or_default();
        let of = |engine| DoseInputs::of(case, self.plan, what, &follow.settings, engine);
        let now = of(engine);
        let trouble = self.trouble(what).or_else(|| sum.failure().map(str::to_owned));
        // Without beams or images an old sum means nothing.
        let have = sum.have.as_ref().filter(|(inputs, _)| inputs.what == what && now.is_some());
        let Some((inputs, result)) = have else { return OnView { trouble, ..OnView::default() } };
        let stand_in = engine.monte_carlo.then(|| of(EngineChoice::default())).flatten();
        let standing = standing_of(&inputs.answers, now.as_ref(), stand_in.as_ref(), trouble.is_some());
        let dose = with_standing(&result.dose, standing, self.label_of(what));
        OnView { dose: Some(dose), standing: Some(standing), trouble }
    }

    fn label_of(&self, what: Shown) -> Option<String> {
        let plan = self.plan();
        match what {
            Shown::Plan => Some(format!("Plan {}", plan?.name)),
            Shown::Beam(number) => {
                let beam = plan?.beams.iter().find(|b| b.number == number)?;
                Some(format!("Beam {}", beam.name))
            }
            Shown::Imported(_) => None,
        }
    }

    /// Why the case as it stands has no such dose, as far as that is known without adding anything.
    fn trouble(&self, what: Shown) -> Option<String> {
        let (follow, case) = (&self.follow, self.case());
        let only = match what {
            Shown::Plan => None,
            Shown::Beam(number) => Some(number),
            Shown::Imported(index) => {
                return case
                    .doses
                    .get(index)
                    .is_none()
                    .then(|| "The case has no such dose any more.".to_owned());
            }
        };
        let plan = self.plan().filter(|_| case.ct.is_some())?;
        if let Some(why) = follow.patient.failure() {
            return Some(why.to_owned());
        }
        let counts = |number| plan.normalisation.is_some() || only.is_none_or(|n| n == number);
        for beam in plan.beams.iter().filter(|b| is_computed(b) && counts(b.number)) {
            let failure = follow.beams.get(&beam.number).and_then(|n| n.failure());
            if let Some(why) = failure.filter(|_| !follow.run.on) {
                return Some(why.to_owned());
            }
        }
        if let Some(why) = follow.run_failure() {
            return Some(why.to_owned());
        }
        let structure = case.structures.normalised_to(plan.normalisation.as_ref()?);
        match structure {
            Err(why) => Some(format!("The plan cannot be normalised: {why}.")),
            Ok(s) if s.contours.is_empty() => {
                Some(format!("The plan cannot be normalised: {} has no contours.", s.name))
            }
            Ok(s) => {
                follow.mask_failure(s.number).map(|why| format!("The plan cannot be normalised: {why}."))
            }
        }
    }
}

/// A dose with the status that its standing gives it, and the name its source has now where it is still of that.
pub(super) fn with_standing(dose: &Arc<Dose>, standing: Standing, label: Option<String>) -> Arc<Dose> {
    let status = standing.status(dose.status);
    let label = label.filter(|_| standing == Standing::Current).unwrap_or_else(|| dose.label.clone());
    if status == dose.status && label == dose.label {
        return Arc::clone(dose);
    }
    Arc::new(Dose { status, label, ..(**dose).clone() })
}

impl Follow {
    /// The dose on show, with the status it has now.
    pub fn shown_dose(&self) -> Option<&Arc<Dose>> {
        self.view.dose.as_ref()
    }

    /// Why the case as it stands has no such dose; what is on show is then of an earlier state.
    pub fn shown_failure(&self) -> Option<&str> {
        self.view.trouble.as_deref()
    }

    /// The factor that the normalisation puts on all monitor units, and how it stands to the case; `None` without a computed
    /// dose on show and where the case cannot be normalised.
    pub fn normalisation_factor(&self) -> Option<(f64, Standing)> {
        let (inputs, result) = self.on_show.have.as_ref()?;
        let standing = self.view.standing.filter(|s| *s != Standing::Failed)?;
        (!matches!(inputs.what, Shown::Imported(_))).then_some((result.factor, standing))
    }
}
