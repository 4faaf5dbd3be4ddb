//! Results of the room view: surfaces of structures and isodoses, and the clearance of the gantry head.

use super::needed::{DISPLAYED, ONLY};
use super::{CaseResults, State};
use analysis::{HeadPath, LEAST_CLEARANCE_MM};
use case::{DoseStatus, Rgb, StructureKind};
use geometry::Mesh;
use results::{
    ClearanceOf, DoseOfPlan, DvhOf, IsodoseOf, MaskOf, Node, Query, Shared, Standing, SurfaceOf,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The surface of an isodose level.
#[derive(Clone, Debug)]
pub struct IsodoseSurface {
    pub percent: f32,
    pub colour: Rgb,
    pub surface: Arc<Mesh>,
}

/// A beam whose gantry head comes near the patient or the couch.
#[derive(Clone, Debug, PartialEq)]
pub struct NearHead {
    /// Beam number.
    pub beam: u32,
    /// 0: it touches.
    pub mm: f64,
    pub gantry_deg: f64,
    /// Whether it is the couch, else the patient.
    pub is_couch: bool,
}

/// Place of an isodose level among the results.
fn place_of(percent: f32) -> u32 {
    (percent * 100.0).round() as u32
}

impl State {
    /// Lists the surfaces and the clearance that the room view shows.
    pub(super) fn note_room(&mut self) {
        let mut surfaces = BTreeSet::new();
        let mut levels = BTreeSet::new();
        let mut clearance = None;
        if self.needs_room() {
            let reference_gy = self.reference().map(|(gy, _)| gy);
            let case = self.history.case();
            let nodes = &mut self.results.nodes;
            let (mut body, mut couch) = (None, Vec::new());
            for structure in &case.structures.structures {
                let machine = matches!(
                    structure.kind,
                    StructureKind::External | StructureKind::Support
                );
                if self.hidden.contains(&structure.number) && !machine {
                    continue;
                }
                let mask = nodes
                    .node::<MaskOf>((DISPLAYED, structure.number))
                    .and_then(|node| node.now());
                let Some(mask) = mask.cloned() else { continue };
                let surface = SurfaceOf(mask);
                match structure.kind {
                    StructureKind::External if body.is_none() => body = Some(surface.clone()),
                    StructureKind::Support => couch.push(surface.clone()),
                    _ => {}
                }
                surfaces.insert(structure.number);
                nodes
                    .entry((DISPLAYED, structure.number))
                    .set(Some(surface));
            }
            clearance = body
                .zip(case.plans.get(self.plan))
                .map(|(body, plan)| ClearanceOf {
                    body,
                    couch,
                    position: plan.position,
                    beams: plan
                        .beams
                        .iter()
                        .map(|beam| HeadPath::new(beam, plan.position))
                        .collect(),
                });
            let dose = nodes
                .node::<DoseOfPlan>(ONLY)
                .and_then(|node| node.now())
                .cloned();
            if let (Some(dose), Some(reference_gy)) = (dose, reference_gy) {
                let of_dvh = nodes
                    .each::<DvhOf>()
                    .find(|((group, _), _)| *group == DISPLAYED);
                let of_dvh = of_dvh.and_then(|(_, node)| Some(node.now()?.dose.clone()));
                let previous = of_dvh.or_else(|| {
                    let mut isodoses = nodes.each::<IsodoseOf>();
                    isodoses.find_map(|(_, node)| Some(node.now()?.dose.clone()))
                });
                let dose = Shared::new(dose, previous.as_ref());
                for level in self
                    .dose_display
                    .levels
                    .iter()
                    .filter(|l| self.room.draws_isodose(l.percent))
                {
                    let gy = (f64::from(level.percent) * 0.01 * reference_gy) as f32;
                    levels.insert(place_of(level.percent));
                    let key = (DISPLAYED, place_of(level.percent));
                    nodes.entry(key).set(Some(IsodoseOf {
                        dose: dose.clone(),
                        gy,
                    }));
                }
            }
        }
        let nodes = &mut self.results.nodes;
        nodes.keep_only::<SurfaceOf>(|(_, number)| surfaces.contains(&number));
        nodes.keep_only::<IsodoseOf>(|(_, place)| levels.contains(&place));
        nodes.entry(ONLY).set(clearance);
    }

    /// The surfaces of the isodoses that are drawn. One that is older than the dose is drawn, with its status; one of
    /// another level or dose is not.
    pub fn isodose_surfaces(&self) -> Vec<IsodoseSurface> {
        let levels = self
            .dose_display
            .levels
            .iter()
            .filter(|l| self.room.draws_isodose(l.percent));
        let surfaces = levels.filter_map(|level| {
            let node = self
                .results
                .nodes
                .node::<IsodoseOf>((DISPLAYED, place_of(level.percent)))?;
            let (query, (latest_query, surface)) = (node.now()?, node.latest_with_query()?);
            let fits = latest_query.gy == query.gy
                && latest_query.dose.what == query.dose.what
                && node.failure().is_none();
            fits.then(|| IsodoseSurface {
                percent: level.percent,
                colour: level.colour,
                surface: Arc::clone(surface),
            })
        });
        surfaces.collect()
    }
}

impl CaseResults {
    /// Whether the room shows all that it will: the surfaces of structures are there, and the isodoses' where the dose is.
    pub fn is_room_ready(&self) -> bool {
        fn settled<Q: Query>(node: &Node<Q>) -> bool {
            node.current().is_some() || node.failure().is_some()
        }
        let has_dose = matches!(
            self.shown_status(),
            Some(DoseStatus::Final | DoseStatus::Partial | DoseStatus::Imported)
        );
        self.nodes
            .each::<SurfaceOf>()
            .all(|(_, node)| settled(node))
            && (!has_dose
                || self
                    .nodes
                    .each::<IsodoseOf>()
                    .all(|(_, node)| settled(node)))
    }

    /// The surface of a structure; during a change, the previous one.
    pub fn surface(&self, structure: u32) -> Option<&Arc<Mesh>> {
        self.nodes
            .node::<SurfaceOf>((DISPLAYED, structure))?
            .latest()
    }

    /// Status of the isodose surfaces: the status of the dose, or stale if they belong to an earlier dose.
    pub fn isodose_status(&self) -> Option<DoseStatus> {
        let status = self.shown_status()?;
        let standings = self
            .nodes
            .each::<IsodoseOf>()
            .filter_map(|(_, node)| node.standing());
        let standings = standings.filter(|s| *s != Standing::Failed);
        Some(standings.fold(status, |worst, standing| {
            worst.worst(standing.status(DoseStatus::Final))
        }))
    }

    /// The beams whose gantry head comes near the patient or the couch, nearest first; `None` before that is computed
    /// for the plan as it stands.
    pub fn near_heads(&self) -> Option<Vec<NearHead>> {
        let clearances = self.nodes.node::<ClearanceOf>(ONLY)?.current()?;
        let mut near: Vec<NearHead> = clearances
            .iter()
            .flat_map(|c| {
                [(c.body, false), (c.couch, true)]
                    .map(|(closest, is_couch)| (c.beam, closest, is_couch))
            })
            .filter_map(|(beam, closest, is_couch)| {
                let closest = closest.filter(|c| c.mm < LEAST_CLEARANCE_MM)?;
                Some(NearHead {
                    beam,
                    mm: closest.mm,
                    gantry_deg: closest.gantry_deg,
                    is_couch,
                })
            })
            .collect();
        near.sort_by(|a, b| a.mm.total_cmp(&b.mm));
        Some(near)
    }
}
