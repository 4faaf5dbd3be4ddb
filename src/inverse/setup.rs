//! Inputs of an optimisation, and the rows and fields that follow from them.

use super::OptimiseError;
use super::beamlets::Beamlets;
use super::hot_spots;
use super::objective::{Aim, Objective};
use super::remarks::{Prescribed, prescribed};
use super::rows::{Rows, Sampled, Sampling};
use analysis::{Dvh, UNIT_MU, value_at};
use case::{Beam, FallOff, Plan};
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

/// Shells round the targets, mm: the dose of each falls off by that of its inner side. Chosen.
pub(super) const SHELLS_MM: [f64; 6] = [3.0, 10.0, 20.0, 35.0, 60.0, 1000.0];

/// Spacing of the grid on which distances to the targets are computed, mm at least.
const DISTANCE_MM: f64 = 5.0;

/// Quality of the true dose that corrects the columns'.
pub(super) const CORRECTION: Quality = Quality::Standard;

/// Voxels of a shell that become rows at most.
const SHELL_ROWS: usize = 3000;

/// A structure whose voxels are sampled.
#[derive(Clone, Debug)]
pub struct Region {
    pub name: String,
    pub mask: Arc<Mask>,
    /// Beamlets are those that see a target, and all its voxels are rows: the optimum would leave others cold.
    pub is_target: bool,
    /// Voxels that become rows at most, where it is no target.
    pub most_rows: usize,
}

/// Inputs of an optimisation.
pub struct Inputs<'a> {
    /// Plan whose computed beams get maps; monitor units and maps of before are where it starts.
    pub plan: &'a Plan,
    pub patient: Arc<Patient>,
    /// The box of the dose grid, patient LPS, mm.
    pub corners_mm: [DVec3; 2],
    /// The body in which dose falls off round the targets, whatever counts for the dose.
    pub body: Option<Arc<Mask>>,
    /// Structures that objectives name, and those whose dose is followed.
    pub regions: Vec<Region>,
    /// Spacing of the dose grid whose voxels are sampled, mm: that on which the plan is judged, else penumbras differ from those of
    /// the true dose.
    pub grid_mm: f64,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    pub dose_to: DoseTo,
    /// Spacing (mm) and quality of the dose that the plan is judged by in the end; `None`: that of the rows' grid.
    pub judged: Option<(f64, Quality)>,
    /// Leaves that will deliver the maps, which are smoother for it.
    pub technique: Option<Technique>,
    /// Fields that stand for arcs and whose maps are narrower than their targets.
    pub windows: Vec<FieldWindow>,
    pub device: Compute,
}

/// Fields whose maps keep within what one place of a carriage holds: an arc's beam is on all the way, so that its carriage never moves.
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
        targets(&self.regions).flat_map(|region| centres(&region.mask)).collect()
    }

    /// The same for another plan.
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

/// Rows and fields of a plan, and the doses of its fields.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub plan: Plan,
    pub patient: Arc<Patient>,
    pub grid: Arc<Grid>,
    pub rows: Arc<Rows>,
    /// All voxels of structures and shells that the rows sample in part, by name.
    pub wholes: Arc<BTreeMap<String, Arc<[usize]>>>,
    /// Structures that the rows were sampled of.
    regions: Vec<Region>,
    body: Option<Arc<Mask>>,
    /// Centres of the targets' voxels, patient LPS.
    target_mm: Arc<[DVec3]>,
    pub fields: Vec<Field>,
    pub dose_to: DoseTo,
    /// The grid and quality of the dose that the plan is judged by, where they are not the rows'.
    pub judged: Option<(Arc<Grid>, Quality)>,
    pub technique: Option<Technique>,
    pub device: Compute,
    /// Greatest dose outside the targets that even fluence leaves there, with the reference dose on average in the targets, Gy; 0 before
    /// hot spots are looked for.
    pub unavoidable_gy: f64,
}

impl Setup {
    /// Rows are those of `before` where structures and grid are the same.
    ///
    /// # Errors
    /// [`OptimiseError`] but for columns.
    pub fn new(inputs: &Inputs<'_>, before: Option<&Self>) -> Result<Self, OptimiseError> {
        let image = inputs.patient.mass_density_g_cm3.grid();
        let grid = Arc::new(dose_grid(image, inputs.corners_mm, inputs.grid_mm)?);
        let judged = match inputs.judged {
            // Corrections look at that dose all the time.
            Some((mm, CORRECTION)) if mm == inputs.grid_mm => None,
            Some((mm, quality)) if mm == inputs.grid_mm => Some((Arc::clone(&grid), quality)),
            Some((mm, quality)) => Some((Arc::new(dose_grid(image, inputs.corners_mm, mm)?), quality)),
            None => None,
        };
        let known = before.filter(|before| before.has_rows_of(inputs, &grid));
        let (rows, wholes, target_mm) = match known {
            Some(known) => (Arc::clone(&known.rows), Arc::clone(&known.wholes), Arc::clone(&known.target_mm)),
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
        Ok(Self {
            plan: inputs.plan.clone(),
            patient: Arc::clone(&inputs.patient),
            fields: fields(inputs, &target_mm)?,
            rows,
            wholes,
            grid,
            regions: inputs.regions.clone(),
            body: inputs.body.clone(),
            target_mm,
            dose_to: inputs.dose_to,
            judged,
            technique: inputs.technique,
            device: inputs.device.clone(),
            unavoidable_gy: known.map_or(0.0, |known| known.unavoidable_gy),
        })
    }

    fn has_rows_of(&self, inputs: &Inputs<'_>, grid: &Grid) -> bool {
        let is_same = |(own, other): (&Region, &Region)| {
            Arc::ptr_eq(&own.mask, &other.mask)
                && (&own.name, own.is_target, own.most_rows)
                    == (&other.name, other.is_target, other.most_rows)
        };
        *self.grid == *grid
            && self.body.as_ref().map(Arc::as_ptr) == inputs.body.as_ref().map(Arc::as_ptr)
            && self.regions.len() == inputs.regions.len()
            && self.regions.iter().zip(&inputs.regions).all(is_same)
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

    /// Targets of which some part lies in the path of no beamlet, each with how much, percent.
    pub fn without_beamlets(&self) -> Vec<(&str, f64)> {
        let unseen = |target: &Region| {
            let points_mm = centres(&target.mask);
            let mut is_seen = vec![false; points_mm.len()];
            for (machine, beamlets) in &self.fields {
                let by_field = beamlets.see(machine, self.plan.position, &points_mm);
                is_seen.iter_mut().zip(by_field).for_each(|(any, own)| *any |= own);
            }
            let missed = is_seen.iter().filter(|seen| !**seen).count();
            100.0 * missed as f64 / points_mm.len().max(1) as f64
        };
        let parts = self.targets().map(|target| (&*target.name, unseen(target)));
        parts.filter(|(_, percent)| *percent > 0.0).collect()
    }

    pub fn beamlets(&self) -> usize {
        self.fields.iter().map(|(_, beamlets)| beamlets.active.len()).sum()
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

    /// The true dose of fluences, computed on a grid.
    pub fn true_dose(
        &self,
        fluences: &[f64],
        of: (&Arc<Grid>, Quality),
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let beam = |((machine, beamlets), own): (&Field, &[f64])| {
            Ok((Arc::clone(machine), Beam { mu: UNIT_MU, ..beamlets.with(own) }))
        };
        self.dose_of(self.by_field(fluences).map(beam), of, control)
    }

    /// The true dose of the beams of a plan that are computed.
    pub fn dose_of_plan(
        &self,
        plan: &Plan,
        of: (&Arc<Grid>, Quality),
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let beams = plan.beams.iter().filter(|beam| analysis::is_computed(beam));
        let beams = beams.map(|beam| Ok((Machine::resolve(plan.machine_of(beam))?, beam.clone())));
        self.dose_of(beams, of, control)
    }

    fn dose_of(
        &self,
        beams: impl Iterator<Item = Result<(Arc<Machine>, Beam), OptimiseError>>,
        (grid, quality): (&Arc<Grid>, Quality),
        control: &JobControl,
    ) -> Result<Truth, OptimiseError> {
        let mut sum = vec![0.0_f32; grid.len()];
        let times = self.plan.fractions as f32;
        let request = |beam: Result<(Arc<Machine>, Beam), OptimiseError>| {
            let (machine, beam) = beam?;
            Ok(DoseRequest { grid: Arc::clone(grid), ..self.request(&machine, &beam, quality) })
        };
        let requests = beams.map(request).collect::<Result<Vec<_>, OptimiseError>>()?;
        prepare_fluences(&requests, control);
        for request in &requests {
            let dose = beam_dose(request, &self.device, control)?.gy;
            sum.par_iter_mut().zip(dose.data()).for_each(|(sum, gy)| *sum += times * gy);
        }
        let gy = Volume::new(Arc::clone(grid), sum);
        Ok(Truth { rows: self.on_rows(&gy), gy })
    }

    /// A dose at the rows, Gy.
    pub fn on_rows(&self, gy: &Volume<f32>) -> Vec<f32> {
        let at = |voxel: &usize| match Arc::ptr_eq(gy.grid(), &self.grid) {
            true => gy.data()[*voxel],
            false => value_at(gy, self.grid.centre_of_mm(*voxel)).unwrap_or_default() as f32,
        };
        self.rows.voxels.par_iter().map(at).collect()
    }

    /// The DVH of a structure in a true dose, as the plan is judged by it; `None` where the dose has none of it.
    pub fn dvh(&self, structure: &str, truth: &Truth, control: &JobControl) -> Option<Dvh> {
        let region = self.regions.iter().find(|region| region.name == structure)?;
        Dvh::new(&region.mask, &truth.gy, &control.child()).ok()
    }

    /// Whether the columns of a field are those of a field of another setup.
    pub fn shares_columns(&self, (machine, own): &Field, other: &Self, (on, before): &Field) -> bool {
        let unnumbered = |beam: &Beam| Beam { number: 0, mu: 0.0, ..beam.delivered() };
        Arc::ptr_eq(&self.patient, &other.patient)
            && self.dose_to == other.dose_to
            && self.plan.fractions == other.plan.fractions
            && self.plan.position == other.plan.position
            && *self.grid == *other.grid
            && self.rows.voxels == other.rows.voxels
            && own.active == before.active
            && unnumbered(&own.beam) == unnumbered(&before.beam)
            && **machine == **on
    }

    /// Neighbours in the order of the columns.
    pub fn neighbours(&self) -> Vec<[usize; 2]> {
        let mut first = 0;
        let mut all = Vec::new();
        for (_, beamlets) in &self.fields {
            all.extend(beamlets.neighbours().into_iter().map(|pair| pair.map(|n| n + first)));
            first += beamlets.active.len();
        }
        all
    }

    /// Beam number, u and v sides (mm) and gantry angle of each column.
    pub fn places(&self) -> Vec<[f64; 6]> {
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
        self.fields.iter().flat_map(of).collect()
    }

    /// Each field with the fluences of its active beamlets.
    pub fn by_field<'a>(&'a self, fluences: &'a [f64]) -> impl Iterator<Item = (&'a Field, &'a [f64])> {
        let mut rest = fluences;
        self.fields.iter().map(move |field| {
            let (own, after) = rest.split_at(field.1.active.len());
            rest = after;
            (field, own)
        })
    }

    /// Mean over the volume of all targets.
    pub fn mean_of_targets(&self, values: &[f32]) -> f64 {
        let (mut sum, mut volume) = (0.0, 0.0);
        for set in self.targets().filter_map(|region| self.rows.set(&region.name)) {
            for (row, cm3) in set.rows.iter().zip(&set.cm3) {
                sum += f64::from(values[*row as usize]) * f64::from(*cm3);
                volume += f64::from(*cm3);
            }
        }
        sum / f64::max(volume, f64::MIN_POSITIVE)
    }
}

/// Objectives with those that every plan has: the reference dose in targets of which none asks a least dose, the fall-off round all
/// targets, and last the hot spots that the rows have been given.
pub(super) fn completed(mut objectives: Vec<Objective>, setup: &Setup, reference_gy: f64) -> Vec<Objective> {
    let of = |structure: &str, aim, gy, weight| Objective {
        structure: structure.to_owned(),
        aim,
        gy,
        weight,
        asked: None,
    };
    let asked = objectives.clone();
    for Region { name, .. } in setup.targets() {
        objectives.extend(match prescribed(name, &asked, reference_gy) {
            Prescribed::Nothing => None,
            Prescribed::Uniform(gy) => Some(of(name, Aim::Deviation, gy, 1.0)),
            Prescribed::Least(gy) => Some(of(name, Aim::Under, gy, 1.0)),
        });
    }
    let fall_off = setup.plan.objectives.fall_off;
    for shell in SHELLS_MM.windows(2) {
        let name = shell_name(shell);
        if setup.rows.set(&name).is_some() {
            let gy = fall_off.part_at(shell[0]) * reference_gy;
            objectives.push(of(&name, Aim::Over, gy, fall_off.weight));
        }
    }
    objectives.extend(hot_spots::objectives(&asked, &setup.rows, setup.held_outside_gy(reference_gy)));
    objectives
}

/// Part of the usual fall-off that stays where goals leave no room for each other: nobody asked for it.
const FALL_OFF_STAYS: f64 = 0.1;

/// Weighs the fall-off of a plan; the usual one gives way to goals that are contested.
pub(super) fn weigh_fall_off(objectives: &mut [Objective], plan: &Plan, is_contested: bool) {
    let own = plan.objectives.fall_off;
    let part = if is_contested && own == FallOff::default() { FALL_OFF_STAYS } else { 1.0 };
    objectives.iter_mut().filter(|o| is_of_fall_off(o)).for_each(|o| o.weight = part * own.weight);
}

/// Whether an objective is part of the fall-off.
pub(super) fn is_of_fall_off(objective: &Objective) -> bool {
    shell_names().any(|shell| objective.structure == shell)
}

/// Names of the shells round the targets, from the inside.
pub(super) fn shell_names() -> impl Iterator<Item = String> {
    SHELLS_MM.windows(2).map(shell_name)
}

pub(super) fn shell_name(shell: &[f64]) -> String {
    format!("{:.0} to {:.0} mm round the targets", shell[0], shell[1])
}

/// The regions' rows and those of shells round the targets, which keep the dose outside low.
fn sampling(
    inputs: &Inputs<'_>,
    grid: &Arc<Grid>,
    coarse: &Grid,
    target_mm: &[DVec3],
) -> Result<Sampling, OptimiseError> {
    let mut sampled: Vec<Sampled> = Vec::new();
    for Region { name, mask, is_target, most_rows } in inputs.regions.clone() {
        let most = if is_target { usize::MAX } else { most_rows };
        sampled.push(Sampled { name, mask, most, beyond_target_mm: None });
    }
    let mut distance_mm = Vec::new();
    if let Some(body) = &inputs.body {
        distance_mm = distances(coarse, target_mm);
        for shell in SHELLS_MM.windows(2) {
            let beyond_target_mm = Some([shell[0], shell[1]]);
            let (name, mask) = (shell_name(shell), Arc::clone(body));
            sampled.push(Sampled { name, mask, most: SHELL_ROWS, beyond_target_mm });
        }
    }
    let of_voxel = |voxel: usize| {
        let at = coarse.voxel_at(grid.centre_of_mm(voxel));
        at.map_or(f32::INFINITY, |[i, j, k]| distance_mm[coarse.index(i, j, k)])
    };
    Ok(Rows::sample(grid, &sampled, &of_voxel)?)
}

fn targets(regions: &[Region]) -> impl Iterator<Item = &Region> {
    regions.iter().filter(|region| region.is_target)
}

/// Voxel centres of a mask that are covered at least half, and those covered less beside which none is: a target that is smaller or
/// thinner than a voxel has those alone.
fn centres(mask: &Mask) -> Vec<DVec3> {
    const HALF: f32 = 0.5;
    let grid = mask.grid();
    let is_of_target = |(voxel, coverage): &(usize, f32)| {
        *coverage >= HALF || !beside(grid, *voxel).any(|[i, j, k]| mask.coverage_at(i, j, k) >= HALF)
    };
    mask.iter().filter(is_of_target).map(|(voxel, _)| grid.centre_of_mm(voxel)).collect()
}

/// A voxel of a grid and those that touch it.
fn beside(grid: &Grid, voxel: usize) -> impl Iterator<Item = [usize; 3]> {
    let (at, size) = (grid.voxel_of(voxel), grid.size());
    let range = |axis: usize| at[axis].saturating_sub(1)..(at[axis] + 2).min(size[axis]);
    let [x, y, z] = [0, 1, 2].map(range);
    z.flat_map(move |k| {
        let x = x.clone();
        y.clone().flat_map(move |j| x.clone().map(move |i| [i, j, k]))
    })
}

fn fields(inputs: &Inputs<'_>, target_mm: &[DVec3]) -> Result<Vec<Field>, OptimiseError> {
    let plan = inputs.plan;
    let beams: Vec<&Beam> = plan.beams.iter().filter(|beam| analysis::is_computed(beam)).collect();
    let fields: Vec<Field> = beams
        .into_par_iter()
        .map(|beam| {
            let machine = Machine::resolve(plan.machine_of(beam))?;
            let window = inputs.windows.iter().find(|window| window.numbers.contains(&beam.number));
            let within_mm = window.map(|window| window.columns_mm);
            let (position, step_mm) = (plan.position, inputs.beamlet_mm);
            let beamlets = Beamlets::new(beam, &machine, position, target_mm, step_mm, within_mm)?;
            Ok((machine, beamlets))
        })
        .collect::<Result<_, OptimiseError>>()?;
    if fields.is_empty() { Err(OptimiseError::NoBeams(plan.name.clone())) } else { Ok(fields) }
}

/// Distance of each voxel's centre to the nearest of some points, mm: 0 where the voxel holds one.
fn distances(grid: &Grid, points_mm: &[DVec3]) -> Vec<f32> {
    // One point a voxel of the grid is as close as the voxels resolve.
    let mut holds = vec![false; grid.len()];
    let voxels = points_mm.iter().filter_map(|mm| grid.voxel_at(*mm));
    voxels.for_each(|[i, j, k]| holds[grid.index(i, j, k)] = true);
    // The nearest point of a voxel outside lies on the surface.
    let size = grid.size();
    let is_inside = |voxel: &usize| {
        let at = grid.voxel_of(*voxel);
        (0..3).all(|axis| {
            [at[axis].checked_sub(1), Some(at[axis] + 1).filter(|n| *n < size[axis])].into_iter().all(|n| {
                let mut beside = at;
                n.is_some_and(|n| {
                    beside[axis] = n;
                    holds[grid.index(beside[0], beside[1], beside[2])]
                })
            })
        })
    };
    let surface = (0..grid.len()).filter(|voxel| holds[*voxel] && !is_inside(voxel));
    let at: Vec<DVec3> = surface.map(|voxel| grid.centre_of_mm(voxel)).collect();
    let nearest = |voxel: usize| {
        if holds[voxel] {
            return 0.0;
        }
        let centre = grid.centre_of_mm(voxel);
        at.iter().map(|mm| mm.distance_squared(centre)).fold(f64::INFINITY, f64::min).sqrt() as f32
    };
    (0..grid.len()).into_par_iter().map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual fall-off gives way to contested goals; one that the planner has set does not, nor does anything that was asked for.
    #[test]
    fn the_usual_fall_off_alone_gives_way() {
        let mut plan = Plan::new("P", "generic-6mv");
        let of = |name: &str| Objective {
            structure: name.to_owned(),
            aim: Aim::Over,
            gy: 20.0,
            weight: 3.0,
            asked: None,
        };
        let mut all = [of("Cord"), of(&shell_name(&SHELLS_MM[..2])), of(&shell_name(&SHELLS_MM[4..]))];
        let mut weights = |plan: &Plan, is_contested| {
            weigh_fall_off(&mut all, plan, is_contested);
            all.clone().map(|o| o.weight)
        };
        let close = |got: [f64; 3], want: [f64; 3]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(weights(&plan, true), [3.0, 0.01, 0.01]));
        assert!(close(weights(&plan, false), [3.0, 0.1, 0.1]));
        plan.objectives.fall_off.weight = 0.5;
        assert!(close(weights(&plan, true), [3.0, 0.5, 0.5]));
    }
}
