//! Leaves closed over a structure.

use super::{ApertureError, along, parked, travel_of};
use case::Beam;
use geometry::{Hull, Margin, PatientPosition};

/// The beam with its leaves closed over a structure grown by `margin_mm`, at every control point. Each leaf pair closes
/// from the side that loses less of its opening; the jaws stay.
///
/// # Errors
/// [`ApertureError`].
pub fn shielded(
    beam: &Beam,
    position: PatientPosition,
    sad_mm: f64,
    hull: &Hull,
    margin_mm: f64,
) -> Result<Beam, ApertureError> {
    if let Some(why) = &beam.read_only {
        return Err(ApertureError::ReadOnly(why.clone()));
    }
    let mlc = beam.mlc.as_ref().ok_or(ApertureError::NoLeaves)?;
    let travel = travel_of(mlc);
    let sides: Vec<[f64; 2]> = mlc.boundaries_mm.windows(2).map(|w| [w[0], w[1]]).collect();
    let mut value = beam.clone();
    let mut closes_any = false;
    for (n, point) in value.control_points.iter_mut().enumerate() {
        if point.leaves_mm.len() != sides.len() {
            let (pairs, tips) = (sides.len(), point.leaves_mm.len());
            return Err(ApertureError::WrongLeaves {
                pairs,
                tips,
                point: n,
            });
        }
        let silhouette = hull.seen(&beam.frame_at(point, position, sad_mm));
        if silhouette.is_cut {
            return Err(ApertureError::BehindSource(n));
        }
        let spans = silhouette.spans_mm(travel, &sides, &Margin::uniform(margin_mm));
        let (jaws, across) = (along(&point.jaws, travel), along(&point.jaws, 1 - travel));
        let closed = parked(jaws);
        let mut is_open = false;
        for ((tips, span), side) in point.leaves_mm.iter_mut().zip(spans).zip(&sides) {
            let open = [tips[0].max(jaws[0]), tips[1].min(jaws[1])];
            if open[1] <= open[0] || side[1] <= across[0] || side[0] >= across[1] {
                continue;
            }
            is_open = true;
            let Some([low, high]) = span.filter(|s| s[1] > open[0] && s[0] < open[1]) else {
                continue;
            };
            let [from_low, from_high] = [high.min(open[1]) - open[0], open[1] - low.max(open[0])];
            closes_any = true;
            if from_low.min(from_high) >= open[1] - open[0] {
                *tips = closed;
            } else if from_low <= from_high {
                tips[0] = high;
            } else {
                tips[1] = low;
            }
        }
        let still_open = point.leaves_mm.iter().zip(&sides).any(|(tips, side)| {
            let inside = side[1] > across[0] && side[0] < across[1];
            inside && tips[1].min(jaws[1]) > tips[0].max(jaws[0])
        });
        if is_open && !still_open {
            return Err(ApertureError::ClosesAll(n));
        }
    }
    if closes_any {
        Ok(value)
    } else {
        Err(ApertureError::NotInField)
    }
}
