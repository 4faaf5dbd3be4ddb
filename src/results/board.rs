//! What hangs on the dose of a beam: sum, normalisation, DVHs, made by the job that has made the dose.

use super::{
    AtHand, BeamInputs, BeamResult, DvhAnswer, DvhWork, Shown, SumInputs, Summed, dvhs, sum, sum_work,
};
use crate::case::Case;
use crate::engine::JobControl;
use crate::geometry::{Mask, VolumeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the window and its jobs: where the user looks now, and the newest doses of the plan's beams. A beam that is
/// turned reaches the DVH without going back to the window.
#[derive(Debug, Default)]
pub struct Board {
    posted: Mutex<Posted>,
}

#[derive(Debug, Default)]
struct Posted {
    wanted: Option<Wanted>,
    beams: BTreeMap<u32, (BeamInputs, BeamResult)>,
}

/// The case as it stands and where the user looks.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub case: Case,
    pub plan: usize,
    pub what: Shown,
    /// By structure number, of the contours as they stand.
    pub masks: BTreeMap<u32, Arc<Mask>>,
    /// Structures whose DVHs are looked at, with the identity of their contours.
    pub dvhs: Vec<(u32, u64)>,
}

/// All that follows from a beam's dose.
#[derive(Debug)]
pub struct Followed {
    pub inputs: SumInputs,
    pub result: Summed,
    pub dvhs: Vec<DvhAnswer>,
}

impl Followed {
    /// The dose that the DVHs are of.
    pub fn of(&self) -> VolumeId {
        self.result.dose.gy.id()
    }
}

impl Board {
    /// Says what hangs on beams from now on; nothing where no sum of beams is looked at.
    pub fn post(&self, wanted: Option<Wanted>) {
        let mut posted = self.lock();
        if let Some(plan) = wanted.as_ref().and_then(|w| w.case.plans.get(w.plan)) {
            posted.beams.retain(|number, _| plan.beams.iter().any(|b| b.number == *number));
        }
        posted.wanted = wanted;
    }

    /// Takes a beam's dose up and makes what hangs on it; `None` where that is not looked at, waits for other beams, or
    /// fails: whoever looks asks for it by itself, and is told why.
    pub fn follow(&self, inputs: BeamInputs, result: BeamResult, control: &JobControl) -> Option<Followed> {
        let (wanted, beams) = {
            let mut posted = self.lock();
            posted.beams.insert(inputs.beam.number, (inputs, result));
            (posted.wanted.clone()?, posted.beams.clone())
        };
        let at_hand = AtHand {
            run: None,
            beam: &|number| beams.get(&number),
            mask: &|number| wanted.masks.get(&number),
        };
        let work = sum_work(&wanted.case, wanted.plan, wanted.what, at_hand)?;
        let control = control.child();
        let result = sum(&work, &control).ok()?;
        let id = result.dose.gy.id();
        let dvh_work: Vec<DvhWork> = wanted
            .dvhs
            .iter()
            .filter_map(|&(structure, contours)| {
                let mask = Arc::clone(wanted.masks.get(&structure)?);
                Some(DvhWork { structure, inputs: (contours, id), mask, certainty: None })
            })
            .collect();
        let dvhs = dvhs(&dvh_work, &result.dose, &control).unwrap_or_default();
        Some(Followed { inputs: work.inputs, result, dvhs })
    }

    fn lock(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
