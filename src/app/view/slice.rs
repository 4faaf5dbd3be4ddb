//! A plane through the patient with its overlays.

use super::overlay::{self, display_rgb};
use super::shape::{self, Lens};
use crate::feature::measure::state::ReadDose;
use crate::feature::{draw, measure};
use crate::kit::theme;
use crate::render::{DoseLook, DoseStyle, Isodose, SliceLook};
use crate::state::display::{DoseDisplay, UNCERTAINTY_LEVELS};
use crate::view::{DoseLayer, Scene, ViewEvent, ViewState, beam, drag, navigate, structure};
use egui::{Response, Ui};

pub(crate) fn show(
    ui: &mut Ui,
    response: &Response,
    state: &mut ViewState,
    scene: &Scene,
    events: &mut Vec<ViewEvent>,
) {
    let plane = navigate::current_plane(state, scene, response.rect);
    let claimed = draw::view::respond(ui, response, state.kind, scene, &plane, events)
        || measure::view::respond(ui, response, scene, &plane, events)
        || drag::respond(ui, response, state.kind, scene, Lens::Plane(plane), events);
    navigate::respond(ui, response, state, scene, &plane, claimed, events);
    // Panning and zooming take effect in the same frame.
    let plane = navigate::current_plane(state, scene, response.rect);
    let painter = ui.painter_at(response.rect);
    painter.rect_filled(response.rect, 0.0, theme::IMAGE.ground);
    let window = scene.window;
    let levels = scene
        .dose
        .as_ref()
        .map(|layer| levels_of(layer, ui.pixels_per_point()))
        .unwrap_or_default();
    let look = SliceLook {
        ct: scene.ct.as_ref(),
        window_hu: [
            window.level_hu - 0.5 * window.width_hu,
            window.level_hu + 0.5 * window.width_hu,
        ],
        dose: scene.dose.as_ref().map(|d| look_of(d, &levels)),
        background: display_rgb(theme::IMAGE.ground),
    };
    if let Some(callback) =
        scene
            .gpu
            .slice_callback(response.rect, &plane.frame(ui.pixels_per_point()), &look)
    {
        painter.add(callback);
    }
    structure::draw(&painter, &plane, state.kind, scene);
    beam::draw(&painter, &plane, state.kind, scene);
    if let Some((number, roi)) = &scene.shape {
        let structure = scene
            .structures
            .structures
            .iter()
            .find(|s| s.number == *number);
        let colour = structure.map_or(theme::IMAGE.accent, |s| overlay::on_image(s.colour));
        shape::draw(&painter, Lens::Plane(plane), roi, colour);
    }
    overlay::draw(&painter, &plane, state.kind, scene);
    draw::view::paint(&painter, response, &plane, state.kind, scene);
    let dose = scene.dose.as_ref().map(|layer| ReadDose {
        side: "",
        dose: layer.dose.clone(),
    });
    measure::view::draw(&painter, &plane, scene, dose.as_slice());
    if let Some(why) = scene.ct.as_ref().and_then(|v| scene.gpu.failure(v.id())) {
        overlay::message(&painter, response.rect, &why);
    }
}

/// Levels of the colourwash's quantity.
fn levels_of(layer: &DoseLayer, pixels_per_point: f32) -> Vec<Isodose> {
    if layer.uncertainty().is_none() {
        return isodoses(
            &layer.display,
            layer.reference.map(|(gy, _)| gy),
            pixels_per_point,
        );
    }
    let levels = UNCERTAINTY_LEVELS.map(|(percent, colour)| Isodose {
        gy: percent,
        colour: display_rgb(theme::colour(colour)),
        width_px: 0.0,
    });
    levels.to_vec()
}

/// The dose, or its relative standard deviation instead.
fn look_of<'a>(layer: &'a DoseLayer, levels: &'a [Isodose]) -> DoseLook<'a> {
    match layer.uncertainty() {
        None => DoseLook {
            gy: &layer.dose.gy,
            style: style_of(&layer.display, layer.reference.map(|(gy, _)| gy), levels),
        },
        Some(percent) => DoseLook {
            gy: percent,
            style: DoseStyle {
                levels,
                wash_opacity: layer.display.wash_opacity.max(LEAST_OPACITY),
                wash_threshold_gy: 0.0,
                banded: layer.display.wash_banded,
                lines: false,
            },
        },
    }
}

/// Least opacity of the uncertainty's colourwash, which has no lines to read it by.
const LEAST_OPACITY: f32 = 0.85;

/// The visible levels in Gy, ascending.
pub(crate) fn isodoses(
    display: &DoseDisplay,
    reference_gy: Option<f64>,
    pixels_per_point: f32,
) -> Vec<Isodose> {
    let Some(reference_gy) = reference_gy else {
        return Vec::new();
    };
    let mut levels: Vec<Isodose> = display
        .levels
        .iter()
        .filter(|l| l.shown)
        .map(|l| Isodose {
            gy: (f64::from(l.percent) * 0.01 * reference_gy) as f32,
            colour: display_rgb(theme::colour(l.colour)),
            width_px: if l.is_thick() { 2.5 } else { 1.4 } * pixels_per_point,
        })
        .collect();
    levels.sort_by(|a, b| a.gy.total_cmp(&b.gy));
    levels
}

/// Style of a dose, with its levels in Gy.
pub(crate) fn style_of<'a>(
    display: &DoseDisplay,
    reference_gy: Option<f64>,
    levels: &'a [Isodose],
) -> DoseStyle<'a> {
    let reference_gy = reference_gy.unwrap_or(0.0);
    DoseStyle {
        levels,
        wash_opacity: if display.wash {
            display.wash_opacity
        } else {
            0.0
        },
        wash_threshold_gy: (f64::from(display.wash_threshold_percent) * 0.01 * reference_gy) as f32,
        banded: display.wash_banded,
        lines: display.lines,
    }
}
