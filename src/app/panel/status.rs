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
        let mono = |text: String| RichText::new(text).monospace().size(11.5);
        if state.is_loaded() {
            ui.weak(whose);
            ui.label(mono(format!("{:8.1} {:8.1} {:8.1} mm", at_mm.x, at_mm.y, at_mm.z)));
        }
        if let Some(ct) = &case.ct {
            ui.separator();
            match ct.hu.nearest(at_mm) {
                Some(hu) => {
                    let v = ct.hu.grid().voxel_from_patient(at_mm).round();
                    ui.weak("Voxel");
                    ui.label(mono(format!("{:3} {:3} {:3}", v.x, v.y, v.z)));
                    ui.separator();
                    ui.label(mono(format!("{hu:5.0} HU")));
                    if let Some(density) = state.follow.density_g_cm3(hu) {
                        ui.label(mono(format!("{density:.3} g/cm³")));
                    }
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
                    let percent = state.reference().map(|(reference, name)| {
                        format!("  {:5.1} % of {name} {reference:.1} Gy", 100.0 * gy / reference)
                    });
                    ui.label(mono(format!("{gy:7.3} Gy{}", percent.unwrap_or_default())));
                }
                None => {
                    ui.weak("outside the dose grid");
                }
            }
            status_chip(ui, dose.status);
        }
    });
}
