//! The pose in six numbers, and the couch shifts that correct it.

use crate::command::{Command, Commands, gesture};
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::{CouchShift, STEPS};
use crate::kit::{number, section, theme};
use crate::state::State;
use crate::state::files::FileAction;
use case::Pose;
use egui::{Button, RichText, TextEdit, Ui, vec2};
use engine::drr_gradient::{numbers, pose_of};
use geometry::PatientPosition;
use registration::{PoseStanding, beyond_couch};
use std::path::PathBuf;

/// Name and positive direction of each number.
const AXES: [(&str, &str); 6] = [
    ("tx", "to the patient's left"),
    ("ty", "to his back"),
    ("tz", "to his head"),
    ("rx", "about left: back to head"),
    ("ry", "about back: head to left"),
    ("rz", "about head: left to back"),
];

pub(crate) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let register = &state.register;
    section(ui, "Pose: where the patient lies, beside the plan");
    ui.horizontal(|ui| {
        ui.weak("Step");
        for step in STEPS {
            let button = Button::selectable(register.step == step, format!("{step} mm, °"));
            if ui.add(button).on_hover_text("Keys: [ and ]").clicked() {
                commands.push(Command::Register(RegisterAction::Step(step)));
            }
        }
    });
    let shown = numbers(&register.shown_pose());
    let free = register.is_free();
    egui::Grid::new("pose")
        .num_columns(5)
        .spacing(vec2(5.0, 4.0))
        .show(ui, |ui| {
            for (axis, (name, about)) in AXES.into_iter().enumerate() {
                let unit = if axis < 3 { " mm" } else { "°" };
                let locked = register.locked[axis];
                let letters = ["L", "P", "H"][axis % 3];
                let way = if axis < 3 {
                    format!("{name}  {letters} +")
                } else {
                    format!("{name}  about {letters}")
                };
                ui.label(way).on_hover_text(format!("+ {about}"));
                ui.add_enabled_ui(free && !locked, |ui| {
                    let less = ui.add(Button::new("−").min_size(vec2(22.0, 22.0)));
                    if less.accessible_name(format!("{name} −")).clicked() {
                        push(
                            commands,
                            with_number(shown, axis, shown[axis] - register.step),
                            None,
                        );
                    }
                });
                ui.add_enabled_ui(free && !locked, |ui| {
                    let mut value = shown[axis];
                    let range = if axis < 3 {
                        -500.0..=500.0
                    } else {
                        -180.0..=180.0
                    };
                    let response = ui
                        .allocate_ui(vec2(88.0, 22.0), |ui| {
                            ui.spacing_mut().interact_size.x = 84.0;
                            number(name, &mut value, unit)
                                .speed(0.1)
                                .decimals(2)
                                .range(range)
                                .show(ui)
                        })
                        .inner;
                    if response.changed() {
                        push(
                            commands,
                            with_number(shown, axis, value),
                            gesture(&response),
                        );
                    }
                });
                ui.add_enabled_ui(free && !locked, |ui| {
                    let more = ui.add(Button::new("+").min_size(vec2(22.0, 22.0)));
                    if more.accessible_name(format!("{name} +")).clicked() {
                        push(
                            commands,
                            with_number(shown, axis, shown[axis] + register.step),
                            None,
                        );
                    }
                });
                let mut lock = locked;
                let hint = "Keeps this number as it is, by hand and in the search";
                let check = ui.checkbox(&mut lock, "lock").on_hover_text(hint);
                if check.accessible_name(format!("Lock {name}")).changed() {
                    commands.push(Command::Register(RegisterAction::Lock {
                        axis,
                        locked: lock,
                    }));
                }
                ui.end_row();
            }
        });
    ui.horizontal(|ui| {
        if action_button(ui, "Undo nudge", state.can_undo()) {
            commands.push(Command::Undo);
        }
        if action_button(ui, "Redo nudge", state.can_redo()) {
            commands.push(Command::Redo);
        }
        if action_button(
            ui,
            "Reset pose",
            free && !register.poses.now().is_identity(),
        ) {
            commands.push(Command::Register(RegisterAction::Reset));
        }
    });
    dose_at_pose(ui, state, commands);
    let help = "Drag in a view to shift, with shift held to turn (near the rim: in the plane). Arrows and page keys do \
                the same by a step. Middle or ctrl drag pans, the wheel zooms, a right drag sets the grey values.";
    ui.add(egui::Label::new(RichText::new(help).small().weak()).wrap());
}

/// The button that shows what the displayed plan would deliver in the pose.
fn dose_at_pose(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let refused = state.why_no_dose_at_pose();
    let button = ui.add_enabled(refused.is_none(), Button::new("Dose at this pose"));
    let hint = "Computes the plan with the patient lying so, and compares it with the plan: the planning CT moved as a whole";
    let button = button.on_hover_text(hint);
    let button = match &refused {
        Some(why) => button.on_disabled_hover_text(why),
        None => button,
    };
    if button.clicked() {
        commands.push(Command::Register(RegisterAction::DoseAtPose));
    }
}

/// A button that may be disabled; whether it was clicked.
fn action_button(ui: &mut Ui, name: &str, enabled: bool) -> bool {
    ui.add_enabled(enabled, Button::new(name)).clicked()
}

fn push(commands: &mut Commands, pose: Pose, gesture: Option<u64>) {
    commands.push(Command::Register(RegisterAction::Move { pose, gesture }));
}

/// The table that a therapist types into the couch.
pub(crate) fn couch(ui: &mut Ui, state: &State) {
    section(ui, "Couch shift that corrects it");
    let Some(ct) = &state.case().ct else { return };
    if let Some(standing) = state.register.shown_standing() {
        let palette = theme::palette(ui);
        let colour = match standing {
            PoseStanding::Found { .. } => palette.good,
            PoseStanding::ByHand => palette.weak,
            PoseStanding::NoMatch { .. } => palette.error,
        };
        let text = RichText::new(format!("Of a pose {}", standing.words()))
            .small()
            .color(colour);
        ui.add(egui::Label::new(text).wrap());
    }
    if let Some(what) = beyond_couch(&state.register.shown_pose()) {
        let text = RichText::new(format!("It has {what}"))
            .small()
            .color(theme::palette(ui).warning);
        ui.add(egui::Label::new(text).wrap());
    }
    let couch = CouchShift::undoing(&state.register.shown_pose(), ct.position);
    egui::Grid::new("couch")
        .num_columns(4)
        .spacing(vec2(14.0, 3.0))
        .show(ui, |ui| {
            let rows = [
                ("Lateral x", "Pitch, about x"),
                ("Longitudinal y", "Roll, about y"),
                ("Vertical z", "Yaw, about z"),
            ];
            let values = couch.shift_mm.into_iter().zip(couch.pitch_roll_yaw_deg);
            for ((shift, turn), (mm, deg)) in rows.into_iter().zip(values) {
                ui.weak(shift);
                ui.monospace(format!("{:+.1} mm", rounded_to_tenth(mm)));
                ui.weak(turn);
                ui.monospace(format!("{:+.1}°", rounded_to_tenth(deg)));
                ui.end_row();
            }
        });
    ui.add(egui::Label::new(RichText::new(convention(ct.position)).small().weak()).wrap());
}

fn rounded_to_tenth(value: f64) -> f64 {
    // Plus zero, so that a small negative value does not read as "-0.0".
    0.0 + (10.0 * value).round() / 10.0
}

/// The pose as a file that other systems read.
pub(crate) fn save(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "DICOM registration");
    let id = ui.scope_id().with("path of the registration");
    let mut path: String = ui.data_mut(|d| d.get_temp(id)).unwrap_or_default();
    ui.add_enabled_ui(state.register.is_free(), |ui| {
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut path).desired_width(160.0).hint_text("path");
            ui.add(field).accessible_name("Path of the registration");
            let hint = "A spatial registration object (REG): the matrix that takes the CT's frame into that of the X-rays, the \
                        patient in the pose above. Without a path the desktop asks";
            let save = ui.button("Save registration").on_hover_text(hint);
            if save.on_disabled_hover_text("Accept or reject the pose found first").clicked() {
                commands.push(match path.trim() {
                    "" => Command::Pick(FileAction::SaveRegistration),
                    path => Command::SaveRegistration(PathBuf::from(path)),
                });
            }
        });
    });
    ui.data_mut(|d| d.insert_temp(id, path));
}

/// The pose with one of its six numbers changed.
fn with_number(mut numbers: [f64; 6], axis: usize, value: f64) -> Pose {
    numbers[axis] = value;
    pose_of(numbers)
}

fn convention(position: PatientPosition) -> String {
    format!(
        "IEC 61217, axes of the table top (those of the room at couch 0°), patient {position}: seen from the foot of the \
         table x + is right, y + towards the gantry, z + up. First the shift; then turns about the isocentre, pitch, \
         roll, yaw in this order, + anticlockwise as seen from the tip of the axis."
    )
}
