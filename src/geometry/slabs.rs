//! Contour planes -> slabs: how far along the normal each plane of a structure's contours speaks.

use super::Grid;
use glam::DVec3;

/// The widest gap between contour planes that is filled, in usual steps of the structure (the median distance of its
/// planes): one plane that was not drawn is bridged, where contours of both sides overlap; two are a gap.
pub(super) const MAX_GAP: f64 = 2.5;

/// Planes further apart than this have one between them that was not drawn, in usual steps.
const NEXT_PLANE: f64 = 1.5;

/// Contours closer along the normal than this lie on one plane; a contour closer to a grid plane lies on it. mm.
const SAME_PLANE_MM: f64 = 0.1;

/// Contours that do not lie along the planes of the images were drawn on others, which are not known: their ends reach no
/// further than half of a thick slice, mm.
const MOST_BEYOND_MM: f64 = 2.5;

/// The contours of one plane and the reach along the normal for which they stand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slab {
    pub reach_mm: [f64; 2],
    /// Points in the plane; combine by exclusive-or.
    pub polygons: Vec<Vec<[f64; 2]>>,
}

impl Slab {
    /// With every point changed.
    pub fn map(&self, change: impl Fn(&[f64; 2]) -> [f64; 2]) -> Self {
        let polygons = self
            .polygons
            .iter()
            .map(|p| p.iter().map(&change).collect())
            .collect();
        Self {
            reach_mm: self.reach_mm,
            polygons,
        }
    }

    /// Length shared with `[low, high]` along the normal, mm.
    pub fn overlap_mm(&self, low: f64, high: f64) -> f64 {
        (self.reach_mm[1].min(high) - self.reach_mm[0].max(low)).max(0.0)
    }

    /// The points on both faces, third coordinate along the normal.
    pub fn corners(&self) -> impl Iterator<Item = DVec3> + '_ {
        let points = self.polygons.iter().flatten();
        points.flat_map(|p| self.reach_mm.map(|z| DVec3::new(p[0], p[1], z)))
    }
}

/// Slabs of contours parallel to the planes of a grid, in the grid's frame; ascending.
pub(super) fn level(contours: &[Vec<DVec3>], grid: &Grid) -> Vec<Slab> {
    let (z, polygons) = by_plane(contours);
    let planes = GridPlanes {
        centres: grid.planes_mm(),
        edges: &grid.edges_mm(2),
    };
    assemble(
        reaches(&z, Some(planes), planes.thickness_near(z[0])),
        polygons,
    )
}

/// Slabs of contours in a frame of their own (normal along the third coordinate); ascending. A structure of a single
/// plane reaches half of `thickness_mm` either way.
pub(super) fn free(contours: &[Vec<DVec3>], thickness_mm: f64) -> Vec<Slab> {
    let (z, polygons) = by_plane(contours);
    assemble(reaches(&z, None, thickness_mm), polygons)
}

/// Polygons of contours (patient LPS, mm, parallel to the planes of `grid`) on a plane of the grid: the polygons of the slab
/// that holds the plane, the grid's frame, mm.
pub fn section_at(grid: &Grid, contours: &[&[DVec3]], plane: usize) -> Vec<Vec<[f64; 2]>> {
    let closed = contours.iter().filter(|c| c.len() > 2);
    let local: Vec<Vec<DVec3>> = closed
        .map(|c| c.iter().map(|&p| grid.local_from_patient(p)).collect())
        .collect();
    if local.is_empty() {
        return Vec::new();
    }
    let z = grid.planes_mm()[plane];
    let slabs = level(&local, grid);
    slabs
        .into_iter()
        .find(|slab: &Slab| slab.reach_mm[0] <= z && z < slab.reach_mm[1])
        .map(|slab| slab.polygons)
        .unwrap_or_default()
}

pub(super) type Polygon = Vec<[f64; 2]>;
pub(super) type Polygons = Vec<Polygon>;

/// How far a contour plane speaks on its own, and how far where a plane that was not drawn is bridged.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reach {
    own_mm: [f64; 2],
    bridged_mm: [f64; 2],
}

/// Slabs of each plane, disjoint and ascending: the bridge to the plane below of contours that continue there, the plane's own, the
/// bridge to the plane above.
fn assemble(reaches: Vec<Reach>, polygons: Vec<Polygons>) -> Vec<Slab> {
    let mut slabs = Vec::with_capacity(reaches.len());
    for (n, (reach, slab_polygons)) in reaches.iter().zip(&polygons).enumerate() {
        let ([low, high], [lowest, highest]) = (reach.own_mm, reach.bridged_mm);
        let bridge = |reach_mm: [f64; 2], other: usize| {
            let polygons = overlapping(slab_polygons, &polygons[other]);
            (!polygons.is_empty()).then_some(Slab { reach_mm, polygons })
        };
        slabs.extend(
            (lowest < low)
                .then(|| bridge([lowest, low], n - 1))
                .flatten(),
        );
        slabs.push(Slab {
            reach_mm: [low, high],
            polygons: slab_polygons.clone(),
        });
        slabs.extend(
            (highest > high)
                .then(|| bridge([high, highest], n + 1))
                .flatten(),
        );
    }
    slabs
}

/// The polygons that overlap any of the others, with the holes in them.
fn overlapping(polygons: &Polygons, others: &Polygons) -> Polygons {
    let [own_thin, others] =
        [polygons, others].map(|side| side.iter().map(thinned).collect::<Polygons>());
    let goes_on: Vec<bool> = own_thin
        .iter()
        .map(|p| others.iter().any(|other| overlap(p, other)))
        .collect();
    (0..polygons.len())
        .filter(|&n| {
            goes_on[n]
                || (0..polygons.len())
                    .any(|m: usize| m != n && goes_on[m] && holds(&own_thin[m], own_thin[n][0]))
        })
        .map(|n| polygons[n].clone())
        .collect()
}

/// Corners that tell whether polygons overlap: more make no difference that a plane was not drawn for.
const MOST_CORNERS: usize = 256;

fn thinned(polygon: &Polygon) -> Polygon {
    polygon
        .iter()
        .step_by(polygon.len().div_ceil(MOST_CORNERS).max(1))
        .copied()
        .collect()
}

fn overlap(a: &Polygon, b: &Polygon) -> bool {
    let apart = (0..2).any(|axis| {
        let ((a_low, a_high), (b_low, b_high)) = (bounds_along(a, axis), bounds_along(b, axis));
        a_high < b_low || b_high < a_low
    });
    // Equal polygons cross nowhere, and not every corner of one lies in the other.
    !apart
        && (has_corner_inside(a, b) || has_corner_inside(b, a) || {
            let others = sides_of(b);
            sides_of(a)
                .iter()
                .any(|side| others.iter().any(|other| cross(*side, *other)))
        })
}

fn bounds_along(p: &Polygon, axis: usize) -> (f64, f64) {
    p.iter()
        .map(|c| c[axis])
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        })
}

fn sides_of(p: &Polygon) -> Vec<Side> {
    (0..p.len()).map(|n| (p[n], p[(n + 1) % p.len()])).collect()
}

fn has_corner_inside(corners: &Polygon, inside: &Polygon) -> bool {
    corners.iter().any(|corner| holds(inside, *corner))
}

/// Whether a point lies in a polygon (even-odd).
fn holds(polygon: &Polygon, [x, y]: [f64; 2]) -> bool {
    let mut inside = false;
    let mut from = polygon[polygon.len() - 1];
    for &to in polygon {
        inside ^= (from[1] > y) != (to[1] > y)
            && x < from[0] + (y - from[1]) / (to[1] - from[1]) * (to[0] - from[0]);
        from = to;
    }
    inside
}

type Side = ([f64; 2], [f64; 2]);

fn cross(one: Side, other: Side) -> bool {
    let ((a, b), (c, d)) = (one, other);
    crate::polygons::turn(a, b, c) * crate::polygons::turn(a, b, d) < 0.0
        && crate::polygons::turn(c, d, a) * crate::polygons::turn(c, d, b) < 0.0
}

/// Sorts contours by plane: heights of the planes (ascending) and the contours of each.
pub(super) fn by_plane(contours: &[Vec<DVec3>]) -> (Vec<f64>, Vec<Polygons>) {
    grouped(
        contours
            .iter()
            .map(|c| {
                (
                    (c.iter().map(|p| p.z).sum::<f64>() / c.len() as f64),
                    c.iter().map(|p| [p.x, p.y]).collect(),
                )
            })
            .collect(),
    )
}

/// Sorts what stands for contours by the heights of their planes: those (ascending), and what each plane has.
pub(super) fn grouped<T>(mut contours: Vec<(f64, T)>) -> (Vec<f64>, Vec<Vec<T>>) {
    contours.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut z: Vec<f64> = Vec::new();
    let mut planes: Vec<Vec<T>> = Vec::new();
    for (height, contour) in contours {
        match (z.last(), planes.last_mut()) {
            (Some(last), Some(plane)) if height - last < SAME_PLANE_MM => plane.push(contour),
            _ => {
                z.push(height);
                planes.push(vec![contour]);
            }
        }
    }
    (z, planes)
}

/// The reach of each of some planes of contours (heights in the grid's frame, ascending) where no plane is bridged, so
/// that it does not depend on the contours; else `None`.
pub(super) fn unbridged(z: &[f64], grid: &Grid) -> Option<Vec<[f64; 2]>> {
    let planes = GridPlanes {
        centres: grid.planes_mm(),
        edges: &grid.edges_mm(2),
    };
    let reaches = reaches(z, Some(planes), planes.thickness_near(*z.first()?));
    reaches
        .iter()
        .map(|reach| (reach.own_mm == reach.bridged_mm).then_some(reach.own_mm))
        .collect()
}

/// How far a structure that is not bridged ends below and above a plane of contours that lies at its end or at a gap, mm.
pub(super) fn beyond_mm(z: f64, grid: &Grid, half_step_mm: f64) -> [f64; 2] {
    let planes = GridPlanes {
        centres: grid.planes_mm(),
        edges: &grid.edges_mm(2),
    };
    planes.distances_to_edges(z).map(|mm| mm.min(half_step_mm))
}

/// The planes of a grid along its normal, mm.
#[derive(Clone, Copy)]
struct GridPlanes<'a> {
    centres: &'a [f64],
    /// One more than the centres.
    edges: &'a [f64],
}

impl GridPlanes<'_> {
    fn nearest(&self, z: f64) -> usize {
        self.edges
            .partition_point(|&e| e <= z)
            .clamp(1, self.centres.len())
            - 1
    }

    /// The plane at `z`, where there is one.
    fn at(&self, z: f64) -> Option<usize> {
        let k = self.nearest(z);
        ((self.centres[k] - z).abs() < SAME_PLANE_MM).then_some(k)
    }

    fn thickness_near(&self, z: f64) -> f64 {
        let k = self.nearest(z);
        self.edges[k + 1] - self.edges[k]
    }

    /// The distances from a height to the edges of the plane it lies on; between planes half a plane either way.
    fn distances_to_edges(&self, z: f64) -> [f64; 2] {
        self.at(z).map_or([0.5 * self.thickness_near(z); 2], |k| {
            [z - self.edges[k], self.edges[k + 1] - z]
        })
    }

    fn neighbours(&self, a: f64, b: f64) -> bool {
        matches!((self.at(a), self.at(b)), (Some(a), Some(b)) if b == a + 1)
    }
}

/// How far each contour plane reaches: half-way to its neighbours; at an end or a gap as far as on the other side, and no
/// further than the edge of the grid plane it lies on, which it reaches where the structure is drawn on every plane: between
/// drawn key slices a structure goes on, beyond the last one nothing says so. Bridged, it reaches half-way over the plane that
/// was not drawn.
fn reaches(z: &[f64], planes: Option<GridPlanes<'_>>, lone_thickness_mm: f64) -> Vec<Reach> {
    let mut steps: Vec<f64> = z.windows(2).map(|w| w[1] - w[0]).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps
        .get((steps.len().max(1) - 1) / 2)
        .copied()
        .unwrap_or(lone_thickness_mm);
    let neighbours = |a: f64, b: f64| planes.is_some_and(|p| p.neighbours(a, b));
    // The step to the next plane up, where that is the next one, or where one was not drawn.
    let joined = |n: usize| z[n + 1] - z[n] <= NEXT_PLANE * usual || neighbours(z[n], z[n + 1]);
    let bridged = |n: usize| !joined(n) && z[n + 1] - z[n] <= MAX_GAP * usual;
    (0..z.len())
        .map(|n: usize| {
            let below = (n > 0 && joined(n - 1)).then(|| z[n] - z[n - 1]);
            let above = (n + 1 < z.len() && joined(n)).then(|| z[n + 1] - z[n]);
            let half = 0.5 * below.or(above).unwrap_or(usual);
            let every_plane = match (below, above) {
                (Some(_), _) => neighbours(z[n - 1], z[n]),
                (_, Some(_)) => neighbours(z[n], z[n + 1]),
                // On its own: as the rest of the structure is drawn.
                _ => planes.is_some_and(|p| usual <= 1.5 * p.thickness_near(z[n])),
            };
            let end = match planes {
                Some(p) if every_plane && p.at(z[n]).is_some() => p.distances_to_edges(z[n]),
                Some(p) => p.distances_to_edges(z[n]).map(|mm| mm.min(half)),
                None => [half.min(MOST_BEYOND_MM); 2],
            };
            let own_mm = [
                z[n] - below.map_or(end[0], |step| 0.5 * step),
                z[n] + above.map_or(end[1], |step| 0.5 * step),
            ];
            let low = (n > 0 && bridged(n - 1)).then(|| 0.5 * (z[n - 1] + z[n]));
            let high = (n + 1 < z.len() && bridged(n)).then(|| 0.5 * (z[n] + z[n + 1]));
            Reach {
                own_mm,
                bridged_mm: [low.unwrap_or(own_mm[0]), high.unwrap_or(own_mm[1])],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach_of(z: &[f64], centres: &[f64]) -> Vec<[f64; 2]> {
        let grid = Grid::new(DVec3::ZERO, DVec3::X, DVec3::Y, [1.0, 1.0], [4, 4], centres)
            .expect("a valid grid");
        let edges = grid.edges_mm(2);
        let planes = GridPlanes {
            centres: grid.planes_mm(),
            edges: &edges,
        };
        // All on top of one another, so that every bridge is one.
        let reaches = reaches(z, Some(planes), planes.thickness_near(z[0]));
        reaches.iter().map(|r| r.bridged_mm).collect()
    }

    #[test]
    fn on_every_uneven_plane_slabs_are_the_voxels() {
        let planes = [0.0, 3.0, 6.0, 16.0, 19.0, 20.0];
        let want = [[1.5, 4.5], [4.5, 11.0], [11.0, 17.5]];
        assert_eq!(reach_of(&[3.0, 6.0, 16.0], &planes), want);
        assert_eq!(reach_of(&[6.0], &planes), [[4.5, 11.0]]);
    }

    #[test]
    fn every_other_plane_is_bridged_and_a_wide_gap_is_not() {
        let planes: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(
            reach_of(&[2.0, 4.0, 6.0], &planes),
            [[1.5, 3.0], [3.0, 5.0], [5.0, 6.5]]
        );
        // Drawn on every plane but 5; then nothing until 20.
        let got = reach_of(&[2.0, 3.0, 4.0, 6.0, 7.0, 20.0], &planes);
        assert_eq!(
            got,
            [
                [1.5, 2.5],
                [2.5, 3.5],
                [3.5, 5.0],
                [5.0, 6.5],
                [6.5, 7.5],
                [19.5, 20.5]
            ]
        );
    }

    #[test]
    fn between_planes_the_ends_reach_half_a_plane() {
        let planes: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(
            reach_of(&[2.25, 4.25], &planes),
            [[1.75, 3.25], [3.25, 4.75]]
        );
        // Drawn more finely than the planes are: half a step.
        assert_eq!(reach_of(&[2.25, 2.75], &planes), [[2.0, 2.5], [2.5, 3.0]]);
    }

    /// Key slices far apart: between them the structure goes on, beyond them it ends with the planes they lie on.
    #[test]
    fn key_slices_end_with_their_planes() {
        let planes: Vec<f64> = (0..30).map(|k| 3.0 * f64::from(k)).collect();
        assert_eq!(reach_of(&[9.0, 45.0], &planes), [[7.5, 27.0], [27.0, 46.5]]);
        assert_eq!(
            reach_of(&[9.0, 21.0, 33.0], &planes),
            [[7.5, 15.0], [15.0, 27.0], [27.0, 34.5]]
        );
        let reached_mm: Vec<[f64; 2]> = reaches(&[0.0, 36.0], None, 3.0)
            .iter()
            .map(|r| r.own_mm)
            .collect();
        assert_eq!(reached_mm, [[-2.5, 18.0], [18.0, 38.5]]);
    }
}
