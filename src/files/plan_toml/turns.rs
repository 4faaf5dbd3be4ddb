//! Which way round gantry, collimator and couch turn between two control points. The engines turn the short way; a file
//! whose numbers lie half a circle or more apart has to say which way is meant.

use case::bounds::{ANGLE_DEG, SAME_DEG};
use case::{ControlPoint, RotationAxis, RotationDirection, turn_deg};
use geometry::wrapped_deg;
use serde::Deserialize;

/// As DICOM names them: clockwise and counter-clockwise as one faces the gantry, looks from the source at the collimator, and from above at
/// the couch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Cw,
    Cc,
}

impl Direction {
    fn word(self) -> &'static str {
        match self {
            Self::Cw => "cw",
            Self::Cc => "cc",
        }
    }

    fn rotation(self) -> RotationDirection {
        match self {
            Self::Cw => RotationDirection::Clockwise,
            Self::Cc => RotationDirection::CounterClockwise,
        }
    }
}

impl From<RotationDirection> for Direction {
    fn from(direction: RotationDirection) -> Self {
        match direction {
            RotationDirection::Clockwise => Self::Cw,
            RotationDirection::CounterClockwise => Self::Cc,
        }
    }
}

/// Stated directions of gantry, collimator and couch.
pub type Directions = [Option<Direction>; 3];

/// Whether the short way between two angles differs from the way that their numbers suggest: from 10 to 200, from 350 to 10.
fn is_unclear(from: f64, to: f64) -> bool {
    (to - from).abs() > 180.0 - SAME_DEG
}

/// Why it is not known, or not modelled, how the beam turns while it delivers from one control point to the next.
pub fn turn_fault(from: &ControlPoint, to: &ControlPoint, stated: Directions) -> Option<String> {
    if to.meterset_weight <= from.meterset_weight {
        return None;
    }
    RotationAxis::ALL.into_iter().zip(stated).find_map(|(axis, stated)| {
        let (name, from, to) = (axis.name(), axis.angle_deg(from), axis.angle_deg(to));
        if ![from, to].iter().all(|deg| ANGLE_DEG.contains(deg)) {
            // The check of the plan refuses it.
            return None;
        }
        let turn = turn_deg(from, to);
        let is_long = match stated {
            Some(stated) => axis.is_against(turn, stated.rotation()),
            None if is_unclear(from, to) => {
                let rising = axis.rising();
                let [rises, falls] = [rising, rising.opposite()].map(|way| Direction::from(way).word());
                return Some(format!(
                    "the {name} goes from {from} to {to} degrees, and which way round is not stated: write \
                     {name}_direction = \"{rises}\" (angles rise) or \"{falls}\" at the control point before, or give control points \
                     less than 180 degrees apart"
                ));
            }
            None => false,
        };
        // Of half a circle, and of a whole one, neither way is the short one.
        let is_long = is_long || turn.abs() > 180.0 - SAME_DEG || (turn.abs() <= SAME_DEG && is_unclear(from, to));
        let direction = stated.map_or("not stated", Direction::word);
        is_long.then(|| {
            format!(
                "the {name} turns from {from} to {to} degrees by half a circle or more ({name}_direction {direction}), which \
                 is not modelled: give control points less than 180 degrees apart"
            )
        })
    })
}

/// The lines that state the directions at each control point: of the axes whose numbers do not tell them, where they
/// change.
pub fn to_state(points: &[ControlPoint]) -> Vec<String> {
    let mut lines = vec![String::new(); points.len()];
    for axis in RotationAxis::ALL {
        let angles: Vec<f64> = points
            .iter()
            .map(|point| wrapped_deg(axis.angle_deg(point)))
            .collect();
        if !angles.windows(2).any(|pair| is_unclear(pair[0], pair[1])) {
            continue;
        }
        let mut last = None;
        for (line, pair) in lines.iter_mut().zip(angles.windows(2)) {
            let turn = turn_deg(pair[0], pair[1]);
            let Some(direction) = axis
                .direction(turn)
                .filter(|_| turn.abs() > SAME_DEG)
                .map(Direction::from)
            else {
                continue;
            };
            if last != Some(direction) {
                *line += &format!("{}_direction = \"{}\"\n", axis.name(), direction.word());
                last = Some(direction);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;

    fn at(gantry_deg: f64, meterset_weight: f64) -> ControlPoint {
        ControlPoint {
            meterset_weight,
            gantry_deg,
            collimator_deg: 0.0,
            couch_deg: 0.0,
            jaws: Jaws::symmetric(100.0, 100.0),
            leaves_mm: Vec::new(),
        }
    }

    /// The angle swept in the stated direction, counted in whole degrees one at a time, against 180.
    #[test]
    fn a_turn_is_modelled_where_the_stated_way_round_is_less_than_half_a_circle() {
        for from in (0..360).step_by(30) {
            for to in (0..360).step_by(15) {
                let fault = |stated| {
                    turn_fault(
                        &at(f64::from(from), 0.0),
                        &at(f64::from(to), 1.0),
                        [stated, None, None],
                    )
                };
                let swept = |step: i32| {
                    (0..360)
                        .find(|n| (from + step * n).rem_euclid(360) == to)
                        .unwrap()
                };
                for (direction, step) in [(Direction::Cw, 1), (Direction::Cc, -1)] {
                    let refused = fault(Some(direction)).is_some();
                    assert_eq!(refused, swept(step) >= 180, "{from} {to} {direction:?}");
                }
                let unclear = (to - from).abs() >= 180;
                let unstated = fault(None);
                assert_eq!(unstated.is_some(), unclear, "{from} {to}");
                assert!(unstated.is_none_or(|why| why.contains("which way round is not stated")));
            }
        }
        // DICOM looks at collimator and couch from where rising angles turn counter-clockwise.
        let (start, risen) = (turning(350.0, 350.0, 0.0), turning(10.0, 10.0, 1.0));
        let [cw, cc] = [Direction::Cw, Direction::Cc].map(Some);
        assert_eq!(turn_fault(&start, &risen, [None, cc, cc]), None);
        assert_eq!(
            to_state(&[start.clone(), risen.clone()])[0],
            "collimator_direction = \"cc\"\ncouch_direction = \"cc\"\n"
        );
        for long in [[None, cw, cc], [None, cc, cw]] {
            assert!(
                turn_fault(&start, &risen, long)
                    .is_some_and(|why| why.contains("half a circle or more"))
            );
        }
        let fault = turn_fault(
            &at(0.0, 0.0),
            &at(360.0, 1.0),
            [Some(Direction::Cw), None, None],
        );
        assert!(fault.unwrap().contains("half a circle or more"));
        assert_eq!(
            turn_fault(&at(0.0, 0.5), &at(200.0, 0.5), [None; 3]),
            None,
            "nothing is delivered"
        );
    }

    fn turning(collimator_deg: f64, couch_deg: f64, meterset_weight: f64) -> ControlPoint {
        ControlPoint {
            collimator_deg,
            couch_deg,
            ..at(0.0, meterset_weight)
        }
    }

    #[test]
    fn directions_are_stated_where_numbers_do_not_tell_them() {
        assert_eq!(lines_for(&[10.0, 100.0, 50.0]), "");
        assert_eq!(
            lines_for(&[350.0, 358.0, 4.0]),
            "gantry_direction = \"cw\"\n"
        );
        assert_eq!(
            lines_for(&[4.0, 4.0, 350.0, 2.0]),
            "gantry_direction = \"cc\"\ngantry_direction = \"cw\"\n"
        );
    }

    fn lines_for(degrees: &[f64]) -> String {
        to_state(&degrees.iter().map(|deg| at(*deg, 0.0)).collect::<Vec<_>>()).concat()
    }
}
