//! Parts of a form: its title, captions with fields, remarks.

use crate::kit::theme;
use case::DoseEngine;
use egui::{ComboBox, Ui};

/// Name and kind of the selection, above its fields.
pub fn title(ui: &mut Ui, kind: &str, name: &str) {
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.weak(kind);
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                let heading = egui::RichText::new(name).heading();
                ui.add(egui::Label::new(heading).truncate())
                    .on_hover_text(name);
            });
        });
    });
}

/// Captions on the left, fields on the right.
pub fn fields(ui: &mut Ui, id: &str, rows: impl FnOnce(&mut Ui)) {
    egui::Grid::new(id)
        .num_columns(2)
        .min_col_width(92.0)
        .spacing([8.0, 5.0])
        .show(ui, rows);
}

/// One caption with its field.
pub fn field<R>(ui: &mut Ui, caption: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.weak(caption);
    let inner = ui.horizontal(add).inner;
    ui.end_row();
    inner
}

/// A list of the dose engines by their names.
pub fn choose_engine(ui: &mut Ui, label: &str, width: f32, engine: &mut DoseEngine) {
    let combo = ComboBox::from_id_salt(label)
        .selected_text(engine.name())
        .width(width);
    let response = combo.show_ui(ui, |ui| {
        for offered in DoseEngine::ALL {
            ui.selectable_value(engine, offered, offered.name());
        }
    });
    response.response.accessible_name(label);
}

/// Remarks about a series, plan or structure set, worst first, each with the files concerned.
pub fn remarks(ui: &mut Ui, id: &str, remarks: &[case::Remark]) {
    use case::Severity;
    let mut order: Vec<&case::Remark> = remarks.iter().collect();
    order.sort_by_key(|r| std::cmp::Reverse(r.severity));
    for (index, remark) in order.into_iter().enumerate() {
        let (colour, word) = match remark.severity {
            Severity::Warning => (theme::palette(ui).warning, "Warning"),
            Severity::Note => (theme::palette(ui).weak, "Note"),
        };
        ui.horizontal_top(|ui| {
            ui.colored_label(colour, egui::RichText::new(word).small().strong());
            ui.add(egui::Label::new(egui::RichText::new(&remark.message).small()).wrap());
        });
        if !remark.files.is_empty() {
            let title = egui::RichText::new(match remark.files.len() {
                1 => "1 file".to_owned(),
                n => format!("{n} files"),
            });
            egui::CollapsingHeader::new(title.small())
                .id_salt((id, index))
                .show(ui, |ui| {
                    for file in &remark.files {
                        ui.add(
                            egui::Label::new(egui::RichText::new(file).small().monospace())
                                .truncate(),
                        );
                    }
                });
        }
    }
}
