//! Rulers, dose points and the dose profile: the list, and the plot.

use crate::command::{Command, Commands};
use crate::feature::measure::command::MeasureAction;
use crate::feature::measure::state::{Measured, Measures, ReadDose, Tool};
use crate::kit::{GRID, marks, plot_line, status_chip, theme, whole};
use crate::state::State;
use analysis::profile;
use case::{Case, DoseStatus};
use egui::{Button, Color32, Rect, RichText, ScrollArea, Ui};
use egui_plot::{AxisHints, HPlacement, LineStyle, Plot};
use glam::DVec3;

/// Distance of the samples of a profile, mm, and their greatest number.
const STEP_MM: f64 = 0.5;
const MOST_SAMPLES: usize = 1000;
const HU_COLOUR: Color32 = Color32::from_rgb(165, 172, 182);
const DOSE_COLOURS: [Color32; 2] = [
    Color32::from_rgb(90, 175, 255),
    Color32::from_rgb(255, 165, 80),
];

/// Whether there is anything to show.
pub fn is_shown(state: &State) -> bool {
    state.is_loaded() && (state.measures.tool.is_some() || !state.measures.items.is_empty())
}

/// The tools as a menu of the bar.
pub fn menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let menu = ui.menu_button("Measure", |ui| {
        for tool in Tool::ALL {
            let on = state.measures.tool == Some(tool);
            let button = Button::selectable(on, tool.name());
            if ui
                .add(button)
                .on_hover_text(format!("{} (key {})", tool.hint(), tool.key()))
                .clicked()
            {
                commands.push(Command::Measure(MeasureAction::Tool((!on).then_some(tool))));
                ui.close();
            }
        }
    });
    menu.response
        .on_hover_text("Ruler, dose at a point, dose profile along a line");
}

/// The tools, the list of objects with their readings, and the profile.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let doses = state.read_doses();
    bar(ui, &state.measures, &doses, commands);
    let ends = state.measures.profile();
    let list_width = if ends.is_some() {
        0.42 * ui.available_width()
    } else {
        ui.available_width()
    };
    let rect = ui.available_rect_before_wrap();
    let (left, right) = rect.split_left_right_at_x(rect.left() + list_width);
    list(&mut clipped_child(ui, left), state, &doses, commands);
    if let Some(ends) = ends {
        plot(
            &mut clipped_child(ui, right.with_min_x(right.min.x + 8.0)),
            state,
            &doses,
            ends,
        );
    }
    ui.advance_cursor_after_rect(rect);
}

/// A child that draws within `rect` alone.
fn clipped_child(ui: &mut Ui, rect: Rect) -> Ui {
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(rect));
    child.set_clip_rect(rect.intersect(ui.clip_rect()));
    child
}

fn bar(ui: &mut Ui, measures: &Measures, doses: &[ReadDose], commands: &mut Commands) {
    ui.horizontal_wrapped(|ui| {
        ui.label(
            RichText::new("Measure")
                .strong()
                .size(12.0)
                .color(theme::palette(ui).weak),
        );
        for tool in Tool::ALL {
            let on = measures.tool == Some(tool);
            let button = Button::selectable(on, RichText::new(tool.name()).small());
            let button = ui.add(button).on_hover_text(tool.hint());
            if button
                .accessible_name(format!("{} tool", tool.name()))
                .clicked()
            {
                commands.push(Command::Measure(MeasureAction::Tool((!on).then_some(tool))));
            }
        }
        let clear = Button::new(RichText::new("Clear").small());
        let clear = ui.add_enabled(!measures.items.is_empty(), clear);
        if clear.accessible_name("Clear measurements").clicked() {
            commands.push(Command::Measure(MeasureAction::Clear));
        }
        let close = ui.add(Button::new(RichText::new("Close").small()));
        let close = close.on_hover_text("Puts the tool down and removes what was measured");
        if close.accessible_name("Close measurements").clicked() {
            commands.push(Command::Measure(MeasureAction::Tool(None)));
            commands.push(Command::Measure(MeasureAction::Clear));
        }
        for read in doses {
            ui.label(RichText::new(format!("{} {}", read.side, read.dose.label)).small());
            status_chip(ui, read.dose.status);
        }
        if let Some(tool) = measures.tool {
            ui.label(
                RichText::new(format!("{}; Esc puts the tool down", tool.hint()))
                    .small()
                    .weak(),
            );
        }
    });
}

/// A row for each object: what it is, its number, and its reading.
fn list(ui: &mut Ui, state: &State, doses: &[ReadDose], commands: &mut Commands) {
    ScrollArea::both()
        .auto_shrink(false)
        .id_salt("measured")
        .show(ui, |ui| {
            if state.measures.items.is_empty() {
                ui.weak("Nothing measured yet.");
            }
            for (number, item) in &state.measures.items {
                ui.horizontal(|ui| {
                    let remove = ui
                        .small_button("×")
                        .accessible_name(format!("Remove {}", name(*number, item)));
                    if remove.clicked() {
                        commands.push(Command::Measure(MeasureAction::Remove(*number)));
                    }
                    let go = Button::new(RichText::new(name(*number, item)).small());
                    let go = ui.add(go).on_hover_text("Moves the crosshair there");
                    if go.clicked() {
                        let ends = item.ends_mm();
                        let middle = ends.iter().copied().sum::<DVec3>() / ends.len() as f64;
                        commands.push(Command::GoTo(middle));
                    }
                    for words in reading(state, doses, item) {
                        whole(ui, RichText::new(words).small());
                    }
                    let doubt = doses
                        .iter()
                        .map(|read| read.dose.status)
                        .max()
                        .filter(|s| theme::is_doubtful(*s));
                    if let Some(status) = doubt.filter(|_| !matches!(item, Measured::Ruler(_))) {
                        status_chip(ui, status);
                    }
                });
            }
        });
}

fn name(number: u32, item: &Measured) -> String {
    match item {
        Measured::Ruler(_) => format!("Ruler {number}"),
        Measured::Point(_) => format!("P{number}"),
        Measured::Profile(_) => format!("Profile {number}"),
    }
}

/// The reading of an object: length, or dose, HU and position.
fn reading(state: &State, doses: &[ReadDose], item: &Measured) -> Vec<String> {
    let mm = match item {
        Measured::Point(mm) => *mm,
        Measured::Ruler(_) | Measured::Profile(_) => {
            return vec![format!("{:.1} mm", item.length_mm())];
        }
    };
    let mut words: Vec<String> = doses
        .iter()
        .map(|read| dose_words(state, read, mm))
        .collect();
    words.push(
        state
            .hu_at(mm)
            .map_or("outside the CT".to_owned(), |hu| format!("{hu:.0} HU")),
    );
    words.push(place_words(mm));
    words
}

fn dose_words(state: &State, read: &ReadDose, patient_mm: DVec3) -> String {
    let side = if read.side.is_empty() {
        String::new()
    } else {
        format!("{} ", read.side)
    };
    match (read.gy_at(patient_mm), read.dose.status) {
        (_, DoseStatus::Failed) => format!("{side}dose failed"),
        (None, _) => format!("{side}outside the dose"),
        (Some(gy), _) => {
            let reference = if read.side.is_empty() {
                state.reference()
            } else {
                state.compare_reference()
            };
            let percent =
                reference.map(|(reference, _)| format!(" ({:.1} %)", 100.0 * gy / reference));
            format!("{side}{gy:.3} Gy{}", percent.unwrap_or_default())
        }
    }
}

fn place_words(patient_mm: DVec3) -> String {
    format!(
        "x {:.1}  y {:.1}  z {:.1} mm",
        patient_mm.x, patient_mm.y, patient_mm.z
    )
}

/// Dose (left axis) and HU (right axis) over the distance from the first end.
fn plot(ui: &mut Ui, state: &State, doses: &[ReadDose], ends: [DVec3; 2]) {
    theme::plate(ui, |ui| plot_here(ui, state, doses, ends));
}

fn plot_here(ui: &mut Ui, state: &State, doses: &[ReadDose], ends: [DVec3; 2]) {
    let length = ends[0].distance(ends[1]);
    let count = ((length / STEP_MM).ceil() as usize + 1).clamp(2, MOST_SAMPLES);
    let readable = doses
        .iter()
        .filter(|read| read.dose.status != DoseStatus::Failed);
    let curves: Vec<_> = readable
        .map(|read| (read, profile(&read.dose.gy, ends, count)))
        .collect();
    let hu = state
        .case()
        .ct
        .as_ref()
        .map(|ct| profile(&ct.hu, ends, count))
        .unwrap_or_default();
    let top = curves
        .iter()
        .flat_map(|(_, parts)| parts.iter().flatten())
        .map(|p| p[1])
        .fold(0.0, f64::max);
    let top = if top > 0.0 { 1.05 * top } else { 1.0 };
    let [low, high] = hu
        .iter()
        .flatten()
        .fold([f64::MAX, f64::MIN], |[l, h], p| [l.min(p[1]), h.max(p[1])]);
    // HU have a separate scale on the plot, with air or the lowest value at the bottom.
    let (low, high) = if low < high {
        (low, high)
    } else {
        (-1000.0, 1000.0)
    };
    let weak = theme::palette(ui).weak;
    let plot = Plot::new("dose profile")
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .include_x(0.0)
        .include_x(length)
        .include_y(0.0)
        .include_y(top)
        .custom_x_axes(vec![
            AxisHints::new_x().label(RichText::new("Distance (mm)").color(weak).small()),
        ])
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label(RichText::new("Dose (Gy)").color(weak).small())
                .placement(HPlacement::Left),
            AxisHints::new_y()
                .label(RichText::new("HU").color(weak).small())
                .placement(HPlacement::Right)
                .formatter(move |mark, _| format!("{:.0}", low + mark.value / top * (high - low))),
        ])
        .x_grid_spacer(|input| marks(input.bounds, 10.0))
        .grid_color(GRID)
        .show_crosshair(true)
        .label_formatter(|_| None);
    let response = plot.show(ui, |plot| {
        for part in &hu {
            let points: Vec<[f64; 2]> = part
                .iter()
                .map(|[mm, hu]| [*mm, (*hu - low) / (high - low) * top])
                .collect();
            plot.line(plot_line("HU", points).color(HU_COLOUR).width(1.2));
        }
        for (n, (read, parts)) in curves.iter().enumerate() {
            let style = if n == 1 {
                LineStyle::dashed_dense()
            } else {
                LineStyle::Solid
            };
            for part in parts {
                let line = plot_line(read.side, part.clone()).color(DOSE_COLOURS[n.min(1)]);
                plot.line(line.width(2.2).style(style));
            }
        }
        plot.pointer_coordinate()
    });
    response
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Dose profile"));
    let hovered = response.inner.filter(|_| response.response.hovered());
    let pointer_mm = hovered
        .map(|p| p.x)
        .filter(|mm| (0.0..=length).contains(mm));
    readout(
        ui,
        state.case(),
        &curves.iter().map(|(read, _)| *read).collect::<Vec<_>>(),
        ends,
        pointer_mm,
        response.response.rect,
    );
}

/// The values at the pointer, else the names of the lines, on the plot's upper rim.
fn readout(
    ui: &Ui,
    case: &Case,
    doses: &[&ReadDose],
    ends: [DVec3; 2],
    pointer_mm: Option<f64>,
    rect: egui::Rect,
) {
    let length = ends[0].distance(ends[1]).max(f64::EPSILON);
    let mut words = Vec::new();
    if let Some(mm) = pointer_mm {
        words.push((format!("at {mm:.1} mm"), theme::palette(ui).text));
    }
    let place = pointer_mm.map(|mm| ends[0].lerp(ends[1], mm / length));
    for (n, read) in doses.iter().enumerate() {
        let name = if read.side.is_empty() {
            "Dose"
        } else {
            read.side
        };
        let mut word = match place {
            Some(place) => {
                let gy = read
                    .gy_at(place)
                    .map_or("none".to_owned(), |gy| format!("{gy:.3} Gy"));
                format!("{name} {gy}")
            }
            None => name.to_owned(),
        };
        if theme::is_doubtful(read.dose.status) {
            word.push_str(&format!(" ({})", read.dose.status));
        }
        words.push((word, DOSE_COLOURS[n.min(1)]));
    }
    let hu = place.and_then(|place| analysis::value_at(&case.ct.as_ref()?.hu, place));
    words.push((
        hu.map_or("HU".to_owned(), |hu| format!("{hu:.0} HU")),
        HU_COLOUR,
    ));
    let mut x = rect.left() + 52.0;
    for (word, colour) in words {
        let pos = egui::pos2(x, rect.top() + 2.0);
        let galley = ui
            .painter()
            .layout_no_wrap(word, egui::FontId::proportional(11.0), colour);
        x += galley.size().x + 14.0;
        ui.painter().galley(pos, galley, colour);
    }
}
