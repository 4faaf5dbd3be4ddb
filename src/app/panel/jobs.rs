//! Jobs: what runs, how far it is, what the finished ones left behind.

use crate::app::command::{Command, Commands};
use crate::app::state::{JobEnd, State};
use crate::app::theme;
use crate::case::Receipt;
use crate::worker::Slot;
use egui::Ui;

/// More letters of a job's name are not shown.
const LONGEST_NAME: usize = 34;

/// Shows the running jobs and the receipts of the finished ones.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    egui::ScrollArea::vertical().auto_shrink(false).id_salt("jobs").show(ui, |ui| {
        for job in &state.jobs.live {
            let is_run = job.slot == Slot::MonteCarlo;
            // Two lines: name and buttons would leave the bar no room.
            let room = if is_run { 0.0 } else { 66.0 };
            let bar = |ui: &mut Ui, text: String| {
                let bar = egui::ProgressBar::new(job.done)
                    .desired_width((ui.available_width() - room).max(40.0))
                    .desired_height(18.0)
                    .corner_radius(3)
                    .text(egui::RichText::new(text).small());
                ui.add(bar);
            };
            if is_run {
                bar(ui, job.name.to_string());
            }
            ui.horizontal(|ui| {
                if is_run {
                    run_ui(ui, state, commands);
                } else {
                    bar(ui, job.name.to_string());
                }
                let cancel = ui.small_button("Cancel");
                if cancel.accessible_name(format!("Cancel {}", job.name)).clicked() {
                    commands.push(Command::Cancel(job.slot));
                }
            });
        }
        if state.jobs.live.is_empty() && state.jobs.finished.is_empty() {
            ui.weak("Nothing has run yet.");
        }
        for (index, job) in state.jobs.finished.iter().enumerate() {
            match &job.end {
                JobEnd::Done(receipt) => {
                    // A long name must not widen the panel.
                    let mut name: String = job.name.chars().take(LONGEST_NAME).collect();
                    if name.len() < job.name.len() {
                        name.push('…');
                    }
                    let title = format!("{name}   {}", format_ms(receipt.total_ms()));
                    let warned = !receipt.warnings.is_empty();
                    let colour = if warned { theme::WARNING } else { theme::TEXT };
                    let response =
                        egui::CollapsingHeader::new(egui::RichText::new(title).small().color(colour))
                            .id_salt(("receipt", index))
                            .show(ui, |ui| receipt_ui(ui, receipt));
                    if !receipt.warnings.is_empty() {
                        response.header_response.on_hover_text(receipt.warnings.join("\n"));
                    }
                }
                JobEnd::Failed(why) => {
                    let text = egui::RichText::new(format!("{} failed: {why}", job.name)).small();
                    ui.add(egui::Label::new(text.color(theme::ERROR)).wrap());
                }
            }
        }
    });
}

/// How far a Monte Carlo run has come, and how to end it with what there is.
fn run_ui(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let certainty = state.follow.run_certainty();
    let text = certainty.map_or("begins".to_owned(), |c| format!("{} so far", c.percent_words()));
    let width = (ui.available_width() - 150.0).max(40.0);
    ui.allocate_ui(egui::vec2(width, 18.0), |ui| {
        ui.set_width(width);
        ui.label(egui::RichText::new(text).small())
    });
    let keep = egui::Button::new("Stop and keep").small();
    let hint = "Ends the run; its dose stays as it is, with its uncertainty, as a preview";
    if ui.add_enabled(certainty.is_some(), keep).on_hover_text(hint).clicked() {
        commands.push(Command::KeepRun);
    }
}

fn receipt_ui(ui: &mut Ui, receipt: &Receipt) {
    let small = |text: String| egui::RichText::new(text).small().color(theme::WEAK);
    ui.label(small(format!("On {}", receipt.device)));
    for (phase, ms) in &receipt.phases_ms {
        ui.label(small(format!("{phase}: {}", format_ms(*ms))));
    }
    if receipt.work > 0 && receipt.total_ms() > 0.0 {
        let each = receipt.total_ms() * 1e6 / receipt.work as f64;
        let of = if receipt.job == "mccs" { "histories" } else { "voxels × directions" };
        ui.label(small(format!("{:.1} million {of}, {each:.2} ns each", receipt.work as f64 / 1e6)));
    }
    if !receipt.digest.is_empty() {
        ui.label(small(format!("Inputs {}", receipt.digest.get(..16).unwrap_or(&receipt.digest))));
    }
    for warning in &receipt.warnings {
        ui.add(egui::Label::new(egui::RichText::new(warning).small().color(theme::WARNING)).wrap());
    }
}

/// A time as one would say it.
pub fn format_ms(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 1000.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.1} s", ms / 1000.0)
    }
}
