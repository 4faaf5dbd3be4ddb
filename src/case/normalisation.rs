//! The normalisation of a plan: the dose to which all its monitor units are scaled, and where.

use super::bounds;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// "This part of the dose is this": scales all monitor units of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Record", into = "Record")]
pub struct Normalisation {
    pub at: NormalisedAt,
    pub dose: NormalisedDose,
}

/// The part of a plan's dose that is normalised.
#[derive(Clone, Debug, PartialEq)]
pub enum NormalisedAt {
    /// The dose that this share of the structure gets at least: its `D95%`, for 95.
    Volume {
        /// Name of the structure, as plan files write it.
        structure: String,
        /// ROI number of the structure once the plan is in a case: renaming the structure leaves the plan normalised to
        /// it.
        number: Option<u32>,
        /// Share of the structure's volume, percent.
        volume_percent: f64,
    },
    /// Patient LPS, mm.
    Point(DVec3),
    /// The voxel of the greatest dose.
    Maximum,
}

/// The dose to normalise to, for the whole course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NormalisedDose {
    Gy(f64),
    /// Percent of the plan's prescription.
    Percent(f64),
}

/// Why a normalisation asks for no dose.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NormalisationError {
    #[error(
        "it is to {percent} % of the prescription, and the plan has none: prescribe a dose, or give it in Gy"
    )]
    NoPrescription { percent: f64 },
    #[error("the prescription is {0} Gy, and a normalisation is to a dose above 0: prescribe one")]
    Prescription(f64),
    #[error("normalisation.{key} = {value} must be {range}")]
    Value {
        key: &'static str,
        value: f64,
        range: String,
    },
}

impl Normalisation {
    /// "`volume_percent` of `structure` get `dose_gy`", of a structure given by name only.
    pub fn to_named(structure: &str, volume_percent: f64, dose_gy: f64) -> Self {
        let place = NormalisedAt::Volume {
            structure: structure.to_owned(),
            number: None,
            volume_percent,
        };
        Self {
            at: place,
            dose: NormalisedDose::Gy(dose_gy),
        }
    }

    /// The normalisation of a new plan: 95 % of its target get the prescription.
    pub fn of_target(structure: &str, number: Option<u32>) -> Self {
        let place = NormalisedAt::Volume {
            structure: structure.to_owned(),
            number,
            volume_percent: 95.0,
        };
        Self {
            at: place,
            dose: NormalisedDose::Percent(100.0),
        }
    }

    /// Name and number of the structure, where one is normalised to.
    pub fn structure(&self) -> Option<(&str, Option<u32>)> {
        match &self.at {
            NormalisedAt::Volume {
                structure, number, ..
            } => Some((structure, *number)),
            _ => None,
        }
    }

    /// The same with another name and number of its structure, if it has one.
    #[must_use]
    pub fn of_structure(&self, name: &str, to: Option<u32>) -> Self {
        let mut next = self.clone();
        if let NormalisedAt::Volume {
            structure, number, ..
        } = &mut next.at
        {
            (*structure, *number) = (name.to_owned(), to);
        }
        next
    }

    /// Whether its numbers can be.
    ///
    /// # Errors
    /// [`NormalisationError::Value`].
    pub fn check(&self) -> Result<(), NormalisationError> {
        match self.dose {
            NormalisedDose::Gy(gy) => up_to("dose_gy", gy, bounds::MOST_COURSE_GY)?,
            NormalisedDose::Percent(percent) => {
                up_to("dose_percent", percent, bounds::MOST_NORMALISED_PERCENT)?;
            }
        }
        match &self.at {
            NormalisedAt::Volume { volume_percent, .. } => {
                up_to("volume_percent", *volume_percent, 100.0)
            }
            NormalisedAt::Point(mm) => {
                let range = bounds::PLACE_MM;
                let wrong = mm.to_array().into_iter().find(|v| !range.contains(v));
                wrong.map_or(Ok(()), |value| {
                    let range = format!("from {} to {}", range.start(), range.end());
                    Err(NormalisationError::Value {
                        key: "point_mm",
                        value,
                        range,
                    })
                })
            }
            NormalisedAt::Maximum => Ok(()),
        }
    }

    /// The dose to normalise to, Gy.
    ///
    /// # Errors
    /// [`NormalisationError`].
    pub fn wanted_gy(&self, prescription_gy: Option<f64>) -> Result<f64, NormalisationError> {
        self.check()?;
        match (self.dose, prescription_gy) {
            (NormalisedDose::Gy(gy), _) => Ok(gy),
            (NormalisedDose::Percent(percent), None) => {
                Err(NormalisationError::NoPrescription { percent })
            }
            (NormalisedDose::Percent(percent), Some(gy)) if gy.is_finite() && gy > 0.0 => {
                Ok(gy * percent / 100.0)
            }
            (NormalisedDose::Percent(_), Some(gy)) => Err(NormalisationError::Prescription(gy)),
        }
    }
}

fn up_to(key: &'static str, value: f64, max: f64) -> Result<(), NormalisationError> {
    if value > 0.0 && value <= max {
        return Ok(());
    }
    Err(NormalisationError::Value {
        key,
        value,
        range: format!("above 0 and at most {max}"),
    })
}

impl fmt::Display for NormalisedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volume {
                structure,
                volume_percent,
                ..
            } => {
                write!(f, "D{volume_percent}% of '{structure}'")
            }
            Self::Point(mm) => write!(f, "the point {:.1}, {:.1}, {:.1} mm", mm.x, mm.y, mm.z),
            Self::Maximum => write!(f, "the maximum"),
        }
    }
}

impl fmt::Display for NormalisedDose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gy(gy) => write!(f, "{gy:.2} Gy"),
            Self::Percent(percent) => write!(f, "{percent} % of the prescription"),
        }
    }
}

impl fmt::Display for Normalisation {
    /// `D95% of 'PTV' is 57.00 Gy`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.at, self.dose)
    }
}

/// A normalisation as plan files and sessions have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    structure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    point_mm: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    maximum: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    dose_gy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dose_percent: Option<f64>,
}

impl TryFrom<Record> for Normalisation {
    type Error = &'static str;

    fn try_from(record: Record) -> Result<Self, Self::Error> {
        let place = match (
            record.structure,
            record.volume_percent,
            record.point_mm,
            record.maximum,
        ) {
            (Some(structure), Some(volume_percent), None, false) => NormalisedAt::Volume {
                structure,
                number: None,
                volume_percent,
            },
            (None, None, Some(mm), false) => NormalisedAt::Point(DVec3::from(mm)),
            (None, None, None, true) => NormalisedAt::Maximum,
            _ => {
                return Err(
                    "a normalisation is to one of: structure with volume_percent, point_mm, maximum = true",
                );
            }
        };
        let dose = match (record.dose_gy, record.dose_percent) {
            (Some(gy), None) => NormalisedDose::Gy(gy),
            (None, Some(percent)) => NormalisedDose::Percent(percent),
            _ => {
                return Err(
                    "a normalisation has one of dose_gy and dose_percent (of the prescription)",
                );
            }
        };
        Ok(Self { at: place, dose })
    }
}

impl From<Normalisation> for Record {
    fn from(normalisation: Normalisation) -> Self {
        let mut record = Self::default();
        match normalisation.at {
            NormalisedAt::Volume {
                structure,
                volume_percent,
                ..
            } => {
                (record.structure, record.volume_percent) = (Some(structure), Some(volume_percent));
            }
            NormalisedAt::Point(mm) => record.point_mm = Some(mm.to_array()),
            NormalisedAt::Maximum => record.maximum = true,
        }
        match normalisation.dose {
            NormalisedDose::Gy(gy) => record.dose_gy = Some(gy),
            NormalisedDose::Percent(percent) => record.dose_percent = Some(percent),
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Normalisation, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn files_say_one_place_and_one_dose() {
        let old = r#"{"structure":"PTV","volume_percent":95.0,"dose_gy":57.0}"#;
        assert_eq!(read(old), Ok(Normalisation::to_named("PTV", 95.0, 57.0)));
        for text in [
            old,
            r#"{"point_mm":[1.0,-2.5,3.0],"dose_percent":100.0}"#,
            r#"{"maximum":true,"dose_gy":2.0}"#,
        ] {
            assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        }
        for (text, words) in [
            (r#"{"structure":"PTV","dose_gy":57.0}"#, "one of: structure"),
            (
                r#"{"structure":"PTV","volume_percent":95.0,"maximum":true,"dose_gy":57.0}"#,
                "one of: structure",
            ),
            (r#"{"maximum":true}"#, "dose_gy and dose_percent"),
            (
                r#"{"maximum":true,"dose_gy":57.0,"dose_percent":100.0}"#,
                "dose_gy and dose_percent",
            ),
            (r#"{"maximum":true,"dose_gy":57.0,"mm":1}"#, "unknown field"),
        ] {
            assert!(read(text).unwrap_err().contains(words), "{text}");
        }
    }

    #[test]
    fn percent_are_of_a_prescription_above_zero() {
        let mut to = Normalisation {
            at: NormalisedAt::Maximum,
            dose: NormalisedDose::Percent(107.0),
        };
        assert_eq!(to.wanted_gy(Some(60.0)), Ok(64.2));
        assert_eq!(
            to.wanted_gy(None),
            Err(NormalisationError::NoPrescription { percent: 107.0 })
        );
        for gy in [0.0, -2.0, f64::INFINITY] {
            assert_eq!(
                to.wanted_gy(Some(gy)),
                Err(NormalisationError::Prescription(gy))
            );
        }
        to.dose = NormalisedDose::Gy(50.0);
        assert_eq!(to.wanted_gy(Some(0.0)), Ok(50.0), "Gy need no prescription");
        for gy in [0.0, -1.0, f64::NAN] {
            to.dose = NormalisedDose::Gy(gy);
            assert!(to.wanted_gy(None).is_err());
        }
        assert_eq!(
            Normalisation::to_named("PTV", 100.0, 60.0).wanted_gy(None),
            Ok(60.0)
        );
        for percent in [0.0, 100.1, f64::NAN] {
            assert!(
                Normalisation::to_named("PTV", percent, 60.0)
                    .wanted_gy(None)
                    .is_err(),
                "{percent}"
            );
        }
        to = Normalisation {
            at: NormalisedAt::Point(DVec3::new(0.0, f64::NAN, 0.0)),
            dose: NormalisedDose::Gy(1.0),
        };
        assert!(to.wanted_gy(None).is_err());
    }
}
