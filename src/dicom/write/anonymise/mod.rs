//! An export made anonymous: the Basic Application Level Confidentiality Profile of DICOM PS3.15, Annex E, with the options
//! Clean Descriptors and, where dates are moved, Retain Longitudinal Temporal Information Modified Dates. Pixels are left
//! as they are: text that is burned into them stays.

mod names;
mod table;
mod words;

use super::data_set::DataSet;
use super::dates::shifted;
use super::{ExportedFile, WriteError};
use crate::object::{Attributes as _, Item, Object, open};
use crate::pixels::pixel_element;
use crate::{DicomError, Progress};
use case::new_uid;
use dicom_core::header::Header as _;
use dicom_core::value::{DataSetSequence, PrimitiveValue};
use dicom_core::{DataElement, Tag, VR};
use dicom_dictionary_std::{tags, uids};
use dicom_object::mem::InMemElement;
use names::cleaned_name;
use physics::Machine;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use table::{Listed, listed};
use words::{IdentityWords, identity_words};

/// How an export is made anonymous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anonymise {
    /// Days by which every date moves, all of an export by the same; without them dates are removed.
    pub shift_days: Option<i32>,
}

/// Statement beside every anonymous export.
pub const ANONYMISED: &str = "anonymised by the basic profile of DICOM PS3.15; text that is burned into pixels is not looked for, \
and the surface of a head shows a face";

/// The value of a text without meaning; 16 characters are the least that a text may have.
const DUMMY: &str = "ANONYMISED";

/// UIDs that begin so name what the standard defines: classes, transfer syntaxes, coding schemes.
const OF_THE_STANDARD: &str = "1.2.840.10008.";

/// UIDs of classes, also of private ones.
const CLASSES: [Tag; 3] = [
    tags::SOP_CLASS_UID,
    tags::REFERENCED_SOP_CLASS_UID,
    tags::ORIGINAL_SPECIALIZED_SOP_CLASS_UID,
];

/// Attributes outside the table that name a patient, an order or a device, or describe what a user typed. The retired
/// ones are still written.
const MORE_REMOVED: [Tag; 20] = [
    tags::RT_IMAGE_NAME,
    tags::RT_IMAGE_DESCRIPTION,
    tags::PATIENT_BIRTH_DATE_IN_ALTERNATIVE_CALENDAR,
    tags::PATIENT_DEATH_DATE_IN_ALTERNATIVE_CALENDAR,
    tags::PATIENT_ALTERNATIVE_CALENDAR,
    tags::ISSUER_OF_PATIENT_ID_QUALIFIERS_SEQUENCE,
    tags::SOURCE_PATIENT_GROUP_IDENTIFICATION_SEQUENCE,
    tags::GROUP_OF_PATIENTS_IDENTIFICATION_SEQUENCE,
    tags::BREED_REGISTRATION_SEQUENCE,
    tags::ISSUER_OF_ACCESSION_NUMBER_SEQUENCE,
    tags::ORDER_PLACER_IDENTIFIER_SEQUENCE,
    tags::ORDER_FILLER_IDENTIFIER_SEQUENCE,
    tags::ASSIGNING_FACILITY_SEQUENCE,
    tags::DEVICE_ID,
    tags::NTP_SOURCE_ADDRESS,
    // Numbers of the order of a procedure, and of an imaging service: their placer's and their filler's.
    Tag(0x0040, 0x1006),
    Tag(0x0040, 0x1007),
    Tag(0x0040, 0x2006),
    Tag(0x0040, 0x2007),
    Tag(0x0040, 0x1060),
];

/// Versions of tables of codes, which the table calls for a value without meaning: dates of the standard, and nobody's. A code of a
/// version that there never was is a false one.
const VERSIONS: [Tag; 2] = [
    tags::CONTEXT_GROUP_VERSION,
    tags::CONTEXT_GROUP_LOCAL_VERSION,
];

/// URLs that are codes or tables of codes; others lead to where an object was.
const URLS_OF_CODES: [Tag; 2] = [tags::CODING_SCHEME_URL, tags::URN_CODE_VALUE];

/// Dates of the patient's life, which no option retains.
const OF_LIFE: [Tag; 3] = [
    tags::PATIENT_BIRTH_DATE,
    tags::PATIENT_BIRTH_TIME,
    tags::LAST_MENSTRUAL_DATE,
];

/// Makes the files of an export anonymous, in their folder. The names of those that say that their pixels show who it is.
///
/// # Errors
/// [`WriteError`]; what was rewritten by then remains, so the folder is a temporary one.
pub fn anonymise(
    folder: &Path,
    files: &[ExportedFile],
    how: Anonymise,
    progress: Progress,
) -> Result<Vec<String>, WriteError> {
    let read = files.par_iter().map(|file| {
        let header = open(&folder.join(&file.name)).map(Object::into_inner)?;
        Ok((
            identity_words(&header),
            shows_the_patient(&header).then(|| file.name.clone()),
        ))
    });
    let read: Vec<_> = read
        .collect::<Result<_, DicomError>>()
        .map_err(WriteError::Source)?;
    let (words, showing): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let words = words
        .into_iter()
        .fold(IdentityWords::default(), IdentityWords::with);
    let uid = new_uid();
    let veil = Veil {
        how,
        words,
        uids: Mutex::default(),
        // Some digits of a random number: another export of the patient has others.
        patient: format!("ANON-{}", &uid[uid.len().saturating_sub(10)..]),
    };
    let done = AtomicUsize::new(0);
    files.par_iter().try_for_each(|file| {
        let path = folder.join(&file.name);
        veil.rewrite(&path)?;
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if progress(count as f32 / files.len() as f32) {
            Ok(())
        } else {
            Err(WriteError::Cancelled)
        }
    })?;
    Ok(showing.into_iter().flatten().collect())
}

fn shows_the_patient(header: &Item) -> bool {
    let tags = [
        tags::BURNED_IN_ANNOTATION,
        tags::RECOGNIZABLE_VISUAL_FEATURES,
    ];
    tags.into_iter().any(|tag| {
        header
            .text(tag)
            .is_some_and(|text| text.eq_ignore_ascii_case("YES"))
    })
}

/// Treatment of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Keep,
    Remove,
    Empty,
    Dummy,
    Shift,
}

/// Names, UIDs and options with which all objects of one export are made anonymous.
struct Veil {
    how: Anonymise,
    words: IdentityWords,
    /// The new UID of each that was met: references keep resolving.
    uids: Mutex<HashMap<String, String>>,
    /// Name and ID of the patient.
    patient: String,
}

/// An object around its items.
struct Around {
    /// Whether the object's modules want a value where the table leaves the choice.
    wants_values: bool,
    /// Interpreted types of the structures, by number.
    kinds: HashMap<i64, String>,
    /// The label of a plan.
    label: String,
}

impl Around {
    fn new(item: &Item, path: &Path) -> Self {
        let observations = item.items(tags::RTROI_OBSERVATIONS_SEQUENCE).iter();
        let stem = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        Self {
            wants_values: item.text(tags::SOP_CLASS_UID).as_deref()
                == Some(uids::SPATIAL_REGISTRATION_STORAGE),
            kinds: observations
                .filter_map(|item: &Item| {
                    Some((
                        item.whole(tags::REFERENCED_ROI_NUMBER)?,
                        item.text(tags::RTROI_INTERPRETED_TYPE)?,
                    ))
                })
                .collect(),
            label: format!("Plan{}", stem.strip_prefix("RP").unwrap_or_default()),
        }
    }
}

impl Veil {
    fn rewrite(&self, path: &Path) -> Result<(), WriteError> {
        let header = open(path).map_err(WriteError::Source)?;
        let (pixels, syntax) = pixel_element(&header, path).map_err(WriteError::Source)?;
        let item = Object::into_inner(header);
        if item.text(tags::SOP_CLASS_UID).is_none() || item.text(tags::SOP_INSTANCE_UID).is_none() {
            let attribute = "SOPClassUID or SOPInstanceUID";
            return Err(WriteError::Source(DicomError::Missing {
                path: path.to_owned(),
                attribute,
            }));
        }
        let around = Around::new(&item, path);
        let mut set = DataSet::from(&self.cleaned(&item, &around));
        if let Some(pixels) = pixels {
            set.carry(&pixels);
        }
        self.say(&mut set);
        set.write_in(&syntax, path)
    }

    /// The attributes by which an object says that it is anonymous, and how (PS3.15 E.1.1, 6 and CID 7050).
    fn say(&self, set: &mut DataSet) {
        let mut codes = vec![
            ("113100", "Basic Application Confidentiality Profile"),
            ("113105", "Clean Descriptors Option"),
        ];
        let moved = self.how.shift_days.is_some();
        if moved {
            codes.push((
                "113107",
                "Retain Longitudinal Temporal Information Modified Dates Option",
            ));
        }
        // All texts are Unicode once read.
        set.text(tags::SPECIFIC_CHARACTER_SET, "ISO_IR 192");
        set.text(tags::PATIENT_IDENTITY_REMOVED, "YES");
        set.text(
            tags::DEIDENTIFICATION_METHOD,
            "Beamsight: PS3.15 E basic profile, descriptors cleaned",
        );
        set.items(
            tags::DEIDENTIFICATION_METHOD_CODE_SEQUENCE,
            codes
                .into_iter()
                .map(|(value, meaning): (&str, &str)| {
                    let mut item = DataSet::new();
                    item.text(tags::CODE_VALUE, value);
                    item.text(tags::CODING_SCHEME_DESIGNATOR, "DCM");
                    item.text(tags::CODE_MEANING, meaning);
                    item
                })
                .collect(),
        );
        let times = if moved { "MODIFIED" } else { "REMOVED" };
        set.text(tags::LONGITUDINAL_TEMPORAL_INFORMATION_MODIFIED, times);
    }

    fn cleaned(&self, item: &Item, around: &Around) -> Item {
        let mut clean = Item::new_empty();
        for element in item {
            if let Some(element) = self.element(element, around) {
                clean.put(element);
            }
        }
        let mut put = |tag, vr, text: String| {
            clean.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
        };
        if let (Some(number), Some(name)) =
            (item.whole(tags::ROI_NUMBER), item.text(tags::ROI_NAME))
        {
            let kind = around.kinds.get(&number).map_or("ROI", String::as_str);
            let named = if self.words.are_in(&name) {
                None
            } else {
                cleaned_name(&name)
            };
            put(
                tags::ROI_NAME,
                VR::LO,
                named.unwrap_or_else(|| format!("{kind}_{number}")),
            );
        }
        if let (Some(number), Some(_)) = (item.whole(tags::BEAM_NUMBER), item.get(tags::BEAM_NAME))
        {
            put(tags::BEAM_NAME, VR::LO, format!("Beam {number}"));
        }
        clean
    }

    fn element(&self, element: &InMemElement, around: &Around) -> Option<InMemElement> {
        let (tag, vr) = (element.tag(), element.vr());
        let put = |value: PrimitiveValue| Some(DataElement::new(tag, vr, value));
        match self.action(tag, vr, around) {
            Action::Remove => None,
            Action::Empty if vr == VR::SQ => Some(DataElement::new(
                tag,
                vr,
                DataSetSequence::from(Vec::<Item>::new()),
            )),
            Action::Empty | Action::Dummy
                if tag == tags::PATIENT_NAME || tag == tags::PATIENT_ID =>
            {
                put(PrimitiveValue::from(self.patient.as_str()))
            }
            // The name of a machine model that ships with the program is nobody's machine.
            Action::Empty
                if [tags::TREATMENT_MACHINE_NAME, tags::RADIATION_MACHINE_NAME].contains(&tag)
                    && is_shipped(&element.to_str().ok()?) =>
            {
                Some(element.clone())
            }
            Action::Empty => put(PrimitiveValue::Empty),
            Action::Dummy if tag == tags::RT_PLAN_LABEL => {
                put(PrimitiveValue::from(around.label.as_str()))
            }
            Action::Dummy => put(PrimitiveValue::from(dummy(vr)?)),
            Action::Shift => {
                let text = element.to_str().ok()?;
                let days = self.how.shift_days.unwrap_or_default();
                let dates: Option<Vec<String>> =
                    text.split('\\').map(|date| shifted(date, days)).collect();
                put(dates.map_or(PrimitiveValue::Empty, |dates| {
                    PrimitiveValue::from(dates.join("\\"))
                }))
            }
            Action::Keep => self.kept(element, around),
        }
    }

    /// An element that stays: its items cleaned, its UIDs replaced, a text only where it names nobody.
    fn kept(&self, element: &InMemElement, around: &Around) -> Option<InMemElement> {
        let (tag, vr) = (element.tag(), element.vr());
        if let Some(items) = element.items() {
            let items: Vec<Item> = items
                .iter()
                .map(|item| self.cleaned(item, around))
                .collect();
            return Some(DataElement::new(tag, VR::SQ, DataSetSequence::from(items)));
        }
        if vr == VR::UI && !CLASSES.contains(&tag) {
            let text = element.to_str().ok()?;
            let uids: Vec<String> = text.split('\\').map(|uid| self.other_uid(uid)).collect();
            return Some(DataElement::new(
                tag,
                vr,
                PrimitiveValue::from(uids.join("\\")),
            ));
        }
        let is_text = matches!(
            vr,
            VR::LO | VR::SH | VR::LT | VR::ST | VR::UT | VR::UC | VR::UR | VR::AE
        );
        if is_text && self.words.are_in(&element.to_str().ok()?) {
            return Some(DataElement::new(tag, vr, PrimitiveValue::from(DUMMY)));
        }
        Some(element.clone())
    }

    fn other_uid(&self, uid: &str) -> String {
        let uid = uid.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if uid.is_empty() || uid.starts_with(OF_THE_STANDARD) {
            return uid.to_owned();
        }
        let mut uids = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        uids.entry(uid.to_owned()).or_insert_with(new_uid).clone()
    }

    fn action(&self, tag: Tag, vr: VR, around: &Around) -> Action {
        let Tag(group, element) = tag;
        let repeating = matches!(group & 0xFF00, 0x5000 | 0x6000);
        // Group lengths describe values that change; an unknown value cannot be judged.
        if group % 2 == 1
            || group < 8
            || repeating
            || group > 0x7FE0
            || element == 0
            || vr == VR::UN
        {
            return Action::Remove;
        }
        if MORE_REMOVED.contains(&tag) || (vr == VR::UR && !URLS_OF_CODES.contains(&tag)) {
            return Action::Remove;
        }
        if VERSIONS.contains(&tag) {
            return Action::Keep;
        }
        let is_date = matches!(vr, VR::DA | VR::DT);
        if self.how.shift_days.is_some() && (is_date || vr == VR::TM) && !OF_LIFE.contains(&tag) {
            return if is_date { Action::Shift } else { Action::Keep };
        }
        match listed(tag) {
            Some(Listed::X) => Action::Remove,
            Some(Listed::Z) => Action::Empty,
            // Items that describe persons or findings have no values without meaning: the sequence goes.
            Some(Listed::D | Listed::XOrD) if vr == VR::SQ => Action::Remove,
            Some(Listed::D) => Action::Dummy,
            Some(Listed::XOrD) if tag == tags::RT_PLAN_DATE || tag == tags::RT_PLAN_TIME => {
                Action::Dummy
            }
            Some(Listed::XOrD) => {
                if around.wants_values {
                    Action::Dummy
                } else {
                    Action::Remove
                }
            }
            Some(Listed::ZOrD) => {
                if around.wants_values && vr != VR::PN {
                    Action::Dummy
                } else {
                    Action::Empty
                }
            }
            None if is_date || vr == VR::TM => Action::Remove,
            None if vr == VR::PN => Action::Empty,
            None if tag == tags::RT_IMAGE_LABEL => Action::Dummy,
            None if tag == tags::RADIATION_MACHINE_NAME => Action::Empty,
            // Paragraphs that somebody wrote.
            None if matches!(vr, VR::LT | VR::ST | VR::UT) => Action::Remove,
            None => Action::Keep,
        }
    }
}

/// As plans written here name it, in 16 characters.
fn is_shipped(machine: &str) -> bool {
    Machine::shipped()
        .iter()
        .any(|name| name.chars().take(16).eq(machine.trim_end().chars()))
}

/// A value without meaning; `None` where the representation has none.
fn dummy(vr: VR) -> Option<&'static str> {
    match vr {
        VR::DA => Some("19000101"),
        VR::TM => Some("000000"),
        VR::DT => Some("19000101000000"),
        VR::AS => Some("000Y"),
        VR::AE | VR::CS | VR::LO | VR::LT | VR::PN | VR::SH | VR::ST | VR::UC | VR::UT => {
            Some(DUMMY)
        }
        _ => None,
    }
}
