//! Values of a volume at points and along lines, trilinear.

use super::sampler::Sampler;
use geometry::Volume;
use glam::DVec3;

/// The value at a position, patient LPS, mm; `None` outside the grid and where the volume has none (NaN).
pub fn value_at(volume: &Volume<f32>, patient_mm: DVec3) -> Option<f64> {
    let value = Sampler::new(volume).at_local(volume.grid().local_from_patient(patient_mm))?;
    value.is_finite().then_some(f64::from(value))
}

/// The values along the line from one end to the other (patient LPS, mm), at `count` even steps: pairs of the distance
/// from the first end, mm, and the value. The parts within the grid, so that no line joins across a gap.
pub fn profile(volume: &Volume<f32>, [from, to]: [DVec3; 2], count: usize) -> Vec<Vec<[f64; 2]>> {
    let sampler = Sampler::new(volume);
    let grid = volume.grid();
    let length = from.distance(to);
    let last = count.max(2) - 1;
    let mut parts = vec![Vec::new()];
    for n in 0..=last {
        let share = n as f64 / last as f64;
        let value = sampler.at_local(grid.local_from_patient(from.lerp(to, share)));
        match (value.filter(|v| v.is_finite()), parts.last_mut()) {
            (Some(value), Some(part)) => part.push([share * length, f64::from(value)]),
            (None, Some(part)) if !part.is_empty() => parts.push(Vec::new()),
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use std::sync::Arc;

    /// A linear field is read without error by trilinear interpolation: 2 Gy plus 0.1 Gy/mm along x, -0.05 along y and
    /// 0.2 along z, on uneven planes of a turned grid.
    fn ramp() -> Volume<f32> {
        let (s, c) = 0.3_f64.sin_cos();
        let (row, column) = (DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0));
        let planes = [0.0, 2.0, 5.0, 9.0, 10.0];
        let grid = Grid::new(
            DVec3::new(-20.0, -15.0, 4.0),
            row,
            column,
            [2.0, 3.0],
            [20, 14],
            &planes,
        )
        .unwrap();
        let [nx, ny, nz] = grid.size();
        let mut data = Vec::new();
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    data.push(field(grid.patient_from_local(grid.local_centre_mm(i, j, k))) as f32);
                }
            }
        }
        Volume::new(Arc::new(grid), data)
    }

    fn field(p: DVec3) -> f64 {
        2.0 + 0.1 * p.x - 0.05 * p.y + 0.2 * p.z
    }

    #[test]
    fn a_profile_through_a_linear_dose_is_a_line() {
        let ramp = ramp();
        let ends = [DVec3::new(-10.0, -4.0, 5.0), DVec3::new(8.0, 9.0, 12.0)];
        let parts = profile(&ramp, ends, 101);
        assert_eq!((parts.len(), parts[0].len()), (1, 101));
        let length = (18.0_f64.powi(2) + 13.0_f64.powi(2) + 49.0).sqrt();
        for [mm, gy] in &parts[0] {
            let want = field(ends[0] + (ends[1] - ends[0]) * (mm / length));
            assert!((gy - want).abs() < 1e-5, "{gy} Gy at {mm} mm, not {want}");
        }
        assert!((parts[0][100][0] - length).abs() < 1e-9);
    }

    #[test]
    fn a_profile_has_no_values_outside_the_grid_and_over_a_hole() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [11, 1, 1]).unwrap();
        let mut data: Vec<f32> = (0..11).map(|n| n as f32).collect();
        data[5] = f32::NAN;
        let volume = Volume::new(Arc::new(grid), data);
        let parts = profile(
            &volume,
            [DVec3::new(-5.0, 0.0, 0.0), DVec3::new(15.0, 0.0, 0.0)],
            21,
        );
        // The line runs from x = -5, so its 5th mm is voxel 0; NaN at voxel 5 spoils nothing but itself.
        let spans: Vec<_> = parts.iter().map(|p| [p[0][0], p[p.len() - 1][0]]).collect();
        assert_eq!(spans, [[5.0, 9.0], [11.0, 15.0]]);
        assert_eq!(value_at(&volume, DVec3::new(3.25, 0.0, 0.0)), Some(3.25));
        assert_eq!(value_at(&volume, DVec3::new(5.0, 0.0, 0.0)), None);
        assert_eq!(value_at(&volume, DVec3::new(30.0, 0.0, 0.0)), None);
    }
}
