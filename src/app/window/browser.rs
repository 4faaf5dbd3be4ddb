//! A file browser in the window, for desktops without file dialogs. Folders are read on a thread, so that an
//! unresponsive file system does not block the window.

use crate::kit::{row, theme};
use crate::state::files::{FileAction, file_name};
use crate::state::proposal::Ask;
use crossbeam_channel::{Receiver, TryRecvError, bounded};
use dicom::begins_as_dicom;
use egui::{Button, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui, vec2};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Most entries listed per folder: the path field accepts the others.
const MOST_ENTRIES: usize = 50_000;
/// Most files per folder that are looked into: of more the name alone decides.
const MOST_LOOKS: usize = 2_000;
const ROW_HEIGHT: f32 = 22.0;
const SIZE: egui::Vec2 = vec2(700.0, 380.0);

/// One line of a folder. Its name need not be UTF-8; the text shown is an approximation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: OsString,
    shown: String,
    /// Lower-case name, for the filter.
    small: String,
    is_folder: bool,
}

type Listing = Result<Vec<Entry>, String>;

/// The browser, open.
pub struct Browser {
    action: FileAction,
    folder: PathBuf,
    reading: Option<Receiver<Listing>>,
    listing: Listing,
    /// Indices of the entries that pass the filter.
    visible: Vec<usize>,
    /// The line that Enter selects, among those.
    selected_line: Option<usize>,
    path_text: String,
    filter: String,
    name: String,
    is_new: bool,
}

/// The user's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Path(PathBuf),
    Cancelled,
}

impl Browser {
    pub fn new(ask: Ask, folder: PathBuf, ctx: &egui::Context) -> Self {
        let mut browser = Self {
            action: ask.action,
            folder: PathBuf::new(),
            reading: None,
            listing: Ok(Vec::new()),
            visible: Vec::new(),
            selected_line: None,
            path_text: String::new(),
            filter: String::new(),
            name: ask.name.unwrap_or_default(),
            is_new: true,
        };
        browser.go(folder, ctx);
        browser
    }

    pub fn action(&self) -> FileAction {
        self.action
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens a folder.
    fn go(&mut self, folder: PathBuf, ctx: &egui::Context) {
        self.path_text = folder.to_string_lossy().into_owned();
        self.folder = folder.clone();
        self.filter.clear();
        (self.listing, self.visible, self.selected_line) = (Ok(Vec::new()), Vec::new(), None);
        let (sender, receiver) = bounded(1);
        let (action, ctx) = (self.action, ctx.clone());
        self.reading = Some(receiver);
        let thread = std::thread::Builder::new()
            .name("folder".to_owned())
            .spawn(move || {
                // The browser may have left the folder by now.
                if sender.send(entries(&folder, action)).is_ok() {
                    ctx.request_repaint();
                }
            });
        if thread.is_err() {
            self.reading = None;
            self.listing = Err("the system gives no thread to read the folder".to_owned());
        }
    }

    fn apply_filter(&mut self) {
        let wanted = self.filter.to_lowercase();
        let shows_hidden = wanted.starts_with('.');
        let entries = self.listing.iter().flatten().enumerate();
        self.visible = entries
            .filter(|(_, entry)| {
                entry.small.contains(&wanted) && (shows_hidden || !entry.small.starts_with('.'))
            })
            .map(|(index, _)| index)
            .collect();
        self.selected_line = (!wanted.is_empty() && !self.visible.is_empty()).then_some(0);
    }

    fn entry_at(&self) -> Option<&Entry> {
        self.listing
            .as_ref()
            .ok()?
            .get(*self.visible.get(self.selected_line?)?)
    }

    /// Opens a folder, or chooses a file.
    fn enter(&mut self, entry: &Entry, ctx: &egui::Context) -> Option<Outcome> {
        let path = self.folder.join(&entry.name);
        if entry.is_folder {
            self.go(path, ctx);
            return None;
        }
        Some(Outcome::Path(path))
    }

    /// The path in its field, where it is not the folder that is shown.
    fn typed_path(&self) -> Option<PathBuf> {
        if self.path_text.trim().is_empty() || self.path_text == self.folder.to_string_lossy() {
            return None;
        }
        let typed = match (self.path_text.strip_prefix("~/"), home()) {
            (Some(path_in_home), Some(home)) => home.join(path_in_home),
            _ => PathBuf::from(&self.path_text),
        };
        Some(self.folder.join(typed))
    }

    /// The typed path: a folder is opened, any other path is chosen; an invalid one is refused where the file is used.
    fn take_typed(&mut self, ctx: &egui::Context) -> Option<Outcome> {
        let path = self.typed_path()?;
        if path.is_dir() {
            self.go(path, ctx);
            return None;
        }
        Some(Outcome::Path(path))
    }

    /// Shows the browser; `places` are folders offered as shortcuts.
    pub fn show(&mut self, ctx: &egui::Context, places: &[PathBuf]) -> Option<Outcome> {
        match self.reading.as_ref().map(Receiver::try_recv) {
            Some(Ok(listing)) => {
                (self.listing, self.reading) = (listing, None);
                self.apply_filter();
            }
            Some(Err(TryRecvError::Disconnected)) => self.reading = None,
            Some(Err(TryRecvError::Empty)) | None => {}
        }
        let modal = egui::Modal::new(egui::Id::unique("file browser")).show(ctx, |ui| {
            ui.set_width(SIZE.x);
            ui.heading(self.action.title());
            let mut outcome = self.head(ui);
            ui.horizontal_top(|ui| {
                ui.vertical(|ui| {
                    ui.set_width(170.0);
                    self.places(ui, places);
                });
                ui.vertical(|ui| outcome = outcome.take().or(self.list(ui)));
            });
            outcome.or(self.foot(ui))
        });
        self.is_new = false;
        // A click beside the browser does not give up what was typed.
        let escapes = !modal.backdrop_response.clicked() && modal.should_close();
        modal.inner.or(escapes.then_some(Outcome::Cancelled))
    }

    fn head(&mut self, ui: &mut Ui) -> Option<Outcome> {
        ui.horizontal(|ui| {
            let parent = self.folder.parent().map(Path::to_owned);
            let up = ui
                .add_enabled(parent.is_some(), Button::new("Up"))
                .on_hover_text("Alt + up");
            let keyed = ui.input_mut(|i| i.consume_key(Modifiers::ALT, Key::ArrowUp));
            if let Some(parent) = parent.filter(|_| up.clicked() || keyed) {
                self.go(parent, ui.ctx());
            }
            let field =
                TextEdit::singleline(&mut self.path_text).desired_width(ui.available_width());
            let response = ui.add(field).accessible_name("Path");
            let entered = response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            if entered {
                self.take_typed(ui.ctx())
            } else {
                None
            }
        })
        .inner
    }

    fn places(&mut self, ui: &mut Ui, places: &[PathBuf]) {
        if let Some(home) = home() {
            self.place(ui, "Home", &home);
        }
        self.place(ui, "Computer", Path::new("/"));
        if !places.is_empty() {
            ui.weak("Recent");
        }
        for path in places {
            let name = file_name(path);
            self.place(ui, &name, path);
        }
    }

    /// The row of a folder, which a click opens.
    fn place(&mut self, ui: &mut Ui, name: &str, path: &Path) {
        if row(name, "", false)
            .show(ui, 0.0, |_| {})
            .on_hover_text(path.to_string_lossy())
            .clicked()
        {
            self.go(path.to_owned(), ui.ctx());
        }
    }

    /// The filter and the lines of the folder, with their keys.
    fn list(&mut self, ui: &mut Ui) -> Option<Outcome> {
        let moved = self.keys(ui);
        let field = TextEdit::singleline(&mut self.filter)
            .hint_text("type to find")
            .desired_width(f32::INFINITY);
        let response = ui.add(field).accessible_name("Find");
        if self.is_new && self.action.file_name().is_none() {
            response.request_focus();
        }
        if response.changed() {
            self.apply_filter();
        }
        let mut taken = None;
        if response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter)) {
            response.request_focus();
            taken = self.entry_at().cloned();
        }
        let mut area = ScrollArea::vertical().auto_shrink(false).max_height(SIZE.y);
        if let Some(line) = self.selected_line.filter(|_| moved) {
            area = area.vertical_scroll_offset((line as f32 * ROW_HEIGHT - 0.5 * SIZE.y).max(0.0));
        }
        ui.spacing_mut().item_spacing.y = 0.0;
        match (&self.listing, &self.reading) {
            (Err(why), _) => {
                _ = ui.add(
                    egui::Label::new(RichText::new(why).color(theme::palette(ui).error)).wrap(),
                )
            }
            (Ok(_), Some(_)) => _ = ui.weak("Reading…"),
            (Ok(entries), None) if entries.is_empty() => {
                _ = ui.weak("Nothing to choose in this folder.")
            }
            _ => {}
        }
        let Self {
            listing,
            visible,
            selected_line,
            name,
            action,
            path_text,
            folder,
            ..
        } = self;
        let entries = listing.as_deref().unwrap_or_default();
        area.show_rows(ui, ROW_HEIGHT, visible.len(), |ui, range| {
            for line in range {
                let Some(entry) = visible.get(line).and_then(|index| entries.get(*index)) else {
                    continue;
                };
                let detail = if entry.is_folder { "folder" } else { "" };
                let response =
                    row(&entry.shown, detail, *selected_line == Some(line)).show(ui, 0.0, |_| {});
                if response.clicked() {
                    *selected_line = Some(line);
                    // What was typed before is given up for the line.
                    *path_text = folder.to_string_lossy().into_owned();
                    if !entry.is_folder && action.file_name().is_some() {
                        name.clone_from(&entry.shown);
                    }
                }
                if response.double_clicked() {
                    taken = Some(entry.clone());
                }
            }
        });
        taken.and_then(|entry| self.enter(&entry, ui.ctx()))
    }

    /// Moves through the lines by up, down and the page keys; returns `true` if it did.
    fn keys(&mut self, ui: &mut Ui) -> bool {
        let steps = ui.input_mut(|i| {
            let [down, up, page_down, page_up] =
                [Key::ArrowDown, Key::ArrowUp, Key::PageDown, Key::PageUp]
                    .map(|key| i.count_and_consume_key(Modifiers::NONE, key) as isize);
            down - up + 10 * (page_down - page_up)
        });
        let last = self.visible.len().saturating_sub(1);
        if steps == 0 || self.visible.is_empty() {
            return false;
        }
        self.selected_line = Some(
            self.selected_line
                .map_or(0, |line| line.saturating_add_signed(steps).min(last)),
        );
        true
    }

    fn foot(&mut self, ui: &mut Ui) -> Option<Outcome> {
        let mut outcome = None;
        ui.separator();
        if self.action.file_name().is_some() {
            ui.horizontal(|ui| {
                ui.label("Name");
                let response = ui.add(TextEdit::singleline(&mut self.name).desired_width(300.0));
                let response = response.accessible_name("File name");
                if self.is_new {
                    response.request_focus();
                }
                if response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter)) {
                    outcome = self.save_named();
                }
            });
        }
        ui.horizontal(|ui| {
            let entry = self.entry_at().cloned();
            let typed = self.typed_path();
            if self.action.file_name().is_some() {
                if ui
                    .add_enabled(!self.name.trim().is_empty(), Button::new("Save here"))
                    .clicked()
                {
                    outcome = self.save_named();
                }
            } else if self.action.is_folder() {
                let marked =
                    entry.map_or_else(|| self.folder.clone(), |e| self.folder.join(e.name));
                let marked = typed.unwrap_or(marked);
                let name = file_name(&marked);
                let verb = if self.action == FileAction::OpenFolder {
                    "Open"
                } else {
                    "Use"
                };
                if ui.button(format!("{verb} folder {name}")).clicked() {
                    outcome = Some(Outcome::Path(marked));
                }
            } else if ui
                .add_enabled(entry.is_some() || typed.is_some(), Button::new("Open this"))
                .clicked()
            {
                outcome = match typed {
                    Some(_) => self.take_typed(ui.ctx()),
                    None => entry.and_then(|e| self.enter(&e, ui.ctx())),
                };
            }
            if ui.button("Cancel").clicked() {
                outcome = Some(Outcome::Cancelled);
            }
        });
        outcome
    }

    /// The file of the name field, in the folder that is typed or shown; a typed path that is no folder names the file itself.
    fn save_named(&mut self) -> Option<Outcome> {
        let folder = match self.typed_path() {
            Some(path) if path.is_dir() => path,
            Some(path) => return Some(Outcome::Path(path)),
            None => self.folder.clone(),
        };
        let name = self.name.trim().to_owned();
        // The name of a line may not be UTF-8: its entry has the exact name.
        let line = self
            .entry_at()
            .filter(|e| e.shown == name)
            .map(|e| e.name.clone());
        let name = line.unwrap_or_else(|| OsString::from(name));
        (!name.is_empty()).then(|| Outcome::Path(folder.join(name)))
    }
}

/// The user's home folder.
pub(super) fn home() -> Option<PathBuf> {
    let name = if cfg!(target_os = "windows") {
        "USERPROFILE"
    } else {
        "HOME"
    };
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
}

/// The entries of a folder that match `action`: folders first, by name.
fn entries(folder: &Path, action: FileAction) -> Listing {
    let listed = fs::read_dir(folder)
        .map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let mut entries = Vec::new();
    let mut looks = MOST_LOOKS;
    for entry in listed.take(MOST_ENTRIES) {
        let Ok(entry) = entry else { continue };
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => continue,
        };
        let name = entry.file_name();
        if is_folder || can_be_opened(&entry.path(), action, &mut looks) {
            // Not every font has the replacement character.
            let shown = name
                .to_string_lossy()
                .replace(char::REPLACEMENT_CHARACTER, "?");
            entries.push(Entry {
                small: shown.to_lowercase(),
                shown,
                name,
                is_folder,
            });
        }
    }
    entries
        .sort_by(|a, b| (!a.is_folder, &a.small, &a.name).cmp(&(!b.is_folder, &b.small, &b.name)));
    Ok(entries)
}

/// Whether a dialog for an action lists a file: by its ending, else by its first bytes, as DICOM files have any name.
fn can_be_opened(path: &Path, action: FileAction, looks: &mut usize) -> bool {
    match action.endings() {
        Some((_, endings)) => has_ending(path, endings),
        None if action.is_folder() || action == FileAction::Export => false,
        None if has_ending(path, action.endings_beside_dicom()) || *looks == 0 => true,
        None => {
            *looks -= 1;
            begins_as_dicom(path)
        }
    }
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|e| endings.iter().any(|ending| e.eq_ignore_ascii_case(ending)))
}
