//! Maps of an answer in a plan.

use case::{Beam, Plan};
use results::Optimum;

/// A plan with the optimised beams, which keep the names that they have in the plan.
pub(crate) fn with_maps(plan: &Plan, beams: &[Beam]) -> Plan {
    let mut plan = Plan {
        normalisation: None,
        ..plan.clone()
    };
    for beam in &mut plan.beams {
        if let Some(optimised) = beams
            .iter()
            .find(|optimised| optimised.number == beam.number)
        {
            *beam = Beam {
                name: std::mem::take(&mut beam.name),
                ..optimised.clone()
            };
        }
    }
    plan
}

/// Whether a plan has the maps of an answer, delivered or not.
pub(crate) fn has_maps_of(plan: &Plan, optimum: &Optimum) -> bool {
    let optimised = optimum
        .beams
        .iter()
        .map(|beam| (beam.number, beam.mu, beam.map()));
    let with_map = plan.beams.iter().filter(|beam| beam.map().is_some());
    let planned = with_map.map(|beam| {
        let map_mu = beam.cut_from.as_ref().map_or(beam.mu, |source| source.mu);
        (beam.number, map_mu, beam.map())
    });
    planned.eq(optimised)
}
