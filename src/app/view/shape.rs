//! Handles of a region of interest that is a shape: its centre moves it, its rim resizes it, on planes and in the
//! beam's-eye view.

use super::ViewPlane;
use super::bev::BevPlane;
use crate::kit::theme;
use crate::state::roi::{SMALLEST_MM, Shape as Roi};
use egui::{Color32, Painter, Pos2, Rect, Stroke, StrokeKind, pos2, vec2};
use geometry::BeamFrame;
use geometry::polygons::convex_hull;
use glam::{DVec2, DVec3};

/// Distance within which a handle is grabbed, points.
const REACH: f32 = 8.0;

/// Least sine of the angle between a face's normal and the line of sight: faces seen more head-on have no handle.
const LEAST_SIDEWAYS: f64 = 0.35;

/// A draggable part of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Grip {
    Middle,
    /// The rim of a sphere or a face of a box, by its outward direction in patient LPS.
    Rim(DVec3),
}

/// Projection of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lens {
    /// Along the normal of a plane.
    Plane(ViewPlane),
    /// From a beam's source.
    Beam(BeamFrame, BevPlane),
}

impl Lens {
    fn screen(&self, patient_mm: DVec3) -> Option<Pos2> {
        match self {
            Self::Plane(plane) => Some(plane.screen_from_patient(patient_mm)),
            Self::Beam(frame, bev) => frame
                .project(patient_mm)
                .map(|([x, y], _)| bev.screen(x, y)),
        }
    }

    /// The plane through a position that the screen shows without distortion.
    fn plane_through(&self, patient_mm: DVec3) -> Option<ViewPlane> {
        match self {
            Self::Plane(plane) => Some(*plane),
            Self::Beam(frame, bev) => {
                // Planes across the axis are similar to the isocentre's, scaled by their distances from the source.
                let (_, depth_mm) = frame.project(patient_mm)?;
                let scale = depth_mm / frame.sad_mm;
                let [x, y] = bev.device_mm(bev.rect.center());
                let at_isocentre = frame.patient_from_device(DVec3::new(x, y, 0.0));
                Some(ViewPlane {
                    rect: bev.rect,
                    centre_mm: frame.source_mm + (at_isocentre - frame.source_mm) * scale,
                    right: frame.axes[0],
                    down: -frame.axes[1],
                    mm_per_point: bev.mm_per_point * scale,
                })
            }
        }
    }

    /// Whether the shape is draggable in the view: a plane must meet it.
    fn meets(&self, shape: &Roi) -> bool {
        match self {
            Self::Plane(plane) => {
                let normal = plane.right.cross(plane.down);
                plane.depth_mm(shape.centre_mm()).abs() <= half_extent_mm(shape, normal)
            }
            Self::Beam(..) => self.screen(shape.centre_mm()).is_some(),
        }
    }

    /// The rims of a shape that have a handle in the view.
    fn rims(&self, shape: &Roi) -> Vec<Grip> {
        let Some(plane) = self.plane_through(shape.centre_mm()) else {
            return Vec::new();
        };
        let outward = match shape {
            Roi::Sphere { .. } => vec![plane.right, -plane.right, plane.down, -plane.down],
            Roi::Box { .. } => {
                let faces = [DVec3::X, DVec3::Y, DVec3::Z]
                    .into_iter()
                    .flat_map(|axis| [axis, -axis]);
                faces
                    .filter(|out| in_plane(&plane, *out).length() > LEAST_SIDEWAYS)
                    .collect()
            }
        };
        outward.into_iter().map(Grip::Rim).collect()
    }
}

/// The components of a direction or path in the plane: to the right and down.
fn in_plane(plane: &ViewPlane, way: DVec3) -> DVec2 {
    DVec2::new(way.dot(plane.right), way.dot(plane.down))
}

/// Half the extent of a shape along a direction, mm.
fn half_extent_mm(shape: &Roi, along: DVec3) -> f64 {
    match shape {
        Roi::Sphere { radius_mm, .. } => *radius_mm,
        Roi::Box { size_mm, .. } => 0.5 * size_mm.dot(along.abs()),
    }
}

/// The patient position of a grip.
fn place_mm(shape: &Roi, grip: Grip) -> DVec3 {
    match grip {
        Grip::Middle => shape.centre_mm(),
        Grip::Rim(out) => shape.centre_mm() + out * half_extent_mm(shape, out),
    }
}

/// The grip at a point.
pub(crate) fn grip_at(lens: Lens, shape: &Roi, pointer: Pos2) -> Option<Grip> {
    if !lens.meets(shape) {
        return None;
    }
    // The rim first: on a small shape the centre would hide it.
    let grips = lens.rims(shape).into_iter().chain([Grip::Middle]);
    grips
        .filter_map(|g| Some((g, lens.screen(place_mm(shape, g))?.distance(pointer))))
        .filter(|(_, d)| *d <= REACH)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(g, _)| g)
}

/// The shape after a grip was dragged to a point of the screen. The depth is unchanged: only the visible components
/// move.
pub(crate) fn dragged(lens: Lens, shape: &Roi, grip: Grip, pointer: Pos2) -> Option<Roi> {
    let held_mm = match (grip, shape) {
        (Grip::Rim(_), Roi::Box { .. }) => place_mm(shape, grip),
        _ => shape.centre_mm(),
    };
    let plane = lens.plane_through(held_mm)?;
    let way = in_plane(&plane, plane.patient_from_screen(pointer) - held_mm);
    Some(match (grip, *shape) {
        (Grip::Middle, shape) => shape.moved_to(held_mm + plane.right * way.x + plane.down * way.y),
        (Grip::Rim(_), Roi::Sphere { centre_mm, .. }) => Roi::Sphere {
            centre_mm,
            radius_mm: way.length().max(SMALLEST_MM),
        },
        (Grip::Rim(out), Roi::Box { centre_mm, size_mm }) => {
            // The dragged face follows the pointer, the opposite face stays.
            let seen = in_plane(&plane, out);
            let grown = way.dot(seen) / seen.length_squared();
            let axis = out.abs();
            let former_size = size_mm.dot(axis);
            let size = (former_size + grown).max(2.0 * SMALLEST_MM);
            Roi::Box {
                centre_mm: centre_mm + out * (0.5 * (size - former_size)),
                size_mm: size_mm + axis * (size - former_size),
            }
        }
    })
}

/// Draws the shape in the view's projection, and its handles.
pub(crate) fn draw(painter: &Painter, lens: Lens, shape: &Roi, colour: Color32) {
    if !lens.meets(shape) {
        return;
    }
    let thin = Stroke::new(1.0, colour);
    match shape {
        Roi::Sphere {
            centre_mm,
            radius_mm,
        } => {
            if let Some((middle, plane)) =
                lens.screen(*centre_mm).zip(lens.plane_through(*centre_mm))
            {
                let depth = plane.depth_mm(*centre_mm);
                let section = (radius_mm * radius_mm - depth * depth).max(0.0).sqrt();
                painter.circle_stroke(middle, (section / plane.mm_per_point) as f32, thin);
            }
        }
        Roi::Box { centre_mm, size_mm } => {
            let corners = (0..8_usize).filter_map(|corner| {
                let sides = [0, 1, 2].map(|bit| if corner >> bit & 1 == 0 { -0.5 } else { 0.5 });
                lens.screen(*centre_mm + *size_mm * DVec3::from_array(sides))
            });
            let hull = outline(corners);
            painter.add(egui::Shape::closed_line(hull, thin));
        }
    }
    for grip in lens.rims(shape).into_iter().chain([Grip::Middle]) {
        if let Some(grip_position) = lens.screen(place_mm(shape, grip)) {
            let knob = Rect::from_center_size(grip_position, vec2(7.0, 7.0));
            painter.rect(
                knob,
                1.0,
                colour,
                Stroke::new(1.0, theme::IMAGE.ground),
                StrokeKind::Outside,
            );
        }
    }
}

/// The convex outline of some points, without corners that are none but for the rounding of the projection.
fn outline(points: impl Iterator<Item = Pos2>) -> Vec<Pos2> {
    let ring = convex_hull(
        points.map(|p| [f64::from(p.x), f64::from(p.y)]).collect(),
        1e-3,
    );
    ring.into_iter()
        .map(|[x, y]| pos2(x as f32, y as f32))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ViewKind;
    use geometry::PatientPosition;

    fn plane(kind: ViewKind, centre_mm: DVec3) -> ViewPlane {
        let [right, down] = kind.axes();
        let rect = Rect::from_min_size(Pos2::ZERO, vec2(200.0, 200.0));
        ViewPlane {
            rect,
            centre_mm,
            right,
            down,
            mm_per_point: 1.0,
        }
    }

    #[test]
    fn a_dragged_face_leaves_the_one_across_where_it_was() {
        let shape = Roi::Box {
            centre_mm: DVec3::new(1.0, 2.0, 3.0),
            size_mm: DVec3::new(20.0, 30.0, 40.0),
        };
        // Coronal: up is +z; the upper face moves from z = 23 to 33.
        let view = plane(ViewKind::Coronal, DVec3::ZERO);
        let grip = grip_at(
            Lens::Plane(view),
            &shape,
            view.screen_from_patient(DVec3::new(1.0, 0.0, 23.0)),
        );
        assert_eq!(grip, Some(Grip::Rim(DVec3::Z)));
        let to = view.screen_from_patient(DVec3::new(70.0, 0.0, 33.0));
        let got = dragged(Lens::Plane(view), &shape, Grip::Rim(DVec3::Z), to);
        let want = Roi::Box {
            centre_mm: DVec3::new(1.0, 2.0, 8.0),
            size_mm: DVec3::new(20.0, 30.0, 50.0),
        };
        assert_eq!(got, Some(want));
    }

    #[test]
    fn the_middle_moves_in_the_plane_only() {
        let shape = Roi::Sphere {
            centre_mm: DVec3::new(0.0, 0.0, 5.0),
            radius_mm: 20.0,
        };
        let view = plane(ViewKind::Axial, DVec3::new(0.0, 0.0, 10.0));
        let [to_middle, to_rim] = [[7.0, -8.0], [3.0, 4.0]]
            .map(|[x, y]| view.screen_from_patient(DVec3::new(x, y, 10.0)));
        assert_eq!(
            dragged(Lens::Plane(view), &shape, Grip::Middle, to_middle),
            Some(Roi::Sphere {
                centre_mm: DVec3::new(7.0, -8.0, 5.0),
                radius_mm: 20.0
            })
        );
        let sized = dragged(Lens::Plane(view), &shape, Grip::Rim(DVec3::X), to_rim);
        assert_eq!(
            sized,
            Some(Roi::Sphere {
                centre_mm: DVec3::new(0.0, 0.0, 5.0),
                radius_mm: 5.0
            })
        );
        let outside = plane(ViewKind::Axial, DVec3::new(0.0, 0.0, 26.0));
        assert_eq!(
            grip_at(Lens::Plane(outside), &shape, pos2(100.0, 100.0)),
            None
        );
    }

    /// In the beam's-eye view the shape keeps its depth, and the grabbed point stays under the pointer.
    #[test]
    fn what_is_grabbed_stays_under_the_pointer_from_the_beams_eye() {
        let iso = DVec3::new(10.0, -20.0, 30.0);
        for (gantry, collimator, couch) in [(0.0, 0.0, 0.0), (37.0, 15.0, 20.0), (270.0, 90.0, 0.0)]
        {
            let frame =
                BeamFrame::new(PatientPosition::Hfs, gantry, collimator, couch, iso, 1000.0);
            let rect = Rect::from_min_size(Pos2::ZERO, vec2(400.0, 300.0));
            let bev = BevPlane {
                rect,
                centre_mm: [5.0, -3.0],
                mm_per_point: 0.8,
            };
            let lens = Lens::Beam(frame, bev);
            let pointer = pos2(230.0, 120.0);
            let centre_mm = iso + frame.axes[2] * 150.0 + frame.axes[0] * 12.0;
            let sphere = Roi::Sphere {
                centre_mm,
                radius_mm: 25.0,
            };
            let moved = dragged(lens, &sphere, Grip::Middle, pointer).unwrap();
            assert!(
                (moved.centre_mm() - centre_mm).dot(frame.axes[2]).abs() < 1e-9,
                "the depth stays"
            );
            assert!(lens.screen(moved.centre_mm()).unwrap().distance(pointer) < 0.01);
            // Objects nearer to the source look larger: 25 mm at 850 mm are 25 / 0.85 mm at the isocentre.
            let Grip::Rim(out) = lens.rims(&sphere)[0] else {
                panic!("a rim")
            };
            let rim = lens.screen(centre_mm + out * 25.0).unwrap();
            let drawn = rim.distance(lens.screen(centre_mm).unwrap());
            assert!(
                (f64::from(drawn) - 25.0 / 0.85 / 0.8).abs() < 0.05,
                "{drawn}"
            );
            assert_eq!(grip_at(lens, &sphere, rim), Some(Grip::Rim(out)));
            // A face of a box follows the pointer along its own axis; the opposite face stays.
            let cube = Roi::Box {
                centre_mm,
                size_mm: DVec3::new(40.0, 50.0, 60.0),
            };
            for grip in lens.rims(&cube) {
                let Grip::Rim(out) = grip else {
                    panic!("a rim")
                };
                let to = lens.screen(place_mm(&cube, grip) + out * 8.0).unwrap();
                let Roi::Box {
                    centre_mm: c,
                    size_mm,
                } = dragged(lens, &cube, grip, to).unwrap()
                else {
                    panic!("a box")
                };
                let across = place_mm(&cube, Grip::Rim(-out));
                let place = place_mm(
                    &Roi::Box {
                        centre_mm: c,
                        size_mm,
                    },
                    Grip::Rim(-out),
                );
                assert!(across.distance(place) < 1e-9, "{out}: {across} {place}");
                // Tolerance for the change of scale along the path.
                assert!(
                    (size_mm.dot(out.abs()) - half_extent_mm(&cube, out) * 2.0 - 8.0).abs() < 1.0
                );
            }
        }
    }

    #[test]
    fn the_outline_of_a_box_has_its_outer_corners_only() {
        let square = [
            (0.0, 0.0),
            (10.0, 0.0),
            (10.0, 10.0),
            (0.0, 10.0),
            (5.0, 5.0),
            (5.0, 0.0),
            (10.0, 10.0),
        ];
        let outline = outline(square.map(|(x, y)| pos2(x, y)).into_iter());
        assert_eq!(outline.len(), 4, "{outline:?}");
    }
}
