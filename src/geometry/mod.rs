//! Grids, volumes, rays, the voxel walks, and the frames of IEC 61217 and the DICOM patient.

mod body;
mod cut;
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
mod stroke;
mod volume;
pub mod walk;

pub use body::{BodyOutline, LeftOut, body_contours};
pub use cut::cut_across;
pub use grid::{Grid, GridError};
pub use iec::{BeamFrame, PatientPosition, wrapped_deg};
pub use mask::{Mask, MaskError, Progress};
pub use projection::{ImagingSetup, Projection, ProjectionError};
pub use shapes::{box_contours, sphere_contours};
pub use slabs::section_at;
pub use stroke::{Section, StrokeError, disc_stroke, outline_sections, sphere_stroke};
pub use volume::{Volume, VolumeId};
