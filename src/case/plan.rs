//! A plan: beams on a machine, a prescription.

use super::{Approval, Beam, FluenceObjectives, Normalisation, Remark, Reservations};
use geometry::PatientPosition;
use serde::{Deserialize, Serialize};

/// A treatment plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub name: String,
    /// Machine of all beams without their own: a shipped name (`generic-6mv`) or a path of a machine file.
    pub machine: String,
    pub position: PatientPosition,
    /// Gy for the whole course.
    pub prescription_gy: Option<f64>,
    /// Displayed doses are of all fractions.
    pub fractions: u32,
    pub normalisation: Option<Normalisation>,
    #[serde(default, skip_serializing_if = "FluenceObjectives::is_usual")]
    pub objectives: FluenceObjectives,
    pub beams: Vec<Beam>,
    /// SOP instance UID where it came from DICOM.
    pub uid: Option<String>,
    /// The record of its review or approval; `None`: unapproved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Digest of the goals, beams and limits that its fluence maps answer; `None` where nobody knows, or it has no maps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_goals: Option<String>,
    /// Whether its maps follow newer goals by themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_goals: bool,
    /// Remarks of the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// Beams that a fraction group of its file delivers and the file lacks: no dose of the plan is whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent_beams: Vec<AbsentBeam>,
}

/// A beam that is delivered and of which nothing but this is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsentBeam {
    pub number: i64,
    /// Monitor units per fraction.
    pub mu: f64,
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
            objectives: FluenceObjectives::default(),
            beams: Vec::new(),
            uid: None,
            approval: None,
            answered_goals: None,
            follows_goals: false,
            remarks: Vec::new(),
            absent_beams: Vec::new(),
        }
    }

    /// Caveats and remarks on the plan that bear on its dose.
    pub fn reservations(&self) -> Reservations {
        Reservations::of_remarks(&self.remarks)
    }

    /// Notes the goals that its maps answer, by their digest. A plan whose maps answer goals for the first time follows them from then
    /// on.
    pub fn set_answered_goals(&mut self, digest: Option<String>) {
        let Some(digest) = digest else { return };
        self.follows_goals |= self.answered_goals.is_none();
        self.answered_goals = Some(digest);
    }

    /// The machine a beam runs on.
    pub fn machine_of<'a>(&'a self, beam: &'a Beam) -> &'a str {
        beam.machine.as_deref().unwrap_or(&self.machine)
    }

    /// Puts all beams on one machine. A review is one of the plan with its own machine: on another it is gone.
    pub fn set_machine(&mut self, machine: &str) {
        let is_own = self
            .beams
            .iter()
            .all(|beam| self.machine_of(beam) == machine);
        self.approval = self.approval.take().filter(|_| is_own);
        machine.clone_into(&mut self.machine);
        self.beams.iter_mut().for_each(|beam| beam.machine = None);
    }

    /// Monitor units per fraction of all beams.
    pub fn mu(&self) -> f64 {
        // Not `sum`, whose empty sum is -0.
        self.beams.iter().fold(0.0, |sum, b| sum + b.mu)
    }
}
