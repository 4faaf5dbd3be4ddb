//! Protocols of planning: TOML files with prescriptions, beams, structures to make and goals (`assets/protocols/README.md`).

use super::goal_template::{Entry, GoalTemplate, TemplateError, template_goals};
use case::{
    ExpressionError, FluenceObjectives, MetricUnit, StructureExpression, StructureSet, Wish,
    bounds, name_letters,
};
use input::{GOALS_BYTES, from_toml, plain, read_text};
use serde::Deserialize;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use thiserror::Error;

macro_rules! asset {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../assets/protocols/", $name, ".toml")),
        )
    };
}

/// Name and text of each protocol that comes with the program.
const SHIPPED: [(&str, &str); 11] = [
    asset!("head-neck-70-63-56"),
    asset!("head-neck-66-60-54"),
    asset!("prostate-60-20"),
    asset!("prostate-78-39"),
    asset!("prostate-36-5"),
    asset!("lung-60-30"),
    asset!("breast-40-15"),
    asset!("breast-26-5"),
    asset!("brain-60-30"),
    asset!("brain-54-30"),
    asset!("c-shape-50-25"),
];

/// An open field needs some 100 MU a Gy; no plan that is delivered has fifty times as many.
const MU_PER_GY: RangeInclusive<f64> = 100.0..=5000.0;

/// Set-up errors, mm.
const SET_UP_MM: RangeInclusive<f64> = 0.0..=10.0;

const MOST_ARCS: u8 = 4;
const MOST_FIELDS: usize = 30;
const MOST_STRUCTURES: usize = 100;

/// Why a protocol could not be read.
#[derive(Debug, Error)]
pub enum ProtocolError {
    #[error("cannot read the protocol '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{file}' is no protocol: {detail}")]
    Syntax { file: String, detail: String },
    #[error(transparent)]
    Goals(#[from] TemplateError),
    #[error("'{file}': {fault}")]
    Fault { file: String, fault: ProtocolFault },
}

/// A fault of a protocol that is well formed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ProtocolFault {
    #[error("it has no [[level]]: name a target and its dose")]
    NoLevel,
    #[error("two levels are for '{0}': a target has one dose")]
    TwoLevels(String),
    #[error("'{name}' has {value}, which is not from {low} to {high}", low = range.start(), high = range.end())]
    Beyond {
        name: String,
        value: f64,
        range: RangeInclusive<f64>,
    },
    #[error("[beams] has fields_deg and tangents: leave one out")]
    FieldsAndTangents,
    #[error("{0} angles of {1} are given for {2} beams: give one for all, or one for each")]
    Angles(usize, &'static str, usize),
    #[error("a technique of '{technique}' needs {needed}")]
    Technique {
        technique: &'static str,
        needed: &'static str,
    },
    #[error("structure '{name}': {why}")]
    Expression { name: String, why: ExpressionError },
    #[error("'{0}' is the name of two structures")]
    TwoStructures(String),
    #[error(
        "the goal '{0}' is in percent of the highest dose, and its target has a lower one: give it in Gy"
    )]
    Percent(String),
    #[error("the goal '{0}' has a wish, and its structure is a target: leave the wish out")]
    WishOfTarget(String),
}

impl ProtocolFault {
    fn in_file(self, file: &str) -> ProtocolError {
        ProtocolError::Fault {
            file: file.to_owned(),
            fault: self,
        }
    }
}

/// Delivery of a plan's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// Maps alone, which no machine delivers.
    Maps,
    /// A sliding window.
    Imrt,
    /// Step and shoot.
    Step,
    /// Step and shoot in few segments.
    Few,
    Vmat,
}

impl Delivery {
    pub const ALL: [Self; 5] = [Self::Maps, Self::Imrt, Self::Step, Self::Few, Self::Vmat];

    pub fn word(self) -> &'static str {
        match self {
            Self::Maps => "maps",
            Self::Imrt => "imrt",
            Self::Step => "step",
            Self::Few => "few",
            Self::Vmat => "vmat",
        }
    }
}

/// How a plan of a site is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    pub name: String,
    pub site: String,
    pub version: String,
    /// Origin of its numbers.
    pub source: String,
    pub fractions: u32,
    pub delivery: Delivery,
    /// Targets and their doses, the highest first.
    pub levels: Vec<Level>,
    pub beams: ProtocolBeams,
    /// Weight of the monitor units in the optimisation.
    pub monitor_units_weight: f64,
    /// Most monitor units a Gy of a fraction, judged.
    pub most_mu_per_gy: Option<f64>,
    /// Shift of the patient for which bands are computed, mm.
    pub set_up_error_mm: Option<f64>,
    pub structures: Vec<StructureToMake>,
    pub goals: GoalTemplate,
}

/// A target and its dose.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub target: String,
    /// Other names of it, in the order of preference.
    pub aliases: Vec<String>,
    /// Gy of all fractions.
    pub gy: f64,
    /// Expression that it is made of in a case without it.
    pub of: Option<StructureExpression>,
}

/// A structure that the program makes of others.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureToMake {
    pub name: String,
    pub expression: StructureExpression,
}

/// Beams of a protocol: arcs, static fields, or either by the delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolBeams {
    pub arcs: Option<Arrangement>,
    pub fields: Option<Arrangement>,
    /// One for all beams, or one for each; empty: the program's choice. With arcs and fields they are the arcs'.
    pub collimator_deg: Vec<f64>,
    /// Likewise; empty: 0.
    pub couch_deg: Vec<f64>,
}

/// How beams stand round the targets.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// Whole turns, or half turns on the side of the body on which the targets lie.
    Arcs { count: u8, half: bool },
    /// Static fields at gantry angles.
    Fields(Vec<f64>),
    /// Two opposed fields along the targets' surface.
    Tangents,
}

impl Arrangement {
    fn count(&self) -> usize {
        match self {
            Self::Arcs { count, .. } => usize::from(*count),
            Self::Fields(angles_deg) => angles_deg.len(),
            Self::Tangents => 2,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    site: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    source: String,
    fractions: u32,
    technique: Delivery,
    set_up_error_mm: Option<f64>,
    #[serde(default, rename = "level")]
    levels: Vec<LevelEntry>,
    beams: BeamsEntry,
    #[serde(default)]
    monitor_units: MonitorUnitsEntry,
    #[serde(default, rename = "structure")]
    structures: Vec<StructureEntry>,
    #[serde(default, rename = "goal")]
    goals: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelEntry {
    target: String,
    #[serde(default)]
    aliases: Vec<String>,
    gy: f64,
    of: Option<String>,
    #[serde(default, rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeamsEntry {
    arcs: Option<u8>,
    fields_deg: Option<Vec<f64>>,
    #[serde(default)]
    tangents: bool,
    side: Option<Side>,
    #[serde(default)]
    collimator_deg: Vec<f64>,
    #[serde(default)]
    couch_deg: Vec<f64>,
    #[serde(default, rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Target,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MonitorUnitsEntry {
    weight: f64,
    most_per_gy: Option<f64>,
    #[serde(rename = "source")]
    _source: String,
}

impl Default for MonitorUnitsEntry {
    fn default() -> Self {
        Self {
            weight: FluenceObjectives::default().monitor_units,
            most_per_gy: None,
            _source: String::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StructureEntry {
    name: String,
    of: String,
}

impl Protocol {
    /// Words of the protocols that come with the program.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(word, _)| *word)
    }

    /// A shipped protocol by its word, or the protocol of a file by its path.
    ///
    /// # Errors
    /// [`ProtocolError`].
    pub fn resolve(word_or_path: &str) -> Result<Self, ProtocolError> {
        match SHIPPED.iter().find(|(word, _)| *word == word_or_path) {
            Some((word, text)) => Self::parse(text, word),
            None => Self::read(Path::new(word_or_path)),
        }
    }

    /// # Errors
    /// [`ProtocolError`].
    pub fn read(path: &Path) -> Result<Self, ProtocolError> {
        let text = read_text(path, GOALS_BYTES).map_err(|source| ProtocolError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// A protocol from its text; `file` names it in errors.
    ///
    /// # Errors
    /// [`ProtocolError`].
    pub fn parse(text: &str, file: &str) -> Result<Self, ProtocolError> {
        let raw: File = from_toml(text).map_err(|e| ProtocolError::Syntax {
            file: file.to_owned(),
            detail: e.to_string(),
        })?;
        let levels = raw.levels.into_iter().map(Level::read);
        let mut levels = levels
            .collect::<Result<Vec<Level>, ProtocolFault>>()
            .map_err(|fault| fault.in_file(file))?;
        levels.sort_by(|a, b| b.gy.total_cmp(&a.gy));
        let structures = raw.structures.into_iter().map(StructureToMake::read);
        let protocol = Self {
            name: plain(raw.name.trim()).into_owned(),
            site: plain(raw.site.trim()).into_owned(),
            version: plain(&raw.version).into_owned(),
            source: plain(&raw.source).into_owned(),
            fractions: raw.fractions,
            delivery: raw.technique,
            levels,
            beams: raw.beams.read().map_err(|fault| fault.in_file(file))?,
            monitor_units_weight: raw.monitor_units.weight,
            most_mu_per_gy: raw.monitor_units.most_per_gy,
            set_up_error_mm: raw.set_up_error_mm,
            structures: structures
                .collect::<Result<_, ProtocolFault>>()
                .map_err(|fault| fault.in_file(file))?,
            goals: GoalTemplate {
                name: plain(raw.name.trim()).into_owned(),
                source: plain(&raw.source).into_owned(),
                goals: template_goals(raw.goals, file)?,
            },
        };
        protocol.check().map_err(|fault| fault.in_file(file))?;
        Ok(protocol)
    }

    /// Share of the goals whose structures a case has, 0 to 1; `None` where it lacks a target that the program cannot make.
    pub fn fit(&self, set: &StructureSet) -> Option<f64> {
        let has_targets = self.levels.iter().all(|level| {
            let mut names = level.names();
            level.of.is_some() || names.any(|name| set.of_letters(name).next().is_some())
        });
        let goals = self.goals.goals.iter();
        let matched = goals.filter(|template_goal| {
            self.level_of(&template_goal.goal.structure).is_some()
                || template_goal.structure_in(set).is_some()
        });
        let share = matched.count() as f64 / self.goals.goals.len().max(1) as f64;
        has_targets.then_some(share)
    }

    /// The shipped protocol that fits a case best; `None` where each lacks a target.
    pub fn best_shipped(set: &StructureSet) -> Option<&'static str> {
        let fits =
            Self::shipped().filter_map(|word| Some((word, Self::resolve(word).ok()?.fit(set)?)));
        fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
            .map(|(word, _)| word)
    }

    /// The level of a target, by any of its names.
    pub fn level_of(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.is_called(name))
    }

    /// # Errors
    /// [`ProtocolFault::Technique`] where the protocol has no beams for its delivery.
    fn check_delivery(&self) -> Result<(), ProtocolFault> {
        if self.beams.of_delivery(self.delivery).is_some() {
            return Ok(());
        }
        Err(ProtocolFault::Technique {
            technique: self.delivery.word(),
            needed: match self.delivery {
                Delivery::Vmat => "arcs",
                Delivery::Maps | Delivery::Imrt | Delivery::Step | Delivery::Few => {
                    "fields_deg or tangents"
                }
            },
        })
    }

    /// The protocol by another delivery.
    ///
    /// # Errors
    /// [`ProtocolFault::Technique`].
    pub fn delivered_by(self, delivery: Delivery) -> Result<Self, ProtocolFault> {
        let protocol = Self { delivery, ..self };
        protocol.check_delivery().map(|()| protocol)
    }

    fn check(&self) -> Result<(), ProtocolFault> {
        self.check_numbers()?;
        self.check_names()?;
        self.beams.check()?;
        self.check_delivery()?;
        self.check_goals()
    }

    fn check_numbers(&self) -> Result<(), ProtocolFault> {
        check_within("fractions", self.fractions.into(), 1.0..=100.0)?;
        for level in &self.levels {
            let name = format!("the level of {}", level.target);
            check_within(&name, level.gy, 0.1..=bounds::MOST_COURSE_GY)?;
        }
        let weights = 0.0..=*case::Goal::WEIGHTS.end();
        check_within("monitor_units.weight", self.monitor_units_weight, weights)?;
        if let Some(mu_per_gy) = self.most_mu_per_gy {
            check_within("monitor_units.most_per_gy", mu_per_gy, MU_PER_GY)?;
        }
        if let Some(mm) = self.set_up_error_mm {
            check_within("set_up_error_mm", mm, SET_UP_MM)?;
        }
        let count = self.structures.len() as f64;
        check_within(
            "the number of structures",
            count,
            0.0..=MOST_STRUCTURES as f64,
        )
    }

    fn check_names(&self) -> Result<(), ProtocolFault> {
        if self.levels.is_empty() {
            return Err(ProtocolFault::NoLevel);
        }
        for (n, level) in self.levels.iter().enumerate() {
            let names = level.names();
            let is_taken = self.levels[..n]
                .iter()
                .any(|other| names.clone().any(|name| other.is_called(name)));
            if is_taken {
                return Err(ProtocolFault::TwoLevels(level.target.clone()));
            }
        }
        for (n, structure) in self.structures.iter().enumerate() {
            let letters = name_letters(&structure.name);
            let is_taken = self.level_of(&structure.name).is_some()
                || self.structures[..n]
                    .iter()
                    .any(|other| name_letters(&other.name) == letters);
            if is_taken || letters.is_empty() {
                return Err(ProtocolFault::TwoStructures(structure.name.clone()));
            }
        }
        Ok(())
    }

    fn check_goals(&self) -> Result<(), ProtocolFault> {
        for template_goal in &self.goals.goals {
            let goal = &template_goal.goal;
            let Some(level) = self.level_of(&goal.structure) else {
                continue;
            };
            let is_dose = goal.metric().unit() == MetricUnit::Gy;
            let is_lower = level.gy < self.levels[0].gy;
            if is_lower && is_dose && goal.unit() == MetricUnit::Percent {
                return Err(ProtocolFault::Percent(goal.to_string()));
            }
            if matches!(goal.wish(), Wish::Value(_)) {
                return Err(ProtocolFault::WishOfTarget(goal.to_string()));
            }
        }
        Ok(())
    }
}

fn check_within(name: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), ProtocolFault> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(ProtocolFault::Beyond {
            name: name.to_owned(),
            value,
            range,
        }),
    }
}

impl Level {
    fn read(entry: LevelEntry) -> Result<Self, ProtocolFault> {
        let target = plain(entry.target.trim()).into_owned();
        Ok(Self {
            of: match entry.of {
                Some(text) => Some(expression_of(&target, &text)?),
                None => None,
            },
            target,
            aliases: entry.aliases,
            gy: entry.gy,
        })
    }

    /// Its name, then its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let aliases = self.aliases.iter().map(String::as_str);
        std::iter::once(self.target.as_str()).chain(aliases)
    }

    fn is_called(&self, wanted: &str) -> bool {
        let letters = name_letters(wanted);
        self.names().any(|name| name_letters(name) == letters)
    }
}

impl StructureToMake {
    fn read(entry: StructureEntry) -> Result<Self, ProtocolFault> {
        let name = plain(entry.name.trim()).into_owned();
        let expression = expression_of(&name, &entry.of)?;
        Ok(Self { name, expression })
    }
}

/// The expression of the structure of a name.
fn expression_of(name: &str, text: &str) -> Result<StructureExpression, ProtocolFault> {
    text.parse().map_err(|why| ProtocolFault::Expression {
        name: name.to_owned(),
        why,
    })
}

impl BeamsEntry {
    fn read(self) -> Result<ProtocolBeams, ProtocolFault> {
        let arcs = self.arcs.map(|count| Arrangement::Arcs {
            count,
            half: matches!(self.side, Some(Side::Target)),
        });
        let fields = match (self.fields_deg, self.tangents) {
            (Some(_), true) => return Err(ProtocolFault::FieldsAndTangents),
            (Some(angles_deg), false) => Some(Arrangement::Fields(angles_deg)),
            (None, true) => Some(Arrangement::Tangents),
            (None, false) => None,
        };
        Ok(ProtocolBeams {
            arcs,
            fields,
            collimator_deg: self.collimator_deg,
            couch_deg: self.couch_deg,
        })
    }
}

impl ProtocolBeams {
    /// The beams of a delivery, with their collimator and couch angles; `None` where the protocol has none for it.
    pub fn of_delivery(&self, delivery: Delivery) -> Option<(&Arrangement, &[f64], &[f64])> {
        let angles = (&*self.collimator_deg, &*self.couch_deg);
        match (delivery, &self.arcs, &self.fields) {
            (Delivery::Vmat, Some(arcs), _) => Some((arcs, angles.0, angles.1)),
            (Delivery::Vmat, None, _) | (_, _, None) => None,
            (_, None, Some(fields)) => Some((fields, angles.0, angles.1)),
            (_, Some(_), Some(fields)) => Some((fields, &[], &[])),
        }
    }

    fn check(&self) -> Result<(), ProtocolFault> {
        for arrangement in self.arcs.iter().chain(&self.fields) {
            let limit = match arrangement {
                Arrangement::Arcs { .. } => usize::from(MOST_ARCS),
                Arrangement::Fields(_) | Arrangement::Tangents => MOST_FIELDS,
            };
            let count = arrangement.count() as f64;
            check_within("the number of beams", count, 1.0..=limit as f64)?;
            if let Arrangement::Fields(angles_deg) = arrangement {
                for deg in angles_deg {
                    check_within("fields_deg", *deg, 0.0..=360.0)?;
                }
            }
        }
        let count = self.arcs.as_ref().or(self.fields.as_ref());
        let count = count.map_or(0, Arrangement::count);
        let angles = [
            ("collimator_deg", &self.collimator_deg),
            ("couch_deg", &self.couch_deg),
        ];
        for (name, angles_deg) in angles {
            if ![0, 1, count].contains(&angles_deg.len()) {
                return Err(ProtocolFault::Angles(angles_deg.len(), name, count));
            }
            for deg in angles_deg {
                check_within(name, *deg, 0.0..=360.0)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
