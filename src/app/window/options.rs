//! Start options of a window: the words of the command line, applied as the case opens.

use super::App;
use crate::feature::compare::state::{Layout, Source};
use crate::feature::register::state::{Mode, Pair};
use crate::state::display::WashOf;
use crate::state::files::FileAction;
use crate::state::results::EngineChoice;
use crate::state::{NoticeKind, ViewKind, Workspace};
use analysis::{BodyWord, Side};
use case::{Case, Placement, Pose};
use engine::DeviceChoice;
use files::ThemeChoice;
use glam::DVec3;
use std::path::PathBuf;
use std::str::FromStr;

/// Start options of the window.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A CASE word.
    pub case: Option<String>,
    /// A plan file, put before the case's own plans.
    pub plan: Option<PathBuf>,
    pub workspace: Workspace,
    /// Engine of the first plan; `None`: the choice of the case.
    pub engine: Option<EngineChoice>,
    /// The part of the CT that counts as the body.
    pub body: Option<BodyWord>,
    /// Spacing of the dose grid, mm.
    pub grid_mm: Option<f64>,
    pub wash_of: WashOf,
    /// The view that fills the Plan workspace.
    pub view: Option<OneView>,
    /// Settings of the Compare workspace.
    pub compare: Option<CompareOptions>,
    /// Device of the dose calculation.
    pub device: DeviceChoice,
    /// X-rays to register, with their settings.
    pub register: Option<RegisterOptions>,
    /// Report of the plan, to be written once everything is computed.
    pub plan_report: Option<PathBuf>,
    /// Folder for unsaved work and recent cases; `None`: nothing is stored.
    pub state_folder: Option<PathBuf>,
    /// File for the accessibility tree of each frame.
    pub access_tree: Option<PathBuf>,
    /// Theme of the panels; `None`: the one of the last run.
    pub theme: Option<ThemeChoice>,
}

/// A view of the Plan workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneView {
    Of(ViewKind),
    /// The room, in the place of the beam's-eye view.
    Room,
}

impl OneView {
    pub(super) fn kind(self) -> ViewKind {
        match self {
            Self::Of(kind) => kind,
            Self::Room => ViewKind::Bev,
        }
    }
}

/// Options for the next case that opens.
#[derive(Default)]
pub(super) struct StartOptions {
    pub compare: Option<CompareOptions>,
    /// Engine of the first plan.
    pub engine: Option<EngineChoice>,
    /// The part of the CT that counts as the body.
    pub body: Option<BodyWord>,
    /// Spacing of the dose grid, mm: it stands above a session's.
    pub grid_mm: Option<f64>,
    pub register: Option<RegisterOptions>,
    /// A report to be written once everything is computed.
    pub report: Option<PathBuf>,
    /// Path of the report while it is written: the caller announces it, under the name that it gets in the end.
    pub writes_report: Option<PathBuf>,
}

/// Start options of the Register workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegisterOptions {
    /// X-rays to open.
    pub images: Vec<PathBuf>,
    /// A made-up pair instead of them.
    pub made_up: bool,
    pub pose: Option<Pose>,
    pub mode: Option<Mode>,
    pub pair: Option<Pair>,
    pub bone_dark: bool,
}

/// A dose as named on the command line.
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
        match word.split_once(':') {
            None if word == "plan" => Ok(Self::Plan(0)),
            Some(("plan", number)) => index_of(number).map(Self::Plan),
            Some(("dose", number)) => index_of(number).map(Self::Dose),
            _ => Ok(Self::File(PathBuf::from(word))),
        }
    }
}

/// The index of a number that counts from 1.
fn index_of(number: &str) -> Result<usize, String> {
    let index = number.parse().ok().and_then(|n: usize| n.checked_sub(1));
    index.ok_or_else(|| format!("'{number}' is no number from 1 on"))
}

/// The doses to compare, and their display.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// A and B; `None`: the case's default.
    pub sides: [Option<DoseWord>; 2],
    pub layout: Layout,
    pub plane: Option<ViewKind>,
    /// Intersection of the planes, patient LPS, mm.
    pub at_mm: Option<DVec3>,
    /// Report to be written once everything is computed.
    pub report: Option<PathBuf>,
}

impl App {
    /// Applies the start options of the Register workspace, once its case is loaded.
    pub(super) fn begin_registration(&mut self, options: RegisterOptions) {
        let RegisterOptions {
            images,
            made_up,
            pose,
            mode,
            pair,
            bone_dark,
        } = options;
        let register = &mut self.state.register;
        let display = &mut register.display;
        display.mode = mode.unwrap_or(display.mode);
        display.pair = pair.unwrap_or(display.pair);
        display.bone_dark |= bone_dark;
        if let Some(pose) = pose {
            register.set_pose(pose, None);
        }
        let mut requests = self.requests();
        if made_up {
            requests.make_up_xrays();
        }
        images
            .into_iter()
            .for_each(|path| requests.open_xray(path, Placement::default(), None));
    }

    /// Applies the start options of the Compare workspace to the newly opened case.
    pub(super) fn begin_comparison(&mut self, options: CompareOptions) {
        let compare = &mut self.state.compare;
        compare.layout = options.layout;
        compare.plane = options.plane.unwrap_or(compare.plane);
        if let Some(mm) = options.at_mm {
            self.state.crosshair_mm = mm;
        }
        self.start.report = options.report;
        for (side, word) in Side::BOTH.into_iter().zip(options.sides) {
            let Some(word) = word else { continue };
            match source_of(self.state.case(), &word) {
                Ok(source) => self.state.compare.sides[side.index()] = source,
                Err(why) => {
                    let text = format!("Dose {}: {why}.", side.name());
                    self.state.notices.add(NoticeKind::Error, text);
                }
            }
            if let DoseWord::File(path) = word {
                self.requests().open_dose(path, Some(side));
            }
        }
    }

    /// Writes the requested report once all results are available.
    pub(super) fn report_when_settled(&mut self) {
        if self.start.report.is_some() && self.state.is_loaded() && self.is_settled() {
            let path = self.start.report.take();
            self.start.writes_report.clone_from(&path);
            // The command line has already confirmed a replacement.
            let action = match self.state.workspace {
                Workspace::Compare => FileAction::SaveReport,
                Workspace::Plan | Workspace::Register => FileAction::SavePlanReport,
            };
            path.into_iter()
                .for_each(|path| self.write(action, path, true));
        }
    }
}

/// The source that a word names in a case; `None` for a file, which is not read yet.
fn source_of(case: &Case, word: &DoseWord) -> Result<Option<Source>, String> {
    Ok(match word {
        DoseWord::Plan(n) => {
            check_index(*n, case.plans.len(), "plan")?;
            Some(Source::Plan(*n))
        }
        DoseWord::Dose(n) => {
            check_index(*n, case.doses.len(), "dose of its own")?;
            Some(Source::Dose(*n))
        }
        DoseWord::File(_) => None,
    })
}

fn check_index(n: usize, count: usize, what: &str) -> Result<(), String> {
    if n < count {
        return Ok(());
    }
    Err(match count {
        0 => format!("the case has no {what}"),
        1 => format!("the case has 1 {what}, not {}", n + 1),
        _ => format!("the case has {count} {what}s, not {}", n + 1),
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
