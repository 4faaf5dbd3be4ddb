//! Names of structures as they are typed and as they differ from clinic to clinic.

use super::{Structure, StructureSet};
use thiserror::Error;

/// Fewest letters that are looked for inside of names.
const LETTERS_INSIDE: usize = 3;

/// Names that an error lists.
const LISTED: usize = 4;

/// A typed name that means no structure of the case, or several.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotMeant {
    #[error("no structure of the case is called '{0}'")]
    None(String),
    #[error("'{name}' could be {of}: type more of it")]
    Several { name: String, of: String },
}

/// A name without what differs from clinic to clinic: case, spaces, underscores and hyphens.
pub fn name_letters(name: &str) -> String {
    let kept = name
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    kept.collect::<String>().to_lowercase()
}

fn without_blanks(name: &str) -> String {
    name.split_whitespace().collect::<String>().to_lowercase()
}

/// Whether names differ in nothing but case and blanks.
pub(super) fn is_same_but_for_blanks(a: &str, b: &str) -> bool {
    without_blanks(a) == without_blanks(b)
}

fn begins_with(structure: &Structure, letters: &str) -> bool {
    name_letters(&structure.name).starts_with(letters)
}

/// Whether a structure is a target whose type is called so: `PTV`.
fn is_target_of_type(structure: &Structure, letters: &str) -> bool {
    structure.kind.is_target() && name_letters(structure.kind.name()) == letters
}

fn has_inside(structure: &Structure, letters: &str) -> bool {
    letters.chars().count() >= LETTERS_INSIDE && name_letters(&structure.name).contains(letters)
}

impl StructureSet {
    /// Structures whose names have the same letters.
    pub fn of_letters<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Structure> + use<'a> {
        let letters = name_letters(name);
        let structures = self.structures.iter();
        structures.filter(move |s| name_letters(&s.name) == letters)
    }

    /// The structure that a typed name means: the one of that name, else of these letters, else the only target that begins with
    /// the name of its type (`PTV`: `PTV-1`), else the only one that begins with it, else the only one that has it inside.
    ///
    /// # Errors
    /// [`NotMeant`].
    pub fn meant(&self, typed: &str) -> Result<&Structure, NotMeant> {
        let set_structures = &self.structures;
        if let Some(same) = self.by_name(typed) {
            return Ok(same);
        }
        let letters = name_letters(typed);
        let none = NotMeant::None(typed.trim().to_owned());
        if letters.is_empty() {
            return Err(none);
        }
        const RULES: [fn(&Structure, &str) -> bool; 5] = [
            |s, letters| name_letters(&s.name) == letters,
            |s, letters| begins_with(s, letters) && is_target_of_type(s, letters),
            begins_with,
            is_target_of_type,
            has_inside,
        ];
        for rule in RULES {
            let structures: Vec<&Structure> = set_structures
                .iter()
                .filter(|s| rule(s, &letters))
                .collect();
            match structures[..] {
                [] => {}
                [one] => return Ok(one),
                _ => {
                    let names: Vec<&str> = structures
                        .iter()
                        .take(LISTED)
                        .map(|s| s.name.as_str())
                        .collect();
                    let more = if structures.len() > LISTED {
                        ", …"
                    } else {
                        ""
                    };
                    return Err(NotMeant::Several {
                        name: typed.trim().to_owned(),
                        of: names.join(", ") + more,
                    });
                }
            }
        }
        Err(none)
    }

    /// Structures whose names begin with what is typed, then those that have it inside, in the order of the set.
    pub fn completions(&self, typed: &str) -> Vec<&Structure> {
        let letters = name_letters(typed);
        let (beginning, others): (Vec<_>, Vec<_>) = self
            .structures
            .iter()
            .partition(|s| begins_with(s, &letters));
        let inside = others
            .into_iter()
            .filter(|s| name_letters(&s.name).contains(&letters));
        beginning.into_iter().chain(inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructureKind;

    fn set(structures: &[(&str, StructureKind)]) -> StructureSet {
        let structures = structures.iter().zip(1..);
        StructureSet {
            structures: structures
                .map(|((name, kind), n)| Structure::new(*name, n, *kind))
                .collect(),
            ..StructureSet::default()
        }
    }

    #[test]
    fn typed_names_mean_one_structure_or_none() {
        use StructureKind::{Organ, Other, Ptv};
        let set = set(&[
            ("PTV-1", Ptv),
            ("PTV-1 ring", Other),
            ("Lung_L", Organ),
            ("Lung_R", Organ),
            ("Spinal-Cord", Organ),
            ("Äußeres", Other),
        ]);
        for (typed, want) in [
            ("PTV", "PTV-1"),
            ("ptv 1", "PTV-1"),
            ("PTV-1 r", "PTV-1 ring"),
            ("lung l", "Lung_L"),
            ("cord", "Spinal-Cord"),
            ("spinalcord", "Spinal-Cord"),
            ("äu", "Äußeres"),
        ] {
            assert_eq!(
                set.meant(typed).map(|s| s.name.as_str()),
                Ok(want),
                "{typed}"
            );
        }
        let candidates = "Lung_L, Lung_R".to_owned();
        assert_eq!(
            set.meant("Lung"),
            Err(NotMeant::Several {
                name: "Lung".to_owned(),
                of: candidates
            })
        );
        for typed in ["", " ", "-", "Heart", "or", "PTV-12"] {
            assert!(
                matches!(set.meant(typed), Err(NotMeant::None(_))),
                "{typed}"
            );
        }
        let names: Vec<&str> = set
            .completions("l")
            .iter()
            .map(|s| s.name.as_str())
            .collect();
        assert_eq!(names, ["Lung_L", "Lung_R", "Spinal-Cord"]);
        assert_eq!(set.completions("").len(), 6);
    }
}
