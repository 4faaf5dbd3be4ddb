//! The second check of the plan on show: what is asked, and which of that the last answer answers.

use crate::state::State;
use crate::state::results::Settings;
use analysis::DEFAULT_GRID_MM;
use analysis::second_check::{MachineUse, SecondCheck, Tolerances};
use case::{DoseEngine, Goal, Plan, StructureSet};
use engine::dose::Quality;
use files::ChosenMachines;
use std::sync::{Arc, Mutex, PoisonError};

/// The box of the second check.
#[derive(Debug, Default)]
pub struct SecondCheckBox {
    pub is_open: bool,
    pub draft: CheckDraft,
    /// Inputs of the latest look-up of models.
    pub models_of: Option<ModelsAsk>,
    /// Its models, or why there are none.
    pub models: Option<Result<Vec<MachineUse>, String>>,
    /// The treatment machine and beam quality for which a file of a model is being chosen.
    pub picks_file_for: Option<(String, String)>,
    pub running: Option<Arc<CheckPhase>>,
    pub answer: Option<Box<Checked>>,
}

/// Options of a check, as the user sets them.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDraft {
    pub engine: DoseEngine,
    /// Spacing of the recomputed dose; a finer grid of the dose on show goes before it.
    pub grid_mm: f64,
    /// Percent and mm, global.
    pub gamma: [f64; 2],
    pub goals: CheckGoals,
    /// Models picked for treatment machines.
    pub picked: ChosenMachines,
}

/// Which goals are shown in both doses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CheckGoals {
    None,
    #[default]
    OfCase,
    /// A template: its word or path.
    Template(String),
}

impl Default for CheckDraft {
    fn default() -> Self {
        let limits = Tolerances::default();
        Self {
            engine: DoseEngine::default(),
            grid_mm: DEFAULT_GRID_MM,
            gamma: [limits.gamma_dose_percent, limits.gamma_dta_mm],
            goals: CheckGoals::default(),
            picked: ChosenMachines::default(),
        }
    }
}

/// One command of the user.
#[derive(Debug)]
pub enum CheckAction {
    Open(bool),
    Draft(CheckDraft),
    /// Asks for the file of a model, for a treatment machine and beam quality.
    PickFile(String, String),
    Run,
}

/// Inputs of the beams' models.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelsAsk {
    /// The number of the case.
    pub case: u64,
    pub plan: Arc<Plan>,
    pub picked: ChosenMachines,
}

/// All that an answer follows from: an answer to anything else is stale.
#[derive(Clone, Debug)]
pub struct CheckAsk {
    /// The number of the case.
    pub case: u64,
    /// As its file has it.
    pub plan: Arc<Plan>,
    pub structures: Arc<StructureSet>,
    pub settings: Settings,
    pub draft: CheckDraft,
    /// Goals of the case, where they are to be shown.
    pub goals: Vec<Goal>,
    pub models: Vec<MachineUse>,
}

/// An answer, and what it is the answer to.
#[derive(Debug)]
pub struct Checked {
    pub ask: CheckAsk,
    pub check: SecondCheck,
}

/// Phase of a check under way, in words.
#[derive(Debug, Default)]
pub struct CheckPhase(Mutex<String>);

impl CheckPhase {
    pub fn tell(&self, words: &str) {
        words.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn words(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl State {
    /// The plan on show as its file has it, or why it cannot be checked, a sentence. The planned dose comes from the file: a
    /// plan changed here has none to be compared with. Which models compute its beams is chosen in the check.
    pub fn plan_to_check(&self) -> Result<Arc<Plan>, String> {
        if !self.is_loaded() {
            return Err(
                "Open the folder of a plan: CT, RTPLAN and RTDOSE, and RTSTRUCT where there is one.".into()
            );
        }
        let case = self.case();
        let Some(plan) = self.plan() else {
            return Err(format!("Not checked: {}.", case.no_plan()));
        };
        let source = case.sources.of_plan(plan).filter(|_| plan.uid.is_some());
        let Some(read) = source.map(|source| &source.read) else {
            return Err(format!(
                "The plan '{}' is of no file of DICOM: no dose of it came from elsewhere.",
                plan.name
            ));
        };
        let is_as_read = Arc::ptr_eq(plan, read) || {
            let (machine, remarks) = (read.machine.clone(), read.remarks.clone());
            let mut unassigned = Plan {
                machine,
                remarks,
                ..Plan::clone(plan)
            };
            for (beam, read) in unassigned.beams.iter_mut().zip(&read.beams) {
                beam.machine.clone_from(&read.machine);
            }
            unassigned == **read
        };
        if !is_as_read {
            return Err(format!(
                "The plan '{}' has been changed here, so that the dose of its file is not its own: undo the changes, or open \
                 the folder again.",
                plan.name
            ));
        }
        Ok(Arc::clone(read))
    }

    /// Inputs of the models for the plan on show.
    pub fn models_to_ask(&self) -> Option<ModelsAsk> {
        let case = self.origin.as_ref()?.number;
        let (plan, picked) = (
            self.plan_to_check().ok()?,
            self.second_check.draft.picked.clone(),
        );
        Some(ModelsAsk { case, plan, picked })
    }

    /// Inputs of a check at present, or why there is none, a sentence.
    pub fn check_to_ask(&self) -> Result<CheckAsk, String> {
        let (plan, models_ask) = (self.plan_to_check()?, self.models_to_ask());
        let SecondCheckBox {
            draft,
            models_of,
            models,
            ..
        } = &self.second_check;
        let models = match models
            .as_ref()
            .filter(|_| models_ask.is_some() && *models_of == models_ask)
        {
            None => return Err("The models of the plan's machines are being looked up.".to_owned()),
            Some(Err(why)) => return Err(format!("Not checked: {why}.")),
            Some(Ok(models)) => models.clone(),
        };
        let settings = &self.results.settings;
        let settings = Settings {
            // A coarse dose is no check.
            grid_mm: settings.grid_mm.min(draft.grid_mm),
            quality: Quality::default(),
            ..settings.clone()
        };
        Ok(CheckAsk {
            case: self.origin.as_ref().map_or(0, |origin| origin.number),
            plan,
            structures: Arc::clone(&self.case().structures),
            settings,
            draft: draft.clone(),
            goals: if draft.goals == CheckGoals::OfCase {
                self.goals()
            } else {
                Vec::new()
            },
            models,
        })
    }

    /// Changes since the check ran, in words; `None` for an answer that holds.
    pub fn check_is_stale(&self) -> Option<String> {
        let checked = &self.second_check.answer.as_ref()?.ask;
        let current = match self.check_to_ask() {
            Ok(current) => current,
            Err(why) => return Some(why),
        };
        let parts = [
            (checked.case != current.case, "the case"),
            (checked.plan != current.plan, "the plan on show"),
            (
                !Arc::ptr_eq(&checked.structures, &current.structures),
                "the structures",
            ),
            (
                checked.settings.machine_changes != current.settings.machine_changes,
                "the file of a machine",
            ),
            (
                settings_differ(&checked.settings, &current.settings),
                "the settings of the computation",
            ),
            (checked.models != current.models, "the machine"),
            (checked.draft.engine != current.draft.engine, "the engine"),
            (
                checked.draft.gamma != current.draft.gamma,
                "the criterion of gamma",
            ),
            (
                checked.goals != current.goals || checked.draft.goals != current.draft.goals,
                "the goals",
            ),
        ];
        let changed: Vec<&str> = parts
            .into_iter()
            .filter_map(|(differs, what)| differs.then_some(what))
            .collect();
        (!changed.is_empty()).then(|| format!("Changed since: {}.", changed.join(", ")))
    }
}

/// Whether settings of the computation differ, files of machines aside.
fn settings_differ(checked: &Settings, current: &Settings) -> bool {
    *current
        != Settings {
            machine_changes: current.machine_changes,
            ..checked.clone()
        }
}
