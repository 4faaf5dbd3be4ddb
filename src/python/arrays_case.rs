//! A case of arrays: Hounsfield units, and masks as structures.

use super::arrays::volume_of;
use super::case::PyCase;
use super::errors::{argument, guarded};
use super::grid::PyGrid;
use super::plan::PyPlan;
use super::threads::compute;
use super::words;
use case::{
    Case, Contour, Contours, Ct, PatientInfo, Structure, StructureKind, StructureSet, new_uid,
    structures_fault,
};
use geometry::{Grid, PatientPosition, voxel_rings};
use glam::DVec3;
use numpy::{PyReadonlyArray3, PyUntypedArrayMethods as _};
use open::hu_remarks_of_volume;
use pyo3::prelude::*;
use std::sync::Arc;

/// The words of kinds of structures.
const KINDS: [(&str, StructureKind); 8] = [
    ("external", StructureKind::External),
    ("ptv", StructureKind::Ptv),
    ("ctv", StructureKind::Ctv),
    ("gtv", StructureKind::Gtv),
    ("organ", StructureKind::Organ),
    ("support", StructureKind::Support),
    ("bolus", StructureKind::Bolus),
    ("other", StructureKind::Other),
];

/// Position, patient, label and plans that a case of arrays states beside them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Stated {
    position: String,
    patient_id: String,
    patient_name: String,
    label: String,
    plans: Vec<Py<PyPlan>>,
}

/// A mask under its name and the word of its kind.
type NamedMask<'py> = (String, String, Bound<'py, PyAny>);

/// A structure whose mask on the grid has the same voxels.
fn structure(number: u32, named: &NamedMask<'_>, grid: &Grid) -> PyResult<Structure> {
    let (name, kind, mask) = named;
    let kind = words::one_of(&format!("the kind of '{name}'"), kind, &KINDS)?;
    let [nx, ny, nz] = grid.size();
    let mask: PyReadonlyArray3<'_, bool> = mask.extract().map_err(|_| {
        argument(format!(
            "the mask '{name}' is no array of truth values with three axes (numpy bool, [z, y, x])"
        ))
    })?;
    if mask.shape() != [nz, ny, nx] {
        let shape = mask.shape();
        return Err(argument(format!(
            "the mask '{name}' has the shape {shape:?}, and the grid [{nz}, {ny}, {nx}] (planes, rows, columns)"
        )));
    }
    let mut contours = Vec::new();
    for (k, plane) in mask.as_array().outer_iter().enumerate() {
        let inside: Vec<bool> = plane.iter().copied().collect();
        let rings = voxel_rings(&inside, [nx, ny]).into_iter();
        contours.extend(rings.map(|ring| {
            let points = ring
                .into_iter()
                .map(|[i, j]| grid.patient_from_voxel(DVec3::new(i, j, k as f64)));
            Contour {
                points_mm: points.collect(),
                image_uid: None,
            }
        }));
    }
    if contours.is_empty() {
        return Err(argument(format!(
            "the mask '{name}' is empty: leave it out"
        )));
    }
    Ok(Structure {
        contours: Contours::exclusive(contours),
        ..Structure::new(name, number, kind)
    })
}

/// A case of Hounsfield units on a grid, with masks.
///
/// # Errors
/// `ArgumentError` for arrays and words that make none.
fn made_of_arrays(
    py: Python<'_>,
    hu: &Bound<'_, PyAny>,
    grid: &PyGrid,
    masks: &[NamedMask<'_>],
    stated: &Stated,
) -> PyResult<Case> {
    let position: PatientPosition = stated
        .position
        .parse()
        .map_err(|why| argument(format!("position is '{}': {why}", stated.position)))?;
    let hu = volume_of(hu, Arc::clone(&grid.0), "the CT")?;
    if let Some(([i, j, k], value)) =
        py.detach(|| compute(|| hu.first_where(|hu| !hu.is_finite())))?
    {
        return Err(argument(format!(
            "the CT is {value} at voxel ({i}, {j}, {k}); every voxel must be a finite number of HU"
        )));
    }
    let numbered = std::iter::zip(1.., masks);
    let structures: Vec<Structure> = numbered
        .map(|(number, mask)| structure(number, mask, &grid.0))
        .collect::<PyResult<_>>()?;
    if let Some(fault) = structures_fault(&structures) {
        return Err(argument(fault));
    }
    let frame_of_reference_uid = new_uid();
    let ct = Ct {
        series_uid: new_uid(),
        study_uid: new_uid(),
        frame_of_reference_uid: frame_of_reference_uid.clone(),
        description: stated.label.clone(),
        remarks: hu_remarks_of_volume(&hu, &[]),
        ..Ct::unnamed(hu, position)
    };
    let patient = PatientInfo {
        id: stated.patient_id.clone(),
        name: stated.patient_name.clone(),
        ..PatientInfo::default()
    };
    let set = StructureSet {
        label: stated.label.clone(),
        frame_of_reference_uid,
        structures,
        ..StructureSet::default()
    };
    Ok(Case {
        patient,
        source: stated.label.clone(),
        ct: Some(Arc::new(ct)),
        structures: Arc::new(set),
        plans: stated
            .plans
            .iter()
            .map(|plan| Arc::clone(&plan.get().0))
            .collect(),
        ..Case::default()
    })
}

/// A case of arrays; `beamsight.case_of_arrays` says how.
#[pyfunction(name = "_case_of_arrays")]
pub fn case_of_arrays(
    py: Python<'_>,
    hu: &Bound<'_, PyAny>,
    grid: &PyGrid,
    masks: Vec<NamedMask<'_>>,
    stated: Stated,
) -> PyResult<PyCase> {
    guarded(|| made_of_arrays(py, hu, grid, &masks, &stated)).map(PyCase)
}
