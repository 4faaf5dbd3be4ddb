//! The state of the window: the case with its history, selection, display settings, results, notices and jobs.

pub mod display;
pub mod export;
pub mod files;
mod jobs;
mod notices;
pub mod proposal;
pub mod record;
pub mod results;
pub mod roi;
pub mod slot;
pub mod unsaved;

pub use jobs::{FinishedJob, JobEnd, Jobs, LiveJob};
pub use notices::{About, LogLine, Notice, NoticeKind, Notices};

use crate::feature::beam;
use crate::feature::beam::state::Aperture;
use crate::feature::check::state::SecondCheckBox;
use crate::feature::commission::state::MachineFit;
use crate::feature::commission::state::files::MachineFiles;
use crate::feature::compare::state::Compare;
use crate::feature::ct::state::HuDraft;
use crate::feature::draw::state::Drawing;
use crate::feature::goals::state::GoalEditor;
use crate::feature::leaves::state::Leaves;
use crate::feature::measure::state::Measures;
use crate::feature::network::state::Network;
use crate::feature::open::state::{Folder, Origin, PatientQuestion, StrangeDose};
use crate::feature::optimise::state::Optimise;
use crate::feature::plan::state::PlanTools;
use crate::feature::protocol::state::ProtocolBox;
use crate::feature::register::state::Register;
use crate::feature::robust::state::SetUpErrors;
use crate::feature::room::state::Room;
use crate::feature::start::state::Tour;
use ::files::{RecentCase, Recoverable, ThemeChoice};
use case::{Beam, Case, History, Plan, Structure};
use display::{DoseDisplay, WINDOW_PRESETS, WindowLevel};
use export::ExportChoice;
use files::Target;
use geometry::AnatomicalPlane;
use glam::DVec3;
use results::CaseResults;
use roi::Shapes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use unsaved::{Question, Work};

/// The state that all panels read. They change it only through `Command`s.
#[derive(Debug)]
pub struct State {
    pub history: History,
    /// Origin of the case.
    pub origin: Option<Origin>,
    /// The work last opened or saved; `None` for recovered work.
    pub saved: Option<Work>,
    /// The open question whose objects of a folder are opened, if any.
    pub patients: Option<Box<PatientQuestion>>,
    /// Doses of files that state another patient, until the user has answered for them.
    pub strange_doses: Vec<StrangeDose>,
    /// Whether the reference tree is shown.
    pub references_open: bool,
    /// The open question about unsaved work, if any.
    pub question: Option<Question>,
    /// Files to be written that already exist, until the user confirms or refuses their replacement.
    pub replacing: Vec<Target>,
    /// Objects that an export writes.
    pub export: ExportChoice,
    /// Unsaved work of closed windows.
    pub recoverable: Vec<Recoverable>,
    /// Cases opened before, newest first.
    pub recent: Vec<RecentCase>,
    /// The tour, while it is taken.
    pub tour: Option<Tour>,
    /// The displayed plan, by index.
    pub plan: usize,
    pub selection: Selection,
    pub plan_tools: PlanTools,
    pub workspace: Workspace,
    pub compare: Compare,
    pub goal_editor: GoalEditor,
    pub optimise: Optimise,
    pub leaves: Leaves,
    pub window: WindowLevel,
    pub dose_display: DoseDisplay,
    pub dvh_display: DvhDisplay,
    pub set_up_errors: SetUpErrors,
    /// Numbers of the hidden structures.
    pub hidden: BTreeSet<u32>,
    pub show_beams: bool,
    pub room: Room,
    /// The report of the plan that waits for the surfaces of its picture of the room.
    pub report_waits: Option<Target>,
    pub shapes: Shapes,
    /// Fits of the apertures.
    pub fits: beam::state::fits::Fits,
    /// The tool that draws the selected structure.
    pub drawing: Drawing,
    pub aperture: Aperture,
    /// Intersection of the three planes, patient LPS, mm.
    pub crosshair_mm: DVec3,
    /// Position of the pointer in a view, patient LPS, mm.
    pub pointer_mm: Option<DVec3>,
    pub results: CaseResults,
    pub register: Register,
    pub measures: Measures,
    pub notices: Notices,
    pub jobs: Jobs,
    pub about_open: bool,
    pub network: Network,
    pub machine_fit: MachineFit,
    pub machine_files: MachineFiles,
    pub second_check: SecondCheckBox,
    pub protocol: ProtocolBox,
    pub theme: ThemeChoice,
    /// The structure, by ROI number, whose deletion must be confirmed because a plan refers to it.
    pub removal: Option<u32>,
    /// The HU table being edited.
    pub hu_draft: Option<HuDraft>,
    /// Counts finished gestures: a drag of the same widget later is a new step of the history.
    pub gestures: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            history: History::default(),
            origin: None,
            saved: None,
            patients: None,
            strange_doses: Vec::new(),
            references_open: false,
            question: None,
            replacing: Vec::new(),
            export: ExportChoice::default(),
            recoverable: Vec::new(),
            recent: Vec::new(),
            tour: None,
            plan: 0,
            selection: Selection::Nothing,
            plan_tools: PlanTools::default(),
            workspace: Workspace::Plan,
            compare: Compare::default(),
            goal_editor: GoalEditor::default(),
            optimise: Optimise::default(),
            leaves: Leaves::default(),
            window: WINDOW_PRESETS[1].1,
            dose_display: DoseDisplay::default(),
            dvh_display: DvhDisplay::default(),
            set_up_errors: SetUpErrors::default(),
            hidden: BTreeSet::new(),
            show_beams: true,
            room: Room::default(),
            report_waits: None,
            shapes: Shapes::default(),
            fits: beam::state::fits::Fits::default(),
            drawing: Drawing::default(),
            aperture: Aperture::default(),
            crosshair_mm: DVec3::ZERO,
            pointer_mm: None,
            results: CaseResults::default(),
            register: Register::default(),
            measures: Measures::default(),
            notices: Notices::default(),
            jobs: Jobs::default(),
            about_open: false,
            network: Network::default(),
            machine_fit: MachineFit::default(),
            machine_files: MachineFiles::default(),
            second_check: SecondCheckBox::default(),
            protocol: ProtocolBox::default(),
            theme: ThemeChoice::default(),
            removal: None,
            hu_draft: None,
            gestures: 0,
        }
    }
}

impl State {
    pub fn case(&self) -> &Case {
        self.history.case()
    }

    /// The patient's name and ID as far as the files state them, else the source of the case.
    pub fn who(&self) -> String {
        let who = self.case().patient.in_words();
        if who.is_empty() {
            self.case().source.clone()
        } else {
            who
        }
    }

    /// The folder of the case, where it is one of DICOM.
    pub fn folder(&self) -> Option<&Folder> {
        self.origin.as_ref()?.folder.as_ref()
    }

    /// The displayed plan.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.case().plans.get(self.plan)
    }

    /// The selected beam with its index in the displayed plan.
    pub fn selected_beam(&self) -> Option<(usize, &Beam)> {
        let Selection::Beam(number) = self.selection else {
            return None;
        };
        self.plan()?
            .beams
            .iter()
            .enumerate()
            .find(|(_, b)| b.number == number)
    }

    /// The selected structure with its index in the set.
    pub fn selected_structure(&self) -> Option<(usize, &Structure)> {
        let Selection::Structure(number) = self.selection else {
            return None;
        };
        self.case()
            .structures
            .structures
            .iter()
            .enumerate()
            .find(|(_, s)| s.number == number)
    }

    /// Whether there is a step to undo: of the pose while X-rays are registered, else of the case.
    pub fn can_undo(&self) -> bool {
        match self.workspace {
            Workspace::Register => self.register.is_free() && self.register.poses.can_undo(),
            _ => self.history.can_undo(),
        }
    }

    /// Whether there is a step to redo, as [`Self::can_undo`].
    pub fn can_redo(&self) -> bool {
        match self.workspace {
            Workspace::Register => self.register.is_free() && self.register.poses.can_redo(),
            _ => self.history.can_redo(),
        }
    }

    /// Whether a case is loaded.
    pub fn is_loaded(&self) -> bool {
        let case = self.case();
        case.ct.is_some()
            || !case.structures.structures.is_empty()
            || !case.plans.is_empty()
            || !case.doses.is_empty()
    }
}

/// The subject of the inspector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    Nothing,
    Ct,
    Plan,
    /// By beam number.
    Beam(u32),
    /// By ROI number.
    Structure(u32),
    /// Display settings of the dose.
    DoseDisplay,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    #[default]
    Plan,
    Compare,
    Register,
}

impl Workspace {
    pub const ALL: [Self; 3] = [Self::Plan, Self::Compare, Self::Register];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::Compare => "Compare",
            Self::Register => "Register",
        }
    }
}

/// Axes of the DVH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DvhDisplay {
    pub dose: DvhDose,
    pub volume: DvhVolume,
    pub differential: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DvhDose {
    #[default]
    Gy,
    CentiGy,
    /// Percent of the reference of the dose display.
    Percent,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DvhVolume {
    #[default]
    Percent,
    Cm3,
}

/// Which of the four views.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ViewKind {
    Axial,
    Sagittal,
    Coronal,
    Bev,
}

impl ViewKind {
    pub const ALL: [Self; 4] = [Self::Axial, Self::Sagittal, Self::Coronal, Self::Bev];

    /// Name on the screen and for screen readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bev => "Beam's eye",
            Self::Axial | Self::Sagittal | Self::Coronal => self.plane().name(),
        }
    }

    /// The plane that a view pages through. A beam's-eye view crosses all planes and pages as a coronal one.
    pub fn plane(self) -> AnatomicalPlane {
        match self {
            Self::Axial => AnatomicalPlane::Axial,
            Self::Sagittal => AnatomicalPlane::Sagittal,
            Self::Coronal | Self::Bev => AnatomicalPlane::Coronal,
        }
    }
}
