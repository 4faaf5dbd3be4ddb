//! The photon spectrum of a beam.

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
            let counts = format!(
                "{} energies and {} photon numbers",
                energies_mev.len(),
                photons.len()
            );
            return Err((
                "photons",
                format!("{counts}: there must be one number for each energy"),
            ));
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
        Ok(Self {
            energies_mev,
            photon_weights: photons.into_iter().map(|w| w / sum).collect(),
        })
    }

    /// Mean energy by number of photons, MeV.
    pub fn mean_energy_mev(&self) -> f64 {
        self.bins().map(|(e, w)| e * w).sum()
    }

    /// (energy in MeV, share of the photons) of each bin.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.energies_mev
            .iter()
            .copied()
            .zip(self.photon_weights.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_brought_to_one_and_wrong_lists_refused() {
        let s = Spectrum::new(vec![1.0, 2.0], vec![0.2502, 0.7502]).expect("within 0.001 of 1");
        assert!((s.photon_weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((s.mean_energy_mev() - 1.75).abs() < 1e-3);
        for (energies, photons, key) in [
            (vec![], vec![], "photons"),
            (vec![1.0], vec![0.5, 0.5], "photons"),
            (vec![2.0, 1.0], vec![0.5, 0.5], "energies_mev"),
            (vec![0.0, 1.0], vec![0.5, 0.5], "energies_mev"),
            (vec![f64::NAN, 1.0], vec![0.5, 0.5], "energies_mev"),
            (vec![1.0, 2.0], vec![1.5, -0.5], "photons"),
            (vec![1.0, 2.0], vec![f64::NAN, 0.5], "photons"),
            (vec![1.0, 2.0], vec![0.5, 0.498], "photons"),
        ] {
            assert_eq!(
                Spectrum::new(energies.clone(), photons)
                    .expect_err("wrong")
                    .0,
                key,
                "{energies:?}"
            );
        }
    }
}
