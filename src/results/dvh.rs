//! The dose-volume histogram of a structure.

use super::graph::{Access, Failure, Grade, Priority, Query};
use super::patient::MaskOf;
use super::plan_dose::DoseOfPlan;
use super::shared::Shared;
use analysis::{Dvh, DvhPlanes, Isodoses, Sampling};
use case::DoseStatus;
use std::sync::Arc;
use worker::Lane;

/// The DVH of a structure in a dose.
#[derive(Clone, Debug)]
pub struct DvhOf {
    pub mask: MaskOf,
    pub dose: Shared<DoseOfPlan>,
    /// Planes of the structure before it changed in the same dose, if there are any. No input: the answer is the same
    /// without them.
    former: Option<Option<Arc<DvhPlanes>>>,
}

impl DvhOf {
    /// `earlier` is an answer of which unchanged planes are taken.
    pub fn new(
        mask: MaskOf,
        dose: Shared<DoseOfPlan>,
        earlier: Option<(&Self, &DvhAnswer)>,
    ) -> Self {
        let drawn = earlier.filter(|(query, _)| query.dose == dose && query.mask != mask);
        Self {
            mask,
            dose,
            former: drawn.map(|(_, answer)| answer.planes.clone()),
        }
    }
}

impl PartialEq for DvhOf {
    fn eq(&self, other: &Self) -> bool {
        self.mask == other.mask && self.dose == other.dose
    }
}

#[derive(Clone, Debug)]
pub struct DvhAnswer {
    pub dvh: Arc<Dvh>,
    /// Whether the dose is one of Monte Carlo; else it is collapsed cone's, or of a file.
    pub is_monte_carlo: bool,
    /// Mean relative standard deviation in the structure, percent, of a Monte Carlo dose.
    pub uncertainty_percent: Option<f64>,
    /// Kept of a large structure that is being drawn.
    planes: Option<Arc<DvhPlanes>>,
}

impl Query for DvhOf {
    type Answer = DvhAnswer;

    const PRIORITY: Option<Priority> = Some(Priority::Doses(2));
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];
    const NOTICED: bool = false;
    const RUNS_IN_PARALLEL: bool = true;

    fn name(&self) -> String {
        format!("DVH of {}", self.mask.structure_name())
    }

    fn lane(&self, grade: Grade) -> Lane {
        self.dose.lane(grade)
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<DvhAnswer, Failure> {
        let mask = inputs.get(&self.mask)?;
        let summed = inputs.get(&*self.dose)?;
        let isodoses = IsodosesOf(self.dose.clone());
        // One of the DVHs of a dose counts its isodoses first, while others are counted: at their ends all of them would wait for it.
        let are_wanted = inputs.ready(&isodoses).is_none() && inputs.grade() == Grade::Full;
        if are_wanted && !inputs.is_running(&isodoses) {
            inputs.get(&isodoses)?;
        }
        let control = inputs.control().child();
        let (gy, sampling) = (&summed.dose.gy, sampling_of(summed.dose.status, inputs));
        let dvh_and_planes = match (&self.former, sampling) {
            (Some(former), Sampling::Full) => Dvh::redrawn(&mask, gy, former.as_deref(), &control),
            _ => Dvh::sampled(&mask, gy, sampling, &control).map(|dvh| (dvh, None)),
        };
        inputs.control().check()?;
        let (mut dvh, planes) = dvh_and_planes.map_err(Failure::here)?;
        // The isodoses of a dose that stays as it is are there: the DVH of a drawn structure is full at once.
        if let Some(isodoses) = inputs.ready(&isodoses) {
            dvh = dvh.with_isodoses(isodoses);
        } else if inputs.grade() == Grade::Full {
            dvh = dvh.with_isodoses(inputs.get(&isodoses)?);
        }
        let uncertainty_percent = summed
            .certainty
            .as_ref()
            .and_then(|c| c.spread.mean_percent(&mask));
        let (dvh, planes) = (
            Arc::new(dvh.of_structure(self.mask.structure())),
            planes.map(Arc::new),
        );
        Ok(DvhAnswer {
            dvh,
            is_monte_carlo: summed.certainty.is_some(),
            uncertainty_percent,
            planes,
        })
    }
}

/// Sampling of a dose in structures: sparse for a preview dose in a preview, full otherwise.
pub(super) fn sampling_of(status: DoseStatus, inputs: &Access<'_>) -> Sampling {
    match status {
        DoseStatus::Preview if inputs.grade() == Grade::Preview => Sampling::Preview,
        _ => Sampling::Full,
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
        Ok(Arc::new(Isodoses::count(
            &summed.dose.gy,
            inputs.control(),
        )?))
    }
}
