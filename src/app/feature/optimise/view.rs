//! Upper bounds of a fluence map in the beam's-eye view: hatched, and brushed with the pointer.

use crate::feature::beam::state::LimitBrush;
use crate::kit::theme;
use crate::view::bev::BevPlane;
use crate::view::fluence::rect;
use crate::view::overlay::{Anchor, SMALL, text};
use crate::view::{BeamLayer, ViewEvent};
use case::{FluenceLimit, FluenceMap, MlcAxis};
use egui::{
    Color32, CursorIcon, Painter, PointerButton, Pos2, Rect, Response, Stroke, Ui, pos2, vec2,
};

/// Points between two lines of the hatch.
const HATCH: f32 = 7.0;

/// Lines on the map: light, with a dark rim.
const LINE: Color32 = Color32::from_rgb(235, 245, 255);

/// Brushes with the primary button; `true` where the brush has it, so that nothing else of the view moves.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    plane: &BevPlane,
    beam: &BeamLayer,
    brush: &LimitBrush,
    events: &mut Vec<ViewEvent>,
) -> bool {
    if beam.fluence.is_none() || !beam.editable {
        return false;
    }
    let id = response.id.with("limit stroke");
    let last: Option<Pos2> = ui.data(|d| d.get_temp(id)).flatten();
    let holds = response.is_pointer_button_down_on() && ui.input(|i| i.pointer.primary_down());
    let pointer_pos = response.interact_pointer_pos();
    let brushes = holds || last.is_some() || response.clicked();
    if let Some(to) = pointer_pos.filter(|to| brushes && last != Some(*to)) {
        let [from_mm, to_mm] = [last.unwrap_or(to), to].map(|pos| plane.device_mm(pos));
        events.push(ViewEvent::FluenceLimited {
            beam: beam.index,
            from_mm,
            to_mm,
        });
    }
    let current = pointer_pos.filter(|_| holds);
    if current != last {
        ui.data_mut(|d| d.insert_temp(id, current));
    }
    if response.contains_pointer() || holds {
        ui.set_cursor_icon(if brush.erases {
            CursorIcon::Cell
        } else {
            CursorIcon::Crosshair
        });
    }
    // The middle button still moves the picture.
    !response.dragged_by(PointerButton::Middle)
}

/// Hatches bounded beamlets, and outlines them.
pub(crate) fn draw(painter: &Painter, plane: &BevPlane, map: &FluenceMap, limits: &[FluenceLimit]) {
    for limit in limits {
        let place = rect(plane, map, limit.beamlet);
        for line in hatch(place) {
            painter.line_segment(line, Stroke::new(1.0, LINE.gamma_multiply(0.75)));
        }
        for (other, side) in sides(map, limit.beamlet, place) {
            if other.is_none_or(|other| FluenceLimit::of_beamlet(other, limits).is_none()) {
                painter.line_segment(side, Stroke::new(3.0, Color32::from_black_alpha(110)));
                painter.line_segment(side, Stroke::new(1.4, LINE));
            }
        }
    }
}

/// Lines from lower left to upper right across a rectangle: lines of adjacent rectangles meet.
fn hatch(rect: Rect) -> Vec<[Pos2; 2]> {
    let first = ((rect.left() + rect.top()) / HATCH).ceil() as i32;
    let last = ((rect.right() + rect.bottom()) / HATCH).floor() as i32;
    let lines = (first..=last).map(|n| {
        // All points of a line have the same sum of coordinates.
        let sum = n as f32 * HATCH;
        let low = (sum - rect.bottom()).max(rect.left());
        let high = (sum - rect.top()).min(rect.right());
        [pos2(low, sum - low), pos2(high, sum - high)]
    });
    lines.collect()
}

/// The beamlet across each side of a beamlet, where there is one, and the side on the screen.
fn sides(map: &FluenceMap, beamlet: usize, rect: Rect) -> [(Option<usize>, [Pos2; 2]); 4] {
    let (row, column) = (beamlet / map.columns, beamlet % map.columns);
    let previous = (column > 0).then(|| beamlet - 1);
    let next = (column + 1 < map.columns).then(|| beamlet + 1);
    let below = (row > 0).then(|| beamlet - map.columns);
    let above = (row + 1 < map.rows()).then(|| beamlet + map.columns);
    // Device y is up on the screen.
    let [west, east, south, north] = match map.axis {
        MlcAxis::X => [previous, next, below, above],
        MlcAxis::Y => [below, above, previous, next],
    };
    [
        (west, [rect.left_top(), rect.left_bottom()]),
        (east, [rect.right_top(), rect.right_bottom()]),
        (south, [rect.left_bottom(), rect.right_bottom()]),
        (north, [rect.left_top(), rect.right_top()]),
    ]
}

/// The brush at the pointer, with its limit and the fluence of the beamlet under it.
pub(crate) fn draw_brush(
    painter: &Painter,
    response: &Response,
    plane: &BevPlane,
    beam: &BeamLayer,
    brush: &LimitBrush,
) {
    let Some(pointer_pos) = response
        .interact_pointer_pos()
        .or_else(|| response.hover_pos())
    else {
        return;
    };
    let Some(map) = &beam.fluence else { return };
    let radius = (0.5 * brush.diameter_mm / plane.mm_per_point) as f32;
    painter.circle_stroke(
        pointer_pos,
        radius,
        Stroke::new(3.0, Color32::from_black_alpha(120)),
    );
    painter.circle_stroke(pointer_pos, radius, Stroke::new(1.4, LINE));
    let does = match brush.bound() {
        Some(percent) => format!("at most {percent:.0} %"),
        None => "no limit".to_owned(),
    };
    let beamlet_words = map
        .beamlet_at(map.uv(plane.device_mm(pointer_pos)))
        .map(|beamlet| {
            let mu = beam.mu * f64::from(map.values[beamlet]);
            let bound = FluenceLimit::of_beamlet(beamlet, &beam.limits)
                .map(|mu| format!(", at most {mu:.1}"));
            format!("here {mu:.1}{} MU", bound.unwrap_or_default())
        });
    let to_left = pointer_pos.x + radius + 140.0 > plane.rect.max.x;
    let (off, anchor) = if to_left {
        (-radius - 8.0, Anchor::Right)
    } else {
        (radius + 8.0, Anchor::Left)
    };
    for (words, down) in [(Some(does), -7.0), (beamlet_words, 8.0)] {
        if let Some(words) = words {
            text(
                painter,
                pointer_pos + vec2(off, down),
                anchor,
                &words,
                SMALL,
                theme::IMAGE.text,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_hatch_end_on_the_box() {
        let rect = Rect::from_min_max(pos2(3.0, 10.0), pos2(30.0, 22.0));
        let lines = hatch(rect);
        // Sums of coordinates from 13 to 52: 14, 21, 28, 35, 42, 49.
        assert_eq!(lines.len(), 6);
        for ends in lines {
            for p in ends {
                let off = [
                    p.x - rect.left(),
                    p.x - rect.right(),
                    p.y - rect.top(),
                    p.y - rect.bottom(),
                ];
                let on_edge = off.into_iter().any(|off| off.abs() < 1e-4);
                assert!(rect.expand(1e-4).contains(p) && on_edge, "{ends:?}");
            }
            assert!(
                ((ends[0].x - ends[1].x) + (ends[0].y - ends[1].y)).abs() < 1e-4,
                "{ends:?}"
            );
        }
    }

    #[test]
    fn a_beamlet_has_its_neighbours_where_they_lie_on_the_screen() {
        let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(200.0, 200.0));
        let plane = BevPlane {
            rect: screen,
            centre_mm: [0.0, 0.0],
            mm_per_point: 1.0,
        };
        for axis in [MlcAxis::X, MlcAxis::Y] {
            let rows_mm = vec![0.0, 5.0, 10.0, 15.0];
            let (first_mm, step_mm, columns) = (0.0, 5.0, 3);
            let map = FluenceMap {
                axis,
                rows_mm,
                first_mm,
                step_mm,
                columns,
                values: vec![0.0; 9],
            };
            for beamlet in 0..9 {
                let beamlet_rect = rect(&plane, &map, beamlet);
                let centre = beamlet_rect.center();
                for (other, side) in sides(&map, beamlet, beamlet_rect) {
                    let beyond = centre + 2.0 * (side[0].lerp(side[1], 0.5) - centre);
                    let neighbour = (0..9).find(|n| rect(&plane, &map, *n).contains(beyond));
                    assert_eq!(other, neighbour, "{axis:?} {beamlet}");
                }
            }
        }
    }
}
