//! Bounds of leaf positions and monitor units in one solution: any values within them satisfy the limits of the machine.

use super::leaf_variables::{LeafBeam, LeafVariables};
use case::{Beam, Plan};
use sequence::{LEAST_MU, ROUNDING_MM, beam_on_stretches, step_reach_mm, turned_deg};
use std::ops::RangeInclusive;

/// Relative change of monitor units for each mm of leaf movement.
const MU_PART: f64 = 0.1;

/// Lower and upper bounds of variables.
pub struct LeafBounds {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

/// A leaf tip of a carriage: the index of its variable, and its distance beyond the variable's position.
struct CarriedTip {
    variable: usize,
    beyond_mm: f64,
}

/// Leaf tips of a carriage at some positions. Closed pairs beside the map follow the nearest row: the positive leaf of such a pair is a gap
/// beyond the negative tip of that row.
fn carried_tips(
    leaf_beam: &LeafBeam,
    positions: RangeInclusive<usize>,
    bank: usize,
) -> Vec<CarriedTip> {
    let mut carried = Vec::new();
    for position in positions {
        let tips = leaf_beam.tips_at(position);
        let bank_tips = tips.clone().skip(bank).step_by(2);
        carried.extend(bank_tips.map(|variable| CarriedTip {
            variable,
            beyond_mm: 0.0,
        }));
        if bank == 1 {
            let outermost = [tips.start, tips.end - 2];
            let beyond_mm = leaf_beam.delivery.min_gap_mm;
            carried.extend(outermost.map(|variable| CarriedTip {
                variable,
                beyond_mm,
            }));
        }
    }
    carried
}

impl LeafBounds {
    /// Bounds round `values` in which tips move by at most `reach_mm`. The distance between two tips is shared by halves; the margin of
    /// leaf travel between two positions by thirds: one for each end, and one for the monitor units.
    pub fn round(leaves: &LeafVariables, plan: &Plan, values: &[f64], reach_mm: f64) -> Self {
        let mut bounds = Self {
            lower: values.iter().map(|value| value - reach_mm).collect(),
            upper: values.iter().map(|value| value + reach_mm).collect(),
        };
        for leaf_beam in &leaves.beams {
            let beam = &plan.beams[leaf_beam.place];
            bounds.keep_gaps(leaf_beam, values);
            bounds.keep_on_carriage(leaf_beam, beam, values);
            bounds.keep_speed(leaf_beam, beam, values, reach_mm);
        }
        bounds
    }

    fn raise_lower(&mut self, variable: usize, bound: f64) {
        self.lower[variable] = self.lower[variable].max(bound);
    }

    fn reduce_upper(&mut self, variable: usize, bound: f64) {
        self.upper[variable] = self.upper[variable].min(bound);
    }

    fn keep_gaps(&mut self, leaf_beam: &LeafBeam, values: &[f64]) {
        let gap = leaf_beam.delivery.min_gap_mm + ROUNDING_MM;
        for position in 0..=leaf_beam.last_position() {
            let tips = leaf_beam.tips_at(position);
            let pairs = leaf_beam.pairs.len();
            for pair in 0..pairs {
                let nearest = if leaf_beam.delivery.interdigitates {
                    pair..pair + 1
                } else {
                    pair.saturating_sub(1)..pairs.min(pair + 2)
                };
                for other in nearest {
                    let (low, high) = (tips.start + 2 * pair, tips.start + 2 * other + 1);
                    let room = 0.5 * (values[high] - values[low] - gap).max(0.0);
                    self.reduce_upper(low, values[low] + room);
                    self.raise_lower(high, values[high] - room);
                }
            }
        }
    }

    /// Keeps all tips of a bank within the span of its carriage, which does not move while the beam is on.
    fn keep_on_carriage(&mut self, leaf_beam: &LeafBeam, beam: &Beam, values: &[f64]) {
        for stretch in beam_on_stretches(&beam.control_points) {
            let positions =
                leaf_beam.positions[stretch.start]..=leaf_beam.positions[stretch.end - 1];
            for bank in 0..2 {
                let carried = carried_tips(leaf_beam, positions.clone(), bank);
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                for tip in &carried {
                    let tip_mm = values[tip.variable] + tip.beyond_mm;
                    (low, high) = (low.min(tip_mm), high.max(tip_mm));
                }
                let room =
                    0.5 * (leaf_beam.delivery.max_span_mm - (high - low) - ROUNDING_MM).max(0.0);
                for tip in &carried {
                    self.raise_lower(tip.variable, low - room - tip.beyond_mm);
                    self.reduce_upper(tip.variable, high + room - tip.beyond_mm);
                }
            }
        }
    }

    fn keep_speed(&mut self, leaf_beam: &LeafBeam, beam: &Beam, values: &[f64], reach_mm: f64) {
        for (start, mu_variable) in leaf_beam.starts.iter().zip(leaf_beam.mu_at()) {
            let points = [
                &beam.control_points[*start],
                &beam.control_points[start + 1],
            ];
            let [from, to] = [*start, start + 1].map(|n| leaf_beam.tips_at(leaf_beam.positions[n]));
            let (mu, relative_change) = (values[mu_variable], MU_PART * reach_mm);
            let mut min_mu = (1.0 - relative_change) * mu;
            if from == to {
                // A static segment keeps the minimum of the sequencer.
                min_mu = min_mu.max(LEAST_MU.min(mu));
            } else {
                let max_travel_mm = step_reach_mm(points, mu, &leaf_beam.delivery);
                let mut min_room = f64::INFINITY;
                for (from, to) in from.zip(to) {
                    let travel = values[to] - values[from];
                    let room = (max_travel_mm - travel.abs()).max(0.0);
                    let (longer, shorter) = (room / 3.0, (2.0 * travel.abs() + room) / 3.0);
                    let [back, on] = if travel >= 0.0 {
                        [shorter, longer]
                    } else {
                        [longer, shorter]
                    };
                    self.raise_lower(to, values[to] - back);
                    self.reduce_upper(to, values[to] + on);
                    self.raise_lower(from, values[from] - on);
                    self.reduce_upper(from, values[from] + back);
                    min_room = min_room.min(room);
                }
                if turned_deg(points).is_none() {
                    min_mu = min_mu.max(mu * (1.0 - min_room / (3.0 * max_travel_mm)));
                }
            }
            self.lower[mu_variable] = min_mu.min(mu);
            // The constant lets a segment of almost no monitor units grow.
            self.upper[mu_variable] = (1.0 + relative_change) * mu + 0.1 * relative_change;
        }
    }
}
