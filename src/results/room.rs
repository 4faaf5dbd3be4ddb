//! The room: surfaces of structures and of isodoses, and the clearance of the gantry head.

use super::graph::{Access, Failure, Grade, Priority, Query};
use super::patient::MaskOf;
use super::plan_dose::DoseOfPlan;
use super::shared::Shared;
use analysis::{Closest, CouchTop, HeadPath};
use geometry::{Mask, Mesh, PatientPosition};
use glam::DVec3;
use std::sync::Arc;
use worker::Lane;

/// Sample spacing of a dose surface, mm: the spacing of usual dose grids.
const ISODOSE_STEP_MM: f64 = 2.5;
/// Distance of a structure's samples, mm, at least and at most.
const STEP_MM: [f64; 2] = [1.0, 4.0];

/// The surface of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceOf(pub MaskOf);

impl Query for SurfaceOf {
    type Answer = Arc<Mesh>;

    const PRIORITY: Option<Priority> = Some(Priority::Room(0));
    const NOTICED: bool = false;

    fn name(&self) -> String {
        format!("Surface of {}", self.0.structure_name())
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<Mesh>, Failure> {
        let mask = inputs.get(&self.0)?;
        Ok(Arc::new(Mesh::of_mask(&mask, step_mm(&mask))))
    }
}

/// Fine enough for the shape, coarse enough to be drawn fast: a fortieth of its length, a quarter of its breadth.
fn step_mm(mask: &Mask) -> f64 {
    let sides = [0, 1, 2].map(|axis| length_mm(mask, axis));
    let longest = sides.iter().copied().fold(0.0, f64::max);
    let shortest = sides.iter().copied().fold(f64::INFINITY, f64::min);
    let [min_mm, max_mm] = STEP_MM;
    (longest / 40.0)
        .clamp(min_mm, max_mm)
        .min((shortest / 4.0).max(min_mm))
}

fn length_mm(mask: &Mask, axis: usize) -> f64 {
    let edges = mask.grid().edges_mm(axis);
    let first = mask.offset()[axis];
    edges[first + mask.size()[axis]] - edges[first]
}

/// The surface on which a dose has a level.
#[derive(Clone, Debug, PartialEq)]
pub struct IsodoseOf {
    pub dose: Shared<DoseOfPlan>,
    pub gy: f32,
}

impl Query for IsodoseOf {
    type Answer = Arc<Mesh>;

    const PRIORITY: Option<Priority> = Some(Priority::Isodoses);
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];
    const NOTICED: bool = false;

    fn name(&self) -> String {
        format!("Surface of {:.2} Gy", self.gy)
    }

    fn lane(&self, grade: Grade) -> Lane {
        self.dose.lane(grade)
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<Mesh>, Failure> {
        let summed = inputs.get(&*self.dose)?;
        Ok(Arc::new(Mesh::of_level(
            &summed.dose.gy,
            self.gy,
            ISODOSE_STEP_MM,
        )))
    }
}

/// How near the gantry head comes to the patient and the couch.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearanceOf {
    pub body: SurfaceOf,
    /// The structures of the couch; without any its top is assumed.
    pub couch: Vec<SurfaceOf>,
    pub position: PatientPosition,
    pub beams: Vec<HeadPath>,
}

/// The clearance of a beam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamClearance {
    /// Beam number.
    pub beam: u32,
    pub body: Option<Closest>,
    pub couch: Option<Closest>,
}

impl Query for ClearanceOf {
    type Answer = Arc<[BeamClearance]>;

    const PRIORITY: Option<Priority> = Some(Priority::Room(1));
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Clearance of the gantry head".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure> {
        let surface = inputs.get(&self.body)?;
        let body: Vec<DVec3> = surface.corners_mm().collect();
        let mut couch = Vec::new();
        for part in &self.couch {
            couch.extend(inputs.get(part)?.corners_mm());
        }
        if self.couch.is_empty() {
            couch = CouchTop::below(&surface, self.position)
                .map(|top| top.points_mm())
                .unwrap_or_default();
        }
        let mut beams = Vec::with_capacity(self.beams.len());
        for path in &self.beams {
            inputs.control().check()?;
            let clearance = BeamClearance {
                beam: path.beam,
                body: path.closest(&body),
                couch: path.closest(&couch),
            };
            beams.push(clearance);
        }
        Ok(beams.into())
    }
}
