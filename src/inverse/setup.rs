//! Inputs of an optimisation, and the rows and fields that follow from them.

use super::OptimiseError;
use super::beamlets::Beamlets;
use super::hot_spots;
use super::levels::{self, Level};
use super::objective::{Aim, Objective};
use super::remarks::{Prescribed, prescribed};
use super::rows::{RowSet, Rows, Sampled, Sampling};
use super::wishes;
use analysis::{Dvh, MonteCarlo, UNIT_MU, value_at};
use case::{Beam, Plan};
use engine::cccs::{beam_dose, prepare_fluences};
use engine::dose::{DoseRequest, DoseTo, Quality, dose_grid};
use engine::{Compute, JobControl};
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use physics::{Machine, Patient};
use rayon::prelude::*;
use sequence::Technique;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Boundaries of the shells round the targets, mm: the fall-off at the inner side limits the dose of a shell. Chosen.
pub(super) const SHELLS_MM: [f64; 6] = [3.0, 10.0, 20.0, 35.0, 60.0, 1000.0];

/// Minimum spacing of the grid on which distances to the targets are computed, mm.
const DISTANCE_MM: f64 = 5.0;

/// Quality of the true dose that corrects the dose of the columns.
pub(super) const CORRECTION: Quality = Quality::Standard;

/// Maximum number of rows of a shell.
const SHELL_ROWS: usize = 3000;

/// A structure whose voxels are sampled.
#[derive(Clone, Debug)]
pub struct Region {
    pub name: String,
    pub mask: Arc<Mask>,
    /// Beamlets see the targets, and all voxels of a target are rows: the optimum would leave unsampled ones cold.
    pub is_target: bool,
    /// Maximum number of rows unless it is a target.
    pub most_rows: usize,
}

impl Region {
    /// Whether another region is sampled by the same rows.
    fn has_rows_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mask, &other.mask)
            && (&self.name, self.is_target, self.most_rows)
                == (&other.name, other.is_target, other.most_rows)
    }
}

/// Inputs of an optimisation.
pub struct Inputs<'a> {
    /// Plan whose computed beams get maps; its maps and monitor units are the start.
    pub plan: &'a Plan,
    pub patient: Arc<Patient>,
    /// The box of the dose grid, patient LPS, mm.
    pub corners_mm: [DVec3; 2],
    /// Body in which dose falls off round the targets.
    pub body: Option<Arc<Mask>>,
    /// Structures of objectives, and others whose dose is displayed.
    pub regions: Vec<Region>,
    /// Spacing of the dose grid whose voxels are sampled, mm: equal to the grid of evaluation, since penumbras differ on another one.
    pub grid_mm: f64,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    pub dose_to: DoseTo,
    /// Spacing (mm) and quality of the dose that the plan is finally judged by; `None`: the dose on the rows' grid.
    pub judged: Option<(f64, Quality)>,
    /// Engine with histories that corrects the maps and judges them once collapsed cone is at rest, with the settings of each of its
    /// runs; `None`: collapsed cone alone.
    pub histories: Option<MonteCarlo>,
    /// Technique that delivers the maps.
    pub technique: Option<Technique>,
    /// Fields that stand for arcs and whose maps are narrower than their targets.
    pub windows: Vec<FieldWindow>,
    pub device: Compute,
}

/// Fields whose maps keep within the leaf span of a carriage: the beam of an arc is always on, so that its carriage never moves.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldWindow {
    /// Numbers of the fields' beams.
    pub numbers: Range<u32>,
    /// Along the leaves' travel, mm at the isocentre plane.
    pub columns_mm: [f64; 2],
}

impl<'a> Inputs<'a> {
    /// Centres of the targets' voxels, patient LPS.
    pub(super) fn target_mm(&self) -> Arc<[DVec3]> {
        targets(&self.regions)
            .flat_map(|region| centres(&region.mask))
            .collect()
    }

    /// Inputs for another plan, otherwise equal.
    pub(super) fn with_plan(&self, plan: &'a Plan, windows: &[FieldWindow]) -> Self {
        Inputs {
            plan,
            windows: windows.to_vec(),
            patient: Arc::clone(&self.patient),
            body: self.body.clone(),
            regions: self.regions.clone(),
            device: self.device.clone(),
            ..*self
        }
    }
}

/// A machine with the beamlets of a beam on it.
pub(super) type Field = (Arc<Machine>, Beamlets);

/// A true dose, Gy of all fractions.
pub(super) struct Truth {
    pub rows: Vec<f32>,
    pub gy: Volume<f32>,
}

/// Grid and quality of a true dose.
#[derive(Clone, Copy)]
pub(super) struct DoseTarget<'a> {
    pub grid: &'a Arc<Grid>,
    pub quality: Quality,
}

/// Rows and fields of a plan, and the doses of its fields.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub plan: Plan,
    pub patient: Arc<Patient>,
    pub grid: Arc<Grid>,
    pub rows: Arc<Rows>,
    /// All voxels of structures and shells that the rows sample in part, by name.
    pub wholes: Arc<BTreeMap<String, Arc<[usize]>>>,
    /// Structures that the rows sample.
    regions: Vec<Region>,
    body: Option<Arc<Mask>>,
    /// Centres of the targets' voxels, patient LPS.
    target_mm: Arc<[DVec3]>,
    pub fields: Vec<Field>,
    pub dose_to: DoseTo,
    /// Grid and quality of the dose that the plan is judged by, if they differ from the corrections.
    pub judged: Option<(Arc<Grid>, Quality)>,
    /// Engine with histories that corrects the maps at rest, and the settings of each run.
    pub histories: Option<MonteCarlo>,
    pub device: Compute,
    /// Fluence of each field behind its closed leaves.
    pub leaked: Vec<f64>,
    /// Levels of the targets, whose far parts are row sets.
    pub levels: Vec<Level>,
    /// Whether hot spots have become rows.
    pub has_hot_spots: bool,
    /// Greatest dose outside the targets of uniform fluence that gives the targets the reference dose on average, Gy; 0 before the first
    /// search for hot spots.
    pub unavoidable_gy: f64,
}

impl Setup {
    /// Takes the rows of the `previous` setup if structures and grid are the same.
    ///
    /// # Errors
    /// [`OptimiseError`] but for columns.
    pub fn new(inputs: &Inputs<'_>, previous: Option<&Self>) -> Result<Self, OptimiseError> {
        let image = inputs.patient.mass_density_g_cm3.grid();
        let grid = Arc::new(dose_grid(image, inputs.corners_mm, inputs.grid_mm)?);
        let judged = match inputs.judged {
            // Each correction computes this dose.
            Some((mm, CORRECTION)) if mm == inputs.grid_mm => None,
            Some((mm, quality)) if mm == inputs.grid_mm => Some((Arc::clone(&grid), quality)),
            Some((mm, quality)) => {
                Some((Arc::new(dose_grid(image, inputs.corners_mm, mm)?), quality))
            }
            None => None,
        };
        let same_rows = previous.filter(|previous| previous.has_rows_of(inputs, &grid));
        let (rows, wholes, target_mm) = match same_rows {
            Some(same) => (
                Arc::clone(&same.rows),
                Arc::clone(&same.wholes),
                Arc::clone(&same.target_mm),
            ),
            None => {
                let target_mm = inputs.target_mm();
                if target_mm.is_empty() {
                    return Err(OptimiseError::NoTarget);
                }
                let coarse = dose_grid(image, inputs.corners_mm, inputs.grid_mm.max(DISTANCE_MM))?;
                let Sampling { rows, wholes } = sampling(inputs, &grid, &coarse, &target_mm)?;
                (Arc::new(rows), Arc::new(wholes), target_mm)
            }
        };
        let fields = fields(inputs, &target_mm)?;
        Ok(Self {
            plan: inputs.plan.clone(),
            patient: Arc::clone(&inputs.patient),
            leaked: vec![0.0; fields.len()],
            fields,
            rows,
            wholes,
            grid,
            regions: inputs.regions.clone(),
            body: inputs.body.clone(),
            target_mm,
            dose_to: inputs.dose_to,
            judged,
            histories: inputs.histories,
            device: inputs.device.clone(),
            levels: same_rows.map_or_else(Vec::new, |same| same.levels.clone()),
            has_hot_spots: same_rows.is_some_and(|same| same.has_hot_spots),
            unavoidable_gy: same_rows.map_or(0.0, |same| same.unavoidable_gy),
        })
    }

    fn has_rows_of(&self, inputs: &Inputs<'_>, grid: &Grid) -> bool {
        *self.grid == *grid
            && self.body.as_ref().map(Arc::as_ptr) == inputs.body.as_ref().map(Arc::as_ptr)
            && self.regions.len() == inputs.regions.len()
            && self
                .regions
                .iter()
                .zip(&inputs.regions)
                .all(|(region, other)| region.has_rows_of(other))
    }

    /// Takes the levels of the targets from the objectives of goals.
    pub fn set_levels(&mut self, objectives: &[Objective]) {
        let levels: Vec<Level> = { self.targets() }
            .filter_map(|target| levels::level_of(&target.name, objectives))
            .collect();
        if levels != self.levels {
            let mut rows = Rows::clone(&self.rows);
            let previous = self
                .levels
                .iter()
                .map(|level| levels::far_part_of(&level.target));
            let previous: Vec<String> = previous.collect();
            rows.sets.retain(|set| !previous.contains(&set.name));
            let far_parts = levels::far_parts(&rows, &levels);
            rows.sets.extend(far_parts);
            (self.rows, self.levels) = (Arc::new(rows), levels);
        }
    }

    pub fn targets(&self) -> impl Iterator<Item = &Region> {
        targets(&self.regions)
    }

    /// Dose that hot spots outside the targets are held to, Gy.
    pub fn held_outside_gy(&self, reference_gy: f64) -> f64 {
        reference_gy.max(self.unavoidable_gy)
    }

    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Targets with a part outside the path of all beamlets, and this part in percent.
    pub fn without_beamlets(&self) -> Vec<(&str, f64)> {
        let parts = self
            .targets()
            .map(|target| (&*target.name, self.unseen_percent(target)));
        parts.filter(|(_, percent)| *percent > 0.0).collect()
    }

    fn unseen_percent(&self, target: &Region) -> f64 {
        let points_mm = centres(&target.mask);
        let mut is_seen = vec![false; points_mm.len()];
        for (machine, beamlets) in &self.fields {
            let by_field = beamlets.see(machine, self.plan.position, &points_mm);
            is_seen
                .iter_mut()
                .zip(by_field)
                .for_each(|(is_seen, by_field)| *is_seen |= by_field);
        }
        let missed = is_seen.iter().filter(|seen| !**seen).count();
        100.0 * missed as f64 / points_mm.len().max(1) as f64
    }

    pub fn beamlets(&self) -> usize {
        self.fields
            .iter()
            .map(|(_, beamlets)| beamlets.active.len())
            .sum()
    }

    /// The request for the dose of a beam on the rows' grid.
    pub fn request(&self, machine: &Arc<Machine>, beam: &Beam, quality: Quality) -> DoseRequest {
        DoseRequest {
            patient: Arc::clone(&self.patient),
            machine: Arc::clone(machine),
            beam: beam.clone(),
            grid: Arc::clone(&self.grid),
            quality,
            dose_to: self.dose_to,
        }
    }

    /// Grid and quality of the true doses that correct the columns.
    pub fn correction(&self) -> DoseTarget<'_> {
        DoseTarget {
            grid: &self.grid,
            quality: CORRECTION,
        }
    }

    /// Beams with the maps of fluences, each with its machine.
    pub fn beams_of<'a>(
        &'a self,
        fluences: &'a [f64],
    ) -> impl Iterator<Item = (Arc<Machine>, Beam)> + 'a {
        let fields = self.by_field(fluences).zip(&self.leaked);
        fields.map(|(((machine, beamlets), field_fluences), leaked)| {
            let beam = Beam {
                mu: UNIT_MU,
                ..beamlets.with(field_fluences, *leaked)
            };
            (Arc::clone(machine), beam)
        })
    }

    /// The true dose of fluences.
    pub fn true_dose(
        &self,
        fluences: &[f64],
        target: DoseTarget<'_>,
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let beams = self.beams_of(fluences).map(Ok);
        self.dose_of(beams, target, control)
    }

    /// The true dose of the computed beams of a plan.
    pub fn dose_of_plan(
        &self,
        plan: &Plan,
        target: DoseTarget<'_>,
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let beams = plan.beams.iter().filter(|beam| analysis::is_computed(beam));
        let beams = beams.map(|beam| Ok((Machine::resolve(plan.machine_of(beam))?, beam.clone())));
        self.dose_of(beams, target, control)
    }

    fn dose_of(
        &self,
        beams: impl Iterator<Item = Result<(Arc<Machine>, Beam), OptimiseError>>,
        DoseTarget { grid, quality }: DoseTarget<'_>,
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let mut sum = vec![0.0_f32; grid.len()];
        let times = self.plan.fractions as f32;
        let mut requests = Vec::new();
        for beam in beams {
            let (machine, beam) = beam?;
            requests.push(DoseRequest {
                grid: Arc::clone(grid),
                ..self.request(&machine, &beam, quality)
            });
        }
        prepare_fluences(&requests, control);
        for request in &requests {
            let dose = beam_dose(request, &self.device, control)?.gy;
            sum.par_iter_mut()
                .zip(dose.data())
                .for_each(|(sum, gy)| *sum += times * gy);
        }
        let gy = Volume::new(Arc::clone(grid), sum);
        Ok(Truth {
            rows: self.on_rows(&gy),
            gy,
        })
    }

    /// A dose at the rows, Gy.
    pub fn on_rows(&self, gy: &Volume<f32>) -> Vec<f32> {
        self.at_voxels(gy, self.rows.voxels.par_iter().copied())
    }

    /// A dose at voxels of the rows' grid, Gy; 0 where it has none.
    pub(super) fn at_voxels(
        &self,
        gy: &Volume<f32>,
        voxels: impl IndexedParallelIterator<Item = usize>,
    ) -> Vec<f32> {
        if Arc::ptr_eq(gy.grid(), &self.grid) {
            return voxels.map(|voxel| gy.data()[voxel]).collect();
        }
        let centres_mm = voxels.map(|voxel| self.grid.centre_of_mm(voxel));
        centres_mm
            .map(|centre_mm| value_at(gy, centre_mm).unwrap_or_default() as f32)
            .collect()
    }

    /// DVH of a structure in a true dose, as in the evaluation of the plan; `None` if the dose grid does not contain it.
    pub fn dvh(&self, structure: &str, truth: &Truth, control: &JobControl) -> Option<Dvh> {
        let region = self
            .regions
            .iter()
            .find(|region| region.name == structure)?;
        Dvh::new(&region.mask, &truth.gy, &control.child()).ok()
    }

    /// Whether a field has the same columns as a field of another setup.
    pub fn shares_columns(&self, field: &Field, other: &Self, other_field: &Field) -> bool {
        let ((machine, beamlets), (other_machine, other_beamlets)) = (field, other_field);
        Arc::ptr_eq(&self.patient, &other.patient)
            && self.dose_to == other.dose_to
            && self.plan.fractions == other.plan.fractions
            && self.plan.position == other.plan.position
            && *self.grid == *other.grid
            && self.rows.voxels == other.rows.voxels
            && beamlets.active == other_beamlets.active
            && unnumbered(&beamlets.beam) == unnumbered(&other_beamlets.beam)
            && **machine == **other_machine
    }

    /// Beam number, u and v sides (mm) and gantry angle of each column.
    pub fn places(&self) -> Vec<[f64; 6]> {
        let mut places = Vec::with_capacity(self.beamlets());
        for (_, beamlets) in &self.fields {
            let Some(map) = &beamlets.beam.fluence else {
                continue;
            };
            let gantry_deg = beamlets.beam.start().map_or(0.0, |point| point.gantry_deg);
            let number = f64::from(beamlets.beam.number);
            for cell in &beamlets.active {
                let [[u0, u1], [v0, v1]] = map.sides_mm(*cell);
                places.push([number, u0, u1, v0, v1, gantry_deg]);
            }
        }
        places
    }

    /// Each field with the fluences of its active beamlets.
    pub fn by_field<'a>(
        &'a self,
        fluences: &'a [f64],
    ) -> impl Iterator<Item = (&'a Field, &'a [f64])> {
        let mut remaining = fluences;
        self.fields.iter().map(move |field| {
            let (field_fluences, after) = remaining.split_at(field.1.active.len());
            remaining = after;
            (field, field_fluences)
        })
    }

    /// Mean over the volume of all targets.
    pub fn mean_of_targets(&self, values: &[f32]) -> f64 {
        let (mut sum, mut volume) = (0.0, 0.0);
        for set in self
            .targets()
            .filter_map(|region| self.rows.set(&region.name))
        {
            for (row, cm3) in set.rows.iter().zip(&set.cm3) {
                sum += f64::from(values[*row as usize]) * f64::from(*cm3);
                volume += f64::from(*cm3);
            }
        }
        sum / f64::max(volume, f64::MIN_POSITIVE)
    }
}

/// Adds the objectives of every plan: a dose for each target without a minimum dose, the fall-off round all targets, and last the hot spots
/// that are rows.
pub(super) fn completed(
    mut objectives: Vec<Objective>,
    setup: &Setup,
    reference_gy: f64,
) -> Vec<Objective> {
    let requested = objectives.clone();
    for Region { name, .. } in setup.targets() {
        objectives.extend(match prescribed(name, &requested, reference_gy) {
            Prescribed::Nothing => None,
            Prescribed::Uniform(gy) => Some(plan_objective(name, Aim::Deviation, gy, 1.0)),
            Prescribed::Least(gy) => Some(plan_objective(name, Aim::Under, gy, 1.0)),
        });
    }
    let fall_off = setup.plan.objectives.fall_off;
    if fall_off.weight > 0.0 {
        let far_parts = setup.levels.iter().map(levels::objective);
        objectives.extend(far_parts.filter(|o| setup.rows.set(&o.structure).is_some()));
        objectives.extend(body_wish(setup, reference_gy));
    }
    for shell in SHELLS_MM.windows(2) {
        let name = shell_name(shell);
        if setup.rows.set(&name).is_some() {
            let gy = fall_off.part_at(shell[0]) * reference_gy;
            objectives.push(plan_objective(&name, Aim::Over, gy, fall_off.weight));
        }
    }
    objectives.extend(hot_spots::objectives(
        &requested,
        &setup.rows,
        setup.held_outside_gy(reference_gy),
    ));
    objectives
}

/// Name of the rows of all shells together.
const OUTSIDE_TARGETS: &str = "body outside the targets";

/// The wish of a low mean dose outside the targets.
fn body_wish(setup: &Setup, reference_gy: f64) -> Option<Objective> {
    /// Mean dose at which the wish has its whole weight, fraction of the reference dose.
    const RANGE: f64 = 0.2;
    let weight = wishes::weight_of_priority(3);
    setup.rows.set(OUTSIDE_TARGETS)?;
    Some(Objective {
        wish_range_gy: Some(RANGE * reference_gy),
        ..plan_objective(OUTSIDE_TARGETS, Aim::MeanOver, 0.0, weight)
    })
}

/// An objective that no goal has.
fn plan_objective(structure: &str, aim: Aim, gy: f64, weight: f64) -> Objective {
    Objective {
        structure: structure.to_owned(),
        aim,
        gy,
        weight,
        asked: None,
        wish_range_gy: None,
        raised: 1.0,
    }
}

/// Whether an objective is part of the fall-off, round the targets or from one level to another.
pub(super) fn is_of_fall_off(objective: &Objective, levels: &[Level]) -> bool {
    objective.structure == OUTSIDE_TARGETS
        || shell_names().any(|shell| objective.structure == shell)
        || levels
            .iter()
            .any(|level| objective.structure == levels::far_part_of(&level.target))
}

/// Names of the shells round the targets, from the inside.
pub(super) fn shell_names() -> impl Iterator<Item = String> {
    SHELLS_MM.windows(2).map(shell_name)
}

pub(super) fn shell_name(shell: &[f64]) -> String {
    format!("{:.0} to {:.0} mm round the targets", shell[0], shell[1])
}

/// Rows of the regions, and of shells round the targets, whose objectives limit the dose outside.
fn sampling(
    inputs: &Inputs<'_>,
    grid: &Arc<Grid>,
    coarse: &Grid,
    target_mm: &[DVec3],
) -> Result<Sampling, OptimiseError> {
    let mut sampled: Vec<Sampled> = Vec::new();
    for Region {
        name,
        mask,
        is_target,
        most_rows,
    } in inputs.regions.clone()
    {
        let max_voxels = if is_target { usize::MAX } else { most_rows };
        sampled.push(Sampled {
            name,
            mask,
            max_voxels,
            beyond_target_mm: None,
        });
    }
    let mut distance_mm = Vec::new();
    if let Some(body) = &inputs.body {
        distance_mm = distances(coarse, target_mm);
        for shell in SHELLS_MM.windows(2) {
            let beyond_target_mm = Some([shell[0], shell[1]]);
            let (name, mask) = (shell_name(shell), Arc::clone(body));
            sampled.push(Sampled {
                name,
                mask,
                max_voxels: SHELL_ROWS,
                beyond_target_mm,
            });
        }
    }
    let mut sampling = Rows::sample(grid, &sampled, &|voxel| {
        let coarse_voxel = coarse.voxel_at(grid.centre_of_mm(voxel));
        coarse_voxel.map_or(f32::INFINITY, |[i, j, k]| {
            distance_mm[coarse.index(i, j, k)]
        })
    })?;
    let outside = all_shells(&sampling.rows);
    sampling.rows.sets.extend(outside);
    Ok(sampling)
}

/// Rows of all shells, which share no voxel; `None` without any.
fn all_shells(rows: &Rows) -> Option<RowSet> {
    let shells = shell_names().filter_map(|name| rows.set(&name));
    let mut volumes: Vec<(u32, f32)> = shells
        .flat_map(|set| set.rows.iter().copied().zip(set.cm3.iter().copied()))
        .collect();
    volumes.sort_unstable_by_key(|(row, _)| *row);
    RowSet::of_volumes(OUTSIDE_TARGETS.to_owned(), volumes)
}

/// A beam without its number and monitor units, on which columns do not depend.
fn unnumbered(beam: &Beam) -> Beam {
    Beam {
        number: 0,
        mu: 0.0,
        ..beam.delivered()
    }
}

fn targets(regions: &[Region]) -> impl Iterator<Item = &Region> {
    regions.iter().filter(|region| region.is_target)
}

/// Centres of the voxels that a mask covers at least by half, and of less covered voxels without such a neighbour: a target that is smaller
/// or thinner than a voxel has no others.
fn centres(mask: &Mask) -> Vec<DVec3> {
    const HALF: f32 = 0.5;
    let grid = mask.grid();
    let voxels = mask.iter().filter(|(voxel, coverage)| {
        *coverage >= HALF
            || !neighbourhood(grid, *voxel).any(|[i, j, k]| mask.coverage_at(i, j, k) >= HALF)
    });
    voxels.map(|(voxel, _)| grid.centre_of_mm(voxel)).collect()
}

/// A voxel of a grid and those that touch it.
fn neighbourhood(grid: &Grid, voxel: usize) -> impl Iterator<Item = [usize; 3]> {
    let (index, size) = (grid.voxel_of(voxel), grid.size());
    let [x, y, z] =
        [0, 1, 2].map(|axis| index[axis].saturating_sub(1)..(index[axis] + 2).min(size[axis]));
    z.flat_map(move |k| {
        let x = x.clone();
        y.clone()
            .flat_map(move |j| x.clone().map(move |i| [i, j, k]))
    })
}

fn fields(inputs: &Inputs<'_>, target_mm: &[DVec3]) -> Result<Vec<Field>, OptimiseError> {
    let plan = inputs.plan;
    let beams: Vec<&Beam> = plan
        .beams
        .iter()
        .filter(|beam| analysis::is_computed(beam))
        .collect();
    let fields: Vec<Field> = beams
        .into_par_iter()
        .map(|beam| {
            let machine = Machine::resolve(plan.machine_of(beam))?;
            let window = inputs
                .windows
                .iter()
                .find(|window| window.numbers.contains(&beam.number));
            let within_mm = window.map(|window| window.columns_mm);
            let (position, step_mm) = (plan.position, inputs.beamlet_mm);
            let beamlets = Beamlets::new(beam, &machine, position, target_mm, step_mm, within_mm)?;
            Ok((machine, beamlets))
        })
        .collect::<Result<_, OptimiseError>>()?;
    if fields.is_empty() {
        Err(OptimiseError::NoBeams(plan.name.clone()))
    } else {
        Ok(fields)
    }
}

/// Distance of each voxel's centre to the nearest point, mm; 0 if the voxel contains a point.
fn distances(grid: &Grid, points_mm: &[DVec3]) -> Vec<f32> {
    // The distance is resolved by voxels: of several points in a voxel one suffices.
    let mut holds = vec![false; grid.len()];
    let voxels = points_mm.iter().filter_map(|mm| grid.voxel_at(*mm));
    voxels.for_each(|[i, j, k]| holds[grid.index(i, j, k)] = true);
    // The nearest point of a voxel outside lies on the surface.
    let surface = (0..grid.len()).filter(|voxel| holds[*voxel] && !is_inside(grid, &holds, *voxel));
    let surface_mm: Vec<DVec3> = surface.map(|voxel| grid.centre_of_mm(voxel)).collect();
    let distances = (0..grid.len()).into_par_iter().map(|voxel| {
        if holds[voxel] {
            return 0.0;
        }
        let centre = grid.centre_of_mm(voxel);
        let squared = surface_mm.iter().map(|mm| mm.distance_squared(centre));
        squared.fold(f64::INFINITY, f64::min).sqrt() as f32
    });
    distances.collect()
}

/// Whether all six face neighbours of a voxel are in the grid and hold a point.
fn is_inside(grid: &Grid, holds: &[bool], voxel: usize) -> bool {
    let (index, size) = (grid.voxel_of(voxel), grid.size());
    (0..3).all(|axis| {
        if index[axis] == 0 || index[axis] + 1 >= size[axis] {
            return false;
        }
        [index[axis] - 1, index[axis] + 1].into_iter().all(|n| {
            let mut neighbour = index;
            neighbour[axis] = n;
            holds[grid.index(neighbour[0], neighbour[1], neighbour[2])]
        })
    })
}
