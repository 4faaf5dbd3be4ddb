//! Table E.1-1 of DICOM PS3.15: attributes and their action in the Basic Application Level Confidentiality Profile, of
//! `assets/dicom/confidentiality-profile.csv`, which also says what of the table is left out.

use dicom_core::Tag;
use dicom_core::dictionary::{DataDictionary as _, DataDictionaryEntry as _};
use dicom_dictionary_std::StandardDataDictionary;
use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../../../assets/dicom/confidentiality-profile.csv");

/// Actions of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Removed.
    X,
    /// Emptied, or given a value without meaning.
    Z,
    /// Given a value without meaning.
    D,
    /// Removed, or given a value without meaning where the object must have one.
    XOrD,
    /// Emptied, or given a value without meaning where the object must have one: X/Z, Z/D and X/Z/D of the table.
    ZOrD,
}

impl Listed {
    fn parse(action: &str) -> Option<Self> {
        match action {
            "X" => Some(Self::X),
            "Z" => Some(Self::Z),
            "D" => Some(Self::D),
            "X/D" => Some(Self::XOrD),
            "X/Z" | "Z/D" | "X/Z/D" => Some(Self::ZOrD),
            _ => None,
        }
    }
}

/// Keyword, tag and action of each row.
fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| {
        let mut cells = line.split(',');
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
}

fn tag_of(keyword: &str) -> Option<Tag> {
    StandardDataDictionary
        .by_name(keyword)
        .map(|entry| entry.tag())
}

static ACTIONS: LazyLock<HashMap<Tag, Listed>> = LazyLock::new(|| {
    // An export that passed over a row would keep what identifies.
    rows().map(listed_row).collect()
});

fn listed_row([keyword, _, action]: [&str; 3]) -> (Tag, Listed) {
    let tag = tag_of(keyword).expect("the dictionary has each keyword of the shipped table");
    (
        tag,
        Listed::parse(action).expect("the shipped table has known actions"),
    )
}

pub fn listed(tag: Tag) -> Option<Listed> {
    ACTIONS.get(&tag).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dicom_dictionary_std::tags;
    use std::collections::HashSet;

    #[test]
    fn keywords_and_tags_of_the_table_agree_and_stand_once() {
        let mut listed_tags = HashSet::new();
        for [keyword, written, action] in rows() {
            let tag = tag_of(keyword).unwrap_or_else(|| panic!("the dictionary has no {keyword}"));
            assert_eq!(
                format!("{:04X}{:04X}", tag.group(), tag.element()),
                written,
                "{keyword}"
            );
            assert!(Listed::parse(action).is_some(), "{keyword}: {action}");
            assert!(listed_tags.insert(tag), "{keyword} stands twice");
        }
        assert_eq!(listed_tags.len(), 595);
        assert!(
            rows()
                .map(|[keyword, ..]| keyword.to_lowercase())
                .is_sorted()
        );
    }

    #[test]
    fn some_rows_are_as_the_standard_has_them() {
        let rows = [
            (tags::PATIENT_NAME, Some(Listed::Z)),
            (tags::PATIENT_ID, Some(Listed::ZOrD)),
            (tags::INSTITUTION_NAME, Some(Listed::ZOrD)),
            (tags::PATIENT_AGE, Some(Listed::X)),
            (tags::STUDY_DESCRIPTION, Some(Listed::X)),
            (tags::STRUCTURE_SET_LABEL, Some(Listed::D)),
            (tags::ROI_NAME, Some(Listed::Z)),
            (tags::RT_PLAN_DATE, Some(Listed::XOrD)),
            (tags::REFERENCED_IMAGE_SEQUENCE, None),
            (tags::DOSE_GRID_SCALING, None),
        ];
        rows.into_iter()
            .for_each(|(tag, wanted)| assert_eq!(listed(tag), wanted, "{tag}"));
    }
}
