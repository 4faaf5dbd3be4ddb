//! The clinical goals: the scorecard beside the DVHs, and the list in the Compare workspace.

mod form;
mod list;
mod lungs;

pub use list::show as list;

use crate::command::{Command, Commands};
use crate::feature::goals::command::GoalAction;
use crate::feature::optimise;
use crate::feature::optimise::panel::WEIGHT;
use crate::kit::{status_chip, theme};
use crate::state::State;
use crate::state::files::FileAction;
use analysis::{GoalRow, Outcome, Unanswered, Verdict, met_text};
use case::{DoseStatus, Goal};
use egui::{
    Align, Button, Color32, CornerRadius, Label, Layout, Rect, RichText, ScrollArea, Sense, Ui,
    UiBuilder, pos2, vec2,
};
use files::GoalTemplate;

/// Panel width above which scorecard and table of metrics are shown side by side, points.
pub const WIDE: f32 = 1000.0;

/// Height of a row.
pub const ROW: f32 = 18.0;

/// Panel width above which the curves stay beside a scorecard that replaces the metrics, points.
const ROOM_FOR_CURVES: f32 = 420.0;

/// The scorecard at the right of the figures; returns whether it replaces the table of metrics, or `None` where it replaces the
/// curves, too.
pub fn beside(ui: &mut Ui, state: &State, commands: &mut Commands) -> Option<bool> {
    let width = ui.available_width();
    let instead = width < WIDE;
    if instead && !state.goal_editor.in_place_of_metrics {
        return Some(false);
    }
    if instead && width < ROOM_FOR_CURVES {
        show(ui, state, instead, commands);
        return None;
    }
    let scorecard_width = match instead {
        true => (0.62 * width).clamp(300.0, 460.0).min(width),
        false if shows_objectives(state, instead) => {
            (width - CURVES).clamp(WITH_WORDS + OBJECTIVES, 860.0)
        }
        false if state.may_show_objectives() => (0.46 * width).clamp(WITH_WORDS + 12.0, 560.0),
        false => (0.38 * width).clamp(NARROW + 12.0, 520.0),
    };
    let frame = egui::Frame::new().inner_margin(egui::Margin {
        left: 10,
        ..egui::Margin::ZERO
    });
    egui::Panel::right("scorecard")
        .frame(frame)
        .resizable(false)
        .exact_size(scorecard_width)
        .show(ui, |ui| {
            show(ui, state, instead, commands);
        });
    Some(instead)
}

/// Whether the objectives stand beside the goals; in a small window they stand below.
fn shows_objectives(state: &State, instead: bool) -> bool {
    !instead && state.may_show_objectives() && !state.goal_editor.hides_objectives
}

/// Width of the objectives beside the goals, and of the curves that both leave.
const OBJECTIVES: f32 = 312.0;
const CURVES: f32 = 276.0;

/// The button that shows the scorecard where there is no room for it beside the table of metrics.
pub fn switch(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let rows = state.scorecard_on_view();
    let text = if rows.is_empty() {
        "Goals".to_owned()
    } else {
        format!("Goals: {}", met_text(&rows))
    };
    let on = state.goal_editor.in_place_of_metrics;
    let button = ui.add(Button::selectable(on, RichText::new(text).small()));
    let hint = "The scorecard in place of the table of metrics; in a wide window both are there";
    if button.on_hover_text(hint).clicked() {
        commands.push(Command::Goals(GoalAction::InPlaceOfMetrics(!on)));
    }
}

fn show(ui: &mut Ui, state: &State, instead: bool, commands: &mut Commands) {
    let rows = state.scorecard_on_view();
    header(ui, state, &rows, instead, commands);
    optimise::panel::progress(ui, state);
    if state.shows_stages()
        && let Some(stages) = state.stages()
    {
        optimise::panel::stages::headings(ui, &stages);
        ScrollArea::vertical()
            .auto_shrink(false)
            .id_salt("stages")
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 1.0;
                optimise::panel::stages::rows(ui, state, &stages);
            });
        return;
    }
    let are_objectives_beside = shows_objectives(state, instead);
    if are_objectives_beside {
        let frame = egui::Frame::new().inner_margin(egui::Margin {
            left: 8,
            ..egui::Margin::ZERO
        });
        egui::Panel::right("objectives")
            .frame(frame)
            .resizable(false)
            .exact_size(OBJECTIVES)
            .show(ui, |ui| {
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .id_salt("objectives")
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing.y = 1.0;
                        optimise::panel::objectives::show(ui, state, commands);
                    });
            });
    }
    ScrollArea::vertical()
        .auto_shrink(false)
        .id_salt("scorecard")
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            if rows.is_empty() {
                let text = "No goals: add one, or load a template.";
                ui.add(Label::new(RichText::new(text).color(theme::palette(ui).weak)).wrap());
            } else {
                headings(ui, state);
            }
            let reservation = state.reservation_on_view();
            for (n, row) in rows.iter().enumerate() {
                score(ui, state, row, n, reservation.as_deref(), commands);
            }
            lungs::offer(ui, state, commands);
            if !are_objectives_beside {
                ui.add_space(4.0);
                optimise::panel::objectives::show(ui, state, commands);
            }
            ui.add_space(4.0);
            notes(ui, state, &rows);
            list::typed(ui, state, commands);
        });
}

fn header(ui: &mut Ui, state: &State, rows: &[GoalRow], instead: bool, commands: &mut Commands) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        ui.label(
            RichText::new("Goals")
                .strong()
                .size(12.0)
                .color(theme::palette(ui).weak),
        );
        if !rows.is_empty() {
            let are_met = rows.iter().all(GoalRow::is_met) && state.reservation_on_view().is_none();
            let colour = if are_met {
                theme::palette(ui).good
            } else {
                theme::palette(ui).text
            };
            ui.label(RichText::new(met_text(rows)).small().strong().color(colour));
        }
        if let Some(status) = state.curves_status().filter(|_| !rows.is_empty()) {
            status_chip(ui, status);
        }
        optimise::panel::controls(ui, state, commands);
        optimise::panel::stages::switch(ui, state, commands);
        buttons(ui, state, commands);
        if !instead && state.may_show_objectives() {
            let on = !state.goal_editor.hides_objectives;
            let button = ui.add(Button::selectable(on, RichText::new("Objectives").small()));
            let hint = "What is minimised beside the goals, in place of the table of metrics";
            if button.on_hover_text(hint).clicked() {
                commands.push(Command::Goals(GoalAction::ShowObjectives(!on)));
            }
        }
        if instead {
            let back = ui.add(Button::new(RichText::new("Metrics").small()));
            if back
                .on_hover_text("The table of metrics in place of the scorecard")
                .clicked()
            {
                commands.push(Command::Goals(GoalAction::InPlaceOfMetrics(false)));
            }
        }
    });
}

/// The buttons of every list of goals.
fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let has_structures = !state.case().structures.structures.is_empty();
    let add = ui.add_enabled(
        has_structures,
        Button::new(RichText::new("Add goal").small()),
    );
    let add = add.on_disabled_hover_text("The case has no structure that a goal could be of");
    if add
        .on_hover_text("A goal of the selected structure, chosen from lists")
        .clicked()
    {
        commands.push(Command::Goals(GoalAction::Add));
    }
    ui.menu_button(RichText::new("Templates").small(), |ui| {
        for word in GoalTemplate::shipped() {
            // Shipped texts are small, and a test reads each of them.
            let Ok(template) = GoalTemplate::resolve(word) else {
                continue;
            };
            if ui
                .button(&template.name)
                .on_hover_text(&template.source)
                .clicked()
            {
                commands.push(Command::Goals(GoalAction::Template(word)));
                ui.close();
            }
        }
        ui.separator();
        if ui
            .button("Load template…")
            .on_hover_text("Adds the goals of a TOML file")
            .clicked()
        {
            commands.push(Command::Pick(FileAction::OpenGoals));
            ui.close();
        }
        let has_goals = !state.goals().is_empty();
        let save = ui.add_enabled(has_goals, Button::new("Save as template…"));
        if save
            .on_disabled_hover_text("There is no goal to save")
            .clicked()
        {
            commands.push(Command::Pick(FileAction::SaveGoals));
            ui.close();
        }
        let can_remove = has_goals && !state.goals_are_usual();
        let remove = ui.add_enabled(can_remove, Button::new("Remove all goals"));
        if remove
            .on_disabled_hover_text("The case has no goals of its own")
            .clicked()
        {
            commands.push(Command::Goals(GoalAction::RemoveAll));
            ui.close();
        }
    });
}

/// Left ends and widths of the columns: priority, structure, metric, limit, value, value in the worst scenario, verdict, distance.
fn columns(width: f32, is_optimised: bool, worst: f32) -> [[f32; 2]; 8] {
    if width < NARROW && !is_optimised {
        // The distance to the limit is told at the pointer, the verdict by its sign.
        let (priority, metric, limit, value, verdict) = (14.0, 52.0, 60.0, 58.0, 18.0);
        let structure = (width - priority - metric - limit - value - worst - verdict).max(0.0);
        return placed([
            priority, structure, metric, limit, value, worst, verdict, 0.0,
        ]);
    }
    if is_optimised {
        // Weight, lock and share have their room first, then the word of the verdict; names have what is left.
        let (priority, metric, limit, value) = (14.0, 48.0, 56.0, 52.0);
        let has_words = width - worst >= WITH_WORDS;
        let verdict = if has_words { 64.0 } else { 18.0 };
        let fixed = priority + metric + limit + value + worst + verdict + WEIGHT;
        let structure = (width - fixed).max(40.0);
        return placed([
            priority, structure, metric, limit, value, worst, verdict, WEIGHT,
        ]);
    }
    // The structure has what is left, and never less than a name needs.
    let verdict = 52.0;
    let (priority, metric) = (14.0, 58.0);
    let (limit, value) = (70.0, 62.0);
    let remaining = (width - priority - metric - limit - value - worst - verdict).max(0.0);
    let structure = (0.4 * remaining).clamp(76.0, 170.0);
    let distance = (remaining - structure).max(0.0);
    placed([
        priority, structure, metric, limit, value, worst, verdict, distance,
    ])
}

/// Left ends and widths of columns side by side.
fn placed(widths: [f32; 8]) -> [[f32; 2]; 8] {
    let mut left = 0.0;
    widths.map(|width| {
        let column = [left, width];
        left += width;
        column
    })
}

/// Width of the values in the worst scenario; none where no set-up errors are shown.
fn worst_width(state: &State) -> f32 {
    if state.results.scenarios().is_some() {
        54.0
    } else {
        0.0
    }
}

/// Row width above which verdicts have words beside weights.
const WITH_WORDS: f32 = 380.0;

/// Width of the distance above which the status of the dose stands beside it.
const WITH_STATUS: f32 = 110.0;

/// Width of the rows below which they have no room for a word of the verdict.
const NARROW: f32 = 370.0;

fn headings(ui: &mut Ui, state: &State) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW - 3.0), Sense::hover());
    let last = if state.is_optimised() {
        "weight, lock, share"
    } else {
        "to the limit"
    };
    let words = [
        "",
        "structure",
        "metric",
        "limit",
        "value",
        "worst",
        "",
        last,
    ];
    let columns = columns(rect.width(), state.is_optimised(), worst_width(state));
    for ([left, width], word) in columns.into_iter().zip(words) {
        cell(ui, rect, [left, width], |ui| {
            ui.add(
                Label::new(RichText::new(word).small().color(theme::palette(ui).weak)).truncate(),
            );
        });
    }
}

/// A cell of a row; nothing where it has no room.
pub fn cell(ui: &mut Ui, row: Rect, [left, width]: [f32; 2], add: impl FnOnce(&mut Ui)) {
    let from = row.left() + left;
    let room = Rect::from_min_max(
        pos2(from, row.top()),
        pos2((from + width - 4.0).min(row.right()), row.bottom()),
    );
    if room.width() > 8.0 {
        let layout = Layout::left_to_right(Align::Center);
        ui.scope_builder(UiBuilder::new().max_rect(room).layout(layout), |ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            add(ui);
        });
    }
}

/// A goal with its value: a click opens it for editing, below its row.
fn score(
    ui: &mut Ui,
    state: &State,
    row: &GoalRow,
    place: usize,
    reservation: Option<&str>,
    commands: &mut Commands,
) {
    let GoalRow {
        index,
        goal,
        answer,
        ..
    } = row;
    let open = state.goal_editor.open == Some(*index);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    let name = format!("Goal {}", goal.short_text());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, open, &name));
    let fill = match (open || response.hovered(), place % 2) {
        (true, _) => theme::palette(ui).raised,
        (false, 1) => ui.visuals().faint_bg_color,
        _ => Color32::TRANSPARENT,
    };
    ui.painter().rect_filled(rect, CornerRadius::same(2), fill);
    let structure = state
        .case()
        .structures
        .referenced(goal.number, &goal.structure)
        .ok();
    let is_optimised = state.is_optimised();
    let [
        priority,
        name,
        metric,
        limit,
        value,
        worst,
        verdict,
        distance,
    ] = columns(rect.width(), is_optimised, worst_width(state));
    let with_word = verdict[1] > 30.0;
    let weak = theme::palette(ui).weak;
    cell(ui, rect, priority, |ui| {
        _ = ui.add(small_label(
            RichText::new(goal.priority().to_string()).color(weak),
        ))
    });
    cell(ui, rect, name, |ui| {
        let (dot, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
        match structure {
            Some(s) => theme::swatch(ui, dot, s.colour),
            None => {
                let stroke = egui::Stroke::new(1.0, theme::palette(ui).warning);
                _ = ui
                    .painter()
                    .rect_stroke(dot, 2.0, stroke, egui::StrokeKind::Inside);
            }
        }
        let mark = if row.remarks.is_empty() { "" } else { " !" };
        ui.add(small_label(format!("{}{mark}", goal.structure)));
    });
    cell(ui, rect, metric, |ui| {
        _ = ui.add(small_label(goal.metric().to_string()))
    });
    cell(ui, rect, limit, |ui| {
        _ = ui.add(small_label(goal.limit_text()))
    });
    cell(ui, rect, value, |ui| {
        let text = answer
            .as_ref()
            .map_or("–".to_owned(), |outcome| value_text(outcome, goal));
        let text = RichText::new(text).small();
        let text = if reservation.is_some() {
            text.color(theme::palette(ui).warning)
        } else {
            text
        };
        ui.add(Label::new(text).truncate().selectable(false));
    });
    cell(ui, rect, worst, |ui| worst_value(ui, state, *index));
    // Without a value there is no distance: the reason has its room.
    let is_told_whole = answer.is_err() && !is_optimised && !state.is_turned_by_drag(row);
    let verdict = if is_told_whole {
        [verdict[0], verdict[1] + distance[1]]
    } else {
        verdict
    };
    cell(ui, rect, verdict, |ui| {
        let (sign, word, colour) = verdict_parts(ui, answer, reservation.is_some());
        let text = if with_word {
            format!("{sign} {word}")
        } else {
            sign.to_owned()
        };
        let text = RichText::new(text).small().strong().color(colour);
        ui.add(Label::new(text).truncate().selectable(false));
    });
    // A cell with nothing in it would end the row at its middle.
    let distance = if is_told_whole {
        [distance[0], 0.0]
    } else {
        distance
    };
    cell(ui, rect, distance, |ui| {
        if state.is_turned_by_drag(row) {
            let text = RichText::new("unmet by this drag")
                .small()
                .strong()
                .color(theme::palette(ui).error);
            ui.add(Label::new(text).truncate().selectable(false));
            return;
        }
        if is_optimised {
            optimise::panel::weight(ui, state, row, commands);
            return;
        }
        let text = match answer {
            Ok(outcome) => outcome.told(goal),
            Err(why) => why.to_string(),
        };
        match reservation {
            // The status stands in the header; beside each distance where it has room.
            Some(status) => {
                let text = if distance[1] < WITH_STATUS {
                    text
                } else {
                    format!("{text} · {status}")
                };
                let text = RichText::new(text)
                    .small()
                    .color(theme::palette(ui).warning);
                ui.add(Label::new(text).truncate().selectable(false));
            }
            None => _ = ui.add(small_label(RichText::new(text).color(weak))),
        }
    });
    if response
        .on_hover_ui(|ui| hover(ui, state, row, reservation))
        .clicked()
    {
        commands.push(Command::Goals(GoalAction::Open((!open).then_some(*index))));
    }
    if open {
        form::show(ui, state, *index, goal, commands);
    }
}

/// The value of a goal in its worst scenario, in the colour of its verdict there.
fn worst_value(ui: &mut Ui, state: &State, index: usize) {
    let goal = state
        .results
        .scenarios()
        .and_then(|scenarios| scenarios.goal(index));
    let Some(goal) = goal else {
        ui.add(small_label("…"));
        return;
    };
    let worst = &goal.worst;
    let text = worst
        .answer
        .as_ref()
        .map_or("–".to_owned(), |outcome| value_text(outcome, &worst.goal));
    let (_, _, colour) = verdict_parts(ui, &worst.answer, worst.is_undecided());
    let name = format!("Worst of {}", worst.goal.short_text());
    ui.add(small_label(RichText::new(text).color(colour)))
        .accessible_name(name);
}

/// The value of a goal in its worst scenario and the scenario, in words.
fn worst_in_words(state: &State, index: usize) -> Option<String> {
    let scenarios = state.results.scenarios()?;
    let goal = scenarios.goal(index)?;
    let scenario = scenarios.answers().get(goal.scenario)?.scenario;
    Some(match &goal.worst.answer {
        Ok(outcome) => format!(
            "worst of {} scenarios: {}, {}: {scenario}",
            scenarios.answers().len(),
            value_text(outcome, &goal.worst.goal),
            outcome.verdict.word(),
        ),
        Err(why) => format!("{scenario}: {why}"),
    })
}

fn small_label(text: impl Into<RichText>) -> Label {
    Label::new(text.into().small()).truncate().selectable(false)
}

pub fn value_text(outcome: &Outcome, goal: &Goal) -> String {
    format!("{:.2} {}", outcome.value, goal.unit().symbol())
        .trim_end()
        .to_owned()
}

/// The verdict in a sign, a word and a colour; a dose that is not final gets no green, and one that is not whole no verdict.
pub fn verdict_text(ui: &Ui, answer: &Result<Outcome, Unanswered>, reserved: bool) -> RichText {
    let (sign, word, colour) = verdict_parts(ui, answer, reserved);
    RichText::new(format!("{sign} {word}"))
        .small()
        .strong()
        .color(colour)
}

fn verdict_parts(
    ui: &Ui,
    answer: &Result<Outcome, Unanswered>,
    reserved: bool,
) -> (&'static str, &'static str, Color32) {
    let colours = theme::palette(ui);
    match answer {
        Ok(outcome) => match &outcome.verdict {
            Verdict::Pass if reserved => ("+", "pass", colours.warning),
            Verdict::Pass => ("+", "pass", colours.good),
            Verdict::Near => ("≈", "near", colours.warning),
            Verdict::Fail => ("×", "fail", colours.error),
            Verdict::Undecided(_) => ("?", "undecided", colours.warning),
        },
        Err(why) => ("?", why.short(), colours.warning),
    }
}

/// The goal, its value and verdict, and its remarks.
fn hover(ui: &mut Ui, state: &State, row: &GoalRow, reservation: Option<&str>) {
    ui.set_max_width(340.0);
    ui.label(row.goal.to_string());
    match &row.answer {
        Ok(outcome) => {
            let text = format!(
                "{}: {}, {}",
                value_text(outcome, &row.goal),
                outcome.verdict.word(),
                outcome.told(&row.goal)
            );
            ui.label(text);
        }
        Err(why) => _ = ui.colored_label(theme::palette(ui).warning, why.to_string()),
    }
    if let Some(status) = reservation {
        ui.colored_label(
            theme::palette(ui).warning,
            format!("The dose is not final: {status}"),
        );
    }
    if let Some(text) = worst_in_words(state, row.index) {
        ui.label(text);
    }
    for remark in &row.remarks {
        ui.colored_label(theme::palette(ui).warning, remark);
    }
    ui.weak(row.goal.metric().means());
    ui.weak("Click to change");
}

/// Dose of the numbers, and reservations.
fn notes(ui: &mut Ui, state: &State, rows: &[GoalRow]) {
    let mut told: Vec<String> = Vec::new();
    for row in rows {
        for remark in &row.remarks {
            let text = format!("{}: {remark}", row.goal.structure);
            if !told.contains(&text) {
                told.push(text);
            }
        }
    }
    for text in told {
        ui.add(
            Label::new(
                RichText::new(text)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
    if rows.is_empty() {
        return;
    }
    let mut text = match state.goal_hundred() {
        Some((gy, name)) => format!("100 % is {gy:.2} Gy ({name})."),
        None => "There is no prescription: goals in percent of it have no value.".to_owned(),
    };
    if state.goals_are_usual() {
        text += " The usual goals of the target, until you change or add one.";
    }
    if state.optimisers_dose().is_some() {
        text += " The values are those of the optimiser's dose: they decide nothing.";
    } else if state.results.dvh_status() == Some(DoseStatus::Stale) {
        text += " The values are of an earlier state.";
    }
    ui.add(Label::new(RichText::new(text).small().color(theme::palette(ui).weak)).wrap());
}
