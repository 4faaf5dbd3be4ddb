//! DRRs and their gradient by pose, for the pose search.

pub use super::jobs::drr_gradient::{
    AXES, Compared, CorrelationAtPose, Features, Information, Level, Rank, Sums, numbers, pose_of,
};

#[cfg(test)]
mod tests;
