//! Gamma against exhaustive search in f64, and its properties for any doses.

mod brute;
mod phantom;
mod properties;
mod refusals;
