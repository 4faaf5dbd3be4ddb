//! Leaves as variables: the fluence of beamlets by tips and monitor units, and the gradient by them.
//!
//! While a segment gives its monitor units, tips go in straight lines from one control point to the next. With q(t) the part of a beamlet
//! that a tip at t has passed, and Q its integral, a tip on the way from t0 to t1 has passed (Q(t1) - Q(t0)) / (t1 - t0) of it on the
//! mean. A beamlet's fluence is that of the leading tip less that of the trailing one, and what the leaves let through; ends are sharp
//! and stand as far behind the tips as rounded ones let through ([`physics::Leaves::end_retreat_mm`]). What this leaves out of the true
//! fluence is part of the difference to the true dose, which the solver adds.

use super::problem::Problem;
use super::setup::Field;
use super::solve::Differentiable;
use analysis::UNIT_MU;
use case::{Bank, Beam, Plan};
use physics::{Delivery, Leaves};
use rayon::prelude::*;
use sequence::{LEAST_CM2, first_pair, nearest_angle, open_cm2};
use std::ops::Range;

/// Ways of a tip that are shorter count as none, part of a beamlet.
const STANDS: f64 = 1e-3;

/// Doses of open beamlets overlap: the curvature by monitor units is so many times that of the beamlets alone. Chosen.
const OVERLAP: f64 = 8.0;

/// A beam whose leaves are variables.
#[derive(Clone, Debug)]
pub struct LeafBeam {
    /// Its place in the plan.
    pub place: usize,
    pub delivery: Delivery,
    transmission: f64,
    retreat_mm: f64,
    /// Leaf pairs that a map of the beam has.
    pub pairs: Range<usize>,
    /// Positions of the leaves that each control point has: points between which they stand share one.
    pub positions: Vec<usize>,
    /// Control points at which segments that give monitor units begin.
    pub starts: Vec<usize>,
    /// Place of its first variable: tips by position, pair and bank, then monitor units by segment.
    first: usize,
}

/// Monitor units between two control points, from one direction.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Among the beams.
    beam: usize,
    /// Places of the first tips at its start and end.
    tips: [usize; 2],
    /// Place of its monitor units.
    mu: usize,
}

/// Beamlets of a field: cells of its map.
#[derive(Clone, Debug)]
struct Cells {
    first_pair: usize,
    first_mm: f64,
    step_mm: f64,
    columns: usize,
    /// For each cell the beamlet of its row that is nearest to it, among those of the field.
    nearest: Vec<Option<u32>>,
    beamlets: Range<usize>,
    segments: Vec<usize>,
}

/// The objective as a function of tips (mm) and monitor units.
pub struct LeafProblem<'a> {
    problem: &'a Problem<'a>,
    leaves: &'a LeafVariables,
    curvatures: Vec<f64>,
}

/// Variables of the leaves of a plan.
#[derive(Clone, Debug)]
pub struct LeafVariables {
    pub beams: Vec<LeafBeam>,
    segments: Vec<Segment>,
    fields: Vec<Cells>,
    count: usize,
}

/// Part of a cell that a tip has passed on the mean of its way, and its slopes by the start and end of the way, 1/mm.
fn passed([from, to]: [f64; 2], low: f64, width: f64) -> (f64, [f64; 2]) {
    // Most cells lie wholly before or behind the way of a tip.
    if from.max(to) < low {
        return (0.0, [0.0; 2]);
    }
    if from.min(to) >= low + width {
        return (1.0, [0.0; 2]);
    }
    let part = |t: f64| ((t - low) / width).clamp(0.0, 1.0);
    let way = to - from;
    if way.abs() < STANDS * width {
        let at = 0.5 * (from + to);
        let slope = if (low..low + width).contains(&at) { 0.5 / width } else { 0.0 };
        return (part(at), [slope; 2]);
    }
    // The integral of the part, from the cell's low side on.
    let integral = |t: f64| {
        let z = part(t);
        0.5 * width * z * z + (t - low - width).max(0.0)
    };
    let mean = (integral(to) - integral(from)) / way;
    (mean, [(mean - part(from)) / way, (part(to) - mean) / way])
}

/// Gantry angles of fields, by their places.
pub fn angles_deg(fields: &[Field], own: &[usize]) -> Vec<f64> {
    let angle = |field: &usize| fields[*field].1.beam.start().map_or(0.0, |point| point.gantry_deg);
    own.iter().map(angle).collect()
}

impl Cells {
    fn new(beamlets: &super::beamlets::Beamlets, leaves: &Leaves, first: usize) -> Option<Self> {
        let map = beamlets.beam.fluence.as_ref()?;
        let mut own = vec![None; map.values.len()];
        (0..).zip(&beamlets.active).for_each(|(n, at)| own[*at] = Some(n));
        let nearest = |cell: usize| {
            let row = cell - cell % map.columns;
            let by_distance = (0..map.columns)
                .filter_map(|column| own[row + column].map(|n| (column.abs_diff(cell % map.columns), n)));
            by_distance.min().map(|(_, n)| n)
        };
        Some(Self {
            first_pair: first_pair(map, &leaves.boundaries_mm),
            first_mm: map.first_mm,
            step_mm: map.step_mm,
            columns: map.columns,
            nearest: (0..own.len()).map(nearest).collect(),
            beamlets: first..first + beamlets.active.len(),
            segments: Vec::new(),
        })
    }

    fn pairs(&self) -> Range<usize> {
        self.first_pair..self.first_pair + self.nearest.len() / self.columns
    }
}

impl LeafVariables {
    /// Variables of all beams of a plan that have leaves and fields. `fields_of` gives the places of a beam's fields.
    pub fn new(plan: &Plan, fields: &[Field], fields_of: &dyn Fn(&Beam) -> Vec<usize>) -> Self {
        let mut first = 0;
        let cells = |(machine, beamlets): &Field| {
            let cells = machine.leaves.as_ref().and_then(|leaves| Cells::new(beamlets, leaves, first));
            first += beamlets.active.len();
            cells.expect("fields have maps and machines leaves")
        };
        let cells: Vec<Cells> = fields.iter().map(cells).collect();
        let mut all = Self { beams: Vec::new(), segments: Vec::new(), fields: cells, count: 0 };
        for (place, beam) in plan.beams.iter().enumerate() {
            let own = fields_of(beam);
            // A beam that nothing is asked of keeps the leaves it had, which may be those of no machine.
            if beam.mlc.is_some() && beam.mu > 0.0 && !own.is_empty() {
                all.add(place, beam, &own, fields);
            }
        }
        all
    }

    fn add(&mut self, place: usize, beam: &Beam, own: &[usize], fields: &[Field]) {
        let machine = &fields[own[0]].0;
        let (Some(leaves), Some(delivery)) = (&machine.leaves, machine.delivery) else { return };
        let of_fields = own.iter().map(|field| self.fields[*field].pairs());
        let pairs = of_fields.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
        let points = &beam.control_points;
        let mut positions = vec![0];
        for pair in points.windows(2) {
            let last = positions[positions.len() - 1];
            positions.push(last + usize::from(pair[0].leaves_mm != pair[1].leaves_mm));
        }
        let tips = |point: usize| self.count + 2 * pairs.len() * positions[point];
        let tips_end = self.count + 2 * pairs.len() * (positions[positions.len() - 1] + 1);
        let gives = |n: &usize| points[n + 1].meterset_weight > points[*n].meterset_weight;
        let starts: Vec<usize> = (0..points.len() - 1).filter(gives).collect();
        let angles_deg = angles_deg(fields, own);
        for (n, start) in starts.iter().enumerate() {
            let nearest = nearest_angle([&points[*start], &points[start + 1]], &angles_deg);
            let segment =
                Segment { beam: self.beams.len(), tips: [tips(*start), tips(start + 1)], mu: tips_end + n };
            self.fields[own[nearest.unwrap_or_default()]].segments.push(self.segments.len());
            self.segments.push(segment);
        }
        let first = self.count;
        self.count = tips_end + starts.len();
        self.beams.push(LeafBeam {
            place,
            delivery: delivery.at_rate_of(beam),
            transmission: leaves.transmission,
            retreat_mm: leaves.end_retreat_mm(machine.sad_mm),
            pairs,
            positions,
            starts,
            first,
        });
    }

    /// Tips and monitor units of the plan's beams as they stand.
    pub fn values(&self, plan: &Plan) -> Vec<f64> {
        let mut values = vec![0.0; self.count];
        for own in &self.beams {
            let beam = &plan.beams[own.place];
            for (point, position) in beam.control_points.iter().zip(&own.positions) {
                let tips = point.leaves_mm[own.pairs.clone()].iter().flatten();
                own.tips_mut(&mut values, *position).iter_mut().zip(tips).for_each(|(to, tip)| *to = *tip);
            }
            let mu = own.starts.iter().map(|start| {
                let [from, to] = [*start, start + 1].map(|n| beam.control_points[n].meterset_weight);
                (to - from) * beam.mu
            });
            own.mu_mut(&mut values).iter_mut().zip(mu).for_each(|(to, mu)| *to = mu);
        }
        values
    }

    /// The plan with other tips and monitor units.
    pub fn plan_of(&self, values: &[f64], plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for own in &self.beams {
            let beam = &mut plan.beams[own.place];
            let tips = own.positions.iter().map(|position| {
                own.tips(values, *position).chunks(2).map(|tips| [tips[0], tips[1]]).collect()
            });
            let tips: Vec<Vec<Bank>> = tips.collect();
            sequence::set_leaves(
                beam,
                own.pairs.clone(),
                &tips,
                sequence::Segments { starts: &own.starts, mu: own.mu(values) },
                &own.delivery,
            );
        }
        plan
    }

    /// Segments whose leaves stand, and which have become smaller than those that are cut, are as they were.
    pub fn take_back_small_segments(&self, plan: &mut Plan, before: &Plan) {
        for own in &self.beams {
            let was = &before.beams[own.place];
            let beam = &mut plan.beams[own.place];
            for start in own.starts.iter().filter(|n| own.positions[**n] == own.positions[**n + 1]) {
                let point = &beam.control_points[*start];
                if open_cm2(beam, &point.leaves_mm, point.jaws) < LEAST_CM2 {
                    for n in [*start, start + 1] {
                        beam.control_points[n].leaves_mm.clone_from(&was.control_points[n].leaves_mm);
                    }
                }
            }
        }
    }

    /// Fluences of all beamlets, multiples of [`UNIT_MU`].
    pub fn fluences(&self, values: &[f64]) -> Vec<f64> {
        let of = |cells: &Cells| {
            let mut fluences = vec![0.0; cells.beamlets.len()];
            for segment in &cells.segments {
                let segment = &self.segments[*segment];
                let own = &self.beams[segment.beam];
                let times = values[segment.mu] / UNIT_MU;
                fluences.iter_mut().for_each(|fluence| *fluence += own.transmission * times);
                self.each_cell(cells, segment, values, |beamlet, open, _| {
                    fluences[beamlet] += times * (1.0 - own.transmission) * open;
                });
            }
            fluences
        };
        self.fields.par_iter().flat_map_iter(of).collect()
    }

    /// Calls for each cell on the way of the tips with its beamlet, the part of the monitor units for which it is open, and for each tip,
    /// by its place among the variables, the slope of that part.
    fn each_cell(
        &self,
        cells: &Cells,
        segment: &Segment,
        values: &[f64],
        mut call: impl FnMut(usize, f64, [(usize, f64); 4]),
    ) {
        let own = &self.beams[segment.beam];
        for row in 0..cells.nearest.len() / cells.columns {
            let pair = 2 * (cells.first_pair + row - own.pairs.start);
            let places = segment.tips.map(|tips| tips + pair);
            let trail = places.map(|place| values[place] - own.retreat_mm);
            let lead = places.map(|place| values[place + 1] + own.retreat_mm);
            let low = trail[0].min(trail[1]);
            let high = lead[0].max(lead[1]);
            let column = |mm: f64| ((mm - cells.first_mm) / cells.step_mm).clamp(0.0, cells.columns as f64);
            for at in column(low).floor() as usize..column(high).ceil() as usize {
                let Some(beamlet) = cells.nearest[row * cells.columns + at] else { continue };
                let side = cells.first_mm + at as f64 * cells.step_mm;
                let (led, by_lead) = passed(lead, side, cells.step_mm);
                let (trailed, by_trail) = passed(trail, side, cells.step_mm);
                let slopes = [
                    (places[0], -by_trail[0]),
                    (places[1], -by_trail[1]),
                    (places[0] + 1, by_lead[0]),
                    (places[1] + 1, by_lead[1]),
                ];
                call(beamlet as usize, led - trailed, slopes);
            }
        }
    }

    /// Sums what each field adds to the variables of its beam: `each` is given the place of the first of them.
    fn gathered(&self, each: impl Fn(&Cells, usize, &mut [f64]) + Sync) -> Vec<f64> {
        let of = |cells: &Cells| {
            let Some(first) = cells.segments.first() else { return (0, Vec::new()) };
            let own = &self.beams[self.segments[*first].beam];
            let mut sums = vec![0.0; own.mu_at().end - own.first];
            each(cells, own.first, &mut sums);
            (own.first, sums)
        };
        let by_field: Vec<(usize, Vec<f64>)> = self.fields.par_iter().map(of).collect();
        let mut sums = vec![0.0; self.count];
        for (first, parts) in by_field {
            sums[first..].iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        sums
    }
}

impl LeafBeam {
    pub fn last_position(&self) -> usize {
        self.positions[self.positions.len() - 1]
    }

    /// Places of the tips of a position.
    pub fn tips_at(&self, position: usize) -> Range<usize> {
        let count = 2 * self.pairs.len();
        let first = self.first + position * count;
        first..first + count
    }

    /// Places of the monitor units of the segments.
    pub fn mu_at(&self) -> Range<usize> {
        let first = self.tips_at(self.last_position() + 1).start;
        first..first + self.starts.len()
    }

    /// Tips of a position, by pair and bank.
    pub fn tips<'a>(&self, values: &'a [f64], position: usize) -> &'a [f64] {
        &values[self.tips_at(position)]
    }

    pub fn tips_mut<'a>(&self, values: &'a mut [f64], position: usize) -> &'a mut [f64] {
        &mut values[self.tips_at(position)]
    }

    /// Monitor units of the segments.
    pub fn mu<'a>(&self, values: &'a [f64]) -> &'a [f64] {
        &values[self.mu_at()]
    }

    pub fn mu_mut<'a>(&self, values: &'a mut [f64]) -> &'a mut [f64] {
        &mut values[self.mu_at()]
    }
}

impl<'a> LeafProblem<'a> {
    /// `values` are where the solver starts: variables are scaled by the curvature there.
    pub fn new(problem: &'a Problem<'a>, leaves: &'a LeafVariables, values: &[f64]) -> Self {
        let by_fluence = problem.curvatures();
        let curvatures = leaves.gathered(|cells, first, sums| {
            let own = &by_fluence[cells.beamlets.clone()];
            for segment in &cells.segments {
                let segment = &leaves.segments[*segment];
                let part = (1.0 - leaves.beams[segment.beam].transmission) / UNIT_MU;
                let mut by_mu = 0.0;
                leaves.each_cell(cells, segment, values, |beamlet, open, slopes| {
                    by_mu += OVERLAP * (part * open).powi(2) * own[beamlet];
                    let times = part * values[segment.mu];
                    for (at, slope) in slopes {
                        sums[at - first] += (times * slope).powi(2) * own[beamlet];
                    }
                });
                sums[segment.mu - first] += by_mu;
            }
        });
        Self { problem, leaves, curvatures }
    }
}

impl Differentiable for LeafProblem<'_> {
    fn evaluate(&self, values: &[f64], gradient: &mut Vec<f64>) -> f64 {
        let leaves = self.leaves;
        let mut by_fluence = Vec::new();
        let objective = self.problem.evaluate(&leaves.fluences(values), &mut by_fluence);
        *gradient = leaves.gathered(|cells, first, sums| {
            let own = &by_fluence[cells.beamlets.clone()];
            let whole: f64 = own.iter().sum();
            for segment in &cells.segments {
                let segment = &leaves.segments[*segment];
                let transmission = leaves.beams[segment.beam].transmission;
                let part = (1.0 - transmission) / UNIT_MU;
                let times = part * values[segment.mu];
                let mut by_mu = transmission * whole / UNIT_MU;
                leaves.each_cell(cells, segment, values, |beamlet, open, slopes| {
                    by_mu += part * own[beamlet] * open;
                    for (at, slope) in slopes {
                        sums[at - first] += times * own[beamlet] * slope;
                    }
                });
                sums[segment.mu - first] += by_mu;
            }
        });
        objective
    }

    fn curvatures(&self) -> Vec<f64> {
        self.curvatures.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beamlets::Beamlets;
    use crate::columns::Columns;
    use crate::objective::{Aim, Objective};
    use crate::rows::{RowSet, Rows};
    use case::{ControlPoint, Jaws};
    use geometry::{Grid, PatientPosition};
    use glam::DVec3;
    use physics::Machine;
    use std::sync::Arc;

    /// Mean over a thousand places of the way.
    #[test]
    fn a_tip_has_passed_what_it_passes_place_by_place() {
        for [from, to] in
            [[-3.0, 12.0], [2.0, 4.0], [4.5, 1.0], [-4.0, -1.0], [6.0, 9.0], [1.0, 1.0], [7.0, 7.0]]
        {
            let place = |n: usize| from + (to - from) * (n as f64 + 0.5) / 1000.0;
            let part = |n: usize| (place(n) / 5.0).clamp(0.0, 1.0);
            let want = (0..1000).map(part).sum::<f64>() / 1000.0;
            let (got, _) = passed([from, to], 0.0, 5.0);
            assert!((got - want).abs() < 1e-6, "{from} to {to}: {got} for {want}");
        }
    }

    /// A plan of one beam on one field, and rows that see its beamlets by numbers without a pattern.
    fn one_beam() -> (Plan, Vec<Field>, Columns, Rows) {
        let machine = Machine::resolve("generic-6mv").unwrap();
        let mut beam =
            Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws { x: [-20.0, 20.0], y: [-10.0, 10.0] }, 60.0);
        let target: Vec<DVec3> =
            (-20..=20).map(|n| DVec3::new(f64::from(n), 0.0, f64::from(n % 9))).collect();
        let beamlets = Beamlets::new(&beam, &machine, PatientPosition::Hfs, &target, 5.0, None).unwrap();
        let count = beamlets.active.len();
        let rows = 50;
        let gy: Vec<f32> = (0..rows * count).map(|n| ((n * 37 % 101) as f32) / 300.0).collect();
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [rows, 1, 1]).unwrap();
        let set = RowSet { name: "S".to_owned(), rows: (0..rows as u32).collect(), cm3: vec![1.0; rows] };
        let sampled = Rows { grid: Arc::new(grid), voxels: (0..rows).collect(), sets: vec![set] };
        let mlc = machine.leaves.as_ref().unwrap().to_case();
        let at = |weight: f64, tips: fn(usize) -> Bank| ControlPoint {
            meterset_weight: weight,
            leaves_mm: (0..mlc.boundaries_mm.len() - 1).map(tips).collect(),
            ..beam.control_points[0].clone()
        };
        let low: fn(usize) -> Bank =
            |pair| [-18.3 + 0.2 * (pair % 5) as f64, -12.1 + 0.3 * (pair % 7) as f64];
        let high: fn(usize) -> Bank = |pair| [3.4 + 0.3 * (pair % 4) as f64, 14.2 - 0.4 * (pair % 3) as f64];
        // Leaves that move, that stand, and that go on.
        let points = vec![at(0.0, low), at(0.4, high), at(0.7, high), at(1.0, low)];
        beam.mlc = Some(mlc);
        beam.control_points = points;
        let mut plan = Plan::new("leaves", "generic-6mv");
        plan.beams = vec![beam];
        (plan, vec![(machine, beamlets)], Columns::from_gy(rows, &gy), sampled)
    }

    #[test]
    fn a_beam_without_monitor_units_has_no_variables() {
        let (mut plan, fields, ..) = one_beam();
        plan.beams[0].mu = 0.0;
        plan.beams[0].control_points.iter_mut().for_each(|point| point.leaves_mm.truncate(2));
        let leaves = LeafVariables::new(&plan, &fields, &|_| vec![0]);
        assert!(leaves.beams.is_empty() && leaves.values(&plan).is_empty());
    }

    /// The gradient by tips and monitor units is that of differences.
    #[test]
    fn gradients_by_tips_are_those_of_differences() {
        let (plan, fields, columns, rows) = one_beam();
        let objective =
            Objective { structure: "S".to_owned(), aim: Aim::Deviation, gy: 2.0, weight: 1.0, asked: None };
        let problem = Problem::new(&columns, &rows, &[objective], &[], 0.0, 1.0);
        let leaves = LeafVariables::new(&plan, &fields, &|_| vec![0]);
        let values = leaves.values(&plan);
        let back = leaves.values(&leaves.plan_of(&values, &plan));
        assert!(back.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-3), "{back:?}");
        let of_leaves = LeafProblem::new(&problem, &leaves, &values);
        let mut gradient = Vec::new();
        of_leaves.evaluate(&values, &mut gradient);
        let largest = gradient.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        let mut seen = 0;
        for at in 0..values.len() {
            let moved = |by: f64| {
                let mut values = values.clone();
                values[at] += by;
                of_leaves.evaluate(&values, &mut Vec::new())
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((slope - gradient[at]).abs() < 2e-3 * largest, "{at}: {slope} for {}", gradient[at]);
            seen += usize::from(slope.abs() > 0.01 * largest);
        }
        assert!(seen > 30, "{seen} of {} variables count", values.len());
    }
}
