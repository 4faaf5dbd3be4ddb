//! Matter in a beam outside the body: rays through the open part of its field find it.

use super::beam_job::Ready;
use super::body::SKIN_HU;
use super::caveat::{OUTSIDE_CAVEAT, way_out};
use super::opening::{Window, stops, windows};
use case::{Beam, ControlPoint};
use geometry::{BeamFrame, Grid, Mask, PatientPosition, Volume, walk};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Matter outside the body up to this path length gets no caveat, mm: the rim of skin that a contour cuts
/// off, clothes.
const MOST_MM: f64 = 5.0;

/// Lighter matter in contact with the body, such as a layer of cork or lung at the end of a stack, counts
/// from this CT number on: cushions and blankets of real patients lie below (-1000 to -800 HU).
pub(super) const SOLID_HU: f32 = -800.0;
/// Half the side of the square of solid matter that must fit into a plane, mm: blurred skin and folds of
/// cloth are thinner.
const SOLID_MM: f64 = 3.0;
/// The widest air gap between the body and matter in contact with it, mm: layers do not lie flat.
const GAP_MM: f64 = 6.0;

/// Rays across the open part of a field: rows (of leaf pairs), and rays a row.
const ROWS: usize = 9;
const RAYS: [f64; 7] = [0.02, 0.18, 0.34, 0.5, 0.66, 0.82, 0.98];

/// Most places of an arc that are sampled.
const MOST_POINTS: usize = 24;

/// The rays of a control point: its frame, and where they pass the isocentre plane (device x and y, mm).
type Bundle = (BeamFrame, Vec<[f64; 2]>);

/// The part of a CT outside the body.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub hu: Arc<Volume<f32>>,
    pub body: Arc<Mask>,
    /// Bolus and couch, which are counted outside it.
    pub beside: Vec<Mask>,
}

impl Outside {
    fn holds(&self, [i, j, k]: [usize; 3]) -> bool {
        std::iter::once(&*self.body)
            .chain(&self.beside)
            .any(|mask| mask.coverage_at(i, j, k) >= 0.5)
    }

    /// Whether a voxel, by its place in the data, belongs to the body.
    pub(super) fn is_body(&self, voxel: usize) -> bool {
        let [nx, ny, _] = self.hu.grid().size();
        self.body
            .coverage_at(voxel % nx, voxel / nx % ny, voxel / (nx * ny))
            >= 0.5
    }

    /// The longest path of any ray of the beam outside the body through matter as dense as skin, or solid and
    /// in contact with the body, mm.
    fn most_mm(&self, bundles: &[Bundle]) -> f64 {
        let grid = self.hu.grid();
        let paths_mm = bundles.par_iter().map(|(frame, rays)| {
            let planes = walk::Planes::seen_from(grid, frame.source_mm);
            rays.iter()
                .map(|ray| self.along(&planes, far_end(frame, grid, *ray)))
                .fold(0.0, f64::max)
        });
        paths_mm.reduce(|| 0.0, f64::max)
    }

    fn along(&self, planes: &walk::Planes, to_mm: DVec3) -> f64 {
        let [nx, ny, _] = self.hu.grid().size();
        let hu = self.hu.data();
        let mut all_mm = 0.0;
        // A stretch that nowhere leaves the voxels next to the body is the body's own rim.
        let (mut stretch_mm, mut leaves) = (0.0, false);
        let mut contact = ContactRun::default();
        walk::nested(planes, to_mm, |voxel, mm| {
            let index = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
            let inside = self.holds(index);
            if inside {
                contact.meet_body();
            } else if hu[voxel] > SOLID_HU {
                contact.pass_matter(mm, || self.is_solid(index));
            } else {
                contact.pass_air(mm);
            }
            if hu[voxel] > SKIN_HU && !inside {
                stretch_mm += mm;
                leaves = leaves || !self.is_next_to_body(index);
                return;
            }
            if leaves {
                all_mm += stretch_mm;
            }
            (stretch_mm, leaves) = (0.0, false);
        });
        contact.end();
        let dense_mm = if leaves { all_mm + stretch_mm } else { all_mm };
        contact.all_mm.max(dense_mm)
    }

    /// Whether a voxel is the middle of a square of matter outside the body on its plane.
    fn is_solid(&self, [i, j, k]: [usize; 3]) -> bool {
        let [nx, ny, _] = self.hu.grid().size();
        let [rx, ry] = self
            .hu
            .grid()
            .spacing_xy_mm()
            .map(|d| (SOLID_MM / d).round() as usize);
        let mut rows = j.saturating_sub(ry)..=(j + ry).min(ny - 1);
        rows.all(|j| {
            let mut row = i.saturating_sub(rx)..=(i + rx).min(nx - 1);
            row.all(|i| self.hu.at(i, j, k) > SOLID_HU && !self.holds([i, j, k]))
        })
    }

    fn is_next_to_body(&self, [i, j, k]: [usize; 3]) -> bool {
        let neighbours = [
            [i.wrapping_sub(1), j],
            [i + 1, j],
            [i, j.wrapping_sub(1)],
            [i, j + 1],
        ];
        neighbours.into_iter().any(|[i, j]| self.holds([i, j, k]))
    }
}

/// Solid matter on a ray outside the body that is in contact with the body behind it or in front.
#[derive(Default)]
struct ContactRun {
    /// Path length of the current stretch.
    mm: f64,
    gap_mm: f64,
    solid: bool,
    /// The body lies behind it, with little air between.
    follows_body: bool,
    all_mm: f64,
}

impl ContactRun {
    fn pass_matter(&mut self, mm: f64, is_solid: impl FnOnce() -> bool) {
        self.mm += mm;
        self.gap_mm = 0.0;
        self.solid = self.solid || is_solid();
    }

    fn pass_air(&mut self, mm: f64) {
        self.gap_mm += mm;
        if self.gap_mm > GAP_MM {
            self.end();
        }
    }

    fn meet_body(&mut self) {
        self.follows_body = true;
        self.end();
        self.follows_body = true;
    }

    fn end(&mut self) {
        let counts = self.solid && self.follows_body;
        let all_mm = self.all_mm + if counts { self.mm } else { 0.0 };
        *self = Self {
            all_mm,
            ..Self::default()
        };
    }
}

/// The remark on a beam whose rays pass matter outside the body, which makes [`OUTSIDE_CAVEAT`] one of its dose; `None` where
/// they do not. A treatment couch outside the body is such matter, even behind the patient.
///
/// Some tenths of a millisecond a control point: too much for previews, negligible beside a full dose.
pub(super) fn outside_remark(ready: &Ready, beam: &Beam, sad_mm: f64) -> Option<String> {
    let outside = ready.outside()?;
    let mm = outside.most_mm(&bundles(ready.patient().position, beam, sad_mm));
    (mm > MOST_MM).then(|| {
        format!(
            "{mm:.0} mm of {OUTSIDE_CAVEAT}: {}",
            way_out(OUTSIDE_CAVEAT)
        )
    })
}

/// Whether a beam meets matter as dense as skin in an image.
pub(super) fn meets_matter(
    hu: &Volume<f32>,
    position: PatientPosition,
    beam: &Beam,
    sad_mm: f64,
) -> bool {
    let grid = hu.grid();
    bundles(position, beam, sad_mm).iter().any(|(frame, rays)| {
        let planes = walk::Planes::seen_from(grid, frame.source_mm);
        rays.iter().any(|ray| {
            let mut met = false;
            walk::nested(&planes, far_end(frame, grid, *ray), |voxel, _| {
                met |= hu.data()[voxel] > SKIN_HU
            });
            met
        })
    })
}

/// The end of a ray through a point of the isocentre plane: beyond the grid, in the grid's frame from the
/// source, mm.
fn far_end(frame: &BeamFrame, grid: &Grid, [x, y]: [f64; 2]) -> DVec3 {
    let through = frame.isocentre_mm + frame.axes[0] * x + frame.axes[1] * y - frame.source_mm;
    let corners = grid.corners_mm().into_iter();
    let farthest = corners
        .map(|c| c.distance(frame.source_mm))
        .fold(0.0, f64::max);
    grid.local_direction(through.normalize() * (farthest + 1.0))
}

/// Rays of some stops of a beam through the open part of its field.
fn bundles(position: PatientPosition, beam: &Beam, sad_mm: f64) -> Vec<Bundle> {
    let points = stops(beam);
    let last = points.len().saturating_sub(1);
    let count = points.len().min(MOST_POINTS);
    let picked = (0..count).map(|n| &points[(n * last).div_ceil(count.max(2) - 1)]);
    picked
        .map(|point| {
            (
                beam.frame_at(point, position, sad_mm),
                open_points(beam, point),
            )
        })
        .collect()
}

fn position_between([low, high]: [f64; 2], share: f64) -> f64 {
    low + share * (high - low)
}

/// Points of the isocentre plane that jaws and leaves, or a map, leave open; none where the field is closed.
fn open_points(beam: &Beam, point: &ControlPoint) -> Vec<[f64; 2]> {
    let windows = windows(beam, point);
    let bands: Vec<Window> = match windows[..] {
        [whole] => (0..ROWS)
            .map(|n| whole.band([n, n + 1].map(|edge| edge as f64 / ROWS as f64)))
            .collect(),
        // Some of many leaf pairs, the outermost among them.
        _ => {
            let count = windows.len().min(2 * ROWS);
            (0..count)
                .map(|n| windows[(n * (windows.len() - 1)).div_ceil(count.max(2) - 1)])
                .collect()
        }
    };
    bands
        .iter()
        .flat_map(|band| {
            RAYS.map(|share| {
                band.xy(
                    position_between(band.along_mm, share),
                    position_between(band.across_mm, 0.5),
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;

    /// A block before the isocentre that an arc meets on its way, and neither of its two control points.
    #[test]
    fn an_arc_is_looked_at_between_its_control_points() {
        let planes: Vec<f64> = (0..30).map(|k| f64::from(k) * 10.0 - 145.0).collect();
        let corner = DVec3::splat(-145.0);
        let grid = Grid::new(corner, DVec3::X, DVec3::Y, [10.0, 10.0], [30, 30], &planes).unwrap();
        let block = DVec3::new(0.0, -100.0, 0.0);
        let hu = |n: usize| {
            let centre = grid.centre_mm(n % 30, n / 30 % 30, n / 900);
            if (centre - block).abs().max_element() < 20.0 {
                0.0
            } else {
                -1000.0
            }
        };
        let data = (0..grid.len()).map(hu).collect();
        let hu = Volume::new(Arc::new(grid.clone()), data);
        let mut beam = Beam::fixed(
            "arc",
            1,
            300.0,
            DVec3::ZERO,
            Jaws::symmetric(40.0, 40.0),
            100.0,
        );
        let meets = |beam: &Beam| meets_matter(&hu, PatientPosition::Hfs, beam, 1000.0);
        assert!(!meets(&beam));
        let mut last = ControlPoint {
            meterset_weight: 1.0,
            ..beam.control_points[0].clone()
        };
        last.gantry_deg = 60.0;
        beam.control_points[0].meterset_weight = 0.0;
        beam.control_points.push(last);
        assert!(meets(&beam));
        beam.control_points.remove(0);
        assert!(!meets(&beam));
    }
}
