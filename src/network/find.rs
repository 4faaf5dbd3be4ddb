//! Queries of the Study Root model (PS3.4 annex C): studies, or the series of one study.

use super::NetworkError;
use super::ae::is_uid;
use super::association::{Association, Call, Message};
use super::command::{Command, PENDING, PRIORITY, SUCCESS, Service, element_bytes, padded};
use super::negotiation::Proposal;
use dicom::Identifier;
use dicom_core::Tag;
use dicom_dictionary_std::{tags, uids};
use input::{ANSWER_BYTES, ANSWERS_MOST};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A query for studies, or with `study` for the series of that one.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Patient ID; `*` and `?` stand for any letters and any letter.
    pub patient: Option<String>,
    /// Patient's name, as [`query_name`] has it.
    pub name: Option<String>,
    /// Day of the study or range of days, as [`query_date`] has them.
    pub date: Option<String>,
    pub study: Option<String>,
    pub modality: Option<String>,
}

impl Query {
    /// Series or studies to retrieve for these answers: all series of a study come at once.
    pub fn wanted(&self, matches: &[Match]) -> Vec<Match> {
        match self.study.as_ref().filter(|_| self.modality.is_none()) {
            Some(study) => vec![Match {
                study_uid: study.clone(),
                ..Match::default()
            }],
            None => matches.to_vec(),
        }
    }
}

/// The UID of a study to ask for.
///
/// # Errors
/// A word that is none.
pub fn query_uid(word: &str) -> Result<String, String> {
    let uid = word.trim();
    if is_uid(uid) {
        Ok(uid.to_owned())
    } else {
        Err("a UID is made of digits and dots, at most 64".to_owned())
    }
}

/// A value to match: a backslash would make two of it.
///
/// # Errors
/// A word that cannot be matched.
pub fn query_key(word: &str) -> Result<String, String> {
    match word.trim() {
        "" => Err("it is empty; leave it out to match all".to_owned()),
        word if word.len() > 64 || word.contains(|c: char| c.is_control() || c == '\\') => {
            Err("it has at most 64 letters, no control characters, no backslash".to_owned())
        }
        word => Ok(word.to_owned()),
    }
}

/// The name of a patient to match: `Doe Jane` asks for all names that begin by `Doe^Jane` (PS3.5, section 6.2, PN), one with
/// `*` or `?` for no others.
///
/// # Errors
/// A word that cannot be matched.
pub fn query_name(word: &str) -> Result<String, String> {
    let name = query_key(word)?;
    let name = match name.contains('^') {
        true => name,
        false => name
            .split([' ', ','])
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("^"),
    };
    Ok(if name.contains(['*', '?']) {
        name
    } else {
        name + "*"
    })
}

/// A day or a range of days to match, `2026-11-27`, `2026-11-01..2026-11-27`, `2026-11-01..` or `..2026-11-27`, as DICOM
/// writes them (PS3.4, section C.2.2.2.5).
///
/// # Errors
/// A word that is neither.
pub fn query_date(word: &str) -> Result<String, String> {
    let end = |text: &str| {
        if text.trim().is_empty() {
            Ok(String::new())
        } else {
            day_in(text)
        }
    };
    let Some((from, to)) = word.split_once("..") else {
        return Ok(day_in(word)?);
    };
    match (end(from)?, end(to)?) {
        (from, to) if from.is_empty() && to.is_empty() => {
            Err("a range has a first or a last day".to_owned())
        }
        (from, to) if !to.is_empty() && from > to => {
            Err("the range ends before it begins".to_owned())
        }
        (from, to) => Ok(format!("{from}-{to}")),
    }
}

fn day_in(text: &str) -> Result<String, &'static str> {
    let digits = text.trim().replace('-', "");
    let is_day = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit());
    let is_day = is_day
        && (1..=12).contains(&two_digits(4, &digits))
        && (1..=31).contains(&two_digits(6, &digits));
    is_day
        .then_some(digits)
        .ok_or("a day is written 2026-11-27, a range 2026-11-01..2026-11-27")
}

fn two_digits(offset: usize, digits: &str) -> u32 {
    digits
        .get(offset..offset + 2)
        .and_then(|two| two.parse().ok())
        .unwrap_or(0)
}

/// A study, or a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Match {
    pub patient_id: String,
    pub patient_name: String,
    pub study_uid: String,
    pub date: String,
    pub description: String,
    /// Modality of a series; all modalities of a study.
    pub modality: String,
    /// Empty for a study.
    pub series_uid: String,
    pub series_number: String,
    /// Number of objects, where the system says it.
    pub objects: String,
}

const STUDY: [Tag; 8] = [
    tags::STUDY_DATE,
    tags::MODALITIES_IN_STUDY,
    tags::STUDY_DESCRIPTION,
    tags::PATIENT_NAME,
    tags::PATIENT_ID,
    tags::STUDY_INSTANCE_UID,
    tags::NUMBER_OF_STUDY_RELATED_INSTANCES,
    tags::STUDY_ID,
];
const SERIES: [Tag; 7] = [
    tags::MODALITY,
    tags::SERIES_DATE,
    tags::SERIES_DESCRIPTION,
    tags::STUDY_INSTANCE_UID,
    tags::SERIES_INSTANCE_UID,
    tags::SERIES_NUMBER,
    tags::NUMBER_OF_SERIES_RELATED_INSTANCES,
];

/// Elements of an identifier, by tag.
pub type Keys = BTreeMap<(u16, u16), Vec<u8>>;

pub fn put(keys: &mut Keys, tag: Tag, value: &str) {
    // UIDs are padded with a zero, texts with a space (PS3.5 6.2).
    let is_uid = [tags::STUDY_INSTANCE_UID, tags::SERIES_INSTANCE_UID].contains(&tag);
    keys.insert((tag.0, tag.1), padded(value, if is_uid { 0 } else { b' ' }));
}

/// An identifier in implicit VR little endian, which every system takes (PS3.5 10.1).
pub fn identifier(keys: &Keys) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ((group, element), value) in keys {
        bytes.extend(element_bytes(
            *group,
            std::iter::once((*element, value.as_slice())),
            false,
        ));
    }
    bytes
}

pub fn implicit(class: &str) -> Proposal {
    let syntaxes = vec![uids::IMPLICIT_VR_LITTLE_ENDIAN.to_owned()];
    Proposal {
        class: class.to_owned(),
        syntaxes,
        to_us: false,
    }
}

fn keys_of(query: &Query) -> Keys {
    let mut keys = Keys::new();
    let is_series = query.study.is_some();
    let tags: &[Tag] = if is_series { &SERIES } else { &STUDY };
    tags.iter().for_each(|tag| put(&mut keys, *tag, ""));
    put(
        &mut keys,
        tags::QUERY_RETRIEVE_LEVEL,
        if is_series { "SERIES" } else { "STUDY" },
    );
    if let Some(study) = &query.study {
        put(&mut keys, tags::STUDY_INSTANCE_UID, study);
    }
    if let Some(patient) = query.patient.as_ref().filter(|_| !is_series) {
        put(&mut keys, tags::PATIENT_ID, patient);
    }
    if let Some(name) = query.name.as_ref().filter(|_| !is_series) {
        put(&mut keys, tags::PATIENT_NAME, name);
    }
    if let Some(date) = query.date.as_ref().filter(|_| !is_series) {
        put(&mut keys, tags::STUDY_DATE, date);
    }
    if let Some(modality) = &query.modality {
        put(
            &mut keys,
            if is_series {
                tags::MODALITY
            } else {
                tags::MODALITIES_IN_STUDY
            },
            modality,
        );
    }
    if keys.values().any(|value| !value.is_ascii()) {
        put(&mut keys, tags::SPECIFIC_CHARACTER_SET, "ISO_IR 192");
    }
    keys
}

/// Asks a system what it has.
///
/// # Errors
/// [`NetworkError`]: it is not there, offers no queries, refuses this one, or has too many answers.
pub fn find(call: &Call, query: &Query, stop: &AtomicBool) -> Result<Vec<Match>, NetworkError> {
    let class = uids::STUDY_ROOT_QUERY_RETRIEVE_INFORMATION_MODEL_FIND;
    let mut association = Association::request(call, &[implicit(class)], stop)?;
    let context = association.service(class, "queries (C-FIND, Study Root)")?;
    let message = association.message_id();
    let mut request = Command::new(Service::Find, class, message, true);
    request.put(PRIORITY, 0);
    send_request(&mut association, context, &request, &keys_of(query))?;
    let mut matches = Vec::new();
    loop {
        let answer = association.answer(
            |a| a.is_answer_to(Service::Find, message),
            "answers were awaited",
        )?;
        let mut bytes = Vec::new();
        if answer.has_data() {
            association.data(context, ANSWER_BYTES, &mut |part| bytes.extend(part))?;
        }
        let who = || association.who().to_owned();
        match answer.status() {
            status if PENDING.contains(&status) => {
                if matches.len() == ANSWERS_MOST {
                    return Err(NetworkError::TooMany {
                        who: who(),
                        most: ANSWERS_MOST,
                    });
                }
                let wrong = |what| NetworkError::Protocol { who: who(), what };
                let study = match_of(&Identifier::read(bytes).map_err(wrong)?, query);
                // Without its UID, a series would be retrieved as its whole study.
                if query.study.is_some() && study.series_uid.is_empty() {
                    return Err(wrong("it listed a series without a UID".to_owned()));
                }
                matches.push(study);
            }
            SUCCESS => break,
            _ => {
                let (what, reason) = ("the query".to_owned(), answer.reason());
                return Err(NetworkError::Refused {
                    who: who(),
                    what,
                    reason,
                });
            }
        }
    }
    // All answers are here: what goes wrong now changes nothing.
    let _ = association.release();
    Ok(matches)
}

/// Sends a request and its identifier.
///
/// # Errors
/// A peer that does not read, or has vanished.
pub fn send_request(
    association: &mut Association,
    context: u8,
    request: &Command,
    keys: &Keys,
) -> Result<(), NetworkError> {
    association.send_command(context, request)?;
    let bytes = identifier(keys);
    let who = association.who().to_owned();
    association.send_data(context, &mut &bytes[..], bytes.len() as u64, |source| {
        NetworkError::Broke {
            who: who.clone(),
            doing: "a request was sent",
            source,
        }
    })
}

fn match_of(answer: &Identifier, query: &Query) -> Match {
    let text = |tag| answer.text(tag);
    let study_uid = text(tags::STUDY_INSTANCE_UID);
    match &query.study {
        Some(study) => Match {
            study_uid: if study_uid.is_empty() {
                study.clone()
            } else {
                study_uid
            },
            date: text(tags::SERIES_DATE),
            description: text(tags::SERIES_DESCRIPTION),
            modality: text(tags::MODALITY),
            series_uid: text(tags::SERIES_INSTANCE_UID),
            series_number: text(tags::SERIES_NUMBER),
            objects: text(tags::NUMBER_OF_SERIES_RELATED_INSTANCES),
            ..Match::default()
        },
        None => Match {
            patient_id: text(tags::PATIENT_ID),
            patient_name: text(tags::PATIENT_NAME),
            study_uid,
            date: text(tags::STUDY_DATE),
            description: text(tags::STUDY_DESCRIPTION),
            modality: text(tags::MODALITIES_IN_STUDY),
            objects: text(tags::NUMBER_OF_STUDY_RELATED_INSTANCES),
            ..Match::default()
        },
    }
}

/// The next message to one who awaits objects.
pub enum Step {
    Store { context: u8, command: Command },
    Answer(Command),
}

/// The next message while objects are retrieved.
///
/// # Errors
/// Errors of the conversation; a message that has no place there.
pub fn step(
    association: &mut Association,
    service: Service,
    message: u16,
) -> Result<Step, NetworkError> {
    match association.next("objects were awaited")? {
        Message::Command { context, command } if command.is(Service::Store) => {
            Ok(Step::Store { context, command })
        }
        Message::Command { context, command } if command.is_answer_to(service, message) => {
            if command.has_data() {
                association.data(context, ANSWER_BYTES, &mut |_| ())?;
            }
            Ok(Step::Answer(command))
        }
        _ => Err(NetworkError::Protocol {
            who: association.who().to_owned(),
            what: "another message came where an object or an answer belongs".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_their_beginning() {
        for (typed, query) in [
            ("Doe", "Doe*"),
            (" Doe, Jane ", "Doe^Jane*"),
            ("Doe^Jane^^Dr", "Doe^Jane^^Dr*"),
            ("*oe", "*oe"),
            ("Müller", "Müller*"),
        ] {
            assert_eq!(query_name(typed).as_deref(), Ok(query));
        }
        assert!(
            ["", "a\\b", &"x".repeat(65)]
                .into_iter()
                .all(|typed| query_name(typed).is_err())
        );
    }

    #[test]
    fn days_and_ranges_are_written_as_dicom_has_them() {
        for (typed, query) in [
            ("2026-11-27", "20261127"),
            ("20261127", "20261127"),
            ("2026-11-01..2026-11-27", "20261101-20261127"),
            ("2026-11-01 ..", "20261101-"),
            ("..2026-11-27", "-20261127"),
        ] {
            assert_eq!(query_date(typed).as_deref(), Ok(query));
        }
        let wrong = [
            "",
            "..",
            "27.11.2026",
            "2026-13-01",
            "2026-00-10",
            "2026-11-32",
            "2026-11-27..2026-11-01",
            "2026-1é",
        ];
        wrong
            .into_iter()
            .for_each(|typed| assert!(query_date(typed).is_err(), "{typed}"));
    }

    #[test]
    fn a_query_for_studies_asks_by_name_and_day_and_one_for_series_by_the_study_alone() {
        let (name, date) = (Some("Doe*".to_owned()), Some("20261127".to_owned()));
        let query = Query {
            name,
            date,
            ..Query::default()
        };
        let keys = keys_of(&query);
        assert_eq!(value_of(&keys, tags::PATIENT_NAME), Some(b"Doe*".to_vec()));
        assert_eq!(
            value_of(&keys, tags::STUDY_DATE),
            Some(b"20261127".to_vec())
        );
        let keys = keys_of(&Query {
            study: Some("1.2".to_owned()),
            ..query
        });
        assert_eq!(
            (
                value_of(&keys, tags::PATIENT_NAME),
                value_of(&keys, tags::STUDY_DATE)
            ),
            (None, None)
        );
    }

    fn value_of(keys: &Keys, tag: Tag) -> Option<Vec<u8>> {
        keys.get(&(tag.0, tag.1)).cloned()
    }
}
