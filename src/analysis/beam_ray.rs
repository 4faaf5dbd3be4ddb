//! The central ray of a beam through the patient.

use super::beam_job::Ready;
use super::body::SKIN_HU;
use case::Ct;
use geometry::walk;
use glam::DVec3;
use serde::Serialize;

/// Distances along the ray from the source through the isocentre, mm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CentralRay {
    /// Source-surface distance. The surface is the surface of the body in the dose calculation; in an image without one, the
    /// first voxel as dense as skin.
    pub ssd_mm: f64,
    /// From the surface to the isocentre; negative where the isocentre lies in front of it.
    pub depth_mm: f64,
    /// The same as water: the integral of the relative electron density from the surface to the isocentre. 0 in front of
    /// the surface.
    pub water_mm: f64,
}

/// Whether a voxel of the CT belongs to the body; without a body, to matter as dense as skin.
fn is_body(ready: &Ready, ct: &Ct, voxel: usize) -> bool {
    match ready.outside() {
        Some(outside) => outside.is_body(voxel),
        None => ct.hu.data()[voxel] > SKIN_HU,
    }
}

/// The ray of a source through an isocentre (patient LPS, mm). `None` where it meets no surface in the image.
pub fn central_ray(
    ready: &Ready,
    ct: &Ct,
    source_mm: DVec3,
    isocentre_mm: DVec3,
) -> Option<CentralRay> {
    let grid = ct.hu.grid();
    let axis_mm = source_mm.distance(isocentre_mm);
    let way = (isocentre_mm - source_mm).try_normalize()?;
    let corners = grid.corners_mm().into_iter();
    let farthest_mm = corners
        .map(|c| c.distance(source_mm))
        .fold(axis_mm, f64::max)
        + 1.0;
    let electrons = ready.patient().relative_electron_density.data();
    let (mut ssd_mm, mut water_mm) = (None, 0.0);
    let planes = walk::Planes::seen_from(grid, source_mm);
    walk::pieces(
        &planes,
        grid.local_direction(way * farthest_mm),
        |voxel, from, until| {
            let (from, until) = (from * farthest_mm, until * farthest_mm);
            if until > from && ssd_mm.is_none() && is_body(ready, ct, voxel) {
                ssd_mm = Some(from);
            }
            if ssd_mm.is_some() && from < axis_mm {
                water_mm += f64::from(electrons[voxel]) * (until.min(axis_mm) - from);
            }
        },
    );
    ssd_mm.map(|ssd_mm| CentralRay {
        ssd_mm,
        depth_mm: axis_mm - ssd_mm,
        water_mm,
    })
}

#[cfg(test)]
mod tests {
    use super::super::DensityOverrides;
    use super::super::body::{Body, BodyChoice};
    use super::*;
    use case::StructureSet;
    use engine::JobControl;
    use geometry::{BeamFrame, Grid, PatientPosition, Volume};
    use physics::HuTable;
    use std::sync::Arc;

    /// A cylinder of water along z of `radius_mm` round the origin, its voxels 1 mm wide.
    fn cylinder(radius_mm: f64) -> Ct {
        let grid = Grid::axis_aligned(
            DVec3::new(-79.5, -79.5, -20.0),
            DVec3::new(1.0, 1.0, 5.0),
            [160, 160, 9],
        );
        let grid = grid.unwrap();
        let hu = (0..grid.len()).map(|n| {
            let p = grid.centre_mm(n % 160, n / 160 % 160, n / 160 / 160);
            if p.x.hypot(p.y) <= radius_mm {
                0.0
            } else {
                -1000.0
            }
        });
        let hu = hu.collect();
        Ct::unnamed(
            Arc::new(Volume::new(Arc::new(grid), hu)),
            PatientPosition::Hfs,
        )
    }

    #[test]
    fn rays_into_a_cylinder_have_the_depth_of_its_circle() {
        let ct = cylinder(60.0);
        for choice in [BodyChoice::Auto, BodyChoice::Everything] {
            let body =
                Body::new(&ct, &StructureSet::default(), choice, &JobControl::new()).unwrap();
            let ready = Ready::new(
                &ct,
                &HuTable::shipped_default(),
                body,
                DensityOverrides::default(),
            )
            .unwrap();
            for isocentre in [DVec3::ZERO, DVec3::new(20.0, -15.0, 3.0)] {
                for gantry in [0.0, 30.0, 45.0, 117.0, 270.0] {
                    let frame =
                        BeamFrame::new(PatientPosition::Hfs, gantry, 0.0, 0.0, isocentre, 1000.0);
                    let ray = central_ray(&ready, &ct, frame.source_mm, isocentre).unwrap();
                    // From p towards the source u the circle is at t = -p.u + sqrt((p.u)^2 - p^2 + r^2).
                    let (p, u) = (isocentre.truncate(), frame.axes[2].truncate());
                    let want = -p.dot(u) + (p.dot(u).powi(2) - p.length_squared() + 3600.0).sqrt();
                    assert!(
                        (ray.depth_mm - want).abs() < 1.5,
                        "{choice:?} {gantry} {ray:?} {want}"
                    );
                    assert!((ray.ssd_mm + ray.depth_mm - 1000.0).abs() < 1e-9);
                    assert!((ray.water_mm / ray.depth_mm - 1.0).abs() < 0.03, "{ray:?}");
                }
            }
        }
    }

    #[test]
    fn a_ray_beside_the_patient_meets_no_surface_and_an_isocentre_in_air_is_in_front_of_it() {
        let ct = cylinder(30.0);
        let ready = Ready::new(
            &ct,
            &HuTable::shipped_default(),
            Body::default(),
            DensityOverrides::default(),
        )
        .unwrap();
        let off_axis = DVec3::new(60.0, 0.0, 0.0);
        assert_eq!(
            central_ray(&ready, &ct, off_axis + DVec3::NEG_Y * 1000.0, off_axis),
            None
        );
        let above = DVec3::new(0.5, -50.0, 0.0);
        let ray = central_ray(&ready, &ct, above + DVec3::NEG_Y * 1000.0, above).unwrap();
        assert!(
            (ray.depth_mm + 20.0).abs() <= 1.0 && ray.water_mm == 0.0,
            "{ray:?}"
        );
        assert_eq!(central_ray(&ready, &ct, above, above), None, "no direction");
    }
}
