//! Drawing by hand on the planes of a grid: where the stroke of a brush and a drawn outline cut each plane.

use super::Grid;
use super::polygons::{self, Ring};
use glam::{DVec2, DVec3};
use std::f64::consts::TAU;
use thiserror::Error;

/// A corner of a circle's polygon leaves the circle by less than this, mm.
const ROUND_MM: f64 = 0.02;

/// Samples of a sphere's path in one radius.
const STEPS_PER_RADIUS: f64 = 8.0;

/// A polygon on a plane of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Index of the plane.
    pub plane: usize,
    /// The grid's frame, mm; the last point joins the first. May cross itself where an outline was drawn so.
    pub polygon: Vec<[f64; 2]>,
}

/// Why a stroke draws nothing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StrokeError {
    #[error("the CT's planes lie oblique to this view: draw with the sphere brush")]
    Oblique,
    #[error("outside the CT")]
    Outside,
}

/// How a view lies in a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Facing {
    /// On a plane of the grid, by index.
    Plane(usize),
    /// Across the planes: the grid's axis (0 or 1) along the view's normal, and the middle of the pixels there, mm.
    Across { axis: usize, pixel: usize },
}

impl Facing {
    /// A view through `at_mm` with this normal (patient LPS).
    fn new(grid: &Grid, normal: DVec3, at_mm: DVec3) -> Result<Self, StrokeError> {
        let voxel = grid.voxel_at(at_mm).ok_or(StrokeError::Outside)?;
        let along = (0..3).find(|a| grid.axes()[*a].dot(normal).abs() > 0.999_99);
        match along.ok_or(StrokeError::Oblique)? {
            2 => Ok(Self::Plane(voxel[2])),
            axis => Ok(Self::Across {
                axis,
                pixel: voxel[axis],
            }),
        }
    }
}

/// The sections of a disc's path in a view (patient LPS, mm): the capsule on a plane of the grid; across the planes a
/// strip on each, as thick as a pixel.
///
/// # Errors
/// [`StrokeError`].
pub fn disc_stroke(
    grid: &Grid,
    normal: DVec3,
    from_mm: DVec3,
    to_mm: DVec3,
    radius_mm: f64,
) -> Result<Vec<Section>, StrokeError> {
    // A stroke that leaves the CT ends at its edge.
    let facing =
        Facing::new(grid, normal, to_mm).or_else(|_| Facing::new(grid, normal, from_mm))?;
    let ends = [from_mm, to_mm].map(|p| grid.local_from_patient(p));
    Ok(match facing {
        Facing::Plane(plane) => {
            let discs = ends.map(|p| disc([p.x, p.y], radius_mm));
            section(grid, plane, hull(discs.concat()))
                .into_iter()
                .collect()
        }
        Facing::Across { axis, pixel } => {
            let other = 1 - axis;
            let capsule = hull(ends.map(|p| disc([p[other], p.z], radius_mm)).concat());
            strips(grid, axis, pixel, &capsule, Some(ends[1].z))
        }
    })
}

/// The sections of a sphere's path (patient LPS, mm), on every plane that it meets. A sphere between two planes marks
/// the nearer one.
///
/// # Errors
/// [`StrokeError::Outside`].
pub fn sphere_stroke(
    grid: &Grid,
    from_mm: DVec3,
    to_mm: DVec3,
    radius_mm: f64,
) -> Result<Vec<Section>, StrokeError> {
    let ends = [from_mm, to_mm].map(|p| grid.local_from_patient(p));
    if ![from_mm, to_mm].iter().any(|p| grid.contains(*p)) {
        return Err(StrokeError::Outside);
    }
    let rises = (ends[1].z - ends[0].z).abs();
    let steps = (rises / radius_mm * STEPS_PER_RADIUS).ceil().max(1.0) as usize;
    let centres: Vec<DVec3> = (0..=steps)
        .map(|n| ends[0].lerp(ends[1], n as f64 / steps as f64))
        .collect();
    // The plane cuts the swept sphere, which is convex, in a convex polygon.
    let sections: Vec<Section> = (0..grid.planes_mm().len())
        .filter_map(|plane| {
            let z = grid.planes_mm()[plane];
            let discs = centres.iter().filter_map(|c| {
                let square = radius_mm * radius_mm - (z - c.z) * (z - c.z);
                (square > 0.0).then(|| disc([c.x, c.y], square.sqrt()))
            });
            section(grid, plane, hull(discs.flatten().collect()))
        })
        .collect();
    if sections.is_empty() {
        let discs = ends.map(|p| disc([p.x, p.y], radius_mm));
        return Ok(
            section(grid, nearest_plane(grid, ends[1].z), hull(discs.concat()))
                .into_iter()
                .collect(),
        );
    }
    Ok(sections)
}

/// The sections of an outline drawn in a view (patient LPS, mm, the last point joins the first): itself on a plane of
/// the grid; across the planes strips on each, as thick as a pixel.
///
/// # Errors
/// [`StrokeError`].
pub fn outline_sections(
    grid: &Grid,
    normal: DVec3,
    outline: &[DVec3],
) -> Result<Vec<Section>, StrokeError> {
    let inside = outline
        .iter()
        .find(|p| grid.contains(**p))
        .ok_or(StrokeError::Outside)?;
    let facing = Facing::new(grid, normal, *inside)?;
    let local = outline.iter().map(|p| grid.local_from_patient(*p));
    Ok(match facing {
        Facing::Plane(plane) => section(grid, plane, local.map(|p| [p.x, p.y]).collect())
            .into_iter()
            .collect(),
        Facing::Across { axis, pixel } => {
            let outline: Vec<[f64; 2]> = local.map(|p| [p[1 - axis], p.z]).collect();
            strips(grid, axis, pixel, &outline, None)
        }
    })
}

fn nearest_plane(grid: &Grid, z: f64) -> usize {
    let edges = grid.edges_mm(2);
    edges.partition_point(|e| *e <= z).clamp(1, edges.len() - 1) - 1
}

/// Rectangles one pixel thick where the planes of the grid cut a shape of a view across them (grid's other axis, z).
/// A shape between two planes marks the one nearest to `or_at` with its width there.
fn strips(
    grid: &Grid,
    axis: usize,
    pixel: usize,
    shape: &[[f64; 2]],
    or_at: Option<f64>,
) -> Vec<Section> {
    let spacing = grid.spacing_xy_mm()[axis];
    let (low, high) = (
        (pixel as f64 - 0.5) * spacing,
        (pixel as f64 + 0.5) * spacing,
    );
    let on = |plane: usize, z: f64| {
        spans(shape, z)
            .into_iter()
            .filter_map(move |[from, to]: [f64; 2]| {
                let corners = [[low, from], [high, from], [high, to], [low, to]];
                let polygon = corners.map(|[a, b]| if axis == 0 { [a, b] } else { [b, a] });
                section(grid, plane, polygon.to_vec())
            })
            .collect::<Vec<Section>>()
    };
    let sections: Vec<Section> = grid
        .planes_mm()
        .iter()
        .enumerate()
        .flat_map(|(plane, &z)| on(plane, z))
        .collect();
    match or_at {
        Some(z) if sections.is_empty() => on(nearest_plane(grid, z), z),
        _ => sections,
    }
}

/// Intervals of a level line inside a polygon (even-odd), from low to high.
fn spans(polygon: &[[f64; 2]], level: f64) -> Vec<[f64; 2]> {
    let mut crossings: Vec<f64> = Vec::new();
    for (n, a) in polygon.iter().enumerate() {
        let b = polygon[(n + 1) % polygon.len()];
        if (a[1] <= level) != (b[1] <= level) {
            crossings.push(a[0] + (b[0] - a[0]) * (level - a[1]) / (b[1] - a[1]));
        }
    }
    crossings.sort_by(f64::total_cmp);
    crossings
        .chunks_exact(2)
        .map(|pair| [pair[0], pair[1]])
        .filter(|[from, to]| to - from > 1e-6)
        .collect()
}

/// A polygon as large as the disc.
fn disc(centre: [f64; 2], radius: f64) -> Vec<[f64; 2]> {
    // The sagitta of a side is r (1 - cos(pi / n)), nearly r pi^2 / (2 n^2).
    let corners = (0.5 * TAU * (radius / (2.0 * ROUND_MM)).sqrt())
        .ceil()
        .clamp(16.0, 240.0);
    let angle = TAU / corners;
    let radius = radius * (angle / angle.sin()).sqrt();
    (0..corners as usize)
        .map(|n| (angle * n as f64).sin_cos())
        .map(|(s, c)| [centre[0] + radius * c, centre[1] + radius * s])
        .collect()
}

/// The convex polygon round points in mm.
fn hull(points: Vec<[f64; 2]>) -> Ring {
    polygons::convex_hull(points, 1e-9)
}

/// A polygon on a plane, cut at the edges of the grid; `None` where nothing of it lies on the grid.
fn section(grid: &Grid, plane: usize, mut polygon: Vec<[f64; 2]>) -> Option<Section> {
    for axis in 0..2 {
        let edges = grid.edges_mm(axis);
        let (low, high) = (edges[0], edges[edges.len() - 1]);
        if polygon.iter().any(|p| p[axis] < low) {
            polygon = cut(&polygon, axis, low, 1.0);
        }
        if polygon.iter().any(|p| p[axis] > high) {
            polygon = cut(&polygon, axis, high, -1.0);
        }
    }
    (polygon.len() > 2).then_some(Section { plane, polygon })
}

/// The part of a polygon where `sign` times its coordinate is over the edge's (Sutherland and Hodgman).
fn cut(polygon: &[[f64; 2]], axis: usize, edge: f64, sign: f64) -> Vec<[f64; 2]> {
    let mut kept = Vec::with_capacity(polygon.len() + 2);
    for (n, &to) in polygon.iter().enumerate() {
        let from = polygon[(n + polygon.len() - 1) % polygon.len()];
        let (a, b) = (sign * (from[axis] - edge), sign * (to[axis] - edge));
        if (a >= 0.0) != (b >= 0.0) {
            let crossing = DVec2::from(from).lerp(DVec2::from(to), a / (a - b));
            kept.push(crossing.to_array());
        }
        if b >= 0.0 {
            kept.push(to);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// 100 mm a side round the origin, planes 2.5 mm apart, turned.
    fn grid(axes: [DVec3; 2]) -> Grid {
        let normal = axes[0].cross(axes[1]);
        let origin = -(axes[0] + axes[1]) * 49.5 - normal * 48.75;
        let planes: Vec<f64> = (0..40).map(|k| 2.5 * f64::from(k)).collect();
        Grid::new(origin, axes[0], axes[1], [1.0, 1.0], [100, 100], &planes).unwrap()
    }

    fn area(polygon: &[[f64; 2]]) -> f64 {
        let pairs = polygon.iter().zip(polygon.iter().cycle().skip(1));
        0.5 * pairs
            .map(|(a, b)| a[0] * b[1] - a[1] * b[0])
            .sum::<f64>()
            .abs()
    }

    fn near(got: f64, want: f64, share: f64) {
        assert!((got / want - 1.0).abs() < share, "{got} for {want}");
    }

    #[test]
    fn a_disc_stroke_is_a_capsule_on_its_plane() {
        let grid = grid([DVec3::X, DVec3::Y]);
        let (from, to) = (DVec3::new(-10.0, 5.0, 3.75), DVec3::new(14.0, -13.0, 3.75));
        let stroke = disc_stroke(&grid, DVec3::Z, from, to, 8.0).unwrap();
        assert_eq!(stroke.len(), 1);
        assert_eq!(stroke[0].plane, 21);
        near(area(&stroke[0].polygon), PI * 64.0 + 30.0 * 16.0, 2e-3);
        let dot = disc_stroke(&grid, DVec3::NEG_Z, from, from, 8.0).unwrap();
        near(area(&dot[0].polygon), PI * 64.0, 1e-6);
        // A quarter of a disc at the corner of the CT.
        let corner = DVec3::new(49.999, 49.999, 3.75);
        near(
            area(&disc_stroke(&grid, DVec3::Z, corner, corner, 8.0).unwrap()[0].polygon),
            PI * 16.0,
            2e-3,
        );
        let beyond = DVec3::new(70.0, 0.0, 0.0);
        assert_eq!(
            disc_stroke(&grid, DVec3::Z, beyond, beyond, 8.0),
            Err(StrokeError::Outside)
        );
        let oblique = DVec3::new(0.0, 0.6, 0.8);
        assert_eq!(
            disc_stroke(&grid, oblique, from, to, 8.0),
            Err(StrokeError::Oblique)
        );
    }

    /// The chords of a circle of 8 mm at the heights of the planes, each one pixel thick.
    #[test]
    fn a_disc_across_the_planes_is_a_strip_on_each() {
        let grid = grid([DVec3::X, DVec3::Y]);
        for (normal, axis) in [(DVec3::X, 0), (DVec3::NEG_Y, 1)] {
            let centre = DVec3::new(4.3, 4.3, 1.25);
            let strips = disc_stroke(&grid, normal, centre, centre, 8.0).unwrap();
            assert_eq!(strips.len(), 7);
            for strip in strips {
                let dz = grid.planes_mm()[strip.plane] - 48.75 - 1.25;
                near(area(&strip.polygon), 2.0 * (64.0 - dz * dz).sqrt(), 0.01);
                let across: Vec<f64> = strip.polygon.iter().map(|p| p[axis]).collect();
                // The pixel that holds 4.3 mm ends at 4 and 5 mm, 53.5 and 54.5 mm from the first pixel's middle.
                assert!(
                    across
                        .iter()
                        .all(|a| (a - 53.5).abs() < 1e-9 || (a - 54.5).abs() < 1e-9)
                );
            }
            // Between two planes a small brush marks the nearer one.
            let between = DVec3::new(4.3, 4.3, 2.3);
            let strips = disc_stroke(&grid, normal, between, between, 1.0).unwrap();
            assert_eq!(strips.len(), 1);
            near(area(&strips[0].polygon), 2.0, 0.02);
        }
    }

    #[test]
    fn a_sphere_is_a_disc_on_each_plane_however_the_grid_lies() {
        let turn = glam::DMat3::from_euler(glam::EulerRot::XYZ, 0.2, 0.5, -0.7);
        for axes in [[DVec3::X, DVec3::Y], [turn.x_axis, turn.y_axis]] {
            let grid = grid(axes);
            let centre = axes[0] * 3.0 - axes[1] * 5.0;
            let sphere = sphere_stroke(&grid, centre, centre, 15.0).unwrap();
            near(volume_of(&sphere), 4.0 / 3.0 * PI * 15.0_f64.powi(3), 0.01);
            // Up the normal: a cylinder between the two halves.
            let up = centre + axes[0].cross(axes[1]) * 20.0;
            let capsule = sphere_stroke(&grid, centre, up, 15.0).unwrap();
            near(
                volume_of(&capsule),
                4.0 / 3.0 * PI * 15.0_f64.powi(3) + PI * 225.0 * 20.0,
                0.01,
            );
            let small = sphere_stroke(&grid, centre, centre, 1.0).unwrap();
            assert_eq!(small.len(), 1, "1.25 mm from either plane");
        }
    }

    fn volume_of(sections: &[Section]) -> f64 {
        2.5 * sections.iter().map(|s| area(&s.polygon)).sum::<f64>()
    }

    #[test]
    fn an_outline_is_itself_on_a_plane_and_strips_across() {
        let grid = grid([DVec3::X, DVec3::Y]);
        let sections = outline_sections(&grid, DVec3::Z, &square(DVec3::X, DVec3::Y)).unwrap();
        near(area(&sections[0].polygon), 400.0, 1e-9);
        let strips = outline_sections(&grid, DVec3::X, &square(DVec3::Y, DVec3::Z)).unwrap();
        assert_eq!(strips.len(), 8, "planes from -8.75 to 8.75 mm");
        strips
            .iter()
            .for_each(|s| near(area(&s.polygon), 20.0, 1e-9));
    }

    fn square(u: DVec3, v: DVec3) -> [DVec3; 4] {
        [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[a, b]| (u * a + v * b) * 10.0)
    }
}
