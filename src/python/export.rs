//! A case as DICOM files for other systems: the verb `export`.

use super::case::PyCase;
use super::dose_job::{Histories, How};
use super::errors::{Kind, argument};
use super::job::run;
use super::plan::PyPlan;
use super::radiograph::{first_isocentre, pose};
use super::register::PyRegistration;
use super::words;
use analysis::Engine;
use case::{Case, Placement};
use dicom::{Anonymise, DoseBits, ExportOptions, ExportPart};
use engine::drr_gradient::AXES;
use files::{Inputs, NewFolder};
use open::{CaseWord, paths_of};
use physics::{AttenuationCurve, CurveKind, HuTable};
use pyo3::prelude::*;
use registration::{PoseStanding, check_belongs};
use results::{DosesToExport, ExportHow, XRay, XRays, export_case, read_xray};
use std::path::PathBuf;
use std::sync::Arc;

/// Options of an export, as `beamsight.export` explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    only: Option<Vec<String>>,
    dose: Option<String>,
    bits: u8,
    anonymise: bool,
    shift_dates: Option<i32>,
    overwrite: bool,
    xrays: Vec<PathBuf>,
    pose: Option<PoseOfXRays>,
    any_patient: bool,
}

/// The pose of the CT before X-rays: one that was found, or six numbers.
#[derive(FromPyObject)]
enum PoseOfXRays {
    Found(Py<PyRegistration>),
    Numbers([f64; AXES]),
}

impl Options {
    /// The X-rays with their pose; `None` where there are none.
    fn xrays(&self, case: &Case, table: &HuTable) -> PyResult<Option<XRays>> {
        if self.xrays.is_empty() {
            return match self.pose {
                Some(_) => Err(argument(
                    "a pose is that before X-rays: name their files by xrays",
                )),
                None => Ok(None),
            };
        }
        let ct = case
            .ct
            .as_ref()
            .ok_or_else(|| argument(format!("{} has no CT", case.source)))?;
        let images = self.xrays.iter().map(|path| {
            let (mut image, _) = read_xray(path, &Placement::default(), ct)
                .map_err(|error| Kind::File.caused_by(&error))?;
            if self.any_patient {
                image.accepted_patient = Some(image.patient.id.clone());
            }
            check_belongs(&image, &case.patient.id, &ct.frame_of_reference_uid)
                .map_err(argument)?;
            Ok(XRay {
                radiograph: Arc::new(image),
                path: path.clone(),
            })
        });
        let images: Vec<XRay> = images.collect::<PyResult<_>>()?;
        let centre_mm = images
            .iter()
            .find_map(|image| image.radiograph.setup.map(|s| s.isocentre_mm));
        let centre_mm = centre_mm
            .or_else(|| first_isocentre(case))
            .unwrap_or_else(|| ct.hu.grid().middle_mm());
        let (pose, standing, centre_mm) = match &self.pose {
            Some(PoseOfXRays::Found(found)) => found.get().placed(),
            Some(PoseOfXRays::Numbers(numbers)) => {
                (pose(*numbers)?, PoseStanding::ByHand, centre_mm)
            }
            None => (Default::default(), PoseStanding::ByHand, centre_mm),
        };
        let curve =
            AttenuationCurve::new(CurveKind::default(), table, AttenuationCurve::KILOVOLT_MEV);
        Ok(Some(XRays {
            images,
            pose,
            standing,
            centre_mm,
            curve,
        }))
    }
}

/// The folder and its remarks; `beamsight.export` says how.
#[pyfunction(name = "_export")]
#[pyo3(signature = (case, out, plan, how, histories, options, progress = None))]
#[expect(clippy::too_many_arguments, reason = "the options of the verb")]
pub fn export(
    py: Python<'_>,
    case: &PyCase,
    out: PathBuf,
    plan: Option<&PyPlan>,
    how: How,
    histories: Histories,
    options: Options,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(PathBuf, Vec<String>, Vec<String>)> {
    let mut case = case.0.clone();
    match plan {
        Some(_) => case.plans = vec![Arc::new(how.plan(&case, plan)?)],
        None => {
            if let Some(machine) = &how.machine {
                case.plans
                    .iter_mut()
                    .for_each(|plan| Arc::make_mut(plan).set_machine(machine));
            }
        }
    }
    let (settings, engine) = (how.settings(&case)?, histories.engine()?);
    let xrays = options.xrays(&case, &settings.hu_table)?;
    let parts = ExportPart::ALL.map(|part| (part.word(), part));
    let parts = match &options.only {
        Some(only) => only
            .iter()
            .map(|word| words::one_of("only", word, &parts))
            .collect::<PyResult<Vec<_>>>()?,
        None => ExportPart::ALL
            .into_iter()
            .filter(|part| part.is_in(&case))
            .chain(xrays.iter().flat_map(XRays::parts))
            .collect(),
    };
    let which = [
        ("plan", DosesToExport::Plan),
        ("beams", DosesToExport::Beams),
        ("both", DosesToExport::Both),
    ];
    let doses = match &options.dose {
        Some(word) => words::one_of("dose", word, &which)?,
        None => DosesToExport::all_of(engine),
    };
    let bits = match options.bits {
        16 => DoseBits::Sixteen,
        32 => DoseBits::ThirtyTwo,
        bits => return Err(argument(format!("bits is {bits}: it is 16 or 32"))),
    };
    if options
        .shift_dates
        .is_some_and(|days| !options.anonymise || days == 0 || days.abs() > 36_525)
    {
        return Err(argument(
            "shift_dates is a number of days from -36525 to 36525, not 0, of an export with anonymise",
        ));
    }
    let anonymise = options.anonymise.then_some(Anonymise {
        shift_days: options.shift_dates,
    });
    let mut inputs = Inputs::default();
    let word = case
        .source
        .parse::<CaseWord>()
        .unwrap_or_else(|_| CaseWord::of_path(PathBuf::from(&case.source)));
    paths_of(&word)
        .into_iter()
        .for_each(|path| inputs.add("the CASE", path));
    options
        .xrays
        .iter()
        .for_each(|path| inputs.add("an X-ray", path.clone()));
    let folder = NewFolder::prepare(&out, &inputs, options.overwrite, "overwrite=True")
        .map_err(|error| Kind::File.caused_by(&error))?;
    let options = ExportOptions {
        parts,
        bits,
        anonymise,
        imaging: None,
    };
    let engines: Vec<Engine> = vec![engine; case.plans.len()];
    let exported = run(py, progress.as_ref(), |control, steps| {
        let how = ExportHow {
            doses,
            settings: &settings,
            engines: &engines,
            xrays: xrays.as_ref(),
        };
        export_case(folder.path(), &case, &options, how, control, &|words| {
            steps.tell(words)
        })
        .map_err(|error| Kind::Computation.caused_by(&error))
    })?;
    let target = folder
        .finish()
        .map_err(|error| Kind::File.caused_by(&error))?;
    Ok((
        target,
        exported
            .files
            .iter()
            .map(|file| file.name.clone())
            .collect(),
        exported.remarks,
    ))
}
