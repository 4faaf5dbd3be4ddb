//! DRRs and how they change with the pose, for the pose search.

pub use super::jobs::slopes::{
    AXES, Compared, Features, Information, Level, Rank, Slopes, Sums, numbers, pose_of,
};

#[cfg(test)]
mod tests;
