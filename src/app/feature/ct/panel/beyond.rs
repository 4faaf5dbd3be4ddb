//! Tissue of the patient beyond the ends of the HU table.

use crate::kit::theme;
use crate::state::State;
use egui::{Label, RichText, Ui};

pub fn hu_remarks(ui: &mut Ui, state: &State) {
    for remark in state.results.hu_remarks() {
        ui.add(
            Label::new(
                RichText::new(remark)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
}
