//! Other systems: a listener for what they send, and files sent to them. Nothing listens or connects until asked to.

use crate::command::{Command, Commands};
use crate::feature::network::state::{Errand, Found, Network, NetworkAction, Search};
use crate::kit::{progress, section, theme};
use crate::state::State;
use crate::state::files::{FileAction, file_name};
use egui::{Button, RichText, TextEdit, Ui};
use files::PeerSettings;
use network::Match;

const WIDTH: f32 = 460.0;
/// Width of a field that shares its line.
const NARROW: f32 = 124.0;

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let network = &state.network;
    if !network.is_open {
        return;
    }
    // Below the list there is room for what happened.
    let height = (ctx.content_rect().height() - 270.0).max(160.0);
    let (mut is_open, mut settings, mut actions) = (true, network.settings.clone(), Vec::new());
    egui::Window::new("Other systems")
        .open(&mut is_open)
        .resizable(false)
        .default_width(WIDTH)
        .show(ctx, |ui| {
            ui.set_width(WIDTH);
            ui.weak(
                "DICOM to and from a PACS or planning system. No TLS: only in a network you trust.",
            );
            let area = egui::ScrollArea::vertical()
                .id_salt("what others are asked")
                .max_height(height);
            // The height of the frame before does not limit it: else the box would not grow to its content.
            let area = area.min_scrolled_height(height).auto_shrink([false, true]);
            area.show(ui, |ui| {
                receive(ui, network, &mut settings, &mut actions, commands);
                other(ui, network, &mut settings, &mut actions, commands);
            });
            calling(ui, network, &mut actions);
            lines(ui, network);
        });
    if settings != network.settings {
        // What is typed counts before the button that is pressed with it.
        actions.insert(0, NetworkAction::Settings(settings));
    }
    if !is_open {
        actions.push(NetworkAction::Open(false));
    }
    actions
        .into_iter()
        .for_each(|action| commands.push(Command::Network(action)));
}

/// A line of a form: its name, its text, what it is for.
fn field(ui: &mut Ui, enabled: bool, name: &str, text: &mut String, hint: &str) {
    entry(ui, enabled, name, text, EntryLook::wide(hint));
    ui.end_row();
}

/// A name and its text, with the width of the text.
fn entry(ui: &mut Ui, enabled: bool, name: &str, text: &mut String, look: EntryLook<'_>) {
    let label = ui.label(name);
    let edit = TextEdit::singleline(text).desired_width(look.width);
    ui.add_enabled(enabled, edit)
        .on_hover_text(look.hint)
        .labelled_by(label.id);
}

/// How an entry looks: its width in points, and its hint.
struct EntryLook<'a> {
    width: f32,
    hint: &'a str,
}

impl<'a> EntryLook<'a> {
    fn narrow(hint: &'a str) -> Self {
        Self {
            width: NARROW,
            hint,
        }
    }

    fn wide(hint: &'a str) -> Self {
        Self { width: 300.0, hint }
    }
}

/// Words of a line for a folder, and the dialog that its button opens.
struct FolderLine<'a> {
    name: &'a str,
    hint: &'a str,
    dialog: FileAction,
    dialog_name: &'a str,
}

/// A line of a form for a folder, with the button that chooses one.
fn folder(
    ui: &mut Ui,
    enabled: bool,
    line: FolderLine<'_>,
    text: &mut String,
    commands: &mut Commands,
) {
    let label = ui.label(line.name);
    ui.horizontal(|ui| {
        let edit = TextEdit::singleline(text).desired_width(266.0);
        ui.add_enabled(enabled, edit)
            .on_hover_text(line.hint)
            .labelled_by(label.id);
        let button = ui
            .add_enabled(enabled, Button::new("…"))
            .accessible_name(line.dialog_name);
        if button.clicked() {
            commands.push(Command::Pick(line.dialog));
        }
    });
    ui.end_row();
}

fn receive(
    ui: &mut Ui,
    network: &Network,
    settings: &mut PeerSettings,
    actions: &mut Vec<NetworkAction>,
    commands: &mut Commands,
) {
    section(ui, "From others");
    let free = !network.has_listener;
    egui::Grid::new("receive").num_columns(2).show(ui, |ui| {
        let hint = "By which name others call this program";
        field(
            ui,
            free && network.calling.is_none(),
            "Own AE title",
            &mut settings.own_title,
            hint,
        );
        let hint = "Each delivery gets a folder of its own in it";
        let line = FolderLine {
            name: "Folder for arrivals",
            hint,
            dialog: FileAction::ArrivalsFolder,
            dialog_name: "Choose the folder for arrivals",
        };
        folder(ui, free, line, &mut settings.into, commands);
        let hint = "127.0.0.1: only this machine; 0.0.0.0: all addresses of this machine";
        field(ui, free, "Listen on address", &mut settings.bind, hint);
        field(
            ui,
            free,
            "Listen on port",
            &mut settings.port,
            "0: one that the system chooses",
        );
        let hint = "AE titles, or any; empty: any, from this machine alone";
        field(ui, free, "Who may call", &mut settings.allow, hint);
    });
    ui.horizontal(|ui| {
        if free {
            let hint = "Takes what others send until it is stopped or the window closes";
            if ui.button("Listen").on_hover_text(hint).clicked() {
                actions.push(NetworkAction::Listen);
            }
            ui.weak("Off");
        } else {
            let hint = "Open associations are aborted, and nothing of them is kept";
            if ui.button("Stop listening").on_hover_text(hint).clicked() {
                actions.push(NetworkAction::StopListening);
            }
            if let Some(address) = network.listening {
                ui.colored_label(
                    theme::palette(ui).warning,
                    format!("Listening on {address}"),
                );
            }
        }
    });
    for folder in &network.arrived {
        let name = file_name(folder);
        let hint = folder.display().to_string();
        if ui
            .add(Button::new(format!("Open {name}")).truncate())
            .on_hover_text(hint)
            .clicked()
        {
            commands.push(Command::Open(folder.display().to_string()));
        }
    }
}

/// The other system: whether it is there, what it has, what is sent to it.
fn other(
    ui: &mut Ui,
    network: &Network,
    settings: &mut PeerSettings,
    actions: &mut Vec<NetworkAction>,
    commands: &mut Commands,
) {
    section(ui, "Another system");
    let free = network.calling.is_none();
    egui::Grid::new("other").num_columns(2).show(ui, |ui| {
        field(
            ui,
            free,
            "Their AE title",
            &mut settings.called,
            "The name of the other system",
        );
        field(
            ui,
            free,
            "Their host and port",
            &mut settings.to,
            "For example pacs:104",
        );
    });
    ui.horizontal(|ui| {
        if request(ui, free, "Ask whether it is there", "C-ECHO") {
            actions.push(NetworkAction::Echo);
        }
        if !settings.book.is_empty() {
            ui.add_enabled_ui(free, |ui| book(ui, settings));
        }
    });
    section(ui, "Send to it");
    egui::Grid::new("send").num_columns(2).show(ui, |ui| {
        let hint = "The DICOM files in it leave as they are; export the case first to send what is on show";
        let line = FolderLine {
            name: "Folder or file to send",
            hint,
            dialog: FileAction::SentFolder,
            dialog_name: "Choose the folder to send",
        };
        folder(ui, free, line, &mut settings.what, commands);
    });
    let hint = "Every object in its own transfer syntax; what is not taken is named";
    if request(ui, free, "Send", hint) {
        actions.push(NetworkAction::Send);
    }
    section(ui, "Get from it");
    let mut search = network.search.clone();
    egui::Grid::new("find").num_columns(4).show(ui, |ui| {
        let hint = "Its beginning: Doe, or Doe Jane; * and ? stand for any letters and any letter";
        entry(
            ui,
            free,
            "Patient name",
            &mut search.name,
            EntryLook::narrow(hint),
        );
        let hint = "* and ? stand for any letters and any letter; empty: all patients";
        entry(
            ui,
            free,
            "Patient ID",
            &mut search.patient,
            EntryLook::narrow(hint),
        );
        ui.end_row();
        let hint = "2026-11-27, or a range: 2026-11-01..2026-11-27, 2026-11-01.. or ..2026-11-27";
        entry(
            ui,
            free,
            "Study date",
            &mut search.date,
            EntryLook::narrow(hint),
        );
        entry(
            ui,
            free,
            "Modality",
            &mut search.modality,
            EntryLook::narrow("CT, RTPLAN, RTDOSE; empty: all"),
        );
        ui.end_row();
    });
    ui.horizontal(|ui| {
        let hint = "Lists the series of this study; empty: lists studies";
        entry(
            ui,
            free,
            "Study UID",
            &mut search.study,
            EntryLook::wide(hint),
        );
    });
    ui.horizontal(|ui| {
        if request(ui, free, "Find", "C-FIND: what the other system has") {
            actions.push(NetworkAction::Find);
        }
        let hint = "Objects come by a call back to the address above (C-MOVE), which must be entered at the other system under \
                    our title; else over the association that asks (C-GET)";
        let switch = egui::Checkbox::new(&mut search.by_move, "they call back");
        ui.add_enabled(free, switch).on_hover_text(hint);
    });
    if search != network.search {
        actions.insert(0, NetworkAction::Search(search));
    }
    found(ui, network, free, actions);
}

/// The button of a request to the other system; whether it was clicked.
fn request(ui: &mut Ui, free: bool, text: &str, hint: &str) -> bool {
    ui.add_enabled(free, Button::new(text))
        .on_hover_text(hint)
        .clicked()
}

/// The systems that have answered, to be chosen again.
fn book(ui: &mut Ui, settings: &mut PeerSettings) {
    ui.menu_button("Known systems", |ui| {
        let (mut chosen, mut forgotten) = (None, None);
        for (n, system) in settings.book.iter().enumerate() {
            let words = format!("{} at {}", system.called, system.to);
            ui.horizontal(|ui| {
                let forget = ui.small_button("×").on_hover_text("Forgets this system");
                if forget.accessible_name(format!("Forget {words}")).clicked() {
                    forgotten = Some(n);
                }
                if ui.button(&words).clicked() {
                    chosen = Some(system.clone());
                }
            });
        }
        if let Some(system) = chosen {
            (settings.called, settings.to) = (system.called, system.to);
            ui.close();
        }
        if let Some(n) = forgotten {
            settings.book.remove(n);
        }
    });
}

/// The answers to the last query, each with its button.
fn found(ui: &mut Ui, network: &Network, free: bool, actions: &mut Vec<NetworkAction>) {
    let Some(Found {
        call,
        query,
        matches,
    }) = &network.found
    else {
        return;
    };
    let is_series = query.study.is_some();
    let what = if is_series { "series" } else { "studies" };
    ui.horizontal(|ui| {
        ui.weak(format!(
            "{} {what} of {} at {}",
            matches.len(),
            call.called,
            call.to
        ));
        // All that a system has comes to no folder by one press.
        let named =
            is_series || query.patient.is_some() || query.name.is_some() || query.date.is_some();
        if named
            && matches.len() > 1
            && ui
                .add_enabled(free, Button::new("Get all").small())
                .clicked()
        {
            actions.push(NetworkAction::Get(None));
        }
    });
    let area = egui::ScrollArea::both()
        .id_salt("found")
        .max_height(130.0)
        .auto_shrink([false, true]);
    area.show(ui, |ui| {
        egui::Grid::new("found")
            .num_columns(3)
            .striped(true)
            .show(ui, |ui| {
                for (n, m) in matches.iter().enumerate() {
                    let uid = if is_series {
                        &m.series_uid
                    } else {
                        &m.study_uid
                    };
                    let get = ui.add_enabled(free, Button::new("Get").small());
                    let get = get.accessible_name(format!("Get {uid}"));
                    if get
                        .on_hover_text("Into a folder of its own in the folder for arrivals")
                        .clicked()
                    {
                        actions.push(NetworkAction::Get(Some(n)));
                    }
                    if !is_series {
                        let series = ui.add_enabled(free, Button::new("Series").small());
                        if series.accessible_name(format!("Series of {uid}")).clicked() {
                            let study = uid.clone();
                            let Search {
                                modality, by_move, ..
                            } = network.search.clone();
                            let search = Search {
                                study,
                                modality,
                                by_move,
                                ..Search::default()
                            };
                            actions.extend([NetworkAction::Search(search), NetworkAction::Find]);
                        }
                    }
                    ui.add(
                        egui::Label::new(theme::spelled(ui.ctx(), &words(m, is_series))).extend(),
                    )
                    .on_hover_text(uid);
                    ui.end_row();
                }
            });
    });
}

fn words(m: &Match, is_series: bool) -> String {
    let objects = if m.objects.is_empty() {
        String::new()
    } else {
        format!("{} objects", m.objects)
    };
    let parts: Vec<&str> = match is_series {
        true => vec![
            &m.modality,
            &m.series_number,
            &objects,
            &m.date,
            &m.description,
        ],
        false => vec![
            &m.patient_id,
            &m.patient_name,
            &m.date,
            &m.modality,
            &objects,
            &m.description,
        ],
    };
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("  ")
}

/// How far a conversation of ours is.
fn calling(ui: &mut Ui, network: &Network, actions: &mut Vec<NetworkAction>) {
    let Some(calling) = network.calling else {
        if let Some(last) = network.last.as_ref().filter(|_| network.has_failed) {
            let hint = "The same once more, with what is typed now; objects that are there already are not doubled";
            if ui.button("Try again").on_hover_text(hint).clicked() {
                actions.push(last.clone());
            }
        }
        return;
    };
    let (what, stop) = match calling.errand {
        Errand::Echo => ("Asking", "Stop asking"),
        Errand::Send => ("Sending", "Stop sending"),
        Errand::Find => ("Finding", "Stop finding"),
        Errand::Get => ("Retrieving", "Stop retrieving"),
    };
    ui.horizontal(|ui| {
        let stop = ui.add_enabled(!calling.stopping, Button::new(stop));
        if stop.on_hover_text("Aborts the association").clicked() {
            actions.push(NetworkAction::Stop);
        }
        let (share, text) = match calling.all {
            0 => (None, what.to_owned()),
            all => (
                Some(calling.done as f32 / all as f32),
                format!("{what}: {} of {all} objects", calling.done),
            ),
        };
        progress(ui, share, egui::vec2(240.0, 18.0), &text);
    });
}

fn lines(ui: &mut Ui, network: &Network) {
    if network.lines.is_empty() {
        return;
    }
    section(ui, "What happened");
    let area = egui::ScrollArea::vertical()
        .id_salt("conversation")
        .max_height(140.0)
        .auto_shrink([false, true])
        .stick_to_bottom(true);
    area.show(ui, |ui| {
        for (is_failure, line) in &network.lines {
            let text = RichText::new(line);
            let text = if *is_failure {
                text.color(theme::palette(ui).error)
            } else {
                text
            };
            ui.add(egui::Label::new(text).wrap());
        }
    });
}
