//! Bremsstrahlung of electrons and positrons: Seltzer's scaled cross section (Seltzer & Berger, At. Data Nucl. Data
//! Tables 35, 345 (1986)), with the nucleus and the electrons of an atom together.

use crate::charge::{Charge, Kinematics};
use crate::constants::{ELECTRON_MASS_MEV, MILLIBARN_CM2};
use crate::medium::Medium;
use crate::numeric::{Cubic, geometric_panels, integrate};
use crate::table;
use std::sync::LazyLock;

struct SeltzerTable {
    /// Photon energies over the kinetic energy.
    shares: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

static TABLE: LazyLock<SeltzerTable> = LazyLock::new(|| {
    let mut rows: Vec<_> = table::rows(include_str!(
        "../../assets/physics/particles/bremsstrahlung.csv"
    ))
    .collect();
    let shares = rows.remove(0).split_off(2);
    SeltzerTable { shares, rows }
});

/// Scaled cross sections of a medium's elements, in columns over the logarithm of the kinetic energy.
pub struct Bremsstrahlung {
    medium: Medium,
    elements: Vec<ElementColumns>,
}

struct ElementColumns {
    z: f64,
    /// Z^2 times the atoms in a gram, cm2/g for a scaled cross section of 1 mb.
    scale_cm2_g: f64,
    by_ln_energy: Vec<Cubic>,
}

impl Bremsstrahlung {
    pub fn of(medium: Medium) -> Self {
        let elements = medium
            .constituents
            .iter()
            .map(|element| {
                let rows = table::element_rows(&TABLE.rows, element.atomic_number);
                let ln_energy: Vec<f64> = table::column(&rows, 1).iter().map(|e| e.ln()).collect();
                let by_ln_energy = (0..TABLE.shares.len())
                    .map(|share| Cubic::spline(ln_energy.clone(), table::column(&rows, share + 2)))
                    .collect();
                let scale_cm2_g = element.z() * element.z() * element.atoms_per_g() * MILLIBARN_CM2;
                ElementColumns {
                    z: element.z(),
                    scale_cm2_g,
                    by_ln_energy,
                }
            })
            .collect();
        Self { medium, elements }
    }

    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Photon spectrum at a kinetic energy of 1 keV to 100 MeV.
    pub fn spectrum(&self, charge: Charge, energy_mev: f64) -> Spectrum {
        let ln_energy = energy_mev.ln();
        let mut scaled_cm2_g = vec![0.0; TABLE.shares.len()];
        for element in &self.elements {
            let factor = match charge {
                Charge::Electron => 1.0,
                Charge::Positron => positron_factor(element.z, energy_mev),
            };
            let weight = element.scale_cm2_g * factor / Kinematics::of(energy_mev).beta2;
            for (sum, column) in scaled_cm2_g.iter_mut().zip(&element.by_ln_energy) {
                *sum += weight * column.at(ln_energy);
            }
        }
        Spectrum {
            energy_mev,
            by_share: Cubic::monotone(TABLE.shares.clone(), scaled_cm2_g),
        }
    }
}

/// Ratio of the radiative stopping powers of positrons and electrons: Kim et al., Phys. Rev. A 33, 3002 (1986), as fitted in
/// the manual of PENELOPE (Salvat, NEA, section 3.3.1).
pub fn positron_factor(z: f64, energy_mev: f64) -> f64 {
    const COEFFICIENTS: [f64; 7] = [
        -1.2359e-1, 6.1274e-2, -3.1516e-2, 7.7446e-3, -1.0595e-3, 7.0568e-5, -1.8080e-6,
    ];
    let t = (1e6 / (z * z) * energy_mev / ELECTRON_MASS_MEV).ln_1p();
    let exponent = COEFFICIENTS
        .iter()
        .rev()
        .fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    1.0 - exponent.exp()
}

/// k dsigma/dk of the photons that one kinetic energy makes, over their share of it.
pub struct Spectrum {
    energy_mev: f64,
    by_share: Cubic,
}

impl Spectrum {
    /// k dsigma/dk, cm2/g: the density in ln k that sampling accepts by.
    pub fn scaled_cm2_g(&self, share: f64) -> f64 {
        self.by_share.at(share)
    }

    /// The greatest k dsigma/dk of photons above `cut_mev`, cm2/g: candidates drawn even in ln k are accepted by the density
    /// over this.
    pub fn greatest_scaled_cm2_g(&self, cut_mev: f64) -> f64 {
        let cut = (cut_mev / self.energy_mev).min(1.0);
        // The curve is monotone between its nodes.
        let nodes = self
            .by_share
            .nodes()
            .iter()
            .copied()
            .filter(|&share| share > cut);
        nodes
            .chain([cut])
            .map(|share| self.by_share.at(share))
            .fold(0.0, f64::max)
    }

    /// Mass radiative stopping power, MeV cm2/g.
    pub fn radiative_mev_cm2_g(&self) -> f64 {
        self.restricted_radiative_mev_cm2_g(self.energy_mev)
    }

    /// Mass radiative stopping power of photons below `cut_mev`, MeV cm2/g.
    pub fn restricted_radiative_mev_cm2_g(&self, cut_mev: f64) -> f64 {
        let cut = (cut_mev / self.energy_mev).min(1.0);
        let mut boundaries: Vec<f64> = self
            .by_share
            .nodes()
            .iter()
            .copied()
            .take_while(|&share| share < cut)
            .collect();
        boundaries.push(cut);
        self.energy_mev * integrate(&boundaries, |share| self.by_share.at(share))
    }

    /// Cross section of photons above `cut_mev`, cm2/g.
    pub fn cross_section_cm2_g(&self, cut_mev: f64) -> f64 {
        let cut = cut_mev / self.energy_mev;
        if cut >= 1.0 {
            return 0.0;
        }
        let upper_nodes = self
            .by_share
            .nodes()
            .iter()
            .copied()
            .filter(|&share| share > cut);
        let boundaries: Vec<f64> = std::iter::once(cut).chain(upper_nodes).collect();
        boundaries
            .windows(2)
            .map(|pair| {
                integrate(&geometric_panels(pair[0], pair[1], 2.0), |share| {
                    self.by_share.at(share) / share
                })
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::assert_relative;
    use physics::Material;

    #[test]
    fn every_element_of_a_material_has_the_grid_of_the_table() {
        assert_eq!(TABLE.shares.len(), 30);
        for material in Material::ALL {
            for element in Medium::of(material).constituents {
                let rows = table::element_rows(&TABLE.rows, element.atomic_number);
                assert_eq!(rows.len(), 41, "Z = {}", element.atomic_number);
            }
        }
    }

    #[test]
    fn no_photon_has_a_greater_density() {
        let bremsstrahlung = Bremsstrahlung::of(Medium::of(Material::Titanium));
        for energy_mev in [0.06, 0.5, 6.0, 20.0] {
            let spectrum = bremsstrahlung.spectrum(Charge::Electron, energy_mev);
            let greatest = spectrum.greatest_scaled_cm2_g(0.05);
            let cut = 0.05 / energy_mev;
            for index in 0..=1000 {
                let value = spectrum.scaled_cm2_g(cut + (1.0 - cut) * f64::from(index) / 1000.0);
                assert!(
                    (0.0..=greatest).contains(&value),
                    "{energy_mev} MeV: {value} over {greatest}"
                );
            }
        }
    }

    /// Photons above the cut carry the difference of the whole and the restricted loss: the loss above the cut by
    /// parts, from cross sections alone.
    #[test]
    fn hard_and_soft_radiative_losses_sum_to_the_whole() {
        let bremsstrahlung = Bremsstrahlung::of(Medium::of(Material::Water));
        for charge in Charge::BOTH {
            for energy_mev in [0.5, 2.0, 6.0] {
                let spectrum = bremsstrahlung.spectrum(charge, energy_mev);
                let cut_mev = 0.05;
                let photons_above = |k_mev: f64| spectrum.cross_section_cm2_g(k_mev);
                let above = integrate(&geometric_panels(cut_mev, energy_mev, 1.1), photons_above);
                let hard = cut_mev * photons_above(cut_mev) + above;
                let soft = spectrum.restricted_radiative_mev_cm2_g(cut_mev);
                let place = format!("{charge:?} {energy_mev} MeV");
                assert_relative(soft + hard, spectrum.radiative_mev_cm2_g(), 1e-4, &place);
            }
        }
    }
}
