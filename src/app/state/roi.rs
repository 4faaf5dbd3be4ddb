//! Regions of interest made in the window: spheres and boxes as contours on the planes of the CT.
//!
//! A structure is defined by its contours, as in a file. The shape it was made from is stored separately, keyed by
//! those contours, so that undo restores the matching shape.

use case::{Case, Contour, Contours, Rgb, Structure, StructureKind};
use geometry::{Grid, box_contours, sphere_contours};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A shape that is placed and resized by dragging, patient LPS, mm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    Sphere {
        centre_mm: DVec3,
        radius_mm: f64,
    },
    /// Sides along the axes of the CT.
    Box {
        centre_mm: DVec3,
        size_mm: DVec3,
    },
}

/// Smallest radius or half side, mm: smaller shapes fall between the planes and cannot be grabbed again.
pub const SMALLEST_MM: f64 = 1.0;

impl Shape {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "Sphere",
            Self::Box { .. } => "Box",
        }
    }

    pub fn centre_mm(&self) -> DVec3 {
        match *self {
            Self::Sphere { centre_mm, .. } | Self::Box { centre_mm, .. } => centre_mm,
        }
    }

    /// The same shape at another position.
    #[must_use]
    pub fn moved_to(self, to_mm: DVec3) -> Self {
        match self {
            Self::Sphere { radius_mm, .. } => Self::Sphere {
                centre_mm: to_mm,
                radius_mm,
            },
            Self::Box { size_mm, .. } => Self::Box {
                centre_mm: to_mm,
                size_mm,
            },
        }
    }

    /// Closed contours where the planes of `grid` cut the shape.
    pub fn contours(&self, grid: &Grid) -> Contours {
        let outlines = match *self {
            Self::Sphere {
                centre_mm,
                radius_mm,
            } => sphere_contours(grid, centre_mm, radius_mm),
            Self::Box { centre_mm, size_mm } => box_contours(grid, centre_mm, size_mm),
        };
        outlines
            .into_iter()
            .map(|points_mm| Contour {
                points_mm,
                image_uid: None,
            })
            .collect()
    }
}

/// The shapes of structures made in the window.
#[derive(Debug, Default)]
pub struct Shapes {
    /// Keyed by the identity of their contours.
    by_contours: HashMap<u64, Shape>,
}

impl Shapes {
    /// The shape that a structure was made from, if its contours are unchanged.
    pub fn shape_of(&self, structure: &Structure) -> Option<Shape> {
        self.by_contours.get(&structure.contours.id()).copied()
    }

    pub fn remember(&mut self, structure: &Structure, shape: Shape) {
        self.by_contours.insert(structure.contours.id(), shape);
    }
}

/// Centre of the box round all contours, patient LPS, mm.
pub fn middle_mm(structure: &Structure) -> Option<DVec3> {
    let mut points = structure
        .contours
        .iter()
        .flat_map(|c| &c.points_mm)
        .chain(&structure.points_mm);
    let first = *points.next()?;
    let (low, high) = points.fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    Some(0.5 * (low + high))
}

/// Centre of the volume inside the contours, patient LPS, mm: of each plane the centroid of its polygons by area, in
/// which a contour inside another is a hole; planes count by their areas. Without an area, the middle of the box.
pub fn centre_mm(structure: &Structure) -> Option<DVec3> {
    let contours: Vec<&[DVec3]> = structure
        .contours
        .iter()
        .map(|c| &c.points_mm[..])
        .collect();
    let mut sum = (DVec3::ZERO, 0.0);
    for (n, contour) in contours.iter().enumerate() {
        let Some(first) = contour.first() else {
            continue;
        };
        let around = contours.iter().enumerate().filter(|(other, polygon)| {
            *other != n
                && polygon
                    .first()
                    .is_some_and(|p| (p.z - first.z).abs() < 0.01)
                && holds(polygon, *first)
        });
        let (centre, area) = centroid(contour);
        // Contours inside an odd number of others are rims of holes.
        let signed = if around.count() % 2 == 0 { area } else { -area };
        sum = (sum.0 + centre * signed, sum.1 + signed);
    }
    if sum.1 > 0.0 {
        Some(sum.0 / sum.1)
    } else {
        middle_mm(structure)
    }
}

/// Centroid and area of a polygon on an axial plane.
fn centroid(points: &[DVec3]) -> (DVec3, f64) {
    let origin = points[0];
    let (mut moment, mut twice) = (DVec3::ZERO, 0.0);
    for (a, b) in points.iter().zip(points.iter().cycle().skip(1)) {
        let (a, b) = (*a - origin, *b - origin);
        let cross = a.x * b.y - b.x * a.y;
        moment += (a + b) * cross;
        twice += cross;
    }
    if twice == 0.0 {
        (origin, 0.0)
    } else {
        (origin + moment / (3.0 * twice), 0.5 * f64::abs(twice))
    }
}

/// Whether a polygon on an axial plane holds a point, by the even-odd rule.
fn holds(points: &[DVec3], p: DVec3) -> bool {
    let edges = points.iter().zip(points.iter().cycle().skip(1));
    let crossed = edges.filter(|(a, b)| {
        (a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x)
    });
    crossed.count() % 2 == 1
}

/// Centre of the first target (PTV before CTV before GTV), patient LPS, mm.
pub fn target_middle_mm(case: &Case) -> Option<DVec3> {
    let set = &case.structures.structures;
    centre_mm(
        set.iter()
            .filter(|s| s.kind.is_target() && !s.contours.is_empty())
            .min_by_key(|s| s.kind)?,
    )
}

/// Colours of new structures, in turn: distinct in hue and of similar lightness.
pub const NEW_COLOURS: [Rgb; 8] = [
    Rgb([255, 112, 112]),
    Rgb([96, 200, 255]),
    Rgb([140, 220, 100]),
    Rgb([255, 190, 70]),
    Rgb([200, 150, 255]),
    Rgb([80, 220, 190]),
    Rgb([255, 140, 210]),
    Rgb([210, 210, 120]),
];

/// A new structure with an unused number and name, in a colour that no other looks like.
pub fn new_structure(case: &Case, base_name: &str, kind: StructureKind) -> Structure {
    let (number, name) = (case.free_number(), case.structures.free_name(base_name));
    let used: Vec<Rgb> = case
        .structures
        .structures
        .iter()
        .map(|s| s.colour)
        .collect();
    Structure {
        colour: kind.free_colour(&used),
        ..Structure::new(name, number, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid::axis_aligned(
            DVec3::splat(-60.0),
            DVec3::new(1.0, 1.0, 2.0),
            [120, 120, 60],
        )
        .unwrap()
    }

    #[test]
    fn a_shape_outside_the_ct_has_no_contours() {
        let sphere = Shape::Sphere {
            centre_mm: DVec3::new(0.0, 0.0, 900.0),
            radius_mm: 20.0,
        };
        assert!(sphere.contours(&grid()).is_empty());
    }

    #[test]
    fn a_structure_finds_its_shape_until_its_contours_change() {
        let grid = grid();
        let shape = Shape::Sphere {
            centre_mm: DVec3::new(0.0, 0.0, 20.0),
            radius_mm: 20.0,
        };
        let mut s = new_structure(&Case::default(), "ROI", StructureKind::Other);
        s.contours = shape.contours(&grid);
        let mut shapes = Shapes::default();
        shapes.remember(&s, shape);
        assert_eq!(shapes.shape_of(&s), Some(shape));
        let mut moved = s.contours.to_vec();
        std::sync::Arc::make_mut(&mut moved[3]).points_mm[5].x += 0.5;
        s.contours = moved.into();
        assert_eq!(shapes.shape_of(&s), None);
    }

    fn rectangle(x: [f64; 2], y: [f64; 2], z: f64) -> case::Contour {
        case::Contour {
            points_mm: vec![
                DVec3::new(x[0], y[0], z),
                DVec3::new(x[1], y[0], z),
                DVec3::new(x[1], y[1], z),
                DVec3::new(x[0], y[1], z),
            ],
            image_uid: None,
        }
    }

    #[test]
    fn the_centre_is_of_the_volume_not_of_the_box() {
        let mut s = new_structure(&Case::default(), "L", StructureKind::Other);
        // 40 x 20 less a hole of 10 x 10 round (5, 10), and on the next plane 20 x 20.
        s.contours = vec![
            rectangle([0.0, 40.0], [0.0, 20.0], 0.0),
            rectangle([0.0, 10.0], [5.0, 15.0], 0.0),
            rectangle([0.0, 20.0], [0.0, 20.0], 3.0),
        ]
        .into();
        let want = DVec3::new(
            (800.0 * 20.0 - 100.0 * 5.0 + 400.0 * 10.0) / 1100.0,
            (800.0 * 10.0 - 100.0 * 10.0 + 400.0 * 10.0) / 1100.0,
            400.0 * 3.0 / 1100.0,
        );
        let centre = centre_mm(&s).unwrap();
        assert!((centre - want).length() < 1e-9, "{centre} {want}");
    }

    #[test]
    fn new_structures_get_names_and_numbers_of_their_own() {
        let mut case = Case::default();
        for want in ["ROI", "ROI 2", "ROI 3"] {
            let s = new_structure(&case, "ROI", StructureKind::Other);
            assert_eq!(s.name, want);
            assert!(
                case.structures
                    .structures
                    .iter()
                    .all(|t| t.number != s.number)
            );
            std::sync::Arc::make_mut(&mut case.structures)
                .structures
                .push(s);
        }
    }
}
