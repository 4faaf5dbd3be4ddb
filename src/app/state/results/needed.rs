//! Results that the current case needs: the single list of all results in the window.

use super::CaseResults;
use crate::feature::compare::state::{GammaNorm, Source};
use crate::state::{State, ViewKind, Workspace};
use analysis::{Side, beam_of_point, is_computed, is_modelled, lacks_only_matter_outside};
use case::{Case, Plan, StructureKind};
use engine::gamma::Normalisation;
use results::{
    Densities, DoseOfBeam, DoseOfPlan, DvhOf, EstimateOfGamma, FiguresOfGamma, GammaOfPair,
    IsodosesOf, MachineOf, MaskOf, Node, ResultKey, RunOfPlan, Settings, Shared, Shown,
    WithMatterOutside,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Group of the results of A or B. Jobs of like priority go by group.
pub fn of_side(side: Side) -> u8 {
    side.index() as u8
}

/// Group of the results of the patient and the displayed plan.
pub const DISPLAYED: u8 = 2;

/// Group of the results of the maps that the displayed plan's leaves were cut from.
pub const MAPS: u8 = 3;

/// Place of a result that exists once.
pub const ONLY: ResultKey = (DISPLAYED, 0);

impl State {
    /// Lists the results that the current case needs, whether or not the user looks at them.
    pub(super) fn set_needed_queries(&mut self) {
        self.note_patient();
        self.note_plan();
        self.note_rays();
    }

    fn note_patient(&mut self) {
        let case = self.history.case();
        let nodes = &mut self.results.nodes;
        nodes
            .entry::<Densities>(ONLY)
            .set(Densities::new(case, &self.results.settings));
        let mut drawn = BTreeSet::new();
        for structure in &case.structures.structures {
            if let Some(mask) = MaskOf::new(case, structure) {
                drawn.insert(structure.number);
                let node = nodes.entry((DISPLAYED, structure.number));
                let mask = mask.after(node.latest_with_query());
                node.set(Some(mask));
            }
        }
        nodes.keep_only::<MaskOf>(|(_, number)| drawn.contains(&number));
    }

    /// Lists the beams, the run and the displayed dose of the displayed plan.
    fn note_plan(&mut self) {
        let case = self.history.case();
        let results = &mut self.results;
        let plan = case.plans.get(self.plan);
        let machines: BTreeSet<&str> = plan
            .iter()
            .flat_map(|plan| plan.beams.iter().map(|beam| plan.machine_of(beam)))
            .collect();
        let changes = results.settings.machine_changes;
        for (n, name) in (0..).zip(&machines) {
            results.nodes.entry((DISPLAYED, n)).set(Some(MachineOf {
                name: (*name).to_owned(),
                changes,
            }));
        }
        results
            .nodes
            .keep_only::<MachineOf>(|(_, n)| (n as usize) < machines.len());
        let densities = results.nodes.entry::<Densities>(ONLY).now().cloned();
        let beams = plan
            .zip(densities.as_ref())
            .map_or_else(Vec::new, |(plan, densities)| {
                let settings = results.settings_of(self.plan);
                beams_of(densities, plan, &settings, |number| {
                    results.beam_node(number).and_then(Node::now)
                })
            });
        results.nodes.keep_only::<DoseOfBeam>(|(_, number)| {
            beams.iter().any(|beam| beam.inputs().beam.number == number)
        });
        // A beam without some bolus meets other densities than the plan.
        let mut without_bolus: Vec<&Densities> = Vec::new();
        for of_beam in beams.iter().map(DoseOfBeam::densities) {
            if densities.as_ref() != Some(of_beam) && !without_bolus.contains(&of_beam) {
                without_bolus.push(of_beam);
            }
        }
        for (n, of_beam) in (1..).zip(&without_bolus) {
            results
                .nodes
                .entry((DISPLAYED, n))
                .set(Some((*of_beam).clone()));
        }
        results
            .nodes
            .keep_only::<Densities>(|(_, n)| (n as usize) <= without_bolus.len());
        for beam in &beams {
            results
                .nodes
                .entry((DISPLAYED, beam.inputs().beam.number))
                .set(Some(beam.clone()));
        }
        let engine = results.engine_of(self.plan);
        let run = plan.zip(densities.as_ref()).and_then(|(plan, densities)| {
            let previous = results
                .nodes
                .node::<RunOfPlan>(ONLY)
                .and_then(|node| node.now());
            RunOfPlan::new(
                densities,
                plan,
                &results.settings,
                engine.how(),
                results.runs + 1,
                &results.keep,
                previous,
            )
        });
        results.nodes.entry::<RunOfPlan>(ONLY).set(run.clone());
        let dose = results.dose_of(case, self.plan, results.shown, &beams, run, ONLY);
        results.nodes.entry(ONLY).set(dose);
    }

    /// Lists the doses A and B, if they are compared.
    pub(super) fn note_sides(&mut self) {
        if self.workspace != Workspace::Compare {
            return;
        }
        for side in Side::BOTH {
            let (key, source) = ((of_side(side), 0), self.compare.sides[side.index()]);
            let source_of_plan = source.map(|source| (source, self.plan));
            if std::mem::replace(&mut self.results.sides[side.index()].source, source_of_plan)
                != source_of_plan
            {
                // Results of the former source are meaningless for the new one.
                self.results
                    .nodes
                    .keep_only::<DoseOfPlan>(|other| other != key);
                self.results
                    .nodes
                    .keep_only::<DvhOf>(|(group, _)| group != key.0);
            }
            let dose = source.and_then(|source| self.dose_of_side(source, key));
            self.results.nodes.entry(key).set(dose);
        }
    }

    fn dose_of_side(&self, source: Source, key: ResultKey) -> Option<DoseOfPlan> {
        let (case, results) = (self.history.case(), &self.results);
        let (index, what) = match source {
            Source::Dose(dose) => (self.plan, Shown::Imported(dose)),
            Source::Beam(number) => (self.plan, Shown::Beam(number)),
            Source::Plan(plan) => (plan, Shown::Plan),
        };
        let densities = results
            .nodes
            .node::<Densities>(ONLY)
            .and_then(|node| node.now());
        let plan = case.plans.get(index);
        let beams = plan
            .zip(densities)
            .map_or_else(Vec::new, |(plan, densities)| {
                // Nodes of beams belong to the displayed plan: beams of two plans share numbers.
                beams_of(densities, plan, &results.settings_of(index), |number| {
                    let node = results.beam_node(number).filter(|_| index == self.plan);
                    node.and_then(Node::now)
                })
            });
        let run = if index == self.plan {
            results
                .nodes
                .node::<RunOfPlan>(ONLY)
                .and_then(|node| node.now())
                .cloned()
        } else {
            plan.zip(densities).and_then(|(plan, densities)| {
                let engine = results.engine_of(index);
                RunOfPlan::new(
                    densities,
                    plan,
                    &results.settings,
                    engine.how(),
                    u64::MAX,
                    &results.keep,
                    None,
                )
            })
        };
        results.dose_of(case, index, what, &beams, run, key)
    }

    /// Lists the DVHs of the dose at a place, of all visible structures and those with goals.
    pub(super) fn note_dvhs(&mut self, group: u8) {
        // Goals of hidden structures count, too.
        let with_goal: BTreeSet<u32> = self.goals().iter().filter_map(|goal| goal.number).collect();
        let nodes = &mut self.results.nodes;
        let dose = nodes
            .node::<DoseOfPlan>((group, 0))
            .and_then(|node| node.now())
            .cloned();
        let mut needed = BTreeSet::new();
        let mut isodoses = None;
        if let Some(dose) = dose {
            let previous = nodes
                .each::<DvhOf>()
                .find(|((other, _), _)| *other == group);
            let previous = previous
                .and_then(|(_, node)| node.now())
                .map(|dvh| dvh.dose.clone());
            let dose = Shared::new(dose, previous.as_ref());
            isodoses = Some(IsodosesOf(dose.clone()));
            let masks: Vec<(u32, MaskOf)> = nodes
                .each::<MaskOf>()
                .filter(|((_, number), _)| {
                    !self.hidden.contains(number) || with_goal.contains(number)
                })
                .filter_map(|((_, number), node)| Some((number, node.now()?.clone())))
                .collect();
            for (number, mask) in masks {
                needed.insert(number);
                let node = nodes.entry((group, number));
                let dvh = DvhOf::new(mask, dose.clone(), node.latest_with_query());
                node.set(Some(dvh));
            }
        }
        // The DVH queries request the isodoses.
        nodes.entry((group, 0)).set(isodoses);
        nodes.keep_only::<DvhOf>(|(other, number)| other != group || needed.contains(&number));
    }

    /// Lists the dose of the displayed plan with the matter outside the body counted, where that alone leaves its goals undecided.
    pub(super) fn note_matter_outside(&mut self) {
        let nodes = &self.results.nodes;
        let has_run = nodes
            .node::<RunOfPlan>(ONLY)
            .is_some_and(|node| node.now().is_some());
        let is_asked = self.results.shown == Shown::Plan && !has_run;
        let summed = nodes
            .node::<DoseOfPlan>(ONLY)
            .filter(|_| is_asked)
            .and_then(|node| node.current());
        let summed = summed.filter(|summed| lacks_only_matter_outside(&summed.dose));
        let case = self.history.case();
        let query = summed
            .zip(case.plans.get(self.plan))
            .and_then(|(summed, plan)| {
                let with_goal: BTreeSet<u32> =
                    self.goals().iter().filter_map(|goal| goal.number).collect();
                if with_goal.is_empty() {
                    return None;
                }
                let masks = nodes
                    .each::<MaskOf>()
                    .filter(|((_, number), _)| with_goal.contains(number));
                let masks =
                    masks.filter_map(|((_, number), node)| Some((number, node.now()?.clone())));
                let previous = nodes
                    .node::<WithMatterOutside>(ONLY)
                    .and_then(|node| node.now());
                let settings = &self.results.settings;
                WithMatterOutside::new(
                    case,
                    plan,
                    summed.factor,
                    settings,
                    masks.collect(),
                    previous,
                )
            });
        if query.is_some() || nodes.node::<WithMatterOutside>(ONLY).is_some() {
            self.results.nodes.entry(ONLY).set(query);
        }
    }

    /// Lists gamma of A and B with its settings.
    pub(super) fn note_gamma(&mut self) {
        let gamma = self.gamma_wanted();
        let settings = &self.compare.gamma;
        let plane_mm = (self.compare.plane == ViewKind::Axial).then_some(self.crosshair_mm);
        let signed = settings.signed;
        let case = self.history.case();
        let bodies = case
            .structures
            .structures
            .iter()
            .filter(|s| s.kind == StructureKind::External);
        let bodies = bodies.map(|s| s.number).collect();
        let nodes = &mut self.results.nodes;
        if gamma.is_none() && self.workspace == Workspace::Compare {
            // Maps of gamma are not held for a pair that is gone. In another workspace they wait for the pair to come back.
            nodes.forget::<FiguresOfGamma>();
            nodes.forget::<EstimateOfGamma>();
            nodes.forget::<GammaOfPair>();
            return;
        }
        let masks = nodes.each::<MaskOf>();
        let masks = masks
            .filter_map(|((_, number), node)| Some((number, node.now()?.clone())))
            .collect();
        let figures = gamma.clone().map(|gamma| FiguresOfGamma {
            gamma,
            masks,
            bodies,
            signed,
        });
        let estimate = gamma
            .clone()
            .map(|gamma| EstimateOfGamma { gamma, plane_mm });
        nodes.entry(ONLY).set(figures);
        nodes.entry(ONLY).set(estimate);
        nodes.entry(ONLY).set(gamma);
    }

    /// The gamma query; `None` without a pair.
    fn gamma_wanted(&self) -> Option<GammaOfPair> {
        if self.workspace != Workspace::Compare || self.results.pair().is_none() {
            return None;
        }
        let settings = &self.compare.gamma;
        let nodes = &self.results.nodes;
        let previous = nodes.node::<GammaOfPair>(ONLY).and_then(|node| node.now());
        let [reference, evaluated] = settings.roles().map(|side| {
            let node = nodes.node::<DoseOfPlan>((of_side(side), 0))?;
            node.now().cloned()
        });
        let normalisation = match settings.norm {
            GammaNorm::NearMaximum => Normalisation::NearMaximum,
            GammaNorm::Maximum => Normalisation::Maximum,
            GammaNorm::Hundred => Normalisation::Prescription(self.compare_reference()?.0),
            GammaNorm::Typed(gy) => Normalisation::Typed(gy),
        };
        let reference = Shared::new(reference?, previous.map(|query| &query.reference));
        let evaluated = Shared::new(evaluated?, previous.map(|query| &query.evaluated));
        let device = self.results.settings.device;
        Some(GammaOfPair {
            normalisation,
            threshold_percent: settings.threshold_percent,
            max_gamma: Some(settings.max_gamma),
            ..GammaOfPair::new(reference, evaluated, settings.criteria(), device)
        })
    }
}

/// The beams of a plan that the engine models; a beam that is switched off keeps its dose, so that switching it on adds it
/// at once. `previous` returns the previous query of a beam, by number.
pub(super) fn beams_of<'a>(
    densities: &Densities,
    plan: &Arc<Plan>,
    settings: &Settings,
    previous: impl Fn(u32) -> Option<&'a DoseOfBeam>,
) -> Vec<DoseOfBeam> {
    let modelled = plan.beams.iter().filter(|b| is_modelled(b));
    let beams: Vec<(bool, DoseOfBeam)> = modelled
        .map(|beam| {
            let previous = previous(beam.number);
            let query = DoseOfBeam::new(densities, plan, beam, settings, previous);
            (previous != Some(&query), query)
        })
        .collect();
    let changed = beams.iter().filter(|(has_changed, _)| *has_changed).count();
    let beams = beams.into_iter().map(|(has_changed, query)| {
        if has_changed {
            query.among(changed)
        } else {
            query
        }
    });
    beams.collect()
}

impl CaseResults {
    /// The dose that a beam, by number, delivers from one control point, by index, to the next. The plan's sum does not
    /// name it, and the plan's normalisation does not scale it.
    fn dose_of_point(
        &self,
        case: &Case,
        plan: usize,
        number: u32,
        point: usize,
        previous: Option<&DoseOfPlan>,
    ) -> Option<DoseOfPlan> {
        let densities = self
            .nodes
            .node::<Densities>(ONLY)
            .and_then(|node| node.now())?;
        let source_plan = case.plans.get(plan)?;
        let beam = source_plan
            .beams
            .iter()
            .find(|b| b.number == number && is_computed(b))?;
        let part = Plan {
            beams: vec![beam_of_point(beam, point)?],
            normalisation: None,
            ..Plan::clone(source_plan)
        };
        let part = Arc::new(part);
        let doses = beams_of(densities, &part, &self.settings_of(plan), |_| None);
        let mut dose = DoseOfPlan::of_plan(case, &part, Some(number), &doses, None, previous)?;
        dose.what = Shown::Point(number, point);
        Some(dose)
    }

    fn dose_of(
        &self,
        case: &Case,
        plan: usize,
        what: Shown,
        beams: &[DoseOfBeam],
        run: Option<RunOfPlan>,
        key: ResultKey,
    ) -> Option<DoseOfPlan> {
        let previous = self
            .nodes
            .node::<DoseOfPlan>(key)
            .and_then(|node| node.now());
        let only = match what {
            Shown::Imported(index) => {
                return case
                    .doses
                    .get(index)
                    .map(|dose| DoseOfPlan::of_file(dose, index, previous));
            }
            Shown::Plan => None,
            Shown::Beam(number) => Some(number),
            Shown::Point(number, point) => {
                return self.dose_of_point(case, plan, number, point, previous);
            }
        };
        let run = run.filter(|_| only.is_none()).map(|run| {
            let like_it = self
                .nodes
                .node::<RunOfPlan>(ONLY)
                .and_then(|node| node.latest_with_query());
            let like_it = like_it.filter(|(other, _)| run.inputs().same_dose(other.inputs()));
            let like_it = like_it.map(|(_, result)| result.clone());
            (run, like_it)
        });
        DoseOfPlan::of_plan(case, case.plans.get(plan)?, only, beams, run, previous)
    }
}
