//! Edges of a CT beyond which the patient goes on: matter at the outermost voxels, and at the rim of a round field of view.

use super::opening::Opening;
use case::Ct;
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Matter at the edge of an image counts from this mass density on, g/cm3: thicker than cushions, and lung has more (0.26).
const MATTER_G_CM3: f32 = 0.2;
/// Half the side of the square of matter that reaches the edge, mm: skin that grazes it and shells of a couch are thinner.
const SOLID_MM: f64 = 3.0;
/// Distance between the places at the edge that are looked at, mm.
const STEP_MM: f64 = 4.0;

/// Arc of the rim of a round field of view along which matter that it cuts off reaches it at least, mm: corners of a phantom that touch the
/// circle do so along less.
const LEAST_ARC_MM: f64 = 30.0;

/// As far as this beyond the edge a field passes without being cut off, mm: its penumbra, and the last bit of its exit.
const PAST_MM: f64 = 5.0;

/// Missing tissue up to this distance beside a field takes scatter from it, mm. In water under 150 x 150 mm of 6 MV, 15 mm inside the
/// field's edge and 150 mm deep, an end of the CT 2, 20 and 40 mm beside the field takes off 0.6, 0.2 and 0.1 %: beyond, nothing that
/// anybody would act on. (Phantoms for reference dosimetry reach 50 mm: IAEA TRS-398 (2000), section 4.2.3.)
pub(super) const SCATTER_MM: f64 = 40.0;

/// Sides of the patient along x, y and z (LPS), towards lower and higher coordinates.
const SIDES: [[&str; 2]; 3] = [
    ["right", "left"],
    ["anterior", "posterior"],
    ["inferior", "superior"],
];

/// A place at the edge of a CT that shows matter there.
#[derive(Clone, Copy, Debug)]
struct EdgePlace {
    /// On the outer face of the voxel, patient LPS.
    place_mm: DVec3,
    /// Unit vector out of the image.
    outward: DVec3,
}

impl EdgePlace {
    /// The patient's side, as an index of [`SIDES`].
    fn side(&self) -> [usize; 2] {
        let along = self.outward.abs();
        let axis = if along.z >= along.x.max(along.y) {
            2
        } else {
            usize::from(along.y > along.x)
        };
        [axis, usize::from(self.outward[axis] > 0.0)]
    }
}

/// The places where a patient touches the edge of a CT.
#[derive(Clone, Debug, Default)]
pub(super) struct CtEdge {
    places: Vec<EdgePlace>,
}

/// Sides of the edge that a beam meets: those in its field, and those within the reach of its scatter, each with its distance, mm.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EdgeOfBeam {
    pub in_field: Vec<&'static str>,
    pub beside: Vec<(&'static str, f64)>,
}

impl CtEdge {
    /// The edge of a CT whose voxels have these densities; `devices` are bolus and couch, which end where they end.
    pub(super) fn new(ct: &Ct, density: &Volume<f32>, devices: &[Mask]) -> Self {
        let image = Image {
            density,
            beside: devices,
        };
        let mut places = image.outer_planes();
        places.extend(image.sides());
        places.extend(image.rim(&ct.hu));
        Self { places }
    }

    /// Sides of the edge that a beam meets at its stops.
    pub(super) fn met_by(&self, openings: &[Opening]) -> EdgeOfBeam {
        if self.places.is_empty() {
            return EdgeOfBeam::default();
        }
        // By axis and end: the least distance beside the field, below 0 in it.
        let nearest_mm = openings.par_iter().map(|opening| {
            let mut nearest_mm = [[f64::INFINITY; 2]; 3];
            for place in &self.places {
                let [axis, end] = place.side();
                let distance_mm = &mut nearest_mm[axis][end];
                if *distance_mm < 0.0 {
                    continue;
                }
                if opening
                    .beside_mm(place.place_mm + PAST_MM * place.outward, 0.0)
                    .is_some()
                {
                    *distance_mm = -1.0;
                } else if let Some(mm) = opening.beside_mm(place.place_mm, SCATTER_MM) {
                    *distance_mm = distance_mm.min(mm);
                }
            }
            nearest_mm
        });
        let nearest_mm = nearest_mm.reduce(
            || [[f64::INFINITY; 2]; 3],
            |a, b| {
                std::array::from_fn(|axis| {
                    std::array::from_fn(|end| f64::min(a[axis][end], b[axis][end]))
                })
            },
        );
        let mut met = EdgeOfBeam::default();
        for (names, nearest_mm) in SIDES.iter().zip(nearest_mm) {
            for (name, mm) in names.iter().zip(nearest_mm) {
                if mm < 0.0 {
                    met.in_field.push(*name);
                } else if mm <= SCATTER_MM {
                    met.beside.push((*name, mm));
                }
            }
        }
        met
    }
}

/// The voxels of a CT as a dose counts them.
struct Image<'a> {
    density: &'a Volume<f32>,
    beside: &'a [Mask],
}

impl Image<'_> {
    fn grid(&self) -> &Grid {
        self.density.grid()
    }

    fn is_matter(&self, [i, j, k]: [usize; 3]) -> bool {
        self.density.at(i, j, k) >= MATTER_G_CM3
            && !self
                .beside
                .iter()
                .any(|mask| mask.coverage_at(i, j, k) > 0.0)
    }

    /// Voxels of half the square of matter, and from one place that is looked at to the next, along x and y.
    fn steps(&self) -> [[usize; 2]; 2] {
        let spacing_mm = self.grid().spacing_xy_mm();
        let [solid, step] =
            [SOLID_MM, STEP_MM].map(|mm| spacing_mm.map(|spacing| (mm / spacing).round() as usize));
        [solid, step.map(|n| n.max(1))]
    }

    /// Whether a voxel is the middle of a square of matter on its plane, as far as the image shows it.
    fn is_solid(&self, [i, j, k]: [usize; 3]) -> bool {
        let ([nx, ny, _], [[rx, ry], _]) = (self.grid().size(), self.steps());
        let mut rows = j.saturating_sub(ry)..=(j + ry).min(ny - 1);
        rows.all(|j| {
            (i.saturating_sub(rx)..=(i + rx).min(nx - 1)).all(|i| self.is_matter([i, j, k]))
        })
    }

    /// A place on the face of a voxel, out of which `outward` of the grid's axes points.
    fn place(&self, voxel: [usize; 3], axis: usize, is_high: bool) -> EdgePlace {
        let [i, j, k] = voxel;
        let sign = if is_high { 1.0 } else { -1.0 };
        let spacing_mm = self.grid().spacing_xy_mm();
        let half_mm = 0.5
            * if axis == 2 {
                self.grid().plane_thickness_mm(k)
            } else {
                spacing_mm[axis]
            };
        let outward = sign * self.grid().axes()[axis];
        EdgePlace {
            place_mm: self.grid().centre_mm(i, j, k) + half_mm * outward,
            outward,
        }
    }

    /// Places on the first and the last plane.
    fn outer_planes(&self) -> Vec<EdgePlace> {
        let ([nx, ny, nz], [_, [step_x, step_y]]) = (self.grid().size(), self.steps());
        let mut places = Vec::new();
        for (k, is_high) in [(0, false), (nz - 1, true)] {
            let voxels = (0..ny)
                .step_by(step_y)
                .flat_map(|j| (0..nx).step_by(step_x).map(move |i| [i, j, k]));
            places.extend(
                voxels
                    .filter(|voxel| self.is_solid(*voxel))
                    .map(|voxel| self.place(voxel, 2, is_high)),
            );
        }
        places
    }

    /// Places on the first and last columns and rows of the planes.
    fn sides(&self) -> Vec<EdgePlace> {
        let ([nx, ny, nz], [inwards, steps]) = (self.grid().size(), self.steps());
        let size = [nx, ny];
        let mut places = Vec::new();
        for axis in [0, 1] {
            let along = 1 - axis;
            for is_high in [false, true] {
                let edge = if is_high { size[axis] - 1 } else { 0 };
                let inner = if is_high {
                    edge.saturating_sub(inwards[axis])
                } else {
                    inwards[axis].min(edge)
                };
                let voxel_at = |across: usize, n: usize, k: usize| {
                    if axis == 0 {
                        [across, n, k]
                    } else {
                        [n, across, k]
                    }
                };
                for k in 0..nz {
                    let sampled = (0..size[along]).step_by(steps[along]);
                    let touching = sampled.filter(|n| {
                        self.is_solid(voxel_at(inner, *n, k))
                            && self.is_matter(voxel_at(edge, *n, k))
                    });
                    places
                        .extend(touching.map(|n| self.place(voxel_at(edge, n, k), axis, is_high)));
                }
            }
        }
        places
    }

    /// Places at the rim of a round field of view: images of many scanners are square, and filled with one number outside the circle that
    /// fits in.
    fn rim(&self, hu: &Volume<f32>) -> Vec<EdgePlace> {
        let grid = self.grid();
        let ([nx, ny, nz], spacing_mm) = (grid.size(), grid.spacing_xy_mm());
        let [width_mm, height_mm] = [nx as f64 * spacing_mm[0], ny as f64 * spacing_mm[1]];
        let radius_mm = 0.5 * width_mm;
        if (width_mm - height_mm).abs() > spacing_mm[0]
            || nx < 8
            || !is_filled_outside(hu, radius_mm)
        {
            return Vec::new();
        }
        let middle = 0.5 * DVec3::new((nx - 1) as f64, (ny - 1) as f64, 0.0);
        // The square of matter fits in before the rim, whose own voxels are cut by the circle.
        let inner_mm = radius_mm - 1.5 * SOLID_MM - 2.0 * spacing_mm[0];
        // The last voxels that the circle leaves whole: matter that ends before them is not cut off by it.
        let outer_mm = radius_mm - 1.25 * spacing_mm[0];
        let count = (TAU * radius_mm / STEP_MM).round().max(1.0) as usize;
        let directions: Vec<(f64, f64)> = (0..count)
            .map(|n| (TAU * n as f64 / count as f64).sin_cos())
            .collect();
        let voxel_at = |(sin, cos): (f64, f64), r_mm: f64, k: usize| {
            let place = middle + r_mm * DVec3::new(cos / spacing_mm[0], sin / spacing_mm[1], 0.0);
            let [i, j] = [
                place.x.round().max(0.0) as usize,
                place.y.round().max(0.0) as usize,
            ];
            (i < nx && j < ny).then_some([i, j, k])
        };
        let mut places = Vec::new();
        for k in 0..nz {
            let reaching = directions.iter().map(|direction| {
                voxel_at(*direction, inner_mm, k).is_some_and(|voxel| self.is_solid(voxel))
                    && voxel_at(*direction, outer_mm, k).is_some_and(|voxel| self.is_matter(voxel))
            });
            let reaching: Vec<bool> = reaching.collect();
            let centre_mm = grid.patient_from_voxel(middle + DVec3::new(0.0, 0.0, k as f64));
            for n in in_long_runs(&reaching, (LEAST_ARC_MM / STEP_MM) as usize) {
                let (sin, cos) = directions[n];
                let outward = grid.axes()[0] * cos + grid.axes()[1] * sin;
                places.push(EdgePlace {
                    place_mm: centre_mm + radius_mm * outward,
                    outward,
                });
            }
        }
        places
    }
}

/// Places on a circle that hold, in runs of at least `min_run`.
fn in_long_runs(holds: &[bool], min_run: usize) -> Vec<usize> {
    let count = holds.len();
    if holds.iter().all(|holds| *holds) {
        return (0..count).collect();
    }
    let starts = (0..count).filter(|n| holds[*n] && !holds[(n + count - 1) % count]);
    let runs = starts
        .map(|start| {
            (
                start,
                (0..count)
                    .take_while(|step| holds[(start + step) % count])
                    .count(),
            )
        })
        .filter(|(_, run)| *run >= min_run);
    runs.flat_map(|(start, run)| (0..run).map(move |step| (start + step) % count))
        .collect()
}

/// Whether all voxels outside the circle of this radius about the middle of the planes have one value.
fn is_filled_outside(hu: &Volume<f32>, radius_mm: f64) -> bool {
    let ([nx, ny, nz], spacing_mm) = (hu.grid().size(), hu.grid().spacing_xy_mm());
    let filling = hu.at(0, 0, 0);
    let mut outside: Vec<(usize, usize)> =
        (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j))).collect();
    outside.retain(|&(i, j)| {
        let x_mm = (i as f64 - 0.5 * (nx - 1) as f64) * spacing_mm[0];
        let y_mm = (j as f64 - 0.5 * (ny - 1) as f64) * spacing_mm[1];
        x_mm.hypot(y_mm) > radius_mm + 1.5 * spacing_mm[0]
    });
    (0..nz)
        .into_par_iter()
        .all(|k| outside.iter().all(|(i, j)| hu.at(*i, *j, k) == filling))
}

#[cfg(test)]
mod tests {
    use super::super::opening::openings;
    use super::*;
    use case::{Beam, Jaws};
    use geometry::PatientPosition;
    use physics::{HuTable, Patient};
    use std::sync::Arc;

    /// 256 x 256 x 120 mm about the origin, by HU.
    fn edge_of(hu: impl Fn(DVec3) -> f32) -> CtEdge {
        let spacing_mm = DVec3::new(4.0, 4.0, 3.0);
        let grid = Grid::axis_aligned(DVec3::new(-126.0, -126.0, -58.5), spacing_mm, [64, 64, 40])
            .unwrap();
        let data = (0..grid.len()).map(|n| hu(grid.centre_of_mm(n))).collect();
        let ct = Ct::unnamed(
            Arc::new(Volume::new(Arc::new(grid), data)),
            PatientPosition::Hfs,
        );
        let patient = Patient::new(&ct, &HuTable::shipped_default(), None).unwrap();
        CtEdge::new(&ct, &patient.mass_density_g_cm3, &[])
    }

    fn met(edge: &CtEdge, gantry_deg: f64, [x, z]: [f64; 2]) -> EdgeOfBeam {
        let jaws = Jaws {
            x: [-x, x],
            y: [-z, z],
        };
        let beam = Beam::fixed("B", 1, gantry_deg, DVec3::ZERO, jaws, 100.0);
        edge.met_by(&openings(PatientPosition::Hfs, &beam, 1000.0))
    }

    /// Water of 200 mm along x and y on all planes, which end at z = -60 and 60 mm.
    #[test]
    fn fields_are_cut_by_the_last_planes_or_lie_beside_them() {
        let edge = edge_of(|p| {
            if p.x.abs() < 100.0 && p.y.abs() < 100.0 {
                0.0
            } else {
                -1000.0
            }
        });
        let far = met(&edge, 0.0, [20.0, 8.0]);
        assert_eq!(
            far,
            EdgeOfBeam::default(),
            "60 - 1.1 x 8 mm are more than 40"
        );
        let near = met(&edge, 0.0, [20.0, 20.0]);
        assert!(near.in_field.is_empty());
        assert_eq!(
            near.beside
                .iter()
                .map(|(side, _)| *side)
                .collect::<Vec<_>>(),
            ["inferior", "superior"]
        );
        // The lowest voxel that is the middle of a square has its centre at y = 94 mm.
        assert!(
            near.beside
                .iter()
                .all(|(_, mm)| (mm - (60.0 - 20.0 * 1.094)).abs() < 0.1),
            "{near:?}"
        );
        let exit = met(&edge, 0.0, [20.0, 58.0]);
        assert!(
            exit.in_field.is_empty() && exit.beside.iter().all(|(_, mm)| *mm == 0.0),
            "{exit:?}"
        );
        assert_eq!(
            met(&edge, 0.0, [20.0, 70.0]).in_field,
            ["inferior", "superior"]
        );
    }

    #[test]
    fn sides_and_entrance_are_found_and_sheets_and_air_are_not() {
        let wide = edge_of(|p| {
            if p.y.abs() < 50.0 && p.z.abs() < 40.0 {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&wide, 90.0, [20.0, 20.0]).in_field, ["right", "left"]);
        assert_eq!(met(&wide, 0.0, [20.0, 20.0]), EdgeOfBeam::default());
        let high = edge_of(|p| {
            if p.y < 20.0 && p.x.abs() < 50.0 && p.z.abs() < 40.0 {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&high, 0.0, [20.0, 20.0]).in_field, ["anterior"]);
        let sheet = edge_of(|p| {
            if (48.0..52.0).contains(&p.y) {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&sheet, 90.0, [100.0, 20.0]), EdgeOfBeam::default());
    }

    /// Shoulders in a round field of view of 256 mm.
    #[test]
    fn the_rim_of_a_round_field_of_view_is_an_edge() {
        let round = edge_of(|p| {
            if p.x.hypot(p.y) >= 127.0 {
                -1024.0
            } else if p.y.abs() < 50.0 && p.z.abs() < 40.0 {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&round, 90.0, [20.0, 20.0]).in_field, ["right", "left"]);
        assert_eq!(met(&round, 0.0, [20.0, 20.0]), EdgeOfBeam::default());
        // The corners of a box touch the circle, and nothing of it is cut off.
        let corners = edge_of(|p| {
            if p.x.abs().max(p.y.abs()) < 90.0 && p.z.abs() < 40.0 {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&corners, 45.0, [20.0, 20.0]), EdgeOfBeam::default());
        let cylinder = edge_of(|p| {
            if p.x.hypot(p.y) < 100.0 && p.z.abs() < 40.0 {
                0.0
            } else {
                -1000.0
            }
        });
        assert_eq!(met(&cylinder, 90.0, [20.0, 20.0]), EdgeOfBeam::default());
    }
}
