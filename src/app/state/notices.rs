//! Messages to the user: the notices over the views, and the log of all that was said.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Messages on show, and the log of this window.
#[derive(Debug, Default)]
pub struct Notices {
    items: Vec<Notice>,
    next: u64,
    /// Notices that gave way to newer ones since the list was last empty.
    crowded_out: usize,
    /// All messages of this window, oldest first, also those dismissed.
    log: VecDeque<LogLine>,
    /// Messages shown only once a case.
    seen: Vec<String>,
    /// Name of the case on show; empty before the first.
    case: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub id: u64,
    pub kind: NoticeKind,
    pub text: String,
    pub about: About,
    /// Begin of the time after which a success fades.
    on_show_since: Option<Instant>,
}

impl Notice {
    /// Time until a success fades, which begins in the first frame that shows it; `None` for other notices, which stay.
    fn time_left(&mut self, frame_time: Instant) -> Option<Duration> {
        if self.kind != NoticeKind::Success {
            return None;
        }
        let since = *self.on_show_since.get_or_insert(frame_time);
        Some(SUCCESS_TIME.saturating_sub(frame_time.saturating_duration_since(since)))
    }
}

/// A message as the log keeps it.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Time of the last of its repetitions.
    pub time: SystemTime,
    pub kind: NoticeKind,
    pub text: String,
    /// Name of the case on show at that time; empty before the first.
    pub case: Arc<str>,
    pub times: u32,
}

/// Subject of a notice; the notice is removed once its subject is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// The case on show.
    #[default]
    Case,
    /// The window or another system: stays when another case is opened.
    Window,
    /// A result of the case whose job the user has cancelled; until it is requested again.
    CancelledResult,
    /// A refused X-ray; until the next is opened.
    XrayRefused,
    /// A displayed X-ray, by its label.
    Xray(String),
}

/// In order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    Success,
    Info,
    Warning,
    Error,
}

impl NoticeKind {
    /// The word before the message.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "Done",
            Self::Info => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// Most notices on show; the least severe, and of those the oldest, gives way to one more.
const MOST_NOTICES: usize = 6;
/// Most messages that the log keeps.
const MOST_LOGGED: usize = 500;
/// Time after which a success fades: long enough for a path to be read.
const SUCCESS_TIME: Duration = Duration::from_secs(8);

impl Notices {
    /// Adds a notice about the case; one that is on show already becomes the newest.
    pub fn add(&mut self, kind: NoticeKind, text: impl Into<String>) {
        self.add_about(About::Case, kind, text);
    }

    /// Adds remarks on a plan, each told once.
    pub fn add_remarks(&mut self, plan: &str, remarks: &[impl ToString]) {
        for remark in remarks {
            self.add_once(
                NoticeKind::Warning,
                format!("{plan}: {}.", remark.to_string()),
            );
        }
    }

    /// Adds a notice that [`Self::retain`] may remove.
    pub fn add_about(&mut self, about: About, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        self.note_in_log(kind, &text);
        self.next += 1;
        self.items.retain(|notice| notice.text != text);
        if self.items.len() >= MOST_NOTICES
            && let Some(least) = self.items.iter().map(|n| (n.kind, n.id)).min()
        {
            self.items.retain(|notice| notice.id != least.1);
            self.crowded_out += 1;
        }
        self.items.push(Notice {
            id: self.next,
            kind,
            text,
            about,
            on_show_since: None,
        });
    }

    fn note_in_log(&mut self, kind: NoticeKind, text: &str) {
        let time = SystemTime::now();
        if let Some(last) = self
            .log
            .back_mut()
            .filter(|last| last.text == text && last.case == self.case)
        {
            (last.time, last.times) = (time, last.times.saturating_add(1));
            return;
        }
        let case = Arc::clone(&self.case);
        self.log.push_back(LogLine {
            time,
            kind,
            text: text.to_owned(),
            case,
            times: 1,
        });
        if self.log.len() > MOST_LOGGED {
            self.log.pop_front();
        }
    }

    /// Adds a notice that is not repeated for the case after it is dismissed: for a message that every further job would
    /// repeat.
    pub fn add_once(&mut self, kind: NoticeKind, text: String) {
        if !self.seen.contains(&text) {
            self.seen.push(text.clone());
            self.add(kind, text);
        }
    }

    /// Removes the notices of the case before: another is on show from now on.
    pub fn begin_case(&mut self, name: &str) {
        self.retain(|about| *about == About::Window);
        self.seen.clear();
        self.case = name.into();
    }

    /// Removes successes whose time is over; time left until the next of them fades.
    pub fn fade(&mut self, frame_time: Instant) -> Option<Duration> {
        self.items.retain_mut(|notice| {
            notice
                .time_left(frame_time)
                .is_none_or(|left| !left.is_zero())
        });
        self.settle();
        self.items
            .iter_mut()
            .filter_map(|notice| notice.time_left(frame_time))
            .min()
    }

    /// All messages of this window, newest first.
    pub fn log(&self) -> impl Iterator<Item = &LogLine> {
        self.log.iter().rev()
    }

    pub fn dismiss(&mut self, id: u64) {
        self.items.retain(|n| n.id != id);
        self.settle();
    }

    pub fn dismiss_all(&mut self) {
        self.items.clear();
        self.settle();
    }

    /// Removes notices whose subject no longer matters.
    pub fn retain(&mut self, matters: impl Fn(&About) -> bool) {
        self.items.retain(|n| matters(&n.about));
        self.settle();
    }

    fn settle(&mut self) {
        if self.items.is_empty() {
            self.crowded_out = 0;
        }
    }

    /// The notices on show, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Notice> {
        self.items.iter()
    }

    /// Notices that gave way to newer ones since the list was last empty: the log has them.
    pub fn crowded_out(&self) -> usize {
        self.crowded_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(notices: &Notices) -> Vec<&str> {
        notices.iter().map(|notice| notice.text.as_str()).collect()
    }

    #[test]
    fn the_worst_of_many_notices_stay_and_the_log_keeps_all() {
        let mut notices = Notices::default();
        notices.add(NoticeKind::Error, "worst");
        for i in 0..200 {
            notices.add(NoticeKind::Info, format!("{i}"));
        }
        assert_eq!(
            texts(&notices),
            ["worst", "195", "196", "197", "198", "199"]
        );
        assert_eq!((notices.crowded_out(), notices.log().count()), (195, 201));
        // A success among failures is shown until the next message.
        (0..9).for_each(|i| notices.add(NoticeKind::Error, format!("failure {i}")));
        notices.add(NoticeKind::Success, "saved");
        assert_eq!(texts(&notices).last(), Some(&"saved"));
        notices.dismiss_all();
        assert_eq!((texts(&notices).len(), notices.crowded_out()), (0, 0));
        assert_eq!(
            notices.log().last().map(|line| line.text.as_str()),
            Some("worst")
        );
        (0..MOST_LOGGED + 9).for_each(|i| notices.add(NoticeKind::Info, format!("{i}")));
        assert_eq!(notices.log().count(), MOST_LOGGED);
    }

    #[test]
    fn a_repeated_message_is_one_notice_and_one_line() {
        let mut notices = Notices::default();
        for text in ["a", "b", "a", "a", "a"] {
            notices.add(NoticeKind::Warning, text);
        }
        assert_eq!(texts(&notices), ["b", "a"]);
        let lines: Vec<_> = notices
            .log()
            .map(|line| (line.text.as_str(), line.times))
            .collect();
        assert_eq!(lines, [("a", 3), ("b", 1), ("a", 1)]);
    }

    #[test]
    fn notices_go_with_their_case_and_lines_of_the_log_name_it() {
        let mut notices = Notices::default();
        notices.begin_case("first");
        notices.add_once(NoticeKind::Error, "no such machine".to_owned());
        notices.add_about(About::Window, NoticeKind::Info, "objects have arrived");
        notices.begin_case("second");
        assert_eq!(texts(&notices), ["objects have arrived"]);
        notices.add_once(NoticeKind::Error, "no such machine".to_owned());
        notices.add_once(NoticeKind::Error, "no such machine".to_owned());
        assert_eq!(texts(&notices).len(), 2, "said once for each case");
        let cases: Vec<&str> = notices.log().map(|line| &*line.case).collect();
        assert_eq!(cases, ["second", "first", "first"]);
    }

    #[test]
    fn only_a_success_fades_once_it_was_on_show_for_its_time() {
        let (mut notices, begin) = (Notices::default(), Instant::now());
        for kind in [
            NoticeKind::Success,
            NoticeKind::Info,
            NoticeKind::Warning,
            NoticeKind::Error,
        ] {
            notices.add(kind, kind.name());
        }
        let moment = Duration::from_millis(1);
        assert_eq!(notices.fade(begin), Some(SUCCESS_TIME));
        assert_eq!(notices.fade(begin + SUCCESS_TIME - moment), Some(moment));
        // Said again, it begins anew.
        notices.add(NoticeKind::Success, "Done");
        assert_eq!(notices.fade(begin + SUCCESS_TIME), Some(SUCCESS_TIME));
        assert_eq!(notices.fade(begin + 2 * SUCCESS_TIME), None);
        assert_eq!(texts(&notices), ["Note", "Warning", "Error"]);
    }
}
