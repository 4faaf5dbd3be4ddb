//! The beam's-eye view: the patient as seen from the source, at the scale of the isocentre plane. The view turns with
//! the collimator, so jaws and leaves are upright.

use super::aperture as handles;
use super::field::leaf_openings;
use super::overlay::{self, Anchor, text};
use super::shape::{self, Lens};
use crate::feature::optimise;
use crate::kit::theme;
use crate::render::{BevFrame, BevLook, OutlineLook};
use crate::view::plane_view::PlaneView;
use crate::view::{BeamLayer, Scene, ViewEvent, ViewState, drag, navigate, rest};
use case::{Jaws, Mlc, MlcAxis, StructureKind};
use egui::{Color32, Painter, PointerButton, Pos2, Rect, Response, Stroke, Ui, pos2, vec2};
use geometry::BeamFrame;
use glam::DVec3;

/// Letters of a beam's name that are worth a place beside the view's.
const LEAST_NAME: f32 = 4.0;
const JAWS: Color32 = Color32::from_rgb(240, 244, 248);
const LEAVES: Color32 = Color32::from_rgb(255, 205, 110);
const GRATICULE: Color32 = Color32::from_rgb(190, 200, 212);
/// Half side of the initial view, mm, unless the field needs more.
const SHOWN_MM: f64 = 130.0;
/// Water-equivalent mm at black and at white.
const RANGE_MM: [f32; 2] = [40.0, 360.0];

/// The isocentre plane on the screen: device x to the right, y up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BevPlane {
    pub rect: Rect,
    pub centre_mm: [f64; 2],
    pub mm_per_point: f64,
}

impl BevPlane {
    fn new(state: &ViewState, beam: &BeamLayer, rect: Rect) -> Self {
        let centre = state.centre_mm.unwrap_or(DVec3::ZERO);
        let Jaws { x, y } = beam.jaws;
        let reach = [x[0], x[1], y[0], y[1]]
            .into_iter()
            .map(f64::abs)
            .fold(0.0, f64::max);
        let shown = (1.35 * reach).max(SHOWN_MM);
        let fitted = 2.0 * shown / f64::from(rect.width().min(rect.height()));
        let mm_per_point = state.mm_per_point.unwrap_or(fitted);
        Self {
            rect,
            centre_mm: [centre.x, centre.y],
            mm_per_point,
        }
    }

    fn on_screen(&self) -> PlaneView {
        let [x, y] = self.centre_mm;
        PlaneView {
            rect: self.rect,
            centre_mm: [x, -y],
            mm_per_point: self.mm_per_point,
        }
    }

    pub fn screen(&self, x_mm: f64, y_mm: f64) -> Pos2 {
        self.on_screen().screen([x_mm, -y_mm])
    }

    pub fn device_mm(&self, point: Pos2) -> [f64; 2] {
        let [x_mm, down_mm] = self.on_screen().mm(point);
        [x_mm, -down_mm]
    }

    pub fn rect_of(&self, part: &Jaws) -> Rect {
        Rect::from_two_pos(
            self.screen(part.x[0], part.y[0]),
            self.screen(part.x[1], part.y[1]),
        )
    }
}

pub(crate) fn show(
    ui: &Ui,
    response: &Response,
    state: &mut ViewState,
    scene: &Scene,
    events: &mut Vec<ViewEvent>,
) {
    let painter = ui.painter_at(response.rect);
    painter.rect_filled(response.rect, 0.0, theme::IMAGE.ground);
    let Some(beam) = scene.bev_beam() else {
        overlay::name(&painter, response.rect, state.kind, "");
        text(
            &painter,
            response.rect.center(),
            Anchor::Middle,
            "No beam",
            13.0,
            theme::IMAGE.weak,
        );
        return;
    };
    let frame = beam.frame();
    respond(ui, response, state, scene, beam, &frame, events);
    let plane = BevPlane::new(state, beam, response.rect);
    background(ui, &painter, response, &plane, scene, &frame);
    if let Some(map) = &beam.fluence {
        super::fluence::draw(&painter, &plane, map);
        optimise::view::draw(&painter, &plane, map, &beam.limits);
    }
    aperture(&painter, &plane, beam);
    let limit_brush = scene
        .limit_brush
        .as_ref()
        .filter(|_| beam.fluence.is_some());
    let brushes = drag::brushes(ui, scene) || limit_brush.is_some();
    handles::draw(ui, &painter, response, &plane, beam, brushes);
    graticule(&painter, &plane);
    points(&painter, &plane, scene, &frame);
    if let Some((number, roi)) = &scene.shape {
        let structure = scene
            .structures
            .structures
            .iter()
            .find(|s| s.number == *number);
        let colour = structure.map_or(theme::IMAGE.accent, |s| overlay::on_image(s.colour));
        shape::draw(&painter, Lens::Beam(frame, plane), roi, colour);
    }
    if let Some(brush) = limit_brush {
        optimise::view::draw_brush(&painter, response, &plane, beam, brush);
    }
    overlay::letters(
        &painter,
        plane.rect,
        frame.axes[0],
        -frame.axes[1],
        None,
        22.0,
    );
    // The switch between this view and the room begins at two fifths of the width.
    let room_for_name = (0.4 * plane.rect.width() - 84.0) / 6.5;
    let name = overlay::elided(&beam.name, room_for_name as usize);
    let has_room = room_for_name >= LEAST_NAME;
    // In a small view the switch takes the place of the name.
    if !overlay::is_small(plane.rect) {
        overlay::name(
            &painter,
            plane.rect,
            state.kind,
            if has_room { &name } else { "" },
        );
    }
    let [g, c, t] = [beam.gantry_deg, beam.collimator_deg, beam.couch_deg];
    let angles = format!("G {g:.1}°   C {c:.1}°   T {t:.1}°");
    let angles = if has_room {
        angles
    } else {
        format!("{}   {angles}", overlay::elided(&beam.name, 12))
    };
    text(
        &painter,
        plane.rect.left_top() + vec2(8.0, 32.0),
        Anchor::Left,
        &angles,
        11.0,
        theme::IMAGE.text,
    );
    if let Some((words, status)) = beam.map_words().zip(beam.map_status) {
        let start = plane.rect.left_top() + vec2(8.0, 48.0);
        text(
            &painter,
            start,
            Anchor::Left,
            &words,
            11.0,
            theme::IMAGE.status(status),
        );
    }
    overlay::scale_bar(&painter, plane.rect, plane.mm_per_point);
}

/// The wheel zooms, a drag moves the grabbed handle, else pans; the pointer's position is reported at the depth of the
/// isocentre.
fn respond(
    ui: &Ui,
    response: &Response,
    state: &mut ViewState,
    scene: &Scene,
    beam: &BeamLayer,
    frame: &BeamFrame,
    events: &mut Vec<ViewEvent>,
) {
    let plane = BevPlane::new(state, beam, response.rect);
    if let Some(at) = response.hover_pos() {
        let [x, y] = plane.device_mm(at);
        events.push(ViewEvent::Hover(
            frame.patient_from_device(DVec3::new(x, y, 0.0)),
        ));
        let zoom = navigate::zoom_of_wheel(ui, true);
        if zoom != 1.0 {
            show_from(state, &plane.on_screen().zoomed_about(at, zoom));
        }
    }
    if let Some(brush) = &scene.limit_brush
        && optimise::view::respond(ui, response, &plane, beam, brush, events)
    {
        return;
    }
    if drag::respond(
        ui,
        response,
        state.kind,
        scene,
        Lens::Beam(*frame, plane),
        events,
    ) {
        return;
    }
    let delta = response.drag_delta();
    let pans =
        response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle);
    if pans && delta != egui::Vec2::ZERO {
        show_from(state, &plane.on_screen().panned(delta));
    }
}

/// Has the view show the isocentre plane from another position and scale.
fn show_from(state: &mut ViewState, view: &PlaneView) {
    let [x_mm, down_mm] = view.centre_mm;
    (state.centre_mm, state.mm_per_point) = (
        Some(DVec3::new(x_mm, -down_mm, 0.0)),
        Some(view.mm_per_point),
    );
}

/// Radiograph and silhouettes: coarse while the beam moves, fine at rest.
fn background(
    ui: &Ui,
    painter: &Painter,
    response: &Response,
    plane: &BevPlane,
    scene: &Scene,
    frame: &BeamFrame,
) {
    let fineness = rest::fineness(ui, response, *frame, &scene.gpu);
    let pixels = ui.pixels_per_point();
    let shown = scene
        .structures
        .structures
        .iter()
        .zip(&scene.looks)
        .filter(|(s, look)| {
            // The body's silhouette is the rim of the radiograph.
            look.visible && (s.kind != StructureKind::External || look.selected)
        });
    let outlines = shown.filter_map(|(_, look)| {
        Some(OutlineLook {
            mask: look.mask.as_ref()?,
            colour: overlay::display_rgb(overlay::on_image(look.colour)),
            width_px: if look.selected { 2.6 } else { 1.6 } * pixels,
            fill: 0.0,
        })
    });
    let look = BevLook {
        ct: scene.ct.as_ref(),
        range_mm: RANGE_MM,
        background: overlay::display_rgb(theme::IMAGE.ground),
        outlines: outlines.collect(),
    };
    let bev_frame = BevFrame {
        top_left_mm: plane.device_mm(plane.rect.min),
        mm_per_pixel: plane.mm_per_point / f64::from(pixels),
        size_px: [plane.rect.width() * pixels, plane.rect.height() * pixels],
    };
    if let Some(callback) = scene
        .gpu
        .bev_callback(plane.rect, &bev_frame, frame, fineness, &look)
    {
        painter.add(callback);
    }
}

/// Axes of the beam limiting device through the isocentre, a tick every 10 mm, longer and with cm every 50.
fn graticule(painter: &Painter, plane: &BevPlane) {
    let r = plane.rect;
    let o = plane.screen(0.0, 0.0);
    // A dark rim under each line makes it readable on bone and on air.
    let rim = Stroke::new(3.0, Color32::from_black_alpha(70));
    let line = Stroke::new(1.0, GRATICULE.gamma_multiply(0.8));
    for stroke in [rim, line] {
        painter.hline(r.x_range(), o.y, stroke);
        painter.vline(o.x, r.y_range(), stroke);
    }
    let each = if plane.mm_per_point > 2.5 { 5 } else { 1 };
    for n in -20_i32..=20 {
        if n == 0 || n % each != 0 {
            continue;
        }
        let mm = f64::from(n) * 10.0;
        let long = n % 5 == 0;
        let half = if long { 6.0 } else { 3.0 };
        let (x, y) = (plane.screen(mm, 0.0).x, plane.screen(0.0, mm).y);
        for stroke in [rim, Stroke::new(1.0, GRATICULE)] {
            painter.vline(x, (o.y - half)..=(o.y + half), stroke);
            painter.hline((o.x - half)..=(o.x + half), y, stroke);
        }
        if long {
            let label = if each == 5 && n % 10 != 0 {
                String::new()
            } else {
                format!("{} cm", n.abs())
            };
            text(
                painter,
                pos2(x, o.y + 15.0),
                Anchor::Middle,
                &label,
                10.0,
                GRATICULE,
            );
            text(
                painter,
                pos2(o.x + 10.0, y),
                Anchor::Left,
                &label,
                10.0,
                GRATICULE,
            );
        }
    }
}

/// Jaws and leaves: the blocked part is darkened, the open part outlined.
fn aperture(painter: &Painter, plane: &BevPlane, beam: &BeamLayer) {
    let view = plane.rect;
    let jaws = plane.rect_of(&beam.jaws);
    let shade = Color32::from_black_alpha(64);
    let covered = [
        Rect::from_min_max(view.min, pos2(view.max.x, jaws.min.y)),
        Rect::from_min_max(pos2(view.min.x, jaws.max.y), view.max),
        Rect::from_min_max(pos2(view.min.x, jaws.min.y), pos2(jaws.min.x, jaws.max.y)),
        Rect::from_min_max(pos2(jaws.max.x, jaws.min.y), pos2(view.max.x, jaws.max.y)),
    ];
    for part in covered {
        let part = part.intersect(view);
        if part.is_positive() {
            painter.rect_filled(part, 0.0, shade);
        }
    }
    if let Some(mlc) = &beam.mlc {
        leaves(painter, plane, beam, mlc);
    }
    painter.rect_stroke(jaws, 0.0, Stroke::new(1.5, JAWS), egui::StrokeKind::Middle);
}

fn leaves(painter: &Painter, plane: &BevPlane, beam: &BeamLayer, mlc: &Mlc) {
    let shade = Color32::from_black_alpha(80);
    let side = Stroke::new(0.8, LEAVES.gamma_multiply(0.35));
    let tip = Stroke::new(1.6, LEAVES);
    let [travel, across] = travel_and_across(&beam.jaws, mlc.axis);
    for (sides, tips) in mlc.boundaries_mm.windows(2).zip(&beam.leaves_mm) {
        let a = [sides[0].max(across[0]), sides[1].min(across[1])];
        if a[1] <= a[0] {
            continue;
        }
        for t in [
            [travel[0], tips[0].min(travel[1])],
            [tips[1].max(travel[0]), travel[1]],
        ] {
            if t[1] > t[0] {
                let leaf = plane.rect_of(&match mlc.axis {
                    MlcAxis::X => Jaws { x: t, y: a },
                    MlcAxis::Y => Jaws { x: a, y: t },
                });
                painter.rect(leaf, 0.0, shade, side, egui::StrokeKind::Middle);
            }
        }
    }
    for edge in opening_edges(&leaf_openings(&beam.jaws, mlc, &beam.leaves_mm), mlc.axis) {
        let ends = edge.map(|[x, y]| plane.screen(x, y));
        painter.line_segment(ends, tip);
    }
}

/// The outline of the open part of stacked leaf pairs: the tips, and the steps from pair to pair. End points in (x, y),
/// mm.
pub(crate) fn opening_edges(open: &[Jaws], axis: MlcAxis) -> Vec<[[f64; 2]; 2]> {
    let pairs: Vec<[[f64; 2]; 2]> = open
        .iter()
        .map(|part| travel_and_across(part, axis))
        .collect();
    let mut edges = Vec::new();
    for (n, [tips, sides]) in pairs.iter().enumerate() {
        let previous = n.checked_sub(1).map(|previous| pairs[previous]);
        if !previous.is_some_and(|[_, others]| touches(others[1], sides[0])) {
            edges.extend(step(sides[0], None, Some(*tips)));
        }
        let next = pairs.get(n + 1);
        let next = next.filter(|[_, others]| touches(others[0], sides[1]));
        edges.extend(step(sides[1], Some(*tips), next.map(|[tips, _]| *tips)));
    }
    for [tips, sides] in pairs {
        edges.extend(tips.map(|tip| sides.map(|side| [tip, side])));
    }
    match axis {
        MlcAxis::X => edges,
        MlcAxis::Y => {
            let swapped = edges.into_iter().map(|edge| edge.map(|[t, a]| [a, t]));
            swapped.collect()
        }
    }
}

/// The extents of an opening along the leaves' travel and across it, mm.
fn travel_and_across(opening: &Jaws, axis: MlcAxis) -> [[f64; 2]; 2] {
    match axis {
        MlcAxis::X => [opening.x, opening.y],
        MlcAxis::Y => [opening.y, opening.x],
    }
}

fn touches(a_mm: f64, b_mm: f64) -> bool {
    (a_mm - b_mm).abs() < 1e-6
}

/// The edges between two neighbouring openings, each from tip to tip, at the position of their common side; end points along
/// the travel and across it, mm.
fn step(across: f64, a: Option<[f64; 2]>, b: Option<[f64; 2]>) -> Vec<[[f64; 2]; 2]> {
    match (a, b) {
        (Some(a), Some(b)) if a[0] < b[1] && b[0] < a[1] => [0, 1]
            .map(|bank| [[a[bank], across], [b[bank], across]])
            .to_vec(),
        // Openings that do not overlap are closed on both sides.
        (a, b) => {
            let closed = [a, b].into_iter().flatten();
            closed.map(|tips| tips.map(|tip| [tip, across])).collect()
        }
    }
}

/// Screen position of a position, patient LPS, mm; `None` behind the source.
fn screen_of(plane: &BevPlane, frame: &BeamFrame, patient_mm: DVec3) -> Option<Pos2> {
    let ([x, y], _) = frame.project(patient_mm)?;
    Some(plane.screen(x, y))
}

/// The crosshair's position and points of interest.
fn points(painter: &Painter, plane: &BevPlane, scene: &Scene, frame: &BeamFrame) {
    if let Some(at) = screen_of(plane, frame, scene.crosshair_mm) {
        for arm in [vec2(5.0, 0.0), vec2(0.0, 5.0)] {
            painter.line_segment([at - arm, at + arm], Stroke::new(1.2, overlay::CROSSHAIR));
        }
    }
    let shown = scene
        .structures
        .structures
        .iter()
        .zip(&scene.looks)
        .filter(|(_, look)| look.visible);
    for (structure, look) in shown {
        for position in structure
            .points_mm
            .iter()
            .filter_map(|p| screen_of(plane, frame, *p))
        {
            painter.circle_stroke(
                position,
                3.0,
                Stroke::new(1.5, overlay::on_image(look.colour)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the outline is the sum of its segments, counted by hand.
    #[test]
    fn the_outline_of_the_leaves_follows_every_step() {
        let open = [
            Jaws {
                x: [-10.0, 10.0],
                y: [0.0, 5.0],
            },
            Jaws {
                x: [-20.0, 10.0],
                y: [5.0, 10.0],
            },
            Jaws {
                x: [30.0, 40.0],
                y: [10.0, 15.0],
            },
        ];
        let length: f64 = opening_edges(&open, MlcAxis::X)
            .iter()
            .map(|[a, b]| (a[0] - b[0]).hypot(a[1] - b[1]))
            .sum();
        // Tips 6 x 5; bottom 20; step 10 + 0; 30 and 10 where the openings do not meet; top 10.
        assert!(
            (length - (30.0 + 20.0 + 10.0 + 30.0 + 10.0 + 10.0)).abs() < 1e-9,
            "{length}"
        );
        let turned: Vec<Jaws> = open.iter().map(|j| Jaws { x: j.y, y: j.x }).collect();
        let same: f64 = opening_edges(&turned, MlcAxis::Y)
            .iter()
            .map(|[a, b]| (a[0] - b[0]).hypot(a[1] - b[1]))
            .sum();
        assert!((length - same).abs() < 1e-9);
    }

    #[test]
    fn the_screen_shows_y_upwards() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(200.0, 100.0));
        let plane = BevPlane {
            rect,
            centre_mm: [0.0, 0.0],
            mm_per_point: 2.0,
        };
        assert_eq!(plane.screen(20.0, 30.0), pos2(110.0, 35.0));
        assert_eq!(plane.device_mm(pos2(110.0, 35.0)), [20.0, 30.0]);
    }
}
