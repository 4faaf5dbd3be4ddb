//! The optimisation beside the goals: its button, how far it is, and the weight of each goal.

mod curve;
pub mod fluence;
mod hottest;
pub mod objectives;
pub mod stages;

use crate::command::{Command, Commands, gesture, single_gesture};
use crate::feature::goals::command::GoalAction;
use crate::feature::goals::panel::ROW;
use crate::feature::leaves::state::TECHNIQUES;
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::optimise::state::has_arcs;
use crate::feature::start::panel::tour;
use crate::feature::start::state::Stop;
use crate::kit::{number, theme};
use crate::state::State;
use analysis::GoalRow;
use case::Goal;
use egui::{Button, Checkbox, Label, Rect, RichText, Ui, pos2, vec2};

/// The buttons of the optimisation beside the DVHs, where the choice of axes needs the room: delivery of maps only, by the technique chosen.
pub fn in_little_room(ui: &mut Ui, state: &State, commands: &mut Commands) {
    buttons(ui, state, false, commands);
}

/// The buttons of the optimisation.
pub fn controls(ui: &mut Ui, state: &State, commands: &mut Commands) {
    buttons(ui, state, true, commands);
}

fn buttons(ui: &mut Ui, state: &State, with_technique: bool, commands: &mut Commands) {
    if !state.optimise.is_running() {
        let arcs = state.plan().is_some_and(|plan| has_arcs(plan));
        let query = match arcs {
            true => {
                Err("arcs have no maps of their own: Make deliverable optimises them".to_owned())
            }
            false => state.can_optimise().map(drop),
        };
        let start = ui.add_enabled(
            query.is_ok(),
            Button::new(RichText::new("Optimise").small().strong()),
        );
        tour::mark(ui, Stop::Optimise, start.rect);
        let start =
            start.on_hover_text("Finds fluence maps of the beams whose dose meets the goals best");
        let why = query
            .err()
            .map(|why| format!("Not yet: {why}"))
            .unwrap_or_default();
        if start.on_disabled_hover_text(why).clicked() {
            commands.push(Command::Optimise(OptimiseAction::Start));
        }
        if with_technique || arcs || state.plan().is_some_and(|plan| plan.has_maps()) {
            deliver(ui, state, with_technique && !arcs, commands);
        }
        if let Some(unoptimised) = state.plan_before_maps() {
            let compare = ui.add(Button::new(RichText::new("Compare with before").small()));
            let has_maps = unoptimised.beams.iter().any(|beam| beam.fluence.is_some());
            let hint = match has_maps {
                true => "Opens Compare: A the plan with the fluences before, B the plan as it is",
                false => "Opens Compare: A the plan before the optimisation, B the plan as it is",
            };
            if compare.on_hover_text(hint).clicked() {
                commands.push(Command::Optimise(OptimiseAction::CompareBefore));
            }
        }
        if with_technique {
            follow_goals(ui, state, commands);
        }
        return;
    }
    let stop = ui
        .add(Button::new(RichText::new("Stop").small()))
        .accessible_name("Stop optimising");
    if stop
        .on_hover_text("Ends the optimisation; the plan gets the fluences found so far")
        .clicked()
    {
        commands.push(Command::Optimise(OptimiseAction::Stop));
    }
    let back = ui.add(Button::new(RichText::new("Take back").small()));
    if back
        .on_hover_text("Ends the optimisation and leaves the plan as it was (Esc)")
        .clicked()
    {
        commands.push(Command::Optimise(OptimiseAction::TakeBack));
    }
}

/// The switch that lets maps follow newer goals, with a warning where goals are newer than maps.
fn follow_goals(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(plan) = state
        .plan()
        .filter(|plan| plan.has_maps() || plan.answered_goals.is_some())
    else {
        return;
    };
    let mut follows = plan.follows_goals;
    let switch = Checkbox::new(&mut follows, RichText::new("Follow goals").small());
    let switch = ui.add_enabled(!plan.is_approved(), switch);
    let hint = "Newer goals, objectives and turned beams are optimised by themselves; a plan with a review stays as it was";
    if switch.on_hover_text(hint).changed() {
        commands.push(Command::Optimise(OptimiseAction::FollowGoals(follows)));
    }
    if state.optimise.goals_are_newer() {
        let text = RichText::new("goals are newer than maps")
            .small()
            .color(theme::palette(ui).warning);
        ui.label(text).on_hover_text(
            "The maps of the plan answer other goals or beams: 'Optimise' finds new ones",
        );
    }
}

/// The button that cuts maps into leaves, by a technique to choose, or ends that.
fn deliver(ui: &mut Ui, state: &State, with_technique: bool, commands: &mut Commands) {
    if state.optimise.makes_leaves() {
        let keep = ui
            .add(Button::new(RichText::new("Stop").small()))
            .accessible_name("Stop cutting leaves");
        if keep
            .on_hover_text("Ends it; the plan stays as it is (Esc)")
            .clicked()
        {
            commands.push(Command::Optimise(OptimiseAction::KeepMaps));
        }
        return;
    }
    let why = state
        .can_make_deliverable()
        .err()
        .map(|why| format!("Not yet: {why}"));
    let make = Button::new(RichText::new("Make deliverable").small().strong());
    let make = ui.add_enabled(why.is_none(), make);
    let hint = match state
        .plan()
        .is_some_and(|plan| plan.has_maps() && !has_arcs(plan))
    {
        true => "Cuts the fluence maps into leaves that the machine can move",
        false => {
            "Optimises by the goals, and cuts what it found into leaves that the machine can move"
        }
    };
    let make = make.on_hover_text(hint);
    if make
        .on_disabled_hover_text(why.unwrap_or_default())
        .clicked()
    {
        commands.push(Command::Optimise(OptimiseAction::MakeDeliverable));
    }
    if !with_technique {
        return;
    }
    let technique = state.leaves.technique_name();
    let choice = ui.menu_button(RichText::new(format!("by {technique}")).small(), |ui| {
        for (technique, name) in TECHNIQUES {
            if ui
                .selectable_label(technique == state.leaves.technique, name)
                .clicked()
            {
                commands.push(Command::Optimise(OptimiseAction::SetTechnique(technique)));
                ui.close();
            }
        }
    });
    choice.response.on_hover_text("How leaves deliver the maps");
}

/// Progress of a run or of leaf sequencing, or the result of the last run, on a separate line.
pub fn progress(ui: &mut Ui, state: &State) {
    let (words, done) = match state.cut_words() {
        Some(progress) => progress,
        None => match state.optimum_words() {
            Some(words) => (words, state.optimise.view.share_done()),
            None => return,
        },
    };
    match done {
        Some(done) => {
            let width = ui.available_width().clamp(60.0, 330.0);
            crate::kit::progress(ui, Some(done), egui::vec2(width, 14.0), &words);
        }
        None => {
            let text = RichText::new(words).small().color(theme::palette(ui).weak);
            ui.add(Label::new(text).truncate());
        }
    }
}

/// Widths of a weight's number, lock and share, and their sum with the gaps.
const NUMBER: f32 = 40.0;
const LOCK: f32 = 30.0;
const SHARE: f32 = 32.0;
pub const WEIGHT: f32 = NUMBER + LOCK + SHARE + 12.0;

/// Weight, lock and share of a goal, or why it is judged only.
pub fn weight(ui: &mut Ui, state: &State, row: &GoalRow, commands: &mut Commands) {
    let GoalRow {
        index,
        goal,
        answer,
        ..
    } = row;
    let share = state.goal_share(*index);
    if let Some(Err(why)) = share {
        let text = RichText::new(format!("judged only: {why}"))
            .small()
            .color(theme::palette(ui).weak);
        ui.add(Label::new(text).truncate()).on_hover_text(why);
        return;
    }
    let mut set = |goal: Goal, gesture: Option<u64>| {
        commands.push(Command::Goals(GoalAction::Set {
            index: *index,
            goal,
            gesture,
        }));
    };
    // As it is laid out: what is added may be higher.
    let row = ui.max_rect();
    if let Some((weight, gesture)) = weight_field(ui, goal.weight(), &goal.short_text()) {
        set(goal.clone().with_weight(Some(weight)), gesture);
    }
    let value = answer
        .as_ref()
        .ok()
        .map(|outcome| (100.0 * outcome.value).round() / 100.0);
    let is_kept = goal.kept().is_some();
    let lock = Button::selectable(is_kept, RichText::new("lock").small()).min_size(vec2(LOCK, 0.0));
    let lock = ui.add_enabled(is_kept || value.is_some(), lock);
    let lock = lock
        .accessible_name(format!("Lock {}", goal.short_text()))
        .on_hover_text(match goal.kept() {
            Some(kept) => format!("May not get worse than {kept:.2} {}", goal.unit().symbol()),
            None => "May not get worse than it is now".to_owned(),
        });
    if lock.clicked() {
        set(
            goal.clone().with_kept(if is_kept { None } else { value }),
            Some(single_gesture(&lock)),
        );
    }
    if let Some(Ok(share)) = share {
        share_bar(ui, row, *share);
    }
}

/// A weight as a number to type or to drag, in proportion to itself. What it was set to, with its gesture.
pub(crate) fn weight_field(ui: &mut Ui, current: f64, name: &str) -> Option<(f64, Option<u64>)> {
    let mut weight = current.clamp(*Goal::WEIGHTS.start(), *Goal::WEIGHTS.end());
    ui.set_clip_rect(ui.clip_rect().intersect(ui.max_rect().expand(1.0)));
    ui.style_mut().override_text_style = Some(egui::TextStyle::Small);
    ui.style_mut().drag_value_text_style = egui::TextStyle::Small;
    ui.spacing_mut().interact_size = vec2(NUMBER, ROW - 2.0);
    ui.spacing_mut().button_padding = vec2(2.0, 0.0);
    let label = format!("Weight of {name}");
    let decimals = if weight < 1.0 {
        2
    } else {
        usize::from(weight < 10.0)
    };
    let field = number(&label, &mut weight, "")
        .decimals(decimals)
        .speed(0.02 * current.max(0.05))
        .in_a_row();
    let field = field.range(Goal::WEIGHTS).show(ui);
    let changed = field.changed().then(|| {
        // Two digits are as fine as a hand sets it.
        let scale = 10_f64.powf(weight.log10().floor() - 1.0);
        let gesture = gesture(&field).unwrap_or_else(|| single_gesture(&field));
        ((weight / scale).round() * scale, Some(gesture))
    });
    field.on_hover_text(format!(
        "Weight {current:.2}: a larger one counts more against the others"
    ));
    changed
}

/// The share in all that is minimised: a number where there is room for it, and a bar along the bottom of the row.
pub(crate) fn share_bar(ui: &mut Ui, row: Rect, share: f64) {
    let percent = format!("{:.0} %", 100.0 * share);
    if ui.available_width() > 0.8 * SHARE {
        let text = RichText::new(&percent)
            .small()
            .color(theme::palette(ui).weak);
        let text = ui.add(Label::new(text).truncate().selectable(false));
        text.on_hover_text(format!("{percent} of all that is minimised: the bar below"));
    }
    let bar = Rect::from_min_max(pos2(row.left(), row.bottom() - 2.0), row.right_bottom());
    ui.painter().rect_filled(bar, 0.0, theme::palette(ui).line);
    let filled = Rect::from_min_size(bar.min, vec2(bar.width() * share as f32, bar.height()));
    ui.painter()
        .rect_filled(filled, 0.0, theme::palette(ui).accent);
}
