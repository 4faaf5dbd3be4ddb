//! Grids, volumes, rays, the voxel walks, and the frames of IEC 61217 and the DICOM patient.

mod body;
mod grid;
mod iec;
mod mask;
mod outline;
pub mod polygons;
mod projection;
mod raster;
mod runs;
mod shapes;
mod sheets;
mod slabs;
mod stacked;
mod volume;
pub mod walk;

pub use body::{BodyOutline, LeftOut, body_contours};
pub use grid::{Grid, GridError};
pub use iec::{BeamFrame, PatientPosition, wrapped_deg};
pub use mask::{Mask, MaskError, Progress};
pub use projection::{ImagingSetup, Projection, ProjectionError};
pub use shapes::{box_contours, sphere_contours};
pub use volume::{Volume, VolumeId};
