//! Templates of clinical goals: TOML files that name structures by name, alias or type (`assets/goals/README.md`).

use super::replace_file;
use case::{Goal, GoalError, Structure, StructureKind, StructureSet};
use input::{GOALS_BYTES, from_toml, plain, read_text};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

macro_rules! asset {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../assets/goals/", $name, ".toml")),
        )
    };
}

/// Name and text of each template that comes with the program.
const SHIPPED: [(&str, &str); 7] = [
    asset!("icru-target"),
    asset!("quantec-thorax"),
    asset!("quantec-head-neck"),
    asset!("quantec-pelvis"),
    asset!("rtog-0617-lung"),
    asset!("tg119-c-shape"),
    asset!("openkbp-head-neck"),
];

/// Most goals of a template.
const MOST_GOALS: usize = 500;

/// Why a template could not be read or written.
#[derive(Debug, Error)]
pub enum TemplateError {
    #[error("cannot read the goals '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{file}' is no template of goals: {detail}")]
    Syntax { file: String, detail: String },
    #[error("'{file}', goal {number} of '{structure}': {source}")]
    Goal {
        file: String,
        number: usize,
        structure: String,
        source: Box<GoalError>,
    },
    #[error("'{file}' has {count} goals; {MOST_GOALS} at most are read")]
    Many { file: String, count: usize },
    #[error("cannot write the goals '{path}': {source}; choose a folder you may write to")]
    Write { path: PathBuf, source: io::Error },
}

/// Goals of structures that a case may have under one of several names.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalTemplate {
    pub name: String,
    /// Origin of its numbers.
    pub source: String,
    pub goals: Vec<TemplateGoal>,
}

/// A goal of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateGoal {
    pub goal: Goal,
    /// Other names of its structure, in the order of preference.
    pub aliases: Vec<String>,
    /// Type of the structure, taken where no name matches and one alone has it.
    pub kind: Option<StructureKind>,
    pub source: String,
}

/// The goals of a template in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    pub goals: Vec<Goal>,
    /// Names of structures that the case has not, each once.
    pub unmatched: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default, rename = "goal")]
    goals: Vec<Entry>,
}

/// A goal as files state it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    structure: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<StructureKind>,
    goal: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
}

/// The goals of a file, which errors name.
pub(super) fn template_goals(
    entries: Vec<Entry>,
    file: &str,
) -> Result<Vec<TemplateGoal>, TemplateError> {
    if entries.len() > MOST_GOALS {
        return Err(TemplateError::Many {
            file: file.to_owned(),
            count: entries.len(),
        });
    }
    let numbered = entries.into_iter().zip(1..);
    numbered
        .map(|(entry, number)| {
            let structure = plain(entry.structure.trim()).into_owned();
            let goal = entry.goal(&structure);
            Ok(TemplateGoal {
                goal: goal.map_err(|source| TemplateError::Goal {
                    file: file.to_owned(),
                    number,
                    structure,
                    source: Box::new(source),
                })?,
                aliases: entry.aliases,
                kind: entry.kind,
                source: plain(&entry.source).into_owned(),
            })
        })
        .collect()
}

impl Entry {
    fn goal(&self, structure: &str) -> Result<Goal, GoalError> {
        let goal = format!("X: {}", self.goal).parse::<Goal>()?;
        match structure.is_empty() || self.goal.contains(':') {
            true => Err(GoalError::Shape),
            false => Ok(goal.of_structure(structure, None)),
        }
    }
}

impl GoalTemplate {
    /// Words and texts of the templates that come with the program.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(word, _)| *word)
    }

    /// A shipped template by its word, or the template of a file by its path.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn resolve(word_or_path: &str) -> Result<Self, TemplateError> {
        match SHIPPED.iter().find(|(word, _)| *word == word_or_path) {
            Some((word, text)) => Self::parse(text, word),
            None => Self::read(Path::new(word_or_path)),
        }
    }

    /// # Errors
    /// [`TemplateError`].
    pub fn read(path: &Path) -> Result<Self, TemplateError> {
        let text = read_text(path, GOALS_BYTES).map_err(|source| TemplateError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// A template from its text; `file` names it in errors.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str, file: &str) -> Result<Self, TemplateError> {
        let raw: File = from_toml(text).map_err(|e| TemplateError::Syntax {
            file: file.to_owned(),
            detail: e.to_string(),
        })?;
        Ok(Self {
            name: plain(&raw.name).into_owned(),
            source: plain(&raw.source).into_owned(),
            goals: template_goals(raw.goals, file)?,
        })
    }

    /// The goals of a case as a template; goals of targets apply to the only target of the same type elsewhere.
    pub fn of_goals(name: &str, goals: &[Goal], set: &StructureSet) -> Self {
        Self {
            name: name.to_owned(),
            source: "saved from a case by Beamsight".to_owned(),
            goals: goals
                .iter()
                .map(|goal: &Goal| {
                    let kind = set
                        .referenced(goal.number, &goal.structure)
                        .ok()
                        .map(|s| s.kind);
                    TemplateGoal {
                        goal: goal.clone().of_structure(&goal.structure, None),
                        aliases: Vec::new(),
                        kind: kind.filter(|kind| kind.is_target()),
                        source: String::new(),
                    }
                })
                .collect(),
        }
    }

    /// Writes the template; an earlier file stays until the new one is complete.
    ///
    /// # Errors
    /// [`TemplateError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), TemplateError> {
        let text = self
            .to_toml()
            .map_err(|e| write_error(io::Error::other(e), path))?;
        replace_file(path, |out| out.write_all(text.as_bytes()))
            .map_err(|source| write_error(source, path))
    }

    fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let goals = self
            .goals
            .iter()
            .map(|template_goal: &TemplateGoal| {
                let text = template_goal.goal.to_string();
                Entry {
                    structure: template_goal.goal.structure.clone(),
                    aliases: template_goal.aliases.clone(),
                    kind: template_goal.kind,
                    // The structure may have a colon in its name; metrics and limits have none.
                    goal: text
                        .rsplit_once(": ")
                        .map_or("", |(_, goal)| goal)
                        .to_owned(),
                    source: template_goal.source.clone(),
                }
            })
            .collect();
        toml::to_string(&File {
            name: self.name.clone(),
            source: self.source.clone(),
            goals,
        })
    }

    /// The goals with the structures of a case. A goal without one keeps its own name: it is never met.
    pub fn matched(&self, set: &StructureSet) -> Matched {
        let mut matched = Matched {
            goals: Vec::new(),
            unmatched: Vec::new(),
        };
        for template_goal in &self.goals {
            let goal = match template_goal.structure_in(set) {
                Some(structure) => template_goal
                    .goal
                    .clone()
                    .of_structure(&structure.name, Some(structure.number)),
                None => {
                    if !matched.unmatched.contains(&template_goal.goal.structure) {
                        matched.unmatched.push(template_goal.goal.structure.clone());
                    }
                    template_goal.goal.clone()
                }
            };
            matched.goals.push(goal);
        }
        matched
    }
}

fn write_error(source: io::Error, path: &Path) -> TemplateError {
    TemplateError::Write {
        path: path.to_owned(),
        source,
    }
}

impl TemplateGoal {
    /// The structure of a case that has one of its names, else the only one of its type.
    pub fn structure_in<'a>(&self, set: &'a StructureSet) -> Option<&'a Structure> {
        let mut names = std::iter::once(&self.goal.structure).chain(&self.aliases);
        names
            .find_map(|name| set.of_letters(name).next())
            .or_else(|| {
                let kind = self.kind?;
                let mut of_kind = set.structures.iter().filter(|s| s.kind == kind);
                of_kind.next().filter(|_| of_kind.next().is_none())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn shipped_templates_are_read_and_name_their_source() {
        for word in GoalTemplate::shipped() {
            let template = GoalTemplate::resolve(word).unwrap_or_else(|e| panic!("{e}"));
            assert!(
                template.source.contains("(19") || template.source.contains("(20"),
                "{word}"
            );
            assert!(template.goals.len() >= 2, "{word}");
        }
    }

    #[test]
    fn structures_are_found_by_name_alias_and_type_and_the_rest_is_listed() {
        let template = GoalTemplate::parse(
            r#"
            name = "T"
            [[goal]]
            structure = "SpinalCord"
            aliases = ["Myelon", "Cord"]
            goal = "Dmax <= 50 Gy (tolerance 2 Gy)"
            [[goal]]
            structure = "PTV"
            type = "ptv"
            goal = "D95% >= 95 % (priority 2)"
            [[goal]]
            structure = "Lung_L"
            goal = "V20Gy <= 30 %"
            [[goal]]
            structure = "Heart"
            goal = "Dmean <= 26 Gy"
            [[goal]]
            structure = "Heart"
            goal = "V25Gy <= 10 %"
            "#,
            "t.toml",
        )
        .unwrap();
        let organ = StructureKind::Organ;
        let case = set(&[
            ("cord", organ),
            ("PTV_60", StructureKind::Ptv),
            ("lung l", organ),
        ]);
        let matched = template.matched(&case);
        let told: Vec<(String, Option<u32>)> = matched
            .goals
            .iter()
            .map(|g| (g.to_string(), g.number))
            .collect();
        assert_eq!(
            told[0],
            ("cord: Dmax <= 50 Gy (tolerance 2 Gy)".to_owned(), Some(1))
        );
        assert_eq!(
            told[1],
            ("PTV_60: D95% >= 95 % (priority 2)".to_owned(), Some(2))
        );
        assert_eq!(told[2], ("lung l: V20Gy <= 30 %".to_owned(), Some(3)));
        assert_eq!(told[3], ("Heart: Dmean <= 26 Gy".to_owned(), None));
        assert_eq!(matched.unmatched, ["Heart"]);
        // Of two targets none is guessed.
        let two = set(&[("PTV1", StructureKind::Ptv), ("PTV2", StructureKind::Ptv)]);
        assert_eq!(template.matched(&two).goals[1].number, None);
    }

    #[test]
    fn a_saved_template_brings_the_goals_to_another_case() {
        let drawn = set(&[
            ("PTV 70: boost", StructureKind::Ptv),
            ("Cord", StructureKind::Organ),
        ]);
        let goals: Vec<Goal> = [
            "PTV 70: boost: D95% >= 66.5 Gy",
            "Cord: Dmax <= 45 Gy (tolerance 1 Gy, priority 2)",
        ]
        .iter()
        .map(|words| words.parse().unwrap())
        .collect();
        let template = GoalTemplate::of_goals("Mine", &goals, &drawn);
        let path =
            std::env::temp_dir().join(format!("beamsight-goals-{}.toml", std::process::id()));
        template.write(&path).unwrap();
        let read = GoalTemplate::resolve(path.to_str().unwrap()).unwrap();
        assert_eq!(read, template);
        assert_eq!(read.matched(&drawn).goals, goals);
        let other_set = set(&[("CORD", StructureKind::Organ), ("PTV", StructureKind::Ptv)]);
        let words: Vec<String> = read
            .matched(&other_set)
            .goals
            .iter()
            .map(Goal::to_string)
            .collect();
        assert_eq!(
            words,
            [
                "PTV: D95% >= 66.5 Gy",
                "CORD: Dmax <= 45 Gy (tolerance 1 Gy, priority 2)"
            ]
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_wrong_in_a_template_is_said_with_its_place() {
        for (text, words) in [
            ("", "missing field `name`"),
            ("name = 3", "invalid type"),
            ("name = \"T\"\nmore = 1", "unknown field `more`"),
            (
                "name = \"T\"\n[[goal]]\nstructure = \"S\"\ngoal = \"Dmax\"",
                "goal 1 of 'S'",
            ),
            (
                "name = \"T\"\n[[goal]]\nstructure = \" \"\ngoal = \"Dmax <= 3 Gy\"",
                "goal 1 of ''",
            ),
            (
                "name = \"T\"\n[[goal]]\nstructure = \"S\"\ngoal = \"Cord: Dmax <= 3 Gy\"",
                "goal 1 of 'S'",
            ),
            (
                "name = \"T\"\n[[goal]]\nstructure = \"S\"\ntype = \"x\"\ngoal = \"Dmax <= 3 Gy\"",
                "unknown variant",
            ),
        ] {
            let why = GoalTemplate::parse(text, "t.toml").unwrap_err().to_string();
            assert!(
                why.contains(words) && why.contains("t.toml"),
                "{text}: {why}"
            );
        }
        let many = format!(
            "name = \"T\"\n{}",
            "[[goal]]\nstructure = \"S\"\ngoal = \"Dmax <= 3 Gy\"\n".repeat(501)
        );
        assert!(
            GoalTemplate::parse(&many, "t.toml")
                .unwrap_err()
                .to_string()
                .contains("501")
        );
    }
}
