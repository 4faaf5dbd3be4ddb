//! Scattering of a medium that multiple scattering takes together: nuclei, and electrons below the production threshold.

use crate::charge::{Charge, primary_one_minus_cos};
use crate::elastic::{AngleNode, Nucleus, angle_nodes, angle_nodes_between};
use crate::hard::differential_cm2_mev_g;
use crate::medium::Medium;
use crate::numeric::{geometric_panels, integrate};
use std::f64::consts::PI;

/// Widest panel of angles, radians: twelve points in it resolve Legendre polynomials of the highest degree.
const WIDEST_PANEL: f64 = 0.01;

/// Cross section of a medium over the angle, as nodes of a quadrature.
pub struct SingleScattering {
    nodes: Vec<AngleNode>,
    /// Solid angle times cross section of each node, cm2/g.
    weights_cm2_g: Vec<f64>,
    /// Screening angles of the elements differ little; the smallest bounds the degree of moments.
    least_screening: f64,
}

impl SingleScattering {
    /// Nuclei scatter by Mott's cross section, electrons by Rutherford's up to the deflection of a collision that
    /// transfers `cut_mev`. Electrons are scaled such that with the hard collisions, which are transported one by one,
    /// their first moment equals the nucleus's over Z: nothing is counted twice.
    pub fn new(medium: &Medium, charge: Charge, energy_mev: f64, cut_mev: f64) -> Self {
        let nuclei: Vec<Nucleus> = medium
            .constituents
            .iter()
            .map(|element| Nucleus::new(element.atomic_number, charge, energy_mev))
            .collect();
        let least_screening = nuclei
            .iter()
            .map(Nucleus::eta)
            .fold(f64::INFINITY, f64::min);
        let greatest_transfer_mev = cut_mev.min(charge.maximum_transfer_mev(energy_mev));
        let greatest_one_minus_cos = primary_one_minus_cos(energy_mev, greatest_transfer_mev);
        let nodes = nodes_with_edge(least_screening, greatest_one_minus_cos);
        let hard_cm2 =
            hard_moment_cm2_g(medium, charge, energy_mev, cut_mev) / medium.electrons_per_g();

        let mut weights_cm2_g = vec![0.0; nodes.len()];
        for (element, nucleus) in medium.constituents.iter().zip(&nuclei) {
            let soft = |node: &AngleNode| {
                if node.one_minus_cos <= greatest_one_minus_cos {
                    nucleus.rutherford_cm2_sr(node)
                } else {
                    0.0
                }
            };
            let nuclear_moment = first_moment(&nodes, |node| nucleus.differential_cm2_sr(node));
            let target_moment_cm2 = nuclear_moment / element.z().powi(2) - hard_cm2;
            let electron_scale = target_moment_cm2.max(0.0) / first_moment(&nodes, soft);
            for (weight, node) in weights_cm2_g.iter_mut().zip(&nodes) {
                let atom =
                    nucleus.differential_cm2_sr(node) + element.z() * electron_scale * soft(node);
                *weight += element.atoms_per_g() * node.solid_angle * atom;
            }
        }
        Self {
            nodes,
            weights_cm2_g,
            least_screening,
        }
    }

    pub fn nodes(&self) -> impl Iterator<Item = (&AngleNode, f64)> {
        self.nodes.iter().zip(self.weights_cm2_g.iter().copied())
    }

    pub fn least_screening(&self) -> f64 {
        self.least_screening
    }

    /// Cross section of deflections beyond an angle, cm2/g.
    pub fn beyond_cm2_g(&self, one_minus_cos: f64) -> f64 {
        self.nodes()
            .filter(|(node, _)| node.one_minus_cos > one_minus_cos)
            .map(|(_, weight)| weight)
            .sum()
    }
}

/// Nodes whose panels meet at the edge of the electrons' scattering.
fn nodes_with_edge(eta: f64, edge_one_minus_cos: f64) -> Vec<AngleNode> {
    let edge = 2.0 * (edge_one_minus_cos / 2.0).sqrt().min(1.0).asin();
    let mut nodes = angle_nodes(eta, edge, WIDEST_PANEL);
    nodes.extend(angle_nodes_between(edge, PI, WIDEST_PANEL));
    nodes
}

fn first_moment(nodes: &[AngleNode], differential_cm2_sr: impl Fn(&AngleNode) -> f64) -> f64 {
    nodes
        .iter()
        .map(|node| node.solid_angle * node.one_minus_cos * differential_cm2_sr(node))
        .sum()
}

/// First moment of the primary's deflection in hard collisions, cm2/g.
fn hard_moment_cm2_g(medium: &Medium, charge: Charge, energy_mev: f64, cut_mev: f64) -> f64 {
    let greatest_mev = charge.maximum_transfer_mev(energy_mev);
    if cut_mev >= greatest_mev {
        return 0.0;
    }
    integrate(
        &geometric_panels(cut_mev, greatest_mev, 1.5),
        |transfer_mev| {
            let differential = differential_cm2_mev_g(medium, charge, energy_mev, transfer_mev);
            differential * primary_one_minus_cos(energy_mev, transfer_mev)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::assert_relative;
    use physics::Material;

    /// Soft and hard scattering together turn a particle as Z(Z + 1) Rutherford scattering with Mott's ratio does, at any
    /// production threshold.
    #[test]
    fn soft_and_hard_scattering_are_that_of_z_times_z_plus_one() {
        let medium = Medium::of(Material::Water);
        for charge in Charge::BOTH {
            for energy_mev in [0.1, 1.0, 6.0, 20.0] {
                let expected: f64 = medium
                    .constituents
                    .iter()
                    .map(|element| {
                        let nucleus = Nucleus::new(element.atomic_number, charge, energy_mev);
                        element.atoms_per_g()
                            * nucleus.transport_cm2()[0]
                            * (1.0 + 1.0 / element.z())
                    })
                    .sum();
                for cut_mev in [0.1, 0.2] {
                    let soft: f64 = SingleScattering::new(&medium, charge, energy_mev, cut_mev)
                        .nodes()
                        .map(|(node, weight)| node.one_minus_cos * weight)
                        .sum();
                    let hard = hard_moment_cm2_g(&medium, charge, energy_mev, cut_mev);
                    let place = format!("{charge:?} {energy_mev} MeV, cut {cut_mev}");
                    assert_relative(soft + hard, expected, 1e-6, &place);
                    assert!(hard < 0.2 * soft, "{place}: {hard} beside {soft}");
                }
            }
        }
    }
}
