//! Help: purpose and limits of the program, the keys, the pages of the guide.

use super::guide;
use crate::command::{Command, Commands};
use crate::feature::start::panel::tour::TOUR_HINT;
use crate::feature::start::state::TourAction;
use crate::kit::theme;
use crate::state::State;

/// Facts about the machine, for the about box.
pub struct Facts {
    /// Graphics device.
    pub graphics: Option<String>,
}

/// Largest page, points.
const BOX: egui::Vec2 = egui::vec2(700.0, 640.0);

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, facts: &Facts, commands: &mut Commands) {
    if !state.about_open {
        return;
    }
    let modal = egui::Modal::new(egui::Id::unique("about")).show(ctx, |ui| {
        // The box keeps its own page number: 0, the program; 1, the keys; then the guide's.
        let id = egui::Id::unique("page of the help");
        let mut page: usize = ui.data(|d| d.get_temp(id)).unwrap_or_default();
        // All pages have the same size, so that the names of the pages stay under the pointer.
        let size = (ctx.content_rect().size() - egui::vec2(80.0, 190.0))
            .clamp(egui::Vec2::splat(120.0), BOX);
        ui.set_max_width(size.x);
        ui.horizontal_wrapped(|ui| {
            let titles = ["Program", "Keys"]
                .into_iter()
                .chain(guide::PAGES.map(|p| p.0));
            for (n, title) in titles.enumerate() {
                ui.selectable_value(&mut page, n, title);
            }
        });
        ui.data_mut(|d| d.insert_temp(id, page));
        ui.separator();
        ui.set_width(size.x);
        let area = egui::ScrollArea::vertical()
            .id_salt(page)
            .auto_shrink(false)
            // The height of the frame before does not limit the page: the box would grow frame by frame.
            .min_scrolled_height(size.y)
            .max_height(size.y);
        area.show(ui, |ui| {
            match (page, page.checked_sub(2).and_then(|n| guide::PAGES.get(n))) {
                (1, _) => keys(ui),
                (_, Some((_, text))) => guide::show(ui, text),
                (_, None) => program(ui, facts, commands),
            }
        });
        ui.add_space(8.0);
        ui.vertical_centered(|ui| ui.button("Close").clicked())
            .inner
    });
    if modal.inner || modal.should_close() {
        commands.push(Command::About(false));
    }
}

fn program(ui: &mut egui::Ui, facts: &Facts, commands: &mut Commands) {
    ui.heading(format!("Beamsight {}", env!("CARGO_PKG_VERSION")));
    ui.label("A radiotherapy viewer in which the dose follows the gantry.");
    ui.add_space(6.0);
    ui.colored_label(
        theme::palette(ui).warning,
        egui::RichText::new("Not for clinical use").strong(),
    );
    ui.label(
            "For research and teaching. It is not a medical device: no decision on the treatment of a patient may \
             rest on what it shows.",
        );
    ui.add_space(6.0);
    ui.horizontal_wrapped(|ui| {
        if ui.button("One-minute tour").clicked() {
            commands.push(Command::About(false));
            commands.push(Command::Tour(TourAction::Begin));
        }
        ui.weak(TOUR_HINT);
    });
    ui.add_space(6.0);
    ui.weak(format!(
        "Graphics: {}",
        facts.graphics.as_deref().unwrap_or("none")
    ));
    ui.weak(concat!("Licence: ", env!("CARGO_PKG_LICENSE")));
}

fn keys(ui: &mut egui::Ui) {
    egui::Grid::new("keys")
        .num_columns(2)
        .spacing([18.0, 3.0])
        .show(ui, |ui| {
            for (keys, what) in crate::keys::help() {
                ui.monospace(keys);
                ui.label(what);
                ui.end_row();
            }
        });
}
