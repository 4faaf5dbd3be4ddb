//! Set-up errors above the DVHs: their length, their scenarios, and the status of the bands.

use crate::command::{Command, Commands};
use crate::feature::robust::state::SetUpErrors;
use crate::kit::{status_chip, theme};
use crate::state::State;
use crate::state::results::ScenarioView;
use analysis::{MOST_SET_UP_MM, RobustGoal, ShiftDirections, Verdict};
use case::add_each_once;
use egui::{Button, Label, RichText, Slider, Ui};
use std::fmt::Write as _;

/// The button that shows or hides the plan under set-up errors.
pub fn switch(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let errors = state.set_up_errors;
    // A word would take the room of the axes.
    let text = RichText::new("±").small();
    let button = ui.add(Button::selectable(errors.are_shown, text));
    let button = button.accessible_name("Set-up errors");
    let hint = "Set-up errors: the plan with the patient shifted against it: bands behind the curves, and each goal in its worst scenario";
    if button.on_hover_text(hint).clicked() {
        commands.push(Command::SetUpErrors(SetUpErrors {
            are_shown: !errors.are_shown,
            ..errors
        }));
    }
}

/// The row of a plan that is shown under set-up errors.
pub fn row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if !state.set_up_errors.are_shown {
        return;
    }
    let mut next = state.set_up_errors;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        length(ui, &mut next);
        directions(ui, &mut next);
        match state.results.scenarios() {
            Some(view) => {
                standing(ui, view);
                chips(ui, view, &mut next);
            }
            None => {
                _ = weak(
                    ui,
                    "Bands are of a plan on show that is not being optimised.",
                )
            }
        }
    });
    if next != state.set_up_errors {
        commands.push(Command::SetUpErrors(next));
    }
}

fn weak(ui: &mut Ui, text: &str) -> egui::Response {
    let colour = theme::palette(ui).weak;
    ui.add(Label::new(RichText::new(text).small().color(colour)).truncate())
}

fn length(ui: &mut Ui, next: &mut SetUpErrors) {
    ui.spacing_mut().slider_width = 110.0;
    let slider = Slider::new(&mut next.shift_mm, 0.0..=MOST_SET_UP_MM)
        .step_by(0.5)
        .fixed_decimals(1)
        .suffix(" mm");
    let response = ui
        .add(slider)
        .accessible_name("Length of the set-up error")
        .on_hover_text("How far the isocentre is shifted in the patient");
    next.is_dragged = response.dragged();
}

fn directions(ui: &mut Ui, next: &mut SetUpErrors) {
    for (directions, word, hint) in [
        (
            ShiftDirections::Axes,
            "7",
            "The plan, and shifts both ways along each axis of the patient",
        ),
        (
            ShiftDirections::AllRound,
            "27",
            "The plan, and shifts along axes, diagonals of planes and diagonals of space",
        ),
    ] {
        let is_chosen = next.directions == directions;
        let button = ui.add(Button::selectable(is_chosen, RichText::new(word).small()));
        let button = button
            .accessible_name(format!("{word} scenarios"))
            .on_hover_text(hint);
        if button.clicked() && !is_chosen {
            (next.directions, next.scenario) = (directions, None);
        }
    }
}

/// The status of the bands, and how many scenarios are there.
fn standing(ui: &mut Ui, view: &ScenarioView) {
    if let Some(status) = view.status {
        let caveats = view
            .answers()
            .iter()
            .flat_map(|answer| &answer.figures.caveats);
        let mut listed = Vec::new();
        add_each_once(&mut listed, caveats.map(String::as_str));
        let chip = status_chip(ui, status);
        if !listed.is_empty() {
            chip.on_hover_text(listed.join("\n"));
        }
    }
    let answered = view.answers().len();
    if let Some(why) = &view.failure {
        let text = RichText::new(why).small().color(theme::palette(ui).error);
        ui.add(Label::new(text).truncate()).on_hover_text(why);
    } else if answered < view.count {
        weak(ui, &format!("{answered} of {} scenarios", view.count));
    }
}

/// A chip for each scenario with an error; one in which a goal fails that the plan meets has the colour of failures.
fn chips(ui: &mut Ui, view: &ScenarioView, next: &mut SetUpErrors) {
    for (n, answer) in view.answers().iter().enumerate().skip(1) {
        let lost = view.goals.iter().filter(|goal| goal.scenario == n);
        let lost: Vec<&RobustGoal> = lost.filter(|goal| is_lost(goal)).collect();
        let text = RichText::new(answer.scenario.letters()).small();
        let text = if lost.is_empty() {
            text
        } else {
            text.strong().color(theme::palette(ui).error)
        };
        let is_shown = next.scenario == Some(n);
        let chip = ui.add(Button::selectable(is_shown, text).small());
        let chip = chip
            .accessible_name(format!("Scenario {}", answer.scenario))
            .on_hover_text(hint(&answer.scenario.to_string(), &lost));
        if chip.clicked() {
            next.scenario = (!is_shown).then_some(n);
        }
    }
}

/// Whether the plan meets a goal that fails in its worst scenario.
fn is_lost(goal: &RobustGoal) -> bool {
    let worst = goal.worst.answer.as_ref();
    goal.planned.is_met() && worst.is_ok_and(|outcome| outcome.verdict == Verdict::Fail)
}

fn hint(scenario: &str, lost: &[&RobustGoal]) -> String {
    let mut text = format!("{scenario}; click to draw its curves");
    for goal in lost {
        let _ = write!(text, "\nfails here: {}", goal.worst.goal.short_text());
    }
    text
}
