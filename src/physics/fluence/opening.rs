//! The collimators of an exposure as openings, within each of which jaws and leaves may be averaged one by one.

use super::WIDEST_MM;
use crate::aperture::{Edge, Motion, Raster};
use crate::{Leaves, Segment};
use case::{Bank, ControlPoint};

/// Way in a part of all that moves but the fastest of X jaws, Y jaws and leaves, mm at the isocentre plane.
///
/// One alone is averaged over its travel exactly. Of several, the mean of the product of transmissions is taken as the
/// product of their means. That differs where two edges pass a point in the same part alone, by at most a quarter of the
/// part's share of the units, and with the blur of the shipped machines by 0.5 % of the open fluence. Where a jaw
/// travels along with the tip of a leaf, the field's edge is off by a sixth of this.
const PART_MM: f64 = 1.0;

/// Most parts of an exposure beyond one for each of its segments; ways grow where it would have more.
const MOST_PARTS: f64 = 2000.0;

/// Jaws on their way, mm at the isocentre plane, and the units given meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub x: [Edge; 2],
    pub y: [Edge; 2],
    pub weight: f64,
}

impl Opening {
    pub fn still(x: [f64; 2], y: [f64; 2]) -> Self {
        Self {
            x: x.map(Edge::still),
            y: y.map(Edge::still),
            weight: 1.0,
        }
    }

    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        self.x.into_iter().chain(self.y)
    }

    /// Jaws that stand at places no more than `step_mm` apart, in turn along u and v, for the same units each.
    pub fn stops(&self, along_y: bool, step_mm: f64) -> impl Iterator<Item = [[f64; 2]; 2]> {
        let farthest = self.edges().map(|e| e.travel_mm.abs()).fold(0.0, f64::max);
        let count = (farthest / step_mm).ceil().max(1.0) as usize;
        let edges = if along_y {
            [self.y, self.x]
        } else {
            [self.x, self.y]
        };
        (0..count).map(move |n| {
            let part = (n as f64 + 0.5) / count as f64;
            edges.map(|pair| pair.map(|edge| edge.at(part)))
        })
    }
}

/// Segments cut so that [`PART_MM`] holds.
pub(super) fn parts<'a>(segments: &[Segment<'a>], has_leaves: bool) -> Vec<Segment<'a>> {
    let ways: Vec<f64> = segments.iter().map(|s| second_way(s, has_leaves)).collect();
    let step_mm = PART_MM.max(ways.iter().sum::<f64>() / MOST_PARTS);
    let mut out = Vec::with_capacity(segments.len());
    for (s, way) in segments.iter().zip(ways) {
        let count = (way / step_mm).ceil().max(1.0);
        match count as usize {
            1 => out.push(*s),
            count => out.extend((0..count).map(|n| Segment {
                span: [n, n + 1].map(|n| fraction_at(n, s, count as f64)),
                weight: s.weight / count as f64,
                ..*s
            })),
        }
    }
    out
}

/// Fraction of a segment's way at its `n`th cut of `count`.
fn fraction_at(n: usize, s: &Segment, count: f64) -> f64 {
    s.span[0] + (s.span[1] - s.span[0]) * (n as f64 / count)
}

/// The second longest way of X jaws, Y jaws and leaves in a segment, mm.
fn second_way(s: &Segment<'_>, has_leaves: bool) -> f64 {
    let (x, y) = jaws_of(s);
    let pairs = s
        .from
        .leaves_mm
        .iter()
        .zip(&s.to.leaves_mm)
        .filter(|_| has_leaves);
    let tips = pairs.flat_map(|(a, b)| [0, 1].map(|bank| (b[bank] - a[bank]).abs()));
    let leaves = tips.fold(0.0, f64::max) * (s.span[1] - s.span[0]);
    let mut ways = [longest_travel(x), longest_travel(y), leaves];
    ways.sort_by(f64::total_cmp);
    // The longest way alone is averaged over its travel exactly: only the second bounds the parts.
    ways[1]
}

fn longest_travel(edges: [Edge; 2]) -> f64 {
    edges[0].travel_mm.abs().max(edges[1].travel_mm.abs())
}

/// Jaw settings of an exposure; equal ones fall together.
pub(super) fn openings(segments: &[Segment<'_>]) -> Vec<Opening> {
    let mut out: Vec<Opening> = Vec::new();
    for s in segments {
        let (x, y) = jaws_of(s);
        match out.iter_mut().find(|o| o.x == x && o.y == y) {
            Some(o) => o.weight += s.weight,
            None => out.push(Opening {
                x,
                y,
                weight: s.weight,
            }),
        }
    }
    out
}

/// The jaws of a segment on their way through its span.
pub(super) fn jaws_of(s: &Segment<'_>) -> ([Edge; 2], [Edge; 2]) {
    (moving_edges(|p| p.jaws.x, s), moving_edges(|p| p.jaws.y, s))
}

fn moving_edges(position_of: fn(&ControlPoint) -> [f64; 2], s: &Segment) -> [Edge; 2] {
    let (a, b) = (position_of(s.from), position_of(s.to));
    [0, 1].map(|side| {
        let [begin_mm, end_mm] = s
            .span
            .map(|t| (a[side] + t * (b[side] - a[side])).clamp(-WIDEST_MM, WIDEST_MM));
        Edge::moving(begin_mm, end_mm)
    })
}

/// Motion of the leaves of a segment on their way through its span.
pub(super) fn motion_of(s: &Segment<'_>, leaves: &Leaves) -> Motion {
    Motion {
        from: tips_at(s.span[0], s, leaves),
        to: tips_at(s.span[1], s, leaves),
        weight: s.weight,
    }
}

fn tips_at(t: f64, s: &Segment, leaves: &Leaves) -> Vec<Bank> {
    let pairs = s.from.leaves_mm.iter().zip(&s.to.leaves_mm);
    let planned = pairs.map(|(a, b)| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]);
    planned.map(|tips| leaves.standing_tips_mm(tips)).collect()
}

/// A raster over all openings and a margin; axes u and v.
pub(super) fn raster_over(
    openings: &[Opening],
    along_y: bool,
    margin_mm: f64,
    step_mm: f64,
) -> Raster {
    let (x, y) = (
        widened(hull_of(|o| o.x, openings), margin_mm),
        widened(hull_of(|o| o.y, openings), margin_mm),
    );
    if along_y {
        Raster::over(y, x, step_mm)
    } else {
        Raster::over(x, y, step_mm)
    }
}

fn hull_of(pick: fn(&Opening) -> [Edge; 2], openings: &[Opening]) -> [f64; 2] {
    let ends = openings.iter().flat_map(pick).flat_map(Edge::ends);
    ends.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
        [low.min(v), high.max(v)]
    })
}

fn widened(r: [f64; 2], margin_mm: f64) -> [f64; 2] {
    [r[0] - margin_mm, r[1] + margin_mm]
}
