//! The displayed DVHs as a table.

use crate::state::State;
use analysis::{Dvh, dvh_csv};
use case::{Dose, DoseStatus};

/// The displayed DVHs as CSV.
///
/// # Errors
/// Why there are no curves, in words: stale curves are not written.
pub fn dvh_table(state: &State) -> Result<String, String> {
    let dose = state
        .results
        .shown_dose()
        .ok_or("there is no dose on show")?;
    let curves = state.shown_dvhs();
    if curves.is_empty() {
        return Err("no structure on show has a DVH in this dose yet".to_owned());
    }
    let status = state
        .results
        .dvh_status()
        .filter(|status| *status < DoseStatus::Stale);
    let status = status.ok_or("the DVHs are of an earlier state")?;
    let named: Vec<(&str, &Dvh)> = curves
        .into_iter()
        .map(|(structure, dvh)| (structure.name.as_str(), dvh))
        .collect();
    Ok(dvh_csv(
        &Dose {
            status,
            ..(**dose).clone()
        }
        .status_with_remarks(),
        &named,
    ))
}
