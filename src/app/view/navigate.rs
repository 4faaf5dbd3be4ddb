//! Paging, panning, zooming, window and level.

use super::plane::{page_mm, snapped_mm};
use super::plane_view::{PlaneView, clamped};
use super::{Scene, ViewEvent, ViewPlane, ViewState};
use egui::{Event, MouseWheelUnit, PointerButton, Response, Ui};
use glam::DVec3;

/// Zoom per notch of the wheel.
const ZOOM_STEP: f64 = 1.15;
/// Scroll distance of touchpads for one page, points.
const POINTS_PER_PAGE: f32 = 24.0;
/// A drag of one point changes the window by this share of its width, or by at least 1 HU.
const WINDOW_PER_POINT: f32 = 1.0 / 300.0;

/// The current plane of a view.
pub(crate) fn current_plane(state: &ViewState, scene: &Scene, rect: egui::Rect) -> ViewPlane {
    let [right, down] = state.kind.axes();
    let axis = state.kind.normal_axis();
    let shown = match (state.centre_mm, state.mm_per_point) {
        (Some(_), Some(_)) => None,
        _ => scene.box_mm(),
    };
    let middle_mm = shown.map_or(scene.crosshair_mm, |[low, high]| 0.5 * (low + high));
    let mut centre_mm = state.centre_mm.unwrap_or(middle_mm);
    centre_mm[axis] = scene.crosshair_mm[axis];
    let fitted = shown.map_or(1.0, |shown| fit_mm_per_point(shown, [right, down], rect));
    ViewPlane {
        rect,
        centre_mm,
        right,
        down,
        mm_per_point: state.mm_per_point.unwrap_or(fitted),
    }
}

/// Scale at which the whole box fits, with a small margin.
fn fit_mm_per_point([low, high]: [DVec3; 2], axes: [DVec3; 2], rect: egui::Rect) -> f64 {
    const AIR: f64 = 1.03;
    let [width_mm, height_mm] = axes.map(|axis| (high - low).dot(axis.abs()));
    let x = width_mm / f64::from(rect.width());
    let y = height_mm / f64::from(rect.height());
    clamped(x.max(y) * AIR)
}

/// Handles wheel and pointer. `claimed`: a handle has the drag.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    state: &mut ViewState,
    scene: &Scene,
    plane: &ViewPlane,
    claimed: bool,
    events: &mut Vec<ViewEvent>,
) {
    if let Some(at) = response.hover_pos() {
        events.push(ViewEvent::Hover(plane.patient_from_screen(at)));
        wheel(ui, response, state, scene, plane, at, events);
    }
    if response.double_clicked()
        && !claimed
        && let Some(at) = response.interact_pointer_pos()
    {
        events.push(ViewEvent::CrosshairMoved(snapped(
            scene,
            plane.patient_from_screen(at),
        )));
    }
    let delta = response.drag_delta();
    if delta == egui::Vec2::ZERO {
        return;
    }
    if response.dragged_by(PointerButton::Secondary) {
        let per_point = (scene.window.width_hu * WINDOW_PER_POINT).max(1.0);
        let width = (scene.window.width_hu + delta.x * per_point).clamp(1.0, 10_000.0);
        let level = (scene.window.level_hu - delta.y * per_point).clamp(-5_000.0, 10_000.0);
        events.push(ViewEvent::WindowLevel(width.round(), level.round()));
    } else if !claimed
        && (response.dragged_by(PointerButton::Primary)
            || response.dragged_by(PointerButton::Middle))
    {
        show_from(state, plane, &plane.on_screen().panned(delta));
    }
}

/// Snaps the crosshair to the planes of the images along their normal, so that the axial view shows an acquired plane.
pub(crate) fn snapped(scene: &Scene, mut at_mm: DVec3) -> DVec3 {
    if let Some(grid) = scene.grid() {
        let normal = grid.axes()[2];
        if let Some(axis) = (0..3).find(|a| normal[*a].abs() > 0.999_99) {
            at_mm[axis] = snapped_mm(grid, axis, at_mm);
        }
    }
    at_mm
}

/// Has the view show its plane from another position and scale.
fn show_from(state: &mut ViewState, plane: &ViewPlane, view: &PlaneView) {
    let [right_mm, down_mm] = view.centre_mm;
    state.centre_mm = Some(plane.centre_mm + plane.right * right_mm + plane.down * down_mm);
    state.mm_per_point = Some(view.mm_per_point);
}

fn wheel(
    ui: &Ui,
    response: &Response,
    state: &mut ViewState,
    scene: &Scene,
    plane: &ViewPlane,
    pointer: egui::Pos2,
    events: &mut Vec<ViewEvent>,
) {
    let id = response.id.with("scrolled");
    let turned: f32 = ui.data(|d| d.get_temp(id)).unwrap_or(0.0);
    let mut scrolled = turned + notches_of_wheel(ui);
    let pages = scrolled.trunc();
    if pages != 0.0 {
        page(state, scene, pages as i32, events);
        scrolled -= pages;
    }
    if scrolled != turned {
        ui.data_mut(|d| d.insert_temp(id, scrolled));
    }
    let zoom = zoom_of_wheel(ui, false);
    if zoom != 1.0 {
        show_from(state, plane, &plane.on_screen().zoomed_about(pointer, zoom));
    }
}

/// Turn of the wheel in this frame, in notches (a touchpad's distance counts in pages), without a key held.
fn notches_of_wheel(ui: &Ui) -> f32 {
    ui.input(|i| {
        i.events
            .iter()
            .filter_map(notches)
            .filter(|(_, zooms)| !zooms)
            .map(|(n, _)| n)
            .sum()
    })
}

/// Zoom factor of this frame by pinching or by the wheel, with ctrl held or (`always`) without.
pub(crate) fn zoom_of_wheel(ui: &Ui, always: bool) -> f64 {
    let zoom: f64 = ui.input(|i| {
        let factors = i.events.iter().map(|event| match event {
            Event::Zoom(factor) => f64::from(*factor),
            other => match notches(other) {
                Some((n, zooms)) if zooms || always => ZOOM_STEP.powf(f64::from(n)),
                _ => 1.0,
            },
        });
        factors.product()
    });
    if zoom.is_finite() && zoom > 0.0 {
        zoom
    } else {
        1.0
    }
}

/// Notches of a wheel event, and whether ctrl turns it into a zoom.
fn notches(event: &Event) -> Option<(f32, bool)> {
    let Event::MouseWheel {
        unit,
        delta,
        modifiers,
        ..
    } = event
    else {
        return None;
    };
    let notches = match unit {
        MouseWheelUnit::Line | MouseWheelUnit::Page => delta.y,
        MouseWheelUnit::Point => delta.y / POINTS_PER_PAGE,
    };
    Some((notches, modifiers.command || modifiers.ctrl))
}

/// Moves the crosshair by pages along the view's normal. Wheel up moves to the head, to the left, to the front.
fn page(state: &ViewState, scene: &Scene, pages: i32, events: &mut Vec<ViewEvent>) {
    let Some(grid) = scene.grid() else { return };
    let axis = state.kind.normal_axis();
    let steps = if axis == 1 { -pages } else { pages };
    let mut to = scene.crosshair_mm;
    to[axis] = page_mm(grid, axis, to, steps);
    if to != scene.crosshair_mm {
        events.push(ViewEvent::CrosshairMoved(to));
    }
}
