//! Intersection of a beam's field with a plane: the divergent pyramid behind the jaws, or behind one leaf pair.

use super::ViewPlane;
use case::{Jaws, Mlc, MlcAxis};
use egui::Pos2;
use geometry::BeamFrame;

/// A convex polygon of a view.
pub(crate) struct FieldPolygon {
    pub points: Vec<Pos2>,
    /// For each point whether the side to the next point is an edge of the field (and not the rim of the view).
    pub is_edge: Vec<bool>,
}

/// The cut of the plane through the field inside `opening` (at the isocentre plane, mm). Empty if they do not meet.
pub(crate) fn field_in_plane(frame: &BeamFrame, opening: &Jaws, plane: &ViewPlane) -> FieldPolygon {
    let mut polygon = FieldPolygon::rim(plane);
    let [x, y, z] = frame.axes;
    let sad = frame.sad_mm;
    // A ray through (px, py) of the isocentre plane: x SAD = px (SAD - z). Both sides are linear in the position, so
    // each jaw is a half-plane of the view.
    let faces = [
        (x * sad + z * opening.x[0], -opening.x[0] * sad),
        (-x * sad - z * opening.x[1], opening.x[1] * sad),
        (y * sad + z * opening.y[0], -opening.y[0] * sad),
        (-y * sad - z * opening.y[1], opening.y[1] * sad),
    ];
    // Behind the source there is no field.
    polygon.clip(
        plane,
        |patient_mm| sad - 1.0 - (patient_mm - frame.isocentre_mm).dot(z),
        false,
    );
    for (gradient, constant) in faces {
        polygon.clip(
            plane,
            |patient_mm| (patient_mm - frame.isocentre_mm).dot(gradient) + constant,
            true,
        );
    }
    polygon
}

/// The open part of each leaf pair inside the jaws.
pub(crate) fn leaf_openings(jaws: &Jaws, mlc: &Mlc, leaves_mm: &[[f64; 2]]) -> Vec<Jaws> {
    let (travel, across) = match mlc.axis {
        MlcAxis::X => (jaws.x, jaws.y),
        MlcAxis::Y => (jaws.y, jaws.x),
    };
    let pairs = mlc.boundaries_mm.windows(2).zip(leaves_mm);
    pairs
        .filter_map(|(side, tips)| {
            let t = [tips[0].max(travel[0]), tips[1].min(travel[1])];
            let a = [side[0].max(across[0]), side[1].min(across[1])];
            let open = match mlc.axis {
                MlcAxis::X => Jaws { x: t, y: a },
                MlcAxis::Y => Jaws { x: a, y: t },
            };
            open.is_open().then_some(open)
        })
        .collect()
}

impl FieldPolygon {
    fn rim(plane: &ViewPlane) -> Self {
        let r = plane.rect.expand(4.0);
        let points = vec![
            r.left_top(),
            r.right_top(),
            r.right_bottom(),
            r.left_bottom(),
        ];
        Self {
            is_edge: vec![false; points.len()],
            points,
        }
    }

    /// Clips to the half-plane where `side` is not negative (Sutherland and Hodgman); `side` must be linear.
    fn clip(&mut self, plane: &ViewPlane, side: impl Fn(glam::DVec3) -> f64, edge: bool) {
        let n = self.points.len();
        let value: Vec<f64> = self
            .points
            .iter()
            .map(|p| side(plane.patient_from_screen(*p)))
            .collect();
        let mut points = Vec::with_capacity(n + 1);
        let mut is_edge = Vec::with_capacity(n + 1);
        for i in 0..n {
            let j = (i + 1) % n;
            let (a, b) = (value[i], value[j]);
            if a >= 0.0 {
                points.push(self.points[i]);
                is_edge.push(self.is_edge[i]);
            }
            if (a >= 0.0) != (b >= 0.0) {
                let t = (a / (a - b)) as f32;
                points.push(self.points[i].lerp(self.points[j], t));
                is_edge.push(if a >= 0.0 { edge } else { self.is_edge[i] });
            }
        }
        self.points = points;
        self.is_edge = is_edge;
    }

    /// The sides that are edges of the field.
    pub(crate) fn edges(&self) -> impl Iterator<Item = [Pos2; 2]> + '_ {
        let n = self.points.len();
        (0..n)
            .filter(|i| self.is_edge[*i])
            .map(move |i| [self.points[i], self.points[(i + 1) % n]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ViewKind;
    use egui::{pos2, vec2};
    use geometry::PatientPosition;
    use glam::DVec3;

    fn plane(kind: ViewKind, centre_mm: DVec3) -> ViewPlane {
        let [right, down] = kind.axes();
        let rect = egui::Rect::from_center_size(pos2(200.0, 200.0), vec2(400.0, 400.0));
        ViewPlane {
            rect,
            centre_mm,
            right,
            down,
            mm_per_point: 1.0,
        }
    }

    fn frame(gantry: f64) -> BeamFrame {
        BeamFrame::new(PatientPosition::Hfs, gantry, 0.0, 0.0, DVec3::ZERO, 1000.0)
    }

    /// The edges diverge: at a depth d behind the isocentre the field is wider by (SAD + d) / SAD.
    #[test]
    fn edges_diverge_from_the_source() {
        let field = field_in_plane(
            &frame(0.0),
            &Jaws {
                x: [-50.0, 30.0],
                y: [-40.0, 40.0],
            },
            &plane(ViewKind::Axial, DVec3::ZERO),
        );
        let edges: Vec<_> = field.edges().collect();
        assert_eq!(edges.len(), 2, "two edges in the plane of the axis");
        for [a, b] in edges {
            let jaw = if a.x < 200.0 { -50.0 } else { 30.0 };
            for p in [a, b] {
                // Gantry 0: the source is anterior, depth grows downwards.
                let depth = f64::from(p.y) - 200.0;
                let want = 200.0 + jaw * (1000.0 + depth) / 1000.0;
                assert!(
                    (f64::from(p.x) - want).abs() < 0.01,
                    "{p:?}: edge at {want}"
                );
            }
        }
    }

    #[test]
    fn a_plane_across_the_axis_shows_the_magnified_field() {
        // Gantry 0, coronal plane 100 mm behind the isocentre.
        let centre = DVec3::new(0.0, 100.0, 0.0);
        let field = field_in_plane(
            &frame(0.0),
            &Jaws::symmetric(100.0, 60.0),
            &plane(ViewKind::Coronal, centre),
        );
        assert_eq!(field.edges().count(), 4);
        let x: Vec<f32> = field.points.iter().map(|p| (p.x - 200.0).abs()).collect();
        let y: Vec<f32> = field.points.iter().map(|p| (p.y - 200.0).abs()).collect();
        assert!(
            x.iter().all(|v| (v - 55.0).abs() < 0.01) && y.iter().all(|v| (v - 33.0).abs() < 0.01)
        );
    }

    #[test]
    fn a_plane_beside_the_field_is_empty() {
        let beyond_field = plane(ViewKind::Axial, DVec3::new(0.0, 0.0, 90.0));
        assert!(
            field_in_plane(&frame(0.0), &Jaws::symmetric(100.0, 100.0), &beyond_field)
                .points
                .is_empty()
        );
    }

    #[test]
    fn leaves_open_only_inside_the_jaws() {
        let mlc = Mlc {
            axis: MlcAxis::X,
            boundaries_mm: vec![-20.0, -10.0, 0.0, 10.0, 20.0],
        };
        let leaves = [[-30.0, 30.0], [5.0, 5.0], [-10.0, 60.0], [-30.0, 30.0]];
        let jaws = Jaws {
            x: [-20.0, 40.0],
            y: [-20.0, 15.0],
        };
        let open = leaf_openings(&jaws, &mlc, &leaves);
        assert_eq!(
            open,
            [
                Jaws {
                    x: [-20.0, 30.0],
                    y: [-20.0, -10.0]
                },
                Jaws {
                    x: [-10.0, 40.0],
                    y: [0.0, 10.0]
                },
                Jaws {
                    x: [-20.0, 30.0],
                    y: [10.0, 15.0]
                },
            ]
        );
    }
}
