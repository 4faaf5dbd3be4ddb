//! Titles of application entities, and UIDs.

use std::fmt;
use std::str::FromStr;

/// The name of a system on a DICOM network: 1 to 16 printable ASCII characters, no backslash (PS3.5 6.2, AE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AeTitle(String);

impl AeTitle {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AeTitle {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let title = word.trim();
        if title.is_empty()
            || title.len() > 16
            || !title
                .chars()
                .all(|c: char| (c.is_ascii_graphic() || c == ' ') && c != '\\')
        {
            return Err(
                "an AE title has 1 to 16 plain letters, digits and signs, no backslash".to_owned(),
            );
        }
        Ok(Self(title.to_owned()))
    }
}

impl fmt::Display for AeTitle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Longest UID (PS3.5 9.1).
pub const UID_LETTERS: usize = 64;

/// Digits and dots, with something before and after each dot: such a UID is also the name of a file.
pub fn is_uid(uid: &str) -> bool {
    uid.len() <= UID_LETTERS
        && uid
            .split('.')
            .all(|part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}
