//! Beams refused before any history is drawn.

use crate::dose::{self, DoseError};
use case::{Beam, ControlPoint};
use physics::{FluenceError, Machine, Patient};
use std::sync::Arc;

/// Leaf tips may overlap by this, as rounded positions of closed leaves do, mm.
const OVERLAP_MM: f64 = 0.1;
/// Photon weights of a spectrum sum to 1 but for this, the rounding of a machine file.
const SPECTRUM_SUM_TOLERANCE: f64 = 1e-3;

/// Refuses beams that no engine with histories can sample.
///
/// # Errors
/// [`DoseError`] with the beam or machine at fault, and what to do.
pub fn check_beams(beams: &[(Beam, Arc<Machine>)], patient: &Patient) -> Result<(), DoseError> {
    let Some((first, _)) = beams.first() else {
        return Err(refusal("-", "there is no beam to compute"));
    };
    for (beam, machine) in beams {
        dose::check(beam)?;
        check_spectrum(machine)?;
        if !patient
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
    if beams.iter().all(|(beam, _)| beam.mu == 0.0) {
        let why = "no beam has monitor units: give it some";
        return Err(refusal(&first.name, why));
    }
    if beams.iter().all(|(beam, _)| is_dark(beam)) {
        let why =
            "the fluence maps of all beams are 0 everywhere: optimise them, or remove the maps";
        return Err(refusal(&first.name, why));
    }
    Ok(())
}

pub fn refusal(beam: &str, why: &str) -> DoseError {
    DoseError::Beam {
        beam: beam.to_owned(),
        why: why.to_owned(),
    }
}

fn is_dark(beam: &Beam) -> bool {
    beam.fluence
        .as_ref()
        .is_some_and(|map| map.values.iter().all(|v| *v == 0.0))
}

fn check_spectrum(machine: &Machine) -> Result<(), DoseError> {
    let weights = &machine.spectrum.photon_weights;
    let sum: f64 = weights.iter().sum();
    let is_one = (sum - 1.0).abs() <= SPECTRUM_SUM_TOLERANCE;
    if is_one && weights.iter().all(|w| *w >= 0.0) {
        return Ok(());
    }
    Err(DoseError::Spectrum {
        machine: machine.name.clone(),
        why: format!("the photons of its spectrum sum to {sum:.4}, not to 1: correct [spectrum]"),
    })
}

fn check_leaves(beam: &Beam) -> Result<(), DoseError> {
    if let Some(map) = &beam.fluence {
        return map.check().map_err(|why| {
            let beam = beam.name.clone();
            FluenceError::Map { beam, why }.into()
        });
    }
    if let Some(mlc) = &beam.mlc {
        let want = mlc.boundaries_mm.len().saturating_sub(1);
        let short = beam
            .control_points
            .iter()
            .position(|point| point.leaves_mm.len() != want);
        if let Some(point) = short {
            let pairs = beam.control_points[point].leaves_mm.len();
            return Err(FluenceError::LeafCount {
                beam: beam.name.clone(),
                point,
                found: pairs,
                want,
            }
            .into());
        }
    }
    for (n, point) in beam.control_points.iter().enumerate() {
        if let Some(pair) = point
            .leaves_mm
            .iter()
            .position(|tips| overlap_mm(tips) > OVERLAP_MM)
        {
            let why = format!(
                "at control point {}, the leaves of pair {} overlap by {:.1} mm: correct the plan",
                n + 1,
                pair + 1,
                overlap_mm(&point.leaves_mm[pair])
            );
            return Err(refusal(&beam.name, &why));
        }
    }
    Ok(())
}

fn overlap_mm(tips: &[f64; 2]) -> f64 {
    tips[0] - tips[1]
}

/// Whether anything lies open between the jaws and the leaves. A map may be 0 everywhere, where a plan does not need the beam.
fn is_open(beam: &Beam, point: &ControlPoint) -> bool {
    if !point.jaws.is_open() {
        return false;
    }
    if let Some(map) = &beam.fluence {
        let map_jaws = map.jaws();
        return overlaps(map_jaws.x, point.jaws.x) && overlaps(map_jaws.y, point.jaws.y);
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

/// Whether two intervals have more than a point in common.
fn overlaps(a: [f64; 2], b: [f64; 2]) -> bool {
    a[0].max(b[0]) < a[1].min(b[1])
}
