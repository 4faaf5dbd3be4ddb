//! Monitor units against the rest of the plan: the optimum at five weights of monitor units, a step each.

use super::super::graph::{Access, Failure, Grade, Priority, Query};
use super::live::LiveOptimiser;
use super::optimum::OptimumOf;
use analysis::Dvh;
use case::Plan;
use sequence::{PlanDelivery, Technique, sequence_plan_while};
use std::sync::{Arc, PoisonError};
use worker::Lane;

/// Weights of monitor units on the curve, of a plan's usual weight: from a leakage that is hardly minded to organs that pay for each
/// monitor unit saved.
const WEIGHTS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];

/// Key of the curve of an optimum whose maps are delivered by a technique.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorUnitCurveOf {
    pub optimum: OptimumOf,
    pub technique: Technique,
}

/// The plan at one weight of monitor units, solved on the columns and the last true dose of the optimum.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    pub weight: f64,
    /// Delivery by leaves as sequenced, before their refinement.
    pub delivery: PlanDelivery,
    /// All that is minimised but monitor units.
    pub objective: f64,
    /// DVHs of the sampled structures, by number, in the optimiser's dose.
    pub dvhs: Vec<(u32, Arc<Dvh>)>,
}

/// Points that the last steps have found, for the next one.
type WarmPoints = Option<(MonitorUnitCurveOf, Vec<CurvePoint>)>;

impl Query for MonitorUnitCurveOf {
    /// Points in the order of their weights.
    type Answer = Arc<[CurvePoint]>;

    const PRIORITY: Option<Priority> = Some(Priority::Inverse(2));
    const IN_STEPS: bool = true;
    const RESTARTABLE: bool = false;

    fn name(&self) -> String {
        let OptimumOf(query) = &self.optimum;
        format!("Monitor units of plan {}", query.plan().name)
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn is_whole(points: &Arc<[CurvePoint]>) -> bool {
        points.len() == WEIGHTS.len()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<[CurvePoint]>, Failure> {
        let warm = inputs.graph().warm::<WarmPoints>();
        let mut warm = warm.lock().unwrap_or_else(PoisonError::into_inner);
        let mut points = match warm.take() {
            Some((query, points)) if query == *self => points,
            _ => Vec::new(),
        };
        if let Some(weight) = WEIGHTS.get(points.len()) {
            points.push(self.point(*weight, inputs)?);
        }
        let answer = points.as_slice().into();
        *warm = Some((self.clone(), points));
        Ok(answer)
    }
}

impl MonitorUnitCurveOf {
    fn point(&self, weight: f64, inputs: &Access<'_>) -> Result<CurvePoint, Failure> {
        let control = inputs.control();
        // The optimiser comes to rest with the optimum again, where it has gone on to another meanwhile.
        inputs.get(&self.optimum)?;
        let place = inputs.graph().warm::<Option<LiveOptimiser>>();
        let live = place.lock().unwrap_or_else(PoisonError::into_inner);
        let live = live.as_ref();
        let live = live.ok_or_else(|| Failure::here("there is nothing optimised"))?;
        let optimum = live.at_monitor_units_weight(weight, control)?;
        let maps = Plan {
            beams: optimum.beams,
            ..self.optimum.0.plan().uncut()
        };
        let maps = Plan {
            normalisation: None,
            ..maps
        };
        let sequenced = sequence_plan_while(&maps, self.technique, &|| !control.is_cancelled());
        control.check()?;
        let sequenced = sequenced.map_err(Failure::here)?.plan;
        let delivery = PlanDelivery::new(&sequenced, 1.0);
        Ok(CurvePoint {
            weight,
            delivery: delivery
                .ok_or_else(|| Failure::here("the machine has no limits of delivery"))?,
            objective: optimum.objective * (1.0 - optimum.others.monitor_units),
            dvhs: optimum.dvhs,
        })
    }
}
