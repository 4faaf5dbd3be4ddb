//! A data set under construction.

use super::dates::date_time;
use super::{Belonging, WriteError};
use crate::OWN_MANUFACTURER;
use crate::object::Item;
use case::new_uid;
use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_core::value::{DataSetSequence, PrimitiveValue};
use dicom_core::{DataElement, Tag, VR};
use dicom_dictionary_std::{StandardDataDictionary, tags, uids};
use dicom_object::mem::InMemElement;
use dicom_object::{FileMetaTableBuilder, InMemDicomObject};
use files::replace_file;
use std::error::Error;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Attributes by tag; the value representation is the standard dictionary's.
#[derive(Clone, Debug)]
pub struct DataSet(InMemDicomObject);

/// Attributes shared by all objects of one series.
pub struct Series<'a> {
    pub modality: &'static str,
    pub uid: String,
    pub number: i32,
    pub description: &'a str,
}

impl From<&Item> for DataSet {
    fn from(item: &Item) -> Self {
        Self(item.clone())
    }
}

impl DataSet {
    pub fn new() -> Self {
        Self(InMemDicomObject::new_empty())
    }

    /// The modules of every object: SOP common, patient, study, series, equipment.
    pub fn object(sop_class: &str, sop_uid: &str, belonging: &Belonging, series: &Series) -> Self {
        let (date, time) = now();
        let mut set = Self::new();
        set.text(tags::SPECIFIC_CHARACTER_SET, "ISO_IR 192");
        set.text(tags::INSTANCE_CREATION_DATE, &date);
        set.text(tags::INSTANCE_CREATION_TIME, &time);
        set.text(tags::SOP_CLASS_UID, sop_class);
        set.text(tags::SOP_INSTANCE_UID, sop_uid);
        set.text(tags::PATIENT_NAME, &belonging.patient.name);
        set.text(tags::PATIENT_ID, &belonging.patient.id);
        set.text(tags::PATIENT_BIRTH_DATE, &belonging.patient.birth_date);
        set.text(tags::PATIENT_SEX, &belonging.patient.sex);
        // Only the system that made the images knows these: empty rather than made up.
        let study = &belonging.study;
        set.text(tags::STUDY_INSTANCE_UID, &study.uid);
        set.text(tags::STUDY_DATE, &study.date);
        set.text(tags::STUDY_TIME, &study.time);
        set.text(tags::STUDY_ID, &study.id);
        set.text(tags::ACCESSION_NUMBER, &study.accession);
        set.text(tags::REFERRING_PHYSICIAN_NAME, &study.physician);
        if !study.description.is_empty() {
            set.text(tags::STUDY_DESCRIPTION, &study.description);
        }
        set.text(tags::MODALITY, series.modality);
        set.text(tags::SERIES_INSTANCE_UID, &series.uid);
        set.whole(tags::SERIES_NUMBER, i64::from(series.number));
        set.text(tags::SERIES_DESCRIPTION, &shortened(series.description, 64));
        set.text(tags::OPERATORS_NAME, "");
        set.text(tags::MANUFACTURER, OWN_MANUFACTURER);
        set.text(
            tags::MANUFACTURER_MODEL_NAME,
            "Beamsight (not for clinical use)",
        );
        set.text(tags::SOFTWARE_VERSIONS, env!("CARGO_PKG_VERSION"));
        set
    }

    /// A value written as characters: text, code string, UID, date, time.
    pub fn text(&mut self, tag: Tag, value: &str) {
        let value = if value.is_empty() {
            PrimitiveValue::Empty
        } else {
            PrimitiveValue::from(value)
        };
        self.put(tag, value);
    }

    /// An empty value, as the standard wants it where a source has left it out.
    pub fn text_where_absent(&mut self, tag: Tag) {
        if !self.has(tag) {
            self.text(tag, "");
        }
    }

    /// A whole number, as text or binary by the attribute's VR.
    pub fn whole(&mut self, tag: Tag, value: i64) {
        match vr_of(tag) {
            // Rows, columns, bits: counts that the callers keep within 16 bits.
            VR::US => self.put(tag, PrimitiveValue::from(value.clamp(0, 65_535) as u16)),
            _ => self.put(tag, PrimitiveValue::from(value.to_string())),
        }
    }

    /// Numbers as decimal strings.
    pub fn numbers(&mut self, tag: Tag, values: &[f64]) {
        let words: Vec<String> = values.iter().map(|v| decimal(*v)).collect();
        self.text(tag, &words.join("\\"));
    }

    pub fn items(&mut self, tag: Tag, items: Vec<DataSet>) {
        let items: Vec<InMemDicomObject> = items.into_iter().map(|i| i.0).collect();
        self.0
            .put(DataElement::new(tag, VR::SQ, DataSetSequence::from(items)));
    }

    /// An item that references an object: class and instance UID.
    pub fn reference(class: &str, instance: &str) -> DataSet {
        let mut item = Self::new();
        item.text(tags::REFERENCED_SOP_CLASS_UID, class);
        item.text(tags::REFERENCED_SOP_INSTANCE_UID, instance);
        item
    }

    pub fn as_item(&self) -> &Item {
        &self.0
    }

    /// Takes an element over as it is.
    pub fn carry(&mut self, element: &InMemElement) {
        self.0.put(element.clone());
    }

    pub fn remove(&mut self, tags: &[Tag]) {
        for tag in tags {
            self.0.remove_element(*tag);
        }
    }

    pub fn has(&self, tag: Tag) -> bool {
        self.0.get(tag).is_some()
    }

    pub fn put(&mut self, tag: Tag, value: PrimitiveValue) {
        self.0.put(DataElement::new(tag, vr_of(tag), value));
    }

    /// Writes the object as a file.
    ///
    /// # Errors
    /// [`WriteError::Io`], [`WriteError::Encode`]; no file is left behind.
    pub fn write(self, path: &Path) -> Result<(), WriteError> {
        self.write_in(uids::IMPLICIT_VR_LITTLE_ENDIAN, path)
    }

    /// As [`DataSet::write`], in another transfer syntax: its compressed pixels'.
    ///
    /// # Errors
    /// As [`DataSet::write`].
    pub fn write_in(self, syntax: &str, path: &Path) -> Result<(), WriteError> {
        let meta = FileMetaTableBuilder::new()
            .transfer_syntax(syntax)
            .implementation_class_uid(IMPLEMENTATION_CLASS_UID)
            .implementation_version_name(concat!("BEAMSIGHT_", env!("CARGO_PKG_VERSION")));
        let object = self.0.with_meta(meta).map_err(|e| encode_error(&e, path))?;
        replace_file(path, |out| object.write_all(out).map_err(io::Error::other)).map_err(
            |source| WriteError::Io {
                path: path.to_owned(),
                source,
            },
        )
    }
}

fn encode_error(e: &dyn Error, path: &Path) -> WriteError {
    WriteError::Encode {
        path: path.to_owned(),
        reason: crate::object::root_cause(e),
    }
}

/// UID of this program under the free root 2.25.
const IMPLEMENTATION_CLASS_UID: &str = "2.25.292108411357624860126431573298713541467";

fn vr_of(tag: Tag) -> VR {
    StandardDataDictionary
        .by_tag(tag)
        .map_or(VR::UN, |entry| entry.vr().relaxed())
}

/// A new series for one object.
pub fn new_series<'a>(modality: &'static str, number: i32, description: &'a str) -> Series<'a> {
    Series {
        modality,
        uid: new_uid(),
        number,
        description,
    }
}

/// A number in the at most 16 characters of a decimal string, as accurately as they allow. Values that are
/// not finite become 0: the callers check before.
pub fn decimal(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let plain = format!("{value}");
    if plain.len() <= 16 {
        return plain;
    }
    let candidates = (0..=15).flat_map(|p| [format!("{value:.p$}"), format!("{value:.p$e}")]);
    candidates
        .filter(|s| s.len() <= 16)
        .min_by(|a, b| distance_from(a, value).total_cmp(&distance_from(b, value)))
        .unwrap_or_else(|| "0".to_owned())
}

fn distance_from(s: &str, value: f64) -> f64 {
    s.parse::<f64>()
        .map_or(f64::INFINITY, |v| (v - value).abs())
}

/// Text truncated to the length of an attribute.
pub fn shortened(text: &str, longest: usize) -> String {
    text.chars()
        .filter(|c| !c.is_control() && *c != '\\')
        .take(longest)
        .collect()
}

/// Date (YYYYMMDD) and time (HHMMSS) now, UTC.
pub fn now() -> (String, String) {
    date_time(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_fit_and_stay_near() {
        for v in [
            0.0,
            -1.5,
            1.0 / 3.0,
            -123_456.789_012_345_6,
            1.234_567_890_123_456e-9,
            4.328_98e-5,
            1e300,
            -0.1,
        ] {
            let s = decimal(v);
            assert!(s.len() <= 16, "{s}");
            let back: f64 = s.parse().unwrap();
            assert!((back - v).abs() <= v.abs() * 1e-9, "{v} is written {s}");
        }
    }
}
