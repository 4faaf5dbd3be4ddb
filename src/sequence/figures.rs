//! How a beam or a plan is delivered, in figures.

use crate::limits::farthest_mm;
use case::{Bank, Beam, ControlPoint, Jaws, MlcAxis, Plan, turn_deg};
use physics::{Delivery, Machine};

/// Figures of a delivery; means over monitor units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeliveryFigures {
    /// Monitor units of one fraction.
    pub mu: f64,
    /// With the beam on, seconds: at the full dose rate, or as fast as leaves and gantry follow.
    pub beam_on_s: f64,
    /// Modulation complexity score: 1 for one open rectangle, less the more leaves differ (McNiven et al., Med. Phys. 37, 505 (2010)).
    pub complexity: f64,
    /// Between the tips of open pairs, mm.
    pub mean_gap_mm: f64,
    /// The smallest aperture that gives monitor units, cm2.
    pub smallest_cm2: f64,
    /// Apertures that give monitor units: segments, or steps of a sliding window.
    pub apertures: usize,
}

/// Opening of a pair of leaves within the jaws: its tips, and its height, mm.
struct Open {
    row: usize,
    tips_mm: Bank,
    height_mm: f64,
}

fn openings(beam: &Beam, leaves_mm: &[Bank], jaws: Jaws) -> Vec<Open> {
    let Some(mlc) = &beam.mlc else {
        return Vec::new();
    };
    let [u, v] = if mlc.axis == MlcAxis::X {
        [jaws.x, jaws.y]
    } else {
        [jaws.y, jaws.x]
    };
    let open = |(row, (side, tips)): (usize, (&[f64], &Bank))| Open {
        row,
        tips_mm: [tips[0].max(u[0]), tips[1].min(u[1])],
        height_mm: side[1].min(v[1]) - side[0].max(v[0]),
    };
    let rows = mlc
        .boundaries_mm
        .windows(2)
        .zip(leaves_mm)
        .enumerate()
        .map(open);
    rows.filter(|open| open.tips_mm[1] > open.tips_mm[0] && open.height_mm > 0.0)
        .collect()
}

/// Area of the opening of leaves and jaws at the isocentre plane, cm2.
pub fn open_cm2(beam: &Beam, leaves_mm: &[Bank], jaws: Jaws) -> f64 {
    let openings = openings(beam, leaves_mm, jaws);
    openings
        .iter()
        .map(|open| 0.01 * (open.tips_mm[1] - open.tips_mm[0]) * open.height_mm)
        .sum()
}

impl DeliveryFigures {
    /// Figures of a beam whose leaves deliver it. Between control points leaves stand half way.
    pub fn new(beam: &Beam, limits: &Delivery) -> Self {
        let limits = &limits.at_rate_of(beam);
        let steps = || {
            beam.control_points
                .windows(2)
                .filter(|p| p[1].meterset_weight > p[0].meterset_weight)
        };
        let half_way = |p: &[ControlPoint]| p[0].on_the_way_to(&p[1], 0.5);
        // The widest that each pair opens over the beam: the area that others are held against.
        let mut widest: Vec<Option<Bank>> = Vec::new();
        for point in steps().map(half_way) {
            widest.resize(point.leaves_mm.len(), None);
            for open in openings(beam, &point.leaves_mm, point.jaws) {
                let [low, high] = widest[open.row].unwrap_or(open.tips_mm);
                widest[open.row] = Some([low.min(open.tips_mm[0]), high.max(open.tips_mm[1])]);
            }
        }
        let widest_mm: f64 = widest
            .into_iter()
            .flatten()
            .map(|[low, high]| high - low)
            .sum();
        let mut figures = Self {
            mu: beam.mu,
            smallest_cm2: f64::INFINITY,
            ..Self::default()
        };
        let mut gaps = [0.0; 2];
        for step in steps() {
            let part = step[1].meterset_weight - step[0].meterset_weight;
            let point = half_way(step);
            let openings = openings(beam, &point.leaves_mm, point.jaws);
            let open_mm: f64 = openings
                .iter()
                .map(|open| open.tips_mm[1] - open.tips_mm[0])
                .sum();
            let turned_deg = turn_deg(step[0].gantry_deg, step[1].gantry_deg).abs();
            figures.beam_on_s += (60.0 * part * beam.mu / limits.dose_rate_mu_min)
                .max(farthest_mm(&step[0], &step[1]) / limits.leaf_speed_mm_s)
                .max(turned_deg / limits.gantry_speed_deg_s);
            figures.complexity += part * leaf_sequence_variability(&openings) * open_mm
                / widest_mm.max(f64::MIN_POSITIVE);
            gaps = [
                gaps[0] + part * open_mm,
                gaps[1] + part * openings.len() as f64,
            ];
            // Leaves that start and end under the jaws open nothing there.
            if open_mm > 0.0 {
                figures.smallest_cm2 =
                    figures
                        .smallest_cm2
                        .min(open_cm2(beam, &point.leaves_mm, point.jaws));
            }
            figures.apertures += 1;
        }
        figures.mean_gap_mm = gaps[0] / gaps[1].max(f64::MIN_POSITIVE);
        figures
    }

    /// Figures of a beam of a plan, `None` where leaves or limits of its machine are missing. A beam of one control point is one aperture.
    pub fn of_beam(plan: &Plan, beam: &Beam) -> Option<Self> {
        let limits = Machine::resolve(plan.machine_of(beam)).ok()?.delivery?;
        if beam.mlc.is_none() || beam.fluence.is_some() {
            return None;
        }
        let [only] = &*beam.control_points else {
            return Some(Self::new(beam, &limits));
        };
        let start = ControlPoint {
            meterset_weight: 0.0,
            ..only.clone()
        };
        Some(Self::new(
            &Beam {
                control_points: vec![start, only.clone()],
                ..beam.clone()
            },
            &limits,
        ))
    }

    /// Figures of all beams of a plan that are switched on and deliver something; `None` where leaves or limits of a machine are missing.
    pub fn of_plan(plan: &Plan) -> Option<Self> {
        let beams = plan
            .beams
            .iter()
            .filter(|beam| beam.is_switched_on() && beam.mu > 0.0);
        let beams: Vec<Self> = beams
            .map(|beam| Self::of_beam(plan, beam))
            .collect::<Option<_>>()?;
        (!beams.is_empty()).then(|| Self::together(&beams))
    }

    fn together(beams: &[Self]) -> Self {
        let mu: f64 = beams.iter().map(|beam| beam.mu).sum();
        let mean = |figure: fn(&Self) -> f64| {
            beams.iter().map(|beam| beam.mu * figure(beam)).sum::<f64>() / mu.max(f64::MIN_POSITIVE)
        };
        Self {
            mu,
            beam_on_s: beams.iter().map(|beam| beam.beam_on_s).sum(),
            complexity: mean(|beam| beam.complexity),
            mean_gap_mm: mean(|beam| beam.mean_gap_mm),
            smallest_cm2: beams
                .iter()
                .map(|beam| beam.smallest_cm2)
                .fold(f64::INFINITY, f64::min),
            apertures: beams.iter().map(|beam| beam.apertures).sum(),
        }
    }
}

/// Leaf sequence variability of McNiven, the product of both banks.
fn leaf_sequence_variability(openings: &[Open]) -> f64 {
    bank_variability(openings, 0) * bank_variability(openings, 1)
}

/// Mean of (range - step to the next leaf) / range over open neighbours of a bank.
fn bank_variability(openings: &[Open], bank: usize) -> f64 {
    let tips = || openings.iter().map(|open| open.tips_mm[bank]);
    let range = tips().fold(f64::NEG_INFINITY, f64::max) - tips().fold(f64::INFINITY, f64::min);
    let pairs = openings.len().saturating_sub(1) as f64;
    if pairs == 0.0 || range <= 0.0 {
        return 1.0;
    }
    let steps = openings
        .windows(2)
        .map(|w| (w[1].tips_mm[bank] - w[0].tips_mm[bank]).abs());
    steps.map(|step| range - step).sum::<f64>() / (pairs * range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Mlc;
    use glam::DVec3;

    /// A beam of segments, each with its weight and the tips of pairs of 10 mm.
    fn beam(segments: &[(f64, &[Bank])]) -> Beam {
        let mut beam = Beam::fixed(
            "b",
            1,
            0.0,
            DVec3::ZERO,
            Jaws {
                x: [-30.0, 30.0],
                y: [0.0, 40.0],
            },
            100.0,
        );
        let sides = segments[0].1.len();
        beam.mlc = Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm: (0..=sides).map(|n| 10.0 * n as f64).collect(),
        });
        let start = beam.control_points.remove(0);
        let mut start_weight = 0.0;
        for (weight, tips) in segments {
            for meterset_weight in [start_weight, start_weight + weight] {
                let point = ControlPoint {
                    meterset_weight,
                    leaves_mm: tips.to_vec(),
                    ..start.clone()
                };
                beam.control_points.push(point);
            }
            start_weight += weight;
        }
        beam
    }

    fn limits() -> Delivery {
        Machine::resolve("generic-6mv").unwrap().delivery.unwrap()
    }

    /// By hand after McNiven's definitions; pairs under the jaws, the fifth here, do not count.
    #[test]
    fn complexity_is_as_defined() {
        let open: &[Bank] = &[
            [-20.0, 20.0],
            [-20.0, 20.0],
            [-20.0, 20.0],
            [-20.0, 20.0],
            [-25.0, 5.0],
        ];
        let one = DeliveryFigures::new(&beam(&[(1.0, open)]), &limits());
        assert!((one.complexity - 1.0).abs() < 1e-12 && (one.mean_gap_mm - 40.0).abs() < 1e-12);
        assert!((one.smallest_cm2 - 16.0).abs() < 1e-12 && one.apertures == 1);
        assert!(
            (one.beam_on_s - 10.0).abs() < 1e-9,
            "100 MU at 600 MU/min: {}",
            one.beam_on_s
        );
        // Tips -20, -10, -20 and -20 of one bank: (10 - 10 + 10 - 10 + 10 - 0) / (3 * 10) = 1/3; the other bank in line.
        let bent: &[Bank] = &[
            [-20.0, 20.0],
            [-10.0, 20.0],
            [-20.0, 20.0],
            [-20.0, 20.0],
            [-25.0, 5.0],
        ];
        let two = DeliveryFigures::new(&beam(&[(0.5, open), (0.5, bent)]), &limits());
        let want = 0.5 + 0.5 * (1.0 / 3.0) * (150.0 / 160.0);
        assert!(
            (two.complexity - want).abs() < 1e-12,
            "{} for {want}",
            two.complexity
        );
        assert!(
            (two.smallest_cm2 - 15.0).abs() < 1e-12 && (two.mean_gap_mm - 38.75).abs() < 1e-12,
            "{two:?}"
        );
    }

    /// Leaves that need longer than the monitor units keep the dose rate down.
    #[test]
    fn slow_leaves_hold_the_beam() {
        let open: &[Bank] = &[[-30.0, 0.0]];
        let mut moving = beam(&[(1.0, open)]);
        moving.mu = 10.0;
        moving.control_points[1].leaves_mm = vec![[20.0, 30.0]];
        let figures = DeliveryFigures::new(&moving, &limits());
        assert!(
            (figures.beam_on_s - 2.0).abs() < 1e-9,
            "50 mm at 25 mm/s: {}",
            figures.beam_on_s
        );
    }
}
