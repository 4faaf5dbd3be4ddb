//! Requests refused before any history is run, and what is said of others.

use super::request::McRequest;
use crate::dose::DoseError;
use crate::dose::medium::Medium;
use crate::histories::head::{check_beams, refusal};
use physics::Machine;

/// Photons whose tables are tested, MeV: a spectrum beyond is no clinical one.
const ENERGIES_MEV: [f64; 2] = [0.01, 25.0];
/// Density of gold, g/cm3: no voxel of a patient is denser.
const GREATEST_DENSITY_G_CM3: f32 = 19.4;
/// Voxels of which more than a hundred million histories are needed, and those that hide what happens at surfaces, mm.
const SPACINGS_MM: [f64; 2] = [0.5, 10.0];

/// # Errors
/// [`DoseError`] with the beam, machine or grid at fault, and what to do.
pub fn check(request: &McRequest) -> Result<(), DoseError> {
    check_beams(&request.beams, &request.patient)?;
    request
        .beams
        .iter()
        .try_for_each(|(_, machine)| check_energies(machine))
}

fn check_energies(machine: &Machine) -> Result<(), DoseError> {
    let [lowest, highest] = ENERGIES_MEV;
    let beyond = machine
        .spectrum
        .bins()
        .find(|(mev, weight)| *weight != 0.0 && !(lowest..=highest).contains(mev));
    match beyond {
        None => Ok(()),
        Some((mev, _)) => Err(DoseError::Spectrum {
            machine: machine.name.clone(),
            why: format!(
                "its spectrum has photons of {mev} MeV, transport covers {lowest} to {highest} MeV: leave that energy out"
            ),
        }),
    }
}

/// Refuses matter that no patient has.
///
/// # Errors
/// [`DoseError::Beam`] with the density.
pub fn check_densities(request: &McRequest, medium: &Medium) -> Result<(), DoseError> {
    let densest = medium.mass_g_cm3.data().iter().copied().fold(0.0, f32::max);
    if densest <= GREATEST_DENSITY_G_CM3 {
        return Ok(());
    }
    let why = format!(
        "a voxel has {densest} g/cm3, more than gold: mend the densities of the CT or of the structure that sets them"
    );
    Err(refusal(&request.beams[0].0.name, &why))
}

/// Remarks of a dose's receipt on its request.
pub fn warnings(request: &McRequest, spacing_mm: [f64; 3]) -> Vec<String> {
    let [fine_mm, coarse_mm] = SPACINGS_MM;
    let mut warnings = Vec::new();
    let finest = spacing_mm.iter().copied().fold(f64::INFINITY, f64::min);
    let coarsest = spacing_mm.iter().copied().fold(0.0, f64::max);
    if finest < fine_mm {
        warnings.push(format!(
            "voxels of {finest} mm take hours of Monte Carlo: a hundredth of the histories does for voxels of 2.5 mm"
        ));
    }
    if coarsest > coarse_mm {
        warnings.push(format!(
            "voxels of {coarsest} mm average over the build-up of dose at surfaces: 5 mm or less shows it"
        ));
    }
    if request.electron_cut != super::ElectronCut::default() {
        warnings.push(format!(
            "electrons are followed to {} keV",
            request.electron_cut.kev()
        ));
    }
    warnings
}
