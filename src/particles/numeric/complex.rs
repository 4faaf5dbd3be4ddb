//! Complex numbers, as far as Coulomb partial waves need them.

use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub const I: Self = Self { re: 0.0, im: 1.0 };

    pub fn from_phase(phase: f64) -> Self {
        Self {
            re: phase.cos(),
            im: phase.sin(),
        }
    }

    pub fn norm2(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    pub fn inverse(self) -> Self {
        let norm2 = self.norm2();
        Self {
            re: self.re / norm2,
            im: -self.im / norm2,
        }
    }

    /// Argument of Gamma(re + i im), continuous along im, for re > 0: Stirling's series after recurrence to a real part
    /// where four terms hold sixteen digits.
    pub fn gamma_argument(self) -> f64 {
        let mut argument = 0.0;
        let mut z = self;
        while z.re < 15.0 {
            argument -= z.im.atan2(z.re);
            z.re += 1.0;
        }
        let ln_modulus = 0.5 * z.norm2().ln();
        let phase = z.im.atan2(z.re);
        // Im of (z - 1/2) ln z - z + 1/(12 z) - 1/(360 z^3) + 1/(1260 z^5) - 1/(1680 z^7).
        let inverse = z.inverse();
        let inverse2 = inverse * inverse;
        let cubed = inverse * inverse2;
        let fifth = cubed * inverse2;
        let seventh = fifth * inverse2;
        argument + (z.re - 0.5) * phase + z.im * ln_modulus - z.im + inverse.im / 12.0
            - cubed.im / 360.0
            + fifth.im / 1260.0
            - seventh.im / 1680.0
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Mul<f64> for Complex {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self {
            re: self.re * factor,
            im: self.im * factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz & Stegun, table 6.7: Gamma(1 + i) = 0.49801566811836 - 0.15494982830181 i.
    #[test]
    fn the_argument_of_gamma_is_that_of_the_tables() {
        let argument = Complex { re: 1.0, im: 1.0 }.gamma_argument();
        assert!(
            (argument - (-0.154_949_828_301_81_f64).atan2(0.498_015_668_118_36)).abs() < 1e-13,
            "{argument}"
        );
    }
}
