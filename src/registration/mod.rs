//! 2D/3D registration: how alike X-rays and DRRs are, and the search for the pose at which they are most alike.
//!
//! [`register`] answers a [`Request`]: CT (as attenuation), one or two X-rays, a start. What is found is the
//! [`Pose`](crate::case::Pose) of the CT in the room of the X-rays, its six numbers in the order and with the signs that
//! are written there; its [matrix](crate::case::Pose::matrix) takes CT positions to where they lie.

pub mod bench;
mod check;
mod error;
pub mod metric;
mod metric_evaluator;
mod object;
pub mod optimise;
mod random;
mod scene;
mod search;
pub mod simulate;
mod view;

pub use check::{check_belongs, check_place};
pub use error::RegistrationError;
pub use metric::Metric;
pub use metric_evaluator::MetricEvaluator;
pub use object::spatial_registration;
pub use random::Random;
pub use search::{AXIS_WORDS, Found, Method, Request, SIDES_MM, Step, register};
pub use view::View;
