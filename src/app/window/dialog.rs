//! File dialogs: the desktop's own, if it has any, else the window's browser.

use super::App;
use super::browser::{self, Browser, Outcome};
use super::folders::Beginnings;
use crate::feature::commission::state::MachineFitAction;
use crate::state::NoticeKind;
use crate::state::files::FileAction;
use crate::state::proposal::Ask;
use ::open::paths_of;
use case::Placement;
use chrono::Local;
use crossbeam_channel::{Receiver, Sender};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A dialog's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    Path(PathBuf),
    /// The user cancelled.
    Nothing,
    /// The desktop has none: the window's own file browser replaces it.
    NoDialog,
}

/// Purpose of a dialog, and its answer.
type Answered = (Ask, Picked);

/// File dialogs, each on its own thread.
pub(super) struct Dialogs {
    pub dialog: Dialog,
    answers: (Sender<Answered>, Receiver<Answered>),
    /// Number of dialogs that are open.
    open: usize,
    /// The browser instead of a dialog, if the desktop has none, and its last folder.
    browser: Option<Browser>,
    folder: Option<PathBuf>,
}

impl Default for Dialogs {
    fn default() -> Self {
        Self {
            dialog: desktop_dialog(),
            answers: crossbeam_channel::unbounded(),
            open: 0,
            browser: None,
            folder: None,
        }
    }
}

impl Dialogs {
    pub(super) fn has_open(&self) -> bool {
        self.open > 0
    }
}

/// Opens a dialog for a file or folder. Called on its own thread.
pub type Dialog = Arc<dyn Fn(&Ask) -> Picked + Send + Sync>;

/// No user closes a dialog this fast: the desktop has none.
const NO_DIALOG: Duration = Duration::from_millis(300);

/// The desktop's own dialogs.
fn desktop_dialog() -> Dialog {
    Arc::new(|ask| {
        let action = ask.action;
        if !has_portal() {
            return Picked::NoDialog;
        }
        let since = Instant::now();
        let mut dialog = rfd::FileDialog::new().set_title(action.title());
        if let Some((kind, endings)) = action.endings() {
            dialog = dialog.add_filter(kind, endings);
        }
        if let Some(folder) = &ask.folder {
            dialog = dialog.set_directory(folder);
        }
        let path = match (action, &ask.name) {
            (_, Some(name)) => dialog.set_file_name(name).save_file(),
            (action, None) if action.is_folder() => dialog.pick_folder(),
            (_, None) => dialog.pick_file(),
        };
        match path {
            Some(path) => Picked::Path(path),
            None if since.elapsed() < NO_DIALOG => Picked::NoDialog,
            None => Picked::Nothing,
        }
    })
}

/// Whether the desktop's file-dialog portal responds. A portal that is registered and does not start would block the
/// dialog for 25 s and then return without an error.
#[cfg(target_os = "linux")]
fn has_portal() -> bool {
    const PATIENCE: Duration = Duration::from_millis(1500);
    let call = async {
        let session = zbus::connection::Builder::session()?
            .method_timeout(PATIENCE)
            .build()
            .await?;
        let portal = Some("org.freedesktop.portal.Desktop");
        let version = ("org.freedesktop.portal.FileChooser", "version");
        let properties = Some("org.freedesktop.DBus.Properties");
        session
            .call_method(
                portal,
                "/org/freedesktop/portal/desktop",
                properties,
                "Get",
                &version,
            )
            .await
    };
    let (sender, answer) = crossbeam_channel::bounded(1);
    // A bus that accepts the connection and never replies is not awaited either: its thread is abandoned.
    let thread = std::thread::Builder::new()
        .name("portal".to_owned())
        .spawn(move || {
            // The receiver may have timed out by now.
            let _ = sender.send(pollster::block_on(call).is_ok());
        });
    thread.is_ok() && answer.recv_timeout(PATIENCE).unwrap_or(false)
}

#[cfg(not(target_os = "linux"))]
fn has_portal() -> bool {
    true
}

impl App {
    /// Opens a dialog for a folder or file on its own thread; a later frame receives the answer.
    pub(super) fn pick(&mut self, action: FileAction) {
        let sender = self.dialogs.answers.0.clone();
        let (ctx, dialog) = (self.ctx.clone(), Arc::clone(&self.dialogs.dialog));
        let name = self
            .state
            .proposed_name(action, &Local::now().format("%Y-%m-%d").to_string());
        let ask = Ask {
            action,
            name,
            folder: None,
        };
        let (beginnings, unanswered) = (self.beginnings(action), ask.clone());
        let spawned = std::thread::Builder::new()
            .name("dialog".to_owned())
            .spawn(move || {
                let ask = Ask {
                    folder: beginnings.folder(),
                    ..ask
                };
                let answer = dialog(&ask);
                // The window may be closed by now.
                if sender.send((ask, answer)).is_ok() {
                    ctx.request_repaint();
                }
            });
        match spawned {
            Ok(_) => self.dialogs.open += 1,
            Err(_) => self.browse(unanswered),
        }
    }

    /// Folders that a dialog begins in: the last one of that kind of file, then the user's documents for a file to be saved and
    /// folders of recent cases for one to be opened.
    fn beginnings(&self, action: FileAction) -> Beginnings {
        let last = self
            .layout
            .folder(action.kind())
            .map(Path::to_owned)
            .into_iter();
        match action.file_name() {
            None => Beginnings {
                known: last.chain(self.places()).collect(),
                ..Beginnings::default()
            },
            Some(_) => {
                let of_case = self
                    .state
                    .origin
                    .as_ref()
                    .filter(|origin| origin.folder.is_some());
                let avoided = of_case
                    .map(|origin| paths_of(&origin.word))
                    .unwrap_or_default();
                Beginnings {
                    known: last.collect(),
                    avoided,
                    with_documents: true,
                }
            }
        }
    }

    /// Notes the folder of a file that was chosen.
    pub(super) fn note_folder(&mut self, action: FileAction, path: &Path) {
        if let Some(folder) = path.parent() {
            self.layout.note_folder(action.kind(), folder);
        }
    }

    /// Opens the window's own file browser; for a file to be opened in its last folder.
    fn browse(&mut self, ask: Ask) {
        let last = self.dialogs.folder.clone().filter(|_| ask.name.is_none());
        let started = last
            .or_else(|| ask.folder.clone())
            .or_else(|| std::env::current_dir().ok());
        let folder = started
            .or_else(browser::home)
            .unwrap_or_else(|| PathBuf::from("/"));
        self.dialogs.browser = Some(Browser::new(ask, folder, &self.ctx));
    }

    /// The folders of the recent cases.
    fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = Vec::new();
        for folder in self
            .state
            .recent
            .iter()
            .filter_map(|case| Path::new(&case.word).parent())
        {
            if !places.iter().any(|p| p == folder) {
                places.push(folder.to_owned());
            }
        }
        places
    }

    pub(super) fn show_browser(&mut self, ctx: &egui::Context) {
        let places = if self.dialogs.browser.is_some() {
            self.places()
        } else {
            Vec::new()
        };
        let Some(browser) = &mut self.dialogs.browser else {
            return;
        };
        let Some(outcome) = browser.show(ctx, &places) else {
            return;
        };
        let (action, folder) = (browser.action(), browser.folder().to_owned());
        (self.dialogs.folder, self.dialogs.browser) = (Some(folder), None);
        match outcome {
            Outcome::Path(path) => self.take_path(action, path, false),
            Outcome::Cancelled => self.save_ended(),
        }
    }

    /// Receives the dialogs' answers since the last frame.
    pub(super) fn take_picked(&mut self) {
        let picked: Vec<Answered> = self.dialogs.answers.1.try_iter().collect();
        for (ask, answer) in picked {
            self.dialogs.open -= 1;
            let action = ask.action;
            match answer {
                Picked::NoDialog => self.browse(ask),
                Picked::Nothing => self.save_ended(),
                // The desktop's dialog has already confirmed a replacement.
                Picked::Path(path) => self.take_path(action, path, true),
            }
        }
    }

    /// `replaces`: the user has confirmed that an existing file is replaced.
    fn take_path(&mut self, action: FileAction, path: PathBuf, replaces: bool) {
        if action.file_name().is_none() {
            self.note_folder(action, &path);
        }
        match action {
            FileAction::OpenFolder | FileAction::OpenFile => self.open_path(path),
            FileAction::ArrivalsFolder | FileAction::SentFolder => {
                self.take_network_folder(action, &path)
            }
            FileAction::OpenXray => self.requests().open_xray(path, Placement::default(), None),
            FileAction::OpenHuTable => self.requests().open_hu_table(path),
            FileAction::OpenGoals => self.requests().open_goals(path),
            FileAction::OpenProtocol => self.take_protocol_file(path),
            FileAction::OpenStructures => self.requests().open_structures(path),
            FileAction::OpenTank(what) => self
                .requests()
                .machine_fit(MachineFitAction::Add(what, path)),
            FileAction::OpenDose => self.requests().open_dose(path, None),
            FileAction::OpenCheckModel | FileAction::OpenCheckGoals => {
                self.take_check_file(action, path)
            }
            _ => self.write(action, path, replaces),
        }
    }

    /// Opens a file or folder dropped on the window.
    pub(super) fn take_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.clone());
        match dropped.as_slice() {
            [] => {}
            [one] => self.open_path(one.path().to_owned()),
            more => {
                let text = format!(
                    "{} files were dropped: drop one, or the folder they are in.",
                    more.len()
                );
                self.state.notices.add(NoticeKind::Warning, text);
            }
        }
    }
}
