//! Arcs by start, stop and direction: new arcs, and the arc of a beam.

use crate::command::{Command, Commands};
use crate::feature::plan::command::PlanAction;
use crate::kit::{angle, field, fields, refuses, section};
use case::{Beam, Edit, GantryArc, Template};
use egui::{Button, Ui};
use geometry::wrapped_deg;

/// Fields of an arc, with accessible names that begin with `name`; returns whether one of them is being dragged.
fn arc_fields(ui: &mut Ui, name: &str, arc: &mut GantryArc) -> bool {
    let mut dragged = false;
    fields(ui, name, |ui| {
        let start = field(ui, "Start", |ui| {
            angle(&format!("{name} start"), &mut arc.start_deg).show(ui)
        });
        let stop = field(ui, "Stop", |ui| {
            angle(&format!("{name} stop"), &mut arc.stop_deg).show(ui)
        });
        dragged = start.dragged() || stop.dragged();
        field(ui, "Direction", |ui| {
            for (clockwise, word) in [(true, "CW"), (false, "CCW")] {
                let hint = if clockwise {
                    "Towards greater angles"
                } else {
                    "Towards smaller angles"
                };
                let button = ui
                    .add(Button::selectable(arc.clockwise == clockwise, word))
                    .on_hover_text(hint);
                if button.accessible_name(format!("{name} {word}")).clicked() {
                    arc.clockwise = clockwise;
                }
            }
            ui.weak(format!("{:.0}°", arc.span_deg()));
        });
    });
    (arc.start_deg, arc.stop_deg) = (wrapped_deg(arc.start_deg), wrapped_deg(arc.stop_deg));
    dragged
}

/// A new arc, in the menu of new beams.
pub fn new_arc(ui: &mut Ui, commands: &mut Commands) {
    let id = egui::Id::unique("new arc");
    let mut arc: GantryArc = ui.data(|d| d.get_temp(id)).unwrap_or(GantryArc::FULL);
    let refused = refuses(ui, |ui| _ = arc_fields(ui, "New arc", &mut arc));
    ui.data_mut(|d| d.insert_temp(id, arc));
    if ui.add_enabled(!refused, Button::new("Add arc")).clicked() {
        commands.push(Command::Plans(PlanAction::Add(Template::Arc(arc))));
        ui.close();
    }
}

/// The arc of a beam whose gantry turns; a change makes its control points anew, with the apertures along the way.
pub(crate) fn show(ui: &mut Ui, plan: usize, index: usize, beam: &Beam, commands: &mut Commands) {
    let Some(current) = beam.arc() else { return };
    section(ui, "Arc");
    // A dragged angle is taken where it is let go: on the way a shorter arc would lose apertures.
    let id = egui::Id::unique(("arc", beam.number));
    let dragged: Option<GantryArc> = ui
        .data_mut(|d| d.remove_temp::<Option<GantryArc>>(id))
        .flatten();
    let mut arc = dragged.unwrap_or(current);
    if arc_fields(ui, "Arc", &mut arc) {
        ui.data_mut(|d| d.insert_temp(id, Some(arc)));
    } else if arc != current {
        commands.edit(Edit::SetBeam {
            plan,
            beam: index,
            value: beam.along_arc(arc),
        });
    }
}
