//! Jobs: the running ones with their progress, the finished ones with their receipts.

use crate::command::{Command, Commands};
use crate::kit::{progress, theme};
use crate::state::{JobEnd, LiveJob, State};
use case::Receipt;
use egui::{Align, Layout, Ui};
use std::time::Duration;

/// Shorter jobs are not listed, unless their slot always is.
const SHORT: Duration = Duration::from_millis(700);
/// Longer job names are cut.
const LONGEST_NAME: usize = 34;

/// Height of the running jobs, with the finished ones while their list is open: a third of the panel at most.
pub fn height(ui: &Ui, state: &State) -> f32 {
    let bars = state.jobs.live.iter().filter(|job| is_listed(job));
    let bars: f32 = bars
        .map(|job| if job.slot.is_run() { 52.0 } else { 27.0 })
        .sum();
    let third = ui.available_height() / 3.0;
    let list = if is_open(ui) { third.max(120.0) } else { 0.0 };
    (34.0 + bars.min(third) + list)
        .min(0.6 * ui.available_height())
        .max(34.0)
}

/// Whether the finished jobs are listed.
fn is_open(ui: &Ui) -> bool {
    ui.data(|d| d.get_temp(egui::Id::unique("finished jobs")))
        .unwrap_or_default()
}

/// Shows the running jobs and, on request, the receipts of the finished ones.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.add_space(4.0);
    let failed = state
        .jobs
        .finished
        .iter()
        .filter(|job| matches!(job.end, JobEnd::Failed(_)))
        .count();
    let mut title = format!("Jobs ({} finished", state.jobs.finished.len());
    if failed > 0 {
        title.push_str(&format!(", {failed} failed"));
    }
    let open = is_open(ui);
    let colour = if failed > 0 {
        theme::palette(ui).error
    } else {
        theme::palette(ui).weak
    };
    let title = egui::RichText::new(title + ")")
        .strong()
        .size(12.0)
        .color(colour);
    let toggle = ui.add(egui::Button::selectable(open, title));
    let hint = if open {
        "Hides the finished jobs"
    } else {
        "Lists the finished jobs with their receipts"
    };
    if toggle
        .on_hover_text(hint)
        .accessible_name("Finished jobs")
        .clicked()
    {
        ui.data_mut(|d| d.insert_temp(egui::Id::unique("finished jobs"), !open));
    }
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .id_salt("jobs")
        .show(ui, |ui| {
            for job in state.jobs.live.iter().filter(|job| is_listed(job)) {
                live_ui(ui, state, job, commands);
            }
            if !open {
                return;
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
                        let colour = if warned {
                            theme::palette(ui).warning
                        } else {
                            theme::palette(ui).text
                        };
                        let response = egui::CollapsingHeader::new(
                            egui::RichText::new(title).small().color(colour),
                        )
                        .id_salt(("receipt", index))
                        .show(ui, |ui| receipt_ui(ui, receipt));
                        if !receipt.warnings.is_empty() {
                            response
                                .header_response
                                .on_hover_text(receipt.warnings.join("\n"));
                        }
                    }
                    JobEnd::Failed(why) => {
                        let text =
                            egui::RichText::new(format!("{} failed: {why}", job.name)).small();
                        ui.add(egui::Label::new(text.color(theme::palette(ui).error)).wrap());
                    }
                }
            }
        });
}

/// Short, frequent jobs are not listed: lines that appear and vanish push the others about.
fn is_listed(job: &LiveJob) -> bool {
    job.slot.is_listed() || job.began.elapsed() > SHORT
}

fn live_ui(ui: &mut Ui, state: &State, job: &LiveJob, commands: &mut Commands) {
    let is_run = job.slot.is_run();
    // Two lines: name and buttons would leave the bar no room.
    if is_run {
        bar(ui, job);
    }
    let line = egui::vec2(ui.available_width(), 20.0);
    // From the right, so that the buttons always have room.
    ui.allocate_ui_with_layout(line, Layout::right_to_left(Align::Center), |ui| {
        let cancel = ui.small_button("Cancel");
        if cancel
            .accessible_name(format!("Cancel {}", job.name))
            .clicked()
        {
            commands.push(Command::Cancel(job.slot));
        }
        if is_run {
            run_ui(ui, state, job, commands);
        } else {
            bar(ui, job);
        }
    });
}

fn bar(ui: &mut Ui, job: &LiveJob) {
    let size = egui::vec2(ui.available_width().max(40.0), 18.0);
    progress(ui, job.done, size, &job.name).on_hover_text(&*job.name);
}

/// Progress of a Monte Carlo run, with the button that ends it and keeps its dose.
fn run_ui(ui: &mut Ui, state: &State, job: &LiveJob, commands: &mut Commands) {
    let certainty = state.results.run_certainty();
    let keep = egui::Button::new("Stop and keep").small();
    let hint = "Ends the run; its dose stays as it is, with its uncertainty, as a preview";
    if ui
        .add_enabled(certainty.is_some(), keep)
        .on_hover_text(hint)
        .clicked()
    {
        commands.push(Command::KeepRun);
    }
    let mut text = certainty.map_or("begins".to_owned(), |c| {
        format!("{} so far", c.percent_words())
    });
    if let Some(left) = job.seconds_left() {
        text += &format!(", {} left", format_about(left));
    }
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        ui.add(egui::Label::new(egui::RichText::new(text).small()).truncate());
    });
}

fn receipt_ui(ui: &mut Ui, receipt: &Receipt) {
    let weak = theme::palette(ui).weak;
    ui.label(small(weak, format!("On {}", receipt.device)));
    for (phase, ms) in &receipt.phases_ms {
        ui.label(small(weak, format!("{phase}: {}", format_ms(*ms))));
    }
    if receipt.work > 0 && receipt.total_ms() > 0.0 {
        let each = receipt.total_ms() * 1e6 / receipt.work as f64;
        let work_unit = if receipt.is_statistical() {
            "histories"
        } else {
            "voxels × directions"
        };
        ui.label(small(
            weak,
            format!(
                "{:.1} million {work_unit}, {each:.2} ns each",
                receipt.work as f64 / 1e6
            ),
        ));
    }
    if !receipt.digest.is_empty() {
        ui.label(small(
            weak,
            format!(
                "Inputs {}",
                receipt.digest.get(..16).unwrap_or(&receipt.digest)
            ),
        ));
    }
    for warning in &receipt.warnings {
        ui.add(
            egui::Label::new(
                egui::RichText::new(warning)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
}

fn small(colour: egui::Color32, text: String) -> egui::RichText {
    egui::RichText::new(text).small().color(colour)
}

/// A remaining time, rounded to its precision.
fn format_about(s: f64) -> String {
    if s < 90.0 {
        format!("{:.0} s", (s / 5.0).ceil() * 5.0)
    } else {
        format!("{:.0} min", s / 60.0)
    }
}

/// A duration in readable units.
pub fn format_ms(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else if ms < 1000.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{:.1} s", ms / 1000.0)
    }
}
