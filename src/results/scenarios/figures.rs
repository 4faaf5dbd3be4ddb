//! Figures of a dose that is not held: its status, its DVHs, and the goals in them.

use crate::graph::Failure;
use analysis::{Dvh, GoalRow, Isodoses, Sampling, Unanswered, scorecard, undecided_by};
use case::{Dose, DoseStatus, Goal, Structure, StructureSet};
use engine::JobControl;
use geometry::Mask;
use rayon::prelude::*;
use std::sync::Arc;

/// Figures of a dose, without the dose.
#[derive(Clone, Debug)]
pub struct DoseFigures {
    pub status: DoseStatus,
    pub caveats: Vec<String>,
    /// Why the dose decides no goal.
    undecided: Option<String>,
    /// DVHs by the numbers of their structures; structures without volume in the dose have none.
    pub dvhs: Vec<(u32, Arc<Dvh>)>,
}

impl DoseFigures {
    pub(super) fn new(dose: &Dose, dvhs: Vec<(u32, Arc<Dvh>)>) -> Self {
        Self {
            status: dose.status,
            caveats: dose.caveats.clone(),
            undecided: undecided_by(dose, dose.status),
            dvhs,
        }
    }

    pub fn dvh(&self, number: u32) -> Option<&Dvh> {
        let mut dvhs = self.dvhs.iter();
        dvhs.find(|(other, _)| *other == number)
            .map(|(_, dvh)| &**dvh)
    }

    /// The goals in this dose; `hundred_gy` is the 100 % dose.
    pub fn goals(
        &self,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Vec<GoalRow> {
        scorecard(goals, set, hundred_gy, self.undecided.as_deref(), |s| {
            self.dvh(s.number)
                .ok_or_else(|| Unanswered::NoDose("it has no DVH".to_owned()))
        })
    }
}

/// DVHs of structures in a dose, by number; structures without volume in the dose are left out.
pub(super) fn dvhs_in(
    dose: &Dose,
    masks: &[(&Structure, Arc<Mask>)],
    sampling: Sampling,
    control: &JobControl,
) -> Result<Vec<(u32, Arc<Dvh>)>, Failure> {
    let isodoses = match sampling {
        Sampling::Full => Some(Arc::new(Isodoses::count(&dose.gy, control)?)),
        Sampling::Preview => None,
    };
    let dvhs = masks.par_iter().filter_map(|(structure, mask)| {
        let dvh = Dvh::sampled(mask, &dose.gy, sampling, &control.child()).ok()?;
        let dvh = match &isodoses {
            Some(isodoses) => dvh.with_isodoses(Arc::clone(isodoses)),
            None => dvh,
        };
        Some((structure.number, Arc::new(dvh.of_structure(structure))))
    });
    let dvhs = dvhs.collect();
    // Those that were stopped are left out like those without volume.
    control.check()?;
    Ok(dvhs)
}
