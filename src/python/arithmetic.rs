//! Sums and multiples of doses: of one grid and one frame of reference, with the worst status and all caveats.

use super::dose::PyDose;
use super::errors::argument;
use super::threads::compute;
use case::{Dose, DoseStatus, DoseValueError, Reservations};
use geometry::{Grid, Volume};
use glam::DVec3;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Farther apart than so much, mm, are voxels of two doses not the same.
const SAME_PLACE_MM: f64 = 1e-3;

/// Whether the voxels of two grids lie on each other.
fn is_same_place(a: &Grid, b: &Grid) -> bool {
    let last = a.size().map(|n| (n - 1) as f64);
    let corners =
        [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|corner| corner * DVec3::from(last));
    let mut planes = std::iter::zip(a.planes_mm(), b.planes_mm());
    a.size() == b.size()
        && planes.all(|(a, b)| (a - b).abs() < SAME_PLACE_MM)
        && corners.into_iter().all(|corner| {
            a.patient_from_voxel(corner)
                .distance(b.patient_from_voxel(corner))
                < SAME_PLACE_MM
        })
}

/// The frame of reference of both; a dose without one is taken to be in the other's.
fn common_frame(a: &Dose, b: &Dose) -> PyResult<String> {
    let [frame, other] = [a, b].map(|dose| dose.frame_of_reference_uid.trim());
    if !frame.is_empty() && !other.is_empty() && frame != other {
        return Err(argument(format!(
            "the doses are in two frames of reference, {frame} and {other}: their voxels are not the same places"
        )));
    }
    Ok(if frame.is_empty() { other } else { frame }.to_owned())
}

/// A dose of values made here. Its status is no better than imported, as no plan delivers it.
fn made(values: Vec<f32>, grid: &Arc<Grid>, label: String, operands: &[&Dose]) -> PyResult<Dose> {
    let gy = Arc::new(Volume::new(Arc::clone(grid), values));
    DoseValueError::check(&gy).map_err(|fault| argument(format!("the result is {fault}")))?;
    let mut caveats: Vec<String> = Vec::new();
    for caveat in operands.iter().flat_map(|dose| &dose.caveats) {
        if !caveats.contains(caveat) {
            caveats.push(caveat.clone());
        }
    }
    let status = operands.iter().fold(DoseStatus::Imported, |status, dose| {
        status.worst(dose.status)
    });
    let reservations = Reservations {
        caveats: Vec::new(),
        remarks: operands
            .iter()
            .flat_map(|dose| dose.remarks.clone())
            .collect(),
    };
    let dose = Dose {
        gy,
        status,
        label,
        frame_of_reference_uid: String::new(),
        receipt: None,
        caveats,
        remarks: Vec::new(),
        part: operands.iter().find_map(|dose| dose.part),
    };
    Ok(dose.with_reservations(&reservations))
}

/// The sum of two doses.
///
/// # Errors
/// `TypeError` for what is no dose; `ArgumentError` for other grids or frames of reference.
pub fn sum(a: &PyDose, other: &Bound<'_, PyAny>) -> PyResult<PyDose> {
    let Ok(b) = other.extract::<PyDose>() else {
        let kind = other.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "only a dose is added to a dose, not {kind}: make one of an array by Dose(gy, grid), or add to the array dose.gy"
        )));
    };
    let [a, b] = a.check_pair(&b, false)?;
    let (first, second) = (&*a.dose, &*b.dose);
    if !is_same_place(first.gy.grid(), second.gy.grid()) {
        return Err(argument(
            "the doses are on two grids: compute or resample them on one before they are added",
        ));
    }
    let frame_of_reference_uid = common_frame(first, second)?;
    let label = format!("{} + {}", first.label, second.label);
    let sum = compute(|| {
        let values = std::iter::zip(first.gy.data(), second.gy.data())
            .map(|(a, b)| a + b)
            .collect();
        made(values, first.gy.grid(), label, &[first, second])
    });
    let dose = Dose {
        frame_of_reference_uid,
        ..sum??
    };
    Ok(a.derived(dose, &[&b]))
}

/// A dose times a number.
///
/// # Errors
/// `TypeError` for what is no number; `ArgumentError` where the product is no dose.
pub fn product(a: &PyDose, factor: &Bound<'_, PyAny>, is_divisor: bool) -> PyResult<PyDose> {
    let number = if factor.hasattr("__len__")? {
        None
    } else {
        factor.extract::<f64>().ok()
    };
    let Some(number) = number else {
        let (kind, does) = (
            factor.get_type().name()?,
            if is_divisor { "divided" } else { "multiplied" },
        );
        return Err(PyTypeError::new_err(format!(
            "a dose is {does} by a number, not by {kind}: what else is made of its values is an array, made of dose.gy"
        )));
    };
    let factor = if is_divisor { number.recip() } else { number };
    if !(factor.is_finite() && factor >= 0.0) {
        return Err(argument(format!(
            "the factor {factor} makes no dose: it must be a finite number of 0 or more"
        )));
    }
    let operand = &*a.dose;
    let product = compute(|| {
        let values = operand
            .gy
            .data()
            .iter()
            .map(|gy| (f64::from(*gy) * factor) as f32)
            .collect();
        made(
            values,
            operand.gy.grid(),
            format!("{factor} x {}", operand.label),
            &[operand],
        )
    });
    Ok(a.derived(
        Dose {
            frame_of_reference_uid: operand.frame_of_reference_uid.clone(),
            ..product??
        },
        &[],
    ))
}

/// Why there is no difference.
pub fn no_difference() -> PyErr {
    PyTypeError::new_err(
        "a difference of doses is no dose, since it has values below 0: take a.gy - b.gy, an array, or compare them by gamma",
    )
}
