//! The report of a second check as PDF pages.

use super::pdf::Type;
use super::pen::{LEFT, PLAIN, Pen, RED, RIGHT, SMALL, STRONG, in_tenths};
use super::{PROGRAM, written_now};
use analysis::rate_text;
use analysis::second_check::{
    INDEPENDENCE, Item, Level, SecondCheck, Tolerances, Verdict, capital,
};

const TITLE: &str = "Second check of a plan";

/// The bytes of a file with the checks of some plans, each from a new page on; before them the folders and plans without one,
/// each with the reason.
pub fn draw(checks: &[&SecondCheck], failed: &[(&str, &str)]) -> Vec<u8> {
    let written = written_now();
    let stamp = match checks {
        [one] if failed.is_empty() => {
            format!(
                "{}, plan {}: {}",
                one.patient,
                one.plan,
                one.judgement.words()
            )
        }
        checked => format!("{} plans, {} more not checked", checked.len(), failed.len()),
    };
    let mut pen = Pen::new(TITLE, stamp);
    if !failed.is_empty() {
        pen.title(TITLE);
        pen.heading("Not checked");
        for (place, why) in failed {
            pen.line(
                &format!("{place}: {why}"),
                Type {
                    colour: RED,
                    ..STRONG
                },
            );
        }
    }
    for (n, check) in checks.iter().enumerate() {
        if n > 0 || !failed.is_empty() {
            pen.turn_page();
        }
        head(&mut pen, check, &written);
        verdict(&mut pen, check);
        tolerances(&mut pen, &check.tolerances);
        agreements(&mut pen, check);
        fields(&mut pen, check);
        structures(&mut pen, check);
        goals(&mut pen, check);
        notes(&mut pen, check);
        independence(&mut pen);
        pen.signatures(&["Checked by", "Approved by"]);
    }
    pen.finish()
}

fn head(pen: &mut Pen, check: &SecondCheck, written: &str) {
    pen.title(&format!("{TITLE}: {}", check.plan));
    pen.fact(
        "Patient",
        &format!("{}   {}", check.patient, check.patient_id),
    );
    pen.fact("Files", &check.case);
    pen.fact("Written", &format!("{written} by {PROGRAM}"));
    let prescribed = check
        .prescription_gy
        .map_or("no prescription".to_owned(), |gy| format!("{gy:.2} Gy"));
    pen.fact(
        "Prescription",
        &format!("{prescribed}, {} fraction(s)", check.fractions),
    );
    for machine_check in &check.machines {
        let machine = if machine_check.machine.is_empty() {
            "without a name"
        } else {
            &machine_check.machine
        };
        pen.fact(
            "Machine",
            &format!(
                "{machine}, {}: model {} ({})",
                machine_check.quality, machine_check.model, machine_check.choice
            ),
        );
    }
    pen.fact("Planned dose", &or_none(&check.planned));
    pen.fact("Recomputed dose", &or_none(&check.recomputed));
    let device = if check.device.is_empty() {
        "nothing computed"
    } else {
        &check.device
    };
    pen.fact(
        "Engine, device",
        &format!(
            "{}, grid {} mm, {device}",
            check.engine_words(),
            check.grid_mm
        ),
    );
    pen.fact(
        "Dose to, HU table",
        &format!("{}, {}", check.dose_to, check.hu_table),
    );
}

fn or_none(text: &str) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        text.to_owned()
    }
}

fn verdict(pen: &mut Pen, check: &SecondCheck) {
    let words = check.judgement.verdict.words();
    pen.heading(&format!("Verdict: {words}"));
    let how = match check.judgement.verdict {
        Verdict::Within => PLAIN,
        Verdict::Outside | Verdict::NotJudged => Type {
            colour: RED,
            ..STRONG
        },
    };
    for text in &check.judgement.reservations {
        pen.line(
            &capital(text),
            Type {
                colour: RED,
                ..STRONG
            },
        );
    }
    if check.judgement.reasons.is_empty() {
        pen.line(
            "Gamma and the dose at a point agree for the plan and for every beam with a planned dose.",
            how,
        );
    }
    check
        .judgement
        .reasons
        .iter()
        .for_each(|why| pen.line(why, how));
}

fn tolerances(pen: &mut Pen, limits: &Tolerances) {
    pen.heading("Tolerances");
    let ends = [LEFT + 260.0, LEFT + 350.0, RIGHT];
    pen.row(
        &["", "tolerance", "action level"].map(|h| (h.to_owned(), SMALL)),
        &ends,
    );
    let row = |pen: &mut Pen, cells: [String; 3]| pen.row(&cells.map(|c| (c, PLAIN)), &ends);
    row(
        pen,
        [
            format!(
                "points of either dose that pass gamma {}",
                limits.criterion_text()
            ),
            format!("{} %", limits.gamma_tolerance_percent),
            format!("{} %", limits.gamma_action_percent),
        ],
    );
    row(
        pen,
        [
            "difference of the dose at a point, of the planned dose there".to_owned(),
            format!("{} %", limits.point_tolerance_percent),
            format!("{} %", limits.point_action_percent),
        ],
    );
    pen.line(&limits.source, SMALL);
}

fn agreements(pen: &mut Pen, check: &SecondCheck) {
    pen.heading("Plan and beams");
    let ends = [
        LEFT + 130.0,
        LEFT + 170.0,
        LEFT + 230.0,
        LEFT + 320.0,
        LEFT + 385.0,
        LEFT + 450.0,
        RIGHT,
    ];
    // Gamma of the direction that passes less, with the points of that direction.
    let words = [
        "",
        "MU",
        "lower gamma",
        "of points",
        "planned Gy",
        "recomputed Gy",
        "difference",
    ];
    pen.row(&words.map(|h| (h.to_owned(), SMALL)), &ends);
    let items = || std::iter::once(&check.whole).chain(&check.beams);
    for item in items() {
        agreement(pen, item, &check.tolerances, &ends);
    }
    for item in items() {
        if let Some((words, statement)) = item
            .agreement
            .as_ref()
            .and_then(|a| Some((a.gamma_words()?, a)))
        {
            let text = format!(
                "{}: gamma: {words}; 100 % is {:.3} Gy",
                item.name, statement.normalisation_gy
            );
            pen.line(&text, SMALL);
        }
        if let Some(point) = item.agreement.as_ref().and_then(|a| a.point.as_ref()) {
            let place = in_tenths(point.point_mm);
            pen.line(
                &format!("{}: point: {} at {place} mm", item.name, point.place),
                SMALL,
            );
        }
    }
}

fn agreement(pen: &mut Pen, item: &Item, limits: &Tolerances, ends: &[f32]) {
    let mut cells = vec![
        (item.name.clone(), PLAIN),
        (format!("{:.1}", item.mu), PLAIN),
    ];
    let agreement = item.agreement.as_ref();
    match agreement.filter(|both| both.gamma.is_some()) {
        Some(both) => {
            let lower = both.lower_gamma();
            let rate = lower.map_or("-".to_owned(), |lower| rate_text(lower.pass_rate_percent));
            cells.push((rate, type_of_level(both.gamma_level(limits))));
            cells.push((
                lower.map_or("-".to_owned(), |lower| {
                    format!("{} {}", lower.points, lower.of)
                }),
                PLAIN,
            ));
        }
        None if item.not_judged.is_empty() && item.wrong.is_empty() => {
            cells.extend([dash(), dash()])
        }
        None => cells.extend([
            (item.words_without_figures().to_owned(), type_of_level(None)),
            dash(),
        ]),
    }
    match agreement.and_then(|a| a.point.as_ref()) {
        Some(point) => {
            cells.push((format!("{:.3}", point.planned_gy), PLAIN));
            cells.push((format!("{:.3}", point.recomputed_gy), PLAIN));
            cells.push((
                point.difference_words(limits),
                type_of_level(point.level(limits)),
            ));
        }
        None => cells.extend([dash(), dash(), dash()]),
    }
    pen.row(&cells, ends);
}

fn type_of_level(level: Option<Level>) -> Type {
    match level {
        Some(Level::Within) => PLAIN,
        _ => Type {
            colour: RED,
            ..STRONG
        },
    }
}

fn dash() -> (String, Type) {
    ("-".to_owned(), PLAIN)
}

/// The fields on the patient, by which a difference is understood.
fn fields(pen: &mut Pen, check: &SecondCheck) {
    let beams = || {
        check
            .beams
            .iter()
            .filter_map(|item| Some((&item.name, item.field.as_ref()?)))
    };
    if beams().next().is_none() {
        return;
    }
    pen.heading("Fields at the first control point");
    let ends = [
        LEFT + 150.0,
        LEFT + 230.0,
        LEFT + 300.0,
        LEFT + 370.0,
        LEFT + 440.0,
        RIGHT,
    ];
    let words = [
        "",
        "field mm",
        "square mm",
        "SSD mm",
        "depth mm",
        "water depth mm",
    ];
    pen.row(&words.map(|h| (h.to_owned(), SMALL)), &ends);
    for (name, field) in beams() {
        let [x, y] = field.sides_mm;
        let ray = field.ray;
        let cells = [
            name.clone(),
            format!("{x:.0} x {y:.0}"),
            in_mm(field.equivalent_square_mm),
            in_mm(ray.map(|ray| ray.ssd_mm)),
            in_mm(ray.map(|ray| ray.depth_mm)),
            in_mm(ray.map(|ray| ray.water_mm)),
        ];
        pen.row(&cells.map(|text| (text, PLAIN)), &ends);
    }
    pen.line("Square: equivalent square of the jaws. Depth of the isocentre along the central ray, and the same as water.", SMALL);
}

fn in_mm(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |mm| format!("{mm:.1}"))
}

fn independence(pen: &mut Pen) {
    pen.heading("What is independent");
    INDEPENDENCE.iter().for_each(|text| pen.line(text, PLAIN));
}

fn structures(pen: &mut Pen, check: &SecondCheck) {
    if check.structures.is_empty() {
        return;
    }
    pen.heading("Structures (not judged): planned, recomputed");
    let count = check
        .structures
        .iter()
        .map(|s| s.metrics.len())
        .max()
        .unwrap_or(0)
        .max(1);
    let step = (RIGHT - LEFT - 150.0) / count as f32;
    let mut ends = vec![LEFT + 100.0, LEFT + 150.0];
    ends.extend((1..=count).map(|n| LEFT + 150.0 + n as f32 * step));
    let mut heading = vec![(String::new(), SMALL), ("gamma".to_owned(), SMALL)];
    let metrics = check.structures.first().map_or(&[][..], |s| &s.metrics[..]);
    heading.extend(
        metrics
            .iter()
            .map(|m| (format!("{} {}", m.metric, m.unit), SMALL)),
    );
    pen.row(&heading, &ends);
    for structure in &check.structures {
        let rate = structure
            .gamma_pass_rate_percent
            .map_or("-".to_owned(), |rate| format!("{rate:.1} %"));
        let mut cells = vec![(structure.name.clone(), PLAIN), (rate, PLAIN)];
        cells.extend({ structure.metrics.iter() }.map(|m| {
            (
                format!("{}, {}", in_gy(m.planned), in_gy(m.recomputed)),
                PLAIN,
            )
        }));
        pen.row(&cells, &ends);
        structure
            .remarks
            .iter()
            .for_each(|remark| pen.line(&format!("{}: {remark}", structure.name), SMALL));
    }
}

fn in_gy(v: Option<f64>) -> String {
    v.map_or("-".to_owned(), |v| format!("{v:.2}"))
}

fn goals(pen: &mut Pen, check: &SecondCheck) {
    if check.goals.is_empty() {
        return;
    }
    pen.heading("Clinical goals (not judged)");
    let ends = [LEFT + 240.0, LEFT + 375.0, RIGHT];
    pen.row(
        &["", "planned", "recomputed"].map(|h| (h.to_owned(), SMALL)),
        &ends,
    );
    for goal in &check.goals {
        let cell = |value: Option<f64>, words: &str| {
            (
                value.map_or(words.to_owned(), |v| {
                    format!("{v:.2} {} ({words})", goal.unit)
                }),
                PLAIN,
            )
        };
        let [planned, recomputed] = &goal.verdicts;
        let cells = [
            (goal.goal.clone(), PLAIN),
            cell(goal.planned, planned),
            cell(goal.recomputed, recomputed),
        ];
        pen.row(&cells, &ends);
    }
}

fn notes(pen: &mut Pen, check: &SecondCheck) {
    if check.notes.is_empty() {
        return;
    }
    pen.heading("Notes");
    check.notes.iter().for_each(|note| pen.line(note, PLAIN));
}
