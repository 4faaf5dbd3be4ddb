//! Asking for a file or folder: with the desktop's own dialogs, where it has any, else with the window's browser.

use super::App;
use super::browser::{self, Browser, Outcome};
use crate::app::state::NoticeKind;
use crate::app::state::files::Ask;
use crate::case::Placement;
use crossbeam_channel::{Receiver, Sender};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A dialog's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    Path(PathBuf),
    /// The user thought better of it.
    Nothing,
    /// The desktop has none: the window's own file browser takes its place.
    NoDialog,
}

/// What a dialog was opened for, and its answer.
type Answered = (Ask, Picked);

/// File dialogs, asked on threads of their own.
pub(super) struct Dialogs {
    pub ask: Dialog,
    answers: (Sender<Answered>, Receiver<Answered>),
    /// In place of a dialog, where the desktop has none, and the folder it was last in.
    browser: Option<Browser>,
    folder: Option<PathBuf>,
}

impl Default for Dialogs {
    fn default() -> Self {
        Self { ask: desktop_dialog(), answers: crossbeam_channel::unbounded(), browser: None, folder: None }
    }
}

/// Asks for a file or folder. Called on a thread of its own.
pub type Dialog = Arc<dyn Fn(Ask) -> Picked + Send + Sync>;

/// Nobody closes a dialog as soon as this: there was none.
const NO_DIALOG: Duration = Duration::from_millis(300);

/// The desktop's own dialogs.
fn desktop_dialog() -> Dialog {
    Arc::new(|ask| {
        if !has_portal() {
            return Picked::NoDialog;
        }
        let since = Instant::now();
        let mut dialog = rfd::FileDialog::new().set_title(ask.title());
        if let Some((kind, endings)) = ask.endings() {
            dialog = dialog.add_filter(kind, endings);
        }
        let path = match (ask, ask.file_name()) {
            (_, Some(name)) => dialog.set_file_name(name).save_file(),
            (Ask::OpenFolder, None) => dialog.pick_folder(),
            (_, None) => dialog.pick_file(),
        };
        match path {
            Some(path) => Picked::Path(path),
            None if since.elapsed() < NO_DIALOG => Picked::NoDialog,
            None => Picked::Nothing,
        }
    })
}

/// Whether the desktop answers for its file dialogs. A portal that is registered and does not start would hold the dialog
/// for 25 s, without a word at its end.
#[cfg(target_os = "linux")]
fn has_portal() -> bool {
    const PATIENCE: Duration = Duration::from_millis(1500);
    let ask = async {
        let session = zbus::connection::Builder::session()?.method_timeout(PATIENCE).build().await?;
        let portal = Some("org.freedesktop.portal.Desktop");
        let version = ("org.freedesktop.portal.FileChooser", "version");
        let properties = Some("org.freedesktop.DBus.Properties");
        session.call_method(portal, "/org/freedesktop/portal/desktop", properties, "Get", &version).await
    };
    let (sender, answer) = crossbeam_channel::bounded(1);
    // A bus that takes the connection and says nothing is not waited for either: its thread is left to itself.
    let asks = move || {
        // Nobody may be waiting by now.
        let _ = sender.send(pollster::block_on(ask).is_ok());
    };
    let asked = std::thread::Builder::new().name("portal".to_owned()).spawn(asks);
    asked.is_ok() && answer.recv_timeout(PATIENCE).unwrap_or(false)
}

#[cfg(not(target_os = "linux"))]
fn has_portal() -> bool {
    true
}

impl App {
    /// Asks for a folder or file on a thread of its own; the answer is taken up with the next frame.
    pub(super) fn pick(&mut self, ask: Ask) {
        let sender = self.dialogs.answers.0.clone();
        let (ctx, dialog) = (self.ctx.clone(), Arc::clone(&self.dialogs.ask));
        let wait = move || {
            // The window may be gone by now.
            if sender.send((ask, dialog(ask))).is_ok() {
                ctx.request_repaint();
            }
        };
        if std::thread::Builder::new().name("dialog".to_owned()).spawn(wait).is_err() {
            self.browse(ask);
        }
    }

    /// Opens the window's own file browser, where it was last used, else beside the last case.
    fn browse(&mut self, ask: Ask) {
        let known = self.dialogs.folder.clone().or_else(|| self.places().into_iter().next());
        let folder = known.or_else(|| std::env::current_dir().ok()).or_else(browser::home);
        self.dialogs.browser =
            Some(Browser::new(ask, folder.unwrap_or_else(|| PathBuf::from("/")), &self.ctx));
    }

    /// The folders of the recent cases.
    fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = Vec::new();
        for folder in self.state.recent.iter().filter_map(|word| Path::new(word).parent()) {
            if !places.iter().any(|p| p == folder) {
                places.push(folder.to_owned());
            }
        }
        places
    }

    pub(super) fn show_browser(&mut self, ctx: &egui::Context) {
        let places = if self.dialogs.browser.is_some() { self.places() } else { Vec::new() };
        let Some(browser) = &mut self.dialogs.browser else { return };
        let Some(outcome) = browser.show(ctx, &places) else { return };
        let (ask, folder) = (browser.ask, browser.folder().to_owned());
        (self.dialogs.folder, self.dialogs.browser) = (Some(folder), None);
        match outcome {
            Outcome::Path(path) => self.take_path(ask, path, false),
            Outcome::Cancelled => self.save_ended(),
        }
    }

    /// What the dialogs answered since the last frame.
    pub(super) fn take_picked(&mut self) {
        let picked: Vec<Answered> = self.dialogs.answers.1.try_iter().collect();
        for (ask, answer) in picked {
            match answer {
                Picked::NoDialog => self.browse(ask),
                Picked::Nothing => self.save_ended(),
                // Desktops ask themselves.
                Picked::Path(path) => self.take_path(ask, path, true),
            }
        }
    }

    /// `replaces`: what is there was asked about.
    fn take_path(&mut self, ask: Ask, path: PathBuf, replaces: bool) {
        match ask {
            Ask::OpenFolder | Ask::OpenFile => self.open_path(path),
            Ask::OpenXray => self.requests().open_xray(path, Placement::default(), None),
            Ask::OpenHuTable => self.requests().open_hu_table(path),
            Ask::OpenDose => self.requests().open_dose(path, None),
            _ => self.write(ask, path, replaces),
        }
    }

    /// What is dropped on the window is opened.
    pub(super) fn take_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.clone());
        match dropped.as_slice() {
            [] => {}
            [one] => self.open_path(one.path().to_owned()),
            more => {
                let text = format!("{} files were dropped: drop one, or the folder they are in.", more.len());
                self.state.notices.add(NoticeKind::Warning, text);
            }
        }
    }
}
