//! HU -> linear attenuation at one photon energy, for radiographs.

use super::{HuTable, Material};
use geometry::Volume;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;

/// How HU are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveKind {
    /// The definition of HU: `mu = mu_water (1 + HU / 1000)`, 0 below -1000.
    #[default]
    Water,
    /// By what tissues are made of: the density of the HU table times the mass attenuation of its materials. Bone and
    /// metal attenuate photons of 100 keV and below more than their density says.
    Tissue,
}

impl CurveKind {
    pub const ALL: [Self; 2] = [Self::Water, Self::Tissue];

    pub fn word(self) -> &'static str {
        match self {
            Self::Water => "water",
            Self::Tissue => "tissue",
        }
    }

    /// Its name in a list.
    pub fn name(self) -> &'static str {
        match self {
            Self::Water => "water, as HU are defined",
            Self::Tissue => "tissues of the HU table",
        }
    }
}

impl FromStr for CurveKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|k| k.word() == word)
            .ok_or_else(|| "it is water or tissue".to_owned())
    }
}

/// A curve of HU -> attenuation: straight lines between points, the end values beyond. Attenuation is total, with coherent
/// scattering (NISTIR 5632), as a photon scattered is lost to the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationCurve {
    pub kind: CurveKind,
    pub energy_mev: f64,
    /// `[HU, 1/mm]`, HU ascending.
    points: Vec<[f64; 2]>,
    threshold_hu: Option<f64>,
    bone: f64,
}

impl AttenuationCurve {
    /// Effective energy of the beam of an imaging tube of 100 to 125 kV behind a patient, MeV.
    pub const KILOVOLT_MEV: f64 = 0.07;
    /// Attenuation above the attenuation at this HU is bone's.
    pub const BONE_HU: f64 = 150.0;
    /// The range of the embedded tables, MeV.
    pub const ENERGIES_MEV: [f64; 2] = [0.01, 20.0];
    /// HU of the upper end of [`CurveKind::Water`]: the highest that 12 and 16 bits of a scanner give.
    const HIGHEST_HU: f64 = 31_743.0;

    /// `table` is looked at for [`CurveKind::Tissue`] alone. Energies beyond [`Self::ENERGIES_MEV`] are taken as the nearest
    /// there.
    pub fn new(kind: CurveKind, table: &HuTable, energy_mev: f64) -> Self {
        let [low, high] = Self::ENERGIES_MEV;
        let energy_mev = if energy_mev.is_nan() {
            Self::KILOVOLT_MEV
        } else {
            energy_mev.clamp(low, high)
        };
        let points = match kind {
            CurveKind::Water => {
                let water = 0.1 * Material::Water.total_mu_over_rho_cm2_g(energy_mev);
                vec![
                    [-1000.0, 0.0],
                    [Self::HIGHEST_HU, water * (1.0 + Self::HIGHEST_HU / 1000.0)],
                ]
            }
            CurveKind::Tissue => of_tissues(table, energy_mev),
        };
        Self {
            kind,
            energy_mev,
            points,
            threshold_hu: None,
            bone: 1.0,
        }
    }

    /// HU below the threshold attenuate nothing: air and the couch's foam are left out of the picture.
    #[must_use]
    pub fn with_threshold(self, threshold_hu: Option<f64>) -> Self {
        Self {
            threshold_hu,
            ..self
        }
    }

    /// Bone emphasis: what attenuates more than [`Self::BONE_HU`] does so `factor` times as much beyond; 1 leaves it.
    #[must_use]
    pub fn with_bone(self, factor: f64) -> Self {
        Self {
            bone: factor,
            ..self
        }
    }

    /// Linear attenuation, 1/mm. No number counts as nothing.
    pub fn at(&self, hu: f32) -> f32 {
        let hu = f64::from(hu);
        if hu.is_nan() || self.threshold_hu.is_some_and(|threshold| hu < threshold) {
            return 0.0;
        }
        let mu = self.plain(hu);
        let of_bone = if hu > Self::BONE_HU {
            mu - self.plain(Self::BONE_HU)
        } else {
            0.0
        };
        (mu + (self.bone - 1.0) * of_bone).max(0.0) as f32
    }

    fn plain(&self, hu: f64) -> f64 {
        let p = &self.points;
        let i = p.partition_point(|q| q[0] <= hu).clamp(1, p.len() - 1);
        let [[x0, y0], [x1, y1]] = [p[i - 1], p[i]];
        y0 + (y1 - y0) * ((hu - x0) / (x1 - x0)).clamp(0.0, 1.0)
    }

    /// The attenuation of a CT, 1/mm, on its own grid.
    pub fn attenuation(&self, hu: &Volume<f32>) -> Volume<f32> {
        // A straight line is worth its own loop: 31 million voxels of a CT take 0.12 s in place of 0.41.
        let values = match (self.points.as_slice(), self.bone == 1.0) {
            (&[[x0, _], [x1, y1]], true) => {
                let slope = (y1 / (x1 - x0)) as f32;
                let (x0, x1) = (x0 as f32, x1 as f32);
                let low = self.threshold_hu.map_or(x0, |t| x0.max(t as f32));
                hu.data()
                    .par_iter()
                    .map(|&hu| {
                        if hu >= low {
                            (hu.min(x1) - x0) * slope
                        } else {
                            0.0
                        }
                    })
                    .collect()
            }
            _ => hu.data().par_iter().map(|&hu| self.at(hu)).collect(),
        };
        Volume::new(Arc::clone(hu.grid()), values)
    }
}

/// Density of the table times mass attenuation, which changes in straight lines from the middle of one material's HU to
/// the middle of the next, so that no HU makes a jump.
fn of_tissues(table: &HuTable, energy_mev: f64) -> Vec<[f64; 2]> {
    let (points, materials) = (table.points(), table.materials());
    let ends = table.ends_hu();
    let per_mass: Vec<[f64; 2]> = materials
        .iter()
        .enumerate()
        .map(|(n, (from_hu, material))| {
            let from = from_hu.clamp(ends[0], ends[1]);
            let until = materials
                .get(n + 1)
                .map_or(ends[1], |m| m.0.clamp(ends[0], ends[1]));
            [
                0.5 * (from + until),
                material.total_mu_over_rho_cm2_g(energy_mev),
            ]
        })
        .collect();
    // Both factors are straight between these; their product bends a little, which points every 25 HU hold.
    let steps = ((ends[1] - ends[0]) / 25.0).ceil() as usize;
    let even = (0..=steps).map(|n| ends[0] + (ends[1] - ends[0]) * n as f64 / steps as f64);
    let mut nodes: Vec<f64> = even
        .chain(points.iter().map(|p| p[0]))
        .chain(per_mass.iter().map(|p| p[0]))
        .collect();
    nodes.sort_by(f64::total_cmp);
    nodes.dedup();
    nodes
        .into_iter()
        .map(|hu| {
            [
                hu,
                0.1 * f64::from(table.at(hu as f32).mass_density_g_cm3)
                    * mass_attenuation_at(hu, &per_mass),
            ]
        })
        .collect()
}

/// Mass attenuation between the middles of the materials, constant beyond.
fn mass_attenuation_at(hu: f64, per_mass: &[[f64; 2]]) -> f64 {
    let i = per_mass.partition_point(|p| p[0] <= hu);
    match (i.checked_sub(1).map(|n| per_mass[n]), per_mass.get(i)) {
        (Some([x0, y0]), Some([x1, y1])) => y0 + (y1 - y0) * (hu - x0) / (x1 - x0),
        (Some([_, y]), None) | (None, Some(&[_, y])) => y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;

    fn curve(kind: CurveKind, energy_mev: f64) -> AttenuationCurve {
        AttenuationCurve::new(kind, &HuTable::shipped_default(), energy_mev)
    }

    /// NISTIR 5632, total with coherent scattering, at 60 keV and 1 MeV: water 0.2059 and 0.07072 cm2/g.
    #[test]
    fn water_attenuates_as_published() {
        for kind in CurveKind::ALL {
            for (energy, cm2_g) in [(0.06, 0.2059), (1.0, 0.07072)] {
                let got = f64::from(curve(kind, energy).at(0.0));
                assert!(
                    (got / (0.1 * cm2_g) - 1.0).abs() < 0.01,
                    "{kind:?} {energy}: {got}"
                );
            }
        }
        let water = curve(CurveKind::Water, 0.06);
        assert!((f64::from(water.at(0.0)) / 0.02059 - 1.0).abs() < 1e-5);
        assert!((f64::from(water.at(1000.0)) / 0.04118 - 1.0).abs() < 1e-5);
        assert_eq!(water.at(-1000.0), 0.0);
        assert_eq!(water.at(-3000.0), 0.0);
        assert_eq!(water.at(f32::NAN), 0.0);
    }

    /// Cortical bone of 1.92 g/cm3 (ICRU 44) at 60 keV attenuates 1.92 x 0.3148 / 0.2059 times as much as water by its
    /// composition, at 2 MeV almost by its electrons alone.
    #[test]
    fn bone_stands_out_at_low_energy_only() {
        let table = HuTable::shipped_default();
        let hu = (0..3000)
            .map(|n| n as f32)
            .find(|&hu| table.at(hu).mass_density_g_cm3 >= 1.92)
            .expect("in the table");
        assert!(
            (ratio_to_water(0.06, hu) / (1.92 * 0.3148 / 0.2059) - 1.0).abs() < 0.03,
            "{}",
            ratio_to_water(0.06, hu)
        );
        assert!(
            (ratio_to_water(2.0, hu) / (1.92 * 0.04607 / 0.04942) - 1.0).abs() < 0.03,
            "{}",
            ratio_to_water(2.0, hu)
        );
    }

    fn ratio_to_water(energy: f64, hu: f32) -> f64 {
        let c = curve(CurveKind::Tissue, energy);
        f64::from(c.at(hu) / c.at(0.0))
    }

    #[test]
    fn no_hu_makes_a_jump_and_none_attenuates_less_than_one_below_it() {
        for energy in [0.03, 0.06, 0.1, 1.0] {
            let c = curve(CurveKind::Tissue, energy);
            let step = f64::from(c.at(0.0)) * 0.02;
            for hu in -1100..3200 {
                let (a, b) = (f64::from(c.at(hu as f32)), f64::from(c.at(hu as f32 + 1.0)));
                assert!((b - a).abs() < step, "{energy} MeV, {hu} HU: {a} to {b}");
            }
        }
    }

    #[test]
    fn threshold_and_bone_change_what_they_say() {
        for kind in CurveKind::ALL {
            let plain = curve(kind, 0.07);
            let cut = plain.clone().with_threshold(Some(-200.0));
            assert_eq!((cut.at(-201.0), cut.at(-200.0)), (0.0, plain.at(-200.0)));
            let strong = plain.clone().with_bone(3.0);
            assert_eq!(strong.at(100.0), plain.at(100.0));
            let [a, b] = [150.0, 900.0].map(|hu| plain.at(hu));
            assert!((strong.at(900.0) - (a + 3.0 * (b - a))).abs() < 1e-6);
        }
    }

    /// Voxel by voxel the value of the curve, by either loop.
    #[test]
    fn a_volume_follows_the_curve() {
        let grid =
            Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [60, 10, 9]).expect("a grid"));
        let hu: Vec<f32> = (0..5400).map(|n| n as f32 - 1300.0).collect();
        let hu = Volume::new(grid, hu);
        for kind in CurveKind::ALL {
            for c in [
                curve(kind, 0.07),
                curve(kind, 0.07).with_threshold(Some(-350.0)),
                curve(kind, 0.07).with_bone(2.0),
            ] {
                let got = c.attenuation(&hu);
                for (&hu, &got) in hu.data().iter().zip(got.data()) {
                    assert!(
                        (got - c.at(hu)).abs() < 1e-7,
                        "{kind:?} {hu}: {got} for {}",
                        c.at(hu)
                    );
                }
            }
        }
    }
}
