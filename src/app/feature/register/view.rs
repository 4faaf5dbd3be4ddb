//! An X-ray overlaid with the DRR, as seen from its source. A drag moves the patient, with shift held it turns him.

use crate::feature::register::state::{Display, Image, Mode, Region, seen_axes};
use crate::kit::theme;
use crate::render::{DrrView, Gpu, OutlineLook, Overlay, RadiographFrame, RadiographLook};
use crate::view::overlay::{Anchor, display_rgb, text};
use crate::view::plane_view::PlaneView;
use crate::view::{navigate, overlay, rest};
use case::Pose;
use egui::emath::GuiRounding as _;
use egui::{
    Color32, CursorIcon, Event, Modifiers, Painter, PointerButton, Pos2, Rect, Response, Role,
    Sense, Shape, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};
use geometry::{Mask, Projection, Volume};
use glam::DVec3;
use std::sync::Arc;

const EDGES: Color32 = Color32::from_rgb(255, 190, 40);
const FRAME: Color32 = Color32::from_rgb(120, 130, 142);
const REGION: Color32 = Color32::from_rgb(120, 230, 160);
/// Colour of the plan's fields, and of the X-ray's own collimator opening.
const FIELD: Color32 = Color32::from_rgb(255, 225, 120);
const OPENING: Color32 = Color32::from_rgb(150, 205, 255);
/// Side of a square of the checkerboard and radius of the spyglass, points.
const SQUARE: f32 = 56.0;
const SPYGLASS: f32 = 90.0;
/// Distance within which the pointer grabs the swipe, points.
const GRIP: f32 = 9.0;
/// Turn per point of a drag, degrees.
const TURN_DEG: f64 = 0.1;
/// A shift-drag that begins further out than this share of the half view turns in the plane of the image.
const RIM: f32 = 0.62;

/// State of a view between frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadiographState {
    /// Centre of the view: mm to the right and down from the image's centre, in its own plane.
    pub centre_mm: Option<[f64; 2]>,
    /// mm of the image's plane per point; `None`: the whole image fits.
    pub mm_per_point: Option<f64>,
}

impl RadiographState {
    /// Shows the image's plane from another position and scale.
    fn show_from(&mut self, view: &PlaneView) {
        (self.centre_mm, self.mm_per_point) = (Some(view.centre_mm), Some(view.mm_per_point));
    }
}

/// Content of a view.
pub struct RadiographScene<'a> {
    pub gpu: &'a Gpu,
    pub image: &'a Image,
    /// Index of the image among those displayed.
    pub index: usize,
    pub attenuation: Option<&'a Arc<Volume<f32>>>,
    pub pose: Pose,
    /// Centre of rotation of poses, patient LPS, mm.
    pub centre_mm: DVec3,
    pub display: Display,
    pub drr_range: [f32; 2],
    /// Structures projected: mask, colour, width in points.
    pub outlines: Vec<(Arc<Mask>, Color32, f32)>,
    /// Corners of fields from this image's source, patient LPS, mm.
    pub fields: Vec<[DVec3; 4]>,
    /// Problem with the geometry of source, patient and detector, if any.
    pub trouble: Option<String>,
    /// Whether a drag moves the patient.
    pub free: bool,
    /// Whether a drag marks the region of the metric.
    pub marking: bool,
    /// Whether the key that swaps X-ray and DRR is held.
    pub flicker: bool,
}

/// User input in a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RadiographEvent {
    /// Shift of the patient in the room, patient LPS, mm.
    Shift(DVec3),
    /// Turn of the patient about an axis of the room, anticlockwise as seen from its tip.
    Turn { axis: DVec3, deg: f64 },
    /// New position of the swipe, share of the width.
    Swipe(f32),
    /// New region of the metric; `None`: the marked region is too small.
    Region(Option<Region>),
    /// Change of the window of X-ray and DRR, as shares of their ranges: width, level.
    Window(f32, f32),
}

/// The image's plane on the screen.
#[derive(Clone, Copy, Debug)]
struct Plane<'a> {
    image: &'a Projection,
    /// In mm to the right and down from the image's centre.
    view: PlaneView,
}

impl<'a> Plane<'a> {
    fn new(state: &RadiographState, image: &'a Projection, rect: Rect) -> Self {
        let [width, height] = size_mm(image);
        let fitted =
            (width / f64::from(rect.width())).max(height / f64::from(rect.height())) * 1.02;
        let mm_per_point = state.mm_per_point.unwrap_or(fitted);
        Self {
            image,
            view: PlaneView {
                rect,
                centre_mm: state.centre_mm.unwrap_or_default(),
                mm_per_point,
            },
        }
    }

    /// Screen point of a pixel `[column, row]`.
    fn screen(&self, [column, row]: [f64; 2]) -> Pos2 {
        let [dx, dy] = steps_mm(self.image);
        let [half_x, half_y] = half(self.image);
        self.view
            .screen([(column - half_x) * dx, (row - half_y) * dy])
    }

    /// Pixel `[column, row]` at a screen point.
    fn pixel(&self, pos: Pos2) -> [f64; 2] {
        let [dx, dy] = steps_mm(self.image);
        let [half_x, half_y] = half(self.image);
        let [x, y] = self.view.mm(pos);
        [x / dx + half_x, y / dy + half_y]
    }

    /// Screen point of a position in the room.
    fn seen(&self, room_mm: DVec3) -> Option<Pos2> {
        self.image.project(room_mm).map(|p| self.screen(p))
    }

    fn frame(&self) -> Rect {
        let [columns, rows] = [self.image.columns(), self.image.rows()].map(|n| n as f64 - 0.5);
        Rect::from_two_pos(self.screen([-0.5, -0.5]), self.screen([columns, rows]))
    }

    fn region(&self, r: Region) -> Rect {
        let [c, w, t, h] = [r.column, r.columns, r.row, r.rows].map(|n| n as f64);
        Rect::from_two_pos(
            self.screen([c - 0.5, t - 0.5]),
            self.screen([c + w - 0.5, t + h - 0.5]),
        )
    }

    /// Magnification from the depth of a position to the image's plane.
    fn magnification(&self, room_mm: DVec3) -> f64 {
        let towards = seen_axes(self.image)[2];
        let depth = towards.dot(self.image.source_mm() - room_mm);
        self.image.distance_mm() / depth.max(1.0)
    }
}

fn steps_mm(image: &Projection) -> [f64; 2] {
    [
        image.column_step_mm().length(),
        image.row_step_mm().length(),
    ]
}

fn half(image: &Projection) -> [f64; 2] {
    [
        0.5 * (image.columns() as f64 - 1.0),
        0.5 * (image.rows() as f64 - 1.0),
    ]
}

/// Width and height of an image in its own plane.
pub fn size_mm(image: &Projection) -> [f64; 2] {
    let [dx, dy] = steps_mm(image);
    [dx * image.columns() as f64, dy * image.rows() as f64]
}

/// Draws a view into the available space and appends the user's input.
pub fn show(
    ui: &mut Ui,
    state: &mut RadiographState,
    scene: &RadiographScene<'_>,
    events: &mut Vec<RadiographEvent>,
) -> Response {
    let rect = ui
        .available_rect_before_wrap()
        .round_to_pixels(ui.pixels_per_point());
    let response = ui.allocate_rect(rect, Sense::click_and_drag());
    let name = format!("X-ray {}", scene.index + 1);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    scene.gpu.begin_frame(ui.ctx().cumulative_pass_nr());
    if rect.width() < 8.0 || rect.height() < 8.0 {
        return response;
    }
    respond(ui, &response, state, scene, events);
    let plane = Plane::new(state, &scene.image.radiograph.projection, rect);
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme::IMAGE.ground);
    pictures(ui, &painter, &response, &plane, scene);
    marks(&painter, &plane, scene);
    if scene.marking
        && let Some(from) = response.interact_pointer_pos().and(pressed_at(ui))
    {
        let to = ui.input(|i| i.pointer.interact_pos()).unwrap_or(from);
        painter.rect_stroke(
            Rect::from_two_pos(from, to),
            0.0,
            Stroke::new(1.5, REGION),
            StrokeKind::Middle,
        );
    }
    words(&painter, &plane, scene, &name);
    response
}

fn pressed_at(ui: &Ui) -> Option<Pos2> {
    ui.input(|i| i.pointer.press_origin())
}

/// Object grabbed by a drag.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hold {
    Patient,
    /// Turns about the axes right and up, or (from the rim) in the plane.
    Turn {
        in_plane: bool,
    },
    Swipe,
    /// Marks the rectangle between this point and the pointer.
    Region(Pos2),
    View,
    Window,
}

fn respond(
    ui: &Ui,
    response: &Response,
    state: &mut RadiographState,
    scene: &RadiographScene<'_>,
    events: &mut Vec<RadiographEvent>,
) {
    let plane = Plane::new(state, &scene.image.radiograph.projection, response.rect);
    if let Some(pointer_pos) = response.hover_pos() {
        let zoom = navigate::zoom_of_wheel(ui, true);
        if zoom != 1.0 {
            state.show_from(&plane.view.zoomed_about(pointer_pos, zoom));
        }
    }
    if response
        .hover_pos()
        .is_some_and(|pos| grabs_swipe(scene, response.rect, pos))
    {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeHorizontal);
    }
    let id = response.id.with("hold");
    let keys = keys_at_press(ui, response);
    if response.drag_started() {
        let hold = hold(ui, response, scene, keys);
        ui.data_mut(|d| d.insert_temp(id, hold));
    }
    let Some(hold) = ui.data(|d| d.get_temp::<Hold>(id)) else {
        return;
    };
    if response.drag_stopped() {
        ui.data_mut(|d| d.remove::<Hold>(id));
        if let (Hold::Region(from), Some(to)) = (hold, response.interact_pointer_pos()) {
            let size = [plane.image.columns(), plane.image.rows()];
            events.push(RadiographEvent::Region(Region::between(
                plane.pixel(from),
                plane.pixel(to),
                size,
            )));
        }
    }
    let delta = response.drag_delta();
    if delta != egui::Vec2::ZERO && response.dragged() {
        drag(response, state, scene, &plane, hold, delta, events);
    }
}

fn grabs_swipe(scene: &RadiographScene<'_>, rect: Rect, pos: Pos2) -> bool {
    let swipe_x = rect.left() + scene.display.swipe * rect.width();
    scene.display.mode == Mode::Swipe && (pos.x - swipe_x).abs() < GRIP
}

/// The keys held at the press of the button: in a long frame they may already be released again.
fn keys_at_press(ui: &Ui, response: &Response) -> Modifiers {
    let id = response.id.with("keys at press");
    let pressed = ui.input(|i| {
        i.events.iter().rev().find_map(|event| match event {
            Event::PointerButton {
                pressed: true,
                modifiers,
                ..
            } => Some(*modifiers),
            _ => None,
        })
    });
    if let Some(keys) = pressed {
        ui.data_mut(|d| d.insert_temp(id, keys));
    }
    ui.data(|d| d.get_temp(id)).unwrap_or_default()
}

fn hold(ui: &Ui, response: &Response, scene: &RadiographScene<'_>, keys: Modifiers) -> Hold {
    let (shift, ctrl) = (keys.shift, keys.command);
    let press_pos = pressed_at(ui).unwrap_or(response.rect.center());
    if response.dragged_by(PointerButton::Secondary) {
        Hold::Window
    } else if response.dragged_by(PointerButton::Middle) || ctrl {
        Hold::View
    } else if scene.marking {
        Hold::Region(press_pos)
    } else if grabs_swipe(scene, response.rect, press_pos) {
        Hold::Swipe
    } else if shift {
        let reach = 0.5 * response.rect.width().min(response.rect.height());
        Hold::Turn {
            in_plane: (press_pos - response.rect.center()).length() > RIM * reach,
        }
    } else {
        Hold::Patient
    }
}

fn drag(
    response: &Response,
    state: &mut RadiographState,
    scene: &RadiographScene<'_>,
    plane: &Plane<'_>,
    hold: Hold,
    delta: egui::Vec2,
    events: &mut Vec<RadiographEvent>,
) {
    let [right, up, towards] = seen_axes(plane.image);
    let (dx, dy) = (f64::from(delta.x), f64::from(delta.y));
    let lies_mm = scene.centre_mm + scene.pose.translation_mm;
    match hold {
        Hold::Patient if scene.free => {
            let mm = plane.view.mm_per_point / plane.magnification(lies_mm);
            events.push(RadiographEvent::Shift(right * (dx * mm) - up * (dy * mm)));
        }
        Hold::Turn { in_plane: false } if scene.free => {
            // The side that faces the source follows the pointer.
            let axis = up * dx + right * dy;
            events.push(RadiographEvent::Turn {
                axis,
                deg: TURN_DEG * dx.hypot(dy),
            });
        }
        Hold::Turn { in_plane: true } if scene.free => {
            let middle = plane.seen(lies_mm).unwrap_or(response.rect.center());
            if let Some(pointer_pos) = response.interact_pointer_pos() {
                let to = pointer_pos - middle;
                let from = to - delta;
                let cross = f64::from(from.x * to.y - from.y * to.x);
                let dot = f64::from(from.dot(to));
                // The screen's y points down: clockwise on the screen is negative about the axis towards the viewer.
                events.push(RadiographEvent::Turn {
                    axis: towards,
                    deg: -cross.atan2(dot).to_degrees(),
                });
            }
        }
        Hold::Patient | Hold::Turn { .. } | Hold::Region(_) => {}
        Hold::Swipe => {
            let share = scene.display.swipe + delta.x / response.rect.width();
            events.push(RadiographEvent::Swipe(share.clamp(0.0, 1.0)));
        }
        Hold::View => state.show_from(&plane.view.panned(delta)),
        Hold::Window => events.push(RadiographEvent::Window(delta.x / 400.0, -delta.y / 400.0)),
    }
}

/// X-ray, DRR and outlines, drawn by the graphics device.
fn pictures(
    ui: &Ui,
    painter: &Painter,
    response: &Response,
    plane: &Plane<'_>,
    scene: &RadiographScene<'_>,
) {
    let pixels = ui.pixels_per_point();
    let display = &scene.display;
    let key = (scene.pose, *plane.image, scene.centre_mm);
    let view = DrrView {
        projection: *plane.image,
        pose: scene.pose,
        centre_mm: scene.centre_mm,
        fineness: rest::fineness(ui, response, key, scene.gpu),
        exact: display.exact,
    };
    let [dx, dy] = steps_mm(plane.image);
    let mm_per_px = plane.view.mm_per_point / f64::from(pixels);
    let frame = RadiographFrame {
        top_left: plane.pixel(plane.view.rect.min),
        pixels_per_px: [mm_per_px / dx, mm_per_px / dy],
        size_px: [
            plane.view.rect.width() * pixels,
            plane.view.rect.height() * pixels,
        ],
        image: [plane.image.columns(), plane.image.rows()],
    };
    let outlines =
        scene
            .outlines
            .iter()
            .filter(|_| display.outlines)
            .map(|(mask, colour, width)| OutlineLook {
                mask,
                colour: display_rgb(*colour),
                width_px: width * pixels,
                fill: 0.0,
            });
    let look = RadiographLook {
        xray: Some(&scene.image.texels),
        overlay: overlay_of(ui, response, scene),
        xray_range: windowed(scene.image.range, display.xray_window),
        drr_range: windowed(scene.drr_range, display.drr_window),
        bone_dark: display.bone_dark,
        background: display_rgb(theme::IMAGE.ground),
        outlines: outlines.collect(),
    };
    let callback = scene.gpu.radiograph_callback(
        plane.view.rect,
        scene.index,
        &frame,
        scene.attenuation,
        &view,
        &look,
    );
    if let Some(callback) = callback {
        painter.add(callback);
    }
}

/// The part of a range of values that a window shows; the window is given in shares of the range.
fn windowed([low, high]: [f32; 2], [from, to]: [f32; 2]) -> [f32; 2] {
    [
        low + (high - low) * from,
        low + (high - low) * to.max(from + 0.01),
    ]
}

/// The overlay mode. Without a DRR the X-ray is shown alone.
fn overlay_of(ui: &Ui, response: &Response, scene: &RadiographScene<'_>) -> Overlay {
    let pixels = ui.pixels_per_point();
    let rect = response.rect;
    let display = &scene.display;
    if scene.attenuation.is_none() {
        return Overlay::Blend(0.0);
    }
    if scene.flicker {
        return Overlay::Blend(if display.mode == Mode::Drr { 0.0 } else { 1.0 });
    }
    match display.mode {
        Mode::Xray => Overlay::Blend(0.0),
        Mode::Drr => Overlay::Blend(1.0),
        Mode::Blend => Overlay::Blend(display.blend),
        Mode::Colours => {
            let [xray, drr] = display.pair.colours();
            Overlay::Colours { xray, drr }
        }
        Mode::Checkerboard => Overlay::Board(SQUARE * pixels),
        Mode::Swipe => Overlay::Swipe(display.swipe * rect.width() * pixels),
        Mode::Spyglass => {
            let centre = spyglass_at(response) - rect.min;
            Overlay::Spyglass {
                middle: [centre.x * pixels, centre.y * pixels],
                radius: SPYGLASS * pixels,
            }
        }
        Mode::Difference => Overlay::Difference,
        Mode::Edges => Overlay::Edges {
            colour: display_rgb(EDGES),
            width_px: 1.8 * pixels,
        },
    }
}

/// The spyglass follows the pointer; without one it stands in the centre.
fn spyglass_at(response: &Response) -> Pos2 {
    response
        .hover_pos()
        .or_else(|| response.interact_pointer_pos())
        .unwrap_or(response.rect.center())
}

/// The rim of the image, graticule, fields, region, and the lines of the mode.
fn marks(painter: &Painter, plane: &Plane<'_>, scene: &RadiographScene<'_>) {
    let display = &scene.display;
    painter.rect_stroke(
        plane.frame(),
        0.0,
        Stroke::new(1.0, FRAME),
        StrokeKind::Outside,
    );
    if display.graticule {
        let within = plane.frame().intersect(plane.view.rect);
        graticule(&painter.with_clip_rect(within), plane, scene.centre_mm);
    }
    for corners in scene.fields.iter().filter(|_| display.field) {
        let seen: Vec<Pos2> = corners.iter().filter_map(|c| plane.seen(*c)).collect();
        if seen.len() == 4 {
            for n in 0..4 {
                line(
                    painter,
                    [seen[n], seen[(n + 1) % 4]],
                    Stroke::new(1.5, FIELD),
                );
            }
        }
    }
    if let Some(opening) = scene.image.opening.filter(|_| display.field) {
        let [a, b, c, d] = corners(plane.region(opening));
        for (from, to) in [(a, b), (b, c), (c, d), (d, a)] {
            painter.extend(Shape::dashed_line(
                &[from, to],
                Stroke::new(1.2, OPENING),
                7.0,
                5.0,
            ));
        }
    }
    if let Some(region) = scene.image.region {
        painter.rect_stroke(
            plane.region(region),
            0.0,
            Stroke::new(1.5, REGION),
            StrokeKind::Middle,
        );
    }
    let r = plane.view.rect;
    match display.mode {
        Mode::Swipe if !scene.flicker => {
            let x = r.left() + display.swipe * r.width();
            let within = plane.frame().intersect(r);
            let ends = [pos2(x, within.top()), pos2(x, within.bottom())];
            line(painter, ends, Stroke::new(1.5, theme::IMAGE.text));
            for (side, anchor, what) in [(-8.0, Anchor::Right, "X-ray"), (8.0, Anchor::Left, "DRR")]
            {
                text(
                    painter,
                    pos2(x + side, within.bottom() - 14.0),
                    anchor,
                    what,
                    12.0,
                    theme::IMAGE.text,
                );
            }
        }
        Mode::Spyglass if !scene.flicker => {
            let hover = painter
                .ctx()
                .input(|i| i.pointer.hover_pos())
                .filter(|pos| r.contains(*pos));
            let centre = hover.unwrap_or(r.center());
            painter.circle_stroke(
                centre,
                SPYGLASS,
                Stroke::new(3.0, Color32::from_black_alpha(110)),
            );
            painter.circle_stroke(centre, SPYGLASS, Stroke::new(1.5, theme::IMAGE.text));
        }
        _ => {}
    }
}

/// A line with a dark rim.
fn line(painter: &Painter, ends: [Pos2; 2], stroke: Stroke) {
    painter.line_segment(
        ends,
        Stroke::new(stroke.width + 2.0, Color32::from_black_alpha(80)),
    );
    painter.line_segment(ends, stroke);
}

fn corners(r: Rect) -> [Pos2; 4] {
    [
        r.left_top(),
        r.right_top(),
        r.right_bottom(),
        r.left_bottom(),
    ]
}

/// Screen position of a tick of the graticule, a distance from the isocentre along an axis.
fn tick_place(plane: &Plane<'_>, isocentre_mm: DVec3, axis: DVec3, cm: i32) -> Option<Pos2> {
    plane.seen(isocentre_mm + axis * (10.0 * f64::from(cm)))
}

/// Axes through the isocentre along the image's rows and columns, a tick every cm at its depth, longer every 5.
fn graticule(painter: &Painter, plane: &Plane<'_>, isocentre_mm: DVec3) {
    const REACH_CM: i32 = 20;
    const COLOUR: Color32 = Color32::from_rgb(190, 200, 212);
    let [right, up, _] = seen_axes(plane.image);
    let rim = Stroke::new(3.0, Color32::from_black_alpha(70));
    let thin = Stroke::new(1.0, COLOUR.gamma_multiply(0.75));
    for (axis, across) in [(right, vec2(0.0, 1.0)), (up, vec2(1.0, 0.0))] {
        let ends = [-REACH_CM, REACH_CM].map(|cm| tick_place(plane, isocentre_mm, axis, cm));
        let [Some(from), Some(to)] = ends else { return };
        let ticks = (-REACH_CM..=REACH_CM).filter(|cm| *cm != 0);
        let ticks = ticks.filter_map(|cm| Some((cm, tick_place(plane, isocentre_mm, axis, cm)?)));
        let ticks: Vec<_> = ticks.collect();
        for stroke in [rim, thin] {
            painter.line_segment([from, to], stroke);
            for (n, place) in &ticks {
                let half = if n % 5 == 0 { 6.0 } else { 3.0 };
                painter.line_segment([*place - across * half, *place + across * half], stroke);
            }
        }
        // Labels are omitted where they would be cut off or cover a letter.
        let room = painter.clip_rect().shrink(26.0);
        let labelled = ticks
            .iter()
            .filter(|(cm, place)| cm % 10 == 0 && room.contains(*place));
        for (cm, place) in labelled {
            let label = format!("{} cm", cm.abs());
            let offset = if across.y > 0.0 {
                vec2(0.0, 15.0)
            } else {
                vec2(10.0, 0.0)
            };
            let anchor = if across.y > 0.0 {
                Anchor::Middle
            } else {
                Anchor::Left
            };
            text(painter, *place + offset, anchor, &label, 10.0, COLOUR);
        }
    }
}

/// Name, view direction, orientation letters, legend of the colours, and the geometry problem.
fn words(painter: &Painter, plane: &Plane<'_>, scene: &RadiographScene<'_>, name: &str) {
    let r = plane.view.rect;
    let [right, up, _] = seen_axes(plane.image);
    // At the rim of the visible part of the image, beside the graticule's axes.
    overlay::letters(painter, plane.frame().intersect(r), right, -up, None, 16.0);
    let title = text(
        painter,
        r.left_top() + vec2(8.0, 14.0),
        Anchor::Left,
        name,
        13.0,
        theme::IMAGE.text,
    );
    let label = &scene.image.radiograph.label;
    text(
        painter,
        pos2(title.max.x + 8.0, title.center().y),
        Anchor::Left,
        label,
        11.0,
        theme::IMAGE.weak,
    );
    let mut seen = String::from("seen from the source");
    if let Some(setup) = scene.image.radiograph.setup {
        seen = format!(
            "G {:.1}°   T {:.1}°   {seen}",
            setup.gantry_deg, setup.couch_deg
        );
    }
    text(
        painter,
        r.left_top() + vec2(8.0, 32.0),
        Anchor::Left,
        &seen,
        11.0,
        theme::IMAGE.text,
    );
    let magnification = plane.magnification(scene.centre_mm);
    overlay::scale_bar(painter, r, plane.view.mm_per_point / magnification);
    let mut legend_pos = r.right_bottom() - vec2(8.0, 12.0);
    for (what, colour) in legend(scene).into_iter().rev() {
        text(painter, legend_pos, Anchor::Right, &what, 12.0, colour);
        legend_pos.y -= 16.0;
    }
    if let Some(trouble) = &scene.trouble {
        overlay::message(painter, r, trouble);
    }
}

fn plain_legend(words: &str) -> Vec<(String, Color32)> {
    vec![(words.to_owned(), theme::IMAGE.text)]
}

/// A lighter colour for text, as pure blue is hard to read.
fn lightened(rgb: [f32; 3]) -> Color32 {
    let [r, g, b] = rgb.map(|v| (255.0 * (0.25 + 0.75 * v)) as u8);
    Color32::from_rgb(r, g, b)
}

fn legend(scene: &RadiographScene<'_>) -> Vec<(String, Color32)> {
    let display = &scene.display;
    if scene.attenuation.is_none() {
        return plain_legend("X-ray; the DRR is being made ready");
    }
    if scene.flicker {
        return plain_legend(if display.mode == Mode::Drr {
            "X-ray"
        } else {
            "DRR"
        });
    }
    match display.mode {
        Mode::Xray => plain_legend("X-ray"),
        Mode::Drr => plain_legend("DRR"),
        Mode::Blend => {
            let share = 100.0 * display.blend;
            plain_legend(&format!("X-ray {:.0} %   DRR {share:.0} %", 100.0 - share))
        }
        Mode::Colours => {
            let [xray, drr] = display.pair.colours().map(lightened);
            vec![("X-ray".to_owned(), xray), ("DRR".to_owned(), drr)]
        }
        Mode::Checkerboard => plain_legend("X-ray and DRR by turns"),
        Mode::Swipe => Vec::new(),
        Mode::Spyglass => plain_legend("DRR inside, X-ray outside"),
        Mode::Difference => vec![
            ("X-ray minus DRR".to_owned(), theme::IMAGE.text),
            ("bright: more in the X-ray".to_owned(), theme::IMAGE.weak),
        ],
        Mode::Edges => {
            vec![
                ("X-ray".to_owned(), theme::IMAGE.text),
                ("Edges of the DRR".to_owned(), EDGES),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_points_are_each_others_inverse() {
        let image = Projection::new(
            DVec3::new(0.0, -1000.0, 0.0),
            DVec3::new(-100.0, 500.0, 80.0),
            DVec3::X * 0.5,
            DVec3::NEG_Z * 0.25,
            [400, 640],
        )
        .expect("a geometry");
        let rect = Rect::from_min_size(pos2(30.0, 20.0), vec2(300.0, 200.0));
        let state = RadiographState {
            centre_mm: Some([5.0, -3.0]),
            mm_per_point: Some(0.4),
        };
        let plane = Plane::new(&state, &image, rect);
        let pos = plane.screen([17.0, 600.0]);
        let back = plane.pixel(pos);
        assert!(
            (back[0] - 17.0).abs() < 1e-3 && (back[1] - 600.0).abs() < 1e-3,
            "{back:?}"
        );
        // The isocentre plane lies at two thirds of the distance.
        assert!((plane.magnification(DVec3::ZERO) - 1.5).abs() < 1e-9);
        // The default state fits the whole image.
        let fitted = Plane::new(&RadiographState::default(), &image, rect);
        assert!(
            rect.contains_rect(fitted.frame()),
            "{:?} in {rect:?}",
            fitted.frame()
        );
    }
}
