//! The first page, while no case is open: cases to open, the tour, what is new. Recovered work stands above it.

pub mod recent;
pub mod tour;

mod cards;
mod news;

use self::tour::TOUR_HINT;
use crate::command::{Command, Commands};
use crate::feature::start::state::TourAction;
use crate::kit::section;
use crate::state::State;
use crate::state::files::FileAction;
use egui::{Button, Label, Pos2, RichText, ScrollArea, Ui, UiBuilder, pos2, vec2};
use files::demo::DEMOS;

/// Width from which on there are two columns.
const TWO_COLUMNS: f32 = 860.0;
/// Wider lines are hard to read.
const WIDEST: f32 = 1500.0;
/// Width of the button of a demo.
const DEMO: f32 = 150.0;
/// Points between and beside the columns.
const MARGIN: f32 = 24.0;

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let available = ui.available_rect_before_wrap();
        let width = (available.width() - 2.0 * MARGIN).min(WIDEST);
        let left = available.center().x - 0.5 * width;
        let is_two_columns = available.width() >= TWO_COLUMNS;
        let cases_width = if is_two_columns {
            0.5 * (width - MARGIN)
        } else {
            width
        };
        let top = available.top() + 0.5 * MARGIN;
        let below = column(ui, pos2(left, top), cases_width, |ui| {
            cases(ui, state, commands)
        });
        let (left, top) = if is_two_columns {
            (left + cases_width + MARGIN, top)
        } else {
            (left, below + MARGIN)
        };
        column(ui, pos2(left, top), cases_width, |ui| begin(ui, commands));
        ui.add_space(MARGIN);
    });
}

/// Lays a column out from its upper left corner; returns where it ends, points from the top of the window.
fn column(ui: &mut Ui, corner: Pos2, width: f32, add: impl FnOnce(&mut Ui)) -> f32 {
    let rect = egui::Rect::from_min_size(corner, vec2(width, 0.0));
    ui.scope_builder(UiBuilder::new().max_rect(rect), |ui| {
        ui.set_width(width);
        add(ui);
    });
    ui.min_rect().bottom()
}

fn cases(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Open a case");
    let text = "A folder of DICOM files, one file, a .mha volume in HU, or a session; it may also be dropped on the window.";
    ui.add(Label::new(RichText::new(text).weak()).wrap());
    ui.horizontal(|ui| {
        for (word, action) in [
            ("Open folder…", FileAction::OpenFolder),
            ("Open file…", FileAction::OpenFile),
        ] {
            if ui.button(word).clicked() {
                commands.push(Command::Pick(action));
            }
        }
    });
    ui.add_space(8.0);
    cards::show(ui, state, commands);
}

fn begin(ui: &mut Ui, commands: &mut Commands) {
    section(ui, "Try it");
    ui.horizontal_wrapped(|ui| {
        if ui.button("One-minute tour").clicked() {
            commands.push(Command::Tour(TourAction::Begin));
        }
        ui.weak(TOUR_HINT);
    });
    for (name, what) in DEMOS {
        ui.horizontal(|ui| {
            let button = Button::new(format!("Open the {name} demo")).min_size(vec2(DEMO, 0.0));
            if ui.add(button).on_hover_text(what).clicked() {
                commands.push(Command::Open(format!("demo:{name}")));
            }
            ui.add(Label::new(RichText::new(what).weak()).truncate());
        });
    }
    ui.add_space(8.0);
    news::show(ui);
}
