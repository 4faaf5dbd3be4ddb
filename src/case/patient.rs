//! The patient of a file: name and ID, and whether two files state the same one.

use serde::{Deserialize, Serialize};

/// Name and number, as the files have them (may be empty).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PatientInfo {
    pub name: String,
    pub id: String,
    pub birth_date: String,
    pub sex: String,
}

impl PatientInfo {
    /// Whether both are one patient: by their IDs, without any by their names; `None` where either states neither.
    pub fn is_same(&self, other: &Self) -> Option<bool> {
        let [a, b] = [self, other].map(|patient| patient.id.trim());
        if !a.is_empty() && !b.is_empty() {
            return Some(a == b);
        }
        let [a, b] = [self, other].map(|patient| alphabetic(&patient.name));
        (!a.is_empty() && !b.is_empty()).then_some(a == b)
    }

    /// Name and ID as far as they are stated, on one line: `Doe, Jane  (4711)`; empty where neither is.
    pub fn in_words(&self) -> String {
        match (person(&self.name).as_str(), self.id.trim()) {
            (name, "") => name.to_owned(),
            ("", id) => id.to_owned(),
            (name, id) if name == id => name.to_owned(),
            (name, id) => format!("{name}  ({id})"),
        }
    }
}

/// The first component group of a name (PS3.5 6.2.1: groups in other scripts follow `=`), without the carets that only fill
/// it, in small letters: systems differ in both.
fn alphabetic(name: &str) -> String {
    let group = name.split('=').next().unwrap_or_default();
    group
        .trim_matches(|c: char| c == '^' || c.is_whitespace())
        .to_lowercase()
}

/// A readable name: DICOM separates its parts by carets (PS3.5 6.2.1.2: family, given, middle, prefix, suffix), its groups in
/// several scripts by equals signs.
fn person(name: &str) -> String {
    let groups: Vec<String> = name
        .split('=')
        .map(group)
        .filter(|group| !group.is_empty())
        .collect();
    groups.join(" = ")
}

fn group(name: &str) -> String {
    let parts: Vec<&str> = name.split('^').map(str::trim).collect();
    let given_names = parts
        .iter()
        .skip(1)
        .filter(|p| !p.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    match (parts[0], given_names.as_str()) {
        (family, "") => family.to_owned(),
        ("", given_names) => given_names.to_owned(),
        (family, given_names) => format!("{family}, {given_names}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_without_carets() {
        for (name, want) in [
            ("Demo^thorax", "Demo, thorax"),
            ("Fantom^Test^^^", "Fantom, Test"),
            ("Doe^Jane^Q^Dr", "Doe, Jane Q Dr"),
            ("LUNG1-001", "LUNG1-001"),
            ("^Only", "Only"),
            ("Zhang^XiaoDong=张^小东=", "Zhang, XiaoDong = 张, 小东"),
            ("", ""),
        ] {
            assert_eq!(person(name), want);
        }
    }

    fn patient(id: &str, name: &str) -> PatientInfo {
        PatientInfo {
            id: id.into(),
            name: name.into(),
            ..Default::default()
        }
    }

    #[test]
    fn patients_are_compared_by_id_then_by_name() {
        for (a, b, same) in [
            (patient("1", "Doe^J"), patient("1 ", "Smith"), Some(true)),
            (patient("1", "Doe^J"), patient("2", "Doe^J"), Some(false)),
            (
                patient("", "Doe^Jane"),
                patient("2", "DOE^JANE^^"),
                Some(true),
            ),
            (
                patient("", "Doe^Jane"),
                patient("2", "Roe^Jane"),
                Some(false),
            ),
            (
                patient("", "Yamada^Tarou"),
                patient("", "Yamada^Tarou=山田^太郎"),
                Some(true),
            ),
            (patient("1", ""), patient("", "Doe"), None),
            (patient("", ""), patient("2", "Doe"), None),
        ] {
            assert_eq!(a.is_same(&b), same, "{a:?} {b:?}");
            assert_eq!(b.is_same(&a), same);
        }
    }
}
