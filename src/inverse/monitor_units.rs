//! Monitor units of maps, as leaves would need them: their price, and the fluence that leaks while they are delivered.
//!
//! A one-way sweep of a leaf pair needs at least the sum of the rises of its row, by sliding window and by step and shoot alike (Kamath et
//! al., Phys. Med. Biol. 48 (2003) 307), and a field the most of its rows:
//!
//!     h(t) = 0 (t <= 0), t^2 / 2 delta (t < delta), t - delta / 2;   R_r = sum_j h(x_r,j - x_r,j-1);   M_f = (sum_r R_r^p)^(1/p)
//!
//! No beamlet of a field is darker than what its closed leaves let through for all of the field's monitor units, and their tips while
//! they pass.

use super::arcs::is_of_sector;
use super::setup::Setup;
use analysis::UNIT_MU;
use case::{Beam, FluenceMap, Plan};
use physics::{Delivery, Leaves, Machine};
use rayon::prelude::*;
use sequence::{ideal_gap_mm, sliding_rate_mu_min};
use std::ops::Range;

/// Weight of 100 MU a fraction of [`CHOSEN_AT_GY`], for a plan's weight of 1. Chosen on `openkbp-pt200`: the leakage of 100 MU costs its
/// objectives about an eighth of this; beyond it organs pay for fewer monitor units.
const WEIGHT: f64 = 2e-3;

/// Reference dose of a fraction at which the weight was chosen, Gy.
const CHOSEN_AT_GY: f64 = 2.0;

/// Rise up to which its price is quadratic, in units of 100 MU: less than sequenced leaves resolve.
const DELTA: f64 = 0.02;

/// A field is needed whose strongest beamlet has more than this multiple of what leaks.
const STANDS_OUT: f64 = 1.5;

/// p of the norm over rows: of 20 equal rows it is 28 % above their sum of rises.
const NORM: i32 = 12;

/// Rows of the maps of all fields, by their columns.
#[derive(Clone, Debug)]
pub struct MonitorUnits {
    /// Weight of 100 MU.
    pub weight: f64,
    pub fields: Vec<FieldRows>,
}

/// Rows of a map, and what its leaves let through.
#[derive(Clone, Debug)]
pub struct FieldRows {
    /// Columns of each row from its first beamlet to its last along the leaves' travel; `None` for a cell without beamlet, which stays at 0.
    pub rows: Vec<Vec<Option<usize>>>,
    beamlets: Range<usize>,
    leakage: Leakage,
}

/// Fluence that passes closed leaves of a field while its map is delivered.
#[derive(Clone, Copy, Debug)]
struct Leakage {
    sweep: Sweep,
    /// Mean part of the primary that passes a leaf.
    transmission: f64,
    width_mm: f64,
    /// Distance of the tips of a pair, rounded ends counted, at which they pass every beamlet, however dark it is.
    gap_mm: f64,
}

/// Delivery of a field's map.
#[derive(Clone, Copy, Debug)]
enum Sweep {
    /// Leaves travel while the beam is on, at the dose rate that the beam is set to, or the rate of a sliding window.
    Sliding {
        delivery: Delivery,
        has_set_rate: bool,
    },
    /// Leaves travel while the gantry turns, which needs no more monitor units.
    Sector,
}

impl Leakage {
    /// No leaves, or none whose limits are known.
    const NONE: Self = Self {
        sweep: Sweep::Sector,
        transmission: 0.0,
        width_mm: 1.0,
        gap_mm: 0.0,
    };

    fn new(machine: &Machine, beam: &Beam, map: &FluenceMap) -> Self {
        let (Some(leaves), Some(delivery)) = (&machine.leaves, &machine.delivery) else {
            return Self::NONE;
        };
        // Maps may be cut into either technique, and are the same for both: a sliding window leaks more.
        let sweep = if is_of_sector(beam.number) {
            Sweep::Sector
        } else {
            Sweep::Sliding {
                delivery: delivery.at_rate_of(beam),
                has_set_rate: beam.dose_rate_mu_min.is_some(),
            }
        };
        Self {
            sweep,
            transmission: mean_transmission(leaves, map, machine.sad_mm),
            width_mm: map.step_mm * map.columns as f64,
            gap_mm: ideal_gap_mm(delivery, leaves.end_retreat_mm(machine.sad_mm)),
        }
    }

    /// Fluence behind closed leaves for rises of a field, both in units of 100 MU.
    fn fluence(&self, rises: f64) -> f64 {
        let Self {
            sweep,
            transmission,
            width_mm,
            gap_mm,
        } = *self;
        match sweep {
            Sweep::Sector => (transmission + gap_mm / width_mm) * rises,
            Sweep::Sliding {
                delivery,
                has_set_rate,
            } => {
                let rate_mu_min = if has_set_rate {
                    delivery.dose_rate_mu_min
                } else {
                    sliding_rate_mu_min(UNIT_MU * rises, width_mm, &delivery)
                };
                let per_mm = rate_mu_min / (60.0 * delivery.leaf_speed_mm_s) / UNIT_MU;
                transmission * (rises + width_mm * per_mm) + gap_mm * per_mm
            }
        }
    }
}

/// Part of the primary that closed leaves let through, on average over a leaf and where it joins the next one.
fn mean_transmission(leaves: &Leaves, map: &FluenceMap, sad_mm: f64) -> f64 {
    let rows = (map.rows_mm.len() - 1).max(1) as f64;
    let leaf_mm = (map.rows_mm[map.rows_mm.len() - 1] - map.rows_mm[0]) / rows;
    let joint = (leaves.tongue_mm * sad_mm / leaves.distance_mm / leaf_mm).min(1.0);
    leaves.transmission + joint * (leaves.interleaf_transmission - leaves.transmission).max(0.0)
}

/// Smoothed rise, and its derivative.
fn rise(step: f64) -> [f64; 2] {
    if step <= 0.0 {
        [0.0, 0.0]
    } else if step < DELTA {
        [step * step / (2.0 * DELTA), step / DELTA]
    } else {
        [step - 0.5 * DELTA, 1.0]
    }
}

/// Sum of the smoothed rises along a row.
fn sum_of_rises(row: impl Iterator<Item = f64>) -> f64 {
    let mut previous = 0.0;
    row.map(|fluence| rise(fluence - std::mem::replace(&mut previous, fluence))[0])
        .sum()
}

impl FieldRows {
    /// Fluence behind the closed leaves, unless no beamlet stands out from it.
    fn leaked(&self, fluences: &[f64]) -> f64 {
        let leaked = self.leakage.fluence(self.rises(fluences));
        let of_beamlets = fluences[self.beamlets.clone()].iter();
        let strongest = of_beamlets.copied().fold(0.0, f64::max);
        if strongest > STANDS_OUT * leaked {
            leaked
        } else {
            0.0
        }
    }

    fn fluences<'a>(
        row: &'a [Option<usize>],
        fluences: &'a [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        row.iter().map(|column| column.map_or(0.0, |n| fluences[n]))
    }

    /// Sum of the rises of each row, in units of 100 MU.
    fn row_rises(&self, fluences: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter();
        rows.map(|row| sum_of_rises(Self::fluences(row, fluences)))
            .collect()
    }

    /// M_f, in units of 100 MU.
    fn rises(&self, fluences: &[f64]) -> f64 {
        norm(&self.row_rises(fluences))
    }

    /// M_f; adds `weight` times its gradient.
    fn add_gradient(&self, fluences: &[f64], weight: f64, gradient: &mut [f64]) -> f64 {
        let rises = self.row_rises(fluences);
        let total = norm(&rises);
        if total <= 0.0 {
            return total;
        }
        for (row, row_rises) in self.rows.iter().zip(rises) {
            let by_row = weight * (row_rises / total).powi(NORM - 1);
            let (mut previous, mut previous_column) = (0.0, None);
            for (column, fluence) in row.iter().zip(Self::fluences(row, fluences)) {
                let slope = by_row * rise(fluence - previous)[1];
                if let Some(column) = column {
                    gradient[*column] += slope;
                }
                if let Some(column) = previous_column {
                    gradient[column] -= slope;
                }
                (previous, previous_column) = (fluence, *column);
            }
        }
        total
    }
}

/// The [`NORM`] of values that are not negative; scaled by the greatest, whose power would overflow.
fn norm(values: &[f64]) -> f64 {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    if greatest <= 0.0 {
        return 0.0;
    }
    let powers = values.iter().map(|value| (value / greatest).powi(NORM));
    greatest * powers.sum::<f64>().powf(f64::from(NORM).recip())
}

impl MonitorUnits {
    /// Maps without rows: they cost nothing and let nothing through.
    pub fn none() -> Self {
        Self {
            weight: 0.0,
            fields: Vec::new(),
        }
    }

    /// The price alone, of monitor units that leaves deliver.
    pub(super) fn of_leaves(&self) -> Self {
        Self {
            weight: self.weight,
            ..Self::none()
        }
    }

    pub(super) fn new(setup: &Setup, reference_gy: f64) -> Self {
        let mut first = 0;
        let mut fields = Vec::with_capacity(setup.fields.len());
        for (machine, beamlets) in &setup.fields {
            let beamlet_range = first..first + beamlets.active.len();
            first = beamlet_range.end;
            let Some(map) = &beamlets.beam.fluence else {
                continue;
            };
            fields.push(FieldRows {
                rows: rows_of(&beamlets.active, map.columns, beamlet_range.start),
                beamlets: beamlet_range,
                leakage: Leakage::new(machine, &beamlets.beam, map),
            });
        }
        Self {
            weight: weight(&setup.plan, reference_gy),
            fields,
        }
    }

    /// Fluence of each field behind its closed leaves. A field in which no beamlet stands out from it is not needed: without leakage its
    /// fluence goes on to 0. Maps without a price of monitor units are not meant for leaves, and leak nothing.
    pub(super) fn leaked(&self, fluences: &[f64]) -> Vec<f64> {
        if self.weight <= 0.0 {
            return vec![0.0; self.fields.len()];
        }
        let fields = self.fields.iter();
        fields.map(|field| field.leaked(fluences)).collect()
    }

    /// Lower bound of each fluence: what leaks in its field, but nothing beyond the bounds that the planner has set.
    pub(super) fn floor(&self, leaked: &[f64], upper: &[f64]) -> Vec<f64> {
        let mut floor = vec![0.0; upper.len()];
        for (field, leaked) in self.fields.iter().zip(leaked) {
            let beamlets = field.beamlets.clone();
            let bounds = floor[beamlets.clone()].iter_mut().zip(&upper[beamlets]);
            bounds.for_each(|(floor, upper)| *floor = leaked.min(*upper));
        }
        floor
    }

    /// The term of the objective in words and numbers, for others to minimise.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::json!({"type": "monitor_units", "weight": self.weight, "delta": DELTA, "norm": NORM})
    }

    /// Weighted monitor units.
    pub fn value(&self, fluences: &[f64]) -> f64 {
        let fields = self.fields.par_iter();
        self.weight * fields.map(|field| field.rises(fluences)).sum::<f64>()
    }

    /// Weighted monitor units; adds their gradient.
    pub(super) fn add_gradient(&self, fluences: &[f64], gradient: &mut [f64]) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let fields = self.fields.iter();
        let rises: f64 = fields
            .map(|field| field.add_gradient(fluences, self.weight, gradient))
            .sum();
        self.weight * rises
    }
}

/// Rows of a map with `columns` cells a row, by the columns of its active cells, which begin at `first`.
fn rows_of(active: &[usize], columns: usize, first: usize) -> Vec<Vec<Option<usize>>> {
    let mut rows: Vec<Vec<Option<usize>>> = Vec::new();
    let mut previous: Option<usize> = None;
    for (n, cell) in active.iter().enumerate() {
        match (previous, rows.last_mut()) {
            (Some(previous), Some(row)) if previous / columns == cell / columns => {
                row.resize(row.len() + cell - previous - 1, None);
                row.push(Some(first + n));
            }
            _ => rows.push(vec![Some(first + n)]),
        }
        previous = Some(*cell);
    }
    rows
}

/// Weight of 100 MU a fraction. Objectives are scaled by the dose of the course, monitor units by the dose of a fraction, so that the
/// optimal course does not depend on the number of fractions.
fn weight(plan: &Plan, reference_gy: f64) -> f64 {
    let fraction_gy = reference_gy / f64::from(plan.fractions.max(1));
    WEIGHT * plan.objectives.monitor_units * CHOSEN_AT_GY / fraction_gy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(rows: Vec<Vec<Option<usize>>>, count: usize) -> FieldRows {
        FieldRows {
            rows,
            beamlets: 0..count,
            leakage: Leakage {
                transmission: 0.01,
                ..Leakage::NONE
            },
        }
    }

    #[test]
    fn rows_keep_the_gaps_between_their_beamlets() {
        let rows = rows_of(&[1, 2, 4, 6, 7], 5, 10);
        assert_eq!(
            rows,
            [
                vec![Some(10), Some(11), None, Some(12)],
                vec![Some(13), Some(14)]
            ]
        );
    }

    /// A row of 0.3, 0.1, 0.6 rises by 0.3 + 0.5, each less delta / 2; a cell without beamlet lets the next one rise from 0.
    #[test]
    fn monitor_units_are_the_rises_of_the_slowest_row() {
        let maps = [0.3, 0.1, 0.6, 0.2];
        let one_row = field(vec![(0..3).map(Some).collect()], 3);
        assert!((one_row.rises(&maps) - (0.8 - DELTA)).abs() < 1e-12);
        let with_gap = field(vec![vec![Some(0), None, Some(2)]], 3);
        assert!((with_gap.rises(&maps) - (0.9 - DELTA)).abs() < 1e-12);
        let two_rows = field(vec![(0..3).map(Some).collect(), vec![Some(3)]], 4);
        let rises = two_rows.rises(&maps);
        assert!(rises >= one_row.rises(&maps) && rises < one_row.rises(&maps) + 1e-6);
        assert_eq!(one_row.rises(&[0.0; 3]), 0.0);
    }

    #[test]
    fn gradients_equal_central_differences() {
        let field = field(
            vec![
                vec![Some(0), Some(1), None, Some(2)],
                vec![Some(3), Some(4)],
            ],
            5,
        );
        let maps = [0.3, 0.31, 0.6, 0.5, 0.52];
        let mut gradient = vec![0.0; 5];
        field.add_gradient(&maps, 2.0, &mut gradient);
        for n in 0..5 {
            let [plus, minus] = [1e-5, -1e-5].map(|step| {
                let mut moved = maps;
                moved[n] += step;
                2.0 * field.rises(&moved)
            });
            let slope = (plus - minus) / 2e-5;
            assert!(
                (slope - gradient[n]).abs() < 1e-6,
                "{n}: {slope}, {gradient:?}"
            );
        }
    }

    /// Closed leaves let 1 % of the rises through, but nothing beyond a planner's bound.
    #[test]
    fn no_beamlet_is_darker_than_what_leaks() {
        let maps = [0.3, 0.1, 0.6];
        let rises = MonitorUnits {
            weight: 1.0,
            fields: vec![field(vec![(0..3).map(Some).collect()], 3)],
        };
        let leaked_fluence = rises.leaked(&maps);
        let floor = rises.floor(&leaked_fluence, &[f64::INFINITY, 0.002, f64::INFINITY]);
        let leaked = 0.01 * (0.8 - DELTA);
        for (floor, want) in floor.iter().zip([leaked, 0.002, leaked]) {
            assert!((floor - want).abs() < 1e-12, "{floor} for {want}");
        }
        assert_eq!(rises.leaked(&[0.0; 3]), [0.0]);
        let unpriced = MonitorUnits {
            weight: 0.0,
            ..rises
        };
        assert_eq!(unpriced.leaked(&maps), [0.0]);
    }

    /// A window of 200 mm at 25 mm/s and 600 MU/min crosses in 80 MU, and its tips pass each beamlet 2 mm apart for 0.8 MU; an arc's
    /// tips do so for a hundredth of the rises.
    #[test]
    fn travelling_tips_let_through_what_their_gap_passes() {
        let delivery = Machine::resolve("generic-6mv").unwrap().delivery.unwrap();
        let sliding = Leakage {
            sweep: Sweep::Sliding {
                delivery,
                has_set_rate: false,
            },
            transmission: 0.01,
            width_mm: 200.0,
            gap_mm: 2.0,
        };
        // 60 sqrt(2.5 * 75 * 25 / 200) = 290 MU/min, in steps 300.
        assert!((sliding.fluence(0.75) - (0.01 * (0.75 + 0.4) + 0.004)).abs() < 1e-12);
        let at_full_rate = Leakage {
            sweep: Sweep::Sliding {
                delivery,
                has_set_rate: true,
            },
            ..sliding
        };
        assert!((at_full_rate.fluence(0.75) - (0.01 * (0.75 + 0.8) + 0.008)).abs() < 1e-12);
        let of_sector = Leakage {
            sweep: Sweep::Sector,
            ..sliding
        };
        assert!((of_sector.fluence(0.75) - 0.015).abs() < 1e-12);
    }

    /// A course has the same price in one fraction or in 25.
    #[test]
    fn a_course_costs_the_same_in_any_number_of_fractions() {
        for (fractions, reference_gy) in [(25, 50.0), (1, 50.0), (5, 50.0), (35, 70.0)] {
            let plan = Plan {
                fractions,
                ..Plan::new("P", "generic-6mv")
            };
            // Monitor units of a fraction are in proportion to its dose.
            let price = weight(&plan, reference_gy) * reference_gy / f64::from(fractions);
            assert!((price - 4e-3).abs() < 1e-15, "{fractions}: {price}");
        }
    }
}
