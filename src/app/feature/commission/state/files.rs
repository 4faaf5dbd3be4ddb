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
    asked: Option<Instant>,
    /// Whether the worker is reading them.
    waits: bool,
}

impl State {
    /// The names of machines to be looked at now: those of all plans and of the second check, at once where one is new, else from
    /// time to time; none where they were looked at just now, or all come with the program.
    pub fn machines_to_look_at(&mut self, now: Instant) -> Option<Vec<String>> {
        let of_check = self
            .second_check
            .models
            .iter()
            .flatten()
            .flatten()
            .map(|of| of.model.as_str());
        let plans = self.history.case().plans.iter();
        let of_plans = plans.flat_map(|plan| plan.beams.iter().map(|beam| plan.machine_of(beam)));
        let files = &self.machine_files;
        let since = files.asked.map(|asked| now.duration_since(asked));
        if files.waits && since.is_some_and(|since| since < PATIENCE) {
            return None;
        }
        let new: BTreeSet<&str> = of_plans
            .chain(of_check)
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
        self.machine_files.asked = Some(now);
        self.machine_files.waits = true;
        Some(names)
    }

    /// Looks again in the next frame: a file was written here.
    pub fn look_at_machines_again(&mut self) {
        self.machine_files.asked = None;
    }

    /// Takes the present state of the files; returns the names of those that have changed, whose doses are thereby
    /// stale.
    pub fn take_machine_contents(
        &mut self,
        contents: Vec<(String, MachineContents)>,
    ) -> Vec<String> {
        self.machine_files.waits = false;
        let seen = &mut self.machine_files.seen;
        let differs = |(name, now): (String, MachineContents)| {
            let before = seen.insert(name.clone(), now.clone());
            before.is_some_and(|before| before != now).then_some(name)
        };
        let changed: Vec<String> = contents.into_iter().filter_map(differs).collect();
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

    #[test]
    fn a_file_is_looked_at_when_new_and_from_time_to_time() {
        let begin = Instant::now();
        let later = |s: u64| begin + Duration::from_secs(s);
        let mut shipped = with_machines(&["generic-6mv"]);
        assert_eq!(
            shipped.machines_to_look_at(begin),
            Some(vec!["generic-6mv".to_owned()])
        );
        shipped.take_machine_contents(vec![("generic-6mv".to_owned(), MachineContents::Shipped)]);
        assert_eq!(
            shipped.machines_to_look_at(later(60)),
            None,
            "it cannot change"
        );

        let mut state = with_machines(&["my.toml", "generic-6mv"]);
        let both = Some(vec!["generic-6mv".to_owned(), "my.toml".to_owned()]);
        assert_eq!(state.machines_to_look_at(begin), both);
        assert_eq!(
            state.machines_to_look_at(later(20)),
            None,
            "the worker reads"
        );
        let contents = |n| {
            let file = ("my.toml".to_owned(), n);
            vec![("generic-6mv".to_owned(), MachineContents::Shipped), file]
        };
        let changes = |state: &State| state.results.settings.machine_changes;
        // Seen for the first time is no change.
        assert_eq!(
            state.take_machine_contents(contents(MachineContents::File(1))),
            Vec::<String>::new()
        );
        assert_eq!(state.machines_to_look_at(later(1)), None);
        assert_eq!(state.machines_to_look_at(later(2)), both);
        assert_eq!(
            state.take_machine_contents(contents(MachineContents::File(1))),
            Vec::<String>::new()
        );
        assert_eq!(changes(&state), 0);
        for (n, now) in [
            (1, MachineContents::File(2)),
            (2, MachineContents::Unreadable),
        ] {
            state.look_at_machines_again();
            assert_eq!(state.machines_to_look_at(later(3)), both);
            assert_eq!(state.take_machine_contents(contents(now)), ["my.toml"]);
            assert_eq!(changes(&state), n);
        }
    }
}
