//! Output factors without a measurement: a fit holds the values of its starting machine.
//!
//! A spectrum that follows a depth dose moves phantom scatter, and output factors with it, by up to 4 % (a power of the energy of
//! -0.5, fields to 40 cm). Linacs of one energy differ less than that, so head scatter gives way instead: the factors of the start are
//! targets beside the data, and the extra-focal source is free to keep them.

use super::tank::Layout;
use super::{FitContext, FitError, Sampling};
use physics::Machine;
use serde::Serialize;

/// Square fields whose factors are held, and the reference field, mm.
pub const HELD_MM: [f64; 3] = [40.0, 200.0, 300.0];
pub const HELD_REFERENCE_MM: f64 = 100.0;
/// Depth of the factors, isocentric, mm.
pub const HELD_DEPTH_MM: f64 = 100.0;
/// Uncertainty that the factors of the start are held with, percent: half of a measured factor's. With 0.4 % they drift by 1.4 %
/// under a power of -0.5; with 0.14 % the edges of a field of 200 mm are off by 2.4 % of its axis.
pub const HELD_PERCENT: f64 = 0.2;

/// An output factor of a fitted machine and of its starting machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldFactor {
    pub field_mm: f64,
    pub start: f64,
    pub fitted: f64,
}

impl HeldFactor {
    pub fn drift_percent(&self) -> f64 {
        100.0 * (self.fitted / self.start - 1.0)
    }

    /// The factors held, in words; `None` of none.
    pub fn words(held: &[Self]) -> Option<String> {
        let drifts = held.iter().map(|f| f.drift_percent().abs());
        let largest_percent = drifts.reduce(f64::max)?;
        let fields: Vec<String> = held.iter().map(|f| f.field_mm.to_string()).collect();
        let reference = HELD_REFERENCE_MM;
        Some(format!(
            "held at those of the starting machine, to {largest_percent:.1} % (squares of {} mm over {reference} mm)",
            fields.join(", ")
        ))
    }
}

/// Factors of a machine at the fields that are held, by its own doses there.
///
/// # Errors
/// [`FitError`] as for any dose.
pub fn factors_of(
    machine: &Machine,
    layout: &Layout,
    sampling: &Sampling,
    context: &FitContext<'_>,
) -> Result<Vec<f64>, FitError> {
    let control = &context.control.child();
    let photons = layout.photons(
        machine,
        sampling,
        &|setup| layout.is_held(setup),
        context.device,
        control,
    )?;
    Ok(layout.held_factors(&photons))
}
