//! Handles of the beam's-eye view: edges of the jaws and tips of the leaves.

use super::bev::BevPlane;
use super::overlay::{Anchor, text};
use super::{BeamLayer, drag};
use crate::kit::theme;
use analysis::AperturePart;
use case::{Jaws, Mlc, MlcAxis};
use egui::{CursorIcon, Painter, Pos2, Response, Stroke, Ui, vec2};

/// Distance within which an edge is grabbed, points.
const REACH: f32 = 5.0;

/// A leaf shorter than this on the screen, points across, cannot be told from its neighbours.
const LEAST_WIDTH: f32 = 2.0;

/// Axes of travel and across.
fn axes(mlc: &Mlc) -> [usize; 2] {
    match mlc.axis {
        MlcAxis::X => [0, 1],
        MlcAxis::Y => [1, 0],
    }
}

fn along(jaws: &Jaws, axis: usize) -> [f64; 2] {
    if axis == 0 { jaws.x } else { jaws.y }
}

/// The end points of a jaw's edge or a leaf's tip in (x, y), mm; `None` for a leaf outside the jaws.
fn ends_mm(beam: &BeamLayer, part: AperturePart) -> Option<[[f64; 2]; 2]> {
    match part {
        AperturePart::Jaw { axis, side } => Some(edge(
            axis,
            along(&beam.jaws, axis)[side],
            along(&beam.jaws, 1 - axis),
        )),
        AperturePart::Leaf { pair, bank } => {
            let mlc = beam.mlc.as_ref()?;
            let [travel, across] = axes(mlc);
            let (side, tips) = (
                mlc.boundaries_mm.get(pair..pair + 2)?,
                beam.leaves_mm.get(pair)?,
            );
            let jaws = along(&beam.jaws, across);
            let side = [side[0].max(jaws[0]), side[1].min(jaws[1])];
            let [low, high] = along(&beam.jaws, travel);
            (side[1] > side[0] && (low..=high).contains(&tips[bank]))
                .then(|| edge(travel, tips[bank], side))
        }
    }
}

/// End points in (x, y), mm, of an edge at a position on an axis, from side to side on the other axis.
fn edge(axis: usize, position: f64, across: [f64; 2]) -> [[f64; 2]; 2] {
    across.map(|side| {
        if axis == 0 {
            [position, side]
        } else {
            [side, position]
        }
    })
}

/// Distance of a point of the screen from a part, points.
fn distance(beam: &BeamLayer, plane: &BevPlane, part: AperturePart, point: Pos2) -> Option<f32> {
    let [a, b] = ends_mm(beam, part)?.map(|[x, y]| plane.screen(x, y));
    let way = b - a;
    let share = if way.length_sq() > 0.0 {
        ((point - a).dot(way) / way.length_sq()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Some(point.distance(a + share * way))
}

/// The pair of leaves under a point.
fn pair_at(beam: &BeamLayer, plane: &BevPlane, point: Pos2) -> Option<usize> {
    let mlc = beam.mlc.as_ref()?;
    let across = plane.device_mm(point)[axes(mlc)[1]];
    let pair = mlc
        .boundaries_mm
        .partition_point(|b| *b <= across)
        .checked_sub(1)?;
    (pair < beam.leaves_mm.len()).then_some(pair)
}

/// The jaw or leaf at a point: the nearest within reach, jaws before leaves that stand at them.
pub(crate) fn part_at(beam: &BeamLayer, plane: &BevPlane, point: Pos2) -> Option<AperturePart> {
    if !beam.editable {
        return None;
    }
    let jaws = [0, 1]
        .into_iter()
        .flat_map(|axis| [0, 1].map(|side| AperturePart::Jaw { axis, side }));
    let pair = pair_at(beam, plane, point).filter(|pair| {
        let mlc = beam.mlc.as_ref();
        let width = mlc.map_or(0.0, |m| m.boundaries_mm[pair + 1] - m.boundaries_mm[*pair]);
        (width / plane.mm_per_point) as f32 >= LEAST_WIDTH
    });
    let leaves = pair
        .into_iter()
        .flat_map(|pair| [0, 1].map(|bank| AperturePart::Leaf { pair, bank }));
    jaws.chain(leaves)
        .filter_map(|part| Some((part, distance(beam, plane, part, point)?)))
        .filter(|(_, d)| *d <= REACH)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(part, _)| part)
}

/// The bank that a brush stroke from this point sets: that with the nearer tip.
pub(crate) fn bank_at(beam: &BeamLayer, plane: &BevPlane, point: Pos2) -> Option<usize> {
    let mlc = beam.mlc.as_ref().filter(|_| beam.editable)?;
    let tips = beam.leaves_mm[pair_at(beam, plane, point)?];
    let x = plane.device_mm(point)[axes(mlc)[0]];
    Some(usize::from((x - tips[1]).abs() < (x - tips[0]).abs()))
}

/// The position along a part's travel of a point on the screen, mm.
pub(crate) fn position_mm(
    beam: &BeamLayer,
    plane: &BevPlane,
    part: AperturePart,
    pointer: Pos2,
) -> f64 {
    let axis = match part {
        AperturePart::Jaw { axis, .. } => axis,
        AperturePart::Leaf { .. } => beam.mlc.as_ref().map_or(0, |mlc| axes(mlc)[0]),
    };
    plane.device_mm(pointer)[axis]
}

/// The name of a part as planners say it, and its position.
fn label(beam: &BeamLayer, part: AperturePart) -> Option<String> {
    const AXES: [&str; 2] = ["X", "Y"];
    Some(match part {
        AperturePart::Jaw { axis, side } => {
            format!(
                "Jaw {}{}  {:.1} mm",
                AXES[axis],
                side + 1,
                along(&beam.jaws, axis)[side]
            )
        }
        AperturePart::Leaf { pair, bank } => {
            let travel = axes(beam.mlc.as_ref()?)[0];
            let tip = beam.leaves_mm.get(pair)?[bank];
            format!(
                "Leaf {} {}{}  {tip:.1} mm",
                pair + 1,
                AXES[travel],
                bank + 1
            )
        }
    })
}

/// Highlights the part under the pointer or held by it, with its position.
pub(crate) fn draw(
    ui: &Ui,
    painter: &Painter,
    response: &Response,
    plane: &BevPlane,
    beam: &BeamLayer,
    brush: bool,
) {
    let Some(pointer) = response
        .interact_pointer_pos()
        .or_else(|| response.hover_pos())
    else {
        return;
    };
    let part = drag::held_part(ui, response)
        .or_else(|| part_at(beam, plane, pointer).filter(|_| !brush && !response.dragged()));
    let Some(part) = part else { return };
    let (Some(ends), Some(label)) = (ends_mm(beam, part), label(beam, part)) else {
        return;
    };
    let ends = ends.map(|[x, y]| plane.screen(x, y));
    painter.line_segment(
        ends,
        Stroke::new(5.0, theme::IMAGE.accent.gamma_multiply(0.5)),
    );
    painter.line_segment(ends, Stroke::new(2.0, theme::IMAGE.accent));
    let sideways = (ends[0].x - ends[1].x).abs() > (ends[0].y - ends[1].y).abs();
    let icon = if sideways {
        CursorIcon::ResizeVertical
    } else {
        CursorIcon::ResizeHorizontal
    };
    ui.set_cursor_icon(icon);
    let to_left = pointer.x + 130.0 > plane.rect.max.x;
    let (offset, anchor) = if to_left {
        (vec2(-14.0, -14.0), Anchor::Right)
    } else {
        (vec2(14.0, -14.0), Anchor::Left)
    };
    text(
        painter,
        pointer + offset,
        anchor,
        &label,
        12.0,
        theme::IMAGE.text,
    );
}
