//! A machine fitted to measured data, or compared with them: what is chosen, what is under way, what came of it.

pub mod files;

use analysis::machine_fit::{FitSettings, FittedMachine, Report, TankFiles, TankRead};
use physics::{Machine, Parameter};
use std::path::PathBuf;
use std::sync::Arc;

/// Machine, files and settings of a fit or a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// A shipped machine, or a file.
    pub machine: String,
    pub files: TankFiles,
    pub fixed: Vec<Parameter>,
    pub settings: FitSettings,
}

impl Default for Chosen {
    fn default() -> Self {
        Self {
            machine: Machine::shipped().swap_remove(0),
            files: TankFiles::default(),
            fixed: Vec::new(),
            settings: FitSettings::default(),
        }
    }
}

/// Outcome of a fit or a comparison.
#[derive(Clone, Debug)]
pub enum Outcome {
    Fitted(Arc<FittedMachine>),
    Compared(Arc<(Report, TankRead)>),
}

impl Outcome {
    pub fn report(&self) -> &Report {
        match self {
            Self::Fitted(fitted) => &fitted.report,
            Self::Compared(compared) => &compared.0,
        }
    }

    pub fn read(&self) -> &TankRead {
        match self {
            Self::Fitted(fitted) => &fitted.read,
            Self::Compared(compared) => &compared.1,
        }
    }

    pub fn fitted(&self) -> Option<&Arc<FittedMachine>> {
        match self {
            Self::Fitted(fitted) => Some(fitted),
            Self::Compared(_) => None,
        }
    }
}

/// An answer, with what it was made from.
#[derive(Clone, Debug)]
pub struct Answered {
    pub from: Chosen,
    pub outcome: Outcome,
    /// The file of the fitted machine, once it is written.
    pub saved: Option<PathBuf>,
}

/// A job under way.
#[derive(Clone, Debug)]
pub struct Running {
    pub fits: bool,
    /// The last stage, in words.
    pub stage: String,
}

#[derive(Debug, Default)]
pub struct MachineFit {
    pub is_open: bool,
    pub chosen: Chosen,
    pub running: Option<Running>,
    pub answer: Option<Answered>,
    pub failure: Option<String>,
}

/// Which files a chosen one is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TankFile {
    Pdd,
    Profiles,
    OutputFactors,
    Machine,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MachineFitAction {
    Open(bool),
    Choose(Box<Chosen>),
    Add(TankFile, PathBuf),
    /// Fits the machine, or only compares it.
    Run {
        fits: bool,
    },
    /// The displayed plan is computed with the machine that was saved.
    Use,
}

impl MachineFit {
    /// Whether the answer is of other files or settings than are chosen now.
    pub fn is_stale(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| {
            let [from, chosen] =
                [&answer.from, &self.chosen].map(|chosen| choices_used(&answer.outcome, chosen));
            from != chosen
        })
    }

    /// A stage of the work has begun or ended, in words.
    pub fn begin_stage(&mut self, stage: String) {
        if let Some(running) = &mut self.running {
            running.stage = stage;
        }
    }

    /// The job has ended without an answer: failed for a reason, else cancelled.
    pub fn end(&mut self, why: Option<String>) {
        self.running = None;
        self.failure = why;
    }

    pub fn add(&mut self, what: TankFile, path: PathBuf) {
        let files = &mut self.chosen.files;
        let list = match what {
            TankFile::Pdd => &mut files.pdd,
            TankFile::Profiles => &mut files.profiles,
            TankFile::OutputFactors => {
                files.output_factors = Some(path);
                return;
            }
            TankFile::Machine => {
                self.chosen.machine = path.display().to_string();
                return;
            }
        };
        if !list.contains(&path) {
            list.push(path);
        }
    }

    /// Files that are read, which none that is written replaces.
    pub fn inputs(&self) -> impl Iterator<Item = (&'static str, PathBuf)> + '_ {
        let TankFiles {
            pdd,
            profiles,
            output_factors,
        } = &self.chosen.files;
        let measured = pdd
            .iter()
            .chain(profiles)
            .chain(output_factors)
            .map(|path| ("measured data", path.clone()));
        measured.chain([(
            "the machine of the fit",
            PathBuf::from(&self.chosen.machine),
        )])
    }

    /// The machine of the answer in words: its file, once it has one.
    pub fn machine_words(answer: &Answered) -> String {
        let saved = answer.saved.as_ref().map(|path| path.display().to_string());
        match &answer.outcome {
            Outcome::Fitted(_) => {
                saved.unwrap_or_else(|| format!("{}, fitted", answer.from.machine))
            }
            Outcome::Compared(_) => answer.from.machine.clone(),
        }
    }
}

/// The choices that an outcome depends on: a comparison fixes no parameter, and has no rounds.
fn choices_used(outcome: &Outcome, chosen: &Chosen) -> Chosen {
    match outcome {
        Outcome::Fitted(_) => chosen.clone(),
        Outcome::Compared(_) => Chosen {
            fixed: Vec::new(),
            settings: FitSettings {
                last: chosen.settings.last,
                ..FitSettings::default()
            },
            ..chosen.clone()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_stale_once_what_it_is_made_from_is_another() {
        let mut fit = MachineFit::default();
        fit.add(TankFile::Pdd, PathBuf::from("a.csv"));
        let outcome = Outcome::Compared(Arc::new((Report::default(), TankRead::default())));
        assert!(!fit.is_stale(), "there is none");
        fit.answer = Some(Answered {
            from: fit.chosen.clone(),
            outcome,
            saved: None,
        });
        fit.add(TankFile::Pdd, PathBuf::from("a.csv"));
        fit.chosen.fixed.push(Parameter::FocalX);
        assert!(!fit.is_stale(), "a comparison fixes nothing");
        fit.add(TankFile::Profiles, PathBuf::from("a.csv"));
        assert!(fit.is_stale());
        fit.chosen.files.profiles.clear();
        assert!(!fit.is_stale(), "it is as it was");
        fit.chosen.machine = "generic-10mv".to_owned();
        assert!(fit.is_stale());
    }
}
