//! The central ray of a beam: SSD and depth of the isocentre.

use super::graph::{Access, Failure, Priority, Query};
use super::patient::Densities;
use analysis::{CentralRay, central_ray};
use glam::DVec3;

/// Distances along the ray from a source through an isocentre, patient LPS, mm.
#[derive(Clone, Debug, PartialEq)]
pub struct RayOfBeam {
    pub densities: Densities,
    pub source_mm: DVec3,
    pub isocentre_mm: DVec3,
}

impl Query for RayOfBeam {
    /// `None` where the ray meets no surface.
    type Answer = Option<CentralRay>;

    const PRIORITY: Option<Priority> = Some(Priority::Rays);
    /// The densities report their failure.
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "SSD".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure> {
        let ready = inputs.get(&self.densities)?;
        Ok(central_ray(
            &ready,
            self.densities.ct(),
            self.source_mm,
            self.isocentre_mm,
        ))
    }
}
