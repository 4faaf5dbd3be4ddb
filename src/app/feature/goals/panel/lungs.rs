//! Goals of both lungs without the targets, in a case that has a left and a right lung alone.

use crate::command::{Command, Commands};
use crate::feature::goals::command::GoalAction;
use crate::feature::structures::panel::around::{LUNGS_HINT, lungs_without_targets};
use crate::kit::theme;
use crate::state::State;
use case::{Goal, StructureSet, name_letters};
use egui::{Button, RichText, Ui};

/// Offers to create the structure for lung goals where the case has none.
pub(super) fn offer(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let set = &state.case().structures;
    let goals = state.goals();
    if !goals.iter().any(|goal| lacks_lungs(goal, set)) {
        return;
    }
    let Ok(lungs) = lungs_without_targets(set) else {
        return;
    };
    ui.horizontal_wrapped(|ui| {
        let text = RichText::new("Goals of the lungs have no structure.").small();
        ui.label(text.color(theme::palette(ui).warning));
        let button = ui.add(Button::new(
            RichText::new(format!("Make {}", lungs.name)).small(),
        ));
        if button.on_hover_text(LUNGS_HINT).clicked() {
            // Goals that are renamed first find the structure once its contours exist.
            for (index, goal) in goals
                .iter()
                .enumerate()
                .filter(|(_, goal)| lacks_lungs(goal, set))
            {
                if goal.structure != lungs.name {
                    let goal = goal.clone().of_structure(&lungs.name, None);
                    commands.push(Command::Goals(GoalAction::Set {
                        index,
                        goal,
                        gesture: None,
                    }));
                }
            }
            if set.by_name(&lungs.name).is_none() {
                lungs.make(lungs.name.clone(), commands);
            }
        }
    });
}

/// Whether a goal is of the lungs, and its structure is missing.
fn lacks_lungs(goal: &Goal, set: &StructureSet) -> bool {
    let letters = name_letters(&goal.structure);
    (letters == "lung" || letters.starts_with("lungs"))
        && set.referenced(goal.number, &goal.structure).is_err()
}
