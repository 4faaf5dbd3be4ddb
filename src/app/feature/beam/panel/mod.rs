//! A beam: angles, collimation, monitor units.

pub mod aperture;
pub mod arc;
pub mod arrange;
pub mod dial;
pub mod isocentre;
pub mod points;

use self::dial::{dial, towards_deg};
use crate::command::{Command, Commands, gesture};
use crate::feature::start::panel::tour;
use crate::feature::start::state::Stop;
use crate::feature::{optimise, structures};
use crate::kit::{angle, field, fields, number, section, stated, status_chip, theme, title};
use crate::state::State;
use crate::state::results::{Stated, machine_label};
use analysis::{MOST_MU, REACH_MM as JAW_LIMIT_MM, beam_remarks, isocentre_remark};
use case::{Beam, ControlPoint, Edit, Plan};
use egui::{ComboBox, Response, Ui};
use geometry::wrapped_deg;
use physics::Calibration;

/// Directions of IEC 61217, for a patient head first and supine where the patient is named.
const GANTRY_HINT: &str = "Gantry angle (IEC 61217): 0° beam from above, 90° from the right as one faces the gantry (the left \
                           of a patient head first supine). Arrow keys 1°, with shift 10°";
const COLLIMATOR_HINT: &str = "Collimator angle (IEC 61217): turns jaws and leaves, + anticlockwise as seen from the source \
                               along the beam's-eye view";
const COUCH_HINT: &str = "Couch angle (IEC 61217): turns the table about the vertical through the isocentre, \
                          + anticlockwise as seen from above";
const DIAL_HINT: &str =
    "Drag to turn the gantry by whole degrees, with shift by tens; seen as one faces the gantry";

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (Some((index, beam)), Some(plan)) = (state.selected_beam(), state.plan()) else {
        ui.weak("This beam is gone.");
        return;
    };
    let Some(start) = beam.start().cloned() else {
        ui.weak("This beam has no control points.");
        return;
    };
    title(ui, "Beam", &beam.name);
    dose_line(ui, state, plan, beam);
    if let Some(why) = &beam.read_only {
        ui.colored_label(theme::palette(ui).warning, format!("Read only: {why}"));
    }
    arrange::show(ui, state, plan, index, beam, commands);
    ui.add_enabled_ui(beam.read_only.is_none(), |ui| {
        let mut form = Form {
            plan: state.plan,
            index,
            beam,
            commands,
        };
        angles(ui, &mut form, &start, state.shown_point(beam));
        arc::show(ui, form.plan, index, beam, form.commands);
        let delivered = plan
            .normalisation
            .as_ref()
            .and_then(|_| state.results.delivered_mu(plan, beam));
        collimation(ui, &mut form, &start, delivered);
        optimise::panel::fluence::show(ui, state, index, beam, form.commands);
        aperture::show(ui, state, plan, index, beam, form.commands);
        isocentre::show(ui, state, index, beam, form.commands);
        machine(ui, &mut form, state, &plan.machine);
    });
    structures::panel::beside::under_field(ui, state, index, beam, commands);
    points::show(ui, state, beam, commands);
    isocentre::figures(ui, state, plan, beam);
    section(ui, "");
    arrange::buttons(ui, state, plan, index, beam, commands);
}

/// The displayed beam, and the commands that change it.
struct Form<'a> {
    plan: usize,
    index: usize,
    beam: &'a Beam,
    commands: &'a mut Commands,
}

impl Form<'_> {
    /// Pushes the beam changed by `change`, if the widget reports a change.
    fn on(&mut self, response: &Response, change: impl FnOnce(&mut Beam)) {
        if response.changed() {
            let mut value = self.beam.clone();
            change(&mut value);
            let edit = Edit::SetBeam {
                plan: self.plan,
                beam: self.index,
                value,
            };
            self.commands.edit_with(response, edit);
        }
    }

    /// As [`Self::on`], for values of every control point.
    fn on_points(&mut self, response: &Response, mut change: impl FnMut(&mut ControlPoint)) {
        self.on(response, |beam| {
            beam.control_points.iter_mut().for_each(&mut change)
        });
    }

    /// Turns the control point on show to `gantry_deg`, as a drag in a view does, if the widget reports a change.
    fn turn_gantry(&mut self, response: &Response, gantry_deg: f64) {
        if response.changed() {
            self.commands.push(Command::Gantry {
                beam: self.index,
                gantry_deg,
                gesture: gesture(response),
            });
        }
    }

    /// Has the gantry follow the pointer on the dial, which shows `shown_deg`.
    fn follow_dial(&mut self, dial: &Response, shown_deg: f64) {
        let (beam, gesture, rect) = (self.index, gesture(dial), dial.rect);
        self.commands.follow(dial, move |pointer| {
            let gantry_deg = towards_deg(rect, pointer).filter(|deg| *deg != shown_deg)?;
            Some(Command::Gantry {
                beam,
                gantry_deg,
                gesture,
            })
        });
    }
}

fn dose_line(ui: &mut Ui, state: &State, plan: &Plan, beam: &Beam) {
    ui.horizontal(|ui| {
        // One row, whatever it says: the dial below stands still in a drag.
        ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Truncate);
        ui.weak("Dose");
        // The chip is worth no more than the number beside it, which a normalisation makes of the whole plan's dose.
        let max = state.results.beam_max_gy(plan, beam);
        match max
            .map(|max| max.status)
            .or_else(|| state.results.beam_status(beam.number))
        {
            Some(status) => {
                status_chip(ui, status);
            }
            None if state.case().ct.is_none() => {
                ui.weak("not computed: there is no CT");
            }
            None => {
                ui.weak("not computed");
            }
        }
        if let Some(max) = max {
            stated(ui, "maximum ", max, 3, " Gy", " a fraction");
        }
    });
    if beam.off {
        ui.colored_label(
            theme::palette(ui).warning,
            "Switched off: not in the plan's dose, not exported.",
        );
    }
    if let Some(why) = state.results.beam_failure(beam.number) {
        ui.colored_label(theme::palette(ui).error, why);
    }
}

/// Width of the angles beside the dial, points.
const BESIDE_DIAL: f32 = 172.0;

/// `shown`: the control point on show, whose gantry angle the dial and its field have.
fn angles(ui: &mut Ui, form: &mut Form<'_>, start: &ControlPoint, shown: usize) {
    section(ui, "Angles (IEC 61217)");
    let enabled = form.beam.read_only.is_none();
    ui.horizontal(|ui| {
        let gantry_deg = form.beam.control_points[shown].gantry_deg;
        let mut turned = gantry_deg;
        let diameter = (ui.available_width() - BESIDE_DIAL).clamp(64.0, 128.0);
        let response = dial(ui, "Gantry", &mut turned, diameter, enabled).on_hover_text(DIAL_HINT);
        tour::mark(ui, Stop::Gantry, response.rect);
        form.turn_gantry(&response, turned);
        form.follow_dial(&response, gantry_deg);
        ui.vertical(|ui| {
            fields(ui, "angles", |ui| {
                let mut typed = gantry_deg;
                let response = field(ui, "Gantry", |ui| {
                    // Arrow keys step by one degree (the field's own), with shift by ten.
                    let response = angle("Gantry angle", &mut typed).show(ui);
                    if response.has_focus() {
                        let big = ui.input_mut(|i| {
                            i.count_and_consume_key(egui::Modifiers::SHIFT, egui::Key::ArrowUp)
                                as f64
                                - i.count_and_consume_key(
                                    egui::Modifiers::SHIFT,
                                    egui::Key::ArrowDown,
                                ) as f64
                        });
                        typed += 10.0 * big;
                    }
                    response.on_hover_text(GANTRY_HINT)
                });
                form.turn_gantry(&response, typed);
                let mut collimator = start.collimator_deg;
                let response = field(ui, "Collimator", |ui| {
                    angle("Collimator angle", &mut collimator).show(ui)
                });
                let response = response.on_hover_text(COLLIMATOR_HINT);
                let turn = collimator - start.collimator_deg;
                form.on_points(&response, |p| {
                    p.collimator_deg = wrapped_deg(p.collimator_deg + turn)
                });
                let mut couch = start.couch_deg;
                let response = field(ui, "Couch", |ui| angle("Couch angle", &mut couch).show(ui));
                let response = response.on_hover_text(COUCH_HINT);
                let turn = couch - start.couch_deg;
                form.on_points(&response, |p| p.couch_deg = wrapped_deg(p.couch_deg + turn));
            });
        });
    });
    if form.beam.control_points.len() > 1 {
        ui.weak(format!(
            "{} control points; the gantry angle is that of number {}. An angle changed here turns all of them.",
            form.beam.control_points.len(),
            shown + 1
        ));
    }
}

/// `delivered`: the monitor units after the plan's normalisation, if it has one.
fn collimation(ui: &mut Ui, form: &mut Form<'_>, start: &ControlPoint, delivered: Option<Stated>) {
    section(ui, "Field (mm at the isocentre)");
    fields(ui, "jaws", |ui| {
        let mut mu = form.beam.mu;
        let response = field(ui, "Monitor units", |ui| {
            let response = number("Monitor units", &mut mu, " MU")
                .speed(1.0)
                .range(0.0..=MOST_MU)
                .show(ui);
            if delivered.is_some() {
                ui.weak("before normalisation");
            }
            response
        });
        form.on(&response, |b| b.mu = mu);
        if let Some(mu) = delivered {
            field(ui, "Delivered", |ui| {
                stated(ui, "", mu, 1, " MU", " a fraction")
            });
        }
        for (axis, caption) in [(0, "Jaws X"), (1, "Jaws Y")] {
            let pair = if axis == 0 {
                start.jaws.x
            } else {
                start.jaws.y
            };
            field(ui, caption, |ui| {
                for side in 0..2 {
                    let mut value = pair[side];
                    let range = if side == 0 {
                        -JAW_LIMIT_MM..=(pair[1] - 1.0).max(-JAW_LIMIT_MM)
                    } else {
                        (pair[0] + 1.0).min(JAW_LIMIT_MM)..=JAW_LIMIT_MM
                    };
                    let name = format!("{caption}{}", side + 1);
                    let response = number(&name, &mut value, "")
                        .speed(0.5)
                        .range(range)
                        .show(ui);
                    form.on_points(&response, |p| {
                        let jaws = if axis == 0 {
                            &mut p.jaws.x
                        } else {
                            &mut p.jaws.y
                        };
                        jaws[side] = value;
                    });
                }
                ui.weak(format!("= {:.0}", pair[1] - pair[0]));
            });
        }
        if let Some(mlc) = &form.beam.mlc {
            ui.weak("MLC");
            ui.label(format!(
                "{} leaf pairs",
                mlc.boundaries_mm.len().saturating_sub(1)
            ));
            ui.end_row();
        }
    });
}

fn machine(ui: &mut Ui, form: &mut Form<'_>, state: &State, of_plan: &str) {
    section(ui, "Machine");
    fields(ui, "machine", |ui| {
        field(ui, "Machine", |ui| {
            let current = form.beam.machine.clone();
            let plans = format!("{} (plan's)", machine_label(of_plan));
            let shown = current
                .as_deref()
                .map_or_else(|| plans.clone(), |name| machine_label(name).to_owned());
            let combo = ComboBox::from_id_salt("beam machine")
                .selected_text(shown)
                .width(150.0)
                .truncate();
            let response = combo.show_ui(ui, |ui| {
                let mut choice = current.clone();
                ui.selectable_value(&mut choice, None, plans);
                for name in state.machine_names() {
                    let label = machine_label(&name).to_owned();
                    ui.selectable_value(&mut choice, Some(name), label);
                }
                choice
            });
            response.response.accessible_name("Machine of the beam");
            if let Some(choice) = response.inner.filter(|c| *c != current) {
                let value = Beam {
                    machine: choice,
                    ..form.beam.clone()
                };
                form.commands.edit(Edit::SetBeam {
                    plan: form.plan,
                    beam: form.index,
                    value,
                });
            }
        });
    });
    let name = form.beam.machine.as_deref().unwrap_or(of_plan);
    match state.results.machine(name) {
        Some(machine) => {
            let image = state.case().ct.as_ref().map(|ct| ct.hu.grid());
            let outside = image.and_then(|image| isocentre_remark(image, form.beam));
            for remark in beam_remarks(form.beam, machine).into_iter().chain(outside) {
                ui.colored_label(theme::palette(ui).warning, format!("Warning: {remark}."));
            }
            ui.add(
                egui::Label::new(egui::RichText::new(&machine.description).small().weak()).wrap(),
            );
            if matches!(machine.calibration, Calibration::PhotonFluence {}) {
                let text = "This machine has no calibration: its dose is per photon fluence (Gy cm²), not Gy per MU.";
                ui.colored_label(theme::palette(ui).warning, text);
            }
        }
        None => {
            ui.colored_label(
                theme::palette(ui).error,
                format!("The machine {name} cannot be read."),
            );
        }
    }
}
