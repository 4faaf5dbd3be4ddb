//! From objectives to fluence maps: columns, the optimum, and the true dose of the maps as the outer loop.

use super::beamlets::{BeamletError, Beamlets};
use super::columns::{ColumnError, Columns};
use super::objective::{Aim, Objective};
use super::problem::Problem;
use super::rows::{Rows, RowsError, Sampled};
use super::solve::{Stop, solve};
use analysis::UNIT_MU;
use case::{Beam, FluenceMap, Plan};
use engine::cccs::{DoseError, DoseRequest, DoseTo, Quality, beam_dose, dose_grid};
use engine::{Compute, JobControl};
use geometry::{Grid, GridError, Mask};
use glam::DVec3;
use physics::{Machine, MachineError, Patient};
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Voxels of an organ that become rows at most; of targets all do.
const MOST_ROWS: usize = 3000;

/// Evaluations between two looks at the true dose: the first time, then each time, and in the end.
const EVALUATIONS: [u64; 3] = [120, 40, 400];

/// Passes of the true dose at most.
const MOST_PASSES: usize = 8;

/// The true dose has come to rest where it moves by less in the targets, part of the reference dose.
const AT_REST: f64 = 0.001;

/// The dose of a tail moves by this part of what its point is off by; points closer than this are met, part of the reference dose.
const HANDLE_STEP: f64 = 0.7;
const HANDLE_MET: f64 = 0.002;

/// Weight of the squared steps between neighbours of a map: large steps cost monitor units and gain little.
const SMOOTHNESS: f64 = 1e-4;

/// Shells round the targets, mm, and the dose that each may have, part of the reference dose: a fall-off of 3 % a mm to a quarter.
/// Chosen.
const SHELLS_MM: [f64; 6] = [3.0, 10.0, 20.0, 35.0, 60.0, 1000.0];
const FALL_OFF_PER_MM: f64 = 0.05;
const FAR_PART: f64 = 0.25;
const FALL_OFF_WEIGHT: f64 = 0.1;

/// Plan, patient and objectives of an optimisation.
pub struct Inputs<'a> {
    /// Its computed beams get maps; monitor units and maps of before are where it starts.
    pub plan: &'a Plan,
    pub patient: Arc<Patient>,
    /// The box of the dose grid, patient LPS, mm.
    pub corners_mm: [DVec3; 2],
    pub body: Option<&'a Mask>,
    /// Structures that objectives name, each with whether it is a target.
    pub structures: Vec<(String, &'a Mask, bool)>,
    pub objectives: Vec<Objective>,
    /// The prescription, or another dose of the same size, Gy of all fractions.
    pub reference_gy: f64,
    /// Spacing of the rows, mm.
    pub grid_mm: f64,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    pub dose_to: DoseTo,
    pub device: &'a Compute,
}

/// Progress of an optimisation while it runs.
#[derive(Clone, Debug)]
pub enum Progress {
    /// Columns of so many beams are there, of so many.
    Columns {
        done: usize,
        of: usize,
    },
    Iteration {
        objective: f64,
        evaluations: u64,
    },
    /// The true dose moved by so much in the targets, percent of the reference dose.
    TrueDose {
        moved_percent: f64,
    },
}

/// Why a plan is not optimised.
#[derive(Debug, Error)]
pub enum OptimiseError {
    #[error("there is no target: give a structure the type PTV, CTV or GTV")]
    NoTarget,
    #[error("the plan '{0}' has no beams that are computed")]
    NoBeams(String),
    #[error("no objective names a structure with rows")]
    NoObjectives,
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("the dose grid: {0}")]
    Grid(#[from] GridError),
    #[error(transparent)]
    Rows(#[from] RowsError),
    #[error(transparent)]
    Beamlets(#[from] BeamletError),
    #[error(transparent)]
    Columns(#[from] ColumnError),
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error("the solver does not begin: {0}")]
    Solver(String),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Optimised {
    /// The plan with maps; monitor units of each beam are those of its strongest beamlet.
    pub plan: Plan,
    pub columns: Columns,
    pub rows: Rows,
    /// All that was minimised, tails at their last doses.
    pub objectives: Vec<Objective>,
    pub reference_gy: f64,
    pub smoothness: f64,
    pub neighbours: Vec<[usize; 2]>,
    /// Beam number, u and v sides (mm) and gantry angle of each column.
    pub beamlets: Vec<[f64; 6]>,
    pub offset_gy: Vec<f32>,
    pub fluences: Vec<f64>,
    pub doses_gy: Vec<f32>,
    pub objective: f64,
    pub evaluations: u64,
    /// The last move of the true dose in the targets, percent of the reference dose.
    pub moved_percent: f64,
    /// Whether it was stopped before it came to rest.
    pub stopped: bool,
}

/// Finds fluence maps. A stop asked for by `control` after the columns are there keeps the best maps so far.
///
/// # Errors
/// [`OptimiseError`].
pub fn optimise(
    inputs: &Inputs<'_>,
    control: &JobControl,
    tell: &mut dyn FnMut(Progress),
) -> Result<Optimised, OptimiseError> {
    let plan = inputs.plan;
    let image = inputs.patient.mass_density_g_cm3.grid();
    let grid = Arc::new(dose_grid(image, inputs.corners_mm, inputs.grid_mm)?);
    let target_mm: Vec<DVec3> = inputs
        .structures
        .iter()
        .filter(|(_, _, target)| *target)
        .flat_map(|(_, mask, _)| centres(mask))
        .collect();
    if target_mm.is_empty() {
        return Err(OptimiseError::NoTarget);
    }
    let (rows, objectives) = rows_and_objectives(inputs, &grid, &target_mm)?;
    let fields = fields(inputs, &target_mm)?;
    let count: usize = fields.iter().map(|(_, beamlets)| beamlets.active.len()).sum();
    let mut columns = Columns::reserved(rows.voxels.len(), count)?;
    for (n, (machine, beamlets)) in fields.iter().enumerate() {
        tell(Progress::Columns { done: n, of: fields.len() });
        let request = request(inputs, machine, &beamlets.beam, &grid, Quality::Fast);
        columns.add(&request, beamlets, &rows, plan.fractions, inputs.device, control)?;
    }
    tell(Progress::Columns { done: fields.len(), of: fields.len() });
    let neighbours = neighbours(&fields);
    let mut run =
        Run { inputs, fields: &fields, rows: &rows, grid: &grid, objectives, neighbours: &neighbours };
    let found = run.settle(&columns, control, tell)?;
    let objectives = run.objectives;
    let doses_gy = columns.doses(&found.fluences, &found.offset_gy);
    let plan = with_maps(plan, &fields, &found.fluences);
    let beamlets = places(&fields);
    Ok(Optimised {
        plan,
        rows,
        objectives,
        reference_gy: inputs.reference_gy,
        smoothness: SMOOTHNESS,
        neighbours,
        beamlets,
        doses_gy,
        columns,
        offset_gy: found.offset_gy,
        fluences: found.fluences,
        objective: found.objective,
        evaluations: found.evaluations,
        moved_percent: found.moved_percent,
        stopped: found.stopped,
    })
}

type Field = (Arc<Machine>, Beamlets);

/// Each field with the fluences of its active beamlets.
fn by_field<'a>(fields: &'a [Field], fluences: &'a [f64]) -> impl Iterator<Item = (&'a Field, &'a [f64])> {
    let mut rest = fluences;
    fields.iter().map(move |field| {
        let (own, after) = rest.split_at(field.1.active.len());
        rest = after;
        (field, own)
    })
}

/// Voxel centres of a mask that are covered at least half.
fn centres(mask: &Mask) -> Vec<DVec3> {
    let grid = mask.grid();
    let covered = mask.iter().filter(|(_, coverage)| *coverage >= 0.5);
    covered.map(|(voxel, _)| grid.centre_of_mm(voxel)).collect()
}

fn fields(inputs: &Inputs<'_>, target_mm: &[DVec3]) -> Result<Vec<Field>, OptimiseError> {
    let plan = inputs.plan;
    let beams = plan.beams.iter().filter(|beam| analysis::is_computed(beam));
    let fields: Vec<Field> = beams
        .map(|beam| {
            let machine = Machine::resolve(plan.machine_of(beam))?;
            let beamlets = Beamlets::of(beam, &machine, plan.position, target_mm, inputs.beamlet_mm)?;
            Ok((machine, beamlets))
        })
        .collect::<Result<_, OptimiseError>>()?;
    if fields.is_empty() { Err(OptimiseError::NoBeams(plan.name.clone())) } else { Ok(fields) }
}

/// The structures' rows and those of shells round the targets, which keep the dose outside low.
fn rows_and_objectives(
    inputs: &Inputs<'_>,
    grid: &Arc<Grid>,
    target_mm: &[DVec3],
) -> Result<(Rows, Vec<Objective>), OptimiseError> {
    let mut objectives = inputs.objectives.clone();
    let mut sampled: Vec<Sampled<'_>> = inputs
        .structures
        .iter()
        .map(|(name, mask, target)| Sampled {
            name: name.clone(),
            mask,
            most: if *target { usize::MAX } else { MOST_ROWS },
            beyond_target_mm: None,
        })
        .collect();
    for (name, ..) in inputs.structures.iter().filter(|(_, _, target)| *target) {
        if !objectives.iter().any(|o| o.structure == *name) {
            objectives.push(Objective {
                structure: name.clone(),
                aim: Aim::Deviation,
                gy: inputs.reference_gy,
                weight: 1.0,
                asked: None,
            });
        }
    }
    let mut distance_mm = Vec::new();
    if let Some(body) = inputs.body {
        distance_mm = distances(grid, target_mm);
        for shell in SHELLS_MM.windows(2) {
            let name = format!("{:.0} to {:.0} mm round the targets", shell[0], shell[1]);
            let part = FAR_PART + (1.0 - FAR_PART) * (-FALL_OFF_PER_MM * shell[0]).exp();
            objectives.push(Objective {
                structure: name.clone(),
                aim: Aim::Over,
                gy: part * inputs.reference_gy,
                weight: FALL_OFF_WEIGHT,
                asked: None,
            });
            let beyond_target_mm = Some([shell[0], shell[1]]);
            sampled.push(Sampled { name, mask: body, most: MOST_ROWS, beyond_target_mm });
        }
    }
    let rows = Rows::of(grid, &sampled, &distance_mm)?;
    if !objectives.iter().any(|o| rows.set(&o.structure).is_some()) {
        return Err(OptimiseError::NoObjectives);
    }
    Ok((rows, objectives))
}

/// Distance of each voxel's centre to the nearest of some points, mm.
fn distances(grid: &Grid, points_mm: &[DVec3]) -> Vec<f32> {
    // One point a voxel of the grid is as close as the voxels resolve.
    let mut voxels: Vec<[usize; 3]> = points_mm.iter().filter_map(|mm| grid.voxel_at(*mm)).collect();
    voxels.sort_unstable();
    voxels.dedup();
    let at: Vec<DVec3> = voxels.iter().map(|[i, j, k]| grid.centre_mm(*i, *j, *k)).collect();
    let nearest = |voxel: usize| {
        let centre = grid.centre_of_mm(voxel);
        at.iter().map(|mm| mm.distance_squared(centre)).fold(f64::INFINITY, f64::min).sqrt() as f32
    };
    (0..grid.len()).into_par_iter().map(nearest).collect()
}

fn request(
    inputs: &Inputs<'_>,
    machine: &Arc<Machine>,
    beam: &Beam,
    grid: &Arc<Grid>,
    quality: Quality,
) -> DoseRequest {
    DoseRequest {
        patient: Arc::clone(&inputs.patient),
        machine: Arc::clone(machine),
        beam: beam.clone(),
        grid: Arc::clone(grid),
        quality,
        dose_to: inputs.dose_to,
    }
}

/// Neighbours in the order of the columns.
fn neighbours(fields: &[Field]) -> Vec<[usize; 2]> {
    let mut first = 0;
    let mut all = Vec::new();
    for (_, beamlets) in fields {
        all.extend(beamlets.neighbours().into_iter().map(|pair| pair.map(|n| n + first)));
        first += beamlets.active.len();
    }
    all
}

fn places(fields: &[Field]) -> Vec<[f64; 6]> {
    let of = |(_, beamlets): &Field| -> Vec<[f64; 6]> {
        let Some(map) = &beamlets.beam.fluence else { return Vec::new() };
        let gantry_deg = beamlets.beam.start().map_or(0.0, |point| point.gantry_deg);
        let number = f64::from(beamlets.beam.number);
        let place = |at: &usize| {
            let [[u0, u1], [v0, v1]] = map.sides_mm(*at);
            [number, u0, u1, v0, v1, gantry_deg]
        };
        beamlets.active.iter().map(place).collect()
    };
    fields.iter().flat_map(of).collect()
}

/// The plan with the maps that fluences of all active beamlets make.
fn with_maps(plan: &Plan, fields: &[Field], fluences: &[f64]) -> Plan {
    let mut plan = plan.clone();
    for ((_, beamlets), own) in by_field(fields, fluences) {
        let strongest = own.iter().copied().fold(0.0, f64::max);
        let relative: Vec<f64> =
            own.iter().map(|x| if strongest > 0.0 { x / strongest } else { 0.0 }).collect();
        let mut beam = beamlets.with(&relative);
        beam.mu = UNIT_MU * strongest;
        if let Some(place) = plan.beams.iter_mut().find(|b| b.number == beam.number) {
            *place = beam;
        }
    }
    // The maps give the doses that were asked for: a normalisation would scale them away from there.
    plan.normalisation = None;
    plan
}

struct Found {
    fluences: Vec<f64>,
    offset_gy: Vec<f32>,
    objective: f64,
    evaluations: u64,
    moved_percent: f64,
    stopped: bool,
}

struct Run<'a> {
    inputs: &'a Inputs<'a>,
    fields: &'a [Field],
    rows: &'a Rows,
    grid: &'a Arc<Grid>,
    objectives: Vec<Objective>,
    neighbours: &'a [[usize; 2]],
}

impl Run<'_> {
    fn problem<'c>(&self, columns: &'c Columns, offset_gy: &[f32]) -> Problem<'c> {
        let reference_gy = self.inputs.reference_gy;
        let mut problem =
            Problem::new(columns, self.rows, &self.objectives, self.neighbours, SMOOTHNESS, reference_gy);
        problem.set_offset(offset_gy.to_vec());
        problem
    }

    /// Solves and looks at the true dose by turns until that moves no more and the points that are asked for are met, then solves to
    /// the end.
    fn settle(
        &mut self,
        columns: &Columns,
        control: &JobControl,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Found, OptimiseError> {
        let mut found = Found {
            fluences: self.start(columns),
            offset_gy: vec![0.0; columns.rows()],
            objective: f64::INFINITY,
            evaluations: 0,
            moved_percent: 100.0,
            stopped: false,
        };
        let mut ends = false;
        for pass in 0..=MOST_PASSES {
            ends = ends || pass == MOST_PASSES;
            let most = if ends { EVALUATIONS[2] } else { EVALUATIONS[pass.min(1)] };
            let gain = if ends { 1e-6 } else { 1e-3 };
            self.step(columns, &mut found, (most, gain), control, tell)?;
            if found.stopped || ends {
                break;
            }
            let moved = self.correct(columns, &mut found, control)?;
            tell(Progress::TrueDose { moved_percent: found.moved_percent });
            // Tails move with the doses that are true.
            let met = self.move_tails(&columns.doses(&found.fluences, &found.offset_gy));
            ends = moved < AT_REST && met;
        }
        Ok(found)
    }

    fn step(
        &self,
        columns: &Columns,
        found: &mut Found,
        (most, gain): (u64, f64),
        control: &JobControl,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), OptimiseError> {
        let problem = self.problem(columns, &found.offset_gy);
        let before = found.evaluations;
        let mut watch = |objective, evaluations| {
            tell(Progress::Iteration { objective, evaluations: before + evaluations });
            !control.is_cancelled()
        };
        let solved =
            solve(&problem, &found.fluences, most, gain, &mut watch).map_err(OptimiseError::Solver)?;
        found.evaluations += solved.evaluations;
        (found.fluences, found.objective) = (solved.fluences, solved.objective);
        found.stopped = solved.stop == Stop::Asked;
        Ok(())
    }

    /// Flat maps, or those of before, scaled to the reference dose as the mean of the targets.
    fn start(&self, columns: &Columns) -> Vec<f64> {
        let former = |number: u32| -> Option<(&FluenceMap, f64)> {
            let beam = self.inputs.plan.beams.iter().find(|beam| beam.number == number)?;
            Some((beam.fluence.as_ref()?, beam.mu / UNIT_MU))
        };
        let of = |(_, beamlets): &Field| match former(beamlets.beam.number) {
            Some((map, times)) => beamlets.carried(map).into_iter().map(|x| x * times).collect(),
            None => vec![1.0; beamlets.active.len()],
        };
        let start: Vec<f64> = self.fields.iter().flat_map(of).collect();
        let carried = self.fields.iter().any(|(_, beamlets)| former(beamlets.beam.number).is_some());
        let mean = self.mean_of_targets(&columns.doses(&start, &vec![0.0; columns.rows()]));
        if mean > 0.0 && !carried {
            return start.into_iter().map(|x| x * self.inputs.reference_gy / mean).collect();
        }
        start
    }

    /// Mean over the volume of all targets.
    fn mean_of_targets(&self, values: &[f32]) -> f64 {
        let targets = self.inputs.structures.iter().filter(|(_, _, target)| *target);
        let sets = targets.filter_map(|(name, ..)| self.rows.set(name));
        let (mut sum, mut volume) = (0.0, 0.0);
        for set in sets {
            for (row, cm3) in set.rows.iter().zip(&set.cm3) {
                sum += f64::from(values[*row as usize]) * f64::from(*cm3);
                volume += f64::from(*cm3);
            }
        }
        sum / f64::max(volume, f64::MIN_POSITIVE)
    }

    /// Takes the true dose of the maps less the columns' as the offset; how far it moved, part of the reference dose.
    fn correct(
        &self,
        columns: &Columns,
        found: &mut Found,
        control: &JobControl,
    ) -> Result<f64, OptimiseError> {
        let mut truth = vec![0.0_f32; columns.rows()];
        for ((machine, beamlets), own) in by_field(self.fields, &found.fluences) {
            let mut beam = beamlets.with(own);
            beam.mu = UNIT_MU;
            let request = request(self.inputs, machine, &beam, self.grid, Quality::Standard);
            let dose = beam_dose(&request, self.inputs.device, control)?.gy;
            let times = self.inputs.plan.fractions as f32;
            let voxels = self.rows.voxels.iter();
            truth.iter_mut().zip(voxels).for_each(|(sum, voxel)| *sum += times * dose.data()[*voxel]);
        }
        let computed = columns.doses(&found.fluences, &vec![0.0; columns.rows()]);
        let offset: Vec<f32> = truth.iter().zip(&computed).map(|(truth, dose)| truth - dose).collect();
        let moved: Vec<f32> =
            offset.iter().zip(&found.offset_gy).map(|(new, old)| (new - old).abs()).collect();
        let part = self.mean_of_targets(&moved) / self.inputs.reference_gy;
        found.offset_gy = offset;
        found.moved_percent = 100.0 * part;
        Ok(part)
    }

    /// Moves the dose of each tail towards where the point that is asked for lies on the DVH; whether all points are met.
    fn move_tails(&mut self, doses: &[f32]) -> bool {
        let near = HANDLE_MET * self.inputs.reference_gy;
        let mut met = true;
        for objective in &mut self.objectives {
            let (Some([percent, gy]), Some(set)) = (objective.asked, self.rows.set(&objective.structure))
            else {
                continue;
            };
            let at = dose_at(doses, &set.rows, &set.shares(), percent);
            let off = gy - at;
            // A point with room to spare is met; its tail is loosened all the same, in favour of what is not.
            met &= if matches!(objective.aim, Aim::TailMax { .. }) { off > -near } else { off < near };
            let limit = 2.0 * self.inputs.reference_gy;
            objective.gy = (objective.gy + HANDLE_STEP * off).clamp(0.0, limit);
        }
        met
    }
}

/// Dose that the hottest `percent` of a structure get at least.
fn dose_at(doses: &[f32], rows: &[u32], shares: &[f64], percent: f64) -> f64 {
    let mut order: Vec<(f32, f64)> =
        rows.iter().zip(shares).map(|(row, v)| (doses[*row as usize], *v)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = 0.01 * percent;
    for (gy, share) in &order {
        left -= share;
        if left <= 0.0 {
            return f64::from(*gy);
        }
    }
    order.last().map_or(0.0, |(gy, _)| f64::from(*gy))
}
