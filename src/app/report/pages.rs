//! The report as PDF pages.

use super::picture::Subject;
use super::{CriterionFacts, DoseFacts, Report};
use crate::app::state::compare::{Side, difference_colour, gamma_colour};
use crate::case::Rgb;
use crate::files::pdf::{A4, Document, Type};

const LEFT: f32 = 42.0;
const RIGHT: f32 = A4[0] - 42.0;
const BOTTOM: f32 = A4[1] - 46.0;
const INK: [u8; 3] = [20, 24, 30];
const WEAK: [u8; 3] = [105, 112, 122];
const RED: [u8; 3] = [178, 24, 43];
const BLUE: [u8; 3] = [33, 102, 172];
const HAIR: [u8; 3] = [205, 210, 216];
/// Pixels per point of the pictures.
const FINENESS: f32 = 2.0;
/// Clusters listed.
const MOST_CLUSTERS: usize = 12;

const PLAIN: Type = Type { size: 8.5, bold: false, colour: INK };
const STRONG: Type = Type { size: 8.5, bold: true, colour: INK };
const SMALL: Type = Type { size: 7.5, bold: false, colour: WEAK };

/// Position of the next line.
struct Pen {
    document: Document,
    y: f32,
}

impl Pen {
    /// Ensures room for `height`, on a new page if necessary.
    fn room(&mut self, height: f32) {
        if self.y + height > BOTTOM {
            self.document.add_page();
            self.y = 56.0;
        }
    }

    fn heading(&mut self, what: &str) {
        self.room(46.0);
        self.y += 20.0;
        self.document.text(LEFT, self.y, what, Type { size: 11.0, bold: true, colour: INK });
        self.document.line([LEFT, self.y + 4.0], [RIGHT, self.y + 4.0], 0.5, HAIR);
        self.y += 6.0;
    }

    fn line(&mut self, what: &str, how: Type) {
        for part in wrapped(what, how, RIGHT - LEFT) {
            self.room(how.size + 4.0);
            self.y += how.size + 3.0;
            self.document.text(LEFT, self.y, &part, how);
        }
    }

    /// A caption with its text.
    fn fact(&mut self, caption: &str, what: &str) {
        for (n, part) in wrapped(what, PLAIN, RIGHT - LEFT - 110.0).into_iter().enumerate() {
            self.room(12.0);
            self.y += 11.5;
            if n == 0 {
                self.document.text(LEFT, self.y, caption, SMALL);
            }
            self.document.text(LEFT + 110.0, self.y, &part, PLAIN);
        }
    }

    /// One row of a table: cells with their right ends; the first cell is left-aligned.
    fn row(&mut self, cells: &[(String, Type)], ends: &[f32]) {
        self.room(13.0);
        self.y += 11.5;
        for (n, ((text, how), end)) in cells.iter().zip(ends).enumerate() {
            if n == 0 {
                let text = cut(text, *how, *end - LEFT);
                self.document.text(LEFT, self.y, &text, *how);
            } else {
                self.document.text_right(*end, self.y, text, *how);
            }
        }
    }
}

/// The bytes of the file.
pub fn draw(report: &Report) -> Vec<u8> {
    let mut pen = Pen { document: Document::new("Comparison of two doses"), y: 44.0 };
    head(&mut pen, report);
    gamma(&mut pen, report);
    pictures(&mut pen, report);
    curves(&mut pen, report);
    structures(&mut pen, report);
    goals(&mut pen, report);
    clusters(&mut pen, report);
    provenance(&mut pen, report);
    pen.document.finish()
}

fn head(pen: &mut Pen, report: &Report) {
    let title = Type { size: 17.0, bold: true, colour: INK };
    pen.document.text(LEFT, pen.y, "Comparison of two doses", title);
    pen.document.text_right(
        RIGHT,
        pen.y,
        "Not for clinical use",
        Type { size: 10.0, bold: true, colour: RED },
    );
    pen.y += 6.0;
    pen.fact("Patient", &format!("{}   {}", report.patient, report.patient_id));
    pen.fact("Case", &report.case);
    pen.fact("Written", &format!("{} by {}", report.written, report.program));
    for (side, dose) in Side::BOTH.into_iter().zip(&report.doses) {
        let text = format!("{}, {}, maximum {:.2} Gy", dose.label, dose.status_text(), dose.max_gy);
        pen.fact(&format!("Dose {}", side.name()), &text);
    }
    let unsure = report.doses.iter().any(DoseFacts::is_limited);
    if unsure {
        let text = "One of the doses is not a final result: nothing in this report is.";
        pen.line(text, Type { colour: RED, ..STRONG });
    }
    if let Some(note) = &report.note {
        pen.line(note, Type { colour: RED, ..PLAIN });
    }
    if let Some((gy, name)) = report.reference {
        pen.fact("100 % is", &format!("{gy:.2} Gy ({name})"));
    }
}

fn gamma(pen: &mut Pen, report: &Report) {
    pen.heading("Gamma");
    let Some(gamma) = &report.gamma else {
        let why = report.no_gamma.as_deref().unwrap_or("not computed");
        pen.line(&format!("No gamma: {why}"), Type { colour: RED, ..PLAIN });
        return;
    };
    let kind = if gamma.local { "local" } else { "global" };
    for (n, criterion) in gamma.criteria.iter().enumerate() {
        let CriterionFacts { dose_percent, dta_mm, points, pass_rate_percent, outside, .. } = criterion;
        let size = if n == 0 { 13.0 } else { 9.5 };
        pen.y += if n == 0 { 6.0 } else { 1.0 };
        let text = format!(
            "{pass_rate_percent:.2} % of points have gamma <= 1 at {dose_percent} %/{dta_mm} mm {kind}"
        );
        pen.line(&text, Type { size, bold: true, colour: INK });
        if n == 0 {
            pen.line(gamma.verdict, PLAIN);
            pen.fact(
                "Points",
                &format!("{points} analysed, {outside} more outside the evaluated dose (not counted)"),
            );
            pen.fact(
                "Mean, maximum",
                &format!("{:.3}, {:.3} (search ends at {})", gamma.mean, gamma.max, gamma.max_gamma),
            );
        }
    }
    let g = gamma;
    pen.fact("Direction", &format!("reference {}, evaluated {}", g.reference, g.evaluated));
    pen.fact("Normalisation", &format!("{:.2} Gy ({})", g.normalisation_gy, g.normalisation));
    pen.fact(
        "Threshold",
        &format!("{} % of it, {:.2} Gy of the reference", g.threshold_percent, g.threshold_gy),
    );
    pen.fact("Interpolation", g.interpolation);
}

/// A, B, their difference and gamma on the displayed plane, with their scales.
fn pictures(pen: &mut Pen, report: &Report) {
    let scenery = &report.scenery;
    let axis = scenery.plane.normal_axis();
    let place = format!(
        "Pictures: {} plane at {} {:.1} mm",
        scenery.plane.name().to_lowercase(),
        ['x', 'y', 'z'][axis],
        scenery.crosshair_mm[axis]
    );
    let gap = 10.0;
    let size = [(RIGHT - LEFT - gap) / 2.0, 190.0];
    pen.room(2.0 * size[1] + 100.0);
    pen.heading(&place);
    let [a, b] = &report.doses;
    let d = &scenery.difference;
    let subjects = [
        (Subject::Dose(Side::A), format!("A: {}, {} (lines solid)", a.label, a.status_text())),
        (Subject::Dose(Side::B), format!("B: {}, {} (lines dashed)", b.label, b.status_text())),
        (Subject::Difference, format!("B - A in {}, nothing up to {:.2}", d.unit.name(), d.dead_band)),
        (Subject::Gamma, "Gamma: white is 1, failing voxels outlined".to_owned()),
    ];
    let top = pen.y + 8.0;
    for (n, (subject, caption)) in subjects.into_iter().enumerate() {
        let x = LEFT + (n % 2) as f32 * (size[0] + gap);
        let y = top + (n / 2) as f32 * (size[1] + 30.0);
        let image = scenery.draw(subject, size.map(|s| (s * FINENESS) as u32));
        pen.document.text(x, y + 7.0, &cut(&caption, SMALL, size[0]), SMALL);
        pen.document.image([x, y + 11.0], size, image);
        let under = y + 11.0 + size[1] + 3.0;
        letters(pen, [x, y + 11.0], size, report);
        match subject {
            Subject::Difference => {
                let marks = d.marks().map(|v| (v, if v == 0.0 { "0".to_owned() } else { format!("{v:+}") }));
                let colour = |v: f64| (v.abs() > d.dead_band).then(|| difference_colour(v / d.end));
                scale(pen, [x, under], size[0], [-d.end, d.end], &marks, colour);
            }
            Subject::Gamma => {
                let end = scenery.gamma_end;
                let marks = [(0.0, "0".to_owned()), (1.0, "1".to_owned()), (end, format!("{end} and more"))];
                scale(pen, [x, under], size[0], [0.0, end], &marks, |v| Some(gamma_colour(v, end)));
            }
            // One legend for both.
            Subject::Dose(Side::A) => levels(pen, [x, under + 8.0], report),
            Subject::Dose(Side::B) => {}
        }
    }
    pen.y = top + 2.0 * (size[1] + 30.0) + 12.0;
}

/// The patient's directions at the rims of a picture.
fn letters(pen: &mut Pen, [x, y]: [f32; 2], [width, height]: [f32; 2], report: &Report) {
    let white = Type { size: 9.0, bold: true, colour: [235, 238, 242] };
    let [right, down] = report.scenery.plane.axes();
    let of = |v: glam::DVec3| {
        let axis = [v.x, v.y, v.z].iter().position(|c| c.abs() > 0.5).unwrap_or(0);
        [["R", "L"], ["A", "P"], ["F", "H"]][axis][usize::from(v[axis] > 0.0)]
    };
    pen.document.text(x + 4.0, y + 0.5 * height, of(-right), white);
    pen.document.text_right(x + width - 4.0, y + 0.5 * height, of(right), white);
    pen.document.text(x + 0.5 * width - 3.0, y + 11.0, of(-down), white);
    pen.document.text(x + 0.5 * width - 3.0, y + height - 4.0, of(down), white);
}

/// The isodose levels in a row.
fn levels(pen: &mut Pen, [x, y]: [f32; 2], report: &Report) {
    let mut at = x;
    for (percent, Rgb(colour)) in report.scenery.levels() {
        pen.document.fill([at, y - 4.0], [9.0, 3.5], colour);
        pen.document.text(at + 11.0, y, &format!("{percent} %"), SMALL);
        at += 48.0;
    }
}

/// A colour bar of a scale, with marks.
fn scale(
    pen: &mut Pen,
    [x, y]: [f32; 2],
    width: f32,
    [low, high]: [f64; 2],
    marks: &[(f64, String)],
    colour: impl Fn(f64) -> Option<Rgb>,
) {
    const STEPS: usize = 80;
    let step = width / STEPS as f32;
    for n in 0..STEPS {
        let v = low + (high - low) * (n as f64 + 0.5) / STEPS as f64;
        let Rgb(colour) = colour(v).unwrap_or(Rgb([120, 124, 130]));
        // A little wider than its step, so that there are no gaps.
        pen.document.fill([x + n as f32 * step, y], [step + 0.3, 5.0], colour);
    }
    for (value, mark) in marks {
        let share = ((value - low) / (high - low)) as f32;
        let shift = crate::files::pdf::width(mark, SMALL) * share;
        pen.document.text(x + width * share - shift, y + 13.0, mark, SMALL);
    }
}

fn curves(pen: &mut Pen, report: &Report) {
    if report.curves.is_empty() {
        return;
    }
    pen.room(230.0);
    pen.heading("Dose-volume histograms: A solid, B dashed");
    let (left, top, width, height) = (LEFT + 26.0, pen.y + 10.0, 350.0, 160.0);
    let points = || report.curves.iter().flat_map(|c| c.points.iter().flatten());
    let most = points().map(|p| p[0]).fold(1e-6, f64::max) * 1.02;
    let at = |[gy, percent]: [f64; 2]| {
        [left + (gy / most) as f32 * width, top + height * (1.0 - (percent / 100.0) as f32)]
    };
    for n in 0..=5 {
        let percent = f64::from(n) * 20.0;
        let [x, y] = at([0.0, percent]);
        pen.document.line([x, y], [left + width, y], 0.4, HAIR);
        pen.document.text_right(x - 4.0, y + 2.5, &format!("{percent:.0}"), SMALL);
        let gy = most / 5.0 * f64::from(n);
        let [x, y] = at([gy, 0.0]);
        pen.document.line([x, top], [x, y], 0.4, HAIR);
        pen.document.text(x - 6.0, y + 10.0, &format!("{gy:.1}"), SMALL);
    }
    pen.document.text(left, top - 4.0, "volume, %", SMALL);
    pen.document.text_right(left + width, top + height + 20.0, "dose, Gy", SMALL);
    for (n, curve) in report.curves.iter().enumerate() {
        // Pale colours are invisible on paper.
        let Rgb(colour) = curve.colour;
        let colour = colour.map(|c| (f32::from(c) * 0.82) as u8);
        for (side, points) in curve.points.iter().enumerate() {
            let thinned: Vec<[f32; 2]> =
                points.iter().step_by(points.len() / 240 + 1).map(|p| at(*p)).collect();
            pen.document.path(&thinned, 1.0, colour, side == 1);
        }
        let y = top + 6.0 + 10.0 * n as f32;
        if y < top + height + 10.0 {
            pen.document.line([left + width + 12.0, y - 2.5], [left + width + 26.0, y - 2.5], 2.0, colour);
            pen.document.text(
                left + width + 30.0,
                y,
                &cut(&curve.name, SMALL, RIGHT - left - width - 32.0),
                SMALL,
            );
        }
    }
    pen.y = top + height + 26.0;
}

fn structures(pen: &mut Pen, report: &Report) {
    pen.heading("Structures, those that changed most first");
    if report.structures.is_empty() {
        pen.line("No structure on show has a DVH in both doses.", PLAIN);
        return;
    }
    // A name, then A, B and B - A for each metric, then gamma.
    let shown = report.structures.first().map_or(0, |s| s.metrics.len().min(4));
    let mut ends = vec![LEFT + 82.0];
    for metric in 0..shown {
        for column in 0..3 {
            ends.push(LEFT + 112.0 + (metric * 3 + column) as f32 * 31.5);
        }
    }
    ends.push(RIGHT);
    let weak = |t: &str| (t.to_owned(), SMALL);
    let mut heading = vec![weak("")];
    for metric in report.structures.iter().take(1).flat_map(|s| s.metrics.iter().take(shown)) {
        heading.extend([
            weak(&format!("{} A", metric.metric)),
            weak("B"),
            weak(&format!("B-A {}", metric.unit)),
        ]);
    }
    heading.push(weak("gamma <= 1"));
    pen.row(&heading, &ends);
    let number = Type { size: 7.5, ..PLAIN };
    for s in &report.structures {
        let mut cells = vec![(s.name.clone(), Type { size: 8.0, ..PLAIN })];
        for m in s.metrics.iter().take(shown) {
            let value = |v: Option<f64>| (v.map_or("-".to_owned(), |v| format!("{v:.2}")), number);
            cells.extend([value(m.a), value(m.b)]);
            let colour = match m.b_minus_a {
                Some(v) if v > 0.005 => RED,
                Some(v) if v < -0.005 => BLUE,
                _ => WEAK,
            };
            let text = m.b_minus_a.map_or("-".to_owned(), |v| format!("{v:+.2}"));
            cells.push((text, Type { colour, bold: true, ..number }));
        }
        let rate = s.gamma_pass_rate_percent.map_or("-".to_owned(), |r| format!("{r:.1} %"));
        cells.push((rate, number));
        pen.row(&cells, &ends);
    }
    for s in &report.structures {
        for remark in &s.remarks {
            pen.line(&format!("{}, {remark}", s.name), SMALL);
        }
    }
}

fn goals(pen: &mut Pen, report: &Report) {
    if report.goals.is_empty() {
        return;
    }
    pen.heading("Clinical goals");
    let ends = [LEFT + 240.0, LEFT + 370.0, RIGHT];
    pen.row(&[("".to_owned(), SMALL), ("A".to_owned(), SMALL), ("B".to_owned(), SMALL)], &ends);
    for goal in &report.goals {
        let cell = |d: Option<(f64, bool)>| match d {
            Some((v, true)) => (format!("{v:.2} {} met", goal.unit), PLAIN),
            Some((v, false)) => (format!("{v:.2} {} NOT met", goal.unit), Type { colour: RED, ..STRONG }),
            None => ("no value".to_owned(), SMALL),
        };
        pen.row(&[(goal.goal.clone(), PLAIN), cell(goal.doses[0]), cell(goal.doses[1])], &ends);
    }
}

fn clusters(pen: &mut Pen, report: &Report) {
    if report.gamma.is_none() {
        return;
    }
    pen.heading(&format!("Where gamma fails: {} places, the worst first", report.clusters.len()));
    let ends = [LEFT + 190.0, LEFT + 260.0, LEFT + 330.0, RIGHT];
    let heading = ["", "cm³", "largest gamma", "worst at x, y, z mm"];
    pen.row(&heading.map(|h| (h.to_owned(), SMALL)), &ends);
    for cluster in report.clusters.iter().take(MOST_CLUSTERS) {
        let place = match (&cluster.structure, cluster.share_percent) {
            (Some(name), Some(share)) => format!("{share:.0} % in {name}"),
            _ => "outside structures".to_owned(),
        };
        let [x, y, z] = cluster.worst_mm;
        let cells = [
            place,
            format!("{:.2}", cluster.volume_cm3),
            format!("{:.2}", cluster.max_gamma),
            format!("{x:.1}, {y:.1}, {z:.1}"),
        ];
        pen.row(&cells.map(|c| (c, PLAIN)), &ends);
    }
}

fn provenance(pen: &mut Pen, report: &Report) {
    pen.room(190.0);
    pen.heading("Provenance");
    for (side, dose) in Side::BOTH.into_iter().zip(&report.doses) {
        let DoseFacts { voxels: [nx, ny, nz], spacing_mm: [dx, dy, dz], .. } = dose;
        pen.line(&format!("Dose {}: {}", side.name(), dose.label), STRONG);
        let dz = if dz.is_finite() { format!("{dz:.3}") } else { "uneven".to_owned() };
        pen.fact("Grid", &format!("{nx} x {ny} x {nz} voxels of {dx:.3} x {dy:.3} x {dz} mm"));
        let frame = dose.frame_of_reference_uid.trim();
        pen.fact("Frame of reference", if frame.is_empty() { "not named" } else { frame });
        match &dose.receipt {
            None => pen.fact("From", "a file"),
            Some(receipt) => {
                pen.fact(
                    "From",
                    &format!("{} on {}, {:.0} ms", receipt.job, receipt.device, receipt.total_ms()),
                );
                pen.fact("Digest of the inputs", &receipt.digest);
                for warning in &receipt.warnings {
                    pen.fact("Warning", warning);
                }
            }
        }
    }
    if let Some(gamma) = &report.gamma {
        let receipt = &gamma.receipt;
        pen.line("Gamma", STRONG);
        pen.fact("From", &format!("{} on {}, {:.0} ms", receipt.job, receipt.device, receipt.total_ms()));
        pen.fact("Digest of the inputs", &receipt.digest);
        for warning in &receipt.warnings {
            pen.fact("Warning", warning);
        }
    }
}

/// Text cut with an ellipsis if it is wider than `room`.
fn cut(text: &str, how: Type, room: f32) -> String {
    if crate::files::pdf::width(text, how) <= room {
        return text.to_owned();
    }
    let mut kept: String = text.to_owned();
    while !kept.is_empty() && crate::files::pdf::width(&kept, how) + how.size > room {
        kept.pop();
    }
    kept + "…"
}

/// Lines no wider than `room`, broken at spaces (and inside words that are wider than a line).
fn wrapped(text: &str, how: Type, room: f32) -> Vec<String> {
    let fits = |t: &str| crate::files::pdf::width(t, how) <= room;
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if fits(&longer) {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !fits(&format!("{line}{c}")) && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_where_it_must_be() {
        let wide = "x".repeat(200);
        let lines = wrapped(&format!("some words and {wide}"), PLAIN, 100.0);
        assert!(lines.len() > 5 && lines.iter().all(|l| crate::files::pdf::width(l, PLAIN) <= 100.0));
        assert_eq!(lines.concat().replace(' ', "").len(), 212);
        assert!(crate::files::pdf::width(&cut(&wide, PLAIN, 60.0), PLAIN) <= 60.0);
    }
}
