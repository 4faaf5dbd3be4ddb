//! Whether a radiograph shows the patient at all.

use super::body::SKIN_HU;
use engine::drr::{Drr, DrrRequest, Region};
use geometry::Volume;

/// Water-equivalent path, mm, up to which a ray may have met only the air about a patient.
const AIR_MM: f64 = 20.0;

/// Whether an image shows more than air: some ray is attenuated by more than the air about a patient, or voxels denser than skin
/// are projected onto `region`. `hu` is the CT and `water_per_mm` the attenuation of water where the volume is in HU; of an
/// attenuation as given any ray that meets something counts.
pub fn shows_patient(
    ct: Option<(&Volume<f32>, f64)>,
    request: &DrrRequest,
    region: Region,
    answer: &Drr,
) -> bool {
    let max_integral = f64::from(answer.integrals.iter().copied().fold(0.0, f32::max));
    match ct {
        Some((hu, water_per_mm)) if max_integral > 0.0 => {
            max_integral > AIR_MM * water_per_mm || is_seen(hu, request, region)
        }
        _ => max_integral > 0.0,
    }
}

/// Whether a place, in pixels, lies on one of `count` pixels from `first` on.
fn is_within(pixel: f64, first: usize, count: usize) -> bool {
    pixel >= first as f64 - 0.5 && pixel <= (first + count) as f64 - 0.5
}

/// Whether any voxel denser than skin is projected onto a part of the image.
fn is_seen(hu: &Volume<f32>, request: &DrrRequest, region: Region) -> bool {
    let grid = hu.grid();
    let dense = hu
        .data()
        .iter()
        .enumerate()
        .filter(|(_, hu)| **hu > SKIN_HU);
    dense.map(|(n, _)| grid.centre_of_mm(n)).any(|ct_mm| {
        request
            .poses
            .iter()
            .filter_map(|pose| {
                request
                    .projection
                    .project(pose.apply(ct_mm, request.pose_centre_mm))
            })
            .any(|[column, row]| {
                is_within(column, region.column, region.columns)
                    && is_within(row, region.row, region.rows)
            })
    })
}
