//! Objectives of an optimisation: structures with their voxels, and the objectives of goals.

use super::super::graph::{Failure, Graph};
use super::super::inputs::Settings;
use super::super::patient::{Densities, MaskOf};
use analysis::{BodyChoice, OutsideTargets, Ready, target_of};
use case::{Case, Goal, Plan, Structure, UniformDose};
use engine::JobControl;
use geometry::{Grid, Mask};
use inverse::{Aim, Objective, Region, of_goal};
use std::sync::Arc;

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
    /// Structures of goals and the target; with `follows_all` every structure that has contours. Each lies in the dose grid.
    pub fn new(
        case: &Case,
        plan: &Plan,
        goals: &[Goal],
        follows_all: bool,
        dose_grid: &Grid,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        let target = target_of(plan, &case.structures).map(|s| s.number);

        let mut structures = Vec::new();
        for structure in &case.structures.structures {
            let is_one = structure.kind.is_target() || Some(structure.number) == target;
            let named = is_named(case, plan, goals, structure) || Some(structure.number) == target;
            if !(named || follows_all) {
                continue;
            }
            let Some(query) = MaskOf::new(case, structure) else {
                continue;
            };
            let mask = match graph.full(&query, control) {
                Ok(mask) => mask,
                // What only is followed may have no voxels.
                Err(Failure::Here(_)) if !named => continue,
                Err(why) => return Err(why),
            };
            if lies_in(dose_grid, &mask) {
                structures.push((structure.clone(), mask, is_one));
            }
        }
        if !follows_all {
            structures.sort_by_key(|(s, ..)| {
                goals
                    .iter()
                    .position(|goal| goal.number == Some(s.number))
                    .unwrap_or(goals.len())
            });
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

    /// Regions of the structures, with at most `most_rows` rows for the voxels of an organ.
    pub fn regions(&self, most_rows: usize) -> Vec<Region> {
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
) -> Result<(&'a Structure, &'a Arc<Mask>), String> {
    let structure = case.structures.referenced(number, name);
    let structure = structure.map_err(|_| "the case has no structure of its name".to_owned())?;
    let sampled = structures
        .iter()
        .find(|(other, ..)| other.number == structure.number);
    let (_, mask, _) = sampled.ok_or("the structure has no volume in the dose grid")?;
    if structures
        .iter()
        .any(|(other, ..)| other.number != structure.number && other.name == structure.name)
    {
        // Rows go by name: another structure's rows would answer.
        return Err("two structures have its name: rename one".to_owned());
    }
    Ok((structure, mask))
}

fn uniform_of(
    case: &Case,
    uniform: &UniformDose,
    structures: &[(Structure, Arc<Mask>, bool)],
) -> Result<Objective, String> {
    let (structure, _) = sampled(case, uniform.number, &uniform.structure, structures)?;
    Ok(Objective {
        structure: structure.name.clone(),
        aim: Aim::Deviation,
        gy: uniform.dose_gy,
        weight: uniform.weight,
        asked: None,
    })
}

fn objectives_of(
    case: &Case,
    plan: &Plan,
    goal: &Goal,
    structures: &[(Structure, Arc<Mask>, bool)],
) -> Result<Vec<Objective>, String> {
    let (structure, mask) = sampled(case, goal.number, &goal.structure, structures)?;
    let objectives = of_goal(
        goal,
        mask.volume_cm3(),
        plan.prescription_gy,
        structure.kind.is_target(),
    )?;
    Ok(objectives
        .into_iter()
        .map(|o| Objective {
            structure: structure.name.clone(),
            ..o
        })
        .collect())
}

/// The body round whose targets dose falls off: what counts for the dose, else the drawn body or one found in the CT. The whole image
/// would have shells of air, and without any single beamlets grow until they cost a goal.
pub(super) fn body_of_fall_off(
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
