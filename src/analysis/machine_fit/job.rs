//! A fit and a comparison from files to answer: what the verb and the window ask alike.

use super::file::at_bound;
use super::{
    Fit, FitContext, FitError, FitSettings, Provenance, Report, Sampling, TankData, compare, fit,
    machine_text,
};
use dicom::utc_now;
use files::measured::{MeasuredCurve, Scan, read_curves, read_output_factors};
use physics::{Machine, Parameter};
use std::path::{Path, PathBuf};

/// Files of measured data, by what is taken of them; one of both kinds of curves is named twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TankFiles {
    pub pdd: Vec<PathBuf>,
    pub profiles: Vec<PathBuf>,
    pub output_factors: Option<PathBuf>,
}

/// Contents of the files.
#[derive(Clone, Debug, Default)]
pub struct TankRead {
    pub data: TankData,
    pub remarks: Vec<String>,
    /// Names of the files, with CRC-32 and length.
    pub digests: Vec<(String, String)>,
}

/// Inputs of a fit.
#[derive(Clone, Debug)]
pub struct FitJob {
    /// A shipped machine, or a file.
    pub start: String,
    pub files: TankFiles,
    pub fixed: Vec<Parameter>,
    pub settings: FitSettings,
}

/// Fitted machine, and its comparison with the measurements after the file was written.
#[derive(Clone, Debug)]
pub struct FittedMachine {
    pub fit: Fit,
    pub report: Report,
    pub read: TankRead,
    provenance: Provenance,
}

impl TankFiles {
    pub fn is_empty(&self) -> bool {
        self.pdd.is_empty() && self.profiles.is_empty() && self.output_factors.is_none()
    }

    /// # Errors
    /// [`FitError`] of a file that cannot be read, or lacks what it is named for.
    pub fn read(&self) -> Result<TankRead, FitError> {
        let mut read = TankRead::default();
        for (kind, paths) in [("depth dose", &self.pdd), ("profile", &self.profiles)] {
            for path in paths {
                let (file, file_name) = (read_curves(path)?, path.display().to_string());
                let is_depth_dose = kind == "depth dose";
                let mut curves: Vec<MeasuredCurve> = file.curves;
                curves.retain(|curve| (curve.scan == Scan::Depth) == is_depth_dose);
                if curves.is_empty() {
                    return Err(FitError::Lacks {
                        file: file_name,
                        kind,
                    });
                }
                read.data.curves.extend(curves);
                // A file of both kinds is read twice.
                if !read.digests.iter().any(|(name, _)| *name == file_name) {
                    read.remarks
                        .extend(file.remarks.iter().map(|r| format!("{file_name}: {r}")));
                    read.digests.push((file_name, file.digest));
                }
            }
        }
        if let Some(path) = &self.output_factors {
            let factors = read_output_factors(path)?;
            read.digests
                .push((path.display().to_string(), factors.digest.clone()));
            read.data.factors = Some(factors);
        }
        Ok(read)
    }
}

impl FitJob {
    /// Fits, then compares the machine of the file, with its rounded numbers.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn run(&self, context: &FitContext<'_>) -> Result<FittedMachine, FitError> {
        let Self {
            start: word,
            files,
            fixed,
            settings,
        } = self;
        let start = Machine::resolve(word)?;
        let read = files.read()?;
        if let Some(path) = &files.output_factors {
            // A calibration that no machine file may have is refused before the work.
            let calibrated = read.data.calibrated(&start).to_text(&|_| Vec::new());
            Machine::parse(&calibrated, &path.display().to_string())?;
        }
        let fit = fit(&start, &read.data, fixed, settings, context)?;
        let (date, _) = utc_now();
        let date = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
        let provenance = Provenance {
            start: word.clone(),
            date,
            files: read.digests.clone(),
        };
        let fit = Fit {
            machine: Machine {
                description: format!("Fitted to measured data from {word}"),
                ..fit.machine.clone()
            },
            ..fit
        };
        let machine = Machine::parse(&machine_text(&fit, &provenance, None), "of the fit")?;
        let control = &context.control.child();
        let report = compare(
            &machine,
            &read.data,
            &settings.last,
            &FitContext {
                control,
                ..*context
            },
        )?;
        let at_bound = fit.parameters.iter().filter_map(at_bound).collect();
        let report = Report {
            at_bound,
            held: fit.held.clone(),
            ..report
        };
        // What a fit says of itself goes with its numbers, wherever they are computed with.
        let fit = Fit {
            machine: Machine {
                not_fitted: report.at_bound.clone(),
                outside_tolerance: report.beyond_tolerance(),
                ..fit.machine.clone()
            },
            ..fit
        };
        Ok(FittedMachine {
            fit,
            report,
            read,
            provenance,
        })
    }
}

impl FittedMachine {
    /// The text of its file, by whose name it goes.
    pub fn text(&self, file: &Path) -> String {
        let name = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let machine = Machine {
            name,
            ..self.fit.machine.clone()
        };
        machine_text(
            &Fit {
                machine,
                ..self.fit.clone()
            },
            &self.provenance,
            Some(&self.report),
        )
    }
}

/// A machine, a shipped one or a file, compared with files.
///
/// # Errors
/// [`FitError`].
pub fn compare_files(
    machine: &str,
    files: &TankFiles,
    sampling: &Sampling,
    context: &FitContext<'_>,
) -> Result<(Report, TankRead), FitError> {
    let machine = Machine::resolve(machine)?;
    let read = files.read()?;
    let report = compare(&machine, &read.data, sampling, context)?;
    Ok((
        Report {
            at_bound: machine.not_fitted.clone(),
            ..report
        },
        read,
    ))
}
