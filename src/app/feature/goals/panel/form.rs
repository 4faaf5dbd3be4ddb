//! A goal, changed in place: everything is chosen from lists or dragged.

use crate::command::{Command, Commands, gesture};
use crate::feature::goals::command::GoalAction;
use crate::kit::{number, theme};
use crate::state::State;
use case::{Bound, Goal, Metric};
use egui::{ComboBox, Frame, Response, Ui};

/// Shows the fields of a goal.
pub(crate) fn show(ui: &mut Ui, state: &State, index: usize, goal: &Goal, commands: &mut Commands) {
    let frame = Frame::new()
        .fill(theme::palette(ui).raised)
        .inner_margin(egui::Margin::symmetric(6, 4));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        let mut form = Form {
            index,
            goal,
            commands,
        };
        ui.horizontal_wrapped(|ui| {
            structure(ui, state, &mut form);
            metric(ui, &mut form);
            let combo = ComboBox::from_id_salt(("goal sign", index)).width(30.0);
            let sign = combo.selected_text(goal.bound.sign()).show_ui(ui, |ui| {
                for bound in Bound::ALL {
                    let word = if bound == Bound::AtMost {
                        "<=  at most"
                    } else {
                        ">=  at least"
                    };
                    if ui.selectable_label(goal.bound == bound, word).clicked()
                        && goal.bound != bound
                    {
                        form.set(goal.clone().with_bound(bound), None);
                    }
                }
            });
            sign.response.accessible_name("Goal sign");
            let mut limit = goal.limit();
            let field = number("Goal limit", &mut limit, "")
                .decimals(2)
                .range(0.0..=goal.most_limit())
                .show(ui);
            if limit != goal.limit() {
                form.set(goal.clone().with_limit(limit), Some(&field));
            }
            unit(ui, &mut form);
        });
        ui.horizontal_wrapped(|ui| {
            ui.weak("tolerance");
            let unit = match goal.unit().symbol() {
                "" => String::new(),
                symbol => format!(" {symbol}"),
            };
            let mut tolerance = goal.tolerance();
            let field = number("Goal tolerance", &mut tolerance, &unit)
                .decimals(2)
                .speed(0.1)
                .range(0.0..=1e6);
            let field = field
                .show(ui)
                .on_hover_text("Beyond the limit by no more than this a value is near");
            if tolerance != goal.tolerance() {
                form.set(goal.clone().with_tolerance(tolerance), Some(&field));
            }
            ui.weak("priority");
            let mut priority = f64::from(goal.priority());
            let lowest = f64::from(Goal::LOWEST_PRIORITY);
            let field = number("Goal priority", &mut priority, "")
                .decimals(0)
                .speed(0.05)
                .range(1.0..=lowest);
            let field = field
                .show(ui)
                .on_hover_text("1 is the highest; goals are listed by it");
            let priority = priority.round() as u8;
            if priority != goal.priority() {
                form.set(goal.clone().with_priority(priority), Some(&field));
            }
        });
        ui.horizontal_wrapped(|ui| {
            for (name, up) in [("Goal up", true), ("Goal down", false)] {
                let button = ui
                    .small_button(name)
                    .on_hover_text("Changes places with the neighbour");
                if button.clicked() {
                    commands.push(Command::Goals(GoalAction::Move { index, up }));
                }
            }
            if ui.small_button("Remove goal").clicked() {
                commands.push(Command::Goals(GoalAction::Remove(index)));
            }
            if ui.small_button("Done").clicked() {
                commands.push(Command::Goals(GoalAction::Open(None)));
            }
        });
    });
}

/// A goal in the form, by its index in the list.
struct Form<'a> {
    index: usize,
    goal: &'a Goal,
    commands: &'a mut Commands,
}

impl Form<'_> {
    /// Replaces the goal; changes of one drag of a field undo together.
    fn set(&mut self, goal: Goal, field: Option<&Response>) {
        self.commands.push(Command::Goals(GoalAction::Set {
            index: self.index,
            goal,
            gesture: field.and_then(gesture),
        }));
    }
}

fn structure(ui: &mut Ui, state: &State, form: &mut Form<'_>) {
    let (index, goal) = (form.index, form.goal);
    let structures = &state.case().structures;
    let current = structures.referenced(goal.number, &goal.structure).ok();
    let text = current.map_or_else(|| format!("{} (none)", goal.structure), |s| s.name.clone());
    let combo = ComboBox::from_id_salt(("goal structure", index))
        .selected_text(text)
        .width(104.0)
        .truncate();
    let combo = combo.show_ui(ui, |ui| {
        for structure in &structures.structures {
            let empty = if structure.contours.is_empty() {
                "  (no contours)"
            } else {
                ""
            };
            let chosen = current.is_some_and(|s| s.number == structure.number);
            if ui
                .selectable_label(chosen, format!("{}{empty}", structure.name))
                .clicked()
                && !chosen
            {
                form.set(
                    goal.clone()
                        .of_structure(&structure.name, Some(structure.number)),
                    None,
                );
            }
        }
    });
    combo.response.accessible_name("Goal structure");
}

fn metric(ui: &mut Ui, form: &mut Form<'_>) {
    let (index, goal) = (form.index, form.goal);
    let current = goal.metric();
    let combo = ComboBox::from_id_salt(("goal metric", index))
        .selected_text(current.to_string())
        .width(64.0);
    let combo = combo.height(360.0).show_ui(ui, |ui| {
        for metric in Metric::LISTED {
            let label = ui.selectable_label(metric == current, metric.to_string());
            if label.on_hover_text(metric.means()).clicked() && metric != current {
                form.set(goal.clone().with_metric(metric), None);
            }
        }
    });
    combo
        .response
        .on_hover_text(current.means())
        .accessible_name("Goal metric");
    let Some(mut number_of) = current.number() else {
        return;
    };
    let previous = number_of;
    let [low, high] = current.numbers();
    let decimals = if number_of.fract() == 0.0 { 0 } else { 2 };
    let field = number("Goal number", &mut number_of, "")
        .decimals(decimals)
        .range(low..=high)
        .show(ui);
    let field = field.on_hover_text("The number in the metric's name");
    if number_of != previous {
        form.set(
            goal.clone().with_metric(current.with_number(number_of)),
            Some(&field),
        );
    }
}

fn unit(ui: &mut Ui, form: &mut Form<'_>) {
    let (index, goal) = (form.index, form.goal);
    let units = goal.metric().units();
    if units.len() < 2 {
        return;
    }
    let combo = ComboBox::from_id_salt(("goal unit", index))
        .selected_text(goal.unit().symbol())
        .width(34.0);
    let combo = combo.show_ui(ui, |ui| {
        for unit in units {
            let chosen = *unit == goal.unit();
            if ui.selectable_label(chosen, unit.symbol()).clicked() && !chosen {
                form.set(goal.clone().with_unit(*unit), None);
            }
        }
    });
    combo.response.accessible_name("Goal unit");
}
