//! New leaf positions for a beam whose map is sequenced: rounded as files hold them, with the pairs beside the map closed.

use crate::field::{meterset_weight, pair_tips, rounded_tips};
use case::{Bank, Beam};
use physics::Delivery;
use std::ops::Range;

/// Segments of a beam: the control points at which they begin, and their monitor units.
#[derive(Clone, Copy)]
pub struct Segments<'a> {
    pub starts: &'a [usize],
    pub mu: &'a [f64],
}

/// Replaces the tips of the leaf pairs `pairs` at each control point, and the monitor units of the segments. Pairs beside them are closed
/// and follow the nearest one, as the sequencer has them.
pub fn set_leaves(
    beam: &mut Beam,
    pairs: Range<usize>,
    tips: &[Vec<Bank>],
    segments: Segments<'_>,
    limits: &Delivery,
) {
    let total_mu: f64 = segments.mu.iter().sum();
    // A file holds thousandths of a monitor unit.
    beam.mu = (1e3 * total_mu).round() / 1e3;
    let mut delivered_mu = 0.0;
    let mut segments = segments.starts.iter().zip(segments.mu).peekable();
    for (n, (point, tips)) in beam.control_points.iter_mut().zip(tips).enumerate() {
        for (pair, leaf) in point.leaves_mm.iter_mut().enumerate() {
            *leaf = rounded_tips(
                pair_tips(pair, &pairs, tips, limits.min_gap_mm),
                limits.min_gap_mm,
            );
        }
        point.meterset_weight = if segments.peek().is_none() {
            1.0
        } else {
            meterset_weight(delivered_mu, total_mu)
        };
        if let Some((_, mu)) = segments.next_if(|(start, _)| **start == n) {
            delivered_mu += mu;
        }
    }
}
