//! How each job of a batch ended.

use super::super::VerbOutput;
use super::record::Record;
use super::unit::{Piece, Unit};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Done,
    /// By an earlier batch.
    Before,
    Failed,
    /// Not run, or not to its end, as the batch was stopped.
    Stopped,
    NotDone,
}

impl State {
    const ALL: [Self; 5] = [
        Self::Done,
        Self::Before,
        Self::Failed,
        Self::Stopped,
        Self::NotDone,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Before => "done before",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::NotDone => "not done",
        }
    }
}

#[derive(Debug)]
pub struct Row {
    name: String,
    verb: String,
    pub state: State,
    exit: Option<u8>,
    seconds: Option<f64>,
    device: String,
    pub note: String,
}

impl Row {
    pub fn new(unit: &Unit<'_>, state: State, record: &Record) -> Self {
        Self {
            exit: Some(record.exit),
            seconds: Some(record.seconds),
            device: record.device.clone(),
            ..Self::bare(unit, state, &record.note)
        }
    }

    pub fn bare(unit: &Unit<'_>, state: State, note: &str) -> Self {
        let name = match unit.piece {
            Piece::Part(part) => format!("{} part {part}", unit.job.name),
            _ => unit.job.name.clone(),
        };
        let (verb, note) = (unit.job.verb().to_owned(), note.to_owned());
        Self {
            name,
            verb,
            state,
            exit: None,
            seconds: None,
            device: String::new(),
            note,
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done | State::Before)
    }

    /// Whether it is done, and its answer is one that passes.
    pub fn passes(&self) -> bool {
        self.is_done() && self.exit == Some(0)
    }

    /// The row, without filling.
    pub fn line(&self) -> String {
        let seconds = self
            .seconds
            .map_or_else(String::new, |s| format!(" in {s:.2} s"));
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!(": {}", self.note)
        };
        format!("{} {}{seconds}{note}", self.name, self.state.word())
    }
}

/// More rows than these are told only where something is to be said of them.
const ROWS: usize = 200;

/// The table, for machines and for people.
pub fn answer(rows: &[Row], out: &Path, slurm_job: Option<u64>, stopped: bool) -> VerbOutput {
    let not_passed = rows
        .iter()
        .filter(|row| row.exit.is_some_and(|exit| exit != 0) && row.state != State::Failed);
    let not_passed = not_passed.count();
    let widest = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        .max(4);
    let mut text = format!(
        "{:<widest$} {:<9} {:<11} {:>4} {:>9}  device   note\n",
        "job", "verb", "state", "exit", "s"
    );
    for row in rows
        .iter()
        .filter(|row| rows.len() <= ROWS || !row.passes())
    {
        let exit = row.exit.map_or_else(String::new, |exit| exit.to_string());
        let seconds = row.seconds.map_or_else(String::new, |s| format!("{s:.2}"));
        let Row {
            name,
            verb,
            state,
            device,
            note,
            ..
        } = row;
        let line = format!(
            "{name:<widest$} {verb:<9} {:<11} {exit:>4} {seconds:>9}  {device:<8} {note}",
            state.word()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let counts: Vec<String> = { State::ALL.iter() }
        .map(|state| (count(rows, *state), state.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let _ = write!(
        text,
        "{} jobs in {}: {}",
        rows.len(),
        out.display(),
        counts.join(", ")
    );
    if not_passed > 0 {
        let _ = write!(text, "; {not_passed} answered, but not passed");
    }
    if stopped {
        text += "; start it again to go on";
    }
    let jobs: Vec<_> = { rows.iter() }
        .map(|row| {
            json!({
                "name": row.name, "verb": row.verb, "state": row.state.word(), "exit": row.exit, "seconds": row.seconds,
                "device": row.device, "note": row.note,
            })
        })
        .collect();
    let json = json!({
        "out": out, "slurm_job": slurm_job, "stopped": stopped, "not_passed": not_passed,
        "done": count(rows, State::Done), "done_before": count(rows, State::Before),
        "failed": count(rows, State::Failed),
        "not_done": count(rows, State::Stopped) + count(rows, State::NotDone), "jobs": jobs,
    });
    VerbOutput { json, text }
}

fn count(rows: &[Row], state: State) -> usize {
    rows.iter().filter(|row| row.state == state).count()
}
