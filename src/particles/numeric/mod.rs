//! Numerical tools: quadrature, interpolation, complex numbers.

mod complex;
mod cubic;
mod log_log;
mod quadrature;

pub use complex::Complex;
pub use cubic::Cubic;
pub use log_log::LogLog;
pub use quadrature::{GaussLegendre, geometric_panels, integrate};
