//! Arcs: their sectors are optimised as fields, slid out while the gantry turns, and refined with more fields on the way.

use super::OptimiseError;
use super::beamlets::MARGIN_MM;
use super::optimiser::{Optimiser, Progress};
use super::refine::{Extent, RefinedLeaves, begun, refine};
use super::setup::{FieldWindow, Inputs};
use case::{Beam, ControlPoint, GantryArc, MlcAxis, Plan};
use engine::JobControl;
use glam::DVec3;
use physics::Machine;
use rayon::prelude::*;
use sequence::{
    ArcStart, SequenceError, Technique, arc_leaves, arc_of, sequence_beam, turning_reach_mm, widest_map_mm,
};
use std::ops::Range;

/// Degrees of a sector whose map is slid out once, at least: where targets are wide, leaves need longer.
const SECTOR_DEG: f64 = 20.0;

/// Leaves could go so many times across the targets during a sector: once they do, and for the rest they wait.
const CROSSINGS: f64 = 2.2;

/// Fields of a sector by whose columns its leaves are refined; the middle one has its map.
const FIELDS_A_SECTOR: usize = 3;

/// Numbers of the fields of an arc lie so far apart from those of others.
const NUMBERS: u32 = 100_000;

/// Numbers of the fields of the arc in a place of the plan.
fn numbers(place: usize) -> Range<u32> {
    let first = NUMBERS * (place as u32 + 1);
    first..first + NUMBERS
}

/// A plan whose arcs are fields.
pub struct Sectors {
    /// The middles of all sectors, and beams that stand.
    pub middles: Plan,
    /// All fields, and beams that stand.
    fields: Plan,
    /// The plan with its arcs.
    plan: Plan,
    /// Field windows that the carriages of wide arcs hold.
    pub windows: Vec<FieldWindow>,
}

/// Whether a computed beam of a plan is an arc.
fn is_arc(beam: &Beam) -> bool {
    analysis::is_computed(beam) && arc_of(beam).is_some()
}

/// Degrees of the sectors of an arc about targets.
fn sector_deg(beam: &Beam, machine: &Machine, target_mm: &[DVec3]) -> f64 {
    let Some(delivery) = &machine.delivery else { return SECTOR_DEG };
    let far = target_mm.iter().map(|mm| mm.distance(beam.isocentre_mm)).fold(0.0, f64::max);
    SECTOR_DEG.max(CROSSINGS * 2.0 * far / turning_reach_mm(1.0, delivery))
}

/// Fields of an arc, `count` a sector of so many degrees.
fn fields_of(beam: &Beam, (place, sector_deg): (usize, f64), count: usize) -> Vec<Beam> {
    let Some(way) = arc_of(beam) else { return Vec::new() };
    let fields = (way.span_deg() / sector_deg).ceil() as usize * count;
    let field = |n: usize| {
        let gantry_deg = way.at_deg((n as f64 + 0.5) / fields as f64);
        Beam {
            name: format!("{} {gantry_deg:.0}", beam.name),
            // The middle of a sector has one number, however many fields there are.
            number: numbers(place).start + (n * FIELDS_A_SECTOR / count + FIELDS_A_SECTOR / count / 2) as u32,
            control_points: vec![ControlPoint { gantry_deg, ..beam.control_points[0].clone() }],
            fluence: None,
            cut_from: None,
            ..beam.clone()
        }
    };
    (0..fields).map(field).collect()
}

/// Windows of neighbouring arcs share at least so much on either side of the axis, mm: what one of them leaves out the other sees.
const SHARED_MM: f64 = 20.0;

/// Windows for arcs whose targets are wider than their carriages hold, from one side of the field and from the other in turn. As the gantry
/// turns, each place of the targets within a window of the axis comes into it.
fn windows(
    plan: &Plan,
    fields: &Plan,
    target_mm: &[DVec3],
    beamlet_mm: f64,
) -> Result<Vec<FieldWindow>, OptimiseError> {
    let mut windows = Vec::new();
    for (place, beam) in plan.beams.iter().enumerate().filter(|(_, beam)| is_arc(beam)) {
        let machine = Machine::resolve(plan.machine_of(beam))?;
        let Some(widest_mm) = widest_map_mm(&machine) else { continue };
        let own = fields.beams.iter().filter(|field| numbers(place).contains(&field.number));
        let reaches = own.map(|field| reach_mm(field, plan, machine.sad_mm, target_mm));
        let reach = reaches.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or([0.0; 2]);
        // Columns lie on multiples of their width; those of a map reach beyond its targets by the margin and by a part of a column.
        let beyond = MARGIN_MM + beamlet_mm;
        let columns = [(reach[0] - beyond) / beamlet_mm, (reach[1] + beyond) / beamlet_mm];
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
            windows.push(FieldWindow { numbers: numbers(place), columns_mm });
        }
    }
    Ok(windows)
}

/// Low and high end of the targets as a field sees them, along the travel of its leaves, mm at the isocentre plane.
fn reach_mm(field: &Beam, plan: &Plan, sad_mm: f64, target_mm: &[DVec3]) -> [f64; 2] {
    let frame = field.frame_at(&field.control_points[0], plan.position, sad_mm);
    let axis = field.mlc.as_ref().map_or(MlcAxis::X, |mlc| mlc.axis);
    let along = |mm: &DVec3| {
        let (at, _) = frame.project(*mm)?;
        let u = if axis == MlcAxis::X { at[0] } else { at[1] };
        Some([u, u])
    };
    let nothing = || [f64::INFINITY, f64::NEG_INFINITY];
    target_mm.par_iter().filter_map(along).reduce(nothing, |a, b| [a[0].min(b[0]), a[1].max(b[1])])
}

impl Sectors {
    /// Sectors about targets, by the places of their voxels (patient LPS); `None` for a plan without arcs.
    ///
    /// # Errors
    /// [`OptimiseError::Machine`].
    pub fn new(plan: &Plan, target_mm: &[DVec3], beamlet_mm: f64) -> Result<Option<Self>, OptimiseError> {
        if !plan.beams.iter().any(is_arc) {
            return Ok(None);
        }
        let degrees =
            |beam: &Beam| Ok(sector_deg(beam, &*Machine::resolve(plan.machine_of(beam))?, target_mm));
        let degrees: Vec<f64> = plan.beams.iter().map(degrees).collect::<Result<_, OptimiseError>>()?;
        let with = |count: usize| {
            let beams = plan.beams.iter().zip(&degrees).enumerate();
            let fields = beams.flat_map(|(place, (beam, degrees))| match is_arc(beam) {
                true => fields_of(beam, (place, *degrees), count),
                false => vec![beam.clone()],
            });
            Plan { beams: fields.collect(), ..plan.clone() }
        };
        let (middles, fields) = (with(1), with(FIELDS_A_SECTOR));
        let windows = windows(plan, &fields, target_mm, beamlet_mm)?;
        Ok(Some(Self { middles, fields, plan: plan.clone(), windows }))
    }

    /// Leaves for the maps of the sectors, refined: of a few beginnings the best. `middles` is the optimiser of the maps, at rest.
    ///
    /// # Errors
    /// [`OptimiseError`].
    pub fn leaves(
        &self,
        inputs: &Inputs<'_>,
        middles: &Optimiser,
        technique: Technique,
        control: &JobControl,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<RefinedLeaves, OptimiseError> {
        let maps = middles.with_maps(&middles.fluences);
        let cut = ArcStart::ALL.into_iter().map(|start| self.cut(&maps, technique, start));
        let cut: Vec<Plan> = cut.collect::<Result<_, _>>()?;
        let inputs = inputs.with_plan(&self.fields, &self.windows);
        let mut fields =
            Optimiser::new(&inputs, middles.asked().to_vec(), middles.reference_gy, Some(middles))?;
        match fields.make_columns(control, tell) {
            Err(_) if control.is_cancelled() => return Ok(RefinedLeaves::as_cut(cut[0].clone())),
            made => made?,
        }
        fields.take_tails(middles);
        let of_beam = |beam: &Beam| -> Vec<usize> {
            let place = self.plan.beams.iter().position(|own| own.number == beam.number);
            let own = |number: u32| match place.filter(|_| is_arc(beam)) {
                Some(place) => numbers(place).contains(&number),
                None => number == beam.number,
            };
            fields.places_of(&own)
        };
        let mut best = (cut[0].clone(), f64::INFINITY);
        for cut in &cut {
            let found = begun(&fields, cut, &of_beam, control, tell)?;
            if found.1 < best.1 {
                best = found;
            }
        }
        let device = &inputs.device;
        let found = refine(&fields, &best.0, &of_beam, Extent::from_fields(device), control, tell)?;
        refine(&fields, &found.plan, &of_beam, Extent::last(device), control, tell)
    }

    /// The plan with leaves as they are cut.
    fn cut(&self, maps: &Plan, technique: Technique, start: ArcStart) -> Result<Plan, OptimiseError> {
        let mut plan = Plan { normalisation: None, ..self.plan.clone() };
        for (place, beam) in plan.beams.iter_mut().enumerate().filter(|(_, beam)| analysis::is_computed(beam))
        {
            if is_arc(beam) {
                let own = numbers(place);
                let sectors: Vec<&Beam> = maps.beams.iter().filter(|map| own.contains(&map.number)).collect();
                match arc_leaves(&self.plan, beam, &sectors, start) {
                    Ok(leaves) => *beam = leaves,
                    Err(SequenceError::Empty { .. }) => beam.mu = 0.0,
                    Err(why) => return Err(why.into()),
                }
            } else if let Some(map) = maps.beams.iter().find(|map| map.number == beam.number) {
                let machine = Machine::resolve(self.plan.machine_of(beam))?;
                match sequence_beam(map, &machine, technique) {
                    Ok(cut) => *beam = cut.beam,
                    Err(SequenceError::Empty { .. } | SequenceError::TooSmall { .. }) => beam.mu = 0.0,
                    Err(why) => return Err(why.into()),
                }
            }
        }
        Ok(plan)
    }
}

/// A plan with arcs in place of its beams: whole turns about the isocentre of the first, one with the clock and a second against it, with
/// the collimator turned to either side so that leaves of neighbouring pairs do not leak along the same line. Chosen: 10 degrees.
#[must_use]
pub fn with_arcs(plan: &Plan, count: usize) -> Plan {
    const COLLIMATOR_DEG: f64 = 10.0;
    let Some(first) = plan.beams.iter().find(|beam| analysis::is_computed(beam)) else { return plan.clone() };
    let arc = |n: usize| {
        let back = GantryArc {
            start_deg: GantryArc::FULL.stop_deg,
            stop_deg: GantryArc::FULL.start_deg,
            clockwise: false,
        };
        let (way, collimator_deg) = if n.is_multiple_of(2) {
            (GantryArc::FULL, COLLIMATOR_DEG)
        } else {
            (back, 360.0 - COLLIMATOR_DEG)
        };
        let start = ControlPoint {
            collimator_deg,
            couch_deg: 0.0,
            leaves_mm: Vec::new(),
            ..first.control_points[0].clone()
        };
        let standing = Beam {
            name: format!("ARC{}", n + 1),
            number: n as u32 + 1,
            control_points: vec![ControlPoint { meterset_weight: 0.0, ..start }],
            mlc: None,
            fluence: None,
            fluence_limits: Vec::new(),
            cut_from: None,
            ..first.clone()
        };
        standing.along_arc(way)
    };
    Plan { name: format!("{} as arcs", plan.name), beams: (0..count).map(arc).collect(), ..plan.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;

    /// Middles are among the fields, with their numbers and angles, so that their columns are made once; beams that stand stay.
    #[test]
    fn middles_of_sectors_are_fields() {
        let jaws = Jaws { x: [-50.0, 50.0], y: [-50.0, 50.0] };
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = vec![Beam::fixed("G40", 7, 40.0, DVec3::ZERO, jaws, 100.0)];
        let target = [DVec3::new(40.0, 0.0, 0.0)];
        assert!(Sectors::new(&plan, &target, 5.0).unwrap().is_none());
        let arcs = with_arcs(&plan, 2);
        let turns: Vec<GantryArc> = arcs.beams.iter().map(|beam| arc_of(beam).expect("an arc")).collect();
        assert!(turns.iter().all(|arc| (arc.span_deg() - 358.0).abs() < 1e-9));
        assert_eq!((turns[0], turns[1].clockwise), (GantryArc::FULL, false));
        assert!(arcs.beams.iter().all(|beam| beam.fault().is_none()));
        plan.beams.extend(arcs.beams);
        plan.beams.iter_mut().zip(1..).for_each(|(beam, number)| beam.number = number);
        let sectors = Sectors::new(&plan, &target, 5.0).unwrap().expect("arcs");
        assert_eq!((sectors.middles.beams.len(), sectors.fields.beams.len()), (1 + 2 * 18, 1 + 2 * 54));
        for middle in &sectors.middles.beams {
            let field = sectors.fields.beams.iter().find(|field| field.number == middle.number);
            assert_eq!(field, Some(middle));
        }
        let mut numbers: Vec<u32> = sectors.fields.beams.iter().map(|beam| beam.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), sectors.fields.beams.len());
    }

    /// Targets 200 mm wide, where leaves sweep some 130 mm from one place of their carriage: each of two arcs has as much, about the axis
    /// and from its own side on, and nothing is left out by both. Narrow targets need no windows.
    #[test]
    fn wide_arcs_keep_to_what_their_carriage_holds() {
        let jaws = Jaws { x: [-50.0, 50.0], y: [-50.0, 50.0] };
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = vec![Beam::fixed("G0", 1, 0.0, DVec3::ZERO, jaws, 100.0)];
        let arcs = with_arcs(&plan, 2);
        let windows = |half_mm: f64| {
            let target = [-half_mm, half_mm].map(|x_mm| DVec3::new(x_mm, 0.0, 0.0));
            Sectors::new(&arcs, &target, 5.0).unwrap().expect("arcs").windows
        };
        assert!(windows(40.0).is_empty());
        let wide = windows(100.0);
        let held_mm = widest_map_mm(&Machine::resolve("generic-6mv").unwrap()).unwrap();
        assert!(held_mm > 130.0 && wide.len() == 2, "{held_mm} mm, {wide:?}");
        let [low, high] = [0, 1].map(|n| wide[n].columns_mm);
        for [from_mm, to_mm] in [low, high] {
            assert!(to_mm - from_mm <= held_mm && from_mm <= -SHARED_MM && to_mm >= SHARED_MM, "{wide:?}");
        }
        assert!(low[0] <= -105.0 && high[1] >= 105.0 && high[0] < low[1], "{wide:?}");
    }
}
