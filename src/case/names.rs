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
    let kept = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    kept.collect::<String>().to_lowercase()
}

/// Whether names differ in nothing but case and blanks.
pub(super) fn is_same_but_for_blanks(a: &str, b: &str) -> bool {
    let letters = |name: &str| name.split_whitespace().collect::<String>().to_lowercase();
    letters(a) == letters(b)
}

impl StructureSet {
    /// The structure that a typed name means: the one of that name, else of these letters, else the only target that begins with
    /// the name of its type (`PTV`: `PTV-1`), else the only one that begins with it, else the only one that has it inside.
    ///
    /// # Errors
    /// [`NotMeant`].
    pub fn meant(&self, typed: &str) -> Result<&Structure, NotMeant> {
        let all = &self.structures;
        if let Some(same) = self.by_name(typed) {
            return Ok(same);
        }
        let letters = name_letters(typed);
        let none = || NotMeant::None(typed.trim().to_owned());
        if letters.is_empty() {
            return Err(none());
        }
        let begins = |s: &&Structure| name_letters(&s.name).starts_with(&letters);
        let of_type = |s: &&Structure| s.kind.is_target() && name_letters(s.kind.name()) == letters;
        let inside = |s: &&Structure| {
            letters.chars().count() >= LETTERS_INSIDE && name_letters(&s.name).contains(&letters)
        };
        let rules: [&dyn Fn(&&Structure) -> bool; 5] =
            [&|s| name_letters(&s.name) == letters, &|s| begins(s) && of_type(s), &begins, &of_type, &inside];
        for rule in rules {
            let found: Vec<&Structure> = all.iter().filter(|s| rule(s)).collect();
            match found[..] {
                [] => {}
                [one] => return Ok(one),
                _ => {
                    let names: Vec<&str> = found.iter().take(LISTED).map(|s| s.name.as_str()).collect();
                    let more = if found.len() > LISTED { ", …" } else { "" };
                    let of = names.join(", ") + more;
                    return Err(NotMeant::Several { name: typed.trim().to_owned(), of });
                }
            }
        }
        Err(none())
    }

    /// Structures whose names begin with what is typed, then those that have it inside, in the order of the set.
    pub fn completions(&self, typed: &str) -> Vec<&Structure> {
        let letters = name_letters(typed);
        let name = |s: &Structure| name_letters(&s.name);
        let begin = self.structures.iter().filter(|s| name(s).starts_with(&letters));
        let inside =
            self.structures.iter().filter(|s| !name(s).starts_with(&letters) && name(s).contains(&letters));
        begin.chain(inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructureKind;

    fn set(structures: &[(&str, StructureKind)]) -> StructureSet {
        let structures = structures.iter().zip(1..);
        StructureSet {
            structures: structures.map(|((name, kind), n)| Structure::new(*name, n, *kind)).collect(),
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
            assert_eq!(set.meant(typed).map(|s| s.name.as_str()), Ok(want), "{typed}");
        }
        let of = "Lung_L, Lung_R".to_owned();
        assert_eq!(set.meant("Lung"), Err(NotMeant::Several { name: "Lung".to_owned(), of }));
        for typed in ["", " ", "-", "Heart", "or", "PTV-12"] {
            assert!(matches!(set.meant(typed), Err(NotMeant::None(_))), "{typed}");
        }
        let names = |typed| set.completions(typed).iter().map(|s| s.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names("l"), ["Lung_L", "Lung_R", "Spinal-Cord"]);
        assert_eq!(names("").len(), 6);
    }
}
