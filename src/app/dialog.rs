//! Asking for a file or folder: the desktop's own dialogs, where it has any.

use super::report;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a file dialog is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    OpenFolder,
    OpenFile,
    OpenHuTable,
    OpenDose,
    OpenXray,
    SavePlan,
    SaveSession,
    SaveHuTable,
    SaveReport,
    SaveDvhs,
    SaveRegistration,
}

impl Ask {
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenFolder => "Open a folder in Beamsight",
            Self::OpenFile => "Open a file in Beamsight",
            Self::OpenHuTable => "Open a HU table",
            Self::OpenDose => "Open a dose (RTDOSE, or .mha in Gy)",
            Self::OpenXray => "Open an X-ray",
            Self::SavePlan => "Save the plan",
            Self::SaveSession => "Save the session",
            Self::SaveDvhs => "Save the DVHs (.csv)",
            Self::SaveReport => "Write the report (.pdf, .csv or .json)",
            Self::SaveRegistration => "Save the registration",
            Self::SaveHuTable => "Save the HU table",
        }
    }

    /// The name that a file to be saved has at first; `None` where one is opened.
    pub fn file_name(self) -> Option<&'static str> {
        match self {
            Self::OpenFolder | Self::OpenFile | Self::OpenHuTable | Self::OpenDose | Self::OpenXray => None,
            Self::SavePlan => Some("plan.toml"),
            Self::SaveSession => Some("session.json"),
            Self::SaveReport => Some("comparison.pdf"),
            Self::SaveDvhs => Some("dvh.csv"),
            Self::SaveRegistration => Some("registration.dcm"),
            Self::SaveHuTable => Some("hu-table.toml"),
        }
    }

    /// What the files are called, and their endings; DICOM files often have none.
    pub fn endings(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::OpenFolder | Self::OpenFile | Self::OpenDose | Self::OpenXray => None,
            Self::OpenHuTable | Self::SaveHuTable => Some(("HU table", &["toml"])),
            Self::SavePlan => Some(("Plan", &["toml"])),
            Self::SaveSession => Some(("Session", &["json"])),
            Self::SaveDvhs => Some(("CSV", &["csv"])),
            Self::SaveReport => Some(("Report", &report::ENDINGS)),
            Self::SaveRegistration => Some(("DICOM", &["dcm"])),
        }
    }

    /// The path with an ending that its kind of file is known by; where it has none, the first.
    pub fn with_ending(self, path: PathBuf) -> PathBuf {
        let Some((_, endings)) = self.endings() else { return path };
        if path.extension().is_some_and(|e| endings.iter().any(|known| e.eq_ignore_ascii_case(known))) {
            return path;
        }
        let mut name = path.into_os_string();
        name.push(".");
        name.push(endings[0]);
        name.into()
    }
}

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
pub(super) type Answered = (Ask, Picked);

/// Asks for a file or folder. Called on a thread of its own.
pub type Dialog = Arc<dyn Fn(Ask) -> Picked + Send + Sync>;

/// Nobody closes a dialog as soon as this: there was none.
const NO_DIALOG: Duration = Duration::from_millis(300);

/// The desktop's own dialogs.
pub(super) fn desktop_dialog() -> Dialog {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_the_ending_they_are_opened_by() {
        for (ask, path, want) in [
            (Ask::SaveSession, "a", "a.json"),
            (Ask::SaveSession, "a.json", "a.json"),
            (Ask::SaveSession, "a.JSON", "a.JSON"),
            (Ask::SaveSession, "a.b", "a.b.json"),
            (Ask::SaveReport, "a.csv", "a.csv"),
            (Ask::SaveReport, "a.doc", "a.doc.pdf"),
            (Ask::OpenFile, "a", "a"),
        ] {
            assert_eq!(ask.with_ending(path.into()), PathBuf::from(want));
        }
    }
}
