//! The second check of the plan on show, by the same pipeline as `beamsight check`.

use crate::feature::check::state::{CheckAsk, CheckGoals, CheckPhase, Checked};
use analysis::second_check::{MachineUse, Tolerances};
use case::{Case, Plan, Structure, StructureKind, StructureSet};
use dicom::Catalogue;
use engine::JobControl;
use files::{ChosenMachines, GoalTemplate};
use results::{CheckFiles, CheckJob, CheckMachines, second_check};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The case on show with the files it was read from.
pub struct CheckInputs {
    pub case: Case,
    pub catalogue: Option<Arc<Catalogue>>,
    /// The structures of the files.
    pub loaded: Option<Arc<StructureSet>>,
    /// Folder where the models of treatment machines are remembered.
    pub state_folder: Option<PathBuf>,
}

impl CheckInputs {
    /// The plan with the models that compute its beams, and which they are.
    fn models(
        &self,
        files: &CheckFiles,
        plan: &Plan,
        picked: ChosenMachines,
    ) -> Result<(CheckMachines, Plan, Vec<MachineUse>), String> {
        let machines =
            CheckMachines::new(&[], self.state_folder.clone()).map_err(|e| e.to_string())?;
        let (mut machines, mut plan) = (machines.picking(picked), plan.clone());
        let stated = files.stated(&plan);
        let uses = machines.set(&mut plan, &stated);
        Ok((machines, plan, uses))
    }

    /// Which models would compute the beams of a plan.
    pub fn look_up(self, plan: &Plan, picked: ChosenMachines) -> Result<Vec<MachineUse>, String> {
        let files = CheckFiles::of_case(
            Case {
                doses: Vec::new(),
                ..self.case.clone()
            },
            None,
        );
        self.models(&files, plan, picked).map(|(.., uses)| uses)
    }

    /// Inputs that the dose counts otherwise than the plan's files would have them, in words.
    fn changed_in_dose(&self, structures: &StructureSet) -> Vec<String> {
        let loaded = self
            .loaded
            .as_ref()
            .map_or(&[][..], |loaded| &loaded.structures);
        let added = structures
            .structures
            .iter()
            .filter(|s| !loaded.contains(s))
            .filter_map(counted_in_dose);
        let counted: Vec<u32> = structures
            .structures
            .iter()
            .filter(|s| counted_in_dose(s).is_some())
            .map(|s| s.number)
            .collect();
        let removed = loaded
            .iter()
            .filter(|s| !counted.contains(&s.number))
            .filter_map(counted_in_dose);
        added
            .chain(removed.map(|part| format!("without {part}")))
            .collect()
    }

    /// The check, with the messages about the remembered machines.
    pub fn check(
        self,
        ask: CheckAsk,
        control: &JobControl,
        phase: &CheckPhase,
    ) -> Result<(Checked, Vec<String>), String> {
        let goals = match &ask.draft.goals {
            CheckGoals::Template(word) => {
                let template = GoalTemplate::resolve(word).map_err(|e| e.to_string())?;
                template.matched(&ask.structures).goals
            }
            CheckGoals::None | CheckGoals::OfCase => ask.goals.clone(),
        };
        let files = CheckFiles::of_case(self.case.clone(), self.catalogue.as_deref());
        let (machines, plan, uses) = self.models(&files, &ask.plan, ask.draft.picked.clone())?;
        let loaded = self
            .loaded
            .as_ref()
            .map_or(&[][..], |loaded| &loaded.structures);
        let structures = ask.structures.structures.iter();
        let changed_names: Vec<&str> = structures
            .filter(|s| !loaded.contains(s))
            .map(|structure| structure.name.as_str())
            .collect();
        let job = CheckJob {
            files: &files,
            plan: Arc::new(plan),
            machines: uses.clone(),
            settings: &ask.settings,
            engine: ask.draft.engine.into(),
            tolerances: &Tolerances::default().with_gamma(ask.draft.gamma),
            goals: &goals,
            changed_here: self.changed_in_dose(&ask.structures),
        };
        // A line for each beam computed and compared, and for the plan; a Monte Carlo run has more, and stays near the end.
        let (lines, steps) = (AtomicUsize::new(0), 2 * ask.plan.beams.len() + 1);
        let check = second_check(&job, control, &|words: &str| {
            phase.tell(words);
            let done = lines.fetch_add(1, Ordering::Relaxed).min(steps);
            control.report(done as f32 / (steps + 1) as f32);
        });
        let mut check = check.map_err(|e| e.to_string())?;
        if !changed_names.is_empty() {
            check.notes.push(format!(
                "structures made or changed here, not of the plan's files: {}",
                changed_names.join(", ")
            ));
        }
        let notes = machines.keep();
        // What is remembered may have changed since the models were shown.
        let ask = CheckAsk {
            models: uses,
            ..ask
        };
        Ok((Checked { ask, check }, notes))
    }
}

/// The part of a structure in a dose, in words: its density, or its outline if it is the body.
fn counted_in_dose(structure: &Structure) -> Option<String> {
    let has_density = structure.density.is_some_and(|density| !density.off);
    let part = match structure.kind {
        StructureKind::Bolus if has_density => "bolus",
        StructureKind::External => "body",
        _ if has_density => "density of",
        _ => return None,
    };
    Some(format!("{part} '{}'", structure.name))
}
