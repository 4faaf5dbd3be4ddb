//! Dose-volume histograms.

mod handles;

use crate::command::{Command, Commands};
use crate::feature::optimise::state::view::OPTIMISERS_DOSE;
use crate::feature::start::state::Stop;
use crate::feature::{goals, optimise, robust, start};
use crate::kit::{GRID, held, mark_text, marks, plot_line, status_chip, theme, whole};
use crate::state::files::FileAction;
use crate::state::{DvhDisplay, DvhDose, DvhVolume, Selection, State, Workspace};
use analysis::{Dvh, Metric, value_at};
use case::{DoseStatus, Structure};
use egui::{Button, Color32, RichText, Ui};
use egui_plot::{
    AxisHints, FilledArea, HPlacement, LineStyle, Plot, PlotBounds, PlotPoint, PlotResponse,
    PlotUi, VLine,
};

/// Shows the DVHs of the visible structures, with the goals beside them.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    start::panel::tour::mark(ui, Stop::Goals, ui.available_rect_before_wrap());
    let wide = ui.available_width() >= goals::panel::WIDE;
    let Some(goals_instead) = goals::panel::beside(ui, state, commands) else {
        return;
    };
    let curves = curves(state);
    header(ui, state, wide, commands);
    robust::panel::row(ui, state, commands);
    if curves.is_empty() {
        let why = match (state.results.shown_failure(), state.results.shown_dose()) {
            (Some(why), _) => why,
            (None, None) => "No dose on show.",
            (None, Some(_)) => "No structure on show has a DVH in this dose yet.",
        };
        ui.weak(why);
        return;
    }
    let axes = Axes::new(state.dvh_display, state.reference_on_view());
    // Objectives beside the goals, which a wide window shows, take the place of the table, too.
    if goals_instead || wide && ui.available_width() < LEAST_CURVES + LEAST_TABLE {
        let plate = egui::CentralPanel::default().frame(egui::Frame::new());
        plate.show(ui, |ui| {
            plot_with_handles(ui, state, &axes, &curves, commands)
        });
        return;
    }
    // The curves keep what can be read, and the table scrolls; where that leaves it nothing, they share.
    let table_width = if has_uncertainty(state) {
        446.0_f32
    } else {
        410.0
    };
    let width = ui.available_width();
    let table_width = table_width.min((width - LEAST_CURVES).max(0.5 * width));
    let frame = egui::Frame::new().inner_margin(egui::Margin {
        left: 10,
        ..egui::Margin::ZERO
    });
    egui::Panel::right("dvh table")
        .frame(frame)
        .resizable(false)
        .exact_size(table_width)
        .show(ui, |ui| {
            ui.add_space(2.0);
            held(ui, |ui| table(ui, state, &curves, commands));
        });
    let plate = egui::CentralPanel::default().frame(egui::Frame::new());
    plate.show(ui, |ui| {
        plot_with_handles(ui, state, &axes, &curves, commands)
    });
}

/// Whether the curves have an uncertainty, as curves of a Monte Carlo dose do.
fn has_uncertainty(state: &State) -> bool {
    state.results.certainty().is_some() && state.optimisers_dose().is_none()
}

/// Width of the curves with their axis that the table of metrics leaves them.
const LEAST_CURVES: f32 = 280.0;

/// Width of the table below which it has no place.
const LEAST_TABLE: f32 = 120.0;

/// The visible structures that have a DVH, in the order of the tree.
fn curves(state: &State) -> Vec<Curve<'_>> {
    let dvhs = state.curves_on_view().into_iter();
    dvhs.map(|(structure, dvh)| Curve {
        structure,
        dvh,
        dashed: false,
    })
    .collect()
}

/// A structure with its DVH.
pub(crate) struct Curve<'a> {
    pub structure: &'a Structure,
    pub dvh: &'a Dvh,
    /// DVH in dose B, if two doses are compared.
    pub dashed: bool,
}

/// Title, status and the choice of axes, in as many rows as they take.
fn header(ui: &mut Ui, state: &State, wide: bool, commands: &mut Commands) {
    let is_tight = ui.available_width() < ROOM_FOR_LABEL;
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("DVH").strong().size(12.0).color(theme::palette(ui).weak));
        if state.optimisers_dose().is_some() {
            ui.label(RichText::new(OPTIMISERS_DOSE).small().color(theme::palette(ui).warning)).on_hover_text(
                "Columns times fluence at sampled voxels, with the last difference to the true dose: the dose of the maps follows when \
                 the optimisation rests",
            );
        } else if let Some(dose) = state.results.shown_dose().filter(|_| !is_tight) {
            // A long name leaves the row to the buttons.
            ui.scope(|ui| {
                ui.set_max_width(0.25 * ui.available_width());
                ui.add(egui::Label::new(RichText::new(&dose.label).small()).truncate());
            });
        }
        if let Some(status) = state.curves_status() {
            // The caveats stand in every view; here there is no room for them.
            let chip = status_chip(ui, status);
            let dose = state.results.shown_dose().filter(|_| state.optimisers_dose().is_none());
            let caveats: Vec<&str> =
                dose.iter().flat_map(|d| d.caveats.iter().chain(&d.remarks)).map(String::as_str).collect();
            if !caveats.is_empty() {
                chip.on_hover_text(caveats.join("\n"));
            }
        }
        if state.results.shown_dose().is_some() && state.optimisers_dose().is_none() {
            let save = ui.add(Button::new(RichText::new("CSV…").small()));
            if save.accessible_name("Save the DVHs as CSV").clicked() {
                commands.push(Command::Pick(FileAction::SaveDvhs));
            }
        }
        robust::panel::switch(ui, state, commands);
        if let Some(gy) = crosshair_gy(state).filter(|_| !is_tight) {
            let text = RichText::new(format!("crosshair {gy:.2} Gy")).small().color(theme::palette(ui).crosshair);
            let label = egui::Label::new(text).truncate();
            ui.add(label).on_hover_text("Dose at the crosshair: the dashed line");
        }
        if !wide && !state.goal_editor.in_place_of_metrics {
            goals::panel::switch(ui, state, commands);
            optimise::panel::in_little_room(ui, state, commands);
        }
        axes_choice(ui, state, commands);
    });
}

/// Widths from which on the name of the dose stands beside the status, and the choice of axes in the row.
const ROOM_FOR_LABEL: f32 = 480.0;
const ROOM_FOR_AXES: f32 = 410.0;

/// The choice of axes, at the right edge if there is room, else in a menu.
pub(crate) fn axes_choice(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut next = state.dvh_display;
    if ui.available_size_before_wrap().x >= ROOM_FOR_AXES {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            axes_buttons(ui, &mut next)
        });
    } else {
        ui.menu_button(RichText::new("Axes").small(), |ui| {
            axes_buttons(ui, &mut next)
        });
    }
    if next != state.dvh_display {
        commands.push(Command::DvhDisplay(next));
    }
}

fn axes_buttons(ui: &mut Ui, next: &mut DvhDisplay) {
    let current = *next;
    for (differential, word) in [(true, "Differential"), (false, "Cumulative")] {
        let choice = DvhDisplay {
            differential,
            ..current
        };
        if axes_button(ui, word, current == choice) {
            *next = choice;
        }
    }
    ui.separator();
    for (volume, word) in [(DvhVolume::Cm3, "cm³"), (DvhVolume::Percent, "% volume")] {
        let choice = DvhDisplay { volume, ..current };
        if axes_button(ui, word, current == choice) {
            *next = choice;
        }
    }
    ui.separator();
    for (dose, word) in [
        (DvhDose::Percent, "% dose"),
        (DvhDose::CentiGy, "cGy"),
        (DvhDose::Gy, "Gy"),
    ] {
        let choice = DvhDisplay { dose, ..current };
        if axes_button(ui, word, current == choice) {
            *next = choice;
        }
    }
}

fn axes_button(ui: &mut Ui, word: &str, is_chosen: bool) -> bool {
    ui.add(Button::selectable(is_chosen, RichText::new(word).small()))
        .clicked()
}

/// Conversion from Gy and percent of volume to axis units.
pub(crate) struct Axes {
    display: DvhDisplay,
    per_gy: f64,
    dose_unit: String,
    /// 100 % in axis units, if the dose axis cannot show it otherwise.
    reference: Option<f64>,
}

impl Axes {
    pub(crate) fn new(display: DvhDisplay, reference: Option<(f64, &'static str)>) -> Self {
        let (per_gy, dose_unit) = match (display.dose, reference) {
            (DvhDose::CentiGy, _) => (100.0, "cGy".to_owned()),
            (DvhDose::Percent, Some((gy, name))) => (100.0 / gy, format!("% of {name} {gy:.2} Gy")),
            // Without a reference percent is undefined.
            (DvhDose::Percent, None) | (DvhDose::Gy, _) => (1.0, "Gy".to_owned()),
        };
        Self {
            display,
            per_gy,
            dose_unit,
            reference: reference.map(|(gy, _)| gy * per_gy),
        }
    }

    /// The volume, in axis units, of one percent of a structure.
    fn per_percent(&self, dvh: &Dvh) -> f64 {
        match self.display.volume {
            DvhVolume::Percent => 1.0,
            DvhVolume::Cm3 => dvh.cm3_at(0.0) / 100.0,
        }
    }

    fn volume_unit(&self) -> &'static str {
        match self.display.volume {
            DvhVolume::Percent => "%",
            DvhVolume::Cm3 => "cm³",
        }
    }

    /// Unit of a curve's height.
    fn height_unit(&self) -> String {
        let dose_unit = self.dose_unit.split(' ').next().unwrap_or("Gy");
        let per = if self.display.differential {
            format!(" per {dose_unit}")
        } else {
            String::new()
        };
        format!("{}{per}", self.volume_unit())
    }

    /// Height units of one percent of a structure, or of one percent per Gy.
    fn per_height(&self, dvh: &Dvh) -> f64 {
        self.per_percent(dvh)
            / if self.display.differential {
                self.per_gy
            } else {
                1.0
            }
    }

    fn points(&self, dvh: &Dvh) -> Vec<[f64; 2]> {
        let height = self.per_height(dvh);
        let curve = if self.display.differential {
            dvh.differential()
        } else {
            dvh.cumulative()
        };
        curve
            .into_iter()
            .map(|[gy, v]| [gy * self.per_gy, v * height])
            .collect()
    }

    /// Height of the curve at a dose.
    fn height(&self, dvh: &Dvh, gy: f64) -> f64 {
        let value = if self.display.differential {
            dvh.percent_per_gy_at(gy)
        } else {
            dvh.percent_at(gy)
        };
        value * self.per_height(dvh)
    }
}

/// The dose of the curves at the crosshair, Gy; none of a failed dose, and none where two doses are compared. The optimiser's dose is
/// known at sampled voxels alone, and the dose of the case belongs to other maps.
fn crosshair_gy(state: &State) -> Option<f64> {
    let is_of_case = state.workspace == Workspace::Plan && state.optimisers_dose().is_none();
    let dose = state.results.shown_dose().filter(|_| is_of_case)?;
    value_at(&dose.gy, state.crosshair_mm).filter(|_| dose.status != DoseStatus::Failed)
}

/// The curves, on a plate: they have the colours of the structures in the views.
pub(crate) fn plot(ui: &mut Ui, state: &State, axes: &Axes, curves: &[Curve<'_>]) {
    theme::plate(ui, |ui| _ = plot_here(ui, state, axes, curves, &[]));
}

/// The curves, the curves before the last drag, and the goals as handles.
fn plot_with_handles(
    ui: &mut Ui,
    state: &State,
    axes: &Axes,
    curves: &[Curve<'_>],
    commands: &mut Commands,
) {
    theme::plate(ui, |ui| {
        let plot = plot_here(ui, state, axes, curves, &state.ghost_curves());
        if !axes.display.differential {
            handles::show(ui, state, axes, curves, &plot, commands);
        }
    });
}

fn plot_here(
    ui: &mut Ui,
    state: &State,
    axes: &Axes,
    curves: &[Curve<'_>],
    ghosts: &[(&Structure, &Dvh)],
) -> PlotResponse<Option<PlotPoint>> {
    let selected = match state.selection {
        Selection::Structure(number) => Some(number),
        _ => None,
    };
    let y_label = format!("Volume ({})", axes.height_unit());
    // New axes get a new plot id, so that the plot fits itself to them.
    let id = format!("dvh {:?}", axes.display);
    let x_unit = axes.dose_unit.clone();
    // Marks closer together than their numbers are wide would lose them.
    let doses_marked = f64::from(ui.available_width() / MARK_POINTS).clamp(2.0, 8.0);
    let plot = Plot::new(id.clone())
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .set_margin_fraction(egui::vec2(0.01, 0.03))
        // The number of a mark at the right end reaches beyond it.
        .width(ui.available_width() - 0.5 * MARK_POINTS)
        .include_x(0.0)
        .include_y(0.0)
        .custom_x_axes(vec![
            AxisHints::new_x()
                .label(
                    RichText::new(format!("Dose ({x_unit})"))
                        .small()
                        .color(theme::palette(ui).weak),
                )
                .formatter(|mark, _| mark_text(mark))
                .label_spacing(egui::Rangef::new(22.0, 32.0)),
        ])
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label(
                    RichText::new(y_label)
                        .small()
                        .color(theme::palette(ui).weak),
                )
                .placement(HPlacement::Left)
                .formatter(|mark, _| mark_text(mark)),
        ])
        .show_crosshair(false)
        .grid_spacing(egui::Rangef::new(1.0, 24.0))
        .x_grid_spacer(move |input| marks(input.bounds, doses_marked))
        .y_grid_spacer(|input| marks(input.bounds, 6.0))
        .grid_color(GRID)
        .label_formatter(|_| None);
    // While a limit is dragged the axes are static, so that the curve stays under the pointer.
    let static_bounds: Option<[[f64; 2]; 2]> = ui.data(|d| d.get_temp(egui::Id::unique(&id)));
    let static_bounds = static_bounds.filter(|_| state.optimise.drag().is_some());
    let response = plot.show(ui, |plot| {
        match static_bounds {
            Some([low, high]) => plot.set_plot_bounds(PlotBounds::from_min_max(low, high)),
            None => plot.set_auto_bounds(true),
        }
        if let Some(reference) = axes.reference {
            plot.vline(
                VLine::new("100 %", reference)
                    .color(theme::IMAGE.line)
                    .width(1.0),
            );
        }
        if let Some(gy) = crosshair_gy(state) {
            let style = LineStyle::dashed_dense();
            plot.vline(
                VLine::new("crosshair", gy * axes.per_gy)
                    .color(theme::IMAGE.crosshair)
                    .width(1.2)
                    .style(style),
            );
        }
        let lines: Vec<_> = curves.iter().map(|curve| axes.points(curve.dvh)).collect();
        let axis_ends =
            [0, 1].map(|axis| lines.iter().flatten().map(|p| p[axis]).fold(0.0, f64::max));
        bands(plot, state, axes, curves);
        for (structure, dvh) in ghosts {
            let line = plot_line(
                format!("{} before", structure.name),
                apart(&axes.points(dvh), axis_ends),
            );
            plot.line(
                line.color(theme::colour(structure.colour).gamma_multiply(0.4))
                    .width(1.2),
            );
        }
        for (curve, points) in curves.iter().zip(&lines) {
            let strong = selected == Some(curve.structure.number);
            let line = plot_line(curve.structure.name.clone(), apart(points, axis_ends))
                .color(theme::colour(curve.structure.colour))
                .width(if strong { 3.2 } else { 2.0 })
                .style(if curve.dashed {
                    LineStyle::dashed_dense()
                } else {
                    LineStyle::Solid
                });
            plot.line(line);
        }
        plot.pointer_coordinate()
    });
    let bounds = response.transform.bounds();
    ui.data_mut(|d| d.insert_temp(egui::Id::unique(&id), [bounds.min(), bounds.max()]));
    if let Some((point, pointer)) = response.inner.zip(response.response.hover_pos())
        && response.transform.frame().contains(pointer)
        && point.x >= 0.0
        && state.optimise.drag().is_none()
    {
        hover(
            ui,
            axes,
            curves,
            point,
            pointer,
            *response.transform.frame(),
        );
    }
    response
}

/// Least and greatest volume over the set-up errors, behind the curves, and the curves of a chosen scenario.
fn bands(plot: &mut PlotUi<'_>, state: &State, axes: &Axes, curves: &[Curve<'_>]) {
    let scenarios = state.results.scenarios();
    let Some(view) = scenarios.filter(|_| !axes.display.differential) else {
        return;
    };
    for curve in curves {
        let number = curve.structure.number;
        let colour = theme::colour(curve.structure.colour);
        let per_percent = axes.per_percent(curve.dvh);
        if let Some((_, band)) = view.bands.iter().find(|(other, _)| *other == number) {
            let name = format!("{} under set-up errors", curve.structure.name);
            let area = FilledArea::new(
                name,
                &scaled(&band.gy, axes.per_gy),
                &scaled(&band.least_percent, per_percent),
                &scaled(&band.greatest_percent, per_percent),
            );
            plot.add(area.fill_color(colour.gamma_multiply(0.4)));
        }
        let chosen = state.set_up_errors.scenario;
        let chosen = chosen.and_then(|n| view.answers().get(n));
        if let Some(dvh) = chosen.and_then(|answer| answer.figures.dvh(number)) {
            let points = axes.points(dvh);
            let ends = [0, 1].map(|axis| points.iter().map(|p| p[axis]).fold(0.0, f64::max));
            let name = format!("{} in the scenario", curve.structure.name);
            plot.line(
                plot_line(name, apart(&points, ends))
                    .color(colour)
                    .width(1.2)
                    .style(LineStyle::dashed_dense()),
            );
        }
    }
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

/// The points that lie apart on axes from 0 to their ends, and the last: three that are one on the screen have no direction in which
/// the plot could draw them. A curve has hundreds within a pixel where the doses of a structure differ little.
fn apart(points: &[[f64; 2]], axis_ends: [f64; 2]) -> Vec<[f64; 2]> {
    const LEAST: f64 = 1e-4;
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for (n, point) in points.iter().enumerate() {
        let is_apart = kept.last().is_none_or(|last: &[f64; 2]| {
            (0..2).any(|axis| (point[axis] - last[axis]).abs() > LEAST * axis_ends[axis])
        });
        if n + 1 == points.len() || is_apart {
            kept.push(*point);
        }
    }
    kept
}

/// Width of a mark with its number on the axis of doses.
const MARK_POINTS: f32 = 40.0;

/// Maximum number of structures whose values are shown at the pointer.
const MOST_TOLD: usize = 10;

/// Values at the pointer of the nearest curves, in their order: the volume at its dose and, on cumulative axes, the
/// dose at its volume; else the height of the curve. They stand above the `frame` of the plot, where no curve is covered.
fn hover(
    ui: &Ui,
    axes: &Axes,
    curves: &[Curve<'_>],
    point: PlotPoint,
    pointer: egui::Pos2,
    frame: egui::Rect,
) {
    let gy = point.x / axes.per_gy;
    let mut near: Vec<usize> = (0..curves.len()).collect();
    let distances: Vec<f64> = curves
        .iter()
        .map(|curve| (axes.height(curve.dvh, gy) - point.y).abs())
        .collect();
    near.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
    near.truncate(MOST_TOLD);
    let nearest = near.first().copied();
    near.sort_unstable();
    let unit = axes.dose_unit.split(' ').next().unwrap_or("Gy");
    let font = egui::FontId::proportional(12.0);
    let head = format!(
        "at {:.2} {unit}, {:.2} {}",
        point.x,
        point.y.max(0.0),
        axes.height_unit()
    );
    let mut lines = vec![(head, theme::palette(ui).weak)];
    for n in near {
        let Curve {
            structure,
            dvh,
            dashed,
        } = &curves[n];
        let name = format!(
            "{}{}",
            structure.name,
            if *dashed { " (B, dashed)" } else { "" }
        );
        let volume = format!("V {:.1} % = {:.2} cm³", dvh.percent_at(gy), dvh.cm3_at(gy));
        let other = if axes.display.differential {
            format!("{:.2} {}", axes.height(dvh, gy), axes.height_unit())
        } else {
            let percent = point.y / axes.per_percent(dvh);
            // No dose corresponds to a volume above 100 % or below 0 %.
            let dose = (0.0..=100.0)
                .contains(&percent)
                .then(|| dvh.dose_at_percent(percent) * axes.per_gy);
            dose.map_or("D –".to_owned(), |dose| format!("D {dose:.2} {unit}"))
        };
        let mark = if Some(n) == nearest { "> " } else { "   " };
        lines.push((
            format!("{mark}{name}:  {volume},  {other}"),
            theme::colour(structure.colour),
        ));
    }
    let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::unique("values of curves"));
    let painter = ui.ctx().layer_painter(layer);
    let galleys: Vec<_> = lines
        .into_iter()
        .map(|(text, colour)| painter.layout_no_wrap(text, font.clone(), colour))
        .collect();
    let width = galleys.iter().map(|g| g.size().x).fold(0.0, f32::max);
    let height = galleys.iter().map(|g| g.size().y).sum::<f32>();
    let size = egui::vec2(width + 12.0, height + 8.0);
    let room = ui.ctx().content_rect();
    let mut min = egui::pos2(pointer.x + 12.0, frame.top() - size.y - 4.0);
    min.x = min.x.min(room.right() - size.x).max(room.left());
    min.y = min.y.max(room.top());
    let rect = egui::Rect::from_min_size(min, size);
    let stroke = egui::Stroke::new(1.0, theme::palette(ui).line);
    painter.rect(
        rect,
        4.0,
        Color32::from_black_alpha(220),
        stroke,
        egui::StrokeKind::Inside,
    );
    let mut place = rect.min + egui::vec2(6.0, 4.0);
    for galley in galleys {
        let height = galley.size().y;
        painter.galley(place, galley, theme::palette(ui).text);
        place.y += height;
    }
}

/// The metrics of the table, all in Gy.
const TABLE: [Metric; 4] = [Metric::MEAN, Metric::D95, Metric::D2, Metric::MAX];

/// Metrics of the structures, a row each.
fn table(ui: &mut Ui, state: &State, curves: &[Curve<'_>], commands: &mut Commands) {
    let (width, colours) = (ui.available_width(), theme::palette(ui));
    egui::ScrollArea::both().auto_shrink(false).id_salt("dvh table").show(ui, |ui| {
        ui.spacing_mut().interact_size.y = 15.0;
        ui.spacing_mut().item_spacing.x = 5.0;
        let certain = has_uncertainty(state);
        let hundred_gy = state.reference_on_view().map(|(gy, _)| gy);
        let grid = egui::Grid::new("dvh figures").num_columns(TABLE.len() + 2).striped(true).spacing([9.0, 3.0]);
        grid.show(ui, |ui| {
            let metrics = TABLE.map(|metric| metric.to_string());
            for heading in ["doses in Gy".to_owned(), "cm³".to_owned()].into_iter().chain(metrics) {
                let heading = small(heading).color(theme::palette(ui).weak);
                whole(ui, heading);
            }
            if certain {
                ui.label(small("± %".to_owned()).color(theme::palette(ui).weak)).on_hover_text(
                    "Mean relative standard deviation of the Monte Carlo dose in the structure, in voxels with more than half of \
                     its greatest dose",
                );
            }
            ui.end_row();
            for curve in curves {
                let number = curve.structure.number;
                let selected = state.selection == Selection::Structure(number);
                let name = ui.horizontal(|ui| {
                    ui.set_min_width(100.0);
                    ui.set_max_width(100.0);
                    let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
                    theme::swatch(ui, rect, curve.structure.colour);
                    let text = small(curve.structure.name.clone());
                    let text = if selected { text.strong() } else { text };
                    ui.add(egui::Label::new(text).truncate().sense(egui::Sense::click()))
                        .accessible_name(format!("DVH of {}", curve.structure.name))
                });
                if name.inner.clicked() {
                    commands.push(Command::Select(Selection::Structure(number)));
                }
                let d = curve.dvh;
                let volume = d.volume_cm3();
                let flags = d.remarks();
                let colour = if flags.is_empty() { theme::palette(ui).text } else { theme::palette(ui).warning };
                let mark = if flags.is_empty() { "" } else { " !" };
                let digits = if volume < 10.0 {
                    2
                } else if volume < 100.0 {
                    1
                } else {
                    0
                };
                let cell = whole(ui, small(format!("{volume:.digits$}{mark}")).color(colour));
                if !flags.is_empty() {
                    cell.on_hover_text(flags.join("\n"));
                }
                for metric in TABLE {
                    let value = d.metric(metric, hundred_gy);
                    let text = value.map_or("–".to_owned(), |v| format!("{v:.2}"));
                    let cell = whole(ui, small(text));
                    if let Err(why) = value {
                        cell.on_hover_text(why.to_string());
                    }
                }
                if certain {
                    let percent = state.results.structure_uncertainty_percent(number);
                    let text = percent.map_or("–".to_owned(), |p| format!("{p:.2}"));
                    whole(ui, small(text))
                        .accessible_name(format!("Uncertainty in {}", curve.structure.name));
                }
                ui.end_row();
            }
        });
        for curve in curves {
            for remark in curve.dvh.remarks() {
                footnote(ui, format!("{}: {remark}", curve.structure.name), colours.warning, width);
            }
        }
        footnote(
            ui,
            format!("Doses of all fractions. {}: {}.", Metric::D95, Metric::D95.means()),
            colours.weak,
            width,
        );
    });
}

fn small(text: String) -> RichText {
    RichText::new(text).small()
}

/// A text below the table, as wide as the visible part of the table.
fn footnote(ui: &mut Ui, text: String, colour: Color32, width: f32) {
    let label = egui::Label::new(small(text).color(colour)).wrap();
    ui.allocate_ui(egui::vec2(width, 0.0), |ui| ui.add(label));
}

#[cfg(test)]
mod tests {
    use super::apart;
    use crate::kit::plot_line;
    use egui_kittest::Harness;
    use egui_plot::{Plot, PlotPoint};

    /// Whether anything is painted at a point of a plot whose curve is a target's: all of it gets 14 Gy.
    fn is_painted(point: [f64; 2]) -> bool {
        let fall = (0..=256)
            .map(|n| f64::from(n) / 256.0)
            .map(|s| [14.0 + 0.1 * s, 100.0 * (1.0 - s * s)]);
        let points: Vec<[f64; 2]> = std::iter::once([0.0, 100.0]).chain(fall).collect();
        let colour = egui::Color32::from_rgb(1, 254, 3);
        let place = std::cell::Cell::new(egui::Pos2::ZERO);
        let harness = Harness::builder().with_size([260.0, 200.0]).build_ui(|ui| {
            let shown = Plot::new("plot").show(ui, |plot| {
                plot.line(
                    plot_line("target", apart(&points, [14.1, 100.0]))
                        .color(colour)
                        .width(2.0),
                );
            });
            place.set(
                shown
                    .transform
                    .position_from_point(&PlotPoint::new(point[0], point[1])),
            );
        });
        let output = harness.output();
        let clipped = harness
            .ctx
            .tessellate(output.shapes.clone(), output.pixels_per_point);
        clipped.iter().any(|shape| match &shape.primitive {
            egui::epaint::Primitive::Mesh(mesh) => mesh.indices.chunks_exact(3).any(|corners| {
                let triangle = [0, 1, 2].map(|n| mesh.vertices[corners[n] as usize]);
                triangle[0].color == colour
                    && is_inside(triangle.map(|vertex| vertex.pos), place.get())
            }),
            egui::epaint::Primitive::Callback(_) => false,
        })
    }

    /// Whether a point lies in a triangle, whichever way its corners are ordered.
    fn is_inside(triangle: [egui::Pos2; 3], p: egui::Pos2) -> bool {
        let sides = [0, 1, 2].map(|n| {
            let (from, to) = (triangle[n], triangle[(n + 1) % 3]);
            (to.x - from.x) * (p.y - from.y) - (to.y - from.y) * (p.x - from.x)
        });
        sides.iter().all(|s| *s >= 0.0) || sides.iter().all(|s| *s <= 0.0)
    }

    #[test]
    fn a_targets_curve_is_painted_where_it_is_and_nowhere_else() {
        assert!(is_painted([7.0, 100.0]) && is_painted([14.05, 75.0]));
        // Before its fall it has no point below.
        assert!(!is_painted([13.0, 95.0]) && !is_painted([10.0, 97.0]));
    }

    #[test]
    fn points_of_a_curve_lie_apart() {
        let dense: Vec<[f64; 2]> = (0..=256)
            .map(|n| [5.0 + 1e-7 * f64::from(n), 100.0])
            .collect();
        assert_eq!(apart(&dense, [60.0, 100.0]), [dense[0], dense[256]]);
        let coarse = [[0.0, 100.0], [1.0, 100.0], [1.0, 50.0], [2.0, 0.0]];
        assert_eq!(apart(&coarse, [2.0, 100.0]), coarse);
        assert!(apart(&[], [0.0, 0.0]).is_empty());
    }
}
