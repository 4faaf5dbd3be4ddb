//! Messages to the user, and the worker's jobs as they are listed.

use super::slot::Slot;
use crate::case::Receipt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Messages to the user that stay until dismissed.
#[derive(Debug, Default)]
pub struct Notices {
    items: Vec<Notice>,
    next: u64,
    /// What is told once.
    told: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: u64,
    pub kind: NoticeKind,
    pub text: String,
    about: About,
}

/// What a notice is about, where it has had its day once something else has taken the place of that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum About {
    #[default]
    Other,
    /// An X-ray that is not shown; until the next is opened.
    XrayRefused,
    /// An X-ray on show, by its label.
    Xray(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    Info,
    Warning,
    Error,
}

/// More notices than this push out the oldest.
const MOST_NOTICES: usize = 6;

impl Notices {
    /// Adds a notice; one that already stands is not repeated.
    pub fn add(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.add_about(About::Other, kind, text);
    }

    /// Adds a notice that [`Self::retain`] may take away.
    pub fn add_about(&mut self, about: About, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        if self.items.iter().any(|n| n.text == text) {
            return;
        }
        self.next += 1;
        self.items.push(Notice { id: self.next, kind, text, about });
        if self.items.len() > MOST_NOTICES {
            self.items.remove(0);
        }
    }

    /// Adds a notice that does not come again once it is dismissed: what every further job would have to say, too.
    pub fn add_once(&mut self, kind: NoticeKind, text: String) {
        if !self.told.contains(&text) {
            self.told.push(text.clone());
            self.add(kind, text);
        }
    }

    pub fn dismiss(&mut self, id: u64) {
        self.items.retain(|n| n.id != id);
    }

    /// Takes away what is about something that no longer matters.
    pub fn retain(&mut self, matters: impl Fn(&About) -> bool) {
        self.items.retain(|n| matters(&n.about));
    }

    pub fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.items.iter()
    }
}

/// Running jobs and what the finished ones left behind.
#[derive(Debug, Default)]
pub struct Jobs {
    pub live: Vec<LiveJob>,
    /// Newest first.
    pub finished: VecDeque<FinishedJob>,
}

#[derive(Debug)]
pub struct LiveJob {
    pub id: crate::worker::JobId,
    pub slot: Slot,
    pub name: Arc<str>,
    /// 0 to 1.
    pub done: f32,
    pub began: Instant,
}

impl LiveJob {
    /// Seconds that are left, by what is done so far; `None` while that is next to nothing.
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
    }
}
