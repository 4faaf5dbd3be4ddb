//! Tools that draw the selected structure.

use crate::command::{Command, Commands};
use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::{DIAMETERS_MM, Tool};
use crate::kit::{field, fields, number, section, theme};
use crate::state::State;
use egui::{Button, Slider, Ui};

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Draw");
    let why_not = state.why_not_drawn();
    if let Some(why) = why_not {
        ui.add(
            egui::Label::new(
                egui::RichText::new(why)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
    let drawing = &state.drawing;
    ui.add_enabled_ui(why_not.is_none(), |ui| {
        ui.horizontal_wrapped(|ui| {
            for tool in Tool::ALL {
                let on = drawing.tool == Some(tool);
                if ui.add(Button::selectable(on, tool.name())).on_hover_text(hint(tool)).clicked() {
                    commands.push(Command::Draw(DrawAction::Tool((!on).then_some(tool))));
                }
            }
            ui.separator();
            let erase = Button::selectable(drawing.erase, "Erase");
            let hint =
                "The tools erase (key E). Shift or Ctrl, held at the start of a stroke, does the other.";
            if ui.add(erase).on_hover_text(hint).clicked() {
                commands.push(Command::Draw(DrawAction::Erase(!drawing.erase)));
            }
        });
        let Some(tool) = drawing.tool else { return };
        if tool.is_round() {
            fields(ui, "brush", |ui| {
                field(ui, "Diameter", |ui| {
                    let mut mm = drawing.diameter_mm;
                    let slider = Slider::new(&mut mm, DIAMETERS_MM).logarithmic(true).show_value(false);
                    let hint = "Shift + wheel in a view, or the keys [ and ]";
                    let slid = ui.add(slider.step_by(0.5)).on_hover_text(hint);
                    slid.accessible_name("Brush size").changed().then(|| commands.push(Command::Draw(DrawAction::Diameter(mm))));
                    let typed = number("Brush diameter", &mut mm, " mm").range(DIAMETERS_MM).show(ui);
                    typed.changed().then(|| commands.push(Command::Draw(DrawAction::Diameter(mm))));
                });
            });
        }
        if state.selected_structure().is_some_and(|(_, s)| state.shapes.shape_of(s).is_some()) {
            let words = "Drawing makes contours of the shape: it has no handles then. Undo brings them back.";
            ui.add(
                egui::Label::new(egui::RichText::new(words).small().color(theme::palette(ui).warning)).wrap(),
            );
        }
        ui.add(
            egui::Label::new(egui::RichText::new(what_next(tool)).small().color(theme::palette(ui).weak))
                .wrap(),
        );
    });
}

fn hint(tool: Tool) -> &'static str {
    match tool {
        Tool::Brush => {
            "A disc on the slice (key P). In sagittal and coronal views a strip one pixel thick."
        }
        Tool::Sphere => "A ball through all slices that it meets (key S)",
        Tool::Polygon => "Corner by corner (key G)",
        Tool::Freehand => "A line drawn round (key H)",
    }
}

fn what_next(tool: Tool) -> &'static str {
    match tool {
        Tool::Brush | Tool::Sphere => {
            "Drag in a slice view. Shift or Ctrl: erase. Shift + wheel: size. Esc: done."
        }
        Tool::Polygon => {
            "Click the corners; double click, Enter or the first corner closes. Backspace takes one back. Esc drops it."
        }
        Tool::Freehand => {
            "Drag round in a slice view; letting go closes. Shift or Ctrl: erase. Esc: done."
        }
    }
}
