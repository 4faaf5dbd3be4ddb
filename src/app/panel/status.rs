//! The status line: values under the pointer.

use crate::command::{Command, Commands};
use crate::kit::status_with_caveats;
use crate::state::results::{Certainty, Standing};
use crate::state::{State, Workspace};
use analysis::{DifferenceUnit, Side, decimals};
use case::DoseStatus;
use egui::{RichText, Ui};
use glam::DVec3;

/// Width in points that A, B, their difference and gamma need beside the voxel and its density, and that one dose with its status
/// needs.
const ROOM_FOR_VOXEL: [f32; 2] = [1060.0, 740.0];

/// A number of the line, right-aligned in a fixed width, so that no text shifts as the pointer moves.
fn digits(ui: &mut Ui, width: f32, text: String) {
    let label = egui::Label::new(RichText::new(text).size(12.5));
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    ui.allocate_ui_with_layout(egui::vec2(width, 18.0), layout, |ui| ui.add(label));
}

/// Shows the line for the position under the pointer, else at the crosshair.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let case = state.case();
        let (at_mm, whose) = match state.pointer_mm {
            Some(mm) => (mm, "Pointer"),
            None => (state.crosshair_mm, "Crosshair"),
        };
        if state.is_loaded() {
            ui.weak(whose);
            for (axis, mm) in ["x", "y", "z"].into_iter().zip(at_mm.to_array()) {
                digits(ui, 58.0, format!("{axis} {}", decimals(mm, 1)));
            }
            ui.weak("mm");
        }
        let [of_pair, of_dose] = ROOM_FOR_VOXEL;
        let needed = if state.workspace == Workspace::Compare {
            of_pair
        } else {
            of_dose
        };
        let roomy = ui.available_width() > needed;
        if let Some(ct) = case.ct.as_ref().filter(|_| roomy) {
            ui.separator();
            match ct.hu.grid().voxel_at(at_mm) {
                Some(voxel @ [i, j, k]) => {
                    let hu = ct.hu.at(i, j, k);
                    ui.weak("Voxel");
                    for index in voxel {
                        digits(ui, 24.0, format!("{index}"));
                    }
                    ui.separator();
                    digits(ui, 62.0, format!("{hu:.0} HU"));
                    digits(
                        ui,
                        74.0,
                        format!("{:.3} g/cm³", state.results.density_g_cm3(hu)),
                    );
                }
                None => {
                    ui.weak("outside the CT");
                }
            }
        }
        if state.workspace == Workspace::Compare {
            compared(ui, state, at_mm, digits);
            if state.results.is_any_cancelled() {
                ui.weak("cancelled");
                again(ui, commands);
            }
            return;
        }
        if let Some(dose) = state.results.shown_dose() {
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
            let chip = status_with_caveats(ui, dose.status, &dose.caveats, &dose.remarks);
            if let Some(text) = state.shown_normalisation() {
                chip.on_hover_text(text);
            }
            if state.results.is_shown_cancelled() {
                ui.weak("cancelled");
                again(ui, commands);
            } else if state.results.is_run_kept() && dose.status == DoseStatus::Preview {
                ui.weak("stopped and kept");
                again(ui, commands);
            }
            if let Some(certainty) = state.results.certainty() {
                ui.weak(run_words(certainty, dose.status));
            }
        }
    });
}

/// The button that goes on with what the user has cancelled.
fn again(ui: &mut Ui, commands: &mut Commands) {
    let again = ui
        .small_button("Compute again")
        .on_hover_text("What was cancelled or ended by hand");
    if again
        .accessible_name("Go on with what was cancelled")
        .clicked()
    {
        commands.push(Command::Recompute);
    }
}

/// `Monte Carlo ± 1.7 % so far, 12.3 million histories`.
fn run_words(certainty: &Certainty, status: DoseStatus) -> String {
    let so_far = if status == DoseStatus::Preview {
        " so far"
    } else {
        ""
    };
    format!(
        "Monte Carlo {}{so_far}, {}",
        certainty.percent_words(),
        certainty.histories_words()
    )
}

/// A, B, their difference and gamma at a position.
fn compared(ui: &mut Ui, state: &State, at_mm: DVec3, digits: impl Fn(&mut Ui, f32, String)) {
    let reference = state.compare_reference();
    let values = Side::BOTH.map(|side| {
        let dose = state.results.side(side)?;
        ui.separator();
        ui.weak(side.name());
        let value = dose
            .gy
            .trilinear(at_mm)
            .filter(|gy| gy.is_finite())
            .map(f64::from);
        match value {
            Some(gy) => {
                digits(ui, 66.0, format!("{gy:.3} Gy"));
                if let Some((reference, _)) = reference {
                    digits(ui, 50.0, format!("{:.1} %", 100.0 * gy / reference));
                }
            }
            None => digits(ui, 122.0, "not known here".to_owned()),
        }
        value
    });
    if state.results.pair().is_none() {
        return;
    }
    if let [Some(a), Some(b)] = values {
        ui.separator();
        ui.weak("B - A");
        digits(ui, 70.0, format!("{:+.3} Gy", b - a));
        let d = &state.compare.difference;
        if d.unit != DifferenceUnit::Gy
            && let Some(value) = d.value(a, b, reference.map(|(gy, _)| gy))
        {
            let unit = if d.unit == DifferenceUnit::Percent {
                "%"
            } else {
                "% of A"
            };
            digits(ui, 72.0, format!("{value:+.1} {unit}"));
        }
        if let Some((result, _, standing)) = state.results.gamma() {
            ui.separator();
            ui.weak("Gamma");
            let gamma = result
                .maps
                .first()
                .and_then(|m| m.gamma.nearest(at_mm))
                .filter(|g| !g.is_nan());
            let stale = if standing == Standing::Stale {
                " (stale)"
            } else {
                ""
            };
            let text = gamma.map_or("none".to_owned(), |g| format!("{g:.2}{stale}"));
            digits(ui, 64.0, text);
        }
    }
}
