//! Jaws and leaves: fitted to a structure, closed over one, moved within what machines can do.

mod fit;
mod moves;
mod shield;
#[cfg(test)]
mod tests;

pub use fit::{FitSettings, JawRule, LeafEdge, fitted};
pub use moves::{AperturePart, brushed, move_part, segment_of, with_leaves};
pub use shield::shielded;

use case::{Beam, Jaws, Mlc, MlcAxis};
use thiserror::Error;

/// The farthest that jaws and leaf tips go from the axis, mm at the isocentre plane: the 40 cm x 40 cm of the widest
/// fields (`assets/machines` has no machine with less). That X jaws stop 20 mm and Y jaws 100 mm past the axis on some machines is
/// not modelled.
pub const REACH_MM: f64 = 200.0;

/// Least opening of a pair of jaws, mm.
pub const LEAST_OPENING_MM: f64 = 1.0;

/// Leaf tips may overlap by this, as rounded positions of closed leaves do, mm.
const ROUNDING_MM: f64 = 0.05;

/// Closed leaves park this far behind a jaw, mm: the gap between their round ends is covered.
const PARKED_MM: f64 = 5.0;

/// Why an aperture cannot be set.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ApertureError {
    #[error("the beam is read only ({0})")]
    ReadOnly(String),
    #[error("the structure reaches behind the source{}", at(*.0))]
    BehindSource(usize),
    #[error(
        "jaw {jaw} would stand at {need_mm:.1} mm{}, and jaws reach {REACH_MM} mm: move the isocentre or take a smaller margin", at(*.point)
    )]
    OutOfReach {
        jaw: &'static str,
        need_mm: f64,
        point: usize,
    },
    #[error(
        "the outline reaches from {need_mm:.1?} mm across the leaves{}, which cover {have_mm:?} mm: turn the collimator or \
         move the isocentre", at(*.point)
    )]
    BeyondLeaves {
        need_mm: [f64; 2],
        have_mm: [f64; 2],
        point: usize,
    },
    #[error("no leaf pair would open: choose the leaf edge 'outside'")]
    NothingOpens,
    #[error("the beam has no leaves: add an MLC")]
    NoLeaves,
    #[error("the open field does not see it: nothing is closed")]
    NotInField,
    #[error("closing the leaves over it would close the whole field{}", at(*.0))]
    ClosesAll(usize),
    #[error("the leaf positions do not fit its MLC{}: {pairs} pairs, {tips} pairs of tips", at(*.point))]
    WrongLeaves {
        pairs: usize,
        tips: usize,
        point: usize,
    },
}

/// Words for a control point of a dynamic beam; static beams have the first alone, which goes unsaid.
fn at(point: usize) -> String {
    if point == 0 {
        String::new()
    } else {
        format!(" at control point {}", point + 1)
    }
}

/// Axis of leaf travel: 0 for x, 1 for y.
fn travel_of(mlc: &Mlc) -> usize {
    usize::from(mlc.axis == MlcAxis::Y)
}

fn along(jaws: &Jaws, axis: usize) -> [f64; 2] {
    if axis == 0 { jaws.x } else { jaws.y }
}

/// Position of a parked closed pair: behind the jaw that is nearer to the axis.
fn parked(jaws: [f64; 2]) -> [f64; 2] {
    let to = if jaws[0].abs() < jaws[1].abs() {
        jaws[0] - PARKED_MM
    } else {
        jaws[1] + PARKED_MM
    };
    [to.clamp(-REACH_MM, REACH_MM); 2]
}

/// Positions that no machine can take, a sentence each with the control point, at most `max_faults` of them.
pub fn aperture_faults(beam: &Beam, max_faults: usize) -> Vec<String> {
    let mut faults = Vec::new();
    for (n, point) in beam.control_points.iter().enumerate() {
        let place = if beam.control_points.len() > 1 {
            format!("Control point {}: ", n + 1)
        } else {
            String::new()
        };
        let sides = [("X", point.jaws.x), ("Y", point.jaws.y)];
        for (axis, pair) in sides {
            for (side, jaw) in pair.into_iter().enumerate() {
                if !(-REACH_MM..=REACH_MM).contains(&jaw) {
                    let name = format!("{axis}{}", side + 1);
                    faults.push(format!(
                        "{place}jaw {name} at {jaw:.1} mm; the jaws reach {REACH_MM} mm."
                    ));
                }
            }
            if pair[1] <= pair[0] {
                faults.push(format!("{place}the {axis} jaws are closed."));
            }
        }
        let pairs = beam
            .mlc
            .as_ref()
            .map_or(0, |m| m.boundaries_mm.len().saturating_sub(1));
        if point.leaves_mm.len() != pairs {
            faults.push(format!(
                "{place}{} pairs of leaf tips for {pairs} leaf pairs.",
                point.leaves_mm.len()
            ));
        }
        for (pair, [low, high]) in point.leaves_mm.iter().enumerate() {
            if low - high > ROUNDING_MM {
                let by = low - high;
                faults.push(format!(
                    "{place}the leaves of pair {} cross by {by:.1} mm.",
                    pair + 1
                ));
            }
        }
        if faults.len() > max_faults {
            faults.truncate(max_faults);
            faults.push("More of the like follow.".to_owned());
            break;
        }
    }
    faults
}
