//! Polygons of one plane as sets of points: union, intersection, difference, exclusive-or, holes, small parts.
//!
//! Rings are closed (the last point joins the first), mm. What is given combines by the even-odd rule and may cross
//! itself; what comes back is clean: rings neither cross nor overlap, outer ones run against the clock (x right, y up),
//! holes with it, and the even-odd rule reads them as they are. Corners move by less than 1e-5 mm. The sweep is done by
//! the crate `i_overlay`.

use i_overlay::core::fill_rule::FillRule;
use i_overlay::core::overlay_rule::OverlayRule;
use i_overlay::float::simplify::SimplifyShape;
use i_overlay::float::single::SingleFloatOverlay;
use serde::{Deserialize, Serialize};

/// A closed polygon of a plane, mm.
pub type Ring = Vec<[f64; 2]>;

/// Corners further from the origin than this belong to no patient: their ring is passed over, mm.
const FURTHEST_MM: f64 = 1e5;

/// Rings of less are passed over: slivers of rounding, mm2.
const SMALLEST_MM2: f64 = 1e-4;

/// How two sets of points make one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Boolean {
    #[default]
    Union,
    Intersection,
    /// The first without the second.
    Difference,
    /// Points of one set alone.
    Xor,
}

/// Rings of two sets combined. Rings of fewer than three corners, or with one that is no number, are passed over.
pub fn combine(a: &[Ring], b: &[Ring], how: Boolean) -> Vec<Ring> {
    let (a, b) = (usable(a), usable(b));
    let rule = match how {
        Boolean::Union => OverlayRule::Union,
        Boolean::Intersection => OverlayRule::Intersect,
        Boolean::Difference => OverlayRule::Difference,
        Boolean::Xor => OverlayRule::Xor,
    };
    match (a.is_empty(), b.is_empty(), how) {
        (true, true, _) | (true, _, Boolean::Intersection | Boolean::Difference) => Vec::new(),
        (_, true, Boolean::Intersection) => Vec::new(),
        (false, true, _) => simplified(&a),
        (true, false, _) => simplified(&b),
        (false, false, _) => flat(a.overlay(&b, rule, FillRule::EvenOdd)),
    }
}

/// The rings without crossings and overlaps; the points they hold by the even-odd rule stay the same.
pub fn clean(rings: &[Ring]) -> Vec<Ring> {
    simplified(&usable(rings))
}

/// Clean rings of several shapes that may overlap as one shape.
pub fn union(shapes: &[Ring]) -> Vec<Ring> {
    // Holes run the other way round than what is round them: a point in no shape has the winding number 0.
    let shapes = usable(shapes);
    if shapes.is_empty() {
        shapes
    } else {
        flat(shapes.simplify_shape(FillRule::NonZero))
    }
}

/// Area that clean rings hold, mm2.
pub fn area_mm2(rings: &[Ring]) -> f64 {
    rings.iter().map(|r| signed_area_mm2(r)).sum()
}

/// Area of a ring, negative where it runs with the clock (x right, y up), mm2.
pub fn signed_area_mm2(ring: &[[f64; 2]]) -> f64 {
    let Some(first) = ring.first() else {
        return 0.0;
    };
    0.5 * ring
        .windows(2)
        .map(|w: &[[f64; 2]]| {
            let [a, b] = [w[0], w[1]].map(|p| [p[0] - first[0], p[1] - first[1]]);
            a[0] * b[1] - a[1] * b[0]
        })
        .sum::<f64>()
}

/// The rings without the holes smaller than `below_mm2`; what lies within such a hole joins the part round it.
pub fn without_holes(rings: &[Ring], below_mm2: f64) -> Vec<Ring> {
    let clean = clean(rings);
    let kept: Vec<Ring> = clean
        .into_iter()
        .filter(|r| !(-below_mm2..0.0).contains(&signed_area_mm2(r)))
        .collect();
    // An island in a filled hole lies in the part round it.
    union(&kept)
}

/// The rings without the parts smaller than `below_mm2` (their holes taken off), and without the holes of those.
pub fn without_small_parts(rings: &[Ring], below_mm2: f64) -> Vec<Ring> {
    let rings = usable(rings);
    if rings.is_empty() {
        return rings;
    }
    let parts = rings.simplify_shape(FillRule::EvenOdd);
    flat(
        parts
            .into_iter()
            .filter(|part| area_mm2(part) >= below_mm2)
            .collect(),
    )
}

/// The ring with no more corners than a line needs that stays within `tolerance_mm` of it (Douglas and Peucker 1973).
pub fn thinned(ring: &[[f64; 2]], tolerance_mm: f64) -> Ring {
    if ring.len() < 5 {
        return ring.to_vec();
    }
    // Split at the corner furthest from the first, so that both halves have a chord.
    let far = (1..ring.len())
        .max_by(|&a, &b| {
            distance_squared(ring[a], ring[0]).total_cmp(&distance_squared(ring[b], ring[0]))
        })
        .unwrap_or(ring.len() / 2);
    let closed: Ring = ring.iter().copied().chain([ring[0]]).collect();
    let mut keep = vec![false; closed.len()];
    let mut open = vec![(0, far), (far, closed.len() - 1)];
    while let Some((from, to)) = open.pop() {
        (keep[from], keep[to]) = (true, true);
        let worst = (from + 1..to)
            .map(|n| (n, square_to_segment(closed[n], closed[from], closed[to])))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((n, off)) = worst
            && off > tolerance_mm * tolerance_mm
        {
            open.extend([(from, n), (n, to)]);
        }
    }
    let kept: Ring = ring
        .iter()
        .zip(&keep)
        .filter(|(_, keep)| **keep)
        .map(|(p, _)| *p)
        .collect();
    if kept.len() < 3 { ring.to_vec() } else { kept }
}

fn distance_squared(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}

/// Square of the distance of a point from a segment, mm2.
pub fn square_to_segment(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (along, off) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length = along[0] * along[0] + along[1] * along[1];
    let t = if length > 0.0 {
        ((off[0] * along[0] + off[1] * along[1]) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (off[0] - t * along[0]).powi(2) + (off[1] - t * along[1]).powi(2)
}

/// The rings that the sweep can take.
fn usable(rings: &[Ring]) -> Vec<Ring> {
    rings
        .iter()
        .filter(|r| {
            r.len() >= 3
                && r.iter()
                    .all(|p: &[f64; 2]| p.iter().all(|c| c.abs() < FURTHEST_MM))
        })
        .cloned()
        .collect()
}

fn simplified(rings: &Vec<Ring>) -> Vec<Ring> {
    if rings.is_empty() {
        Vec::new()
    } else {
        flat(rings.simplify_shape(FillRule::EvenOdd))
    }
}

fn flat(parts: Vec<Vec<Ring>>) -> Vec<Ring> {
    let rings = parts.into_iter().flatten();
    rings
        .filter(|r| r.len() >= 3 && signed_area_mm2(r).abs() >= SMALLEST_MM2)
        .collect()
}

/// The convex polygon round some points, against the clock (Andrew's monotone chain). A corner is left out where the
/// triangle with its neighbours has no more than half of `least`, in the points' unit squared.
pub fn convex_hull(mut points: Vec<[f64; 2]>, threshold: f64) -> Ring {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    points.dedup();
    let mut outline = half_hull(&mut points.iter().copied(), threshold);
    outline.extend(half_hull(&mut points.iter().rev().copied(), threshold));
    outline
}

/// Upper or lower half of a hull (Andrew's monotone chain), of points in ascending or descending order.
fn half_hull(points: &mut dyn Iterator<Item = [f64; 2]>, threshold: f64) -> Vec<[f64; 2]> {
    let mut chain: Vec<[f64; 2]> = Vec::new();
    for p in points {
        while let [.., a, b] = chain[..] {
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > threshold {
                break;
            }
            chain.pop();
        }
        chain.push(p);
    }
    chain.pop();
    chain
}

/// Twice the signed area of a triangle: above 0 where its corners run against the clock (x right, y up).
pub(crate) fn turn(p: [f64; 2], q: [f64; 2], r: [f64; 2]) -> f64 {
    (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    /// Whether the rings hold a point (even-odd).
    fn holds(rings: &[Ring], [x, y]: [f64; 2]) -> bool {
        let mut inside = false;
        for ring in rings {
            let Some(mut from) = ring.last() else {
                continue;
            };
            for to in ring {
                if (from[1] > y) != (to[1] > y) {
                    inside ^= x < from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]);
                }
                from = to;
            }
        }
        inside
    }

    fn square(x: f64, y: f64, side: f64) -> Ring {
        vec![[x, y], [x + side, y], [x + side, y + side], [x, y + side]]
    }

    fn close(area: f64, want: f64) -> bool {
        (area - want).abs() < 1e-3
    }

    #[test]
    fn two_squares_make_what_is_drawn_on_paper() {
        let (a, b) = ([square(0.0, 0.0, 10.0)], [square(6.0, 6.0, 10.0)]);
        for (how, area) in [
            (Boolean::Union, 184.0),
            (Boolean::Intersection, 16.0),
            (Boolean::Difference, 84.0),
            (Boolean::Xor, 168.0),
        ] {
            assert!(close(area_mm2(&combine(&a, &b, how)), area), "{how:?}");
        }
        assert!(close(area_mm2(&combine(&a, &[], Boolean::Union)), 100.0));
        assert!(close(area_mm2(&combine(&[], &a, Boolean::Xor)), 100.0));
        assert!(combine(&[], &a, Boolean::Difference).is_empty());
        assert!(combine(&a, &[], Boolean::Intersection).is_empty());
        assert!(combine(&[], &[], Boolean::Union).is_empty());
    }

    #[test]
    fn holes_and_islands_are_read_by_the_even_odd_rule() {
        let rings = [
            square(0.0, 0.0, 10.0),
            square(2.0, 2.0, 6.0),
            square(4.0, 4.0, 2.0),
        ];
        let clean = clean(&rings);
        assert_eq!(clean.len(), 3);
        assert!(close(area_mm2(&clean), 100.0 - 36.0 + 4.0));
        assert!(
            holds(&clean, [1.0, 1.0]) && !holds(&clean, [3.0, 3.0]) && holds(&clean, [5.0, 5.0])
        );
        assert!(close(area_mm2(&without_holes(&rings, 40.0)), 100.0));
        assert!(
            close(area_mm2(&without_holes(&rings, 30.0)), 68.0),
            "the hole has 36 mm2"
        );
        assert!(
            close(area_mm2(&without_small_parts(&rings, 5.0)), 64.0),
            "the island goes, the hole stays"
        );
    }

    #[test]
    fn wrong_rings_are_passed_over() {
        let wrong = [
            vec![],
            vec![[0.0, 0.0], [1.0, 1.0]],
            vec![[f64::NAN, 0.0], [1.0, 0.0], [0.0, 1.0]],
            vec![[f64::INFINITY, 0.0], [1.0, 0.0], [0.0, 1.0]],
            vec![[1e200, 0.0], [1.0, 0.0], [0.0, 1.0]],
            vec![[3.0, 3.0]; 5],
            vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]],
        ];
        assert!(clean(&wrong).is_empty());
        assert!(without_holes(&wrong, 1.0).is_empty());
        assert!(close(
            area_mm2(&combine(&wrong, &[square(0.0, 0.0, 2.0)], Boolean::Union)),
            4.0
        ));
    }

    /// A figure of eight, whose lobes have opposite senses, keeps both.
    #[test]
    fn a_ring_that_crosses_itself_is_cut_in_two() {
        let eight = vec![[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0]];
        let clean = clean(&[eight]);
        assert_eq!(clean.len(), 2);
        assert!(close(area_mm2(&clean), 8.0));
    }

    #[test]
    fn a_thinned_circle_stays_within_its_tolerance() {
        let circle: Ring = (0..2000)
            .map(|n| [30.0 * corner_angle(n).cos(), 30.0 * corner_angle(n).sin()])
            .collect();
        let thin = thinned(&circle, 0.05);
        assert!(thin.len() < 120 && thin.len() > 20, "{}", thin.len());
        assert!(
            circle
                .iter()
                .map(|p: &[f64; 2]| {
                    let sides = thin.iter().zip(thin.iter().cycle().skip(1));
                    sides
                        .map(|(a, b)| square_to_segment(*p, *a, *b))
                        .fold(f64::INFINITY, f64::min)
                        .sqrt()
                })
                .fold(0.0, f64::max)
                <= 0.05
        );
    }

    fn corner_angle(n: i32) -> f64 {
        TAU * f64::from(n) / 2000.0
    }

    fn blob() -> impl Strategy<Value = Ring> {
        prop::collection::vec((-50.0..50.0_f64, -50.0..50.0_f64), 3..12)
            .prop_map(|p| p.into_iter().map(|(x, y)| [x, y]).collect())
    }

    proptest! {
        /// Points tell what a boolean is, whatever the rings.
        #[test]
        fn a_point_is_in_the_result_as_logic_says(a in blob(), b in blob(), x in -55.0..55.0_f64, y in -55.0..55.0_f64) {
            let near = |ring: &Ring| {
                let sides = ring.iter().zip(ring.iter().cycle().skip(1));
                sides.map(|(f, t)| square_to_segment([x, y], *f, *t)).fold(f64::INFINITY, f64::min) < 1e-6
            };
            prop_assume!(!near(&a) && !near(&b));
            let (a, b) = ([a], [b]);
            let (in_a, in_b) = (holds(&a, [x, y]), holds(&b, [x, y]));
            for (how, want) in [
                (Boolean::Union, in_a || in_b),
                (Boolean::Intersection, in_a && in_b),
                (Boolean::Difference, in_a && !in_b),
                (Boolean::Xor, in_a != in_b),
            ] {
                prop_assert_eq!(holds(&combine(&a, &b, how), [x, y]), want, "{:?}", how);
            }
        }
    }
}
