//! Mott's cross section of electrons and positrons by a bare nucleus, over Rutherford's.
//!
//! Partial waves as Sherman, Phys. Rev. 103, 1601 (1956), section II has them: F and G are each a closed form and a series
//! of Legendre polynomials. The series converge too slowly at small angles; multiplied twice by 1 - cos they are series
//! of the same form whose coefficients fall by four more powers of the order (Yennie, Ravenhall, Wilson, Phys. Rev. 95,
//! 500 (1954), eq. 51).

use crate::charge::{Charge, Kinematics};
use crate::constants::FINE_STRUCTURE;
use crate::numeric::{Complex, Cubic};
use std::f64::consts::PI;

/// Partial waves summed: coefficients beyond are below 1e-9 of the ratio at 3 degrees.
const PARTIAL_WAVES: usize = 400;
/// Multiplications by 1 - cos.
const REDUCTIONS: i32 = 2;
/// Angles at which the series is summed; the ratio is 1 at 0 and a smooth function of sin(theta/2) between them.
const ANGLES_DEGREES: [f64; 30] = [
    3.0, 5.0, 7.0, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0, 36.0, 42.0, 48.0, 55.0, 62.0, 70.0, 78.0,
    86.0, 94.0, 102.0, 110.0, 118.0, 126.0, 134.0, 142.0, 150.0, 157.0, 164.0, 170.0, 175.0, 179.0,
];

/// Ratio over the sine of half the angle.
pub struct MottRatio(Cubic);

impl MottRatio {
    pub fn new(atomic_number: u32, charge: Charge, energy_mev: f64) -> Self {
        let waves = PartialWaves::new(atomic_number, charge, energy_mev);
        let mut sines = vec![0.0];
        let mut ratios = vec![1.0];
        for degrees in ANGLES_DEGREES {
            let angle = degrees.to_radians();
            sines.push((angle / 2.0).sin());
            ratios.push(waves.ratio(angle));
        }
        Self(Cubic::spline(sines, ratios))
    }

    pub fn at(&self, sin_half_angle: f64) -> f64 {
        self.0.at(sin_half_angle)
    }
}

/// Series of F and G, reduced.
pub struct PartialWaves {
    /// alpha Z/beta, positive for electrons.
    strength: f64,
    beta2: f64,
    f_series: Vec<Complex>,
    g_series: Vec<Complex>,
}

impl PartialWaves {
    pub fn new(atomic_number: u32, charge: Charge, energy_mev: f64) -> Self {
        let coupling = FINE_STRUCTURE * f64::from(atomic_number);
        let beta2 = Kinematics::of(energy_mev).beta2;
        let strength = match charge {
            Charge::Electron => coupling / beta2.sqrt(),
            Charge::Positron => -coupling / beta2.sqrt(),
        };
        let waves: Vec<Complex> = (0..PARTIAL_WAVES + 2)
            .map(|k| difference(k, coupling, strength))
            .collect();
        let series = |coefficient: fn(f64, Complex, Complex) -> Complex| {
            let terms = (0..=PARTIAL_WAVES).map(|k| {
                let sign = if k % 2 == 0 { 0.5 } else { -0.5 };
                Complex::I * coefficient(k as f64, waves[k], waves[k + 1]) * sign
            });
            (0..REDUCTIONS).fold(terms.collect(), |series, _| reduce(series))
        };
        Self {
            strength,
            beta2,
            f_series: series(|k, wave, next| wave * k + next * (k + 1.0)),
            g_series: series(|k, wave, next| wave * (k * k) - next * (k + 1.0).powi(2)),
        }
    }

    /// Mott over Rutherford at an angle inside (0, pi).
    pub fn ratio(&self, angle: f64) -> f64 {
        let sin2 = (angle / 2.0).sin().powi(2);
        let cos2 = 1.0 - sin2;
        // F0 = (i/2) exp(i q ln sin^2) Gamma(1 - iq)/Gamma(1 + iq), G0 = -i q cot^2 F0.
        let gamma_argument = Complex {
            re: 1.0,
            im: self.strength,
        }
        .gamma_argument();
        let phase = self.strength * sin2.ln() - 2.0 * gamma_argument;
        let f_closed = Complex::I * Complex::from_phase(phase) * 0.5;
        let g_closed = Complex::I * f_closed * (-self.strength * cos2 / sin2);
        let divisor = (2.0 * sin2).powi(REDUCTIONS);
        let f = f_closed + legendre_sum(&self.f_series, angle.cos()) * (1.0 / divisor);
        let g = g_closed + legendre_sum(&self.g_series, angle.cos()) * (1.0 / divisor);
        let strength2 = self.strength * self.strength;
        let mott = strength2 * (1.0 - self.beta2) * f.norm2() / sin2 + g.norm2() / cos2;
        mott * 4.0 * sin2 * sin2 / strength2
    }
}

/// Coulomb wave of order k without spin minus the wave of Dirac's equation: Sherman's D_k.
fn difference(k: usize, coupling: f64, strength: f64) -> Complex {
    if k == 0 {
        return Complex::default();
    }
    let order = k as f64;
    coulomb(order, strength) - coulomb((order * order - coupling * coupling).sqrt(), strength)
}

/// exp(-i pi order) Gamma(order - iq)/((order + iq) Gamma(order + iq)).
fn coulomb(order: f64, strength: f64) -> Complex {
    let z = Complex {
        re: order,
        im: strength,
    };
    Complex::from_phase(-PI * order - 2.0 * z.gamma_argument()) * z.inverse()
}

/// Coefficients of (1 - x) sum a_k P_k(x), by the recurrence of Legendre polynomials; the last is left out.
fn reduce(series: Vec<Complex>) -> Vec<Complex> {
    (0..series.len() - 1)
        .map(|k| {
            let order = k as f64;
            let upper = series[k + 1] * ((order + 1.0) / (2.0 * order + 3.0));
            let lower = match k {
                0 => Complex::default(),
                _ => series[k - 1] * (order / (2.0 * order - 1.0)),
            };
            series[k] - upper - lower
        })
        .collect()
}

fn legendre_sum(series: &[Complex], x: f64) -> Complex {
    let (mut polynomial, mut next) = (1.0, x);
    let mut sum = Complex::default();
    for (k, &coefficient) in series.iter().enumerate() {
        sum = sum + coefficient * polynomial;
        let order = k as f64 + 1.0;
        (polynomial, next) = (
            next,
            ((2.0 * order + 1.0) * x * next - order * polynomial) / (order + 1.0),
        );
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{assert_relative, shared_text};

    /// Five digits of the project's table, made by another program: all its elements, energies and angles.
    #[test]
    fn the_ratio_is_that_of_the_table() {
        let Some(text) = shared_text("electrons/mott_ratio.csv") else {
            return;
        };
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let header = lines.next().unwrap_or_default();
        let angles: Vec<f64> = header
            .split(',')
            .filter_map(|name| name.strip_prefix("deg")?.parse().ok())
            .collect();
        assert_eq!(angles.len(), 20);
        for row in lines.map(|line| {
            line.split(',')
                .map(|field| field.parse().unwrap())
                .collect::<Vec<f64>>()
        }) {
            let charge = if row[1] < 0.0 {
                Charge::Electron
            } else {
                Charge::Positron
            };
            let waves = PartialWaves::new(row[0] as u32, charge, row[2]);
            let smooth = MottRatio::new(row[0] as u32, charge, row[2]);
            for (degrees, &table) in angles.iter().zip(&row[3..]) {
                let place = format!("Z = {} {charge:?} {} MeV {degrees} degrees", row[0], row[2]);
                let angle = degrees.to_radians();
                assert_relative(waves.ratio(angle), table, 6e-5, &place);
                let interpolated = smooth.at((angle / 2.0).sin());
                // Gold is no material of the house.
                let tolerance = if row[0] < 30.0 { 3e-4 } else { 1e-2 };
                assert!(
                    (interpolated - table).abs() < tolerance,
                    "{place}: {interpolated} for {table}"
                );
            }
        }
    }

    /// McKinley & Feshbach, Phys. Rev. 74, 1759 (1948), eq. 7: the expansion in alpha Z, exact for hydrogen to 1e-4.
    #[test]
    fn hydrogen_is_that_of_mckinley_and_feshbach() {
        for energy_mev in [0.1, 1.0, 10.0] {
            let beta2 = Kinematics::of(energy_mev).beta2;
            for degrees in [10.0_f64, 60.0, 120.0] {
                let sine = (degrees.to_radians() / 2.0).sin();
                let expansion = 1.0 - beta2 * sine * sine
                    + PI * FINE_STRUCTURE * beta2.sqrt() * sine * (1.0 - sine);
                let ratio =
                    PartialWaves::new(1, Charge::Electron, energy_mev).ratio(degrees.to_radians());
                assert!(
                    (ratio - expansion).abs() < 1e-4,
                    "{energy_mev} MeV {degrees}: {ratio}, {expansion}"
                );
            }
        }
    }
}
