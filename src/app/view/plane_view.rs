//! A plane on the screen, in mm to the right and down: the one map between mm and points, and the zoom about the pointer.

use egui::{Pos2, Rect, Vec2, vec2};

/// mm per point at most and at least.
const ZOOM_RANGE: std::ops::RangeInclusive<f64> = 0.005..=10.0;

/// A plane in a rectangle of the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneView {
    pub rect: Rect,
    /// Position at the centre of the rectangle, mm to the right and down.
    pub centre_mm: [f64; 2],
    pub mm_per_point: f64,
}

impl PlaneView {
    /// Screen point of a position, mm to the right and down.
    pub fn screen(&self, [right_mm, down_mm]: [f64; 2]) -> Pos2 {
        let [right, down] = [right_mm - self.centre_mm[0], down_mm - self.centre_mm[1]]
            .map(|mm| (mm / self.mm_per_point) as f32);
        self.rect.center() + vec2(right, down)
    }

    /// Position at a screen point, mm to the right and down.
    pub fn mm(&self, point: Pos2) -> [f64; 2] {
        let d = point - self.rect.center();
        [0, 1].map(|axis| self.centre_mm[axis] + f64::from(d[axis]) * self.mm_per_point)
    }

    /// The view zoomed in by a factor: the position under the pointer stays there.
    pub fn zoomed_about(&self, pointer: Pos2, zoom: f64) -> Self {
        let mm_per_point = clamped(self.mm_per_point / zoom);
        let share = mm_per_point / self.mm_per_point;
        let under = self.mm(pointer);
        let centre_mm =
            [0, 1].map(|axis| under[axis] + (self.centre_mm[axis] - under[axis]) * share);
        Self {
            centre_mm,
            mm_per_point,
            ..*self
        }
    }

    /// The view after its picture was dragged, by points.
    pub fn panned(&self, drag: Vec2) -> Self {
        let centre_mm =
            [0, 1].map(|axis| self.centre_mm[axis] - f64::from(drag[axis]) * self.mm_per_point);
        Self { centre_mm, ..*self }
    }
}

/// A scale within what the views zoom to.
pub fn clamped(mm_per_point: f64) -> f64 {
    mm_per_point.clamp(*ZOOM_RANGE.start(), *ZOOM_RANGE.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    fn near(a: [f64; 2], b: [f64; 2]) -> bool {
        (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-4
    }

    #[test]
    fn the_position_under_the_pointer_stays_when_zoomed_and_follows_when_panned() {
        let rect = Rect::from_min_size(pos2(13.0, 40.0), vec2(300.0, 200.0));
        let view = PlaneView {
            rect,
            centre_mm: [-5.0, 20.0],
            mm_per_point: 0.7,
        };
        let pointer = pos2(50.0, 60.0);
        // 113 points left of the centre and 80 above it.
        let expected = [-5.0 - 113.0 * 0.7, 20.0 - 80.0 * 0.7];
        assert!(
            near(view.mm(pointer), expected) && (view.screen(expected) - pointer).length() < 1e-3
        );
        let zoomed = view.zoomed_about(pointer, 2.0);
        assert!((zoomed.mm_per_point - 0.35).abs() < 1e-12 && near(zoomed.mm(pointer), expected));
        assert!(near(
            view.panned(vec2(7.0, -3.0)).mm(pointer + vec2(7.0, -3.0)),
            expected
        ));
        assert_eq!(view.zoomed_about(pointer, 1e9).mm_per_point, 0.005);
    }
}
