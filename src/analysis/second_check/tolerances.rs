//! Tolerances of a second check: a TOML file (`assets/tolerances/second-check.toml` has the shipped ones and their sources).

use input::{GOALS_BYTES, beginning, plain, read_text};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

const SHIPPED: &str = include_str!("../../../assets/tolerances/second-check.toml");

/// Limits of agreement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// Source of the numbers.
    pub source: String,
    pub gamma_dose_percent: f64,
    pub gamma_dta_mm: f64,
    /// Least dose analysed, percent of the planned dose's near-maximum.
    pub gamma_threshold_percent: f64,
    /// Least share of passing points within tolerance, percent.
    pub gamma_tolerance_percent: f64,
    /// Below this share of passing points action is needed, percent.
    pub gamma_action_percent: f64,
    /// Largest difference of a dose at a point within tolerance, percent of the planned dose there.
    pub point_tolerance_percent: f64,
    pub point_action_percent: f64,
}

/// Why tolerances cannot be used.
#[derive(Debug, Error)]
pub enum TolerancesError {
    #[error("cannot read the tolerances '{path}': {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("'{file}' is no file of tolerances: {detail}")]
    Syntax { file: String, detail: String },
    #[error("'{file}': {key} is {value}; it must be from {low} to {high}")]
    Value {
        file: String,
        key: &'static str,
        value: f64,
        low: f64,
        high: f64,
    },
}

fn syntax_error(file: &str, error: &toml::de::Error) -> TolerancesError {
    TolerancesError::Syntax {
        file: file.to_owned(),
        detail: beginning(&error.to_string()),
    }
}

impl Default for Tolerances {
    /// Tolerances that come with the program.
    fn default() -> Self {
        // A unit test reads the asset through the checked path.
        toml::from_str(SHIPPED).expect("the shipped tolerances are in order")
    }
}

impl Tolerances {
    /// # Errors
    /// [`TolerancesError`].
    pub fn read(path: &Path) -> Result<Self, TolerancesError> {
        let text = read_text(path, GOALS_BYTES).map_err(|source| TolerancesError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Tolerances of a text; a value that it leaves out is the shipped one.
    ///
    /// # Errors
    /// [`TolerancesError`]: unknown keys, values that would let everything pass.
    pub fn parse(text: &str, file: &str) -> Result<Self, TolerancesError> {
        let mut table: toml::Table = toml::from_str(SHIPPED).map_err(|e| syntax_error(file, &e))?;
        let overrides: toml::Table = toml::from_str(text).map_err(|e| syntax_error(file, &e))?;
        // The shipped source covers the shipped numbers alone.
        table.insert(
            "source".to_owned(),
            toml::Value::String(format!("'{file}'")),
        );
        table.extend(overrides);
        let mut read: Self = toml::Value::Table(table)
            .try_into()
            .map_err(|e| syntax_error(file, &e))?;
        read.source = plain(&read.source).into_owned();
        read.check(file)?;
        Ok(read)
    }

    fn check(&self, file: &str) -> Result<(), TolerancesError> {
        let ranges = [
            ("gamma_dose_percent", self.gamma_dose_percent, 0.1, 10.0),
            ("gamma_dta_mm", self.gamma_dta_mm, 0.1, 10.0),
            (
                "gamma_threshold_percent",
                self.gamma_threshold_percent,
                0.0,
                90.0,
            ),
            (
                "gamma_tolerance_percent",
                self.gamma_tolerance_percent,
                50.0,
                100.0,
            ),
            (
                "gamma_action_percent",
                self.gamma_action_percent,
                50.0,
                self.gamma_tolerance_percent,
            ),
            (
                "point_tolerance_percent",
                self.point_tolerance_percent,
                0.0,
                25.0,
            ),
            (
                "point_action_percent",
                self.point_action_percent,
                self.point_tolerance_percent,
                25.0,
            ),
        ];
        let wrong = ranges
            .into_iter()
            .find(|(_, value, low, high)| !(*low..=*high).contains(value));
        wrong.map_or(Ok(()), |(key, value, low, high)| {
            Err(TolerancesError::Value {
                file: file.to_owned(),
                key,
                value,
                low,
                high,
            })
        })
    }

    /// With another criterion of gamma, percent and mm.
    #[must_use]
    pub fn with_gamma(mut self, [dose_percent, dta_mm]: [f64; 2]) -> Self {
        if [self.gamma_dose_percent, self.gamma_dta_mm] != [dose_percent, dta_mm] {
            (self.gamma_dose_percent, self.gamma_dta_mm) = (dose_percent, dta_mm);
            self.source += "; criterion of gamma as given";
        }
        self
    }

    /// Tolerance and action level of the pass rate of gamma, percent.
    pub fn of_gamma(&self) -> [f64; 2] {
        [self.gamma_tolerance_percent, self.gamma_action_percent]
    }

    /// Tolerance and action level of doses at points, percent.
    pub fn of_points(&self) -> [f64; 2] {
        [self.point_tolerance_percent, self.point_action_percent]
    }

    /// `3 %/2 mm global from 10 %`.
    pub fn criterion_text(&self) -> String {
        format!(
            "{} %/{} mm global from {} %",
            self.gamma_dose_percent, self.gamma_dta_mm, self.gamma_threshold_percent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_ones_are_those_of_tg_218() {
        let shipped = Tolerances::default();
        assert!(shipped.check("shipped").is_ok() && shipped.source.contains("TG-218"));
        assert_eq!(
            (
                shipped.gamma_tolerance_percent,
                shipped.gamma_action_percent,
                shipped.criterion_text().as_str()
            ),
            (95.0, 90.0, "3 %/2 mm global from 10 %")
        );
    }

    #[test]
    fn a_file_changes_what_it_names_and_lets_not_everything_pass() {
        let custom = Tolerances::parse("point_tolerance_percent = 2", "own.toml").unwrap();
        assert_eq!(
            (custom.point_tolerance_percent, custom.gamma_dta_mm),
            (2.0, 2.0)
        );
        assert!(
            custom.source.contains("own.toml") && !custom.source.contains("TG-218"),
            "{}",
            custom.source
        );
        for (text, says) in [
            (
                "point_tolerance_percent = 100.0",
                "point_tolerance_percent is 100",
            ),
            ("point_tolerance_percent = nan", "point_tolerance_percent"),
            ("point_tolerance_percent = 6.0", "point_action_percent is 5"),
            ("gamma_action_percent = 96.0", "gamma_action_percent"),
            (
                "gamma_tolerance_percent = 0",
                "gamma_tolerance_percent is 0",
            ),
            ("gamma_tolerence_percent = 99", "gamma_tolerence_percent"),
            ("gamma_dta_mm = \"2\"", "no file of tolerances"),
            ("[[", "no file of tolerances"),
        ] {
            let why = Tolerances::parse(text, "own.toml").unwrap_err().to_string();
            assert!(
                why.contains("own.toml") && why.contains(says),
                "{text}: {why}"
            );
        }
    }
}
