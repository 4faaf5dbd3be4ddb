//! Control points of a dynamic beam: a list, and a player that shows them one after another.

use crate::command::{ApertureAction, Command, Commands};
use crate::panel::section;
use crate::state::State;
use crate::state::results::Shown;
use analysis::is_computed;
use case::Beam;
use egui::{RichText, ScrollArea, Ui};
use std::time::Duration;

/// Time for which the player shows a control point, s.
const SHOWN_S: f64 = 0.12;

/// Shows the control points of a beam that has more than one.
pub fn show(ui: &mut Ui, state: &State, beam: &Beam, commands: &mut Commands) {
    let count = beam.control_points.len();
    if count < 2 {
        return;
    }
    section(ui, "Control points");
    let now = state.shown_point(beam);
    let plays = state.aperture.plays && state.aperture.point.0 == beam.number;
    let (mut to, mut goes_on) = (now, plays);
    ui.horizontal(|ui| {
        if ui.small_button("First").clicked() {
            to = 0;
        }
        if ui.small_button("Back").clicked() {
            to = now.saturating_sub(1);
        }
        if ui.small_button(if plays { "Pause" } else { "Play" }).clicked() {
            goes_on = !plays;
            to = if goes_on && now + 1 == count { 0 } else { now };
        }
        if ui.small_button("Next").clicked() {
            to = (now + 1).min(count - 1);
        }
        ui.weak(format!("{} of {count}", now + 1));
    });
    if plays && goes_on {
        to = played(ui, now, count);
        goes_on &= to + 1 < count;
    }
    let row = ui.spacing().interact_size.y;
    let table = ScrollArea::vertical().max_height(160.0).id_salt("control points");
    table.show_rows(ui, row, count, |ui, rows| {
        for n in rows {
            let p = &beam.control_points[n];
            let mu = beam.mu * p.meterset_weight;
            let ([x1, x2], [y1, y2]) = (p.jaws.x, p.jaws.y);
            let text = format!(
                "{:>3}  {mu:7.1} MU  G {:5.1}°  X {x1:.0} {x2:.0}  Y {y1:.0} {y2:.0}",
                n + 1,
                p.gantry_deg
            );
            let line = ui.selectable_label(n == now, RichText::new(text).small().monospace());
            if line.clicked() {
                to = n;
                goes_on = false;
            }
        }
    });
    ui.weak(
        RichText::new("MU up to the control point. The views show the chosen one; leaves are edited there.")
            .small(),
    );
    dose(ui, state, beam, to, commands);
    if (to, goes_on) != (now, plays) {
        let action = ApertureAction::Show { beam: beam.number, point: to, plays: goes_on };
        commands.push(Command::Aperture(action));
    }
}

/// Whether the dose on show is that of the control point, which it follows.
fn dose(ui: &mut Ui, state: &State, beam: &Beam, point: usize, commands: &mut Commands) {
    let now = state.results.shown;
    let is_shown = matches!(now, Shown::Point(number, _) if number == beam.number);
    let mut on = is_shown;
    let by_beam = !state.results.is_monte_carlo() && is_computed(beam);
    let hint = "The views and the DVH show what is delivered from this control point to the next, before normalisation";
    let switch =
        ui.add_enabled(by_beam || on, egui::Checkbox::new(&mut on, "Dose of this control point alone"));
    switch.on_hover_text(hint).on_disabled_hover_text("Monte Carlo has no dose by control point");
    let next = match (on, is_shown) {
        (true, _) => Shown::Point(beam.number, point),
        (false, true) => Shown::Plan,
        (false, false) => now,
    };
    if next != now {
        commands.push(Command::ShowDose(next));
    }
}

/// The control point that the player has come to.
fn played(ui: &Ui, now: usize, count: usize) -> usize {
    let id = ui.scope_id().with("shown since");
    let time = ui.input(|i| i.time);
    let (point, since) = ui.data(|d| d.get_temp::<(usize, f64)>(id)).unwrap_or((usize::MAX, time));
    let since = if point == now { since } else { time };
    ui.data_mut(|d| d.insert_temp(id, (now, since)));
    let left = SHOWN_S - (time - since);
    ui.ctx().request_repaint_after(Duration::from_secs_f64(left.clamp(0.005, SHOWN_S)));
    if left <= 0.0 { (now + 1).min(count - 1) } else { now }
}
