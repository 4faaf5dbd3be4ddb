//! A few numbers side by side: plain arrays that the compiler keeps in vector registers.

use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct F32xN<const N: usize>(pub [f32; N]);

/// A value for every lane. A loop and not a closure, which is not always built into a function for one processor.
macro_rules! lanes {
    ($n:ident => $value:expr) => {{
        let mut lanes = [0.0; N];
        for $n in 0..N {
            lanes[$n] = $value;
        }
        Self(lanes)
    }};
}

impl<const N: usize> F32xN<N> {
    pub const ZERO: Self = Self([0.0; N]);

    #[inline(always)]
    pub const fn splat(value: f32) -> Self {
        Self([value; N])
    }

    /// The values from an index on; 0 beyond their end.
    #[inline(always)]
    pub fn load(values: &[f32], first: usize) -> Self {
        let last;
        // With the fallback in the innermost loop a preview takes 51 ms of the processor in place of 33.
        let chunk = match values.get(first..).and_then(<[f32]>::first_chunk) {
            Some(chunk) => chunk,
            None => {
                last = Self::last(values, first);
                &last.0
            }
        };
        Self(*chunk)
    }

    /// The values from an index on where they are too few. Out of line: else the compiler loads all vectors piece by piece, as it
    /// does here.
    #[cold]
    #[inline(never)]
    fn last(values: &[f32], first: usize) -> Self {
        lanes!(n => values.get(first + n).copied().unwrap_or(0.0))
    }

    /// The values from `back` before an index on; 0 where there are none.
    #[inline(always)]
    pub fn before(values: &[f32], first: usize, back: usize) -> Self {
        let value = |n: usize| {
            (first + n)
                .checked_sub(back)
                .and_then(|first| values.get(first))
                .copied()
        };
        match first.checked_sub(back) {
            Some(at) => Self::load(values, at),
            None => lanes!(n => value(n).unwrap_or(0.0)),
        }
    }

    /// Writes all values to the beginning of a slice that holds them.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        if let Some(chunk) = to.first_chunk_mut() {
            *chunk = self.0;
        }
    }

    /// `self * b + c`, in one step where the machine can.
    #[inline(always)]
    pub fn mul_add<const FUSED: bool>(self, b: Self, c: Self) -> Self {
        if FUSED {
            lanes!(n => self.0[n].mul_add(b.0[n], c.0[n]))
        } else {
            self * b + c
        }
    }

    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        lanes!(n => if self.0[n] < other.0[n] { self.0[n] } else { other.0[n] })
    }

    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        lanes!(n => if self.0[n] > other.0[n] { self.0[n] } else { other.0[n] })
    }

    /// The least of them.
    #[inline(always)]
    pub fn least(self) -> f32 {
        self.0
            .into_iter()
            .fold(f32::INFINITY, |a, b| if b < a { b } else { a })
    }

    /// `this` where these numbers are 0 or more, else `that`.
    #[inline(always)]
    pub fn if_not_negative(self, this: Self, that: f32) -> Self {
        lanes!(n => if self.0[n] >= 0.0 { this.0[n] } else { that })
    }

    /// `this` where these numbers are above `limit`, else `that`.
    #[inline(always)]
    pub fn above(self, limit: Self, this: Self, that: Self) -> Self {
        lanes!(n => if self.0[n] > limit.0[n] { this.0[n] } else { that.0[n] })
    }
}

macro_rules! lane_wise {
    ($($trait:ident $name:ident $op:tt),*) => {$(
        impl<const N: usize> $trait for F32xN<N> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                lanes!(n => self.0[n] $op other.0[n])
            }
        }
    )*};
}
lane_wise!(Add add +, Sub sub -, Mul mul *, Div div /);

impl<const N: usize> Mul<f32> for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: f32) -> Self {
        lanes!(n => self.0[n] * other)
    }
}

impl<const N: usize> Neg for F32xN<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        lanes!(n => -self.0[n])
    }
}
