//! The photon spectrum of a beam.

use super::Material;

/// Photons by energy: discrete energies (bin centres, or the mean of a bin) and the share of the photons in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Ascending, MeV.
    pub energies_mev: Vec<f64>,
    /// Number of photons per bin; they sum to 1.
    pub photon_weights: Vec<f64>,
}

impl Spectrum {
    /// Checks and normalises. The error says which list is wrong and how.
    ///
    /// # Errors
    /// Lists of different length, energies not ascending within 0.01 to 50 MeV, weights that are negative, not finite or
    /// do not sum to 1 within 0.001.
    pub fn new(energies_mev: Vec<f64>, photons: Vec<f64>) -> Result<Self, (&'static str, String)> {
        if energies_mev.is_empty() || energies_mev.len() != photons.len() {
            let counts = format!("{} energies and {} photon numbers", energies_mev.len(), photons.len());
            return Err(("photons", format!("{counts}: there must be one number for each energy")));
        }
        if let Some(&e) = energies_mev.iter().find(|e| !(0.01..=50.0).contains(*e)) {
            return Err(("energies_mev", format!("{e} MeV is outside 0.01 to 50 MeV")));
        }
        if energies_mev.windows(2).any(|w| w[0] >= w[1]) {
            return Err(("energies_mev", "the energies must ascend".to_owned()));
        }
        if let Some(w) = photons.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return Err(("photons", format!("{w} is not a number of photons")));
        }
        let sum: f64 = photons.iter().sum();
        if (sum - 1.0).abs() > 1e-3 {
            return Err(("photons", format!("they sum to {sum:.4}, not to 1")));
        }
        Ok(Self { energies_mev, photon_weights: photons.into_iter().map(|w| w / sum).collect() })
    }

    /// Mean energy by number of photons, MeV.
    pub fn mean_energy_mev(&self) -> f64 {
        self.bins().map(|(e, w)| e * w).sum()
    }

    /// (energy in MeV, share of the photons) of each bin.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.energies_mev.iter().copied().zip(self.photon_weights.iter().copied())
    }

    /// Attenuation coefficient of water averaged over the energy fluence, cm2/g: what a thin layer shows.
    pub fn mean_mu_over_rho_cm2_g(&self) -> f64 {
        let weighted: f64 = self.bins().map(|(e, w)| e * w * Material::Water.mu_over_rho_cm2_g(e)).sum();
        weighted / self.mean_energy_mev()
    }
}
