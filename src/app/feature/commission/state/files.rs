//! The machine files that doses are computed with: one that changes on disk makes them stale.

use crate::state::State;
use physics::MachineContents;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The files are read again after this time, where a frame is drawn.
const EVERY: Duration = Duration::from_secs(2);
/// A look that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// State of the files behind the names of machines at the last look.
#[derive(Debug, Default)]
pub struct MachineFiles {
    seen: BTreeMap<String, MachineContents>,
    requested: Option<Instant>,
    /// Whether the worker is reading them.
    waits: bool,
}

impl State {
    /// The machines whose files are due to be read, by name: machines of all plans and of the second check, at once where one is
    /// new, else every two seconds; none where they were read just now, or all come with the program.
    pub fn machines_to_look_at(&mut self, frame_time: Instant) -> Option<Vec<String>> {
        let check_machines = self
            .second_check
            .models
            .iter()
            .flatten()
            .flatten()
            .map(|models| models.model.as_str());
        let plans = self.history.case().plans.iter();
        let plan_machines =
            plans.flat_map(|plan| plan.beams.iter().map(|beam| plan.machine_of(beam)));
        let files = &self.machine_files;
        let since = files
            .requested
            .map(|last_request| frame_time.duration_since(last_request));
        if files.waits && since.is_some_and(|since| since < PATIENCE) {
            return None;
        }
        let new: BTreeSet<&str> = plan_machines
            .chain(check_machines)
            .filter(|name| !files.seen.contains_key(*name))
            .collect();
        let is_due = since.is_none_or(|since| since >= EVERY)
            && files
                .seen
                .values()
                .any(|contents| *contents != MachineContents::Shipped);
        if new.is_empty() && !is_due {
            return None;
        }
        let names = new
            .into_iter()
            .chain(files.seen.keys().map(String::as_str))
            .map(str::to_owned)
            .collect();
        self.machine_files.requested = Some(frame_time);
        self.machine_files.waits = true;
        Some(names)
    }

    /// Looks again in the next frame: a file was written here.
    pub fn look_at_machines_again(&mut self) {
        self.machine_files.requested = None;
    }

    /// Takes the present state of the files; returns the names of those that have changed, whose doses are thereby
    /// stale.
    pub fn take_machine_contents(
        &mut self,
        contents: Vec<(String, MachineContents)>,
    ) -> Vec<String> {
        self.machine_files.waits = false;
        let seen = &mut self.machine_files.seen;
        let changed = contents.into_iter().filter_map(|(name, contents)| {
            let previous = seen.insert(name.clone(), contents.clone());
            previous
                .is_some_and(|previous| previous != contents)
                .then_some(name)
        });
        let changed: Vec<String> = changed.collect();
        self.results.settings.machine_changes += u32::from(!changed.is_empty());
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Beam, Case, Jaws, Plan};
    use glam::DVec3;
    use std::sync::Arc;

    fn with_machines(names: &[&str]) -> State {
        let mut state = State::default();
        let mut plan = Plan::new("P", names[0]);
        plan.beams = names
            .iter()
            .map(|name| Beam {
                machine: Some((*name).to_owned()),
                ..Beam::fixed("B", 1, 0.0, DVec3::ZERO, Jaws::symmetric(50.0, 50.0), 1.0)
            })
            .collect();
        state.history = case::History::new(Case {
            plans: vec![Arc::new(plan)],
            ..Case::default()
        });
        state
    }

    /// Contents of a file of the user's own, beside a machine that comes with the program.
    fn contents(file: MachineContents) -> Vec<(String, MachineContents)> {
        vec![
            ("generic-6mv".to_owned(), MachineContents::Shipped),
            ("my.toml".to_owned(), file),
        ]
    }

    #[test]
    fn a_file_is_looked_at_when_new_and_from_time_to_time() {
        let begin = Instant::now();
        let [after_1_s, after_2_s, after_3_s, after_20_s, after_60_s] =
            [1, 2, 3, 20, 60].map(|s| begin + Duration::from_secs(s));
        let mut shipped = with_machines(&["generic-6mv"]);
        assert_eq!(
            shipped.machines_to_look_at(begin),
            Some(vec!["generic-6mv".to_owned()])
        );
        shipped.take_machine_contents(vec![("generic-6mv".to_owned(), MachineContents::Shipped)]);
        assert_eq!(
            shipped.machines_to_look_at(after_60_s),
            None,
            "it cannot change"
        );

        let mut state = with_machines(&["my.toml", "generic-6mv"]);
        let both = Some(vec!["generic-6mv".to_owned(), "my.toml".to_owned()]);
        assert_eq!(state.machines_to_look_at(begin), both);
        assert_eq!(
            state.machines_to_look_at(after_20_s),
            None,
            "the worker reads"
        );
        // Seen for the first time is no change.
        assert_eq!(
            state.take_machine_contents(contents(MachineContents::File(1))),
            Vec::<String>::new()
        );
        assert_eq!(state.machines_to_look_at(after_1_s), None);
        assert_eq!(state.machines_to_look_at(after_2_s), both);
        assert_eq!(
            state.take_machine_contents(contents(MachineContents::File(1))),
            Vec::<String>::new()
        );
        assert_eq!(state.results.settings.machine_changes, 0);
        for (changes, file) in [
            (1, MachineContents::File(2)),
            (2, MachineContents::Unreadable),
        ] {
            state.look_at_machines_again();
            assert_eq!(state.machines_to_look_at(after_3_s), both);
            assert_eq!(state.take_machine_contents(contents(file)), ["my.toml"]);
            assert_eq!(state.results.settings.machine_changes, changes);
        }
    }
}
