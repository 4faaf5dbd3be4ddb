//! The criteria of gamma, as sliders and numbers.

use crate::feature::compare::state::{Compare, GammaNorm, GammaSettings};
use crate::kit::{number, section, theme};
use crate::state::State;
use egui::{Button, ComboBox, Slider, Ui};
use std::ops::RangeInclusive;

/// Width of a slider's name and number, points.
const BESIDE_SLIDER: f32 = 140.0;

pub fn show(ui: &mut Ui, state: &State, next: &mut Compare) {
    section(ui, "Gamma criteria");
    ui.spacing_mut().slider_width = (ui.available_width() - BESIDE_SLIDER).clamp(40.0, 118.0);
    let may_be_measured = next.may_be_measured();
    let g = &mut next.gamma;
    egui::Grid::new("gamma criteria")
        .num_columns(2)
        .min_col_width(64.0)
        .spacing([8.0, 3.0])
        .show(ui, |ui| {
            slider(ui, "Dose", &mut g.dose_percent, 0.5..=10.0, " %", 0.1);
            slider(ui, "Distance", &mut g.dta_mm, 0.5..=10.0, " mm", 0.1);
            slider(
                ui,
                "Threshold",
                &mut g.threshold_percent,
                0.0..=90.0,
                " %",
                1.0,
            );
            slider(ui, "Maximum", &mut g.max_gamma, 1.5..=5.0, "", 0.1);
        });
    ui.horizontal_wrapped(|ui| {
        // One row of the narrowest panel.
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.spacing_mut().button_padding.x = 5.0;
        for (local, word, hint) in [
            (
                false,
                "Global",
                "Percent of the normalisation, the same everywhere",
            ),
            (true, "Local", "Percent of the reference dose at each point"),
        ] {
            if ui
                .add(Button::selectable(g.local == local, word))
                .on_hover_text(hint)
                .clicked()
            {
                g.local = local;
            }
        }
        ui.weak("reference");
        for (b_is_reference, word, hint) in [
            (
                false,
                "A",
                "At each point of A the nearest of B is looked for",
            ),
            (
                true,
                "B",
                "At each point of B the nearest of A is looked for",
            ),
        ] {
            let button = Button::selectable(g.b_is_reference == b_is_reference, word);
            let response = ui.add(button).on_hover_text(hint);
            if response
                .accessible_name(format!("Reference {word}"))
                .clicked()
            {
                g.b_is_reference = b_is_reference;
            }
        }
    });
    normalisation(ui, state, g);
    if may_be_measured {
        ui.checkbox(&mut g.measured, "Reference was measured")
            .on_hover_text("AAPM TG-218 has limits for a measured dose against a computed one");
    }
    let evaluated = g.roles()[1].name();
    let hint =
        format!("Red where {evaluated} is higher, blue where it is lower; pale where it passes");
    ui.checkbox(&mut g.signed, "Sign on the map")
        .on_hover_text(hint);
    ui.horizontal(|ui| {
        let mut on = g.second.is_some();
        ui.checkbox(&mut on, "Second");
        if on != g.second.is_some() {
            g.second = on.then_some([2.0, 1.0]);
        }
        if let Some([percent, mm]) = &mut g.second {
            number("Second dose criterion", percent, " %")
                .speed(0.02)
                .range(0.1..=20.0)
                .show(ui);
            number("Second distance", mm, " mm")
                .speed(0.02)
                .range(0.1..=20.0)
                .show(ui);
        }
    });
}

fn slider(
    ui: &mut Ui,
    name: &str,
    value: &mut f64,
    range: RangeInclusive<f64>,
    unit: &str,
    step: f64,
) {
    ui.weak(name);
    let digits = if step < 1.0 { 1 } else { 0 };
    let slider = Slider::new(value, range)
        .suffix(unit)
        .step_by(step)
        .fixed_decimals(digits);
    ui.add(slider.clamping(egui::SliderClamping::Edits))
        .accessible_name(format!("Gamma {}", name.to_lowercase()));
    ui.end_row();
}

fn normalisation(ui: &mut Ui, state: &State, g: &mut GammaSettings) {
    let hundred = state.compare_reference();
    ui.horizontal(|ui| {
        ui.weak("% of");
        let combo = ComboBox::from_id_salt("gamma norm")
            .selected_text(norm_name(g.norm))
            .width(136.0);
        let typed = GammaNorm::Typed(hundred.map_or(60.0, |(gy, _)| gy));
        let response = combo.show_ui(ui, |ui| {
            for choice in [
                GammaNorm::NearMaximum,
                GammaNorm::Maximum,
                GammaNorm::Hundred,
                typed,
            ] {
                let mut response =
                    ui.selectable_label(norm_name(choice) == norm_name(g.norm), norm_name(choice));
                if choice == GammaNorm::NearMaximum {
                    response = response.on_hover_text(
                        "D2% of the reference's voxels above half: no single voxel moves it",
                    );
                }
                if response.clicked() {
                    g.norm = choice;
                }
            }
        });
        response.response.accessible_name("Gamma normalisation");
        match &mut g.norm {
            GammaNorm::Typed(gy) => {
                number("Gamma normalisation dose", gy, " Gy")
                    .speed(0.1)
                    .decimals(2)
                    .range(0.01..=500.0)
                    .show(ui);
            }
            GammaNorm::Hundred if hundred.is_none() => {
                ui.colored_label(theme::palette(ui).warning, "not defined");
            }
            _ => {}
        }
    });
}

fn norm_name(norm: GammaNorm) -> &'static str {
    match norm {
        GammaNorm::NearMaximum => "near-maximum",
        GammaNorm::Maximum => "maximum of reference",
        GammaNorm::Hundred => "100 % above",
        GammaNorm::Typed(_) => "typed",
    }
}
