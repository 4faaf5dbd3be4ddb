//! Jaws and leaves set to the outline of a structure.

use super::{ApertureError, REACH_MM, along, parked, travel_of};
use case::{Beam, Jaws, Mlc};
use geometry::{Hull, Margin, PatientPosition, Silhouette};

/// Lines across a leaf at which its innermost point is sought, mm apart at most.
const LINE_MM: f64 = 0.25;

/// Position of a leaf's end beside the outline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeafEdge {
    /// At the outermost point of the outline over the leaf's width: nothing of it is covered.
    #[default]
    Outside,
    /// At the crossing of the leaf's middle with the outline.
    Middle,
    /// At the innermost point of the outline over the leaf's width: nothing beyond it along the leaf is open.
    Inside,
}

/// Positions of the jaws round fitted leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JawRule {
    /// At the outline with its margin.
    #[default]
    Outline,
    /// At the rectangle round the open leaf pairs.
    Leaves,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    pub margin: Margin,
    pub edge: LeafEdge,
    pub jaws: JawRule,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            margin: Margin::uniform(5.0),
            edge: LeafEdge::default(),
            jaws: JawRule::default(),
        }
    }
}

/// The beam with jaws and leaves round a structure, at every control point. Jaws stand still in a dynamic beam, round the
/// outlines of all control points; leaves follow each.
///
/// # Errors
/// [`ApertureError`]; the aperture is all fitted or not at all.
pub fn fitted(
    beam: &Beam,
    position: PatientPosition,
    sad_mm: f64,
    hull: &Hull,
    how: &FitSettings,
) -> Result<Beam, ApertureError> {
    if let Some(why) = &beam.read_only {
        return Err(ApertureError::ReadOnly(why.clone()));
    }
    let mut outline = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    let mut seen = Vec::with_capacity(beam.control_points.len());
    for (n, point) in beam.control_points.iter().enumerate() {
        let silhouette = hull.seen(&beam.frame_at(point, position, sad_mm));
        let extent = silhouette
            .extent_mm(&how.margin)
            .filter(|_| !silhouette.is_cut);
        let extent = extent.ok_or(ApertureError::BehindSource(n))?;
        within_reach(&extent, n)?;
        for axis in 0..2 {
            outline[axis] = [
                outline[axis][0].min(extent[axis][0]),
                outline[axis][1].max(extent[axis][1]),
            ];
        }
        seen.push(silhouette);
    }
    let mut fitted = beam.clone();
    let mut jaws = Jaws {
        x: outline[0],
        y: outline[1],
    };
    if let Some(mlc) = &beam.mlc {
        let mut open = Vec::with_capacity(seen.len());
        for (n, silhouette) in seen.iter().enumerate() {
            open.push(openings(silhouette, mlc, how, n)?);
        }
        let rectangle = rectangle_of(&open, mlc).ok_or(ApertureError::NothingOpens)?;
        if how.jaws == JawRule::Leaves {
            jaws = rectangle;
        }
        let closed = parked(along(&jaws, travel_of(mlc)));
        for (point, open) in fitted.control_points.iter_mut().zip(open) {
            point.leaves_mm = open
                .into_iter()
                .map(|tips| tips.unwrap_or(closed))
                .collect();
        }
    }
    fitted
        .control_points
        .iter_mut()
        .for_each(|point| point.jaws = jaws);
    Ok(fitted)
}

fn within_reach(extent: &[[f64; 2]; 2], point: usize) -> Result<(), ApertureError> {
    const NAMES: [[&str; 2]; 2] = [["X1", "X2"], ["Y1", "Y2"]];
    for (axis, names) in NAMES.iter().enumerate() {
        for (side, jaw) in names.iter().enumerate() {
            let need_mm = extent[axis][side];
            if need_mm.abs() > REACH_MM {
                return Err(ApertureError::OutOfReach {
                    jaw,
                    need_mm,
                    point,
                });
            }
        }
    }
    Ok(())
}

/// Intervals between the lines that are read across a leaf.
fn intervals_across(sides_mm: &[f64; 2]) -> usize {
    ((sides_mm[1] - sides_mm[0]) / LINE_MM).ceil().max(1.0) as usize
}

/// The tips of the open leaf pairs round a silhouette; `None` for closed pairs.
fn openings(
    silhouette: &Silhouette,
    mlc: &Mlc,
    how: &FitSettings,
    point: usize,
) -> Result<Vec<Option<[f64; 2]>>, ApertureError> {
    let travel = travel_of(mlc);
    let sides: Vec<[f64; 2]> = mlc.boundaries_mm.windows(2).map(|w| [w[0], w[1]]).collect();
    let extent = silhouette
        .extent_mm(&how.margin)
        .ok_or(ApertureError::BehindSource(point))?;
    let need_mm = extent[1 - travel];
    let have_mm = [
        sides.first().map_or(0.0, |s| s[0]),
        sides.last().map_or(0.0, |s| s[1]),
    ];
    if need_mm[0] < have_mm[0] || need_mm[1] > have_mm[1] {
        return Err(ApertureError::BeyondLeaves {
            need_mm,
            have_mm,
            point,
        });
    }
    let spans = match how.edge {
        LeafEdge::Outside => silhouette.spans_mm(travel, &sides, &how.margin),
        LeafEdge::Middle => {
            let middles: Vec<[f64; 2]> = sides.iter().map(|s| [0.5 * (s[0] + s[1]); 2]).collect();
            silhouette.spans_mm(travel, &middles, &how.margin)
        }
        LeafEdge::Inside => {
            let lines: Vec<[f64; 2]> = sides
                .iter()
                .flat_map(|s| {
                    let n = intervals_across(s);
                    (0..=n).map(move |k| [s[0] + (s[1] - s[0]) * k as f64 / n as f64; 2])
                })
                .collect();
            let line_spans = silhouette.spans_mm(travel, &lines, &how.margin);
            let mut from = 0;
            let innermost = sides.iter().map(|s| {
                let strip_spans = &line_spans[from..=from + intervals_across(s)];
                from += intervals_across(s) + 1;
                strip_spans
                    .iter()
                    .flatten()
                    .copied()
                    .reduce(|a, b| [a[0].max(b[0]), a[1].min(b[1])])
            });
            innermost.collect()
        }
    };
    Ok(spans
        .into_iter()
        .map(|span| span.filter(|s| s[1] > s[0]))
        .collect())
}

/// The rectangle round all open pairs.
fn rectangle_of(open: &[Vec<Option<[f64; 2]>>], mlc: &Mlc) -> Option<Jaws> {
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    let (mut tips, mut sides) = (none, none);
    for pairs in open {
        for (pair, side) in pairs.iter().zip(mlc.boundaries_mm.windows(2)) {
            if let Some(pair) = pair {
                tips = [tips[0].min(pair[0]), tips[1].max(pair[1])];
                sides = [sides[0].min(side[0]), sides[1].max(side[1])];
            }
        }
    }
    let jaws = if travel_of(mlc) == 0 {
        Jaws { x: tips, y: sides }
    } else {
        Jaws { x: sides, y: tips }
    };
    jaws.is_open().then_some(jaws)
}
