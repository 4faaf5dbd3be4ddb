//! The handles of the window that a scripted user drags.

use super::{Window, missing, view};
use crate::render::offscreen::OffscreenError;
use crate::state::Selection;
use crate::state::roi::Shape;
use egui::accesskit::Role;
use egui::{Pos2, Rect, Vec2, vec2};
use std::f32::consts::TAU;

/// Points between two places of the pointer, and places from one end of a drag to the other.
const STEP: f32 = 3.0;
const PLACES: usize = 12;

/// Half side of the beam's-eye view of a small field, mm.
const SHOWN_MM: f32 = 130.0;

/// Handle that a scripted user drags: of beam 1, or structure 1, a sphere round the middle of the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// The dial of the inspector.
    Gantry,
    /// The edge of jaw X2 in the beam's-eye view.
    Jaw,
    /// The tip of a leaf of the positive bank in the beam's-eye view.
    Leaf,
    /// The isocentre's x in the inspector.
    Isocentre,
    /// The middle of the sphere in the axial view.
    Structure,
}

impl Handle {
    pub const ALL: [Self; 5] = [
        Self::Gantry,
        Self::Jaw,
        Self::Leaf,
        Self::Isocentre,
        Self::Structure,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gantry => "gantry",
            Self::Jaw => "jaw",
            Self::Leaf => "leaf",
            Self::Isocentre => "isocentre",
            Self::Structure => "structure",
        }
    }
}

/// The places of the pointer in a drag.
pub(super) enum Path {
    /// Round a dial, a degree a place.
    Round(Rect),
    /// Back and forth on a line, from a point.
    Line(Pos2, Vec2),
}

impl Path {
    /// Shows a handle, where that needs a selection, and finds it on the screen.
    pub fn find(handle: Handle, window: &mut Window) -> Result<Self, OffscreenError> {
        let state = &mut window.app.state;
        let beam = state
            .plan()
            .and_then(|plan| plan.beams.first())
            .ok_or_else(|| missing("a beam"))?
            .clone();
        state.selection = Selection::Beam(beam.number);
        if handle == Handle::Structure {
            let structure = state
                .case()
                .structures
                .by_number(1)
                .ok_or_else(|| missing("structure 1"))?;
            let mut points = structure
                .contours
                .iter()
                .flat_map(|c| &c.points_mm)
                .copied();
            let radius_mm = points.by_ref().map(|p| p.length()).fold(0.0, f64::max);
            let (shape, structure) = (
                Shape::Sphere {
                    centre_mm: glam::DVec3::ZERO,
                    radius_mm,
                },
                structure.clone(),
            );
            state.shapes.remember(&structure, shape);
            state.selection = Selection::Structure(1);
        }
        window.wait(3);
        let start = beam.start().ok_or_else(|| missing("a control point"))?;
        Ok(match handle {
            Handle::Gantry => {
                let dial = window.rect_of("Gantry", Some(Role::Slider));
                Self::Round(dial.ok_or_else(|| missing("Gantry"))?)
            }
            Handle::Jaw => Self::Line(bev_place(window, [start.jaws.x[1], 0.0])?, vec2(1.0, 0.0)),
            Handle::Leaf => {
                let mlc = beam.mlc.as_ref().ok_or_else(|| missing("a leaf"))?;
                let pair = start.leaves_mm.len() / 2;
                let across = 0.5 * (mlc.boundaries_mm[pair] + mlc.boundaries_mm[pair + 1]);
                Self::Line(
                    bev_place(window, [start.leaves_mm[pair][1], across])?,
                    vec2(-1.0, 0.0),
                )
            }
            Handle::Isocentre => Self::Line(view(window, "Isocentre x")?.center(), vec2(1.0, 0.0)),
            Handle::Structure => Self::Line(view(window, "Axial")?.center(), vec2(0.8, 0.6)),
        })
    }

    /// The pointer at a place; at 0 it grabs the handle.
    pub fn at(&self, place: usize) -> Pos2 {
        match self {
            Self::Round(dial) => {
                let angle = TAU * place as f32 / 360.0;
                dial.center() + 0.3 * dial.width() * vec2(angle.sin(), -angle.cos())
            }
            Self::Line(from, way) => {
                let steps = place % (2 * PLACES);
                *from + STEP * steps.min(2 * PLACES - steps) as f32 * *way
            }
        }
    }
}

/// Screen position of a point of the isocentre plane, mm, in the beam's-eye view.
fn bev_place(window: &mut Window, [x_mm, y_mm]: [f64; 2]) -> Result<Pos2, OffscreenError> {
    let rect = view(window, "Beam's eye")?;
    let scale = rect.width().min(rect.height()) / (2.0 * SHOWN_MM);
    Ok(rect.center() + vec2(x_mm as f32, -y_mm as f32) * scale)
}
