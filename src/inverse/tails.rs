//! Tails of the DVH as handles: their doses move until the points that are asked for lie where they are asked.

use super::objective::{Aim, Objective};
use super::rows::Rows;
use super::setup::{Setup, Truth};
use engine::JobControl;

/// The dose of a tail moves by this part of what its point is off by. Points are aimed this far beyond where they are asked, part of the
/// reference dose: what comes near from there is met.
const HANDLE_STEP: f64 = 0.7;
const HANDLE_BEYOND: f64 = 0.001;

/// The dose of a tail stays so near to that of its point, part of the reference dose: a point that cannot be met would else take ever
/// more from all others.
const HANDLE_REACH: f64 = 0.1;

/// Gy of each objective: where its point lies on the DVH that the plan is judged by, in which doses are linear between voxels, less
/// where it lies on that of the rows; 0 for those without.
pub(super) fn between(
    setup: &Setup,
    objectives: &[Objective],
    truth: &Truth,
    control: &JobControl,
) -> Vec<f64> {
    let of = |objective: &Objective| {
        let [percent, _] = objective.asked?;
        let set = setup.rows.set(&objective.structure)?;
        let judged = setup.dvh(&objective.structure, truth, control)?.dose_at_percent(percent);
        Some(judged - dose_at(&truth.rows, &set.rows, &set.shares(), percent))
    };
    objectives.iter().map(|objective| of(objective).unwrap_or_default()).collect()
}

/// Moves the dose of each tail towards where the point that is asked for lies on the DVH; whether all points are met. `between_gy` is
/// what [`between`] says of each objective; objectives beyond its end have none.
pub(super) fn move_tails(
    objectives: &mut [Objective],
    rows: &Rows,
    (doses, between_gy): (&[f32], &[f64]),
    reference_gy: f64,
) -> bool {
    let beyond = HANDLE_BEYOND * reference_gy;
    let mut met = true;
    for (n, objective) in objectives.iter_mut().enumerate() {
        let (Some([percent, gy]), Some(set)) = (objective.asked, rows.set(&objective.structure)) else {
            continue;
        };
        let more = between_gy.get(n).copied().unwrap_or_default();
        let at = dose_at(doses, &set.rows, &set.shares(), percent) + more;
        // A point with room to spare is met; its tail is loosened all the same, in favour of what is not.
        let off = if matches!(objective.aim, Aim::TailMax { .. }) {
            met &= at <= gy;
            gy - beyond - at
        } else {
            met &= at >= gy;
            gy + beyond - at
        };
        let reach = HANDLE_REACH * reference_gy;
        objective.gy = (objective.gy + HANDLE_STEP * off).clamp((gy - reach).max(0.0), gy + reach);
    }
    met
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
    use crate::rows::RowSet;
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
        let asked = Some([15.0, 20.0]);
        let aim = Aim::TailMax { volume: 15.0 };
        let mut objectives = [Objective { structure: "S".to_owned(), aim, gy: 20.0, weight: 1.0, asked }];
        let mut seen = Vec::new();
        for _ in 0..8 {
            assert!(!move_tails(&mut objectives, &rows, (&doses, &[]), 50.0));
            seen.push(objectives[0].gy);
        }
        // The second hottest of ten has 38 Gy: 18 too many.
        assert_eq!(seen[7], 15.0, "{seen:?}");
        // Where points are aimed, 0.05 Gy beyond 20.
        let met: Vec<f32> = doses.iter().map(|gy| gy - 18.05).collect();
        assert!(move_tails(&mut objectives, &rows, (&met, &[]), 50.0));
        assert_eq!(objectives[0].gy, 15.0, "a point that is met leaves its tail");
    }
}
