//! The greatest true dose outside the targets, below the objectives, and remarks on the optimisation.

use crate::command::{Command, Commands};
use crate::kit::theme;
use crate::state::State;
use analysis::HotSpot;
use egui::{Button, Label, RichText, Ui};

/// Shows the hot spot and the remarks of the last answer, where the plan has or gets its maps.
pub(super) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(latest) = state
        .optimise
        .view
        .latest()
        .filter(|_| state.other_shares().is_some())
    else {
        return;
    };
    let prescription_gy = state.plan().and_then(|plan| plan.prescription_gy);
    if let Some(HotSpot { gy, at_mm }) = latest.hottest_outside {
        let percent = prescription_gy.map_or_else(String::new, |hundred| {
            format!(" ({:.0} %)", 100.0 * gy / hundred)
        });
        let words = format!("Outside the targets up to {gy:.2} Gy{percent}");
        let button = ui.add(Button::new(RichText::new(words).small()).frame(false));
        let hint = "Greatest true dose of the body, 3 mm and more from the targets, when it was last looked at. A click goes there";
        if button.on_hover_text(hint).clicked() {
            commands.push(Command::CentreOn(at_mm));
        }
    }
    for remark in &*latest.remarks {
        let text = RichText::new(remark.to_string())
            .small()
            .color(theme::palette(ui).warning);
        ui.add(Label::new(text).wrap());
    }
}
