//! A dose with its grid, its status and where it came from.

use super::arrays::{shown, volume_of};
use super::dlpack::{DataType, DlDevice, Shown, wanted};
use super::errors::{Kind, argument, guarded};
use super::grid::PyGrid;
use super::json::dictionary;
use super::words::check_new;
use case::{Case, Dose, DoseStatus, Remark};
use engine::cccs::CardDose;
use files::mha::Quantity;
use files::write_dose_volume;
use numpy::PyArray3;
use open::{DoseFile, NotOfCase, read_dose};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use results::PlanResult;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// A dose of the whole treatment course in Gy, on a grid of its own.
///
/// ``Dose(gy, grid, label="array", frame_of_reference_uid="")`` takes an array ``[z, y, x]`` in Gy of any real type and
/// layout. A read-only one of float32, row by row, is the dose's memory (it is never to be made writeable again); others are copied
/// once. Its status is ``imported``. Doses of files and of jobs carry their own status and caveats: only ``final`` (and
/// ``imported``) without caveats is a dose to rely on.
#[pyclass(frozen, name = "Dose", module = "beamsight", from_py_object)]
#[derive(Clone)]
pub struct PyDose {
    pub dose: Arc<Dose>,
    /// The file that it was read from.
    pub file: Option<DoseFile>,
    pub remarks: Vec<String>,
    /// The plan that it was computed of, with its case.
    pub computed: Option<(Case, Arc<PlanResult>)>,
    /// The same dose in the memory of a card.
    on_card: Option<Arc<CardDose>>,
}

impl PyDose {
    /// A dose of a file or a case, as it was read.
    pub fn from_dose(dose: &Arc<Dose>) -> Self {
        Self { dose: Arc::clone(dose), file: None, remarks: Vec::new(), computed: None, on_card: None }
    }

    /// A computed dose, which may lie on a card, too.
    pub fn computed(case: Case, result: PlanResult, on_card: Option<CardDose>) -> Self {
        let (dose, remarks) = (Arc::new(result.dose.clone()), result.remarks.clone());
        let on_card = on_card.map(Arc::new);
        Self { dose, file: None, remarks, computed: Some((case, Arc::new(result))), on_card }
    }

    /// Checks that a dose of a file belongs to a case; a dose of another patient is taken where its user says so.
    pub fn check(&self, case: &Case, any_patient: bool) -> PyResult<Self> {
        let Some(mut file) = self.file.clone() else { return Ok(self.clone()) };
        let checked = file.check(case);
        accepted(&mut file, checked, any_patient)?;
        Ok(Self::of_file(file))
    }

    /// Checks that two doses of files are of one patient and one frame of reference.
    pub fn check_pair(&self, other: &Self, any_patient: bool) -> PyResult<[Self; 2]> {
        let (Some(mut a), Some(mut b)) = (self.file.clone(), other.file.clone()) else {
            return Ok([self.clone(), other.clone()]);
        };
        let checked = b.check_dose(&a);
        accepted(&mut b, checked, any_patient)?;
        // The other way round nothing is refused: it is remarked on what this file does not state.
        let _ = a.check_dose(&b);
        Ok([a, b].map(Self::of_file))
    }

    fn of_file(file: DoseFile) -> Self {
        let remarks = file.remarks.iter().map(Remark::with_files).collect();
        let dose = Arc::new(file.dose.clone());
        Self { dose, remarks, file: Some(file), computed: None, on_card: None }
    }
}

/// The outcome of a check: another patient is taken only on request, and said by the dose then.
fn accepted(file: &mut DoseFile, checked: Result<(), NotOfCase>, any_patient: bool) -> PyResult<()> {
    match checked {
        Err(NotOfCase::Patient { .. }) if any_patient => file.accept(),
        Err(other @ NotOfCase::Patient { .. }) => {
            return Err(argument(format!(
                "{other}: they belong to one patient; where both are the same person, pass any_patient=True"
            )));
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
        py.detach(|| read_dose(&path).map_err(|error| Kind::File.caused_by(&error))).map(PyDose::of_file)
    })
}

#[pymethods]
impl PyDose {
    #[new]
    #[pyo3(signature = (gy, grid, label = "array", frame_of_reference_uid = ""))]
    fn new(
        gy: &Bound<'_, PyAny>,
        grid: &PyGrid,
        label: &str,
        frame_of_reference_uid: &str,
    ) -> PyResult<Self> {
        let gy = guarded(|| volume_of(gy, Arc::clone(&grid.0), "the dose"))?;
        Ok(Self::from_dose(&Arc::new(Dose {
            gy,
            status: DoseStatus::Imported,
            label: label.to_owned(),
            frame_of_reference_uid: frame_of_reference_uid.to_owned(),
            receipt: None,
            caveats: Vec::new(),
        })))
    }

    /// Gy, float32 ``[z, y, x]``: a read-only view of the dose's own memory.
    #[getter]
    fn gy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        shown(py, &self.dose.gy)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        super::arrays::as_asked(shown(py, &self.dose.gy)?.into_any(), dtype, copy)
    }

    /// DLPack's word for the place of ``__dlpack__``, and its number: (2, N) on ``cuda:N``, (1, 0) in the memory of the host.
    fn __dlpack_device__(&self) -> (i32, i32) {
        self.place().words()
    }

    /// Gy, float32 ``[z, y, x]``, as a capsule of DLPack without a copy, to be read only: on the card for a dose of
    /// ``on_card=True``, unless ``dl_device`` names the host. All work on it has ended, so that any stream may read it. Raises
    /// BufferError where a copy, or another device, is asked for.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wanted = wanted(options)?;
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
    fn max_gy(&self) -> f32 {
        self.dose.max_gy()
    }

    /// Receipts of the jobs (digest of what was asked, device, phases in ms, warnings), one for each beam, or one for a run
    /// of Monte Carlo; empty for a dose of a file or an array.
    #[getter]
    fn receipts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let receipts = self.computed.as_ref().map(|(_, result)| &result.receipts[..]).unwrap_or_default();
        dictionary(py, &receipts.iter().map(|receipt| &**receipt).collect::<Vec<_>>())
    }

    /// The devices that computed it: the CPU where it stood in for a card that failed.
    #[getter]
    fn devices(&self) -> Vec<String> {
        let mut devices: Vec<String> = Vec::new();
        for receipt in self.computed.iter().flat_map(|(_, result)| &result.receipts) {
            if !devices.contains(&receipt.device) {
                devices.push(receipt.device.clone());
            }
        }
        devices
    }

    /// One standard deviation of each voxel, Gy, of a Monte Carlo dose, float32 ``[z, y, x]``; else None.
    #[getter]
    fn sigma_gy<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f32>>>> {
        let certainty = self.computed.as_ref().and_then(|(_, result)| result.certainty.as_ref());
        certainty.map(|certainty| shown(py, &certainty.sigma_gy)).transpose()
    }

    /// Figures of the computation, with the keys of ``beamsight dose --json``: ``figures`` of the plan, ``monte_carlo``
    /// (histories, uncertainty), ``normalisation_factor``, ``beam_doses``. None for a dose of a file or an array.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((_, result)) = &self.computed else { return Ok(None) };
        let figures = json!({
            "figures": result.figures,
            "monte_carlo": result.certainty,
            "normalisation_factor": result.factor,
            "normalisation_uncertainty_percent": result.factor_uncertainty_percent,
            "beam_doses": result.beam_doses,
        });
        dictionary(py, &figures).map(Some)
    }

    /// Writes the dose as a ``.mha`` in Gy with its status. As DICOM a dose leaves with its plan: ``beamsight.export``.
    /// Raises FileError where a file is there already, unless ``overwrite``.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mha")) {
            let path = path.display();
            return Err(argument(format!(
                "'{path}': a dose is saved as .mha; beamsight.export writes DICOM"
            )));
        }
        check_new(&path, overwrite)?;
        let case = match (&self.computed, &self.file) {
            (Some((case, _)), _) => case.clone(),
            (None, file) => self.stated_case(file.as_ref()),
        };
        let dose = &self.dose;
        let write = || write_dose_volume(&path, Quantity::Dose, &dose.gy, dose, &case);
        guarded(|| py.detach(|| write().map_err(|e| Kind::File.caused_by(&e))))
    }

    fn __repr__(&self) -> String {
        let (nx, ny, nz) = self.dose.gy.grid().size().into();
        let mut text = format!(
            "Dose '{}': {}, up to {:.3} Gy on {nz} x {ny} x {nx} voxels (z, y, x)",
            self.dose.label,
            self.dose.status_text(),
            self.dose.max_gy()
        );
        let devices = self.devices();
        if !devices.is_empty() {
            text += &format!(", by {}", devices.join(" and "));
        }
        self.remarks.iter().for_each(|remark| text += &format!("\n  note: {remark}"));
        text
    }
}

impl PyDose {
    /// Place of the dose for DLPack.
    fn place(&self) -> DlDevice {
        self.on_card.as_ref().map_or(DlDevice::HOST, |dose| DlDevice::card(dose.gy.ordinal()))
    }

    /// A case that states what the file of the dose states, for the header of another file.
    fn stated_case(&self, file: Option<&DoseFile>) -> Case {
        let mut case =
            Case { patient: file.map(|file| file.patient.clone()).unwrap_or_default(), ..Case::default() };
        Arc::make_mut(&mut case.structures)
            .frame_of_reference_uid
            .clone_from(&self.dose.frame_of_reference_uid);
        case
    }
}
