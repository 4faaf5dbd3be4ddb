//! Conversations with other systems: a listener and a sender, each on a thread of its own while it lasts. They report to the
//! window, which neither waits for them nor speaks itself.

use super::App;
use crate::app::state::NoticeKind;
use crate::app::state::network::{NetworkAction, Sending};
use crate::dicom::transferables;
use crate::network::{Call, Event, ReceiveOptions, Receiver, Until, echo, send};
use crossbeam_channel as channel;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A window that closes waits this long for conversations to be aborted in order.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the threads report.
enum News {
    Listening(SocketAddr),
    Happened(Event),
    ListenerEnded(Result<(), String>),
    Progress { done: usize, all: usize },
    SenderEnded { is_failure: bool, lines: Vec<String> },
}

/// A thread that ends when told to.
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The conversations of a window.
pub struct Conversations {
    tell: channel::Sender<News>,
    hear: channel::Receiver<News>,
    listener: Option<Running>,
    sender: Option<Running>,
}

impl Default for Conversations {
    fn default() -> Self {
        let (tell, hear) = channel::unbounded();
        Self { tell, hear, listener: None, sender: None }
    }
}

impl Drop for Conversations {
    fn drop(&mut self) {
        let running = || self.listener.iter().chain(&self.sender);
        running().for_each(|one| one.stop.store(true, Ordering::Relaxed));
        let begun = Instant::now();
        while running().any(|one| !one.thread.is_finished()) && begun.elapsed() < FAREWELL {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reports of a thread, each of which is drawn.
#[derive(Clone)]
struct Reports {
    tell: channel::Sender<News>,
    ctx: egui::Context,
}

impl Reports {
    fn say(&self, news: News) {
        // A window that has gone hears nothing.
        let _ = self.tell.send(news);
        self.ctx.request_repaint();
    }
}

impl App {
    pub(super) fn network(&mut self, action: NetworkAction) {
        let network = &mut self.state.network;
        match action {
            NetworkAction::Open(open) => network.is_open = open,
            NetworkAction::Settings(settings) => network.settings = settings,
            NetworkAction::Listen if network.has_listener => {}
            NetworkAction::Listen => match network.receive_options() {
                Ok(options) => self.listen(options),
                Err(why) => network.tell(true, format!("Not listening: {why}.")),
            },
            NetworkAction::StopListening => {
                self.conversations.listener.iter().for_each(|one| one.stop.store(true, Ordering::Relaxed));
            }
            NetworkAction::Echo | NetworkAction::Send if network.sending.is_some() => {}
            NetworkAction::Echo => match network.call() {
                Ok(call) => self.send(call, None),
                Err(why) => network.tell(true, format!("Not asked: {why}.")),
            },
            NetworkAction::Send => {
                let what = network.settings.what.trim();
                match network.call() {
                    Err(why) => network.tell(true, format!("Not sent: {why}.")),
                    Ok(_) if what.is_empty() => {
                        network.tell(true, "Not sent: name a folder or file to send.")
                    }
                    Ok(call) => {
                        let what = PathBuf::from(what);
                        self.send(call, Some(what));
                    }
                }
            }
            NetworkAction::StopSending => {
                self.conversations.sender.iter().for_each(|one| one.stop.store(true, Ordering::Relaxed));
                network.sending = network.sending.map(|s| Sending { stopping: true, ..s });
            }
        }
    }

    fn start(
        &self,
        name: &str,
        work: impl FnOnce(&AtomicBool, &Reports) + Send + 'static,
    ) -> Option<Running> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, reports) =
            (Arc::clone(&stop), Reports { tell: self.conversations.tell.clone(), ctx: self.ctx.clone() });
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&ends, &reports));
        thread.ok().map(|thread| Running { stop, thread })
    }

    fn listen(&mut self, options: ReceiveOptions) {
        self.conversations.listener = self.start("listener", move |stop, reports| {
            let served = Receiver::bind(options).and_then(|receiver| {
                reports.say(News::Listening(receiver.address()));
                receiver.serve(Until::default(), stop, &|event| reports.say(News::Happened(event.clone())))
            });
            reports.say(News::ListenerEnded(served.map_err(|error| error.to_string())));
        });
        self.state.network.has_listener = self.conversations.listener.is_some();
    }

    /// Sends what lies under a path; without one, only asks whether the other system is there.
    fn send(&mut self, call: Call, what: Option<PathBuf>) {
        self.conversations.sender = self.start("sender", move |stop, reports| {
            let (is_failure, lines) = match &what {
                None => match echo(&call, stop) {
                    Ok(()) => (false, vec![format!("{} at {} is there and answers.", call.called, call.to)]),
                    Err(error) => (true, vec![error.to_string()]),
                },
                Some(what) => send_all(&call, what, stop, reports),
            };
            reports.say(News::SenderEnded { is_failure, lines });
        });
        let began = self.conversations.sender.is_some();
        self.state.network.sending = began.then_some(Sending { done: 0, all: 0, stopping: false });
    }

    /// Takes what the conversations report.
    pub(super) fn hear_network(&mut self) {
        while let Ok(news) = self.conversations.hear.try_recv() {
            let network = &mut self.state.network;
            match news {
                News::Listening(address) => {
                    network.listening = Some(address);
                    network.tell(false, format!("Listening on {address}."));
                }
                News::Happened(event) => {
                    let is_failure = matches!(event, Event::Broken { .. });
                    network.tell(is_failure, event.to_string());
                    if let Event::Delivered(delivery) = event {
                        let refused = delivery.refused > 0;
                        let Some(folder) = delivery.folder else { continue };
                        network.add_arrival(folder);
                        let kind = if refused { NoticeKind::Warning } else { NoticeKind::Info };
                        let more = if refused {
                            format!(", {} were refused", delivery.refused)
                        } else {
                            String::new()
                        };
                        let text =
                            format!("{} objects of {} have arrived{more}.", delivery.objects, delivery.from);
                        self.state.notices.add(kind, text);
                    }
                }
                News::ListenerEnded(ended) => {
                    network.has_listener = false;
                    network.listening = None;
                    match ended {
                        Ok(()) => network.tell(false, "No longer listening."),
                        Err(why) => network.tell(true, why),
                    }
                }
                News::Progress { done, all } => {
                    network.sending = network.sending.map(|s| Sending { done, all, ..s });
                }
                News::SenderEnded { is_failure, lines } => {
                    network.sending = None;
                    lines.into_iter().for_each(|line| network.tell(is_failure, line));
                }
            }
        }
    }
}

/// Sends all objects under a path; whether any failed, and what is to be said.
fn send_all(call: &Call, what: &Path, stop: &AtomicBool, reports: &Reports) -> (bool, Vec<String>) {
    let found = match transferables(&[what.to_owned()], &|_| !stop.load(Ordering::Relaxed)) {
        Ok(found) => found,
        Err(error) => return (true, vec![error.to_string()]),
    };
    let all = found.objects.len();
    if all == 0 && found.faulty.is_empty() {
        return (true, vec![format!("There are no DICOM objects in {}.", what.display())]);
    }
    let sent = send(call, &found.objects, stop, &|done| reports.say(News::Progress { done, all }));
    let mut lines = Vec::new();
    for (word, list) in [("Not sent", &found.faulty), ("Refused", &sent.refused)] {
        lines.extend(list.iter().map(|unsent| format!("{word}: {}: {}", unsent.file, unsent.why)));
    }
    let is_failure = !lines.is_empty() || sent.broken.is_some();
    if let Some(error) = &sent.broken {
        lines.push(format!("Broken off: {error}; {} objects were not sent.", sent.left));
    }
    let whole = all + found.faulty.len();
    lines.push(format!("{} of {whole} objects sent to {} at {}.", sent.sent, call.called, call.to));
    (is_failure, lines)
}
