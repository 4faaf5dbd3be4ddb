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
    let isodose = |s: &crate::state::results::IsodoseSurface| RoomSurface {
        surface: Arc::clone(&s.surface),
        colour: with(theme::colour(s.colour), 0.22),
        rim: true,
    };
    surfaces.extend(room.isodoses.iter().map(isodose));
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

fn with(colour: Color32, opacity: f32) -> [f32; 4] {
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
            colour: with(colour, opacity),
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
    let mut draw = |ends_mm: Ends, colour: Color32, opacity: f32| {
        lines.push(RoomLines {
            ends_mm,
            colour: with(colour, opacity),
        });
    };
    if main {
        draw(field.jaw_lines(beam), SELECTED, 0.9);
        draw(field.leaf_lines(beam), OPENING, 0.9);
        draw(field.axis(), SELECTED, 0.5);
        draw(cross(beam.isocentre_mm), SELECTED, 1.0);
        let colour = with(OPENING, 0.16);
        surfaces.push(RoomSurface {
            surface: Arc::new(field.sides(beam)),
            colour,
            rim: false,
        });
    } else {
        draw(field.jaw_lines(beam), OTHERS, 0.45);
    }
}

/// How far a beam runs beyond its isocentre: past the body.
fn beyond_mm(room: &RoomScene<'_>, beam: &BeamLayer) -> f64 {
    let Some([low, high]) = room.body_mm else {
        return BEYOND_MM;
    };
    let towards_source = beam.frame().axes[2];
    let corner = |n: usize| {
        DVec3::from_array(std::array::from_fn(|a| {
            if n >> a & 1 == 0 { low[a] } else { high[a] }
        }))
    };
    let depths = (0..8).map(|n| (beam.isocentre_mm - corner(n)).dot(towards_source));
    depths.fold(0.0, f64::max) + 40.0
}

fn cross(at_mm: DVec3) -> Ends {
    let arm = |axis: DVec3| {
        [at_mm - axis * CROSS_MM, at_mm + axis * CROSS_MM].map(|p| p.as_vec3().to_array())
    };
    [DVec3::X, DVec3::Y, DVec3::Z].map(arm).to_vec()
}

/// The head of the beam's-eye view's beam, unless the eye is in it, and the couch top unless structures show it.
fn machine(room: &RoomScene<'_>, camera: &Camera, surfaces: &mut Vec<RoomSurface>) {
    if let Some(beam) = room.scene.bev_beam() {
        let frame = beam.frame();
        let eye = frame.device_from_patient(camera.eye());
        let inside = eye.z > HEAD_FACE_MM - 50.0 && eye.x.hypot(eye.y) < HEAD_RADIUS_MM + 50.0;
        if !inside {
            let colour = if room.is_near(beam) { NEAR } else { HEAD };
            let colour = with(colour, 0.3);
            surfaces.push(RoomSurface {
                surface: Arc::new(head(&frame)),
                colour,
                rim: true,
            });
        }
    }
    if let Some(top) = &room.couch_top {
        let colour = with(COUCH, 0.45);
        surfaces.push(RoomSurface {
            surface: Arc::new(couch(top)),
            colour,
            rim: false,
        });
    }
}
