//! DRRs and their gradient by pose, for the pose search.

pub mod cpu;
pub mod cuda;
pub(crate) mod information;
pub(crate) mod level;
pub(crate) mod rank;
pub(crate) mod selftest;
pub(crate) mod sums;

pub use information::Information;
pub use level::{AXES, Compared, Level, numbers, pose_of};
pub use rank::Rank;
pub use sums::{CorrelationAtPose, Features, Sums};

#[cfg(test)]
mod tests;
