//! Files read for the window.

use crate::analysis::{BodyChoice, BodyWord, body_from_ct, body_of};
use crate::app::state::opening::{Opened, Origin, SeriesLine};
use crate::app::state::record::Record;
use crate::case::{Case, Ct, Dose, Remark, Structure, StructureSet};
use crate::dicom::{self, Catalogue, Choice};
use crate::engine::JobControl;
use crate::files::session::Session;
use crate::files::{plan_toml, read_dose_volume};
use crate::open::{CaseWord, OpenOptions, OpenedSession, open_session};
use std::path::Path;
use std::sync::Arc;

/// Finds the body in a CT.
pub fn body(ct: &Ct, set: &StructureSet, control: &JobControl) -> Result<(Structure, Remark), String> {
    let found = body_from_ct(ct, set, control).map_err(|e| e.to_string())?;
    found.ok_or_else(|| "nothing in this CT is dense enough to be a body".to_owned())
}

/// A dose from a file: RTDOSE, or a `.mha` volume in Gy.
pub fn read_dose(path: &Path) -> Result<(Arc<Dose>, Vec<Remark>), String> {
    let is_mha = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mha"));
    if !is_mha {
        let (dose, remarks) = dicom::read_dose(path).map_err(|e| e.to_string())?;
        return Ok((Arc::new(dose), remarks));
    }
    let dose = read_dose_volume(path).map_err(|e| e.to_string())?;
    Ok((Arc::new(dose), Vec::new()))
}

/// Opens a case; the plan of a file becomes the first plan.
pub fn open(
    word: &CaseWord,
    choice: Choice,
    plan: Option<&Path>,
    body: Option<&BodyWord>,
    control: &JobControl,
) -> Result<Box<Opened>, String> {
    let progress = |done: f32| {
        control.report(done);
        !control.is_cancelled()
    };
    let mut base = word.clone();
    let mut record = None;
    let (mut case, series, structures) = match word {
        CaseWord::Dicom(path) if path.exists() => {
            let catalogue = dicom::scan(path, &|done| progress(0.1 * done)).map_err(|e| e.to_string())?;
            let case = dicom::load(&catalogue, choice, &|done| progress(0.1 + 0.9 * done));
            let case = case.map_err(|e| e.to_string())?;
            let structures = case.structures.clone();
            (case, series_lines(&catalogue), structures)
        }
        CaseWord::Session(path) => {
            let opened = open_session(path, OpenOptions { choice, position: None }, &progress);
            let OpenedSession { case, word, structures, view } = opened.map_err(|e| e.to_string())?;
            base = word;
            // An unreadable record is treated as missing.
            record = serde_json::from_value::<Record>(view).ok();
            (case, Vec::new(), structures)
        }
        _ => {
            let case = crate::open::open(word, OpenOptions { choice, position: None }, &progress);
            let case = case.map_err(|e| e.to_string())?;
            let structures = case.structures.clone();
            (case, Vec::new(), structures)
        }
    };
    if case.goals.is_none() {
        case.goals = record.as_mut().and_then(Record::take_former_goals).map(Into::into);
    }
    let needed = !record.as_ref().is_some_and(Record::is_without_body);
    if let Some(ct) = case.ct.clone().filter(|_| needed && body_of(&case.structures).is_none()) {
        // The dose calculation needs the outline of the patient, without couch and surrounding air.
        if let Some(made) = body_from_ct(&ct, &case.structures, control).map_err(|e| e.to_string())? {
            let (made, remark) = made;
            let set = Arc::make_mut(&mut case.structures);
            set.structures.push(made);
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
    }
    let session = match word {
        CaseWord::Session(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        _ => None,
    };
    Ok(Box::new(Opened {
        case,
        word: base.absolute(),
        series,
        structures,
        body,
        record,
        session,
        recovers: None,
    }))
}

fn series_lines(catalogue: &Catalogue) -> Vec<SeriesLine> {
    let line = |(index, s): (usize, &dicom::Series)| SeriesLine {
        index,
        uid: s.uid.clone(),
        name: if s.description.is_empty() { format!("{} series", s.modality) } else { s.description.clone() },
        detail: format!("{} {} × {} × {}", s.modality, s.size[0], s.size[1], s.planes),
        is_ct: s.modality == "CT" && !s.multiframe,
    };
    catalogue.series.iter().enumerate().map(line).collect()
}

/// The case with its changes since opening, as a session.
pub fn session_of(case: &Case, origin: &Origin, view: serde_json::Value) -> Result<Session, String> {
    let word = origin.word.in_utf8().ok_or_else(|| {
        format!("the name of '{}' is not UTF-8, and a session names its case: rename it", origin.word)
    })?;
    Ok(Session::new(case, &word, &origin.structures, view))
}
