//! RT plan -> plan. Beams that cannot be computed are kept, read-only, with the reason.

use super::DicomError;
use super::object::{Attributes, Item, file_name, open};
use super::rtbeam::read_beam;
use crate::case::{Beam, Plan, Remark, Severity};
use crate::geometry::PatientPosition;
use dicom_dictionary_std::tags;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Reads a plan; `images` is the patient position of the images it belongs to, for a plan that has none of its own.
/// Machines of treatment sites are not known here: each beam gets the generic model of its energy.
///
/// # Errors
/// [`DicomError`] naming the file where it cannot be read, has no external beams or contradicts itself.
pub fn read_plan(path: &Path, images: Option<PatientPosition>) -> Result<Plan, DicomError> {
    let object = open(path)?;
    let ion = object.items(tags::ION_BEAM_SEQUENCE);
    let beams = if ion.is_empty() { object.items(tags::BEAM_SEQUENCE) } else { ion };
    if beams.is_empty() {
        let what = "it has no external beams (a brachytherapy plan, or an empty one)".to_owned();
        return Err(DicomError::Unsupported { path: path.to_owned(), what });
    }
    let groups = object.items(tags::FRACTION_GROUP_SEQUENCE);
    let mut notes = Notes::new(path);
    let mu = meterset_by_beam(groups);
    let mut numbers = HashSet::new();
    let mut read = Vec::with_capacity(beams.len());
    for item in beams {
        let beam = read_beam(item, !ion.is_empty(), &mu, &mut notes)
            .map_err(|what| DicomError::Contradiction { path: path.to_owned(), what })?;
        if !numbers.insert(beam.number) {
            let what = format!("two of its beams have the number {}", beam.number);
            return Err(DicomError::Contradiction { path: path.to_owned(), what });
        }
        read.push(beam);
    }
    let name = object
        .text(tags::RT_PLAN_LABEL)
        .or_else(|| object.text(tags::RT_PLAN_NAME))
        .unwrap_or_else(|| file_name(path));
    let mut plan = Plan {
        machine: main_machine(&read),
        position: position_of(object.items(tags::PATIENT_SETUP_SEQUENCE), images, &mut notes),
        prescription_gy: prescription_gy(object.items(tags::DOSE_REFERENCE_SEQUENCE)),
        fractions: fractions_of(groups, &mut notes),
        beams: read,
        uid: object.text(tags::SOP_INSTANCE_UID),
        ..Plan::new(&name, "")
    };
    for beam in &mut plan.beams {
        if beam.machine.as_ref() == Some(&plan.machine) {
            beam.machine = None;
        }
    }
    note_machines(beams, &plan, &mut notes);
    if object.text(tags::APPROVAL_STATUS).as_deref() == Some("REJECTED") {
        notes.warn("the plan was rejected (ApprovalStatus)".to_owned());
    }
    plan.remarks = notes.into_remarks();
    Ok(plan)
}

/// Remarks about one plan; what several beams share is said once.
pub(super) struct Notes {
    file: String,
    remarks: Vec<Remark>,
    /// Severity, what is said, the beams it is said of.
    of_beams: Vec<(Severity, String, Vec<String>)>,
}

impl Notes {
    fn new(path: &Path) -> Self {
        Self { file: file_name(path), remarks: Vec::new(), of_beams: Vec::new() }
    }

    fn warn(&mut self, message: String) {
        self.remarks.push(Remark::warning(message, vec![self.file.clone()]));
    }

    fn note(&mut self, message: String) {
        self.remarks.push(Remark::note(message, vec![self.file.clone()]));
    }

    pub(super) fn warn_beam(&mut self, beam: &str, what: &str) {
        self.say_of(Severity::Warning, beam, what);
    }

    pub(super) fn note_beam(&mut self, beam: &str, what: &str) {
        self.say_of(Severity::Note, beam, what);
    }

    fn say_of(&mut self, severity: Severity, beam: &str, what: &str) {
        match self.of_beams.iter_mut().find(|(s, w, _)| *s == severity && w == what) {
            Some((_, _, beams)) => beams.push(beam.to_owned()),
            None => self.of_beams.push((severity, what.to_owned(), vec![beam.to_owned()])),
        }
    }

    fn into_remarks(mut self) -> Vec<Remark> {
        for (severity, what, beams) in self.of_beams {
            let message = format!("beam '{}': {what}", beams.join("', '"));
            self.remarks.push(Remark { severity, message, files: vec![self.file.clone()] });
        }
        self.remarks
    }
}

/// Monitor units per fraction by beam number.
fn meterset_by_beam(groups: &[Item]) -> HashMap<i64, f64> {
    let beams = groups.iter().flat_map(|g| g.items(tags::REFERENCED_BEAM_SEQUENCE));
    let pair = |b: &Item| Some((b.whole(tags::REFERENCED_BEAM_NUMBER)?, b.number(tags::BEAM_METERSET)?));
    beams.filter_map(pair).collect()
}

fn fractions_of(groups: &[Item], notes: &mut Notes) -> u32 {
    if groups.len() > 1 {
        notes.warn(format!(
            "the plan has {} fraction groups; the number of fractions is that of the first",
            groups.len()
        ));
    }
    let told = groups.first().and_then(|g| g.whole(tags::NUMBER_OF_FRACTIONS_PLANNED));
    match told.and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0) {
        Some(n) => n,
        None => {
            notes.warn("the plan gives no number of fractions; 1 is used".to_owned());
            1
        }
    }
}

/// The highest dose prescribed to a target, Gy for the course.
fn prescription_gy(references: &[Item]) -> Option<f64> {
    references
        .iter()
        .filter(|r| r.text(tags::DOSE_REFERENCE_TYPE).is_none_or(|t| t == "TARGET"))
        .filter_map(|r| r.number(tags::TARGET_PRESCRIPTION_DOSE))
        .filter(|&gy| gy > 0.0)
        .reduce(f64::max)
}

fn position_of(setups: &[Item], images: Option<PatientPosition>, notes: &mut Notes) -> PatientPosition {
    let fallback = images.unwrap_or_default();
    let codes: BTreeSet<String> = setups.iter().filter_map(|s| s.text(tags::PATIENT_POSITION)).collect();
    if codes.len() > 1 {
        notes.warn(format!(
            "the plan has several patient positions ({}); the first is used for all beams",
            codes.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ));
    }
    match setups.iter().find_map(|s| s.text(tags::PATIENT_POSITION)).map(|code| code.parse()) {
        Some(Ok(position)) => position,
        Some(Err(reason)) => {
            notes.warn(format!("{reason}; {fallback} is used"));
            fallback
        }
        None => {
            notes.warn(format!("the plan gives no patient position; {fallback} is used"));
            fallback
        }
    }
}

/// The machine most beams have.
fn main_machine(beams: &[Beam]) -> String {
    let machines = || beams.iter().filter_map(|b| b.machine.as_deref());
    let count = |name: &str| machines().filter(|m| *m == name).count();
    // Of equally many the first: max_by_key would take the last.
    machines().rev().max_by_key(|name| count(name)).unwrap_or_default().to_owned()
}

fn note_machines(items: &[Item], plan: &Plan, notes: &mut Notes) {
    let told: BTreeSet<String> = items.iter().filter_map(|b| b.text(tags::TREATMENT_MACHINE_NAME)).collect();
    let used: BTreeSet<&str> =
        plan.beams.iter().filter(|b| b.read_only.is_none()).map(|b| plan.machine_of(b)).collect();
    if !used.is_empty() {
        let told = match told.into_iter().collect::<Vec<_>>().join("', '") {
            none if none.is_empty() => "the file names no treatment machine".to_owned(),
            some => format!("treatment machine '{some}' of the file"),
        };
        let used = used.into_iter().collect::<Vec<_>>().join(", ");
        notes.note(format!("{told}: doses are computed with the shipped {used}"));
    }
}
