//! Density-effect correction delta of the collision stopping power.
//!
//! The table was computed with Sternheimer's oscillator model (Sternheimer, Berger, Seltzer, At. Data Nucl. Data Tables
//! 30, 261 (1984)); its binding energies are not in the repository, so the values are tabulated, not remade.

use crate::numeric::Cubic;
use crate::table;
use physics::Material;
use std::sync::LazyLock;

static TABLE: LazyLock<Vec<Cubic>> = LazyLock::new(|| {
    let rows: Vec<_> = table::rows(include_str!(
        "../../assets/physics/particles/density_effect.csv"
    ))
    .collect();
    let ln_energy: Vec<f64> = table::column(&rows, 0)
        .iter()
        .map(|energy_mev| energy_mev.ln())
        .collect();
    // Columns are in the order of `Material::ALL`.
    (1..=Material::ALL.len())
        .map(|material| Cubic::monotone(ln_energy.clone(), table::column(&rows, material)))
        .collect()
});

/// delta at a kinetic energy, 10 keV to 50 MeV (constant outside).
pub fn density_effect(material: Material, energy_mev: f64) -> f64 {
    TABLE[material as usize].at(energy_mev.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{electron_name, shared_rows, shared_text};

    /// Columns of the shipped table are the materials they are taken for.
    #[test]
    fn the_table_is_that_of_each_material() {
        for material in Material::ALL {
            let Some(rows) = shared_rows(&format!(
                "electrons/stopping_{}.csv",
                electron_name(material)
            )) else {
                return;
            };
            for row in &rows {
                let delta = density_effect(material, row[0]);
                assert!(
                    (delta - row[6]).abs() < 1e-9,
                    "{} at {} MeV: {delta}",
                    material.name(),
                    row[0]
                );
            }
        }
    }

    /// Delta of ESTAR within 0.0006, at eight energies in four materials.
    #[test]
    fn delta_is_that_of_estar() {
        let Some(text) = shared_text("electrons/estar_check.csv") else {
            return;
        };
        let mut compared = 0;
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let Some(material) = Material::from_name(fields[0]) else {
                continue;
            };
            let number = |index: usize| fields[index].parse::<f64>().unwrap();
            let difference = density_effect(material, number(1)) - number(7);
            assert!(difference.abs() < 6e-4, "{line}: {difference}");
            compared += 1;
        }
        assert_eq!(compared, 32);
    }

    /// A table with every other node left out: where the grid is halved, interpolation is within 0.006, so the grid itself is
    /// within 0.0006, the precision of its values, or near it (delta enters beside a stopping number of 20).
    #[test]
    fn interpolation_of_delta_holds_between_nodes() {
        let rows: Vec<_> = table::rows(include_str!(
            "../../assets/physics/particles/density_effect.csv"
        ))
        .collect();
        let coarse: Vec<_> = rows.iter().step_by(2).cloned().collect();
        let ln_energy: Vec<f64> = table::column(&coarse, 0).iter().map(|e| e.ln()).collect();
        for material in Material::ALL {
            let column = material as usize + 1;
            let thinned = Cubic::monotone(ln_energy.clone(), table::column(&coarse, column));
            for row in &rows {
                let difference = thinned.at(row[0].ln()) - row[column];
                assert!(
                    difference.abs() < 0.006,
                    "{} at {}: {difference}",
                    material.name(),
                    row[0]
                );
            }
        }
    }
}
