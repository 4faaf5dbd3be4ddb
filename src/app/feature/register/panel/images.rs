//! The X-rays, and the display of X-ray and DRR.

use crate::command::{Command, Commands};
use crate::feature::ct;
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::{AttenuationChoice, Display, Mode, Pair, Register};
use crate::kit::{number, section, theme};
use crate::state::State;
use crate::state::files::FileAction;
use egui::{Checkbox, ComboBox, RichText, Slider, Ui, vec2};
use physics::CurveKind;

pub(crate) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    list(ui, &state.register, commands);
    let previous = state.register.display;
    let mut display = previous;
    section(ui, "Overlay");
    modes(ui, &mut display);
    section(ui, "DRR of the CT");
    reading(ui, state, commands);
    section(ui, "Grey values");
    greys(ui, &mut display);
    section(ui, "Drawn over it");
    ui.checkbox(&mut display.outlines, "Outlines of structures");
    ui.checkbox(&mut display.graticule, "Graticule");
    let hint = "The plan's fields from this source, and (dashed) what the collimator of the X-ray left open";
    ui.checkbox(&mut display.field, "Field edge")
        .on_hover_text(hint);
    if display != previous {
        commands.push(Command::Register(RegisterAction::Display(display)));
    }
    structures(ui, state, commands);
}

fn list(ui: &mut Ui, register: &Register, commands: &mut Commands) {
    section(ui, "X-rays");
    for (index, image) in register.images().iter().enumerate() {
        let image_of = &image.radiograph;
        ui.horizontal(|ui| {
            ui.label(format!("{}", index + 1));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let remove = ui.small_button("Remove");
                if remove
                    .accessible_name(format!("Remove X-ray {}", index + 1))
                    .clicked()
                {
                    commands.push(Command::Register(RegisterAction::RemoveImage(index)));
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.add(egui::Label::new(&image_of.label).truncate());
                });
            });
        });
        let p = &image_of.projection;
        let mut detail = format!("{} × {}", p.columns(), p.rows());
        if let Some(s) = image_of.setup {
            detail += &format!(
                ", gantry {:.1}°, {:.0} / {:.0} mm",
                s.gantry_deg, s.sad_mm, s.sid_mm
            );
        }
        ui.weak(RichText::new(detail).small());
        if image.region.is_some() {
            ui.horizontal(|ui| {
                ui.colored_label(
                    theme::palette(ui).accent,
                    RichText::new("Metric looks at the region").small(),
                );
                if ui.small_button("All of it").clicked() {
                    let action = RegisterAction::Region {
                        image: index,
                        region: None,
                    };
                    commands.push(Command::Register(action));
                }
            });
        }
    }
    ui.horizontal(|ui| {
        if ui.small_button("Open X-ray…").clicked() {
            commands.push(Command::Pick(FileAction::OpenXray));
        }
        let mut marking = register.marking;
        let hint = "The next drag in a view marks what the metric looks at";
        if ui
            .toggle_value(&mut marking, RichText::new("Mark region").small())
            .on_hover_text(hint)
            .changed()
        {
            commands.push(Command::Register(RegisterAction::Mark(marking)));
        }
    });
}

fn modes(ui: &mut Ui, display: &mut Display) {
    let width = 0.5 * (ui.available_width() - 6.0);
    egui::Grid::new("modes")
        .spacing(vec2(6.0, 4.0))
        .show(ui, |ui| {
            for (n, mode) in Mode::ALL.into_iter().enumerate() {
                let button = egui::Button::selectable(display.mode == mode, mode.name());
                if ui.add_sized(vec2(width, 22.0), button).clicked() {
                    display.mode = mode;
                }
                if n % 2 == 1 {
                    ui.end_row();
                }
            }
        });
    match display.mode {
        Mode::Blend => {
            ui.horizontal(|ui| {
                ui.weak("X-ray");
                ui.spacing_mut().slider_width = (ui.available_width() - 44.0).max(60.0);
                let slider = Slider::new(&mut display.blend, 0.0..=1.0).show_value(false);
                ui.add(slider).accessible_name("Share of the DRR");
                ui.weak("DRR");
            });
        }
        Mode::Colours => {
            ComboBox::from_id_salt("pair")
                .selected_text(display.pair.name())
                .show_ui(ui, |ui| {
                    for pair in Pair::ALL {
                        ui.selectable_value(&mut display.pair, pair, pair.name());
                    }
                });
        }
        _ => {}
    }
    ui.weak(RichText::new("Hold space for the DRR alone.").small());
}

/// Conversion of HU to attenuation: the curve and the energy.
fn reading(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let previous = state.register.reading;
    let mut reading = previous;
    ui.add_enabled_ui(state.register.is_free(), |ui| {
        let chosen = ComboBox::from_id_salt("curve").selected_text(reading.curve.name()).width(170.0);
        let answer = chosen.show_ui(ui, |ui| {
            for curve in CurveKind::ALL {
                ui.selectable_value(&mut reading.curve, curve, curve.name());
            }
        });
        answer.response.on_hover_text(
            "HU to attenuation: all as water of another density, or by what the tissues of the CT's HU table are made of, \
             which makes bone stand out more below 100 keV",
        );
        ui.horizontal(|ui| {
            ui.weak("Energy");
            let hint = "Of a tube of 100 to 125 kV behind a patient: about 70 keV; of a 6 MV beam: about 2000";
            let drag = number("Energy of the DRR", &mut reading.kev, " keV").speed(1.0).decimals(0);
            drag.range(AttenuationChoice::KEV).show(ui).on_hover_text(hint);
        });
    });
    if reading.curve == CurveKind::Tissue {
        ct::panel::beyond::hu_remarks(ui, state);
    }
    if reading != previous {
        commands.push(Command::Register(RegisterAction::Attenuation(reading)));
    }
}

fn greys(ui: &mut Ui, display: &mut Display) {
    ui.add(Checkbox::new(
        &mut display.bone_dark,
        "Bone dark, as on film",
    ));
    egui::Grid::new("greys")
        .num_columns(3)
        .spacing(vec2(6.0, 4.0))
        .show(ui, |ui| {
            for (name, window) in [
                ("X-ray", &mut display.xray_window),
                ("DRR", &mut display.drr_window),
            ] {
                ui.weak(name);
                for (end, value) in ["black", "white"].into_iter().zip(window.iter_mut()) {
                    let drag = egui::DragValue::new(value)
                        .speed(0.005)
                        .range(-2.0..=3.0)
                        .custom_formatter(|v, _| format!("{:.0} %", 100.0 * v))
                        .custom_parser(|t| {
                            t.trim()
                                .trim_end_matches('%')
                                .trim()
                                .parse()
                                .ok()
                                .map(|v: f64| 0.01 * v)
                        });
                    ui.add(drag).accessible_name(format!("{name} {end}"));
                }
                ui.end_row();
            }
        });
    ui.horizontal(|ui| {
        if ui.small_button("Reset grey values").clicked() {
            display.xray_window = Display::default().xray_window;
            display.drr_window = Display::default().drr_window;
        }
        let hint = "Interpolates in 32 bits in place of the graphics card's 8: slower, the same to the eye";
        ui.checkbox(&mut display.exact, "Exact DRR").on_hover_text(hint);
    });
}

fn structures(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let set = &state.case().structures.structures;
    if set.is_empty() || !state.register.display.outlines {
        return;
    }
    section(ui, "Structures");
    for structure in set
        .iter()
        .filter(|s| s.kind != case::StructureKind::External)
    {
        let shown = !state.hidden.contains(&structure.number);
        ui.horizontal(|ui| {
            let mut on = shown;
            let name = format!("Show {}", structure.name);
            if ui
                .add(Checkbox::without_text(&mut on))
                .accessible_name(name)
                .changed()
            {
                commands.push(Command::ShowStructure {
                    number: structure.number,
                    shown: on,
                });
            }
            let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), egui::Sense::hover());
            theme::swatch(ui, rect, structure.colour);
            let text = RichText::new(&structure.name);
            ui.add(
                egui::Label::new(if shown {
                    text
                } else {
                    text.color(theme::palette(ui).weak)
                })
                .truncate(),
            );
        });
    }
}
