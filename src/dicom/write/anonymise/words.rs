//! Words that identify: they stand in names, numbers and institutions that are removed, and that another text must not repeat.

use crate::object::Item;
use dicom_core::header::Header as _;
use dicom_core::{Tag, VR};
use dicom_dictionary_std::tags;
use std::collections::BTreeSet;

/// Numbers and places of a patient, beside the names of persons.
const IDENTIFYING: [Tag; 17] = [
    tags::PATIENT_ID,
    // Retired, and still written: other patient IDs.
    Tag(0x0010, 0x1000),
    tags::ISSUER_OF_PATIENT_ID,
    tags::PATIENT_BIRTH_DATE,
    tags::ACCESSION_NUMBER,
    tags::STUDY_ID,
    tags::ADMISSION_ID,
    tags::INSTITUTION_NAME,
    tags::INSTITUTIONAL_DEPARTMENT_NAME,
    tags::PATIENT_ADDRESS,
    tags::STATION_NAME,
    tags::DEVICE_SERIAL_NUMBER,
    tags::DEVICE_ID,
    tags::PLACER_ORDER_NUMBER_IMAGING_SERVICE_REQUEST,
    tags::FILLER_ORDER_NUMBER_IMAGING_SERVICE_REQUEST,
    Tag(0x0040, 0x1006),
    Tag(0x0040, 0x1007),
];

/// Shorter words are in too many texts.
const SHORTEST: usize = 3;

/// Words of at least this length are found also within other words.
const LONG: usize = 5;

#[derive(Clone, Debug, Default)]
pub struct IdentityWords {
    words: BTreeSet<String>,
    uids: BTreeSet<String>,
}

impl IdentityWords {
    pub fn with(mut self, other: Self) -> Self {
        self.words.extend(other.words);
        self.uids.extend(other.uids);
        self
    }

    /// Whether a text repeats a word that identifies.
    pub fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let parts: Vec<&str> = parts(&text).collect();
        self.words.iter().any(|word| {
            parts.contains(&word.as_str())
                || word.chars().count() >= LONG && text.contains(word.as_str())
        }) || self.uids.iter().any(|uid| text.contains(uid.as_str()))
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|part| part.chars().count() >= SHORTEST)
}

/// Identifying words of an object, its items included.
pub fn identity_words(item: &Item) -> IdentityWords {
    let mut identity_words = IdentityWords::default();
    collect(item, &mut identity_words);
    identity_words
}

fn collect(item: &Item, identity_words: &mut IdentityWords) {
    const UIDS: [Tag; 4] = [
        tags::SOP_INSTANCE_UID,
        tags::SERIES_INSTANCE_UID,
        tags::STUDY_INSTANCE_UID,
        tags::FRAME_OF_REFERENCE_UID,
    ];
    for element in item {
        if let Some(items) = element.items() {
            items.iter().for_each(|item| collect(item, identity_words));
            continue;
        }
        let tag = element.tag();
        let identifies = element.vr() == VR::PN || IDENTIFYING.contains(&tag);
        let is_uid = UIDS.contains(&tag);
        if !identifies && !is_uid {
            continue;
        }
        let Ok(text) = element.to_str() else { continue };
        let text = text
            .trim_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_lowercase();
        if is_uid && !text.is_empty() {
            identity_words.uids.insert(text);
        } else if identifies {
            identity_words.words.extend(parts(&text).map(str::to_owned));
            // A number of several parts is known also as a whole.
            if text.chars().count() >= LONG {
                identity_words.words.insert(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dicom_core::{DataElement, PrimitiveValue};

    #[test]
    fn names_and_numbers_are_found_in_other_texts() {
        let mut item = Item::new_empty();
        put(tags::PATIENT_NAME, VR::PN, "Müller^Eva^^Dr", &mut item);
        put(tags::PATIENT_ID, VR::LO, "12-3456", &mut item);
        put(tags::REFERRING_PHYSICIAN_NAME, VR::PN, "Ng^A", &mut item);
        let words = identity_words(&item);
        for text in [
            "plan of MÜLLER",
            "eva boost",
            "12-3456 lung",
            "xmüllerx",
            "nr 3456",
        ] {
            assert!(words.are_in(text), "{text}");
        }
        for text in ["Evaluation", "Dr", "long arm", "PTV 12", ""] {
            assert!(!words.are_in(text), "{text}");
        }
    }

    fn put(tag: Tag, vr: VR, text: &str, item: &mut Item) {
        item.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
    }
}
