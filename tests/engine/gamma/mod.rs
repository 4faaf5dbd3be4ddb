//! Gamma against closed forms, against exhaustive search in f64, and its properties for any doses.

mod brute;
mod closed_forms;
mod phantom;
mod properties;
mod refusals;
