//! Leaf sequencing: control points of leaves that deliver the fluence map of a beam within the machine's limits.
//!
//! [`sequence_plan`] cuts the maps of a plan: a sliding window (Spirou and Chui, Med. Phys. 21, 1031 (1994); Stein et al., Radiother.
//! Oncol. 32, 162 (1994); Svensson et al., Phys. Med. Biol. 39, 37 (1994)) or step and shoot by the same one-way sweep with leaves that
//! move while the beam is off (Bortfeld et al., Int. J. Radiat. Oncol. Biol. Phys. 28, 723 (1994)). The sweep is of ideal leaves;
//! [`physics::Fluence`] of its control points then says what the machine's leaves let through, and the difference from the map is added
//! to the fluences requested from the sweep.

mod adjust;
mod arc;
mod cut;
mod difference;
mod field;
mod figures;
mod flatten;
mod limits;
mod monitor_units;
mod parts;
mod rate;
mod sliding;
mod step;
mod sweep;

pub use adjust::{Segments, set_leaves};
pub use arc::{ArcStart, arc_leaves, arc_of, from_angles, nearest_angle};
pub use cut::{
    SequenceError, Sequenced, SequencedPlan, Technique, check_machine, check_machines,
    sequence_beam, sequence_plan, sequence_plan_while,
};
pub use difference::FluenceDifference;
pub use field::{first_pair, ideal_gap_mm, widest_map_mm};
pub use figures::{DeliveryFigures, open_cm2};
pub use limits::{
    ROUNDING_MM, beam_on_stretches, broken_limit, step_reach_mm, turned_deg, turning_reach_mm,
};
pub use monitor_units::{PlanDelivery, monitor_units_remark, undelivered};
pub use rate::sliding_rate_mu_min;
pub use step::{LEAST_CM2, LEAST_MU};
