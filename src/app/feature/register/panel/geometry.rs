//! The dialog for an X-ray whose file lacks its geometry.

use crate::command::{Command, Commands};
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::GeometryDraft;
use crate::kit::number;
use crate::state::State;
use egui::{Align2, ComboBox, RichText, Ui, Window, vec2};
use geometry::PatientPosition;
use glam::DVec3;
use std::ops::RangeInclusive;

pub(crate) fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(previous) = state.register.draft() else {
        return;
    };
    let mut draft = previous.clone();
    let mut action = None;
    Window::new("Where was this X-ray taken?")
        .anchor(Align2::CENTER_CENTER, vec2(0.0, -40.0))
        .collapsible(false)
        .resizable(false)
        .show(ctx, |ui| {
            ui.set_width(420.0);
            let text = format!("{}. Everything else is taken from the file.", draft.said());
            ui.add(egui::Label::new(text).wrap());
            ui.add_space(4.0);
            egui::Grid::new("geometry").num_columns(2).spacing(vec2(12.0, 5.0)).show(ui, |ui| {
                fields(ui, &mut draft);
            });
            let text = "IEC 61217; positions in the frame of the CT (DICOM patient, LPS). The picture is as seen from the \
                        source, its top towards the gantry.";
            ui.add(egui::Label::new(RichText::new(text).small().weak()).wrap());
            ui.add_space(4.0);
            ui.horizontal(|ui| {
                if ui.button("Use this geometry").clicked() {
                    action = Some(RegisterAction::UseGeometry(Box::new(draft.clone())));
                }
                if ui.button("Do not open").clicked() {
                    action = Some(RegisterAction::Draft(None));
                }
            });
        });
    if action.is_none() && draft != *previous {
        action = Some(RegisterAction::Draft(Some(Box::new(draft))));
    }
    commands.extend(action.map(Command::Register));
}

/// A row with an angle, degrees; unset until the user changes it.
fn angle(ui: &mut Ui, name: &str, value: &mut Option<f64>) {
    let mut deg = value.unwrap_or(0.0);
    ui.label(name);
    let field = number(name, &mut deg, "°").range(-360.0..=360.0);
    if field.show(ui).changed() {
        *value = Some(deg);
    }
    ui.end_row();
}

/// A row with a distance, mm; unset until the user changes it.
fn distance(ui: &mut Ui, name: &str, value: &mut Option<f64>, range: RangeInclusive<f64>) {
    let mut mm = value.unwrap_or(*range.start());
    ui.label(name);
    let field = number(name, &mut mm, " mm")
        .speed(1.0)
        .decimals(2)
        .range(range);
    if field.show(ui).changed() {
        *value = Some(mm);
    }
    ui.end_row();
}

fn fields(ui: &mut Ui, draft: &mut GeometryDraft) {
    let missing = draft.missing.clone();
    let placement = &mut draft.placement;
    if missing.contains(&"gantry angle") {
        angle(ui, "Gantry angle", &mut placement.gantry_deg);
    }
    angle(ui, "Couch angle", &mut placement.couch_deg);
    if missing.contains(&"isocentre") {
        let mut isocentre_mm = placement.isocentre_mm.unwrap_or_default().to_array();
        ui.label("Isocentre");
        let changed = ui.horizontal(|ui| {
            let mut changed = false;
            for (axis, mm) in ["x", "y", "z"].into_iter().zip(&mut isocentre_mm) {
                let response = number(&format!("Isocentre {axis}"), mm, " mm")
                    .range(-3000.0..=3000.0)
                    .show(ui);
                changed |= response.changed();
            }
            changed
        });
        if changed.inner {
            placement.isocentre_mm = Some(DVec3::from(isocentre_mm));
        }
        ui.end_row();
    }
    if missing.contains(&"source to axis distance") {
        distance(
            ui,
            "Source to axis",
            &mut placement.sad_mm,
            100.0..=10_000.0,
        );
    }
    if missing.contains(&"source to image distance") {
        distance(
            ui,
            "Source to image",
            &mut placement.sid_mm,
            100.0..=10_000.0,
        );
    }
    if missing.contains(&"pixel size") {
        let mut side = placement.pixel_mm.map(|p| p[0]);
        distance(ui, "Pixel size, at the image", &mut side, 0.01..=10.0);
        placement.pixel_mm = side.map(|s| [s, s]);
    }
    ui.label("Patient");
    let mut position = placement.position.unwrap_or_default();
    ComboBox::from_id_salt("position")
        .selected_text(position.to_string())
        .show_ui(ui, |ui| {
            for choice in PatientPosition::ALL {
                ui.selectable_value(&mut position, choice, choice.to_string());
            }
        });
    placement.position = Some(position);
    ui.end_row();
    ui.label("Bone");
    ui.horizontal(|ui| {
        for (name, choice) in [
            ("as the file says", None),
            ("bright", Some(true)),
            ("dark", Some(false)),
        ] {
            ui.selectable_value(&mut placement.bone_is_bright, choice, name);
        }
    });
    ui.end_row();
}
