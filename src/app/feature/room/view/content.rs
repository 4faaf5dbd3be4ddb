//! Content of the room: surfaces and lines with their looks.

use super::shapes::{Ends, Field, couch, head};
use super::{Camera, RoomScene};
use crate::kit::theme;
use crate::view::BeamLayer;
use crate::view::overlay::{display_rgb, on_image};
use analysis::{HEAD_FACE_MM, HEAD_RADIUS_MM};
use case::{Rgb, StructureKind};
use egui::Color32;
use geometry::Mesh;
use glam::DVec3;
use report::room::{RoomFrame, RoomLines, RoomLook, RoomSurface};
use std::sync::Arc;

const HEAD: Color32 = Color32::from_rgb(196, 204, 214);
const NEAR: Color32 = Color32::from_rgb(245, 140, 90);
const COUCH: Color32 = Color32::from_rgb(120, 130, 146);
const SELECTED: Color32 = Color32::from_rgb(240, 244, 248);
const OTHERS: Color32 = Color32::from_rgb(148, 156, 168);
const OPENING: Color32 = Color32::from_rgb(255, 205, 110);
/// Length of a beam beyond the isocentre where no body says how far, mm.
const BEYOND_MM: f64 = 250.0;
/// Length of the isocentre's cross from its middle, mm.
const CROSS_MM: f64 = 12.0;

/// The look of the room from a camera.
pub(crate) fn look(room: &RoomScene<'_>, camera: &Camera, size_px: [u32; 2]) -> RoomLook {
    let clip = camera.clip_from_patient(f64::from(size_px[0]) / f64::from(size_px[1]));
    let mut surfaces = structures(room);
    surfaces.extend(room.isodoses.iter().map(|isodose| RoomSurface {
        surface: Arc::clone(&isodose.surface),
        colour: rgba(theme::colour(isodose.colour), 0.22),
        rim: true,
    }));
    let mut lines = Vec::new();
    if room.scene.show_beams {
        for beam in &room.scene.beams {
            beam_look(room, beam, &mut surfaces, &mut lines);
        }
    }
    if room.settings.machine {
        machine(room, camera, &mut surfaces);
    }
    RoomLook {
        frame: RoomFrame {
            clip_from_patient: clip.as_mat4().to_cols_array_2d(),
            eye_mm: camera.eye().as_vec3().to_array(),
            size_px,
        },
        surfaces,
        lines,
        background: display_rgb(theme::IMAGE.ground),
    }
}

fn rgba(colour: Color32, opacity: f32) -> [f32; 4] {
    let [r, g, b] = display_rgb(colour);
    [r, g, b, opacity]
}

fn structures(room: &RoomScene<'_>) -> Vec<RoomSurface> {
    let looks = room.structures.iter().map(|s| {
        let (opacity, rim) = match s.kind {
            StructureKind::External => (0.1, true),
            StructureKind::Support | StructureKind::Bolus => (0.45, false),
            StructureKind::Ptv | StructureKind::Ctv | StructureKind::Gtv => (1.0, false),
            _ if s.selected || room.settings.solid => (1.0, false),
            StructureKind::Organ | StructureKind::Other => (0.4, true),
        };
        let skin = Color32::from_rgb(226, 200, 180);
        let colour = if s.kind == StructureKind::External {
            skin
        } else {
            on_image(s.colour)
        };
        RoomSurface {
            surface: Arc::clone(&s.surface),
            colour: rgba(colour, opacity),
            rim,
        }
    });
    looks.collect()
}

/// A structure in the room.
#[derive(Clone, Debug)]
pub struct RoomStructure {
    pub surface: Arc<Mesh>,
    pub colour: Rgb,
    pub kind: StructureKind,
    pub selected: bool,
}

fn beam_look(
    room: &RoomScene<'_>,
    beam: &BeamLayer,
    surfaces: &mut Vec<RoomSurface>,
    lines: &mut Vec<RoomLines>,
) {
    let field = Field::new(beam, beyond_mm(room, beam));
    let main = room.scene.bev_beam().is_some_and(|b| b.index == beam.index);
    if main {
        lines.extend([
            room_lines(field.jaw_lines(beam), SELECTED, 0.9),
            room_lines(field.leaf_lines(beam), OPENING, 0.9),
            room_lines(field.axis(), SELECTED, 0.5),
            room_lines(cross(beam.isocentre_mm), SELECTED, 1.0),
        ]);
        surfaces.push(RoomSurface {
            surface: Arc::new(field.sides(beam)),
            colour: rgba(OPENING, 0.16),
            rim: false,
        });
    } else {
        lines.push(room_lines(field.jaw_lines(beam), OTHERS, 0.45));
    }
}

fn room_lines(ends_mm: Ends, colour: Color32, opacity: f32) -> RoomLines {
    RoomLines {
        ends_mm,
        colour: rgba(colour, opacity),
    }
}

/// How far a beam runs beyond its isocentre: past the body.
fn beyond_mm(room: &RoomScene<'_>, beam: &BeamLayer) -> f64 {
    let Some([low, high]) = room.body_mm else {
        return BEYOND_MM;
    };
    let towards_source = beam.frame().axes[2];
    let depths = (0..8_usize).map(|corner| {
        let corner_mm: [f64; 3] = std::array::from_fn(|axis| {
            if corner >> axis & 1 == 0 {
                low[axis]
            } else {
                high[axis]
            }
        });
        (beam.isocentre_mm - DVec3::from_array(corner_mm)).dot(towards_source)
    });
    depths.fold(0.0, f64::max) + 40.0
}

fn cross(centre_mm: DVec3) -> Ends {
    let arms = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| {
        [centre_mm - axis * CROSS_MM, centre_mm + axis * CROSS_MM].map(|p| p.as_vec3().to_array())
    });
    arms.to_vec()
}

/// The head of the beam's-eye view's beam, unless the eye is in it, and the couch top unless structures show it.
fn machine(room: &RoomScene<'_>, camera: &Camera, surfaces: &mut Vec<RoomSurface>) {
    if let Some(beam) = room.scene.bev_beam() {
        let frame = beam.frame();
        let eye = frame.device_from_patient(camera.eye());
        let inside = eye.z > HEAD_FACE_MM - 50.0 && eye.x.hypot(eye.y) < HEAD_RADIUS_MM + 50.0;
        if !inside {
            let colour = if room.is_near(beam) { NEAR } else { HEAD };
            surfaces.push(RoomSurface {
                surface: Arc::new(head(&frame)),
                colour: rgba(colour, 0.3),
                rim: true,
            });
        }
    }
    if let Some(top) = &room.couch_top {
        surfaces.push(RoomSurface {
            surface: Arc::new(couch(top)),
            colour: rgba(COUCH, 0.45),
            rim: false,
        });
    }
}
