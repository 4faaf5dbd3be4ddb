//! A structure as seen from a source: its contours' slabs projected onto the isocentre plane.

use super::mask::{FLAT_MM, newell, off_plane};
use super::slabs::{self, Slab};
use super::{BeamFrame, Grid, MaskError};
use glam::DVec3;

/// Thickness of a structure of one contour plane where no grid says it, mm.
const LONE_THICKNESS_MM: f64 = 3.0;

/// The edges of the slabs that a structure's contours stand for, patient LPS, mm.
///
/// Slabs are the same as of the [`Mask`](super::Mask). The sides of a slab are flat, and a flat face seen from a point is the face of its
/// projected edges: the edges alone bound the silhouette.
#[derive(Clone, Debug)]
pub struct Hull {
    edges: Vec<[DVec3; 2]>,
    /// Points of each polygon, slab by slab, in the order of the edges: each point has three.
    points: Vec<Vec<usize>>,
}

/// Distances by which a silhouette grows: towards negative and positive, along x and y of the device, mm at the isocentre
/// plane. Between the directions it grows along quarters of ellipses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    pub x_mm: [f64; 2],
    pub y_mm: [f64; 2],
}

/// Outline of a structure on the isocentre plane, in the beam limiting device's frame, mm.
#[derive(Clone, Debug)]
pub struct Silhouette {
    edges: Vec<[[f64; 2]; 2]>,
    /// Whether a part of the structure lies at the source or behind it, where there is no projection.
    pub is_cut: bool,
}

impl Hull {
    /// The hull of closed planar contours (patient LPS, mm), with the slabs that they have on `grid`. Contours of fewer
    /// than three points are passed over.
    ///
    /// # Errors
    /// [`MaskError`]: no contours, points that are no numbers, contours that are not parallel.
    pub fn new(contours: &[&[DVec3]], grid: Option<&Grid>) -> Result<Self, MaskError> {
        if let Some(n) = contours
            .iter()
            .position(|c| c.iter().any(|p| !p.is_finite()))
        {
            return Err(MaskError::NotFinite(n));
        }
        let drawn = contours.iter().enumerate().filter(|(_, c)| c.len() >= 3);
        let drawn: Vec<(usize, Vec<DVec3>)> = drawn
            .map(|(n, c)| {
                (
                    n,
                    c.iter()
                        .map(|p: &DVec3| grid.map_or(*p, |grid| grid.local_from_patient(*p)))
                        .collect(),
                )
            })
            .collect();

        let largest = drawn
            .iter()
            .max_by(|a, b| newell(&a.1).length().total_cmp(&newell(&b.1).length()));
        let (_, largest) = largest.ok_or(MaskError::NoContours)?;
        let level = drawn.iter().all(|(_, c)| off_plane(c, DVec3::Z) < FLAT_MM);
        let normal = if level {
            DVec3::Z
        } else {
            newell(largest).normalize_or(DVec3::Z)
        };
        if let Some((n, _)) = drawn.iter().find(|(_, c)| off_plane(c, normal) >= FLAT_MM) {
            return Err(MaskError::NotParallel(*n));
        }
        let across = if level {
            DVec3::X
        } else {
            normal.any_orthonormal_vector()
        };
        let axes = [across, normal.cross(across), normal];
        let turned: Vec<Vec<DVec3>> = drawn
            .iter()
            .map(|(_, c)| {
                c.iter()
                    .map(|p| DVec3::from(axes.map(|a| a.dot(*p))))
                    .collect()
            })
            .collect();
        let slabs = match grid {
            Some(grid) if level => slabs::level(&turned, grid),
            Some(grid) => slabs::free(&turned, grid.spacing_xy_mm()[0]),
            None => slabs::free(&turned, LONE_THICKNESS_MM),
        };
        let patient = |p: [f64; 2], z: f64| {
            let local = axes[0] * p[0] + axes[1] * p[1] + axes[2] * z;
            grid.map_or(local, |grid| grid.patient_from_local(local))
        };
        let mut edges = Vec::new();
        let points = slabs
            .iter()
            .map(|slab| slab.polygons.iter().map(Vec::len).collect())
            .collect();
        for Slab {
            reach_mm: [low, high],
            polygons,
        } in &slabs
        {
            for polygon in polygons {
                let mut previous = polygon[polygon.len() - 1];
                for &point in polygon {
                    for z in [*low, *high] {
                        edges.push([patient(previous, z), patient(point, z)]);
                    }
                    edges.push([patient(point, *low), patient(point, *high)]);
                    previous = point;
                }
            }
        }
        Ok(Self { edges, points })
    }

    /// The sides of each slab, polygon by polygon: the lower and the upper edge of each, which run alike.
    pub(super) fn prisms(&self) -> Vec<Vec<Vec<[[DVec3; 2]; 2]>>> {
        let mut edges = self
            .edges
            .chunks_exact(3)
            .map(|of_point| [of_point[0], of_point[1]]);
        self.points
            .iter()
            .map(|slab| {
                slab.iter()
                    .map(|count: &usize| edges.by_ref().take(*count).collect())
                    .collect()
            })
            .collect()
    }

    /// The silhouette from a beam's source.
    pub fn seen(&self, frame: &BeamFrame) -> Silhouette {
        let edges: Vec<[[f64; 2]; 2]> = self
            .edges
            .iter()
            .filter_map(|[a, b]| {
                Some([
                    on_isocentre_plane(*a, frame)?,
                    on_isocentre_plane(*b, frame)?,
                ])
            })
            .collect();
        Silhouette {
            is_cut: edges.len() < self.edges.len(),
            edges,
        }
    }
}

fn on_isocentre_plane(p: DVec3, frame: &BeamFrame) -> Option<[f64; 2]> {
    frame.project(p).map(|(on_plane_mm, _)| on_plane_mm)
}

impl Margin {
    pub fn uniform(mm: f64) -> Self {
        Self {
            x_mm: [mm; 2],
            y_mm: [mm; 2],
        }
    }

    /// Along x (0) or y (1).
    fn along(&self, axis: usize) -> [f64; 2] {
        if axis == 0 { self.x_mm } else { self.y_mm }
    }
}

impl Silhouette {
    /// The extent of the grown silhouette along x and y; `None` if nothing is seen.
    pub fn extent_mm(&self, margin: &Margin) -> Option<[[f64; 2]; 2]> {
        let corners = self.edges.iter().flatten();
        let (low, high) = corners.fold(
            ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]),
            |(low, high), p| {
                (
                    [0, 1].map(|a| p[a].min(low[a])),
                    [0, 1].map(|a| p[a].max(high[a])),
                )
            },
        );
        (low[0] <= high[0])
            .then(|| [0, 1].map(|a| [low[a] - margin.along(a)[0], high[a] + margin.along(a)[1]]))
    }

    /// The outermost points along `travel` (0: x, 1: y) of the grown silhouette in strips across it, `None` for strips that it does
    /// not meet. Strips ascend; one of no width is a line.
    pub fn spans_mm(
        &self,
        travel: usize,
        strips: &[[f64; 2]],
        margin: &Margin,
    ) -> Vec<Option<[f64; 2]>> {
        let mut spans: Vec<Option<[f64; 2]>> = vec![None; strips.len()];
        let across = 1 - travel;
        let [down, up] = margin.along(across);
        let grow = margin.along(travel);
        for ends in &self.edges {
            // Ascending across the strips.
            let [a, b] = if ends[0][across] <= ends[1][across] {
                *ends
            } else {
                [ends[1], ends[0]]
            };
            let edge = Edge {
                from: [a[across], a[travel]],
                to: [b[across], b[travel]],
            };
            let first = strips.partition_point(|s| s[1] < edge.from[0] - down);
            for (strip, span) in strips.iter().zip(&mut spans).skip(first) {
                if strip[0] > edge.to[0] + up {
                    break;
                }
                for (n, sign) in [(0, -1.0), (1, 1.0)] {
                    if let Some(reach) = edge.reach(*strip, sign, grow[n], [down, up]) {
                        let held = &mut span.get_or_insert([f64::INFINITY, f64::NEG_INFINITY])[n];
                        *held = if sign < 0.0 {
                            held.min(reach)
                        } else {
                            held.max(reach)
                        };
                    }
                }
            }
        }
        spans
    }
}

/// An edge of a silhouette as (across, along travel), ascending across.
#[derive(Clone, Copy)]
struct Edge {
    from: [f64; 2],
    to: [f64; 2],
}

impl Edge {
    /// Position along travel at a position across; the edge's end beyond it.
    fn at(&self, across: f64) -> f64 {
        let length = self.to[0] - self.from[0];
        let share = if length > 0.0 {
            ((across - self.from[0]) / length).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.from[1] + share * (self.to[1] - self.from[1])
    }

    /// The farthest point of the grown edge inside a strip, in the direction `sign` of travel.
    fn reach(&self, strip: [f64; 2], sign: f64, grow_mm: f64, [down, up]: [f64; 2]) -> Option<f64> {
        let mut farthest: Option<f64> = None;
        let mut put = |value: f64| farthest = Some(farthest.map_or(value, |f| f.max(value)));
        // Inside the strip: the ends of the part there.
        let (low, high) = (self.from[0].max(strip[0]), self.to[0].min(strip[1]));
        if low <= high {
            let ends = if self.from[0] == self.to[0] {
                [self.from[1], self.to[1]]
            } else {
                [self.at(low), self.at(high)]
            };
            ends.into_iter().for_each(|x| put(sign * x + grow_mm));
        }
        // Above the strip it grows down into it, below the strip up.
        for (side, way, margin) in [(strip[1], 1.0, down), (strip[0], -1.0, up)] {
            let ends = [self.from, self.to].map(|p| (way * (p[0] - side), sign * p[1]));
            let [(d0, x0), (d1, x1)] = if ends[0].0 <= ends[1].0 {
                ends
            } else {
                [ends[1], ends[0]]
            };
            if margin > 0.0 && d1 > 0.0 && d0 < margin {
                let slope = if d1 > d0 { (x1 - x0) / (d1 - d0) } else { 0.0 };
                let (near, far) = (d0.max(0.0), d1.min(margin));
                // Where the ellipse's tangent is the edge: d/dd (slope d + g sqrt(1 - (d/m)^2)) = 0.
                let touching = slope * margin * margin
                    / (slope * margin).hypot(grow_mm).max(f64::MIN_POSITIVE);
                [near, far, touching.clamp(near, far)]
                    .into_iter()
                    .for_each(|d| {
                        put({
                            let x = if d1 > d0 {
                                x0 + slope * (d - d0)
                            } else {
                                x0.max(x1)
                            };
                            x + grow_mm * (1.0 - (d / margin).powi(2)).max(0.0).sqrt()
                        })
                    });
            }
        }
        farthest.map(|value| sign * value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PatientPosition, box_contours, sphere_contours};

    fn grid() -> Grid {
        Grid::axis_aligned(DVec3::splat(-60.0), DVec3::ONE, [120; 3]).expect("a grid")
    }

    fn hull(contours: &[Vec<DVec3>]) -> Hull {
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        Hull::new(&contours, Some(&grid())).expect("a hull")
    }

    fn frame(gantry: f64, collimator: f64, couch: f64) -> BeamFrame {
        BeamFrame::new(
            PatientPosition::Hfs,
            gantry,
            collimator,
            couch,
            DVec3::ZERO,
            1000.0,
        )
    }

    /// From the source at distance S a sphere of radius r is a cone of half angle asin(r/S): S tan of it on the plane of
    /// its centre, whatever the angles. Slabs of 1 mm end up to half a plane inside or outside of the sphere.
    #[test]
    fn a_sphere_at_the_isocentre_is_a_circle_of_its_tangent_cone() {
        let hull = hull(&sphere_contours(&grid(), DVec3::ZERO, 25.0));
        let radius = 25.0 * 1000.0 / (1000.0_f64.powi(2) - 25.0 * 25.0).sqrt();
        for (gantry, collimator, couch) in
            [(0.0, 0.0, 0.0), (90.0, 30.0, 0.0), (215.0, 12.0, 300.0)]
        {
            let seen = hull.seen(&frame(gantry, collimator, couch));
            let [x, y] = seen.extent_mm(&Margin::uniform(0.0)).expect("an extent");
            for (got, want) in [
                (x[0], -radius),
                (x[1], radius),
                (y[0], -radius),
                (y[1], radius),
            ] {
                let out = (got - want) * want.signum();
                assert!(
                    (-0.6..0.6).contains(&out),
                    "gantry {gantry}: {got}, not {want}"
                );
            }
            // A chord of the grown circle.
            let lines: Vec<[f64; 2]> = [-20.0, 0.0, 11.0].map(|c| [c, c]).to_vec();
            for (line, span) in lines
                .iter()
                .zip(seen.spans_mm(0, &lines, &Margin::uniform(7.0)))
            {
                let want = ((radius + 7.0).powi(2) - line[0] * line[0]).sqrt();
                let [left, right] = span.expect("a chord");
                assert!(
                    (-0.7..0.7).contains(&(right - want)),
                    "{line:?}: {right}, not {want}"
                );
                assert!(
                    (-0.7..0.7).contains(&(-left - want)),
                    "{line:?}: {left}, not {want}"
                );
            }
        }
    }

    /// The near face of a box is magnified by SAD / (SAD - z).
    #[test]
    fn a_box_shows_its_near_face() {
        let hull = hull(&box_contours(
            &grid(),
            DVec3::ZERO,
            DVec3::new(20.0, 40.0, 30.0),
        ));
        let seen = hull.seen(&frame(0.0, 0.0, 0.0));
        let scale = 1000.0 / (1000.0 - 20.0);
        let margin = Margin {
            x_mm: [1.0, 2.0],
            y_mm: [3.0, 4.0],
        };
        let [x, y] = seen.extent_mm(&margin).expect("an extent");
        // Planes from -15 to 15 each stand for a mm.
        for (got, want) in x.into_iter().chain(y).zip([
            -10.0 * scale - 1.0,
            10.0 * scale + 2.0,
            -15.5 * scale - 3.0,
            15.5 * scale + 4.0,
        ]) {
            assert!((got - want).abs() < 1e-9, "{got}, not {want}");
        }
    }

    /// The grown silhouette by brute force: every point of every edge, with its ellipse, in every strip.
    #[test]
    fn spans_are_those_of_every_point_with_its_ellipse() {
        let contours: Vec<Vec<DVec3>> = (0..6)
            .map(|k| {
                let n = 24;
                (0..n)
                    .map(|i: i32| {
                        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
                        let r = 20.0 + 8.0 * (3.0 * angle + f64::from(k)).sin();
                        DVec3::new(5.0 + r * angle.cos(), r * angle.sin(), 3.0 * f64::from(k))
                    })
                    .collect()
            })
            .collect();
        let seen = hull(&contours).seen(&frame(70.0, 25.0, 15.0));
        let margin = Margin {
            x_mm: [5.0, 3.0],
            y_mm: [4.0, 8.0],
        };
        let strips: Vec<[f64; 2]> = (-10..10)
            .map(|n| [5.0 * f64::from(n), 5.0 * f64::from(n) + 5.0])
            .collect();
        for travel in [0, 1] {
            let (across, got) = (1 - travel, seen.spans_mm(travel, &strips, &margin));
            let mut want = vec![[f64::INFINITY, f64::NEG_INFINITY]; strips.len()];
            for [a, b] in &seen.edges {
                for n in 0..=400 {
                    let t = f64::from(n) / 400.0;
                    let p = [0, 1].map(|k| a[k] + t * (b[k] - a[k]));
                    for (strip, want) in strips.iter().zip(&mut want) {
                        let (d, m) = if p[across] > strip[1] {
                            (p[across] - strip[1], margin.along(across)[0])
                        } else {
                            ((strip[0] - p[across]).max(0.0), margin.along(across)[1])
                        };
                        if d < m {
                            let share = (1.0 - (d / m).powi(2)).sqrt();
                            want[0] = want[0].min(p[travel] - margin.along(travel)[0] * share);
                            want[1] = want[1].max(p[travel] + margin.along(travel)[1] * share);
                        }
                    }
                }
            }
            assert!(want.iter().any(|w| w[0].is_finite()));
            for (got, want) in got.iter().zip(&want) {
                let got = got.unwrap_or([f64::INFINITY, f64::NEG_INFINITY]);
                // Exact reaches are outside of sampled ones, by little.
                for (out, n) in [(want[0] - got[0], 0), (got[1] - want[1], 1)] {
                    let same =
                        want[n].is_infinite() && (got[n].is_infinite() || got[1] - got[0] < 2.5);
                    assert!(
                        same || (-1e-9..0.05).contains(&out),
                        "{got:?}, not {want:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_makes_no_hull_says_why() {
        assert_eq!(Hull::new(&[], None).unwrap_err(), MaskError::NoContours);
        let bad = [DVec3::ZERO, DVec3::X, DVec3::NAN];
        assert_eq!(
            Hull::new(&[&bad], None).unwrap_err(),
            MaskError::NotFinite(0)
        );
        let behind = hull(&sphere_contours(&grid(), DVec3::ZERO, 25.0));
        let near = BeamFrame::new(
            PatientPosition::Hfs,
            0.0,
            0.0,
            0.0,
            DVec3::new(0.0, 1000.0, 0.0),
            1000.0,
        );
        assert!(behind.seen(&near).is_cut);
    }
}
