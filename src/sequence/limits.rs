//! Control points against what a machine can move.

use case::{Beam, ControlPoint, bounds, turn_deg};
use physics::Delivery;

/// A turning gantry slows down so many times at most for its leaves to follow: an arc that took longer than three minutes would be
/// delivered by nobody. Chosen.
pub const SLOWEST: f64 = 2.5;

/// Positions are rounded by less, mm.
pub const ROUNDING_MM: f64 = 2e-3;

/// The first limit of the machine that the leaves of a beam break, in words; speeds are those at the full dose rate.
pub fn broken_limit(beam: &Beam, limits: &Delivery) -> Option<String> {
    let points = &beam.control_points;
    let at = |n: usize| format!("control point {}", n + 1);
    for (n, point) in points.iter().enumerate() {
        if let Some(what) = broken_at(point, limits) {
            return Some(format!("{}: {what}", at(n)));
        }
    }
    points.windows(2).enumerate().find_map(|(n, pair)| {
        let (way, step) = (farthest_mm(&pair[0], &pair[1]), [&pair[0], &pair[1]]);
        let mu = beam.mu * (pair[1].meterset_weight - pair[0].meterset_weight);
        let meanwhile = match turned_deg(step) {
            Some(deg) => format!("the gantry turns {deg:.2} degrees"),
            None if mu > 0.0 => format!("{mu:.3} MU are given"),
            None => return None,
        };
        let most = step_reach_mm(step, mu, limits);
        (way > most + ROUNDING_MM).then(|| {
            format!("{}: a leaf goes {way:.3} mm while {meanwhile}: {most:.3} mm are possible", at(n + 1))
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
    pairs.flat_map(|(a, b)| [0, 1].map(|bank| (b[bank] - a[bank]).abs())).fold(0.0, f64::max)
}

fn broken_at(point: &ControlPoint, limits: &Delivery) -> Option<String> {
    let leaves = &point.leaves_mm;
    let gap = limits.min_gap_mm - ROUNDING_MM;
    for (pair, [low, high]) in leaves.iter().enumerate() {
        if high - low < gap {
            return Some(format!("the tips of pair {} are {:.3} mm apart", pair + 1, high - low));
        }
        let beside = leaves.get(pair + 1).filter(|_| !limits.interdigitates);
        if beside.is_some_and(|next| next[1] - low < gap || high - next[0] < gap) {
            return Some(format!("leaves of the pairs {} and {} pass each other", pair + 1, pair + 2));
        }
    }
    (0..2).find_map(|bank| {
        let ends = leaves.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], pair| {
            [low.min(pair[bank]), high.max(pair[bank])]
        });
        let span = ends[1] - ends[0];
        (span > limits.max_span_mm + ROUNDING_MM).then(|| {
            format!(
                "the leaves of a bank are {span:.1} mm apart, and its carriage holds {:.1} mm: make the field narrower, or turn the \
                 collimator",
                limits.max_span_mm
            )
        })
    })
}
