//! The four views: axial, sagittal, coronal, and beam's-eye. They draw a [`Scene`] and turn input into [`ViewEvent`]s;
//! the workspaces turn events into commands.

pub mod aperture;
pub mod beam;
pub mod bev;
pub mod drag;
pub mod field;
pub mod fluence;
pub mod navigate;
pub mod overlay;
pub mod plane;
pub mod plane_view;
pub mod rest;
pub mod scene;
pub mod shape;
pub mod slice;
pub mod structure;

pub use overlay::on_image;
pub use plane::{ViewPlane, page_mm};
pub use scene::{BeamLayer, DoseLayer, Scene, StructureLook, framed_mm};

use crate::feature::draw::command::DrawAction;
use crate::feature::measure::state::Measured;
use crate::feature::room::view::Camera;
use crate::kit::theme;
use crate::state::ViewKind;
use crate::state::roi::Shape;
use analysis::AperturePart;
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
    /// The camera of the room, which the beam's-eye view gives its place to. `None`: the first view of it.
    pub camera: Option<Camera>,
}

impl ViewState {
    pub fn new(kind: ViewKind) -> Self {
        Self {
            kind,
            centre_mm: None,
            mm_per_point: None,
            maximised: false,
            camera: None,
        }
    }

    /// Fits all of the images, centred.
    pub fn fit(&mut self) {
        self.centre_mm = None;
        self.mm_per_point = None;
        self.camera = None;
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
    /// A jaw or leaf of the beam (index in the plan) was dragged to this position, mm.
    PartDragged {
        beam: usize,
        part: AperturePart,
        to_mm: f64,
    },
    /// The tips of a bank were brushed along a path in the isocentre plane, (x, y) in mm.
    LeavesBrushed {
        beam: usize,
        bank: usize,
        from_mm: [f64; 2],
        to_mm: [f64; 2],
    },
    /// The fluence of the beam (index in the plan) was bounded along a path in the isocentre plane, (x, y) in mm.
    FluenceLimited {
        beam: usize,
        from_mm: [f64; 2],
        to_mm: [f64; 2],
    },
    /// A measured object, by its number, was drawn or moved.
    Measured(u32, Measured),
    /// The drag of a measured object ended.
    MeasureReleased,
    /// The view toggles between the whole middle and its quarter.
    ToggleMaximise,
}

/// Draws a view into the available space and appends the user's input.
pub fn show(
    ui: &mut Ui,
    state: &mut ViewState,
    scene: &Scene,
    events: &mut Vec<ViewEvent>,
) -> Response {
    use egui::emath::GuiRounding as _;
    let available = ui
        .available_rect_before_wrap()
        .round_to_pixels(ui.pixels_per_point());
    let strip = available
        .with_min_x(available.max.x - overlay::legend_width(state.kind, scene, available).round());
    let rect = available.with_max_x(strip.min.x);
    let response = ui.allocate_rect(rect, Sense::click_and_drag());
    // The strip is part of the view, dark in both themes.
    ui.painter().rect_filled(strip, 0.0, theme::IMAGE.ground);
    if let Some(layer) = scene.dose.as_ref().filter(|_| strip.is_positive()) {
        overlay::legend(&ui.painter_at(strip), strip.shrink2(vec2(0.0, 4.0)), layer);
    }
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
    if maximise_button(ui, &response, state, name) {
        events.push(ViewEvent::ToggleMaximise);
    }
    response
}

/// The button in the corner that maximises or restores a view.
pub fn maximise_button(ui: &Ui, response: &Response, state: &ViewState, name: &str) -> bool {
    let r = response.rect;
    let place = Rect::from_min_size(pos2(r.max.x - 26.0, r.min.y + 4.0), vec2(22.0, 22.0));
    let button = ui.interact(place, response.id.with("maximise"), Sense::click());
    let word = if state.maximised {
        "Restore"
    } else {
        "Maximise"
    };
    let label = format!("{word} {name}");
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let colour = if button.hovered() || button.has_focus() {
        theme::IMAGE.text
    } else {
        theme::IMAGE.weak
    };
    let stroke = Stroke::new(1.3, colour);
    let painter = ui.painter_at(r);
    let icon = place.shrink(6.0);
    if state.maximised {
        painter.rect_stroke(
            icon.translate(vec2(2.0, -2.0)),
            1.0,
            stroke,
            StrokeKind::Middle,
        );
        painter.rect(
            icon.translate(vec2(-1.5, 1.5)),
            1.0,
            theme::IMAGE.ground,
            stroke,
            StrokeKind::Middle,
        );
    } else {
        painter.rect_stroke(icon, 1.0, stroke, StrokeKind::Middle);
        painter.hline(icon.x_range(), icon.min.y + 2.0, stroke);
    }
    button.on_hover_text(label).clicked()
}
