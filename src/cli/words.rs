//! Arguments that several verbs share, and their parsers.

use super::Failure;
use analysis::{Engine, EngineOptionError, EngineOptions};
use anyhow::anyhow;
use case::{Case, Ct, DoseEngine};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dicom::Choice;
use engine::drr::Region;
use geometry::PatientPosition;
use glam::DVec3;
use open::{CaseWord, OpenOptions, open};
use physics::AttenuationCurve;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Which case, and which part of it.
#[derive(Debug, clap::Args)]
pub struct CaseArgs {
    /// A folder of DICOM files, one file, a .mha volume in HU, a session, or demo:NAME
    #[arg(value_name = "CASE")]
    pub case: CaseWord,

    /// Which image series, by its number in `beamsight info` (from 1), where a folder has several
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub series: Option<usize>,

    /// Which structure set, by its number in `beamsight info` (RTSTRUCT N), where a folder has several
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub structure_set: Option<usize>,

    /// Which plan of a folder alone, by its number in `beamsight info` (RTPLAN N)
    #[arg(long, value_name = "N", value_parser = count::<usize>)]
    pub rtplan: Option<usize>,

    /// Take structures, plans, doses and X-rays of another patient ID that frame of reference or references tie to what is
    /// shown; their doses say so
    #[arg(long)]
    pub accept_patient_mismatch: bool,

    /// How the patient of a .mha lies: HFS HFP FFS FFP HFDL HFDR FFDL FFDR
    #[arg(long, value_name = "POSITION")]
    pub position: Option<PatientPosition>,
}

impl CaseArgs {
    /// A case with nothing chosen.
    pub fn new(case: CaseWord) -> Self {
        let (structure_set, rtplan) = (None, None);
        Self {
            case,
            series: None,
            structure_set,
            rtplan,
            accept_patient_mismatch: false,
            position: None,
        }
    }

    fn choice(&self) -> Choice {
        // Users count from 1, the catalogue from 0.
        let [series, structure_set, plan] =
            [self.series, self.structure_set, self.rtplan].map(|n| n.map(|n| n - 1));
        Choice {
            series,
            structure_set,
            plan,
            other_patients: self.accept_patient_mismatch,
        }
    }

    /// Opens the case.
    ///
    /// # Errors
    /// As [`open()`]; a `--position` that contradicts the files.
    pub fn open(&self) -> Result<Case, Failure> {
        let choice = self.choice();
        let case = open(
            &self.case,
            OpenOptions {
                choice,
                position: self.position,
            },
            &|_| true,
        )?;
        if let (Some(declared), Some(ct)) = (self.position, &case.ct)
            && declared != ct.position
        {
            return Err(anyhow!(
                "{}: the images say the patient lies {}, --position says {declared}; leave --position out for DICOM images",
                self.case,
                ct.position
            )
            .into());
        }
        Ok(case)
    }
}

/// Position of the source of the rays.
#[derive(Debug, clap::Args)]
pub struct SourceArgs {
    /// Gantry angle, degrees
    #[arg(long, value_name = "DEG", default_value = "0", value_parser = angle)]
    pub gantry: f64,

    /// Couch angle, degrees
    #[arg(long, value_name = "DEG", default_value = "0", value_parser = angle)]
    pub couch: f64,

    /// Isocentre, patient LPS, mm; left out: the isocentre of the case's first beam
    #[arg(long, value_name = "X,Y,Z", value_parser = position)]
    pub isocentre: Option<DVec3>,

    /// Source to axis distance, mm
    #[arg(long, value_name = "MM", default_value = "1000", value_parser = distance)]
    pub sad: f64,
}

/// The isocentre of a case's first beam.
pub fn first_isocentre(case: &Case) -> Option<DVec3> {
    case.plans
        .iter()
        .flat_map(|p| &p.beams)
        .next()
        .map(|b| b.isocentre_mm)
}

/// The CT of a case that needs one.
pub fn ct_of(case: &Case) -> anyhow::Result<Arc<Ct>> {
    case.ct.clone().ok_or_else(|| {
        anyhow!(
            "{} has no CT; add the folder with its CT series",
            case.source
        )
    })
}

/// `x,y,z` in mm.
pub fn position(word: &str) -> Result<DVec3, String> {
    let numbers: Vec<f64> = word.split(',').filter_map(|w| finite(w).ok()).collect();
    match (numbers[..].try_into(), word.split(',').count()) {
        (Ok::<[f64; 3], _>(xyz), 3) => Ok(DVec3::from(xyz)),
        _ => Err("it is three numbers in mm with commas between, like -10,0,25.5".to_owned()),
    }
}

/// A rectangle of an image.
pub fn region(word: &str) -> Result<Region, String> {
    let counts: Option<Vec<usize>> = word.split(',').map(|w| w.trim().parse().ok()).collect();
    match counts.as_deref() {
        Some(&[column, row, columns, rows]) => Ok(Region {
            column,
            row,
            columns,
            rows,
        }),
        _ => Err("it is four whole numbers: first column, first row, columns, rows".to_owned()),
    }
}

/// A finite number.
pub fn finite(word: &str) -> Result<f64, String> {
    word.trim()
        .parse()
        .ok()
        .filter(|v: &f64| v.is_finite())
        .ok_or_else(|| "it is not a number".to_owned())
}

/// A number from `low` to `high`.
pub fn within(
    low: f64,
    high: f64,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |word| {
        let value = finite(word)?;
        if !(low..=high).contains(&value) {
            return Err(format!("it must be from {low} to {high}"));
        }
        Ok(value)
    }
}

/// A non-negative whole number within the range of its type.
pub fn whole<T: TryFrom<u64>>(word: &str) -> Result<T, String> {
    let number = word
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| "it must be a whole number, 0 or more".to_owned())
}

/// As [`whole`], from 1 on.
pub fn count<T: TryFrom<u64> + PartialOrd + From<u8>>(word: &str) -> Result<T, String> {
    whole(word)
        .ok()
        .filter(|n| *n >= T::from(1))
        .ok_or_else(|| "it must be a whole number, 1 or more".to_owned())
}

/// Degrees, up to a full turn either way.
pub fn angle(word: &str) -> Result<f64, String> {
    within(-360.0, 360.0)(word)
}

/// Millimetres, within a treatment or imaging room.
pub fn distance(word: &str) -> Result<f64, String> {
    within(1.0, 100_000.0)(word)
}

/// Millimetres between the pixels of an image.
pub fn pixel(word: &str) -> Result<f64, String> {
    within(0.001, 1000.0)(word)
}

/// Millimetres between the voxels of a dose grid: finer ones exceed any memory, coarser ones are useless for
/// a patient.
pub fn grid(word: &str) -> Result<f64, String> {
    within(0.5, 100.0)(word)
}

/// Dose engines by their words, their names in the help.
pub fn engines() -> impl TypedValueParser<Value = DoseEngine> {
    let words = DoseEngine::ALL.map(|engine| PossibleValue::new(engine.word()).help(engine.name()));
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

/// An engine with the uncertainty of its runs, percent, that `--uncertainty` gives.
///
/// # Errors
/// [`Failure::Words`]: an uncertainty of an engine without histories.
pub fn engine_to(engine: DoseEngine, uncertainty_percent: Option<f64>) -> Result<Engine, Failure> {
    let options = EngineOptions {
        engine,
        uncertainty_percent,
        ..EngineOptions::default()
    };
    let engine = options.engine().map_err(|error| engine_refusal(&error))?;
    Ok(engine.show_every(Duration::from_secs(2)))
}

/// Refusal of options that an engine does not have, with the words that take one that has them.
pub fn engine_refusal(error: &EngineOptionError) -> Failure {
    Failure::Words(match error {
        EngineOptionError::NotStatistical { option, .. } => {
            needs_histories(&format!("--{option} is an option"))
        }
        EngineOptionError::OtherEngine { .. } => format!("--{error}"),
        EngineOptionError::TwoEnds => error.to_string(),
    })
}

/// Remark that options, as `subject` says, belong to engines that sample histories.
pub fn needs_histories(subject: &str) -> String {
    let engines: Vec<String> = DoseEngine::statistical()
        .map(|engine| format!("--engine {engine}"))
        .collect();
    format!(
        "{subject} of engines that sample histories: {}",
        engines.join(", ")
    )
}

/// MeV within the tables of attenuation.
pub fn energy_mev(word: &str) -> Result<f64, String> {
    let [low, high] = AttenuationCurve::ENERGIES_MEV;
    within(low, high)(word).map_err(|why| format!("{why} MeV"))
}

/// A number above zero.
pub fn positive(word: &str) -> Result<f64, String> {
    finite(word).and_then(|v| {
        if v > 0.0 {
            Ok(v)
        } else {
            Err("it must be above 0".to_owned())
        }
    })
}

/// The ending of an `--out` file, which must be one of those a verb writes.
///
/// # Errors
/// [`Failure::Words`] for another ending.
pub fn ending<'a>(path: &Path, endings: &[&'a str]) -> Result<&'a str, Failure> {
    ending_of(path, endings, "--out")
}

/// As [`ending`], for the file of another option.
///
/// # Errors
/// [`Failure::Words`] for another ending.
pub fn ending_of<'a>(path: &Path, endings: &[&'a str], option: &str) -> Result<&'a str, Failure> {
    let ending = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase());
    endings
        .iter()
        .find(|k| ending.as_deref() == Some(**k))
        .copied()
        .ok_or_else(|| {
            let endings: Vec<String> = endings.iter().map(|k| format!(".{k}")).collect();
            Failure::Words(format!(
                "{option} {}: this verb writes {}",
                path.display(),
                endings.join(", ")
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        assert_eq!(position("-10,0,2.5"), Ok(DVec3::new(-10.0, 0.0, 2.5)));
        assert_eq!(position(" 1, 2 ,-3 "), Ok(DVec3::new(1.0, 2.0, -3.0)));
        for wrong in ["1,2", "1,2,3,4", "1,2,x", "1,2,x,3", "nan,0,0", ""] {
            assert!(position(wrong).is_err(), "{wrong}");
        }
    }
}
