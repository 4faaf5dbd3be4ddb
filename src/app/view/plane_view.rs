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
        let points = |mm: f64, centre_mm: f64| ((mm - centre_mm) / self.mm_per_point) as f32;
        self.rect.center()
            + vec2(
                points(right_mm, self.centre_mm[0]),
                points(down_mm, self.centre_mm[1]),
            )
    }

    /// Position at a screen point, mm to the right and down.
    pub fn mm(&self, at: Pos2) -> [f64; 2] {
        let d = at - self.rect.center();
        let mm = |points: f32, centre_mm: f64| centre_mm + f64::from(points) * self.mm_per_point;
        [mm(d.x, self.centre_mm[0]), mm(d.y, self.centre_mm[1])]
    }

    /// The view zoomed in by a factor: the position under the pointer stays there.
    pub fn zoomed_about(&self, at: Pos2, zoom: f64) -> Self {
        let mm_per_point = clamped(self.mm_per_point / zoom);
        let share = mm_per_point / self.mm_per_point;
        let under = self.mm(at);
        let centre_mm =
            [0, 1].map(|axis| under[axis] + (self.centre_mm[axis] - under[axis]) * share);
        Self {
            centre_mm,
            mm_per_point,
            ..*self
        }
    }

    /// The view after its picture was dragged by so many points.
    pub fn panned(&self, by: Vec2) -> Self {
        let [x, y] = self.centre_mm;
        let moved_mm = |points: f32| f64::from(points) * self.mm_per_point;
        Self {
            centre_mm: [x - moved_mm(by.x), y - moved_mm(by.y)],
            ..*self
        }
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

    #[test]
    fn the_position_under_the_pointer_stays_when_zoomed_and_follows_when_panned() {
        let rect = Rect::from_min_size(pos2(13.0, 40.0), vec2(300.0, 200.0));
        let view = PlaneView {
            rect,
            centre_mm: [-5.0, 20.0],
            mm_per_point: 0.7,
        };
        let at = pos2(50.0, 60.0);
        // 113 points left of the centre and 80 above it.
        let expected = [-5.0 - 113.0 * 0.7, 20.0 - 80.0 * 0.7];
        let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-4;
        assert!(near(view.mm(at), expected) && (view.screen(expected) - at).length() < 1e-3);
        let zoomed = view.zoomed_about(at, 2.0);
        assert!((zoomed.mm_per_point - 0.35).abs() < 1e-12 && near(zoomed.mm(at), expected));
        assert!(near(
            view.panned(vec2(7.0, -3.0)).mm(at + vec2(7.0, -3.0)),
            expected
        ));
        assert_eq!(view.zoomed_about(at, 1e9).mm_per_point, 0.005);
    }
}
