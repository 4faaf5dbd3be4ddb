//! Inverse planning: the fluence maps of beams whose true dose meets objectives best.
//!
//! Doses of beamlets add up (`physics::Fluence` of a map is linear in it, and the engine in the fluence), so the dose of sampled voxels is
//! a matrix times the beamlets' fluences. [`Problem`] is the weighted sum of objectives, [`solve()`] minimises it, and [`optimise()`] adds
//! the difference to the true dose of the maps until that no longer changes. That dose is of collapsed cone, and at rest of an engine that
//! samples histories, where one is chosen.

mod arcs;
mod beamlets;
mod columns;
mod handles;
mod hot_spots;
mod leaf_bounds;
mod leaf_variables;
mod levels;
mod matrix_file;
mod monitor_units;
mod objective;
mod optimise;
mod optimiser;
mod passes;
mod problem;
mod progress;
mod projected;
mod receipt;
mod refine;
mod refinement;
mod remarks;
mod rows;
mod setup;
mod solve;
mod wishes;

pub use arcs::with_arcs;
pub use beamlets::{BeamletError, Beamlets};
pub use columns::{BeamColumns, ColumnError, Columns};
pub use hot_spots::Greatest;
pub use matrix_file::write_matrix;
pub use objective::{Aim, Asked, Objective, of_goal};
pub use optimise::{OptimiseError, Optimised, optimise};
pub use optimiser::{Optimiser, RUNS};
pub use problem::Problem;
pub use progress::{Progress, Snapshot, Watch};
pub use receipt::{HistoriesReceipt, OptimiseReceipt};
pub use refine::RefinedLeaves;
pub use refinement::{Refinement, RejectedBeam};
pub use remarks::OptimiseRemark;
pub use rows::{RowSet, Rows, RowsError, Sampling};
pub use setup::{FieldWindow, Inputs, Region};
pub use solve::{Bounds, Differentiable, NoValue, Solved, Start, Stop, solve};
pub use wishes::{WishedStructure, of_wish};
