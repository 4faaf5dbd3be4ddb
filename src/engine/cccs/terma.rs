//! TERMA of a voxel, as all forms on the host compute it.

use super::angles::TiltNorm;
use super::beam::Superposition;
use geometry::BeamFrame;
use glam::DVec3;
use physics::kernel_beam::CHANNELS;

/// TERMA by channel under a relative fluence: `(x, y)` of the isocentre plane that the voxel's ray passes, its centre (patient LPS,
/// mm) and its radiological depth, mm. Gy for one photon per cm2 on the axis at the isocentre. The inverse square stands here and
/// nowhere else.
pub fn open_terma(
    beam: &Superposition,
    frame: &BeamFrame,
    tilt: &TiltNorm,
    [x, y]: [f64; 2],
    patient_mm: DVec3,
    depth_mm: f32,
    fluence: f64,
) -> [f32; CHANNELS] {
    let sad = frame.sad_mm;
    let inverse_square = sad * sad / patient_mm.distance_squared(frame.source_mm);
    // The off-axis spectrum equals the axial spectrum some centimetres of water less deep. A factor on the attenuation alone would leave
    // out up to 4 % of the dose in fields of 40 cm.
    let layer = beam.softening.at((x * x + y * y).sqrt());
    let terma = beam
        .kernel
        .terma(f64::from(depth_mm) / 10.0 - layer.less_cm);
    let incident = layer.kept * fluence * inverse_square;
    let norm = tilt.at([x / sad, y / sad]);
    std::array::from_fn(|c| (terma[c] * incident) as f32 * norm[c])
}
