//! Arcs: from a gantry angle to another, one way round.

use super::{Beam, ControlPoint};
use geometry::wrapped_deg;

/// Degrees between control points of an arc, at most.
const STEP_DEG: f64 = 4.0;

/// A turn of the gantry, degrees of IEC 61217.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GantryArc {
    pub start_deg: f64,
    pub stop_deg: f64,
    /// Towards greater angles, as one faces the gantry.
    pub clockwise: bool,
}

impl GantryArc {
    /// From 181 over 0 to 179 degrees.
    pub const FULL: Self = Self {
        start_deg: 181.0,
        stop_deg: 179.0,
        clockwise: true,
    };

    /// Degrees that the gantry turns, above 0 and at most 360: equal angles are a whole turn.
    pub fn span_deg(&self) -> f64 {
        let way = self.stop_deg - self.start_deg;
        match wrapped_deg(if self.clockwise { way } else { -way }) {
            0.0 => 360.0,
            span => span,
        }
    }

    /// Gantry angle after a part of the turn, to the hundredth of a degree that files state exactly.
    pub fn at_deg(&self, part: f64) -> f64 {
        let signed = if self.clockwise {
            self.span_deg()
        } else {
            -self.span_deg()
        };
        (100.0 * (self.start_deg + part * signed))
            .round()
            .rem_euclid(36_000.0)
            / 100.0
    }

    /// Gantry angles of control points that lie at most 4 degrees apart.
    pub fn angles_deg(&self) -> Vec<f64> {
        let span = self.span_deg();
        let steps = (span / STEP_DEG).ceil().max(1.0);
        let signed = if self.clockwise { span } else { -span };
        (0..=steps as usize)
            .map(|n| wrapped_deg(self.start_deg + signed * n as f64 / steps))
            .collect()
    }
}

impl Beam {
    /// The arc of a beam whose gantry turns one way; `None` where it stands still or turns both ways.
    pub fn arc(&self) -> Option<GantryArc> {
        let steps: Vec<f64> = self
            .control_points
            .windows(2)
            .map(|pair| gantry_step_deg(&pair[0], &pair[1]))
            .collect();
        let clockwise = steps.iter().any(|s| *s > 0.0);
        let both = clockwise && steps.iter().any(|s| *s < 0.0);
        let turns = steps.iter().any(|s| *s != 0.0);
        let (first, last) = (self.control_points.first()?, self.control_points.last()?);
        (turns && !both).then_some(GantryArc {
            start_deg: first.gantry_deg,
            stop_deg: last.gantry_deg,
            clockwise,
        })
    }

    /// The beam along another arc. Its control points lie on the new arc; each has the aperture of this beam at the same meterset weight.
    #[must_use]
    pub fn along_arc(&self, arc: GantryArc) -> Self {
        let points = &self.control_points;
        let angles = arc.angles_deg();
        let last = (angles.len() - 1) as f64;
        let control_points = angles.iter().enumerate().filter_map(|(n, gantry_deg)| {
            let meterset_weight = n as f64 / last;
            let source = points
                .iter()
                .rev()
                .find(|p| p.meterset_weight <= meterset_weight)
                .or(points.first())?;
            Some(ControlPoint {
                meterset_weight,
                gantry_deg: *gantry_deg,
                ..source.clone()
            })
        });
        Self {
            control_points: control_points.collect(),
            ..self.clone()
        }
    }
}

/// Turn of the gantry from one control point to the next, the shorter way round, degrees.
fn gantry_step_deg(from: &ControlPoint, to: &ControlPoint) -> f64 {
    let turn = wrapped_deg(to.gantry_deg - from.gantry_deg);
    if turn > 180.0 { turn - 360.0 } else { turn }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Template};
    use glam::DVec3;

    #[test]
    fn arcs_run_the_way_that_is_asked_for() {
        for (start, stop, clockwise, span) in [
            (181.0, 179.0, true, 358.0),
            (181.0, 179.0, false, 2.0),
            (179.0, 181.0, false, 358.0),
            (30.0, 90.0, true, 60.0),
            (30.0, 90.0, false, 300.0),
            (90.0, 90.0, true, 360.0),
        ] {
            let arc = GantryArc {
                start_deg: start,
                stop_deg: stop,
                clockwise,
            };
            assert_eq!(arc.span_deg(), span);
            let angles = arc.angles_deg();
            assert_eq!((angles[0], angles[angles.len() - 1]), (start, stop));
            let sign = if clockwise { 1.0 } else { -1.0 };
            for pair in angles.windows(2) {
                let step = wrapped_deg(sign * (pair[1] - pair[0]));
                assert!(step > 0.0 && step <= 4.0 + 1e-9, "{arc:?} {step}");
            }
        }
    }

    #[test]
    fn the_arc_of_a_beam_is_read_back_and_its_apertures_stay_along_the_way() {
        let plan = Plan::new("P", "generic-6mv");
        let mut beam = Template::Arc(GantryArc::FULL)
            .beams(&plan, DVec3::ZERO)
            .remove(0);
        assert_eq!(beam.arc(), Some(GantryArc::FULL));
        for point in &mut beam.control_points {
            point.jaws.x[1] = 10.0 + 40.0 * point.meterset_weight;
        }
        let to = GantryArc {
            start_deg: 150.0,
            stop_deg: 330.0,
            clockwise: false,
        };
        let turned = beam.along_arc(to);
        assert_eq!(turned.arc(), Some(to));
        let points = &turned.control_points;
        assert_eq!(
            (
                points[0].meterset_weight,
                points[points.len() - 1].meterset_weight
            ),
            (0.0, 1.0)
        );
        // Half of 40 mm at half of the way, as near as control points of the first arc lie.
        for p in points {
            assert!(
                (p.jaws.x[1] - 10.0 - 40.0 * p.meterset_weight).abs() < 0.5,
                "{}",
                p.jaws.x[1]
            );
        }
        assert_eq!(Template::One.beams(&plan, DVec3::ZERO)[0].arc(), None);
        beam.control_points[40].gantry_deg = wrapped_deg(beam.control_points[39].gantry_deg - 1.0);
        assert_eq!(beam.arc(), None, "it turns both ways");
    }
}
