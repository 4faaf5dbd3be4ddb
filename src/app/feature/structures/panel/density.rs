//! The density of a structure for dose calculations: the CT's, one of a list, or typed.

use crate::command::{Command, Commands, gesture};
use crate::kit::{field, fields, number, section, theme};
use crate::state::State;
use crate::state::results::CaseResults;
use case::{Density, DensityOverride, Edit, Structure, StructureKind};
use egui::Ui;

pub fn show(
    ui: &mut Ui,
    state: &State,
    index: usize,
    structure: &Structure,
    commands: &mut Commands,
) {
    section(ui, "Density for dose");
    let mut next = structure.density;
    let mut dragged = None;
    ui.horizontal_wrapped(|ui| {
        let (none, hint) = match structure.kind.is_beside_patient() {
            true => ("None", "It takes no part in dose"),
            false => ("CT", "The densities of the CT count, as elsewhere"),
        };
        let button = ui.selectable_label(next.is_none(), none);
        if button
            .accessible_name("No density of its own")
            .on_hover_text(hint)
            .clicked()
        {
            next = None;
        }
        let is_as_scanned = next.is_some_and(|d| d.density == Density::AsScanned);
        if structure.kind.is_beside_patient() || is_as_scanned {
            let button = ui
                .selectable_label(is_as_scanned, "As scanned")
                .accessible_name("Density as scanned");
            if button
                .on_hover_text("The densities of the CT count, though it lies outside the body")
                .clicked()
            {
                next = Some(DensityOverride::AS_SCANNED);
            }
        }
        for (medium, mass) in DensityOverride::PRESETS {
            let chosen = next
                .is_some_and(|d| d.medium == Some(medium) && d.density == Density::MassGCm3(mass));
            let button = ui.selectable_label(chosen, medium.name());
            let button =
                button.accessible_name(format!("Density of {}", medium.name().to_lowercase()));
            if button
                .on_hover_text(format!("{mass} g/cm³ in place of the CT's densities"))
                .clicked()
            {
                next = Some(DensityOverride::preset(medium));
            }
        }
        let typed = next.is_some_and(|d| d.medium.is_none() && !is_as_scanned);
        let button = ui
            .selectable_label(typed, "Typed")
            .accessible_name("Typed density");
        if button
            .on_hover_text("A number; its atoms are those of the HU table at that density")
            .clicked()
        {
            let override_density = next.filter(|_| !is_as_scanned);
            let density = override_density.map_or(Density::MassGCm3(1.0), |d| d.density);
            next = Some(DensityOverride {
                density,
                medium: None,
                off: false,
            });
        }
    });
    if let Some(density) = &mut next {
        typed(ui, state, density, &mut dragged);
    }
    warnings(ui, structure);
    if next != structure.density {
        let value = Structure {
            density: next,
            ..structure.clone()
        };
        commands.push(Command::Edit {
            edit: Edit::SetStructure { index, value }.into(),
            gesture: dragged,
        });
    }
}

/// The number and unit of a density, and the switch whether it counts.
fn typed(ui: &mut Ui, state: &State, density: &mut DensityOverride, dragged: &mut Option<u64>) {
    fields(ui, "density", |ui| {
        if let Some(value) = density.density.value() {
            field(ui, "Density", |ui| {
                number_and_unit(ui, &state.results, density, value, dragged)
            });
        }
        field(ui, "Counts", |ui| {
            let mut on = !density.off;
            let switch = ui
                .checkbox(&mut on, "in dose")
                .accessible_name("Density counts in dose");
            if switch
                .on_hover_text("Switched off, the density is kept and the CT's counts")
                .changed()
            {
                density.off = !on;
            }
        });
    });
    let Some(tissue) = state.results.settings.hu_table.of_density(density) else {
        return;
    };
    let words = format!(
        "{:.3} g/cm³, {:.3} electrons of water, atoms of {}",
        tissue.mass_density_g_cm3,
        tissue.relative_electron_density,
        tissue.material.name().replace('_', " ")
    );
    ui.add(egui::Label::new(egui::RichText::new(words).small().weak()).wrap());
}

fn number_and_unit(
    ui: &mut Ui,
    results: &CaseResults,
    density: &mut DensityOverride,
    value: f64,
    dragged: &mut Option<u64>,
) {
    let mut value = value;
    let is_mass = matches!(density.density, Density::MassGCm3(_));
    let r = number(
        "Density of the structure",
        &mut value,
        if is_mass { " g/cm³" } else { "" },
    );
    let r = r.speed(0.005).decimals(3).range(Density::RANGE).show(ui);
    *dragged = dragged.or(gesture(&r));
    if r.changed() {
        density.density = if is_mass {
            Density::MassGCm3(value)
        } else {
            Density::RelativeElectrons(value)
        };
    }
    let Some(tissue) = results.settings.hu_table.of_density(density) else {
        return;
    };
    if ui
        .selectable_label(is_mass, "g/cm³")
        .on_hover_text("Mass density")
        .clicked()
    {
        density.density = Density::MassGCm3(f64::from(tissue.mass_density_g_cm3));
    }
    let hint = "Electrons per volume, water = 1";
    if ui
        .selectable_label(!is_mass, "electrons")
        .on_hover_text(hint)
        .clicked()
    {
        density.density = Density::RelativeElectrons(f64::from(tissue.relative_electron_density));
    }
}

fn warnings(ui: &mut Ui, structure: &Structure) {
    let is_beside_patient = structure.kind.is_beside_patient();
    let text = match structure.density {
        Some(density) => match density.fault() {
            Some(why) => format!("No dose: {why}."),
            None if structure.contours.is_empty() => {
                "It has no contours: nothing of it counts.".to_owned()
            }
            None if density.off && is_beside_patient => {
                "Switched off: it takes no part in dose.".to_owned()
            }
            None if density.density == Density::AsScanned && !is_beside_patient => {
                "As scanned: the CT's densities count, as without it.".to_owned()
            }
            None => return,
        },
        None if is_beside_patient => {
            let what = if structure.kind == StructureKind::Bolus {
                "bolus"
            } else {
                "support"
            };
            format!("A {what} without a density takes no part in dose.")
        }
        None => return,
    };
    ui.add(
        egui::Label::new(
            egui::RichText::new(text)
                .small()
                .color(theme::palette(ui).warning),
        )
        .wrap(),
    );
}
