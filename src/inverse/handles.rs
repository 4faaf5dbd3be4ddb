//! Doses of objectives as handles: they move until the points of the DVH and the means that are asked for lie where they are asked.

use super::objective::{Aim, Asked, Objective};
use super::rows::{RowSet, Rows};
use super::setup::{Setup, Truth};
use analysis::Dvh;
use engine::JobControl;
use std::collections::BTreeMap;

/// The dose of an objective moves by this part of what its figure is off by.
const HANDLE_STEP: f64 = 0.7;

/// Figures are aimed this far beyond where they are asked, part of the reference dose: what comes near from there is met. The last look
/// at leaves is followed by no solution that would make up for what it finds.
pub(super) const BEYOND_OF_MAPS: f64 = 0.001;
pub(super) const BEYOND_OF_LEAVES: f64 = 0.002;

/// The dose of an objective stays so near to what is asked, part of the reference dose: a figure that cannot be met would else take ever
/// more from all others. The mean of a tail lies far beyond its point, that of a structure where it is asked.
const POINT_REACH: f64 = 0.1;
const MEAN_REACH: f64 = 0.01;

/// Gy of each objective: where its figure lies on the DVH that the plan is judged by, in which doses are linear between voxels, less
/// where it lies on that of the rows; 0 for those without.
pub(super) fn between(
    setup: &Setup,
    objectives: &[Objective],
    truth: &Truth,
    control: &JobControl,
) -> Vec<f64> {
    // A target with two goals has one DVH.
    let mut dvhs: BTreeMap<&str, Option<Dvh>> = BTreeMap::new();
    let mut of = |objective| {
        let Objective { structure, asked, .. }: &Objective = objective;
        let (asked, set) = ((*asked)?, setup.rows.set(structure)?);
        let dvh = dvhs.entry(structure).or_insert_with(|| setup.dvh(structure, truth, control)).as_ref()?;
        let judged = match asked {
            Asked::Point { percent, .. } => dvh.dose_at_percent(percent),
            Asked::Mean { .. } => dvh.mean_gy(),
        };
        Some(judged - on_rows(asked, &truth.rows, set))
    };
    objectives.iter().map(|objective| of(objective).unwrap_or_default()).collect()
}

/// Moves the dose of each handle towards where its figure is asked for, and `beyond` that, part of the reference dose; whether all
/// figures are met. `between_gy` is what [`between`] says of each objective; objectives beyond its end have none.
pub(super) fn move_handles(
    objectives: &mut [Objective],
    rows: &Rows,
    (doses, between_gy): (&[f32], &[f64]),
    (reference_gy, beyond): (f64, f64),
) -> bool {
    let beyond = beyond * reference_gy;
    let mut met = true;
    for (n, objective) in objectives.iter_mut().enumerate() {
        let (Some(asked), Some(set)) = (objective.asked, rows.set(&objective.structure)) else {
            continue;
        };
        let more = between_gy.get(n).copied().unwrap_or_default();
        let (at, gy) = (on_rows(asked, doses, set) + more, asked.gy());
        // A figure with room to spare is met; its handle is loosened all the same, in favour of what is not.
        let off = if matches!(objective.aim, Aim::TailMin { .. }) {
            met &= at >= gy;
            gy + beyond - at
        } else {
            met &= at <= gy;
            gy - beyond - at
        };
        objective.gy = match asked {
            // A mean that is far off pulls as it is: its own objective weighs the whole way.
            Asked::Mean { .. } if -off > MEAN_REACH * reference_gy => gy,
            Asked::Mean { .. } => moved(objective.gy, off, gy, MEAN_REACH * reference_gy),
            Asked::Point { .. } => moved(objective.gy, off, gy, POINT_REACH * reference_gy),
        };
    }
    met
}

fn moved(from_gy: f64, off_gy: f64, asked_gy: f64, reach_gy: f64) -> f64 {
    (from_gy + HANDLE_STEP * off_gy).clamp((asked_gy - reach_gy).max(0.0), asked_gy + reach_gy)
}

/// Figure of a structure's rows in their doses, Gy.
fn on_rows(asked: Asked, doses: &[f32], set: &RowSet) -> f64 {
    let shares = set.shares();
    match asked {
        Asked::Point { percent, .. } => dose_at(doses, &set.rows, &shares, percent),
        Asked::Mean { .. } => {
            set.rows.iter().zip(&shares).map(|(row, v)| v * f64::from(doses[*row as usize])).sum()
        }
    }
}

/// Dose that the hottest `percent` of a structure get at least.
fn dose_at(doses: &[f32], rows: &[u32], shares: &[f64], percent: f64) -> f64 {
    let mut order: Vec<(f32, f64)> =
        rows.iter().zip(shares).map(|(row, v)| (doses[*row as usize], *v)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = 0.01 * percent;
    for (gy, share) in &order {
        left -= share;
        if left <= 0.0 {
            return f64::from(*gy);
        }
    }
    order.last().map_or(0.0, |(gy, _)| f64::from(*gy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    /// A point that the doses never meet moves its tail, and no further than within reach.
    #[test]
    fn a_point_that_is_never_met_does_not_run_away() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [10, 1, 1]).expect("a grid");
        let sets = vec![RowSet { name: "S".to_owned(), rows: (0..10).collect(), cm3: vec![1.0; 10] }];
        let rows = Rows { grid: Arc::new(grid), voxels: (0..10).collect(), sets };
        let doses: Vec<f32> = (0..10).map(|n| 30.0 + n as f32).collect();
        let asked = Some(Asked::Point { percent: 15.0, gy: 20.0 });
        let aim = Aim::TailMax { volume: 15.0 };
        let mut objectives = [Objective { structure: "S".to_owned(), aim, gy: 20.0, weight: 1.0, asked }];
        let mut seen = Vec::new();
        for _ in 0..8 {
            assert!(!move_handles(&mut objectives, &rows, (&doses, &[]), (50.0, BEYOND_OF_MAPS)));
            seen.push(objectives[0].gy);
        }
        // The second hottest of ten has 38 Gy: 18 too many.
        assert_eq!(seen[7], 15.0, "{seen:?}");
        // Where points are aimed, 0.05 Gy beyond 20.
        let met: Vec<f32> = doses.iter().map(|gy| gy - 18.05).collect();
        assert!(move_handles(&mut objectives, &rows, (&met, &[]), (50.0, BEYOND_OF_MAPS)));
        assert_eq!(objectives[0].gy, 15.0, "a point that is met leaves its tail");
    }

    /// A mean that is nearly met is aimed beyond where it is asked; one that is far off pulls as it is.
    #[test]
    fn means_are_aimed_beyond_where_they_are_nearly_met() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2, 1, 1]).expect("a grid");
        let sets = vec![RowSet { name: "S".to_owned(), rows: vec![0, 1], cm3: vec![3.0, 1.0] }];
        let rows = Rows { grid: Arc::new(grid), voxels: vec![0, 1], sets };
        for (doses, want_gy, want_met) in [
            ([20.0_f32, 20.4], 20.0 - 0.7 * 0.15, false),
            ([30.0, 30.0], 20.0, false),
            ([10.0, 10.0], 20.5, true),
        ] {
            let asked = Some(Asked::Mean { gy: 20.0 });
            let mut objectives =
                [Objective { structure: "S".to_owned(), aim: Aim::MeanOver, gy: 20.0, weight: 1.0, asked }];
            let met = move_handles(&mut objectives, &rows, (&doses, &[]), (50.0, BEYOND_OF_MAPS));
            assert_eq!(met, want_met, "{doses:?}");
            assert!((objectives[0].gy - want_gy).abs() < 1e-5, "{doses:?}: {}", objectives[0].gy);
        }
    }
}
