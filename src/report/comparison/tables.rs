//! The report as JSON, and as CSV for spreadsheets.

use super::Report;
use crate::DoseFacts;
use files::csv_cell;

/// One object, indented.
///
/// # Errors
/// Never for the contents of a report; the text is the writer's error.
pub fn json(report: &Report) -> Result<String, String> {
    serde_json::to_string_pretty(report)
        .map(|text| text + "\n")
        .map_err(|e| e.to_string())
}

/// One table with columns quantity, structure, unit, A, B, B - A.
pub fn csv(report: &Report) -> String {
    let mut lines = vec!["what,structure,unit,A,B,B-A".to_owned()];
    let [a, b] = &report.doses;
    let none = String::new;
    push_line(
        [
            "case".into(),
            none(),
            none(),
            report.case.clone(),
            none(),
            none(),
        ],
        &mut lines,
    );
    push_line(
        [
            "written by".into(),
            none(),
            none(),
            report.program.clone(),
            report.written.clone(),
            none(),
        ],
        &mut lines,
    );
    push_line(
        [
            "dose".into(),
            none(),
            none(),
            a.label.clone(),
            b.label.clone(),
            none(),
        ],
        &mut lines,
    );
    push_line(
        [
            "status".into(),
            none(),
            none(),
            a.status_text(),
            b.status_text(),
            none(),
        ],
        &mut lines,
    );
    if report.doses.iter().any(|dose| !dose.remarks.is_empty()) {
        let [of_a, of_b] = [a, b].map(|dose| dose.remarks.join("; "));
        push_line(
            ["remarks".into(), none(), none(), of_a, of_b, none()],
            &mut lines,
        );
    }
    push_line(
        [
            "provenance".into(),
            none(),
            none(),
            receipt_in_words(a),
            receipt_in_words(b),
            none(),
        ],
        &mut lines,
    );
    push_line(
        [
            "maximum".into(),
            none(),
            "Gy".into(),
            number(a.max_gy),
            number(b.max_gy),
            number(b.max_gy - a.max_gy),
        ],
        &mut lines,
    );
    if let Some((gy, name)) = report.reference {
        push_line(
            [
                format!("100 % ({name})"),
                none(),
                "Gy".into(),
                number(gy),
                number(gy),
                none(),
            ],
            &mut lines,
        );
    }
    if let Some(gamma) = &report.gamma {
        let kind = if gamma.local { "local" } else { "global" };
        for c in &gamma.criteria {
            let what = format!(
                "gamma <= 1 at {} %/{} mm {kind} from {} %; reference {}; 100 % is {:.3} Gy ({})",
                c.dose_percent,
                c.dta_mm,
                gamma.threshold_percent,
                gamma.reference,
                gamma.normalisation_gy,
                gamma.normalisation
            );
            push_line(
                [
                    what,
                    none(),
                    "%".into(),
                    number(c.pass_rate_percent),
                    none(),
                    none(),
                ],
                &mut lines,
            );
            push_line(
                [
                    "gamma points judged".into(),
                    none(),
                    none(),
                    c.points.to_string(),
                    none(),
                    none(),
                ],
                &mut lines,
            );
            push_line(
                [
                    "gamma points NOT judged".into(),
                    none(),
                    none(),
                    c.not_judged.to_string(),
                    none(),
                    none(),
                ],
                &mut lines,
            );
        }
        push_line(
            [
                "gamma verdict".into(),
                none(),
                none(),
                gamma.verdict.clone(),
                none(),
                none(),
            ],
            &mut lines,
        );
    }
    for s in &report.structures {
        for m in &s.metrics {
            push_line(
                [
                    m.metric.clone(),
                    s.name.clone(),
                    m.unit.into(),
                    number_or_empty(m.a),
                    number_or_empty(m.b),
                    number_or_empty(m.b_minus_a),
                ],
                &mut lines,
            );
        }
        if let Some(rate) = s.gamma_pass_rate_percent {
            push_line(
                [
                    "gamma <= 1".into(),
                    s.name.clone(),
                    "%".into(),
                    number(rate),
                    none(),
                    none(),
                ],
                &mut lines,
            );
            let missing = s.gamma_not_judged.unwrap_or_default().to_string();
            push_line(
                [
                    "gamma points NOT judged".into(),
                    s.name.clone(),
                    none(),
                    missing,
                    none(),
                    none(),
                ],
                &mut lines,
            );
        }
    }
    for goal in &report.goals {
        let [a, b] = [0, 1].map(|side| match goal.doses[side] {
            Some((value, Some(met))) => {
                format!("{} {}", number(value), if met { "met" } else { "not met" })
            }
            Some((value, None)) => format!("{} {}", number(value), goal.verdicts[side]),
            None => goal.verdicts[side].clone(),
        });
        push_line(
            [
                format!("goal {}", goal.goal),
                none(),
                goal.unit.into(),
                a,
                b,
                none(),
            ],
            &mut lines,
        );
    }
    lines.join("\r\n") + "\r\n"
}

fn push_line(cells: [String; 6], lines: &mut Vec<String>) {
    lines.push(
        cells
            .iter()
            .map(|c| csv_cell(c))
            .collect::<Vec<_>>()
            .join(","),
    );
}

fn receipt_in_words(d: &DoseFacts) -> String {
    let text = d
        .receipt
        .as_ref()
        .map(|r| format!("{} on {}, inputs {}", r.job, r.device, r.digest));
    text.unwrap_or_else(|| "from a file".to_owned())
}

fn number_or_empty(v: Option<f64>) -> String {
    v.map(number).unwrap_or_default()
}

fn number(value: f64) -> String {
    format!("{value:.4}")
}
