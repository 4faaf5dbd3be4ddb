//! Outcome of a fit or a comparison: the verdict, curves, output factors, fitted numbers, and the buttons that use
//! them.

use super::curves;
use crate::command::{Command, Commands};
use crate::feature::commission::state::{Answered, MachineFit, MachineFitAction, Outcome};
use crate::kit::{theme, whole};
use crate::state::State;
use crate::state::files::{FileAction, file_name};
use analysis::machine_fit::{FittedMachine, Report, Standing, Verdict, tolerances};
use egui::{Button, RichText, Ui};
use physics::Calibration;

/// The pages of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Page {
    #[default]
    Curves,
    Factors,
    Numbers,
    Notes,
}

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let fit = &state.machine_fit;
    let Some(answer) = &fit.answer else {
        ui.weak("Choose a machine and measured data, then fit or compare.");
        return;
    };
    let report = answer.outcome.report();
    verdict(ui, fit, answer);
    let id = egui::Id::unique("page of the machine fit");
    let mut page: Page = ui.data(|d| d.get_temp(id)).unwrap_or_default();
    ui.horizontal(|ui| {
        let curves = format!("Curves ({})", report.curves.len());
        let factors = format!("Output factors ({})", report.output_factors.len());
        ui.selectable_value(&mut page, Page::Curves, curves);
        ui.selectable_value(&mut page, Page::Factors, factors);
        if answer.outcome.fitted().is_some() {
            ui.selectable_value(&mut page, Page::Numbers, "Fitted numbers");
        }
        ui.selectable_value(&mut page, Page::Notes, "Notes");
    });
    ui.data_mut(|d| d.insert_temp(id, page));
    ui.separator();
    let bottom = egui::Panel::bottom("machine answer")
        .frame(egui::Frame::new())
        .resizable(false);
    bottom.show(ui, |ui| actions(ui, state, answer, commands));
    egui::CentralPanel::default()
        .frame(egui::Frame::new())
        .show(ui, |ui| match (page, &answer.outcome) {
            (Page::Curves, _) => curves::show(ui, report),
            (Page::Factors, _) => factors(ui, report),
            (Page::Numbers, Outcome::Fitted(fitted)) => numbers(ui, fitted),
            (Page::Numbers, Outcome::Compared(_)) => {
                ui.weak("The machine was compared, not fitted.");
            }
            (Page::Notes, _) => notes(ui, answer),
        });
}

fn verdict(ui: &mut Ui, fit: &MachineFit, answer: &Answered) {
    let (palette, report) = (theme::palette(ui), answer.outcome.report());
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(MachineFit::machine_words(answer)).strong());
        let colour = match (fit.is_stale(), report.verdict()) {
            (true, _) | (false, Verdict::WithinWhereTested) => palette.warning,
            (false, Verdict::Within) => palette.good,
            (false, Verdict::NotTested | Verdict::Outside) => palette.error,
        };
        ui.colored_label(colour, report.verdict_words())
            .on_hover_text(tolerances());
        if fit.is_stale() {
            let text = "STALE: of other files or settings than are chosen now";
            ui.colored_label(palette.warning, RichText::new(text).strong());
        }
    });
}

fn factors(ui: &mut Ui, report: &Report) {
    let palette = theme::palette(ui);
    match &report.calibration {
        Some(c) => ui.colored_label(if c.within { palette.text } else { palette.error }, c.words()),
        None => ui.colored_label(
            palette.warning,
            "Absolute calibration NOT TESTED: the output factors have no gy_per_mu, the dose per MU of the reference field.",
        ),
    };
    if report.output_factors.is_empty() {
        ui.weak("No output factors were given.");
        return;
    }
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .id_salt("output factors")
        .show(ui, |ui| {
            let grid = egui::Grid::new("output factors")
                .num_columns(4)
                .striped(true)
                .spacing([24.0, 3.0]);
            grid.show(ui, |ui| {
                for heading in ["field", "measured", "computed", "difference"] {
                    ui.weak(heading);
                }
                ui.end_row();
                for f in &report.output_factors {
                    let [x, y] = f.field_mm;
                    ui.label(format!("{x} x {y} mm"));
                    ui.label(format!("{:.4}", f.measured));
                    ui.label(format!("{:.4}", f.computed));
                    let (colour, said) = match f.within {
                        Some(true) => (palette.text, ""),
                        Some(false) => (palette.error, "  outside"),
                        None => (palette.weak, "  the reference itself: tests nothing"),
                    };
                    ui.colored_label(colour, format!("{:+.2} %{said}", f.difference_percent));
                    ui.end_row();
                }
            });
        });
}

fn numbers(ui: &mut Ui, fitted: &FittedMachine) {
    let palette = theme::palette(ui);
    let fit = &fitted.fit;
    egui::ScrollArea::both().auto_shrink(false).id_salt("fitted numbers").show(ui, |ui| {
        let grid = egui::Grid::new("fitted numbers").num_columns(6).striped(true).spacing([18.0, 3.0]);
        grid.show(ui, |ui| {
            for heading in ["number", "before", "after", "±", "range", ""] {
                whole(ui, RichText::new(heading).weak());
            }
            ui.end_row();
            for p in &fit.parameters {
                let unit = p.parameter.unit();
                ui.label(format!("{}{}", p.parameter.word(), if unit.is_empty() { "" } else { ", " }) + unit);
                whole(ui, format!("{:.4}", p.start));
                let is_fitted = matches!(p.standing, Standing::Fitted | Standing::AtBound | Standing::Held);
                let after = RichText::new(format!("{:.4}", p.value));
                whole(ui, if is_fitted { after.strong() } else { after.weak() });
                whole(ui, p.uncertainty.map_or(String::new(), |u| format!("{u:.3}")));
                let allowed = p.parameter.allowed();
                whole(ui, RichText::new(format!("{} to {}", allowed.low, allowed.high)).weak());
                let colour = if p.standing == Standing::AtBound { palette.error } else { palette.weak };
                ui.colored_label(colour, p.standing.words());
                ui.end_row();
            }
        });
        ui.add_space(6.0);
        let [start, end] = fit.cost;
        ui.weak(format!(
            "{} rounds, {} doses; weighed sum of squares {start:.1} before, {end:.1} after",
            fit.rounds, fit.doses
        ));
        if let Calibration::Reference { gy_per_mu, .. } = fit.machine.calibration {
            let whose = if fit.calibrated {
                "measured with the output factors"
            } else {
                "that of the starting machine, NOT measured (gy_per_mu beside the output factors)"
            };
            ui.weak(format!("Calibration {gy_per_mu} Gy/MU: {whose}"));
        }
    });
}

fn notes(ui: &mut Ui, answer: &Answered) {
    let read = answer.outcome.read();
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .id_salt("notes of the fit")
        .show(ui, |ui| {
            let outside = answer.outcome.report().outside();
            outside.iter().for_each(|line| {
                ui.colored_label(theme::palette(ui).error, format!("Outside: {line}"));
            });
            answer
                .outcome
                .report()
                .not_tested()
                .iter()
                .for_each(|line| {
                    ui.colored_label(theme::palette(ui).warning, format!("Not tested: {line}"));
                });
            ui.label(format!("Tolerances: {}", tolerances()));
            read.remarks.iter().for_each(|remark| {
                ui.colored_label(theme::palette(ui).warning, remark);
            });
            read.digests.iter().for_each(|(file, digest)| {
                ui.weak(format!("{file} ({digest})"));
            });
        });
}

fn actions(ui: &mut Ui, state: &State, answer: &Answered, commands: &mut Commands) {
    ui.separator();
    ui.horizontal(|ui| {
        let is_current = !state.machine_fit.is_stale();
        let old = "It is of other files or settings: fit or compare again";
        if answer.outcome.fitted().is_some() {
            let save = ui.add_enabled(is_current, Button::new("Save machine…"));
            let hint = "A machine file (.toml); each fitted number says so, and how well it fits";
            if save
                .on_hover_text(hint)
                .on_disabled_hover_text(old)
                .clicked()
            {
                commands.push(Command::Pick(FileAction::SaveMachine));
            }
            let why_not = match (is_current, &answer.saved, state.plan()) {
                (false, ..) => Some(old),
                (true, None, _) => Some("Save it first: a plan names its machine by its file"),
                (true, Some(_), None) => Some("There is no plan on show"),
                (true, Some(_), Some(_)) => None,
            };
            let used = ui.add_enabled(why_not.is_none(), Button::new("Use for this plan"));
            let hint = "All its beams of this energy are computed with the saved machine";
            if used
                .on_hover_text(hint)
                .on_disabled_hover_text(why_not.unwrap_or_default())
                .clicked()
            {
                commands.push(Command::MachineFit(MachineFitAction::Use));
            }
        }
        let report = ui.add_enabled(is_current, Button::new("Report…"));
        let report = report.accessible_name("Report of the comparison");
        let hint = "The curves drawn (.pdf), or every point (.csv)";
        if report
            .on_hover_text(hint)
            .on_disabled_hover_text(old)
            .clicked()
        {
            commands.push(Command::Pick(FileAction::SaveMachineReport));
        }
        if let Some(path) = &answer.saved {
            ui.weak(format!("saved as {}", file_name(path)))
                .on_hover_text(path.display().to_string());
        }
    });
}
