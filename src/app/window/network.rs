//! Conversations with other systems: a listener and a sender, each on its thread while it lasts. They report to the window,
//! which neither waits for them nor speaks itself.

use super::App;
use crate::feature::network::state::{Calling, Errand, Found, NetworkAction};
use crate::state::files::FileAction;
use crate::state::{About, NoticeKind};
use crossbeam_channel as channel;
use dicom::transferables;
use network::{
    Call, Event, Match, Query, ReceiveOptions, Receiver, Route, Until, echo, find, retrieve_all,
    send,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A window that closes waits this long for conversations to be aborted in order.
const FAREWELL: Duration = Duration::from_secs(2);

/// Event of a conversation or of the listener, sent by its thread.
enum NetworkEvent {
    Listening(SocketAddr),
    Happened(Event),
    ListenerEnded(Result<(), String>),
    Progress {
        done: usize,
        all: usize,
    },
    Found(Box<Found>),
    /// Folders that have come.
    Arrived(Vec<PathBuf>),
    CallerEnded {
        is_failure: bool,
        lines: Vec<String>,
    },
}

/// A thread that ends when told to.
struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The conversations of a window.
pub struct Conversations {
    tell: channel::Sender<NetworkEvent>,
    hear: channel::Receiver<NetworkEvent>,
    listener: Option<Running>,
    caller: Option<Running>,
}

impl Default for Conversations {
    fn default() -> Self {
        let (tell, hear) = channel::unbounded();
        Self {
            tell,
            hear,
            listener: None,
            caller: None,
        }
    }
}

impl Drop for Conversations {
    fn drop(&mut self) {
        let running: Vec<_> = self.listener.iter().chain(&self.caller).collect();
        for conversation in &running {
            conversation.stop.store(true, Ordering::Relaxed);
        }
        let start = Instant::now();
        // A thread amid a conversation gets time to end its association.
        while running.iter().any(|one| !one.thread.is_finished()) && start.elapsed() < FAREWELL {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reports of a thread, each of which is drawn.
#[derive(Clone)]
struct Reports {
    tell: channel::Sender<NetworkEvent>,
    ctx: egui::Context,
}

impl Reports {
    fn say(&self, event: NetworkEvent) {
        // A window that has gone hears nothing.
        let _ = self.tell.send(event);
        self.ctx.request_repaint();
    }
}

impl App {
    pub(super) fn network(&mut self, action: NetworkAction) {
        let (was_calling, requested) = (self.state.network.calling.is_some(), action.clone());
        self.do_network(action);
        let network = &mut self.state.network;
        if !was_calling && network.calling.is_some() {
            (network.last, network.has_failed) = (Some(requested), false);
        }
    }

    fn do_network(&mut self, action: NetworkAction) {
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
                self.conversations
                    .listener
                    .iter()
                    .for_each(|one| one.stop.store(true, Ordering::Relaxed));
            }
            NetworkAction::Search(search) => network.search = search,
            NetworkAction::Stop => {
                self.conversations
                    .caller
                    .iter()
                    .for_each(|one| one.stop.store(true, Ordering::Relaxed));
                network.calling = network.calling.map(|c| Calling {
                    stopping: true,
                    ..c
                });
            }
            NetworkAction::Echo
            | NetworkAction::Send
            | NetworkAction::Find
            | NetworkAction::Get(_)
                if network.calling.is_some() => {}
            NetworkAction::Echo => match network.call() {
                Ok(call) => self.echo(call),
                Err(why) => network.tell(true, format!("Not asked: {why}.")),
            },
            NetworkAction::Send => {
                let what = PathBuf::from(network.settings.what.trim());
                match network.call() {
                    Err(why) => network.tell(true, format!("Not sent: {why}.")),
                    Ok(_) if what.as_os_str().is_empty() => {
                        network.tell(true, "Not sent: name a folder or file to send.");
                    }
                    Ok(call) => self.converse(Errand::Send, move |stop, reports| {
                        send_all(&call, &what, stop, reports)
                    }),
                }
            }
            NetworkAction::Find => {
                match network.call().and_then(|call| Ok((call, network.query()?))) {
                    Ok((call, query)) => self.converse(Errand::Find, move |stop, reports| {
                        find_all(call, query, stop, reports)
                    }),
                    Err(why) => network.tell(true, format!("Not asked: {why}.")),
                }
            }
            NetworkAction::Get(which) => {
                let Some(answer) = &network.found else { return };
                let wanted = match which {
                    Some(index) => answer.matches.get(index).cloned().into_iter().collect(),
                    None => answer.query.wanted(&answer.matches),
                };
                let call = answer.call.clone();
                match network.way_in() {
                    Ok((into, route)) => self.converse(Errand::Get, move |stop, reports| {
                        get_all(&call, &wanted, &into, route, stop, reports)
                    }),
                    Err(why) => network.tell(true, format!("Nothing is retrieved: {why}.")),
                }
            }
        }
    }

    fn start(
        &self,
        name: &str,
        work: impl FnOnce(&AtomicBool, &Reports) + Send + 'static,
    ) -> Option<Running> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ends, reports) = (
            Arc::clone(&stop),
            Reports {
                tell: self.conversations.tell.clone(),
                ctx: self.ctx.clone(),
            },
        );
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&ends, &reports));
        thread.ok().map(|thread| Running { stop, thread })
    }

    fn listen(&mut self, options: ReceiveOptions) {
        self.conversations.listener = self.start("listener", move |stop, reports| {
            let served = Receiver::bind(options).and_then(|receiver| {
                reports.say(NetworkEvent::Listening(receiver.address()));
                receiver.serve(Until::default(), stop, &|event| {
                    reports.say(NetworkEvent::Happened(event.clone()))
                })
            });
            reports.say(NetworkEvent::ListenerEnded(
                served.map_err(|error| error.to_string()),
            ));
        });
        self.state.network.has_listener = self.conversations.listener.is_some();
    }

    /// Calls another system; `work` gives whether anything failed, and what is to be said.
    fn converse(
        &mut self,
        errand: Errand,
        work: impl FnOnce(&AtomicBool, &Reports) -> (bool, Vec<String>) + Send + 'static,
    ) {
        self.conversations.caller = self.start("caller", move |stop, reports| {
            let (is_failure, lines) = work(stop, reports);
            reports.say(NetworkEvent::CallerEnded { is_failure, lines });
        });
        let began = self.conversations.caller.is_some();
        let calling = Calling {
            errand,
            done: 0,
            all: 0,
            stopping: false,
        };
        self.state.network.calling = began.then_some(calling);
    }

    fn echo(&mut self, call: Call) {
        self.converse(Errand::Echo, move |stop, _| match echo(&call, stop) {
            Ok(()) => (
                false,
                vec![format!(
                    "{} at {} is there and answers.",
                    call.called, call.to
                )],
            ),
            Err(error) => (true, vec![error.to_string()]),
        });
    }

    /// Takes a folder that was chosen for arrivals or for objects to send.
    pub(super) fn take_network_folder(&mut self, action: FileAction, path: &Path) {
        let Some(folder) = path.to_str().map(str::to_owned) else {
            let text = format!(
                "The name of {} is not UTF-8: rename the folder.",
                path.display()
            );
            self.state
                .notices
                .add_about(About::Window, NoticeKind::Error, text);
            return;
        };
        let settings = &mut self.state.network.settings;
        match action {
            FileAction::ArrivalsFolder => settings.into = folder,
            _ => settings.what = folder,
        }
    }

    /// Takes what the conversations report.
    pub(super) fn drain_network_events(&mut self) {
        while let Ok(event) = self.conversations.hear.try_recv() {
            let network = &mut self.state.network;
            match event {
                NetworkEvent::Listening(address) => {
                    network.listening = Some(address);
                    network.tell(false, format!("Listening on {address}."));
                }
                NetworkEvent::Happened(event) => {
                    let is_failure = matches!(event, Event::Broken { .. });
                    network.tell(is_failure, event.to_string());
                    if let Event::Delivered(delivery) = event {
                        let refused = delivery.refused > 0;
                        let Some(folder) = delivery.folder else {
                            continue;
                        };
                        network.add_arrival(folder);
                        let kind = if refused {
                            NoticeKind::Warning
                        } else {
                            NoticeKind::Success
                        };
                        let more = if refused {
                            format!(", {} were refused", delivery.refused)
                        } else {
                            String::new()
                        };
                        let text = format!(
                            "{} objects of {} have arrived{more}.",
                            delivery.objects, delivery.from
                        );
                        self.state.notices.add_about(About::Window, kind, text);
                    }
                }
                NetworkEvent::ListenerEnded(ended) => {
                    network.has_listener = false;
                    network.listening = None;
                    match ended {
                        Ok(()) => network.tell(false, "No longer listening."),
                        Err(why) => network.tell(true, why),
                    }
                }
                NetworkEvent::Progress { done, all } => {
                    network.calling = network.calling.map(|c| Calling { done, all, ..c });
                }
                NetworkEvent::Found(found) => network.found = Some(*found),
                NetworkEvent::Arrived(folders) => {
                    folders.into_iter().for_each(|f| network.add_arrival(f))
                }
                NetworkEvent::CallerEnded { is_failure, lines } => {
                    let cancelled = network.calling.take().filter(|calling| calling.stopping);
                    network.has_failed = is_failure;
                    if !is_failure {
                        network.settings.remember();
                    }
                    lines
                        .into_iter()
                        .for_each(|line| network.tell(is_failure, line));
                    if let Some(calling) = cancelled {
                        network.tell(false, calling.errand.after_cancel());
                    }
                }
            }
        }
    }
}

/// Sends all objects under a path; whether any failed, and what is to be said.
fn send_all(call: &Call, what: &Path, stop: &AtomicBool, reports: &Reports) -> (bool, Vec<String>) {
    let listed = match transferables(&[what.to_owned()], &|_| !stop.load(Ordering::Relaxed)) {
        Ok(listed) => listed,
        Err(error) => return (true, vec![error.to_string()]),
    };
    let total = listed.objects.len();
    if total == 0 && listed.faulty.is_empty() {
        return (
            true,
            vec![format!("There are no DICOM objects in {}.", what.display())],
        );
    }
    let sent = send(call, &listed.objects, stop, &|done| {
        reports.say(NetworkEvent::Progress { done, all: total })
    });
    let mut lines = Vec::new();
    for (word, list) in [("Not sent", &listed.faulty), ("Refused", &sent.refused)] {
        lines.extend(
            list.iter()
                .map(|unsent| format!("{word}: {}: {}", unsent.file, unsent.why)),
        );
    }
    let is_failure = !lines.is_empty() || sent.broken.is_some();
    if let Some(error) = &sent.broken {
        lines.push(format!(
            "Broken off: {error}; {} objects were not sent.",
            sent.left
        ));
    }
    let candidates = total + listed.faulty.len();
    lines.push(format!(
        "{} of {candidates} objects sent to {} at {}.",
        sent.sent, call.called, call.to
    ));
    if let [first, more @ ..] = &listed.passed_over[..] {
        let others = if more.is_empty() {
            String::new()
        } else {
            format!(", and {} more", more.len())
        };
        lines.push(format!(
            "Passed over: {}: {}{others}.",
            first.file, first.why
        ));
    }
    (is_failure, lines)
}

/// Asks what a system has.
fn find_all(call: Call, query: Query, stop: &AtomicBool, reports: &Reports) -> (bool, Vec<String>) {
    match find(&call, &query, stop) {
        Ok(matches) => {
            let what = if query.study.is_some() {
                "series"
            } else {
                "studies"
            };
            let line = format!("{} {what} found at {}.", matches.len(), call.called);
            reports.say(NetworkEvent::Found(Box::new(Found {
                call,
                query,
                matches,
            })));
            (false, vec![line])
        }
        Err(error) => (true, vec![error.to_string()]),
    }
}

/// Retrieves studies or series, each into its own folder in `into`.
fn get_all(
    call: &Call,
    wanted: &[Match],
    into: &Path,
    route: Route,
    stop: &AtomicBool,
    reports: &Reports,
) -> (bool, Vec<String>) {
    if !into.exists()
        && let Err(error) = std::fs::create_dir(into)
    {
        let folder = into.display();
        return (
            true,
            vec![format!(
                "Cannot make the folder {folder}: {error}; choose another."
            )],
        );
    }
    let retrieved = retrieve_all(call, wanted, route, into, stop, &|come, to_come| {
        reports.say(NetworkEvent::Progress {
            done: come,
            all: come + to_come,
        })
    });
    let (arrived, errors) = retrieved;
    reports.say(NetworkEvent::Arrived(arrived.folders.clone()));
    let is_failure = arrived.failed > 0 || arrived.objects == 0 || !errors.is_empty();
    (is_failure, arrived.lines(&errors, into))
}
