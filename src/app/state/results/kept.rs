//! Doses of beams that are kept with a session, or with unsaved work.

use super::needed::beams_of;
use super::{CaseResults, DISPLAYED};
use crate::state::State;
use files::{BeamPlace, DoseToKeep};
use results::{BeamResult, Densities, DoseOfBeam, Node, Standing};

/// The beams of a case with their doses, as far as those are there. Its digests are computed on the worker.
#[derive(Debug)]
pub struct DosesToKeep(Vec<(BeamPlace, DoseOfBeam, Option<BeamResult>)>);

impl DosesToKeep {
    /// As files take them. Reads the files of machines.
    pub fn digested(&self) -> Vec<DoseToKeep> {
        let of = |(of, beam, result): &(_, DoseOfBeam, Option<BeamResult>)| {
            beam.to_keep(*of, result.as_ref())
        };
        self.0.iter().filter_map(of).collect()
    }
}

impl CaseResults {
    /// The full doses of beams as the case is.
    pub(crate) fn full_doses(&self) -> impl Iterator<Item = (&DoseOfBeam, &BeamResult)> {
        let is_full = |node: &&Node<DoseOfBeam>| node.standing() == Some(Standing::Current);
        let nodes = self
            .nodes
            .each::<DoseOfBeam>()
            .map(|(_, node)| node)
            .filter(is_full);
        nodes.filter_map(|node| Some((node.now()?, node.current()?)))
    }
}

impl State {
    /// The beams of all plans, those of the displayed plan first.
    pub(crate) fn beams_of_all_plans(&self) -> Vec<(BeamPlace, DoseOfBeam)> {
        let (case, settings) = (self.case(), &self.results.settings);
        let Some(densities) = Densities::new(case, settings) else {
            return Vec::new();
        };
        let mut plans: Vec<_> = case.plans.iter().enumerate().collect();
        plans.sort_by_key(|(index, _)| *index != self.plan);
        let of_plan = |(plan, own)| {
            let known = |number| {
                let node = self.results.nodes.node::<DoseOfBeam>((DISPLAYED, number));
                node.filter(|_| plan == self.plan).and_then(Node::now)
            };
            let beams = beams_of(&densities, own, &self.results.settings_of(plan), known);
            beams.into_iter().map(move |beam| {
                (
                    BeamPlace {
                        plan,
                        beam: beam.inputs().beam.number,
                    },
                    beam,
                )
            })
        };
        plans.into_iter().flat_map(of_plan).collect()
    }

    /// The beams of all plans with their doses.
    pub(crate) fn doses_to_keep(&self) -> DosesToKeep {
        let with_result = |(of, beam)| {
            let result = self.results.full_doses().find(|(query, _)| **query == beam);
            let result = result.map(|(_, result)| result.clone());
            (of, beam, result)
        };
        DosesToKeep(
            self.beams_of_all_plans()
                .into_iter()
                .map(with_result)
                .collect(),
        )
    }
}
