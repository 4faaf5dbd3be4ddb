//! What the Compare workspace is to show of a case that is about to open: the words of the command line.

use super::App;
use super::compare::{Layout, Side, Source};
use super::dialog::Ask;
use super::follow::Answer;
use super::report;
use super::save::Target;
use super::state::NoticeKind;
use super::view::ViewKind;
use crate::case::Case;
use glam::DVec3;
use std::path::PathBuf;
use std::str::FromStr;

/// A dose by the words of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoseWord {
    /// `plan` or `plan:N`, from 1: the computed dose of a plan.
    Plan(usize),
    /// `dose:N`, from 1: a dose of the case's files.
    Dose(usize),
    /// An RTDOSE, or a `.mha` in Gy.
    File(PathBuf),
}

impl FromStr for DoseWord {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let number = |rest: &str| {
            let number = rest.parse().ok().filter(|n: &usize| *n > 0);
            number.map(|n| n - 1).ok_or_else(|| format!("'{rest}' is no number from 1 on"))
        };
        match word.split_once(':') {
            None if word == "plan" => Ok(Self::Plan(0)),
            Some(("plan", rest)) => number(rest).map(Self::Plan),
            Some(("dose", rest)) => number(rest).map(Self::Dose),
            _ => Ok(Self::File(PathBuf::from(word))),
        }
    }
}

/// What to compare, and how to show it.
#[derive(Clone, Debug, Default)]
pub struct CompareWish {
    /// A and B; `None`: what the case suggests.
    pub sides: [Option<DoseWord>; 2],
    pub layout: Layout,
    pub plane: Option<ViewKind>,
    /// Where the planes meet, patient LPS, mm.
    pub at_mm: Option<DVec3>,
    /// Written once everything is computed.
    pub report: Option<PathBuf>,
}

impl App {
    /// Sets the workspace for the case that has just opened.
    pub(super) fn grant(&mut self, wish: CompareWish) {
        let compare = &mut self.state.compare;
        compare.layout = wish.layout;
        compare.plane = wish.plane.unwrap_or(compare.plane);
        if let Some(mm) = wish.at_mm {
            self.state.crosshair_mm = mm;
        }
        self.report = wish.report;
        for (side, word) in Side::BOTH.into_iter().zip(wish.sides) {
            let Some(word) = word else { continue };
            match source_of(self.state.case(), &word) {
                Ok(source) => self.state.compare.sides[side.index()] = source,
                Err(why) => {
                    let text = format!("Dose {}: {why}.", side.name());
                    self.state.notices.add(NoticeKind::Error, text);
                }
            }
            if let DoseWord::File(path) = word {
                self.open_dose(path, Some(side));
            }
        }
    }
}

impl App {
    /// Writes the report that was asked for before everything was there.
    pub(super) fn report_when_settled(&mut self) {
        if self.report.is_some() && self.state.is_loaded() && self.is_settled() {
            let path = self.report.take();
            // Whether the file may be replaced, the command line has asked.
            path.into_iter().for_each(|path| self.write(Ask::SaveReport, path, true));
        }
    }

    /// Writes what the comparison on show says; nothing stale.
    pub(super) fn save_report(&mut self, target: Target) {
        let report = match report::gather(&self.state) {
            Ok(report) => report,
            Err(why) => {
                self.state.notices.add(NoticeKind::Error, format!("No report is written: {why}."));
                return;
            }
        };
        self.submit_write(target, move |path| {
            report::write(&report, path).map(|()| Answer::Saved(path.to_owned()))
        });
        self.idle_frames = 0;
    }
}

/// The source that a word names in a case; of a file none yet.
fn source_of(case: &Case, word: &DoseWord) -> Result<Option<Source>, String> {
    let within = |n: usize, count: usize, what: &str| {
        if n < count {
            return Ok(());
        }
        Err(match count {
            0 => format!("the case has no {what}"),
            1 => format!("the case has 1 {what}, not {}", n + 1),
            _ => format!("the case has {count} {what}s, not {}", n + 1),
        })
    };
    Ok(match word {
        DoseWord::Plan(n) => {
            within(*n, case.plans.len(), "plan")?;
            Some(Source::Plan(*n))
        }
        DoseWord::Dose(n) => {
            within(*n, case.doses.len(), "dose of its own")?;
            Some(Source::Dose(*n))
        }
        DoseWord::File(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_plans_doses_and_files() {
        for (word, want) in [
            ("plan", DoseWord::Plan(0)),
            ("plan:2", DoseWord::Plan(1)),
            ("dose:1", DoseWord::Dose(0)),
            ("dose.mha", DoseWord::File("dose.mha".into())),
            ("C:/x.dcm", DoseWord::File("C:/x.dcm".into())),
        ] {
            assert_eq!(word.parse(), Ok(want), "{word}");
        }
        for wrong in ["plan:0", "dose:x", "plan:"] {
            assert!(wrong.parse::<DoseWord>().is_err(), "{wrong}");
        }
        let why = source_of(&Case::default(), &DoseWord::Dose(0)).unwrap_err();
        assert!(why.contains("no dose"), "{why}");
    }
}
