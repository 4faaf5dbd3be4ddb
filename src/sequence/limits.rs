//! Control points against what a machine can move.

use case::{Beam, ControlPoint, bounds, turn_deg};
use physics::Delivery;
use std::ops::Range;

/// A turning gantry slows down so many times at most for its leaves to follow: an arc that took longer than three minutes would be
/// delivered by nobody. Chosen.
pub const SLOWEST: f64 = 2.5;

/// Positions are rounded by less, mm.
pub const ROUNDING_MM: f64 = 2e-3;

/// Control points between two moments at which the beam is off: those during which a carriage stands.
pub fn beam_on_stretches(points: &[ControlPoint]) -> Vec<Range<usize>> {
    let mut end = 0;
    let stretches = points.chunk_by(|from, to| to.meterset_weight > from.meterset_weight);
    let range = |stretch: &[ControlPoint]| {
        end += stretch.len();
        end - stretch.len()..end
    };
    stretches.map(range).collect()
}

/// The first limit of the machine that the leaves of a beam break, in words; speeds are those at the beam's dose rate.
pub fn broken_limit(beam: &Beam, limits: &Delivery) -> Option<String> {
    let limits = &limits.at_rate_of(beam);
    let points = &beam.control_points;
    for (n, point) in points.iter().enumerate() {
        if let Some(what) = broken_at(point, limits) {
            return Some(format!("control point {}: {what}", n + 1));
        }
    }
    let beyond_carriage = broken_carriage(points, limits);
    if beyond_carriage.is_some() {
        return beyond_carriage;
    }
    points.windows(2).enumerate().find_map(|(n, pair)| {
        let (way, step) = (farthest_mm(&pair[0], &pair[1]), [&pair[0], &pair[1]]);
        let mu = beam.mu * (pair[1].meterset_weight - pair[0].meterset_weight);
        let meanwhile = match turned_deg(step) {
            Some(deg) => format!("the gantry turns {deg:.2} degrees"),
            None if mu > 0.0 => format!("{mu:.3} MU are given"),
            None => return None,
        };
        let reach_mm = step_reach_mm(step, mu, limits);
        (way > reach_mm + ROUNDING_MM).then(|| {
            let point = n + 2;
            format!("control point {point}: a leaf goes {way:.3} mm while {meanwhile}: {reach_mm:.3} mm are possible")
        })
    })
}

/// The first stretch with the beam on in which a bank leaves its carriage, in words.
pub fn broken_carriage(points: &[ControlPoint], limits: &Delivery) -> Option<String> {
    beam_on_stretches(points).into_iter().find_map(|stretch| {
        let what = broken_by_carriage(&points[stretch.clone()], limits)?;
        Some(match stretch.len() {
            1 => format!("control point {}: {what}", stretch.end),
            _ => format!(
                "control points {} to {}: {what}",
                stretch.start + 1,
                stretch.end
            ),
        })
    })
}

/// Degrees that the gantry turns between two control points; `None` where it stands.
pub fn turned_deg([from, to]: [&ControlPoint; 2]) -> Option<f64> {
    Some(turn_deg(from.gantry_deg, to.gantry_deg).abs()).filter(|deg| *deg >= bounds::SAME_DEG)
}

/// Way of a leaf between two control points while so many monitor units are given, mm: at the full dose rate, or as long as a turning
/// gantry waits for leaves.
pub fn step_reach_mm(step: [&ControlPoint; 2], mu: f64, limits: &Delivery) -> f64 {
    let at_full_rate = limits.leaf_speed_mm_s * 60.0 * mu / limits.dose_rate_mu_min;
    turned_deg(step).map_or(at_full_rate, |deg| turning_reach_mm(deg, limits))
}

/// Way of a leaf while the gantry turns, mm: it slows down for leaves, [`SLOWEST`] times at most.
pub fn turning_reach_mm(turned_deg: f64, limits: &Delivery) -> f64 {
    limits.leaf_speed_mm_s * SLOWEST * turned_deg / limits.gantry_speed_deg_s
}

/// The farthest way of a leaf from one control point to the next, mm.
pub fn farthest_mm(from: &ControlPoint, to: &ControlPoint) -> f64 {
    let pairs = from.leaves_mm.iter().zip(&to.leaves_mm);
    pairs
        .flat_map(|(a, b)| [0, 1].map(|bank| (b[bank] - a[bank]).abs()))
        .fold(0.0, f64::max)
}

fn broken_at(point: &ControlPoint, limits: &Delivery) -> Option<String> {
    let leaves = &point.leaves_mm;
    let gap = limits.min_gap_mm - ROUNDING_MM;
    for (pair, [low, high]) in leaves.iter().enumerate() {
        if high - low < gap {
            return Some(format!(
                "the tips of pair {} are {:.3} mm apart",
                pair + 1,
                high - low
            ));
        }
        let neighbour = leaves.get(pair + 1).filter(|_| !limits.interdigitates);
        if neighbour.is_some_and(|next| next[1] - low < gap || high - next[0] < gap) {
            return Some(format!(
                "leaves of the pairs {} and {} pass each other",
                pair + 1,
                pair + 2
            ));
        }
    }
    None
}

/// The carriage of a bank stands while the beam is on: all positions of its leaves meanwhile are those that it holds at once.
fn broken_by_carriage(points: &[ControlPoint], limits: &Delivery) -> Option<String> {
    (0..2).find_map(|bank| {
        let tips = points.iter().flat_map(|point| &point.leaves_mm).map(|pair| pair[bank]);
        let ends = tips.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], mm| [low.min(mm), high.max(mm)]);
        let span = ends[1] - ends[0];
        let meanwhile = if points.len() > 1 { ", all while the beam is on" } else { "" };
        (span > limits.max_span_mm + ROUNDING_MM).then(|| {
            format!(
                "the leaves of a bank take positions {span:.1} mm apart{meanwhile}, and its carriage holds {:.1} mm: make the field \
                 narrower, or turn the collimator",
                limits.max_span_mm
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;
    use physics::Machine;

    /// A bank at -60 and then at 60 mm: 120 mm at one place of the carriage, or two places where the beam is off in between.
    #[test]
    fn a_carriage_stands_while_the_beam_is_on() {
        let limits = Delivery {
            max_span_mm: 100.0,
            ..Machine::resolve("generic-6mv").unwrap().delivery.unwrap()
        };
        let mut beam = Beam::fixed(
            "b",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(140.0, 20.0),
            500.0,
        );
        let start = beam.control_points.remove(0);
        let point = |(meterset_weight, mm): (f64, f64)| ControlPoint {
            meterset_weight,
            leaves_mm: vec![[mm, mm + 10.0]; 2],
            ..start.clone()
        };
        let mut broken = |points: &[(f64, f64)]| {
            beam.control_points = points.iter().copied().map(point).collect();
            (
                beam_on_stretches(&beam.control_points),
                broken_limit(&beam, &limits),
            )
        };
        let (stretches, what) = broken(&[(0.0, -60.0), (1.0, 60.0)]);
        assert_eq!((stretches.len(), &stretches[0]), (1, &(0..2)));
        assert!(
            what.is_some_and(
                |what| what.contains("points 1 to 2") && what.contains("120.0 mm apart")
            )
        );
        // In small steps, too: no control point alone is beyond it.
        let (_, what) = broken(&[(0.0, -60.0), (0.3, -20.0), (0.6, 20.0), (1.0, 60.0)]);
        assert!(what.is_some_and(|what| what.contains("carriage holds 100.0 mm")));
        let (stretches, what) = broken(&[(0.0, -60.0), (0.5, -20.0), (0.5, 20.0), (1.0, 60.0)]);
        assert_eq!((stretches, what), (vec![0..2, 2..4], None));
        assert_eq!(
            broken(&[(0.0, -60.0), (0.5, -60.0), (0.5, 60.0), (1.0, 60.0)]).1,
            None
        );
        // The set rate gives leaves time: 40 mm at 25 mm/s take 1.6 s.
        let (_, what) = broken(&[(0.0, -20.0), (0.02, 20.0), (1.0, 20.0)]);
        assert!(
            what.is_some_and(
                |what| what.contains("a leaf goes 40.000 mm while 10.000 MU are given")
            )
        );
        beam.dose_rate_mu_min = Some(300.0);
        assert_eq!(broken_limit(&beam, &limits), None);
    }
}
