//! The Compare workspace: two doses on one plane, in the chosen layout.

use super::plan;
use crate::command::{Command, Commands};
use crate::feature::compare::state::{Compare, Layout};
use crate::feature::compare::view::{CompareScene, Pane, show_pane};
use crate::feature::measure::command::MeasureAction;
use crate::feature::start;
use crate::kit::theme;
use crate::render::Gpu;
use crate::state::display::WindowLevel;
use crate::state::results::Standing;
use crate::state::{State, ViewKind};
use crate::view::{DoseLayer, ViewEvent, ViewState};
use analysis::Side;
use egui::{Button, Key, Rect, Ui, UiBuilder, pos2, vec2};
use geometry::Volume;
use std::sync::Arc;

/// Points between two views.
const GAP: f32 = 2.0;
const PLANES: [ViewKind; 3] = [ViewKind::Axial, ViewKind::Sagittal, ViewKind::Coronal];
/// Key that shows B while it is held.
const FLICKER: Key = Key::Space;

/// Shows the choice of layout and the views.
pub fn show(
    ui: &mut Ui,
    state: &State,
    gpu: &Gpu,
    views: &mut [ViewState; 4],
    commands: &mut Commands,
) {
    if !state.is_loaded() {
        start::panel::show(ui, state, commands);
        return;
    }
    egui::Panel::top("layouts")
        .frame(theme::bar_frame(ui))
        .show(ui, |ui| bar(ui, state, commands));
    let available = ui.available_rect_before_wrap();
    theme::dark_style(ui);
    ui.painter()
        .rect_filled(available, 0.0, theme::IMAGE.ground);
    let scene = scene(state, gpu);
    let Some(view) = views.iter_mut().find(|v| v.kind == state.compare.plane) else {
        return;
    };
    let shows_b = !ui.ctx().text_edit_focused() && ui.input(|i| i.key_down(FLICKER));
    let mut events = Vec::new();
    let mut hovered = false;
    let mut next = state.compare.clone();
    for (pane, rect) in panes(state.compare.layout, shows_b, available) {
        ui.scope_builder(UiBuilder::new().max_rect(rect), |ui| {
            ui.set_clip_rect(rect);
            let (response, swiped) = show_pane(ui, view, &scene, pane, &mut events);
            hovered |= response.hovered() || response.dragged();
            next.swipe = swiped.unwrap_or(next.swipe);
        });
    }
    if next != state.compare {
        commands.push(Command::Compare(next));
    }
    for event in events {
        match event {
            ViewEvent::CrosshairMoved(mm) => commands.push(Command::CentreOn(mm)),
            ViewEvent::WindowLevel(width, level) => {
                commands.push(Command::Window(WindowLevel::new(width, level)));
            }
            ViewEvent::Measured(number, item) => {
                commands.push(Command::Measure(MeasureAction::Set(number, item)));
            }
            ViewEvent::MeasureReleased => commands.push(Command::Measure(MeasureAction::Release)),
            ViewEvent::Hover(mm) => commands.push(Command::Hover(Some(mm))),
            // Compare panes have neither beams, shapes nor a maximise button.
            ViewEvent::GantryDragged { .. }
            | ViewEvent::ShapeDragged { .. }
            | ViewEvent::Draw(_)
            | ViewEvent::PartDragged { .. }
            | ViewEvent::LeavesBrushed { .. }
            | ViewEvent::FluenceLimited { .. }
            | ViewEvent::ToggleMaximise => {}
        }
    }
    if !hovered && state.pointer_mm.is_some() {
        commands.push(Command::Hover(None));
    }
}

/// The choice of layout and plane.
fn bar(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut next = state.compare.clone();
    ui.horizontal_wrapped(|ui| {
        // In a narrow window the layouts are in a menu: the views have the place.
        if ui.available_width() < ROOM_FOR_LAYOUTS {
            ui.menu_button(next.layout.name(), |ui| layouts(ui, &mut next))
                .response
                .accessible_name("Layouts");
        } else {
            layouts(ui, &mut next);
        }
        ui.separator();
        for plane in PLANES {
            if ui
                .add(Button::selectable(next.plane == plane, plane.name()))
                .clicked()
            {
                next.plane = plane;
            }
        }
        let hint = match next.layout {
            Layout::Flicker => "hold the space bar for B",
            Layout::Swipe => "drag the line",
            _ => "",
        };
        ui.weak(hint);
    });
    set(commands, state, next);
}

/// Width in points from which on the layouts stand beside the planes.
const ROOM_FOR_LAYOUTS: f32 = 520.0;

fn layouts(ui: &mut Ui, next: &mut Compare) {
    for layout in Layout::ALL {
        let button = Button::selectable(next.layout == layout, layout.name());
        if ui.add(button).on_hover_text(layout.hint()).clicked() {
            next.layout = layout;
        }
    }
}

/// Pushes the settings if they changed.
fn set(commands: &mut Commands, state: &State, next: Compare) {
    if next != state.compare {
        commands.push(Command::Compare(next));
    }
}

/// The panes of a layout with their rectangles.
fn panes(layout: Layout, shows_b: bool, available: Rect) -> Vec<(Pane, Rect)> {
    let one = match layout {
        Layout::SideBySide => {
            let size = 0.5 * (available.size() - vec2(GAP, GAP));
            return [Pane::A, Pane::B, Pane::Difference, Pane::Gamma]
                .into_iter()
                .enumerate()
                .map(|(n, pane)| {
                    let [column, row] = [(n % 2) as f32, (n / 2) as f32];
                    let min = pos2(
                        available.left() + column * (size.x + GAP),
                        available.top() + row * (size.y + GAP),
                    );
                    (pane, Rect::from_min_size(min, size))
                })
                .collect();
        }
        Layout::Swipe => Pane::Swipe,
        Layout::Checkerboard => Pane::Checkerboard,
        Layout::Spyglass => Pane::Spyglass,
        Layout::Flicker => Pane::Flicker { shows_b },
        Layout::Difference => Pane::Difference,
        Layout::Gamma => Pane::Gamma,
    };
    vec![(one, available)]
}

/// Current content of the panes: all of it shared, so cheap.
fn scene(state: &State, gpu: &Gpu) -> CompareScene {
    let mut scene = plan::scene(state, gpu);
    scene.beams.clear();
    scene.shape = None;
    let reference = state.compare_reference();
    let [a, b] = Side::BOTH.map(|side| state.results.side(side).cloned());
    scene.dose = a.as_ref().or(b.as_ref()).map(|dose| DoseLayer {
        dose: dose.clone(),
        reference,
        display: state.dose_display.clone(),
        certainty: None,
        // The labels of the sides and the panel report it.
        trouble: None,
    });
    let (gamma, signed, gamma_note) = gamma(state);
    CompareScene {
        scene,
        a,
        b,
        gamma,
        gamma_note,
        gamma_end: state.compare.gamma.max_gamma,
        gamma_sign: signed.then(|| state.compare.gamma.roles()[1].name()),
        reference,
        display: state.dose_display.clone(),
        difference: state.compare.difference,
        isolines: state.compare.isolines,
        swipe: state.compare.swipe,
        refusal: state.results.pair_refusal().map(str::to_owned),
    }
}

/// The displayed map, whether it is signed, and a note if it is not the full map of the current criteria.
fn gamma(state: &State) -> (Option<Arc<Volume<f32>>>, bool, Option<String>) {
    let results = &state.results;
    if state.gamma_lacks_hundred() {
        return (
            None,
            false,
            Some("no gamma: 100 % is not defined".to_owned()),
        );
    }
    if let Some(why) = results.gamma_failure() {
        return (None, false, Some(format!("no gamma: {why}")));
    }
    if let Some(plane) = results.gamma_estimate().and_then(|e| e.plane.clone()) {
        return (
            Some(plane),
            false,
            Some("this plane first; all of it is being computed".to_owned()),
        );
    }
    let signed = results
        .gamma_figures()
        .filter(|(_, f)| *f == Standing::Current)
        .and_then(|(f, _)| f.signed.clone());
    if let Some(signed) = signed {
        return (Some(signed), true, None);
    }
    match results.gamma() {
        Some((result, inputs, standing)) => {
            let stale = (standing == Standing::Stale).then(|| {
                inputs
                    .criteria
                    .first()
                    .map(|c| format!("STALE: still {c}"))
                    .unwrap_or_default()
            });
            (result.maps.first().map(|m| m.gamma.clone()), false, stale)
        }
        None => (
            None,
            false,
            Some("being computed".to_owned()).filter(|_| results.pair().is_some()),
        ),
    }
}
