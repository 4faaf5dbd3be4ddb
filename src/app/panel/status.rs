//! The line at the bottom: what lies under the pointer.

use super::status_chip;
use crate::app::state::State;
use egui::{RichText, Ui};

/// Shows the line for the position under the pointer, else at the crosshair.
pub fn show(ui: &mut Ui, state: &State) {
    ui.horizontal(|ui| {
        let case = state.case();
        let (at_mm, whose) = match state.pointer_mm {
            Some(mm) => (mm, "Pointer"),
            None => (state.crosshair_mm, "Crosshair"),
        };
        let digits = |ui: &mut Ui, width: f32, text: String| {
            let label = egui::Label::new(RichText::new(text).size(12.5));
            // Right-aligned in a fixed width: nothing moves as the pointer does.
            let layout = egui::Layout::right_to_left(egui::Align::Center);
            ui.allocate_ui_with_layout(egui::vec2(width, 18.0), layout, |ui| ui.add(label));
        };
        if state.is_loaded() {
            ui.weak(whose);
            for (axis, mm) in ["x", "y", "z"].into_iter().zip(at_mm.to_array()) {
                digits(ui, 58.0, format!("{axis} {mm:.1}"));
            }
            ui.weak("mm");
        }
        if let Some(ct) = &case.ct {
            ui.separator();
            match ct.hu.nearest(at_mm) {
                Some(hu) => {
                    let v = ct.hu.grid().voxel_from_patient(at_mm).round();
                    ui.weak("Voxel");
                    for index in v.to_array() {
                        digits(ui, 24.0, format!("{index}"));
                    }
                    ui.separator();
                    digits(ui, 62.0, format!("{hu:.0} HU"));
                    digits(ui, 74.0, format!("{:.3} g/cm³", state.follow.density_g_cm3(hu)));
                }
                None => {
                    ui.weak("outside the CT");
                }
            }
        }
        if let Some(dose) = state.follow.shown_dose() {
            ui.separator();
            ui.weak("Dose");
            match dose.gy.trilinear(at_mm) {
                Some(gy) => {
                    let gy = f64::from(gy);
                    digits(ui, 66.0, format!("{gy:.3} Gy"));
                    if let Some((reference, name)) = state.reference() {
                        digits(ui, 54.0, format!("{:.1} %", 100.0 * gy / reference));
                        ui.weak(format!("of {name} {reference:.2} Gy"));
                    }
                }
                None => {
                    ui.weak("outside the dose grid");
                }
            }
            status_chip(ui, dose.status);
        }
    });
}
