//! Requests refused before any history is run.

use super::request::MccsRequest;
use super::tables::MOST_DIRECTIONS;
use crate::dose::DoseError;
use crate::histories::head::{check_beams, refusal};
use physics::Machine;
use physics::kernel::KernelTable;

/// # Errors
/// [`DoseError`] with the beam or machine at fault, and what to do.
pub fn check(request: &MccsRequest) -> Result<(), DoseError> {
    check_beams(&request.beams, &request.patient)?;
    if !(1..=MOST_DIRECTIONS).contains(&request.directions) {
        let why = format!(
            "a photon is split over 1 to {MOST_DIRECTIONS} directions, not {}",
            request.directions
        );
        return Err(refusal(&request.beams[0].0.name, &why));
    }
    request
        .beams
        .iter()
        .try_for_each(|(_, machine)| check_energies(machine))
}

/// Refuses spectra with photons of an energy that the kernels do not cover.
fn check_energies(machine: &Machine) -> Result<(), DoseError> {
    let covered = KernelTable::water().energies_mev();
    let (low, high) = (covered[0], covered[covered.len() - 1]);
    let beyond = machine
        .spectrum
        .bins()
        .find(|(mev, weight)| *weight > 0.0 && !(low..=high).contains(mev));
    let Some((mev, _)) = beyond else {
        return Ok(());
    };
    Err(DoseError::Spectrum {
        machine: machine.name.clone(),
        why: format!(
            "its spectrum has photons of {mev} MeV, the kernels cover {low} to {high} MeV: leave that energy out"
        ),
    })
}
