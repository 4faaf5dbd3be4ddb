//! HU beyond the ends of a table, which count as its first or last entry, and soft tissue that a table takes for gas.

use super::patient::Filling;
use super::{Given, HuTable};
use case::Ct;
use geometry::Mask;
use rayon::prelude::*;

/// Below a table that begins with less than this nothing of a patient is missing, g/cm3: air is lighter, lung is not.
const AIR_G_CM3: f64 = 0.02;

/// Scanned with as much, no voxel is gas or lung, HU: fat has -120 to -80.
pub const SOFT_TISSUE_HU: f32 = -200.0;
/// Soft tissue is not as light, g/cm3: lung is 0.2 to 0.5.
const LIGHTEST_TISSUE_G_CM3: f32 = 0.2;

/// Voxels mostly filled by a structure with an assigned density do not count as the CT's.
const OF_CT: f32 = 0.5;

/// The voxels of a CT that count with HU for which a table is not made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeyondEnd {
    pub voxels: usize,
    /// The CT's share of them.
    pub cm3: f64,
    pub farthest_hu: f32,
}

/// Voxels of a CT beyond the ends of a table, and soft tissue that it makes as light as gas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BeyondTable {
    pub below: Option<BeyondEnd>,
    pub above: Option<BeyondEnd>,
    /// From [`SOFT_TISSUE_HU`] on, as by a table that begins at 0 for a CT that begins at -1000.
    pub too_light: Option<BeyondEnd>,
}

/// For what a voxel counts.
#[derive(Clone, Copy)]
enum Fault {
    Below,
    Above,
    TooLight,
}

impl BeyondTable {
    /// Counts the voxels of which [`super::Patient::with`] takes at least half from the CT's tissue.
    pub fn count(ct: &Ct, table: &HuTable, body: Option<&Mask>, overrides: &[Given<'_>]) -> Self {
        let grid = ct.hu.grid();
        let [nx, ny, nz] = grid.size();
        let [first, last] = table.ends_hu().map(|hu| hu as f32);
        let first = if table.points()[0][1] > AIR_G_CM3 {
            first
        } else {
            f32::NEG_INFINITY
        };
        let makes_tissue_light =
            table.at(SOFT_TISSUE_HU).mass_density_g_cm3 < LIGHTEST_TISSUE_G_CM3;
        let filling = Filling::new(ct, body, overrides);
        let cm3: Vec<f64> = (0..nz).map(|k| grid.voxel_cm3(k)).collect();
        // Rows are added in order: the same CT has the same sum.
        let rows: Vec<Self> = ct
            .hu
            .data()
            .par_chunks(nx)
            .with_min_len(16)
            .enumerate()
            .map(|(row, hu): (usize, &[f32])| {
                let mut tally = Self::default();
                for (i, &hu) in hu.iter().enumerate() {
                    let fault = if hu < first {
                        Fault::Below
                    } else if hu > last {
                        Fault::Above
                    } else if makes_tissue_light && is_too_light(table, hu) {
                        Fault::TooLight
                    } else {
                        continue;
                    };
                    let (_, share) = filling.at([i, row % ny, row / ny]);
                    if share >= OF_CT {
                        let voxel = BeyondEnd {
                            voxels: 1,
                            cm3: f64::from(share) * cm3[row / ny],
                            farthest_hu: hu,
                        };
                        tally.add(voxel, fault);
                    }
                }
                tally
            })
            .collect();
        rows.iter().fold(Self::default(), |mut sum, row| {
            let Self {
                below,
                above,
                too_light,
            } = row;
            for (voxels, fault) in [
                (below, Fault::Below),
                (above, Fault::Above),
                (too_light, Fault::TooLight),
            ] {
                voxels.iter().for_each(|voxels| sum.add(*voxels, fault));
            }
            sum
        })
    }

    fn add(&mut self, more: BeyondEnd, fault: Fault) {
        let (voxels, farther): (_, fn(f32, f32) -> f32) = match fault {
            Fault::Below => (&mut self.below, f32::min),
            Fault::Above => (&mut self.above, f32::max),
            Fault::TooLight => (&mut self.too_light, f32::max),
        };
        let sum = voxels.get_or_insert(BeyondEnd {
            voxels: 0,
            cm3: 0.0,
            ..more
        });
        sum.voxels += more.voxels;
        sum.cm3 += more.cm3;
        sum.farthest_hu = farther(sum.farthest_hu, more.farthest_hu);
    }
}

fn is_too_light(table: &HuTable, hu: f32) -> bool {
    hu >= SOFT_TISSUE_HU && table.at(hu).mass_density_g_cm3 < LIGHTEST_TISSUE_G_CM3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tissue;
    use geometry::{Grid, PatientPosition, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    /// Voxels of 2 x 2 mm on planes of 1, 2 and 3 mm; of each plane the voxels with x of 2 to 4 and y of 2 mm have 8000 HU
    /// and more, and one at x = 0 has -3000.
    fn ct() -> Ct {
        let planes = [0.0, 1.0, 3.0, 6.0];
        let grid = Grid::new(DVec3::ZERO, DVec3::X, DVec3::Y, [2.0, 2.0], [4, 4], &planes)
            .expect("a grid");
        let mut hu = vec![0.0_f32; grid.len()];
        for k in 0..4 {
            hu[grid.index(1, 1, k)] = 8000.0;
            hu[grid.index(2, 1, k)] = 9000.0 + k as f32;
            hu[grid.index(0, 1, k)] = -3000.0;
        }
        Ct::unnamed(
            Arc::new(Volume::new(Arc::new(grid), hu)),
            PatientPosition::Hfs,
        )
    }

    fn mask(ct: &Ct, [low, high]: [f64; 2]) -> Mask {
        let contours = [0.0, 1.0, 3.0, 6.0].map(|z: f64| {
            [[low, 1.0], [high, 1.0], [high, 3.0], [low, 3.0]].map(|[x, y]| DVec3::new(x, y, z))
        });
        let contours: Vec<&[DVec3]> = contours.iter().map(|c| &c[..]).collect();
        Mask::from_contours(ct.hu.grid(), &contours, &|_| true).expect("a mask")
    }

    #[test]
    fn voxels_beyond_the_ends_are_counted_by_their_own_planes() {
        let (ct, table) = (ct(), HuTable::shipped_default());
        let table_of_all = BeyondTable::count(&ct, &table, None, &[]);
        // The planes are 1, 1.5, 2.5 and 3 mm thick: 8 mm of two columns of 4 mm2.
        let above = table_of_all.above.expect("8000 HU and more");
        assert_eq!((above.voxels, above.farthest_hu), (8, 9003.0));
        assert!(
            (above.cm3 - 2.0 * 4.0 * 8.0 / 1000.0).abs() < 1e-9,
            "{}",
            above.cm3
        );
        // The table begins with air.
        assert_eq!(table_of_all.below, None);
        let [hu, higher @ ..] = table.points() else {
            panic!("points")
        };
        assert!(hu[0] < -1000.0);
        let water = HuTable::new(
            "short".to_owned(),
            higher[1..].to_vec(),
            table.materials().to_vec(),
        )
        .unwrap();
        let below = BeyondTable::count(&ct, &water, None, &[])
            .below
            .expect("it begins at -90 HU");
        assert_eq!((below.voxels, below.farthest_hu), (4, -3000.0));
        // A body that holds one of the columns.
        let body = mask(&ct, [-1.0, 3.0]);
        let inside = BeyondTable::count(&ct, &table, Some(&body), &[])
            .above
            .expect("one column");
        assert_eq!((inside.voxels, inside.farthest_hu), (4, 8000.0));
    }

    /// Tables whose HU begin at 0, as of a scanner's raw numbers: water at 0 HU is air then, metal is not.
    #[test]
    fn soft_tissue_that_a_table_makes_gas_is_counted() {
        let (ct, table) = (ct(), HuTable::shipped_default());
        assert_eq!(BeyondTable::count(&ct, &table, None, &[]).too_light, None);
        let points =
            { table.points().iter() }.map(|[hu, mass, electrons]| [hu + 1000.0, *mass, *electrons]);
        let raw = HuTable::new(
            "raw".to_owned(),
            points.collect(),
            vec![(-2000.0, crate::Material::Water)],
        )
        .unwrap();
        let light = BeyondTable::count(&ct, &raw, None, &[]).too_light;
        let light = light.expect("water as air");
        // All but the columns of 8000 and of -3000 HU.
        assert_eq!((light.voxels, light.farthest_hu), (64 - 12, 0.0));
    }

    #[test]
    fn what_has_a_density_of_its_own_is_not_the_tables() {
        let (ct, table) = (ct(), HuTable::shipped_default());
        let both = mask(&ct, [1.0, 5.0]);
        let metal = Tissue {
            mass_density_g_cm3: 4.5,
            relative_electron_density: 3.7,
            ..table.at(0.0)
        };
        let couch = Given {
            mask: &both,
            tissue: Some(metal),
            is_beside_patient: false,
        };
        assert_eq!(
            BeyondTable::count(&ct, &table, None, &[couch]),
            BeyondTable::default()
        );
        let as_scanned = Given {
            tissue: None,
            ..couch
        };
        assert_eq!(
            BeyondTable::count(&ct, &table, None, &[as_scanned])
                .above
                .map(|a| a.voxels),
            Some(8)
        );
    }
}
