use super::*;
use crate::charge::Charge;
use crate::goudsmit_saunderson::SingleScattering;
use crate::medium::Medium;
use crate::test_data::assert_relative;
use physics::Material;

const PATHS: [f64; 5] = [0.002, 0.02, 0.1, 0.5, 2.0];

fn moments(material: Material, charge: Charge, energy_mev: f64) -> Moments {
    Moments::new(&SingleScattering::new(
        &Medium::of(material),
        charge,
        energy_mev,
        0.2,
    ))
}

#[test]
fn mean_legendre_polynomials_are_those_of_goudsmit_and_saunderson() {
    for material in [Material::Water, Material::Titanium] {
        for charge in Charge::BOTH {
            for energy_mev in [0.2, 1.0, 6.0] {
                let moments = moments(material, charge, energy_mev);
                for path in PATHS {
                    let quantiles = quantiles(&moments, path);
                    let second = quantiles.mean(|x| x * (3.0 - 1.5 * x));
                    let third = quantiles.mean(|x| 1.0 - third_legendre(1.0 - x));
                    let place =
                        format!("{} {charge:?} {energy_mev} MeV, K {path}", material.name());
                    let first = quantiles.mean(|x| x);
                    assert_relative(first, -(-path).exp_m1(), 1e-9, &place);
                    assert_relative(second, 1.0 - moments.mean_legendre(2, path), 3e-3, &place);
                    assert_relative(third, 1.0 - moments.mean_legendre(3, path), 3e-3, &place);
                }
            }
        }
    }
}

fn third_legendre(cos: f64) -> f64 {
    0.5 * cos * (5.0 * cos * cos - 3.0)
}

/// Large angles come from one large deflection: their share is the integral of single scattering, and rises by the small
/// deflections beside it as the path grows (90 degrees: 0.9 % at K 0.002, 8.6 % at K 0.02).
#[test]
fn large_angles_of_short_paths_are_those_of_single_scattering() {
    for material in [Material::Water, Material::Aluminium] {
        let scattering = SingleScattering::new(&Medium::of(material), Charge::Electron, 1.0, 0.2);
        let moments = Moments::new(&scattering);
        for (path, tolerance) in [(2e-3, 0.015), (0.02, 0.13)] {
            let distribution = distribution(&moments, path);
            for degrees in [60.0_f64, 90.0, 150.0] {
                let edge = 1.0 - degrees.to_radians().cos();
                let single = path * scattering.beyond_cm2_g(edge) / moments.transport_cm2_g();
                let place = format!("{} K {path}, {degrees} degrees", material.name());
                assert_relative(distribution.share_beyond(edge), single, tolerance, &place);
            }
        }
    }
}

/// Tables of 65 nodes against the distributions they are made from: the last three nodes hold 3e-5 of the draws, so shares
/// of 1e-5 are coarse.
#[test]
fn tables_keep_the_tail_of_large_angles() {
    let moments = moments(Material::Aluminium, Charge::Electron, 1.0);
    for path in [0.02, 0.1] {
        let distribution = distribution(&moments, path);
        let quantiles = quantiles(&moments, path);
        for (degrees, tolerance) in [(30.0_f64, 0.002), (90.0, 0.01), (150.0, 0.2)] {
            let edge = 1.0 - degrees.to_radians().cos();
            let place = format!("K {path}, {degrees} degrees");
            assert_relative(
                share_beyond(&quantiles, edge),
                distribution.share_beyond(edge),
                tolerance,
                &place,
            );
        }
    }
}

fn quantiles(moments: &Moments, path: f64) -> Quantiles {
    Quantiles::for_paths(moments, &[path]).unwrap().remove(0)
}

fn distribution(moments: &Moments, path: f64) -> Distribution {
    Distribution::for_paths(moments, &[path]).remove(0)
}

impl Distribution {
    /// Probability beyond a deflection, between places by straight lines.
    fn share_beyond(&self, one_minus_cos: f64) -> f64 {
        let upper = self
            .one_minus_cos
            .partition_point(|&place| place < one_minus_cos);
        let (low, high) = (self.one_minus_cos[upper - 1], self.one_minus_cos[upper]);
        let fraction = (one_minus_cos - low) / (high - low);
        let [near, far] = [
            self.probability_beyond[upper - 1],
            self.probability_beyond[upper],
        ];
        near + fraction * (far - near)
    }
}

/// The series against scatterings drawn one by one: a Poisson number of deflections at even azimuths.
#[test]
fn the_series_is_what_single_scatterings_add_up_to() {
    let scattering =
        SingleScattering::new(&Medium::of(Material::Water), Charge::Electron, 0.02, 0.2);
    let moments = Moments::new(&scattering);
    let path = 0.02;
    let distribution = distribution(&moments, path);
    let mut analogue = Analogue::new(&scattering);
    let collisions = path * moments.total_cm2_g() / moments.transport_cm2_g();
    let histories = 200_000;
    let deflections: Vec<f64> = (0..histories)
        .map(|_| analogue.deflection(collisions))
        .collect();
    for degrees in [2.0_f64, 5.0, 10.0, 20.0, 40.0] {
        let edge = 1.0 - degrees.to_radians().cos();
        let counted =
            deflections.iter().filter(|&&x| x > edge).count() as f64 / f64::from(histories);
        let expected = distribution.share_beyond(edge);
        let sigma = (expected * (1.0 - expected) / f64::from(histories)).sqrt();
        assert!(
            (counted - expected).abs() < 4.0 * sigma,
            "{degrees} degrees: {counted} for {expected}"
        );
    }
}

/// Scatterings drawn from the nodes of a single scattering.
struct Analogue {
    one_minus_cos: Vec<f64>,
    cumulative: Vec<f64>,
    random: u64,
}

impl Analogue {
    fn new(scattering: &SingleScattering) -> Self {
        let one_minus_cos = scattering
            .nodes()
            .map(|(node, _)| node.one_minus_cos)
            .collect();
        let mut sum = 0.0;
        let cumulative = scattering
            .nodes()
            .map(|(_, weight)| {
                sum += weight;
                sum
            })
            .collect();
        Self {
            one_minus_cos,
            cumulative,
            random: 1,
        }
    }

    /// Knuth's linear congruential generator, MMIX; its upper bits.
    fn uniform(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 1 - cos after scatterings whose mean number is `collisions`.
    fn deflection(&mut self, collisions: f64) -> f64 {
        let mut cos = 1.0;
        let mut path = -(1.0 - self.uniform()).ln();
        while path < collisions {
            let target = self.uniform() * self.cumulative[self.cumulative.len() - 1];
            let node = self.cumulative.partition_point(|&sum| sum < target);
            let single = 1.0 - self.one_minus_cos[node];
            let sines = ((1.0 - cos * cos) * (1.0 - single * single))
                .max(0.0)
                .sqrt();
            cos = cos * single + sines * (2.0 * std::f64::consts::PI * self.uniform()).cos();
            path -= (1.0 - self.uniform()).ln();
        }
        1.0 - cos
    }
}

/// Probability of draws beyond a deflection.
fn share_beyond(quantiles: &Quantiles, one_minus_cos: f64) -> f64 {
    let [mut low, mut high] = [0.0, 1.0];
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if quantiles.at(middle) < one_minus_cos {
            low = middle
        } else {
            high = middle
        }
    }
    1.0 - probability_at(low)
}

#[test]
fn draws_are_within_the_sphere_and_rise_with_the_probability() {
    for energy_mev in [0.015_625, 0.2, 6.0, 32.0] {
        let moments = moments(Material::Water, Charge::Electron, energy_mev);
        for path in PATHS {
            let quantiles = quantiles(&moments, path);
            let draws: Vec<f64> = (0..=1000)
                .map(|index| quantiles.one_minus_cos(f64::from(index) / 1000.0))
                .collect();
            assert!(
                draws.windows(2).all(|pair| pair[0] <= pair[1]),
                "{energy_mev} MeV, K {path}"
            );
            assert!(
                draws[0] >= 0.0 && (draws[1000] - 2.0).abs() < 1e-9,
                "{energy_mev} MeV, K {path}"
            );
        }
    }
}
