//! Doses of beams that are kept with a session, or with unsaved work.

use super::CaseResults;
use super::needed::beams_of;
use crate::state::State;
use files::{BeamPlace, DoseToKeep};
use results::{BeamResult, Densities, DoseOfBeam, Node, Standing};

/// The beams of a case with their doses, as far as those are there. Its digests are computed on the worker.
#[derive(Debug)]
pub struct DosesToKeep(Vec<(BeamPlace, DoseOfBeam, Option<BeamResult>)>);

impl DosesToKeep {
    /// As files take them. Reads the files of machines.
    pub fn digested(&self) -> Vec<DoseToKeep> {
        let doses = self.0.iter();
        doses
            .filter_map(|(place, beam, result)| beam.to_keep(*place, result.as_ref()))
            .collect()
    }
}

impl CaseResults {
    /// The full doses of beams as the case is.
    pub(crate) fn full_doses(&self) -> impl Iterator<Item = (&DoseOfBeam, &BeamResult)> {
        let nodes = self.nodes.each::<DoseOfBeam>().map(|(_, node)| node);
        let current = nodes.filter(|node| node.standing() == Some(Standing::Current));
        current.filter_map(|node| Some((node.now()?, node.current()?)))
    }
}

impl State {
    /// The beams of all plans, beginning with the displayed one.
    pub(crate) fn beams_of_all_plans(&self) -> Vec<(BeamPlace, DoseOfBeam)> {
        let (case, settings) = (self.case(), &self.results.settings);
        let Some(densities) = Densities::new(case, settings) else {
            return Vec::new();
        };
        let mut plans: Vec<_> = case.plans.iter().enumerate().collect();
        plans.sort_by_key(|(index, _)| *index != self.plan);
        let beams = plans.into_iter().flat_map(|(index, plan)| {
            let settings = self.results.settings_of(index);
            // Nodes of beams belong to the displayed plan: beams of two plans share numbers.
            let beams = beams_of(&densities, plan, &settings, |number| {
                let node = self.results.beam_node(number);
                node.filter(|_| index == self.plan).and_then(Node::now)
            });
            beams.into_iter().map(move |beam| {
                let place = BeamPlace {
                    plan: index,
                    beam: beam.inputs().beam.number,
                };
                (place, beam)
            })
        });
        beams.collect()
    }

    /// The beams of all plans with their doses.
    pub(crate) fn doses_to_keep(&self) -> DosesToKeep {
        let beams = self.beams_of_all_plans().into_iter();
        let with_results = beams.map(|(place, beam)| {
            let result = self.results.full_doses().find(|(query, _)| **query == beam);
            let result = result.map(|(_, result)| result.clone());
            (place, beam, result)
        });
        DosesToKeep(with_results.collect())
    }
}
