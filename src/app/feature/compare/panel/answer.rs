//! The answer of the comparison: pass rate, worst clusters, structures.

use crate::command::{Command, Commands};
use crate::feature::compare::state::Compare;
use crate::kit::{row, section, theme};
use crate::state::results::{CaseResults, GammaByStructure, Standing};
use crate::state::{Selection, State};
use analysis::{
    Cluster, DvhPair, GammaHistogram, Metric, Side, digits_apart, gamma_colour, grouped, rate_text,
    unjudged_words,
};
use case::{Case, Structure};
use egui::{Align2, FontId, Label, Rect, RichText, Sense, Stroke, Ui, pos2, vec2};
use engine::gamma::Counts;

/// Clusters listed.
const MOST_CLUSTERS: usize = 6;

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Gamma");
    if let Some(why) = state.results.pair_refusal() {
        ui.add(Label::new(RichText::new(why).color(theme::palette(ui).error)).wrap());
        return;
    }
    if state.results.pair().is_none() {
        ui.weak("Choose two doses on the left.");
        return;
    }
    if state.gamma_lacks_hundred() {
        let text = "No gamma: its percent are of the 100 % of the comparison, which is not defined. Choose another.";
        ui.add(Label::new(RichText::new(text).color(theme::palette(ui).error)).wrap());
    } else if let Some(why) = state.results.gamma_failure() {
        ui.add(
            Label::new(RichText::new(format!("No gamma: {why}.")).color(theme::palette(ui).error))
                .wrap(),
        );
    } else {
        pass_rate(ui, state);
    }
    ui.spacing_mut().item_spacing.y = 1.0;
    changed(ui, state, commands);
    let Some((figures, standing)) = state.results.gamma_figures() else {
        return;
    };
    let stale = standing == Standing::Stale || state.results.gamma_failure().is_some();
    // Results of other criteria are dimmed and labelled.
    ui.scope(|ui| {
        if stale {
            ui.set_opacity(0.5);
            ui.colored_label(theme::palette(ui).warning, "stale: of the criteria before");
        }
        clusters(ui, state, figures, commands);
        structures(ui, state.case(), figures, commands);
        histogram(ui, state, figures);
    });
}

fn small(text: impl Into<String>) -> RichText {
    RichText::new(text).small()
}

/// The pass rate in large digits, with its criterion and number of points.
fn pass_rate(ui: &mut Ui, state: &State) {
    let settings = &state.compare.gamma;
    let estimate = state.results.gamma_estimate();
    let full = state.results.gamma();
    let current = full.as_ref().is_some_and(|(.., f)| *f == Standing::Current);
    let counts: Option<Vec<Counts>> = match (estimate, &full) {
        (Some(estimate), _) if !current => Some(estimate.counts.clone()),
        (_, Some((result, ..))) => Some(result.maps.iter().map(|m| m.counts).collect()),
        _ => None,
    };
    let Some(counts) = counts.filter(|c| !c.is_empty()) else {
        ui.weak("being computed…");
        return;
    };
    let estimated = !current && estimate.is_some();
    let stale = !current && estimate.is_none();
    let rate = counts[0].pass_rate_percent();
    let verdict = state.gamma_verdict().filter(|_| current);
    ui.horizontal(|ui| {
        let level = verdict.as_ref().and_then(|verdict| verdict.level);
        let colour = if stale {
            theme::palette(ui).weak
        } else {
            theme::palette(ui).level(level)
        };
        let text = if estimated {
            format!("≈ {rate:.1} %")
        } else {
            rate_text(rate)
        };
        ui.label(RichText::new(text).size(32.0).strong().color(colour))
            .on_hover_text("Points of gamma at most 1");
        ui.vertical(|ui| {
            ui.add_space(6.0);
            let what = if stale {
                "STALE: of the criteria before"
            } else if estimated {
                "estimate, all of it follows"
            } else {
                "of the points judged have gamma ≤ 1"
            };
            ui.label(small(what).color(if current {
                theme::palette(ui).text
            } else {
                theme::palette(ui).warning
            }));
            if let Some(verdict) = &verdict {
                ui.add(Label::new(small(&verdict.words).color(colour)).wrap());
            }
        });
    });
    criterion_line(
        ui,
        state,
        full.as_ref()
            .filter(|_| current)
            .map(|(r, ..)| r.normalisation_gy),
    );
    ui.label(small(format!(
        "{} points judged",
        grouped(counts[0].analysed)
    )));
    if let Some(text) = unjudged_words(&counts[0], settings.roles()[1]) {
        ui.add(Label::new(small(text).color(theme::palette(ui).warning)).wrap());
    }
    for text in uncertainties(&state.results) {
        ui.add(Label::new(small(text)).wrap());
    }
    for warning in full
        .iter()
        .filter(|_| current)
        .flat_map(|(result, ..)| &result.receipt.warnings)
    {
        ui.add(Label::new(small(warning).color(theme::palette(ui).warning)).wrap());
    }
    if let (Some([percent, mm]), Some(counts)) = (settings.second, counts.get(1)) {
        let text = format!(
            "{percent} %/{mm} mm: {}",
            rate_text(counts.pass_rate_percent())
        );
        ui.label(RichText::new(text).strong().color(if stale {
            theme::palette(ui).weak
        } else {
            theme::palette(ui).text
        }));
    }
}

/// The statistical uncertainty of A and B, where it is known: `A: Monte Carlo, ± 1.0 %`.
fn uncertainties(results: &CaseResults) -> impl Iterator<Item = String> + '_ {
    Side::BOTH.into_iter().filter_map(|side| {
        let certainty = results.side_certainty(side)?;
        Some(format!(
            "{}: Monte Carlo, {}",
            side.name(),
            certainty.percent_words()
        ))
    })
}

fn criterion_line(ui: &mut Ui, state: &State, normalisation_gy: Option<f64>) {
    let g = &state.compare.gamma;
    let [reference, evaluated] = g.roles().map(Side::name);
    let kind = if g.local { "local" } else { "global" };
    let norm = state
        .results
        .gamma()
        .map(|(_, query, _)| query.normalisation.word());
    let hundred = norm
        .zip(normalisation_gy)
        .map_or(String::new(), |(norm, gy)| {
            format!(", 100 % = {gy:.2} Gy ({norm})")
        });
    let text = format!(
        "{} %/{} mm {kind}{hundred}, from {} %; reference {reference}, evaluated {evaluated}",
        g.dose_percent, g.dta_mm, g.threshold_percent
    );
    ui.add(Label::new(small(text).color(theme::palette(ui).weak)).wrap());
}

/// The structures with the largest dose changes, in words.
fn changed(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Changed most");
    let rows = state.dvh_pairs();
    if rows.is_empty() {
        ui.weak("no structure with a DVH in both");
    }
    for row in rows.iter().take(3) {
        let Some(metric) = most_changed(row) else {
            continue;
        };
        let [a, b] = row
            .dvhs
            .map(|dvh| dvh.metric(metric, None).unwrap_or_default());
        let detail = format!("{metric}  {a:.1} to {b:.1} Gy  ({:+.2})", b - a);
        let weak = row.change_gy() < 0.01 * state.compare_reference().map_or(10.0, |(gy, _)| gy);
        if line(ui, Some(row.structure), &row.structure.name, &detail, weak).clicked() {
            commands.push(Command::Select(Selection::Structure(row.structure.number)));
        }
    }
}

/// The metric with the largest change.
fn most_changed(row: &DvhPair<'_>) -> Option<Metric> {
    let changes = DvhPair::CHANGES
        .iter()
        .map(|m| (*m, row.change(*m, None).unwrap_or(0.0).abs()));
    changes
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(metric, _)| metric)
}

/// A row with a swatch, a name on the left and figures on the right.
fn line(
    ui: &mut Ui,
    structure: Option<&Structure>,
    name: &str,
    detail: &str,
    weak: bool,
) -> egui::Response {
    row(name, detail, false).weak(weak).show(ui, 14.0, |ui| {
        // The space is allocated even without a swatch, so that rows are equally high.
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        if let Some(structure) = structure {
            theme::swatch(ui, rect, structure.colour);
        }
    })
}

/// Clusters of failing points; a click moves the crosshair there.
fn clusters(ui: &mut Ui, state: &State, figures: &GammaByStructure, commands: &mut Commands) {
    let count = figures.clusters.len();
    section(ui, &format!("Where it fails ({count})"));
    if count == 0 {
        ui.label(RichText::new("nowhere").color(theme::palette(ui).good));
    }
    for (n, (held, cluster)) in figures.clusters.iter().take(MOST_CLUSTERS).enumerate() {
        let (structure, place) = place(state.case(), *held);
        let capped = f64::from(cluster.max_gamma) >= state.compare.gamma.max_gamma - 1e-6;
        let sign = if capped { "> " } else { "" };
        let detail = format!("{}  max {sign}{:.2}", volume(cluster), cluster.max_gamma);
        let response = line(
            ui,
            structure,
            &format!("{}  {place}", n + 1),
            &detail,
            false,
        );
        let [x, y, z] = cluster.worst_mm;
        let hint = format!(
            "{} voxels, worst at {x:.1}, {y:.1}, {z:.1} mm. A click goes there.",
            cluster.voxels
        );
        if response.on_hover_text(hint).clicked() {
            commands.push(Command::GoTo(cluster.worst()));
        }
    }
    if count > MOST_CLUSTERS {
        ui.label(
            small(format!("and {} smaller ones", count - MOST_CLUSTERS))
                .color(theme::palette(ui).weak),
        );
    }
}

fn volume(cluster: &Cluster) -> String {
    crate::panel::tree::format_cm3(cluster.volume_cm3)
}

/// The structure that holds a cluster, in words.
fn place(case: &Case, held: Option<(u32, f64)>) -> (Option<&Structure>, String) {
    let structures = &case.structures.structures;
    let held = held
        .and_then(|(number, share)| Some((structures.iter().find(|s| s.number == number)?, share)));
    match held {
        Some((structure, share)) if share > 0.995 => (Some(structure), structure.name.clone()),
        Some((structure, share)) if share < 0.1 => {
            (Some(structure), format!("touches {}", structure.name))
        }
        Some((structure, share)) => (
            Some(structure),
            format!("{:.0} % in {}", 100.0 * share, structure.name),
        ),
        None => (None, "outside structures".to_owned()),
    }
}

/// Pass rate by structure, the worst first.
fn structures(ui: &mut Ui, case: &Case, figures: &GammaByStructure, commands: &mut Commands) {
    section(ui, "By structure");
    let set = &case.structures.structures;
    let mut rows: Vec<_> = figures
        .structures
        .iter()
        .filter_map(|(number, inside)| {
            let structure = set.iter().find(|s| s.number == *number)?;
            Some((structure, inside, inside.pass_rate_percent?))
        })
        .collect();
    rows.sort_by(|a, b| a.2.total_cmp(&b.2));
    for (structure, inside, rate) in rows {
        let max = inside.max.unwrap_or_default();
        let missing = match inside.not_judged {
            0 => String::new(),
            n => format!(" + {} NOT judged", grouped(n)),
        };
        let (more, digits) = (inside.more_than_sign(), digits_apart(rate, &[100.0], 1));
        let detail = format!(
            "{rate:.digits$} %  max {more}{max:.2}  n {}{missing}",
            grouped(inside.points)
        );
        if line(ui, Some(structure), &structure.name, &detail, false).clicked() {
            commands.push(Command::Select(Selection::Structure(structure.number)));
        }
    }
}

/// Histogram of gamma.
fn histogram(ui: &mut Ui, state: &State, figures: &GammaByStructure) {
    let overall = &figures.report.figures;
    let [mean, max] = [overall.mean, overall.max].map(Option::unwrap_or_default);
    let more = overall.more_than_sign();
    section(
        ui,
        &format!("Histogram  (mean {more}{mean:.2}, max {more}{max:.2})"),
    );
    theme::plate(ui, |ui| bars(ui, &state.compare, &figures.report.histogram));
    ui.label(small("Heights are square roots of counts.").color(theme::palette(ui).weak));
}

fn bars(ui: &mut Ui, compare: &Compare, histogram: &GammaHistogram) {
    let GammaHistogram { bin, counts, above } = histogram;
    let end = compare.gamma.max_gamma;
    let bins = ((end / bin).ceil() as usize).min(counts.len());
    let largest_count = counts.iter().copied().max().unwrap_or(1).max(1);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 84.0), Sense::hover());
    let plot = Rect::from_min_max(rect.min, rect.max - vec2(0.0, 16.0));
    let width = plot.width() / bins as f32;
    let painter = ui.painter_at(rect);
    for n in 0..bins {
        let last = n + 1 == bins;
        // Values beyond the scale count in its last bar.
        let count: usize = if last {
            counts.iter().skip(n).sum::<usize>() + above
        } else {
            counts.get(n).copied().unwrap_or(0)
        };
        // The root makes few failing points visible beside many passing ones.
        let height = plot.height() * (count as f32 / largest_count as f32).sqrt().min(1.0);
        let middle = (n as f64 + 0.5) * bin;
        let low = pos2(plot.left() + n as f32 * width, plot.bottom() - height);
        let bar = Rect::from_min_max(low, pos2(low.x + width - 0.5, plot.bottom()));
        painter.rect_filled(bar, 0.0, theme::colour(gamma_colour(middle, end)));
    }
    painter.hline(
        plot.x_range(),
        plot.bottom(),
        Stroke::new(1.0, theme::palette(ui).line),
    );
    // Gamma of 1 is marked: points to its right fail.
    let per_gamma = f64::from(plot.width()) / end;
    painter.vline(
        plot.left() + per_gamma as f32,
        plot.y_range(),
        Stroke::new(1.0, theme::palette(ui).text),
    );
    let font = FontId::proportional(10.5);
    for (gamma, text, align) in [
        (0.0, "0".to_owned(), Align2::LEFT_TOP),
        (1.0, "1".to_owned(), Align2::CENTER_TOP),
        (end, format!("{end} and more"), Align2::RIGHT_TOP),
    ] {
        painter.text(
            pos2(
                plot.left() + (gamma * per_gamma) as f32,
                plot.bottom() + 2.0,
            ),
            align,
            text,
            font.clone(),
            theme::palette(ui).weak,
        );
    }
}
