//! The machine models that a check is given, and those kept from earlier ones.

use analysis::second_check::{MachineUse, Models, choose_machines};
use case::Plan;
use dicom::StatedPlan;
use files::ChosenMachines;
use physics::{Machine, MachineError};
use std::path::{Path, PathBuf};

/// Given and remembered models.
#[derive(Debug)]
pub struct CheckMachines {
    models: Models,
    /// Folder where choices are kept, and whether there are new ones; `None` where they are not kept.
    folder: Option<PathBuf>,
    changed: bool,
    notes: Vec<String>,
}

impl CheckMachines {
    /// The models of these words; `folder` is the program's state folder, where there is one.
    ///
    /// # Errors
    /// A model that cannot be used.
    pub fn new(words: &[String], folder: Option<PathBuf>) -> Result<Self, MachineError> {
        let mut models = Models::default();
        for word in words {
            models.given.push((lasting(word), Machine::resolve(word)?));
        }
        let mut machines = Self {
            models,
            folder,
            changed: false,
            notes: Vec::new(),
        };
        match machines.folder.as_deref().map(ChosenMachines::load) {
            Some(Ok(remembered)) => machines.models.remembered = remembered,
            Some(Err(why)) => {
                // A damaged file is the user's to mend: it is not replaced.
                machines.folder = None;
                machines.notes.push(format!(
                    "{why}; nothing of it is used, and no machine is remembered"
                ));
            }
            None => {}
        }
        Ok(machines)
    }

    /// With models picked for treatment machines.
    #[must_use]
    pub fn picking(mut self, picked: ChosenMachines) -> Self {
        self.models.picked = picked;
        self
    }

    /// Sets the models of the beams of a plan; those that were given and fit are remembered.
    pub fn set(&mut self, plan: &mut Plan, stated: &StatedPlan) -> Vec<MachineUse> {
        let uses = choose_machines(plan, &stated.machines, &self.models);
        for used in uses
            .iter()
            .filter(|used| used.choice == "given" && used.why_not.is_none())
        {
            let remembered = &mut self.models.remembered;
            if !used.machine.is_empty()
                && remembered.model_of(&used.machine, &used.quality) != Some(&used.model)
            {
                remembered.choose(&used.machine, &used.quality, &used.model);
                self.changed = true;
            }
        }
        uses
    }

    /// Writes new choices; what is to be told of them.
    pub fn keep(mut self) -> Vec<String> {
        if let (true, Some(folder)) = (self.changed, &self.folder)
            && let Err(why) = self.models.remembered.save(folder)
        {
            self.notes
                .push(format!("{why}; the machine is not remembered"));
        }
        self.notes
    }
}

/// The word of a model that holds wherever the next call runs: a path as an absolute one.
fn lasting(word: &str) -> String {
    if Machine::is_shipped(word) {
        return word.to_owned();
    }
    let absolute = std::path::absolute(Path::new(word)).ok();
    absolute
        .and_then(|path| path.to_str().map(str::to_owned))
        .unwrap_or_else(|| word.to_owned())
}
