//! Passes of the wishes: once goals are met as well as they can be, wishes are minimised beside them, and no goal pays for a wish.
//!
//! Goals stay objectives whose handles move after each solution, which is the method of multipliers: each takes the multiplier that holds
//! its figure against the wishes. A goal that cannot be met is held at the figure that it has without wishes. Of the solutions those
//! count alone in which all goals are held; without any the fluences without wishes are the answer.

use super::handles::{HeldFigure, MAP_MARGIN, aim_value_gy, holding_level_gy, on_rows};
use super::objective::{Aim, Objective};
use super::optimiser::Optimiser;
use super::rows::RowSet;
use std::sync::Arc;

/// Evaluations between two moves of the handles.
pub(super) const EVALUATIONS: u64 = 40;

/// Solutions with which wishes are as near as they get to their least, and the most, where goals take longer to be held. All numbers here
/// are chosen on `openkbp-pt200` at 6 mm, whose goals conflict.
const PASSES: usize = 8;
const MOST_PASSES: usize = 16;

/// Solutions after which a true dose corrects the columns: the second, and each fourth from there on.
const CORRECTED_FIRST: usize = 2;
const CORRECTED_EVERY: usize = 4;

/// Solutions after which wishes give way while no solution holds all goals, and the factor on all wishes then.
const PATIENCE: usize = 7;
const YIELD: f64 = 0.7;

/// Figures of goals that move by less in two passes are at rest, Gy.
const AT_REST_GY: f64 = 0.1;

/// Figure by which a goal that is not met may get worse, Gy.
const UNMET_GY: f64 = 0.17;

/// Margin beyond the limits, fraction of the reference dose: wishes pull figures back to them.
const MARGIN: f64 = 2.0 * MAP_MARGIN;

/// Distance from its bound at which a figure is held before the true dose of the answer, Gy: its offset still moves.
const GUARD_GY: f64 = 0.01;

/// Coldest share of a target by whose mean its dose is held, percent: the share that D95% leaves out.
const COLDEST_PERCENT: f64 = 5.0;

/// Factor by which an objective gets more weight that is broken without a handle, or with its handle at the end of its reach, and maximum
/// of the product.
const RAISE: f64 = 4.0;
const MOST_RAISE: f64 = 64.0;

/// Fluences that hold all goals.
#[derive(Clone, Debug)]
struct Kept {
    fluences: Vec<f64>,
    objectives: Vec<Objective>,
    /// Value of all that is minimised.
    objective: f64,
    /// Value of the wishes at the weight 1.
    wishes: f64,
}

/// Goals as they are held, and the best fluences so far.
#[derive(Clone, Debug)]
pub(super) struct WishPasses {
    /// Bound of each figure, Gy; `None` for an objective that is not held.
    held_gy: Vec<Option<f64>>,
    /// Factor on the weight of each objective.
    raised: Vec<f64>,
    /// Fluences without wishes.
    without: Kept,
    /// Fluences with the least wishes that hold all goals.
    best: Option<Kept>,
    /// Figures after the last solutions.
    past: Vec<Vec<Option<f64>>>,
    passes: usize,
    is_last: bool,
}

/// The step after a solution or a true dose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    Solve,
    Correct,
    Rest,
}

impl Optimiser {
    /// Whether some wish has rows and counts.
    pub(super) fn has_wishes(&self) -> bool {
        self.objectives
            .iter()
            .any(|o| o.is_wish() && o.weight > 0.0 && self.rows().set(&o.structure).is_some())
    }

    /// Begins to minimise wishes from fluences without them, whose figures hold the goals that are not met.
    pub(super) fn begin_wishes(&mut self) {
        let figures_gy = self.figures_gy();
        let held = self.objectives.iter().zip(&figures_gy);
        let held_gy = held
            .map(|(objective, figure_gy)| figure_gy.map(|gy| held_gy(objective, gy)))
            .collect();
        self.are_wishes_minimised = true;
        self.wish_passes = Some(Box::new(WishPasses {
            held_gy,
            raised: vec![1.0; self.objectives.len()],
            without: self.kept(),
            best: None,
            past: vec![figures_gy],
            passes: 0,
            is_last: false,
        }));
    }

    fn kept(&self) -> Kept {
        Kept {
            fluences: self.fluences.clone(),
            objectives: self.objectives.clone(),
            objective: self.objective,
            wishes: self.wish_value() / self.wish_weight(),
        }
    }

    /// Sum of the weights of all wishes.
    fn wish_weight(&self) -> f64 {
        let wishes = self.objectives.iter().filter(|o| o.is_wish());
        wishes.map(|o| o.weight).sum()
    }

    /// Weighted value of all wishes.
    fn wish_value(&self) -> f64 {
        let values = self.problem().values(&self.doses_gy());
        let wishes = self.objectives.iter().zip(values);
        wishes.filter(|(o, _)| o.is_wish()).map(|(_, v)| v).sum()
    }

    /// Figure of each objective that wishes may cost its dose, Gy, in the current doses; `None` for others.
    fn figures_gy(&self) -> Vec<Option<f64>> {
        let doses_gy = self.doses_gy();
        let objectives = &self.objectives;
        let figures = objectives.iter().enumerate().map(|(n, objective)| {
            let set = self.rows().set(&objective.structure)?;
            if let Some(figure) = objective.asked {
                let offset_gy = self.dvh_offset_gy.get(n).copied().unwrap_or_default();
                return Some(on_rows(figure, &doses_gy, set) + offset_gy);
            }
            is_held_without_handle(objective, objectives, self.is_of_target(objective))
                .then(|| figure_without_handle_gy(objective.aim, &doses_gy, set))
        });
        figures.collect()
    }

    fn is_of_target(&self, objective: &Objective) -> bool {
        self.setup
            .targets()
            .any(|target| target.name == objective.structure)
    }

    /// After a solution with wishes: keeps it if it holds all goals, and moves the handles.
    pub(super) fn after_wished_solution(&mut self) -> NextStep {
        let Some(mut passes) = self.wish_passes.take() else {
            return NextStep::Rest;
        };
        passes.passes += 1;
        let figures_gy = self.figures_gy();
        if passes.are_held(&self.objectives, &figures_gy, GUARD_GY) {
            let kept = self.kept();
            let best = passes.best.as_ref();
            if best.is_none_or(|best| kept.wishes < best.wishes) {
                passes.best = Some(kept);
            }
        }
        passes.past.push(figures_gy);
        let step = passes.next_step();
        if passes.is_last {
            // The answer is checked by its own true dose.
            let answer = passes.best.as_ref().unwrap_or(&passes.without);
            self.take_kept(answer);
        } else if step == NextStep::Solve {
            self.move_wished_handles(&mut passes);
        }
        if passes.best.is_none() && passes.passes >= PATIENCE {
            self.yield_wishes();
        }
        self.wish_passes = Some(passes);
        step
    }

    /// After a true dose in between, or the true dose of the answer.
    pub(super) fn after_wished_true_dose(&mut self) -> NextStep {
        let Some(mut passes) = self.wish_passes.take() else {
            return NextStep::Rest;
        };
        let figures_gy = self.figures_gy();
        let is_held = passes.are_held(&self.objectives, &figures_gy, 0.0);
        let step = if passes.is_last && (is_held || passes.best.is_none()) {
            NextStep::Rest
        } else if passes.is_last && passes.passes >= MOST_PASSES {
            // The true dose breaks a goal that the columns held.
            passes.best = None;
            self.take_kept(&passes.without);
            NextStep::Correct
        } else {
            (passes.is_last, passes.best) = (false, None);
            self.move_wished_handles(&mut passes);
            NextStep::Solve
        };
        self.wish_passes = Some(passes);
        step
    }

    fn yield_wishes(&mut self) {
        let wishes = self.objectives.iter_mut().filter(|o| o.is_wish());
        wishes.for_each(|wish| wish.weight *= YIELD);
    }

    fn take_kept(&mut self, kept: &Kept) {
        self.fluences.clone_from(&kept.fluences);
        self.objectives.clone_from(&kept.objectives);
        self.objective = kept.objective;
    }

    /// Moves the handles by the held figures, and raises the weights of objectives that handles do not hold.
    fn move_wished_handles(&mut self, passes: &mut WishPasses) {
        let (figures_gy, doses_gy) = (self.figures_gy(), self.doses_gy());
        let rows = Arc::clone(self.rows());
        let margin_gy = MARGIN * self.reference_gy;
        for (n, objective) in self.objectives.iter_mut().enumerate() {
            let held_gy = passes.held_gy.get(n).copied().flatten();
            let (Some(held_gy), Some(figure_gy)) = (held_gy, figures_gy[n]) else {
                continue;
            };
            let is_broken = passes.is_broken(n, objective, Some(figure_gy), 0.0);
            let mut is_raised = is_broken;
            if let (Some(_), Some(set)) = (objective.asked, rows.set(&objective.structure)) {
                let aimed_gy = if is_upper(objective.aim) {
                    held_gy - margin_gy
                } else {
                    held_gy + margin_gy
                };
                let figure = HeldFigure {
                    held_gy,
                    residual_gy: aimed_gy - figure_gy,
                    value_gy: aim_value_gy(objective.aim, &doses_gy, set),
                };
                let (level_gy, is_at_end) = holding_level_gy(objective, figure, self.reference_gy);
                objective.gy = level_gy;
                is_raised = is_broken && is_at_end;
            }
            if is_raised && passes.raised[n] < MOST_RAISE {
                passes.raised[n] *= RAISE;
                objective.weight *= RAISE;
            }
        }
    }
}

impl WishPasses {
    /// Whether the figure of objective `n` lies beyond its bound, or within it by less than `guard_gy`.
    fn is_broken(
        &self,
        n: usize,
        objective: &Objective,
        figure_gy: Option<f64>,
        guard_gy: f64,
    ) -> bool {
        let held_gy = self.held_gy.get(n).copied().flatten();
        let (Some(held_gy), Some(figure_gy)) = (held_gy, figure_gy) else {
            return false;
        };
        if is_upper(objective.aim) {
            figure_gy > held_gy - guard_gy
        } else {
            figure_gy < held_gy + guard_gy
        }
    }

    fn are_held(
        &self,
        objectives: &[Objective],
        figures_gy: &[Option<f64>],
        guard_gy: f64,
    ) -> bool {
        let figures = objectives.iter().zip(figures_gy).enumerate();
        !{ figures }
            .any(|(n, (objective, figure_gy))| self.is_broken(n, objective, *figure_gy, guard_gy))
    }

    fn next_step(&mut self) -> NextStep {
        let is_found = self.best.is_some();
        self.is_last =
            self.passes >= MOST_PASSES || is_found && (self.passes >= PASSES || self.is_at_rest());
        if self.is_last || self.passes % CORRECTED_EVERY == CORRECTED_FIRST {
            NextStep::Correct
        } else {
            NextStep::Solve
        }
    }

    /// Whether no figure has moved in the last two passes.
    fn is_at_rest(&self) -> bool {
        let [.., first, _, last] = &self.past[..] else {
            return false;
        };
        let mut moves = first.iter().zip(last);
        self.passes > CORRECTED_FIRST
            && moves.all(|figures| match figures {
                (Some(first), Some(last)) => (first - last).abs() < AT_REST_GY,
                _ => true,
            })
    }
}

/// Bound at which an objective is held whose figure is `figure_gy` without wishes: its goal where that is met.
fn held_gy(objective: &Objective, figure_gy: f64) -> f64 {
    let goal_gy = objective.asked.map(|figure| figure.gy());
    match (goal_gy, is_upper(objective.aim)) {
        (Some(goal_gy), true) if figure_gy <= goal_gy => goal_gy,
        (Some(goal_gy), false) if figure_gy >= goal_gy => goal_gy,
        (None, true) if figure_gy <= objective.gy => objective.gy,
        (_, true) => figure_gy + UNMET_GY,
        (_, false) => figure_gy - UNMET_GY,
    }
}

/// Whether an objective limits doses from above.
fn is_upper(aim: Aim) -> bool {
    match aim {
        Aim::Over | Aim::MeanOver | Aim::Geud { .. } | Aim::TailMax { .. } => true,
        Aim::Under | Aim::Deviation | Aim::TailMin { .. } => false,
    }
}

/// Whether an objective without a handle is held: the maximum of a structure, and the dose of a target that no point of its DVH holds.
fn is_held_without_handle(
    objective: &Objective,
    objectives: &[Objective],
    is_of_target: bool,
) -> bool {
    if objective.is_wish() || objective.weight <= 0.0 {
        return false;
    }
    match objective.aim {
        Aim::Over => is_of_target,
        Aim::Under | Aim::Deviation => !objectives.iter().any(|other| {
            other.structure == objective.structure && matches!(other.aim, Aim::TailMin { .. })
        }),
        _ => false,
    }
}

/// Maximum of the rows of a structure, or the mean of its coldest share, Gy.
fn figure_without_handle_gy(aim: Aim, doses_gy: &[f32], set: &RowSet) -> f64 {
    if is_upper(aim) {
        let rows_gy = set.rows.iter().map(|row| doses_gy[*row as usize]);
        return f64::from(rows_gy.fold(0.0, f32::max));
    }
    let coldest = Aim::TailMin {
        volume: COLDEST_PERCENT,
    };
    aim_value_gy(coldest, doses_gy, set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Asked;

    fn objective(aim: Aim, figure: Option<Asked>) -> Objective {
        Objective {
            structure: "S".to_owned(),
            aim,
            gy: 20.0,
            weight: 1.0,
            asked: figure,
            wish_range_gy: None,
        }
    }

    /// Goals that are met are held at their limits, others at the figure that they have.
    #[test]
    fn wishes_cost_no_goal_its_figure() {
        let point = Some(Asked::Point {
            percent: 95.0,
            gy: 20.0,
        });
        let mean = Some(Asked::Mean { gy: 20.0 });
        let lower = Aim::TailMin { volume: 5.0 };
        for (aim, figure, figure_gy, want_gy) in [
            (Aim::MeanOver, mean, 12.0, 20.0),
            (Aim::MeanOver, mean, 25.0, 25.0 + UNMET_GY),
            (lower, point, 21.0, 20.0),
            (lower, point, 18.0, 18.0 - UNMET_GY),
            (Aim::Over, None, 19.0, 20.0),
            (Aim::Over, None, 22.0, 22.0 + UNMET_GY),
            (Aim::Deviation, None, 19.0, 19.0 - UNMET_GY),
        ] {
            let held_gy = held_gy(&objective(aim, figure), figure_gy);
            assert!((held_gy - want_gy).abs() < 1e-12, "{aim:?}: {held_gy} Gy");
        }
    }

    #[test]
    fn doses_of_targets_are_held_where_no_point_of_their_dvh_is() {
        let point = Some(Asked::Point {
            percent: 95.0,
            gy: 20.0,
        });
        let under = objective(Aim::Under, None);
        let tail = objective(Aim::TailMin { volume: 5.0 }, point);
        let over = objective(Aim::Over, None);
        let alone = std::slice::from_ref(&under);
        assert!(is_held_without_handle(&under, alone, true));
        assert!(!is_held_without_handle(
            &under,
            &[under.clone(), tail],
            true
        ));
        assert!(is_held_without_handle(&over, alone, true));
        assert!(!is_held_without_handle(&over, alone, false));
    }
}
