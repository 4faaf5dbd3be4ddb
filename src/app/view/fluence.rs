//! The fluence map of a beam in its beam's-eye view.

use super::bev::BevPlane;
use super::overlay::{Anchor, text};
use crate::theme;
use case::{FluenceMap, Jaws, MlcAxis};
use egui::{Color32, Painter, Rect, lerp, pos2, vec2};

/// Colours of no fluence, of half and of the greatest.
const STOPS: [[f32; 3]; 3] = [[40.0, 60.0, 150.0], [200.0, 60.0, 120.0], [255.0, 225.0, 90.0]];

/// How much of the patient behind the map is seen.
const OPACITY: f32 = 0.62;

/// Steps of the bar that tells the colours.
const BAR_STEPS: u16 = 24;

/// Colour of a fluence, part of the greatest.
fn colour(part: f32) -> Color32 {
    let at = 2.0 * part.clamp(0.0, 1.0);
    let (low, high) = if at < 1.0 { (STOPS[0], STOPS[1]) } else { (STOPS[1], STOPS[2]) };
    let share = if at < 1.0 { at } else { at - 1.0 };
    let [r, g, b] = [0, 1, 2].map(|n| lerp(low[n]..=high[n], share) as u8);
    Color32::from_rgb(r, g, b)
}

/// Draws the beamlets that have fluence, and a bar of their colours.
pub(super) fn draw(painter: &Painter, plane: &BevPlane, map: &FluenceMap) {
    let most = map.values.iter().copied().fold(0.0, f32::max);
    if most <= 0.0 {
        return;
    }
    for (beamlet, value) in map.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let [u, v] = map.sides_mm(beamlet);
        let part = if map.axis == MlcAxis::X { Jaws { x: u, y: v } } else { Jaws { x: v, y: u } };
        painter.rect_filled(plane.rect_of(&part), 0.0, colour(value / most).gamma_multiply(OPACITY));
    }
    let place = plane.rect.right_top() + vec2(-112.0, 26.0);
    let step = 96.0 / f32::from(BAR_STEPS);
    for n in 0..BAR_STEPS {
        let from = pos2(place.x + step * f32::from(n), place.y);
        let rect = Rect::from_min_size(from, vec2(step + 0.5, 7.0));
        painter.rect_filled(rect, 0.0, colour((f32::from(n) + 0.5) / f32::from(BAR_STEPS)));
    }
    let words = format!("fluence 0 to {most:.2}");
    text(painter, place + vec2(48.0, 16.0), Anchor::Middle, &words, 11.0, theme::IMAGE.text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_fluence_is_brighter() {
        let light = |part: f32| {
            let c = colour(part);
            0.3 * f32::from(c.r()) + 0.6 * f32::from(c.g()) + 0.1 * f32::from(c.b())
        };
        let all: Vec<f32> = (0..=20_u8).map(|n| light(f32::from(n) / 20.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1]), "{all:?}");
        assert_eq!((colour(-1.0), colour(f32::NAN.max(0.0))), (colour(0.0), colour(0.0)));
    }
}
