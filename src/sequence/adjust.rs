//! Leaves of a beam that was cut already, moved: what files state exactly, and pairs beside the map.

use crate::field::{of_pair, stated, stated_weight};
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
    let whole: f64 = mu.iter().sum();
    // Monitor units as a file states them.
    beam.mu = (1e3 * whole).round() / 1e3;
    let mut given = 0.0;
    let mut segments = starts.iter().zip(mu).peekable();
    for (n, (point, tips)) in beam.control_points.iter_mut().zip(tips).enumerate() {
        for (pair, leaf) in point.leaves_mm.iter_mut().enumerate() {
            *leaf = stated(of_pair(pair, &pairs, tips, limits.min_gap_mm), limits.min_gap_mm);
        }
        point.meterset_weight = if segments.peek().is_none() { 1.0 } else { stated_weight(given, whole) };
        if let Some((_, mu)) = segments.next_if(|(start, _)| **start == n) {
            given += mu;
        }
    }
}
