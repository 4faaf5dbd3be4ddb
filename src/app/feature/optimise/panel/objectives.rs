//! Objectives that no goal stands for, as rows below the goals: fall-off, monitor units, one dose throughout a structure.

use crate::command::{Command, Commands, gesture};
use crate::feature::goals::panel::{ROW, cell};
use crate::feature::optimise::panel::{LOCK, WEIGHT, share_bar, weight_field};
use crate::kit::{number, small_menu, theme};
use crate::state::State;
use case::{Edit, FallOff, FluenceObjectives, Plan, Structure, UniformDose, bounds};
use egui::{Button, CornerRadius, Label, Rect, Response, RichText, Sense, Slider, Ui, vec2};
use std::ops::RangeInclusive;

/// A change of the objectives, and the widget by whose drag it was made.
type Change = Option<(FluenceObjectives, Option<u64>)>;

/// Shows the rows of a plan that is optimised, or whose objectives differ from the usual ones.
pub(crate) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(plan) = state.plan() else { return };
    let objectives = &plan.objectives;
    if !state.is_optimised() && objectives.is_usual() {
        return;
    }
    let mut change = None;
    heading(ui, state, plan, &mut change);
    let shares = state.other_shares();
    for index in 0..objectives.uniform.len() {
        let share = shares.and_then(|shares| shares.uniform.get(index));
        uniform(ui, state, objectives, index, share, &mut change);
    }
    if objectives.fall_off.weight > 0.0 {
        fall_off(
            ui,
            objectives,
            shares.map(|shares| shares.fall_off),
            &mut change,
        );
    }
    if objectives.monitor_units > 0.0 {
        let share = shares.map(|shares| shares.monitor_units);
        monitor_units(ui, objectives, share, &mut change);
        if let Some((weight, gesture)) = super::curve::show(ui, state, commands) {
            let next = FluenceObjectives {
                monitor_units: weight,
                ..objectives.clone()
            };
            change = Some((next, Some(gesture)));
        }
    }
    super::hottest::show(ui, state, commands);
    if let Some((objectives, gesture)) = change {
        let value = Plan {
            objectives,
            ..(**plan).clone()
        };
        commands.push(Command::Edit {
            edit: Edit::SetPlan {
                plan: state.plan,
                value,
            }
            .into(),
            gesture,
        });
    }
}

fn heading(ui: &mut Ui, state: &State, plan: &Plan, change: &mut Change) {
    let objectives = &plan.objectives;
    ui.horizontal(|ui| {
        let text = RichText::new("Objectives beside the goals")
            .small()
            .color(theme::palette(ui).weak);
        ui.add(Label::new(text).truncate());
        let menu = small_menu(ui, "Add objective", |ui| {
            for structure in state
                .case()
                .structures
                .structures
                .iter()
                .filter(|s| may_be_uniform(objectives, s))
            {
                let mut next = objectives.clone();
                next.uniform.push(UniformDose {
                    structure: structure.name.clone(),
                    number: Some(structure.number),
                    dose_gy: plan.prescription_gy.unwrap_or_default(),
                    weight: 1.0,
                });
                let hint =
                    "The same dose throughout: what is above or below it counts by its square";
                add_button(
                    ui,
                    &format!("Uniform dose in {}", structure.name),
                    hint,
                    next,
                    change,
                );
            }
            if objectives.fall_off.weight == 0.0 {
                let next = FluenceObjectives {
                    fall_off: FallOff::default(),
                    ..objectives.clone()
                };
                add_button(ui, FALL_OFF, FALL_OFF_HINT, next, change);
            }
            if objectives.monitor_units == 0.0 {
                let usual = FluenceObjectives::default().monitor_units;
                let next = FluenceObjectives {
                    monitor_units: usual,
                    ..objectives.clone()
                };
                add_button(ui, MONITOR_UNITS, MONITOR_UNITS_HINT, next, change);
            }
        });
        menu.on_hover_text("What is minimised beside the goals; weights count as theirs");
    });
}

/// A button of the menu that adds an objective.
fn add_button(ui: &mut Ui, word: &str, hint: &str, next: FluenceObjectives, change: &mut Change) {
    if ui.button(word).on_hover_text(hint).clicked() {
        *change = Some((next, None));
        ui.close();
    }
}

const FALL_OFF: &str = "Fall-off round targets";
const FALL_OFF_HINT: &str = "Dose outside the targets above what it may be at its distance: of the prescription all at the target, \
                             falling by so many percent of the rest a mm to the part that is left far away";
const MONITOR_UNITS: &str = "Monitor units";
const MONITOR_UNITS_HINT: &str = "What leaves need to deliver the maps: the rises of the slowest row of each beam. Fewer leak less and take less time";

fn may_be_uniform(objectives: &FluenceObjectives, structure: &Structure) -> bool {
    !structure.contours.is_empty()
        && !objectives
            .uniform
            .iter()
            .any(|uniform| uniform.number == Some(structure.number))
        && objectives.uniform.len() < FluenceObjectives::MOST_UNIFORM
        && structure.kind.is_target()
}

fn uniform(
    ui: &mut Ui,
    state: &State,
    objectives: &FluenceObjectives,
    index: usize,
    share: Option<&Result<f64, String>>,
    change: &mut Change,
) {
    let objective = &objectives.uniform[index];
    let mut set = |next: Option<UniformDose>, gesture: Option<u64>| {
        let mut changed = objectives.clone();
        match next {
            Some(next) => changed.uniform[index] = next,
            None => _ = changed.uniform.remove(index),
        }
        *change = Some((changed, gesture));
    };
    let name = format!("{}: uniform", objective.structure);
    let row = Row::new(ui, &name);
    let structure = state
        .case()
        .structures
        .referenced(objective.number, &objective.structure)
        .ok();
    if row.name(
        ui,
        structure.map(|s| theme::colour(s.colour)),
        "The same dose throughout",
    ) {
        set(None, None);
    }
    let mut dose_gy = objective.dose_gy;
    let field = row.fields(ui, |ui| {
        let label = format!("Dose of {name}");
        let field = number(&label, &mut dose_gy, " Gy").decimals(2).speed(0.1);
        field.range(0.0..=bounds::MOST_COURSE_GY).show(ui)
    });
    if let Some(field) = field.filter(|_| dose_gy != objective.dose_gy) {
        set(
            Some(UniformDose {
                dose_gy,
                ..objective.clone()
            }),
            gesture(&field),
        );
    }
    let (share, why) = match share {
        Some(Ok(share)) => (Some(*share), None),
        Some(Err(why)) => (None, Some(why.as_str())),
        None => (None, None),
    };
    if let Some((weight, gesture)) = row.weight(ui, objective.weight, share, why) {
        set(
            Some(UniformDose {
                weight,
                ..objective.clone()
            }),
            gesture,
        );
    }
}

fn fall_off(ui: &mut Ui, objectives: &FluenceObjectives, share: Option<f64>, change: &mut Change) {
    let previous = objectives.fall_off;
    let mut set = |fall_off: FallOff, gesture: Option<u64>| {
        *change = Some((
            FluenceObjectives {
                fall_off,
                ..objectives.clone()
            },
            gesture,
        ));
    };
    let row = Row::new(ui, FALL_OFF);
    if row.name(ui, None, FALL_OFF_HINT) {
        set(
            FallOff {
                weight: 0.0,
                ..previous
            },
            None,
        );
    }
    let mut next = previous;
    let field = row.fields(ui, |ui| {
        let rate = number("Fall-off per mm", &mut next.percent_per_mm, " %/mm")
            .decimals(1)
            .speed(0.1);
        let rate = rate.range(FallOff::PERCENT_PER_MM).show(ui);
        ui.weak("to");
        let far = number("Fall-off far away", &mut next.far_percent, " %")
            .decimals(0)
            .speed(0.2);
        let far = far.range(0.0..=100.0).show(ui);
        if next.far_percent == previous.far_percent {
            rate
        } else {
            far
        }
    });
    if let Some(field) = field.filter(|_| next != previous) {
        set(next, gesture(&field));
    }
    if let Some((weight, gesture)) = row.weight(ui, previous.weight, share, None) {
        set(FallOff { weight, ..previous }, gesture);
    }
}

fn monitor_units(
    ui: &mut Ui,
    objectives: &FluenceObjectives,
    share: Option<f64>,
    change: &mut Change,
) {
    let row = Row::new(ui, MONITOR_UNITS);
    let mut next = None;
    if row.name(ui, None, MONITOR_UNITS_HINT) {
        next = Some((0.0, None));
    }
    let mut weight = objectives
        .monitor_units
        .clamp(*WEIGHTS.start(), *WEIGHTS.end());
    let slider = row.fields(ui, |ui| {
        ui.spacing_mut().slider_width = FIELDS - 16.0;
        let slider = Slider::new(&mut weight, WEIGHTS)
            .logarithmic(true)
            .show_value(false);
        ui.add(slider).accessible_name("Slider of monitor units")
    });
    if let Some(slider) = slider.filter(Response::changed) {
        next = Some((weight, gesture(&slider)));
    }
    if let Some(weight) = row.weight(ui, objectives.monitor_units, share, None) {
        next = Some(weight);
    }
    if let Some((monitor_units, gesture)) = next {
        *change = Some((
            FluenceObjectives {
                monitor_units,
                ..objectives.clone()
            },
            gesture,
        ));
    }
}

/// Weights of monitor units that the slider reaches.
const WEIGHTS: RangeInclusive<f64> = 0.1..=10.0;

/// Widths of the button that removes an objective, of its numbers, and of the scroll bar.
const REMOVE: f32 = 24.0;
const FIELDS: f32 = 132.0;
const SCROLL_BAR: f32 = 12.0;

/// Width of the weight with its share: an objective has no lock.
const WEIGHT_OF_OBJECTIVE: f32 = WEIGHT - LOCK;

/// A row with the places of its cells: removal, name, numbers, weight and share.
struct Row<'a> {
    rect: Rect,
    name: &'a str,
}

impl<'a> Row<'a> {
    fn new(ui: &mut Ui, name: &'a str) -> Self {
        let (rect, _) =
            ui.allocate_exact_size(vec2(ui.available_width(), ROW + 2.0), Sense::hover());
        ui.painter()
            .rect_filled(rect, CornerRadius::same(2), ui.visuals().faint_bg_color);
        Self { rect, name }
    }

    /// Left end of the numbers.
    fn fields_left(&self) -> f32 {
        (self.rect.width() - FIELDS - WEIGHT_OF_OBJECTIVE - SCROLL_BAR).max(REMOVE + 40.0)
    }

    /// The name, behind the button that removes the row; whether that was clicked.
    fn name(&self, ui: &mut Ui, colour: Option<egui::Color32>, hint: &str) -> bool {
        let mut removed = false;
        cell(ui, self.rect, [0.0, REMOVE], |ui| {
            let button = ui.add(Button::new(RichText::new("×").small()).small());
            let button = button.accessible_name(format!("Remove {}", self.name));
            removed = button.on_hover_text("Leaves this objective out").clicked();
        });
        cell(ui, self.rect, [REMOVE, self.fields_left() - REMOVE], |ui| {
            if let Some(colour) = colour {
                let (dot, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
                ui.painter().rect_filled(dot, CornerRadius::same(2), colour);
            }
            let text = Label::new(RichText::new(self.name).small())
                .truncate()
                .selectable(false);
            ui.add(text).on_hover_text(hint);
        });
        removed
    }

    fn fields(&self, ui: &mut Ui, add: impl FnOnce(&mut Ui) -> Response) -> Option<Response> {
        let mut response = None;
        cell(ui, self.rect, [self.fields_left(), FIELDS], |ui| {
            ui.style_mut().override_text_style = Some(egui::TextStyle::Small);
            ui.spacing_mut().interact_size.y = ROW - 2.0;
            ui.spacing_mut().button_padding.y = 0.0;
            response = Some(add(ui));
        });
        response
    }

    /// The weight with its share, or why it is not minimised; a changed weight with its gesture.
    fn weight(
        &self,
        ui: &mut Ui,
        weight: f64,
        share: Option<f64>,
        why: Option<&str>,
    ) -> Option<(f64, Option<u64>)> {
        let mut next = None;
        cell(
            ui,
            self.rect,
            [self.fields_left() + FIELDS, WEIGHT_OF_OBJECTIVE],
            |ui| {
                if let Some(why) = why {
                    let text = RichText::new(format!("left out: {why}"))
                        .small()
                        .color(theme::palette(ui).warning);
                    ui.add(Label::new(text).truncate()).on_hover_text(why);
                    return;
                }
                let row = ui.max_rect();
                next = weight_field(ui, weight, self.name);
                if let Some(share) = share {
                    share_bar(ui, row, share);
                }
            },
        );
        next
    }
}
