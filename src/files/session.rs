//! A session file (`.json`): the work on a case and the view state. Images are not copied: the file names
//! their CASE.

mod made_for;
mod restored;

pub use made_for::digest_of_ct;

use super::kept_doses::{BeamPlace, DoseToKeep, remove_beside, write_beside};
use super::{replace_file, together};
use case::{
    Case, Goal, Plan, PlanFault, Structure, StructureFault, StructureSet, derived_uid,
    structures_fault,
};
use input::{SESSION_BYTES, VIEW_BYTES, read_text};
use made_for::MadeFor;
use restored::{drop_record, without_remarks_of_opening};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The only version there has been.
const VERSION: u32 = 1;

/// Why a session could not be read or written.
#[derive(Debug, Error)]
pub enum SessionError {
    #[error("cannot read the session '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{path}' is not a session of this program: {source}")]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "the session '{path}' is of version {found}; this program reads version {VERSION}: use a newer Beamsight"
    )]
    Version { path: PathBuf, found: u32 },
    #[error("the session '{path}': {fault}")]
    Plan {
        path: PathBuf,
        fault: Box<PlanFault>,
    },
    #[error("the session '{path}': {fault}")]
    Structure {
        path: PathBuf,
        fault: Box<StructureFault>,
    },
    #[error("cannot write the session '{path}': {source}; choose a folder you may write to")]
    Write { path: PathBuf, source: io::Error },
}

/// A session without the images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    version: u32,
    /// The session's CASE argument; a relative path is relative to the session file.
    pub case: String,
    /// The chosen image series, where the case has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_uid: Option<String>,
    /// Its description, which separates the phases of a 4D CT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_description: Option<String>,
    /// The chosen structure set and plan, and whose objects were taken together.
    #[serde(default, skip_serializing_if = "ChosenObjects::is_automatic")]
    pub chosen: ChosenObjects,
    /// Patient, images, structures and machines that the plans were made for; sessions of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_for: Option<MadeFor>,
    /// All plans, with all beams.
    pub plans: Vec<Plan>,
    /// Digests of the plans with a record of review, by their places: a plan that was changed in the file has no record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    records: BTreeMap<usize, String>,
    /// Plans as they were before the fluence maps that they have, by their places.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans_before_maps: BTreeMap<usize, Plan>,
    /// Structures that are missing or different in the case's own files.
    #[serde(default)]
    pub structures: Vec<Structure>,
    /// Numbers of structures that are in the files but not in the session.
    #[serde(default)]
    pub removed_structures: Vec<u32>,
    /// Clinical goals; left out while the usual ones of the target stand for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goals: Option<Vec<Goal>>,
    /// Beams whose doses lie beside the file, so that missing ones are noticed. Nothing is taken on its word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doses: Vec<BeamPlace>,
    /// View state: the window's own record, stored unchanged.
    #[serde(default, deserialize_with = "small_value")]
    pub view: serde_json::Value,
}

/// Objects of a folder that the user chose; an empty entry was chosen automatically.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChosenObjects {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structure_set_uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_uid: Option<String>,
    /// Patient IDs whose objects the user has answered to be of one patient.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_patients: Vec<String>,
}

impl ChosenObjects {
    fn is_automatic(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits the length: parsed values of unknown form take many times the memory of their text.
fn small_value<'de, D: Deserializer<'de>>(from: D) -> Result<serde_json::Value, D::Error> {
    let text = <&RawValue>::deserialize(from)?.get();
    if text.len() > VIEW_BYTES {
        return Err(D::Error::custom(format!(
            "`view` has {} bytes, at most {VIEW_BYTES} are read",
            text.len()
        )));
    }
    serde_json::from_str(text).map_err(D::Error::custom)
}

/// Only the version, which is read first: other versions may have any other form.
#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

impl Session {
    /// The changes to a case since it was opened from the CASE argument `word` with the structures `loaded`.
    pub fn new(case: &Case, word: &str, loaded: &StructureSet, view: serde_json::Value) -> Self {
        let current = &case.structures.structures;
        let plans: Vec<Plan> = case
            .plans
            .iter()
            .map(|plan| without_remarks_of_opening(plan))
            .collect();
        let mut new = Self {
            version: VERSION,
            case: word.to_owned(),
            series_uid: case.ct.as_ref().map(|ct| ct.series_uid.clone()),
            series_description: case.ct.as_ref().map(|ct| ct.description.clone()),
            chosen: ChosenObjects::default(),
            made_for: Some(MadeFor::new(case, loaded)),
            records: records_of(plans.iter()),
            plans,
            plans_before_maps: BTreeMap::new(),
            structures: current
                .iter()
                .filter(|s| !loaded.structures.contains(s))
                .cloned()
                .collect(),
            removed_structures: loaded
                .structures
                .iter()
                .filter(|s| current.iter().all(|n| n.number != s.number))
                .map(|s| s.number)
                .collect(),
            goals: case.goals.as_ref().map(|goals| goals.to_vec()),
            doses: Vec::new(),
            view,
        };
        if new.restored(loaded).structures != *current {
            // With another order, or a reused number, all structures are stored.
            new.structures.clone_from(current);
            new.removed_structures = loaded.structures.iter().map(|s| s.number).collect();
        }
        new
    }
}

/// Digests of the plans with a record of review, the record among them.
fn records_of<'a>(plans: impl Iterator<Item = &'a Plan>) -> BTreeMap<usize, String> {
    let recorded = plans
        .enumerate()
        .filter(|(_, plan)| plan.approval.is_some());
    recorded
        .map(|(n, plan)| {
            (
                n,
                derived_uid(&serde_json::to_string(plan).unwrap_or_default()),
            )
        })
        .collect()
}

/// Takes the record from plans that are not those that were recorded.
fn drop_false_records(session: &mut Session) {
    let current_records = records_of(session.plans.iter());
    for (n, digest) in current_records {
        if session.records.get(&n) == Some(&digest) {
            continue;
        }
        drop_record(&mut session.plans[n], "the file was changed after that");
    }
}

/// Reads a session file.
///
/// # Errors
/// [`SessionError`].
pub fn read(path: &Path) -> Result<Session, SessionError> {
    let text = read_text(path, SESSION_BYTES).map_err(|source| SessionError::Read {
        path: path.to_owned(),
        source,
    })?;
    let VersionOnly { version } =
        serde_json::from_str(&text).map_err(|source| json_error(source, path))?;
    if version != VERSION {
        return Err(SessionError::Version {
            path: path.to_owned(),
            found: version,
        });
    }
    let mut session: Session =
        serde_json::from_str(&text).map_err(|source| json_error(source, path))?;
    drop_false_records(&mut session);
    // Nobody has reviewed what is compared with.
    session
        .plans_before_maps
        .values_mut()
        .for_each(|plan| plan.approval = None);
    let mut plans = session
        .plans
        .iter()
        .chain(session.plans_before_maps.values());
    if let Some(fault) = plans.find_map(Plan::fault).map(Box::new) {
        return Err(SessionError::Plan {
            path: path.to_owned(),
            fault,
        });
    }
    match structures_fault(&session.structures).map(Box::new) {
        Some(fault) => Err(SessionError::Structure {
            path: path.to_owned(),
            fault,
        }),
        None => Ok(session),
    }
}

fn json_error(source: serde_json::Error, path: &Path) -> SessionError {
    SessionError::Json {
        path: path.to_owned(),
        source,
    }
}

/// Writes a session file; the earlier one stays until the new one is complete.
///
/// # Errors
/// [`SessionError::Write`].
pub fn write(path: &Path, session: &Session) -> Result<(), SessionError> {
    replace(path, session).map_err(|source| SessionError::Write {
        path: path.to_owned(),
        source,
    })
}

fn replace(path: &Path, session: &Session) -> io::Result<()> {
    replace_file(path, |out| {
        // Without indentation: contours are nearly all of it, and that would be most of them.
        serde_json::to_writer(&mut *out, session).map_err(io::Error::from)?;
        out.write_all(b"\n")
    })
}

/// Writes a session file with computed doses beside it, both or neither; those that `earlier` sessions have beside them are copied.
/// Doses that cannot be written leave the session without any: returns why.
///
/// # Errors
/// [`SessionError::Write`].
pub fn write_with_doses(
    path: &Path,
    mut session: Session,
    doses: &[DoseToKeep],
    earlier: &[PathBuf],
) -> Result<Option<io::Error>, SessionError> {
    let written = together(|| {
        session.doses = write_beside(path, doses, earlier)?;
        replace(path, &session)
    });
    if written.is_err() {
        session.doses.clear();
        write(path, &session)?;
    }
    if session.doses.is_empty() {
        remove_beside(path);
    }
    Ok(written.err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use case::{
        Approval, DensityOverride, Medium, Normalisation, NormalisedAt, NormalisedDose, Remark,
        Rgb, Stage, StructureKind,
    };
    use std::sync::Arc;

    #[test]
    fn a_session_brings_back_what_was_made() {
        let loaded = demo::build("tg119").unwrap();
        let mut edited = loaded.clone();
        let set = Arc::make_mut(&mut edited.structures);
        set.structures.remove(1);
        set.structures[0].colour = Rgb([1, 2, 3]);
        let mut ball = set.structures[0].clone();
        (ball.number, ball.name, ball.kind) = (9, "ball".to_owned(), StructureKind::Bolus);
        ball.density = Some(DensityOverride {
            off: true,
            ..DensityOverride::preset(Medium::Lung)
        });
        set.structures.push(ball);
        let left_out = Remark::warning("5 contours are open lines", vec!["rs.dcm".to_owned()]);
        set.structures[0].remarks = vec![left_out.forbidding("5 contours left out")];
        let plan = Arc::make_mut(&mut edited.plans[0]);
        plan.remarks = vec![Remark::warning("another structure set", Vec::new())];
        plan.absent_beams = vec![case::AbsentBeam {
            number: 7,
            mu: 150.0,
        }];
        plan.beams.truncate(2);
        let point = NormalisedAt::Point(glam::DVec3::new(1.0, -2.5, 3.0));
        plan.normalisation = Some(Normalisation {
            at: point,
            dose: NormalisedDose::Percent(95.0),
        });
        edited.goals = Some(
            vec![
                "ball: Dmax <= 45 Gy (tolerance 1 Gy, priority 2)"
                    .parse()
                    .unwrap(),
            ]
            .into(),
        );

        let path =
            std::env::temp_dir().join(format!("beamsight-session-{}.json", std::process::id()));
        let session = Session::new(
            &edited,
            "demo:tg119",
            &loaded.structures,
            serde_json::json!({"window": [400, 40]}),
        );
        assert_eq!(
            session.structures.len(),
            2,
            "unchanged structures stay in the case's own files"
        );
        write(&path, &session).unwrap();
        let read_back = read(&path).unwrap();
        assert_eq!(read_back, session);
        let mut again = loaded;
        read_back.restore(&mut again);
        assert_eq!(again.structures, edited.structures);
        assert_eq!(again.plans, edited.plans);
        assert_eq!(again.goals, edited.goals);

        for (text, words) in [
            ("{", "not a session"),
            ("{\"a\": 1}", "missing field `version`"),
            ("{\"version\": 7, \"other\": 1}", "version 7"),
            (
                "{\"version\": 1, \"case\": \"x\", \"plans\": [], \"more\": 1}",
                "unknown field `more`",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(
                message.contains(words) && message.contains("beamsight-session"),
                "{text}: {message}"
            );
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// The record comes back with its plan; in a plan that was changed in the file it does not.
    #[test]
    fn a_plan_that_was_changed_in_the_file_is_unapproved() {
        let mut case = demo::build("tg119").unwrap();
        let approval = Approval {
            stage: Stage::Approved,
            by: "Planner".to_owned(),
            at: "2026-11-26 21:43:03 UTC".to_owned(),
            reason: "all goals are met".to_owned(),
        };
        Arc::make_mut(&mut case.plans[0]).approval = Some(approval);
        let path =
            std::env::temp_dir().join(format!("beamsight-record-{}.json", std::process::id()));
        write(
            &path,
            &Session::new(
                &case,
                "demo:tg119",
                &case.structures,
                serde_json::Value::Null,
            ),
        )
        .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(plan_in(&text, &path), *case.plans[0]);
        let mut session = read(&path).unwrap();
        session.plans_before_maps = [(0, session.plans[0].clone())].into();
        write(&path, &session).unwrap();
        assert_eq!(
            read(&path).unwrap().plans_before_maps[&0],
            Plan {
                approval: None,
                ..session.plans[0].clone()
            }
        );
        for (was, is) in [
            ("\"fractions\":", "\"fractions\":1"),
            ("\"mu\":", "\"mu\":1"),
            ("\"by\":\"Planner\"", "\"by\":\"Another\""),
            ("\"records\":{\"0\":\"2", "\"records\":{\"1\":\"2"),
        ] {
            let changed = text.replacen(was, is, 1);
            assert_ne!(changed, text, "{was}");
            let plan = plan_in(&changed, &path);
            assert_eq!(plan.approval, None, "{was}");
            let said = &plan.remarks.last().unwrap().message;
            assert!(
                said.contains("was approved by") && said.contains("file was changed after that"),
                "{said}"
            );
        }
        std::fs::remove_file(&path).unwrap();
    }

    fn plan_in(text: &str, path: &Path) -> Plan {
        std::fs::write(path, text).unwrap();
        read(path).unwrap().plans.remove(0)
    }
}
