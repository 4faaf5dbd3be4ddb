//! Remarks on reading an object, and which of them stand with every result that is made of it.

use serde::{Deserialize, Serialize};

/// A remark on how a series or file deviates from the usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    pub severity: Severity,
    /// One sentence: the deviation, and what was done about it.
    pub message: String,
    /// The files concerned, by name.
    pub files: Vec<String>,
    /// Consequence of the deviation for what is made of the object.
    #[serde(default)]
    pub bearing: Bearing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Harmless information.
    Note,
    /// To be checked before results computed on it are trusted.
    Warning,
}

/// Consequence of a remark on an object for results that are made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bearing {
    /// Nothing.
    #[default]
    None,
    /// Results may be other than they would be without the deviation: the remark stands beside them.
    MayMove,
    /// Results are not of the whole patient or plan: a dose is partial, a goal undecided. The caveat, a few words.
    Forbids(String),
}

impl Remark {
    /// A harmless remark. `files` are file names.
    pub fn note(message: impl Into<String>, files: Vec<String>) -> Self {
        Self {
            severity: Severity::Note,
            message: message.into(),
            files,
            bearing: Bearing::None,
        }
    }

    /// A remark to check before results computed on it are trusted, beside which it stands. `files` are file names.
    pub fn warning(message: impl Into<String>, files: Vec<String>) -> Self {
        Self {
            severity: Severity::Warning,
            message: message.into(),
            files,
            bearing: Bearing::MayMove,
        }
    }

    /// As one that forbids whole results, which have this caveat.
    #[must_use]
    pub fn forbidding(self, caveat: impl Into<String>) -> Self {
        Self {
            bearing: Bearing::Forbids(caveat.into()),
            ..self
        }
    }

    /// As one that may move results.
    #[must_use]
    pub fn moving(self) -> Self {
        Self {
            bearing: Bearing::MayMove,
            ..self
        }
    }

    /// As one that no result depends on.
    #[must_use]
    pub fn without_bearing(self) -> Self {
        Self {
            bearing: Bearing::None,
            ..self
        }
    }

    /// The caveat of what is made of the object, where it is not whole.
    pub fn caveat(&self) -> Option<&str> {
        match &self.bearing {
            Bearing::Forbids(caveat) => Some(caveat),
            Bearing::None | Bearing::MayMove => None,
        }
    }

    /// The remark as a sentence, with the file concerned.
    pub fn with_files(&self) -> String {
        match self.files.as_slice() {
            [] => self.message.clone(),
            [file] => format!("{} ({file})", self.message),
            [file, others @ ..] => format!("{} ({file} and {} more)", self.message, others.len()),
        }
    }
}

/// Caveats and remarks about the inputs of a result, which stand with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// Reasons why a result is not whole, a few words each: a dose with one is partial.
    pub caveats: Vec<String>,
    /// Deviations that may move a result or keep it from being whole, a sentence each.
    pub remarks: Vec<String>,
}

impl Reservations {
    /// The remarks that bear on results, and their caveats.
    pub fn of_remarks<'a>(remarks: impl IntoIterator<Item = &'a Remark>) -> Self {
        let mut reservations = Self::default();
        for remark in remarks
            .into_iter()
            .filter(|remark| remark.bearing != Bearing::None)
        {
            add_each_once(&mut reservations.caveats, remark.caveat());
            add_each_once(&mut reservations.remarks, [remark.message.as_str()]);
        }
        reservations
    }

    /// Adds others, each once.
    pub fn add(&mut self, other: &Self) {
        add_each_once(&mut self.caveats, other.caveats.iter().map(String::as_str));
        add_each_once(&mut self.remarks, other.remarks.iter().map(String::as_str));
    }
}

/// Adds sentences that the list does not have.
pub fn add_each_once<'a>(list: &mut Vec<String>, more: impl IntoIterator<Item = &'a str>) {
    for words in more {
        if !list.iter().any(|listed| listed == words) {
            list.push(words.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(message: &str) -> Remark {
        Remark::warning(message, vec!["ct.dcm".to_owned()])
    }

    #[test]
    fn what_bears_on_results_stands_with_them_once() {
        let remarks = [
            remark("the gantry is tilted"),
            remark("two planes are missing").forbidding("2 planes missing"),
            remark("localizers are left out").without_bearing(),
            Remark::note("padding counts as air", Vec::new()),
            remark("two planes are missing").forbidding("2 planes missing"),
        ];
        let mut reservations = Reservations::of_remarks(&remarks);
        reservations.add(&reservations.clone());
        assert_eq!(reservations.caveats, ["2 planes missing"]);
        assert_eq!(
            reservations.remarks,
            ["the gantry is tilted", "two planes are missing"]
        );
    }

    /// Remarks in older sessions have no bearing.
    #[test]
    fn a_remark_survives_in_text() {
        let remark = Remark::warning("it is a projection", Vec::new()).forbidding("projections");
        let text = serde_json::to_string(&remark).expect("text");
        assert_eq!(
            serde_json::from_str::<Remark>(&text).expect("a remark"),
            remark
        );
        let old: Remark = serde_json::from_str(r#"{"severity":"note","message":"m","files":[]}"#)
            .expect("a remark");
        assert_eq!(old, Remark::note("m", Vec::new()));
    }
}
