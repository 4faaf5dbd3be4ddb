//! Couches: the one in the CT with what lies on it, as scanned; and a simple one below the body, a flat top of carbon fibre
//! with a core of foam, as two structures.
//!
//! Sizes and densities of the latter are assumed (`assets/PHYSICS.md`, Couch): a couch of a clinic is drawn or imported instead.

use super::body::{Body, BodyChoice, BodyError};
use super::outside::SOLID_HU;
use case::{
    Contour, Contours, Ct, Density, DensityOverride, Medium, Structure, StructureKind, StructureSet,
};
use engine::{Cancelled, JobControl};
use geometry::{Grid, PatientPosition, matter_beside};
use glam::{DMat3, DVec3};
use thiserror::Error;

/// Width and thickness of the top, mm. Assumed.
pub const COUCH_MM: [f64; 2] = [530.0, 50.0];
/// Thickness of its shell, mm. Assumed.
pub const SHELL_MM: f64 = 2.0;
/// Mass density of carbon fibre composite, g/cm3. Assumed; 1.5 to 1.8 by fibre and resin.
const SHELL_G_CM3: f64 = 1.6;
/// Electrons per gram of carbon relative to water: 6/12.011 over 10/18.015.
const CARBON_PER_GRAM: f64 = (6.0 / 12.011) / (10.0 / 18.015);
/// Mass density of the foam, g/cm3. Assumed; 0.03 to 0.1 by product.
const CORE_G_CM3: f64 = 0.075;

/// Contours of a couch, and what the user should know of them.
#[derive(Clone, Debug)]
pub struct Couch {
    pub shell: Contours,
    pub core: Contours,
    pub remarks: Vec<String>,
}

/// Why there is no couch.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum CouchError {
    #[error("the body has no contours: draw it or take it from the CT first")]
    NoBody,
    #[error("the CT lies oblique to the couch: draw the couch instead")]
    Oblique,
    #[error("the distance below the body, {0} mm, is no number from 0 to 500")]
    Below(f64),
    #[error(
        "the couch would begin {0:.0} mm beyond the CT, which shows nothing there: its dose could not be computed"
    )]
    BeyondCt(f64),
}

/// Why there is no couch to take from a CT.
#[derive(Debug, Error)]
pub enum CtCouchError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error("no body is chosen, so that everything in the image counts, the couch, too")]
    Everything,
    #[error("nothing outside the body is denser than {SOLID_HU} HU: there is no couch to contour")]
    Nothing,
}

/// The outlines of what a CT shows outside the body: its couch, and what lies on it. Cushions and blankets are lighter, as
/// in the caveat on matter outside the body.
///
/// # Errors
/// [`CtCouchError`].
pub fn couch_from_ct(
    ct: &Ct,
    set: &StructureSet,
    body: BodyChoice,
    control: &JobControl,
) -> Result<(Contours, f64), CtCouchError> {
    let body = Body::new(ct, set, body, &control.child())?
        .mask
        .ok_or(CtCouchError::Everything)?;
    let matter = matter_beside(&ct.hu, &body, SOLID_HU, &|done| {
        control.report(done);
        !control.is_cancelled()
    });
    let matter = matter.ok_or(Cancelled)?;
    let contours: Contours = matter
        .contours
        .into_iter()
        .map(|points_mm| Contour {
            points_mm,
            image_uid: None,
        })
        .collect();
    if contours.is_empty() {
        Err(CtCouchError::Nothing)
    } else {
        Ok((contours, matter.volume_cm3))
    }
}

/// Indices of the parts of a couch: a support with an overridden density, and such supports inside it or round it. None where
/// a structure is no part of a couch, or counts as scanned: a couch of the CT does not move.
pub fn couch_parts(set: &StructureSet, structure: &Structure) -> Vec<usize> {
    let Some([low, high]) = couch_box_mm(structure) else {
        return Vec::new();
    };
    let parts = set.structures.iter().enumerate().filter(|(_, part)| {
        couch_box_mm(part).is_some_and(|[l, h]| {
            (l.cmpge(low).all() && h.cmple(high).all())
                || (l.cmple(low).all() && h.cmpge(high).all())
        })
    });
    parts.map(|(n, _)| n).collect()
}

/// Lowest and highest corner of a support with an overridden density, patient LPS, mm.
fn couch_box_mm(structure: &Structure) -> Option<[DVec3; 2]> {
    let has_density = structure
        .counted_density()
        .is_some_and(|d| d.density != Density::AsScanned);
    let is_part = structure.kind == StructureKind::Support && has_density;
    if is_part {
        box_mm(structure, DMat3::IDENTITY)
    } else {
        None
    }
}

/// Position of a couch's parts from a point, in the axes of the table (IEC 61217), mm: laterally and longitudinally
/// their middle, vertically their top.
pub fn couch_place(
    set: &StructureSet,
    parts: &[usize],
    position: PatientPosition,
    from_mm: DVec3,
) -> Option<[f64; 3]> {
    let to_table = position.patient_from_table().transpose();
    let boxes = parts
        .iter()
        .filter_map(|n| box_mm(set.structures.get(*n)?, to_table));
    let [low, high] = boxes.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
    let from = to_table * from_mm;
    let middle = 0.5 * (low + high) - from;
    Some([middle.x, middle.y, high.z - from.z])
}

/// Lowest and highest corner of the contours, turned.
fn box_mm(structure: &Structure, turn: DMat3) -> Option<[DVec3; 2]> {
    let points = structure
        .contours
        .iter()
        .flat_map(|c| &c.points_mm)
        .map(|p| turn * *p);
    points
        .map(|p| [p, p])
        .reduce(|[low, high], [p, _]| [low.min(p), high.max(p)])
}

/// The densities of shell and core. Carbon attenuates by its electrons nearly as water does.
pub fn couch_densities() -> [DensityOverride; 2] {
    let carbon = Density::RelativeElectrons(SHELL_G_CM3 * CARBON_PER_GRAM);
    [carbon, Density::MassGCm3(CORE_G_CM3)].map(|density| DensityOverride {
        density,
        medium: Some(Medium::Water),
        off: false,
    })
}

/// The grid's axis in the image plane along a direction of the patient, and the sign of the direction on it.
fn axis_along(grid: &Grid, way: DVec3) -> Result<(usize, f64), CouchError> {
    let local = grid.local_direction(way).to_array();
    let axis = (0..2)
        .find(|&n| local[n].abs() > 0.9995)
        .ok_or(CouchError::Oblique)?;
    Ok((axis, local[axis].signum()))
}

/// Outer edges of a grid along an axis, in its own frame, mm.
fn ends_mm(grid: &Grid, axis: usize) -> [f64; 2] {
    let edges = grid.edges_mm(axis);
    [
        edges.first().copied().unwrap_or(0.0),
        edges.last().copied().unwrap_or(0.0),
    ]
}

impl Couch {
    /// A couch on all planes of a CT, its top at a distance below the lowest point of the body.
    ///
    /// # Errors
    /// [`CouchError`].
    pub fn below(ct: &Ct, body: &Structure, below_mm: f64) -> Result<Self, CouchError> {
        if !(0.0..=500.0).contains(&below_mm) {
            return Err(CouchError::Below(below_mm));
        }
        let grid = ct.hu.grid();
        let table = ct.position.patient_from_table();
        // The grid's axis across the couch and the one down, each with its direction.
        let (across, _) = axis_along(grid, table.x_axis)?;
        let (down, sign) = axis_along(grid, -table.z_axis)?;
        let points: Vec<DVec3> = body
            .contours
            .iter()
            .flat_map(|c| &c.points_mm)
            .copied()
            .collect();
        let local = points
            .iter()
            .map(|p| grid.local_from_patient(*p).to_array());
        let [sides, heights] = [across, down].map(|axis| {
            local
                .clone()
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], p| {
                    [low.min(p[axis]), high.max(p[axis])]
                })
        });
        if !sides.iter().chain(&heights).all(|v| v.is_finite()) {
            return Err(CouchError::NoBody);
        }
        // Depths grow downwards, whichever way the grid's axis runs.
        let depth = |coordinate: f64| sign * coordinate;
        let top = depth(heights[0]).max(depth(heights[1])) + below_mm;
        let [low, high] = ends_mm(grid, down);
        let image_end = depth(low).max(depth(high));
        if top >= image_end {
            return Err(CouchError::BeyondCt(top - image_end));
        }
        let bottom = top + COUCH_MM[1];
        let middle = 0.5 * (sides[0] + sides[1]);
        let image = ends_mm(grid, across);
        let outer = [
            (middle - 0.5 * COUCH_MM[0]).max(image[0]),
            (middle + 0.5 * COUCH_MM[0]).min(image[1]),
        ];
        let mut remarks = Vec::new();
        if outer[1] - outer[0] < COUCH_MM[0] - 0.5 {
            remarks.push(format!(
                "it is {:.0} mm wide, as the CT, not {:.0} mm",
                outer[1] - outer[0],
                COUCH_MM[0]
            ));
        }
        if bottom > image_end + 1.0 {
            let beyond = bottom - image_end;
            remarks.push(format!(
                "{beyond:.0} mm of it lie beyond the CT and are not counted: the dose is partial"
            ));
        }
        let ring = |inside: f64| {
            let corners = [
                (outer[0] + inside, top + inside),
                (outer[1] - inside, top + inside),
                (outer[1] - inside, bottom - inside),
                (outer[0] + inside, bottom - inside),
            ];
            corners.map(|(side, depth)| {
                let mut p = [0.0; 2];
                (p[across], p[down]) = (side, sign * depth);
                p
            })
        };
        let contours = |inside: &[f64]| -> Contours {
            let planes = grid.planes_mm().iter().enumerate();
            let on_plane =
                planes.flat_map(|(k, &z)| inside.iter().map(move |&inside| (k, z, inside)));
            on_plane
                .map(|(k, z, inside)| Contour {
                    points_mm: ring(inside)
                        .map(|[x, y]| grid.patient_from_local(DVec3::new(x, y, z)))
                        .to_vec(),
                    image_uid: ct.plane_uids.get(k).cloned(),
                })
                .collect()
        };
        Ok(Self {
            shell: contours(&[0.0, SHELL_MM]),
            core: contours(&[SHELL_MM]),
            remarks,
        })
    }
}
