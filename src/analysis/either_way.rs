//! Goals of a dose that lacks matter outside the body, held against the dose that counts it, too: what it cannot turn is decided.

use super::caveat::OUTSIDE_CAVEAT;
use super::goals::{GoalRow, Verdict};
use case::{Dose, DoseStatus};

/// Whether nothing but matter outside the body keeps a dose from being whole.
pub fn lacks_only_matter_outside(dose: &Dose) -> bool {
    dose.status == DoseStatus::Partial
        && !dose.caveats.is_empty()
        && dose.caveats.iter().all(|caveat| caveat == OUTSIDE_CAVEAT)
}

/// Goals with their values in the dose `without` such matter, and verdicts that are the same in the dose `with` it. Both are judged as
/// whole doses. Beside each stands its value with the matter.
pub fn decided_either_way(without: Vec<GoalRow>, with: &[GoalRow]) -> Vec<GoalRow> {
    without.into_iter().map(|row| decided(row, with)).collect()
}

fn decided(mut row: GoalRow, with: &[GoalRow]) -> GoalRow {
    let counted = with.iter().find(|other| other.index == row.index);
    let counted = counted.and_then(|other| other.answer.as_ref().ok());
    if let Ok(outcome) = &mut row.answer {
        let unit = row.goal.unit().symbol();
        let told = counted.map(|other| {
            format!(
                "{:.2} {unit} with the matter outside the body counted",
                other.value
            )
        });
        let is_same = counted.is_some_and(|other| other.verdict == outcome.verdict);
        if !is_same && !matches!(outcome.verdict, Verdict::Undecided(_)) {
            let turned = counted.zip(told.as_ref());
            let why = turned.map(|(other, told)| format!("{told}: {}", other.verdict.word()));
            outcome.verdict =
                Verdict::Undecided(why.unwrap_or_else(|| "the dose is partial".to_owned()));
        } else {
            row.remarks.extend(told);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goals::{Outcome, Unanswered};
    use case::Goal;

    fn row(words: &str, answer: Result<(f64, Verdict), Unanswered>) -> GoalRow {
        let goal: Goal = words.parse().unwrap();
        GoalRow {
            index: 0,
            answer: answer.map(|(value, verdict)| Outcome {
                value,
                verdict,
                margin: goal.limit() - value,
            }),
            goal: goal.clone(),
            remarks: Vec::new(),
        }
    }

    #[test]
    fn a_verdict_stands_where_the_matter_does_not_turn_it() {
        use Verdict::{Fail, Pass};
        let decided = |without, with| {
            let [without, with] = [without, with].map(|answer| row("S: Dmax <= 50 Gy", answer));
            decided_either_way(vec![without], &[with]).remove(0)
        };
        let same = decided(Ok((48.0, Pass)), Ok((47.5, Pass)));
        assert!(same.is_met());
        assert_eq!(
            same.remarks,
            ["47.50 Gy with the matter outside the body counted"]
        );
        let turned = decided(Ok((50.5, Fail)), Ok((49.5, Pass)));
        assert_eq!(
            turned.verdict_text(),
            "undecided, 49.50 Gy with the matter outside the body counted: pass"
        );
        let none = decided(Ok((48.0, Pass)), Err(Unanswered::Waiting));
        assert_eq!(none.verdict_text(), "undecided, the dose is partial");
    }
}
