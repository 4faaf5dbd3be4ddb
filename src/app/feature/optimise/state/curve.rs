//! Monitor units against the rest of the plan on show: the plan solved at a few weights of monitor units.

use super::phase::Phase;
use crate::state::State;
use crate::state::results::ONLY;
use analysis::{Unanswered, scorecard};
use results::{CurvePoint, MonitorUnitCurveOf, OptimumOf};

impl State {
    /// Query of the curve, where it is shown: of the optimum at rest that has the maps of the plan, while nothing else is under way.
    pub(crate) fn wanted_curve(&self) -> Option<MonitorUnitCurveOf> {
        let optimise = &self.optimise;
        if !optimise.shows_curve || !matches!(optimise.phase, Phase::Idle) {
            return None;
        }
        let standing = optimise.view.standing?;
        let is_current =
            standing.is_dose_current && standing.are_shares_current && standing.has_plan_its_maps;
        let node = self.results.nodes.node::<OptimumOf>(ONLY)?;
        let (optimum, step) = node.latest_with_query().filter(|_| is_current)?;
        step.at_rest().map(|_| MonitorUnitCurveOf {
            optimum: optimum.clone(),
            technique: self.leaves.technique,
        })
    }

    /// Points of the curve so far, of the plan as it is; or why there is none.
    pub fn monitor_unit_curve(&self) -> Option<Result<&[CurvePoint], &str>> {
        let node = self.results.nodes.node::<MonitorUnitCurveOf>(ONLY)?;
        match node.failure() {
            Some(why) => Some(Err(why)),
            None => node.current().map(|points| Ok(&points[..])),
        }
    }

    /// Goals that a point meets, and all that have a figure in the optimiser's dose.
    pub fn goals_met_by(&self, point: &CurvePoint) -> [usize; 2] {
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let rows = scorecard(
            &self.goals(),
            &self.case().structures,
            hundred_gy,
            None,
            |structure| {
                let dvh = point
                    .dvhs
                    .iter()
                    .find(|(number, _)| *number == structure.number);
                dvh.map(|(_, dvh)| &**dvh).ok_or(Unanswered::Waiting)
            },
        );
        let judged = rows.iter().filter(|row| row.answer.is_ok()).count();
        [rows.iter().filter(|row| row.is_met()).count(), judged]
    }
}

/// Index of the point at the knee: furthest below the line from the first to the last, monitor units and objective both between 0 and 1.
pub fn knee(points: &[CurvePoint]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let saved_mu = first.delivery.figures.mu - last.delivery.figures.mu;
    let cost = last.objective - first.objective;
    if saved_mu <= 0.0 || cost <= 0.0 {
        return None;
    }
    let below_line = points.iter().map(|point| {
        (first.delivery.figures.mu - point.delivery.figures.mu) / saved_mu
            - (point.objective - first.objective) / cost
    });
    let (knee, distance) = below_line
        .enumerate()
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (distance > 0.0).then_some(knee)
}
