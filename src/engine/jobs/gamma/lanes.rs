//! Vectors of a few numbers, which the compiler keeps in one register.

use std::array::from_fn;
use std::ops::{Add, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug)]
pub struct F32xN<const N: usize>(pub [f32; N]);

impl<const N: usize> F32xN<N> {
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        Self([value; N])
    }

    /// The values from an index on; 0 beyond their end.
    #[inline(always)]
    pub fn load(values: &[f32], at: usize) -> Self {
        match values.get(at..at + N).and_then(|part| part.try_into().ok()) {
            Some(part) => Self(part),
            None => Self(from_fn(|n| values.get(at + n).copied().unwrap_or(0.0))),
        }
    }

    /// The values from `back` before an index on; 0 where there are none.
    #[inline(always)]
    pub fn before(values: &[f32], at: usize, back: usize) -> Self {
        let value = |n: usize| (at + n).checked_sub(back).and_then(|at| values.get(at)).copied();
        match at.checked_sub(back) {
            Some(at) => Self::load(values, at),
            None => Self(from_fn(|n| value(n).unwrap_or(0.0))),
        }
    }

    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        Self(from_fn(|n| if self.0[n] < other.0[n] { self.0[n] } else { other.0[n] }))
    }

    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        Self(from_fn(|n| if self.0[n] > other.0[n] { self.0[n] } else { other.0[n] }))
    }

    #[inline(always)]
    pub fn divided_by(self, other: Self) -> Self {
        Self(from_fn(|n| self.0[n] / other.0[n]))
    }

    /// The least of them.
    #[inline(always)]
    pub fn least(self) -> f32 {
        self.0.into_iter().fold(f32::INFINITY, |a, b| if b < a { b } else { a })
    }

    /// `this` where these numbers are 0 or more, else `that`.
    #[inline(always)]
    pub fn if_not_negative(self, this: Self, that: f32) -> Self {
        Self(from_fn(|n| if self.0[n] >= 0.0 { this.0[n] } else { that }))
    }

    /// `this` where these numbers are above `limit`, else `that`.
    #[inline(always)]
    pub fn above(self, limit: Self, this: Self, that: Self) -> Self {
        Self(from_fn(|n| if self.0[n] > limit.0[n] { this.0[n] } else { that.0[n] }))
    }
}

impl<const N: usize> Add for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(from_fn(|n| self.0[n] + other.0[n]))
    }
}

impl<const N: usize> Sub for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(from_fn(|n| self.0[n] - other.0[n]))
    }
}

impl<const N: usize> Mul for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(from_fn(|n| self.0[n] * other.0[n]))
    }
}

impl<const N: usize> Mul<f32> for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: f32) -> Self {
        Self(from_fn(|n| self.0[n] * other))
    }
}

impl<const N: usize> Neg for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(from_fn(|n| -self.0[n]))
    }
}
