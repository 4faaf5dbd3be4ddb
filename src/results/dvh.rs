//! The dose-volume histogram of a structure.

use super::graph::{Access, Failure, Grade, Query};
use super::patient::MaskOf;
use super::plan_dose::DoseOfPlan;
use super::shared::Shared;
use crate::analysis::{Dvh, Isodoses};
use crate::worker::Lane;
use std::sync::Arc;

/// The DVH of a structure in a dose.
#[derive(Clone, Debug, PartialEq)]
pub struct DvhOf {
    pub mask: MaskOf,
    pub dose: Shared<DoseOfPlan>,
}

#[derive(Clone, Debug)]
pub struct DvhAnswer {
    pub dvh: Arc<Dvh>,
    /// Mean relative standard deviation in the structure, percent, of a Monte Carlo dose.
    pub uncertainty_percent: Option<f64>,
}

impl Query for DvhOf {
    type Answer = DvhAnswer;

    const NOTICED: bool = false;

    fn name(&self) -> String {
        "DVH".to_owned()
    }

    fn lane(&self, grade: Grade) -> Lane {
        self.dose.lane(grade)
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<DvhAnswer, Failure> {
        let mask = inputs.get(&self.mask)?;
        let summed = inputs.get(&*self.dose)?;
        let dvh = Dvh::new(&mask, &summed.dose.gy, &inputs.control().child());
        inputs.control().check()?;
        let mut dvh = dvh.map_err(Failure::here)?;
        if inputs.grade() == Grade::Full {
            dvh = dvh.with_isodoses(inputs.get(&IsodosesOf(self.dose.clone()))?);
        }
        let uncertainty_percent = summed.certainty.as_ref().and_then(|c| c.spread.mean_percent(&mask));
        Ok(DvhAnswer { dvh: Arc::new(dvh), uncertainty_percent })
    }
}

/// The isodose volumes of a dose, for the DVHs of all structures in it.
#[derive(Clone, Debug, PartialEq)]
pub struct IsodosesOf(pub Shared<DoseOfPlan>);

impl Query for IsodosesOf {
    type Answer = Arc<Isodoses>;

    const NOTICED: bool = false;

    fn name(&self) -> String {
        "Isodoses".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<Isodoses>, Failure> {
        let summed = inputs.get(&*self.0)?;
        Ok(Arc::new(Isodoses::of(&summed.dose.gy, inputs.control())?))
    }
}
