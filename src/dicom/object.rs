//! Opening a DICOM file, and reading its attributes without surprises.

use super::{DicomError, lengths};
use dicom_core::dictionary::{DataDictionary, DataDictionaryEntry};
use dicom_core::{PrimitiveValue, Tag, value::Value};
use dicom_dictionary_std::{StandardDataDictionary, tags};
use dicom_object::file::ReadPreamble;
use dicom_object::{DefaultDicomObject, FileMetaTableBuilder, InMemDicomObject, OpenFileOptions};
use dicom_transfer_syntax_registry::entries;
use glam::DVec3;
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;
use thiserror::Error;

/// A data set with its file meta group.
pub type Object = DefaultDicomObject;
/// A data set, also an item of a sequence.
pub type Item = InMemDicomObject;

/// How a file starts, which tells whether and how it is DICOM.
enum Start {
    Preamble,
    /// The meta group, after the letters DICM or without them.
    Meta {
        letters: bool,
    },
    /// A data set without meta group, explicit VR or not.
    Bare {
        explicit: bool,
    },
    Other,
}

/// Opens a whole file.
///
/// # Errors
/// [`DicomError::Io`], [`DicomError::NotDicom`], [`DicomError::Broken`].
pub fn open(path: &Path) -> Result<Object, DicomError> {
    open_until(path, None)
}

/// Opens a file up to the pixel data: works for images whose pixels are truncated, and is quick.
///
/// # Errors
/// As [`open`].
pub fn open_header(path: &Path) -> Result<Object, DicomError> {
    open_until(path, Some(tags::PIXEL_DATA))
}

fn open_until(path: &Path, until: Option<Tag>) -> Result<Object, DicomError> {
    let broken = |e: &dyn Error| DicomError::Broken { path: path.to_owned(), reason: root_cause(e) };
    let mut options = OpenFileOptions::new();
    if let Some(tag) = until {
        options = options.read_until(tag);
    }
    let start = start_of(path)?;
    check_lengths(path, &start, until.is_none())?;
    match start {
        Start::Preamble => {
            options.read_preamble(ReadPreamble::Always).open_file(path).map_err(|e| broken(&e))
        }
        Start::Meta { letters } => {
            let file = File::open(path).map_err(|source| DicomError::Io { path: path.to_owned(), source })?;
            // The parser wants the letters.
            let missing: &[u8] = if letters { b"" } else { b"DICM" };
            let source = missing.chain(file);
            options.read_preamble(ReadPreamble::Never).from_reader(source).map_err(|e| broken(&e))
        }
        Start::Bare { explicit } => open_bare(path, explicit),
        Start::Other => Err(DicomError::NotDicom { path: path.to_owned() }),
    }
}

fn check_lengths(path: &Path, start: &Start, whole: bool) -> Result<(), DicomError> {
    let (at, explicit) = match *start {
        Start::Preamble => (132, None),
        Start::Meta { letters } => (if letters { 4 } else { 0 }, None),
        Start::Bare { explicit } => (0, Some(explicit)),
        Start::Other => return Ok(()),
    };
    // A bare data set is always read whole.
    let whole = whole || explicit.is_some();
    lengths::check(path, at, explicit, whole)
        .map_err(|source| DicomError::Io { path: path.to_owned(), source })?
        .map_err(|reason| DicomError::Broken { path: path.to_owned(), reason })
}

/// A bare data set is always read whole.
fn open_bare(path: &Path, explicit: bool) -> Result<Object, DicomError> {
    let broken = |e: &dyn Error| DicomError::Broken { path: path.to_owned(), reason: root_cause(e) };
    let syntax = if explicit {
        entries::EXPLICIT_VR_LITTLE_ENDIAN.erased()
    } else {
        entries::IMPLICIT_VR_LITTLE_ENDIAN.erased()
    };
    let file = File::open(path).map_err(|source| DicomError::Io { path: path.to_owned(), source })?;
    let item = InMemDicomObject::read_dataset_with_ts(std::io::BufReader::new(file), &syntax)
        .map_err(|e| broken(&e))?;
    let meta = FileMetaTableBuilder::new()
        .transfer_syntax(syntax.uid())
        .media_storage_sop_class_uid(item.text(tags::SOP_CLASS_UID).unwrap_or_default())
        .media_storage_sop_instance_uid(item.text(tags::SOP_INSTANCE_UID).unwrap_or_default());
    item.with_meta(meta).map_err(|e| broken(&e))
}

fn start_of(path: &Path) -> Result<Start, DicomError> {
    let io = |source| DicomError::Io { path: path.to_owned(), source };
    let mut head = Vec::with_capacity(132);
    File::open(path).map_err(io)?.take(132).read_to_end(&mut head).map_err(io)?;
    let group = |g: u8| head.len() >= 8 && head[0] == g && head[1] == 0 && head[3] == 0;
    Ok(if head.len() == 132 && &head[128..] == b"DICM" {
        Start::Preamble
    } else if head.starts_with(b"DICM") || group(2) {
        Start::Meta { letters: head.starts_with(b"DICM") }
    } else if group(8) {
        Start::Bare { explicit: head[4].is_ascii_uppercase() && head[5].is_ascii_uppercase() }
    } else {
        Start::Other
    })
}

/// The innermost message of an error: the outer ones of the DICOM crates only say that reading failed.
pub fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

/// The file's name without its folder.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Why an attribute gives no value: absent or empty, not what it should be, or not where it can be. Each names the
/// attribute, and what stands there.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AttributeError {
    #[error("it has no {}", keyword(*.0))]
    Missing(Tag),
    #[error("its {} is '{text}', which {why}", keyword(*.tag))]
    Unreadable { tag: Tag, text: String, why: String },
    #[error("its {} is {}, not within {} to {}", keyword(*.tag), short(*.value), short(*.low), short(*.high))]
    OutOfRange { tag: Tag, value: f64, low: f64, high: f64 },
}

/// An attribute's name as the standard has it: `GantryAngle`.
pub fn keyword(tag: Tag) -> String {
    StandardDataDictionary.by_tag(tag).map_or_else(|| tag.to_string(), |entry| entry.alias().to_owned())
}

/// An attribute that may be absent: only one that is there and wrong is an error.
pub trait IfSaid<T> {
    /// # Errors
    /// [`AttributeError`], but not that it is missing.
    fn if_said(self) -> Result<Option<T>, AttributeError>;
}

impl<T> IfSaid<T> for Result<T, AttributeError> {
    fn if_said(self) -> Result<Option<T>, AttributeError> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(AttributeError::Missing(_)) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }
}

/// Without the zeros of a very large number.
fn short(value: f64) -> String {
    if value.abs() < 1e9 { value.to_string() } else { format!("{value:e}") }
}

/// The value, where it can be.
///
/// # Errors
/// [`AttributeError::OutOfRange`].
pub fn within(tag: Tag, value: f64, range: RangeInclusive<f64>) -> Result<f64, AttributeError> {
    let (low, high) = (*range.start(), *range.end());
    if range.contains(&value) { Ok(value) } else { Err(AttributeError::OutOfRange { tag, value, low, high }) }
}

/// Attributes with absent, empty and odd values told apart from good ones.
pub trait Attributes {
    /// The data set itself.
    fn item(&self) -> &Item;

    /// Text without padding; `None` where the attribute is absent or empty.
    fn text(&self, tag: Tag) -> Option<String> {
        let text = self.item().get(tag)?.to_str().ok()?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// All values as numbers, NaN for a value that is none; empty where the attribute is absent or empty.
    fn numbers(&self, tag: Tag) -> Vec<f64> {
        match self.item().get(tag).map(|e| e.value()) {
            Some(Value::Primitive(value)) => numbers_in(value),
            _ => Vec::new(),
        }
    }

    /// All values as finite numbers, at least one.
    ///
    /// # Errors
    /// [`AttributeError`], which names the first value that is none.
    fn try_numbers(&self, tag: Tag) -> Result<Vec<f64>, AttributeError> {
        let numbers = self.numbers(tag);
        match numbers.iter().position(|v| !v.is_finite()) {
            None if numbers.is_empty() => Err(AttributeError::Missing(tag)),
            None => Ok(numbers),
            Some(bad) => {
                let text = self.text(tag).unwrap_or_default();
                let text = text.split('\\').nth(bad).unwrap_or(&text).trim().to_owned();
                let whole = text.replacen(',', ".", 1).parse::<f64>().is_ok_and(f64::is_finite);
                let comma = text.contains(',') && whole;
                Err(unreadable(tag, &text, if comma { "has a decimal comma" } else { "is no number" }))
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
            ref all => Err(counted(tag, all, 1)),
        }
    }

    /// The only value, a whole number, also where it is written as `12.0`.
    ///
    /// # Errors
    /// [`AttributeError`].
    fn try_whole(&self, tag: Tag) -> Result<i64, AttributeError> {
        let value = self.try_number(tag)?;
        let whole = value.fract() == 0.0 && value.abs() < 9e15;
        if whole { Ok(value as i64) } else { Err(unreadable(tag, &value.to_string(), "is no whole number")) }
    }

    /// As many numbers as it must have.
    ///
    /// # Errors
    /// [`AttributeError`].
    fn try_array<const N: usize>(&self, tag: Tag) -> Result<[f64; N], AttributeError> {
        let all = self.try_numbers(tag)?;
        <[f64; N]>::try_from(&all[..]).map_err(|_| counted(tag, &all, N))
    }

    /// The first value as a number; `None` where it is absent, empty or no finite number.
    fn number(&self, tag: Tag) -> Option<f64> {
        self.numbers(tag).first().copied().filter(|v| v.is_finite())
    }

    /// A whole number, also where it is written as `12.0`.
    fn whole(&self, tag: Tag) -> Option<i64> {
        self.number(tag).filter(|v| v.fract() == 0.0 && v.abs() < 9e15).map(|v| v as i64)
    }

    /// Three numbers as a vector.
    fn vector(&self, tag: Tag) -> Option<DVec3> {
        match self.numbers(tag)[..] {
            [x, y, z] => Some(DVec3::new(x, y, z)).filter(|v| v.is_finite()),
            _ => None,
        }
    }

    /// The items of a sequence; none where it is absent.
    fn items(&self, tag: Tag) -> &[Item] {
        self.item().get(tag).and_then(|e| e.items()).unwrap_or_default()
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

/// Longer texts of a file are cut where they are repeated.
const MOST_TEXT: usize = 48;

fn unreadable(tag: Tag, text: &str, why: &str) -> AttributeError {
    let mut shown: String = text.escape_default().take(MOST_TEXT).collect();
    if shown.len() == MOST_TEXT {
        shown.push_str("...");
    }
    AttributeError::Unreadable { tag, text: shown, why: why.to_owned() }
}

fn counted(tag: Tag, values: &[f64], wanted: usize) -> AttributeError {
    let text: Vec<String> = values.iter().take(MOST_TEXT).map(f64::to_string).collect();
    let why =
        format!("has {} values where {wanted} belong{}", values.len(), if wanted == 1 { "s" } else { "" });
    unreadable(tag, &text.join(" "), &why)
}

fn numbers_in(value: &PrimitiveValue) -> Vec<f64> {
    let parse = |s: &str| -> Vec<f64> {
        let s = s.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if s.is_empty() { Vec::new() } else { s.split('\\').map(number_in).collect() }
    };
    match value {
        PrimitiveValue::Str(s) => parse(s),
        PrimitiveValue::Strs(all) if all.len() == 1 => parse(&all[0]),
        PrimitiveValue::Strs(all) => all.iter().map(|s| number_in(s)).collect(),
        _ => value.to_multi_float64().unwrap_or_default(),
    }
}

fn number_in(s: &str) -> f64 {
    s.trim_matches(|c: char| c.is_whitespace() || c == '\0').parse().unwrap_or(f64::NAN)
}
