//! Central rays of the displayed plan's beams.

use super::needed::{DISPLAYED, ONLY};
use super::{CaseResults, State};
use analysis::CentralRay;
use results::{Densities, Node, RayOfBeam};

impl State {
    /// Lists the central ray of each beam, at its first control point.
    pub(super) fn note_rays(&mut self) {
        let densities = self
            .results
            .nodes
            .node::<Densities>(ONLY)
            .and_then(|node| node.now())
            .cloned();
        let rays: Vec<(u32, RayOfBeam)> =
            self.plan()
                .zip(densities)
                .map_or_else(Vec::new, |(plan, densities)| {
                    let beams = plan.beams.iter();
                    let rays = beams.filter_map(|beam| {
                        let start = beam.start()?;
                        let sad_mm = self.results.sad_mm(plan.machine_of(beam));
                        let frame = beam.frame_at(start, plan.position, sad_mm);
                        let densities = densities.for_beam(beam);
                        let ray = RayOfBeam {
                            densities,
                            source_mm: frame.source_mm,
                            isocentre_mm: beam.isocentre_mm,
                        };
                        Some((beam.number, ray))
                    });
                    rays.collect()
                });
        let nodes = &mut self.results.nodes;
        nodes
            .keep_only::<RayOfBeam>(|(_, number)| rays.iter().any(|(listed, _)| *listed == number));
        for (number, ray) in rays {
            nodes.entry((DISPLAYED, number)).set(Some(ray));
        }
    }
}

impl CaseResults {
    /// The central ray of a beam; `None` until it is computed for the beam as it stands, `Some(None)` where it meets no
    /// surface.
    pub fn central_ray(&self, beam: u32) -> Option<Option<CentralRay>> {
        self.nodes
            .node::<RayOfBeam>((DISPLAYED, beam))
            .and_then(Node::current)
            .copied()
    }
}
