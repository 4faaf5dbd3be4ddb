//! Levels of targets: where a target has another of a higher dose beside it, the part farther from that one keeps its own dose.
//!
//! A goal on the least dose of the lower target says nothing about how far it may rise, and the cheapest plan gives all targets the
//! highest dose. The part beyond the fall-off of the higher target gets an upper limit.

use super::objective::{Aim, Asked, Objective};
use super::rows::{RowSet, Rows};
use geometry::Grid;
use rayon::prelude::*;

/// Distance from a higher target within which dose falls off to a lower level, mm. Chosen: a penumbra of 5 to 8 mm.
const FALL_OFF_MM: f64 = 8.0;

/// Maximum dose of the part with its own level, fraction of the level: ICRU report 50 has 107 % for a target.
const MOST: f64 = 1.05;

/// Weight of the limit, as of a goal on a maximum.
const WEIGHT: f64 = 4.0;

/// Levels that differ by less are one, fraction.
const SAME: f64 = 0.02;

/// Volume from which on a least dose is not the level but 95 % of it, percent (ICRU reports 50 and 83).
const NEAR_MINIMUM_PERCENT: f64 = 97.5;
const NEAR_MINIMUM: f64 = 0.95;

/// A target with its level, Gy.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub target: String,
    pub gy: f64,
}

/// Level of a target by the least doses that its goals ask for; `None` without any.
pub fn level_of(target: &str, objectives: &[Objective]) -> Option<Level> {
    let of_target = objectives
        .iter()
        .filter(|o| o.structure == target && !o.is_wish());
    let levels_gy = of_target.filter_map(|objective| match (objective.aim, objective.asked) {
        (Aim::TailMin { .. }, Some(Asked::Point { percent, gy })) => {
            Some(if percent >= NEAR_MINIMUM_PERCENT {
                gy / NEAR_MINIMUM
            } else {
                gy
            })
        }
        (Aim::Deviation, _) => Some(objective.gy),
        _ => None,
    });
    let gy = levels_gy.fold(0.0, f64::max);
    (gy > 0.0).then(|| Level {
        target: target.to_owned(),
        gy,
    })
}

/// Rows of the far part of a target, by name.
pub fn far_part_of(target: &str) -> String {
    format!("{target} beyond {FALL_OFF_MM:.0} mm of higher targets")
}

/// Limit of the far part of a target.
pub fn objective(level: &Level) -> Objective {
    Objective {
        structure: far_part_of(&level.target),
        aim: Aim::Over,
        gy: MOST * level.gy,
        weight: WEIGHT,
        asked: None,
        wish_range_gy: None,
        raised: 1.0,
    }
}

/// Far parts of targets that have a higher level beside them; empty for targets of one level.
pub fn far_parts(rows: &Rows, levels: &[Level]) -> Vec<RowSet> {
    let far_parts = levels.iter().filter_map(|level| {
        let higher = levels
            .iter()
            .filter(|other| other.gy > (1.0 + SAME) * level.gy)
            .filter_map(|other| rows.set(&other.target));
        far_part(rows, level, higher)
    });
    far_parts.collect()
}

/// Rows of a target that lie far from all rows of `higher` targets; `None` without such a row, or without a higher target.
fn far_part<'a>(
    rows: &Rows,
    level: &Level,
    higher: impl Iterator<Item = &'a RowSet>,
) -> Option<RowSet> {
    let mut is_higher = vec![false; rows.grid.len()];
    let mut has_higher = false;
    for row in higher.flat_map(|set| &set.rows) {
        is_higher[rows.voxels[*row as usize]] = true;
        has_higher = true;
    }
    let set = rows.set(&level.target).filter(|_| has_higher)?;
    let reach = reach_voxels(&rows.grid);
    let volumes: Vec<(u32, f32)> = { set.rows.par_iter().zip(&set.cm3) }
        .filter(|(row, _)| !is_near(&rows.grid, &is_higher, reach, rows.voxels[**row as usize]))
        .map(|(row, cm3)| (*row, *cm3))
        .collect();
    RowSet::of_volumes(far_part_of(&level.target), volumes)
}

/// Voxels on either side that a sphere of [`FALL_OFF_MM`] reaches along each axis.
fn reach_voxels(grid: &Grid) -> [usize; 3] {
    // Planes at uneven distances are looked through as if they were 1 mm apart.
    let [x, y] = grid.spacing_xy_mm();
    [x, y, grid.even_plane_spacing_mm().unwrap_or(1.0)].map(|mm| (FALL_OFF_MM / mm) as usize)
}

/// Whether a marked voxel lies within the fall-off of a voxel.
fn is_near(grid: &Grid, is_marked: &[bool], reach: [usize; 3], voxel: usize) -> bool {
    let (index, size, centre_mm) = (grid.voxel_of(voxel), grid.size(), grid.centre_of_mm(voxel));
    let [x, y, z] = [0, 1, 2].map(|axis| {
        index[axis].saturating_sub(reach[axis])..(index[axis] + reach[axis] + 1).min(size[axis])
    });
    z.flat_map(|k| y.clone().map(move |j| (j, k)))
        .flat_map(|(j, k)| x.clone().map(move |i| grid.index(i, j, k)))
        .any(|other| {
            is_marked[other] && grid.centre_of_mm(other).distance(centre_mm) <= FALL_OFF_MM
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use std::sync::Arc;

    fn row_set(name: &str, rows: std::ops::Range<u32>) -> RowSet {
        RowSet {
            name: name.to_owned(),
            cm3: vec![0.008; rows.len()],
            rows: rows.collect(),
        }
    }

    fn level(target: &str, gy: f64) -> Level {
        Level {
            target: target.to_owned(),
            gy,
        }
    }

    fn least_dose(target: &str, percent: f64, gy: f64) -> Objective {
        let aim = Aim::TailMin {
            volume: 100.0 - percent,
        };
        let point = Some(Asked::Point { percent, gy });
        Objective {
            structure: target.to_owned(),
            aim,
            gy,
            asked: point,
            ..objective(&Level {
                target: String::new(),
                gy: 1.0,
            })
        }
    }

    #[test]
    fn levels_are_the_least_doses_or_what_they_are_95_percent_of() {
        let objectives = [
            least_dose("A", 95.0, 70.0),
            least_dose("B", 99.0, 53.2),
            least_dose("B", 50.0, 55.0),
        ];
        assert_eq!(level_of("A", &objectives).unwrap().gy, 70.0);
        assert!((level_of("B", &objectives).unwrap().gy - 56.0).abs() < 1e-9);
        assert_eq!(level_of("C", &objectives), None);
    }

    /// A row of voxels of 2 mm: a higher target in the first five, a lower one in the next twenty. Centres within 8 mm of the last
    /// higher one are near.
    #[test]
    fn far_parts_begin_beyond_the_fall_off() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [25, 1, 1]).expect("a grid");
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: (0..25).collect(),
            sets: vec![
                row_set("high", 0..5),
                row_set("low", 5..25),
                row_set("same", 5..25),
            ],
        };
        let parts = far_parts(
            &rows,
            &[level("high", 70.0), level("low", 56.0), level("same", 56.5)],
        );
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].name, far_part_of("low"));
        assert_eq!(parts[0].rows, (9..25).collect::<Vec<u32>>());
        assert!(far_parts(&rows, &[level("low", 56.0)]).is_empty());
    }
}
