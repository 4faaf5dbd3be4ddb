//! Reviews and approvals of plans: by whom, when and why; and that an approved plan stays as it is. A record of the user, no
//! release for treatment.

use super::edit::EditError;
use super::{Case, Plan, Structure, StructureKind, StructureSet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// How far a plan has come; one without a record is unapproved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Reviewed,
    /// The plan is read-only.
    Approved,
    Rejected,
}

/// The record of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    pub stage: Stage,
    /// Name of the user, as the system has it; of a DICOM object its ReviewerName.
    pub by: String,
    /// `2026-11-26 21:43:03 UTC`; without `UTC` where a file does not say which zone, empty where it has no time.
    pub at: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The sentence beside every approval, in window, report and guide.
pub const NO_RELEASE: &str = "A record of who looked at the plan, not a release for treatment.";

/// Most letters of a name, as of a person's name in DICOM (PS3.5, 6.2, PN).
const MOST_NAME: usize = 64;
/// Letters of a reason.
const MOST_REASON: usize = 1024;

/// A record that cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ApprovalError {
    #[error("nobody is named who {0} it: give the user a name in the system")]
    Nobody(Stage),
    #[error(
        "the {what} of its approval has {letters} letters, at most {most} are kept: shorten it"
    )]
    Long {
        what: &'static str,
        letters: usize,
        most: usize,
    },
    #[error("the {0} of its approval has line breaks or control characters: write it on one line")]
    Controls(&'static str),
    #[error("the time of its approval, '{0}', is not like 2026-11-26 21:43:03 UTC")]
    Time(String),
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reviewed => "reviewed",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        })
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} by {}",
            self.stage,
            if self.by.is_empty() {
                "an unnamed reviewer"
            } else {
                &self.by
            }
        )?;
        if !self.at.is_empty() {
            write!(f, ", {}", self.at)?;
        }
        if !self.reason.is_empty() {
            write!(f, ": {}", self.reason)?;
        }
        Ok(())
    }
}

impl Approval {
    /// # Errors
    /// Texts that are too long or of several lines, a time of another form. A file may leave its reviewer unnamed.
    pub fn check(&self) -> Result<(), ApprovalError> {
        for (what, text, max_letters) in [
            ("name", &self.by, MOST_NAME),
            ("reason", &self.reason, MOST_REASON),
        ] {
            let letters = text.chars().count();
            if letters > max_letters {
                return Err(ApprovalError::Long {
                    what,
                    letters,
                    most: max_letters,
                });
            }
            if text.chars().any(char::is_control) {
                return Err(ApprovalError::Controls(what));
            }
        }
        if is_time(&self.at) {
            Ok(())
        } else {
            Err(ApprovalError::Time(self.at.clone()))
        }
    }
}

/// A date and a time, with or without a zone; or nothing.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"dddd-dd-dd dd:dd:dd";
    let plain = text.strip_suffix(" UTC").unwrap_or(text).as_bytes();
    let mut pairs = plain.iter().zip(FORM);
    let fits = pairs.all(|(letter, form)| {
        if *form == b'd' {
            letter.is_ascii_digit()
        } else {
            letter == form
        }
    });
    text.is_empty() || (plain.len() == FORM.len() && fits)
}

impl Plan {
    /// Whether the plan is read-only.
    pub fn is_approved(&self) -> bool {
        self.approval
            .as_ref()
            .is_some_and(|approval| approval.stage == Stage::Approved)
    }

    /// Whether the dose of the plan is made with a structure of the set: one that every dose is computed with, or the one that the
    /// monitor units are normalised to.
    pub fn is_dose_made_with(&self, structure: &Structure, set: &StructureSet) -> bool {
        let normalised_to = self
            .normalisation
            .as_ref()
            .and_then(|to| set.normalised_to(to)?.ok());
        shapes_dose(structure) || normalised_to.is_some_and(|to| to.number == structure.number)
    }

    /// The name of a structure of the set that the dose is made with and that another set does not have alike.
    fn missing_in_dose(&self, set: &StructureSet, other: &StructureSet) -> Option<String> {
        let mut in_dose = set
            .structures
            .iter()
            .filter(|s| self.is_dose_made_with(s, set));
        let missing = in_dose.find(|s| {
            !other
                .structures
                .iter()
                .any(|other| is_alike_in_dose(s, other))
        });
        missing.map(|s| s.name.clone())
    }

    /// Unapproved, or the record in words.
    pub fn approval_words(&self) -> String {
        self.approval
            .as_ref()
            .map_or_else(|| "unapproved".to_owned(), Approval::to_string)
    }
}

impl Case {
    /// Refuses a case after this one in which an approved plan, or what its dose is made of, is not as it was. Every edit and
    /// every step through the history is held to it.
    pub(super) fn hold_approved(&self, after: &Self) -> Result<(), EditError> {
        for plan in self.plans.iter().filter(|plan| plan.is_approved()) {
            let (name, by) = (&plan.name, plan.approval_words());
            if !after
                .plans
                .iter()
                .any(|other| Arc::ptr_eq(other, plan) || other == plan)
            {
                return Err(EditError::Approved {
                    plan: name.clone(),
                    by,
                });
            }
            if let Some(structure) = self.other_in_dose(after, plan) {
                return Err(EditError::InApprovedDose {
                    structure,
                    plan: name.clone(),
                    by,
                });
            }
        }
        Ok(())
    }

    /// A structure that the dose of the plan is made with and that is not in both cases alike.
    fn other_in_dose(&self, after: &Self, plan: &Plan) -> Option<String> {
        let [earlier, later] = [self, after].map(|case| &*case.structures);
        plan.missing_in_dose(earlier, later)
            .or_else(|| plan.missing_in_dose(later, earlier))
    }

    /// A record belongs to the plan that was looked at: a plan that is new or changed has none, nor has one whose dose is made with
    /// other structures.
    pub(super) fn drop_records_of_changed(&mut self, previous: &Self) {
        let recorded = self
            .plans
            .iter()
            .enumerate()
            .filter(|(_, plan)| plan.approval.is_some());
        let changed = recorded.filter(|(_, plan)| {
            !previous
                .plans
                .iter()
                .any(|reviewed| is_as_reviewed(plan, reviewed))
                || previous.other_in_dose(self, plan).is_some()
        });
        let changed: Vec<usize> = changed.map(|(n, _)| n).collect();
        for n in changed {
            Arc::make_mut(&mut self.plans[n]).approval = None;
        }
    }
}

/// Whether a plan equals the reviewed one: whether it follows goals concerns later maps, not the plan that was reviewed.
fn is_as_reviewed(plan: &Arc<Plan>, reviewed: &Arc<Plan>) -> bool {
    Arc::ptr_eq(reviewed, plan)
        || **reviewed
            == Plan {
                follows_goals: reviewed.follows_goals,
                ..Plan::clone(plan)
            }
}

/// Whether two structures give one dose.
fn is_alike_in_dose(a: &Structure, b: &Structure) -> bool {
    (a.number, a.kind, a.density) == (b.number, b.kind, b.density)
        && a.contours.id() == b.contours.id()
}

/// Whether a dose is computed with the structure: the body, and what has a density or stands for a device.
fn shapes_dose(structure: &Structure) -> bool {
    let kinds = [
        StructureKind::External,
        StructureKind::Support,
        StructureKind::Bolus,
    ];
    structure.density.is_some() || kinds.contains(&structure.kind)
}

#[cfg(test)]
mod tests;
