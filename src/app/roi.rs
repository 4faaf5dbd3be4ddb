//! Regions of interest made here: spheres and boxes as contours on the planes of the CT.
//!
//! A structure is its contours, as in a file. The shape it was made from is remembered beside it, keyed by those
//! contours, so that undo brings back the shape that belongs to them.

use crate::case::{Contour, Rgb, Structure, StructureKind, StructureSet};
use crate::geometry::Grid;
use glam::DVec3;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// A shape that can be placed and sized by dragging, patient LPS, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// Smallest radius or half side, mm: smaller ones fall between the planes and cannot be caught again.
pub const SMALLEST_MM: f64 = 1.0;

/// Corners of the polygon that stands for a circle.
const CIRCLE_POINTS: usize = 72;

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

    /// The same shape elsewhere.
    #[must_use]
    pub fn moved_to(self, to_mm: DVec3) -> Self {
        match self {
            Self::Sphere { radius_mm, .. } => Self::Sphere { centre_mm: to_mm, radius_mm },
            Self::Box { size_mm, .. } => Self::Box { centre_mm: to_mm, size_mm },
        }
    }

    /// Closed contours on the planes of `grid` that the shape meets: one a plane at most.
    pub fn contours(&self, grid: &Grid) -> Vec<Contour> {
        let centre = grid.local_from_patient(self.centre_mm());
        let edges = grid.edges_mm(2);
        grid.planes_mm()
            .iter()
            .zip(edges.windows(2))
            .filter_map(|(&z, slab)| {
                let outline = match *self {
                    Self::Sphere { radius_mm, .. } => circle(sphere_section_mm2(radius_mm, centre.z, slab)?),
                    Self::Box { size_mm, .. } => {
                        let half = 0.5 * size_mm;
                        // A plane belongs to the box when the box covers its middle.
                        if (z - centre.z).abs() > half.z {
                            return None;
                        }
                        vec![[-half.x, -half.y], [half.x, -half.y], [half.x, half.y], [-half.x, half.y]]
                    }
                };
                let points_mm = outline
                    .into_iter()
                    .map(|[x, y]| grid.patient_from_local(DVec3::new(centre.x + x, centre.y + y, z)))
                    .collect();
                Some(Contour { points_mm, image_uid: None })
            })
            .collect()
    }
}

/// Mean area of a sphere's cross-sections through a slab `[low, high]`, mm2, so that the slabs add up to the
/// sphere's volume whatever the plane spacing; `None` where they do not meet.
fn sphere_section_mm2(radius_mm: f64, centre_z_mm: f64, slab: &[f64]) -> Option<f64> {
    let low = (slab[0] - centre_z_mm).max(-radius_mm);
    let high = (slab[1] - centre_z_mm).min(radius_mm);
    if high <= low {
        return None;
    }
    // The integral of pi (r^2 - z^2) from low to high.
    let integral = |z: f64| 0.5 * TAU * (radius_mm * radius_mm * z - z * z * z / 3.0);
    let area = (integral(high) - integral(low)) / (slab[1] - slab[0]);
    (area > 1e-3).then_some(area)
}

/// A regular polygon of the given area round the origin.
fn circle(area_mm2: f64) -> Vec<[f64; 2]> {
    let n = CIRCLE_POINTS as f64;
    // A regular polygon with circumradius R has the area n/2 R^2 sin(2 pi / n).
    let radius = (2.0 * area_mm2 / (n * (TAU / n).sin())).sqrt();
    (0..CIRCLE_POINTS)
        .map(|i| {
            let (s, c) = (TAU * i as f64 / n).sin_cos();
            [radius * c, radius * s]
        })
        .collect()
}

/// The shapes behind structures made here.
#[derive(Debug, Default)]
pub struct Shapes {
    by_contours: HashMap<u64, Shape>,
}

impl Shapes {
    /// The shape a structure was made from, if it still is that shape.
    pub fn of(&self, structure: &Structure) -> Option<Shape> {
        self.by_contours.get(&fingerprint(structure)).copied()
    }

    pub fn remember(&mut self, structure: &Structure, shape: Shape) {
        self.by_contours.insert(fingerprint(structure), shape);
    }
}

/// Equal contours have equal fingerprints (FNV-1a over the bits of the coordinates).
pub fn fingerprint(structure: &Structure) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    mix(u64::from(structure.number));
    for contour in &structure.contours {
        mix(contour.points_mm.len() as u64);
        for p in &contour.points_mm {
            mix(p.x.to_bits());
            mix(p.y.to_bits());
            mix(p.z.to_bits());
        }
    }
    hash
}

/// Middle of the box round all contours, patient LPS, mm.
pub fn middle_mm(structure: &Structure) -> Option<DVec3> {
    let mut points = structure.contours.iter().flat_map(|c| &c.points_mm).chain(&structure.points_mm);
    let first = *points.next()?;
    let (low, high) = points.fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    Some(0.5 * (low + high))
}

/// Colours offered to new structures, in turn: apart in hue and of like lightness.
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

/// A new structure with a number and a name of its own.
pub fn new_structure(set: &StructureSet, base_name: &str, kind: StructureKind) -> Structure {
    let number = set.structures.iter().map(|s| s.number).max().unwrap_or(0) + 1;
    let mut name = base_name.to_owned();
    let mut count = 2;
    while set.by_name(&name).is_some() {
        name = format!("{base_name} {count}");
        count += 1;
    }
    let colour = if kind == StructureKind::Other {
        NEW_COLOURS[number as usize % NEW_COLOURS.len()]
    } else {
        kind.default_colour()
    };
    Structure { name, number, kind, colour, contours: Vec::new(), points_mm: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uneven() -> Grid {
        let planes: Vec<f64> = (0..60).map(|k| f64::from(k) * 2.0 + f64::from(k % 3) * 0.7).collect();
        Grid::new(DVec3::new(-60.0, -60.0, -10.0), DVec3::X, DVec3::Y, [1.0, 1.0], [120, 120], &planes)
            .unwrap()
    }

    /// Area of a polygon by the shoelace formula, times the thickness of its plane.
    fn volume_cm3(grid: &Grid, contours: &[Contour]) -> f64 {
        let edges = grid.edges_mm(2);
        contours
            .iter()
            .map(|c| {
                let p: Vec<DVec3> = c.points_mm.iter().map(|p| grid.local_from_patient(*p)).collect();
                let area: f64 = (0..p.len()).map(|i| p[i].perp(p[(i + 1) % p.len()])).sum::<f64>() / 2.0;
                let k = edges.partition_point(|e| *e <= p[0].z) - 1;
                area.abs() * (edges[k + 1] - edges[k]) / 1000.0
            })
            .sum()
    }

    trait Perp {
        fn perp(self, other: Self) -> f64;
    }
    impl Perp for DVec3 {
        fn perp(self, other: Self) -> f64 {
            self.x * other.y - self.y * other.x
        }
    }

    #[test]
    fn a_sphere_of_contours_has_the_volume_of_the_sphere_even_on_uneven_planes() {
        let grid = uneven();
        for radius in [3.0_f64, 10.0, 25.0] {
            let sphere = Shape::Sphere { centre_mm: DVec3::new(0.3, -1.0, 50.2), radius_mm: radius };
            let want = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3) / 1000.0;
            let got = volume_cm3(&grid, &sphere.contours(&grid));
            assert!((got / want - 1.0).abs() < 1e-6, "radius {radius}: {got} cm3, not {want}");
        }
    }

    #[test]
    fn a_box_covers_the_planes_whose_middle_it_holds() {
        let grid = uneven();
        let shape =
            Shape::Box { centre_mm: DVec3::new(0.0, 0.0, 50.0), size_mm: DVec3::new(20.0, 30.0, 40.0) };
        let contours = shape.contours(&grid);
        let planes =
            grid.planes_mm().iter().filter(|z| (**z + grid.origin_mm().z - 50.0).abs() <= 20.0).count();
        assert_eq!(contours.len(), planes);
        let edges = grid.edges_mm(2);
        let first = grid.planes_mm().iter().position(|z| *z + grid.origin_mm().z >= 30.0).unwrap();
        let want = 20.0 * 30.0 * (edges[first + planes] - edges[first]) / 1000.0;
        assert!((volume_cm3(&grid, &contours) - want).abs() < 1e-9);
    }

    #[test]
    fn a_shape_outside_the_ct_has_no_contours() {
        let sphere = Shape::Sphere { centre_mm: DVec3::new(0.0, 0.0, 900.0), radius_mm: 20.0 };
        assert!(sphere.contours(&uneven()).is_empty());
    }

    #[test]
    fn a_structure_finds_its_shape_until_its_contours_change() {
        let grid = uneven();
        let shape = Shape::Sphere { centre_mm: DVec3::new(0.0, 0.0, 50.0), radius_mm: 20.0 };
        let mut s = new_structure(&StructureSet::default(), "ROI", StructureKind::Other);
        s.contours = shape.contours(&grid);
        let mut shapes = Shapes::default();
        shapes.remember(&s, shape);
        assert_eq!(shapes.of(&s), Some(shape));
        s.contours[3].points_mm[5].x += 0.5;
        assert_eq!(shapes.of(&s), None);
    }

    #[test]
    fn new_structures_get_names_and_numbers_of_their_own() {
        let mut set = StructureSet::default();
        for want in ["ROI", "ROI 2", "ROI 3"] {
            let s = new_structure(&set, "ROI", StructureKind::Other);
            assert_eq!(s.name, want);
            assert!(set.structures.iter().all(|t| t.number != s.number));
            set.structures.push(s);
        }
    }
}
