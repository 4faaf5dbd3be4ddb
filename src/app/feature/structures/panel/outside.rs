//! Remedies for matter that the beams pass outside the body: the couch of the CT, as a rule.

use crate::command::{Command, Commands};
use crate::kit::theme;
use crate::state::State;
use analysis::OUTSIDE_CAVEAT;
use case::{DensityOverride, DoseStatus, Medium};
use egui::{Label, RichText, Ui};

/// Shown while the displayed dose leaves such matter out, with the two ways to make the dose whole.
pub fn offer(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let dose = state
        .results
        .shown_dose()
        .filter(|dose| dose.status != DoseStatus::Stale);
    if !dose.is_some_and(|dose| dose.caveats.iter().any(|caveat| caveat == OUTSIDE_CAVEAT)) {
        return;
    }
    let text = "Beams pass matter outside the body, which is not counted: the couch of the CT?";
    ui.add(
        Label::new(
            RichText::new(text)
                .small()
                .color(theme::palette(ui).warning),
        )
        .wrap(),
    );
    ui.horizontal_wrapped(|ui| {
        for (word, hint, density) in choices() {
            if ui.button(word).on_hover_text(hint).clicked() {
                commands.push(Command::CouchFromCt(density));
            }
        }
    });
}

/// The same from the menu of new structures.
pub fn in_menu(ui: &mut Ui, commands: &mut Commands) {
    let [(_, hint, density), _] = choices();
    if ui.button("Couch from CT").on_hover_text(hint).clicked() {
        commands.push(Command::CouchFromCt(density));
        ui.close();
    }
}

fn choices() -> [(&'static str, &'static str, DensityOverride); 2] {
    [
        (
            "Count it as scanned",
            "Contours what the CT shows outside the body as a structure of type SUPPORT with the CT's densities: right for \
             what the patient is treated with, too",
            DensityOverride::AS_SCANNED,
        ),
        (
            "Leave it out",
            "Contours it with the density of air: right for a couch of the scanner that is not there at treatment. Insert \
             the couch of the treatment unit instead",
            DensityOverride::preset(Medium::Air),
        ),
    ]
}
