//! Radiological depth by sorted planes, as R. L. Siddon has it (Med. Phys. 12:252, 1985; de Greef et al. 2009, section II.B), in `f64`.

use geometry::Volume;
use glam::DVec3;

/// Radiological depth (mm of water) from a point source to a target, patient LPS, mm: equations (1) to (21). Every plane's alpha,
/// merged, and the voxel found afresh from the middle of each segment. What is no finite number is air.
pub fn siddon(density: &Volume<f32>, from: DVec3, to: DVec3) -> f64 {
    let grid = density.grid();
    let (p1, p2) = (grid.local_from_patient(from), grid.local_from_patient(to));
    let [nx, ny, nz] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let c = grid.planes_mm();
    let mut z_plane = vec![c[0] - (c[1] - c[0]) / 2.0];
    z_plane.extend((1..nz).map(|k| (c[k - 1] + c[k]) / 2.0));
    z_plane.push(c[nz - 1] + (c[nz - 1] - c[nz - 2]) / 2.0);
    let mut alpha = vec![0.0, 1.0];
    let mut add = |plane: f64, a: f64, b: f64| {
        if a != b {
            alpha.push((plane - a) / (b - a));
        }
    };
    (0..=nx).for_each(|i| add((i as f64 - 0.5) * dx, p1.x, p2.x));
    (0..=ny).for_each(|j| add((j as f64 - 0.5) * dy, p1.y, p2.y));
    z_plane.iter().for_each(|&z| add(z, p1.z, p2.z));
    alpha.retain(|a| (0.0..=1.0).contains(a));
    alpha.sort_by(f64::total_cmp);
    let segments = alpha.windows(2).map(|a| {
        let middle = p1 + (p2 - p1) * (0.5 * (a[0] + a[1]));
        let (i, j) = ((middle.x / dx + 0.5).floor(), (middle.y / dy + 0.5).floor());
        let k = z_plane.partition_point(|z| *z <= middle.z);
        let within =
            i >= 0.0 && j >= 0.0 && i < nx as f64 && j < ny as f64 && (1..=nz).contains(&k);
        let value = if within {
            f64::from(density.at(i as usize, j as usize, k - 1))
        } else {
            0.0
        };
        if value.is_finite() {
            value * (a[1] - a[0])
        } else {
            0.0
        }
    });
    segments.sum::<f64>() * (p2 - p1).length()
}
