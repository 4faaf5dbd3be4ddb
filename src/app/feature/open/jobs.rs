//! Files read for the window.

use crate::feature::open::state::{Folder, Opened, Opening, Origin, PatientQuestion, SeriesLine};
use crate::state::record::Record;
use ::open::{CaseWord, OpenOptions, OpenedSession, chosen_objects, open_session, scan_first};
use analysis::{BodyChoice, BodyWord, body_from_ct, body_of};
use case::{Case, Ct, Plan, Remark, Structure, StructureSet};
use dicom::{self, Catalogue, DicomError};
use engine::JobControl;
use files::plan_toml;
use files::session::Session;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds the body in a CT.
pub fn body(
    ct: &Ct,
    set: &StructureSet,
    control: &JobControl,
) -> Result<(Structure, Remark), String> {
    let body = body_from_ct(ct, set, control).map_err(|e| e.to_string())?;
    body.ok_or_else(|| "nothing in this CT is dense enough to be a body".to_owned())
}

/// Outcome of opening a case.
pub enum Outcome {
    Opened(Box<Opened>),
    /// Objects of several patients: the user is asked first.
    Asks(Box<PatientQuestion>),
}

/// Opens a case; the plan of a file becomes the first plan.
pub fn open(
    opening: &Opening,
    body: Option<&BodyWord>,
    control: &JobControl,
) -> Result<Outcome, String> {
    let Opening {
        word, choice, plan, ..
    } = opening;
    let choice = *choice;
    let progress: &(dyn Fn(f32) -> bool + Sync) = &|done| {
        control.report(done);
        !control.is_cancelled()
    };
    let mut base = word.clone();
    let mut record = None;
    let mut series = Vec::new();
    let mut doses = Vec::new();
    let mut plans_before_maps = BTreeMap::new();
    let (mut case, folder, structures) = match word {
        CaseWord::Dicom(path) if path.exists() => {
            let (catalogue, progress) = scan_first(path, progress).map_err(|e| e.to_string())?;
            let case = match dicom::load(&catalogue, choice, &progress) {
                Ok(case) => case,
                Err(DicomError::SeveralPatients { .. } | DicomError::OtherPatient { .. }) => {
                    return Ok(Outcome::Asks(Box::new(PatientQuestion::new(
                        opening.clone(),
                        &catalogue,
                    ))));
                }
                Err(error) => return Err(error.to_string()),
            };
            series = series_lines(&catalogue);
            let structures = case.structures.clone();
            (case, Some(Folder::new(catalogue, choice)), structures)
        }
        CaseWord::Session(path) => {
            let opened = open_session(
                path,
                OpenOptions {
                    choice,
                    position: None,
                },
                progress,
            );
            let opened = opened.map_err(|e| e.to_string())?;
            let OpenedSession {
                case,
                word,
                folder,
                structures,
                view,
                ..
            } = opened;
            doses = opened.doses;
            plans_before_maps = opened.plans_before_maps;
            let folder = folder.map(|(catalogue, choice)| Folder::new(catalogue, choice));
            base = word;
            // An unreadable record is treated as missing.
            record = serde_json::from_value::<Record>(view).ok();
            (case, folder, structures)
        }
        _ => {
            let case = open::open(
                word,
                OpenOptions {
                    choice,
                    position: None,
                },
                progress,
            );
            let case = case.map_err(|e| e.to_string())?;
            let structures = case.structures.clone();
            (case, None, structures)
        }
    };
    if case.goals.is_none() {
        case.goals = record
            .as_mut()
            .and_then(Record::take_former_goals)
            .map(Into::into);
    }
    let needed = !record.as_ref().is_some_and(Record::is_without_body);
    if let Some(ct) = case
        .ct
        .clone()
        .filter(|_| needed && body_of(&case.structures).is_none())
    {
        // The dose calculation needs the outline of the patient, without couch and surrounding air.
        let body = body_from_ct(&ct, &case.structures, control).map_err(|e| e.to_string())?;
        if let Some((body, remark)) = body {
            let set = Arc::make_mut(&mut case.structures);
            set.structures.push(body);
            set.remarks.push(remark.clone());
            case.remarks.push(remark);
        }
    }
    let body = match body {
        // The body just made, if the case had none.
        Some(BodyWord::Auto) if body_of(&structures).is_none() => Some(BodyChoice::Drawn),
        Some(word) => Some(word.choice(&case.structures).map_err(|e| e.to_string())?),
        None => None,
    };
    if let Some(path) = plan {
        let position = case.ct.as_ref().map(|ct| ct.position).unwrap_or_default();
        let plan = plan_toml::read(path, position).map_err(|e| e.to_string())?;
        case.plans.insert(0, Arc::new(plan));
        doses.iter_mut().for_each(|beam| beam.plan += 1);
        plans_before_maps = plans_before_maps
            .into_iter()
            .map(|(index, plan)| (index + 1, plan))
            .collect();
    }
    let session = match word {
        CaseWord::Session(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        _ => None,
    };
    Ok(Outcome::Opened(Box::new(Opened {
        case,
        word: base.absolute(),
        series,
        folder,
        structures,
        body,
        record,
        plans_before_maps: plans_before_maps
            .into_iter()
            .map(|(index, plan)| (index, Arc::new(plan)))
            .collect(),
        doses,
        session,
        recovers: None,
    })))
}

fn series_lines(catalogue: &Catalogue) -> Vec<SeriesLine> {
    let lines = catalogue.series.iter().enumerate();
    let lines = lines.map(|(index, s)| SeriesLine {
        index,
        uid: s.uid.clone(),
        name: if s.description.is_empty() {
            format!("{} series", s.modality)
        } else {
            s.description.clone()
        },
        detail: format!(
            "{} {} × {} × {}",
            s.modality, s.size[0], s.size[1], s.planes
        ),
        is_ct: s.modality == "CT" && !s.multiframe,
    });
    lines.collect()
}

/// The case with its changes since opening, as a session, and its plans as they were before their maps.
pub fn session_of(
    case: &Case,
    before_maps: BTreeMap<usize, Plan>,
    origin: &Origin,
    view: serde_json::Value,
) -> Result<Session, String> {
    let word = origin.word.in_utf8().ok_or_else(|| {
        format!(
            "the name of '{}' is not UTF-8, and a session names its case: rename it",
            origin.word
        )
    })?;
    let chosen = origin
        .folder
        .as_ref()
        .map(|f| chosen_objects(&f.catalogue, f.choice))
        .unwrap_or_default();
    let mut session = Session::new(case, &word, &origin.structures, view);
    (session.chosen, session.plans_before_maps) = (chosen, before_maps);
    Ok(session)
}
