//! Rings of one plane that repeat or overlap one another, made into rings that the even-odd rule reads as they are meant.
//!
//! A ring wholly inside another is a hole in it, and a ring in that an island: exclusive-or reads them, and they stay as they
//! are. A ring that is there twice would cancel itself, and of two that overlap the common part would be lost.

use super::polygons::{Boolean, Ring, area_mm2, clean, combine, union};
use std::collections::BTreeSet;

/// Rings that lie no further apart than this all round, on average, are one ring. A wall as thin is drawn by no one; files
/// round coordinates to 0.01 mm and less.
pub const SAME_RING_MM: f64 = 0.1;

/// Two rings of a small structure touch, or one lies in the other, up to this share of the smaller one's area.
const TOUCH_SHARE: f64 = 0.02;

/// Extents of rings that may be the same differ by no more, mm.
const SAME_EXTENT_MM: f64 = 1.0;

/// Most comparisons of rings, and of sides, on a plane.
const MOST_PAIRS: usize = 1_000_000;
const MOST_SIDES: usize = 20_000_000;

/// Most rings of a plane whose overlaps are resolved.
const MOST_RINGS: usize = 500;

/// How rings that share a part of their plane are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlapRule {
    /// Repetitions count once, overlapping rings are a union, rings inside others are holes.
    Union,
    /// Exclusive-or by declaration (DICOM's CLOSEDPLANAR_XOR).
    ExclusiveOr,
}

/// The rings of a plane as they are to be read by the even-odd rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    AsTheyAre,
    /// Some are repetitions: those that stay.
    Kept(Vec<usize>),
    /// Others in their place.
    Remade {
        rings: Vec<Ring>,
        repeated: usize,
        overlapping: usize,
    },
    /// Too many lie across one another to be told apart.
    TooMany,
}

/// How two rings lie to one another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Apart,
    Same,
    /// The smaller one lies in the larger one.
    Nested,
    Overlapping,
}

/// Rings of one plane, closed, mm.
pub fn resolved(rings: &[Ring], rule: OverlapRule) -> Resolved {
    let Some(near) = near_pairs(rings) else {
        return Resolved::TooMany;
    };
    if near.is_empty() {
        return Resolved::AsTheyAre;
    }
    let Some(meeting) = meeting_pairs(rings, &near) else {
        return Resolved::TooMany;
    };
    let crowded: BTreeSet<usize> = meeting.iter().flat_map(|&(a, b)| [a, b]).collect();
    if crowded.is_empty() {
        return Resolved::AsTheyAre;
    }
    if meeting.len() > 4 * MOST_RINGS {
        return Resolved::TooMany;
    }
    let mut areas_mm2 = vec![0.0; rings.len()];
    crowded
        .iter()
        .for_each(|&n| areas_mm2[n] = ring_area_mm2(&rings[n]));
    let related: Vec<((usize, usize), Relation)> = meeting
        .iter()
        .map(|&(a, b)| {
            (
                (a, b),
                relation([&rings[a], &rings[b]], [areas_mm2[a], areas_mm2[b]]),
            )
        })
        .collect();
    let pairs_of = |kind: Relation| {
        related
            .iter()
            .filter(move |(_, r)| *r == kind)
            .map(|(pair, _)| *pair)
    };
    let gone: BTreeSet<usize> = pairs_of(Relation::Same).map(|(_, later)| later).collect();
    let overlapping: BTreeSet<usize> = pairs_of(Relation::Overlapping)
        .filter(|(a, b)| !gone.contains(a) && !gone.contains(b))
        .flat_map(|(a, b)| [a, b])
        .collect();
    let kept: Vec<usize> = (0..rings.len()).filter(|n| !gone.contains(n)).collect();
    match (gone.is_empty(), overlapping.is_empty(), rule) {
        (true, true, _) => Resolved::AsTheyAre,
        (_, _, OverlapRule::ExclusiveOr) => Resolved::Remade {
            rings: clean(rings),
            repeated: 0,
            overlapping: 0,
        },
        (_, true, OverlapRule::Union) => Resolved::Kept(kept),
        (_, false, OverlapRule::Union) if kept.len() > MOST_RINGS => Resolved::TooMany,
        (_, false, OverlapRule::Union) => {
            (0..rings.len())
                .filter(|n| !crowded.contains(n))
                .for_each(|n| areas_mm2[n] = ring_area_mm2(&rings[n]));
            let nested = near.iter().filter_map(|&(a, b)| {
                let (inner, outer) = if areas_mm2[a] < areas_mm2[b] {
                    (a, b)
                } else {
                    (b, a)
                };
                let is_nested = match related.binary_search_by_key(&(a, b), |(pair, _)| *pair) {
                    Ok(n) => related[n].1 == Relation::Nested,
                    Err(_) => holds(&rings[outer], rings[inner][0]),
                };
                (is_nested && !gone.contains(&a) && !gone.contains(&b)).then_some((inner, outer))
            });
            let rings = joined(rings, &kept, &nested.collect(), &areas_mm2);
            Resolved::Remade {
                rings,
                repeated: gone.len(),
                overlapping: overlapping.len(),
            }
        }
    }
}

fn ring_area_mm2(ring: &Ring) -> f64 {
    area_mm2(&clean(std::slice::from_ref(ring)))
}

/// The union of the rings that lie in no other, each without what lies in it: its holes, they without their islands.
fn joined(
    rings: &[Ring],
    kept: &[usize],
    nested: &BTreeSet<(usize, usize)>,
    areas_mm2: &[f64],
) -> Vec<Ring> {
    let mut inside: Vec<Vec<Ring>> = vec![Vec::new(); rings.len()];
    let mut outlines: Vec<Ring> = Vec::new();
    let mut by_area = kept.to_vec();
    by_area.sort_by(|a, b| areas_mm2[*a].total_cmp(&areas_mm2[*b]).then(b.cmp(a)));
    for n in by_area {
        let shape = combine(
            std::slice::from_ref(&rings[n]),
            &union(&inside[n]),
            Boolean::Difference,
        );
        let outer: Vec<usize> =
            { nested.range((n, 0)..(n + 1, 0)).map(|(_, outer)| *outer) }.collect();
        // Of rings round it those that hold no other one round it.
        let next = outer
            .iter()
            .filter(|&&o| !outer.iter().any(|&other| nested.contains(&(other, o))));
        next.for_each(|&o| inside[o].extend(shape.iter().cloned()));
        if outer.is_empty() {
            outlines.extend(shape);
        }
    }
    union(&outlines)
}

/// How two rings that meet lie to one another, by the areas that they have alone and together.
fn relation([a, b]: [&Ring; 2], areas_mm2: [f64; 2]) -> Relation {
    let common = area_mm2(&combine(
        std::slice::from_ref(a),
        std::slice::from_ref(b),
        Boolean::Intersection,
    ));
    let [less, more] = [
        areas_mm2[0].min(areas_mm2[1]),
        areas_mm2[0].max(areas_mm2[1]),
    ];
    let [shorter, longer] = {
        let [a, b] = [a, b].map(perimeter_mm);
        [a.min(b), a.max(b)]
    };
    let strip = (SAME_RING_MM * shorter).min(TOUCH_SHARE * less);
    match common {
        both if both > 0.5 * less && less + more - 2.0 * both < SAME_RING_MM * longer => {
            Relation::Same
        }
        both if both <= strip => Relation::Apart,
        both if less - both <= strip => Relation::Nested,
        _ => Relation::Overlapping,
    }
}

/// Whether two rings are the same.
pub fn is_same_ring(a: &Ring, b: &Ring) -> bool {
    relation([a, b], [ring_area_mm2(a), ring_area_mm2(b)]) == Relation::Same
}

fn perimeter_mm(ring: &Ring) -> f64 {
    sides(ring)
        .map(|[a, b]| (b[0] - a[0]).hypot(b[1] - a[1]))
        .sum()
}

fn sides(ring: &Ring) -> impl Iterator<Item = [[f64; 2]; 2]> + '_ {
    ring.iter()
        .zip(ring.iter().cycle().skip(1))
        .map(|(a, b)| [*a, *b])
}

fn bounds(points: impl Iterator<Item = [f64; 2]>) -> [[f64; 2]; 2] {
    points.fold([[f64::INFINITY, f64::NEG_INFINITY]; 2], |bounds, p| {
        [0, 1].map(|a| [bounds[a][0].min(p[a]), bounds[a][1].max(p[a])])
    })
}

fn are_near(a: &[[f64; 2]; 2], b: &[[f64; 2]; 2]) -> bool {
    (0..2).all(|axis| a[axis][0] <= b[axis][1] && b[axis][0] <= a[axis][1])
}

/// Pairs of rings whose boxes overlap, the lower number first; `None` where there are too many.
fn near_pairs(rings: &[Ring]) -> Option<BTreeSet<(usize, usize)>> {
    let boxes: Vec<_> = rings
        .iter()
        .map(|ring| bounds(ring.iter().copied()))
        .collect();
    let mut order: Vec<usize> = (0..rings.len()).collect();
    order.sort_by(|a, b| boxes[*a][0][0].total_cmp(&boxes[*b][0][0]));
    let (mut near, mut compared) = (BTreeSet::new(), 0);
    for (n, &a) in order.iter().enumerate() {
        for &b in order[n + 1..]
            .iter()
            .take_while(|b| boxes[**b][0][0] <= boxes[a][0][1])
        {
            compared += 1;
            if compared > MOST_PAIRS {
                return None;
            }
            if are_near(&boxes[a], &boxes[b]) {
                near.insert((a.min(b), a.max(b)));
            }
        }
    }
    Some(near)
}

/// Pairs of rings whose sides meet, or whose boxes are alike; `None` where there are too many sides.
fn meeting_pairs(
    rings: &[Ring],
    near: &BTreeSet<(usize, usize)>,
) -> Option<BTreeSet<(usize, usize)>> {
    let boxes: Vec<_> = rings
        .iter()
        .map(|ring| bounds(ring.iter().copied()))
        .collect();
    let mut meeting: BTreeSet<(usize, usize)> = near
        .iter()
        .copied()
        .filter(|&(a, b)| {
            (0..4).all(|n| (boxes[a][n / 2][n % 2] - boxes[b][n / 2][n % 2]).abs() < SAME_EXTENT_MM)
        })
        .collect();
    let crowded: BTreeSet<usize> = near.iter().flat_map(|&(a, b)| [a, b]).collect();
    let mut sides: Vec<_> = crowded
        .into_iter()
        .flat_map(|n| sides(&rings[n]).map(move |side| (n, side, bounds(side.into_iter()))))
        .collect();
    sides.sort_by(|a, b| a.2[1][0].total_cmp(&b.2[1][0]));
    // Sides that reach the height of the last one.
    let mut open: Vec<usize> = Vec::new();
    let mut compared = 0;
    for (index, (ring, side, extent)) in sides.iter().enumerate() {
        open.retain(|&n| sides[n].2[1][1] >= extent[1][0]);
        compared += open.len();
        if compared > MOST_SIDES {
            return None;
        }
        for &(other, with, other_extent) in open.iter().map(|&n| &sides[n]) {
            let pair = (other.min(*ring), other.max(*ring));
            if other != *ring
                && are_near(extent, &other_extent)
                && meet(*side, with)
                && !meeting.contains(&pair)
            {
                meeting.insert(pair);
            }
        }
        open.push(index);
    }
    Some(meeting)
}

/// Whether two sides whose boxes overlap cross or touch.
fn meet([a, b]: [[f64; 2]; 2], [c, d]: [[f64; 2]; 2]) -> bool {
    crate::polygons::turn(a, b, c) * crate::polygons::turn(a, b, d) <= 0.0
        && crate::polygons::turn(c, d, a) * crate::polygons::turn(c, d, b) <= 0.0
}

/// Whether a point lies in a ring (even-odd).
fn holds(ring: &Ring, [x, y]: [f64; 2]) -> bool {
    sides(ring)
        .filter(|side| crosses_ray(*side, [x, y]))
        .count()
        % 2
        == 1
}

/// Whether a side crosses the ray from a point towards smaller x.
fn crosses_ray([a, b]: [[f64; 2]; 2], [x, y]: [f64; 2]) -> bool {
    (a[1] > y) != (b[1] > y) && x < a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polygons::square_to_segment;
    use proptest::prelude::*;

    fn rectangle([x0, x1]: [f64; 2], [y0, y1]: [f64; 2]) -> Ring {
        vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
    }

    fn square(half: f64) -> Ring {
        rectangle([-half, half], [-half, half])
    }

    /// Area of the rings as they are to be read, mm2.
    fn area(rings: &[Ring]) -> f64 {
        match resolved(rings, OverlapRule::Union) {
            Resolved::AsTheyAre => area_mm2(&clean(rings)),
            Resolved::Kept(kept) => area_mm2(&clean(
                &kept.iter().map(|&n| rings[n].clone()).collect::<Vec<_>>(),
            )),
            Resolved::Remade { rings, .. } => {
                assert_eq!(
                    resolved(&rings, OverlapRule::Union),
                    Resolved::AsTheyAre,
                    "clean"
                );
                area_mm2(&rings)
            }
            Resolved::TooMany => f64::NAN,
        }
    }

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-3, "{got} for {want}");
    }

    #[test]
    fn repetitions_count_once_whatever_their_corners() {
        let again: Ring = square(20.0).into_iter().rev().collect();
        let nearly = square(20.02);
        let finer: Ring = sides(&square(20.0))
            .flat_map(|[a, b]| [a, [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]])
            .collect();
        for other in [square(20.0), again, nearly, finer] {
            assert_eq!(
                resolved(&[square(20.0), other.clone()], OverlapRule::Union),
                Resolved::Kept(vec![0])
            );
            assert_eq!(
                resolved(
                    &[square(20.0), other.clone(), square(5.0), other],
                    OverlapRule::Union
                ),
                Resolved::Kept(vec![0, 2])
            );
        }
    }

    #[test]
    fn what_overlaps_is_a_union_and_what_lies_inside_a_hole() {
        let left = rectangle([-20.0, 5.0], [-20.0, 20.0]);
        let right = rectangle([-5.0, 20.0], [-20.0, 20.0]);
        close(area(&[left.clone(), right.clone()]), 1600.0);
        // A hole in one of them, an island in that, and a hole in both.
        let hole = rectangle([-18.0, -8.0], [-10.0, 10.0]);
        let island = rectangle([-15.0, -12.0], [-5.0, 5.0]);
        close(area(&[left.clone(), hole.clone(), right.clone()]), 1400.0);
        close(
            area(&[island.clone(), left.clone(), hole, right.clone()]),
            1430.0,
        );
        let both = rectangle([-2.0, 2.0], [-2.0, 2.0]);
        close(area(&[left, both, right]), 1584.0);
        let cross = [
            rectangle([-20.0, 20.0], [-5.0, 5.0]),
            rectangle([-5.0, 5.0], [-20.0, 20.0]),
        ];
        close(area(&cross), 700.0);
    }

    #[test]
    fn holes_islands_keyholes_and_neighbours_stay_as_they_are() {
        let nested = [square(20.0), square(10.0), square(5.0)];
        assert_eq!(resolved(&nested, OverlapRule::Union), Resolved::AsTheyAre);
        // Side by side along a line, and a hole that touches the rim.
        let side_by_side = [
            rectangle([0.0, 10.0], [0.0, 10.0]),
            rectangle([10.0, 20.0], [2.0, 8.0]),
        ];
        assert_eq!(
            resolved(&side_by_side, OverlapRule::Union),
            Resolved::AsTheyAre
        );
        let at_the_rim = [square(20.0), rectangle([-20.0, -10.0], [-5.0, 5.0])];
        assert_eq!(
            resolved(&at_the_rim, OverlapRule::Union),
            Resolved::AsTheyAre
        );
        // Rounding of a file.
        let rounded = [
            rectangle([0.0, 10.0], [0.0, 10.0]),
            rectangle([9.99, 20.0], [2.0, 8.0]),
        ];
        assert_eq!(resolved(&rounded, OverlapRule::Union), Resolved::AsTheyAre);
        let mut keyhole = square(20.0);
        keyhole.extend([
            [-20.0, -20.0],
            [-5.0, -5.0],
            [-5.0, 5.0],
            [5.0, 5.0],
            [5.0, -5.0],
            [-5.0, -5.0],
        ]);
        assert_eq!(
            resolved(&[keyhole, square(3.0)], OverlapRule::Union),
            Resolved::AsTheyAre
        );
    }

    #[test]
    fn declared_exclusive_or_stays_exclusive_or() {
        let rings = [
            rectangle([-20.0, 5.0], [-20.0, 20.0]),
            rectangle([-5.0, 20.0], [-20.0, 20.0]),
        ];
        let Resolved::Remade { rings, .. } = resolved(&rings, OverlapRule::ExclusiveOr) else {
            panic!("remade")
        };
        close(area_mm2(&rings), 1200.0);
        let twice = [square(20.0), square(20.0)];
        let none = Resolved::Remade {
            rings: Vec::new(),
            repeated: 0,
            overlapping: 0,
        };
        assert_eq!(resolved(&twice, OverlapRule::ExclusiveOr), none);
        assert_eq!(
            resolved(&[square(20.0), square(5.0)], OverlapRule::ExclusiveOr),
            Resolved::AsTheyAre
        );
    }

    /// Thousands of rings across one another end as a remark, not as a program that hangs.
    #[test]
    fn rings_without_number_are_given_up() {
        let many: Vec<Ring> = (0..3000)
            .map(|n| {
                square(20.0 + 0.3 * f64::from(n % 70))
                    .iter()
                    .map(|p| [p[0] + f64::from(n) * 1e-3, p[1]])
                    .collect()
            })
            .collect();
        assert_eq!(resolved(&many, OverlapRule::Union), Resolved::TooMany);
        let odd = [
            vec![],
            vec![[0.0, 0.0]; 3],
            vec![[0.0, 0.0]; 3],
            square(f64::MAX),
            square(f64::MAX),
        ];
        resolved(&odd, OverlapRule::Union);
    }

    fn blob() -> impl Strategy<Value = Ring> {
        let corner = (-50.0..50.0_f64, -50.0..50.0_f64);
        prop::collection::vec(corner, 3..8)
            .prop_map(|p| p.into_iter().map(|(x, y)| [x, y]).collect())
    }

    proptest! {
        /// The union of rings that all lie across one another, by points.
        #[test]
        fn a_point_lies_in_the_union_where_it_lies_in_a_ring(
            rings in prop::collection::vec(blob(), 2..4), x in -55.0..55.0_f64, y in -55.0..55.0_f64
        ) {
            let near = |[a, b]: [[f64; 2]; 2]| square_to_segment([x, y], a, b) < 1e-6;
            prop_assume!(!rings.iter().flat_map(sides).any(near));
            let area = |ring: &Ring| area_mm2(&clean(std::slice::from_ref(ring)));
            let lie = |a: &Ring, b: &Ring| relation([a, b], [area(a), area(b)]);
            let pairs = || (0..rings.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            prop_assume!(pairs().all(|(a, b)| lie(&rings[a], &rings[b]) == Relation::Overlapping));
            let Resolved::Remade { rings: made, .. } = resolved(&rings, OverlapRule::Union) else {
                return Err(TestCaseError::fail("not remade"));
            };
            let inside = made.iter().filter(|ring| holds(ring, [x, y])).count() % 2 == 1;
            prop_assert_eq!(inside, rings.iter().any(|ring| holds(ring, [x, y])));
        }
    }
}
