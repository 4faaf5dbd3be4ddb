//! Delivery of a plan by its leaves.

use crate::kit::{field, fields, section, theme};
use crate::state::State;
use egui::{Role, Ui, WidgetInfo};

/// Shows monitor units, time and modulation of a plan whose beams all have leaves.
pub fn show(ui: &mut Ui, state: &State) {
    let Some(delivery) = state.delivery() else {
        return;
    };
    section(ui, "Delivery");
    let figures = &delivery.of_plan.figures;
    let complexity = "Modulation complexity score (McNiven et al., Med. Phys. 37, 505 (2010)): 1 for one open rectangle, less the more leaves \
                      differ";
    let smallest = format!(
        "{:.2} cm² of {} apertures",
        figures.smallest_cm2, figures.apertures
    );
    let rows = [
        ("MU", Some(format!("{:.1}", figures.mu)), "Of one fraction"),
        (
            "MU per Gy",
            delivery.of_plan.mu_per_gy.map(|mu| format!("{mu:.0}")),
            "For each gray that is prescribed",
        ),
        (
            "Beam on",
            Some(format!("{:.0} s", figures.beam_on_s)),
            "At the full dose rate, or as fast as the leaves follow",
        ),
        (
            "Complexity",
            Some(format!("{:.2}", figures.complexity)),
            complexity,
        ),
        (
            "Mean gap",
            Some(format!("{:.1} mm", figures.mean_gap_mm)),
            "Between the tips of open pairs, by monitor units",
        ),
        (
            "Smallest",
            Some(smallest),
            "Aperture that gives monitor units",
        ),
    ];
    fields(ui, "delivery", |ui| {
        for (caption, value, hint) in rows {
            let Some(value) = value else { continue };
            field(ui, caption, |ui| {
                let name = format!("{caption}: {value}");
                let label = ui.label(value).on_hover_text(hint);
                label.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
            });
        }
    });
    let standing = match delivery.status {
        Some(case::DoseStatus::Final) => None,
        Some(status) => Some(format!(
            "{}: as the dose that the plan is normalised by",
            status.word().to_uppercase()
        )),
        None => Some("before normalisation, whose factor is not known".to_owned()),
    };
    for words in standing.iter().chain(&delivery.of_plan.remark) {
        ui.colored_label(theme::palette(ui).warning, words);
    }
}
