//! Dose levels of objectives as handles: they move until DVH points and mean doses reach the doses of their goals.

use super::objective::{Aim, Asked, Objective};
use super::rows::{RowSet, Rows};
use super::setup::{Setup, Truth};
use analysis::Dvh;
use engine::JobControl;
use std::collections::BTreeMap;

/// Step of an objective's dose level as a fraction of the DVH residual.
const HANDLE_STEP: f64 = 0.7;
/// The same of a goal that is not met. A tail of few voxels follows its level slowly.
const BROKEN_STEP: f64 = 1.4;

/// Margin by which DVH points and means of leaves are aimed beyond their goals, fraction of the reference dose: no solution follows the
/// last true dose of leaves.
pub(super) const LEAF_MARGIN: f64 = 0.002;

/// Factor on the weight of a goal that cannot be met, at each move, and the most: wishes of other organs pull against it. Goals that
/// cannot be met together keep their weights relative to each other.
const RAISE: f64 = 2.0;
const MOST_RAISED: f64 = 8.0;

/// Greatest distance of an objective's dose level from its goal, fraction of the reference dose.
// A goal that cannot be met would otherwise take ever more from all others. The mean of a tail lies far beyond its point.
const POINT_REACH: f64 = 0.1;
/// Wishes of other organs move a mean by up to 1.5 Gy of 70.
const MEAN_REACH: f64 = 0.03;

impl Asked {
    /// Greatest distance of a handle from its goal, fraction of the reference dose.
    fn reach(self) -> f64 {
        match self {
            Self::Point { .. } => POINT_REACH,
            Self::Mean { .. } => MEAN_REACH,
        }
    }
}

/// DVH point or mean on the evaluation grid, in which doses are linear between voxels, minus the same on the sampled voxels, Gy, for each
/// objective; 0 for an objective without either.
pub(super) fn dvh_offsets_gy(
    setup: &Setup,
    objectives: &[Objective],
    truth: &Truth,
    control: &JobControl,
) -> Vec<f64> {
    // A target with two goals needs its DVH once.
    let mut dvhs: BTreeMap<&str, Option<Dvh>> = BTreeMap::new();
    let mut offsets_gy = vec![0.0; objectives.len()];
    for (offset_gy, objective) in offsets_gy.iter_mut().zip(objectives) {
        let structure = objective.structure.as_str();
        let (Some(figure), Some(set)) = (objective.asked, setup.rows.set(structure)) else {
            continue;
        };
        let dvh = dvhs
            .entry(structure)
            .or_insert_with(|| setup.dvh(structure, truth, control));
        let Some(dvh) = dvh else { continue };
        let judged_gy = match figure {
            Asked::Point { percent, .. } => dvh.dose_at_percent(percent),
            Asked::Mean { .. } => dvh.mean_gy(),
        };
        *offset_gy = judged_gy - on_rows(figure, &truth.rows, set);
    }
    offsets_gy
}

/// Doses of the rows, and the [`dvh_offsets_gy`] of the objectives; objectives beyond its end have no offset.
#[derive(Clone, Copy)]
pub(super) struct HandleDoses<'a> {
    pub rows_gy: &'a [f32],
    pub dvh_offset_gy: &'a [f64],
}

/// Reference dose, and the margin beyond the goals as a fraction of it.
#[derive(Clone, Copy)]
pub(super) struct HandleAim {
    pub reference_gy: f64,
    pub margin: f64,
    /// Whether goals whose handles stay at the end of their reach get more weight.
    pub raises: bool,
}

/// Mean, or mean of the hottest or coldest share, of a structure's rows, Gy, as the aim of an objective has it.
pub(super) fn aim_value_gy(aim: Aim, doses: &[f32], set: &RowSet) -> f64 {
    let (sign, volume) = match aim {
        Aim::TailMax { volume } => (-1.0, volume),
        Aim::TailMin { volume } => (1.0, volume),
        _ => (1.0, 100.0),
    };
    let mut rows: Vec<(f64, f64)> = set
        .rows
        .iter()
        .zip(set.shares())
        .map(|(row, share)| (f64::from(doses[*row as usize]), share))
        .collect();
    rows.sort_by(|(gy, _), (other_gy, _)| (sign * gy).total_cmp(&(sign * other_gy)));
    let (mut sum_gy, mut counted, mut remaining) = (0.0, 0.0, 0.01 * volume);
    for (gy, share) in rows {
        let part = share.min(remaining);
        sum_gy += part * gy;
        counted += part;
        remaining -= part;
    }
    sum_gy / f64::max(counted, f64::MIN_POSITIVE)
}

/// Whether goals hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handles {
    /// All goals are met.
    pub are_met: bool,
    /// All goals are met but those whose handles are at the end of their reach: they cannot be met.
    pub are_held: bool,
}

/// Figure of the goal of objective `n`, Gy; `None` for an objective without a handle or without rows.
fn figure_gy(objective: &Objective, n: usize, rows: &Rows, doses: HandleDoses<'_>) -> Option<f64> {
    let set = rows.set(&objective.structure)?;
    let offset_gy = doses.dvh_offset_gy.get(n).copied().unwrap_or_default();
    Some(on_rows(objective.asked?, doses.rows_gy, set) + offset_gy)
}

/// Moves the dose level of each handle towards the dose at which its goal is met with the margin: a multiplier of the method of
/// multipliers, which is never below 0.
pub(super) fn move_handles(
    objectives: &mut [Objective],
    rows: &Rows,
    doses: HandleDoses<'_>,
    aim: HandleAim,
) -> Handles {
    let margin_gy = aim.margin * aim.reference_gy;
    let mut handles = Handles {
        are_met: true,
        are_held: true,
    };
    for (n, objective) in objectives.iter_mut().enumerate() {
        let figure_gy = figure_gy(objective, n, rows, doses);
        let (Some(limited), Some(figure_gy), Some(set)) =
            (objective.asked, figure_gy, rows.set(&objective.structure))
        else {
            continue;
        };
        let is_lower = matches!(objective.aim, Aim::TailMin { .. });
        let sign = if is_lower { 1.0 } else { -1.0 };
        let is_met = sign * (figure_gy - limited.gy()) >= 0.0;
        let reach_gy = limited.reach() * aim.reference_gy;
        // The level begins where the objective begins to pull, so that a handle with room to spare holds its goal as soon as the
        // room is used up.
        let value_gy = aim_value_gy(objective.aim, doses.rows_gy, set);
        let level_gy = sign * (sign * objective.gy).max(sign * value_gy);
        let residual_gy = limited.gy() + sign * margin_gy - figure_gy;
        let step = if is_met { HANDLE_STEP } else { BROKEN_STEP };
        let least_gy = (limited.gy() - reach_gy).max(0.0);
        let most_gy = limited.gy() + reach_gy;
        let end_gy = if is_lower { most_gy } else { least_gy };
        let next_gy = (level_gy + step * residual_gy).clamp(least_gy, most_gy);
        handles.are_met &= is_met;
        if aim.raises && objective.gy == end_gy && !is_met {
            objective.raised = MOST_RAISED.min(RAISE * objective.raised);
        }
        objective.gy = next_gy;
        handles.are_held &= is_met || objective.raised > 1.0;
    }
    handles
}

/// DVH point or mean of a structure's rows, Gy.
pub(super) fn on_rows(figure: Asked, doses: &[f32], set: &RowSet) -> f64 {
    let shares = set.shares();
    match figure {
        Asked::Point { percent, .. } => dose_at_percent(doses, &set.rows, &shares, percent),
        Asked::Mean { .. } => set
            .rows
            .iter()
            .zip(&shares)
            .map(|(row, v)| v * f64::from(doses[*row as usize]))
            .sum(),
    }
}

/// Minimum dose of the hottest `percent` of a structure, Gy.
fn dose_at_percent(doses: &[f32], rows: &[u32], shares: &[f64], percent: f64) -> f64 {
    let mut order: Vec<(f32, f64)> = rows
        .iter()
        .zip(shares)
        .map(|(row, v)| (doses[*row as usize], *v))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut remaining_share = 0.01 * percent;
    for (gy, share) in &order {
        remaining_share -= share;
        if remaining_share <= 0.0 {
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

    const AIM: HandleAim = HandleAim {
        reference_gy: 50.0,
        margin: 0.001,
        raises: true,
    };

    /// Rows of equal volume.
    fn rows(count: usize) -> Rows {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [count, 1, 1]).expect("a grid");
        Rows {
            grid: Arc::new(grid),
            voxels: (0..count).collect(),
            sets: vec![RowSet {
                name: "S".to_owned(),
                rows: (0..count as u32).collect(),
                cm3: vec![1.0; count],
            }],
        }
    }

    fn goal(aim: Aim, limited: Asked) -> [Objective; 1] {
        [Objective {
            structure: "S".to_owned(),
            aim,
            gy: limited.gy(),
            weight: 1.0,
            asked: Some(limited),
            wish_range_gy: None,
            raised: 1.0,
        }]
    }

    fn move_by(objectives: &mut [Objective], rows_gy: &[f32]) -> Handles {
        let doses = HandleDoses {
            rows_gy,
            dvh_offset_gy: &[],
        };
        move_handles(objectives, &rows(rows_gy.len()), doses, AIM)
    }

    /// A point that the doses never meet moves its tail no further than its reach, and gets more weight, up to eight times; met at last,
    /// it lets go of nothing at once.
    #[test]
    fn a_point_that_is_never_met_does_not_run_away() {
        let point = Asked::Point {
            percent: 15.0,
            gy: 20.0,
        };
        let mut objectives = goal(Aim::TailMax { volume: 15.0 }, point);
        let rows_gy: Vec<f32> = (0..10).map(|n| 30.0 + n as f32).collect();
        let first = move_by(&mut objectives, &rows_gy);
        assert!(!first.are_met && !first.are_held);
        // The second hottest of ten has 38 Gy: 18 too many.
        assert_eq!((objectives[0].gy, objectives[0].raised), (15.0, 1.0));
        for raised in [2.0, 4.0, 8.0, 8.0] {
            let handles = move_by(&mut objectives, &rows_gy);
            assert!(!handles.are_met && handles.are_held, "it cannot be met");
            assert_eq!((objectives[0].gy, objectives[0].raised), (15.0, raised));
        }
        // 0.05 Gy below 20 Gy: the margin.
        let met_gy: Vec<f32> = rows_gy.iter().map(|gy| gy - 18.05).collect();
        let handles = move_by(&mut objectives, &met_gy);
        assert!(handles.are_met && handles.are_held);
        assert_eq!(objectives[0].gy, 15.0);
    }

    /// Means are aimed beyond their goals by the margin of 0.05 Gy; a level begins where its objective begins to pull.
    #[test]
    fn means_are_aimed_beyond_their_goals() {
        for (rows_gy, want_gy, is_met) in [
            ([20.0_f32, 20.4], 20.0 - 1.4 * 0.25, false),
            ([30.0, 30.0], 18.5, false),
            ([10.0, 10.0], 18.5, true),
            ([19.0, 19.2], 19.1 + 0.7 * 0.85, true),
        ] {
            let mut objectives = goal(Aim::MeanOver, Asked::Mean { gy: 20.0 });
            let handles = move_by(&mut objectives, &rows_gy);
            assert_eq!(handles.are_met, is_met, "{rows_gy:?}");
            let level_gy = objectives[0].gy;
            assert!((level_gy - want_gy).abs() < 1e-5, "{rows_gy:?}: {level_gy}");
        }
    }

    /// The method of multipliers on one fluence x: of a dose x a wish (x / 10)^2 of weight 0.005 pulls down, and `D95 >= 20 Gy` holds. The
    /// level rests where the gradients cancel, 2 (D' - 20) / 50^2 = 2 * 0.005 * 20 / 10^2.
    #[test]
    fn a_level_rests_where_it_balances_a_wish() {
        let point = Asked::Point {
            percent: 95.0,
            gy: 20.0,
        };
        let mut objectives = goal(Aim::TailMin { volume: 5.0 }, point);
        let (wish, pull) = (2.0 * 0.005 / 100.0, 2.0 / 2500.0);
        let mut dose_gy = 0.0;
        for _ in 0..60 {
            // Minimum of both parabolas.
            dose_gy = pull * objectives[0].gy / (pull + wish);
            move_by(&mut objectives, &[dose_gy as f32]);
        }
        // Held with the margin.
        let held_gy = 20.0 + AIM.margin * AIM.reference_gy;
        let want_gy = held_gy + held_gy * wish / pull;
        assert!((dose_gy - held_gy).abs() < 1e-4, "{dose_gy}");
        assert!(
            (objectives[0].gy - want_gy).abs() < 1e-4,
            "{}",
            objectives[0].gy
        );
    }

    /// The goal of a low dose has its end at 0 Gy.
    #[test]
    fn a_low_goal_that_cannot_be_met_says_so() {
        let mut objectives = goal(Aim::MeanOver, Asked::Mean { gy: 1.0 });
        move_by(&mut objectives, &[3.0]);
        assert!(move_by(&mut objectives, &[3.0]).are_held);
        assert_eq!(objectives[0].gy, 0.0);
    }
}
