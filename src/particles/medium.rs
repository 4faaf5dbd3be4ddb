//! Composition of the materials: what charged particles and bound electrons see of them.

use crate::constants::AVOGADRO_PER_MOL;
use physics::Material;

/// An element of a medium and its share of the mass.
#[derive(Clone, Copy, Debug)]
pub struct Constituent {
    pub atomic_number: u32,
    pub mass_fraction: f64,
}

impl Constituent {
    pub fn z(self) -> f64 {
        f64::from(self.atomic_number)
    }

    /// Atoms of the element in a gram of the medium.
    pub fn atoms_per_g(self) -> f64 {
        self.mass_fraction * AVOGADRO_PER_MOL / atomic_weight_g_mol(self.atomic_number)
    }
}

/// A material as ICRU 44 (1989, tissues) and ICRU 37 (1984, the others) have it. Lung is inflated: its density effect is
/// computed at 0.26 g/cm3, as in the codes that dose is compared with. Spongiosa has the composition of ICRU 44, where
/// `physics::Material` mixes its attenuation from three tissues.
#[derive(Clone, Copy, Debug)]
pub struct Medium {
    pub material: Material,
    pub density_g_cm3: f64,
    pub mean_excitation_mev: f64,
    pub constituents: &'static [Constituent],
}

impl Medium {
    pub fn of(material: Material) -> Self {
        let (density_g_cm3, mean_excitation_ev, constituents): (f64, f64, &'static [Constituent]) =
            match material {
                Material::Air => (0.001_204_79, 85.7, AIR),
                Material::Lung => (0.26, 75.2, LUNG),
                Material::Adipose => (0.95, 64.8, ADIPOSE),
                Material::Water => (1.0, 75.0, WATER),
                Material::Muscle => (1.05, 74.6, MUSCLE),
                Material::Spongiosa => (1.18, 78.4, SPONGIOSA),
                Material::CorticalBone => (1.92, 112.0, CORTICAL_BONE),
                Material::Aluminium => (2.6989, 166.0, ALUMINIUM),
                Material::Titanium => (4.54, 233.0, TITANIUM),
            };
        Self {
            material,
            density_g_cm3,
            mean_excitation_mev: mean_excitation_ev * 1e-6,
            constituents,
        }
    }

    /// Moles of electrons in a gram.
    pub fn z_over_a_mol_g(&self) -> f64 {
        self.electrons_per_g() / AVOGADRO_PER_MOL
    }

    pub fn electrons_per_g(&self) -> f64 {
        self.constituents
            .iter()
            .map(|element| element.atoms_per_g() * element.z())
            .sum()
    }
}

/// Standard atomic weights (NIST), of the elements that the materials hold.
fn atomic_weight_g_mol(atomic_number: u32) -> f64 {
    match atomic_number {
        1 => 1.00794,
        6 => 12.0107,
        7 => 14.0067,
        8 => 15.9994,
        11 => 22.98977,
        12 => 24.305,
        13 => 26.98154,
        15 => 30.97376,
        16 => 32.065,
        17 => 35.453,
        18 => 39.948,
        19 => 39.0983,
        20 => 40.078,
        22 => 47.867,
        26 => 55.845,
        other => unreachable!("no material holds element {other}"),
    }
}

const fn element(atomic_number: u32, mass_fraction: f64) -> Constituent {
    Constituent {
        atomic_number,
        mass_fraction,
    }
}

const AIR: &[Constituent] = &[
    element(6, 0.000_124),
    element(7, 0.755_267),
    element(8, 0.231_781),
    element(18, 0.012_827),
];

const LUNG: &[Constituent] = &[
    element(1, 0.103),
    element(6, 0.105),
    element(7, 0.031),
    element(8, 0.749),
    element(11, 0.002),
    element(15, 0.002),
    element(16, 0.003),
    element(17, 0.003),
    element(19, 0.002),
];

const ADIPOSE: &[Constituent] = &[
    element(1, 0.114),
    element(6, 0.598),
    element(7, 0.007),
    element(8, 0.278),
    element(11, 0.001),
    element(16, 0.001),
    element(17, 0.001),
];

const WATER: &[Constituent] = &[element(1, 0.111_894), element(8, 0.888_106)];

const MUSCLE: &[Constituent] = &[
    element(1, 0.102),
    element(6, 0.143),
    element(7, 0.034),
    element(8, 0.71),
    element(11, 0.001),
    element(15, 0.002),
    element(16, 0.003),
    element(17, 0.001),
    element(19, 0.004),
];

const SPONGIOSA: &[Constituent] = &[
    element(1, 0.085),
    element(6, 0.404),
    element(7, 0.028),
    element(8, 0.367),
    element(11, 0.001),
    element(12, 0.001),
    element(15, 0.034),
    element(16, 0.002),
    element(17, 0.002),
    element(19, 0.001),
    element(20, 0.074),
    element(26, 0.001),
];

const CORTICAL_BONE: &[Constituent] = &[
    element(1, 0.034),
    element(6, 0.155),
    element(7, 0.042),
    element(8, 0.435),
    element(11, 0.001),
    element(12, 0.002),
    element(15, 0.103),
    element(16, 0.003),
    element(20, 0.225),
];

const ALUMINIUM: &[Constituent] = &[element(13, 1.0)];

const TITANIUM: &[Constituent] = &[element(22, 1.0)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::assert_relative;

    /// Z/A as NIST lists it beside the attenuation tables, to its five digits.
    #[test]
    fn electrons_per_gram_are_those_of_the_attenuation_tables() {
        for material in Material::ALL
            .into_iter()
            .filter(|&m| m != Material::Spongiosa)
        {
            let relative_to_water = Medium::of(material).z_over_a_mol_g()
                / Medium::of(Material::Water).z_over_a_mol_g();
            assert_relative(
                relative_to_water,
                material.electrons_per_gram(),
                4e-5,
                material.name(),
            );
        }
        assert_relative(
            Medium::of(Material::Water).z_over_a_mol_g(),
            0.55508,
            4e-5,
            "water",
        );
    }

    #[test]
    fn mass_fractions_sum_to_one() {
        for material in Material::ALL {
            let sum: f64 = Medium::of(material)
                .constituents
                .iter()
                .map(|c| c.mass_fraction)
                .sum();
            assert!((sum - 1.0).abs() < 2e-6, "{}: {sum}", material.name());
        }
    }
}
