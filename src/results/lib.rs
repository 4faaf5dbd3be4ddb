//! Results of a case: a graph in which each result is identified by all its inputs.
//!
//! A [`Query`] is a result's key: all parts of the case and the settings that affect it. Its answer is
//! computed from the answers of other queries ([`Graph`]), once, by the first thread that requests it: a job
//! of the window, or the command line. A [`Node`] holds the window's copy of a result; its standing is
//! derived by comparing the answered query with the query of the current case, never assigned. To add a result: a
//! query here with the [`Priority`] of its jobs, and where the window shows it a line in `app/state/results/needed.rs`.

mod beam;
mod by_protocol;
mod dose;
mod dvh;
mod export_job;
mod gamma;
mod graph;
mod imaging_job;
mod inputs;
mod known_again;
mod machine;
mod matter_outside;
mod monte_carlo;
mod node;
mod optimise;
mod patient;
mod plan_dose;
mod plan_job;
mod query;
mod ray;
mod register;
mod room;
mod run;
mod scenarios;
mod second_check;
mod shared;
mod store;
mod xray_file;

pub use beam::{BeamResult, DoseOfBeam};
pub use by_protocol::{PlanByProtocol, compute_by_protocol, technique_of};
pub use dvh::{DvhAnswer, DvhOf, IsodosesOf};
pub use export_job::{DosesToExport, ExportFailure, ExportHow, export_case};
pub use gamma::{
    EstimateOfGamma, FiguresOfGamma, GammaAnswer, GammaByStructure, GammaEstimate, GammaOfPair,
    MOST_GAMMA,
};
pub use graph::{Access, Failure, Grade, Graph, Priority, Query};
pub use imaging_job::{XRay, XRays};
pub use inputs::{BeamInputs, PatientInputs, Settings, Shown, patient_grid};
pub use known_again::DosesOfOpened;
pub use machine::MachineOf;
pub use matter_outside::WithMatterOutside;
pub use monte_carlo::{Certainty, EndsAt, EngineChoice, RunInputs};
pub use node::{Node, Standing};
pub use optimise::{
    BEAMLET_MM, CurvePoint, Leaves, LeavesOf, LeavesSource, LiveOptimiser, MonitorUnitCurveOf,
    OptimiseQuery, OptimisedPlan, Optimum, OptimumOf, OptimumStage, OtherShares, Step,
    optimise_plan,
};
pub use patient::{Densities, MaskOf};
pub use plan_dose::{DoseOfPlan, Summed};
pub use plan_job::{
    DosesOfBeams, PlanJob, PlanResult, compute_part, compute_plan, compute_plan_on_card,
    compute_written_plan, with_matter_outside,
};
pub use ray::RayOfBeam;
pub use register::{AttenuationOf, MetricAtPose, MetricOf, MetricReady};
pub use room::{BeamClearance, ClearanceOf, IsodoseOf, SurfaceOf};
pub use run::{RunOfPlan, RunResult};
pub use scenarios::{
    Course, CourseReport, Day, DayEntry, DayResult, DeliveredPlan, DoseEntry, DoseFigures,
    FiguresOfScenario, GoalEntry, RobustGoalEntry, RobustPlan, RobustReport, ScenarioEntry,
    ScenarioResult, compute_fractions, compute_scenarios, dose_of_day,
};
pub use second_check::{CheckFiles, CheckJob, CheckMachines, second_check};
pub use shared::Shared;
pub use store::{Delivery, JobTarget, ResultKey, Results};
pub use xray_file::{XRayFileError, declared_placement, read_xray, xray_of_case};
