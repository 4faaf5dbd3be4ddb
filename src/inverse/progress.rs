//! Progress of an optimisation, and its answer so far.

use super::hot_spots::Greatest;
use super::receipt::OptimiseReceipt;
use super::rows::Rows;
use case::Plan;
use std::sync::Arc;

/// Progress of an optimisation while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Number of beams whose columns are computed, and of all beams.
    Columns {
        done: usize,
        of: usize,
    },
    Iteration {
        objective: f64,
        evaluations: u64,
    },
    /// Change of the true dose in the targets, percent of the reference dose.
    TrueDose {
        moved_percent: f64,
    },
    /// A run of histories that corrects the maps at rest, by its number from 1 on, and its mean relative standard deviation so far where
    /// the dose is above half its maximum, percent.
    Histories {
        run: usize,
        uncertainty_percent: Option<f64>,
    },
    /// Objective under true dose before and after a refinement pass of leaves.
    Leaves {
        before: f64,
        after: f64,
    },
}

/// The optimiser's answer so far.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The plan with maps; each beam has the monitor units of its strongest beamlet.
    pub plan: Plan,
    pub rows: Arc<Rows>,
    /// Gy of each row: columns times fluences, and the offset.
    pub doses_gy: Vec<f32>,
    /// Greatest doses of the last true dose.
    pub greatest: Arc<Greatest>,
    /// Share of each requested objective in the total, in their order.
    pub shares: Vec<f64>,
    /// Shares of the fall-off round the targets and of the monitor units.
    pub fall_off_share: f64,
    pub monitor_units_share: f64,
    pub objective: f64,
    pub receipt: OptimiseReceipt,
}

/// Is called after each step with its progress and a source of snapshots, which are available once all columns are computed; returns
/// whether to continue.
pub type Watch<'a> = dyn FnMut(Progress, &dyn Fn() -> Option<Snapshot>) -> bool + 'a;
