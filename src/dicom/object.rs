//! Opens DICOM files and validates attributes as it reads them.

use super::DicomError;
use super::source::{self, Encoding};
use super::walk::{PixelData, Walked, walk};
use case::Severity;
use dicom_core::dictionary::{DataDictionary, DataDictionaryEntry};
use dicom_core::{PrimitiveValue, Tag, value::Value};
use dicom_dictionary_std::{StandardDataDictionary, tags};
use dicom_object::{DefaultDicomObject, FileMetaTableBuilder, InMemDicomObject};
use dicom_transfer_syntax_registry::entries;
use glam::DVec3;
use input::{fenced, plain};
use std::collections::BTreeSet;
use std::error::Error;
use std::ops::RangeInclusive;
use std::path::Path;
use thiserror::Error;

/// A data set with its file meta group.
pub type Object = DefaultDicomObject;
/// A data set, also an item of a sequence.
pub type Item = InMemDicomObject;

/// Opens a file up to its pixel data: quick, and possible for images with truncated pixels.
///
/// # Errors
/// [`DicomError::Io`], [`DicomError::NotDicom`], [`DicomError::Broken`], [`DicomError::OverBudget`].
pub fn open(path: &Path) -> Result<Object, DicomError> {
    Ok(open_told(path)?.0)
}

pub use self::open as open_header;

/// As [`open`], with the oddities of the file's encoding, and how much each counts.
///
/// # Errors
/// As [`open`].
pub fn open_told(path: &Path) -> Result<(Object, Vec<(Severity, String)>), DicomError> {
    let Opened {
        source,
        item,
        doubts,
        ..
    } = open_parts(path)?;
    let meta = FileMetaTableBuilder::new()
        .transfer_syntax(&source.syntax)
        .media_storage_sop_class_uid(stated_or(&source.class, &item, tags::SOP_CLASS_UID))
        .media_storage_sop_instance_uid(stated_or(&source.instance, &item, tags::SOP_INSTANCE_UID));
    let object = item
        .with_meta(meta)
        .map_err(|e| DicomError::broken(path, root_cause(&e)))?;
    let oddities = source
        .oddities
        .into_iter()
        .map(|oddity| (Severity::Note, oddity));
    Ok((
        object,
        oddities
            .chain(doubts.into_iter().map(|doubt| (Severity::Warning, doubt)))
            .collect(),
    ))
}

/// A UID of the file's head; the object's where the head states none.
fn stated_or(head_uid: &str, item: &Item, tag: Tag) -> String {
    if head_uid.is_empty() {
        item.text_or_empty(tag)
    } else {
        head_uid.to_owned()
    }
}

/// A file read as far as its pixel data.
pub struct Opened {
    pub source: source::OpenedFile,
    pub item: Item,
    /// The pixel data, whose value is next in the source.
    pub pixels: Option<PixelData>,
    /// Doubts about letters of texts.
    pub doubts: BTreeSet<String>,
}

/// As [`open`], with the source where its pixel data begins.
///
/// # Errors
/// As [`open`].
pub fn open_parts(path: &Path) -> Result<Opened, DicomError> {
    let mut source = source::open(path)?;
    let walked = walk(&mut source.bytes, source.encoding).map_err(|fault| fault.in_file(path))?;
    if source.bytes.position == 0 {
        return Err(DicomError::broken(path, "it has no data set".to_owned()));
    }
    let item = parse(&walked, source.encoding).map_err(|what| DicomError::broken(path, what))?;
    Ok(Opened {
        source,
        item,
        pixels: walked.pixels,
        doubts: walked.doubts,
    })
}

/// Parses elements that were walked before.
///
/// # Errors
/// The parser's own words.
pub fn parse(walked: &Walked, encoding: Encoding) -> Result<Item, String> {
    let syntax = match encoding {
        Encoding::Implicit => entries::IMPLICIT_VR_LITTLE_ENDIAN.erased(),
        Encoding::Explicit => entries::EXPLICIT_VR_LITTLE_ENDIAN.erased(),
        Encoding::ExplicitBig => entries::EXPLICIT_VR_BIG_ENDIAN.erased(),
    };
    fenced(|| Item::read_dataset_with_ts(&walked.elements[..], &syntax).map_err(|e| root_cause(&e)))
        .and_then(|read| read)
}

/// The innermost message of an error: the outer ones of the DICOM crates only state that reading failed.
pub fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

/// The file's name without its folder, safe to print.
pub fn file_name(path: &Path) -> String {
    plain(
        &path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy(),
    )
    .into_owned()
}

/// Why an attribute gives no value: absent or empty, of a wrong type, or out of range. Each error names the
/// attribute and its content.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AttributeError {
    #[error("it has no {}", keyword(*.0))]
    Missing(Tag),
    #[error("its {} is '{text}', which {why}", keyword(*.tag))]
    Unreadable { tag: Tag, text: String, why: String },
    #[error("its {} is {}, not within {} to {}", keyword(*.tag), short(*.value), short(*.low), short(*.high))]
    OutOfRange {
        tag: Tag,
        value: f64,
        low: f64,
        high: f64,
    },
}

/// An attribute's keyword in the standard: `GantryAngle`.
pub fn keyword(tag: Tag) -> String {
    StandardDataDictionary
        .by_tag(tag)
        .map_or_else(|| tag.to_string(), |entry| entry.alias().to_owned())
}

/// An optional attribute: only a present, wrong one is an error.
pub trait IfSaid<T> {
    /// # Errors
    /// [`AttributeError`], except for a missing attribute.
    fn optional(self) -> Result<Option<T>, AttributeError>;
}

impl<T> IfSaid<T> for Result<T, AttributeError> {
    fn optional(self) -> Result<Option<T>, AttributeError> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(AttributeError::Missing(_)) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }
}

/// A number without the zeros of a very large one.
fn short(value: f64) -> String {
    if value.abs() < 1e9 {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// The value, if it is within the range.
///
/// # Errors
/// [`AttributeError::OutOfRange`].
pub fn within(tag: Tag, value: f64, range: RangeInclusive<f64>) -> Result<f64, AttributeError> {
    let (low, high) = (*range.start(), *range.end());
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(AttributeError::OutOfRange {
            tag,
            value,
            low,
            high,
        })
    }
}

/// Typed access to attributes that separates absent, empty and odd values from good ones.
pub trait Attributes {
    fn item(&self) -> &Item;

    /// Text without padding and control characters; `None` where the attribute is absent or empty.
    fn text(&self, tag: Tag) -> Option<String> {
        let text = self.item().get(tag)?.to_str().ok()?;
        let text = plain(text.trim_matches(|c: char| c.is_whitespace() || c == '\0'));
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// As [`Attributes::text`]; empty where the attribute is.
    fn text_or_empty(&self, tag: Tag) -> String {
        self.text(tag).unwrap_or_default()
    }

    /// All values as numbers, NaN for a value that is not numeric; empty where the attribute is absent or
    /// empty.
    fn numbers(&self, tag: Tag) -> Vec<f64> {
        match self.item().get(tag).map(|e| e.value()) {
            Some(Value::Primitive(value)) => numbers_in(value),
            _ => Vec::new(),
        }
    }

    /// All values as finite numbers, at least one.
    ///
    /// # Errors
    /// [`AttributeError`], which names the first bad value.
    fn try_numbers(&self, tag: Tag) -> Result<Vec<f64>, AttributeError> {
        let numbers = self.numbers(tag);
        match numbers.iter().position(|v| !v.is_finite()) {
            None if numbers.is_empty() => Err(AttributeError::Missing(tag)),
            None => Ok(numbers),
            Some(bad) => {
                let text = self.text(tag).unwrap_or_default();
                let text = text.split('\\').nth(bad).unwrap_or(&text).trim().to_owned();
                let is_number = text
                    .replacen(',', ".", 1)
                    .parse::<f64>()
                    .is_ok_and(f64::is_finite);
                let comma = text.contains(',') && is_number;
                Err(unreadable(
                    tag,
                    &text,
                    if comma {
                        "has a decimal comma"
                    } else {
                        "is no number"
                    },
                ))
            }
        }
    }

    /// The only value, a finite number.
    ///
    /// # Errors
    /// [`AttributeError`].
    fn try_number(&self, tag: Tag) -> Result<f64, AttributeError> {
        match self.try_numbers(tag)?[..] {
            [one] => Ok(one),
            ref several => Err(counted(tag, several, 1)),
        }
    }

    /// The only value, a whole number, also where it is written as `12.0`.
    ///
    /// # Errors
    /// [`AttributeError`].
    fn try_whole(&self, tag: Tag) -> Result<i64, AttributeError> {
        let value = self.try_number(tag)?;
        let is_integer = value.fract() == 0.0 && value.abs() < 9e15;
        if is_integer {
            Ok(value as i64)
        } else {
            Err(unreadable(tag, &value.to_string(), "is no whole number"))
        }
    }

    /// Exactly `N` numbers.
    ///
    /// # Errors
    /// [`AttributeError`].
    fn try_array<const N: usize>(&self, tag: Tag) -> Result<[f64; N], AttributeError> {
        let values = self.try_numbers(tag)?;
        <[f64; N]>::try_from(&values[..]).map_err(|_| counted(tag, &values, N))
    }

    /// The first value as a number; `None` where it is absent, empty or not a finite number.
    fn number(&self, tag: Tag) -> Option<f64> {
        self.numbers(tag).first().copied().filter(|v| v.is_finite())
    }

    /// A whole number, also where it is written as `12.0`.
    fn whole(&self, tag: Tag) -> Option<i64> {
        self.number(tag)
            .filter(|v| v.fract() == 0.0 && v.abs() < 9e15)
            .map(|v| v as i64)
    }

    /// A whole number of 0 or more.
    fn unsigned(&self, tag: Tag) -> Option<u32> {
        self.whole(tag)
            .and_then(|number| u32::try_from(number).ok())
    }

    /// Three numbers as a vector.
    fn vector(&self, tag: Tag) -> Option<DVec3> {
        match self.numbers(tag)[..] {
            [x, y, z] => Some(DVec3::new(x, y, z)).filter(|v| v.is_finite()),
            _ => None,
        }
    }

    /// As [`Attributes::vector`], with NaN for a value that is not a number.
    fn vector_or_nan(&self, tag: Tag) -> Option<DVec3> {
        match self.numbers(tag)[..] {
            [x, y, z] => Some(DVec3::new(x, y, z)),
            _ => None,
        }
    }

    /// The items of a sequence; none where it is absent.
    fn items(&self, tag: Tag) -> &[Item] {
        self.item()
            .get(tag)
            .and_then(|e| e.items())
            .unwrap_or_default()
    }
}

impl Attributes for Item {
    fn item(&self) -> &Item {
        self
    }
}

impl Attributes for Object {
    fn item(&self) -> &Item {
        self
    }
}

/// Longer texts of a file are truncated where messages quote them.
const MOST_TEXT: usize = 48;

fn unreadable(tag: Tag, text: &str, why: &str) -> AttributeError {
    let mut shown: String = text.escape_default().take(MOST_TEXT).collect();
    if shown.len() == MOST_TEXT {
        shown.push_str("...");
    }
    AttributeError::Unreadable {
        tag,
        text: shown,
        why: why.to_owned(),
    }
}

fn counted(tag: Tag, values: &[f64], wanted: usize) -> AttributeError {
    let text: Vec<String> = values.iter().take(MOST_TEXT).map(f64::to_string).collect();
    let why = format!(
        "has {} values where {wanted} belong{}",
        values.len(),
        if wanted == 1 { "s" } else { "" }
    );
    unreadable(tag, &text.join(" "), &why)
}

fn numbers_in(value: &PrimitiveValue) -> Vec<f64> {
    match value {
        PrimitiveValue::Str(text) => numbers_of(text),
        PrimitiveValue::Strs(texts) if texts.len() == 1 => numbers_of(&texts[0]),
        PrimitiveValue::Strs(texts) => texts.iter().map(|text| number_in(text)).collect(),
        _ => value.to_multi_float64().unwrap_or_default(),
    }
}

/// Numbers between backslashes.
fn numbers_of(text: &str) -> Vec<f64> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if text.is_empty() {
        Vec::new()
    } else {
        text.split('\\').map(number_in).collect()
    }
}

fn number_in(s: &str) -> f64 {
    s.trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .parse()
        .unwrap_or(f64::NAN)
}
