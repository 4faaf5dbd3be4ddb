//! How far leaves may move and monitor units change at once, so that no limit of the machine is broken whatever the others do.

use super::leaf_variables::{LeafBeam, LeafVariables};
use case::{Beam, Plan};
use sequence::{LEAST_MU, ROUNDING_MM, beam_on_stretches, step_reach_mm, turned_deg};
use std::ops::RangeInclusive;

/// Monitor units change by this part for each mm that tips may move.
const MU_PART: f64 = 0.1;

/// Lower and upper bounds of variables.
pub struct LeafBounds {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

/// A leaf of a bank: the place of the variable that moves it, and how far beyond that its tip stands.
struct CarriedTip {
    at: usize,
    beyond_mm: f64,
}

/// Leaves that a carriage holds at some positions. Closed pairs beside the map follow the nearest row: the positive one of such a pair
/// stands a gap beyond that row's negative tip.
fn carried_tips(own: &LeafBeam, positions: RangeInclusive<usize>, bank: usize) -> Vec<CarriedTip> {
    let mut carried = Vec::new();
    for position in positions {
        let tips = own.tips_at(position);
        let of_bank = tips.clone().skip(bank).step_by(2);
        carried.extend(of_bank.map(|at| CarriedTip { at, beyond_mm: 0.0 }));
        if bank == 1 {
            let outermost = [tips.start, tips.end - 2];
            let beyond_mm = own.delivery.min_gap_mm;
            carried.extend(outermost.map(|at| CarriedTip { at, beyond_mm }));
        }
    }
    carried
}

impl LeafBounds {
    /// Bounds round `values` in which tips move by `reach_mm` at most. Room that two tips share is halved; that of a way between two
    /// positions is a third for each end and a third for the monitor units.
    pub fn round(leaves: &LeafVariables, plan: &Plan, values: &[f64], reach_mm: f64) -> Self {
        let mut bounds = Self {
            lower: values.iter().map(|value| value - reach_mm).collect(),
            upper: values.iter().map(|value| value + reach_mm).collect(),
        };
        for own in &leaves.beams {
            let beam = &plan.beams[own.place];
            bounds.keep_apart(own, values);
            bounds.keep_on_carriage(own, beam, values);
            bounds.keep_speed(own, beam, values, reach_mm);
        }
        bounds
    }

    fn lower(&mut self, at: usize, bound: f64) {
        self.lower[at] = self.lower[at].max(bound);
    }

    fn upper(&mut self, at: usize, bound: f64) {
        self.upper[at] = self.upper[at].min(bound);
    }

    fn keep_apart(&mut self, own: &LeafBeam, values: &[f64]) {
        let gap = own.delivery.min_gap_mm + ROUNDING_MM;
        for position in 0..=own.last_position() {
            let tips = own.tips_at(position);
            let pairs = own.pairs.len();
            for pair in 0..pairs {
                let nearest = if own.delivery.interdigitates {
                    pair..pair + 1
                } else {
                    pair.saturating_sub(1)..pairs.min(pair + 2)
                };
                for other in nearest {
                    let (low, high) = (tips.start + 2 * pair, tips.start + 2 * other + 1);
                    let room = 0.5 * (values[high] - values[low] - gap).max(0.0);
                    self.upper(low, values[low] + room);
                    self.lower(high, values[high] - room);
                }
            }
        }
    }

    /// All positions of a bank while the beam is on stay on its carriage, which stands meanwhile.
    fn keep_on_carriage(&mut self, own: &LeafBeam, beam: &Beam, values: &[f64]) {
        for stretch in beam_on_stretches(&beam.control_points) {
            let positions = own.positions[stretch.start]..=own.positions[stretch.end - 1];
            for bank in 0..2 {
                let carried = carried_tips(own, positions.clone(), bank);
                let at_mm = || carried.iter().map(|tip| values[tip.at] + tip.beyond_mm);
                let low = at_mm().fold(f64::INFINITY, f64::min);
                let high = at_mm().fold(f64::NEG_INFINITY, f64::max);
                let room = 0.5 * (own.delivery.max_span_mm - (high - low) - ROUNDING_MM).max(0.0);
                for tip in &carried {
                    self.lower(tip.at, low - room - tip.beyond_mm);
                    self.upper(tip.at, high + room - tip.beyond_mm);
                }
            }
        }
    }

    fn keep_speed(&mut self, own: &LeafBeam, beam: &Beam, values: &[f64], reach_mm: f64) {
        for (start, mu_at) in own.starts.iter().zip(own.mu_at()) {
            let points = [&beam.control_points[*start], &beam.control_points[start + 1]];
            let [from, to] = [*start, start + 1].map(|n| own.tips_at(own.positions[n]));
            let (mu, part) = (values[mu_at], MU_PART * reach_mm);
            let mut least = (1.0 - part) * mu;
            if from == to {
                // Segments of leaves that stand give as much at least as where they were cut.
                least = least.max(LEAST_MU.min(mu));
            } else {
                let most = step_reach_mm(points, mu, &own.delivery);
                let mut least_room = f64::INFINITY;
                for (from, to) in from.zip(to) {
                    let way = values[to] - values[from];
                    let room = (most - way.abs()).max(0.0);
                    let (longer, shorter) = (room / 3.0, (2.0 * way.abs() + room) / 3.0);
                    let [back, on] = if way >= 0.0 { [shorter, longer] } else { [longer, shorter] };
                    self.lower(to, values[to] - back);
                    self.upper(to, values[to] + on);
                    self.lower(from, values[from] - on);
                    self.upper(from, values[from] + back);
                    least_room = least_room.min(room);
                }
                if turned_deg(points).is_none() {
                    least = least.max(mu * (1.0 - least_room / (3.0 * most)));
                }
            }
            self.lower[mu_at] = least.min(mu);
            // A segment that gave hardly anything may grow.
            self.upper[mu_at] = (1.0 + part) * mu + 0.1 * part;
        }
    }
}
