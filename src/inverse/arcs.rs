//! Arcs: the fluence of each sector is optimised as a static field, sequenced as a sliding window during the rotation, and its leaves are
//! refined with more fields along the arc.

use super::OptimiseError;
use super::beamlets::MARGIN_MM;
use super::optimiser::Optimiser;
use super::progress::Progress;
use super::refine::{Extent, RefinedLeaves, first_pass, refine};
use super::setup::{FieldWindow, Inputs};
use case::{Beam, ControlPoint, GantryArc, MlcAxis, Plan};
use engine::JobControl;
use glam::DVec3;
use physics::Machine;
use rayon::prelude::*;
use sequence::{
    ArcStart, SequenceError, Technique, arc_leaves, arc_of, sequence_beam, turning_reach_mm,
    widest_map_mm,
};
use std::ops::Range;

/// Minimum sector width, degrees: one sliding window is delivered in a sector, and wide targets need longer.
const SECTOR_DEG: f64 = 20.0;

/// Leaf traversals of the target that the sector width allows: the sweep uses one, the remaining time is for waiting leaves.
const CROSSINGS: f64 = 2.2;

/// Fields of a sector in the refinement of its leaves; the middle one has the fluence map.
const FIELDS_A_SECTOR: usize = 3;

/// Offset between the field numbers of two arcs.
const NUMBERS: u32 = 100_000;

/// Whether a field of this number stands for a sector of an arc.
pub fn is_of_sector(number: u32) -> bool {
    number >= NUMBERS
}

/// Field numbers of the arc at an index of the plan's beams.
fn numbers(place: usize) -> Range<u32> {
    let first = NUMBERS * (place as u32 + 1);
    first..first + NUMBERS
}

/// A plan whose arcs are fields.
pub struct Sectors {
    /// One field at the middle of each sector, and the static beams.
    pub middles: Plan,
    /// All fields of the sectors, and the static beams.
    fields: Plan,
    /// The plan with its arcs.
    plan: Plan,
    /// Columns within reach of the carriage, for arcs about wide targets.
    pub windows: Vec<FieldWindow>,
}

/// Whether a computed beam of a plan is an arc.
fn is_arc(beam: &Beam) -> bool {
    analysis::is_computed(beam) && arc_of(beam).is_some()
}

/// Width of the sectors of an arc about targets, degrees.
fn sector_deg(beam: &Beam, machine: &Machine, target_mm: &[DVec3]) -> f64 {
    let Some(delivery) = &machine.delivery else {
        return SECTOR_DEG;
    };
    let far = target_mm
        .iter()
        .map(|mm| mm.distance(beam.isocentre_mm))
        .fold(0.0, f64::max);
    SECTOR_DEG.max(CROSSINGS * 2.0 * far / turning_reach_mm(1.0, delivery))
}

/// Fields of the arc at index `place` of the plan's beams, `count` for each sector of `sector_deg`.
fn fields_of(beam: &Beam, place: usize, sector_deg: f64, count: usize) -> Vec<Beam> {
    let Some(arc) = arc_of(beam) else {
        return Vec::new();
    };
    let field_count = (arc.span_deg() / sector_deg).ceil() as usize * count;
    let mut fields = Vec::with_capacity(field_count);
    for n in 0..field_count {
        let gantry_deg = arc.at_deg((n as f64 + 0.5) / field_count as f64);
        fields.push(Beam {
            name: format!("{} {gantry_deg:.0}", beam.name),
            // The middle field has the same number whether a sector has one field or several: its columns are then computed once.
            number: numbers(place).start
                + (n * FIELDS_A_SECTOR / count + FIELDS_A_SECTOR / count / 2) as u32,
            control_points: vec![ControlPoint {
                gantry_deg,
                ..beam.control_points[0].clone()
            }],
            fluence: None,
            cut_from: None,
            ..beam.clone()
        });
    }
    fields
}

/// Minimum overlap of the windows of consecutive arcs on either side of the axis, mm: together they cover the targets.
const SHARED_MM: f64 = 20.0;

/// Windows for arcs whose targets are wider than the maximum leaf span, at alternate sides of the field. During the rotation each point of
/// the targets comes into a window.
fn windows(
    plan: &Plan,
    fields: &Plan,
    target_mm: &[DVec3],
    beamlet_mm: f64,
) -> Result<Vec<FieldWindow>, OptimiseError> {
    let mut windows = Vec::new();
    for (place, beam) in plan
        .beams
        .iter()
        .enumerate()
        .filter(|(_, beam)| is_arc(beam))
    {
        let machine = Machine::resolve(plan.machine_of(beam))?;
        let Some(widest_mm) = widest_map_mm(&machine) else {
            continue;
        };
        let arc_fields = fields
            .beams
            .iter()
            .filter(|field| numbers(place).contains(&field.number));
        let extents =
            arc_fields.map(|field| target_extent_mm(field, plan, machine.sad_mm, target_mm));
        let extent = extents.reduce(union).unwrap_or([0.0; 2]);
        // Columns lie on multiples of their width: a map reaches beyond its targets by the margin and up to a column.
        let beyond = MARGIN_MM + beamlet_mm;
        let columns = [
            (extent[0] - beyond) / beamlet_mm,
            (extent[1] + beyond) / beamlet_mm,
        ];
        let [low, high] = [columns[0].floor(), columns[1].ceil()];
        let held = (widest_mm / beamlet_mm).floor().max(1.0);
        let is_wide = high - low > held;
        if is_wide {
            let shared = (SHARED_MM / beamlet_mm).ceil().min(held);
            let first = if windows.len().is_multiple_of(2) {
                low.max(shared - held)
            } else {
                high.min(held - shared) - held
            };
            let columns_mm = [first, first + held].map(|column| column * beamlet_mm);
            windows.push(FieldWindow {
                numbers: numbers(place),
                columns_mm,
            });
        }
    }
    Ok(windows)
}

/// Extent of the targets in the beam's eye view of a field, along the leaf travel, mm at the isocentre plane.
fn target_extent_mm(field: &Beam, plan: &Plan, sad_mm: f64, target_mm: &[DVec3]) -> [f64; 2] {
    let frame = field.frame_at(&field.control_points[0], plan.position, sad_mm);
    let axis = field.mlc.as_ref().map_or(MlcAxis::X, |mlc| mlc.axis);
    let extents = target_mm.par_iter().filter_map(|mm| {
        let (projected, _) = frame.project(*mm)?;
        let u = if axis == MlcAxis::X {
            projected[0]
        } else {
            projected[1]
        };
        Some([u, u])
    });
    extents.reduce(|| [f64::INFINITY, f64::NEG_INFINITY], union)
}

fn union(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}

impl Sectors {
    /// Sectors about targets with voxel centres `target_mm` (patient LPS); `None` for a plan without arcs.
    ///
    /// # Errors
    /// [`OptimiseError::Machine`].
    pub fn new(
        plan: &Plan,
        target_mm: &[DVec3],
        beamlet_mm: f64,
    ) -> Result<Option<Self>, OptimiseError> {
        if !plan.beams.iter().any(is_arc) {
            return Ok(None);
        }
        let mut sectors_deg = Vec::with_capacity(plan.beams.len());
        for beam in &plan.beams {
            let machine = Machine::resolve(plan.machine_of(beam))?;
            sectors_deg.push(sector_deg(beam, &machine, target_mm));
        }
        let middles = plan_of_fields(plan, &sectors_deg, 1);
        let fields = plan_of_fields(plan, &sectors_deg, FIELDS_A_SECTOR);
        let windows = windows(plan, &fields, target_mm, beamlet_mm)?;
        Ok(Some(Self {
            middles,
            fields,
            plan: plan.clone(),
            windows,
        }))
    }

    /// Sequences the maps of the sectors from several start positions of the leaves, and refines the best. `middles` is the optimiser of
    /// the maps, at rest.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub fn leaves(
        &self,
        inputs: &Inputs<'_>,
        middles: &Optimiser,
        technique: Technique,
        control: &JobControl,
        report: &mut dyn FnMut(Progress),
    ) -> Result<RefinedLeaves, OptimiseError> {
        let maps = middles.with_maps(&middles.fluences);
        let sequenced = ArcStart::ALL
            .into_iter()
            .map(|start| self.sequence(&maps, technique, start));
        let sequenced: Vec<Plan> = sequenced.collect::<Result<_, _>>()?;
        let inputs = inputs.with_plan(&self.fields, &self.windows);
        let mut fields = Optimiser::new(
            &inputs,
            middles.asked().to_vec(),
            middles.reference_gy,
            Some(middles),
        )?;
        match fields.make_columns(control, report) {
            Err(_) if control.is_cancelled() => {
                return Ok(RefinedLeaves::unrefined(sequenced[0].clone()));
            }
            columns => columns?,
        }
        fields.take_tails(middles);
        let mut best = (sequenced[0].clone(), f64::INFINITY);
        for plan in &sequenced {
            let candidate = first_pass(
                &fields,
                plan,
                &|beam| self.places(&fields, beam),
                control,
                report,
            )?;
            if candidate.1 < best.1 {
                best = candidate;
            }
        }
        let extent = Extent::from_fields(&inputs.device);
        let refined = refine(
            &fields,
            &best.0,
            &|beam| self.places(&fields, beam),
            extent,
            control,
            report,
        )?;
        let extent = Extent::last(&inputs.device);
        let last = refine(
            &fields,
            &refined.plan,
            &|beam| self.places(&fields, beam),
            extent,
            control,
            report,
        )?;
        Ok(RefinedLeaves {
            true_doses: refined.true_doses + last.true_doses,
            refinement: refined.refinement.then(last.refinement.clone()),
            ..last
        })
    }

    /// Indices of the fields of an arc or of a static beam among the fields of an optimiser.
    fn places(&self, fields: &Optimiser, beam: &Beam) -> Vec<usize> {
        let place = self
            .plan
            .beams
            .iter()
            .position(|of_plan| of_plan.number == beam.number);
        match place.filter(|_| is_arc(beam)) {
            Some(place) => fields.places_of(|number| numbers(place).contains(&number)),
            None => fields.places_of(|number| number == beam.number),
        }
    }

    /// The plan with sequenced leaves.
    fn sequence(
        &self,
        maps: &Plan,
        technique: Technique,
        start: ArcStart,
    ) -> Result<Plan, OptimiseError> {
        let mut plan = Plan {
            normalisation: None,
            ..self.plan.clone()
        };
        for (place, beam) in plan
            .beams
            .iter_mut()
            .enumerate()
            .filter(|(_, beam)| analysis::is_computed(beam))
        {
            if is_arc(beam) {
                let numbers = numbers(place);
                let sectors: Vec<&Beam> = maps
                    .beams
                    .iter()
                    .filter(|map| numbers.contains(&map.number))
                    .collect();
                match arc_leaves(&self.plan, beam, &sectors, start) {
                    Ok(leaves) => *beam = leaves,
                    Err(SequenceError::Empty { .. }) => beam.mu = 0.0,
                    Err(why) => return Err(why.into()),
                }
            } else if let Some(map) = maps.beams.iter().find(|map| map.number == beam.number) {
                let machine = Machine::resolve(self.plan.machine_of(beam))?;
                match sequence_beam(map, &machine, technique) {
                    Ok(sequenced) => *beam = sequenced.beam,
                    Err(SequenceError::Empty { .. } | SequenceError::TooSmall { .. }) => {
                        beam.mu = 0.0
                    }
                    Err(why) => return Err(why.into()),
                }
            }
        }
        Ok(plan)
    }
}

/// The plan with `count` fields in place of each sector of its arcs; `sectors_deg` are the sector widths by beam.
fn plan_of_fields(plan: &Plan, sectors_deg: &[f64], count: usize) -> Plan {
    let beams = plan.beams.iter().zip(sectors_deg).enumerate();
    let fields = beams.flat_map(|(place, (beam, sector_deg))| match is_arc(beam) {
        true => fields_of(beam, place, *sector_deg, count),
        false => vec![beam.clone()],
    });
    Plan {
        beams: fields.collect(),
        ..plan.clone()
    }
}

/// A plan with arcs in place of its beams: full rotations about the isocentre of the first beam, alternately clockwise and
/// counter-clockwise.
#[must_use]
pub fn with_arcs(plan: &Plan, count: usize) -> Plan {
    // The collimator is turned, to the other side in each second arc, so that leakage between leaves is spread out. Chosen.
    const COLLIMATOR_DEG: f64 = 10.0;
    let Some(first) = plan.beams.iter().find(|beam| analysis::is_computed(beam)) else {
        return plan.clone();
    };
    let mut arcs = Vec::with_capacity(count);
    for n in 0..count {
        let counter_clockwise = GantryArc {
            start_deg: GantryArc::FULL.stop_deg,
            stop_deg: GantryArc::FULL.start_deg,
            clockwise: false,
        };
        let (rotation, collimator_deg) = if n.is_multiple_of(2) {
            (GantryArc::FULL, COLLIMATOR_DEG)
        } else {
            (counter_clockwise, 360.0 - COLLIMATOR_DEG)
        };
        let start = ControlPoint {
            collimator_deg,
            couch_deg: 0.0,
            leaves_mm: Vec::new(),
            ..first.control_points[0].clone()
        };
        let static_beam = Beam {
            name: format!("ARC{}", n + 1),
            number: n as u32 + 1,
            control_points: vec![ControlPoint {
                meterset_weight: 0.0,
                ..start
            }],
            mlc: None,
            fluence: None,
            fluence_limits: Vec::new(),
            cut_from: None,
            ..first.clone()
        };
        arcs.push(static_beam.along_arc(rotation));
    }
    Plan {
        name: format!("{} as arcs", plan.name),
        beams: arcs,
        ..plan.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;

    /// Middles are among the fields, with the same numbers and angles, so that their columns are computed once; static beams stay.
    #[test]
    fn middles_of_sectors_are_fields() {
        let jaws = Jaws {
            x: [-50.0, 50.0],
            y: [-50.0, 50.0],
        };
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = vec![Beam::fixed("G40", 7, 40.0, DVec3::ZERO, jaws, 100.0)];
        let target = [DVec3::new(40.0, 0.0, 0.0)];
        assert!(Sectors::new(&plan, &target, 5.0).unwrap().is_none());
        let arcs = with_arcs(&plan, 2);
        let turns: Vec<GantryArc> = arcs
            .beams
            .iter()
            .map(|beam| arc_of(beam).expect("an arc"))
            .collect();
        assert!(
            turns
                .iter()
                .all(|arc| (arc.span_deg() - 358.0).abs() < 1e-9)
        );
        assert_eq!((turns[0], turns[1].clockwise), (GantryArc::FULL, false));
        assert!(arcs.beams.iter().all(|beam| beam.fault().is_none()));
        plan.beams.extend(arcs.beams);
        plan.beams
            .iter_mut()
            .zip(1..)
            .for_each(|(beam, number)| beam.number = number);
        let sectors = Sectors::new(&plan, &target, 5.0).unwrap().expect("arcs");
        assert_eq!(
            (sectors.middles.beams.len(), sectors.fields.beams.len()),
            (1 + 2 * 18, 1 + 2 * 54)
        );
        for middle in &sectors.middles.beams {
            let field = sectors
                .fields
                .beams
                .iter()
                .find(|field| field.number == middle.number);
            assert_eq!(field, Some(middle));
        }
        let mut numbers: Vec<u32> = sectors
            .fields
            .beams
            .iter()
            .map(|beam| beam.number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), sectors.fields.beams.len());
    }

    fn windows_about(arcs: &Plan, half_width_mm: f64) -> Vec<FieldWindow> {
        let target = [-half_width_mm, half_width_mm].map(|x_mm| DVec3::new(x_mm, 0.0, 0.0));
        Sectors::new(arcs, &target, 5.0)
            .unwrap()
            .expect("arcs")
            .windows
    }

    /// Targets are 200 mm wide, the leaf span of a carriage is some 130 mm: each of two arcs has a window of that width, at either side of
    /// the field, and together they cover the targets. Narrow targets need no windows.
    #[test]
    fn wide_arcs_keep_to_what_their_carriage_holds() {
        let jaws = Jaws {
            x: [-50.0, 50.0],
            y: [-50.0, 50.0],
        };
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = vec![Beam::fixed("G0", 1, 0.0, DVec3::ZERO, jaws, 100.0)];
        let arcs = with_arcs(&plan, 2);
        assert!(windows_about(&arcs, 40.0).is_empty());
        let wide = windows_about(&arcs, 100.0);
        let held_mm = widest_map_mm(&Machine::resolve("generic-6mv").unwrap()).unwrap();
        assert!(held_mm > 130.0 && wide.len() == 2, "{held_mm} mm, {wide:?}");
        let [low, high] = [0, 1].map(|n| wide[n].columns_mm);
        for [from_mm, to_mm] in [low, high] {
            assert!(
                to_mm - from_mm <= held_mm && from_mm <= -SHARED_MM && to_mm >= SHARED_MM,
                "{wide:?}"
            );
        }
        assert!(
            low[0] <= -105.0 && high[1] >= 105.0 && high[0] < low[1],
            "{wide:?}"
        );
    }
}
