//! A plan: beams on a machine, a prescription.

use super::Beam;
use crate::geometry::PatientPosition;
use serde::{Deserialize, Serialize};

/// A treatment plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    /// Machine of all beams without their own: a shipped name (`generic-6mv`) or a path of a machine file.
    pub machine: String,
    pub position: PatientPosition,
    /// Gy for the whole course.
    pub prescription_gy: Option<f64>,
    /// Doses shown are those of all fractions.
    pub fractions: u32,
    pub normalisation: Option<Normalisation>,
    pub beams: Vec<Beam>,
    /// SOP instance UID where it came from DICOM.
    pub uid: Option<String>,
    /// Remarks of the reader.
    #[serde(skip)]
    pub remarks: Vec<super::Remark>,
}

/// "This share of the structure gets at least this dose": scales all monitor units of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalisation {
    /// Name of the structure, as plan files write it.
    pub structure: String,
    /// ROI number of the structure once the plan is in a case: renaming the structure leaves the plan normalised to it.
    #[serde(skip)]
    pub number: Option<u32>,
    /// Share of the structure's volume, percent.
    pub volume_percent: f64,
    /// Gy for the whole course.
    pub dose_gy: f64,
}

impl Normalisation {
    /// "`volume_percent` of `structure` get `dose_gy`", of a structure given by name only.
    pub fn to_named(structure: &str, volume_percent: f64, dose_gy: f64) -> Self {
        Self { structure: structure.to_owned(), number: None, volume_percent, dose_gy }
    }
}

impl Plan {
    /// An empty plan, one fraction.
    pub fn new(name: &str, machine: &str) -> Self {
        Self {
            name: name.to_owned(),
            machine: machine.to_owned(),
            position: PatientPosition::default(),
            prescription_gy: None,
            fractions: 1,
            normalisation: None,
            beams: Vec::new(),
            uid: None,
            remarks: Vec::new(),
        }
    }

    /// The machine a beam runs on.
    pub fn machine_of<'a>(&'a self, beam: &'a Beam) -> &'a str {
        beam.machine.as_deref().unwrap_or(&self.machine)
    }

    /// Monitor units per fraction of all beams.
    pub fn mu(&self) -> f64 {
        // Not `sum`, whose empty sum is -0.
        self.beams.iter().fold(0.0, |sum, b| sum + b.mu)
    }
}
