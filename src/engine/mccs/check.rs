//! Requests refused before any history is run.

use super::request::MccsRequest;
use super::tables::MOST_DIRECTIONS;

use crate::dose::{self, DoseError};
use case::{Beam, ControlPoint};
use physics::kernel::KernelTable;
use physics::{FluenceError, Machine};

/// Leaf tips may overlap by this, as rounded positions of closed leaves do, mm.
const OVERLAP_MM: f64 = 0.1;

/// # Errors
/// [`DoseError`] with the beam or machine at fault, and what to do.
pub fn check(request: &MccsRequest) -> Result<(), DoseError> {
    if request.beams.is_empty() {
        return Err(refusal("-", "there is no beam to compute"));
    }
    if !(1..=MOST_DIRECTIONS).contains(&request.directions) {
        let why = format!(
            "a photon is split over 1 to {MOST_DIRECTIONS} directions, not {}",
            request.directions
        );
        return Err(refusal(&request.beams[0].0.name, &why));
    }
    for (beam, machine) in &request.beams {
        dose::check(beam)?;
        check_spectrum(machine)?;
        if !request
            .patient
            .mass_density_g_cm3
            .grid()
            .contains(beam.isocentre_mm)
        {
            let [x, y, z] = beam.isocentre_mm.to_array();
            let why = format!(
                "its isocentre {x:.1},{y:.1},{z:.1} mm lies outside the CT: plan and CT do not belong together"
            );
            return Err(refusal(&beam.name, &why));
        }
        check_leaves(beam)?;
        if !beam.control_points.iter().any(|point| is_open(beam, point)) {
            let why = "its field is closed at every control point: open the jaws and the leaves between them";
            return Err(refusal(&beam.name, why));
        }
    }
    if request.beams.iter().all(|(beam, _)| beam.mu == 0.0) {
        return Err(refusal(
            &request.beams[0].0.name,
            "no beam has monitor units: give it some",
        ));
    }
    let is_dark = |beam: &Beam| {
        beam.fluence
            .as_ref()
            .is_some_and(|map| map.values.iter().all(|v| *v == 0.0))
    };
    if request.beams.iter().all(|(beam, _)| is_dark(beam)) {
        let why =
            "the fluence maps of all beams are 0 everywhere: optimise them, or remove the maps";
        return Err(refusal(&request.beams[0].0.name, why));
    }
    Ok(())
}

fn refusal(beam: &str, why: &str) -> DoseError {
    DoseError::Beam {
        beam: beam.to_owned(),
        why: why.to_owned(),
    }
}

fn check_spectrum(machine: &Machine) -> Result<(), DoseError> {
    let fault = |why: String| {
        Err(DoseError::Spectrum {
            machine: machine.name.clone(),
            why,
        })
    };
    let spectrum = &machine.spectrum;
    let sum: f64 = spectrum.photon_weights.iter().sum();
    if sum.is_nan() || (sum - 1.0).abs() > 1e-3 || spectrum.photon_weights.iter().any(|w| *w < 0.0)
    {
        return fault(format!(
            "the photons of its spectrum sum to {sum:.4}, not to 1: correct [spectrum]"
        ));
    }
    let covered = KernelTable::water().energies_mev();
    let (low, high) = (covered[0], covered[covered.len() - 1]);
    match spectrum
        .bins()
        .find(|(e, w)| *w > 0.0 && !(low..=high).contains(e))
    {
        Some((e, _)) => fault(format!(
            "its spectrum has photons of {e} MeV, the kernels cover {low} to {high} MeV: leave that energy out"
        )),
        None => Ok(()),
    }
}

fn check_leaves(beam: &Beam) -> Result<(), DoseError> {
    if let Some(map) = &beam.fluence {
        let fault = |why| {
            FluenceError::Map {
                beam: beam.name.clone(),
                why,
            }
            .into()
        };
        return map.check().map_err(fault);
    }
    if let Some(mlc) = &beam.mlc {
        let want = mlc.boundaries_mm.len().saturating_sub(1);
        let short = beam
            .control_points
            .iter()
            .position(|point| point.leaves_mm.len() != want);
        if let Some(point) = short {
            let found = beam.control_points[point].leaves_mm.len();
            return Err(FluenceError::LeafCount {
                beam: beam.name.clone(),
                point,
                found,
                want,
            }
            .into());
        }
    }
    for (n, point) in beam.control_points.iter().enumerate() {
        let overlap = |tips: &[f64; 2]| tips[0] - tips[1];
        if let Some(pair) = point
            .leaves_mm
            .iter()
            .position(|tips| overlap(tips) > OVERLAP_MM)
        {
            let why = format!(
                "at control point {}, the leaves of pair {} overlap by {:.1} mm: correct the plan",
                n + 1,
                pair + 1,
                overlap(&point.leaves_mm[pair])
            );
            return Err(refusal(&beam.name, &why));
        }
    }
    Ok(())
}

/// Whether anything lies open between the jaws and the leaves. A map may be 0 everywhere, as that of a beam that a plan does not need.
fn is_open(beam: &Beam, point: &ControlPoint) -> bool {
    if !point.jaws.is_open() {
        return false;
    }
    let overlaps = |a: [f64; 2], b: [f64; 2]| a[0].max(b[0]) < a[1].min(b[1]);
    if let Some(map) = &beam.fluence {
        let all = map.jaws();
        return overlaps(all.x, point.jaws.x) && overlaps(all.y, point.jaws.y);
    }
    let Some(mlc) = &beam.mlc else { return true };
    let (along, across) = match mlc.axis {
        case::MlcAxis::X => (point.jaws.x, point.jaws.y),
        case::MlcAxis::Y => (point.jaws.y, point.jaws.x),
    };
    let rows = mlc.boundaries_mm.windows(2).zip(&point.leaves_mm);
    let mut rows = rows.filter(|(sides, _)| overlaps([sides[0], sides[1]], across));
    rows.any(|(_, tips)| overlaps(*tips, along))
}
