//! The goals of a case as `beamsight dvh` and `beamsight report` tell them.

use super::Failure;
use analysis::{Dvh, DvhError, GoalRow, Unanswered, met_text, scorecard, undecided_by};
use anyhow::Context as _;
use case::{Case, Dose, Goal, Structure};
use files::{GoalTemplate, Matched};
use results::PlanResult;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The goals of a template, else of the case's session.
///
/// # Errors
/// A template that cannot be read.
pub fn goals_of(case: &Case, template: Option<&str>) -> Result<Option<Matched>, Failure> {
    let Some(word) = template else {
        let goals = case.goals.as_ref();
        return Ok(goals.map(|goals| Matched {
            goals: goals.to_vec(),
            unmatched: Vec::new(),
        }));
    };
    let template = GoalTemplate::resolve(word).with_context(|| {
        let shipped: Vec<&str> = GoalTemplate::shipped().collect();
        format!(
            "--goals is the path of a template, or one of {}",
            shipped.join(", ")
        )
    })?;
    Ok(Some(template.matched(&case.structures)))
}

/// The drawn structures that goals are of.
pub fn structures_of<'a>(case: &'a Case, goals: &[Goal]) -> Vec<&'a Structure> {
    let mut structures: Vec<&Structure> = Vec::new();
    for goal in goals {
        if let Ok(structure) = case.structures.referenced(goal.number, &goal.structure)
            && !structure.contours.is_empty()
            && structures
                .iter()
                .all(|listed| listed.number != structure.number)
        {
            structures.push(structure);
        }
    }
    structures
}

fn rows(
    case: &Case,
    goals: &[Goal],
    unsettled: Option<&str>,
    dvhs: &[(&Structure, Result<Dvh, DvhError>)],
    hundred_gy: Option<f64>,
) -> Vec<GoalRow> {
    scorecard(
        goals,
        &case.structures,
        hundred_gy,
        unsettled,
        |structure| {
            let row = dvhs
                .iter()
                .find(|(dvh_structure, _)| dvh_structure.number == structure.number);
            match row {
                Some((_, Ok(dvh))) => Ok(dvh),
                Some((_, Err(why))) => Err(Unanswered::NoDose(why.to_string())),
                None => Err(Unanswered::NoDose("it has no DVH".to_owned())),
            }
        },
    )
}

/// Goals with their answers.
pub struct Scorecard {
    rows: Vec<GoalRow>,
    unmatched: Vec<String>,
}

impl Scorecard {
    /// The goals held against DVHs of a dose, each with its structure.
    pub fn new(
        case: &Case,
        matched: Matched,
        dose: &Dose,
        dvhs: &[(&Structure, Result<Dvh, DvhError>)],
        hundred_gy: Option<f64>,
    ) -> Self {
        let undecided = undecided_by(dose, dose.status);
        let rows = rows(case, &matched.goals, undecided.as_deref(), dvhs, hundred_gy);
        Self {
            rows,
            unmatched: matched.unmatched,
        }
    }

    /// The goals held against the dose of a plan, and against the one with the matter outside the body counted where there is one.
    pub fn of_plan(
        case: &Case,
        matched: Matched,
        (result, with_matter): (&PlanResult, Option<&PlanResult>),
        hundred_gy: Option<f64>,
    ) -> Self {
        Self {
            rows: result.goals(with_matter, &matched.goals, &case.structures, hundred_gy),
            unmatched: matched.unmatched,
        }
    }

    pub fn rows(&self) -> &[GoalRow] {
        &self.rows
    }

    pub fn json(&self) -> Value {
        let goals = self.rows.iter().map(|row| {
            let outcome = row.answer.as_ref().ok();
            json!({
                "goal": row.goal,
                "structure": row.goal.structure,
                "metric": row.goal.metric(),
                "unit": row.goal.unit().symbol(),
                "limit": row.goal.limit(),
                "tolerance": row.goal.tolerance(),
                "priority": row.goal.priority(),
                "value": outcome.map(|o| o.value),
                "margin": outcome.map(|o| o.margin),
                "verdict": row.answer.as_ref().map_or_else(|why| why.short(), |o| o.verdict.word()),
                "met": (!row.is_undecided()).then(|| row.is_met()),
                "why": match &row.answer {
                    Ok(outcome) => row.is_undecided().then(|| outcome.told(&row.goal)),
                    Err(why) => Some(why.to_string()),
                },
                "remarks": row.remarks,
            })
        });
        let goals: Vec<Value> = goals.collect();
        json!({
            "met": self.rows.iter().filter(|row| row.is_met()).count(),
            "undecided": self.rows.iter().filter(|row| row.is_undecided()).count(),
            "of": self.rows.len(),
            "unmatched": self.unmatched,
            "goals": goals,
        })
    }

    /// A line for each goal, with its values and verdicts in two doses.
    pub fn beside(&self, name: &str, other: &Self, others: &str) -> String {
        let mut text = format!(
            "goals: {name} {}; {others} {}\n",
            met_text(&self.rows),
            met_text(&other.rows)
        );
        let width = self
            .rows
            .iter()
            .map(|row| row.goal.short_text().chars().count())
            .max()
            .unwrap_or(0);
        for (row, other) in self.rows.iter().zip(&other.rows) {
            let goal = row.goal.short_text();
            let [outcome, other] = [row, other].map(outcome_in_words);
            let _ = writeln!(text, "  {goal:<width$}  {name} {outcome}, {others} {other}");
        }
        text
    }

    /// A line for each goal, by priority.
    pub fn text(&self) -> String {
        let mut text = format!("goals: {}\n", met_text(&self.rows));
        let width = self
            .rows
            .iter()
            .map(|row| row.goal.short_text().chars().count())
            .max()
            .unwrap_or(0);
        for row in &self.rows {
            let told = match &row.answer {
                Ok(outcome) => format!(
                    "{:<4}  {:.2} {}, {}",
                    outcome.verdict.word(),
                    outcome.value,
                    row.goal.unit().symbol(),
                    outcome.told(&row.goal)
                ),
                Err(why) => format!("undecided, {}: {why}", why.short()),
            };
            let goal = row.goal.short_text();
            let _ = writeln!(text, "  {} {goal:<width$}  {told}", row.goal.priority());
            row.remarks
                .iter()
                .for_each(|r| _ = writeln!(text, "note: {}: {r}", row.goal.structure));
        }
        if !self.unmatched.is_empty() {
            let _ = writeln!(
                text,
                "note: the case has no structure for {}",
                self.unmatched.join(", ")
            );
        }
        text
    }
}

/// The value and the verdict of a goal, or why it is undecided.
pub fn outcome_in_words(row: &GoalRow) -> String {
    match &row.answer {
        Ok(outcome) => format!(
            "{:.2} {} {}",
            outcome.value,
            row.goal.unit().symbol(),
            outcome.verdict.word()
        ),
        Err(why) => why.short().to_owned(),
    }
}
