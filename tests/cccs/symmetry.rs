//! Mirror-symmetric fields have mirror-symmetric doses, and a quarter turn of the gantry turns them.

use crate::phantom::{block, dose, machine, request};
use beamsight::engine::cccs::Quality;
use beamsight::geometry::Volume;
use glam::DVec3;

/// The greatest difference of two doses, of the maximum: each voxel beside the `image` of it in the other.
fn apart(a: &Volume<f32>, b: &Volume<f32>, image: impl Fn([usize; 3]) -> [usize; 3]) -> f64 {
    let [nx, ny, _] = a.grid().size();
    let most = a.data().iter().copied().fold(0.0, f32::max);
    let off = a.data().iter().enumerate().map(|(n, gy)| {
        let [i, j, k] = image([n % nx, n / nx % ny, n / (nx * ny)]);
        (gy - b.at(i, j, k)).abs() / most
    });
    f64::from(off.fold(0.0, f32::max))
}

/// A cube of water of 16 cm about the isocentre, its voxels' sides or their centres on the axis of a field of 8 cm: what a direction
/// does on one side its image does on the other. Single precision and strips of voxels, whose coefficients are a polynomial along
/// one of the lattice's axes, are what is left.
#[test]
fn symmetric_fields_have_symmetric_doses() {
    for n in [40, 41] {
        let half = 2.0 * n as f64;
        let water = block(DVec3::splat(-half), DVec3::splat(4.0), [n; 3], |_| 1.0);
        for (quality, limit) in [(Quality::Fast, 3e-3), (Quality::Standard, 1e-3), (Quality::Full, 1e-3)] {
            let mut wanted = request(&water, &machine("generic-6mv"), 80.0, quality);
            let from_above = dose(&wanted).gy;
            wanted.beam.control_points[0].gantry_deg = 90.0;
            let turned = dose(&wanted).gy;
            let last = n - 1;
            let crossline = apart(&from_above, &from_above, |[i, j, k]| [last - i, j, k]);
            let inline = apart(&from_above, &from_above, |[i, j, k]| [i, j, last - k]);
            let gantry = apart(&from_above, &turned, |[i, j, k]| [last - j, i, k]);
            println!(
                "{n}, {quality:?}, of the maximum: crossline {crossline:.1e}, inline {inline:.1e}, gantry 90 {gantry:.1e}"
            );
            assert!(crossline < 5e-4 && inline < 5e-4 && gantry < limit, "{crossline} {inline} {gantry}");
        }
    }
}
