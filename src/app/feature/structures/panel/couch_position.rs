//! Position of a couch, by number.

use crate::command::{Command, Commands, gesture};
use crate::kit::{field, fields, number, section};
use crate::state::State;
use analysis::{couch_parts, couch_place};
use case::{Edit, Structure};
use egui::Ui;
use glam::DVec3;

/// Position of a couch that has a density override; its parts move together, one drag as one step.
pub fn show(ui: &mut Ui, state: &State, structure: &Structure, commands: &mut Commands) {
    let set = &state.case().structures;
    let parts = couch_parts(set, structure);
    let Some(ct) = state.case().ct.as_ref().filter(|_| !parts.is_empty()) else {
        return;
    };
    let isocentre_mm = state
        .plan()
        .and_then(|p| p.beams.iter().find(|b| !b.setup))
        .map(|b| b.isocentre_mm);
    let from_mm = isocentre_mm.unwrap_or_default();
    let Some(place) = couch_place(set, &parts, ct.position, from_mm) else {
        return;
    };
    section(ui, "Position");
    let origin = if isocentre_mm.is_some() {
        "the isocentre of the first beam"
    } else {
        "the origin of the CT"
    };
    fields(ui, "couch position", |ui| {
        for (axis, name, what) in [
            (
                0,
                "Lateral",
                "its middle, to the right of one who faces the gantry",
            ),
            (2, "Vertical", "its top, upwards"),
            (1, "Longitudinal", "its middle, towards the gantry"),
        ] {
            field(ui, name, |ui| {
                let mut mm = place[axis];
                let r = number(&format!("Couch {}", name.to_lowercase()), &mut mm, " mm").show(ui);
                let hint = format!(
                    "Axes of the table (IEC 61217), mm from {origin}: {what}. All parts of the couch move"
                );
                if r.clone().on_hover_text(hint).changed() && mm.is_finite() {
                    let mut by = DVec3::ZERO;
                    by[axis] = mm - place[axis];
                    let by_mm = ct.position.patient_from_table() * by;
                    let moved = parts.iter().map(|n| (*n, set.structures[*n].moved(by_mm)));
                    let edit = Edit::SetStructures("Move couch", moved.collect());
                    commands.push(Command::Edit {
                        edit: edit.into(),
                        gesture: gesture(&r),
                    });
                }
            });
        }
    });
}
