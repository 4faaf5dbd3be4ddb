//! Photon cross sections by process: NIST XCOM (Berger & Hubbell), the tables of `assets/attenuation`. The Compton column is
//! XCOM's own, without the radiative correction that attenuation of the house adds (`physics::Material`).

use crate::constants::ELECTRON_MASS_MEV;
use crate::numeric::{Cubic, LogLog};
use crate::table;
use physics::Material;

/// Mass cross sections, cm2/g.
#[derive(Clone, Copy, Debug)]
pub struct Processes {
    pub rayleigh_cm2_g: f64,
    pub compton_cm2_g: f64,
    pub photoelectric_cm2_g: f64,
    /// In the field of nuclei.
    pub pair_cm2_g: f64,
    /// In the field of electrons.
    pub triplet_cm2_g: f64,
}

impl Processes {
    pub fn total_cm2_g(&self) -> f64 {
        self.rayleigh_cm2_g
            + self.compton_cm2_g
            + self.photoelectric_cm2_g
            + self.pair_cm2_g
            + self.triplet_cm2_g
    }
}

/// Cross sections of a material, 10 keV to 50 MeV (constant outside).
pub struct CrossSections {
    rayleigh: LogLog,
    compton: LogLog,
    photoelectric: LogLog,
    pair: AboveThreshold,
    triplet: AboveThreshold,
}

impl CrossSections {
    pub fn of(material: Material) -> Self {
        let rows: Vec<_> = table::rows(partial_table(material)).collect();
        let curve = |column: usize| LogLog::new(rows.iter().map(|row| [row[0], row[column]]));
        Self {
            rayleigh: curve(1),
            compton: curve(2),
            photoelectric: curve(3),
            pair: AboveThreshold::new(&rows, 4, 2.0 * ELECTRON_MASS_MEV),
            triplet: AboveThreshold::new(&rows, 5, 4.0 * ELECTRON_MASS_MEV),
        }
    }

    pub fn at(&self, photon_mev: f64) -> Processes {
        Processes {
            rayleigh_cm2_g: self.rayleigh.at(photon_mev),
            compton_cm2_g: self.compton.at(photon_mev),
            photoelectric_cm2_g: self.photoelectric.at(photon_mev),
            pair_cm2_g: self.pair.at(photon_mev),
            triplet_cm2_g: self.triplet.at(photon_mev),
        }
    }
}

/// A cross section over (1 - threshold/k)^3, which varies slowly: interpolated so in XCOM (NBSIR 87-3597, section 3), by a
/// spline of logarithms.
struct AboveThreshold {
    threshold_mev: f64,
    ln_reduced: Cubic,
}

impl AboveThreshold {
    fn new(rows: &[Vec<f64>], column: usize, threshold_mev: f64) -> Self {
        let (ln_energy, ln_value) = rows
            .iter()
            .filter(|row| row[column] > 0.0)
            .map(|row| {
                (
                    row[0].ln(),
                    (row[column] / phase_space(row[0], threshold_mev)).ln(),
                )
            })
            .unzip();
        Self {
            threshold_mev,
            ln_reduced: Cubic::spline(ln_energy, ln_value),
        }
    }

    fn at(&self, photon_mev: f64) -> f64 {
        if photon_mev <= self.threshold_mev {
            return 0.0;
        }
        self.ln_reduced.at(photon_mev.ln()).exp() * phase_space(photon_mev, self.threshold_mev)
    }
}

fn phase_space(photon_mev: f64, threshold_mev: f64) -> f64 {
    (1.0 - threshold_mev / photon_mev).powi(3)
}

macro_rules! attenuation_table {
    ($name:literal) => {
        include_str!(concat!(
            "../../../assets/attenuation/",
            $name,
            "_partial.csv"
        ))
    };
}

/// energy_mev, coherent, compton, photoelectric, pair, triplet.
fn partial_table(material: Material) -> &'static str {
    match material {
        Material::Air => attenuation_table!("air"),
        Material::Lung => attenuation_table!("lung"),
        Material::Adipose => attenuation_table!("adipose"),
        Material::Water => attenuation_table!("water"),
        Material::Muscle => attenuation_table!("muscle"),
        Material::Spongiosa => {
            include_str!("../../../assets/physics/particles/spongiosa_partial.csv")
        }
        Material::CorticalBone => attenuation_table!("cortical_bone"),
        Material::Aluminium => attenuation_table!("aluminium"),
        Material::Titanium => {
            include_str!("../../../assets/physics/particles/titanium_partial.csv")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{assert_relative, shared_rows};

    fn shared_name(material: Material) -> &'static str {
        match material {
            Material::Air => "attenuation/xcom_partial_air",
            Material::Lung => "attenuation/xcom_partial_lung_icru44",
            Material::Adipose => "attenuation/xcom_partial_adipose_icru44",
            Material::Water => "attenuation/xcom_partial_water",
            Material::Muscle => "attenuation/xcom_partial_muscle_icru44",
            Material::Spongiosa => "electrons/xcom_partial_bone_spongiosa",
            Material::CorticalBone => "attenuation/xcom_partial_bone_cortical_icru44",
            Material::Aluminium => "attenuation/xcom_partial_aluminum",
            Material::Titanium => "electrons/xcom_partial_titanium",
        }
    }

    /// XCOM's own total column beside the sum of its processes.
    #[test]
    fn processes_sum_to_the_totals_of_xcom() {
        for material in Material::ALL {
            let Some(rows) = shared_rows(&format!("{}.csv", shared_name(material))) else {
                return;
            };
            let cross_sections = CrossSections::of(material);
            for (index, row) in rows.iter().enumerate() {
                // At an absorption edge the energy stands twice; the upper value holds.
                if rows.get(index + 1).is_some_and(|next| next[0] <= row[0]) {
                    continue;
                }
                let total = cross_sections.at(row[0]).total_cm2_g();
                assert_relative(
                    total,
                    row[6],
                    2e-5,
                    &format!("{} at {} MeV", material.name(), row[0]),
                );
            }
        }
    }

    /// A table thinned to every other row: interpolation as XCOM has it holds pair production to 0.2 % even so.
    #[test]
    fn pair_production_is_interpolated_above_its_threshold() {
        let rows: Vec<_> = table::rows(partial_table(Material::Water)).collect();
        let coarse: Vec<_> = rows.iter().step_by(2).cloned().collect();
        let thinned = AboveThreshold::new(&coarse, 4, 2.0 * ELECTRON_MASS_MEV);
        for row in rows.iter().filter(|row| row[0] > 1.2) {
            assert_relative(thinned.at(row[0]), row[4], 2e-3, &format!("{} MeV", row[0]));
        }
        assert_eq!(CrossSections::of(Material::Water).at(1.0).pair_cm2_g, 0.0);
    }
}
