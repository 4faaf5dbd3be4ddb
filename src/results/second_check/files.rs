//! The files of a second check: a case, and which of its doses belong to a plan and its beams.

use analysis::second_check::Item;
use case::{Case, Dose, Plan, Severity};
use dicom::{
    Catalogue, Choice, DicomError, StatedDose, StatedPlan, load, read_stated_dose,
    read_stated_plan, scan,
};
use std::path::Path;
use std::sync::Arc;

/// A case with what its files state.
#[derive(Debug)]
pub struct CheckFiles {
    pub case: Case,
    /// In the order of the case's doses; what a file without DICOM states is nothing.
    doses: Vec<StatedDose>,
    /// Why doses of the folder are not in the case, a sentence each.
    left_out: Vec<String>,
    /// Why plans of the folder are not in the case, a sentence each.
    unchecked: Vec<String>,
}

impl CheckFiles {
    /// Reads a folder of DICOM files.
    ///
    /// # Errors
    /// [`DicomError`].
    pub fn read(folder: &Path) -> Result<Self, DicomError> {
        let catalogue = scan(folder, &|_| true)?;
        let case = load(&catalogue, Choice::default(), &|_| true)?;
        let mut unchecked = case.refused_plans.clone();
        let of_others = catalogue
            .plans
            .iter()
            .filter(|p| catalogue.patients.get(p.patient) != Some(&case.patient));
        unchecked.extend(of_others.map(|entry| {
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
            format!("the plan of {name} is of another patient: give it a folder of its own")
        }));
        Ok(Self {
            unchecked,
            ..Self::of_case(case, Some(&catalogue))
        })
    }

    /// Why plans of the folder cannot be checked, a sentence each.
    pub fn unchecked(&self) -> &[String] {
        &self.unchecked
    }

    /// The files of an opened case, and of its folder; doses that are of no file do not count.
    pub fn of_case(mut case: Case, catalogue: Option<&Catalogue>) -> Self {
        let sources = Arc::clone(&case.sources);
        case.doses.retain(|dose| {
            sources
                .doses
                .iter()
                .any(|source| Arc::ptr_eq(&source.read, dose))
        });
        let doses = case
            .doses
            .iter()
            .map(|dose| stated_dose(&case, dose).unwrap_or_default())
            .collect();
        let left_out = catalogue
            .map(|catalogue| left_out(catalogue, &case))
            .unwrap_or_default();
        Self {
            case,
            doses,
            left_out,
            unchecked: Vec::new(),
        }
    }

    /// Statements of a plan's file; none where it has no file.
    pub fn stated(&self, plan: &Plan) -> StatedPlan {
        let source = self.case.sources.of_plan(plan);
        source
            .and_then(|source| read_stated_plan(&source.path).ok())
            .unwrap_or_default()
    }

    /// The doses that state that they are of the plan, by index.
    fn own(&self, plan: &Plan) -> impl Iterator<Item = (usize, &StatedDose)> {
        let uid = plan.uid.clone();
        let doses = self.doses.iter().enumerate();
        doses.filter(move |(_, stated)| uid.as_ref().is_some_and(|uid| stated.plans.contains(uid)))
    }

    /// The index of the plan's dose, or why there is none to compare with, a sentence.
    pub fn dose_of_plan(&self, plan: &Plan) -> Result<usize, String> {
        let plan_doses: Vec<(usize, &StatedDose)> = self
            .own(plan)
            .filter(|(_, stated)| stated.summation == "PLAN")
            .collect();
        match plan_doses[..] {
            [(_, stated)] if stated.plans.len() > 1 => Err(format!(
                "The dose is that of {} plans (ReferencedRTPlanSequence): export the dose of this plan alone.",
                stated.plans.len()
            )),
            [(index, stated)] => why_not_physical(stated)
                .map_or(Ok(index), |why| Err(format!("The dose of the plan {why}."))),
            [] => Err(self.why_no_dose(plan)),
            _ => Err(format!(
                "{} doses are stated to be that of the plan: keep the one that is meant.",
                plan_doses.len()
            )),
        }
    }

    fn why_no_dose(&self, plan: &Plan) -> String {
        let kinds: Vec<&str> = self
            .own(plan)
            .map(|(_, stated)| stated.summation.as_str())
            .collect();
        if let Some(kind) = kinds.iter().find(|kind| kind.starts_with("FRACTION")) {
            return format!(
                "The dose is that of a fraction (DoseSummationType {kind}): export the dose of the whole plan."
            );
        }
        if kinds.contains(&"") {
            return "The dose does not state whether it is that of the plan (it has no DoseSummationType)."
                .to_owned();
        }
        if let Some(kind) = kinds.iter().find(|kind| **kind != "BEAM") {
            return format!("The dose is no dose of one plan (DoseSummationType {kind}).");
        }
        if !kinds.is_empty() {
            return "There is no dose of the whole plan, only of beams.".to_owned();
        }
        if self
            .case
            .doses
            .iter()
            .zip(&self.doses)
            .any(|(_, stated)| stated.plans.is_empty())
        {
            return "The dose does not state which plan it belongs to (it refers to none)."
                .to_owned();
        }
        if !self.doses.is_empty() {
            return "The dose is that of another plan (its ReferencedRTPlanSequence names one that is not this one)."
                .to_owned();
        }
        match &self.left_out[..] {
            [] => "There is no dose to compare with: add the RTDOSE of the plan.".to_owned(),
            why => format!("There is no dose to compare with: {}.", why.join("; ")),
        }
    }

    /// The index of a beam's own dose; `None` where the files have none. A contradiction is noted with the beam.
    pub fn dose_of_beam(&self, plan: &Plan, number: u32, item: &mut Item) -> Option<usize> {
        let beam_doses = self
            .own(plan)
            .filter(|(_, s)| s.summation == "BEAM" && s.beams == [number]);
        let beam_doses: Vec<(usize, &StatedDose)> = beam_doses.collect();
        match beam_doses[..] {
            [] => None,
            [(index, stated)] => match why_not_physical(stated) {
                None => Some(index),
                Some(why) => {
                    item.not_judged
                        .push(format!("The dose of {} {why}.", item.name));
                    None
                }
            },
            _ => {
                let text = format!(
                    "{} doses are stated to be that of {}: keep one.",
                    beam_doses.len(),
                    item.name
                );
                item.not_judged.push(text);
                None
            }
        }
    }
}

/// Statements of the file that a dose of the case was read from.
fn stated_dose(case: &Case, dose: &Arc<Dose>) -> Option<StatedDose> {
    let source = case
        .sources
        .doses
        .iter()
        .find(|source| Arc::ptr_eq(&source.read, dose))?;
    read_stated_dose(&source.path).ok()
}

/// Why a dose is not one that is recomputed.
fn why_not_physical(stated: &StatedDose) -> Option<String> {
    match stated.kind.as_str() {
        "PHYSICAL" => None,
        "" => {
            Some("does not state whether it is the physical dose (it has no DoseType)".to_owned())
        }
        other => Some(format!("is not the physical dose (DoseType {other})")),
    }
}

/// Why doses of the files are not in the case.
fn left_out(catalogue: &Catalogue, case: &Case) -> Vec<String> {
    let sources = &case.sources.doses;
    let missing = { catalogue.doses.iter() }
        .filter(|entry| !sources.iter().any(|source| source.path == entry.path));
    let why = missing.map(|entry| {
        let name = entry
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut remarks = case
            .remarks
            .iter()
            .filter(|r| r.severity == Severity::Warning);
        remarks.find(|r| r.files.contains(&name)).map_or_else(
            || format!("the dose of {name} is of another patient"),
            |remark| format!("{} ({name})", remark.message),
        )
    });
    let unreadable = catalogue.unreadable.iter();
    why.chain(unreadable.map(|u| format!("a file could not be read: {}", u.reason)))
        .collect()
}
