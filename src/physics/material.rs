//! Materials and how they attenuate photons.
//!
//! Coherent (Rayleigh) scattering is left out of the attenuation coefficients that dose is computed with: it turns
//! photons by a degree or so and moves no energy, and the energy deposition kernels are computed without it (Mackie 1988;
//! `assets/kernels/README.md`), so TERMA and the primary beam must do without it too. Pictures are computed with it.

use std::sync::LazyLock;

/// Material of a voxel for attenuation. Compositions: ICRU Report 44.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Material {
    Air,
    Lung,
    Adipose,
    Water,
    Muscle,
    /// Cancellous bone: equal masses of cortical bone, adipose and muscle, which gives 7.5 % of calcium
    /// (ICRU 44 spongiosa: 7.4 %).
    Spongiosa,
    CorticalBone,
    Aluminium,
    Titanium,
}

/// The Compton column of XCOM lacks the radiative correction that NISTIR 5632 includes (`assets/PHYSICS.md`).
const RADIATIVE_COMPTON: f64 = 1.002;

impl Material {
    pub const ALL: [Self; 9] = [
        Self::Air,
        Self::Lung,
        Self::Adipose,
        Self::Water,
        Self::Muscle,
        Self::Spongiosa,
        Self::CorticalBone,
        Self::Aluminium,
        Self::Titanium,
    ];

    /// The name used in HU tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Air => "air",
            Self::Lung => "lung",
            Self::Adipose => "adipose",
            Self::Water => "water",
            Self::Muscle => "muscle",
            Self::Spongiosa => "spongiosa",
            Self::CorticalBone => "cortical_bone",
            Self::Aluminium => "aluminium",
            Self::Titanium => "titanium",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Mass attenuation coefficient without coherent scattering, cm2/g, 10 keV to 20 MeV (clamped outside).
    pub fn mu_over_rho_cm2_g(self, energy_mev: f64) -> f64 {
        self.mixed(energy_mev, |t| &t.attenuation)
    }

    /// Mass attenuation coefficient with coherent scattering, cm2/g (NISTIR 5632), 10 keV to 20 MeV (clamped outside): what
    /// takes a photon out of a picture.
    pub fn total_mu_over_rho_cm2_g(self, energy_mev: f64) -> f64 {
        self.mixed(energy_mev, |t| &t.total)
    }

    /// Electrons per gram relative to water, from the Z/A of the composition (ICRU 44; water 0.5551).
    pub fn electrons_per_gram(self) -> f64 {
        // Z/A as NIST lists them beside the attenuation tables.
        let z_over_a = match self {
            Self::Air => 0.49919,
            Self::Lung => 0.55048,
            Self::Adipose => 0.55579,
            Self::Water => 0.55508,
            Self::Muscle => 0.55000,
            Self::Spongiosa => (0.51478 + 0.55579 + 0.55000) / 3.0,
            Self::CorticalBone => 0.51478,
            Self::Aluminium => 0.48181,
            Self::Titanium => 0.45961,
        };
        z_over_a / 0.55508
    }

    fn mixed(self, energy_mev: f64, table: impl Fn(&Tables) -> &LogLog) -> f64 {
        let coefficient = |m: Self| {
            TABLES[m as usize]
                .as_ref()
                .map_or(0.0, |t| table(t).at(energy_mev))
        };
        match self {
            Self::Spongiosa => {
                (coefficient(Self::CorticalBone)
                    + coefficient(Self::Adipose)
                    + coefficient(Self::Muscle))
                    / 3.0
            }
            m => coefficient(m),
        }
    }
}

/// Attenuation of every material at a fixed set of energies: what an engine looks up per voxel.
#[derive(Clone, Debug)]
pub struct Attenuation {
    energies: usize,
    mu_over_rho_cm2_g: Vec<f64>,
}

impl Attenuation {
    pub fn new(energies_mev: &[f64]) -> Self {
        let mu_over_rho_cm2_g = Material::ALL
            .into_iter()
            .flat_map(|m| energies_mev.iter().map(move |&e| m.mu_over_rho_cm2_g(e)))
            .collect();
        Self {
            energies: energies_mev.len(),
            mu_over_rho_cm2_g,
        }
    }

    /// One value an energy, for a material class as the volumes hold it (`Material as u8`); water for a class that
    /// does not exist.
    pub fn of_class(&self, class: u8) -> &[f64] {
        let m = if usize::from(class) < Material::ALL.len() {
            class
        } else {
            Material::Water as u8
        };
        let start = usize::from(m) * self.energies;
        &self.mu_over_rho_cm2_g[start..start + self.energies]
    }
}

struct Tables {
    attenuation: LogLog,
    total: LogLog,
}

/// Log-log interpolated table; repeated energies are absorption edges.
struct LogLog {
    ln_energy: Vec<f64>,
    ln_value: Vec<f64>,
}

impl LogLog {
    fn new(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let (ln_energy, ln_value) = points.map(|(e, v)| (e.ln(), v.ln())).unzip();
        Self {
            ln_energy,
            ln_value,
        }
    }

    fn at(&self, energy_mev: f64) -> f64 {
        let n = self.ln_energy.len();
        let x = energy_mev
            .ln()
            .clamp(self.ln_energy[0], self.ln_energy[n - 1]);
        let i = self.ln_energy.partition_point(|&e| e <= x).clamp(1, n - 1);
        let (x0, x1) = (self.ln_energy[i - 1], self.ln_energy[i]);
        let t = if x1 > x0 { (x - x0) / (x1 - x0) } else { 1.0 };
        (self.ln_value[i - 1] + t * (self.ln_value[i] - self.ln_value[i - 1])).exp()
    }
}

macro_rules! sources {
    ($name:literal) => {
        Some((
            include_str!(concat!("../../assets/attenuation/", $name, "_partial.csv")),
            include_str!(concat!("../../assets/attenuation/", $name, "_nist.csv")),
        ))
    };
}

/// (partial, NIST) tables of a material; none for a mixture of others.
fn source(material: Material) -> Option<(&'static str, &'static str)> {
    match material {
        Material::Air => sources!("air"),
        Material::Lung => sources!("lung"),
        Material::Adipose => sources!("adipose"),
        Material::Water => sources!("water"),
        Material::Muscle => sources!("muscle"),
        Material::Spongiosa => None,
        Material::CorticalBone => sources!("cortical_bone"),
        Material::Aluminium => sources!("aluminium"),
        Material::Titanium => sources!("titanium"),
    }
}

static TABLES: LazyLock<Vec<Option<Tables>>> = LazyLock::new(|| {
    Material::ALL
        .into_iter()
        .map(|m| {
            source(m).map(|(partial, nist)| Tables {
                // coherent, compton, photoelectric, pair, triplet
                attenuation: LogLog::new(
                    rows(partial).map(|(e, v)| (e, v[1] * RADIATIVE_COMPTON + v[2] + v[3] + v[4])),
                ),
                total: LogLog::new(rows(nist).map(|(e, v)| (e, v[0]))),
            })
        })
        .collect()
});

/// Energy and the other columns of an embedded table. The files are fixed at build time and a test reads them all.
fn rows(csv: &str) -> impl Iterator<Item = (f64, Vec<f64>)> + '_ {
    csv.lines().filter_map(|line| {
        let values: Option<Vec<f64>> = line.split(',').map(|v| v.trim().parse().ok()).collect();
        let (&energy, values_after) = values.as_ref()?.split_first()?;
        Some((energy, values_after.to_vec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tables of different origin: XCOM partial sums with coherent added back, against NISTIR 5632.
    #[test]
    fn xcom_agrees_with_nist_once_coherent_is_added_back() {
        let mut compared = 0;
        for m in Material::ALL {
            let Some((partial, nist)) = source(m) else {
                continue;
            };
            let coherent = LogLog::new(rows(partial).map(|(e, v)| (e, v[0])));
            for (e, v) in rows(nist).filter(|(e, _)| (0.02..=20.0).contains(e)) {
                let got = m.mu_over_rho_cm2_g(e) + coherent.at(e);
                assert!(
                    (got / v[0] - 1.0).abs() < 0.003,
                    "{} at {e} MeV: {got} against {}",
                    m.name(),
                    v[0]
                );
                compared += 1;
            }
        }
        assert!(compared > 150, "only {compared} values");
    }

    /// The value the Monte Carlo of the kernels itself used (edk_water_egsnrc README: 0.1 to 0.3 % below NIST).
    #[test]
    fn water_without_coherent_is_close_to_what_the_kernels_used() {
        // NIST water at 1 MeV: 0.07072 with coherent, of which 0.0000133 is coherent (XCOM).
        let mu = Material::Water.mu_over_rho_cm2_g(1.0);
        assert!((mu / 0.07070 - 1.0).abs() < 0.001, "{mu}");
    }

    #[test]
    fn compton_energies_follow_the_electrons() {
        for m in Material::ALL {
            let per_electron = m.mu_over_rho_cm2_g(1.0) / m.electrons_per_gram();
            let water = Material::Water.mu_over_rho_cm2_g(1.0);
            assert!(
                (per_electron / water - 1.0).abs() < 0.01,
                "{}: {}",
                m.name(),
                per_electron / water
            );
        }
    }

    #[test]
    fn the_fixed_set_is_the_table() {
        let energies = [0.1, 1.25, 6.0];
        let a = Attenuation::new(&energies);
        for m in Material::ALL {
            assert_eq!(Material::from_name(m.name()), Some(m));
            for (i, &e) in energies.iter().enumerate() {
                assert_eq!(a.of_class(m as u8)[i], m.mu_over_rho_cm2_g(e));
            }
        }
        assert_eq!(a.of_class(200), a.of_class(Material::Water as u8));
    }
}
