//! The built-in cases: phantoms of published or plain geometry, never of a patient. Each has structures and a
//! plan, with the isocentre in its target.

mod aperture;
mod noise;
mod outline;
mod shape;
mod slab;
mod tg119;
mod thorax;
mod water;

use case::{
    Case, Contour, Ct, PatientInfo, Plan, Rgb, Structure, StructureKind, StructureSet, derived_uid,
};
use geometry::{Grid, GridError, PatientPosition, Volume};
use glam::DVec3;
use rayon::prelude::*;
use shape::Solid;
use std::sync::Arc;
use thiserror::Error;

/// Names of the built-in cases with one line of description each.
pub const DEMOS: [(&str, &str); 4] = [
    ("water", "a 30 cm cube of water"),
    ("slab", "layers of water, bone, lung and water"),
    (
        "tg119",
        "the C-shape of AAPM TG-119: a target bent round a core",
    ),
    (
        "thorax",
        "a chest with lungs, spine, heart and a tumour in the right lung",
    ),
];

/// No such built-in case.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no demo called '{0}'; there are water, slab, tg119 and thorax")]
pub struct UnknownDemo(pub String);

/// Builds a built-in case by its name (without the `demo:`). Equal names give equal cases, UIDs included.
///
/// # Errors
/// [`UnknownDemo`].
pub fn build(name: &str) -> Result<Case, UnknownDemo> {
    let phantom = match name {
        "water" => water::phantom(),
        "slab" => slab::phantom(),
        "tg119" => tg119::phantom(),
        "thorax" => thorax::phantom(),
        _ => return Err(UnknownDemo(name.to_owned())),
    };
    let plan = plan(name)?;
    // The sizes are constants of this module, checked by its tests: building a grid cannot fail.
    phantom
        .map(|p| p.into_case(name, plan))
        .map_err(|_| UnknownDemo(name.to_owned()))
}

/// The plan of a built-in case, without building its image.
///
/// # Errors
/// [`UnknownDemo`].
pub fn plan(name: &str) -> Result<Plan, UnknownDemo> {
    let plan = match name {
        "water" => water::plan(),
        "slab" => slab::plan(),
        "tg119" => tg119::plan(),
        "thorax" => thorax::plan(),
        _ => return Err(UnknownDemo(name.to_owned())),
    };
    Ok(Plan {
        uid: Some(uid(name, "plan")),
        ..plan
    })
}

/// Changes whenever the phantoms do: identifies cases made by another version of the program.
pub fn revision() -> String {
    let sources = [
        include_str!("aperture.rs"),
        include_str!("mod.rs"),
        include_str!("noise.rs"),
        include_str!("outline.rs"),
        include_str!("shape.rs"),
        include_str!("slab.rs"),
        include_str!("tg119.rs"),
        include_str!("thorax.rs"),
        include_str!("thorax/anatomy.rs"),
        include_str!("thorax/chest.rs"),
        include_str!("water.rs"),
    ];
    let uid = derived_uid(&sources.concat());
    format!("{}-{}", env!("CARGO_PKG_VERSION"), &uid[uid.len() - 8..])
}

fn uid(name: &str, what: &str) -> String {
    derived_uid(&format!(
        "beamsight {} demo {name} {what}",
        env!("CARGO_PKG_VERSION")
    ))
}

/// A phantom before it becomes a case.
struct Phantom {
    hu: Volume<f32>,
    description: &'static str,
    rois: Vec<Roi>,
}

/// A region of interest with an outline on every plane that it meets.
struct Roi {
    name: &'static str,
    kind: StructureKind,
    colour: [u8; 3],
    /// Sample distance of the outline, mm.
    step_mm: f64,
    solid: Arc<Solid>,
}

impl Phantom {
    fn into_case(self, name: &str, plan: Plan) -> Case {
        let grid = Arc::clone(self.hu.grid());
        let plane_uids: Vec<String> = (0..grid.size()[2])
            .map(|k| demo_uid(&format!("plane {k}"), name))
            .collect();
        let structures = self
            .rois
            .par_iter()
            .enumerate()
            .map(|(n, roi)| Structure {
                colour: Rgb(roi.colour),
                contours: contours(roi, &grid, &plane_uids).into(),
                ..Structure::new(roi.name, n as u32 + 1, roi.kind)
            })
            .collect();
        let ct = Ct {
            hu: Arc::new(self.hu),
            position: PatientPosition::Hfs,
            series_uid: demo_uid("series", name),
            study_uid: demo_uid("study", name),
            frame_of_reference_uid: demo_uid("frame", name),
            description: self.description.to_owned(),
            plane_uids,
            files: Vec::new(),
            remarks: Vec::new(),
        };
        let set = StructureSet {
            label: "Phantom".to_owned(),
            frame_of_reference_uid: ct.frame_of_reference_uid.clone(),
            structures,
            uid: Some(demo_uid("structures", name)),
            remarks: Vec::new(),
            not_modelled: Vec::new(),
        };
        Case {
            patient: PatientInfo {
                name: format!("Demo^{name}"),
                id: format!("DEMO-{}", name.to_ascii_uppercase()),
                birth_date: String::new(),
                sex: "O".to_owned(),
            },
            source: format!("demo:{name}"),
            ct: Some(Arc::new(ct)),
            structures: Arc::new(set),
            plans: vec![Arc::new(plan)],
            doses: Vec::new(),
            remarks: Vec::new(),
            refused_plans: Vec::new(),
            goals: None,
            spent_number: 0,
            sources: Arc::default(),
        }
    }
}

fn demo_uid(what: &str, name: &str) -> String {
    derived_uid(&format!(
        "beamsight {} demo {name} {what}",
        env!("CARGO_PKG_VERSION")
    ))
}

fn contours(roi: &Roi, grid: &Grid, plane_uids: &[String]) -> Vec<Contour> {
    let z0 = grid.origin_mm().z;
    let planes = grid.planes_mm().iter().zip(plane_uids);
    planes
        .flat_map(|(offset, uid)| {
            outline::outlines(&roi.solid, z0 + offset, roi.step_mm)
                .into_iter()
                .map(|points_mm| Contour {
                    // A file holds 16 characters a number; a hundredth of a mm is far below any voxel here.
                    points_mm: points_mm
                        .iter()
                        .map(|p| (p * 100.0).round() / 100.0)
                        .collect(),
                    image_uid: Some(uid.clone()),
                })
        })
        .collect()
}

/// Air on an even grid centred on (0, 0, 0).
struct Canvas {
    grid: Arc<Grid>,
    hu: Vec<f32>,
    /// Half-width of a painted edge, mm: a voxel cut by the surface gets its share.
    edge_mm: f64,
}

const AIR_HU: f32 = -1000.0;

impl Canvas {
    fn new(size: [usize; 3], spacing_mm: DVec3) -> Result<Self, GridError> {
        let span = DVec3::new(
            size[0] as f64 - 1.0,
            size[1] as f64 - 1.0,
            size[2] as f64 - 1.0,
        ) * spacing_mm;
        let grid = Grid::axis_aligned(-span / 2.0, spacing_mm, size)?;
        let hu = vec![AIR_HU; grid.len()];
        Ok(Self {
            grid: Arc::new(grid),
            hu,
            edge_mm: spacing_mm.x / 2.0,
        })
    }

    /// Fills a solid with a value that may depend on the position and its signed distance to the surface (mm,
    /// negative inside); voxels on the edge get their share.
    fn paint(&mut self, solid: &Solid, value: impl Fn(DVec3, f64) -> f32 + Sync) {
        let low = self.grid.voxel_from_patient(solid.low_mm).floor() - 1.0;
        let high = self.grid.voxel_from_patient(solid.high_mm).ceil() + 1.0;
        let [nx, ny, nz] = self.grid.size();
        let (is, js, ks) = (
            voxel_range(low.x, high.x, nx),
            voxel_range(low.y, high.y, ny),
            voxel_range(low.z, high.z, nz),
        );
        let (grid, edge) = (&self.grid, self.edge_mm);
        self.hu
            .par_chunks_mut(nx * ny)
            .enumerate()
            .filter(|(k, _)| ks.contains(k))
            .for_each(|(k, plane)| {
                let first = grid.centre_mm(0, 0, k);
                let [dx, dy] = grid.spacing_xy_mm();
                for j in js.clone() {
                    for i in is.clone() {
                        let p = first + DVec3::new(i as f64 * dx, j as f64 * dy, 0.0);
                        let distance = solid.distance_mm(p);
                        let share = 0.5 - distance / (2.0 * edge);
                        if share > 0.0 {
                            let hu = &mut plane[j * nx + i];
                            *hu += (value(p, distance) - *hu) * share.min(1.0) as f32;
                        }
                    }
                }
            });
    }

    /// The finished image: whole Hounsfield units in the 12-bit range of a scanner.
    fn finish(mut self) -> Volume<f32> {
        self.hu
            .par_iter_mut()
            .for_each(|v| *v = v.round().clamp(-1024.0, 3071.0));
        Volume::new(self.grid, self.hu)
    }
}

fn voxel_range(low: f64, high: f64, n: usize) -> std::ops::Range<usize> {
    low.max(0.0) as usize..(high.max(-1.0) + 1.0).min(n as f64) as usize
}

#[cfg(test)]
mod tests;
