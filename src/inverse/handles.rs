//! Dose levels of objectives as handles: they move until DVH points and mean doses reach the doses of their goals.

use super::objective::{Aim, Asked, Objective};
use super::rows::{RowSet, Rows};
use super::setup::{Setup, Truth};
use analysis::Dvh;
use engine::JobControl;
use std::collections::BTreeMap;

/// Step of an objective's dose level as a fraction of the DVH residual.
const HANDLE_STEP: f64 = 0.7;

/// Margin by which DVH points and means are aimed beyond their goals, fraction of the reference dose: a residual within it still meets
/// them.
pub(super) const MAP_MARGIN: f64 = 0.001;
// No solution follows the last true dose of leaves, so that a larger residual remains.
pub(super) const LEAF_MARGIN: f64 = 0.002;

/// Greatest distance of an objective's dose level from its goal, fraction of the reference dose.
// A goal that cannot be met would otherwise take ever more from all others. The mean of a tail lies far beyond its point.
const POINT_REACH: f64 = 0.1;
const MEAN_REACH: f64 = 0.01;
/// The same of a mean that is held against the wishes of other organs, which move it by up to 1.5 Gy of 70.
const HELD_MEAN_REACH: f64 = 0.03;

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
}

/// A figure that a handle holds against wishes, Gy.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldFigure {
    /// Bound of the figure.
    pub held_gy: f64,
    /// Bound with a margin, less the figure.
    pub residual_gy: f64,
    /// Current value of the objective's aim.
    pub value_gy: f64,
}

/// The next dose level of a handle that holds a figure, and whether it is at the end of its reach: a multiplier of the method of
/// multipliers, which is never below 0. Unlike in [`move_handles`] the level begins where the objective begins to pull, so that a handle
/// with room to spare holds its goal as soon as the room is used up.
pub(super) fn holding_level_gy(
    objective: &Objective,
    figure: HeldFigure,
    reference_gy: f64,
) -> (f64, bool) {
    let reach_gy = reference_gy
        * match objective.asked {
            Some(Asked::Mean { .. }) => HELD_MEAN_REACH,
            _ => POINT_REACH,
        };
    let (level_gy, sign) = if matches!(objective.aim, Aim::TailMin { .. }) {
        (objective.gy.max(figure.value_gy), 1.0)
    } else {
        (objective.gy.min(figure.value_gy), -1.0)
    };
    let level_gy = moved(level_gy, figure.residual_gy, figure.held_gy, reach_gy);
    let is_at_end = sign * (level_gy - figure.held_gy) >= reach_gy;
    (level_gy, is_at_end)
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

/// Moves the dose level of each handle towards the dose at which its goal is met with the margin; whether all goals are met.
pub(super) fn move_handles(
    objectives: &mut [Objective],
    rows: &Rows,
    doses: HandleDoses<'_>,
    aim: HandleAim,
) -> bool {
    let margin_gy = aim.margin * aim.reference_gy;
    let mut are_met = true;
    for (n, objective) in objectives.iter_mut().enumerate() {
        let (Some(figure), Some(set)) = (objective.asked, rows.set(&objective.structure)) else {
            continue;
        };
        let offset_gy = doses.dvh_offset_gy.get(n).copied().unwrap_or_default();
        let figure_gy = on_rows(figure, doses.rows_gy, set) + offset_gy;
        let goal_gy = figure.gy();
        // The handle of a goal that is met with room to spare is loosened, in favour of goals that are not.
        let residual_gy = if matches!(objective.aim, Aim::TailMin { .. }) {
            are_met &= figure_gy >= goal_gy;
            goal_gy + margin_gy - figure_gy
        } else {
            are_met &= figure_gy <= goal_gy;
            goal_gy - margin_gy - figure_gy
        };
        objective.gy = match figure {
            // A mean far beyond its goal stays at it: the objective by itself pulls in proportion to the distance.
            Asked::Mean { .. } if -residual_gy > MEAN_REACH * aim.reference_gy => goal_gy,
            Asked::Mean { .. } => moved(
                objective.gy,
                residual_gy,
                goal_gy,
                MEAN_REACH * aim.reference_gy,
            ),
            Asked::Point { .. } => moved(
                objective.gy,
                residual_gy,
                goal_gy,
                POINT_REACH * aim.reference_gy,
            ),
        };
    }
    are_met
}

fn moved(level_gy: f64, residual_gy: f64, goal_gy: f64, reach_gy: f64) -> f64 {
    (level_gy + HANDLE_STEP * residual_gy).clamp((goal_gy - reach_gy).max(0.0), goal_gy + reach_gy)
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
        margin: MAP_MARGIN,
    };

    fn without_offset(rows_gy: &[f32]) -> HandleDoses<'_> {
        HandleDoses {
            rows_gy,
            dvh_offset_gy: &[],
        }
    }

    /// A point that the doses never meet moves its tail no further than its reach.
    #[test]
    fn a_point_that_is_never_met_does_not_run_away() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [10, 1, 1]).expect("a grid");
        let sets = vec![RowSet {
            name: "S".to_owned(),
            rows: (0..10).collect(),
            cm3: vec![1.0; 10],
        }];
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: (0..10).collect(),
            sets,
        };
        let doses: Vec<f32> = (0..10).map(|n| 30.0 + n as f32).collect();
        let mut objectives = [Objective {
            structure: "S".to_owned(),
            aim: Aim::TailMax { volume: 15.0 },
            gy: 20.0,
            weight: 1.0,
            asked: Some(Asked::Point {
                percent: 15.0,
                gy: 20.0,
            }),
            wish_range_gy: None,
        }];
        let mut levels_gy = Vec::new();
        for _ in 0..8 {
            assert!(!move_handles(
                &mut objectives,
                &rows,
                without_offset(&doses),
                AIM
            ));
            levels_gy.push(objectives[0].gy);
        }
        // The second hottest of ten has 38 Gy: 18 too many.
        assert_eq!(levels_gy[7], 15.0, "{levels_gy:?}");
        // 0.05 Gy below 20 Gy: the margin.
        let met: Vec<f32> = doses.iter().map(|gy| gy - 18.05).collect();
        assert!(move_handles(
            &mut objectives,
            &rows,
            without_offset(&met),
            AIM
        ));
        assert_eq!(
            objectives[0].gy, 15.0,
            "a point that is met leaves its tail"
        );
    }

    /// A mean that is nearly met is aimed beyond its goal; a mean far beyond it keeps the goal as its level.
    #[test]
    fn means_are_aimed_beyond_where_they_are_nearly_met() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2, 1, 1]).expect("a grid");
        let sets = vec![RowSet {
            name: "S".to_owned(),
            rows: vec![0, 1],
            cm3: vec![3.0, 1.0],
        }];
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: vec![0, 1],
            sets,
        };
        for (doses, want_gy, want_met) in [
            ([20.0_f32, 20.4], 20.0 - 0.7 * 0.15, false),
            ([30.0, 30.0], 20.0, false),
            ([10.0, 10.0], 20.5, true),
        ] {
            let mut objectives = [Objective {
                structure: "S".to_owned(),
                aim: Aim::MeanOver,
                gy: 20.0,
                weight: 1.0,
                asked: Some(Asked::Mean { gy: 20.0 }),
                wish_range_gy: None,
            }];
            let met = move_handles(&mut objectives, &rows, without_offset(&doses), AIM);
            assert_eq!(met, want_met, "{doses:?}");
            assert!(
                (objectives[0].gy - want_gy).abs() < 1e-5,
                "{doses:?}: {}",
                objectives[0].gy
            );
        }
    }

    /// The method of multipliers on one fluence x: of a dose x a wish (x / 10)^2 of weight 0.01 pulls down, and `D95 >= 20 Gy` holds. The
    /// level rests where the gradients cancel, 2 (D' - 20) / 50^2 = 2 * 0.01 * 20 / 10^2.
    #[test]
    fn a_level_rests_where_it_balances_a_wish() {
        let mut objective = Objective {
            structure: "S".to_owned(),
            aim: Aim::TailMin { volume: 5.0 },
            gy: 20.0,
            weight: 1.0,
            asked: Some(Asked::Point {
                percent: 95.0,
                gy: 20.0,
            }),
            wish_range_gy: None,
        };
        let (wish, goal) = (2.0 * 0.01 / 100.0, 2.0 / 2500.0);
        let mut dose_gy = 0.0;
        for _ in 0..60 {
            // Minimum of both parabolas.
            dose_gy = goal * objective.gy / (goal + wish);
            let figure = HeldFigure {
                held_gy: 20.0,
                residual_gy: 20.0 - dose_gy,
                value_gy: dose_gy,
            };
            objective.gy = holding_level_gy(&objective, figure, 100.0).0;
        }
        let want_gy = 20.0 + 20.0 * wish / goal;
        assert!((dose_gy - 20.0).abs() < 1e-6, "{dose_gy}");
        assert!((objective.gy - want_gy).abs() < 1e-6, "{}", objective.gy);
    }

    /// A handle that was loosened pulls again as soon as its room is used up; at the end of its reach it says so.
    #[test]
    fn a_loose_level_holds_at_once() {
        let objective = Objective {
            structure: "S".to_owned(),
            aim: Aim::TailMax { volume: 10.0 },
            gy: 25.0,
            weight: 1.0,
            asked: Some(Asked::Point {
                percent: 10.0,
                gy: 20.0,
            }),
            wish_range_gy: None,
        };
        for (residual_gy, value_gy, want) in [
            (1.0, 19.0, (19.7, false)),
            (-1.0, 21.0, (20.3, false)),
            (-20.0, 40.0, (15.0, true)),
        ] {
            let figure = HeldFigure {
                held_gy: 20.0,
                residual_gy,
                value_gy,
            };
            let (level_gy, is_at_end) = holding_level_gy(&objective, figure, 50.0);
            assert!((level_gy - want.0).abs() < 1e-12, "{level_gy}");
            assert_eq!(is_at_end, want.1);
        }
    }
}
