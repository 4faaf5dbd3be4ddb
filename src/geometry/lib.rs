//! Grids, volumes, rays, the voxel walks, and the frames of IEC 61217 and the DICOM patient.

mod anatomical_plane;
mod beside;
mod bits;
mod body;
mod cut;
mod grid;
mod iec;
mod level_set;
mod margin;
mod mask;
mod mesh;
mod outline;
mod overlaps;
pub mod polygons;
mod projection;
mod raster;
mod runs;
mod shadow;
mod shapes;
mod sheets;
mod silhouette;
mod slabs;
mod stack;
mod stacked;
mod stroke;
mod volume;
mod voxel_rings;
pub mod walk;

pub use anatomical_plane::AnatomicalPlane;
pub use beside::{MatterBeside, matter_beside};
pub use body::{BodyOutline, LeftOut, body_contours};
pub use cut::cut_across;
pub use grid::{Grid, GridError};
pub use iec::{BeamFrame, PatientPosition, wrapped_deg};
pub use level_set::{field_rings, interpolated, smoothed};
pub use margin::{Margins, shrunk_or_grown};
pub use mask::{
    Division, MOST_PARTS, Mask, MaskError, PartShares, Progress, RIM_VOXELS, middle_of_part,
};
pub use mesh::{Mesh, MeshVertex};
pub use overlaps::{OverlapRule, Resolved, is_same_ring, resolved};
pub use projection::{ImagingSetup, Projection, ProjectionError};
pub use shadow::ShadowFrame;
pub use shapes::{box_contours, sphere_contours};
pub use silhouette::{Hull, Margin, Silhouette};
pub use slabs::section_at;
pub use stack::{Plane, Stack, StackError};
pub use stroke::{Section, StrokeError, disc_stroke, outline_sections, sphere_stroke};
pub use volume::{Volume, VolumeId};
pub use voxel_rings::voxel_rings;
