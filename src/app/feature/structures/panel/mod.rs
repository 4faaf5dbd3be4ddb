//! A structure: name, type, volume and dose.

pub mod around;
pub mod beside;
pub mod bolus_beams;
pub mod couch_position;
pub mod density;
pub mod outside;
pub mod tools;

use crate::command::{Command, Commands, gesture};
use crate::feature::draw;
use crate::kit::{colour_button, field, fields, number, section, status_chip, theme, title};
use crate::panel::tree::format_cm3;
use crate::state::State;
use crate::state::results::CaseResults;
use crate::state::roi::{self, SMALLEST_MM, Shape};
use analysis::Metric;
use case::{Edit, Rgb, Structure, StructureKind};
use egui::{ComboBox, Ui};

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some((index, structure)) = state.selected_structure() else {
        ui.weak("This structure is gone.");
        return;
    };
    title(ui, "Structure", &structure.name);
    identity(ui, index, structure, commands);
    section(ui, "Size");
    fields(ui, "size", |ui| {
        field(ui, "Volume", |ui| {
            match state.results.volume_cm3(structure.number) {
                Some(cm3) => {
                    ui.label(format_cm3(cm3));
                    if cm3 < 1.0 && cm3 > 0.0 {
                        ui.colored_label(theme::palette(ui).warning, "under 1 cm³");
                    }
                }
                None if structure.contours.is_empty() => {
                    ui.weak("no contours: no volume, no dose");
                }
                None => {
                    ui.weak(state.results.mask_failure(structure.number).unwrap_or("…"));
                }
            }
        });
        field(ui, "Contours", |ui| {
            ui.label(structure.contours.len().to_string())
        });
        if !structure.points_mm.is_empty() {
            field(ui, "Points", |ui| {
                ui.label(structure.points_mm.len().to_string())
            });
        }
    });
    // Above the tools, which may need more height than the window has.
    ui.horizontal(|ui| {
        if ui
            .button("Show")
            .on_hover_text("Moves the crosshair to its middle")
            .clicked()
            && let Some(middle) = roi::middle_mm(structure)
        {
            commands.push(Command::CentreOn(middle));
        }
        if ui.button("Delete structure").clicked() {
            commands.push(Command::RemoveStructure {
                number: structure.number,
                sure: false,
            });
        }
    });
    if let Some(shape) = state.shapes.shape_of(structure) {
        shape_ui(ui, structure, shape, commands);
    }
    beside::of_body(ui, state, structure, commands);
    density::show(ui, state, index, structure, commands);
    couch_position::show(ui, state, structure, commands);
    bolus_beams::of_bolus(ui, state, structure, commands);
    draw::panel::show(ui, state, commands);
    tools::show(ui, state, structure, commands);
    dose(ui, &state.results, structure);
}

fn identity(ui: &mut Ui, index: usize, structure: &Structure, commands: &mut Commands) {
    fields(ui, "identity", |ui| {
        field(ui, "Name", |ui| {
            // The text is the case's until the user types: then it is a draft until Enter or a click elsewhere.
            let id = ui.scope_id().with(("name draft", structure.number));
            let mut draft: String = ui
                .data_mut(|d| d.get_temp(id))
                .unwrap_or_else(|| structure.name.clone());
            let edit = egui::TextEdit::singleline(&mut draft).desired_width(150.0);
            let response = ui.add(edit).accessible_name("Structure name");
            if response.lost_focus() {
                ui.data_mut(|d| d.remove::<String>(id));
                let name = draft.trim();
                if !name.is_empty() && name != structure.name {
                    let value = Structure {
                        name: name.to_owned(),
                        ..structure.clone()
                    };
                    commands.edit(Edit::SetStructure { index, value });
                }
            } else if response.changed() {
                ui.data_mut(|d| d.insert_temp(id, draft));
            }
        });
        field(ui, "Type", |ui| {
            let combo = ComboBox::from_id_salt("kind")
                .selected_text(kind_name(structure.kind))
                .width(150.0);
            let response = combo.show_ui(ui, |ui| {
                for kind in StructureKind::ALL {
                    if ui
                        .selectable_label(kind == structure.kind, kind_name(kind))
                        .clicked()
                    {
                        let value = Structure {
                            kind,
                            ..structure.clone()
                        };
                        commands.edit(Edit::SetStructure { index, value });
                    }
                }
            });
            response.response.accessible_name("Structure type");
        });
        field(ui, "Colour", |ui| {
            let mut rgb = structure.colour.0;
            let response = colour_button(ui, "Structure colour", &mut rgb);
            if response.changed() {
                let value = Structure {
                    colour: Rgb(rgb),
                    ..structure.clone()
                };
                // The picker is a pop-up with its own id: all its changes are one gesture.
                let gesture = Some(response.id.value());
                commands.push(Command::Edit {
                    edit: Edit::SetStructure { index, value }.into(),
                    gesture,
                });
            }
        });
    });
}

fn shape_ui(ui: &mut Ui, structure: &Structure, shape: Shape, commands: &mut Commands) {
    section(ui, &format!("{} (mm)", shape.name()));
    let mut reshaped = None;
    fields(ui, "shape", |ui| {
        field(ui, "Centre", |ui| {
            let mut centre = shape.centre_mm();
            for (axis, name) in ["Centre x", "Centre y", "Centre z"].into_iter().enumerate() {
                let response = number(name, &mut centre[axis], "").show(ui);
                if response.changed() {
                    reshaped = Some((shape.moved_to(centre), gesture(&response)));
                }
            }
        });
        match shape {
            Shape::Sphere {
                centre_mm,
                mut radius_mm,
            } => field(ui, "Radius", |ui| {
                let response = number("Radius", &mut radius_mm, " mm")
                    .range(SMALLEST_MM..=500.0)
                    .show(ui);
                if response.changed() {
                    let sphere = Shape::Sphere {
                        centre_mm,
                        radius_mm,
                    };
                    reshaped = Some((sphere, gesture(&response)));
                }
            }),
            Shape::Box {
                centre_mm,
                mut size_mm,
            } => field(ui, "Sides", |ui| {
                for (axis, name) in ["Side x", "Side y", "Side z"].into_iter().enumerate() {
                    let range = 2.0 * SMALLEST_MM..=1000.0;
                    let response = number(name, &mut size_mm[axis], "").range(range).show(ui);
                    if response.changed() {
                        let shape = Shape::Box { centre_mm, size_mm };
                        reshaped = Some((shape, gesture(&response)));
                    }
                }
            }),
        }
    });
    commands.extend(reshaped.map(|(shape, gesture)| Command::Reshape {
        structure: structure.number,
        shape,
        gesture,
    }));
}

/// Dose metrics of the structure in the displayed dose.
fn dose(ui: &mut Ui, results: &CaseResults, structure: &Structure) {
    let Some(dvh) = results.dvh(structure.number) else {
        return;
    };
    section(ui, "Dose");
    fields(ui, "dose figures", |ui| {
        field(ui, "Status", |ui| {
            if let Some(status) = results.dvh_status() {
                status_chip(ui, status);
            }
        });
        for metric in Metric::USUAL {
            if let Ok(gy) = dvh.metric(metric, None) {
                field(ui, &metric.to_string(), |ui| {
                    ui.label(format!("{gy:.2} Gy"))
                });
            }
        }
    });
    for remark in dvh.remarks() {
        ui.colored_label(theme::palette(ui).warning, remark);
    }
}

/// Display name of a structure type.
fn kind_name(kind: StructureKind) -> &'static str {
    match kind {
        StructureKind::External => "Body (EXTERNAL)",
        StructureKind::Ptv => "PTV",
        StructureKind::Ctv => "CTV",
        StructureKind::Gtv => "GTV",
        StructureKind::Organ => "Organ",
        StructureKind::Support => "Support (couch)",
        StructureKind::Bolus => "Bolus",
        StructureKind::Other => "Other",
    }
}
