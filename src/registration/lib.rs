//! 2D/3D registration: similarity of X-rays and DRRs, and the search for the pose of greatest similarity.
//!
//! [`register`] answers a [`Request`]: CT (as attenuation), one or two X-rays, a start. The answer is the
//! [`Pose`](case::Pose) of the CT in the room of the X-rays, with the order and the signs documented
//! there; its [matrix](case::Pose::matrix) maps CT positions into the room.

pub mod bench;
mod check;
mod error;
mod evidence;
mod flipped;
pub mod metric;
mod metric_evaluator;
mod object;
pub mod optimise;
mod request;
mod scene;
mod search;
pub mod simulate;
mod standing;
mod view;

pub use check::{accepted_patient, check_belongs, check_place, remarks_beside};
pub use engine::Random;
pub use error::RegistrationError;
pub use evidence::{Alone, Evidence, ImageEvidence};
pub use flipped::{Flip, Flipped};
pub use metric::Metric;
pub use metric_evaluator::{METRIC_SIDE_MM, MetricEvaluator};
pub use object::spatial_registration;
pub use request::{AXIS_WORDS, Found, Method, Request, Step};
pub use search::{FINEST_MM, SIDES_MM, register};
pub use standing::{
    AGREE_MM, COUCH_TILT_DEG, MOST_DEPTH_MM, MOST_TURN_DEG, PoseStanding, beyond_couch,
};
pub use view::{View, range_of};
