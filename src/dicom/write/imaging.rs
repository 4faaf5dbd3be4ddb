//! Pose of the patient before X-rays, as an export writes it.

use super::Registration;
use case::Radiograph;
use std::path::PathBuf;

/// The pose of the CT as a registration, its DRRs at that pose, and the X-rays.
#[derive(Clone, Debug)]
pub struct Imaging {
    /// From the frame of the CT into the frame of the room. As it is written, its source is the frame of the CT that leaves.
    pub registration: Registration,
    /// As the X-rays see the patient at the pose.
    pub drrs: Vec<Radiograph>,
    /// Files of DICOM alone.
    pub xrays: Vec<PathBuf>,
    /// X-rays that cannot leave, and why.
    pub remarks: Vec<String>,
}
