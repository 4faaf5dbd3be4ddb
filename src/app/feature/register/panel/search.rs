//! The metric of the pose, and the search for the pose.

use crate::command::{Command, Commands};
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::{Proposal, Register, Search};
use crate::kit::{progress, section, theme};
use crate::state::State;
use egui::{Button, ComboBox, RichText, Sense, Stroke, Ui, pos2, vec2};
use registration::{FINEST_MM, Found, METRIC_SIDE_MM, Method, Metric};

pub(crate) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let register = &state.register;
    section(ui, "Metric");
    ui.horizontal(|ui| {
        let mut metric = register.metric;
        ComboBox::from_id_salt("metric")
            .selected_text(metric.name())
            .width(190.0)
            .show_ui(ui, |ui| {
                for choice in Metric::ALL {
                    ui.selectable_value(&mut metric, choice, choice.name());
                }
            });
        if metric != register.metric && register.is_free() {
            commands.push(Command::Register(RegisterAction::Metric(metric)));
        }
        match state.metric_value() {
            Some((value, current)) => {
                let text = RichText::new(format!("{value:.4}")).monospace().size(16.0);
                ui.label(if current {
                    text.color(theme::palette(ui).text)
                } else {
                    text.color(theme::palette(ui).weak)
                })
                .on_hover_text("Greater is more alike");
                // The search compares finer pixels, where the metric has another value.
                ui.weak(RichText::new(format!("at {METRIC_SIDE_MM} mm")).small());
            }
            None => {
                ui.weak("…");
            }
        }
    });
    if let Some(why) = state.results.metric_failure() {
        ui.add(
            egui::Label::new(
                RichText::new(format!("No metric: {why}.")).color(theme::palette(ui).error),
            )
            .wrap(),
        );
    }
    curve(ui, &state.register);
    section(ui, "Search");
    match register.search() {
        Search::Idle => idle(ui, state, commands),
        Search::Running(_) => running(ui, state, commands),
        Search::Ended(proposal) => ended(ui, proposal, commands),
    }
    hidden(ui, &state.register);
}

/// Plots the newest values, from left to right.
fn curve(ui: &mut Ui, register: &Register) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 56.0), Sense::hover());
    ui.painter()
        .rect_filled(rect, 3.0, theme::palette(ui).field);
    let values: Vec<f64> = register.curve().collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
    if values.len() < 2 || low > high {
        let text = "the metric's curve, as the pose moves";
        let centre = rect.center();
        ui.painter().text(
            centre,
            egui::Align2::CENTER_CENTER,
            text,
            egui::FontId::proportional(11.0),
            theme::palette(ui).weak,
        );
        return;
    }
    let span = (high - low).max(1e-4);
    let inner = rect.shrink2(vec2(4.0, 6.0));
    let line = values.iter().enumerate().map(|(n, value)| {
        let across = n as f32 / (values.len() - 1) as f32;
        let up = ((value - low) / span) as f32;
        pos2(
            inner.left() + inner.width() * across,
            inner.bottom() - inner.height() * up,
        )
    });
    let stroke = Stroke::new(1.4, theme::palette(ui).accent);
    ui.painter().line(line.collect(), stroke);
    response.on_hover_text(format!("{low:.4} to {high:.4}"));
}

fn idle(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let register = &state.register;
    ui.horizontal(|ui| {
        let mut method = register.method;
        ComboBox::from_id_salt("method")
            .selected_text(method.word())
            .width(90.0)
            .show_ui(ui, |ui| {
                for choice in Method::ALL {
                    ui.selectable_value(&mut method, choice, choice.word());
                }
            });
        if method != register.method {
            commands.push(Command::Register(RegisterAction::Method(method)));
        }
        let ready = state.results.current_attenuation().is_some();
        if ui.add_enabled(ready, Button::new("Find pose")).clicked() {
            commands.push(Command::Register(RegisterAction::Find));
        }
    });
}

/// The hidden pose of a made-up pair, so that the user can check the result.
fn hidden(ui: &mut Ui, register: &Register) {
    let Some(hidden) = register.hidden() else {
        return;
    };
    ui.collapsing(
        RichText::new("Made-up pair: show what it hides").small(),
        |ui| {
            let (t, r) = (hidden.translation_mm, hidden.rotation_deg);
            let text = format!(
                "tx {:.2}, ty {:.2}, tz {:.2} mm; rx {:.2}, ry {:.2}, rz {:.2}°",
                t.x, t.y, t.z, r.x, r.y, r.z
            );
            ui.monospace(RichText::new(text).small());
            let off = register.shown_pose().translation_mm - t;
            ui.weak(RichText::new(format!("The isocentre is {:.2} mm off.", off.length())).small());
        },
    );
}

fn running(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let done = state.jobs.done_of(crate::state::slot::Slot::Search);
    ui.horizontal(|ui| {
        let text = match state.register.best() {
            Some(step) => format!("{:.0} mm, {} DRRs", step.side_mm, step.drrs),
            None => "begins".to_owned(),
        };
        let width = (ui.available_width() - 60.0).max(60.0);
        progress(ui, done, egui::vec2(width, 20.0), &text);
        if ui.button("Stop").clicked() {
            commands.push(Command::Register(RegisterAction::Stop));
        }
    });
}

/// The state of a match in words, and what speaks against it.
fn evidence(ui: &mut Ui, pose: &Found) {
    let palette = theme::palette(ui);
    if pose.doubts.is_empty() {
        let words = format!("Match {}", pose.standing().words());
        ui.add(egui::Label::new(RichText::new(words).strong().color(palette.good)).wrap());
    } else {
        ui.label(
            RichText::new("No match: NOT found")
                .strong()
                .color(palette.error),
        );
        for why in &pose.doubts {
            ui.add(egui::Label::new(RichText::new(why).small().color(palette.error)).wrap());
        }
    }
    let images = pose.evidence.images.iter().map(|image| {
        let alone = image
            .alone
            .map_or_else(String::new, |a| format!(", alone {:.1} mm off", a.off_mm));
        format!("{} {:.3}{alone}", image.image, image.metric)
    });
    let again = format!(
        "searches begun beside it end within {:.1} mm",
        pose.evidence.again_mm
    );
    let depth = pose
        .evidence
        .depth_mm
        .map(|mm| format!("depth ±{mm:.1} mm"));
    let text = images
        .chain([again])
        .chain(depth)
        .collect::<Vec<_>>()
        .join("; ");
    ui.add(egui::Label::new(RichText::new(text).small().weak()).wrap());
}

fn ended(ui: &mut Ui, proposal: &Proposal, commands: &mut Commands) {
    match &proposal.found {
        Some(pose) => {
            let text = format!(
                "Metric at {FINEST_MM} mm {:.4}, from {:.4}; {} DRRs in {:.1} s on {}",
                pose.after, pose.before, pose.drrs, pose.seconds, pose.device
            );
            ui.add(egui::Label::new(RichText::new(text).small()).wrap());
            evidence(ui, pose);
        }
        None => {
            ui.add(
                egui::Label::new(RichText::new("Stopped: this is the best so far.").small()).wrap(),
            );
        }
    }
    ui.horizontal(|ui| {
        let accept = Button::new("Accept").fill(theme::palette(ui).accent.gamma_multiply(0.35));
        if ui.add(accept).clicked() {
            commands.push(Command::Register(RegisterAction::Accept));
        }
        if ui.button("Reject").clicked() {
            commands.push(Command::Register(RegisterAction::Reject));
        }
    });
}
