//! The statistical uncertainty of a Monte Carlo dose, by voxel and by structure.

use geometry::{Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Below this part of the greatest dose, relative standard deviations are meaningless for a plan.
pub const LEAST_SPREAD_DOSE: f32 = 0.1;
/// Marks voxels without a relative standard deviation: so far below all others that values interpolated
/// between the two are almost nowhere plausible ones.
pub const NO_SPREAD: f32 = -1000.0;

/// One standard deviation: `± 1.7 %`.
pub fn percent_words(percent: f64) -> String {
    let digits = if percent < 0.995 { 2 } else { 1 };
    format!("± {percent:.digits$} %")
}

/// A Monte Carlo dose with its standard deviation, both scaled alike.
#[derive(Clone, Debug)]
pub struct Spread {
    gy: Arc<Volume<f32>>,
    sigma_gy: Arc<Volume<f32>>,
    percent: Arc<Volume<f32>>,
}

impl Spread {
    /// `sigma_gy` is one standard deviation of each voxel, Gy.
    pub fn new(gy: Arc<Volume<f32>>, sigma_gy: Arc<Volume<f32>>) -> Self {
        let threshold_gy = LEAST_SPREAD_DOSE * gy.greatest();
        let percent = gy
            .data()
            .par_iter()
            .zip(sigma_gy.data())
            .map(|(&gy, &sigma)| {
                if gy > 0.0 && gy >= threshold_gy {
                    100.0 * sigma / gy
                } else {
                    NO_SPREAD
                }
            })
            .collect();
        let percent = Arc::new(Volume::new(Arc::clone(gy.grid()), percent));
        Self {
            gy,
            sigma_gy,
            percent,
        }
    }

    /// One standard deviation of each voxel, percent of its dose; [`NO_SPREAD`] below a tenth of the greatest dose.
    pub fn percent(&self) -> &Arc<Volume<f32>> {
        &self.percent
    }

    /// Relative standard deviation of the voxel at a point, percent; `None` outside the grid and where there is too little dose.
    pub fn percent_at(&self, at_mm: DVec3) -> Option<f64> {
        let grid = self.percent.grid();
        let voxel = grid.voxel_from_patient(at_mm).round().to_array();
        let inside = voxel
            .iter()
            .zip(grid.size())
            .all(|(n, size)| *n >= 0.0 && *n < size as f64);
        let [i, j, k] = inside.then(|| voxel.map(|n| n as usize))?;
        Some(f64::from(self.percent.at(i, j, k))).filter(|percent| *percent >= 0.0)
    }

    /// Relative standard deviation of the voxel with the greatest dose, percent.
    pub fn percent_of_greatest(&self) -> Option<f64> {
        let finite = self
            .gy
            .data()
            .iter()
            .enumerate()
            .filter(|(_, gy)| gy.is_finite());
        let (n, _) = finite.max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(f64::from(self.percent.data()[n])).filter(|percent| *percent >= 0.0)
    }

    /// Mean relative standard deviation of a structure, percent: over the voxels of the dose whose centres
    /// lie in it and get more than half of the greatest dose in it. `None` where no centre does, or it gets
    /// no dose.
    pub fn mean_percent(&self, mask: &Mask) -> Option<f64> {
        let grid = self.gy.grid();
        let [nx, ny, nz] = grid.size();
        let inside: Vec<Vec<(f32, f32)>> = (0..nz)
            .into_par_iter()
            .map(|k| {
                let mut doses = Vec::new();
                for j in 0..ny {
                    for i in (0..nx).filter(|&i| mask.holds(grid.centre_mm(i, j, k))) {
                        doses.push((self.gy.at(i, j, k), self.sigma_gy.at(i, j, k)));
                    }
                }
                doses
            })
            .collect();
        let voxels = inside.iter().flatten().filter(|(gy, _)| gy.is_finite());
        let half = 0.5 * voxels.clone().map(|v| v.0).fold(0.0, f32::max);
        let (sum, count) = voxels
            .filter(|(gy, _)| *gy > half)
            .fold((0.0, 0_u64), |(sum, n), (gy, sigma)| {
                (sum + f64::from(*sigma) / f64::from(*gy), n + 1)
            });
        (count > 0).then(|| 100.0 * sum / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec2;

    /// A slab whose dose falls along x, with a known spread in each voxel.
    #[test]
    fn spreads_are_of_the_local_dose_where_there_is_dose() {
        let grid =
            Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [10, 4, 4]).unwrap());
        let by_x = |f: &dyn Fn(usize) -> f32| {
            Arc::new(Volume::new(
                grid.clone(),
                (0..160).map(|n| f(n % 10)).collect(),
            ))
        };
        // 10, 9, ... 1 Gy; then 0.5 Gy, too little; sd is 0.1 Gy all over.
        let gy = by_x(&|i| if i == 9 { 0.5 } else { 10.0 - i as f32 });
        let spread = Spread::new(gy, by_x(&|_| 0.1));
        let percent_at = |i: usize| spread.percent().at(i, 1, 1);
        assert!((percent_at(0) - 1.0).abs() < 1e-5 && (percent_at(5) - 2.0).abs() < 1e-5);
        assert_eq!(percent_at(9), NO_SPREAD);
        // The voxel at x = 10 mm, none where there is too little dose or no grid; the greatest dose is at x = 0.
        let of_point = |x: f64| spread.percent_at(DVec3::new(x, 2.0, 2.0));
        assert!((of_point(10.4).unwrap() - 2.0).abs() < 1e-5);
        assert_eq!([of_point(18.0), of_point(-2.0), of_point(40.0)], [None; 3]);
        assert!((spread.percent_of_greatest().unwrap() - 1.0).abs() < 1e-5);
        // A structure over the voxels 2 to 7 (8 to 3 Gy): those above 4 Gy count, 8, 7, 6 and 5.
        let square =
            [(3.0, -1.0), (15.0, -1.0), (15.0, 7.0), (3.0, 7.0)].map(|(x, y)| DVec2::new(x, y));
        let mask = mask_of(&grid, &square);
        let want = 100.0 * 0.1 * (1.0 / 8.0 + 1.0 / 7.0 + 1.0 / 6.0 + 1.0 / 5.0) / 4.0;
        let got = spread.mean_percent(&mask).unwrap();
        assert!((got - want).abs() < 1e-5, "{got} {want}");
    }

    fn mask_of(grid: &Arc<Grid>, outline: &[DVec2]) -> Mask {
        let contours: Vec<Vec<DVec3>> = (0..4)
            .map(|k| {
                outline
                    .iter()
                    .map(|p| p.extend(2.0 * f64::from(k)))
                    .collect()
            })
            .collect();
        let contours: Vec<&[DVec3]> = contours.iter().map(Vec::as_slice).collect();
        Mask::from_contours(grid, &contours, &|_| true).unwrap()
    }
}
