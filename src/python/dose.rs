//! A dose with its grid, its status and where it came from.

use super::arithmetic::{no_difference, product, sum};
use super::arrays::{shown, volume_of};
use super::dlpack::{DataType, DlDevice, Shown, wanted};
use super::errors::{Kind, argument, guarded, warn};
use super::grid::PyGrid;
use super::handed::{self, Standing};
use super::html::{page, row};
use super::json::dictionary;
use super::pickle;
use super::threads::compute;
use super::words::check_new;
use case::{Case, Dose, DoseValueError, PatientInfo, Receipt, Remark};
use engine::cccs::CardDose;
use files::mha::{Facts, Quantity};
use files::{dose_of_facts, facts_of_dose, write_dose_volume};
use geometry::Volume;
use numpy::PyArray3;
use open::{DoseFile, NotOfCase, read_dose};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use results::PlanResult;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A dose of the whole treatment course in Gy, with its grid.
///
/// ``Dose(gy, grid, label="array", frame_of_reference_uid="", made_of=None)`` takes an array ``[z, y, x]`` in Gy of any real type
/// and layout, each value finite and not below 0. A read-only one of float32, row by row, is the dose's memory (it is never to be
/// made writeable again); others are copied once. Its status is ``imported``, or the status of ``made_of``, the dose whose values were
/// changed to these, or of a dose of this process with the same values, where that is worse. Doses of files and of jobs
/// carry their own status and caveats: only ``final`` (and ``imported``) without caveats is a dose to rely on.
///
/// ``a + b`` is a dose, on one grid and in one frame of reference, with the worse status and the caveats of both; ``2 * a`` and
/// ``a / 30`` are, too.
#[pyclass(frozen, name = "Dose", module = "beamsight", from_py_object)]
#[derive(Clone)]
pub struct PyDose {
    pub dose: Arc<Dose>,
    /// The file that it was read from.
    pub file: Option<DoseFile>,
    pub remarks: Vec<String>,
    /// Receipts and figures that its computation gives beside it.
    pub computed: Option<Arc<Computed>>,
    /// The same dose in the memory of a card.
    on_card: Option<Arc<CardDose>>,
}

/// Patient, receipts, figures and uncertainty that a computation gives beside its dose.
#[derive(Serialize, Deserialize)]
pub struct Computed {
    patient: PatientInfo,
    /// Frame of reference of its case, as files state it.
    frame_of_reference_uid: String,
    receipts: Vec<Receipt>,
    figures: serde_json::Value,
    /// One standard deviation, Gy, of a Monte Carlo dose.
    #[serde(skip)]
    pub sigma_gy: Option<Arc<Volume<f32>>>,
}

impl Computed {
    fn new(case: &Case, result: &PlanResult) -> Self {
        let figures = json!({
            "figures": result.figures,
            "monte_carlo": result.certainty,
            "normalisation_factor": result.factor,
            "normalisation_uncertainty_percent": result.factor_uncertainty_percent,
            "beam_doses": result.beam_doses,
        });
        Self {
            patient: case.patient.clone(),
            frame_of_reference_uid: case.stated_frames().next().unwrap_or_default().to_owned(),
            receipts: result
                .receipts
                .iter()
                .map(|receipt| Receipt::clone(receipt))
                .collect(),
            figures,
            sigma_gy: result
                .certainty
                .as_ref()
                .map(|certainty| Arc::clone(&certainty.sigma_gy)),
        }
    }

    pub fn with_deviation(self, sigma_gy: Option<Arc<Volume<f32>>>) -> Self {
        Self { sigma_gy, ..self }
    }
}

impl PyDose {
    /// A dose of a file or a case, as it was read.
    pub fn from_dose(dose: &Arc<Dose>) -> Self {
        Self {
            dose: Arc::clone(dose),
            file: None,
            remarks: dose.remarks.clone(),
            computed: None,
            on_card: None,
        }
    }

    /// A computed dose, which may lie on a card, too.
    pub fn computed(case: &Case, result: PlanResult, on_card: Option<CardDose>) -> Self {
        let computed = Some(Arc::new(Computed::new(case, &result)));
        let PlanResult { dose, remarks, .. } = result;
        Self {
            dose: Arc::new(dose),
            file: None,
            remarks,
            computed,
            on_card: on_card.map(Arc::new),
        }
    }

    /// A dose that was pickled.
    pub fn restored(
        dose: Dose,
        file: Option<DoseFile>,
        remarks: Vec<String>,
        computed: Option<Computed>,
    ) -> Self {
        Self {
            dose: Arc::new(dose),
            file,
            remarks,
            computed: computed.map(Arc::new),
            on_card: None,
        }
    }

    /// A dose made of this one and others, of their patient and with their remarks.
    pub fn derived(&self, dose: Dose, others: &[&Self]) -> Self {
        let parts: Vec<&Self> = std::iter::once(self)
            .chain(others.iter().copied())
            .collect();
        let mut remarks: Vec<String> = Vec::new();
        for remark in parts.iter().flat_map(|part| &part.remarks) {
            if !remarks.contains(remark) {
                remarks.push(remark.clone());
            }
        }
        let patient = parts
            .into_iter()
            .map(Self::patient)
            .find(|patient| !patient.in_words().is_empty());
        let file = patient.map(|patient| DoseFile {
            name: dose.label.clone(),
            dose: dose.clone(),
            patient,
            remarks: remarks
                .iter()
                .map(|remark| Remark::note(remark, Vec::new()))
                .collect(),
            is_stated: true,
        });
        Self {
            dose: Arc::new(dose),
            file,
            remarks,
            computed: None,
            on_card: None,
        }
    }

    /// The patient of the dose, as far as its file or its case states one.
    pub fn patient(&self) -> PatientInfo {
        let of_file = self.file.as_ref().map(|file| &file.patient);
        let of_case = self.computed.as_ref().map(|computed| &computed.patient);
        of_file.or(of_case).cloned().unwrap_or_default()
    }

    /// Checks that a dose belongs to a case; a dose of another patient is taken where its user says so.
    pub fn check(&self, case: &Case, any_patient: bool) -> PyResult<Self> {
        let Some(mut file) = self.file.clone() else {
            return self
                .check_made_here(case, any_patient)
                .map(|()| self.clone());
        };
        let checked = file.check(case);
        accepted(&mut file, checked, any_patient)?;
        Ok(Self::of_file(file))
    }

    /// The same for a dose that no file states anything of: what it is known to be of is compared.
    fn check_made_here(&self, case: &Case, any_patient: bool) -> PyResult<()> {
        let theirs = self.dose.frame_of_reference_uid.trim();
        let of_ct = case.ct.as_ref().map(|ct| ct.frame_of_reference_uid.trim());
        let mut frames = case.stated_frames();
        let other_frame =
            frames.find(|ours| !theirs.is_empty() && *ours != theirs && of_ct != Some(theirs));
        let (file, what) = (self.dose.label.clone(), "the case".to_owned());
        if let Some(ours) = other_frame {
            let (theirs, ours) = (theirs.to_owned(), ours.to_owned());
            return Err(argument(NotOfCase::Frame {
                file,
                theirs,
                what,
                ours,
            }));
        }
        self.check_patient(&case.patient, &what, any_patient)
    }

    fn check_patient(&self, other: &PatientInfo, what: &str, any_patient: bool) -> PyResult<()> {
        let patient = self.patient();
        if any_patient || patient.is_same(other) != Some(false) {
            return Ok(());
        }
        let [theirs, ours] = [&patient, other].map(PatientInfo::in_words);
        let (file, what) = (self.dose.label.clone(), what.to_owned());
        Err(argument(format!(
            "{}; {ONE_PATIENT}",
            NotOfCase::Patient {
                file,
                theirs,
                what,
                ours
            }
        )))
    }

    /// Checks that two doses are of one patient, and doses of files also of one frame of reference.
    pub fn check_pair(&self, other: &Self, any_patient: bool) -> PyResult<[Self; 2]> {
        let (Some(mut a), Some(mut b)) = (self.file.clone(), other.file.clone()) else {
            self.check_patient(
                &other.patient(),
                &format!("'{}'", other.dose.label),
                any_patient,
            )?;
            return Ok([self.clone(), other.clone()]);
        };
        let checked = b.check_dose(&a);
        accepted(&mut b, checked, any_patient)?;
        // The other way round nothing is refused: it is remarked on what this file does not state.
        let _ = a.check_dose(&b);
        Ok([a, b].map(Self::of_file))
    }

    fn of_file(file: DoseFile) -> Self {
        let of_file: Vec<&str> = file.remarks.iter().map(|r| r.message.as_str()).collect();
        let of_case = file
            .dose
            .remarks
            .iter()
            .filter(|message| !of_file.contains(&message.as_str()))
            .cloned();
        let remarks = file
            .remarks
            .iter()
            .map(Remark::with_files)
            .chain(of_case)
            .collect();
        let dose = Arc::new(file.dose.clone());
        Self {
            dose,
            remarks,
            file: Some(file),
            computed: None,
            on_card: None,
        }
    }
}

/// Advice where two objects are of two patients.
const ONE_PATIENT: &str =
    "they belong to one patient; where both are the same person, pass any_patient=True";

/// The outcome of a check: another patient is taken only on request, and said by the dose then.
fn accepted(
    file: &mut DoseFile,
    checked: Result<(), NotOfCase>,
    any_patient: bool,
) -> PyResult<()> {
    match checked {
        Err(NotOfCase::Patient { .. }) if any_patient => file.accept(),
        Err(other @ NotOfCase::Patient { .. }) => {
            return Err(argument(format!("{other}: {ONE_PATIENT}")));
        }
        checked => checked.map_err(argument)?,
    }
    Ok(())
}

/// Reads a dose: an RTDOSE file or a ``.mha`` volume in Gy. Raises FileError.
#[pyfunction(name = "read_dose")]
#[pyo3(signature = (path, /))]
pub fn read(py: Python<'_>, path: PathBuf) -> PyResult<PyDose> {
    guarded(|| {
        let dose = py.detach(|| compute(|| read_dose(&path)))?;
        let dose = dose.map_err(|error| Kind::File.caused_by(&error))?;
        Ok(PyDose::of_file(dose))
    })
}

/// The facts that an image of another library carries of a dose, as the header of its ``.mha`` file.
#[pyfunction(name = "_facts")]
pub fn facts(dose: &PyDose) -> BTreeMap<&'static str, String> {
    let facts = facts_of_dose(
        Quantity::Dose,
        &dose.dose,
        &dose.patient(),
        dose.stated_frame(),
    );
    facts.stated().into_iter().collect()
}

/// The dose of an image of another library, in Gy, with the facts that it carries.
#[pyfunction(name = "_dose_of_image")]
pub fn dose_of_image(
    py: Python<'_>,
    gy: &Bound<'_, PyAny>,
    grid: &PyGrid,
    label: &str,
    facts: BTreeMap<String, String>,
) -> PyResult<PyDose> {
    let facts = Facts::read(|key| facts.get(key).map(String::as_str));
    if let Some(held) = facts.contradicts(Quantity::Dose) {
        return Err(argument(format!(
            "the image holds the {held}, as it says, not the {}",
            Quantity::Dose
        )));
    }
    let gy = guarded(|| checked_dose(py, gy, grid))?;
    let Standing {
        status,
        reservations,
        part,
    } = handed::standing_of(&gy);
    let stated = dose_of_facts(gy, &facts, label.to_owned());
    let dose = Dose {
        status: stated.status.worst(status),
        part: stated.part.or(part),
        ..stated
    };
    let dose = dose.with_reservations(&reservations);
    if facts == Facts::default() {
        return Ok(PyDose::from_dose(&Arc::new(dose)));
    }
    Ok(PyDose::of_file(DoseFile::with_facts(
        label.to_owned(),
        dose,
        &facts,
    )))
}

/// The values of an array as values of a dose.
///
/// # Errors
/// `ArgumentError` for another shape or kind, and for values that no dose has.
fn checked_dose(
    py: Python<'_>,
    gy: &Bound<'_, PyAny>,
    grid: &PyGrid,
) -> PyResult<Arc<Volume<f32>>> {
    let gy = volume_of(gy, Arc::clone(&grid.0), "the dose")?;
    let checked = py.detach(|| compute(|| DoseValueError::check(&gy)))?;
    checked.map_err(|fault| argument(format!("the dose is {fault}")))?;
    Ok(gy)
}

#[pymethods]
impl PyDose {
    #[new]
    #[pyo3(signature = (gy, grid, label = "array", frame_of_reference_uid = "", made_of = None))]
    fn new(
        py: Python<'_>,
        gy: &Bound<'_, PyAny>,
        grid: &PyGrid,
        label: &str,
        frame_of_reference_uid: &str,
        made_of: Option<&Self>,
    ) -> PyResult<Self> {
        let gy = guarded(|| checked_dose(py, gy, grid))?;
        let Standing {
            status,
            reservations,
            part,
        } = made_of.map_or_else(|| handed::standing_of(&gy), |dose| Standing::of(&dose.dose));
        Ok(Self::from_dose(&Arc::new(Dose {
            gy,
            status,
            label: label.to_owned(),
            frame_of_reference_uid: frame_of_reference_uid.to_owned(),
            receipt: None,
            caveats: reservations.caveats,
            remarks: reservations.remarks,
            part,
        })))
    }

    /// Gy, float32 ``[z, y, x]``: a read-only view of the dose's own memory. The array has no status; look at ``status`` first.
    #[getter]
    fn gy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        handed::note(&self.dose);
        shown(py, &self.dose.gy)
    }

    /// The shape of its array: planes, rows, columns.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let [nx, ny, nz] = self.dose.gy.grid().size();
        (nz, ny, nx)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.warn_of_lost_status(py)?;
        super::arrays::as_asked(self.gy(py)?.into_any(), dtype, copy)
    }

    /// Arrays leave what is done with a dose to the dose, whose status would be lost.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        guarded(|| sum(self, other))
    }

    /// ``sum(doses)`` begins with 0.
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        if other.extract::<i64>().is_ok_and(|start| start == 0) {
            return Ok(self.clone());
        }
        guarded(|| sum(self, other))
    }

    fn __mul__(&self, factor: &Bound<'_, PyAny>) -> PyResult<Self> {
        guarded(|| product(self, factor, false))
    }

    fn __rmul__(&self, factor: &Bound<'_, PyAny>) -> PyResult<Self> {
        guarded(|| product(self, factor, false))
    }

    fn __truediv__(&self, divisor: &Bound<'_, PyAny>) -> PyResult<Self> {
        guarded(|| product(self, divisor, true))
    }

    fn __sub__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Err(no_difference())
    }

    fn __rsub__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Err(no_difference())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::dose(py, self)
    }

    /// A dose never changes: its copy is itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// DLPack's word for the place of ``__dlpack__``, and its number: (2, N) on ``cuda:N``, (1, 0) in the memory of the host.
    fn __dlpack_device__(&self) -> (i32, i32) {
        self.place().words()
    }

    /// Gy, float32 ``[z, y, x]``, as a capsule of DLPack without a copy, to be read only: on the card for a dose of
    /// ``on_card=True``, unless ``dl_device`` names the host. All work on it has ended, so that any stream may read it. Raises
    /// BufferError where a copy, or another device, is requested.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wanted = wanted(options)?;
        self.warn_of_lost_status(py)?;
        handed::note(&self.dose);
        let [nx, ny, nz] = self.dose.gy.grid().size();
        let (data_type, shape) = (DataType::FLOAT32, vec![nz, ny, nx]);
        let shown = match &self.on_card {
            Some(dose) if wanted != Some(DlDevice::HOST) => Shown {
                address: dose.gy.address(),
                place: self.place(),
                data_type,
                shape,
                owner: Box::new(Arc::clone(dose)),
            },
            _ => Shown {
                address: self.dose.gy.data().as_ptr() as u64,
                place: DlDevice::HOST,
                data_type,
                shape,
                owner: Box::new(Arc::clone(&self.dose.gy)),
            },
        };
        shown.capsule(py, wanted)
    }

    #[getter]
    fn grid(&self) -> PyGrid {
        PyGrid(Arc::clone(self.dose.gy.grid()))
    }

    /// ``final``, ``imported``, ``coarse``, ``partial``, ``preview``, ``stale`` or ``failed``.
    #[getter]
    fn status(&self) -> &str {
        self.dose.status.word()
    }

    /// Parts of plan or patient that the dose does not count, a few words each.
    #[getter]
    fn caveats(&self) -> Vec<String> {
        self.dose.caveats.clone()
    }

    /// The status with its caveats, as it stands wherever the program shows the dose.
    #[getter]
    fn status_text(&self) -> String {
        self.dose.status_text()
    }

    #[getter]
    fn label(&self) -> &str {
        &self.dose.label
    }

    /// Empty where unknown.
    #[getter]
    fn frame_of_reference_uid(&self) -> &str {
        &self.dose.frame_of_reference_uid
    }

    /// Remarks of the reader or of the computation, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    /// The greatest dose, Gy.
    #[getter]
    fn max_gy(&self) -> PyResult<f32> {
        compute(|| self.dose.max_gy())
    }

    /// Receipts of the jobs (digest of what was asked, device, phases in ms, warnings), one for each beam, or one for a run
    /// of Monte Carlo; empty for a dose of a file or an array.
    #[getter]
    fn receipts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(
            py,
            &self
                .computed
                .as_ref()
                .map(|computed| &computed.receipts[..])
                .unwrap_or_default(),
        )
    }

    /// The devices that computed it: the CPU where it stood in for a card that failed.
    #[getter]
    fn devices(&self) -> Vec<String> {
        let mut devices: Vec<String> = Vec::new();
        for receipt in self.computed.iter().flat_map(|computed| &computed.receipts) {
            if !devices.contains(&receipt.device) {
                devices.push(receipt.device.clone());
            }
        }
        devices
    }

    /// One standard deviation of each voxel, Gy, of a Monte Carlo dose, float32 ``[z, y, x]``; else None.
    #[getter]
    fn sigma_gy<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f32>>>> {
        let sigma_gy = self
            .computed
            .as_ref()
            .and_then(|computed| computed.sigma_gy.as_ref());
        sigma_gy.map(|sigma_gy| shown(py, sigma_gy)).transpose()
    }

    /// Figures of the computation, with the keys of ``beamsight dose --json``: ``figures`` of the plan, ``monte_carlo``
    /// (histories, uncertainty), ``normalisation_factor``, ``beam_doses``. None for a dose of a file or an array.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.computed
            .as_ref()
            .map(|computed| dictionary(py, &computed.figures))
            .transpose()
    }

    /// Writes the dose as a ``.mha`` in Gy with its status. As DICOM a dose leaves with its plan: ``beamsight.export``.
    /// Raises FileError where a file is there already, unless ``overwrite``.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        if !path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("mha"))
        {
            let path = path.display();
            return Err(argument(format!(
                "'{path}': a dose is saved as .mha; beamsight.export writes DICOM"
            )));
        }
        check_new(&path, overwrite)?;
        let (case, dose) = (self.stated_case(), &self.dose);
        guarded(|| {
            let written =
                py.detach(|| write_dose_volume(&path, Quantity::Dose, &dose.gy, dose, &case));
            written.map_err(|e| Kind::File.caused_by(&e))
        })
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let (nz, ny, nx) = self.shape();
        let [dx, dy, dz] = <[f64; 3]>::from(self.grid().spacing_mm());
        let mut rows = vec![
            row("status", self.dose.status_text()),
            row("greatest", format!("{:.3} Gy", self.max_gy()?)),
            row("voxels (z, y, x)", format!("{nz} x {ny} x {nx}")),
            row(
                "spacing (x, y, z)",
                format!("{dx:.4} x {dy:.4} x {dz:.4} mm"),
            ),
        ];
        rows.extend(self.devices().into_iter().map(|device| row("by", device)));
        Ok(page(
            &format!("Dose {}", self.dose.label),
            &rows,
            &self.remarks,
        ))
    }

    fn __repr__(&self) -> PyResult<String> {
        let (nz, ny, nx) = self.shape();
        let mut text = format!(
            "Dose '{}': {}, up to {:.3} Gy on {nz} x {ny} x {nx} voxels (z, y, x)",
            self.dose.label,
            self.dose.status_text(),
            self.max_gy()?
        );
        let devices = self.devices();
        if !devices.is_empty() {
            text += &format!(", by {}", devices.join(" and "));
        }
        self.remarks
            .iter()
            .for_each(|remark| text += &format!("\n  note: {remark}"));
        Ok(text)
    }
}

impl PyDose {
    /// Warns that what takes the values alone takes a dose that is not to be relied on.
    fn warn_of_lost_status(&self, py: Python<'_>) -> PyResult<()> {
        if self.dose.is_reliable() {
            return Ok(());
        }
        let (label, status) = (&self.dose.label, self.dose.status_text());
        let words =
            format!("the dose '{label}' is {status}, and an array of its values does not say so");
        warn(py, "StatusWarning", words)
    }

    /// Place of the dose for DLPack.
    fn place(&self) -> DlDevice {
        self.on_card
            .as_ref()
            .map_or(DlDevice::HOST, |dose| DlDevice::card(dose.gy.ordinal()))
    }

    /// The frame of reference that a file of the dose states.
    fn stated_frame(&self) -> &str {
        let of_case = self
            .computed
            .as_ref()
            .map(|computed| &computed.frame_of_reference_uid);
        of_case.unwrap_or(&self.dose.frame_of_reference_uid)
    }

    /// A case of the patient and the frame of reference that the dose is known to be of, for the header of a file.
    fn stated_case(&self) -> Case {
        let mut case = Case {
            patient: self.patient(),
            ..Case::default()
        };
        self.stated_frame()
            .clone_into(&mut Arc::make_mut(&mut case.structures).frame_of_reference_uid);
        case
    }
}
