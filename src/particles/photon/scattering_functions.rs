//! Form factors and incoherent scattering functions of bound electrons: Hubbell et al., J. Phys. Chem. Ref. Data 4, 471
//! (1975), atoms added independently.

use crate::constants::PLANCK_LIGHT_KEV_ANGSTROM;
use crate::medium::Medium;
use crate::numeric::LogLog;
use crate::table;
use std::sync::LazyLock;

static FORM_FACTOR: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| {
    table::rows(include_str!(
        "../../../assets/physics/particles/form_factor.csv"
    ))
    .collect()
});
static INCOHERENT: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| {
    table::rows(include_str!(
        "../../../assets/physics/particles/incoherent_function.csv"
    ))
    .collect()
});

/// x = sin(theta/2)/lambda, 1/Angstrom.
pub fn momentum_transfer_per_angstrom(photon_mev: f64, one_minus_cos: f64) -> f64 {
    photon_mev * 1e3 * (one_minus_cos / 2.0).max(0.0).sqrt() / PLANCK_LIGHT_KEV_ANGSTROM
}

/// Functions of a medium, over the momentum transfer.
pub struct ScatteringFunctions {
    atoms: Vec<Atom>,
    electrons_per_g: f64,
}

struct Atom {
    per_g: f64,
    z: f64,
    form_factor: LogLog,
    incoherent: LogLog,
}

impl ScatteringFunctions {
    pub fn of(medium: &Medium) -> Self {
        Self {
            atoms: medium
                .constituents
                .iter()
                .map(|element| Atom {
                    per_g: element.atoms_per_g(),
                    z: element.z(),
                    form_factor: LogLog::new(
                        element_points(&FORM_FACTOR, element.atomic_number).into_iter(),
                    ),
                    incoherent: incoherent_curve(element.atomic_number),
                })
                .collect(),
            electrons_per_g: medium.electrons_per_g(),
        }
    }

    pub fn electrons_per_g(&self) -> f64 {
        self.electrons_per_g
    }

    /// S(x)/Z, averaged over the electrons: 0 forward, 1 for free electrons.
    pub fn incoherent_per_electron(&self, x_per_angstrom: f64) -> f64 {
        if x_per_angstrom < LEAST_X_PER_ANGSTROM {
            return 0.0;
        }
        let sum: f64 = self
            .atoms
            .iter()
            .map(|atom| atom.per_g * atom.incoherent.at(x_per_angstrom).min(atom.z))
            .sum();
        sum / self.electrons_per_g
    }

    /// F(x)^2 of the atoms in a gram, 1/g.
    pub fn form_factor2_per_g(&self, x_per_angstrom: f64) -> f64 {
        let x_per_angstrom = x_per_angstrom.max(LEAST_X_PER_ANGSTROM);
        self.atoms
            .iter()
            .map(|atom| atom.per_g * atom.form_factor.at(x_per_angstrom).powi(2))
            .sum()
    }
}

const LEAST_X_PER_ANGSTROM: f64 = 1e-6;

/// S(x), continued below the table in proportion to x^2.
fn incoherent_curve(atomic_number: u32) -> LogLog {
    let points = element_points(&INCOHERENT, atomic_number);
    let first = points
        .iter()
        .copied()
        .find(|[x, value]| *x > 0.0 && *value > 0.0);
    let below_table = first.map(|[x, value]| [x * 1e-6, value * 1e-12]);
    LogLog::new(below_table.into_iter().chain(points))
}

fn element_points(rows: &[Vec<f64>], atomic_number: u32) -> Vec<[f64; 2]> {
    table::element_rows(rows, atomic_number)
        .into_iter()
        .map(|row| [row[1], row[2]])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use physics::Material;

    #[test]
    fn atoms_scatter_coherently_forward_and_as_free_electrons_at_large_angles() {
        for material in Material::ALL {
            let medium = Medium::of(material);
            let functions = ScatteringFunctions::of(&medium);
            let forward: f64 = medium
                .constituents
                .iter()
                .map(|c| c.atoms_per_g() * c.z() * c.z())
                .sum();
            assert!(
                (functions.form_factor2_per_g(0.0) / forward - 1.0).abs() < 1e-6,
                "{}",
                material.name()
            );
            assert_eq!(functions.incoherent_per_electron(0.0), 0.0);
            let [near, far] = [1e-5, 1e-4].map(|x| functions.incoherent_per_electron(x));
            assert!(
                (far / near - 100.0).abs() < 1e-6,
                "{}: {near}, {far}",
                material.name()
            );
            let free = functions.incoherent_per_electron(1000.0);
            assert!((free - 1.0).abs() < 1e-3, "{}: {free}", material.name());
        }
    }
}
