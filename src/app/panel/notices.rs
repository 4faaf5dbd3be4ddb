//! Notices over the views, which stay where they are.

use super::unsaved;
use crate::command::{Command, Commands};
use crate::kit::theme;
use crate::state::{About, Notice, NoticeKind, State, Workspace};
use egui::{
    Align, Align2, Area, Color32, Context, Frame, Id, Label, Layout, Margin, Order, Rect, RichText,
    ScrollArea, Ui,
};

/// Widest notices: lines of about 70 letters.
const WIDEST: f32 = 440.0;
const NARROWEST: f32 = 320.0;
/// Points between notices and the rim of the views.
const RIM: f32 = 8.0;
/// Points from the rim of a view to below its button that maximises it.
const MAXIMISE_BUTTON: f32 = 28.0;
/// Height of the list as a share of the height of the views. Where these stand in two rows, status and caveats of the dose at the
/// lower right of an upper one stay in sight.
const SHARE_OF_HEIGHT: f32 = 0.28;
const LOWEST: f32 = 60.0;
/// Height of the line below the list.
const FOOT: f32 = 26.0;

/// Shows the notices, newest first, over `views`.
pub fn show(ctx: &Context, views: Rect, state: &State, commands: &mut Commands) {
    let newest = newest_on_show(ctx, state);
    let shown: Vec<&Notice> = state
        .notices
        .iter()
        .rev()
        .filter(|n| n.id <= newest)
        .collect();
    let recovers = state.is_loaded() && !state.recoverable.is_empty();
    if shown.is_empty() && !recovers {
        return;
    }
    let corner = corner(state.workspace);
    let mut inner = views.shrink(RIM);
    if state.workspace == Workspace::Plan {
        // The button that maximises the view below stays free.
        inner.min.y = views.min.y + MAXIMISE_BUTTON;
    }
    let width = (0.5 * views.width() - 2.0 * RIM)
        .clamp(NARROWEST, WIDEST)
        .min(inner.width());
    let max_height = (SHARE_OF_HEIGHT * views.height() - FOOT).max(LOWEST);
    // A question before the window is answered first: the notices wait behind it.
    let is_asked = ctx.memory(|m| m.top_modal_layer().is_some());
    let order = if is_asked {
        Order::Middle
    } else {
        Order::Foreground
    };
    let area = Area::new(Id::unique("notices"))
        .order(order)
        .fade_in(false)
        .pivot(corner);
    let area = area
        .fixed_pos(corner.pos_in_rect(&inner))
        .constrain_to(views);
    area.show(ctx, |ui| {
        ui.set_width(width);
        ScrollArea::vertical()
            .max_height(max_height)
            .show(ui, |ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing.y = 4.0;
                if recovers {
                    unsaved::recoverable(ui, state, commands);
                }
                shown.iter().for_each(|notice| one(ui, notice, commands));
            });
        if shown.len() > 1 {
            foot(ui, shown.len(), state.notices.crowded_out(), commands);
        }
    });
}

/// The notices up to this one are shown: one that comes in a drag waits for its end, as it would take the wheel and the release
/// from what is dragged.
fn newest_on_show(ctx: &Context, state: &State) -> u64 {
    let id = Id::unique("newest notice on screen");
    let held: Option<u64> = ctx
        .data(|d| d.get_temp(id))
        .filter(|_| ctx.input(|i| i.pointer.any_down()));
    let newest = held.unwrap_or_else(|| state.notices.iter().map(|n| n.id).max().unwrap_or(0));
    ctx.data_mut(|d| d.insert_temp(id, newest));
    newest
}

/// The corner without the status of a dose: panes of Compare state it at the upper left, all other views at the lower right.
fn corner(workspace: Workspace) -> Align2 {
    match workspace {
        Workspace::Compare => Align2::RIGHT_BOTTOM,
        Workspace::Plan | Workspace::Register => Align2::RIGHT_TOP,
    }
}

/// The colour of a kind of notice.
pub fn colour(ui: &Ui, kind: NoticeKind) -> Color32 {
    match kind {
        NoticeKind::Success => theme::palette(ui).good,
        NoticeKind::Info => theme::palette(ui).accent,
        NoticeKind::Warning => theme::palette(ui).warning,
        NoticeKind::Error => theme::palette(ui).error,
    }
}

fn one(ui: &mut Ui, notice: &Notice, commands: &mut Commands) {
    let colour = colour(ui, notice.kind);
    let frame = Frame::new()
        .fill(theme::palette(ui).tint(colour))
        .stroke(egui::Stroke::new(1.0, colour.gamma_multiply(0.6)));
    frame
        .corner_radius(4)
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal_top(|ui| {
                ui.colored_label(colour, RichText::new(notice.kind.name()).strong());
                ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                    let close = ui.small_button("×").on_hover_text("The log keeps it");
                    if close.accessible_name("Dismiss").clicked() {
                        commands.push(Command::Dismiss(notice.id));
                    }
                    if notice.about == About::CancelledResult
                        && ui.small_button("Compute again").clicked()
                    {
                        commands.push(Command::Recompute);
                    }
                    ui.with_layout(Layout::top_down(Align::Min), |ui| {
                        ui.add(Label::new(theme::spelled(ui.ctx(), &notice.text)).wrap());
                    });
                });
            });
        });
}

/// The line below several notices, which need not all be in sight.
fn foot(ui: &mut Ui, shown: usize, crowded_out: usize, commands: &mut Commands) {
    let frame = Frame::new()
        .fill(theme::palette(ui).panel)
        .corner_radius(4)
        .inner_margin(Margin::symmetric(8, 2));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let more = if crowded_out > 0 {
                format!(", {crowded_out} more in the log")
            } else {
                String::new()
            };
            ui.weak(format!("{shown} notices{more}"));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.small_button("Dismiss all").clicked() {
                    commands.push(Command::DismissAll);
                }
            });
        });
    });
}
