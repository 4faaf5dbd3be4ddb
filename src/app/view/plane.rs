//! Position of a view's plane in the patient, and transforms between screen and patient.

use super::plane_view::PlaneView;
use crate::render::PlaneFrame;
use crate::state::ViewKind;
use egui::{Pos2, Rect};
use geometry::Grid;
use glam::DVec3;

/// A view's plane, its rectangle on the screen, and its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewPlane {
    pub rect: Rect,
    /// The patient position at the centre of the rectangle, mm.
    pub centre_mm: DVec3,
    /// Unit vectors in patient LPS: to the right on the screen, and down.
    pub right: DVec3,
    pub down: DVec3,
    pub mm_per_point: f64,
}

impl ViewKind {
    /// Screen directions in patient LPS: right and down.
    pub fn axes(self) -> [DVec3; 2] {
        self.plane().axes()
    }

    /// The axis of patient LPS (0 x, 1 y, 2 z) that the view pages along.
    pub fn normal_axis(self) -> usize {
        self.plane().normal_axis()
    }
}

impl ViewPlane {
    /// The plane on the screen, in mm from its centre.
    pub fn on_screen(&self) -> PlaneView {
        PlaneView {
            rect: self.rect,
            centre_mm: [0.0; 2],
            mm_per_point: self.mm_per_point,
        }
    }

    /// The patient position of a point on the screen.
    pub fn patient_from_screen(&self, point: Pos2) -> DVec3 {
        let [right_mm, down_mm] = self.on_screen().mm(point);
        self.centre_mm + self.right * right_mm + self.down * down_mm
    }

    /// The screen point of a position, projected along the normal.
    pub fn screen_from_patient(&self, patient_mm: DVec3) -> Pos2 {
        let d = patient_mm - self.centre_mm;
        self.on_screen()
            .screen([d.dot(self.right), d.dot(self.down)])
    }

    /// Signed distance of a position from the plane, mm; positive away from the viewer.
    pub fn depth_mm(&self, patient_mm: DVec3) -> f64 {
        (patient_mm - self.centre_mm).dot(self.right.cross(self.down))
    }

    /// The plane in pixels, for the shaders.
    pub fn frame(&self, pixels_per_point: f32) -> PlaneFrame {
        let mm_per_pixel = self.mm_per_point / f64::from(pixels_per_point);
        PlaneFrame {
            top_left_mm: self.patient_from_screen(self.rect.min),
            right_mm: self.right * mm_per_pixel,
            down_mm: self.down * mm_per_pixel,
            size_px: [
                self.rect.width() * pixels_per_point,
                self.rect.height() * pixels_per_point,
            ],
        }
    }
}

/// Steps of paging: from a position along a patient axis to the next plane of the grid. If one of the grid's axes runs
/// along it, to the real position of the next plane (or voxel centre); if the grid is oblique, by its smallest spacing.
pub fn page_mm(grid: &Grid, axis: usize, from_mm: DVec3, steps: i32) -> f64 {
    let from = from_mm[axis];
    let Some((values, sign)) = positions(grid, axis) else {
        let planes = grid.planes_mm();
        let [dx, dy] = grid.spacing_xy_mm();
        let gap = planes
            .windows(2)
            .map(|w| w[1] - w[0])
            .fold(dx.min(dy), f64::min);
        return from + f64::from(steps) * gap;
    };
    let local = (from - grid.origin_mm()[axis]) * sign;
    let steps = steps * if sign > 0.0 { 1 } else { -1 };
    // From the plane whose slice is shown to its neighbour; from half-way between two planes to the end of the gap.
    let near = 1e-3;
    let mut distances: Vec<(f64, f64)> = values.iter().map(|v| ((v - local).abs(), *v)).collect();
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let local = match distances[..] {
        [(first, plane), (second, _), ..] if first < second - near => plane,
        _ => local,
    };
    let last = values.len() as i64 - 1;
    let start = if steps > 0 {
        values.partition_point(|v| *v <= local + near) as i64 - 1
    } else {
        values.partition_point(|v| *v < local - near) as i64
    };
    let k = (start + i64::from(steps)).clamp(0, last) as usize;
    grid.origin_mm()[axis] + sign * values[k]
}

/// The coordinate of the grid plane nearest to a position along a patient axis; the position's own if the grid is
/// oblique to the axis.
pub fn snapped_mm(grid: &Grid, axis: usize, at_mm: DVec3) -> f64 {
    let Some((values, sign)) = positions(grid, axis) else {
        return at_mm[axis];
    };
    let local = (at_mm[axis] - grid.origin_mm()[axis]) * sign;
    let nearest = values
        .iter()
        .copied()
        .min_by(|a, b| (a - local).abs().total_cmp(&(b - local).abs()));
    nearest.map_or(at_mm[axis], |v| grid.origin_mm()[axis] + sign * v)
}

/// Offsets from the origin of the planes along a patient axis, ascending, and whether they run with the axis (1) or
/// against it (-1). `None` if no axis of the grid runs along it.
fn positions(grid: &Grid, axis: usize) -> Option<(Vec<f64>, f64)> {
    let along = (0..3).find(|a| grid.axes()[*a][axis].abs() > 0.999_99)?;
    let sign = grid.axes()[along][axis].signum();
    let values = match along {
        2 => grid.planes_mm().to_vec(),
        a => (0..grid.size()[a])
            .map(|i| i as f64 * grid.spacing_xy_mm()[a])
            .collect(),
    };
    Some((values, sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{pos2, vec2};

    fn uneven(column: DVec3) -> Grid {
        Grid::new(
            DVec3::new(0.0, 0.0, 100.0),
            DVec3::X,
            column,
            [1.0, 2.0],
            [10, 10],
            &[0.0, 1.0, 5.0, 6.5],
        )
        .expect("a valid grid")
    }

    fn page(grid: &Grid, z: f64, steps: i32) -> f64 {
        page_mm(grid, 2, DVec3::new(0.0, 0.0, z), steps)
    }

    #[test]
    fn paging_goes_through_the_real_planes() {
        let g = uneven(DVec3::Y);
        assert_eq!(page(&g, 100.0, 1), 101.0);
        assert_eq!(page(&g, 101.0, 1), 105.0);
        assert_eq!(page(&g, 106.5, 1), 106.5);
        assert_eq!(page(&g, 105.0, -2), 100.0);
        // Between planes: one step reaches the next plane, not the one after.
        assert_eq!(page(&g, 103.0, 1), 105.0);
        assert_eq!(page(&g, 103.0, -1), 101.0);
        // Nearer to one of them that slice is shown, and a step leaves it.
        assert_eq!((page(&g, 104.0, 1), page(&g, 104.0, -1)), (106.5, 101.0));
        assert_eq!(page_mm(&g, 1, DVec3::new(0.0, 4.0, 0.0), 2), 8.0);
    }

    #[test]
    fn paging_knows_a_grid_that_runs_against_the_axis() {
        // Column direction -y makes the normal -z.
        let g = uneven(DVec3::NEG_Y);
        assert!(g.axes()[2].z < 0.0);
        assert_eq!(page(&g, 100.0, -1), 99.0);
        assert_eq!(page(&g, 95.0, 1), 99.0);
        assert_eq!(snapped_mm(&g, 2, DVec3::new(0.0, 0.0, 96.5)), 95.0);
    }

    #[test]
    fn an_oblique_grid_pages_by_its_spacing() {
        let (s, c) = 0.2_f64.sin_cos();
        let g = Grid::new(
            DVec3::ZERO,
            DVec3::X,
            DVec3::new(0.0, c, s),
            [1.0, 1.5],
            [4, 4],
            &[0.0, 2.0],
        )
        .unwrap();
        assert!((page_mm(&g, 2, DVec3::new(0.0, 0.0, 7.3), 2) - 9.3).abs() < 1e-12);
    }

    #[test]
    fn screen_and_patient_are_each_others_inverse() {
        let [right, down] = ViewKind::Sagittal.axes();
        let plane = ViewPlane {
            rect: egui::Rect::from_min_size(pos2(13.0, 40.0), vec2(300.0, 200.0)),
            centre_mm: DVec3::new(-5.0, 20.0, 30.0),
            right,
            down,
            mm_per_point: 0.7,
        };
        let pointer = pos2(50.0, 60.0);
        let p = plane.patient_from_screen(pointer);
        assert!((plane.screen_from_patient(p) - pointer).length() < 1e-3);
        assert!(plane.depth_mm(p).abs() < 1e-9);
        // Anterior is -y: to the left.
        assert!(plane.screen_from_patient(p - DVec3::Y * 10.0).x < pointer.x);
        // The head is up.
        assert!(plane.screen_from_patient(p + DVec3::Z * 10.0).y < pointer.y);
    }
}
