//! The cases opened last.

use crate::command::{Command, Commands};
use crate::state::State;
use egui::Ui;
use files::RecentCase;

/// The cases opened last, one per line: name and folder.
pub fn recent(ui: &mut Ui, state: &State, commands: &mut Commands) {
    for RecentCase { word, patient, .. } in &state.recent {
        let path = std::path::Path::new(word);
        let name = path
            .file_name()
            .map_or_else(|| word.clone(), |n| n.to_string_lossy().into_owned());
        let folder = path
            .parent()
            .map(|p| p.display().to_string())
            .unwrap_or_default();
        // The end of a path identifies a folder better than its beginning.
        let letters = folder.chars().count();
        let end: String = folder
            .chars()
            .skip(letters.saturating_sub(FOLDER_LETTERS))
            .collect();
        let folder = if letters > FOLDER_LETTERS {
            format!("…{end}")
        } else {
            end
        };
        let button = egui::Button::new(name).right_text(egui::RichText::new(folder).weak());
        let size = egui::vec2(ui.available_width(), 0.0);
        let hint = if patient.is_empty() {
            word.clone()
        } else {
            format!("{patient}\n{word}")
        };
        if ui
            .add(button.min_size(size).truncate())
            .on_hover_text(hint)
            .clicked()
        {
            commands.push(Command::Open(word.clone()));
            ui.close();
        }
    }
}

const FOLDER_LETTERS: usize = 34;
