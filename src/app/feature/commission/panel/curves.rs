//! The curves of a comparison: a row of figures for each; of the one that is selected the measured points against the computed
//! line, and the difference under them.

use crate::kit::{GRID, mark_text, marks, plot_line, theme, whole};
use analysis::machine_fit::{COLUMNS, CurveReport, LOCAL, PointReport, Report};
use egui::{Button, Color32, RichText, Ui};
use egui_plot::{AxisHints, HLine, LineStyle, Plot, PlotUi, Points};

const MEASURED: Color32 = Color32::from_rgb(236, 190, 110);
const COMPUTED: Color32 = Color32::from_rgb(110, 180, 250);
/// Half of the least range of the axis of differences, percent.
const LEAST_PERCENT: f64 = 3.0;
/// Width of the axes of doses and of differences: equal, so that positions stand under each other.
const AXIS_POINTS: f32 = 52.0;
/// Rows of the table before it scrolls.
const ROWS: usize = 6;
const ROW_HEIGHT: f32 = 24.5;
/// The part of the height below the table that the differences have.
const DIFFERENCES: f32 = 0.36;

pub fn show(ui: &mut Ui, report: &Report) {
    if report.curves.is_empty() {
        ui.weak("No curves were given.");
        return;
    }
    let id = egui::Id::unique("curve of the machine fit");
    let mut selected: usize = ui.data(|d| d.get_temp(id)).unwrap_or_default();
    selected = selected.min(report.curves.len() - 1);
    let height = ROW_HEIGHT * (report.curves.len().min(ROWS) + 1) as f32;
    let area = egui::ScrollArea::both()
        .auto_shrink([false, true])
        .max_height(height)
        .id_salt("fit curves");
    area.show(ui, |ui| table(ui, report, &mut selected));
    ui.data_mut(|d| d.insert_temp(id, selected));
    let curve = &report.curves[selected];
    ui.horizontal(|ui| {
        for (word, colour) in [("Points: measured", MEASURED), ("line: computed", COMPUTED)] {
            ui.label(
                RichText::new(word)
                    .small()
                    .color(theme::palette(ui).legible(colour)),
            );
        }
        if curve.outside > 0 {
            ui.label(
                RichText::new("points: outside tolerance")
                    .small()
                    .color(theme::palette(ui).error),
            );
        }
        ui.weak(RichText::new(LOCAL).small());
    });
    theme::plate(ui, |ui| plots(ui, selected, curve));
}

fn table(ui: &mut Ui, report: &Report, selected: &mut usize) {
    let palette = theme::palette(ui);
    let grid = egui::Grid::new("fit curves")
        .num_columns(COLUMNS.len())
        .striped(true)
        .spacing([16.0, 2.0]);
    grid.show(ui, |ui| {
        for heading in COLUMNS {
            whole(ui, RichText::new(heading).small().weak());
        }
        ui.end_row();
        for (n, curve) in report.curves.iter().enumerate() {
            let [label, figures @ .., outside] = curve.cells();
            if ui.add(Button::selectable(n == *selected, label)).clicked() {
                *selected = n;
            }
            figures.into_iter().for_each(|figure| {
                whole(ui, figure);
            });
            let (colour, outside) = match (curve.fault(), &curve.tests_nothing) {
                (Some(_), _) => (palette.error, outside),
                (None, Some(_)) => (palette.warning, "not tested".to_owned()),
                (None, None) => (palette.good, outside),
            };
            let outside = whole(ui, RichText::new(outside).color(colour));
            if let Some(why) = curve.fault().or_else(|| curve.tests_nothing.clone()) {
                outside.on_hover_text(why);
            }
            ui.end_row();
        }
    });
}

fn plots(ui: &mut Ui, selected: usize, curve: &CurveReport) {
    let height = ui.available_height() - ui.spacing().item_spacing.y;
    let below = (DIFFERENCES * height).max(60.0);
    let points = &curve.points;
    plot(
        ui,
        curve,
        PlotForm {
            selected,
            quantity: "dose",
            unit: "%",
            height: (height - below).max(60.0),
        },
        |plot| {
            plot.line(
                plot_line("computed", profile(points, |p| p.computed_percent))
                    .color(COMPUTED)
                    .width(1.8),
            );
            let measured = by_tolerance(points, |p| p.measured_percent);
            scatter(plot, "measured", measured, MEASURED);
        },
    );
    plot(
        ui,
        curve,
        PlotForm {
            selected,
            quantity: "difference",
            unit: "% difference",
            height: below,
        },
        |plot| {
            for percent in [-LEAST_PERCENT, 0.0, LEAST_PERCENT] {
                let style = if percent == 0.0 {
                    LineStyle::Solid
                } else {
                    LineStyle::dashed_loose()
                };
                plot.hline(
                    HLine::new("", percent)
                        .color(theme::IMAGE.line)
                        .style(style)
                        .allow_hover(false),
                );
            }
            plot.line(
                plot_line(
                    "difference",
                    profile(points, PointReport::difference_percent),
                )
                .color(COMPUTED)
                .width(1.2),
            );
            let differences = by_tolerance(points, PointReport::difference_percent);
            scatter(plot, "difference", differences, COMPUTED);
        },
    );
}

/// A quantity of the points against their positions, mm.
fn profile(points: &[PointReport], quantity: fn(&PointReport) -> f64) -> Vec<[f64; 2]> {
    let profile = points.iter().map(|p| [p.position_mm, quantity(p)]);
    profile.collect()
}

/// A quantity against the position, mm, of points by their tolerance.
struct ByTolerance {
    within: Vec<[f64; 2]>,
    outside: Vec<[f64; 2]>,
}

fn by_tolerance(points: &[PointReport], quantity: fn(&PointReport) -> f64) -> ByTolerance {
    let (outside, within) = points
        .iter()
        .copied()
        .partition::<Vec<_>, _>(|p| p.within == Some(false));
    ByTolerance {
        within: profile(&within, quantity),
        outside: profile(&outside, quantity),
    }
}

fn scatter(plot: &mut PlotUi<'_>, name: &str, points: ByTolerance, colour: Color32) {
    plot.points(Points::new(name, points.within).color(colour).radius(2.0));
    plot.points(
        Points::new(name, points.outside)
            .color(theme::IMAGE.error)
            .radius(2.6),
    );
}

/// The quantity that a plot of the selected curve shows, and the plot's height in points.
struct PlotForm {
    selected: usize,
    quantity: &'static str,
    unit: &'static str,
    height: f32,
}

fn plot(ui: &mut Ui, curve: &CurveReport, form: PlotForm, draw: impl FnOnce(&mut PlotUi<'_>)) {
    let what = form.quantity;
    let [unit, position] = [form.unit, "Position (mm)"]
        .map(|label| RichText::new(label).small().color(theme::palette(ui).weak));
    let mut plot = Plot::new((what, form.selected))
        .height(form.height)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_boxed_zoom(false)
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label(unit)
                .min_thickness(AXIS_POINTS)
                .formatter(|mark, _| mark_text(mark)),
        ])
        .x_grid_spacer(|input| marks(input.bounds, 10.0))
        .y_grid_spacer(|input| marks(input.bounds, 6.0))
        .grid_color(GRID)
        .label_formatter(|_| None);
    plot = if what == "dose" {
        plot.include_y(0.0).custom_x_axes(vec![AxisHints::new_x()])
    } else {
        plot.include_y(-LEAST_PERCENT)
            .include_y(LEAST_PERCENT)
            .custom_x_axes(vec![AxisHints::new_x().label(position)])
    };
    let shown = plot.show(ui, |plot| {
        draw(plot);
        plot.pointer_coordinate()
    });
    let name = format!("{}: {what}", curve.label);
    shown
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, name.clone()));
    let Some(pointer) = shown.inner.filter(|_| shown.response.hovered()) else {
        return;
    };
    let nearest = curve.points.iter().min_by(|a, b| {
        let [a_mm, b_mm] = [a, b].map(|p| (p.position_mm - pointer.x).abs());
        a_mm.total_cmp(&b_mm)
    });
    if let Some(point) = nearest {
        shown.response.on_hover_text_at_pointer(words(point));
    }
}

fn words(p: &PointReport) -> String {
    let (measured, computed) = (p.measured_percent, p.computed_percent);
    let dta = p.dta_mm.map_or(String::new(), |mm| format!(", {mm:.2} mm"));
    let within = match p.within {
        Some(true) => "within",
        Some(false) => "OUTSIDE",
        None => "no tolerance",
    };
    format!(
        "at {:.1} mm: measured {measured:.2} %, computed {computed:.2} %\n{:+.2} %{dta}; {}: {within}",
        p.position_mm,
        p.difference_percent(),
        p.region.word()
    )
}
