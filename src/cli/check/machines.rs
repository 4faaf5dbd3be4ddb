//! The machine models of `--machine`, and those kept from earlier calls.

use crate::analysis::second_check::MachineUse;
use crate::files::{ChosenMachines, state_folder};
use crate::physics::Machine;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Given and remembered models.
pub struct Machines {
    given: Vec<(String, Arc<Machine>)>,
    chosen: ChosenMachines,
    /// Where choices are kept, and whether there are new ones; `None` where they are not kept.
    folder: Option<PathBuf>,
    changed: bool,
    notes: Vec<String>,
}

impl Machines {
    /// # Errors
    /// A model that cannot be used.
    pub fn new(words: &[String]) -> anyhow::Result<Self> {
        let model = |word: &String| Ok((lasting(word), Machine::resolve(word)?));
        let given = words.iter().map(model).collect::<anyhow::Result<_>>()?;
        let mut machines = Self {
            given,
            chosen: ChosenMachines::default(),
            folder: state_folder(),
            changed: false,
            notes: Vec::new(),
        };
        match machines.folder.as_deref().map(ChosenMachines::load) {
            Some(Ok(chosen)) => machines.chosen = chosen,
            Some(Err(why)) => {
                // A damaged file is the user's to mend: it is not replaced.
                machines.folder = None;
                machines.notes.push(format!("{why}; nothing of it is used, and no machine is remembered"));
            }
            None => {}
        }
        Ok(machines)
    }

    pub fn given(&self) -> &[(String, Arc<Machine>)] {
        &self.given
    }

    pub fn chosen(&self) -> &ChosenMachines {
        &self.chosen
    }

    /// Remembers the models that were given and fit.
    pub fn note(&mut self, uses: &[MachineUse]) {
        for of in uses.iter().filter(|of| of.choice == "given" && of.why_not.is_none()) {
            if !of.machine.is_empty() && self.chosen.model_of(&of.machine, &of.quality) != Some(&of.model) {
                self.chosen.choose(&of.machine, &of.quality, &of.model);
                self.changed = true;
            }
        }
    }

    /// Writes new choices; what is to be told of them.
    pub fn keep(mut self) -> Vec<String> {
        if let (true, Some(folder)) = (self.changed, &self.folder)
            && let Err(why) = self.chosen.save(folder)
        {
            self.notes.push(format!("{why}; the machine is not remembered"));
        }
        self.notes
    }
}

/// The word of a model that holds wherever the next call runs: a path as an absolute one.
fn lasting(word: &str) -> String {
    if Machine::shipped().iter().any(|name| name == word) {
        return word.to_owned();
    }
    let absolute = std::path::absolute(Path::new(word)).ok();
    absolute.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| word.to_owned())
}
