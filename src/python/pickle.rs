//! Objects as pickle carries them to another process of this version: numbers to the bit, arrays as numpy's, the rest as JSON.
//! The status of a dose goes along.

use super::arrays::{shown, volume_of};
use super::case::{PyCase, PyCt};
use super::dose::{Computed, PyDose};
use super::dvh::PyDvh;
use super::errors::argument;
use super::gamma::PyGamma;
use super::grid::PyGrid;
use super::plan::PyPlan;
use super::structure::{PyStructure, PyStructures};
use case::{
    Case, Contour, Contours, Ct, Dose, DosePart, DoseStatus, Goal, PatientInfo, Plan, Receipt,
    Remark, Source, Sources, Structure, StructureSet,
};
use geometry::{PatientPosition, Volume};
use open::DoseFile;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The function of the module that makes an object anew, and its arguments, as `__reduce__` gives them.
fn reduced<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyTuple>> {
    let function = py.import("beamsight._beamsight")?.getattr(function)?;
    (function, arguments.into_pyobject(py)?).into_pyobject(py)
}

#[derive(Serialize, Deserialize)]
struct Stamped<T> {
    version: String,
    state: T,
}

fn text_of(state: impl Serialize) -> PyResult<String> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    serde_json::to_string(&Stamped { version, state }).map_err(argument)
}

fn state_of<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    let stamped: Stamped<IgnoredAny> = serde_json::from_str(text).map_err(argument)?;
    if stamped.version != env!("CARGO_PKG_VERSION") {
        return Err(argument(format!(
            "it was pickled by beamsight {}, and this is {}: a pickle is for processes of one version; save files instead",
            stamped.version,
            env!("CARGO_PKG_VERSION")
        )));
    }
    let read = serde_json::from_str::<Stamped<T>>(text).map(|stamped| stamped.state);
    read.map_err(|why| argument(format!("this is no pickled object of beamsight: {why}")))
}

#[derive(Serialize, Deserialize)]
struct FileState {
    name: String,
    patient: PatientInfo,
    remarks: Vec<Remark>,
    is_stated: bool,
}

#[derive(Serialize, Deserialize)]
struct DoseState {
    status: DoseStatus,
    label: String,
    frame_of_reference_uid: String,
    receipt: Option<Receipt>,
    caveats: Vec<String>,
    known: Vec<String>,
    part: Option<DosePart>,
    remarks: Vec<String>,
    file: Option<FileState>,
}

/// The state of a dose and, where it was computed, what its computation says.
pub fn dose<'py>(py: Python<'py>, dose: &PyDose) -> PyResult<Bound<'py, PyTuple>> {
    // All members: a new one has to be carried along, too.
    let Dose {
        gy,
        status,
        label,
        frame_of_reference_uid,
        receipt,
        caveats,
        remarks: dose_remarks,
        part,
    } = &*dose.dose;
    let file = dose.file.as_ref().map(|file| {
        let DoseFile {
            name,
            dose: _,
            patient,
            remarks,
            is_stated,
        } = file.clone();
        FileState {
            name,
            patient,
            remarks,
            is_stated,
        }
    });
    let state = DoseState {
        status: *status,
        label: label.clone(),
        frame_of_reference_uid: frame_of_reference_uid.clone(),
        receipt: receipt.as_deref().cloned(),
        caveats: caveats.clone(),
        known: dose_remarks.clone(),
        part: *part,
        remarks: dose.remarks.clone(),
        file,
    };
    let sigma_gy = dose
        .computed
        .as_ref()
        .and_then(|computed| computed.sigma_gy.as_ref());
    let sigma_gy = sigma_gy.map(|sigma_gy| shown(py, sigma_gy)).transpose()?;
    let grid = PyGrid(Arc::clone(gy.grid()));
    let state = text_of((state, dose.computed.as_deref()))?;
    reduced(
        py,
        "_restored_dose",
        (shown(py, gy)?, grid, state, sigma_gy),
    )
}

#[pyfunction(name = "_restored_dose")]
pub fn restored_dose(
    gy: &Bound<'_, PyAny>,
    grid: &PyGrid,
    state: &str,
    sigma_gy: Option<Bound<'_, PyAny>>,
) -> PyResult<PyDose> {
    let (state, computed): (DoseState, Option<Computed>) = state_of(state)?;
    let sigma_gy = sigma_gy
        .map(|sigma_gy| volume_of(&sigma_gy, Arc::clone(&grid.0), "the deviation"))
        .transpose()?;
    let dose = Dose {
        gy: volume_of(gy, Arc::clone(&grid.0), "the dose")?,
        status: state.status,
        label: state.label,
        frame_of_reference_uid: state.frame_of_reference_uid,
        receipt: state.receipt.map(Arc::new),
        caveats: state.caveats,
        remarks: state.known,
        part: state.part,
    };
    let file = state.file.map(
        |FileState {
             name,
             patient,
             remarks,
             is_stated,
         }| DoseFile {
            name,
            dose: dose.clone(),
            patient,
            remarks,
            is_stated,
        },
    );
    let computed = computed.map(|computed| computed.with_deviation(sigma_gy));
    Ok(PyDose::restored(dose, file, state.remarks, computed))
}

#[derive(Serialize, Deserialize)]
struct CtState {
    position: PatientPosition,
    series_uid: String,
    study_uid: String,
    frame_of_reference_uid: String,
    description: String,
    plane_uids: Vec<String>,
    files: Vec<PathBuf>,
    remarks: Vec<Remark>,
}

pub fn ct<'py>(py: Python<'py>, ct: &Ct) -> PyResult<Bound<'py, PyTuple>> {
    let Ct {
        hu,
        position,
        series_uid,
        study_uid,
        frame_of_reference_uid,
        description,
        plane_uids,
        files,
        remarks,
    } = ct.clone();
    let grid = PyGrid(Arc::clone(hu.grid()));
    let state = text_of(CtState {
        position,
        series_uid,
        study_uid,
        frame_of_reference_uid,
        description,
        plane_uids,
        files,
        remarks,
    })?;
    reduced(py, "_restored_ct", (shown(py, &hu)?, grid, state))
}

#[pyfunction(name = "_restored_ct")]
pub fn restored_ct(hu: &Bound<'_, PyAny>, grid: &PyGrid, state: &str) -> PyResult<PyCt> {
    let state: CtState = state_of(state)?;
    Ok(PyCt(Arc::new(Ct {
        hu: volume_of(hu, Arc::clone(&grid.0), "the CT")?,
        position: state.position,
        series_uid: state.series_uid,
        study_uid: state.study_uid,
        frame_of_reference_uid: state.frame_of_reference_uid,
        description: state.description,
        plane_uids: state.plane_uids,
        files: state.files,
        remarks: state.remarks,
    })))
}

#[derive(Serialize, Deserialize)]
struct SetState {
    label: String,
    frame_of_reference_uid: String,
    /// Each without its contours, and these: they are taken as they are, whatever they have in common.
    structures: Vec<(Structure, Vec<Contour>)>,
    uid: Option<String>,
    remarks: Vec<Remark>,
    not_modelled: Vec<String>,
}

impl From<&StructureSet> for SetState {
    fn from(set: &StructureSet) -> Self {
        let StructureSet {
            label,
            frame_of_reference_uid,
            structures,
            uid,
            remarks,
            not_modelled,
        } = set.clone();
        let structures = structures.into_iter().map(|structure| {
            let contours = structure
                .contours
                .iter()
                .map(|contour| Contour::clone(contour))
                .collect();
            (
                Structure {
                    contours: Contours::default(),
                    ..structure
                },
                contours,
            )
        });
        Self {
            label,
            frame_of_reference_uid,
            structures: structures.collect(),
            uid,
            remarks,
            not_modelled,
        }
    }
}

impl From<SetState> for StructureSet {
    fn from(state: SetState) -> Self {
        let SetState {
            label,
            frame_of_reference_uid,
            structures,
            uid,
            remarks,
            not_modelled,
        } = state;
        let structures = structures
            .into_iter()
            .map(|(structure, contours)| Structure {
                contours: structure.contours.replaced(|_| false, contours),
                ..structure
            });
        Self {
            label,
            frame_of_reference_uid,
            structures: structures.collect(),
            uid,
            remarks,
            not_modelled,
        }
    }
}

/// A plan, and the remarks of its reader.
type PlanState = (Plan, Vec<Remark>);

fn plan_state(plan: &Plan) -> PlanState {
    (plan.clone(), plan.remarks.clone())
}

fn plan_of_state(state: PlanState) -> Arc<Plan> {
    let (plan, remarks) = state;
    Arc::new(Plan { remarks, ..plan })
}

#[derive(Serialize, Deserialize)]
struct CaseState {
    patient: PatientInfo,
    source: String,
    structures: SetState,
    plans: Vec<PlanState>,
    remarks: Vec<Remark>,
    refused_plans: Vec<String>,
    goals: Option<Vec<Goal>>,
    spent_number: u32,
    structures_file: Option<(PathBuf, SetState)>,
    plan_files: Vec<(PathBuf, PlanState)>,
    /// Each with the index of the dose of the case that it has.
    dose_files: Vec<(PathBuf, usize)>,
}

pub fn case<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyTuple>> {
    let Case {
        patient,
        source,
        ct,
        structures,
        plans,
        doses,
        remarks,
        refused_plans,
        goals,
        spent_number,
        sources,
    } = case;
    let dose_files = sources.doses.iter().filter_map(|file| {
        let index = doses
            .iter()
            .position(|dose| Arc::ptr_eq(dose, &file.read))?;
        Some((file.path.clone(), index))
    });
    let state = CaseState {
        patient: patient.clone(),
        source: source.clone(),
        structures: SetState::from(&**structures),
        plans: plans.iter().map(|plan| plan_state(plan)).collect(),
        remarks: remarks.clone(),
        refused_plans: refused_plans.clone(),
        goals: goals.as_ref().map(|goals| goals.to_vec()),
        spent_number: *spent_number,
        structures_file: sources
            .structures
            .as_ref()
            .map(|s| (s.path.clone(), SetState::from(&*s.read))),
        plan_files: sources
            .plans
            .iter()
            .map(|s| (s.path.clone(), plan_state(&s.read)))
            .collect(),
        dose_files: dose_files.collect(),
    };
    let doses: Vec<PyDose> = doses.iter().map(PyDose::from_dose).collect();
    reduced(
        py,
        "_restored_case",
        (text_of(state)?, ct.clone().map(PyCt), doses),
    )
}

#[pyfunction(name = "_restored_case")]
pub fn restored_case(
    state: &str,
    ct: Option<PyRef<'_, PyCt>>,
    doses: Vec<PyDose>,
) -> PyResult<PyCase> {
    let state: CaseState = state_of(state)?;
    let doses: Vec<Arc<Dose>> = doses.into_iter().map(|dose| dose.dose).collect();
    let structures_file = state.structures_file.map(|(path, set)| Source {
        path,
        read: Arc::new(set.into()),
    });
    let plan_files = state.plan_files.into_iter().map(|(path, plan)| Source {
        path,
        read: plan_of_state(plan),
    });
    let dose_files = state.dose_files.into_iter().filter_map(|(path, index)| {
        Some(Source {
            path,
            read: Arc::clone(doses.get(index)?),
        })
    });
    let sources = Sources {
        structures: structures_file,
        plans: plan_files.collect(),
        doses: dose_files.collect(),
    };
    Ok(PyCase(Case {
        patient: state.patient,
        source: state.source,
        ct: ct.map(|ct| Arc::clone(&ct.0)),
        structures: Arc::new(state.structures.into()),
        plans: state.plans.into_iter().map(plan_of_state).collect(),
        doses,
        remarks: state.remarks,
        refused_plans: state.refused_plans,
        goals: state.goals.map(Into::into),
        spent_number: state.spent_number,
        sources: Arc::new(sources),
    }))
}

pub fn structures<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyTuple>> {
    reduced(py, "_structures_of", (PyCase(case.clone()),))
}

#[pyfunction(name = "_structures_of")]
pub fn structures_of(case: &PyCase) -> PyStructures {
    PyStructures(case.0.clone())
}

pub fn structure<'py>(py: Python<'py>, structure: &PyStructure) -> PyResult<Bound<'py, PyTuple>> {
    reduced(
        py,
        "_structure_of",
        (PyCase(structure.case.clone()), structure.number),
    )
}

#[pyfunction(name = "_structure_of")]
pub fn structure_of(case: &PyCase, number: u32) -> PyStructure {
    PyStructure {
        case: case.0.clone(),
        number,
    }
}

pub fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyTuple>> {
    reduced(py, "_restored_plan", (text_of(plan_state(plan))?,))
}

#[pyfunction(name = "_restored_plan")]
pub fn restored_plan(state: &str) -> PyResult<PyPlan> {
    state_of(state).map(plan_of_state).map(PyPlan)
}

/// The maps of a gamma, and all that is said of them.
pub fn gamma<'py>(py: Python<'py>, gamma: &PyGamma) -> PyResult<Bound<'py, PyTuple>> {
    let signed = gamma.signed_map()?;
    let grid = PyGrid(Arc::clone(signed.grid()));
    let maps = gamma
        .maps
        .iter()
        .map(|map| shown(py, map))
        .collect::<PyResult<Vec<_>>>()?;
    reduced(
        py,
        "_restored_gamma",
        (maps, shown(py, &signed)?, grid, text_of(&gamma.figures)?),
    )
}

#[pyfunction(name = "_restored_gamma")]
pub fn restored_gamma(
    maps: Vec<Bound<'_, PyAny>>,
    signed: &Bound<'_, PyAny>,
    grid: &PyGrid,
    state: &str,
) -> PyResult<PyGamma> {
    let maps = maps.iter().map(|map| gamma_map(map, grid));
    let maps = maps.collect::<PyResult<Vec<_>>>()?;
    Ok(PyGamma::restored(
        maps,
        gamma_map(signed, grid)?,
        state_of(state)?,
    ))
}

fn gamma_map(map: &Bound<'_, PyAny>, grid: &PyGrid) -> PyResult<Arc<Volume<f32>>> {
    volume_of(map, Arc::clone(&grid.0), "the gamma")
}

pub fn dvh<'py>(py: Python<'py>, dvh: &PyDvh) -> PyResult<Bound<'py, PyTuple>> {
    reduced(py, "_restored_dvh", (text_of(dvh)?,))
}

#[pyfunction(name = "_restored_dvh")]
pub fn restored_dvh(state: &str) -> PyResult<PyDvh> {
    state_of(state)
}
