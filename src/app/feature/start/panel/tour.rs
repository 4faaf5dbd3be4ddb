//! The tour: a box beside the widget that it speaks of, and a line round that. Neither takes the pointer from the window.

use crate::command::{Command, Commands};
use crate::feature::start::state::{Stop, TourAction};
use crate::kit::theme;
use crate::state::State;
use egui::{
    Area, Context, Frame, Id, Label, LayerId, Order, Rect, RichText, Stroke, StrokeKind, Ui, Vec2,
    pos2, vec2,
};

/// Words beside the buttons that begin the tour.
pub const TOUR_HINT: &str = "Six steps over the thorax demo; Esc leaves it at any time.";

const WIDTH: f32 = 300.0;
/// Points between the box and the widget, and between the box and the window's edge.
const GAP: f32 = 10.0;

fn id(stop: Stop) -> Id {
    Id::unique(("tour", stop))
}

/// Notes where the widget of a stop is, as far as it is on screen.
pub fn mark(ui: &Ui, stop: Stop, rect: Rect) {
    let visible = rect.intersect(ui.clip_rect());
    // The pass dates the mark: a widget that is no longer drawn leaves it behind.
    let mark = (ui.ctx().cumulative_pass_nr(), visible);
    ui.data_mut(|d| d.insert_temp(id(stop), mark));
}

/// Rectangle of the widget of a stop in this frame.
fn marked(ctx: &Context, stop: Stop) -> Option<Rect> {
    let noted: Option<(u64, Rect)> = ctx.data(|d| d.get_temp(id(stop)));
    noted
        .filter(|(pass, rect)| *pass == ctx.cumulative_pass_nr() && rect.is_positive())
        .map(|(_, rect)| rect)
}

/// Shows the stop on show, if any.
pub fn show(ctx: &Context, state: &State, commands: &mut Commands) {
    let Some(stop) = state.tour_stop() else {
        return;
    };
    let widget = marked(ctx, stop);
    let window = ctx.content_rect().shrink(GAP);
    let area = Id::unique("tour");
    let size: Vec2 = ctx.data(|d| d.get_temp(area)).unwrap_or(vec2(WIDTH, 150.0));
    let place = beside(widget, size, window);
    if let Some(widget) = widget {
        let colour = theme::of_ctx(ctx).accent;
        let painter =
            ctx.layer_painter(LayerId::new(Order::Middle, Id::unique("line of the tour")));
        painter.rect_stroke(
            widget.expand(3.0),
            4.0,
            Stroke::new(2.0, colour),
            StrokeKind::Outside,
        );
    }
    let shown = Area::new(area)
        .order(Order::Middle)
        .fixed_pos(place.min)
        .show(ctx, |ui| {
            Frame::popup(ui.style())
                .stroke(Stroke::new(1.5, theme::palette(ui).accent))
                .show(ui, |ui| {
                    ui.set_width(WIDTH - 2.0 * GAP);
                    content(ui, stop, commands);
                });
        });
    ctx.data_mut(|d| d.insert_temp(area, shown.response.rect.size()));
}

fn content(ui: &mut Ui, stop: Stop, commands: &mut Commands) {
    let count = Stop::ALL.len();
    ui.label(
        RichText::new(format!(
            "{} of {count}: {}",
            stop.index() + 1,
            stop.heading()
        ))
        .strong(),
    );
    ui.add(Label::new(stop.text()).wrap());
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let back = ui.add_enabled(stop.previous().is_some(), egui::Button::new("Back"));
        if let (true, Some(previous)) = (back.clicked(), stop.previous()) {
            commands.push(Command::Tour(TourAction::To(previous)));
        }
        match stop.next() {
            Some(next) if ui.button("Next").clicked() => {
                commands.push(Command::Tour(TourAction::To(next)))
            }
            None if ui.button("Done").clicked() => commands.push(Command::Tour(TourAction::Leave)),
            _ => {}
        }
        if stop.next().is_some() && ui.button("Leave the tour").on_hover_text("Esc").clicked() {
            commands.push(Command::Tour(TourAction::Leave));
        }
    });
}

/// Place of a box beside a widget, which it does not cover; in the lower middle of the window without a widget.
fn beside(widget: Option<Rect>, size: Vec2, window: Rect) -> Rect {
    let Some(widget) = widget else {
        let lower_middle = pos2(
            window.center().x - 0.5 * size.x,
            window.bottom() - size.y - 60.0,
        );
        return moved_inside(window, lower_middle, size);
    };
    let places = [
        pos2(widget.left() - size.x - GAP, widget.top()),
        pos2(widget.right() + GAP, widget.top()),
        pos2(widget.center().x - 0.5 * size.x, widget.bottom() + GAP),
        pos2(
            widget.center().x - 0.5 * size.x,
            widget.top() - size.y - GAP,
        ),
    ];
    let free = places
        .into_iter()
        .map(|corner| moved_inside(window, corner, size))
        .find(|place| !place.intersects(widget));
    free.unwrap_or_else(|| moved_inside(window, window.center() - 0.5 * size, size))
}

/// A box of a size with its upper left corner at `min`, or as near to it as the window lets.
fn moved_inside(window: Rect, min: egui::Pos2, size: Vec2) -> Rect {
    let max = (window.max - size).max(window.min);
    Rect::from_min_size(min.clamp(window.min, max), size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_lies_in_the_window_and_beside_its_widget() {
        let window = Rect::from_min_size(pos2(0.0, 0.0), vec2(1024.0, 700.0));
        let size = vec2(WIDTH, 160.0);
        for (corner, extent) in [
            ([8.0, 4.0], [50.0, 22.0]),
            ([960.0, 4.0], [60.0, 22.0]),
            ([780.0, 150.0], [128.0, 128.0]),
            ([0.0, 500.0], [1024.0, 200.0]),
            ([0.0, 40.0], [230.0, 650.0]),
        ] {
            let widget = Rect::from_min_size(corner.into(), extent.into());
            let place = beside(Some(widget), size, window);
            assert!(
                window.contains_rect(place) && !place.intersects(widget),
                "{widget:?}: {place:?}"
            );
        }
        assert!(window.contains_rect(beside(None, size, window)));
        // A widget that leaves no room.
        assert!(window.contains_rect(beside(Some(window), size, window)));
    }
}
