//! Bars of work under way.

use crate::kit::theme;
use egui::{Align2, FontId, Rect, Response, Role, Sense, Ui, WidgetInfo, vec2};
use std::time::Duration;

/// The part of a bar that moves along it where the fraction done is unknown, and its steps from end to end.
const MOVING_PART: f32 = 0.25;
const STEPS: f64 = 12.0;
/// Time between two of its steps: a frame for each refresh of the screen would take processors from the work.
const STEP: Duration = Duration::from_millis(150);

/// A bar as full as the work is done; where that fraction is unknown, a part of it moves to and fro.
pub fn progress(ui: &mut Ui, done: Option<f32>, size: egui::Vec2, text: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ProgressIndicator, ui.is_enabled(), text);
        info.value = done.map(|done| f64::from(100.0 * done).floor());
        info
    });
    let time = ui.input(|i| i.time);
    if done.is_none() {
        ui.ctx().request_repaint_after(STEP);
    }
    let palette = theme::palette(ui);
    let (rounding, painter) = (
        3.0,
        ui.painter().with_clip_rect(rect.intersect(ui.clip_rect())),
    );
    painter.rect_filled(rect, rounding, palette.field);
    painter.rect_filled(filled(rect, done, time), rounding, palette.selected);
    let font = FontId::proportional(11.0);
    painter.text(
        rect.left_center() + vec2(6.0, 0.0),
        Align2::LEFT_CENTER,
        text,
        font,
        palette.text,
    );
    response
}

/// The filled part of a bar, at a time in seconds.
fn filled(bar: Rect, done: Option<f32>, time_s: f64) -> Rect {
    let (from, share) = match done {
        Some(done) => (0.0, done.clamp(0.0, 1.0)),
        None => {
            let step = (time_s / STEP.as_secs_f64()).floor() % (2.0 * STEPS);
            let along = (1.0 - (step - STEPS).abs() / STEPS) as f32;
            (along * (1.0 - MOVING_PART), MOVING_PART)
        }
    };
    let min = bar.min + vec2(from * bar.width(), 0.0);
    Rect::from_min_size(min, vec2(share * bar.width(), bar.height()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn a_bar_is_as_full_as_the_work_done() {
        let bar = Rect::from_min_max(pos2(10.0, 5.0), pos2(210.0, 23.0));
        for (done, right) in [(0.0, 10.0), (0.25, 60.0), (1.0, 210.0), (7.0, 210.0)] {
            let filled = filled(bar, Some(done), 0.0);
            assert_eq!(
                (filled.x_range().min, filled.x_range().max),
                (10.0, right),
                "{done}"
            );
            assert_eq!(filled.y_range(), bar.y_range());
        }
        let ends: Vec<f32> = (0..48)
            .map(|n| filled(bar, None, f64::from(n) * 0.1501).right())
            .collect();
        assert!(
            ends.iter().all(|end| (60.0..=210.0).contains(end)),
            "{ends:?}"
        );
        assert!(
            ends.contains(&60.0) && ends.contains(&210.0),
            "it goes to both ends: {ends:?}"
        );
    }
}
