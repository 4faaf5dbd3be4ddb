//! The fluence map of a beam in its beam's-eye view.

use super::bev::BevPlane;
use super::overlay::{Anchor, text};
use crate::kit::theme;
use analysis::fluence_colour;
use case::FluenceMap;
use egui::{Color32, Painter, Rect, pos2, vec2};

/// How much of the patient behind the map is seen.
const OPACITY: f32 = 0.62;

/// Steps of the bar that tells the colours.
const BAR_STEPS: u16 = 24;

fn colour(part: f32) -> Color32 {
    theme::colour(fluence_colour(f64::from(part)))
}

/// A beamlet on the screen.
pub(crate) fn rect(plane: &BevPlane, map: &FluenceMap, beamlet: usize) -> Rect {
    plane.rect_of(&map.jaws_round(beamlet))
}

/// Draws the beamlets that have fluence, and a bar of their colours.
pub(crate) fn draw(painter: &Painter, plane: &BevPlane, map: &FluenceMap) {
    let greatest = map.greatest();
    if greatest <= 0.0 {
        return;
    }
    for (beamlet, value) in map
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| **value > 0.0)
    {
        painter.rect_filled(
            rect(plane, map, beamlet),
            0.0,
            colour(value / greatest).gamma_multiply(OPACITY),
        );
    }
    let place = plane.rect.right_top() + vec2(-112.0, 26.0);
    let step = 96.0 / f32::from(BAR_STEPS);
    for n in 0..BAR_STEPS {
        let from = pos2(place.x + step * f32::from(n), place.y);
        let rect = Rect::from_min_size(from, vec2(step + 0.5, 7.0));
        painter.rect_filled(
            rect,
            0.0,
            colour((f32::from(n) + 0.5) / f32::from(BAR_STEPS)),
        );
    }
    let words = format!("fluence 0 to {greatest:.2}");
    text(
        painter,
        place + vec2(48.0, 16.0),
        Anchor::Middle,
        &words,
        11.0,
        theme::IMAGE.text,
    );
}
