//! The doses on the way to leaves side by side: of the optimiser, of its fluence, of the leaves.

use crate::command::{Command, Commands};
use crate::feature::goals;
use crate::feature::goals::panel::{ROW, cell};
use crate::feature::leaves::state::delivery::{Stage, Stages};
use crate::feature::optimise::command::OptimiseAction;
use crate::kit::theme;
use crate::state::State;
use analysis::{GoalRow, Verdict};
use egui::{Align, Button, Color32, Label, Layout, RichText, Role, Sense, Ui, WidgetInfo, vec2};

/// Width of the numbers of a dose, and of a figure with its limit.
const NUMBER: f32 = 66.0;
const FIGURE: f32 = 106.0;

/// The choice between goals with their weights and the doses of the stages.
pub fn switch(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if state.has_leaves() {
        let on = state.leaves.shows_stages;
        let button = ui.add(Button::selectable(
            on,
            RichText::new("Side by side").small(),
        ));
        let hint = "Goals in the doses of the optimiser, of the fluence and of the leaves, in place of their weights";
        if button.on_hover_text(hint).clicked() {
            commands.push(Command::Optimise(OptimiseAction::ShowStages(!on)));
        }
    }
}

/// Rows of D95 of the targets and of the goals, and how the leaves deliver.
pub fn rows(ui: &mut Ui, state: &State, stages: &Stages) {
    for (n, target) in stages.targets.iter().enumerate() {
        let heading = RowHeading {
            structure: target,
            figure: "D95%",
            limit: "",
        };
        row(ui, n, heading, stages, |stage| {
            let gy = stage.targets_gy.get(n).copied().flatten();
            Figure::unjudged(gy.map_or(NOTHING.to_owned(), |gy| format!("{gy:.2} Gy")))
        });
    }
    let goals = &stages.stages[0].goals;
    for (n, GoalRow { goal, .. }) in goals.iter().enumerate() {
        let heading = RowHeading {
            structure: &goal.structure,
            figure: &goal.metric().to_string(),
            limit: &goal.limit_text(),
        };
        row(ui, stages.targets.len() + n, heading, stages, |stage| {
            Figure::of_goal(&stage.goals[n])
        });
    }
    if let Some(delivery) = state.delivery() {
        ui.add_space(3.0);
        let f = &delivery.of_plan.figures;
        let per_gy = delivery
            .of_plan
            .mu_per_gy
            .map_or_else(String::new, |mu| format!(" ({mu:.0} MU/Gy)"));
        let prefix = if stages.are_before_run {
            "before this run: "
        } else {
            ""
        };
        let text = format!(
            "{prefix}{:.1} MU{per_gy}, beam on {:.0} s, complexity {:.2}, mean gap {:.1} mm",
            f.mu, f.beam_on_s, f.complexity, f.mean_gap_mm
        );
        let line = ui.add(Label::new(RichText::new(text).small()).truncate());
        line.on_hover_text(delivery.of_plan.words());
        if let Some(remark) = &delivery.of_plan.remark {
            ui.add(
                Label::new(
                    RichText::new(remark)
                        .small()
                        .color(theme::palette(ui).warning),
                )
                .wrap(),
            );
        }
    }
}

/// Shown in place of a missing figure.
const NOTHING: &str = "–";

/// A figure in one of the doses, with the verdict of its goal.
struct Figure {
    text: String,
    verdict: Option<Verdict>,
    /// Hover text on the verdict.
    hint: String,
}

impl Figure {
    fn unjudged(text: String) -> Self {
        Self {
            text,
            verdict: None,
            hint: String::new(),
        }
    }

    /// The value of a goal with the verdict that the scorecard gives on the same dose.
    fn of_goal(row: &GoalRow) -> Self {
        match &row.answer {
            Ok(outcome) => Self {
                text: goals::panel::value_text(outcome, &row.goal),
                verdict: Some(outcome.verdict.clone()),
                hint: row.verdict_text(),
            },
            Err(why) => Self {
                hint: why.to_string(),
                ..Self::unjudged(NOTHING.to_owned())
            },
        }
    }

    /// Sign and colour: only a decided miss has a cross, and a value within the tolerance has the sign of the scorecard.
    fn sign_and_colour(&self, ui: &Ui) -> (&'static str, Color32) {
        let colours = theme::palette(ui);
        match &self.verdict {
            Some(Verdict::Fail) => ("× ", colours.error),
            Some(Verdict::Near) => ("≈ ", colours.warning),
            Some(Verdict::Pass) => ("", colours.text),
            Some(Verdict::Undecided(_)) => ("", colours.weak),
            None if self.text == NOTHING => ("", colours.weak),
            None => ("", colours.text),
        }
    }
}

/// Names of the doses, each with its status: they stay above the rows, which scroll.
pub fn headings(ui: &mut Ui, stages: &Stages) {
    let (rect, _) =
        ui.allocate_exact_size(vec2(ui.available_width(), 2.0 * ROW - 6.0), Sense::hover());
    for (stage, [left, width]) in stages.stages.iter().zip(columns(rect.width())) {
        let mut own = rect;
        (own.min.x, own.max.x) = (rect.left() + left, rect.left() + left + width - 6.0);
        let child = egui::UiBuilder::new()
            .max_rect(own)
            .layout(Layout::top_down(Align::Max));
        ui.scope_builder(child, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.add(
                Label::new(
                    RichText::new(stage.name)
                        .small()
                        .color(theme::palette(ui).weak),
                )
                .selectable(false),
            );
            let (word, colour) = match stage.status {
                Some(status) => (
                    status.word().to_uppercase(),
                    theme::palette(ui).status(status),
                ),
                None => ("none".to_owned(), theme::palette(ui).weak),
            };
            let chip = ui.add(
                Label::new(RichText::new(&word).small().strong().color(colour)).selectable(false),
            );
            let name = format!("Dose of {}: {word}", stage.name);
            chip.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
            if let Some(caveat) = stage.caveat.as_deref().filter(|caveat| !caveat.is_empty()) {
                chip.on_hover_text(caveat);
            }
        });
    }
}

/// Left ends and widths of the numbers.
fn columns(width: f32) -> [[f32; 2]; 3] {
    let number = NUMBER.min(0.22 * width);
    [3.0, 2.0, 1.0].map(|n| [width - n * number, number])
}

/// The structure, the figure and the limit that a row shows.
struct RowHeading<'a> {
    structure: &'a str,
    figure: &'a str,
    limit: &'a str,
}

/// A figure in each of the doses; goals that are missed have a sign and a colour.
fn row(
    ui: &mut Ui,
    place: usize,
    heading: RowHeading<'_>,
    stages: &Stages,
    figure_of: impl Fn(&Stage) -> Figure,
) {
    let RowHeading {
        structure,
        figure,
        limit,
    } = heading;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let fill = if place % 2 == 1 {
        ui.visuals().faint_bg_color
    } else {
        Color32::TRANSPARENT
    };
    ui.painter().rect_filled(rect, 2.0, fill);
    let numbers = columns(rect.width());
    let to_numbers = numbers[0][0];
    // However long the name of the structure, its figures stay distinguishable.
    let name_width = (to_numbers - FIGURE).max(0.3 * to_numbers);
    cell(ui, rect, [0.0, name_width], |ui| {
        _ = ui.add(small_label(structure)).on_hover_text(structure)
    });
    cell(ui, rect, [name_width, to_numbers - name_width], |ui| {
        _ = ui.add(small_label(&format!("{figure} {limit}")))
    });
    let name = format!("{structure} {figure}");
    for (stage, [left, width]) in stages.stages.iter().zip(numbers) {
        let figure = figure_of(stage);
        let (sign, colour) = figure.sign_and_colour(ui);
        cell(ui, rect, [left, width], |ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let shown = RichText::new(format!("{sign}{}", figure.text))
                    .small()
                    .color(colour);
                let label = ui.add(Label::new(shown).selectable(false));
                let name = format!("{name} of {}: {}", stage.name, figure.text);
                label.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
                if !figure.hint.is_empty() {
                    label.on_hover_text(&figure.hint);
                }
            });
        });
    }
}

fn small_label(text: &str) -> Label {
    Label::new(RichText::new(text).small())
        .truncate()
        .selectable(false)
}
