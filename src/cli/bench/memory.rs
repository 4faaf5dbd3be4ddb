//! `beamsight bench memory`: memory of the engine at rest, at the peak and after a case is closed; and of the window after work,
//! beside a fresh process that shows the same.

use super::{Args, Failure, VerbOutput};
use crate::tell;
use anyhow::{Context as _, anyhow};
use app::frames::{Worked, work};
use engine::bench::memory::{Line, lines};
use engine::{DeviceChoice, JobControl};
use input::in_words;
use open::CaseWord;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Cases that are opened where none is named.
const CASES: [&str; 2] = ["demo:tg119", "demo:thorax"];
/// Most memory after work, beside a fresh process in the same state, and in all.
const MOST_TIMES: f64 = 1.5;
const MOST_BYTES: u64 = 2_000_000_000;

/// # Errors
/// A case that is none, a failing device, no window; a process that holds more than [`MOST_TIMES`] or [`MOST_BYTES`].
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let mut cases = args.cases.clone();
    if cases.is_empty() {
        cases = CASES.map(str::to_owned).into();
    }
    for case in &cases {
        case.parse::<CaseWord>()
            .map_err(|error| Failure::Words(error.to_string()))?;
    }
    if args.works {
        // In this process nothing but its window opens a device.
        let worked = work(&cases, choice, Duration::from_secs_f64(60.0 * args.minutes))?;
        return Ok(answer_of(&worked));
    }
    let device = choice.resolve()?;
    let lines = lines(&device, &JobControl::new())?;
    let mut text = format!("memory on {device}, MiB\n{}", table(&lines));
    tell(&format!("{} minutes of work in the window", args.minutes));
    let after = process(&cases, args.minutes, choice)?;
    let fresh = process(&cases[cases.len() - 1..], 0.0, choice)?;
    let [after_bytes, fresh_bytes] =
        [&after, &fresh].map(|process| process["resident_bytes"].as_u64());
    let both = after_bytes.zip(fresh_bytes);
    let is_over = both.is_some_and(|(after, fresh)| is_over(after, fresh));
    let _ = writeln!(text, "{}", verdict(&cases, &after, both));
    let json = json!({
        "job": "memory",
        "device": device.to_string(),
        "rows": lines.iter().map(row).collect::<Vec<_>>(),
        "cases": cases,
        "minutes": args.minutes,
        "after_work": after,
        "fresh": fresh,
        "over": both.map(|_| is_over),
    });
    let answer = VerbOutput { json, text };
    if is_over {
        Err(Failure::Checks(answer))
    } else {
        Ok(answer)
    }
}

fn is_over(after: u64, fresh: u64) -> bool {
    after as f64 > MOST_TIMES * fresh as f64 || after > MOST_BYTES
}

/// The window's memory after work, compared with a fresh process, in words.
fn verdict(cases: &[String], after: &Value, both: Option<(u64, u64)>) -> String {
    let [rounds, steps, jobs] =
        ["rounds", "steps", "jobs"].map(|what| after[what].as_u64().unwrap_or_default());
    let done = format!(
        "window after {rounds} rounds of work ({steps} steps, {jobs} jobs) on {}",
        cases.join(", ")
    );
    let Some((used, fresh)) = both else {
        return format!("{done}: this system does not tell its memory");
    };
    let over = if is_over(used, fresh) {
        "OVER"
    } else {
        "within"
    };
    format!(
        "{done}: {} resident, a fresh one in the same state {}: {:.2} times; {over} {MOST_TIMES} times and {}",
        in_words(used),
        in_words(fresh),
        used as f64 / fresh as f64,
        in_words(MOST_BYTES)
    )
}

/// The work in another process, which holds nothing of another job.
fn process(cases: &[String], minutes: f64, choice: DeviceChoice) -> anyhow::Result<Value> {
    let program = std::env::current_exe().context("the program does not find itself")?;
    let mut command = Command::new(program);
    command.args(["bench", "memory", "--works", "--json"]);
    command
        .arg(format!("--minutes={minutes}"))
        .arg(format!("--device={choice}"))
        .arg("--")
        .args(cases);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.context("the process that works did not start")?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        anyhow!(
            "the process that works ended without an answer ({})",
            output.status
        )
    })?;
    match answer["error"].as_str() {
        Some(why) => Err(anyhow!("the process that works failed: {why}")),
        None => Ok(answer),
    }
}

fn answer_of(worked: &Worked) -> VerbOutput {
    let Worked {
        rounds,
        steps,
        jobs,
        resident,
    } = worked;
    let json = json!({
        "rounds": rounds,
        "steps": steps,
        "jobs": jobs,
        "resident_bytes": resident.map(|r| r[0]),
        "peak_bytes": resident.map(|r| r[1]),
    });
    let held = resident.map_or_else(|| "unknown".to_owned(), |r| in_words(r[0]));
    VerbOutput {
        json,
        text: format!("  {rounds} rounds, {jobs} jobs: {held} resident"),
    }
}

fn table(lines: &[Line]) -> String {
    let mut text = format!(
        "{:<16} {:>9} {:>9} {:>8} {:>8}\n",
        "after", "resident", "peak", "caches", "cards"
    );
    for line in lines {
        let [current, peak] = line
            .resident
            .map_or_else(|| ["-"; 2].map(str::to_owned), |both| both.map(mib));
        let [host, cards] =
            [line.kept.host_bytes, line.kept.card_bytes].map(|bytes| mib(bytes as u64));
        let _ = writeln!(
            text,
            "{:<16} {current:>9} {peak:>9} {host:>8} {cards:>8}",
            line.step
        );
    }
    text
}

fn mib(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / f64::from(1 << 20))
}

fn row(line: &Line) -> Value {
    json!({
        "after": line.step,
        "resident_bytes": line.resident.map(|r| r[0]),
        "peak_bytes": line.resident.map(|r| r[1]),
        "cache_bytes": line.kept.host_bytes,
        "card_bytes": line.kept.card_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_over_by_its_ratio_or_in_all() {
        let gb = 1_000_000_000;
        assert!(!is_over(3 * gb / 2, gb), "1.5 times is allowed");
        assert!(is_over(3 * gb / 2 + 1, gb));
        assert!(is_over(2 * gb + 1, 2 * gb), "more than 2 GB in all");
        let said = verdict(
            &["demo:water".to_owned()],
            &json!({ "rounds": 3 }),
            Some((2 * gb, gb)),
        );
        assert!(
            said.contains("OVER") && said.contains("2.00 times") && said.contains("after 3 rounds"),
            "{said}"
        );
        assert!(verdict(&[], &json!({}), None).contains("does not tell"));
    }
}
