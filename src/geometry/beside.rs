//! Dense matter of a CT outside the body: the couch, and what lies on it.

use super::bits::BitPlane;
use super::body::tallies;
use super::mask::Progress;
use super::outline;
use super::polygons::thinned;
use super::{Mask, Volume, runs};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Smaller parts are noise and wires, cm3.
const SMALLEST_CM3: f64 = 1.0;

/// Corners that move an outline by less are left out, mm: no voxel changes sides by it.
const SIMPLE_MM: f64 = 0.02;

/// Matter of a CT outside the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatterBeside {
    /// Closed, patient LPS, mm, on the volume's planes, half-way between voxels.
    pub contours: Vec<Vec<DVec3>>,
    pub volume_cm3: f64,
}

/// The voxels outside a body that are denser than `threshold`, with what they enclose on each plane: the foam of a couch
/// within its shell. The rim of the body itself, which a contour cuts off, is no part of it, nor are parts of less than
/// 1 cm3. `None` when `progress` stopped it.
pub fn matter_beside(
    hu: &Volume<f32>,
    body: &Mask,
    threshold: f32,
    progress: Progress<'_>,
) -> Option<MatterBeside> {
    let grid = hu.grid();
    let [nx, ny, nz] = grid.size();
    let done = AtomicUsize::new(0);
    let tell = || progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / (2 * nz) as f32);
    let apart: Option<Vec<BitPlane>> = (0..nz)
        .into_par_iter()
        .map(|k| {
            let body = body_on_plane(k, body, [nx, ny]);
            tell().then(|| matter_on_plane(k, &body, hu, threshold).without(&body.grown([1, 1])))
        })
        .collect();
    let mut apart = apart?;
    let parts = runs::parts_of(&apart);
    let small: Vec<bool> = tallies(&parts, grid)
        .iter()
        .map(|t| t.volume_cm3 < SMALLEST_CM3)
        .collect();
    for run in parts.into_iter().filter(|run| small[run.part]) {
        apart[run.plane].fill(run.x, run.row, false);
    }
    let planes: Option<Vec<(usize, Vec<Vec<DVec3>>)>> = apart
        .into_par_iter()
        .enumerate()
        .map(|(k, mut outside_body)| {
            if outside_body.any() {
                // Where it lies against the body it reaches up to it.
                outside_body = matter_on_plane(k, &body_on_plane(k, body, [nx, ny]), hu, threshold)
                    & &outside_body.grown([1, 1]);
            }
            tell().then(|| (outside_body.count(), outlines(hu, k, &outside_body)))
        })
        .collect();
    let mut matter = MatterBeside::default();
    for (k, (voxels, contours)) in planes?.into_iter().enumerate() {
        matter.volume_cm3 += voxels as f64 * grid.voxel_cm3(k);
        matter.contours.extend(contours);
    }
    Some(matter)
}

/// Pixels of a plane that the body covers by half or more.
fn body_on_plane(k: usize, body: &Mask, [nx, ny]: [usize; 2]) -> BitPlane {
    let coverage: Vec<f32> = (0..nx * ny)
        .map(|n| body.coverage_at(n % nx, n / nx, k))
        .collect();
    BitPlane::from_values(&coverage, [nx, ny], |&coverage| coverage >= 0.5)
}

/// Matter of a plane outside the body's pixels, with the air that it encloses.
fn matter_on_plane(k: usize, body: &BitPlane, hu: &Volume<f32>, threshold: f32) -> BitPlane {
    let [nx, ny, _] = hu.grid().size();
    let mut matter =
        BitPlane::from_values(hu.plane(k), [nx, ny], |&hu| hu > threshold).without(body);
    runs::fill_holes(&mut matter);
    matter.without(body)
}

/// Outlines of the voxels of a plane, half-way to their neighbours.
fn outlines(hu: &Volume<f32>, k: usize, inside: &BitPlane) -> Vec<Vec<DVec3>> {
    let grid = hu.grid();
    let (spacing, z) = (grid.spacing_xy_mm(), grid.planes_mm()[k]);
    let lines = outline::trace(inside);
    lines
        .into_iter()
        .map(|line| {
            {
                thinned(
                    &line
                        .iter()
                        .map(|c: &outline::Crossing| {
                            [0, 1].map(|a| 0.5 * (c.inside[a] + c.outside[a]) as f64 * spacing[a])
                        })
                        .collect::<Vec<_>>(),
                    SIMPLE_MM,
                )
            }
            .iter()
            .map(|p: &[f64; 2]| grid.patient_from_local(DVec3::new(p[0], p[1], z)))
            .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;
    use std::f64::consts::PI;
    use std::sync::Arc;

    const BODY_MM: f64 = 40.0;

    /// A cylinder of water of 40 mm along z on a hollow couch, a shell of 3 mm round 24 mm of foam, with a wire beside it; 2 mm
    /// voxels in planes 3 mm apart.
    fn on_a_couch(gap_mm: f64) -> Volume<f32> {
        let origin = DVec3::new(-79.0, -59.0, 0.0);
        let grid =
            Arc::new(Grid::axis_aligned(origin, DVec3::new(2.0, 2.0, 3.0), [80, 80, 6]).unwrap());
        let data = (0..grid.len())
            .map(|n: usize| {
                let p = grid.centre_mm(n % 80, n / 80 % 80, n / 6400);
                let depth = p.y - BODY_MM - gap_mm;
                let couch = p.x.abs() < 60.0 && (0.0..30.0).contains(&depth);
                let foam = p.x.abs() < 57.0 && (3.0..27.0).contains(&depth);
                let wire = (p.x - 71.0).hypot(p.y + 40.0) < 1.5;
                let skin = (p.x.hypot(p.y) - BODY_MM).abs() < 1.5;
                match () {
                    () if p.x.hypot(p.y) < BODY_MM => 0.0,
                    () if foam => -960.0,
                    () if couch || wire => -200.0,
                    () if skin => -500.0,
                    () => -1000.0,
                }
            })
            .collect();
        Volume::new(grid, data)
    }

    fn body(hu: &Volume<f32>) -> Mask {
        let rings: Vec<Vec<DVec3>> = hu
            .grid()
            .planes_mm()
            .iter()
            .map(|z| body_ring(*z))
            .collect();
        let rings: Vec<&[DVec3]> = rings.iter().map(Vec::as_slice).collect();
        Mask::from_contours(hu.grid(), &rings, &|_| true).unwrap()
    }

    fn body_ring(z: f64) -> Vec<DVec3> {
        (0..180)
            .map(|n| {
                DVec3::new(
                    BODY_MM * sin_cos_of_step(n).1,
                    BODY_MM * sin_cos_of_step(n).0,
                    z,
                )
            })
            .collect()
    }

    fn sin_cos_of_step(n: usize) -> (f64, f64) {
        (n as f64 * PI / 90.0).sin_cos()
    }

    /// The couch is 120 mm by 30 mm by 18 mm; wire and skin are none of it, its foam is. Where it touches the skin, the next
    /// voxel of that may belong to it.
    #[test]
    fn a_couch_is_found_with_its_foam_and_without_the_skin() {
        for (gap_mm, skin_cm3) in [(8.0, 1e-6), (0.0, 0.5)] {
            let hu = on_a_couch(gap_mm);
            let body = body(&hu);
            let matter = matter_beside(&hu, &body, -800.0, &|_| true).unwrap();
            assert!(
                (0.0..=skin_cm3).contains(&(matter.volume_cm3 - 64.8 + 1e-9)),
                "{}",
                matter.volume_cm3
            );
            assert_eq!(matter.contours.len(), 6);
            let rings: Vec<&[DVec3]> = matter.contours.iter().map(Vec::as_slice).collect();
            let mask = Mask::from_contours(hu.grid(), &rings, &|_| true).unwrap();
            for n in 0..hu.grid().len() {
                let index @ [i, j, k] = [n % 80, n / 80 % 80, n / 6400];
                let p = hu.grid().centre_mm(i, j, k);
                let depth = p.y - BODY_MM - gap_mm;
                let inside = (0.0..30.0).contains(&depth) && p.x.abs() < 60.0;
                let touches = depth > -2.5 && p.x.hypot(p.y) - BODY_MM < 1.5;
                assert!(
                    (mask.coverage_at(i, j, k) >= 0.5) == inside || touches,
                    "{index:?}"
                );
            }
        }
        let hu = on_a_couch(0.0);
        assert_eq!(matter_beside(&hu, &body(&hu), -800.0, &|_| false), None);
        assert_eq!(
            matter_beside(&hu, &body(&hu), 100.0, &|_| true),
            Some(MatterBeside::default())
        );
    }
}
