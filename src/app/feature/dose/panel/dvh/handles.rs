//! Goals as handles on the curves: a drag changes the limit, and a drag from any point of a curve creates a goal.

use super::{Axes, Curve};
use crate::command::{Command, Commands};
use crate::feature::goals::command::GoalAction;
use crate::kit::theme;
use crate::state::State;
use analysis::{GoalRow, Verdict};
use case::{Bound, Figure, Goal, Metric, MetricUnit, Structure};
use egui::{Color32, CursorIcon, Id, Pos2, Rect, Sense, Stroke, Ui, Vec2, pos2, vec2};
use egui_plot::{PlotPoint, PlotResponse, PlotTransform};

/// Half the side of a handle, points.
const HALF: f32 = 6.0;

/// Distance within which the pointer grabs a curve, points.
const REACH: f32 = 7.0;

/// Percent of the volume at which the limit of a mean or gEUD is drawn, as neither is a point of the curve.
const MEAN_PERCENT: f64 = 50.0;

/// A limit as a point of the cumulative plane.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LimitPoint {
    gy: f64,
    percent: f64,
    /// Whether the limit is a volume, which a drag moves up and down.
    is_volume: bool,
}

/// Place of the limit of a goal; `None` for figures without a dose, and for percent of an unknown prescription.
fn limit_point(goal: &Goal, hundred_gy: Option<f64>, volume_cm3: f64) -> Option<LimitPoint> {
    let value = goal.kept().unwrap_or(goal.limit());
    let number = goal.metric().number().unwrap_or_default();
    let dose_limit_percent = match goal.metric().figure() {
        Figure::Greatest => 0.0,
        Figure::Least => 100.0,
        Figure::Mean | Figure::EquivalentUniformDose => MEAN_PERCENT,
        Figure::DoseAtPercent => number,
        Figure::DoseAtCm3 => 100.0 * number / volume_cm3,
        figure @ (Figure::VolumeAtGy | Figure::VolumeAtPercent) => {
            let is_percent = figure == Figure::VolumeAtPercent;
            let gy = if is_percent {
                percent_to_gy(number, hundred_gy)?
            } else {
                number
            };
            let percent = if goal.unit() == MetricUnit::Cm3 {
                100.0 * value / volume_cm3
            } else {
                value
            };
            return Some(LimitPoint {
                gy,
                percent,
                is_volume: true,
            });
        }
        _ => return None,
    };
    let is_percent = goal.unit() == MetricUnit::Percent;
    let gy = if is_percent {
        percent_to_gy(value, hundred_gy)?
    } else {
        value
    };
    Some(LimitPoint {
        gy,
        percent: dose_limit_percent,
        is_volume: false,
    })
}

fn percent_to_gy(percent: f64, hundred_gy: Option<f64>) -> Option<f64> {
    hundred_gy.map(|hundred_gy| 0.01 * percent * hundred_gy)
}

/// The goal with its limit at a point of the cumulative plane, to a tenth of its unit.
fn moved(goal: &Goal, to: LimitPoint, hundred_gy: Option<f64>, volume_cm3: f64) -> Goal {
    let limit = match (to.is_volume, goal.unit()) {
        (true, MetricUnit::Cm3) => 0.01 * to.percent.clamp(0.0, 100.0) * volume_cm3,
        (true, _) => to.percent.clamp(0.0, 100.0),
        (false, MetricUnit::Percent) => 100.0 * to.gy / hundred_gy.unwrap_or(100.0),
        (false, _) => to.gy,
    };
    goal.clone()
        .with_limit((10.0 * limit.max(0.0)).round() / 10.0)
}

/// The goal for a point of a curve: a dose to a percentage of the volume, a lower bound for the larger part of a target.
fn goal_at_point(structure: &Structure, percent: f64, gy: f64) -> Option<Goal> {
    let metric: Metric = format!("D{:.0}%", percent.clamp(1.0, 99.0)).parse().ok()?;
    let bound = if structure.kind.is_target() && percent >= 50.0 {
        Bound::AtLeast
    } else {
        Bound::AtMost
    };
    let goal = Goal::new(
        &structure.name,
        metric,
        bound,
        (10.0 * gy.max(0.0)).round() / 10.0,
    );
    Some(goal.of_structure(&structure.name, Some(structure.number)))
}

/// Draws the handles and answers their drags.
pub(crate) fn show(
    ui: &mut Ui,
    state: &State,
    axes: &Axes,
    curves: &[Curve<'_>],
    plot: &PlotResponse<Option<PlotPoint>>,
    commands: &mut Commands,
) {
    let rows = state.scorecard_on_view();
    let hundred_gy = state.goal_hundred().map(|(gy, _)| gy);
    let plane = Plane {
        axes,
        to: &plot.transform,
    };
    take_curve(ui, state, &plane, curves, plot, commands);
    for row in &rows {
        let structure = state
            .case()
            .structures
            .referenced(row.goal.number, &row.goal.structure)
            .ok();
        let Some(curve) =
            structure.and_then(|s| curves.iter().find(|c| c.structure.number == s.number))
        else {
            continue;
        };
        let volume_cm3 = curve.dvh.volume_cm3();
        let Some(place) = limit_point(&row.goal, hundred_gy, volume_cm3) else {
            continue;
        };
        let handle_pos = plane.screen(place, curve);
        let id = ui.scope_id().with(("goal handle", row.index));
        let area = Rect::from_center_size(handle_pos, Vec2::splat(2.0 * HALF + 4.0));
        let is_kept = row.goal.kept().is_some();
        let response = ui.interact(
            area,
            id,
            if is_kept {
                Sense::hover()
            } else {
                Sense::drag()
            },
        );
        let name = format!("Handle {}", row.goal.short_text());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, &name));
        if let Some(pointer) = response
            .interact_pointer_pos()
            .filter(|_| response.dragged())
        {
            let to = LimitPoint {
                is_volume: place.is_volume,
                ..plane.place(pointer, curve)
            };
            let goal = moved(&row.goal, to, hundred_gy, volume_cm3);
            if goal != row.goal {
                drag(commands, Some(row.index), goal, id);
            }
        }
        let held = state
            .optimise
            .drag()
            .is_some_and(|drag| drag.index == row.index);
        let response = response.on_hover_cursor(match place.is_volume {
            _ if is_kept => CursorIcon::NotAllowed,
            true => CursorIcon::ResizeVertical,
            false => CursorIcon::ResizeHorizontal,
        });
        let label_frame = (held || response.hovered()).then_some(*plot.transform.frame());
        draw(
            ui,
            state,
            row,
            Handle {
                pos: handle_pos,
                is_volume: place.is_volume,
            },
            label_frame,
        );
        let hint = if is_kept {
            "It is locked: it may not get worse"
        } else {
            "Drag it: the limit follows"
        };
        response.on_hover_text(format!("{}\n{hint}", row.goal));
    }
}

fn drag(commands: &mut Commands, index: Option<usize>, goal: Goal, id: Id) {
    commands.push(Command::Goals(GoalAction::Drag {
        index,
        goal,
        gesture: id.value(),
    }));
}

/// A drag that begins on a curve creates a goal for its first point, or moves the goal that differs by its limit alone.
fn take_curve(
    ui: &Ui,
    state: &State,
    plane: &Plane<'_>,
    curves: &[Curve<'_>],
    plot: &PlotResponse<Option<PlotPoint>>,
    commands: &mut Commands,
) {
    let response = &plot.response;
    let taken = response.id.with("taken curve");
    if response.drag_started() {
        let from = ui
            .input(|i| i.pointer.press_origin())
            .filter(|pos| plane.to.frame().contains(*pos));
        let grabbed = from.and_then(|pos| plane.nearest(pos, curves));
        ui.data_mut(|d| d.insert_temp(taken, grabbed));
    }
    let near = response
        .hover_pos()
        .and_then(|pos| plane.nearest(pos, curves));
    if near.is_some()
        && plane
            .to
            .frame()
            .contains(response.hover_pos().unwrap_or_default())
    {
        ui.ctx().set_cursor_icon(CursorIcon::Grab);
    }
    let held: Option<(u32, f64)> = ui.data(|d| d.get_temp(taken)).flatten();
    let (Some((number, percent)), true) = (held, response.dragged()) else {
        return;
    };
    let Some(curve) = curves.iter().find(|c| c.structure.number == number) else {
        return;
    };
    let Some(pointer) = response.interact_pointer_pos() else {
        return;
    };
    let Some(goal) = goal_at_point(curve.structure, percent, plane.place(pointer, curve).gy) else {
        return;
    };
    let goals = state.goals();
    let index = goals.iter().position(|other| {
        (other.number, other.metric(), other.bound) == (goal.number, goal.metric(), goal.bound)
            && other.unit() == goal.unit()
    });
    let goal = index.map_or(goal.clone(), |index| {
        goals[index].clone().with_limit(goal.limit())
    });
    if index.is_none_or(|index| goals[index] != goal) {
        drag(commands, index, goal, response.id);
    }
}

/// The cumulative plane on the screen.
struct Plane<'a> {
    axes: &'a Axes,
    to: &'a PlotTransform,
}

impl Plane<'_> {
    /// Place at which a limit is drawn: the edge where it lies beyond the plot.
    fn screen(&self, place: LimitPoint, curve: &Curve<'_>) -> Pos2 {
        let height = place.percent * self.axes.per_percent(curve.dvh);
        let pos = self
            .to
            .position_from_point(&PlotPoint::new(place.gy * self.axes.per_gy, height));
        self.to.frame().shrink(2.0).clamp(pos)
    }

    fn place(&self, pos: Pos2, curve: &Curve<'_>) -> LimitPoint {
        let point = self.to.value_from_position(pos);
        let percent = point.y / self.axes.per_percent(curve.dvh);
        LimitPoint {
            gy: (point.x / self.axes.per_gy).max(0.0),
            percent,
            is_volume: false,
        }
    }

    /// The structure whose curve passes nearest to a place within reach, and the volume there, percent.
    fn nearest(&self, pos: Pos2, curves: &[Curve<'_>]) -> Option<(u32, f64)> {
        let within_reach = curves.iter().filter_map(|curve| {
            let point = self.place(pos, curve);
            let across = self.screen(
                LimitPoint {
                    gy: curve.dvh.dose_at_percent(point.percent),
                    ..point
                },
                curve,
            );
            let up = self.screen(
                LimitPoint {
                    percent: curve.dvh.percent_at(point.gy),
                    ..point
                },
                curve,
            );
            let distance = (across.x - pos.x).abs().min((up.y - pos.y).abs());
            let is_inside = point.percent > 0.0 && point.percent < 100.0;
            (is_inside && distance <= REACH).then_some((
                distance,
                curve.structure.number,
                point.percent,
            ))
        });
        let nearest = within_reach.min_by(|a, b| a.0.total_cmp(&b.0));
        nearest.map(|(_, number, percent)| (number, percent))
    }
}

/// The handle of a goal on the screen, and whether a drag moves it along the volume axis.
#[derive(Clone, Copy)]
struct Handle {
    pos: Pos2,
    is_volume: bool,
}

/// An arrow that points to the values that meet the goal, with a label inside `label_frame` while it is hovered or dragged.
fn draw(ui: &Ui, state: &State, row: &GoalRow, handle: Handle, label_frame: Option<Rect>) {
    let Handle { pos, is_volume } = handle;
    let colour = state
        .case()
        .structures
        .referenced(row.goal.number, &row.goal.structure);
    let colour = colour.map_or(theme::IMAGE.text, |s| theme::colour(s.colour));
    let turned = state.is_turned_by_drag(row);
    let missed = row
        .answer
        .as_ref()
        .is_ok_and(|outcome| outcome.verdict == Verdict::Fail);
    let edge = match (turned, missed) {
        (true, _) => Stroke::new(2.5, theme::palette(ui).error),
        (false, true) => Stroke::new(1.5, theme::palette(ui).error),
        (false, false) => Stroke::new(1.0, Color32::WHITE),
    };
    let painter = ui.painter();
    if row.goal.kept().is_some() {
        painter.rect(
            Rect::from_center_size(pos, Vec2::splat(1.5 * HALF)),
            1.0,
            colour,
            edge,
            egui::StrokeKind::Middle,
        );
    } else {
        let towards = match (is_volume, row.goal.bound) {
            (false, Bound::AtMost) => vec2(-1.0, 0.0),
            (false, Bound::AtLeast) => vec2(1.0, 0.0),
            (true, Bound::AtMost) => vec2(0.0, 1.0),
            (true, Bound::AtLeast) => vec2(0.0, -1.0),
        };
        let side = towards.rot90();
        let corners = [
            pos + towards * HALF,
            pos - towards * HALF + side * HALF,
            pos - towards * HALF - side * HALF,
        ];
        painter.add(egui::Shape::convex_polygon(corners.to_vec(), colour, edge));
    }
    let text = match (label_frame, turned) {
        (Some(_), true) => format!("{}: unmet by this drag", row.goal.short_text()),
        (Some(_), false) => row.goal.short_text(),
        (None, true) => "unmet by this drag".to_owned(),
        (None, false) => return,
    };
    let ink = if turned {
        theme::palette(ui).error
    } else {
        theme::IMAGE.text
    };
    let galley = painter.layout_no_wrap(text, egui::FontId::proportional(12.0), ink);
    let room = label_frame.unwrap_or_else(|| painter.clip_rect());
    let x = (pos.x + 10.0).min(room.right() - galley.size().x - 4.0);
    let y = if pos.y - 22.0 > room.top() {
        pos.y - 22.0
    } else {
        pos.y + 8.0
    };
    let behind = Rect::from_min_size(pos2(x, y), galley.size()).expand(3.0);
    painter.rect_filled(behind, 3.0, Color32::from_black_alpha(210));
    painter.galley(pos2(x, y), galley, ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moving a goal to its present limit changes nothing, whatever its unit.
    #[test]
    fn a_limit_that_is_moved_to_its_place_stays() {
        for (words, gy, percent) in [
            ("S: Dmax <= 45 Gy", 45.0, 0.0),
            ("S: Dmin >= 90 %", 54.0, 100.0),
            ("S: D95% >= 57 Gy", 57.0, 95.0),
            ("S: D10cc <= 20 Gy", 20.0, 25.0),
            ("S: V20Gy <= 30 %", 20.0, 30.0),
            ("S: V20Gy <= 8 cc", 20.0, 20.0),
            ("S: V50% <= 30 %", 30.0, 30.0),
            ("S: Dmean <= 20 Gy", 20.0, 50.0),
        ] {
            let goal: Goal = words.parse().expect(words);
            let place = limit_point(&goal, Some(60.0), 40.0).expect(words);
            assert!(
                (place.gy - gy).abs() < 1e-9 && (place.percent - percent).abs() < 1e-9,
                "{words}"
            );
            assert_eq!(moved(&goal, place, Some(60.0), 40.0), goal);
            let further = LimitPoint {
                gy: place.gy + 2.0,
                percent: place.percent + 2.0,
                ..place
            };
            assert_ne!(moved(&goal, further, Some(60.0), 40.0), goal, "{words}");
        }
        assert!(limit_point(&"S: CI >= 0.8".parse().expect("a goal"), Some(60.0), 40.0).is_none());
        assert!(limit_point(&"S: Dmin >= 90 %".parse().expect("a goal"), None, 40.0).is_none());
    }
}
