//! The text that `beamsight check` prints.

use super::Row;
use analysis::rate_text;
use analysis::second_check::{
    Agreement, Item, MetricPair, PointAgreement, SecondCheck, Tolerances,
};
use std::fmt::Write as _;

/// One plan in full; several plans, or the plans of a folder of folders, as a table.
pub fn checks(rows: &[Row], is_table: bool) -> String {
    match rows {
        [Row::Checked(check)] if !is_table => one(check),
        [Row::Failed { folder, why }] if !is_table => format!("{folder}: NOT JUDGED\n  {why}\n"),
        _ => table(rows),
    }
}

fn one(check: &SecondCheck) -> String {
    let mut text = format!(
        "plan '{}' of {}: {}\n",
        check.plan,
        check.case,
        check.judgement.words()
    );
    check
        .judgement
        .reasons
        .iter()
        .for_each(|why| _ = writeln!(text, "  {why}"));
    for machine in &check.machines {
        let _ = writeln!(text, "machine: {}", machine.words(""));
    }
    if !check.planned.is_empty() {
        let _ = writeln!(text, "planned: {}", check.planned);
    }
    if !check.recomputed.is_empty() {
        let _ = writeln!(
            text,
            "recomputed: {} ({} on {}, grid {} mm, dose to {}, HU table {})",
            check.recomputed,
            check.engine_words(),
            check.device,
            check.grid_mm,
            check.dose_to,
            check.hu_table
        );
    }
    let limits = &check.tolerances;
    let _ = writeln!(
        text,
        "tolerances: gamma {}, both ways: {} % (action {} %); points {} % (action {} %); {}",
        limits.criterion_text(),
        limits.gamma_tolerance_percent,
        limits.gamma_action_percent,
        limits.point_tolerance_percent,
        limits.point_action_percent,
        limits.source
    );
    for item in std::iter::once(&check.whole).chain(&check.beams) {
        let _ = writeln!(
            text,
            "{} ({:.1} MU): {}",
            item.name,
            item.mu,
            item_text(item, limits)
        );
    }
    structures(&mut text, check);
    for goal in &check.goals {
        let [planned, recomputed] = [goal.planned, goal.recomputed]
            .map(|v| v.map_or("-".to_owned(), |v| format!("{v:.2} {}", goal.unit)));
        let _ = writeln!(
            text,
            "goal {}: planned {planned} ({}), recomputed {recomputed} ({})",
            goal.goal, goal.verdicts[0], goal.verdicts[1]
        );
    }
    check
        .notes
        .iter()
        .for_each(|note| _ = writeln!(text, "note: {note}"));
    text
}

fn item_text(item: &Item, limits: &Tolerances) -> String {
    let Some(agreement) = &item.agreement else {
        return item.words_without_figures().to_owned();
    };
    let gamma = agreement
        .gamma_words()
        .map(|words| format!("gamma {words}, of {:.3} Gy", agreement.normalisation_gy));
    let point = agreement
        .point
        .as_ref()
        .map(|point| point_text(point, limits));
    gamma
        .into_iter()
        .chain(point)
        .collect::<Vec<_>>()
        .join("; ")
}

fn point_text(point: &PointAgreement, limits: &Tolerances) -> String {
    let percent = point.difference_words(limits);
    let [x, y, z] = point.point_mm;
    format!(
        "{} ({x:.1}, {y:.1}, {z:.1}): planned {:.3} Gy, recomputed {:.3} Gy, {percent}",
        point.place, point.planned_gy, point.recomputed_gy
    )
}

fn pair(m: &MetricPair) -> String {
    let [planned, recomputed] =
        [m.planned, m.recomputed].map(|v| v.map_or("-".to_owned(), |v| format!("{v:.2}")));
    format!("{} {planned} | {recomputed} {}", m.metric, m.unit)
}

fn structures(text: &mut String, check: &SecondCheck) {
    for row in &check.structures {
        let rate = row
            .gamma_pass_rate_percent
            .map_or("-".to_owned(), |rate| format!("{rate:.1} %"));
        let metrics = row.metrics.iter().map(pair).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "{}: gamma {rate}; planned | recomputed: {metrics}",
            row.name
        );
        row.remarks
            .iter()
            .for_each(|remark| _ = writeln!(text, "note: {}: {remark}", row.name));
    }
}

fn table(rows: &[Row]) -> String {
    let mut cells =
        vec![["folder", "plan", "verdict", "gamma", "point", "reason"].map(str::to_owned)];
    for row in rows {
        cells.push(match row {
            Row::Failed { folder, why } => [
                short(folder),
                "-".into(),
                row.verdict().words().into(),
                "-".into(),
                "-".into(),
                why.clone(),
            ],
            Row::Checked(check) => {
                let (judged, agreement) = (&check.judgement, check.whole.agreement.as_ref());
                let gamma = agreement.and_then(Agreement::lower_gamma);
                let point = agreement.and_then(|a| a.point.as_ref());
                [
                    short(&check.case),
                    check.plan.clone(),
                    row.verdict().words().into(),
                    gamma.map_or("-".into(), |lower| rate_text(lower.pass_rate_percent)),
                    point.map_or("-".into(), |point| {
                        point.difference_words(&check.tolerances)
                    }),
                    { judged.reasons.first().or(judged.reservations.first()) }
                        .cloned()
                        .unwrap_or_default(),
                ]
            }
        });
    }
    let widths = [0, 1, 2, 3, 4].map(|column| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in &cells {
        row.iter()
            .zip(&widths)
            .for_each(|(cell, width)| _ = write!(text, "{cell:<width$}  "));
        let _ = writeln!(text, "{}", row[5]);
    }
    let [within, beyond, not_judged] = ["within tolerance", "NOT within tolerance", "NOT JUDGED"]
        .map(|verdict| {
            let rows = rows.iter();
            rows.filter(|row| row.verdict().words() == verdict).count()
        });
    let _ = writeln!(
        text,
        "{} plan{}: {within} within tolerance, {beyond} not within tolerance, {not_judged} not judged",
        rows.len(),
        if rows.len() == 1 { "" } else { "s" },
    );
    text
}

/// The last part of a folder's path.
fn short(folder: &str) -> String {
    let name = std::path::Path::new(folder).file_name();
    name.map_or_else(
        || folder.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
