//! The dose of a plan with the matter outside the body counted: goals that it cannot turn are decided
//! ([`analysis::decided_either_way`]).

use super::beam::DoseOfBeam;
use super::dvh::DvhOf;
use super::graph::{Access, Failure, Priority, Query};
use super::inputs::Settings;
use super::patient::{Densities, MaskOf};
use super::plan_dose::DoseOfPlan;
use super::shared::Shared;
use analysis::{BodyChoice, Dvh, is_computed, unsettled};
use case::{Case, Plan};
use std::sync::Arc;
use worker::Lane;

/// DVHs of structures, by number, in the collapsed-cone dose of a plan with the matter outside the body counted.
#[derive(Clone, Debug, PartialEq)]
pub struct WithMatterOutside {
    dose: Shared<DoseOfPlan>,
    masks: Vec<(u32, MaskOf)>,
}

impl WithMatterOutside {
    /// The query of a plan with the monitor units of its normalisation, of this factor; `previous` is the previous query.
    pub fn new(
        case: &Case,
        plan: &Plan,
        factor: f64,
        settings: &Settings,
        masks: Vec<(u32, MaskOf)>,
        previous: Option<&Self>,
    ) -> Option<Self> {
        let settings = Settings {
            body: BodyChoice::Everything,
            ..settings.clone()
        };
        let densities = Densities::new(case, &settings)?;
        let mut plan = Plan {
            normalisation: None,
            ..plan.clone()
        };
        plan.beams.iter_mut().for_each(|beam| beam.mu *= factor);
        let plan = Arc::new(plan);
        let computed = plan.beams.iter().filter(|beam| is_computed(beam));
        let beams: Vec<DoseOfBeam> = computed
            .map(|beam| DoseOfBeam::new(&densities, &plan, beam, &settings, None))
            .collect();
        let previous = previous.map(|query| &query.dose);
        let dose = DoseOfPlan::of_plan(
            case,
            &plan,
            None,
            &beams,
            None,
            previous.map(|dose| &**dose),
        )?;
        Some(Self {
            dose: Shared::new(dose, previous),
            masks,
        })
    }
}

impl Query for WithMatterOutside {
    /// None where that dose decides nothing either.
    type Answer = Arc<Vec<(u32, Arc<Dvh>)>>;

    const PRIORITY: Option<Priority> = Some(Priority::Isodoses);
    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Goals with the matter outside the body counted".to_owned()
    }

    fn lane(&self, _: super::graph::Grade) -> Lane {
        Lane::Device
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure> {
        if unsettled(inputs.get(&*self.dose)?.dose.status).is_some() {
            return Ok(Arc::default());
        }
        let mut dvhs = Vec::new();
        for (number, mask) in &self.masks {
            let query = DvhOf::new(mask.clone(), self.dose.clone(), None);
            dvhs.push((*number, inputs.get(&query)?.dvh));
        }
        Ok(Arc::new(dvhs))
    }
}
