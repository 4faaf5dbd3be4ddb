//! The patient for dose: densities and materials of a CT.

use super::{Given, HuTable, Material, given::Mixture};
use case::Ct;
use geometry::{Mask, PatientPosition, Volume};
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Densities and material classes on the grid of a CT.
#[derive(Clone, Debug)]
pub struct Patient {
    pub mass_density_g_cm3: Arc<Volume<f32>>,
    /// Electrons per volume, water = 1.
    pub relative_electron_density: Arc<Volume<f32>>,
    /// [`Material`] `as u8`.
    pub material: Arc<Volume<u8>>,
    pub position: PatientPosition,
    /// Whether a treatment couch counts among its voxels: then the couch factor of a machine file does not, which would count it twice.
    pub has_couch: bool,
}

/// The body contour belongs to another image.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the body mask has {mask:?} voxels and the CT {ct:?}: make the mask on the CT's own grid")]
pub struct BodyMismatch {
    pub ct: [usize; 3],
    pub mask: [usize; 3],
}

impl Patient {
    /// Converts a CT. Where a body is given, voxels of which less than half lies inside become vacuum (density 0, class
    /// air): couch, immobilisation and air outside take no part. Without one everything in the image counts. A couch is taken to be
    /// among the voxels, so that no couch factor counts, unless whoever knows the structures says otherwise.
    ///
    /// # Errors
    /// [`BodyMismatch`].
    pub fn new(ct: &Ct, table: &HuTable, body: Option<&Mask>) -> Result<Self, BodyMismatch> {
        Self::with(ct, table, body, &[])
    }

    /// As [`Self::new`], with structures of densities of their own, each by the share of a voxel that it fills. Those
    /// beside the patient count outside the body, too; where they share a voxel with its surface, the body's share counts as
    /// well. Those without a density of their own are as the body: what they cover by half is as scanned, but for what other
    /// structures fill. Masks of another grid than the CT's are passed over.
    ///
    /// # Errors
    /// [`BodyMismatch`].
    pub fn with(
        ct: &Ct,
        table: &HuTable,
        body: Option<&Mask>,
        overrides: &[Given<'_>],
    ) -> Result<Self, BodyMismatch> {
        let grid = ct.hu.grid();
        let [nx, ny, nz] = grid.size();
        if let Some(mask) = body.filter(|m| m.grid().size() != grid.size()) {
            return Err(BodyMismatch {
                ct: grid.size(),
                mask: mask.grid().size(),
            });
        }
        let voxels = nx * ny * nz;
        let mut density = vec![0.0_f32; voxels];
        let mut electrons = vec![0.0_f32; voxels];
        let mut material = vec![Material::Air as u8; voxels];
        let rows = density
            .par_chunks_mut(nx)
            .zip(electrons.par_chunks_mut(nx))
            .zip(material.par_chunks_mut(nx))
            .zip(ct.hu.data().par_chunks(nx));
        let filling = Filling::new(ct, body, overrides);
        rows.with_min_len(16).enumerate().for_each(
            |(row, (((density, electrons), material), hu))| {
                for (i, &hu) in hu.iter().enumerate() {
                    let (mut mixture, of_ct) = filling.at([i, row % ny, row / ny]);
                    let tissue = match mixture.is_empty() {
                        true if of_ct > 0.0 => table.at(hu),
                        true => continue,
                        false => {
                            mixture.add(of_ct, &table.at(hu));
                            mixture.tissue()
                        }
                    };
                    density[i] = tissue.mass_density_g_cm3;
                    electrons[i] = tissue.relative_electron_density;
                    material[i] = tissue.material as u8;
                }
            },
        );
        Ok(Self {
            mass_density_g_cm3: Arc::new(Volume::new(Arc::clone(grid), density)),
            relative_electron_density: Arc::new(Volume::new(Arc::clone(grid), electrons)),
            material: Arc::new(Volume::new(Arc::clone(grid), material)),
            position: ct.position,
            has_couch: true,
        })
    }
}

/// Tissue in the voxels of a CT.
pub(super) struct Filling<'a> {
    body: Option<&'a Mask>,
    given: Vec<Given<'a>>,
    as_scanned: Vec<&'a Mask>,
}

impl<'a> Filling<'a> {
    /// Masks of another grid than the CT's are passed over.
    pub(super) fn new(ct: &Ct, body: Option<&'a Mask>, overrides: &[Given<'a>]) -> Self {
        let size = ct.hu.grid().size();
        let dose_overrides: Vec<Given<'a>> = overrides
            .iter()
            .filter(|g| g.mask.grid().size() == size)
            .copied()
            .collect();
        let as_scanned =
            { dose_overrides.iter() }.filter(|g| g.is_beside_patient && g.tissue.is_none());
        Self {
            as_scanned: as_scanned.map(|g| g.mask).collect(),
            body,
            given: dose_overrides,
        }
    }

    /// The structures' part of a voxel, and the share of it that the CT's tissue fills beside them.
    pub(super) fn at(&self, voxel: [usize; 3]) -> (Mixture, f32) {
        let covered = |mask: &Mask| mask.coverage_at(voxel[0], voxel[1], voxel[2]);
        let of_body = self.body.map_or(1.0, covered);
        let in_body = of_body >= 0.5;
        let mixture = Mixture::in_voxel(&self.given, voxel, in_body);
        let is_patient = in_body || self.as_scanned.iter().any(|m| covered(m) >= 0.5);
        let of_ct = match mixture.is_empty() {
            _ if is_patient => 1.0,
            true => 0.0,
            false => of_body,
        };
        let of_ct = of_ct.min(mixture.left());
        (mixture, of_ct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;

    fn ct() -> Ct {
        let grid = Grid::new(
            DVec3::ZERO,
            DVec3::X,
            DVec3::Y,
            [2.0, 2.0],
            [8, 8],
            &[0.0, 2.0, 5.0],
        )
        .expect("a grid");
        let hu = (0..grid.len()).map(|n| n as f32 * 10.0 - 1000.0).collect();
        Ct::unnamed(
            Arc::new(Volume::new(Arc::new(grid), hu)),
            PatientPosition::Ffs,
        )
    }

    #[test]
    fn every_voxel_follows_the_table() {
        let (ct, table) = (ct(), HuTable::resolve(HuTable::DEFAULT).expect("shipped"));
        let p = Patient::new(&ct, &table, None).expect("a patient");
        assert_eq!(p.position, PatientPosition::Ffs);
        for (n, &hu) in ct.hu.data().iter().enumerate() {
            let want = table.at(hu);
            assert_eq!(p.mass_density_g_cm3.data()[n], want.mass_density_g_cm3);
            assert_eq!(
                p.relative_electron_density.data()[n],
                want.relative_electron_density
            );
            assert_eq!(p.material.data()[n], want.material as u8);
        }
    }

    #[test]
    fn outside_the_body_is_vacuum() {
        let (ct, table) = (ct(), HuTable::resolve(HuTable::DEFAULT).expect("shipped"));
        // A square of 3 to 11 mm: voxel centres 4 to 10 lie inside, those at 2 and 12 are covered to none.
        let contours = [square_at(0.0), square_at(2.0), square_at(5.0)];
        let refs: Vec<&[DVec3]> = contours.iter().map(|c| &c[..]).collect();
        let body = Mask::from_contours(ct.hu.grid(), &refs, &|_| true).expect("a mask");
        let p = Patient::new(&ct, &table, Some(&body)).expect("a patient");
        for k in 0..3 {
            for j in 0..8 {
                for i in 0..8 {
                    let want = if is_inside(i) && is_inside(j) {
                        table.at(ct.hu.at(i, j, k)).mass_density_g_cm3
                    } else {
                        0.0
                    };
                    assert_eq!(p.mass_density_g_cm3.at(i, j, k), want, "{i} {j} {k}");
                }
            }
        }
    }

    fn square_at(z: f64) -> [DVec3; 4] {
        [[3.0, 3.0], [11.0, 3.0], [11.0, 11.0], [3.0, 11.0]].map(|[x, y]| DVec3::new(x, y, z))
    }

    fn is_inside(i: usize) -> bool {
        (2..=5).contains(&i)
    }
}
