//! Moments G_l: integrals of the single scattering times 1 - P_l(cos).

use super::SingleScattering;

/// Highest degree; reached by the shortest paths alone.
const HIGHEST_DEGREE: usize = 1600;

/// Moments of a single scattering.
#[derive(Clone, Debug)]
pub struct Moments {
    /// From l = 0, where it is zero, cm2/g.
    by_degree_cm2_g: Vec<f64>,
    total_cm2_g: f64,
}

impl Moments {
    pub fn new(scattering: &SingleScattering) -> Self {
        // Moments reach the total where a polynomial turns within the screening angle.
        let degree = (12.0 / scattering.least_screening().sqrt()) as usize;
        let degree = degree.clamp(64, HIGHEST_DEGREE);
        let mut by_degree_cm2_g = vec![0.0; degree + 1];
        let mut total_cm2_g = 0.0;
        let mut deficits = Vec::new();
        for (node, weight) in scattering.nodes() {
            total_cm2_g += weight;
            legendre_deficits(node.one_minus_cos, degree, &mut deficits);
            for (moment, deficit) in by_degree_cm2_g.iter_mut().zip(&deficits) {
                *moment += weight * deficit;
            }
        }
        Self {
            by_degree_cm2_g,
            total_cm2_g,
        }
    }

    /// First transport cross section kappa of a scattering, cm2/g, without the moments above it.
    pub fn first_cm2_g(scattering: &SingleScattering) -> f64 {
        scattering
            .nodes()
            .map(|(node, weight)| weight * node.one_minus_cos)
            .sum()
    }

    /// First transport cross section kappa, cm2/g.
    pub fn transport_cm2_g(&self) -> f64 {
        self.by_degree_cm2_g[1]
    }

    pub fn by_degree_cm2_g(&self) -> &[f64] {
        &self.by_degree_cm2_g
    }

    pub fn total_cm2_g(&self) -> f64 {
        self.total_cm2_g
    }

    /// <P_l> after a path of K first transport mean free paths: exp(-K G_l/G_1).
    pub fn mean_legendre(&self, degree: usize, path: f64) -> f64 {
        (-path * self.by_degree_cm2_g[degree] / self.transport_cm2_g()).exp()
    }

    /// Probability of no scattering at all.
    pub fn unscattered(&self, path: f64) -> f64 {
        (-path * self.total_cm2_g / self.transport_cm2_g()).exp()
    }
}

/// 1 - P_l for l from 0 to `degree`, at x = 1 - cos: by the recurrence of Legendre polynomials in a form that does not
/// cancel at small angles.
pub(super) fn legendre_deficits(x: f64, degree: usize, deficits: &mut Vec<f64>) {
    deficits.clear();
    deficits.extend([0.0, x]);
    for l in 1..degree {
        let order = l as f64;
        let combination = deficits[l] + x * (1.0 - deficits[l]);
        deficits
            .push(((2.0 * order + 1.0) * combination - order * deficits[l - 1]) / (order + 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Charge;
    use crate::elastic::Nucleus;
    use crate::medium::Medium;
    use crate::test_data::assert_relative;
    use physics::Material;

    #[test]
    fn the_recurrence_gives_legendre_polynomials() {
        let mut deficits = Vec::new();
        for cos in [-1.0_f64, -0.3, 0.5, 0.999_999] {
            legendre_deficits(1.0 - cos, 4, &mut deficits);
            let fourth = (35.0 * cos.powi(4) - 30.0 * cos * cos + 3.0) / 8.0;
            assert!((1.0 - deficits[4] - fourth).abs() < 1e-12, "{cos}");
        }
    }

    /// A threshold that no collision reaches leaves electrons and nuclei in the ratio 1 to Z: the first moment of aluminium
    /// is 14/13 of the nuclear transport cross section.
    #[test]
    fn the_first_moment_is_the_transport_cross_section() {
        let medium = Medium::of(Material::Aluminium);
        let moments = Moments::new(&SingleScattering::new(&medium, Charge::Electron, 1.0, 1.0));
        let nuclear = Nucleus::new(13, Charge::Electron, 1.0).transport_cm2()[0];
        let expected = nuclear * medium.constituents[0].atoms_per_g() * 14.0 / 13.0;
        assert_relative(moments.transport_cm2_g(), expected, 1e-6, "aluminium");
    }

    #[test]
    fn moments_rise_to_the_total_cross_section() {
        let medium = Medium::of(Material::Water);
        for energy_mev in [0.02, 1.0, 20.0] {
            let moments = Moments::new(&SingleScattering::new(
                &medium,
                Charge::Electron,
                energy_mev,
                0.2,
            ));
            let values = moments.by_degree_cm2_g();
            assert!(
                values.windows(2).take(50).all(|pair| pair[0] < pair[1]),
                "{energy_mev} MeV"
            );
            let last = values[values.len() - 1] / moments.total_cm2_g();
            assert!(
                last < 1.0 + 1e-6 && (energy_mev > 0.1 || last > 0.999),
                "{energy_mev} MeV: {last}"
            );
        }
    }
}
