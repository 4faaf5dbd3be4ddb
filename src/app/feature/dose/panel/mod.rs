//! Display of dose: reference, isodose levels, colourwash.

pub mod dvh;

use crate::command::{Command, Commands};
use crate::feature::plan;
use crate::kit::{
    colour_button, field, fields, number, section, status_with_caveats, theme, title,
};
use crate::state::State;
use crate::state::display::{DoseDisplay, DoseReference, LevelPreset, WashOf};
use crate::state::results::Shown;
use egui::{ComboBox, Sense, Slider, Ui, vec2};

/// Shows the display settings of the dose.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let shown = state.results.shown_dose();
    title(ui, "Dose", shown.map_or("Dose", |d| &d.label));
    ui.horizontal(|ui| match shown {
        Some(dose) => {
            status_with_caveats(ui, dose.status, &dose.caveats, &dose.remarks);
            ui.weak(format!(
                "maximum {:.2} Gy",
                state.results.shown_max_gy().unwrap_or(0.0)
            ));
            if let Some(certainty) = state.results.certainty() {
                ui.weak(format!("Monte Carlo {}", certainty.percent_words()));
            }
        }
        None => {
            ui.weak("No dose on show.");
        }
    });
    if let Some(text) = state.shown_normalisation() {
        ui.add(egui::Label::new(egui::RichText::new(text).small().weak()).wrap());
    }
    if matches!(
        state.results.shown,
        Shown::Plan | Shown::Beam(_) | Shown::Point(..)
    ) {
        plan::panel::given_densities(ui, state);
    }
    if let Some(why) = state.results.shown_failure() {
        ui.colored_label(theme::palette(ui).error, why);
    }
    let mut next = state.dose_display.clone();
    let reference_gy = reference(ui, state, &mut next);
    drawing(ui, &mut next, state.results.certainty().is_some());
    levels(ui, &mut next, reference_gy);
    if next != state.dose_display {
        commands.push(Command::DoseDisplay(next));
    }
}

/// The choice of 100 %; returns it in Gy.
fn reference(ui: &mut Ui, state: &State, next: &mut DoseDisplay) -> Option<f64> {
    section(ui, "100 % is");
    let resolved = state.reference();
    ui.horizontal(|ui| {
        let combo = ComboBox::from_id_salt("reference")
            .selected_text(reference_name(next.reference))
            .width(140.0);
        let response = combo.show_ui(ui, |ui| {
            let typed = DoseReference::Typed(resolved.map_or(60.0, |(gy, _)| gy));
            for choice in [DoseReference::Prescription, DoseReference::Maximum, typed] {
                if ui
                    .selectable_label(
                        reference_name(choice) == reference_name(next.reference),
                        reference_name(choice),
                    )
                    .clicked()
                {
                    next.reference = choice;
                }
            }
        });
        response
            .response
            .accessible_name("Reference of the isodoses");
        if let DoseReference::Typed(gy) = &mut next.reference {
            number("Reference dose", gy, " Gy")
                .speed(0.1)
                .decimals(2)
                .range(0.01..=500.0)
                .show(ui);
        } else {
            match resolved {
                Some((gy, _)) => ui.label(format!("{gy:.2} Gy")),
                None => ui.colored_label(theme::palette(ui).warning, "not defined: no isodoses"),
            };
        }
    });
    resolved.map(|(gy, _)| gy)
}

fn reference_name(reference: DoseReference) -> &'static str {
    match reference {
        DoseReference::Prescription => "Prescription",
        DoseReference::Maximum => "Maximum of the dose",
        DoseReference::Typed(_) => "Typed",
    }
}

fn drawing(ui: &mut Ui, next: &mut DoseDisplay, has_certainty: bool) {
    section(ui, "Drawing");
    ui.checkbox(&mut next.lines, "Isodose lines");
    ui.checkbox(&mut next.wash, "Colourwash");
    ui.add_enabled_ui(next.wash, |ui| {
        fields(ui, "wash", |ui| {
            if has_certainty {
                field(ui, "Of", |ui| {
                    ui.selectable_value(&mut next.wash_of, WashOf::Dose, "dose");
                    let uncertainty =
                        ui.selectable_value(&mut next.wash_of, WashOf::Uncertainty, "uncertainty");
                    uncertainty.on_hover_text(
                        "One standard deviation in percent of the local dose, where that is more than a tenth of the maximum",
                    );
                });
            }
            field(ui, "Opacity", |ui| {
                let mut percent = next.wash_opacity * 100.0;
                let slider = Slider::new(&mut percent, 5.0..=100.0).suffix(" %").fixed_decimals(0);
                ui.add(slider).accessible_name("Colourwash opacity");
                next.wash_opacity = percent / 100.0;
            });
            field(ui, "From", |ui| {
                let slider =
                    Slider::new(&mut next.wash_threshold_percent, 1.0..=100.0).suffix(" %").fixed_decimals(0);
                ui.add(slider).accessible_name("Colourwash threshold");
            });
            field(ui, "Bands", |ui| {
                ui.checkbox(&mut next.wash_banded, "").accessible_name("Banded colourwash")
            });
        });
    });
}

fn levels(ui: &mut Ui, next: &mut DoseDisplay, reference_gy: Option<f64>) {
    section(ui, "Levels");
    ui.horizontal(|ui| {
        ui.weak("Preset");
        for preset in LevelPreset::ALL {
            if ui.small_button(preset.name()).clicked() {
                next.levels = preset.levels();
            }
        }
    });
    let mut remove = None;
    egui::Grid::new("levels")
        .num_columns(5)
        .spacing([8.0, 3.0])
        .show(ui, |ui| {
            for (index, level) in next.levels.iter_mut().enumerate() {
                let name = format!("Level {:.0}", level.percent);
                ui.checkbox(&mut level.shown, "")
                    .accessible_name(format!("Show {name}"));
                colour_button(ui, &format!("{name} colour"), &mut level.colour.0);
                let mut percent = f64::from(level.percent);
                number(&name, &mut percent, " %")
                    .speed(0.5)
                    .range(0.1..=200.0)
                    .show(ui);
                level.percent = percent as f32;
                match reference_gy {
                    Some(gy) => ui.label(format!("{:.2} Gy", gy * percent / 100.0)),
                    None => ui.weak("–"),
                };
                if ui
                    .small_button("×")
                    .accessible_name(format!("Remove {name}"))
                    .clicked()
                {
                    remove = Some(index);
                }
                ui.end_row();
            }
        });
    if let Some(index) = remove {
        next.levels.remove(index);
    }
    ui.horizontal(|ui| {
        let (_, _) = ui.allocate_exact_size(vec2(0.0, 20.0), Sense::hover());
        let room = next.levels.len() < crate::state::display::MOST_LEVELS;
        if ui
            .add_enabled(room, egui::Button::new("Add level").small())
            .clicked()
        {
            let lowest = next.levels.last().map_or(100.0, |l| l.percent);
            let colour = crate::state::roi::NEW_COLOURS
                [next.levels.len() % crate::state::roi::NEW_COLOURS.len()];
            let percent = (lowest - 10.0).max(1.0);
            next.levels.push(crate::state::display::Isodose {
                percent,
                colour,
                shown: true,
            });
        }
    });
    // Sorts typed levels highest first, but not while a number is dragged.
    if ui.ctx().dragged_id().is_none() {
        next.levels.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    }
}
