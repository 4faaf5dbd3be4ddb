//! The fluence map of a beam: the brush that bounds it.

use crate::command::{Command, Commands};
use crate::feature::beam::command::ApertureAction;
use crate::feature::beam::state::{Aperture, LimitBrush};
use crate::kit::{field, fields, number, section};
use crate::state::State;
use case::Beam;
use egui::{Button, Ui};

/// Shows the brush of a beam that has a map.
pub fn show(ui: &mut Ui, state: &State, index: usize, beam: &Beam, commands: &mut Commands) {
    if beam.fluence.is_none() {
        return;
    }
    section(ui, "Fluence");
    let mut brush = state.aperture.limits;
    ui.horizontal_wrapped(|ui| {
        let hint =
            "A drag over the map in the beam's-eye view sets the most that the optimisation may give there";
        ui.toggle_value(&mut brush.on, "Brush limits").on_hover_text(hint);
        ui.add_enabled_ui(brush.on, |ui| {
            ui.toggle_value(&mut brush.erases, "Erase limits").on_hover_text("A drag takes limits away");
        });
        let count = beam.fluence_limits.len();
        let clear = ui.add_enabled(count > 0, Button::new("Clear limits"));
        let clear = clear.on_disabled_hover_text("No beamlet of this beam has a limit");
        if clear.on_hover_text(format!("Takes the limits of {count} beamlets away")).clicked() {
            commands.push(Command::Aperture(ApertureAction::ClearLimits(index)));
        }
    });
    if brush.on {
        fields(ui, "limits", |ui| {
            field(ui, "At most", |ui| {
                let percent = number("Limit of the brush", &mut brush.percent, " %").decimals(0);
                let percent = percent.range(0.0..=100.0).show(ui);
                percent.on_hover_text("Percent of the greatest fluence of the map");
            });
            field(ui, "Brush", |ui| {
                let size = number("Size of the limit brush", &mut brush.diameter_mm, " mm");
                size.range(LimitBrush::DIAMETERS_MM).show(ui);
            });
        });
    }
    if brush != state.aperture.limits {
        // Only one brush is active at a time.
        let leaves = state.aperture.brush && !brush.on;
        let next = Aperture {
            limits: brush,
            brush: leaves,
            ..state.aperture.clone()
        };
        commands.push(Command::Aperture(ApertureAction::Set(next)));
    }
}
