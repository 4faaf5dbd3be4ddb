//! Gamma of A and B as it follows the criteria: an estimate from some of the points first, then all of them, then what
//! it says of structures and places.

use super::Follow;
use super::work::Answer;
use crate::analysis::{Cluster, CriterionReport, GammaFigures, clusters};
use crate::app::compare::GammaNorm;
use crate::app::state::{State, Workspace};
use crate::app::view::ViewKind;
use crate::case::StructureKind;
use crate::engine::gamma::{
    Counts, Criterion, GammaMap, GammaRequest, GammaResult, Normalisation, Subset, gamma,
};
use crate::engine::{DeviceChoice, JobControl};
use crate::geometry::{Grid, Mask, Volume, VolumeId};
use crate::results::Node;
use crate::worker::{Lane, Slot, Task, Worker};
use glam::DVec3;
use std::sync::Arc;

/// What gamma is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct GammaInputs {
    /// Reference and evaluated.
    pub doses: [VolumeId; 2],
    pub criteria: Vec<Criterion>,
    pub normalisation: Normalisation,
    pub threshold_percent: f64,
    pub max_gamma: f64,
    pub device: DeviceChoice,
}

/// Gamma before all of it is there.
#[derive(Clone, Debug)]
pub struct GammaEstimate {
    /// Of a random subset, one for each criterion.
    pub counts: Vec<Counts>,
    /// Gamma on the plane on show, NaN elsewhere.
    pub plane: Option<Arc<Volume<f32>>>,
}

/// What gamma says, and of structures and places.
#[derive(Clone, Debug)]
pub struct GammaAnswer {
    /// Of the first criterion, without structures.
    pub report: CriterionReport,
    /// The worst first, each with the ROI number of the structure that holds most of it, and the share it holds.
    pub clusters: Vec<(Option<(u32, f64)>, Cluster)>,
    /// By ROI number, of those that have points.
    pub structures: Vec<(u32, GammaFigures)>,
    /// The map with the sign of evaluated minus reference, where that is wanted.
    pub signed: Option<Arc<Volume<f32>>>,
}

/// The gamma that figures are of, the masks they are told by (structure numbers and fingerprints), and whether its sign is
/// wanted.
pub(super) type FiguresInputs = (VolumeId, Vec<(u32, u64)>, bool);

#[derive(Debug, Default)]
pub(super) struct GammaState {
    full: Node<GammaInputs, Arc<GammaResult>>,
    estimate: Option<(GammaInputs, GammaEstimate)>,
    figures: Node<FiguresInputs, Arc<GammaAnswer>>,
}

/// How far gamma is behind what the window is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Current,
    /// Of earlier criteria or doses.
    Stale,
}

/// Points of an estimate: enough that a pass rate of 95 % is known to 0.2 % (one standard deviation).
const ESTIMATE_POINTS: usize = 12_000;
const ESTIMATE_SEED: u64 = 20_100_105;

impl Follow {
    /// Gamma, be it of earlier criteria, and whether it is.
    pub fn gamma(&self) -> Option<(&Arc<GammaResult>, &GammaInputs, Freshness)> {
        let (inputs, result) = self.gamma.full.have.as_ref()?;
        let current = self.gamma.full.current().is_some() && !self.pair_is_behind();
        Some((result, inputs, if current { Freshness::Current } else { Freshness::Stale }))
    }

    /// The estimate for the criteria as they stand, while the full answer is not there.
    pub fn gamma_estimate(&self) -> Option<&GammaEstimate> {
        let (inputs, estimate) = self.gamma.estimate.as_ref()?;
        let wanted = self.gamma.full.now.as_ref() == Some(inputs) && self.gamma.full.current().is_none();
        wanted.then_some(estimate)
    }

    /// Why there is no gamma for the doses and criteria as they stand.
    pub fn gamma_failure(&self) -> Option<&str> {
        // The job's own name before it says nothing more.
        self.gamma.full.failure().map(|why| why.strip_prefix("Gamma: ").unwrap_or(why))
    }

    /// Histogram, structures and clusters, and whether they are up to date.
    pub fn gamma_figures(&self) -> Option<(&Arc<GammaAnswer>, Freshness)> {
        let figures = self.gamma.figures.latest()?;
        let current = self.gamma.figures.current().is_some()
            && self.gamma.full.current().is_some()
            && !self.pair_is_behind();
        Some((figures, if current { Freshness::Current } else { Freshness::Stale }))
    }

    pub(super) fn take_gamma(&mut self, inputs: GammaInputs, result: Arc<GammaResult>) {
        if self.gamma.full.answered(inputs, result) {
            self.gamma.estimate = None;
        }
    }

    pub(super) fn take_gamma_estimate(&mut self, inputs: GammaInputs, estimate: GammaEstimate) {
        self.gamma.estimate = Some((inputs, estimate));
    }

    pub(super) fn take_gamma_figures(&mut self, inputs: FiguresInputs, figures: Arc<GammaAnswer>) {
        self.gamma.figures.answered(inputs, figures);
    }

    pub(super) fn gamma_failed(&mut self, slot: Slot, why: &str) {
        match slot {
            Slot::Gamma => self.gamma.full.failed(why),
            _ => self.gamma.figures.failed(why),
        }
    }

    pub(super) fn forget_gamma_failures(&mut self) {
        self.gamma.full.forget_failure();
        self.gamma.figures.forget_failure();
    }
}

impl State {
    /// Whether gamma's percent are of a 100 % that is not defined.
    pub fn gamma_lacks_hundred(&self) -> bool {
        self.compare.gamma.norm == GammaNorm::Hundred && self.compare_reference().is_none()
    }
}

/// Asks for gamma as it is set now.
pub(super) fn ask(state: &mut State, worker: &Worker<Answer>) {
    if state.workspace != Workspace::Compare {
        return;
    }
    let Some(request) = request(state) else {
        state.follow.gamma = GammaState::default();
        worker.cancel(Slot::Gamma);
        return;
    };
    let settings = state.compare.gamma;
    let choice = state.follow.settings.device;
    let inputs = GammaInputs {
        doses: [request.reference.id(), request.evaluated.id()],
        criteria: request.criteria.clone(),
        normalisation: request.normalisation,
        threshold_percent: request.threshold_percent,
        max_gamma: settings.max_gamma,
        device: choice,
    };
    let asked = request.clone();
    if state.follow.gamma.full.wants(inputs.clone()) {
        let plane = (state.compare.plane == ViewKind::Axial).then_some(state.crosshair_mm);
        let first = (inputs.clone(), request.clone());
        let task = Task::restartable("Gamma", move |control| {
            let device = choice.resolve().map_err(|e| e.to_string())?;
            let result = gamma(&request, &device, control).map_err(|e| e.to_string())?;
            Ok::<_, String>(Answer::Gamma(inputs.clone(), Arc::new(result)))
        });
        let task = task.after_preview(move |control| {
            let estimate = estimate(&first.1, plane, choice, control)?;
            Ok::<_, String>(Answer::GammaEstimate(first.0, estimate))
        });
        worker.submit(Slot::Gamma, task.on(Lane::Device));
    }
    figures(state, asked, worker);
}

/// What is asked of gamma; `None` where there is no pair to ask of.
fn request(state: &State) -> Option<GammaRequest> {
    let settings = &state.compare.gamma;
    let pair = state.follow.pair()?;
    let [reference, evaluated] = settings.roles().map(|side| pair[side.index()].gy.clone());
    let normalisation = match settings.norm {
        GammaNorm::Maximum => Normalisation::Maximum,
        GammaNorm::Hundred => Normalisation::Prescription(state.compare_reference()?.0),
        GammaNorm::Typed(gy) => Normalisation::Typed(gy),
    };
    Some(GammaRequest {
        normalisation,
        threshold_percent: settings.threshold_percent,
        max_gamma: Some(settings.max_gamma as f32),
        ..GammaRequest::new(reference, evaluated, settings.criteria())
    })
}

/// Gamma of some points, and of the plane on show.
fn estimate(
    request: &GammaRequest,
    plane: Option<DVec3>,
    choice: DeviceChoice,
    control: &JobControl,
) -> Result<GammaEstimate, String> {
    let device = choice.resolve().map_err(|e| e.to_string())?;
    let subset = Subset { count: ESTIMATE_POINTS, seed: ESTIMATE_SEED };
    let some = GammaRequest { subset: Some(subset), ..request.clone() };
    let result = gamma(&some, &device, control).map_err(|e| e.to_string())?;
    let plane = plane.and_then(|at| {
        let (cut, k) = plane_of(request, at, result.normalisation_gy)?;
        // A plane without any point to analyse has no map.
        let map = gamma(&cut, &device, control).ok()?.maps.into_iter().next()?;
        Some(Arc::new(in_place(request.reference.grid(), k, map.gamma.data())))
    });
    Ok(GammaEstimate { counts: result.maps.iter().map(|m| m.counts).collect(), plane })
}

/// The same request for the reference's plane at a place alone, and which plane that is.
fn plane_of(request: &GammaRequest, at_mm: DVec3, normalisation_gy: f64) -> Option<(GammaRequest, usize)> {
    let grid = request.reference.grid();
    let [nx, ny, nz] = grid.size();
    let k = grid.voxel_from_patient(at_mm).z.round();
    if !(k >= 0.0 && k < nz as f64) {
        return None;
    }
    let k = k as usize;
    let [row, column, _] = grid.axes();
    let origin = grid.centre_mm(0, 0, k);
    let flat = Grid::new(origin, row, column, grid.spacing_xy_mm(), [nx, ny], &[0.0]).ok()?;
    let data = request.reference.plane(k).to_vec();
    let cut = GammaRequest {
        reference: Arc::new(Volume::new(Arc::new(flat), data)),
        normalisation: Normalisation::Typed(normalisation_gy),
        criteria: request.criteria.first().copied().into_iter().collect(),
        ..request.clone()
    };
    Some((cut, k))
}

/// One plane of values in an otherwise unknown volume.
fn in_place(grid: &Arc<Grid>, k: usize, values: &[f32]) -> Volume<f32> {
    let area = values.len();
    let mut data = vec![f32::NAN; grid.len()];
    data[k * area..(k + 1) * area].copy_from_slice(values);
    Volume::new(grid.clone(), data)
}

/// Asks for what the gamma that is there says of structures and places.
fn figures(state: &mut State, request: GammaRequest, worker: &Worker<Answer>) {
    let signed = state.compare.gamma.signed;
    let follow = &mut state.follow;
    let Some(map) = follow.gamma.full.latest().and_then(|r| r.maps.first()).cloned() else {
        return;
    };
    // The sign is that of the doses as they stand: there is none for a map of others.
    let signed = (signed && follow.gamma.full.current().is_some()).then_some(request);
    // All masks or none: else the figures would be made anew with each that comes.
    if follow.masks.values().any(|m| m.now.is_some() && m.current().is_none() && m.failure().is_none()) {
        follow.gamma.figures.now = None;
        return;
    }
    // That a place lies in the body says nothing.
    let case = state.history.case();
    let bodies: Vec<u32> = case
        .structures
        .structures
        .iter()
        .filter(|s| s.kind == StructureKind::External)
        .map(|s| s.number)
        .collect();
    let masks: Vec<(u32, u64, Arc<Mask>)> = follow
        .masks
        .iter()
        .filter_map(|(number, wanted)| {
            let ((print, _), mask) = wanted.have.as_ref()?;
            Some((*number, *print, mask.clone()))
        })
        .collect();
    let prints = masks.iter().map(|(n, print, _)| (*n, *print)).collect();
    let inputs: FiguresInputs = (map.gamma.id(), prints, signed.is_some());
    if follow.gamma.figures.wants(inputs.clone()) {
        let task = Task::new("Gamma by structure", move |control| {
            let masks: Vec<(u32, Arc<Mask>)> = masks.into_iter().map(|(n, _, mask)| (n, mask)).collect();
            let figures = figures_of(&map, &masks, &bodies, signed.as_ref(), control)?;
            Ok::<_, String>(Answer::GammaFigures(inputs, Arc::new(figures)))
        });
        worker.submit(Slot::GammaFigures, task);
    }
}

fn figures_of(
    map: &GammaMap,
    masks: &[(u32, Arc<Mask>)],
    bodies: &[u32],
    signed: Option<&GammaRequest>,
    control: &JobControl,
) -> Result<GammaAnswer, String> {
    let places: Vec<&(u32, Arc<Mask>)> = masks.iter().filter(|(n, _)| !bodies.contains(n)).collect();
    let organs: Vec<&Mask> = places.iter().map(|(_, m)| m.as_ref()).collect();
    let clusters = clusters(&map.gamma, &organs, control).map_err(|e| e.to_string())?;
    let mut structures = Vec::new();
    for (number, mask) in masks {
        control.check().map_err(|e| e.to_string())?;
        let figures = GammaFigures::inside(&map.gamma, mask);
        structures.extend((figures.points > 0).then_some((*number, figures)));
    }
    Ok(GammaAnswer {
        report: CriterionReport::new(map, &[]),
        clusters: clusters
            .into_iter()
            .map(|c| (c.structure.map(|(index, share)| (places[index].0, share)), c))
            .collect(),
        structures,
        signed: signed.map(|request| Arc::new(map.signed(request))),
    })
}
