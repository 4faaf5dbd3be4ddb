//! Wishes as objectives: what is minimised of a structure once its goals are met.
//!
//! W = beta sum_k 2^(-p_k) ((phi_k(d) - a_k)+ / (L_k - a_k))^2 with the goal's limit L_k, its wish a_k and the priority p_k of the wish,
//! 0 for the highest. phi_k is a mean, a gEUD, or the mean of the hottest share of a volume: the figures of [`Aim`]. Goals remain
//! constraints: their handles are the multipliers of the method of multipliers (Hestenes, J. Optim. Theory Appl. 4 (1969) 303), and
//! rise until they balance the wishes. Squares and not the strict order of Breedveld et al., Med. Phys. 36 (2009) 1219: the pull of a
//! wish decreases with its figure, so that no organ gets its last Gy at the expense of all others.

use super::objective::{Aim, NEAR_MAXIMUM_PERCENT, Objective, limit_gy, of_goal};
use case::{Figure, Goal, Wish};

/// beta: W of a wish of the highest priority whose figure is at its limit. Chosen: a hundredth of a goal that is broken by the reference
/// dose, so that goals outweigh wishes.
const WEIGHT: f64 = 0.01;

/// Factor of the weight of each lower priority.
const LOWER_PRIORITY: f64 = 0.5;

/// Weight of a wish of a priority, 1 for the highest.
pub(super) fn weight_of_priority(priority: u8) -> f64 {
    WEIGHT * LOWER_PRIORITY.powi(i32::from(priority.max(1)) - 1)
}

/// Minimum of L - a, fraction of L: the curvature of a wish just below its limit would otherwise exceed the curvature of goals.
const LEAST_DISTANCE: f64 = 0.1;

/// A structure of goals: volume, cm3, and whether it is a target.
#[derive(Clone, Copy, Debug)]
pub struct WishedStructure {
    pub volume_cm3: f64,
    pub is_target: bool,
}

/// Objective of the wish of a goal; `None` without a wish, and for goals that are not optimised. `hundred_gy` is the prescription.
pub fn of_wish(
    goal: &Goal,
    structure: WishedStructure,
    hundred_gy: Option<f64>,
) -> Option<Objective> {
    let wished = match goal.wish() {
        Wish::Value(value) if value < goal.limit() => value,
        Wish::Usual if !structure.is_target => 0.0,
        _ => return None,
    };
    let at_limit = of_upper_limit(goal, structure, hundred_gy)?;
    let limit_gy = at_limit.gy;
    let is_volume = matches!(
        goal.metric().figure(),
        Figure::VolumeAtGy | Figure::VolumeAtPercent
    );
    let (aim, wished_gy, distance_gy) = if is_volume {
        // The wished volume reaches the dose of the metric: its hottest share is wished below that dose.
        let of_volume = of_upper_limit(&goal.clone().with_limit(wished), structure, hundred_gy);
        let aim = of_volume.map_or(Aim::TailMax { volume: 0.0 }, |objective| objective.aim);
        (aim, limit_gy, limit_gy)
    } else {
        let wished_gy = goal_gy(goal, wished, hundred_gy)?;
        (at_limit.aim, wished_gy, limit_gy - wished_gy)
    };
    (limit_gy > 0.0).then(|| Objective {
        structure: goal.structure.clone(),
        aim: figure_of(aim),
        gy: wished_gy,
        weight: weight_of_priority(goal.priority()),
        asked: None,
        wish_range_gy: Some(distance_gy.max(LEAST_DISTANCE * limit_gy)),
        raised: 1.0,
    })
}

/// Objective that limits the doses of a structure from above; `None` for other goals.
fn of_upper_limit(
    goal: &Goal,
    structure: WishedStructure,
    hundred_gy: Option<f64>,
) -> Option<Objective> {
    let WishedStructure {
        volume_cm3,
        is_target,
    } = structure;
    let goal = goal.clone().with_kept(None);
    let objectives = of_goal(&goal, volume_cm3, hundred_gy, is_target).ok()?;
    objectives.into_iter().find(|objective| {
        matches!(
            objective.aim,
            Aim::Over | Aim::MeanOver | Aim::Geud { .. } | Aim::TailMax { .. }
        )
    })
}

/// A dose in the unit of a goal, Gy.
fn goal_gy(goal: &Goal, value: f64, hundred_gy: Option<f64>) -> Option<f64> {
    limit_gy(goal, value, hundred_gy).ok()
}

/// The figure that a wish lowers. Of a maximum, and of a smaller share than 2 %, it is the mean of the hottest 2 %: the gradient of fewer
/// voxels misses those beside them.
fn figure_of(aim: Aim) -> Aim {
    match aim {
        Aim::Over => Aim::TailMax {
            volume: NEAR_MAXIMUM_PERCENT,
        },
        Aim::TailMax { volume } => Aim::TailMax {
            volume: volume.max(NEAR_MAXIMUM_PERCENT),
        },
        aim => aim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Columns;
    use crate::monitor_units::MonitorUnits;
    use crate::problem::Problem;
    use crate::rows::{RowSet, Rows};
    use crate::solve::Differentiable;
    use geometry::Grid;
    use glam::DVec3;
    use std::sync::Arc;

    const ORGAN: WishedStructure = WishedStructure {
        volume_cm3: 40.0,
        is_target: false,
    };
    const TARGET: WishedStructure = WishedStructure {
        is_target: true,
        ..ORGAN
    };

    fn wish(words: &str, structure: WishedStructure) -> Option<Objective> {
        let goal: Goal = words.parse().expect("a goal");
        of_wish(&goal, structure, Some(50.0))
    }

    #[test]
    fn goals_have_the_wishes_that_they_name() {
        use Aim::{Geud, MeanOver, TailMax};
        // Figure, a, beta 2^-p, L - a.
        for (words, figure, wished_gy, weight, range_gy) in [
            (
                "C: Dmax <= 45 Gy (wish 0 Gy)",
                TailMax { volume: 2.0 },
                0.0,
                0.01,
                45.0,
            ),
            (
                "C: D0.1cc <= 45 Gy (wish 20 Gy, priority 2)",
                TailMax { volume: 2.0 },
                20.0,
                0.005,
                25.0,
            ),
            (
                "C: D10cc <= 40 Gy (wish 0 Gy, priority 3, kept 30 Gy)",
                TailMax { volume: 25.0 },
                0.0,
                0.0025,
                40.0,
            ),
            ("C: Dmean <= 40 Gy", MeanOver, 0.0, 0.01, 40.0),
            ("C: Dmean <= 60 % (wish 30 %)", MeanOver, 15.0, 0.01, 15.0),
            (
                "C: gEUD8 <= 40 Gy (wish 0 Gy)",
                Geud { a: 8.0 },
                0.0,
                0.01,
                40.0,
            ),
            (
                "C: V20Gy <= 30 % (wish 10 %)",
                TailMax { volume: 10.0 },
                20.0,
                0.01,
                20.0,
            ),
            (
                "C: V20Gy[cc] <= 30 cc (wish 0 cc)",
                TailMax { volume: 2.0 },
                20.0,
                0.01,
                20.0,
            ),
            // A wish next to its limit.
            ("C: Dmean <= 40 Gy (wish 39 Gy)", MeanOver, 39.0, 0.01, 4.0),
        ] {
            let objective = wish(words, ORGAN).expect(words);
            assert_eq!(objective.aim, figure, "{words}");
            let numbers = [
                (objective.gy, wished_gy),
                (objective.weight, weight),
                (objective.wish_range_gy.unwrap_or_default(), range_gy),
            ];
            for (got, want) in numbers {
                assert!((got - want).abs() < 1e-12, "{words}: {got} for {want}");
            }
        }
        for words in [
            "C: Dmax <= 45 Gy (wish none)",
            "C: Dmax <= 45 Gy (wish 45 Gy)",
            "C: D95% >= 45 Gy",
            "C: CI <= 0.8",
        ] {
            assert_eq!(wish(words, ORGAN), None, "{words}");
        }
        assert_eq!(wish("T: D2% <= 53 Gy", TARGET), None);
        assert!(wish("T: D2% <= 53 Gy (wish 51 Gy)", TARGET).is_some());
    }

    /// W of rows of 1, 2, .. 10 Gy in closed form, and its gradient by central differences.
    #[test]
    fn wishes_have_their_closed_form_and_gradient() {
        let count = 10;
        let gy: Vec<f32> = (1..=count).map(|n| n as f32).collect();
        let columns = Columns::from_gy(count, &gy);
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [count, 1, 1]).expect("a grid");
        let set = RowSet {
            name: "C".to_owned(),
            rows: (0..count as u32).collect(),
            cm3: vec![1.0; count],
        };
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: (0..count).collect(),
            sets: vec![set],
        };
        for (words, want) in [
            // Mean 5.5 Gy.
            (
                "C: Dmean <= 8 Gy (wish 0 Gy)",
                0.01 * (5.5_f64 / 8.0).powi(2),
            ),
            (
                "C: Dmean <= 8 Gy (wish 5 Gy, priority 2)",
                0.005 * (0.5_f64 / 3.0).powi(2),
            ),
            // The hottest three of ten have 9 Gy on average.
            (
                "C: D30% <= 12 Gy (wish 4 Gy)",
                0.01 * (5.0_f64 / 8.0).powi(2),
            ),
            (
                "C: Dmax <= 20 Gy (wish 0 Gy)",
                0.01 * (10.0_f64 / 20.0).powi(2),
            ),
            ("C: Dmean <= 8 Gy (wish 6 Gy)", 0.0),
        ] {
            let objective = wish(words, ORGAN).expect(words);
            // The reference dose does not count.
            for reference_gy in [1.0, 60.0] {
                let problem = Problem::new(
                    &columns,
                    &rows,
                    std::slice::from_ref(&objective),
                    MonitorUnits::none(),
                    reference_gy,
                );
                let mut gradient = Vec::new();
                let value = problem.evaluate(&[1.0], &mut gradient);
                assert!(
                    (value - want).abs() <= 1e-4 * want,
                    "{words}: {value} for {want}"
                );
                let step = 1e-3;
                let [plus, minus] =
                    [step, -step].map(|step| problem.evaluate(&[1.0 + step], &mut Vec::new()));
                let slope = (plus - minus) / (2.0 * step);
                assert!(
                    (slope - gradient[0]).abs() < 1e-3 * slope.abs().max(1e-6),
                    "{words}: {slope} for {}",
                    gradient[0]
                );
            }
        }
    }
}
