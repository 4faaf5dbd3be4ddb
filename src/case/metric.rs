//! Metrics of a DVH by the names planners use (AAPM TG-263, section 9: `D95%`, `D0.03cc`, `V20Gy[cc]`,
//! `Mean`). An entry of [`KINDS`] has the spelling, range and unit of a kind of metric; `analysis/metric.rs` has its value.
//! Goals, tables, reports and the command line read and write metrics through it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricUnit {
    Gy,
    /// Percent of the 100 % dose, or of the volume that has a dose.
    Percent,
    Cm3,
    /// A plain number.
    One,
}

impl MetricUnit {
    const ALL: [Self; 4] = [Self::Gy, Self::Percent, Self::Cm3, Self::One];

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Gy => "Gy",
            Self::Percent => "%",
            Self::Cm3 => "cc",
            Self::One => "",
        }
    }

    /// The number and the unit of a text like `66.5 Gy`.
    pub(super) fn split(words: &str) -> Option<(f64, Self)> {
        let words = plain(words);
        Self::ALL.into_iter().find_map(|unit| {
            let number = words.strip_suffix(&unit.symbol().to_lowercase())?;
            Some((finite(number)?, unit))
        })
    }
}

/// The quantity of a metric. Its first unit is the default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// Gy.
    Dose,
    /// cm3.
    Volume,
    Ratio,
}

impl Quantity {
    fn units(self) -> &'static [MetricUnit] {
        match self {
            Self::Dose => &[MetricUnit::Gy, MetricUnit::Percent],
            Self::Volume => &[MetricUnit::Percent, MetricUnit::Cm3],
            Self::Ratio => &[MetricUnit::One],
        }
    }
}

/// The figure of a DVH that a metric states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Least,
    Mean,
    Greatest,
    DoseAtPercent,
    DoseAtCm3,
    VolumeAtGy,
    VolumeAtPercent,
    /// CI of Paddick.
    Conformity,
    /// HI of ICRU 83.
    Homogeneity,
    EquivalentUniformDose,
}

/// A kind of metric.
#[derive(Debug)]
struct Kind {
    /// The written form; `#` stands for its number.
    form: &'static str,
    /// Alternative spellings, in lower case.
    also: &'static [&'static str],
    /// Least and greatest number.
    numbers: [f64; 2],
    quantity: Quantity,
    /// Its definition and source.
    means: &'static str,
    figure: Figure,
}

/// Number range of a kind without a number.
const NONE: [f64; 2] = [0.0, 0.0];

/// Every kind of metric.
static KINDS: [Kind; 10] = [
    Kind {
        form: "Dmin",
        also: &["min"],
        numbers: NONE,
        quantity: Quantity::Dose,
        means: "least dose",
        figure: Figure::Least,
    },
    Kind {
        form: "Dmean",
        also: &["mean"],
        numbers: NONE,
        quantity: Quantity::Dose,
        means: "mean dose",
        figure: Figure::Mean,
    },
    Kind {
        form: "Dmax",
        also: &["max"],
        numbers: NONE,
        quantity: Quantity::Dose,
        means: "greatest dose",
        figure: Figure::Greatest,
    },
    Kind {
        form: "D#%",
        also: &["d#"],
        numbers: [0.0, 100.0],
        quantity: Quantity::Dose,
        means: "dose that the hottest # % of the volume get at least",
        figure: Figure::DoseAtPercent,
    },
    Kind {
        form: "D#cc",
        also: &[],
        numbers: [0.0, 1e6],
        quantity: Quantity::Dose,
        means: "dose that the hottest # cm3 get at least",
        figure: Figure::DoseAtCm3,
    },
    Kind {
        form: "V#Gy",
        also: &[],
        numbers: [0.0, 1e4],
        quantity: Quantity::Volume,
        means: "volume that gets # Gy or more",
        figure: Figure::VolumeAtGy,
    },
    Kind {
        form: "V#%",
        also: &[],
        numbers: [0.0, 1e3],
        quantity: Quantity::Volume,
        means: "volume that gets # % of the 100 % dose or more",
        figure: Figure::VolumeAtPercent,
    },
    Kind {
        form: "CI",
        also: &["cipaddick", "ci(paddick)"],
        numbers: NONE,
        quantity: Quantity::Ratio,
        means: "conformity index of Paddick (J Neurosurg 93 suppl 3 (2000) 219): square of the structure's volume that gets the \
                100 % dose, over its volume times that of the whole isodose; 1 is best",
        figure: Figure::Conformity,
    },
    Kind {
        form: "HI",
        also: &[],
        numbers: NONE,
        quantity: Quantity::Ratio,
        means: "homogeneity index (D2% - D98%) / D50% (ICRU 83, section 3.7.1); 0 is best",
        figure: Figure::Homogeneity,
    },
    Kind {
        form: "gEUD(a=#)",
        also: &["geud(#)", "geud#", "eud(a=#)", "eud(#)"],
        numbers: [-100.0, 100.0],
        quantity: Quantity::Dose,
        means: "generalised equivalent uniform dose: the mean of the a-th powers of the doses, to the power 1/a \
                (Niemierko, Med Phys 26 (1999) 1100); above 1 for organs, below 0 for targets, 0 the geometric mean",
        figure: Figure::EquivalentUniformDose,
    },
];

/// Why a text names no metric.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MetricError {
    #[error("'{0}' is no metric; there are {all}, like D95%, D0.03cc, V20Gy, V20Gy[cc]", all = all_forms())]
    Unknown(String),
    #[error("'{0}' has a decimal comma; numbers of metrics have a point, like D0.03cc")]
    Comma(String),
    #[error("'{word}': the number of {form} is from {low} to {high}")]
    Range {
        word: String,
        form: &'static str,
        low: String,
        high: String,
    },
    #[error("'{word}': {form} is given in {units}")]
    Unit {
        word: String,
        form: &'static str,
        units: String,
    },
}

/// The written forms of all metrics, `#` for a number.
fn all_forms() -> String {
    KINDS
        .iter()
        .map(|kind| kind.form)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A number read off a DVH: its kind, its own number and its unit.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Metric {
    kind: &'static Kind,
    number: f64,
    unit: MetricUnit,
}

impl Metric {
    pub const MEAN: Self = Self::known("Dmean", 0.0);
    pub const MAX: Self = Self::known("Dmax", 0.0);
    pub const D95: Self = Self::known("D#%", 95.0);
    pub const D2: Self = Self::known("D#%", 2.0);
    pub const V95: Self = Self::known("V#%", 95.0);

    /// Metrics in the tables of reports.
    pub const REPORTED: [Self; 4] = [Self::MEAN, Self::D95, Self::D2, Self::MAX];

    /// The default metrics of a structure.
    pub const USUAL: [Self; 7] = [
        Self::known("D#%", 98.0),
        Self::D95,
        Self::known("D#%", 50.0),
        Self::D2,
        Self::MEAN,
        Self::known("Dmin", 0.0),
        Self::MAX,
    ];

    /// The metrics to choose from in lists, at least one of every kind; most have a number to change.
    pub const LISTED: [Self; 18] = [
        Self::D95,
        Self::known("D#%", 98.0),
        Self::known("D#%", 50.0),
        Self::D2,
        Self::known("D#cc", 2.0),
        Self::known("D#cc", 0.1),
        Self::known("D#cc", 0.03),
        Self::known("V#Gy", 5.0),
        Self::known("V#Gy", 20.0),
        Self::known("V#Gy", 30.0),
        Self::V95,
        Self::known("V#%", 100.0),
        Self::MEAN,
        Self::MAX,
        Self::known("Dmin", 0.0),
        Self::known("CI", 0.0),
        Self::known("HI", 0.0),
        Self::known("gEUD(a=#)", 8.0),
    ];

    /// A metric by its form, in the unit of its kind. For constants: an unknown form does not compile there.
    pub const fn known(form: &str, number: f64) -> Self {
        let mut n = 0;
        while !same(KINDS[n].form, form) {
            n += 1;
        }
        let kind = &KINDS[n];
        let unit = match kind.quantity {
            Quantity::Dose => MetricUnit::Gy,
            Quantity::Volume => MetricUnit::Percent,
            Quantity::Ratio => MetricUnit::One,
        };
        Self { kind, number, unit }
    }

    pub fn unit(self) -> MetricUnit {
        self.unit
    }

    pub fn figure(self) -> Figure {
        self.kind.figure
    }

    /// The number in its name; `None` where its form has none.
    pub fn number(self) -> Option<f64> {
        self.has_number().then_some(self.number)
    }

    fn has_number(self) -> bool {
        self.kind.form.contains('#')
    }

    /// The metric with another number, within the range of its kind; unchanged where its form has none.
    pub fn with_number(self, number: f64) -> Self {
        let [low, high] = self.kind.numbers;
        // Adding 0 gives zero one sign.
        let number = if number.is_finite() {
            number.clamp(low, high) + 0.0
        } else {
            self.number
        };
        Self { number, ..self }
    }

    /// Least and greatest number of its kind.
    pub fn numbers(self) -> [f64; 2] {
        self.kind.numbers
    }

    /// The units in which it may be stated.
    pub fn units(self) -> &'static [MetricUnit] {
        self.kind.quantity.units()
    }

    /// The metric in another unit; `None` where its quantity does not have that unit.
    pub fn told_in(self, unit: MetricUnit) -> Option<Self> {
        self.units()
            .contains(&unit)
            .then_some(Self { unit, ..self })
    }

    /// Its definition, with the source where the name does not state it.
    pub fn means(self) -> String {
        self.kind.means.replace('#', &self.number.to_string())
    }
}

/// Whether two texts are equal, for constants.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut n = 0;
    while n < a.len() && n < b.len() && a[n] == b[n] {
        n += 1;
    }
    n == a.len() && n == b.len()
}

/// A text normalised for comparison: without spaces, in lower case, cm3 as cc.
fn plain(word: &str) -> String {
    let word: String = word.chars().filter(|c| !c.is_whitespace()).collect();
    word.to_lowercase()
        .replace("cm3", "cc")
        .replace("cm³", "cc")
}

fn finite(number: &str) -> Option<f64> {
    number.parse().ok().filter(|v: &f64| v.is_finite())
}

impl Kind {
    /// The number in a text of this kind (0 where the kind has none); `None` where the text is of another
    /// kind.
    fn number_in(&self, word: &str) -> Option<f64> {
        let form = self.form.to_lowercase();
        let mut forms = std::iter::once(form.as_str()).chain(self.also.iter().copied());
        forms.find_map(|form| match form.split_once('#') {
            None => (form == word).then_some(0.0),
            Some((prefix, suffix)) => finite(word.strip_prefix(prefix)?.strip_suffix(suffix)?),
        })
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let word = plain(words);
        let typed = words.trim();
        let (name, unit) = match word.strip_suffix(']').and_then(|w| w.split_once('[')) {
            Some((name, unit)) => (name, Some(unit)),
            None => (word.as_str(), None),
        };
        let Some((kind, number)) = KINDS
            .iter()
            .find_map(|kind| Some((kind, kind.number_in(name)?)))
        else {
            return Err(if word.contains(',') {
                MetricError::Comma
            } else {
                MetricError::Unknown
            }(typed.to_owned()));
        };
        let [low, high] = kind.numbers;
        if !(low..=high).contains(&number) {
            let [low, high] = kind.numbers.map(|v| v.to_string());
            return Err(MetricError::Range {
                word: typed.to_owned(),
                form: kind.form,
                low,
                high,
            });
        }
        let units = kind.quantity.units();
        let unit = match unit {
            Some(symbol) => units
                .iter()
                .copied()
                .find(|u| u.symbol().to_lowercase() == symbol),
            None => Some(units[0]),
        };
        let Some(unit) = unit else {
            let units = units
                .iter()
                .map(|u| u.symbol())
                .collect::<Vec<_>>()
                .join(" or ");
            return Err(MetricError::Unit {
                word: typed.to_owned(),
                form: kind.form,
                units,
            });
        };
        // Adding 0 gives zero one sign.
        Ok(Self {
            kind,
            number: number + 0.0,
            unit,
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind.form.replace('#', &self.number.to_string()))?;
        if self.unit == self.units()[0] {
            Ok(())
        } else {
            write!(f, "[{}]", self.unit.symbol())
        }
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.kind, other.kind)
            && self.number == other.number
            && self.unit == other.unit
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

impl TryFrom<String> for Metric {
    type Error = MetricError;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Metric {
        word.parse().unwrap_or_else(|e| panic!("{word}: {e}"))
    }

    /// Every kind reads its own spelling; a session keeps it.
    #[test]
    fn every_kind_is_read_back_as_it_is_written() {
        for kind in &KINDS {
            let word = kind.form.replace('#', "7");
            assert_eq!(read(&word).to_string(), word);
            assert!(!read(&word).means().is_empty());
            for also in kind.also {
                assert_eq!(read(&also.replace('#', "7")).to_string(), word, "{also}");
            }
            let kept = serde_json::to_string(&read(&word)).unwrap();
            assert_eq!(serde_json::from_str::<Metric>(&kept).unwrap(), read(&word));
        }
    }

    #[test]
    fn the_lists_have_every_kind_and_keep_its_numbers_in_range() {
        for kind in &KINDS {
            assert!(
                Metric::LISTED.iter().any(|m| std::ptr::eq(m.kind, kind)),
                "{}",
                kind.form
            );
        }
        for metric in Metric::LISTED {
            assert_eq!(read(&metric.to_string()), metric);
        }
        assert_eq!(Metric::D95.with_number(120.0).to_string(), "D100%");
        assert_eq!(Metric::D95.with_number(f64::NAN), Metric::D95);
        assert_eq!(Metric::MEAN.with_number(7.0).to_string(), "Dmean");
    }
}
