//! The answer of a second check: its verdict, and the figures that it follows from.

use crate::kit::{section, theme, whole};
use analysis::rate_text;
use analysis::second_check::{Item, Level, SecondCheck, Tolerances, Verdict, capital};
use egui::{Grid, Label, RichText, Ui};

/// Shows a check; `stale` says what has changed since it ran.
pub fn show(ui: &mut Ui, check: &SecondCheck, stale: Option<&str>) {
    section(ui, "Answer");
    if let Some(why) = stale {
        let text = RichText::new(format!("STALE: of what was on show before. {why}")).strong();
        ui.add(Label::new(text.color(theme::palette(ui).warning)).wrap());
    }
    ui.scope(|ui| {
        if stale.is_some() {
            ui.set_opacity(0.5);
        }
        verdict(ui, check);
        facts(ui, check);
        items(ui, check);
        structures(ui, check);
        goals(ui, check);
        if !check.notes.is_empty() {
            section(ui, "Notes");
            check
                .notes
                .iter()
                .for_each(|note| _ = ui.add(Label::new(small(note)).wrap()));
        }
    });
}

fn small(text: impl Into<String>) -> RichText {
    RichText::new(text).small()
}

fn verdict(ui: &mut Ui, check: &SecondCheck) {
    let palette = theme::palette(ui);
    let (colour, words) = match check.judgement.verdict {
        Verdict::Within => (palette.good, "Within tolerance"),
        Verdict::Outside => (palette.error, "NOT within tolerance"),
        Verdict::NotJudged => (palette.warning, "Could not be judged"),
    };
    let reserved = !check.judgement.reservations.is_empty();
    let colour = if reserved && check.judgement.verdict == Verdict::Within {
        palette.warning
    } else {
        colour
    };
    ui.label(RichText::new(words).strong().size(18.0).color(colour));
    for text in &check.judgement.reservations {
        ui.add(Label::new(RichText::new(capital(text)).color(palette.warning)).wrap());
    }
    for why in &check.judgement.reasons {
        ui.add(Label::new(RichText::new(why).color(colour)).wrap());
    }
    if check.judgement.reasons.is_empty() {
        ui.label("Gamma and the dose at a point agree for the plan and for every beam with a planned dose.");
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn value(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.2}"))
}

fn facts(ui: &mut Ui, check: &SecondCheck) {
    let mut lines = vec![
        format!(
            "Plan '{}' of {}, patient {} {}",
            check.plan, check.case, check.patient, check.patient_id
        ),
        format!("Planned dose: {}", or_none(&check.planned)),
        format!(
            "Recomputed dose: {} ({}, {}, grid {} mm, dose to {}, HU table {})",
            or_none(&check.recomputed),
            check.engine_words(),
            if check.device.is_empty() {
                "nothing computed"
            } else {
                &check.device
            },
            check.grid_mm,
            check.dose_to,
            check.hu_table
        ),
    ];
    lines.extend(
        check
            .machines
            .iter()
            .map(|machine| format!("Machine: {}", machine.words("model "))),
    );
    let limits = &check.tolerances;
    lines.push(format!(
        "Tolerances: gamma {}, both ways, at least {} % (action {} %); doses at points {} % (action {} %); {}",
        limits.criterion_text(),
        limits.gamma_tolerance_percent,
        limits.gamma_action_percent,
        limits.point_tolerance_percent,
        limits.point_action_percent,
        limits.source
    ));
    lines
        .into_iter()
        .for_each(|line| _ = ui.add(Label::new(small(line)).wrap()));
}

/// Plan and beams: gamma, and the doses at a point for the same monitor units.
fn items(ui: &mut Ui, check: &SecondCheck) {
    section(
        ui,
        "Plan and beams: gamma, and the dose at a point for the same monitor units",
    );
    Grid::new("items of the check")
        .striped(true)
        .num_columns(7)
        .show(ui, |ui| {
            for head in [
                "",
                "MU",
                "Lower gamma",
                "Of points",
                "Planned Gy",
                "Recomputed Gy",
                "Difference",
            ] {
                ui.label(small(head).color(theme::palette(ui).weak));
            }
            ui.end_row();
            for item in std::iter::once(&check.whole).chain(&check.beams) {
                item_ui(ui, item, &check.tolerances);
                ui.end_row();
            }
        });
}

fn item_ui(ui: &mut Ui, item: &Item, limits: &Tolerances) {
    let palette = theme::palette(ui);
    ui.label(&item.name);
    ui.label(format!("{:.1}", item.mu));
    let agreement = item.agreement.as_ref();
    match agreement.and_then(|a| Some((a, a.gamma_words()?))) {
        Some((both, words)) => {
            let lower = both.lower_gamma();
            let rate = lower.map_or("no points".to_owned(), |lower| {
                rate_text(lower.pass_rate_percent)
            });
            let level = both.gamma_level(limits);
            let verdict = level.map_or("not judged", Level::words);
            let hint = format!(
                "{verdict}: {words}; 100 % is {:.3} Gy",
                both.normalisation_gy
            );
            ui.colored_label(palette.level(level), rate)
                .on_hover_text(hint);
            ui.label(lower.map_or("-".to_owned(), |lower| {
                format!("{} {}", lower.points, lower.of)
            }));
        }
        None if item.not_judged.is_empty() && item.wrong.is_empty() => {
            ui.weak(item.words_without_figures());
            ui.weak("-");
        }
        None => {
            let why = [&item.wrong[..], &item.not_judged[..]].concat().join("\n");
            ui.colored_label(palette.warning, item.words_without_figures())
                .on_hover_text(why);
            ui.weak("-");
        }
    }
    match agreement.and_then(|a| a.point.as_ref()) {
        Some(point) => {
            let [x, y, z] = point.point_mm;
            let place = format!("At {}: {x:.1}, {y:.1}, {z:.1} mm", point.place);
            ui.label(format!("{:.3}", point.planned_gy))
                .on_hover_text(&place);
            ui.label(format!("{:.3}", point.recomputed_gy))
                .on_hover_text(&place);
            let percent = point.difference_words(limits);
            let words = point.level(limits).map_or("not judged", Level::words);
            ui.colored_label(palette.level(point.level(limits)), percent)
                .on_hover_text(words);
        }
        None => {
            (0..3).for_each(|_| _ = ui.weak("-"));
        }
    }
}

fn structures(ui: &mut Ui, check: &SecondCheck) {
    let Some(first) = check.structures.first() else {
        return;
    };
    section(ui, "Structures (not judged): planned, recomputed");
    egui::ScrollArea::horizontal()
        .id_salt("structures of the check")
        .show(ui, |ui| {
            Grid::new("structures of the check")
                .striped(true)
                .num_columns(2 + first.metrics.len())
                .show(ui, |ui| {
                    let heads = first
                        .metrics
                        .iter()
                        .map(|m| format!("{} {}", m.metric, m.unit));
                    for head in [String::new(), "Gamma".to_owned()].into_iter().chain(heads) {
                        let head = small(head).color(theme::palette(ui).weak);
                        whole(ui, head);
                    }
                    ui.end_row();
                    for structure in &check.structures {
                        let name = ui.label(&structure.name);
                        if !structure.remarks.is_empty() {
                            name.on_hover_text(structure.remarks.join("\n"));
                        }
                        let rate = structure.gamma_pass_rate_percent;
                        whole(
                            ui,
                            rate.map_or("-".to_owned(), |rate| format!("{rate:.1} %")),
                        );
                        for m in &structure.metrics {
                            whole(ui, format!("{}, {}", value(m.planned), value(m.recomputed)));
                        }
                        ui.end_row();
                    }
                });
        });
}

fn goals(ui: &mut Ui, check: &SecondCheck) {
    if check.goals.is_empty() {
        return;
    }
    section(ui, "Clinical goals (not judged)");
    Grid::new("goals of the check")
        .striped(true)
        .num_columns(3)
        .show(ui, |ui| {
            for head in ["", "Planned", "Recomputed"] {
                ui.label(small(head).color(theme::palette(ui).weak));
            }
            ui.end_row();
            for goal in &check.goals {
                ui.label(&goal.goal);
                for (value, words) in [goal.planned, goal.recomputed]
                    .into_iter()
                    .zip(&goal.verdicts)
                {
                    ui.label(
                        value.map_or(words.clone(), |v| format!("{v:.2} {} ({words})", goal.unit)),
                    );
                }
                ui.end_row();
            }
        });
}
