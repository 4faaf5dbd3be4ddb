//! Gamma against closed forms, against exhaustive search in f64, and what must hold whatever the doses.

mod brute;
mod closed_forms;
mod phantom;
mod properties;
mod refusals;
