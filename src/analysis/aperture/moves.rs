//! Single jaws and leaves, moved by hand.

use super::{LEAST_OPENING_MM, REACH_MM, along, parked, travel_of};
use case::{Beam, ControlPoint, Mlc};
use std::ops::Range;

/// A jaw or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AperturePart {
    /// `axis` 0 for X, 1 for Y; `side` 0 for the negative one.
    Jaw { axis: usize, side: usize },
    /// `bank` 0 for the negative one.
    Leaf { pair: usize, bank: usize },
}

/// Moves a jaw or leaf, as far as its opposite and the machine let it.
pub fn move_part(point: &mut ControlPoint, part: AperturePart, to_mm: f64) {
    if !to_mm.is_finite() {
        return;
    }
    match part {
        AperturePart::Jaw { axis: 0, side } => {
            move_side(&mut point.jaws.x, side, to_mm, LEAST_OPENING_MM);
        }
        AperturePart::Jaw { side, .. } => {
            move_side(&mut point.jaws.y, side, to_mm, LEAST_OPENING_MM)
        }
        AperturePart::Leaf { pair, bank } => {
            if let Some(tips) = point.leaves_mm.get_mut(pair) {
                move_side(tips, bank, to_mm, 0.0);
            }
        }
    }
}

/// Moves one side of a pair, which keeps a gap to its opposite and the reach of the machine.
fn move_side(pair: &mut [f64; 2], side: usize, to_mm: f64, gap_mm: f64) {
    // `max` and `min` in turn: where a plan stands beyond the reach there may be no room between.
    pair[side] = match side {
        0 => to_mm.min(pair[1] - gap_mm).max(-REACH_MM),
        _ => to_mm.max(pair[0] + gap_mm).min(REACH_MM),
    };
}

/// Sets the tips of one bank to a path of the pointer, `(x, y)` in mm: every leaf that the path passes, where it
/// comes nearest to the leaf's middle.
pub fn brushed(
    point: &mut ControlPoint,
    mlc: &Mlc,
    bank: usize,
    from_mm: [f64; 2],
    to_mm: [f64; 2],
) {
    let travel = travel_of(mlc);
    let across = 1 - travel;
    let (low, high) = (
        from_mm[across].min(to_mm[across]),
        from_mm[across].max(to_mm[across]),
    );
    for (pair, side) in mlc.boundaries_mm.windows(2).enumerate() {
        if side[1] < low || side[0] > high {
            continue;
        }
        let nearest = (0.5 * (side[0] + side[1])).clamp(low, high);
        let way = to_mm[across] - from_mm[across];
        let share = if way == 0.0 {
            1.0
        } else {
            (nearest - from_mm[across]) / way
        };
        let tip = from_mm[travel] + share * (to_mm[travel] - from_mm[travel]);
        move_part(point, AperturePart::Leaf { pair, bank }, tip);
    }
}

/// The control points next to each other that show the same aperture from the same angles: a step of a step-and-shoot beam, whose
/// two ends move together.
pub fn segment_of(points: &[ControlPoint], index: usize) -> Range<usize> {
    let Some(point) = points.get(index) else {
        return 0..0;
    };
    let preceding = points[..index]
        .iter()
        .rev()
        .take_while(|other| equal_but_weight(other, point))
        .count();
    let following = points[index..]
        .iter()
        .take_while(|other| equal_but_weight(other, point))
        .count();
    index - preceding..index + following
}

fn equal_but_weight(a: &ControlPoint, b: &ControlPoint) -> bool {
    ControlPoint {
        meterset_weight: b.meterset_weight,
        ..a.clone()
    } == *b
}

/// The beam with leaves that stand at its jaws.
pub fn with_leaves(beam: &Beam, mlc: Mlc) -> Beam {
    let travel = travel_of(&mlc);
    let mut value = beam.clone();
    for point in &mut value.control_points {
        let (open, across) = (along(&point.jaws, travel), along(&point.jaws, 1 - travel));
        point.leaves_mm = mlc
            .boundaries_mm
            .windows(2)
            .map(|side| {
                if side[1] > across[0] && side[0] < across[1] {
                    open
                } else {
                    parked(open)
                }
            })
            .collect();
    }
    value.mlc = Some(mlc);
    value
}
