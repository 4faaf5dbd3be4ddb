//! The second check of the plan on show: what it is asked, and its answer.

mod answer;

use crate::command::{Command, Commands};
use crate::feature::check::state::{CheckAction, CheckDraft, CheckGoals};
use crate::kit::{choose_engine, number, progress, theme};
use crate::state::State;
use crate::state::files::FileAction;
use crate::state::slot::Slot;
use analysis::DEFAULT_GRID_MM;
use egui::{Button, ComboBox, Grid, Label, RichText, ScrollArea, Ui};
use files::GoalTemplate;

const WIDTH: f32 = 720.0;

/// The button that opens the box; whether it was pressed.
pub fn button(ui: &mut Ui, commands: &mut Commands) -> bool {
    let hint = "The dose of the plan's file beside one computed here for the same monitor units";
    let pressed = ui.button("Second check…").on_hover_text(hint).clicked();
    if pressed {
        commands.push(Command::SecondCheck(CheckAction::Open(true)));
    }
    pressed
}

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let second_check = &state.second_check;
    if !second_check.is_open {
        return;
    }
    let (mut is_open, mut draft) = (true, second_check.draft.clone());
    let height = (ctx.content_rect().height() - 130.0).max(160.0);
    let width = WIDTH.min(ctx.content_rect().width() - 40.0);
    egui::Window::new("Second check").open(&mut is_open).resizable(false).default_size([width, height]).show(ctx, |ui| {
        ui.set_width(width);
        let area = ScrollArea::vertical().auto_shrink([false, true]).max_height(height);
        area.show(ui, |ui| {
            ui.weak("Compares the dose of the plan's file with one computed here for the same monitor units. Not for clinical use.");
            match state.plan_to_check() {
                Ok(plan) => {
                    ui.label(format!("Plan '{}' of {}", plan.name, state.case().source));
                    let enabled = second_check.running.is_none();
                    ui.add_enabled_ui(enabled, |ui| settings(ui, state, &mut draft, commands));
                }
                Err(why) => {
                    ui.add(Label::new(RichText::new(why).color(theme::palette(ui).warning)).wrap());
                }
            }
            ui.add_space(4.0);
            ui.horizontal(|ui| buttons(ui, state, commands));
            if let Some(answer) = &second_check.answer {
                answer::show(ui, &answer.check, state.check_is_stale().as_deref());
            }
        });
    });
    if draft != second_check.draft {
        commands.push(Command::SecondCheck(CheckAction::Draft(draft)));
    }
    if !is_open {
        commands.push(Command::SecondCheck(CheckAction::Open(false)));
    }
}

fn settings(ui: &mut Ui, state: &State, draft: &mut CheckDraft, commands: &mut Commands) {
    Grid::new("second check")
        .num_columns(2)
        .min_col_width(150.0)
        .show(ui, |ui| {
            machines(ui, state, draft, commands);
            ui.weak("Engine");
            choose_engine(ui, "Engine of the check", 220.0, &mut draft.engine);
            ui.end_row();
            ui.weak("Grid");
            let grid = number("Grid of the check", &mut draft.grid_mm, " mm")
                .speed(0.05)
                .decimals(2);
            grid.range(1.0..=DEFAULT_GRID_MM).show(ui);
            ui.end_row();
            ui.weak("Gamma, global");
            ui.horizontal(|ui| {
                let [dose, dta] = &mut draft.gamma;
                number("Dose of gamma", dose, " %")
                    .speed(0.1)
                    .decimals(1)
                    .range(0.1..=10.0)
                    .show(ui);
                number("Distance of gamma", dta, " mm")
                    .speed(0.1)
                    .decimals(1)
                    .range(0.1..=10.0)
                    .show(ui);
            });
            ui.end_row();
            ui.weak("Goals");
            goals(ui, draft, commands);
            ui.end_row();
        });
}

/// A row for each treatment machine and beam quality of the plan: the model that computes its beams.
fn machines(ui: &mut Ui, state: &State, draft: &mut CheckDraft, commands: &mut Commands) {
    let models = match &state.second_check.models {
        Some(Ok(models)) => models.as_slice(),
        Some(Err(why)) => {
            ui.weak("Machine");
            ui.colored_label(theme::palette(ui).error, why);
            ui.end_row();
            return;
        }
        None => {
            ui.weak("Machine");
            ui.weak("…");
            ui.end_row();
            return;
        }
    };
    for machine_use in models {
        let name = if machine_use.machine.is_empty() {
            "Machine without a name"
        } else {
            &machine_use.machine
        };
        let row = format!("{name}, {}", machine_use.quality);
        ui.weak(&row);
        ui.horizontal(|ui| {
            let short = std::path::Path::new(&machine_use.model)
                .file_name()
                .map_or(machine_use.model.as_str().into(), |n| n.to_string_lossy());
            let mut picked = None;
            let combo = ComboBox::from_id_salt(("model", &row))
                .selected_text(short)
                .width(220.0);
            let response = combo.show_ui(ui, |ui| {
                for model in state.machine_names() {
                    if ui
                        .selectable_label(model == machine_use.model, &model)
                        .clicked()
                    {
                        picked = Some(model);
                    }
                }
                ui.separator();
                if ui.button("File…").clicked() {
                    let action = CheckAction::PickFile(
                        machine_use.machine.clone(),
                        machine_use.quality.clone(),
                    );
                    commands.push(Command::SecondCheck(action));
                }
            });
            response
                .response
                .accessible_name(format!("Model of {row}"))
                .on_hover_text(&machine_use.model);
            if let Some(model) = picked {
                draft
                    .picked
                    .choose(&machine_use.machine, &machine_use.quality, &model);
            }
            ui.weak(match machine_use.choice {
                "given" => "chosen, and remembered for this machine",
                "remembered" => "remembered for this machine",
                _ => "generic: of no particular machine",
            });
        });
        ui.end_row();
        if let Some(why) = &machine_use.why_not {
            ui.label("");
            ui.add(Label::new(RichText::new(why).small().color(theme::palette(ui).warning)).wrap());
            ui.end_row();
        }
    }
}

fn goals(ui: &mut Ui, draft: &mut CheckDraft, commands: &mut Commands) {
    let of_case = "Those of the case";
    let text = match &draft.goals {
        CheckGoals::None => "None",
        CheckGoals::OfCase => of_case,
        CheckGoals::Template(word) => word,
    };
    let combo = ComboBox::from_id_salt("goals of the check")
        .selected_text(text)
        .width(220.0)
        .truncate();
    let response = combo.show_ui(ui, |ui| {
        let templates =
            GoalTemplate::shipped().map(|word| (word, CheckGoals::Template(word.to_owned())));
        for (name, goals) in [("None", CheckGoals::None), (of_case, CheckGoals::OfCase)]
            .into_iter()
            .chain(templates)
        {
            ui.selectable_value(&mut draft.goals, goals, name);
        }
        ui.separator();
        if ui.button("File…").clicked() {
            commands.push(Command::Pick(FileAction::OpenCheckGoals));
        }
    });
    response.response.accessible_name("Goals of the check");
}

fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let second_check = &state.second_check;
    if let Some(phase) = &second_check.running {
        if ui
            .button("Cancel")
            .accessible_name("Cancel the check")
            .clicked()
        {
            commands.push(Command::Cancel(Slot::SecondCheck));
        }
        progress(
            ui,
            state.jobs.done_of(Slot::SecondCheck),
            egui::vec2(180.0, 20.0),
            "",
        );
        let words = phase.words();
        ui.weak(if words.is_empty() { "waiting" } else { &words });
        return;
    }
    let ask = state.check_to_ask();
    let run = ui.add_enabled(ask.is_ok(), Button::new("Check"));
    let run = run
        .accessible_name("Run the check")
        .on_hover_text("Computes the dose of every beam and of the plan");
    if let Err(why) = &ask {
        run.on_disabled_hover_text(why);
    } else if run.clicked() {
        commands.push(Command::SecondCheck(CheckAction::Run));
    }
    if ui
        .button("Another folder…")
        .on_hover_text("Opens the plan of another folder")
        .clicked()
    {
        commands.push(Command::Pick(FileAction::OpenFolder));
    }
    let is_fresh = second_check.answer.is_some() && state.check_is_stale().is_none();
    let report = ui.add_enabled(is_fresh, Button::new("Save report as PDF…"));
    if report
        .on_disabled_hover_text("Of a check that holds for the plan and the settings on show")
        .clicked()
    {
        commands.push(Command::Pick(FileAction::SaveCheckReport));
    }
}
