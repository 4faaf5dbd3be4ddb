//! Evaluation of doses for structures: DVHs, plan sums and plan figures.

mod aperture;
mod attenuators;
mod beam_job;
mod beam_ray;
mod body;
mod caveat;
mod clearance;
mod clusters;
mod colour_scales;
mod compare;
pub mod contouring;
mod couch;
mod ct_edge;
mod day;
mod decimals;
mod depth_job;
mod difference;
mod drr_sight;
mod dvh;
mod dvh_pair;
mod dvh_table;
mod either_way;
mod engine_options;
mod figures;
mod fineness;
mod gamma_report;
mod gamma_verdict;
mod given;
mod goals;
pub mod machine_fit;
mod metric;
mod normalise;
mod not_counted;
mod opening;
mod outside;
mod outside_targets;
mod plan_engine;
mod plan_sum;
mod point_beam;
mod profile;
mod protocol;
mod remarks;
mod run_job;
mod sampler;
mod scenario;
pub mod second_check;
mod spread;
mod unjudged;

pub use aperture::{
    ApertureError, AperturePart, FitSettings, JawRule, LEAST_OPENING_MM, LeafEdge, REACH_MM,
    aperture_faults, brushed, fitted, move_part, segment_of, shielded, with_leaves,
};
pub use attenuators::accessory_caveats;
pub use beam_job::{
    BeamJobError, Computation, Contradiction, DEFAULT_GRID_MM, Ready, UNIT_MU, beams_left_out,
    computed_mu, contradiction, dose_of_beam, is_computed, is_modelled, isocentre_remark,
    mask_after, mask_of, no_beams, times, unit_beam, why_left_out,
};
pub use beam_ray::{CentralRay, central_ray};
pub use body::{Body, BodyChoice, BodyError, BodyWord, SKIN_HU, body_from_ct, body_of};
pub use case::{Figure, Goal, GoalError, Metric, MetricError, MetricUnit};
pub use caveat::{BEYOND_CT_CAVEAT, OUTSIDE_CAVEAT, way_out, ways_out};
pub use clearance::{
    Closest, CouchTop, HEAD_FACE_MM, HEAD_RADIUS_MM, HeadPath, LEAST_CLEARANCE_MM,
    head_clearance_mm,
};
pub use clusters::{Cluster, clusters};
pub use colour_scales::{
    DIVERGING, FAILING, GAMMA_COLOURS, difference_colour, fluence_colour, gamma_colour,
    signed_gamma_colour,
};
pub use compare::{PairError, check_pair, combined, unit_remark};
pub use couch::{
    COUCH_MM, Couch, CouchError, CtCouchError, SHELL_MM, couch_densities, couch_from_ct,
    couch_parts, couch_place,
};
pub use day::{DayPlan, MOST_POSE_DEG, MOST_POSE_MM, PoseError, RIGID};
pub use decimals::decimals;
pub use depth_job::{DepthError, depths};
pub use difference::{DifferenceDisplay, DifferenceUnit, LOCAL_FROM, Side};
pub use drr_sight::shows_patient;
pub use dvh::{Dvh, DvhError, DvhPlanes, Isodoses, Sampling};
pub use dvh_pair::{DvhPair, changed_most_first};
pub use dvh_table::{dvh_csv, dvhs_of};
pub use either_way::{decided_either_way, lacks_only_matter_outside};
pub use engine_options::{EngineOptionError, EngineOptions};
pub use figures::{PlanFigures, StructureFigures, target_of};
pub use fineness::low_peaks;
pub use gamma_report::{
    CriterionReport, GammaFigures, GammaHistogram, GammaReport, StructureGamma, stricter,
};
pub use gamma_verdict::{
    CRITERION as TG_218_CRITERION, GammaVerdict, Judged, MOST_UNJUDGED_PERCENT,
    THRESHOLD_PERCENT as TG_218_THRESHOLD_PERCENT, digits_apart, loosened, not_final, rate_text,
};
pub use given::{DensityOverrides, GivenError, given_words, is_without_density, why_bolus_stays};
pub use goals::{
    GoalRow, Outcome, Unanswered, Verdict, met_text, scorecard, undecided_by, unsettled,
};
pub use metric::NoValue;
pub use normalise::{CannotNormalise, Normalising};
pub use outside_targets::{HotSpot, NEAR_TARGET_MM, OutsideTargets};
pub use plan_engine::{Engine, MOST_HISTORIES, MonteCarlo};
pub use plan_sum::{BeamShare, PlanSumError, SumError, caveats_of, plan_dose, sum_of_beams};
pub use point_beam::beam_of_point;
pub use profile::{profile, value_at};
pub use protocol::{PlannedCase, PlanningError, USUAL_MACHINE, plan_by_protocol};
pub use remarks::{
    MOST_MU, beam_caveats, beam_remarks, generic_machines, hu_remarks, most_mu_remark,
};
pub use run_job::{
    Certainty, RunBeams, RunDose, RunError, part_of_plan, plan_request, run_of_plan, scaled,
};
pub use scenario::{DvhBand, MOST_SET_UP_MM, RobustGoal, Scenario, ShiftDirections};
pub use spread::{LEAST_SPREAD_DOSE, NO_SPREAD, Spread, percent_words};
pub use unjudged::{grouped, unjudged_text, unjudged_words};
