//! Size of the window and of its panels, its theme, and the other systems it knows, kept from run to run.

use super::replace_file;
use super::state_folder::private_folder;
use input::{RECENT_BYTES, read_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

const FILE: &str = "layout.json";
/// Sizes beyond these are no window's, points.
const SIZES: std::ops::RangeInclusive<f32> = 40.0..=20_000.0;

/// Which theme the panels have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    #[default]
    Dark,
    Light,
    /// As the desktop has it.
    System,
}

impl ThemeChoice {
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::System];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "Dark",
            Self::Light => "Light",
            Self::System => "As the system",
        }
    }
}

/// Names and places of this program and of another system, as typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerSettings {
    pub own_title: String,
    /// Folder for arrivals.
    pub into: String,
    pub bind: String,
    pub port: String,
    /// AE titles that may call, with commas.
    pub allow: String,
    /// Title, and host and port, of the other system.
    pub called: String,
    pub to: String,
    /// Folder or file to send.
    pub what: String,
    /// Other systems that have answered, the last one first.
    pub book: Vec<KnownPeer>,
}

/// Another system, by title, and host and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPeer {
    pub called: String,
    pub to: String,
}

/// Most systems that are remembered.
const MOST_KNOWN: usize = 20;

impl PeerSettings {
    /// Puts the other system first among those that are known.
    pub fn remember(&mut self) {
        let peer = KnownPeer {
            called: self.called.trim().to_owned(),
            to: self.to.trim().to_owned(),
        };
        self.book.retain(|entry| *entry != peer);
        self.book.insert(0, peer);
        self.book.truncate(MOST_KNOWN);
    }
}

impl Default for PeerSettings {
    fn default() -> Self {
        let [own_title, bind, port] = ["BEAMSIGHT", "127.0.0.1", "11112"].map(str::to_owned);
        let none = String::new;
        Self {
            own_title,
            bind,
            port,
            into: none(),
            allow: none(),
            called: none(),
            to: none(),
            what: none(),
            book: Vec::new(),
        }
    }
}

/// Sizes in points; what is missing has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// Width and height of the window.
    window: Option<[f32; 2]>,
    pub maximised: bool,
    pub theme: ThemeChoice,
    pub peers: PeerSettings,
    /// Width or height of panels, by name.
    panels: BTreeMap<String, f32>,
    /// Last folder of each kind of file.
    folders: BTreeMap<String, String>,
}

impl Layout {
    /// The layout in a folder for state; the default where the file is missing or unreadable.
    pub fn load(folder: &Path) -> Self {
        let text = read_text(&folder.join(FILE), RECENT_BYTES).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// # Errors
    /// Errors of the file system.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        private_folder(folder)?;
        let text = serde_json::to_string_pretty(self)?;
        replace_file::<io::Error>(&folder.join(FILE), |out| out.write_all(text.as_bytes()))
    }

    /// Width and height of the window.
    pub fn window(&self) -> Option<[f32; 2]> {
        self.window
            .filter(|size| size.iter().all(|v| SIZES.contains(v)))
    }

    /// Notes the window's size; a maximised window keeps the size it had before.
    pub fn note_window(&mut self, size: [f32; 2], maximised: bool) {
        self.maximised = maximised;
        if !maximised {
            self.window = Some(size);
        }
    }

    /// The last folder of a kind of file.
    pub fn folder(&self, kind: &str) -> Option<&Path> {
        self.folders.get(kind).map(Path::new)
    }

    /// Notes the last folder of a kind of file, where its name is UTF-8.
    pub fn note_folder(&mut self, kind: &str, folder: &Path) {
        if let Some(folder) = folder.to_str().filter(|_| folder.is_absolute()) {
            self.folders.insert(kind.to_owned(), folder.to_owned());
        }
    }

    /// Size of a panel.
    pub fn panel(&self, name: &str, default: f32) -> f32 {
        self.panels
            .get(name)
            .copied()
            .filter(|v| SIZES.contains(v))
            .unwrap_or(default)
    }

    pub fn note_panel(&mut self, name: &str, size: f32) {
        if self.panels.get(name) != Some(&size) {
            self.panels.insert(name.to_owned(), size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_comes_back_and_a_damaged_one_is_the_default() {
        let folder = std::env::temp_dir().join(format!("beamsight-layout-{}", std::process::id()));
        assert_eq!(Layout::load(&folder), Layout::default());
        let mut layout = Layout::default();
        layout.note_window([1400.0, 900.0], false);
        layout.note_window([3000.0, 2000.0], true);
        layout.note_panel("tree", 300.0);
        layout.note_panel("broken", f32::INFINITY);
        assert_eq!(
            (layout.panel("tree", 1.0), layout.panel("broken", 9.0)),
            (300.0, 9.0)
        );
        layout.panels.remove("broken");
        layout.theme = ThemeChoice::System;
        layout.peers.called = "PACS".to_owned();
        layout.note_folder("plan", Path::new("plans"));
        assert_eq!(
            layout.folder("plan"),
            None,
            "a relative folder is another in the next run"
        );
        layout.note_folder("plan", &folder);
        layout.save(&folder).expect("saved");
        let back = Layout::load(&folder);
        assert_eq!(back.folder("plan"), Some(&*folder));
        assert_eq!(
            (back.window(), back.maximised, &back),
            (Some([1400.0, 900.0]), true, &layout)
        );
        // A layout of the time before there were themes.
        std::fs::write(folder.join(FILE), r#"{ "window": [1400.0, 900.0] }"#).expect("written");
        let layout = Layout::load(&folder);
        assert_eq!(
            (layout.window(), layout.theme),
            (Some([1400.0, 900.0]), ThemeChoice::Dark)
        );
        std::fs::write(folder.join(FILE), "{ \"window\": [0").expect("written");
        assert_eq!(Layout::load(&folder), Layout::default());
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
