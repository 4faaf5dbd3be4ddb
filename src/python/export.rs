//! A case as DICOM files for other systems: the verb `export`.

use super::case::PyCase;
use super::dose_job::{Histories, How};
use super::errors::{Kind, argument};
use super::job::run;
use super::plan::PyPlan;
use super::words;
use analysis::Engine;
use dicom::{Anonymise, DoseBits, ExportOptions, ExportPart};
use files::{Inputs, NewFolder};
use open::{CaseWord, paths_of};
use pyo3::prelude::*;
use results::{DosesToExport, ExportHow, export_case};
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
                case.plans.iter_mut().for_each(|plan| Arc::make_mut(plan).set_machine(machine));
            }
        }
    }
    let (settings, engine) = (how.settings(&case)?, histories.engine()?);
    let parts = ExportPart::ALL.map(|part| (part.word(), part));
    let parts = match &options.only {
        Some(only) => {
            only.iter().map(|word| words::one_of("only", word, &parts)).collect::<PyResult<Vec<_>>>()?
        }
        None => ExportPart::ALL.into_iter().filter(|part| part.is_in(&case)).collect(),
    };
    let which =
        [("plan", DosesToExport::Plan), ("beams", DosesToExport::Beams), ("both", DosesToExport::Both)];
    let doses = match &options.dose {
        Some(word) => words::one_of("dose", word, &which)?,
        None => DosesToExport::of(engine),
    };
    let bits = match options.bits {
        16 => DoseBits::Sixteen,
        32 => DoseBits::ThirtyTwo,
        bits => return Err(argument(format!("bits is {bits}: it is 16 or 32"))),
    };
    if options.shift_dates.is_some_and(|days| !options.anonymise || days == 0 || days.abs() > 36_525) {
        return Err(argument(
            "shift_dates is a number of days from -36525 to 36525, not 0, of an export with anonymise",
        ));
    }
    let anonymise = options.anonymise.then_some(Anonymise { shift_days: options.shift_dates });
    let mut inputs = Inputs::default();
    let word =
        case.source.parse::<CaseWord>().unwrap_or_else(|_| CaseWord::of_path(PathBuf::from(&case.source)));
    paths_of(&word).into_iter().for_each(|path| inputs.add("the CASE", path));
    let file = |error: &(dyn std::error::Error + 'static)| Kind::File.of(error);
    let folder =
        NewFolder::prepare(&out, &inputs, options.overwrite, "overwrite=True").map_err(|e| file(&e))?;
    let options = ExportOptions { parts, bits, anonymise, imaging: None };
    let engines: Vec<Engine> = vec![engine; case.plans.len()];
    let exported = run(py, progress.as_ref(), |control, steps| {
        let how = ExportHow { doses, settings: &settings, engines: &engines, xrays: None };
        export_case(folder.path(), &case, &options, how, control, &|words| steps.tell(words))
            .map_err(|error| Kind::Computation.of(&error))
    })?;
    let target = folder.finish().map_err(|error| file(&error))?;
    Ok((target, exported.files.iter().map(|file| file.name.clone()).collect(), exported.remarks))
}
