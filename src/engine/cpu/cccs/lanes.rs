//! Sixteen neighbouring lines at a time: plain arrays that the compiler turns into vector instructions.

use std::ops::{Add, AddAssign, Mul, Sub};

/// Lines in a strip.
pub const LANES: usize = 16;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct F32x16(pub [f32; LANES]);

impl F32x16 {
    pub const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    pub fn splat(v: f32) -> Self {
        Self([v; LANES])
    }

    /// The first `LANES` values of a slice, which has at least as many.
    #[inline(always)]
    pub fn load(from: &[f32]) -> Self {
        match from.first_chunk() {
            Some(v) => Self(*v),
            None => Self::ZERO,
        }
    }

    /// `self * b + c`, in one step where the machine can.
    #[inline(always)]
    pub fn mul_add<const FUSED: bool>(self, b: Self, c: Self) -> Self {
        let mut v = c.0;
        for i in 0..LANES {
            v[i] = if FUSED { self.0[i].mul_add(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] };
        }
        Self(v)
    }

    /// `c - self * b`, in one step where the machine can.
    #[inline(always)]
    pub fn mul_sub_from<const FUSED: bool>(self, b: Self, c: Self) -> Self {
        let mut v = c.0;
        for i in 0..LANES {
            v[i] = if FUSED { (-self.0[i]).mul_add(b.0[i], c.0[i]) } else { c.0[i] - self.0[i] * b.0[i] };
        }
        Self(v)
    }

    #[inline(always)]
    pub fn min(self, most: f32) -> Self {
        let mut v = self.0;
        for v in &mut v {
            *v = if *v < most { *v } else { most };
        }
        Self(v)
    }

    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        if let Some(v) = to.first_chunk_mut() {
            *v = self.0;
        }
    }
}

macro_rules! lane_wise {
    ($trait:ident, $name:ident, $op:tt) => {
        impl $trait for F32x16 {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let mut v = self.0;
                for (a, b) in v.iter_mut().zip(&other.0) {
                    *a $op *b;
                }
                Self(v)
            }
        }
    };
}
lane_wise!(Add, add, +=);
lane_wise!(Sub, sub, -=);
lane_wise!(Mul, mul, *=);

impl AddAssign for F32x16 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
