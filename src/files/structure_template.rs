//! Templates of structures: TOML files with names, types and colours of a site (`assets/structures/README.md`).

use super::replace_file;
use case::{Rgb, Structure, StructureKind, StructureSet, name_letters};
use input::{GOALS_BYTES, from_toml, plain, read_text};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

macro_rules! asset {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../assets/structures/", $name, ".toml")),
        )
    };
}

/// Name and text of each template that comes with the program.
const SHIPPED: [(&str, &str); 6] = [
    asset!("brain"),
    asset!("head-neck"),
    asset!("thorax"),
    asset!("breast"),
    asset!("abdomen"),
    asset!("prostate"),
];

/// Most structures of a template.
const MOST_STRUCTURES: usize = 500;

/// Most letters of a name.
const MOST_LETTERS: usize = 64;

/// Why a template of structures could not be read or written.
#[derive(Debug, Error)]
pub enum StructureTemplateError {
    #[error("cannot read the structures '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{file}' is no template of structures: {detail}")]
    Syntax { file: String, detail: String },
    #[error("'{file}', structure {number}: a name has 1 to {MOST_LETTERS} letters")]
    Name { file: String, number: usize },
    #[error("'{file}' has two structures that are called '{name}'")]
    Twice { file: String, name: String },
    #[error("'{file}' has {count} structures; {MOST_STRUCTURES} at most are read")]
    Many { file: String, count: usize },
    #[error("cannot write the structures '{path}': {source}; choose a folder you may write to")]
    Write { path: PathBuf, source: io::Error },
}

/// The structures of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureTemplate {
    pub name: String,
    /// Origin of its names.
    #[serde(default)]
    pub source: String,
    #[serde(default, rename = "structure")]
    pub structures: Vec<TemplateStructure>,
}

/// A structure of a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemplateStructure {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: StructureKind,
    /// Without one it gets its type's colour, or a free one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Rgb>,
}

impl StructureTemplate {
    /// Words of the templates that come with the program.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(word, _)| *word)
    }

    /// A shipped template by its word, or the template of a file by its path.
    ///
    /// # Errors
    /// [`StructureTemplateError`].
    pub fn resolve(word_or_path: &str) -> Result<Self, StructureTemplateError> {
        match SHIPPED.iter().find(|(word, _)| *word == word_or_path) {
            Some((word, text)) => Self::parse(text, word),
            None => Self::read(Path::new(word_or_path)),
        }
    }

    /// # Errors
    /// [`StructureTemplateError`].
    pub fn read(path: &Path) -> Result<Self, StructureTemplateError> {
        // Three lines a structure: no more than a template of goals has.
        let text = read_text(path, GOALS_BYTES).map_err(|source| StructureTemplateError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// A template from its text; `file` names it in errors.
    ///
    /// # Errors
    /// [`StructureTemplateError`].
    pub fn parse(text: &str, file: &str) -> Result<Self, StructureTemplateError> {
        let file = || file.to_owned();
        let mut read: Self = from_toml(text).map_err(|e| StructureTemplateError::Syntax {
            file: file(),
            detail: e.to_string(),
        })?;
        let count = read.structures.len();
        if count > MOST_STRUCTURES {
            return Err(StructureTemplateError::Many {
                file: file(),
                count,
            });
        }
        (read.name, read.source) = (
            plain(&read.name).into_owned(),
            plain(&read.source).into_owned(),
        );
        for n in 0..count {
            let name = plain(read.structures[n].name.trim()).into_owned();
            if !(1..=MOST_LETTERS).contains(&name.chars().count()) || name_letters(&name).is_empty()
            {
                return Err(StructureTemplateError::Name {
                    file: file(),
                    number: n + 1,
                });
            }
            if read.structures[..n]
                .iter()
                .any(|s| name_letters(&s.name) == name_letters(&name))
            {
                return Err(StructureTemplateError::Twice { file: file(), name });
            }
            read.structures[n].name = name;
        }
        Ok(read)
    }

    /// The structures of a case as a template.
    pub fn of_case(name: &str, set: &StructureSet) -> Self {
        Self {
            name: name.to_owned(),
            source: "saved from a case by Beamsight".to_owned(),
            structures: set
                .structures
                .iter()
                .map(|s: &Structure| TemplateStructure {
                    name: s.name.clone(),
                    kind: s.kind,
                    colour: Some(s.colour),
                })
                .collect(),
        }
    }

    /// Writes the template; an earlier file stays until the new one is complete.
    ///
    /// # Errors
    /// [`StructureTemplateError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), StructureTemplateError> {
        let text = toml::to_string(self).map_err(|e| write_error(io::Error::other(e), path))?;
        replace_file(path, |out| out.write_all(text.as_bytes()))
            .map_err(|source| write_error(source, path))
    }

    /// The structures that a case has not, without contours, numbered from `first` on. One of the case counts by its name, and the
    /// body by its type, of which there is one.
    pub fn missing_in(&self, set: &StructureSet, first: u32) -> Vec<Structure> {
        let is_there = |t: &&TemplateStructure| {
            set.structures.iter().any(|s| {
                let is_body =
                    t.kind == StructureKind::External && s.kind == StructureKind::External;
                is_body || name_letters(&s.name) == name_letters(&t.name)
            })
        };
        let mut used: Vec<Rgb> = set.structures.iter().map(|s| s.colour).collect();
        used.extend(self.structures.iter().filter_map(|t| t.colour));
        let mut structures = Vec::new();
        for (entry, number) in self.structures.iter().filter(|t| !is_there(t)).zip(first..) {
            let colour = entry
                .colour
                .unwrap_or_else(|| entry.kind.free_colour(&used));
            used.push(colour);
            structures.push(Structure {
                colour,
                ..Structure::new(&*entry.name, number, entry.kind)
            });
        }
        structures
    }
}

fn write_error(source: io::Error, path: &Path) -> StructureTemplateError {
    StructureTemplateError::Write {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GoalTemplate;

    #[test]
    fn shipped_templates_are_read_and_bring_body_targets_and_organs() {
        let empty = StructureSet::default();
        for word in StructureTemplate::shipped() {
            let template = StructureTemplate::resolve(word).unwrap_or_else(|e| panic!("{e}"));
            let structures = template.missing_in(&empty, 7);
            assert!(
                structures.len() >= 10 && template.source.contains("TG-263"),
                "{word}"
            );
            assert_eq!(
                (structures[0].number, structures[0].kind),
                (7, StructureKind::External)
            );
            assert!(
                StructureKind::ALL[1..4]
                    .iter()
                    .all(|k| structures.iter().any(|s| s.kind == *k)),
                "{word}"
            );
        }
        // The goals of a site find the structures of its template.
        let thorax = StructureTemplate::resolve("thorax")
            .unwrap()
            .missing_in(&empty, 1);
        let set = StructureSet {
            structures: thorax,
            ..StructureSet::default()
        };
        let matched = GoalTemplate::resolve("quantec-thorax")
            .unwrap()
            .matched(&set);
        assert!(
            matched.goals.iter().filter(|g| g.number.is_some()).count() >= 4,
            "{:?}",
            matched.unmatched
        );
    }

    #[test]
    fn a_saved_template_adds_what_another_case_has_not() {
        let text = "name = \"T\"\n[[structure]]\nname = \"Cord\"\ntype = \"organ\"\ncolour = [1, 2, 3]\n\
                    [[structure]]\nname = \"BODY\"\ntype = \"external\"\n[[structure]]\nname = \"PTV 1\"\ntype = \"ptv\"";
        let template = StructureTemplate::parse(text, "t.toml").unwrap();
        let mut set = StructureSet {
            structures: template.missing_in(&StructureSet::default(), 1),
            ..Default::default()
        };
        assert_eq!(
            set.structures.iter().map(|s| s.number).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert_eq!(set.structures[0].colour, Rgb([1, 2, 3]));
        assert!(template.missing_in(&set, 4).is_empty(), "all are there");
        let path =
            std::env::temp_dir().join(format!("beamsight-structures-{}.toml", std::process::id()));
        StructureTemplate::of_case("Mine", &set)
            .write(&path)
            .unwrap();
        let read = StructureTemplate::resolve(path.to_str().unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        set.structures[0].name = "Myelon".to_owned();
        set.structures[1].name = "Outline".to_owned();
        set.structures[2].name = "ptv_1".to_owned();
        let names: Vec<String> = read
            .missing_in(&set, 4)
            .into_iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(names, ["Cord"], "a body is there whatever it is called");
    }

    #[test]
    fn what_is_wrong_in_a_template_is_said_with_its_place() {
        for (text, words) in [
            (String::new(), "missing field `name`"),
            (template_of_one(" _ "), "structure 1: a name has 1 to 64"),
            (
                template_of_one(&"x".repeat(65)),
                "structure 1: a name has 1 to 64",
            ),
            (
                template_of_one("Cord") + "[[structure]]\nname = \"cord_\"\ntype = \"organ\"",
                "two structures that are called 'cord_'",
            ),
            (
                template_of_one("Cord") + "colour = [1, 2, 300]",
                "invalid value",
            ),
            (
                template_of_one("Cord") + "color = [1, 2, 3]",
                "unknown field `color`",
            ),
            (
                template_of_one("Cord").replace("organ", "x"),
                "unknown variant",
            ),
        ] {
            let why = StructureTemplate::parse(&text, "t.toml")
                .unwrap_err()
                .to_string();
            assert!(
                why.contains(words) && why.contains("t.toml"),
                "{text}: {why}"
            );
        }
        let entries: String = (0..501)
            .map(|n| format!("[[structure]]\nname = \"S{n}\"\ntype = \"organ\"\n"))
            .collect();
        let many = format!("name = \"T\"\n{entries}");
        assert!(
            StructureTemplate::parse(&many, "t.toml")
                .unwrap_err()
                .to_string()
                .contains("501")
        );
    }

    fn template_of_one(name: &str) -> String {
        format!("name = \"T\"\n[[structure]]\nname = \"{name}\"\ntype = \"organ\"\n")
    }
}
