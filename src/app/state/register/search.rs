//! The pose search, as far as it is.

use crate::case::Pose;
use crate::registration::{Found, Step};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pose search.
#[derive(Debug, Default)]
pub enum Search {
    #[default]
    Idle,
    Running(Arc<Trace>),
    /// Its answer waits to be accepted or rejected.
    Ended(Proposal),
}

/// A pose found, or the best when the search was stopped.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub pose: Pose,
    pub found: Option<Found>,
}

/// How far a search is, written by its thread and read by the window's.
#[derive(Debug, Default)]
pub struct Trace {
    news: Mutex<News>,
}

/// The best so far, and the values not yet drawn.
type News = (Option<Step>, Vec<f64>);

impl Trace {
    pub fn best(&self) -> Option<Step> {
        self.news().0
    }

    pub fn note(&self, step: Step) {
        let mut news = self.news();
        news.0 = Some(step);
        news.1.push(step.metric);
    }

    /// Values since the last call.
    pub fn take_values(&self) -> Vec<f64> {
        std::mem::take(&mut self.news().1)
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
