//! What a dose means for the structures: DVH, plan sums and plan figures.

mod dvh;
mod figures;
mod plan_job;
mod plan_sum;
mod sampler;

pub use dvh::{Dvh, DvhError};
pub use figures::{PlanFigures, StructureFigures, target_of};
pub use plan_job::{
    DEFAULT_GRID_MM, MATTER_G_CM3, PlanJob, PlanJobError, PlanResult, body_from_ct, compute_plan, has_body,
};
pub use plan_sum::{Part, SumError, normalisation_factor, plan_dose};
