//! Measured and computed curves with their differences, drawn as PDF pages.

use crate::pdf::{A4, Document, Type};
use analysis::machine_fit::{
    CalibrationReport, CurveReport, FactorReport, PointReport, Report, tolerances,
};

const MARGIN: f32 = 40.0;
/// Plots beside each other and below each other on a page.
const COLUMNS: usize = 2;
const ROWS: usize = 3;
/// Heights of a plot: title, dose, gap, differences.
const TITLE: f32 = 14.0;
const DOSE: f32 = 130.0;
const GAP: f32 = 6.0;
const DIFFERENCE: f32 = 50.0;
/// Differences are drawn up to this many percent either way; larger ones lie on the edge.
const MOST_PERCENT: f64 = 5.0;

const INK: [u8; 3] = [30, 30, 30];
const PALE: [u8; 3] = [200, 200, 200];
const MEASURED: [u8; 3] = [190, 70, 30];
const COMPUTED: [u8; 3] = [30, 80, 160];

const SMALL: Type = Type {
    size: 7.0,
    bold: false,
    colour: INK,
};

/// The pages of a comparison.
pub fn draw(title: &str, report: &Report) -> Vec<u8> {
    let mut pdf = Document::new(title);
    pdf.text(
        MARGIN,
        MARGIN,
        title,
        Type {
            size: 13.0,
            bold: true,
            colour: INK,
        },
    );
    pdf.text(
        MARGIN,
        MARGIN + 14.0,
        "Not for clinical use. Tolerances:",
        SMALL,
    );
    let (high, build_up) = tolerances()
        .split_once("; ")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap_or_default();
    pdf.text(MARGIN, MARGIN + 23.0, &high, SMALL);
    pdf.text(MARGIN, MARGIN + 32.0, &build_up, SMALL);
    pdf.text(
        MARGIN,
        MARGIN + 44.0,
        "measured",
        Type {
            colour: MEASURED,
            ..SMALL
        },
    );
    pdf.text(
        MARGIN + 45.0,
        MARGIN + 44.0,
        "computed, and computed - measured",
        Type {
            colour: COMPUTED,
            ..SMALL
        },
    );
    let mut y = MARGIN + 58.0;
    let not_tested = report
        .not_tested()
        .into_iter()
        .map(|line| format!("NOT TESTED: {line}"));
    let not_fitted = report
        .at_bound
        .iter()
        .map(|line| format!("NOT FITTED: {line}"));
    let verdict = std::iter::once(format!("Verdict: {}", report.verdict_words()));
    let factors = report.output_factors.iter().map(FactorReport::words);
    let calibration = report.calibration.iter().map(CalibrationReport::words);
    for line in verdict
        .chain(not_fitted)
        .chain(not_tested)
        .chain(calibration)
        .chain(factors)
    {
        if y > A4[1] - MARGIN {
            pdf.add_page();
            y = MARGIN;
        }
        pdf.text(MARGIN, y, &line, SMALL);
        y += 9.0;
    }
    for (n, curve) in report.curves.iter().enumerate() {
        let slot = n % (COLUMNS * ROWS);
        if slot == 0 {
            pdf.add_page();
        }
        let wide = (A4[0] - 2.0 * MARGIN) / COLUMNS as f32;
        let tall = (A4[1] - 2.0 * MARGIN) / ROWS as f32;
        let corner = [
            MARGIN + (slot % COLUMNS) as f32 * wide + 20.0,
            MARGIN + (slot / COLUMNS) as f32 * tall,
        ];
        plot(&mut pdf, curve, corner, wide - 30.0);
    }
    pdf.finish()
}

/// A rectangle of the page and the values at its edges.
#[derive(Clone, Copy)]
struct Axes {
    corner: [f32; 2],
    size: [f32; 2],
    x: [f64; 2],
    y: [f64; 2],
}

impl Axes {
    fn at(&self, x: f64, y: f64) -> [f32; 2] {
        let [left, top] = self.corner;
        [
            left + share_of_range(x, self.x) * self.size[0],
            top + (1.0 - share_of_range(y, self.y)) * self.size[1],
        ]
    }

    fn frame(&self, pdf: &mut Document, lines: &[f64], unit: &str) {
        for value in lines {
            let [a, b] = self.x.map(|x| self.at(x, *value));
            pdf.line(a, b, 0.4, PALE);
            pdf.text_right(a[0] - 3.0, a[1] + 2.5, &format!("{value}{unit}"), SMALL);
        }
        let [[l, t], [w, h]] = [self.corner, self.size];
        pdf.path(
            &[[l, t], [l + w, t], [l + w, t + h], [l, t + h], [l, t]],
            0.6,
            INK,
            false,
        );
    }
}

fn share_of_range(v: f64, [low, high]: [f64; 2]) -> f32 {
    ((v - low) / (high - low)).clamp(0.0, 1.0) as f32
}

fn plot(pdf: &mut Document, curve: &CurveReport, [left, top]: [f32; 2], wide: f32) {
    let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
        return;
    };
    let x = [first.position_mm, last.position_mm];
    let greatest = curve
        .points
        .iter()
        .map(|p| p.measured_percent.max(p.computed_percent))
        .fold(100.0, f64::max);
    let dose = Axes {
        corner: [left, top + TITLE],
        size: [wide, DOSE],
        x,
        y: [0.0, 1.05 * greatest],
    };
    let below = top + TITLE + DOSE + GAP;
    let difference = Axes {
        corner: [left, below],
        size: [wide, DIFFERENCE],
        x,
        y: [-MOST_PERCENT, MOST_PERCENT],
    };
    let outside = if curve.outside > 0 {
        format!(": {} of {} points outside", curve.outside, curve.judged)
    } else {
        String::new()
    };
    pdf.text(
        left,
        top + 8.0,
        &format!("{}{outside}", curve.label),
        Type {
            bold: true,
            ..SMALL
        },
    );
    dose.frame(pdf, &[0.0, 50.0, 100.0], "");
    difference.frame(pdf, &[-2.0, 0.0, 2.0], " %");
    for p in &curve.points {
        let [x, y] = dose.at(p.position_mm, p.measured_percent);
        pdf.fill([x - 0.7, y - 0.7], [1.4, 1.4], MEASURED);
    }
    let path = |axes: &Axes, ordinate: fn(&PointReport) -> f64| -> Vec<[f32; 2]> {
        curve
            .points
            .iter()
            .map(|p| axes.at(p.position_mm, ordinate(p)))
            .collect()
    };
    pdf.path(&path(&dose, |p| p.computed_percent), 0.7, COMPUTED, false);
    pdf.path(
        &path(&difference, PointReport::difference_percent),
        0.7,
        COMPUTED,
        false,
    );
    let foot = below + DIFFERENCE + 9.0;
    pdf.text(left, foot, &format!("{} mm", x[0]), SMALL);
    pdf.text_right(left + wide, foot, &format!("{} mm", x[1]), SMALL);
}
