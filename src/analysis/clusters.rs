//! Clusters of touching voxels that fail gamma, with their size, worst voxel and structure.

use engine::{Cancelled, JobControl};
use geometry::{Mask, Volume};
use glam::DVec3;
use serde::Serialize;

/// Touching voxels that fail; a shared corner is enough.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    pub voxels: usize,
    pub volume_cm3: f64,
    pub max_gamma: f32,
    /// Centre of the voxel with the greatest gamma, patient LPS, mm.
    pub worst_mm: [f64; 3],
    /// Middle of the voxels, patient LPS, mm.
    pub middle_mm: [f64; 3],
    /// The structure that holds most of its voxels, by index in the masks given, and the share of them that
    /// it holds.
    pub structure: Option<(usize, f64)>,
    /// The sum of gamma beyond 1 times volume, cm3: clusters are sorted by it.
    pub excess_cm3: f64,
}

impl Cluster {
    pub fn worst(&self) -> DVec3 {
        DVec3::from(self.worst_mm)
    }
}

/// All clusters of a gamma map (NaN where gamma is undefined), the worst first.
///
/// # Errors
/// [`Cancelled`].
pub fn clusters(
    gamma: &Volume<f32>,
    masks: &[&Mask],
    control: &JobControl,
) -> Result<Vec<Cluster>, Cancelled> {
    let mut seen = vec![false; gamma.data().len()];
    let mut clusters = Vec::new();
    for start in 0..seen.len() {
        let fails = gamma.data()[start] > 1.0;
        if seen[start] || !fails {
            continue;
        }
        control.check()?;
        clusters.push(cluster(gamma, masks, grown(gamma, start, &mut seen)));
    }
    clusters.sort_by(|a, b| b.excess_cm3.total_cmp(&a.excess_cm3));
    Ok(clusters)
}

/// The voxels connected with a first one.
fn grown(gamma: &Volume<f32>, start: usize, seen: &mut [bool]) -> Vec<usize> {
    let size = gamma.grid().size();
    let [nx, ny, _] = size;
    let mut voxels = vec![start];
    seen[start] = true;
    let mut next = 0;
    while let Some(&voxel) = voxels.get(next) {
        next += 1;
        let index = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        let [columns, rows, planes] =
            [0, 1, 2].map(|a| index[a].saturating_sub(1)..=(index[a] + 1).min(size[a] - 1));
        for k in planes {
            for j in rows.clone() {
                for i in columns.clone() {
                    let n = gamma.grid().index(i, j, k);
                    if !seen[n] && gamma.data()[n] > 1.0 {
                        seen[n] = true;
                        voxels.push(n);
                    }
                }
            }
        }
    }
    voxels
}

fn cluster(gamma: &Volume<f32>, masks: &[&Mask], voxels: Vec<usize>) -> Cluster {
    let grid = gamma.grid();
    let [nx, ny, _] = grid.size();
    let mut held = vec![0_usize; masks.len()];
    let mut worst = (0.0_f32, 0);
    let (mut volume_cm3, mut excess_cm3, mut middle) = (0.0, 0.0, DVec3::ZERO);
    for &n in &voxels {
        let value = gamma.data()[n];
        let cm3 = grid.voxel_cm3(n / (nx * ny));
        volume_cm3 += cm3;
        excess_cm3 += cm3 * f64::from(value - 1.0);
        middle += grid.centre_of_mm(n);
        if value > worst.0 {
            worst = (value, n);
        }
        for (count, mask) in held.iter_mut().zip(masks) {
            *count += usize::from(mask.holds(grid.centre_of_mm(n)));
        }
    }
    // Of structures that hold equally many voxels, the smallest is the most specific.
    let best = (0..masks.len()).filter(|s| held[*s] > 0).max_by(|&x, &y| {
        held[x]
            .cmp(&held[y])
            .then(masks[y].volume_cm3().total_cmp(&masks[x].volume_cm3()))
    });
    Cluster {
        voxels: voxels.len(),
        volume_cm3,
        max_gamma: worst.0,
        worst_mm: grid.centre_of_mm(worst.1).to_array(),
        middle_mm: (middle / voxels.len() as f64).to_array(),
        structure: best.map(|s| (s, held[s] as f64 / voxels.len() as f64)),
        excess_cm3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use std::sync::Arc;

    fn map(size: [usize; 3], failing: &[([usize; 3], f32)]) -> Volume<f32> {
        let grid =
            Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::new(2.0, 2.5, 4.0), size).unwrap());
        let mut data = vec![0.5; grid.len()];
        data[0] = f32::NAN;
        for ([i, j, k], value) in failing {
            data[grid.index(*i, *j, *k)] = *value;
        }
        Volume::new(grid, data)
    }

    #[test]
    fn voxels_that_touch_are_one_cluster_and_others_another() {
        let gamma = map(
            [8, 8, 4],
            &[
                // A chain over a corner, an edge and a face.
                ([1, 1, 1], 1.5),
                ([2, 2, 2], 2.0),
                ([3, 2, 3], 1.25),
                ([3, 3, 3], 1.25),
                // Two voxels away.
                ([6, 3, 3], 3.5),
                // Exactly 1 passes.
                ([5, 7, 0], 1.0),
            ],
        );
        let found_clusters = clusters(&gamma, &[], &JobControl::new()).unwrap();
        assert_eq!(found_clusters.len(), 2);
        // 0.02 cm3 a voxel: the lone one has 2.5 beyond 1, the chain 0.5 + 1 + 0.25 + 0.25 = 2.
        assert_eq!([found_clusters[0].voxels, found_clusters[1].voxels], [1, 4]);
        assert!(
            (found_clusters[0].excess_cm3 - 0.05).abs() < 1e-9
                && (found_clusters[1].excess_cm3 - 0.04).abs() < 1e-9
        );
        assert!((found_clusters[1].volume_cm3 - 0.08).abs() < 1e-9);
        assert_eq!(
            (found_clusters[1].max_gamma, found_clusters[1].worst()),
            (2.0, DVec3::new(4.0, 5.0, 8.0))
        );
        assert_eq!(found_clusters[1].middle_mm, [4.5, 5.0, 9.0]);
    }

    #[test]
    fn a_cluster_lies_in_the_structure_that_holds_most_of_it() {
        let gamma = map(
            [8, 8, 4],
            &[([1, 1, 1], 1.5), ([2, 1, 1], 1.5), ([3, 1, 1], 1.5)],
        );
        let grid = gamma.grid().clone();
        // Up to x = 5 mm (voxels 0 to 2), and everything.
        let mask = |x: f64| {
            let contours: Vec<_> = [0.0, 4.0, 8.0, 12.0]
                .map(|z: f64| {
                    [[-2.0, -2.0], [x, -2.0], [x, 30.0], [-2.0, 30.0]]
                        .map(|[x, y]| DVec3::new(x, y, z))
                })
                .to_vec();
            let contours: Vec<&[DVec3]> = contours.iter().map(<[DVec3; 4]>::as_slice).collect();
            Mask::from_contours(&grid, &contours, &|_| true).unwrap()
        };
        let (part, full) = (mask(5.0), mask(20.0));
        let structure_of =
            |masks: &[&Mask]| clusters(&gamma, masks, &JobControl::new()).unwrap()[0].structure;
        assert_eq!(structure_of(&[&part, &full]), Some((1, 1.0)));
        assert!(
            structure_of(&[&part])
                .is_some_and(|(s, share)| s == 0 && (share - 2.0 / 3.0).abs() < 1e-9)
        );
        // Both hold the whole cluster: the smaller structure is named.
        let gamma = map([8, 8, 4], &[([1, 1, 1], 1.5)]);
        assert_eq!(
            clusters(&gamma, &[&full, &part], &JobControl::new()).unwrap()[0].structure,
            Some((1, 1.0))
        );
        assert_eq!(
            clusters(&gamma, &[], &JobControl::new()).unwrap()[0].structure,
            None
        );
    }
}
