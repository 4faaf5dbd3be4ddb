//! The optimum of a plan's fluences as a result: found in steps, each a job, from where the last search was.

use super::super::graph::{Access, Failure, Grade, Priority, Query};
use super::live::{LiveOptimiser, Step};
use super::query::OptimiseQuery;
use case::Receipt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use worker::Lane;

/// Iterations of a step after which its answer is shown first: with fewer a drag of a goal would see nothing of the maps that follow it.
const FIRST_SHOWN: usize = 8;

/// Shortest time between two answers shown of a step: the DVHs of one take as long as an iteration.
const SHOW_EVERY: Duration = Duration::from_millis(120);

/// Key of the optimum of a plan's fluences: a search at rest depends on its inputs and the maps that it starts at, and on nothing before.
#[derive(Clone, Debug)]
pub struct OptimumOf(pub OptimiseQuery);

impl PartialEq for OptimumOf {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 && self.0.has_start_of(&other.0)
    }
}

impl Query for OptimumOf {
    type Answer = Step;

    const PRIORITY: Option<Priority> = Some(Priority::Inverse(0));
    const LISTED: bool = true;
    const REFINES: bool = true;
    const IN_STEPS: bool = true;

    fn name(&self) -> String {
        format!("Optimising plan {}", self.0.plan().name)
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn receipt(step: &Step) -> Option<Arc<Receipt>> {
        let optimum = step.at_rest()?;
        let digest = optimum.answered_goals.to_string();
        Some(Arc::new(optimum.receipt.of_job("optimise", digest)))
    }

    fn is_whole(step: &Step) -> bool {
        step.at_rest().is_some()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Step, Failure> {
        let place = inputs.graph().warm::<Option<LiveOptimiser>>();
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut iterations, mut shown) = (0, Instant::now());
        let step = LiveOptimiser::step(
            &mut place,
            &self.0,
            inputs.graph(),
            inputs.control(),
            &mut |step_so_far| {
                iterations += 1;
                if iterations == FIRST_SHOWN || shown.elapsed() >= SHOW_EVERY {
                    if let Some(step) = step_so_far() {
                        inputs.show::<Self>(&step);
                    }
                    shown = Instant::now();
                }
                true
            },
        );
        inputs.control().check()?;
        step
    }
}
