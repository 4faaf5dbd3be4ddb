//! The HU table: the choice, curve and numbers of the applied one; and the editor of the user's own.

use crate::command::{Command, Commands};
use crate::feature::ct::panel::beyond::hu_remarks;
use crate::feature::ct::state::HuDraft;
use crate::kit::{field, fields, number, plot_line, section, theme};
use crate::state::State;
use crate::state::files::FileAction;
use egui::{Button, ComboBox, RichText, TextEdit, Ui};
use egui_plot::Plot;
use physics::{HuTable, Material};
use std::path::PathBuf;
use std::sync::Arc;

/// Range of the drawn curve, HU.
const SHOWN_HU: [f64; 2] = [-1100.0, 3100.0];

/// Shows the applied table, or the edited one.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "HU to density");
    match &state.hu_draft {
        None => in_force(ui, state, commands),
        Some(draft) => editor(ui, draft, commands),
    }
}

/// The choice of the table.
pub fn choice(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let applied = &state.results.settings.hu_table;
    fields(ui, "hu table choice", |ui| {
        field(ui, "HU table", |ui| {
            let combo = ComboBox::from_id_salt("hu table")
                .selected_text(&applied.name)
                .width(150.0);
            let response = combo.show_ui(ui, |ui| {
                for name in HuTable::shipped() {
                    if ui.selectable_label(applied.name == name, name).clicked()
                        && let Ok(table) = HuTable::resolve(name)
                    {
                        let mut settings = state.results.settings.clone();
                        settings.hu_table = Arc::new(table);
                        commands.push(Command::Compute(settings));
                    }
                }
            });
            response.response.accessible_name("HU table");
        });
    });
}

fn in_force(ui: &mut Ui, state: &State, commands: &mut Commands) {
    choice(ui, state, commands);
    hu_remarks(ui, state);
    let table = &state.results.settings.hu_table;
    file_row(ui, false, commands);
    let hint = "Changes a copy; doses follow once it is used";
    if ui.button("Edit HU table").on_hover_text(hint).clicked() {
        commands.push(Command::HuDraft(Some(HuDraft::new(table))));
    }
    for line in [&table.description, &table.source] {
        if !line.is_empty() {
            ui.add(
                egui::Label::new(RichText::new(line).small().color(theme::palette(ui).weak)).wrap(),
            );
        }
    }
    curve(ui, table.points());
    let grid = egui::Grid::new("hu points")
        .striped(true)
        .num_columns(3)
        .spacing([18.0, 2.0]);
    grid.show(ui, |ui| {
        headings(ui);
        ui.end_row();
        for [hu, density, electrons] in table.points() {
            ui.label(format!("{hu:.0}"));
            ui.label(format!("{density:.4}"));
            ui.label(format!("{electrons:.4}"));
            ui.end_row();
        }
    });
    ui.add_space(4.0);
    egui::Grid::new("hu classes")
        .striped(true)
        .num_columns(2)
        .spacing([18.0, 2.0])
        .show(ui, |ui| {
            ui.weak("From HU");
            ui.weak("Material");
            ui.end_row();
            for (from, material) in table.materials() {
                ui.label(format!("{from:.0}"));
                ui.label(material_name(*material));
                ui.end_row();
            }
        });
}

fn headings(ui: &mut Ui) {
    for (heading, what) in [
        ("HU", "CT number"),
        ("g/cm³", "Mass density"),
        ("rel. electrons", "Electron density relative to water"),
    ] {
        ui.weak(heading).on_hover_text(what);
    }
}

fn material_name(material: Material) -> String {
    material.name().replace('_', " ")
}

/// Plots both densities against HU.
fn curve(ui: &mut Ui, points: &[[f64; 3]]) {
    let plot = Plot::new("hu curve")
        .height(110.0)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .show_crosshair(false)
        .include_y(0.0)
        .grid_color(theme::palette(ui).line)
        .label_formatter(|_| None);
    let colours = theme::palette(ui);
    plot.show(ui, |plot| {
        plot.line(
            plot_line("Relative electron density", column_line(points, 2))
                .color(colours.warning)
                .width(1.4),
        );
        plot.line(
            plot_line("Mass density", column_line(points, 1))
                .color(colours.accent)
                .width(1.4),
        );
    });
    ui.horizontal(|ui| {
        ui.colored_label(
            theme::palette(ui).accent,
            RichText::new("mass density g/cm³").small(),
        );
        ui.colored_label(
            theme::palette(ui).warning,
            RichText::new("relative electron density").small(),
        );
        ui.weak(RichText::new("against HU").small());
    });
}

/// A column of the table against HU, level beyond its ends.
fn column_line(points: &[[f64; 3]], column: usize) -> Vec<[f64; 2]> {
    let inner = points.iter().map(|p| [p[0], p[column]]);
    let first = points.first().map(|p| [SHOWN_HU[0].min(p[0]), p[column]]);
    let last = points.last().map(|p| [SHOWN_HU[1].max(p[0]), p[column]]);
    first.into_iter().chain(inner).chain(last).collect()
}

fn editor(ui: &mut Ui, draft: &HuDraft, commands: &mut Commands) {
    let mut next = draft.clone();
    let mut dropped = false;
    fields(ui, "hu draft", |ui| {
        for (caption, name, text) in [
            ("Name", "HU table name", &mut next.name),
            ("About", "HU table description", &mut next.description),
            ("Source", "HU table source", &mut next.source),
        ] {
            field(ui, caption, |ui| {
                ui.add(TextEdit::singleline(text).desired_width(180.0))
                    .accessible_name(name);
            });
        }
    });
    let verdict = next.table();
    match &verdict {
        Ok(_) => ui.colored_label(
            theme::palette(ui).warning,
            "Not in force yet: doses are computed with the table before.",
        ),
        Err(why) => ui.colored_label(theme::palette(ui).error, format!("Cannot be used: {why}.")),
    };
    ui.horizontal(|ui| {
        if ui
            .add_enabled(verdict.is_ok(), Button::new("Use HU table"))
            .clicked()
        {
            commands.push(Command::UseHuDraft);
        }
        if ui
            .button("Discard")
            .on_hover_text("Back to the table in force")
            .clicked()
        {
            dropped = true;
        }
    });
    file_row(ui, true, commands);
    curve(ui, &draft.points);
    points(ui, &mut next);
    ui.add_space(4.0);
    classes(ui, &mut next);
    if dropped {
        commands.push(Command::HuDraft(None));
    } else if next != *draft {
        commands.push(Command::HuDraft(Some(next)));
    }
}

fn points(ui: &mut Ui, next: &mut HuDraft) {
    let mut change = None;
    egui::Grid::new("hu draft points")
        .num_columns(5)
        .spacing([4.0, 3.0])
        .show(ui, |ui| {
            headings(ui);
            ui.end_row();
            for (n, point) in next.points.iter_mut().enumerate() {
                let [hu, density, electrons] = point;
                let [hu_name, density_name, electrons_name] =
                    ["HU", "Mass density", "Electron density"]
                        .map(|quantity| format!("{quantity} of point {}", n + 1));
                number(&hu_name, hu, "")
                    .speed(1.0)
                    .decimals(1)
                    .range(-1e5..=1e5)
                    .show(ui);
                number(&density_name, density, "")
                    .speed(0.002)
                    .decimals(5)
                    .range(0.0..=25.0)
                    .show(ui);
                number(&electrons_name, electrons, "")
                    .speed(0.002)
                    .decimals(5)
                    .range(0.0..=25.0)
                    .show(ui);
                change = row_buttons(ui, "point", n).or(change);
                ui.end_row();
            }
        });
    match change {
        Some(RowChange::InsertAfter(n)) => next.insert_point(n),
        Some(RowChange::Remove(n)) => {
            next.points.remove(n);
        }
        None => {}
    }
}

/// A change to a row of a table, by its index.
#[derive(Clone, Copy, Debug)]
enum RowChange {
    InsertAfter(usize),
    Remove(usize),
}

/// The buttons at the end of a row of points or classes.
fn row_buttons(ui: &mut Ui, what: &str, n: usize) -> Option<RowChange> {
    let insert = ui
        .small_button("+")
        .accessible_name(format!("Insert after {what} {}", n + 1))
        .clicked();
    let remove = ui
        .small_button("×")
        .accessible_name(format!("Remove {what} {}", n + 1))
        .clicked();
    if remove {
        Some(RowChange::Remove(n))
    } else {
        insert.then_some(RowChange::InsertAfter(n))
    }
}

fn classes(ui: &mut Ui, next: &mut HuDraft) {
    let mut change = None;
    egui::Grid::new("hu draft classes")
        .num_columns(4)
        .spacing([4.0, 3.0])
        .show(ui, |ui| {
            ui.weak("From HU");
            ui.weak("Material");
            ui.end_row();
            for (n, (from, material)) in next.materials.iter_mut().enumerate() {
                let name = format!("HU of class {}", n + 1);
                number(&name, from, "")
                    .speed(1.0)
                    .decimals(1)
                    .range(-1e5..=1e5)
                    .show(ui);
                let combo = ComboBox::from_id_salt(("class", n))
                    .selected_text(material_name(*material))
                    .width(118.0);
                let response = combo.show_ui(ui, |ui| {
                    for choice in Material::ALL {
                        ui.selectable_value(material, choice, material_name(choice));
                    }
                });
                response
                    .response
                    .accessible_name(format!("Material of class {}", n + 1));
                change = row_buttons(ui, "class", n).or(change);
                ui.end_row();
            }
        });
    match change {
        Some(RowChange::InsertAfter(n)) => next.insert_material(n),
        Some(RowChange::Remove(n)) => {
            next.materials.remove(n);
        }
        None => {}
    }
}

/// The user's own tables as files: the path typed, else chosen in a dialog.
fn file_row(ui: &mut Ui, editing: bool, commands: &mut Commands) {
    ui.add_space(4.0);
    let id = ui.scope_id().with("hu table file");
    let mut path: String = ui.data_mut(|d| d.get_temp(id)).unwrap_or_default();
    ui.horizontal(|ui| {
        let edit = TextEdit::singleline(&mut path)
            .desired_width(140.0)
            .hint_text("table.toml, or browse");
        if ui.add(edit).accessible_name("HU table file").changed() {
            ui.data_mut(|d| d.insert_temp(id, path.clone()));
        }
        let typed = (!path.trim().is_empty()).then(|| PathBuf::from(path.trim()));
        if ui
            .add_enabled(!editing, Button::new("Load"))
            .accessible_name("Load HU table")
            .clicked()
        {
            commands.push(
                typed
                    .clone()
                    .map_or(Command::Pick(FileAction::OpenHuTable), Command::OpenHuTable),
            );
        }
        if ui
            .button("Save as")
            .accessible_name("Save HU table")
            .clicked()
        {
            commands
                .push(typed.map_or(Command::Pick(FileAction::SaveHuTable), Command::SaveHuTable));
        }
    });
}
