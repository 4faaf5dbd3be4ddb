//! Grids, volumes, rays, the voxel walk, and the frames of IEC 61217 and the DICOM patient.

mod grid;
mod iec;
mod mask;
mod raster;
mod sheets;
mod slabs;
mod volume;
pub mod walk;

pub use grid::{Grid, GridError};
pub use iec::{BeamFrame, PatientPosition};
pub use mask::{Mask, MaskError, Progress};
pub use volume::{Volume, VolumeId};
