//! From objectives to fluence maps in one call: columns, the optimum, and the true dose of the maps as the outer loop.

use super::arcs::Sectors;
use super::beamlets::BeamletError;
use super::columns::{ColumnError, Columns};
use super::hot_spots::Greatest;
use super::monitor_units::MonitorUnits;
use super::objective::Objective;
use super::optimiser::Optimiser;
use super::progress::Progress;
use super::receipt::{OptimiseReceipt, since_ms};
use super::refine::RefinedLeaves;
use super::remarks::OptimiseRemark;
use super::rows::{Rows, RowsError};
use super::setup::Inputs;
use super::solve::NoValue;
use analysis::RunError;
use case::Plan;
use engine::JobControl;
use engine::dose::DoseError;
use geometry::GridError;
use physics::MachineError;
use sequence::{SequenceError, sequence_plan};
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// Why a plan is not optimised.
#[derive(Debug, Error)]
pub enum OptimiseError {
    #[error("there is no target: give a structure the type PTV, CTV or GTV")]
    NoTarget,
    #[error("the plan '{0}' has no beams that are computed")]
    NoBeams(String),
    #[error("no objective names a structure with rows")]
    NoObjectives,
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("the dose grid: {0}")]
    Grid(#[from] GridError),
    #[error(transparent)]
    Rows(#[from] RowsError),
    #[error(transparent)]
    Beamlets(#[from] BeamletError),
    #[error(transparent)]
    Columns(#[from] ColumnError),
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error("the correction at rest: {0}")]
    Run(#[from] RunError),
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    #[error(transparent)]
    NoValue(#[from] NoValue),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Optimised {
    /// The plan with maps; each beam has the monitor units of its strongest beamlet.
    pub plan: Plan,
    pub columns: Columns,
    pub rows: Arc<Rows>,
    /// All minimised objectives, at their last dose levels.
    pub objectives: Vec<Objective>,
    pub reference_gy: f64,
    /// Price of monitor units, and the rows of the maps.
    pub monitor_units: MonitorUnits,
    /// Beam number, u and v sides (mm) and gantry angle of each column.
    pub beamlets: Vec<[f64; 6]>,
    pub offset_gy: Vec<f32>,
    pub fluences: Vec<f64>,
    /// Lower bounds of the fluences: what leaks through closed leaves.
    pub lower: Vec<f64>,
    /// Upper bounds of the fluences, infinite where there is none.
    pub upper: Vec<f64>,
    pub doses_gy: Vec<f32>,
    pub objective: f64,
    pub receipt: OptimiseReceipt,
    /// The last move of the true dose in the targets, percent of the reference dose.
    pub moved_percent: f64,
    /// Whether it was stopped before convergence.
    pub stopped: bool,
    /// Refined leaves that deliver the maps, if the inputs name a technique.
    pub leaves: Option<RefinedLeaves>,
    /// Greatest doses of the last true dose of the maps.
    pub greatest: Arc<Greatest>,
    pub remarks: Vec<OptimiseRemark>,
}

/// Finds fluence maps that meet `objectives` best; `reference_gy` is the prescription, or another dose of the same size, Gy of all
/// fractions. If `control` is cancelled once the columns are computed, the current maps are kept.
///
/// # Errors
/// [`OptimiseError`].
pub fn optimise(
    inputs: &Inputs<'_>,
    objectives: Vec<Objective>,
    reference_gy: f64,
    control: &JobControl,
    report: &mut dyn FnMut(Progress),
) -> Result<Optimised, OptimiseError> {
    let sectors = inputs
        .technique
        .map(|_| Sectors::new(inputs.plan, &inputs.target_mm(), inputs.beamlet_mm))
        .transpose()?
        .flatten();
    let map_inputs = match &sectors {
        Some(sectors) => inputs.with_plan(&sectors.middles, &sectors.windows),
        None => inputs.with_plan(inputs.plan, &[]),
    };
    let mut optimiser = Optimiser::new(&map_inputs, objectives, reference_gy, None)?;
    let mut stopped = false;
    while !optimiser.is_at_rest() && !stopped {
        let step = optimiser.advance(control, &mut |progress, _| {
            report(progress);
            !control.is_cancelled()
        });
        stopped = control.is_cancelled() && !optimiser.fluences.is_empty();
        if !stopped {
            step?;
        }
    }
    let leaves_start = Instant::now();
    let leaves = inputs.technique.map(|technique| match &sectors {
        Some(sectors) => sectors.leaves(inputs, &optimiser, technique, control, report),
        None => {
            let sequenced = sequence_plan(&optimiser.with_maps(&optimiser.fluences), technique)?;
            optimiser.refined(&sequenced.plan, control, report)
        }
    });
    let leaves = leaves.transpose()?;
    let mut receipt = optimiser.receipt.clone();
    if let Some(leaves) = &leaves {
        (receipt.leaf_doses, receipt.leaves_ms) = (leaves.true_doses, since_ms(leaves_start));
    }
    let doses_gy = optimiser.doses_gy();
    let plan = optimiser.with_maps(&optimiser.fluences);
    let mut remarks = optimiser.remarks();
    remarks.extend(OptimiseRemark::of_plan(
        leaves.as_ref().map_or(&plan, |leaves| &leaves.plan),
    ));
    remarks.extend(leaves.iter().flat_map(|leaves| leaves.refinement.remarks()));
    remarks.extend(OptimiseRemark::of_receipt(&receipt));
    Ok(Optimised {
        plan,
        remarks,
        greatest: Arc::clone(optimiser.greatest()),
        beamlets: optimiser.setup.places(),
        columns: optimiser.columns,
        rows: optimiser.setup.rows,
        objectives: optimiser.objectives,
        reference_gy,
        monitor_units: optimiser.monitor_units,
        offset_gy: optimiser.offset_gy,
        fluences: optimiser.fluences,
        lower: optimiser.lower,
        upper: optimiser.upper,
        doses_gy,
        objective: optimiser.objective,
        receipt,
        moved_percent: optimiser.moved_percent.unwrap_or(100.0),
        stopped,
        leaves,
    })
}
