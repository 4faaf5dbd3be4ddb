//! Machines fitted to measured water-tank data, or compared with them: the verb `machine`.

use super::errors::{Kind, argument, guarded};
use super::job::run;
use super::json::dictionary;
use super::words::{self, check_new};
use analysis::machine_fit::{
    FitContext, FitJob, FitSettings, Report, Sampling, TankFiles, compare_files, parameter_line,
    tolerances,
};
use engine::JobControl;
use engine::dose::Quality;
use files::replace_file;
use physics::{Machine, Parameter};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;

/// Names of the shipped machines.
#[pyfunction]
pub fn machines() -> Vec<String> {
    Machine::shipped()
}

fn files_of(
    pdd: Vec<PathBuf>,
    profiles: Vec<PathBuf>,
    output_factors: Option<PathBuf>,
) -> PyResult<TankFiles> {
    let files = TankFiles {
        pdd,
        profiles,
        output_factors,
    };
    if files.is_empty() {
        return Err(argument(
            "there are no measured data: name files by pdd, profiles or output_factors",
        ));
    }
    Ok(files)
}

/// Doses that data are compared with in the end.
fn sampling(quality: Option<&str>) -> PyResult<Sampling> {
    let qualities = Quality::NAMED.map(|quality| (quality.word(), quality));
    let quality = words::one_of(
        "quality",
        quality.unwrap_or(Quality::default().word()),
        &qualities,
    )?;
    Ok(Sampling {
        quality,
        ..Sampling::FULL
    })
}

fn figures(report: &Report, remarks: &[String]) -> Value {
    let curves = report.curves.iter().map(|curve| {
        let mut figures = json!(curve);
        figures["points"] = json!(curve.points);
        figures
    });
    json!({
        "curves": curves.collect::<Vec<_>>(),
        "output_factors": report.output_factors,
        "calibration": report.calibration,
        "verdict": report.verdict(),
        "verdict_words": report.verdict_words(),
        "within_tolerance": report.is_within(),
        "outside": report.outside(),
        "not_tested": report.not_tested(),
        "tolerances": tolerances(),
        "remarks": remarks,
    })
}

fn context<'a>(
    device: &'a engine::Compute,
    control: &'a JobControl,
    tell: &'a dyn Fn(&str),
) -> FitContext<'a> {
    FitContext {
        device,
        control,
        tell,
    }
}

/// Fits a machine; `beamsight.machine_fit` says how.
#[pyfunction(name = "_machine_fit")]
#[pyo3(signature = (pdd, profiles, output_factors, out, start, fix, quality, overwrite, device, progress = None))]
#[expect(clippy::too_many_arguments, reason = "the options of the verb")]
pub fn fit<'py>(
    py: Python<'py>,
    pdd: Vec<PathBuf>,
    profiles: Vec<PathBuf>,
    output_factors: Option<PathBuf>,
    out: PathBuf,
    start: String,
    fix: Vec<String>,
    quality: Option<&str>,
    overwrite: bool,
    device: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let parameters = Parameter::ALL.map(|parameter| (parameter.word(), parameter));
    let fixed = fix
        .iter()
        .map(|word| words::one_of("fix", word, &parameters))
        .collect::<PyResult<_>>()?;
    let (files, choice) = (
        files_of(pdd, profiles, output_factors)?,
        words::device(device)?,
    );
    check_new(&out, overwrite)?;
    let settings = FitSettings {
        last: sampling(quality)?,
        ..FitSettings::default()
    };
    let job = FitJob {
        start,
        files,
        fixed,
        settings,
    };
    let fitted = run(py, progress.as_ref(), |control, steps| {
        let device = choice
            .resolve()
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        let fitted = job.run(&context(&device, control, &|words: &str| steps.tell(words)));
        fitted.map_err(|error| Kind::Computation.caused_by(&error))
    })?;
    let text = fitted.text(&out);
    replace_file(&out, |file| file.write_all(text.as_bytes())).map_err(|error| {
        Kind::File.exception(format!("cannot write {}: {error}", out.display()))
    })?;
    let lines: Vec<String> = fitted.fit.parameters.iter().map(parameter_line).collect();
    let mut said = figures(&fitted.report, &fitted.read.remarks);
    said["parameters"] = json!(lines);
    dictionary(py, &said)
}

/// Compares a machine with measured data; `beamsight.machine_check` says how.
#[pyfunction(name = "_machine_check")]
#[pyo3(signature = (machine, pdd, profiles, output_factors, quality, device, progress = None))]
#[expect(clippy::too_many_arguments, reason = "the options of the verb")]
pub fn check<'py>(
    py: Python<'py>,
    machine: &str,
    pdd: Vec<PathBuf>,
    profiles: Vec<PathBuf>,
    output_factors: Option<PathBuf>,
    quality: Option<&str>,
    device: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (files, choice) = (
        files_of(pdd, profiles, output_factors)?,
        words::device(device)?,
    );
    let sampling = sampling(quality)?;
    let (report, read) = run(py, progress.as_ref(), |control, steps| {
        let device = choice
            .resolve()
            .map_err(|error| Kind::Computation.caused_by(&error))?;
        let compared = compare_files(
            machine,
            &files,
            &sampling,
            &context(&device, control, &|words: &str| steps.tell(words)),
        );
        compared.map_err(|error| Kind::Computation.caused_by(&error))
    })?;
    dictionary(py, &figures(&report, &read.remarks))
}

/// The text of a machine's file: of a shipped one by its name, or of a path, read and checked.
#[pyfunction]
#[pyo3(signature = (machine, /))]
pub fn machine_text(machine: &str) -> PyResult<String> {
    guarded(|| {
        let machine = Machine::resolve(machine).map_err(|error| Kind::File.caused_by(&error))?;
        Ok(machine.to_text(&|_| Vec::new()))
    })
}
