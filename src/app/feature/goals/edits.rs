//! The clinical goals, changed: every change is one undoable step.

use crate::feature::goals::command::GoalAction;
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State};
use analysis::target_of;
use case::{Bound, Edit, Goal, GoalError, Metric, StructureKind};
use files::GoalTemplate;
use std::path::PathBuf;
use worker::Task;

impl State {
    pub fn change_goals(&mut self, action: GoalAction) {
        let mut goals = self.goals();
        match action {
            GoalAction::Open(goal) => self.goal_editor.open = goal.filter(|n| *n < goals.len()),
            GoalAction::InPlaceOfMetrics(on) => self.goal_editor.in_place_of_metrics = on,
            GoalAction::ShowObjectives(on) => self.goal_editor.hides_objectives = !on,
            GoalAction::Draft(text) => {
                self.goal_editor.draft = text;
                self.goal_editor.fault = None;
            }
            GoalAction::AddTyped(text) => match self.typed_goal(&text) {
                Ok(goal) => {
                    goals.push(goal);
                    self.set_goals(goals, None);
                    self.goal_editor.draft.clear();
                    self.goal_editor.fault = None;
                }
                Err(why) => self.goal_editor.fault = Some(why),
            },
            GoalAction::Add => {
                let Some(goal) = self.usual_goal(&goals) else {
                    return;
                };
                goals.push(goal);
                let last = goals.len() - 1;
                self.set_goals(goals, None);
                self.goal_editor.open = Some(last);
            }
            GoalAction::Set {
                index,
                goal,
                gesture,
            } => {
                let Some(old) = goals.get_mut(index) else {
                    return;
                };
                *old = goal;
                self.set_goals(goals, gesture);
            }
            GoalAction::Drag {
                index,
                goal,
                gesture,
            } => self.drag_goal(index, goal, gesture),
            GoalAction::Remove(index) => {
                if index < goals.len() {
                    goals.remove(index);
                    self.set_goals(goals, None);
                    self.goal_editor.open = None;
                }
            }
            GoalAction::Move { index, up } => self.move_goal(goals, index, up),
            GoalAction::RemoveAll => {
                self.set_goals(Vec::new(), None);
                self.goal_editor.open = None;
            }
            GoalAction::Template(word) => match GoalTemplate::resolve(word) {
                Ok(template) => self.add_template(&template),
                Err(why) => self.notices.add(NoticeKind::Error, why.to_string()),
            },
        }
    }

    /// A typed goal of the structure of the case that its name means, or why there is none.
    fn typed_goal(&self, text: &str) -> Result<Goal, String> {
        let goal: Goal = text.parse().map_err(|why: GoalError| why.to_string())?;
        let structure = self
            .case()
            .structures
            .meant(&goal.structure)
            .map_err(|why| why.to_string())?;
        goal.nonsense().map_or(Ok(()), Err)?;
        Ok(goal.of_structure(&structure.name, Some(structure.number)))
    }

    /// Adds the goals of a template to the goals of the case, else to the usual goals of the target; a goal that exists is not doubled.
    pub fn add_template(&mut self, template: &GoalTemplate) {
        let matched = template.matched(&self.case().structures);
        let mut goals = match self.goals_are_usual() {
            // The usual goals would vanish once the case holds others; they wait for a prescription where there is none yet.
            true => self.usual_goals(),
            false => self.goals(),
        };
        let previous_count = goals.len();
        for goal in matched.goals {
            // Two templates may share goals, and a template may be added twice.
            if !goals.contains(&goal) {
                goals.push(goal);
            }
        }
        let mut text = format!(
            "{}: {} goals added.",
            template.name,
            goals.len() - previous_count
        );
        let kind = if matched.unmatched.is_empty() {
            NoticeKind::Success
        } else {
            NoticeKind::Warning
        };
        if !matched.unmatched.is_empty() {
            text += &format!(
                " The case has no structure for {}: choose one in the goal, or remove it.",
                matched.unmatched.join(", ")
            );
        }
        self.set_goals(goals, None);
        self.goal_editor.open = None;
        self.notices.add(kind, text);
    }

    fn set_goals(&mut self, goals: Vec<Goal>, gesture: Option<u64>) {
        self.edit(Edit::SetGoals(goals), gesture);
    }

    /// A goal to begin with: of the selected structure, else of the first without goals.
    fn usual_goal(&self, goals: &[Goal]) -> Option<Goal> {
        let set = &self.case().structures.structures;
        let target = self
            .plan()
            .and_then(|plan| target_of(plan, &self.case().structures));
        let selected = self.selected_structure().map(|(_, structure)| structure);
        let without_goal = set.iter().find(|s| {
            s.kind != StructureKind::External
                && goals.iter().all(|goal| goal.number != Some(s.number))
        });
        let structure = selected.or(without_goal).or(target).or(set.first())?;
        let is_target = structure.kind.is_target();
        let goal = match Goal::of_target(&structure.name).into_iter().next() {
            Some(goal) if is_target && self.goal_hundred().is_some() => goal,
            _ if is_target => Goal::new(&structure.name, Metric::D95, Bound::AtLeast, 60.0),
            _ => Goal::new(&structure.name, Metric::MAX, Bound::AtMost, 50.0),
        };
        Some(goal.of_structure(&structure.name, Some(structure.number)))
    }

    /// Exchanges a goal with its neighbour in the order of priorities; the priorities keep their places.
    fn move_goal(&mut self, mut goals: Vec<Goal>, index: usize, up: bool) {
        let mut order: Vec<usize> = (0..goals.len()).collect();
        order.sort_by_key(|n| goals[*n].priority());
        let Some(position) = order.iter().position(|n| *n == index) else {
            return;
        };
        let Some(neighbour) = (if up {
            position.checked_sub(1)
        } else {
            Some(position + 1)
        })
        .filter(|neighbour| *neighbour < order.len()) else {
            return;
        };
        let (a, b) = (order[position], order[neighbour]);
        let (pa, pb) = (goals[a].priority(), goals[b].priority());
        if pa == pb {
            goals.swap(a, b);
            // The goal that is open stays open.
            if self.goal_editor.open == Some(a) {
                self.goal_editor.open = Some(b);
            }
        } else {
            // Beside the last of the next priority, as one of them.
            goals[a] = goals[a].clone().with_priority(pb);
        }
        self.set_goals(goals, None);
    }
}

impl Requests<'_> {
    /// Reads a template of goals and adds its goals.
    pub fn open_goals(&mut self, path: PathBuf) {
        let task = Task::new("Reading a template of goals", move |_| {
            GoalTemplate::read(&path)
                .map(|t| JobAnswer::then(move |window| window.state.add_template(&t)))
                .map_err(|e| e.to_string())
        });
        self.worker.submit(Slot::Goals, task);
    }
}
