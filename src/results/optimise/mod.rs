//! The optimisation of a plan's fluences: what it is made of is asked of the graph, as doses are.

mod curve;
mod job;
mod leaves;
mod live;
mod optimum;
mod query;
mod request;

pub use curve::{CurvePoint, MonitorUnitCurveOf};
pub use job::{OptimisedPlan, optimise_plan};
pub use leaves::{Leaves, LeavesOf, LeavesSource};
pub use live::{LiveOptimiser, Optimum, OptimumStage, OtherShares, Step};
pub use optimum::OptimumOf;
pub use query::OptimiseQuery;

/// Width of a beamlet along the leaves' travel, mm, unless chosen.
pub const BEAMLET_MM: f64 = 5.0;

#[cfg(test)]
mod tests;
