//! The four views: axial, sagittal, coronal, and beam's-eye. They draw a [`Scene`] and turn input into [`ViewEvent`]s;
//! the workspaces turn events into commands.

mod beam;
mod bev;
mod compare;
mod drag;
mod draw;
mod field;
mod navigate;
mod overlay;
mod plane;
mod radiograph;
mod rest;
mod scene;
mod shape;
mod slice;
mod structure;

pub use compare::{CompareScene, Pane, show_pane};
pub use draw::{DrawingLayer, stepped};
pub use overlay::on_image;
pub use plane::{ViewPlane, page_mm};
pub use radiograph::{RadiographEvent, RadiographScene, RadiographState, show as show_radiograph, size_mm};
pub use scene::{BeamLayer, DoseLayer, Scene, StructureLook, framed_mm};

use crate::app::command::DrawAction;
use crate::app::state::ViewKind;
use crate::app::state::roi::Shape;
use crate::app::theme;
use egui::{Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use glam::DVec3;

/// State of a view between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewState {
    pub kind: ViewKind,
    /// Patient position at the centre of the view, mm; only its part in the plane counts, the depth is the crosshair's.
    /// `None`: the centre of the images.
    pub centre_mm: Option<DVec3>,
    /// Zoom. `None`: fits all of the images.
    pub mm_per_point: Option<f64>,
    pub maximised: bool,
}

impl ViewState {
    pub fn new(kind: ViewKind) -> Self {
        Self { kind, centre_mm: None, mm_per_point: None, maximised: false }
    }

    /// Fits all of the images, centred.
    pub fn fit(&mut self) {
        self.centre_mm = None;
        self.mm_per_point = None;
    }
}

/// User input in a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewEvent {
    /// The crosshair moves to this position (paging moves it along the normal), patient LPS, mm.
    CrosshairMoved(DVec3),
    /// Width and level, HU.
    WindowLevel(f32, f32),
    /// Position under the pointer, patient LPS, mm.
    Hover(DVec3),
    /// The beam (index in the plan) was dragged round its isocentre to this gantry angle, 0 to 360 degrees.
    GantryDragged { beam: usize, gantry_deg: f64 },
    /// A handle of the scene's shape was dragged: the new shape of the structure (by ROI number).
    ShapeDragged { structure: u32, shape: Shape },
    /// The tool draws.
    Draw(DrawAction),
    /// The view toggles between the whole middle and its quarter.
    ToggleMaximise,
}

/// Draws a view into the available space and appends the user's input.
pub fn show(ui: &mut Ui, state: &mut ViewState, scene: &Scene, events: &mut Vec<ViewEvent>) -> Response {
    use egui::emath::GuiRounding as _;
    let rect = ui.available_rect_before_wrap().round_to_pixels(ui.pixels_per_point());
    let response = ui.allocate_rect(rect, Sense::click_and_drag());
    let name = state.kind.name();
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
    scene.gpu.begin_frame(ui.ctx().cumulative_pass_nr());
    if rect.width() < 8.0 || rect.height() < 8.0 {
        return response;
    }
    match state.kind {
        ViewKind::Bev => bev::show(ui, &response, state, scene, events),
        ViewKind::Axial | ViewKind::Sagittal | ViewKind::Coronal => {
            slice::show(ui, &response, state, scene, events);
        }
    }
    if maximise_button(ui, &response, state) {
        events.push(ViewEvent::ToggleMaximise);
    }
    response
}

/// The button in the corner that maximises or restores a view.
fn maximise_button(ui: &Ui, response: &Response, state: &ViewState) -> bool {
    let r = response.rect;
    let place = Rect::from_min_size(pos2(r.max.x - 26.0, r.min.y + 4.0), vec2(22.0, 22.0));
    let button = ui.interact(place, response.id.with("maximise"), Sense::click());
    let word = if state.maximised { "Restore" } else { "Maximise" };
    let label = format!("{word} {}", state.kind.name());
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let colour = if button.hovered() || button.has_focus() { theme::TEXT } else { theme::WEAK };
    let stroke = Stroke::new(1.3, colour);
    let painter = ui.painter_at(r);
    let icon = place.shrink(6.0);
    if state.maximised {
        painter.rect_stroke(icon.translate(vec2(2.0, -2.0)), 1.0, stroke, StrokeKind::Middle);
        painter.rect(icon.translate(vec2(-1.5, 1.5)), 1.0, theme::GROUND, stroke, StrokeKind::Middle);
    } else {
        painter.rect_stroke(icon, 1.0, stroke, StrokeKind::Middle);
        painter.hline(icon.x_range(), icon.min.y + 2.0, stroke);
    }
    button.on_hover_text(label).clicked()
}
