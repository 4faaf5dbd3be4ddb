//! Requests and answers of each job, with the physics and the tables that all devices share.

pub mod cccs;
pub mod drr;
pub mod drr_gradient;
pub mod failure;
pub mod gamma;
pub mod influence;
pub mod mccs;
pub mod path;

/// Named phases of a job and their times, ms.
pub type Phases = Vec<(String, f64)>;

/// A size or index as kernels count. One that does not fit stands for more memory than a card has, which refuses it before.
pub fn int(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
