//! Problem that window, verb and Python minimise alike: the patient, sampled structures, and the objectives of goals.

use super::super::graph::{Failure, Graph};
use super::super::inputs::Settings;
use super::super::patient::{Densities, MaskOf};
use super::query::OptimiseQuery;
use analysis::{BodyChoice, OutsideTargets, Ready, target_of};
use case::{Case, Goal, Plan, Structure, UniformDose};
use engine::dose::dose_grid;
use engine::{Compute, JobControl};
use geometry::{Grid, Mask};
use inverse::{Aim, Inputs, Objective, Region, WishedStructure, of_goal, of_wish};
use sequence::Technique;
use std::sync::Arc;

/// Maximum number of rows of all organs together: each of many has fewer than one of few.
const ALL_ORGAN_ROWS: usize = 30_000;

/// Minimum and maximum number of rows of an organ; of targets all voxels are rows.
const ORGAN_ROWS: [usize; 2] = [300, 3000];

/// The patient, the body and the objectives of a query, on a device.
pub(super) struct Prepared {
    pub request: OptimiseRequest,
    ready: Ready,
    pub body: Option<Arc<Mask>>,
    device: Compute,
}

impl Prepared {
    /// # Errors
    /// [`Failure`] of the plan, the patient, a structure or the device.
    pub fn new(
        query: &OptimiseQuery,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        if let Some(fault) = query.plan.fault() {
            return Err(Failure::Here(fault.to_string()));
        }
        let ready = graph.full(&query.densities, control)?;
        let image = ready.patient().mass_density_g_cm3.grid();
        let grid = dose_grid(image, ready.corners_mm(), query.grid_mm()).map_err(Failure::here)?;
        Ok(Self {
            request: OptimiseRequest::new(query, &grid, graph, control)?,
            body: body_of_fall_off(&query.case, &query.settings, &ready, graph, control)?,
            ready,
            device: query.settings.device.resolve().map_err(Failure::here)?,
        })
    }

    /// Inputs of the optimiser for a query, from the maps of `plan`.
    pub fn inputs<'a>(
        &self,
        query: &OptimiseQuery,
        plan: &'a Plan,
        technique: Option<Technique>,
    ) -> Inputs<'a> {
        Inputs {
            plan,
            patient: Arc::clone(self.ready.patient()),
            corners_mm: self.ready.corners_mm(),
            body: self.body.clone(),
            regions: self.request.regions(),
            grid_mm: query.grid_mm(),
            beamlet_mm: query.beamlet_mm,
            dose_to: query.settings.dose_to,
            judged: Some((query.settings.grid_mm, query.settings.quality)),
            histories: query.engine.monte_carlo(),
            technique,
            windows: Vec::new(),
            device: self.device.clone(),
        }
    }
}

/// Structures with their voxels, and the objectives of goals.
#[derive(Debug)]
pub(super) struct OptimiseRequest {
    /// Each with whether it is a target.
    pub structures: Vec<(Structure, Arc<Mask>, bool)>,
    /// Objectives of each goal, or why it is judged only.
    pub by_goal: Vec<Result<Vec<Objective>, String>>,
    /// Objectives of structures that are to have one dose, or why one has none.
    pub uniform: Vec<Result<Objective, String>>,
    /// The prescription, else the greatest dose that a goal names, Gy of all fractions.
    pub reference_gy: f64,
}

impl OptimiseRequest {
    /// Every structure that has contours in the dose grid: the number of rows of one does not depend on the goals, so that a goal more
    /// needs no new columns.
    pub fn new(
        query: &OptimiseQuery,
        dose_grid: &Grid,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        let OptimiseQuery {
            case, plan, goals, ..
        } = query;
        let target = target_of(plan, &case.structures).map(|s| s.number);
        let mut structures = Vec::new();
        for structure in &case.structures.structures {
            let is_target = structure.kind.is_target() || Some(structure.number) == target;
            let is_needed =
                is_named(case, plan, goals, structure) || Some(structure.number) == target;
            let Some(mask_query) = MaskOf::new(case, structure) else {
                continue;
            };
            let mask = match graph.full(&mask_query, control) {
                Ok(mask) => mask,
                // A structure that is only displayed may have no voxels.
                Err(Failure::Here(_)) if !is_needed => continue,
                Err(why) => return Err(why),
            };
            if lies_in(dose_grid, &mask) {
                structures.push((structure.clone(), mask, is_target));
            }
        }
        let by_goal: Vec<Result<Vec<Objective>, String>> = goals
            .iter()
            .map(|goal| objectives_of(case, plan, goal, &structures))
            .collect();
        let uniform: Vec<Result<Objective, String>> = plan
            .objectives
            .uniform
            .iter()
            .map(|dose| uniform_of(case, dose, &structures))
            .collect();
        let objectives = by_goal
            .iter()
            .flatten()
            .flatten()
            .chain(uniform.iter().flatten());
        let limits = objectives.map(|o| o.gy).fold(0.0, f64::max);
        let reference_gy = plan.prescription_gy.unwrap_or(limits);
        if reference_gy.is_nan() || reference_gy <= 0.0 {
            let why = "the plan has no prescription and no goal has a dose: give one of them";
            return Err(Failure::here(why));
        }
        Ok(Self {
            structures,
            by_goal,
            uniform,
            reference_gy,
        })
    }

    /// Regions of the structures.
    fn regions(&self) -> Vec<Region> {
        let organs = self
            .structures
            .iter()
            .filter(|(_, _, is_target)| !is_target)
            .count();
        let [fewest, most] = ORGAN_ROWS;
        let most_rows = (ALL_ORGAN_ROWS / organs.max(1)).clamp(fewest, most);
        let regions = self
            .structures
            .iter()
            .map(|(structure, mask, is_target)| Region {
                name: structure.name.clone(),
                mask: Arc::clone(mask),
                is_target: *is_target,
                most_rows,
            });
        regions.collect()
    }

    /// The body less the targets.
    pub fn outside_targets(&self, body: Option<Arc<Mask>>) -> OutsideTargets {
        let targets = self
            .structures
            .iter()
            .filter(|(_, _, is_target)| *is_target);
        OutsideTargets::new(targets.map(|(_, mask, _)| Arc::clone(mask)).collect(), body)
    }

    /// All objectives: of the goals in order, then of uniform doses.
    pub fn objectives(&self) -> Vec<Objective> {
        let of_goals = self.by_goal.iter().flatten().flatten();
        of_goals
            .chain(self.uniform.iter().flatten())
            .cloned()
            .collect()
    }
}

/// Whether a goal or a uniform dose is of this structure.
fn is_named(case: &Case, plan: &Plan, goals: &[Goal], structure: &Structure) -> bool {
    let of_goals = goals.iter().map(|goal| (goal.number, &*goal.structure));
    let of_uniform = plan
        .objectives
        .uniform
        .iter()
        .map(|dose| (dose.number, &*dose.structure));
    of_goals.chain(of_uniform).any(|(number, name)| {
        case.structures
            .referenced(number, name)
            .is_ok_and(|named| named.number == structure.number)
    })
}

/// A structure by its number, else its name, where it has voxels.
fn sampled<'a>(
    case: &'a Case,
    number: Option<u32>,
    name: &str,
    structures: &'a [(Structure, Arc<Mask>, bool)],
) -> Result<&'a (Structure, Arc<Mask>, bool), String> {
    let structure = case.structures.referenced(number, name);
    let structure = structure.map_err(|_| "the case has no structure of its name".to_owned())?;
    let sampled = structures
        .iter()
        .find(|(other, ..)| other.number == structure.number);
    let sampled = sampled.ok_or("the structure has no volume in the dose grid")?;
    if structures
        .iter()
        .any(|(other, ..)| other.number != structure.number && other.name == structure.name)
    {
        // Rows go by name: another structure's rows would answer.
        return Err("two structures have its name: rename one".to_owned());
    }
    Ok(sampled)
}

fn uniform_of(
    case: &Case,
    uniform: &UniformDose,
    structures: &[(Structure, Arc<Mask>, bool)],
) -> Result<Objective, String> {
    let (structure, ..) = sampled(case, uniform.number, &uniform.structure, structures)?;
    Ok(Objective {
        structure: structure.name.clone(),
        aim: Aim::Deviation,
        gy: uniform.dose_gy,
        weight: uniform.weight,
        asked: None,
        wish_range_gy: None,
        raised: 1.0,
    })
}

fn objectives_of(
    case: &Case,
    plan: &Plan,
    goal: &Goal,
    structures: &[(Structure, Arc<Mask>, bool)],
) -> Result<Vec<Objective>, String> {
    let (structure, mask, is_target) = sampled(case, goal.number, &goal.structure, structures)?;
    let wished = WishedStructure {
        volume_cm3: mask.volume_cm3(),
        is_target: *is_target,
    };
    let objectives = of_goal(
        goal,
        wished.volume_cm3,
        plan.prescription_gy,
        structure.kind.is_target(),
    )?;
    Ok(objectives
        .into_iter()
        .chain(of_wish(goal, wished, plan.prescription_gy))
        .map(|o| Objective {
            structure: structure.name.clone(),
            ..o
        })
        .collect())
}

/// The body round whose targets dose falls off: what counts for the dose, else the drawn body or one found in the CT. The whole image
/// would have shells of air, and without any single beamlets grow until they cost a goal.
fn body_of_fall_off(
    case: &Case,
    settings: &Settings,
    ready: &Ready,
    graph: &Graph,
    control: &JobControl,
) -> Result<Option<Arc<Mask>>, Failure> {
    if let Some(body) = ready.body() {
        return Ok(Some(Arc::clone(body)));
    }
    let with_body = Settings {
        body: BodyChoice::Drawn,
        ..settings.clone()
    };
    let Some(densities) = Densities::new(case, &with_body) else {
        return Ok(None);
    };
    Ok(graph.full(&densities, control)?.body().cloned())
}

/// Whether some voxel of a mask is one of a grid.
fn lies_in(grid: &Grid, mask: &Mask) -> bool {
    let mask_grid = mask.grid();
    mask.iter()
        .any(|(voxel, _)| grid.voxel_at(mask_grid.centre_of_mm(voxel)).is_some())
}
