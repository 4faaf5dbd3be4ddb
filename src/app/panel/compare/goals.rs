//! The clinical goals of the comparison.

use super::dvh::goals_of;
use crate::analysis::Goal;
use crate::app::panel::section;
use crate::app::state::State;
use crate::app::state::compare::Compare;
use crate::app::theme;
use egui::{Button, Key, Label, RichText, TextEdit, Ui};

/// Shows the goals with a field for another.
pub fn show(ui: &mut Ui, state: &State, next: &mut Compare) {
    section(ui, "Clinical goals");
    let mut remove = None;
    for (n, goal) in next.goals.iter().enumerate() {
        ui.horizontal(|ui| {
            let button = ui.add(Button::new("×").small());
            if button.accessible_name(format!("Remove goal {}", n + 1)).clicked() {
                remove = Some(n);
            }
            ui.add(Label::new(RichText::new(goal.to_string()).small()).truncate());
        });
    }
    if let Some(n) = remove {
        next.goals.remove(n);
    }
    if next.goals.is_empty() {
        let given = goals_of(state);
        let text = if given.is_empty() { "none" } else { "of the target, as long as none is typed" };
        ui.label(RichText::new(text).small().color(theme::WEAK));
    }
    ui.horizontal(|ui| {
        let (text, why) = &mut next.goal_draft;
        let field = TextEdit::singleline(text).desired_width(190.0).hint_text("Cord: Dmax <= 45 Gy");
        let response = ui.add(field).accessible_name("New goal");
        let entered = response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        if (ui.button("Add").accessible_name("Add goal").clicked() || entered) && !text.trim().is_empty() {
            match text.parse::<Goal>() {
                Ok(goal) => {
                    next.goals.push(goal);
                    *why = None;
                    text.clear();
                }
                Err(error) => *why = Some(error.to_string()),
            }
        }
    });
    if let Some(why) = &next.goal_draft.1 {
        ui.add(Label::new(RichText::new(why).small().color(theme::ERROR)).wrap());
    }
}
