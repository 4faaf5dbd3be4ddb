//! A row of a table, and an object broken accordingly.

use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_core::ops::{ApplyOp as _, AttributeAction, AttributeOp, AttributeSelector};
use dicom_core::{PrimitiveValue, VR};
use dicom_dictionary_std::StandardDataDictionary;
use dicom_object::InMemDicomObject;

/// The outcome of a broken attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The file is not read; the error names attribute and value.
    FileRefused,
    /// The beam is shown and not computed, so that its plan is partial; the reason names attribute and value.
    /// A structure or contour of a structure set is left out with a warning.
    LeftOut,
    /// Computed, and the dose has these words as a caveat.
    NotModelled(&'static str),
    /// Read, with a remark that names attribute and value.
    Remarked,
    /// Read as it is meant: the standard or the rest of the file is unambiguous.
    Meant,
}

pub use Outcome::*;

pub enum Break {
    Missing,
    Unreadable(&'static str),
    OutOfRange(&'static str),
    /// The attribute's own value; then others by path.
    Contradicting(&'static str, &'static [(&'static str, &'static str)]),
}

pub use Break::*;

/// The attribute by its path in the object, and the outcome of each way of breaking it.
pub struct Row(pub &'static str, pub &'static [(Break, Outcome)]);

impl Break {
    /// The object with the attribute at `path` broken, and its new value.
    pub fn broken(
        &self,
        object: &InMemDicomObject,
        path: &'static str,
    ) -> (InMemDicomObject, &'static str) {
        let mut broken = object.clone();
        match *self {
            Missing => {
                // A missing element has nothing to remove.
                let _ = broken.apply(AttributeOp::new(selector(path), AttributeAction::Remove));
                (broken, "")
            }
            Unreadable(value) | OutOfRange(value) => {
                put(&mut broken, path, value);
                (broken, value)
            }
            Contradicting(value, others) => {
                put(&mut broken, path, value);
                others
                    .iter()
                    .for_each(|(path, value)| put(&mut broken, path, value));
                (broken, value)
            }
        }
    }

    pub fn words(&self) -> String {
        match self {
            Missing => "missing".to_owned(),
            Unreadable(value) => format!("unreadable: {value}"),
            OutOfRange(value) => format!("out of range: {value}"),
            Contradicting(value, _) => format!("contradicting: {value}"),
        }
    }
}

/// The attribute at the end of a path.
pub fn attribute(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.split('[').next().unwrap_or(last)
}

/// Sets the attribute at a path, with the VR of the dictionary.
pub fn put(object: &mut InMemDicomObject, path: &str, value: &str) {
    let entry = StandardDataDictionary
        .by_name(attribute(path))
        .unwrap_or_else(|| panic!("{path}"));
    let value = match entry.vr().relaxed() {
        VR::FL => PrimitiveValue::from(value.parse::<f32>().unwrap()),
        VR::US => PrimitiveValue::from(value.parse::<u16>().unwrap()),
        VR::SQ => PrimitiveValue::Empty,
        _ => PrimitiveValue::from(value),
    };
    let set = AttributeOp::new(selector(path), AttributeAction::Set(value));
    object.apply(set).unwrap_or_else(|e| panic!("{path}: {e}"));
}

fn selector(path: &str) -> AttributeSelector {
    StandardDataDictionary
        .parse_selector(path)
        .unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Whether a text names the attribute and its value; of several values one of them, or how many they are; a decimal comma
/// as such.
fn names(text: &str, path: &str, value: &str) -> bool {
    let count = value.split('\\').count();
    let counts = [format!(" {count} "), format!(" {} points ", count / 3)];
    let shown = value.is_empty()
        || value.split('\\').any(|v| text.contains(v.trim()))
        || counts.iter().any(|count| text.contains(count));
    let comma = !value.contains(',') || text.contains("has a decimal comma");
    text.contains(attribute(path)) && shown && comma
}

/// Checks rows: `read` returns the outcome of a broken object, and its messages.
pub fn check(
    sound: &InMemDicomObject,
    rows: &[Row],
    read: impl Fn(&InMemDicomObject) -> (Outcome, String),
) {
    let mut wrong = Vec::new();
    for Row(path, cases) in rows {
        assert!(
            cases.iter().any(|(how, _)| matches!(how, Missing)),
            "{path}"
        );
        // A sequence is present or absent.
        let is_sequence = attribute(path).ends_with("Sequence") || attribute(path) == "PixelData";
        assert!(
            is_sequence || cases.iter().any(|(how, _)| matches!(how, Unreadable(_))),
            "{path}"
        );
        for (how, wanted) in *cases {
            let (object, value) = how.broken(sound, path);
            let (found, said) = read(&object);
            let right = match (wanted, found) {
                (NotModelled(words), NotModelled(_)) => said.contains(words),
                (Meant, Meant) => true,
                (FileRefused, FileRefused) => {
                    names(&said, path, value) && said.contains("file.dcm")
                }
                (LeftOut, LeftOut) | (Remarked, Remarked) => names(&said, path, value),
                _ => false,
            };
            if !right {
                wrong.push(format!(
                    "{path}, {}: {wanted:?}, but {found:?}: {said}",
                    how.words()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
