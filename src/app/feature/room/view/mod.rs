//! The room: body, structures, isodose surfaces, beams, gantry head and couch, in three dimensions.
//!
//! Head and couch top are assumed (`analysis::HEAD_FACE_MM`): what is said of their clearance is a hint.

mod camera;
mod content;
mod drag;
mod shapes;

pub use camera::Camera;
pub use content::RoomStructure;

use crate::feature::room::state::Room;
use crate::kit::theme;
use crate::state::results::{IsodoseSurface, NearHead};
use crate::view::overlay::{Anchor, MARGIN, SMALL, text};
use crate::view::{BeamLayer, Scene, ViewEvent, ViewState, overlay};
use analysis::CouchTop;
use case::DoseStatus;
use egui::{Painter, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use geometry::PatientPosition;
use glam::DVec3;
use report::room::RoomLook;

/// Name for screen readers; the switch to it has the shorter one.
pub const ROOM_VIEW: &str = "Room view";
/// Height of the first view: the patient with the head of the gantry, mm.
const SHOWN_MM: f64 = 1250.0;
/// Height of the strip with the buttons of the presets, points.
const PRESETS: f32 = 28.0;
/// Height of the view from the source, mm.
const FIELD_MM: f64 = 320.0;
/// Most warnings that are listed in the view.
const MOST_NEAR: usize = 3;

/// Directions from which the room is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Room,
    Anterior,
    Left,
    Superior,
    CouchEnd,
    BeamsEye,
}

impl Preset {
    pub const ALL: [Self; 6] = [
        Self::Room,
        Self::Anterior,
        Self::Left,
        Self::Superior,
        Self::CouchEnd,
        Self::BeamsEye,
    ];

    /// Its button, and what that says.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Room => ("3D", "From the foot end of the couch, aside and above"),
            Self::Anterior => ("Ant", "From the patient's front, head up"),
            Self::Left => ("Left", "From the patient's left, head up"),
            Self::Superior => ("Sup", "From the patient's head, front up"),
            Self::CouchEnd => (
                "Couch",
                "From the foot end of the couch, towards the gantry",
            ),
            Self::BeamsEye => (
                "Source",
                "From the source of the selected beam, as the beam sees it",
            ),
        }
    }
}

/// Content of the room view, with the scene that all views show.
pub struct RoomScene<'a> {
    pub scene: &'a Scene,
    pub settings: &'a Room,
    pub position: PatientPosition,
    pub structures: Vec<RoomStructure>,
    pub isodoses: Vec<IsodoseSurface>,
    pub isodose_status: Option<DoseStatus>,
    /// Box of the body, patient LPS, mm.
    pub body_mm: Option<[DVec3; 2]>,
    /// The assumed couch top, where no structure shows the couch.
    pub couch_top: Option<CouchTop>,
    /// Beams whose head comes near the patient or the couch, with their names.
    pub near: Vec<(usize, String, NearHead)>,
}

impl RoomScene<'_> {
    fn is_near(&self, beam: &BeamLayer) -> bool {
        self.near.iter().any(|(index, ..)| *index == beam.index)
    }

    /// Content of a picture with this width and height in pixels, from a camera.
    pub fn look(&self, camera: &Camera, size_px: [u32; 2]) -> RoomLook {
        content::look(self, camera, size_px)
    }

    /// The camera of a preset, on the isocentre, else on the middle of the body.
    pub fn camera(&self, preset: Preset) -> Camera {
        let beam = self.scene.bev_beam();
        let extent_mm = self.body_mm.or(self.scene.box_mm());
        let target = beam
            .map(|b| b.isocentre_mm)
            .or(extent_mm.map(|[low, high]| 0.5 * (low + high)))
            .unwrap_or_default();
        let height = if preset == Preset::BeamsEye {
            FIELD_MM
        } else {
            SHOWN_MM
        };
        Camera::preset(preset, self.position, beam, target, height)
    }
}

/// Draws the room into the available space and appends the user's input.
pub fn show(
    ui: &mut Ui,
    state: &mut ViewState,
    room: &RoomScene<'_>,
    events: &mut Vec<ViewEvent>,
) -> Response {
    use egui::emath::GuiRounding as _;
    let rect = ui
        .available_rect_before_wrap()
        .round_to_pixels(ui.pixels_per_point());
    let response = ui.allocate_rect(rect, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, ROOM_VIEW));
    if rect.width() < 8.0 || rect.height() < 8.0 {
        return response;
    }
    let previous = state.camera.unwrap_or_else(|| room.camera(Preset::Room));
    let camera = drag::respond(ui, &response, room, previous, events);
    if camera != previous {
        state.camera = Some(camera);
    }
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, theme::IMAGE.ground);
    let fineness = ui.pixels_per_point();
    let size_px = [rect.width(), rect.height()].map(|v| (v * fineness).round().max(1.0) as u32);
    let look = room.look(&camera, size_px);
    match room.scene.gpu.room_callback(rect, look) {
        Some(callback) => {
            painter.add(callback);
        }
        None => {
            let why = "The room needs a graphics device";
            text(
                &painter,
                rect.center(),
                Anchor::Middle,
                why,
                13.0,
                theme::IMAGE.weak,
            );
        }
    }
    names(&painter, rect, room, &camera);
    // Above the buttons of the presets.
    let free = rect.with_max_y(rect.max.y - PRESETS);
    overlay::letters(&painter, free, camera.axes[0], -camera.axes[1], None, 0.0);
    title(&painter, rect, room);
    warnings(ui, &response, room);
    presets(ui, &response, state, room);
    if crate::view::maximise_button(ui, &response, state, "Room") {
        events.push(ViewEvent::ToggleMaximise);
    }
    response
}

/// The beams' names beside their axes.
fn names(painter: &Painter, rect: Rect, room: &RoomScene<'_>, camera: &Camera) {
    if !room.scene.show_beams {
        return;
    }
    let main = room.scene.bev_beam().map(|b| b.index);
    let mut taken: Vec<Rect> = Vec::new();
    let mut beams: Vec<&BeamLayer> = room.scene.beams.iter().collect();
    beams.sort_by_key(|b| Some(b.index) != main);
    for beam in beams {
        let label_mm = beam.isocentre_mm + beam.frame().axes[2] * 360.0;
        let Some(label) = camera
            .screen(label_mm, rect)
            .filter(|label| rect.shrink(30.0).contains(*label))
        else {
            continue;
        };
        let covers =
            Rect::from_center_size(label, vec2(6.5 * beam.name.chars().count() as f32, 14.0));
        if !taken.iter().any(|t| t.intersects(covers)) {
            let colour = if Some(beam.index) == main {
                theme::IMAGE.text
            } else {
                theme::IMAGE.weak
            };
            text(painter, label, Anchor::Middle, &beam.name, SMALL, colour);
            taken.push(covers);
        }
    }
}

fn title(painter: &Painter, rect: Rect, room: &RoomScene<'_>) {
    let corner = rect.left_top() + vec2(MARGIN, 14.0);
    let name = text(
        painter,
        corner,
        Anchor::Left,
        "Room",
        13.0,
        theme::IMAGE.text,
    );
    if let Some(beam) = room.scene.bev_beam() {
        let about = format!(
            "{}   G {:.1}°   T {:.1}°",
            beam.name, beam.gantry_deg, beam.couch_deg
        );
        let about = text(
            painter,
            pos2(name.max.x + 8.0, corner.y),
            Anchor::Left,
            &about,
            SMALL,
            theme::IMAGE.weak,
        );
        if let Some((words, status)) = beam.map_words().zip(beam.map_status) {
            let below = pos2(name.min.x, about.max.y + 8.0);
            text(
                painter,
                below,
                Anchor::Left,
                &words,
                SMALL,
                theme::IMAGE.status(status),
            );
        }
    }
    let Some(status) = room.isodose_status.filter(|_| !room.isodoses.is_empty()) else {
        return;
    };
    let mut left = rect.left_top() + vec2(MARGIN, 32.0);
    for isodose in &room.isodoses {
        let words = format!("{} %", isodose.percent);
        let colour = overlay::on_image(isodose.colour);
        left.x = text(painter, left, Anchor::Left, &words, SMALL, colour)
            .max
            .x
            + 8.0;
    }
    let words = format!("Dose: {}", status.word());
    text(
        painter,
        left,
        Anchor::Left,
        &words,
        SMALL,
        theme::IMAGE.status(status),
    );
}

/// The beams whose head comes near something.
fn warnings(ui: &mut Ui, response: &Response, room: &RoomScene<'_>) {
    let rect = response.rect;
    let more = room.near.len().saturating_sub(MOST_NEAR);
    let mut lines: Vec<String> = room
        .near
        .iter()
        .take(MOST_NEAR)
        .map(|(_, name, near)| words_of(name, near))
        .collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    for (n, line) in lines.iter().enumerate() {
        let line_start = rect.left_top() + vec2(MARGIN, 50.0 + 16.0 * n as f32);
        let covered = text(
            &ui.painter_at(rect),
            line_start,
            Anchor::Left,
            line,
            12.0,
            theme::IMAGE.warning,
        );
        let hint = ui.interact(covered, response.id.with(("near", n)), Sense::hover());
        hint.widget_info(|| WidgetInfo::labeled(Role::Label, true, line));
        hint.on_hover_text(
            "A hint from an assumed head: a cylinder of 35 cm radius whose face is 40 cm from the isocentre, and, \
             without a structure of the couch, an assumed couch top of 53 cm under the body. What the CT does not show \
             is not counted. It does not replace a dry run.",
        );
    }
}

/// A clearance in words: `AP: head 2 cm from the couch at G 180° (assumed head)`.
fn words_of(beam: &str, near: &NearHead) -> String {
    let what = if near.is_couch { "couch" } else { "patient" };
    let gantry = near.gantry_deg;
    let how = match near.mm {
        mm if mm < 0.5 => format!("hits the {what}"),
        mm => format!("{:.1} cm from the {what}", 0.1 * mm),
    };
    format!("{beam}: head {how} at G {gantry:.0}° (assumed geometry)")
}

/// The buttons of the presets along the lower rim.
fn presets(ui: &mut Ui, response: &Response, state: &mut ViewState, room: &RoomScene<'_>) {
    let rect = response.rect;
    let place = Rect::from_min_max(
        pos2(rect.min.x + 6.0, rect.max.y - PRESETS),
        rect.max - vec2(6.0, 4.0),
    );
    ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 3.0;
            for preset in Preset::ALL {
                let (word, about) = preset.words();
                let able = preset != Preset::BeamsEye || room.scene.bev_beam().is_some();
                let button = ui.add_enabled(able, egui::Button::new(word).small());
                button.widget_info(|| WidgetInfo::labeled(Role::Button, able, about));
                if button
                    .on_hover_text(about)
                    .on_disabled_hover_text("The plan has no beam")
                    .clicked()
                {
                    state.camera = Some(room.camera(preset));
                    ui.request_repaint();
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clearance_is_told_in_the_planners_words() {
        let near_couch = NearHead {
            beam: 1,
            mm: 20.0,
            gantry_deg: 180.4,
            is_couch: true,
        };
        assert_eq!(
            words_of("PA", &near_couch),
            "PA: head 2.0 cm from the couch at G 180° (assumed geometry)"
        );
        let in_patient = NearHead {
            mm: 0.0,
            is_couch: false,
            ..near_couch
        };
        assert_eq!(
            words_of("AP", &in_patient),
            "AP: head hits the patient at G 180° (assumed geometry)"
        );
    }
}
