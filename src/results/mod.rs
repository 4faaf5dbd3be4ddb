//! What follows from a case: a graph of results, each asked for by all that it is made from.
//!
//! A [`Query`] is a result's key: all of the case and the settings that bears on it. Its answer is made of the answers of
//! other queries ([`Graph`]), once, by whoever asks first: a job of the window, or the command line. A [`Node`] holds what
//! the window has of a result; its standing is derived by comparing the query answered with the one that the case gives
//! now, never assigned. To add a result: a query here, and where the window shows it a line in `app/state/results/wanted.rs`.

mod beam;
mod dose;
mod dvh;
mod gamma;
mod graph;
mod inputs;
mod machine;
mod monte_carlo;
mod node;
mod patient;
mod plan_dose;
mod plan_job;
mod register;
mod run;
mod shared;
mod store;

pub use beam::{BeamResult, DoseOfBeam};
pub use dvh::{DvhAnswer, DvhOf, IsodosesOf};
pub use gamma::{EstimateOfGamma, FiguresOfGamma, GammaAnswer, GammaByStructure, GammaEstimate, GammaOfPair};
pub use graph::{Access, Failure, Grade, Graph, Query};
pub use inputs::{BeamInputs, PatientInputs, Settings, Shown, patient_grid};
pub use machine::MachineOf;
pub use monte_carlo::{Certainty, EndsAt, EngineChoice, RunInputs};
pub use node::{Node, Standing};
pub use patient::{Densities, MaskOf};
pub use plan_dose::{DoseOfPlan, Summed};
pub use plan_job::{PlanJob, PlanResult, compute_plan};
pub use register::{AttenuationOf, MetricAtPose, MetricOf, MetricReady};
pub use run::{RunOfPlan, RunResult};
pub use shared::Shared;
pub use store::{At, Delivery, Place, Results};
