//! What follows from a case, and what each result answers.
//!
//! A result keeps the inputs it was made from: all of the case and the settings that bears on it. Its standing is derived by
//! comparing those with the inputs that the case as it stands gives, never assigned: a dose whose inputs are not those of
//! the case is stale, or failed where the case cannot be answered. Inputs are compared field by field, so that a field
//! added to a beam or a plan bears on the standing without a line here.

mod board;
mod dose;
mod inputs;
mod monte_carlo;
mod node;
mod nodes;
mod sum;

pub use board::{Board, Followed, Wanted};
pub use dose::{DoseInputs, Source, SumInputs, standing_of};
pub use inputs::{BeamInputs, PatientInputs, Settings, Shown, contours_of, patient_grid};
pub use monte_carlo::{Certainty, EndsAt, EngineChoice, RunInputs};
pub use node::{Node, Standing};
pub use nodes::{BeamResult, DvhAnswer, DvhWork, SumWork, Summed, beam, dvhs, patient, sum};
pub use sum::{AtHand, sum_work};
