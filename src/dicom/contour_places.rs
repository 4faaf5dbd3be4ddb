//! Checks contours against the displayed images: outside them, between their planes, or on images that they
//! do not name.

use case::{Contour, Ct, Remark, StructureSet};
use geometry::{Grid, RIM_VOXELS};
use std::collections::HashMap;

/// A contour within this distance of a plane lies on it, mm.
const ON_PLANE_MM: f64 = 0.1;

/// Most structures named in one remark.
const MOST_NAMES: usize = 6;

/// Contours of one kind, by structure.
#[derive(Default)]
struct Found<'a> {
    contours: usize,
    structures: Vec<&'a str>,
    furthest_mm: f64,
}

impl<'a> Found<'a> {
    fn add(&mut self, structure: &'a str, off_mm: f64) {
        self.contours += 1;
        self.furthest_mm = self.furthest_mm.max(off_mm);
        if self.structures.last() != Some(&structure) {
            self.structures.push(structure);
        }
    }

    fn distance(&self) -> String {
        format!("up to {:.2} mm", self.furthest_mm)
    }

    fn say(&self, remark: fn(String, Vec<String>) -> Remark, what: &str) -> Option<Remark> {
        let mut names = self
            .structures
            .iter()
            .take(MOST_NAMES)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        if self.structures.len() > MOST_NAMES {
            names += &format!(" and {} more", self.structures.len() - MOST_NAMES);
        }
        (self.contours > 0).then(|| {
            remark(
                format!("{} contour(s) {what}: {names}", self.contours),
                Vec::new(),
            )
        })
    }
}

/// Remarks on misplaced contours of a set on a CT.
pub(super) fn remarks(set: &StructureSet, ct: &Ct) -> Vec<Remark> {
    let grid = ct.hu.grid();
    let planes: HashMap<&str, usize> = ct
        .plane_uids
        .iter()
        .enumerate()
        .map(|(k, uid)| (uid.as_str(), k))
        .collect();
    let [mut outside, mut between, mut strange, mut elsewhere] = <[Found; 4]>::default();
    for structure in &set.structures {
        let name = structure.name.as_str();
        for contour in &structure.contours {
            let [low, high] = heights_mm(contour, grid);
            let middle = 0.5 * (low + high);
            let off = grid
                .planes_mm()
                .iter()
                .map(|z| (z - middle).abs())
                .fold(f64::INFINITY, f64::min);
            if !is_inside(contour, grid) {
                outside.add(name, 0.0);
            } else if high - low < ON_PLANE_MM && off > ON_PLANE_MM {
                between.add(name, off);
            }
            let Some(uid) = contour.image_uid.as_deref().filter(|_| !planes.is_empty()) else {
                continue;
            };
            match planes.get(uid) {
                None => strange.add(name, 0.0),
                Some(&k) => {
                    let off = (grid.planes_mm()[k] - middle).abs();
                    if off > (0.5 * grid.plane_thickness_mm(k)).max(ON_PLANE_MM) {
                        elsewhere.add(name, off);
                    }
                }
            }
        }
    }
    let note: fn(String, Vec<String>) -> Remark = |message, files| Remark::note(message, files);
    let warning: fn(String, Vec<String>) -> Remark =
        |message, files| Remark::warning(message, files);
    // Goals count what lies outside as volume without a dose.
    let counted: fn(String, Vec<String>) -> Remark =
        |message, files| Remark::warning(message, files).without_bearing();
    [
        outside.say(counted, "lie wholly or partly outside the CT, and count inside it only"),
        between.say(note, &format!("lie between the planes of the CT, {} off, and are shared out over them", between.distance())),
        strange.say(warning, "name images that are not of this CT (ContourImageSequence); they are placed by their points"),
        elsewhere.say(
            warning,
            &format!(
                "lie {} from the images that they name (ContourImageSequence); they are placed by their points",
                elsewhere.distance()
            ),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Lowest and highest point along the normal of the images, mm from their first plane.
fn heights_mm(contour: &Contour, grid: &Grid) -> [f64; 2] {
    let along = contour
        .points_mm
        .iter()
        .map(|&p| grid.local_from_patient(p).z);
    along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], z| {
        [low.min(z), high.max(z)]
    })
}

fn is_inside(contour: &Contour, grid: &Grid) -> bool {
    let size = grid.size();
    contour.points_mm.iter().all(|&p| {
        let v = grid.voxel_from_patient(p);
        (0..3).all(|a| v[a] >= -0.5 - RIM_VOXELS && v[a] <= size[a] as f64 - 0.5 + RIM_VOXELS)
    })
}
