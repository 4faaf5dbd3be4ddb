//! The report of a plan as PDF pages.

use super::apertures::apertures;
use super::fields::fields;
use super::{BeamFacts, PlanReport};
use crate::pdf::Type;
use crate::pen::{
    LEFT, PLAIN, Pen, RED, RIGHT, SMALL, STRONG, WEAK, curves, cut, in_tenths, letters, levels,
};
use crate::picture::{Pictures, Subject};
use analysis::{Metric, Side, Verdict, decimals};
use case::NO_RELEASE;
use geometry::AnatomicalPlane;
use sequence::{DeliveryFigures, PlanDelivery};

/// Pixels per point of the pictures.
const FINENESS: f32 = 2.0;

/// The bytes of the file.
pub fn draw(report: &PlanReport) -> Vec<u8> {
    let mut pen = Pen::new("Treatment plan", stamp(report));
    head(&mut pen, report);
    goals(&mut pen, report);
    beams(&mut pen, report);
    delivery(&mut pen, report);
    fields(&mut pen, report);
    pictures(&mut pen, report);
    room(&mut pen, report);
    apertures(&mut pen, report);
    curves(&mut pen, "Dose-volume histograms", &report.curves);
    structures(&mut pen, report);
    provenance(&mut pen, report);
    pen.signatures(&["Planned by", "Checked by", "Approved by"]);
    pen.finish()
}

/// The line at the top of every page.
fn stamp(report: &PlanReport) -> String {
    let patient = [report.patient.as_str(), &report.patient_id].map(str::trim);
    let patient: Vec<&str> = patient
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    let plan = format!("{}, plan {}", patient.join(" "), report.plan.name);
    report
        .reservation
        .as_ref()
        .map_or(plan.clone(), |why| format!("{plan}. {why}"))
}

fn head(pen: &mut Pen, report: &PlanReport) {
    pen.title(&format!("Treatment plan {}", report.plan.name));
    pen.fact(
        "Patient",
        &format!("{}   {}", report.patient, report.patient_id),
    );
    pen.fact("Case", &report.case);
    pen.fact(
        "Written",
        &format!("{} by {}", report.written, report.program),
    );
    let plan = &report.plan;
    let fractions = if plan.fractions == 1 {
        "fraction"
    } else {
        "fractions"
    };
    let prescribed = plan.prescription_gy.map_or("none".to_owned(), |gy| {
        format!("{gy:.2} Gy in {} {fractions}", plan.fractions)
    });
    pen.fact("Prescription", &prescribed);
    pen.fact(
        "Approval",
        &format!("{}. {NO_RELEASE}", plan.approval_words()),
    );
    if let Some(n) = &plan.normalisation {
        let factor = report
            .factor_words
            .as_ref()
            .map_or("not known".to_owned(), |factor| {
                format!("monitor units times {factor}")
            });
        let text = format!("{n}: {factor}");
        pen.fact("Normalisation", &text);
    }
    pen.fact(
        "Machine, position",
        &format!("{}, {}", plan.machine, plan.position),
    );
    for words in &report.densities {
        pen.fact("Density", words);
    }
    match &report.dose {
        Some(dose) => {
            pen.fact(
                "Dose",
                &format!(
                    "{}, {}, maximum {:.2} Gy",
                    dose.label,
                    dose.status_text(),
                    dose.max_gy
                ),
            );
        }
        None => pen.fact("Dose", "none"),
    }
    if let Some((gy, name)) = report.reference {
        pen.fact("Isodoses", &format!("100 % is {gy:.2} Gy ({name})"));
    }
    if let Some(why) = &report.reservation {
        pen.line(
            why,
            Type {
                colour: RED,
                ..STRONG
            },
        );
    }
}

fn goals(pen: &mut Pen, report: &PlanReport) {
    if report.goals.is_empty() {
        return;
    }
    pen.heading(&format!("Clinical goals: {}", report.met()));
    let ends = [
        LEFT + 230.0,
        LEFT + 270.0,
        LEFT + 335.0,
        LEFT + 395.0,
        RIGHT,
    ];
    pen.row(
        &["", "priority", "value", "", "to the limit"].map(|h| (h.to_owned(), SMALL)),
        &ends,
    );
    for row in &report.goals {
        let how = if row.is_met() {
            PLAIN
        } else {
            Type {
                colour: RED,
                ..STRONG
            }
        };
        let unit = row.goal.unit().symbol();
        let (value, verdict, distance) = match &row.answer {
            Ok(outcome) => {
                let (word, note) = match &outcome.verdict {
                    Verdict::Pass => ("pass", outcome.distance_text(&row.goal)),
                    Verdict::Near => ("NEAR", outcome.distance_text(&row.goal)),
                    Verdict::Fail => ("FAIL", outcome.distance_text(&row.goal)),
                    // The reason stands below the table, where there is room for it.
                    Verdict::Undecided(_) => ("UNDECIDED", "see below".to_owned()),
                };
                (format!("{:.2} {unit}", outcome.value), word, note)
            }
            Err(why) => ("-".to_owned(), "UNDECIDED", why.short().to_owned()),
        };
        let tolerance = match row.goal.tolerance() {
            t if t > 0.0 => format!(" (tolerance {t} {unit})"),
            _ => String::new(),
        };
        let cells = [
            (format!("{}{tolerance}", row.goal.short_text()), PLAIN),
            (row.goal.priority().to_string(), PLAIN),
            (value, PLAIN),
            (verdict.to_owned(), how),
            (distance, SMALL),
        ];
        pen.row(&cells, &ends);
    }
    for row in &report.goals {
        let why = match &row.answer {
            Ok(outcome) if row.is_undecided() => outcome.told(&row.goal),
            Ok(_) => continue,
            Err(why) => why.to_string(),
        };
        pen.line(
            &format!("{}: undecided, {why}", row.goal.short_text()),
            SMALL,
        );
    }
    if let Some((gy, name)) = report.goals_percent_of {
        pen.line(
            &format!("Goals in percent are of {gy:.2} Gy ({name})."),
            SMALL,
        );
    }
}

fn beams(pen: &mut Pen, report: &PlanReport) {
    pen.heading("Beams");
    if report.beams.is_empty() {
        pen.line("The plan has no beam.", PLAIN);
        return;
    }
    let columns = [72.0, 62.0, 32.0, 32.0, 62.0, 62.0, 40.0];
    let mut ends = vec![LEFT + 66.0];
    for width in columns {
        ends.push(ends[ends.len() - 1] + width);
    }
    ends.push(RIGHT);
    let words = [
        "",
        "machine",
        "gantry",
        "coll.",
        "couch",
        "X mm",
        "Y mm",
        "MU",
        "isocentre mm",
    ];
    pen.row(&words.map(|h| (h.to_owned(), SMALL)), &ends);
    let small = Type { size: 7.5, ..PLAIN };
    for beam in &report.beams {
        let BeamFacts { start, .. } = beam;
        let gantry = match beam.to_gantry_deg {
            Some(to) => format!("{} to {}", decimals(start.gantry_deg, 1), decimals(to, 1)),
            None => decimals(start.gantry_deg, 1),
        };
        let cells = [
            format!("{} {}", beam.number, beam.name),
            cut(&beam.machine, small, 68.0),
            gantry,
            decimals(start.collimator_deg, 1),
            decimals(start.couch_deg, 1),
            in_tenths(start.jaws.x),
            in_tenths(start.jaws.y),
            decimals(beam.mu, 1),
            in_tenths(beam.isocentre_mm),
        ];
        pen.row(&cells.map(|text| (text, small)), &ends);
    }
    pen.line("Angles in degrees, IEC 61217. Jaws at the isocentre plane. Isocentre: patient LPS. MU in one fraction.", SMALL);
    if report.beams.iter().any(|beam| !beam.is_normalised) {
        let text = "The monitor units are those before normalisation: its factor is not known.";
        pen.line(
            text,
            Type {
                colour: RED,
                ..PLAIN
            },
        );
    }
    for beam in &report.beams {
        if let Some(why) = &beam.left_out {
            pen.line(
                &format!("{} is not in the dose: {why}", beam.name),
                Type {
                    colour: RED,
                    ..PLAIN
                },
            );
        }
    }
}

/// Delivery by leaves: a row for each beam, and one for the plan.
fn delivery(pen: &mut Pen, report: &PlanReport) {
    let Some(PlanDelivery {
        figures,
        mu_per_gy,
        remark,
    }) = &report.delivery
    else {
        return;
    };
    pen.heading("Delivery by leaves");
    let small = Type { size: 7.5, ..PLAIN };
    let name = 128.0;
    let column = (RIGHT - LEFT - name) / 6.0;
    let ends: Vec<f32> = (0_u8..7)
        .map(|n| LEFT + name + column * f32::from(n))
        .collect();
    let words = [
        "",
        "MU",
        "beam on s",
        "complexity",
        "mean gap mm",
        "apertures",
        "smallest cm²",
    ];
    pen.row(&words.map(|h| (h.to_owned(), SMALL)), &ends);
    let mut row = |name: String, f: &DeliveryFigures| {
        let cells = [
            name,
            format!("{:.1}", f.mu),
            format!("{:.0}", f.beam_on_s),
            format!("{:.2}", f.complexity),
            format!("{:.1}", f.mean_gap_mm),
            format!("{}", f.apertures),
            format!("{:.2}", f.smallest_cm2),
        ];
        pen.row(&cells.map(|text| (text, small)), &ends);
    };
    for beam in &report.beams {
        if let Some(delivery) = &beam.delivery {
            row(format!("{} {}", beam.number, beam.name), delivery);
        }
    }
    row("Plan".to_owned(), figures);
    let per_gy = mu_per_gy.map_or_else(String::new, |mu| {
        format!("{mu:.0} MU for each gray prescribed. ")
    });
    let words = "Complexity: modulation complexity score (McNiven et al., Med. Phys. 37, 505 (2010)), 1 for one open rectangle. Means by MU.";
    pen.line(&format!("{per_gy}{words}"), SMALL);
    if let Some(remark) = remark {
        pen.line(
            remark,
            Type {
                colour: RED,
                ..PLAIN
            },
        );
    }
}

/// The three planes through each isocentre.
fn pictures(pen: &mut Pen, report: &PlanReport) {
    for place in &report.planes {
        planes(
            pen,
            &Pictures {
                crosshair_mm: place.at_mm,
                ..report.pictures.clone()
            },
            &place.words,
        );
    }
}

fn planes(pen: &mut Pen, pictures: &Pictures, through: &str) {
    let gap = 8.0;
    let size = [(RIGHT - LEFT - 2.0 * gap) / 3.0, 150.0];
    pen.room(size[1] + 70.0);
    pen.heading(&cut(
        &format!("Planes through {through}"),
        Type {
            size: 11.0,
            ..STRONG
        },
        RIGHT - LEFT,
    ));
    let top = pen.y + 8.0;
    for (n, plane) in AnatomicalPlane::ALL.into_iter().enumerate() {
        let x = LEFT + n as f32 * (size[0] + gap);
        let pictures = pictures.on(plane);
        let axis = plane.normal_axis();
        let caption = format!(
            "{} at {} {} mm",
            plane.name(),
            ['x', 'y', 'z'][axis],
            decimals(pictures.crosshair_mm[axis], 1)
        );
        let image = pictures.draw(Subject::Dose(Side::A), size.map(|s| (s * FINENESS) as u32));
        pen.document
            .text(x, top + 7.0, &cut(&caption, SMALL, size[0]), SMALL);
        pen.document.image([x, top + 11.0], size, image);
        letters(pen, [x, top + 11.0], size, plane);
    }
    levels(pen, [LEFT, top + size[1] + 22.0], pictures);
    pen.y = top + size[1] + 28.0;
}

/// The patient on the couch with all beams.
fn room(pen: &mut Pen, report: &PlanReport) {
    let Some(room) = &report.room else { return };
    let [width, height] = room.look.frame.size_px.map(|px| px as f32);
    let size = [360.0, 360.0 * height / width];
    pen.room(size[1] + 50.0);
    pen.heading("Room");
    let top = pen.y + 8.0;
    pen.document
        .image([LEFT, top], size, crate::room::draw(&room.look));
    pen.y = top + size[1];
    pen.line(&room.words, SMALL);
}

fn structures(pen: &mut Pen, report: &PlanReport) {
    pen.heading("Structures");
    if report.structures.is_empty() {
        pen.line("No structure on show has a DVH in this dose.", PLAIN);
        return other_volumes(pen, report);
    }
    let mut ends = vec![LEFT + 150.0, LEFT + 215.0];
    ends.extend((1..=Metric::REPORTED.len()).map(|n| LEFT + 215.0 + n as f32 * 70.0));
    let mut heading = vec![(String::new(), SMALL), ("cm³".to_owned(), SMALL)];
    heading.extend(Metric::REPORTED.map(|m| (format!("{m} {}", m.unit().symbol()), SMALL)));
    pen.row(&heading, &ends);
    for structure in &report.structures {
        let mut cells = vec![
            (structure.name.clone(), PLAIN),
            (format!("{:.2}", structure.volume_cm3), PLAIN),
        ];
        cells.extend(
            structure
                .values
                .iter()
                .map(|v| (v.map_or("-".to_owned(), |v| format!("{v:.2}")), PLAIN)),
        );
        pen.row(&cells, &ends);
    }
    for structure in &report.structures {
        for remark in &structure.remarks {
            pen.line(
                &format!("{}: {remark}", structure.name),
                Type {
                    colour: WEAK,
                    ..SMALL
                },
            );
        }
    }
    other_volumes(pen, report);
}

fn other_volumes(pen: &mut Pen, report: &PlanReport) {
    let words: Vec<String> = report
        .other_volumes
        .iter()
        .map(|(name, cm3)| format!("{name} {cm3:.2} cm³"))
        .collect();
    if !words.is_empty() {
        pen.line(&format!("Not on show: {}.", words.join(", ")), SMALL);
    }
}

fn provenance(pen: &mut Pen, report: &PlanReport) {
    let Some(dose) = &report.dose else { return };
    pen.room(90.0);
    pen.heading("Provenance of the dose");
    pen.dose(dose);
}
