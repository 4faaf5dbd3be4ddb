//! Leaf positions and monitor units as variables: the beamlets' fluences as their function, and its gradient.
//!
//! During a segment tips move at constant speed from one control point to the next. With q(t) the part of a beamlet behind a tip at t, and
//! Q its integral, the mean part behind a tip that moves from t0 to t1 is (Q(t1) - Q(t0)) / (t1 - t0). A beamlet's fluence is the part
//! behind the leading tip minus the part behind the trailing tip, plus the transmission of the leaves. Leaf ends are modelled as sharp,
//! retracted by the offset of rounded ends ([`physics::Leaves::end_retreat_mm`]). The solver adds the difference to the true dose, which
//! contains what this model neglects.

use super::problem::Problem;
use super::setup::Field;
use super::solve::Differentiable;
use analysis::UNIT_MU;
use case::{Bank, Beam, Plan};
use physics::{Delivery, Leaves};
use rayon::prelude::*;
use sequence::{LEAST_CM2, first_pair, nearest_angle, open_cm2};
use std::ops::Range;

/// Travel below which a tip counts as static, fraction of a beamlet's width.
const STATIC_TRAVEL: f64 = 1e-3;

/// Factor of the curvature by monitor units over the sum of the beamlets' curvatures: doses of open beamlets overlap. Chosen.
const OVERLAP: f64 = 8.0;

/// A beam whose leaves are variables.
#[derive(Clone, Debug)]
pub struct LeafBeam {
    /// Index in the plan's beams.
    pub place: usize,
    pub delivery: Delivery,
    transmission: f64,
    retreat_mm: f64,
    /// Leaf pairs that a map of the beam has.
    pub pairs: Range<usize>,
    /// Leaf position set of each control point: points between which no leaf moves share one.
    pub positions: Vec<usize>,
    /// Control points at which segments with monitor units begin.
    pub starts: Vec<usize>,
    /// Index of its first variable: tips by position, pair and bank, then monitor units by segment.
    first: usize,
}

/// Segment between two control points, delivered from the direction of one field.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Index in [`LeafVariables::beams`].
    beam: usize,
    /// Indices of the first tips at its start and end.
    tips: [usize; 2],
    /// Index of its monitor units.
    mu: usize,
}

/// Beamlets of a field: cells of its map.
#[derive(Clone, Debug)]
struct Cells {
    first_pair: usize,
    first_mm: f64,
    step_mm: f64,
    columns: usize,
    /// Nearest active beamlet in the row of each cell, by its index in the field.
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

/// Mean part of a cell behind a tip during its travel, and the derivatives by the start and end of the travel, 1/mm.
fn passed([from, to]: [f64; 2], low: f64, width: f64) -> (f64, [f64; 2]) {
    // Most cells lie entirely before or behind the travel of a tip.
    if from.max(to) < low {
        return (0.0, [0.0; 2]);
    }
    if from.min(to) >= low + width {
        return (1.0, [0.0; 2]);
    }
    let travel = to - from;
    if travel.abs() < STATIC_TRAVEL * width {
        let middle = 0.5 * (from + to);
        let slope = if (low..low + width).contains(&middle) {
            0.5 / width
        } else {
            0.0
        };
        return (part_behind(middle, low, width), [slope; 2]);
    }
    let mean = (part_integral(to, low, width) - part_integral(from, low, width)) / travel;
    let [part_from, part_to] = [from, to].map(|t| part_behind(t, low, width));
    (
        mean,
        [(mean - part_from) / travel, (part_to - mean) / travel],
    )
}

/// Part of a cell behind a static tip at `t`.
fn part_behind(t: f64, low: f64, width: f64) -> f64 {
    ((t - low) / width).clamp(0.0, 1.0)
}

/// Integral of [`part_behind`] from the cell's low side to `t`, mm.
fn part_integral(t: f64, low: f64, width: f64) -> f64 {
    let part = part_behind(t, low, width);
    0.5 * width * part * part + (t - low - width).max(0.0)
}

/// Gantry angles of the fields at some indices, degrees.
pub fn angles_deg(fields: &[Field], places: &[usize]) -> Vec<f64> {
    let starts = places.iter().map(|field| fields[*field].1.beam.start());
    starts
        .map(|start| start.map_or(0.0, |point| point.gantry_deg))
        .collect()
}

impl Cells {
    fn new(beamlets: &super::beamlets::Beamlets, leaves: &Leaves, first: usize) -> Option<Self> {
        let map = beamlets.beam.fluence.as_ref()?;
        let mut beamlet_of_cell = vec![None; map.values.len()];
        (0..)
            .zip(&beamlets.active)
            .for_each(|(n, cell)| beamlet_of_cell[*cell] = Some(n));
        let mut nearest = Vec::with_capacity(beamlet_of_cell.len());
        for cell in 0..beamlet_of_cell.len() {
            let row = cell - cell % map.columns;
            let by_distance = (0..map.columns).filter_map(|column| {
                beamlet_of_cell[row + column].map(|n| (column.abs_diff(cell % map.columns), n))
            });
            nearest.push(by_distance.min().map(|(_, n)| n));
        }
        Some(Self {
            first_pair: first_pair(map, &leaves.boundaries_mm),
            first_mm: map.first_mm,
            step_mm: map.step_mm,
            columns: map.columns,
            nearest,
            beamlets: first..first + beamlets.active.len(),
            segments: Vec::new(),
        })
    }

    /// Column of a position along the leaf travel, with its fraction, within the map.
    fn column_at(&self, mm: f64) -> f64 {
        ((mm - self.first_mm) / self.step_mm).clamp(0.0, self.columns as f64)
    }

    fn pairs(&self) -> Range<usize> {
        self.first_pair..self.first_pair + self.nearest.len() / self.columns
    }
}

impl LeafVariables {
    /// Variables of all beams of a plan that have leaves and fields. `fields_of` gives the indices of a beam's fields.
    pub fn new(plan: &Plan, fields: &[Field], fields_of: &dyn Fn(&Beam) -> Vec<usize>) -> Self {
        let mut variables = Self {
            beams: Vec::new(),
            segments: Vec::new(),
            fields: Vec::with_capacity(fields.len()),
            count: 0,
        };
        let mut first = 0;
        for (machine, beamlets) in fields {
            let cells = machine
                .leaves
                .as_ref()
                .and_then(|leaves| Cells::new(beamlets, leaves, first));
            first += beamlets.active.len();
            variables
                .fields
                .push(cells.expect("fields have maps and machines leaves"));
        }
        for (place, beam) in plan.beams.iter().enumerate() {
            let beam_fields = fields_of(beam);
            // A beam of 0 MU keeps its leaves, which may not be leaves of this machine.
            if beam.mlc.is_some() && beam.mu > 0.0 && !beam_fields.is_empty() {
                variables.add(place, beam, &beam_fields, fields);
            }
        }
        variables
    }

    fn add(&mut self, place: usize, beam: &Beam, beam_fields: &[usize], fields: &[Field]) {
        let machine = &fields[beam_fields[0]].0;
        let (Some(leaves), Some(delivery)) = (&machine.leaves, machine.delivery) else {
            return;
        };
        let field_pairs = beam_fields.iter().map(|field| self.fields[*field].pairs());
        let pairs = field_pairs
            .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
            .unwrap_or(0..0);
        let points = &beam.control_points;
        let mut positions = vec![0];
        for pair in points.windows(2) {
            let last = positions[positions.len() - 1];
            positions.push(last + usize::from(pair[0].leaves_mm != pair[1].leaves_mm));
        }
        let first = self.count;
        let tips_end = first + 2 * pairs.len() * (positions[positions.len() - 1] + 1);
        let starts: Vec<usize> = (0..points.len() - 1)
            .filter(|n| points[n + 1].meterset_weight > points[*n].meterset_weight)
            .collect();
        let angles_deg = angles_deg(fields, beam_fields);
        for (n, start) in starts.iter().enumerate() {
            let nearest = nearest_angle([&points[*start], &points[start + 1]], &angles_deg);
            let tips = [*start, start + 1].map(|point| first + 2 * pairs.len() * positions[point]);
            let segment = Segment {
                beam: self.beams.len(),
                tips,
                mu: tips_end + n,
            };
            self.fields[beam_fields[nearest.unwrap_or_default()]]
                .segments
                .push(self.segments.len());
            self.segments.push(segment);
        }
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

    /// Tips and monitor units of the plan's beams.
    pub fn values(&self, plan: &Plan) -> Vec<f64> {
        let mut values = vec![0.0; self.count];
        for leaf_beam in &self.beams {
            let beam = &plan.beams[leaf_beam.place];
            for (point, position) in beam.control_points.iter().zip(&leaf_beam.positions) {
                let tips = point.leaves_mm[leaf_beam.pairs.clone()].iter().flatten();
                leaf_beam
                    .tips_mut(&mut values, *position)
                    .iter_mut()
                    .zip(tips)
                    .for_each(|(to, tip)| *to = *tip);
            }
            let mu = leaf_beam.starts.iter().map(|start| {
                let [from, to] =
                    [*start, start + 1].map(|n| beam.control_points[n].meterset_weight);
                (to - from) * beam.mu
            });
            leaf_beam
                .mu_mut(&mut values)
                .iter_mut()
                .zip(mu)
                .for_each(|(to, mu)| *to = mu);
        }
        values
    }

    /// The plan with other tips and monitor units.
    pub fn plan_of(&self, values: &[f64], plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for leaf_beam in &self.beams {
            let beam = &mut plan.beams[leaf_beam.place];
            let tips = leaf_beam.positions.iter().map(|position| {
                leaf_beam
                    .tips(values, *position)
                    .chunks(2)
                    .map(|tips| [tips[0], tips[1]])
                    .collect()
            });
            let tips: Vec<Vec<Bank>> = tips.collect();
            sequence::set_leaves(
                beam,
                leaf_beam.pairs.clone(),
                &tips,
                sequence::Segments {
                    starts: &leaf_beam.starts,
                    mu: leaf_beam.mu(values),
                },
                &leaf_beam.delivery,
            );
        }
        plan
    }

    /// Restores the leaves of static segments whose open area has fallen below the minimum of the sequencer.
    pub fn restore_small_segments(&self, plan: &mut Plan, previous: &Plan) {
        for leaf_beam in &self.beams {
            let previous_beam = &previous.beams[leaf_beam.place];
            let beam = &mut plan.beams[leaf_beam.place];
            for start in leaf_beam
                .starts
                .iter()
                .filter(|n| leaf_beam.positions[**n] == leaf_beam.positions[**n + 1])
            {
                let point = &beam.control_points[*start];
                if open_cm2(beam, &point.leaves_mm, point.jaws) < LEAST_CM2 {
                    for n in [*start, start + 1] {
                        beam.control_points[n]
                            .leaves_mm
                            .clone_from(&previous_beam.control_points[n].leaves_mm);
                    }
                }
            }
        }
    }

    /// Fluences of all beamlets, multiples of [`UNIT_MU`].
    pub fn fluences(&self, values: &[f64]) -> Vec<f64> {
        self.fields
            .par_iter()
            .flat_map_iter(|cells| self.field_fluences(cells, values))
            .collect()
    }

    /// Sum of the monitor units of all segments.
    pub fn mu(&self, values: &[f64]) -> f64 {
        let beams = self.beams.iter();
        beams.flat_map(|leaf_beam| leaf_beam.mu(values)).sum()
    }

    fn field_fluences(&self, cells: &Cells, values: &[f64]) -> Vec<f64> {
        let mut fluences = vec![0.0; cells.beamlets.len()];
        for segment in &cells.segments {
            let segment = &self.segments[*segment];
            let leaf_beam = &self.beams[segment.beam];
            let times = values[segment.mu] / UNIT_MU;
            fluences
                .iter_mut()
                .for_each(|fluence| *fluence += leaf_beam.transmission * times);
            self.each_cell(cells, segment, values, |beamlet, open, _| {
                fluences[beamlet] += times * (1.0 - leaf_beam.transmission) * open;
            });
        }
        fluences
    }

    /// Calls for each cell within the travel of the tips with its beamlet, the part of the monitor units for which it is open, and the
    /// derivative of this part by each tip, with the tip's index among the variables.
    fn each_cell(
        &self,
        cells: &Cells,
        segment: &Segment,
        values: &[f64],
        mut call: impl FnMut(usize, f64, [(usize, f64); 4]),
    ) {
        let leaf_beam = &self.beams[segment.beam];
        for row in 0..cells.nearest.len() / cells.columns {
            let pair = 2 * (cells.first_pair + row - leaf_beam.pairs.start);
            let places = segment.tips.map(|tips| tips + pair);
            let trail = places.map(|place| values[place] - leaf_beam.retreat_mm);
            let lead = places.map(|place| values[place + 1] + leaf_beam.retreat_mm);
            let low = trail[0].min(trail[1]);
            let high = lead[0].max(lead[1]);
            for column in
                cells.column_at(low).floor() as usize..cells.column_at(high).ceil() as usize
            {
                let Some(beamlet) = cells.nearest[row * cells.columns + column] else {
                    continue;
                };
                let side = cells.first_mm + column as f64 * cells.step_mm;
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

    /// Sums the contributions of all fields to the variables: `add_field` adds to the variables of the field's beam, the first of which has
    /// the given index.
    fn gathered(&self, add_field: impl Fn(&Cells, usize, &mut [f64]) + Sync) -> Vec<f64> {
        let by_field = self.fields.par_iter().map(|cells| {
            let Some(first) = cells.segments.first() else {
                return (0, Vec::new());
            };
            let leaf_beam = &self.beams[self.segments[*first].beam];
            let mut sums = vec![0.0; leaf_beam.mu_at().end - leaf_beam.first];
            add_field(cells, leaf_beam.first, &mut sums);
            (leaf_beam.first, sums)
        });
        let by_field: Vec<(usize, Vec<f64>)> = by_field.collect();
        let mut sums = vec![0.0; self.count];
        for (first, parts) in by_field {
            sums[first..]
                .iter_mut()
                .zip(parts)
                .for_each(|(sum, part)| *sum += part);
        }
        sums
    }
}

impl LeafBeam {
    pub fn last_position(&self) -> usize {
        self.positions[self.positions.len() - 1]
    }

    /// Indices of the tips of a position.
    pub fn tips_at(&self, position: usize) -> Range<usize> {
        let count = 2 * self.pairs.len();
        let first = self.first + position * count;
        first..first + count
    }

    /// Indices of the monitor units of the segments.
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
    /// `values` is the start of the solver: variables are scaled by the curvature there.
    pub fn new(problem: &'a Problem<'a>, leaves: &'a LeafVariables, values: &[f64]) -> Self {
        let by_fluence = problem.curvatures();
        let curvatures = leaves.gathered(|cells, first, sums| {
            let field_curvatures = &by_fluence[cells.beamlets.clone()];
            for segment in &cells.segments {
                let segment = &leaves.segments[*segment];
                let part = (1.0 - leaves.beams[segment.beam].transmission) / UNIT_MU;
                let mut by_mu = 0.0;
                leaves.each_cell(cells, segment, values, |beamlet, open, slopes| {
                    by_mu += OVERLAP * (part * open).powi(2) * field_curvatures[beamlet];
                    let times = part * values[segment.mu];
                    for (tip, slope) in slopes {
                        sums[tip - first] += (times * slope).powi(2) * field_curvatures[beamlet];
                    }
                });
                sums[segment.mu - first] += by_mu;
            }
        });
        Self {
            problem,
            leaves,
            curvatures,
        }
    }
}

impl Differentiable for LeafProblem<'_> {
    fn evaluate(&self, values: &[f64], gradient: &mut Vec<f64>) -> f64 {
        let leaves = self.leaves;
        let mut by_fluence = Vec::new();
        let objective = self
            .problem
            .evaluate(&leaves.fluences(values), &mut by_fluence);
        *gradient = leaves.gathered(|cells, first, sums| {
            let field_gradient = &by_fluence[cells.beamlets.clone()];
            let gradient_sum: f64 = field_gradient.iter().sum();
            for segment in &cells.segments {
                let segment = &leaves.segments[*segment];
                let transmission = leaves.beams[segment.beam].transmission;
                let part = (1.0 - transmission) / UNIT_MU;
                let times = part * values[segment.mu];
                let mut by_mu = transmission * gradient_sum / UNIT_MU;
                leaves.each_cell(cells, segment, values, |beamlet, open, slopes| {
                    by_mu += part * field_gradient[beamlet] * open;
                    for (tip, slope) in slopes {
                        sums[tip - first] += times * field_gradient[beamlet] * slope;
                    }
                });
                sums[segment.mu - first] += by_mu;
            }
        });
        let price = self.problem.price_per_mu();
        for leaf_beam in &leaves.beams {
            gradient[leaf_beam.mu_at()]
                .iter_mut()
                .for_each(|slope| *slope += price);
        }
        objective + price * leaves.mu(values)
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
    use crate::monitor_units::MonitorUnits;
    use crate::objective::{Aim, Objective};
    use crate::rows::{RowSet, Rows};
    use case::{ControlPoint, Jaws};
    use geometry::{Grid, PatientPosition};
    use glam::DVec3;
    use physics::Machine;
    use std::sync::Arc;

    /// Mean over a thousand positions of the travel.
    #[test]
    fn the_mean_part_behind_a_tip_is_the_mean_over_its_positions() {
        for [from, to] in [
            [-3.0, 12.0],
            [2.0, 4.0],
            [4.5, 1.0],
            [-4.0, -1.0],
            [6.0, 9.0],
            [1.0, 1.0],
            [7.0, 7.0],
        ] {
            let tips_mm = (0..1000).map(|n| from + (to - from) * (f64::from(n) + 0.5) / 1000.0);
            let want = tips_mm
                .map(|tip_mm| (tip_mm / 5.0).clamp(0.0, 1.0))
                .sum::<f64>()
                / 1000.0;
            let (got, _) = passed([from, to], 0.0, 5.0);
            assert!(
                (got - want).abs() < 1e-6,
                "{from} to {to}: {got} for {want}"
            );
        }
    }

    fn low_tips_mm(pair: usize) -> Bank {
        [
            -18.3 + 0.2 * (pair % 5) as f64,
            -12.1 + 0.3 * (pair % 7) as f64,
        ]
    }

    fn high_tips_mm(pair: usize) -> Bank {
        [
            3.4 + 0.3 * (pair % 4) as f64,
            14.2 - 0.4 * (pair % 3) as f64,
        ]
    }

    /// A plan of one beam on one field, and rows that see its beamlets by numbers without a pattern.
    fn one_beam() -> (Plan, Vec<Field>, Columns, Rows) {
        let machine = Machine::resolve("generic-6mv").unwrap();
        let mut beam = Beam::fixed(
            "b",
            1,
            0.0,
            DVec3::ZERO,
            Jaws {
                x: [-20.0, 20.0],
                y: [-10.0, 10.0],
            },
            60.0,
        );
        let target: Vec<DVec3> = (-20..=20)
            .map(|n| DVec3::new(f64::from(n), 0.0, f64::from(n % 9)))
            .collect();
        let beamlets =
            Beamlets::new(&beam, &machine, PatientPosition::Hfs, &target, 5.0, None).unwrap();
        let count = beamlets.active.len();
        let rows = 50;
        let gy: Vec<f32> = (0..rows * count)
            .map(|n| ((n * 37 % 101) as f32) / 300.0)
            .collect();
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [rows, 1, 1]).unwrap();
        let set = RowSet {
            name: "S".to_owned(),
            rows: (0..rows as u32).collect(),
            cm3: vec![1.0; rows],
        };
        let sampled = Rows {
            grid: Arc::new(grid),
            voxels: (0..rows).collect(),
            sets: vec![set],
        };
        let mlc = machine.leaves.as_ref().unwrap().to_case();
        let pairs = mlc.boundaries_mm.len() - 1;
        let start = beam.control_points[0].clone();
        // Leaves move, are static, and move back.
        let low: Vec<Bank> = (0..pairs).map(low_tips_mm).collect();
        let high: Vec<Bank> = (0..pairs).map(high_tips_mm).collect();
        let points = [(0.0, &low), (0.4, &high), (0.7, &high), (1.0, &low)];
        let points = points.map(|(meterset_weight, leaves_mm)| ControlPoint {
            meterset_weight,
            leaves_mm: leaves_mm.clone(),
            ..start.clone()
        });
        beam.mlc = Some(mlc);
        beam.control_points = points.to_vec();
        let mut plan = Plan::new("leaves", "generic-6mv");
        plan.beams = vec![beam];
        (
            plan,
            vec![(machine, beamlets)],
            Columns::from_gy(rows, &gy),
            sampled,
        )
    }

    #[test]
    fn a_beam_without_monitor_units_has_no_variables() {
        let (mut plan, fields, ..) = one_beam();
        plan.beams[0].mu = 0.0;
        plan.beams[0]
            .control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm.truncate(2));
        let leaves = LeafVariables::new(&plan, &fields, &|_| vec![0]);
        assert!(leaves.beams.is_empty() && leaves.values(&plan).is_empty());
    }

    /// The gradient by tips and monitor units equals central differences.
    #[test]
    fn gradients_by_tips_equal_central_differences() {
        let (plan, fields, columns, rows) = one_beam();
        let objective = Objective {
            structure: "S".to_owned(),
            aim: Aim::Deviation,
            gy: 2.0,
            weight: 1.0,
            asked: None,
            wish_range_gy: None,
            raised: 1.0,
        };
        // Monitor units have a price of their own beside the dose.
        let price = MonitorUnits {
            weight: 0.3,
            fields: Vec::new(),
        };
        let problem = Problem::new(&columns, &rows, &[objective], price, 1.0);
        let leaves = LeafVariables::new(&plan, &fields, &|_| vec![0]);
        let values = leaves.values(&plan);
        let back = leaves.values(&leaves.plan_of(&values, &plan));
        assert!(
            back.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-3),
            "{back:?}"
        );
        let leaf_problem = LeafProblem::new(&problem, &leaves, &values);
        let mut gradient = Vec::new();
        leaf_problem.evaluate(&values, &mut gradient);
        let largest = gradient
            .iter()
            .fold(0.0_f64, |largest, slope| largest.max(slope.abs()));
        let mut seen = 0;
        for n in 0..values.len() {
            let [plus, minus] = [1e-2, -1e-2].map(|step| {
                let mut values = values.clone();
                values[n] += step;
                leaf_problem.evaluate(&values, &mut Vec::new())
            });
            let slope = (plus - minus) / 2e-2;
            assert!(
                (slope - gradient[n]).abs() < 2e-3 * largest,
                "{n}: {slope} for {}",
                gradient[n]
            );
            seen += usize::from(slope.abs() > 0.01 * largest);
        }
        assert!(seen > 30, "{seen} of {} variables count", values.len());
    }
}
