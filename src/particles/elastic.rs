//! Elastic scattering by screened nuclei: Mott's cross section with Moliere's screening.

use crate::charge::{Charge, Kinematics};
use crate::constants::{ELECTRON_RADIUS_CM, FINE_STRUCTURE};
use crate::mott::MottRatio;
use crate::numeric::{GaussLegendre, geometric_panels};
use std::f64::consts::PI;

/// Points in a panel of angles.
const POINTS: usize = 12;

/// Moliere's screening parameter eta of an element (Z. Naturforsch. 2a, 133 (1947)): the cross section goes as
/// 1/(1 - cos + 2 eta)^2.
pub fn moliere_screening(z: f64, energy_mev: f64) -> f64 {
    let Kinematics {
        beta2, momentum2, ..
    } = Kinematics::of(energy_mev);
    let radius = FINE_STRUCTURE * z.cbrt() / 0.885;
    let coupling2 = (FINE_STRUCTURE * z).powi(2) / beta2;
    radius * radius / (4.0 * momentum2) * (1.13 + 3.76 * coupling2)
}

/// re^2/(beta^2 tau (tau + 2)), cm2: Rutherford's cross section of a unit charge is that over (1 - cos)^2.
pub fn rutherford_scale_cm2(energy_mev: f64) -> f64 {
    let Kinematics {
        beta2, momentum2, ..
    } = Kinematics::of(energy_mev);
    ELECTRON_RADIUS_CM * ELECTRON_RADIUS_CM / (beta2 * momentum2)
}

/// An angle of a quadrature over the sphere.
#[derive(Clone, Copy, Debug)]
pub struct AngleNode {
    pub one_minus_cos: f64,
    pub sin_half_angle: f64,
    /// 2 pi sin(theta) d theta.
    pub solid_angle: f64,
}

/// Nodes from 0 to `greatest` (radians): panels grow from a hundredth of the screening angle, and are no wider than
/// `widest`, so that they resolve both the screened peak and Legendre polynomials of high degree.
pub fn angle_nodes(eta: f64, greatest: f64, widest: f64) -> Vec<AngleNode> {
    let innermost = (0.01 * eta.sqrt()).min(greatest / 2.0);
    let mut boundaries = vec![0.0];
    for panel in geometric_panels(innermost, greatest, 1.4).windows(2) {
        boundaries.extend(even_boundaries(panel[0], panel[1], widest));
    }
    boundaries.push(greatest);
    nodes_in(&boundaries)
}

/// Nodes from `low` to `high` (radians) in even panels.
pub fn angle_nodes_between(low: f64, high: f64, widest: f64) -> Vec<AngleNode> {
    let mut boundaries = even_boundaries(low, high, widest);
    boundaries.push(high);
    nodes_in(&boundaries)
}

/// Lower boundaries of even panels no wider than `widest`.
fn even_boundaries(low: f64, high: f64, widest: f64) -> Vec<f64> {
    let panels = ((high - low) / widest).ceil().max(1.0);
    (0..panels as usize)
        .map(|index| low + (high - low) * index as f64 / panels)
        .collect()
}

fn nodes_in(boundaries: &[f64]) -> Vec<AngleNode> {
    let rule = GaussLegendre::new(POINTS);
    boundaries
        .windows(2)
        .flat_map(|panel| rule.on(panel[0], panel[1]))
        .map(|(angle, weight)| {
            let sin_half_angle = (angle / 2.0).sin();
            AngleNode {
                one_minus_cos: 2.0 * sin_half_angle * sin_half_angle,
                sin_half_angle,
                solid_angle: 2.0 * PI * angle.sin() * weight,
            }
        })
        .collect()
}

/// Scattering by the nucleus of an element at one energy.
pub struct Nucleus {
    z: f64,
    eta: f64,
    scale_cm2: f64,
    ratio: MottRatio,
}

impl Nucleus {
    pub fn new(atomic_number: u32, charge: Charge, energy_mev: f64) -> Self {
        let z = f64::from(atomic_number);
        Self {
            z,
            eta: moliere_screening(z, energy_mev),
            scale_cm2: rutherford_scale_cm2(energy_mev),
            ratio: MottRatio::new(atomic_number, charge, energy_mev),
        }
    }

    pub fn eta(&self) -> f64 {
        self.eta
    }

    /// Screened cross section of a unit charge without spin, cm2/sr.
    pub fn rutherford_cm2_sr(&self, node: &AngleNode) -> f64 {
        self.scale_cm2 / (node.one_minus_cos + 2.0 * self.eta).powi(2)
    }

    /// Cross section of the nucleus, cm2/sr an atom.
    pub fn differential_cm2_sr(&self, node: &AngleNode) -> f64 {
        self.z * self.z * self.ratio.at(node.sin_half_angle) * self.rutherford_cm2_sr(node)
    }

    /// First and second transport cross sections, cm2 an atom: integrals of 1 - P_1 and 1 - P_2.
    pub fn transport_cm2(&self) -> [f64; 2] {
        let mut moments = [0.0; 2];
        for node in angle_nodes(self.eta, PI, 0.2) {
            let weight = node.solid_angle * self.differential_cm2_sr(&node);
            moments[0] += weight * node.one_minus_cos;
            moments[1] += weight * node.one_minus_cos * (3.0 - 1.5 * node.one_minus_cos);
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{assert_relative, shared_rows};

    /// Screening, first and second transport cross sections of the project's table, made by another program.
    #[test]
    fn transport_cross_sections_are_those_of_the_table() {
        let Some(rows) = shared_rows("electrons/elastic.csv") else {
            return;
        };
        let mut compared = 0;
        for row in rows.iter().filter(|row| row[0] < 30.0) {
            let atomic_number = row[0] as u32;
            assert_relative(moliere_screening(row[0], row[1]), row[2], 1e-4, "eta");
            for (charge, columns) in [
                (Charge::Electron, &row[3..5]),
                (Charge::Positron, &row[5..7]),
            ] {
                let transport = Nucleus::new(atomic_number, charge, row[1]).transport_cm2();
                let place = format!("Z = {atomic_number} {charge:?} {} MeV", row[1]);
                assert_relative(transport[0], columns[0], 1e-4, &format!("first, {place}"));
                assert_relative(transport[1], columns[1], 1e-4, &format!("second, {place}"));
                compared += 2;
            }
        }
        assert!(compared > 2000, "{compared}");
    }
}
