//! The inspector: all editable properties of the selection.

mod aperture;
mod approval;
mod arc;
mod arrange;
mod beam;
mod beside;
mod bolus_beams;
mod couch_position;
mod ct;
mod delivery;
mod density;
mod dial;
mod dose;
mod draw;
mod fluence;
mod hu;
mod isocentre;
mod normalisation;
mod plan;
mod points;
mod structure;
mod structure_tools;

pub use aperture::refit;
pub use arc::new_arc;
pub use beside::in_menu as bolus_and_couch;
pub use plan::refused_plans;

use crate::command::Commands;
use crate::state::{Selection, State};
use egui::Ui;

/// Shows the inspector of the selection.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| match state.selection {
        Selection::Nothing => {
            ui.weak("Select a series, structure, plan, beam or dose on the left.");
        }
        Selection::Ct => ct::show(ui, state, commands),
        Selection::Plan => plan::show(ui, state, commands),
        Selection::Beam(_) => beam::show(ui, state, commands),
        Selection::Structure(_) => structure::show(ui, state, commands),
        Selection::DoseDisplay => dose::show(ui, state, commands),
    });
}

/// Name and kind of the selection, above its fields.
fn title(ui: &mut Ui, kind: &str, name: &str) {
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.weak(kind);
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                let heading = egui::RichText::new(name).heading();
                ui.add(egui::Label::new(heading).truncate()).on_hover_text(name);
            });
        });
    });
}

/// Captions on the left, fields on the right.
fn fields(ui: &mut Ui, id: &str, rows: impl FnOnce(&mut Ui)) {
    egui::Grid::new(id).num_columns(2).min_col_width(92.0).spacing([8.0, 5.0]).show(ui, rows);
}

/// One caption with its field.
fn field<R>(ui: &mut Ui, caption: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.weak(caption);
    let inner = ui.horizontal(add).inner;
    ui.end_row();
    inner
}

/// Densities in place of the CT's, bolus and couch, in the dose of the plan.
fn given_densities(ui: &mut Ui, state: &State) {
    for words in analysis::given_words(&state.case().structures, state.plan().map(|p| &**p)) {
        ui.add(egui::Label::new(egui::RichText::new(format!("Density: {words}")).small()).wrap());
    }
}

/// Remarks about a series, plan or structure set, worst first, each with the files concerned.
fn remarks(ui: &mut Ui, id: &str, remarks: &[case::Remark]) {
    use case::Severity;
    let mut order: Vec<&case::Remark> = remarks.iter().collect();
    order.sort_by_key(|r| std::cmp::Reverse(r.severity));
    for (index, remark) in order.into_iter().enumerate() {
        let (colour, word) = match remark.severity {
            Severity::Warning => (crate::theme::of(ui).warning, "Warning"),
            Severity::Note => (crate::theme::of(ui).weak, "Note"),
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
            egui::CollapsingHeader::new(title.small()).id_salt((id, index)).show(ui, |ui| {
                for file in &remark.files {
                    ui.add(egui::Label::new(egui::RichText::new(file).small().monospace()).truncate());
                }
            });
        }
    }
}
