//! Goals of both lungs without the targets, in a case that has a left and a right lung alone.

use crate::command::{Command, Commands};
use crate::feature::goals::command::GoalAction;
use crate::feature::structures::panel::around::{LUNGS_HINT, lungs_without_targets};
use crate::kit::theme;
use crate::state::State;
use case::{Goal, name_letters};
use egui::{Button, RichText, Ui};

/// Offers to make the structure of goals of the lungs that the case has no structure for.
pub(super) fn offer(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let set = &state.case().structures;
    let is_without = |goal: &Goal| {
        let letters = name_letters(&goal.structure);
        (letters == "lung" || letters.starts_with("lungs"))
            && set.referenced(goal.number, &goal.structure).is_err()
    };
    let goals = state.goals();
    if !goals.iter().any(is_without) {
        return;
    }
    let Ok(lungs) = lungs_without_targets(set) else { return };
    ui.horizontal_wrapped(|ui| {
        let text = RichText::new("Goals of the lungs have no structure.").small();
        ui.label(text.color(theme::palette(ui).warning));
        let button = ui.add(Button::new(RichText::new(format!("Make {}", lungs.name)).small()));
        if button.on_hover_text(LUNGS_HINT).clicked() {
            // Goals that come to know the name first find the structure once its contours are made.
            for (index, goal) in goals.iter().enumerate().filter(|(_, goal)| is_without(goal)) {
                if goal.structure != lungs.name {
                    let goal = goal.clone().of_structure(&lungs.name, None);
                    commands.push(Command::Goals(GoalAction::Set { index, goal, gesture: None }));
                }
            }
            if set.by_name(&lungs.name).is_none() {
                lungs.make(lungs.name.clone(), commands);
            }
        }
    });
}
