//! A bolus: a layer on the body, all over it, under a beam's field or near a structure.

use super::{ContouringError, MadeContours, OperationContext};
use case::{Beam, Structure, StructureSet};
use geometry::polygons::{self, Boolean, Ring};
use geometry::{Grid, PatientPosition, Plane, Stack};
use glam::DVec3;

/// A bolus reaches this far beyond the field's edges at the isocentre plane, mm. Chosen: the penumbra lies under it.
pub const BEYOND_FIELD_MM: f64 = 10.0;

/// The part of the body that a bolus lies on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BolusOver {
    Body,
    /// The part of the surface within a distance of the structure of this number.
    Structure {
        number: u32,
        within_mm: f64,
    },
    /// The part that a beam enters through.
    Field(EntranceField),
}

/// The jaws' opening of a beam's first control point, on the source's side of the patient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntranceField {
    /// Half-spaces of patient positions p (LPS, mm): normal . p >= offset.
    half_spaces: [(DVec3, f64); 5],
}

impl EntranceField {
    /// `None` for a beam without control points or with closed jaws. `middle_mm` is the body's.
    pub fn new(
        beam: &Beam,
        position: PatientPosition,
        sad_mm: f64,
        middle_mm: DVec3,
    ) -> Option<Self> {
        let start = beam.start().filter(|start| start.jaws.is_open())?;
        let frame = beam.frame_at(start, position, sad_mm);
        let [x, y, up] = frame.axes;
        let jaws = start.jaws;
        // A ray through x = a of the isocentre plane stays on x / (sad - z) = a / sad.
        let [x1, x2, y1, y2] = [
            (x, jaws.x[0], 1.0),
            (x, jaws.x[1], -1.0),
            (y, jaws.y[0], 1.0),
            (y, jaws.y[1], -1.0),
        ]
        .map(|(axis, jaw_mm, sign)| {
            let edge_mm = jaw_mm + sign * -BEYOND_FIELD_MM;
            let normal = (axis + up * (edge_mm / sad_mm)) * sign;
            (normal, normal.dot(frame.isocentre_mm) + sign * edge_mm)
        });
        Some(Self {
            half_spaces: [x1, x2, y1, y2, (up, up.dot(middle_mm))],
        })
    }

    /// Its part of a plane of a grid, in the grid's frame, mm; empty where it has none.
    fn section(&self, grid: &Grid, z_mm: f64, within: [[f64; 2]; 2]) -> Ring {
        let [[x0, x1], [y0, y1]] = within;
        let mut ring: Ring = vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
        for (normal, offset_mm) in self.half_spaces {
            ring = cut(&ring, |[x, y]| {
                grid.patient_from_local(DVec3::new(x, y, z_mm)).dot(normal) - offset_mm
            });
        }
        ring
    }
}

/// The part of a convex ring where a value that is linear in the plane is not negative.
fn cut(ring: &[[f64; 2]], value: impl Fn([f64; 2]) -> f64) -> Ring {
    let mut kept = Vec::with_capacity(ring.len() + 1);
    for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let (va, vb) = (value(*a), value(*b));
        if va >= 0.0 {
            kept.push(*a);
        }
        if (va >= 0.0) != (vb >= 0.0) {
            let t = va / (va - vb);
            kept.push([0, 1].map(|n| a[n] + t * (b[n] - a[n])));
        }
    }
    kept
}

impl OperationContext<'_> {
    /// The layer on a body.
    pub(super) fn bolus(
        &self,
        set: &StructureSet,
        structure: &Structure,
        body: &Stack,
        thickness_mm: f64,
        over: BolusOver,
    ) -> Result<MadeContours, ContouringError> {
        let grown = self.with_margin(body, true, [thickness_mm; 6])?;
        let near = match over {
            BolusOver::Structure { number, within_mm } => {
                let (_, near) = self.stack(set, number)?;
                Some(self.restacked(&self.with_margin(&near, true, [within_mm; 6])?)?)
            }
            BolusOver::Body | BolusOver::Field(_) => None,
        };
        let edges: [Vec<f64>; 3] = std::array::from_fn(|axis| self.grid.edges_mm(axis));
        let [x_mm, y_mm, _] = edges.map(|edges| {
            let (first, last) = (edges.first(), edges.last());
            [
                first.map_or(0.0, |e| e - thickness_mm),
                last.map_or(0.0, |e| e + thickness_mm),
            ]
        });
        let mut planes = Vec::with_capacity(grown.len());
        for Plane { z_mm, rings } in grown {
            self.check()?;
            let layer = polygons::combine(&rings, body.section(z_mm), Boolean::Difference);
            let rings = match (over, &near) {
                (BolusOver::Field(field), _) => {
                    let field = field.section(self.grid, z_mm, [x_mm, y_mm]);
                    polygons::combine(&layer, &[field], Boolean::Intersection)
                }
                (_, Some(near)) => {
                    polygons::combine(&layer, near.section(z_mm), Boolean::Intersection)
                }
                _ => layer,
            };
            planes.push(Plane { z_mm, rings });
        }
        let result = self.clipped(planes, body, [0.0; 6]);
        if result.contours.is_empty() {
            return Err(ContouringError::NoBolus(structure.name.clone()));
        }
        Ok(result)
    }
}
