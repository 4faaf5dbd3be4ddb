//! The name that a file dialog proposes, and the folder that it opens in.

use super::State;
use super::files::FileAction;
use std::path::PathBuf;

/// A question for a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub action: FileAction,
    /// Proposed name of a file to be saved, with its extension; `None` for one to be opened.
    pub name: Option<String>,
    /// Folder to begin in, where one is known that exists.
    pub folder: Option<PathBuf>,
}

/// Longest proposed name, bytes of UTF-8: encrypted folders take 143, archives and shares often little more than 100.
const LONGEST: usize = 100;

impl State {
    /// The proposed name of a file to be saved, `PATIENT_PLAN_DATE.ext` where it is of a patient; `None` for one to be opened.
    /// `date`: the day of the saving.
    pub fn proposed_name(&self, action: FileAction, date: &str) -> Option<String> {
        let plain = action.file_name()?;
        let Some(last) = action.last_word().filter(|_| self.is_loaded()) else {
            return Some(plain.to_owned());
        };
        let (who, plan) = match action == FileAction::Export && self.export.anonymous {
            // Plans are often named after the patient.
            true => ("anonymous".to_owned(), ""),
            false => (
                self.patient_for_name(),
                self.plan().map_or("", |plan| &plan.name),
            ),
        };
        let ending = plain.rsplit_once('.').map(|(_, ending)| ending);
        Some(named([&who, plan], date, last, ending))
    }

    /// The patient's name, else the ID, else the name of the case.
    fn patient_for_name(&self) -> String {
        let patient = &self.case().patient;
        // A DICOM name may be spelled in several scripts (PS3.5, section 6.2.1.2).
        let spelled = patient.name.split('=').find(|name| !plain(name).is_empty());
        let named = [spelled.unwrap_or_default(), &patient.id]
            .into_iter()
            .find(|word| !plain(word).is_empty());
        named.map_or_else(|| self.case_for_name(), str::to_owned)
    }

    fn case_for_name(&self) -> String {
        let name = self
            .origin
            .as_ref()
            .map_or_else(|| "case".to_owned(), |origin| origin.name());
        [".mha", ".json"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(&name)
            .to_owned()
    }
}

/// A name that every file system takes: parts, date and last word joined by `_`, without those that are empty.
fn named(parts: [&str; 2], date: &str, last: &str, ending: Option<&str>) -> String {
    let tail = [date, last]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_");
    let ending = ending.map_or_else(String::new, |ending| format!(".{ending}"));
    let room = LONGEST - (tail.len() + ending.len() + parts.len());
    let [first, second] = parts.map(plain);
    // A short part leaves its room to the other.
    let first = cut(&first, room.saturating_sub(second.len()).max(room / 2));
    let second = cut(&second, room - first.len());
    [first, second, &tail]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
        + &ending
}

/// A text with a hyphen for every run of characters that a file system, a shell or a listing does not take as they are.
/// Letters and marks of all scripts stay.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if is_plain(c) {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain.trim_matches(['-', '_']).to_owned()
}

fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    // Characters without a shape: separators, directions of writing (but not the joiners that Persian and Indic names need),
    // private and unassigned ones.
    let has_none = matches!(
        c,
        '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..
    );
    !c.is_control() && !c.is_whitespace() && !has_none
}

/// The start of a text, at most `bytes` long; shorter where a character would be divided.
fn cut(text: &str, bytes: usize) -> &str {
    text[..text.floor_char_boundary(bytes)].trim_end_matches(['-', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: &str = "2026-11-27";

    #[test]
    fn a_name_is_patient_plan_and_date() {
        for (parts, last, want) in [
            (
                ["Demo^thorax", "Right lung, 5 fields"],
                "",
                "Demo-thorax_Right-lung-5-fields_2026-11-27.toml",
            ),
            (
                ["Doe^Jane^^Dr.", ""],
                "check",
                "Doe-Jane-Dr_2026-11-27_check.toml",
            ),
            (["", ""], "", "2026-11-27.toml"),
            (["山田^太郎", "肺"], "", "山田-太郎_肺_2026-11-27.toml"),
            (["محمد‌رضا", "भारती"], "", "محمد‌رضا_भारती_2026-11-27.toml"),
            (
                ["../../etc/passwd", "a\\b:c*d?\"<>|"],
                "",
                "etc-passwd_a-b-c-d_2026-11-27.toml",
            ),
            (
                ["~root", "$(rm) `x`;\0\n\t\u{202e}gpj.exe"],
                "",
                "root_rm-x-gpj-exe_2026-11-27.toml",
            ),
            (["-rf", ".hidden. "], "", "rf_hidden_2026-11-27.toml"),
        ] {
            assert_eq!(named(parts, DAY, last, Some("toml")), want);
        }
        assert_eq!(named(["A", "B"], DAY, "", None), "A_B_2026-11-27");
    }

    #[test]
    fn no_name_is_one_that_a_file_system_refuses() {
        let devices = ["CON", "nul", "AUX", "COM1", "LPT9", "PRN"];
        let long = [
            "x".repeat(4000),
            "山".repeat(500),
            "e\u{301}".repeat(300),
            "\u{1f600}".repeat(200),
        ];
        let odd = ["", "   ", "....", "\u{0}", "%2e%2e", "\u{feff}"];
        let parts: Vec<&str> = devices
            .into_iter()
            .chain(long.iter().map(String::as_str))
            .chain(odd)
            .collect();
        for first in &parts {
            for second in &parts {
                for (last, ending) in [("", None), ("registration", Some("json"))] {
                    let name = named([first, second], DAY, last, ending);
                    assert!(name.len() <= LONGEST, "{} bytes: {name}", name.len());
                    let stem = name.split('.').next().expect("a stem");
                    assert!(
                        !devices
                            .iter()
                            .any(|device| stem.eq_ignore_ascii_case(device)),
                        "{name}"
                    );
                    assert!(
                        name.chars()
                            .all(|c| !c.is_control() && !"/\\:*?\"<>|".contains(c)),
                        "{name}"
                    );
                    assert!(!name.starts_with(['.', '-', '~', ' ']), "{name}");
                    assert!(
                        !name.ends_with(['.', ' ', '-']) && name.contains(DAY),
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_long_part_leaves_the_other_whole() {
        let long = "x".repeat(300);
        assert!(
            named([&long, "Boost"], DAY, "", Some("toml")).ends_with("x_Boost_2026-11-27.toml")
        );
        assert!(named(["Doe", &long], DAY, "", Some("toml")).starts_with("Doe_xxx"));
        let both = named([&long, &"y".repeat(300)], DAY, "dvh", Some("csv"));
        assert!(
            both.contains(&"x".repeat(35)) && both.contains(&"y".repeat(35)),
            "{both}"
        );
    }
}
