//! Messages to the user, and the list of the worker's jobs.

use super::slot::Slot;
use case::Receipt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Messages to the user that stay until dismissed.
#[derive(Debug, Default)]
pub struct Notices {
    items: Vec<Notice>,
    next: u64,
    /// All messages of this window, oldest first, also those dismissed.
    log: VecDeque<(SystemTime, NoticeKind, String)>,
    /// Messages shown only once.
    seen: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: u64,
    pub kind: NoticeKind,
    pub text: String,
    about: About,
}

/// Subject of a notice; the notice is removed once its subject is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum About {
    #[default]
    Other,
    /// A refused X-ray; until the next is opened.
    XrayRefused,
    /// A displayed X-ray, by its label.
    Xray(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    Info,
    Warning,
    Error,
}

/// Most notices; more remove the oldest.
const MOST_NOTICES: usize = 6;
/// Most messages that the log keeps.
const MOST_LOGGED: usize = 500;

impl Notices {
    /// Adds a notice, unless it is already shown.
    pub fn add(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.add_about(About::Other, kind, text);
    }

    /// Adds a notice that [`Self::retain`] may remove.
    pub fn add_about(&mut self, about: About, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        if self.items.iter().any(|n| n.text == text) {
            return;
        }
        self.next += 1;
        self.log.push_back((SystemTime::now(), kind, text.clone()));
        if self.log.len() > MOST_LOGGED {
            self.log.pop_front();
        }
        self.items.push(Notice { id: self.next, kind, text, about });
        if self.items.len() > MOST_NOTICES {
            self.items.remove(0);
        }
    }

    /// Adds a notice that is not repeated after it is dismissed: for a message that every further job would repeat.
    pub fn add_once(&mut self, kind: NoticeKind, text: String) {
        if !self.seen.contains(&text) {
            self.seen.push(text.clone());
            self.add(kind, text);
        }
    }

    /// All messages of this window, newest first, with the time they came.
    pub fn log(&self) -> impl Iterator<Item = &(SystemTime, NoticeKind, String)> {
        self.log.iter().rev()
    }

    pub fn dismiss(&mut self, id: u64) {
        self.items.retain(|n| n.id != id);
    }

    /// Removes notices whose subject no longer matters.
    pub fn retain(&mut self, matters: impl Fn(&About) -> bool) {
        self.items.retain(|n| matters(&n.about));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.items.iter()
    }
}

/// Running jobs, and the receipts or failures of finished ones.
#[derive(Debug, Default)]
pub struct Jobs {
    pub live: Vec<LiveJob>,
    /// Newest first.
    pub finished: VecDeque<FinishedJob>,
}

#[derive(Debug)]
pub struct LiveJob {
    pub id: worker::JobId,
    pub slot: Slot,
    pub name: Arc<str>,
    /// 0 to 1.
    pub done: f32,
    pub began: Instant,
}

impl LiveJob {
    /// Estimated seconds left, from the progress so far; `None` while that is close to zero.
    pub fn seconds_left(&self) -> Option<f64> {
        let done = f64::from(self.done);
        (done >= 0.03).then(|| self.began.elapsed().as_secs_f64() * (1.0 - done) / done)
    }
}

#[derive(Debug)]
pub struct FinishedJob {
    pub name: Arc<str>,
    pub end: JobEnd,
}

#[derive(Debug)]
pub enum JobEnd {
    Done(Arc<Receipt>),
    Failed(String),
}

const MOST_FINISHED: usize = 50;

impl Jobs {
    pub fn finish(&mut self, name: Arc<str>, end: JobEnd) {
        self.finished.push_front(FinishedJob { name, end });
        self.finished.truncate(MOST_FINISHED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_do_not_pile_up() {
        let mut notices = Notices::default();
        notices.add(NoticeKind::Error, "a");
        notices.add(NoticeKind::Error, "a");
        assert_eq!(notices.iter().count(), 1);
        for i in 0..20 {
            notices.add(NoticeKind::Info, format!("{i}"));
        }
        assert_eq!(notices.iter().count(), MOST_NOTICES);
        let last = notices.iter().last().map(|n| (n.id, n.text.clone()));
        assert_eq!(last.as_ref().map(|(_, t)| t.as_str()), Some("19"));
        notices.dismiss(last.map_or(0, |(id, _)| id));
        assert_eq!(notices.iter().count(), MOST_NOTICES - 1);
        let logged: Vec<_> = notices.log().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!((logged.len(), logged[0], logged[20]), (21, "19", "a"), "the log keeps what is gone");
    }
}
