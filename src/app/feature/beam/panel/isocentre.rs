//! The isocentre of a beam, and the figures of its central ray.

use crate::command::{Command, Commands, gesture};
use crate::feature::plan::command::PlanAction;
use crate::kit::{dragged_number, field, fields, number, section, small_menu, theme};
use crate::state::{State, roi};
use case::{Beam, Plan};
use egui::{Key, Ui};

pub fn show(ui: &mut Ui, state: &State, index: usize, beam: &Beam, commands: &mut Commands) {
    section(ui, "Isocentre (patient, mm)");
    ui.horizontal(|ui| {
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            ui.weak(name);
            let shown_mm = beam.isocentre_mm;
            let mut mm = shown_mm;
            let label = format!("Isocentre {name}");
            let response = number(&label, &mut mm[axis], "").speed(0.5).show(ui);
            if response.changed() {
                commands.push(Command::Plans(PlanAction::Isocentre {
                    beam: index,
                    mm,
                    gesture: gesture(&response),
                }));
            }
            if let Some(number) = dragged_number(&response) {
                let gesture = gesture(&response);
                commands.follow(&response, move |pointer| {
                    let mut mm = shown_mm;
                    mm[axis] = number.value(pointer);
                    (mm != shown_mm).then_some(Command::Plans(PlanAction::Isocentre {
                        beam: index,
                        mm,
                        gesture,
                    }))
                });
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        if ui.small_button("To crosshair").clicked() {
            let action = PlanAction::Isocentre {
                beam: index,
                mm: state.crosshair_mm,
                gesture: None,
            };
            commands.push(Command::Plans(action));
        }
        let menu = small_menu(ui, "To structure", |ui| {
            let set = &state.case().structures.structures;
            for structure in set.iter().filter(|s| !s.contours.is_empty()) {
                if ui.button(&structure.name).clicked() {
                    if let Some(mm) = roi::centre_mm(structure) {
                        commands.push(Command::Plans(PlanAction::Isocentre {
                            beam: index,
                            mm,
                            gesture: None,
                        }));
                    }
                    ui.close();
                }
            }
        });
        menu.on_hover_text("To the centre of its volume");
        let picks = state.picks_isocentre_of() == Some(index);
        let pick = ui.add(egui::Button::selectable(picks, "By click").small());
        if pick
            .on_hover_text("The next click in a slice places the isocentre; Escape ends it")
            .clicked()
        {
            commands.push(Command::Plans(PlanAction::PickIsocentre(!picks)));
        }
        if picks && ui.input(|i| i.key_pressed(Key::Escape)) {
            commands.push(Command::Plans(PlanAction::PickIsocentre(false)));
        }
        if ui
            .small_button("Show")
            .on_hover_text("Moves the crosshair to the isocentre")
            .clicked()
        {
            commands.push(Command::CentreOn(beam.isocentre_mm));
        }
    });
    let mut shared = state.shares_isocentre();
    let response = ui.checkbox(&mut shared, "Shared by all beams");
    let moves = "All beams move to this isocentre, and with it";
    if response
        .on_hover_text(if shared {
            "One isocentre for all beams"
        } else {
            moves
        })
        .changed()
    {
        commands.push(Command::Plans(PlanAction::ShareIsocentre {
            beam: index,
            shared,
        }));
    }
}

/// Figures of the beam's first control point.
pub fn figures(ui: &mut Ui, state: &State, plan: &Plan, beam: &Beam) {
    let Some(start) = beam.start() else { return };
    section(ui, "Figures");
    let machine = plan.machine_of(beam);
    let sad_mm = state.results.sad_mm(machine);
    fields(ui, "figures", |ui| {
        match state.results.central_ray(beam.number) {
            Some(Some(ray)) => {
                field(ui, "SSD", |ui| ui.label(format!("{:.1} mm", ray.ssd_mm)));
                field(ui, "Depth", |ui| {
                    if ray.depth_mm < 0.0 {
                        let text =
                            format!("isocentre {:.1} mm in front of the surface", -ray.depth_mm);
                        ui.colored_label(theme::palette(ui).warning, text);
                    } else {
                        ui.label(format!("{:.1} mm", ray.depth_mm));
                        ui.weak(format!("= {:.1} mm of water", ray.water_mm))
                            .on_hover_text(
                                "Relative electron density, from the surface to the isocentre",
                            );
                    }
                });
            }
            Some(None) => {
                field(ui, "SSD", |ui| {
                    ui.colored_label(
                        theme::palette(ui).warning,
                        "the central ray meets no surface",
                    )
                });
            }
            None => {
                field(ui, "SSD", |ui| ui.weak("not computed"));
            }
        }
        field(ui, "Field", |ui| {
            let [x, y] = start.jaws.sides_mm();
            ui.label(format!("{x:.0} × {y:.0} mm"));
            if let Some(side_mm) = start.jaws.equivalent_square_mm() {
                ui.weak(format!("= {side_mm:.1} mm square"))
                    .on_hover_text("Equivalent square of the jaws, 4 A / P (Sterling 1964)");
            }
        });
    });
    if state.results.machine(machine).is_none() {
        let text = format!(
            "The machine {machine} is not known: SSD for a source-axis distance of {sad_mm:.0} mm."
        );
        ui.colored_label(theme::palette(ui).warning, text);
    }
    if beam.control_points.len() > 1 {
        ui.weak("At the first control point.");
    }
}
