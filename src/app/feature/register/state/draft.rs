//! An X-ray that waits for its geometry.

use super::Region;
use case::{Case, Placement};
use std::path::PathBuf;

/// An X-ray whose file does not say all of its geometry, with what the user says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GeometryDraft {
    pub path: PathBuf,
    /// Values that the file lacks, by name.
    pub missing: Vec<&'static str>,
    pub placement: Placement,
}

/// An X-ray of another patient ID than the case's, which waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StrangeXray {
    pub path: PathBuf,
    pub placement: Placement,
    pub region: Option<Region>,
    pub label: String,
    /// Patient IDs of the X-ray and of the CT.
    pub theirs: String,
    pub ours: String,
}

impl GeometryDraft {
    /// Question to the user, in a sentence.
    pub fn said(&self) -> String {
        let name = self
            .path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        format!(
            "{name} does not say where it was taken: no {}",
            self.missing.join(", no ")
        )
    }

    /// Fills missing values with usual ones, the isocentre with the plan's, as a start for the user.
    pub fn suggest(&mut self, case: &Case, centre_mm: glam::DVec3) {
        let placement = &mut self.placement;
        for name in &self.missing {
            match *name {
                "gantry angle" => _ = placement.gantry_deg.get_or_insert(0.0),
                "isocentre" => _ = placement.isocentre_mm.get_or_insert(centre_mm),
                "source to axis distance" => _ = placement.sad_mm.get_or_insert(1000.0),
                "source to image distance" => _ = placement.sid_mm.get_or_insert(1500.0),
                "pixel size" => _ = placement.pixel_mm.get_or_insert([0.4, 0.4]),
                _ => {}
            }
        }
        placement.position = placement
            .position
            .or(case.ct.as_ref().map(|ct| ct.position));
    }
}
