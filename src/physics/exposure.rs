//! A beam as exposures: spans of monitor units delivered from one direction.

use case::{Beam, ControlPoint};

/// A span of a beam's monitor units delivered from one source position.
#[derive(Clone, Debug)]
pub struct Exposure<'a> {
    pub gantry_deg: f64,
    pub collimator_deg: f64,
    pub couch_deg: f64,
    /// Part of the beam's monitor units; the shares of a beam sum to 1.
    pub share: f64,
    /// Motion of the collimators during it.
    pub segments: Vec<Segment<'a>>,
}

/// Collimators moving evenly between two control points.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub from: &'a ControlPoint,
    pub to: &'a ControlPoint,
    /// Fractions from `from` to `to` at which the span begins and ends.
    pub span: [f64; 2],
    /// Part of the exposure's monitor units; the weights of an exposure sum to 1.
    pub weight: f64,
}

/// Angles closer than this are one source position, degrees.
pub(super) const SAME_ANGLE_DEG: f64 = 0.01;

/// Splits a beam into exposures. Control points between which no angle changes fall together into one; while an angle
/// moves, each step of at most `max_step_deg` is an exposure from the middle of the step. Angles take the short way round.
pub fn exposures(beam: &Beam, max_step_deg: f64) -> Vec<Exposure<'_>> {
    let points = &beam.control_points;
    let total = points.last().map_or(0.0, |p| p.meterset_weight) - first_weight(points);
    let mut out: Vec<Exposure<'_>> = Vec::new();
    for (from, to) in pairs(points) {
        let share = if points.len() == 1 || total <= 0.0 {
            1.0 / pairs(points).count() as f64
        } else {
            (to.meterset_weight - from.meterset_weight) / total
        };
        if share <= 0.0 {
            continue;
        }
        let turn = [
            short_way(from.gantry_deg, to.gantry_deg),
            short_way(from.collimator_deg, to.collimator_deg),
            short_way(from.couch_deg, to.couch_deg),
        ];
        let largest = turn.iter().fold(0.0_f64, |a, t| a.max(t.abs()));
        let steps = if largest < SAME_ANGLE_DEG {
            1
        } else {
            (largest / max_step_deg.max(SAME_ANGLE_DEG)).ceil() as usize
        };
        for step in 0..steps {
            let span = [step as f64 / steps as f64, (step + 1) as f64 / steps as f64];
            let middle = 0.5 * (span[0] + span[1]);
            let step_share = share / steps as f64;
            let angles = [
                from.gantry_deg + middle * turn[0],
                from.collimator_deg + middle * turn[1],
                from.couch_deg + middle * turn[2],
            ];
            let segment = Segment {
                from,
                to,
                span,
                weight: step_share,
            };
            match out.last_mut().filter(|e| e.is_at(angles)) {
                Some(e) => {
                    e.share += step_share;
                    e.segments.push(segment);
                }
                None => out.push(Exposure {
                    gantry_deg: angles[0].rem_euclid(360.0),
                    collimator_deg: angles[1].rem_euclid(360.0),
                    couch_deg: angles[2].rem_euclid(360.0),
                    share: step_share,
                    segments: vec![segment],
                }),
            }
        }
    }
    for e in &mut out {
        for s in &mut e.segments {
            s.weight /= e.share;
        }
    }
    out
}

impl Exposure<'_> {
    fn is_at(&self, [gantry, collimator, couch]: [f64; 3]) -> bool {
        [
            (self.gantry_deg, gantry),
            (self.collimator_deg, collimator),
            (self.couch_deg, couch),
        ]
        .iter()
        .all(|&(a, b)| short_way(a, b).abs() < SAME_ANGLE_DEG)
    }
}

fn first_weight(points: &[ControlPoint]) -> f64 {
    if points.len() > 1 {
        points[0].meterset_weight
    } else {
        0.0
    }
}

/// Neighbouring control points; a single one is its own neighbour.
fn pairs(points: &[ControlPoint]) -> impl Iterator<Item = (&ControlPoint, &ControlPoint)> {
    let single = (points.len() == 1).then(|| (&points[0], &points[0]));
    single
        .into_iter()
        .chain(points.windows(2).map(|w| (&w[0], &w[1])))
}

/// Turn from one angle to another, -180 to 180 degrees.
pub(super) fn short_way(from_deg: f64, to_deg: f64) -> f64 {
    (to_deg - from_deg + 180.0).rem_euclid(360.0) - 180.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;

    fn beam(points: &[(f64, f64)]) -> Beam {
        let mut b = Beam::fixed(
            "b",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            100.0,
        );
        let one = b.control_points[0].clone();
        b.control_points = points
            .iter()
            .map(|&(w, g)| ControlPoint {
                meterset_weight: w,
                gantry_deg: g,
                ..one.clone()
            })
            .collect();
        b
    }

    #[test]
    fn a_static_beam_is_one_exposure() {
        for points in [
            &[(1.0, 30.0)][..],
            &[(0.0, 30.0), (1.0, 30.0)],
            &[(0.0, 30.0), (0.4, 30.0), (2.0, 30.0)],
        ] {
            let b = beam(points);
            let e = exposures(&b, 2.0);
            assert_eq!((e.len(), e[0].gantry_deg), (1, 30.0));
            assert!((e[0].share - 1.0).abs() < 1e-12);
            assert!((e[0].segments.iter().map(|s| s.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn an_arc_goes_the_short_way_and_keeps_its_units() {
        let b = beam(&[(0.0, 350.0), (0.25, 358.0), (1.0, 4.0), (1.0, 90.0)]);
        let e = exposures(&b, 4.0);
        let angles: Vec<f64> = e.iter().map(|e| e.gantry_deg).collect();
        assert_eq!(angles, [352.0, 356.0, 359.5, 2.5]);
        assert!((e.iter().map(|e| e.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((e[0].share - 0.125).abs() < 1e-12 && (e[3].share - 0.375).abs() < 1e-12);
        assert_eq!(e[3].segments[0].span, [0.5, 1.0]);
    }

    #[test]
    fn units_at_the_first_point_or_none_at_all_do_not_break_it() {
        assert!(exposures(&beam(&[]), 2.0).is_empty());
        let b = beam(&[(0.0, 0.0), (0.0, 0.0)]);
        assert_eq!(exposures(&b, 2.0).len(), 1);
    }
}
