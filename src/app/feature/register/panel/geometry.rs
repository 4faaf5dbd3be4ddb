//! The dialog for an X-ray whose file lacks its geometry.

use crate::command::{Command, Commands};
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::GeometryDraft;
use crate::kit::number;
use crate::state::State;
use egui::{Align2, ComboBox, RichText, Ui, Window, vec2};
use geometry::PatientPosition;
use glam::DVec3;

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

fn fields(ui: &mut Ui, draft: &mut GeometryDraft) {
    let missing = draft.missing.clone();
    let lacks = |name: &str| missing.contains(&name);
    let placement = &mut draft.placement;
    let angle = |ui: &mut Ui, name: &str, value: &mut Option<f64>| {
        let mut v = value.unwrap_or(0.0);
        ui.label(name);
        if number(name, &mut v, "°")
            .range(-360.0..=360.0)
            .show(ui)
            .changed()
        {
            *value = Some(v);
        }
        ui.end_row();
    };
    if lacks("gantry angle") {
        angle(ui, "Gantry angle", &mut placement.gantry_deg);
    }
    angle(ui, "Couch angle", &mut placement.couch_deg);
    if lacks("isocentre") {
        let mut isocentre_mm = placement.isocentre_mm.unwrap_or_default().to_array();
        ui.label("Isocentre");
        let changed = ui.horizontal(|ui| {
            let one = |(axis, v): (&str, &mut f64)| {
                number(&format!("Isocentre {axis}"), v, " mm")
                    .range(-3000.0..=3000.0)
                    .show(ui)
                    .changed()
            };
            ["x", "y", "z"]
                .into_iter()
                .zip(&mut isocentre_mm)
                .map(one)
                .fold(false, |a, b| a | b)
        });
        if changed.inner {
            placement.isocentre_mm = Some(DVec3::from(isocentre_mm));
        }
        ui.end_row();
    }
    let distance =
        |ui: &mut Ui, name: &str, value: &mut Option<f64>, range: std::ops::RangeInclusive<f64>| {
            let mut v = value.unwrap_or(*range.start());
            ui.label(name);
            if number(name, &mut v, " mm")
                .speed(1.0)
                .decimals(2)
                .range(range)
                .show(ui)
                .changed()
            {
                *value = Some(v);
            }
            ui.end_row();
        };
    if lacks("source to axis distance") {
        distance(
            ui,
            "Source to axis",
            &mut placement.sad_mm,
            100.0..=10_000.0,
        );
    }
    if lacks("source to image distance") {
        distance(
            ui,
            "Source to image",
            &mut placement.sid_mm,
            100.0..=10_000.0,
        );
    }
    if lacks("pixel size") {
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
