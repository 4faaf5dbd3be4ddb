//! The report as PDF pages.

use super::{CriterionFacts, Report};
use crate::DoseFacts;
use crate::pdf::{self, Type};
use crate::pen::{
    BLUE, INK, LEFT, PLAIN, Pen, RED, RIGHT, SMALL, STRONG, WEAK, curves, cut, in_tenths, letters,
    levels,
};
use crate::picture::Subject;
use analysis::{Side, decimals, difference_colour, digits_apart, gamma_colour, rate_text};
use case::Rgb;

/// Pixels per point of the pictures.
const FINENESS: f32 = 2.0;
/// Warning on every page where a dose is not final.
const UNSURE: &str = "One of the doses is not a final result: nothing in this report is.";
/// Clusters listed.
const MOST_CLUSTERS: usize = 12;

/// The bytes of the file.
pub fn draw(report: &Report) -> Vec<u8> {
    let unsure = report.doses.iter().any(DoseFacts::is_limited);
    let text = format!(
        "{}, {} and {}",
        report.patient, report.doses[0].label, report.doses[1].label
    );
    let text = if unsure {
        format!("{text}. {UNSURE}")
    } else {
        text
    };
    let mut pen = Pen::new("Comparison of two doses", text);
    head(&mut pen, report);
    gamma(&mut pen, report);
    pictures(&mut pen, report);
    curves(
        &mut pen,
        "Dose-volume histograms: A solid, B dashed",
        &report.curves,
    );
    structures(&mut pen, report);
    goals(&mut pen, report);
    clusters(&mut pen, report);
    provenance(&mut pen, report);
    pen.finish()
}

fn head(pen: &mut Pen, report: &Report) {
    pen.title("Comparison of two doses");
    pen.fact(
        "Patient",
        &format!("{}   {}", report.patient, report.patient_id),
    );
    pen.fact("Case", &report.case);
    pen.fact(
        "Written",
        &format!("{} by {}", report.written, report.program),
    );
    for (side, dose) in Side::BOTH.into_iter().zip(&report.doses) {
        let text = format!(
            "{}, {}, maximum {:.2} Gy",
            dose.label,
            dose.status_text(),
            dose.max_gy
        );
        pen.fact(&format!("Dose {}", side.name()), &text);
    }
    let unsure = report.doses.iter().any(DoseFacts::is_limited);
    if unsure {
        pen.line(
            UNSURE,
            Type {
                colour: RED,
                ..STRONG
            },
        );
    }
    if let Some(note) = &report.note {
        pen.line(
            note,
            Type {
                colour: RED,
                ..PLAIN
            },
        );
    }
    if let Some((gy, name)) = report.reference {
        pen.fact("100 % is", &format!("{gy:.2} Gy ({name})"));
    }
}

fn gamma(pen: &mut Pen, report: &Report) {
    pen.heading("Gamma");
    let Some(gamma) = &report.gamma else {
        let why = report.no_gamma.as_deref().unwrap_or("not computed");
        pen.line(
            &format!("No gamma: {why}"),
            Type {
                colour: RED,
                ..PLAIN
            },
        );
        return;
    };
    let kind = if gamma.local { "local" } else { "global" };
    for (n, criterion) in gamma.criteria.iter().enumerate() {
        let CriterionFacts {
            dose_percent,
            dta_mm,
            points,
            pass_rate_percent,
            not_judged_words,
            ..
        } = criterion;
        let size = if n == 0 { 13.0 } else { 9.5 };
        pen.y += if n == 0 { 6.0 } else { 1.0 };
        let rate = rate_text(*pass_rate_percent);
        let text = format!(
            "{rate} of the points judged have gamma <= 1 at {dose_percent} %/{dta_mm} mm {kind}"
        );
        pen.line(
            &text,
            Type {
                size,
                bold: true,
                colour: INK,
            },
        );
        if n == 0 {
            if !not_judged_words.is_empty() {
                pen.line(
                    not_judged_words,
                    Type {
                        colour: RED,
                        ..STRONG
                    },
                );
            }
            pen.line(&gamma.verdict, PLAIN);
            pen.fact("Points", &format!("{points} judged"));
            let more = if gamma.beyond_max_gamma > 0 {
                "more than "
            } else {
                ""
            };
            pen.fact(
                "Mean, maximum",
                &format!(
                    "{more}{:.3}, {more}{:.3} (search ends at {})",
                    gamma.mean, gamma.max, gamma.max_gamma
                ),
            );
        }
    }
    let g = gamma;
    pen.fact(
        "Direction",
        &format!("reference {}, evaluated {}", g.reference, g.evaluated),
    );
    pen.fact(
        "Normalisation",
        &format!("{:.2} Gy ({})", g.normalisation_gy, g.normalisation),
    );
    pen.fact(
        "Threshold",
        &format!(
            "{} % of it, {:.2} Gy of the reference",
            g.threshold_percent, g.threshold_gy
        ),
    );
    pen.fact("Interpolation", g.interpolation);
}

/// A, B, their difference and gamma on the displayed plane, with their scales.
fn pictures(pen: &mut Pen, report: &Report) {
    let pictures = &report.pictures;
    let axis = pictures.plane.normal_axis();
    let place = format!(
        "Pictures: {} plane at {} {} mm",
        pictures.plane.name().to_lowercase(),
        ['x', 'y', 'z'][axis],
        decimals(pictures.crosshair_mm[axis], 1)
    );
    let gap = 10.0;
    let size = [(RIGHT - LEFT - gap) / 2.0, 190.0];
    pen.room(2.0 * size[1] + 100.0);
    pen.heading(&place);
    let [a, b] = &report.doses;
    let d = &pictures.difference;
    let subjects = [
        (
            Subject::Dose(Side::A),
            format!("A: {}, {} (lines solid)", a.label, a.status_text()),
        ),
        (
            Subject::Dose(Side::B),
            format!("B: {}, {} (lines dashed)", b.label, b.status_text()),
        ),
        (
            Subject::Difference,
            format!(
                "B - A in {}, nothing up to {:.2}",
                d.unit.name(),
                d.dead_band
            ),
        ),
        (
            Subject::Gamma,
            "Gamma: white is 1, failing voxels outlined".to_owned(),
        ),
    ];
    let top = pen.y + 8.0;
    for (n, (subject, caption)) in subjects.into_iter().enumerate() {
        let x = LEFT + (n % 2) as f32 * (size[0] + gap);
        let y = top + (n / 2) as f32 * (size[1] + 30.0);
        let image = pictures.draw(subject, size.map(|s| (s * FINENESS) as u32));
        pen.document
            .text(x, y + 7.0, &cut(&caption, SMALL, size[0]), SMALL);
        pen.document.image([x, y + 11.0], size, image);
        let under = y + 11.0 + size[1] + 3.0;
        letters(pen, [x, y + 11.0], size, pictures.plane);
        match subject {
            Subject::Difference => {
                let marks = d.marks().map(|v| {
                    (
                        v,
                        if v == 0.0 {
                            "0".to_owned()
                        } else {
                            format!("{v:+}")
                        },
                    )
                });
                scale(
                    pen,
                    [x, under],
                    size[0],
                    [-d.end, d.end],
                    &marks,
                    |v: f64| (v.abs() > d.dead_band).then(|| difference_colour(v / d.end)),
                );
            }
            Subject::Gamma => {
                let end = pictures.gamma_end;
                let marks = [
                    (0.0, "0".to_owned()),
                    (1.0, "1".to_owned()),
                    (end, format!("{end} and more")),
                ];
                scale(pen, [x, under], size[0], [0.0, end], &marks, |v| {
                    Some(gamma_colour(v, end))
                });
            }
            // One legend for both.
            Subject::Dose(Side::A) => levels(pen, [x, under + 8.0], pictures),
            Subject::Dose(Side::B) => {}
        }
    }
    pen.y = top + 2.0 * (size[1] + 30.0) + 12.0;
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
        pen.document
            .fill([x + n as f32 * step, y], [step + 0.3, 5.0], colour);
    }
    for (value, mark) in marks {
        let share = ((value - low) / (high - low)) as f32;
        let shift = pdf::width(mark, SMALL) * share;
        pen.document
            .text(x + width * share - shift, y + 13.0, mark, SMALL);
    }
}

fn structures(pen: &mut Pen, report: &Report) {
    pen.heading("Structures, those that changed most first");
    if report.structures.is_empty() {
        pen.line("No structure on show has a DVH in both doses.", PLAIN);
        return;
    }
    // A name, then A, B and B - A for each metric, then gamma.
    let shown = report
        .structures
        .first()
        .map_or(0, |s| s.metrics.len().min(4));
    let mut ends = vec![LEFT + 82.0];
    for metric in 0..shown {
        for column in 0..3 {
            ends.push(LEFT + 112.0 + (metric * 3 + column) as f32 * 31.5);
        }
    }
    ends.push(RIGHT);
    let mut heading = vec![small_cell("")];
    for metric in report
        .structures
        .iter()
        .take(1)
        .flat_map(|s| s.metrics.iter().take(shown))
    {
        heading.extend([
            small_cell(&format!("{} A", metric.metric)),
            small_cell("B"),
            small_cell(&format!("B-A {}", metric.unit)),
        ]);
    }
    heading.push(small_cell("gamma <= 1"));
    pen.row(&heading, &ends);
    let number = Type { size: 7.5, ..PLAIN };
    for s in &report.structures {
        let mut cells = vec![(s.name.clone(), Type { size: 8.0, ..PLAIN })];
        for m in s.metrics.iter().take(shown) {
            cells.extend([number_cell(m.a, number), number_cell(m.b, number)]);
            let colour = match m.b_minus_a {
                Some(v) if v > 0.005 => RED,
                Some(v) if v < -0.005 => BLUE,
                _ => WEAK,
            };
            let text = m.b_minus_a.map_or("-".to_owned(), |v| format!("{v:+.2}"));
            cells.push((
                text,
                Type {
                    colour,
                    bold: true,
                    ..number
                },
            ));
        }
        let mut rate = s.gamma_pass_rate_percent.map_or("-".to_owned(), |rate| {
            let digits = digits_apart(rate, &[100.0], 1);
            format!("{rate:.digits$} %")
        });
        if s.gamma_not_judged.is_some_and(|n| n > 0) {
            rate += " *";
        }
        cells.push((rate, number));
        pen.row(&cells, &ends);
    }
    for s in &report.structures {
        if let Some(n) = s.gamma_not_judged.filter(|n| *n > 0) {
            pen.line(
                &format!("* {}: gamma of {n} more points NOT judged", s.name),
                SMALL,
            );
        }
        for remark in &s.remarks {
            pen.line(&format!("{}, {remark}", s.name), SMALL);
        }
    }
}

fn small_cell(t: &str) -> (String, Type) {
    (t.to_owned(), SMALL)
}

fn number_cell(v: Option<f64>, number: Type) -> (String, Type) {
    (v.map_or("-".to_owned(), |v| format!("{v:.2}")), number)
}

fn goals(pen: &mut Pen, report: &Report) {
    if report.goals.is_empty() {
        return;
    }
    pen.heading("Clinical goals");
    let ends = [LEFT + 180.0, LEFT + 345.0, RIGHT];
    pen.row(
        &[
            ("".to_owned(), SMALL),
            ("A".to_owned(), SMALL),
            ("B".to_owned(), SMALL),
        ],
        &ends,
    );
    for goal in &report.goals {
        let cell = |side: usize| match goal.doses[side] {
            Some((v, Some(true))) => (
                format!("{v:.2} {}: {}", goal.unit, goal.verdicts[side]),
                PLAIN,
            ),
            Some((v, met)) => {
                let not = if met.is_some() { "NOT met, " } else { "" };
                let text = format!("{v:.2} {}: {not}{}", goal.unit, goal.verdicts[side]);
                (
                    text,
                    Type {
                        colour: RED,
                        size: 7.5,
                        ..STRONG
                    },
                )
            }
            None => (
                goal.verdicts[side].clone(),
                Type {
                    colour: RED,
                    size: 7.5,
                    ..STRONG
                },
            ),
        };
        pen.row(&[(goal.goal.clone(), PLAIN), cell(0), cell(1)], &ends);
    }
    if let Some((gy, name)) = report.goals_percent_of {
        pen.line(
            &format!("Goals in percent are of {gy:.2} Gy ({name})."),
            SMALL,
        );
    }
}

fn clusters(pen: &mut Pen, report: &Report) {
    if report.gamma.is_none() {
        return;
    }
    pen.heading(&format!(
        "Where gamma fails: {} places, the worst first",
        report.clusters.len()
    ));
    let ends = [LEFT + 190.0, LEFT + 260.0, LEFT + 330.0, RIGHT];
    let heading = ["", "cm³", "largest gamma", "worst at x, y, z mm"];
    pen.row(&heading.map(|h| (h.to_owned(), SMALL)), &ends);
    for cluster in report.clusters.iter().take(MOST_CLUSTERS) {
        let place = match (&cluster.structure, cluster.share_percent) {
            (Some(name), Some(share)) => format!("{share:.0} % in {name}"),
            _ => "outside structures".to_owned(),
        };
        let cells = [
            place,
            format!("{:.2}", cluster.volume_cm3),
            format!("{:.2}", cluster.max_gamma),
            in_tenths(cluster.worst_mm),
        ];
        pen.row(&cells.map(|c| (c, PLAIN)), &ends);
    }
}

fn provenance(pen: &mut Pen, report: &Report) {
    pen.room(190.0);
    pen.heading("Provenance");
    for (side, dose) in Side::BOTH.into_iter().zip(&report.doses) {
        pen.line(&format!("Dose {}: {}", side.name(), dose.label), STRONG);
        pen.dose(dose);
    }
    if let Some(gamma) = &report.gamma {
        let receipt = &gamma.receipt;
        pen.line("Gamma", STRONG);
        pen.fact(
            "From",
            &format!(
                "{} on {}, {:.0} ms",
                receipt.job,
                receipt.device,
                receipt.total_ms()
            ),
        );
        pen.fact("Digest of the inputs", &receipt.digest);
        for warning in &receipt.warnings {
            pen.fact("Warning", warning);
        }
    }
}
