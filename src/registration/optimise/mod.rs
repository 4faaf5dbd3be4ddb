//! Minimisation of a function of a few numbers within bounds. The search maps the free numbers of a pose to
//! these; a generation or a set of trial points is requested at once, so that a card renders it in one
//! launch.

mod cma;
mod gauss_newton;
mod linear;
mod powell;

pub use cma::{CmaEs, CmaSettings};
pub use gauss_newton::{GaussNewton, Quadratic, refine};
pub use powell::{PowellSettings, powell};

/// Values a number may take, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    fn clamp(self, x: f64) -> f64 {
        x.max(self.low).min(self.high)
    }
}

/// The best point found and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub point: Vec<f64>,
    pub value: f64,
}

#[cfg(test)]
mod tests;
