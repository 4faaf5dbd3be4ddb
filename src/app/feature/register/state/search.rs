//! The pose search, as far as it is.

use case::Pose;
use registration::{Found, PoseStanding, Step};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pose search.
#[derive(Debug, Default)]
pub enum Search {
    #[default]
    Idle,
    Running(Arc<Trace>),
    /// Its answer waits to be accepted or rejected.
    Ended(Box<Proposal>),
}

/// A pose found, or the best when the search was stopped.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub pose: Pose,
    pub found: Option<Found>,
}

impl Proposal {
    /// Standing of the pose; a search that was stopped has found nothing.
    pub fn standing(&self) -> PoseStanding {
        match &self.found {
            Some(pose) => pose.standing(),
            None => PoseStanding::NoMatch {
                why: "the search was stopped".to_owned(),
            },
        }
    }
}

/// The last pose of a search that was accepted, and what it is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedPose {
    pub pose: Pose,
    pub standing: PoseStanding,
    /// Labels of the X-rays that it was found in.
    pub images: Vec<String>,
}

impl AcceptedPose {
    /// Standing of a pose: as it was accepted, unless the hand has moved it since or the X-rays are others.
    pub fn standing_of<'a>(
        accepted: Option<&Self>,
        pose: &Pose,
        images: impl Iterator<Item = &'a str>,
    ) -> PoseStanding {
        match accepted {
            Some(accepted)
                if accepted.pose == *pose
                    && images.eq(accepted.images.iter().map(String::as_str)) =>
            {
                accepted.standing.clone()
            }
            _ => PoseStanding::ByHand,
        }
    }
}

/// How far a search is, written by its thread and read by the window's.
#[derive(Debug, Default)]
pub struct Trace {
    progress: Mutex<SearchProgress>,
}

/// The best so far, and the values not yet drawn.
type SearchProgress = (Option<Step>, Vec<f64>);

impl Trace {
    pub fn best(&self) -> Option<Step> {
        self.progress().0
    }

    pub fn note(&self, step: Step) {
        let mut progress = self.progress();
        progress.0 = Some(step);
        progress.1.push(step.metric);
    }

    /// Values since the last call.
    pub fn take_values(&self) -> Vec<f64> {
        std::mem::take(&mut self.progress().1)
    }

    fn progress(&self) -> MutexGuard<'_, SearchProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
