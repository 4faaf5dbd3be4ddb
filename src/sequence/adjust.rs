//! Leaves of a beam that was cut already, moved: what files state exactly, and pairs beside the map.

use crate::field::rounded;
use case::{Bank, Beam};
use physics::Delivery;
use std::ops::Range;

/// Replaces the tips of the leaf pairs `pairs` at each control point, and the monitor units of the segments that begin at `starts`. Pairs
/// beside them are closed and follow the nearest one, as where they were cut.
pub fn set_leaves(
    beam: &mut Beam,
    pairs: Range<usize>,
    tips: &[Vec<Bank>],
    (starts, mu): (&[usize], &[f64]),
    limits: &Delivery,
) {
    // Monitor units as a file states them.
    beam.mu = (1e3 * mu.iter().sum::<f64>()).round() / 1e3;
    let whole: f64 = mu.iter().sum();
    let mut given = 0.0;
    let mut segments = starts.iter().zip(mu).peekable();
    for (n, (point, tips)) in beam.control_points.iter_mut().zip(tips).enumerate() {
        for (pair, leaf) in point.leaves_mm.iter_mut().enumerate() {
            let [low, high] = tips[pair.clamp(pairs.start, pairs.end - 1) - pairs.start];
            let high = rounded(high);
            let low = rounded(low).min(rounded(high - limits.min_gap_mm));
            *leaf = if pairs.contains(&pair) { [low, high] } else { [low, rounded(low + limits.min_gap_mm)] };
        }
        point.meterset_weight =
            if segments.peek().is_none() { 1.0 } else { (1e6 * given / whole).round() / 1e6 };
        if let Some((_, mu)) = segments.next_if(|(start, _)| **start == n) {
            given += mu;
        }
    }
}
