//! The processes of a batch: one a card, each takes the next job.

use super::super::tell;
use super::job::Outcome;
use super::record::{Program, Record, check_own, failed};
use super::table::{Row, State};
use super::unit::Unit;
use anyhow::Context as _;
use engine::DeviceChoice;
use files::Temporary;
use input::{JOBS_BYTES, beginning, read_text};
use std::collections::VecDeque;
use std::fs::{File, create_dir};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at a process.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A process that is asked to end has this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Folder, program and device of a batch's jobs.
#[derive(Debug)]
pub struct BatchContext<'a> {
    pub out: &'a Path,
    pub program: &'a Program,
    pub device: DeviceChoice,
    pub stop: &'a AtomicBool,
}

/// Units that wait, and how many have been taken and not ended.
struct Queue<'a> {
    waiting: VecDeque<Unit<'a>>,
    running: usize,
    ended: Vec<(Unit<'a>, Row)>,
}

/// Carries out units, over all devices. A card that cannot be opened hands its unit on and takes no other, so that one broken card
/// does not fail a night's jobs.
pub fn carry_out_all<'a>(context: &BatchContext<'_>, units: &[Unit<'a>]) -> Vec<(Unit<'a>, Row)> {
    let queue = Mutex::new(Queue {
        waiting: units.iter().copied().collect(),
        running: 0,
        ended: Vec::new(),
    });
    let devices = context.device.spread();
    let alive = AtomicUsize::new(devices.len());
    std::thread::scope(|scope| {
        for device in devices.iter().take(units.len()) {
            scope.spawn(|| carry_out_waiting(context, &queue, &alive, *device));
        }
    });
    queue
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .ended
}

/// Carries out a unit; whether its card is at fault.
fn carry_out(context: &BatchContext<'_>, unit: &Unit<'_>, device: DeviceChoice) -> (Row, bool) {
    let begin = Instant::now();
    let ended = in_process(context, unit, device).and_then(|(staging, outcome)| {
        let Some(outcome) = outcome else {
            return Ok((Row::bare(unit, State::Stopped, ""), false));
        };
        let (answered, card_fault) = (outcome.answered, outcome.card_fault);
        let record = Record::new(
            unit,
            context,
            outcome,
            &device.to_string(),
            begin.elapsed().as_secs_f64(),
        );
        if !answered {
            record.fail(unit, context.out)?;
            return Ok((Row::new(unit, State::Failed, &record), card_fault));
        }
        let record = record.close(&staging.path().join(NEW))?;
        let folder = unit.folder(context.out);
        staging.publish(NEW, &folder, |old| {
            check_own(old, &folder).map_err(io::Error::other)
        })?;
        let _ = std::fs::remove_file(failed(unit, context.out));
        Ok((Row::new(unit, State::Done, &record), false))
    });
    ended.unwrap_or_else(|error| {
        (
            Row::bare(unit, State::Failed, &super::super::chain(&error)),
            false,
        )
    })
}

/// The folder that will be the job's, within the temporary one.
const NEW: &str = "new";

/// Runs a unit's process to its end; no outcome where the batch was stopped.
fn in_process(
    context: &BatchContext<'_>,
    unit: &Unit<'_>,
    device: DeviceChoice,
) -> anyhow::Result<(Temporary, Option<Outcome>)> {
    let staging = Temporary::folder_in(context.out)
        .with_context(|| format!("cannot write to {}", context.out.display()))?;
    let (folder, outcome) = (
        staging.path().join(NEW),
        staging.path().join("outcome.json"),
    );
    create_dir(&folder)?;
    let log = folder.join("log.txt");
    let child = Command::new(&context.program.path)
        .args(["job", "--device", &device.to_string(), "--folder"])
        .arg(&folder)
        .arg("--outcome")
        .arg(&outcome)
        .arg("--")
        .args(unit.words(context.out, &folder))
        // What a check keeps from run to run would be an input that no one names.
        .env("BEAMSIGHT_STATE", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()
        .with_context(|| format!("cannot start {}", context.program.path.display()))?;
    let Some(status) = wait(child, context.stop)? else {
        return Ok((staging, None));
    };
    let read: Option<Outcome> = read_text(&outcome, JOBS_BYTES)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    if read.is_none() {
        // Ctrl-C reaches both, and the process may be the first to end.
        std::thread::sleep(5 * LOOK_EVERY);
        if context.stop.load(Ordering::Relaxed) {
            return Ok((staging, None));
        }
    }
    let ended = read.unwrap_or_else(|| {
        let said = read_text(&log, JOBS_BYTES).unwrap_or_default();
        let last = said.lines().last().map(beginning).unwrap_or_default();
        Outcome {
            exit: 1,
            note: format!("its process ended by {status}: {last}"),
            ..Outcome::default()
        }
    });
    Ok((staging, Some(ended)))
}

/// Carries out waiting units on a device until none is left, or until the device cannot be opened while another one can.
fn carry_out_waiting<'a>(
    context: &BatchContext<'_>,
    queue: &Mutex<Queue<'a>>,
    alive: &AtomicUsize,
    device: DeviceChoice,
) {
    while let Some(unit) = next_unit(queue) {
        let (row, card_fault) = match context.stop.load(Ordering::Relaxed) {
            true => (Row::bare(&unit, State::Stopped, ""), false),
            false => carry_out(context, &unit, device),
        };
        let hands_on = card_fault && alive.fetch_sub(1, Ordering::Relaxed) > 1;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.running -= 1;
        if hands_on {
            tell(&format!("{device} takes no more jobs: {}", row.note));
            queue.waiting.push_front(unit);
            return;
        }
        if card_fault {
            alive.fetch_add(1, Ordering::Relaxed);
        }
        let line = row.line();
        queue.ended.push((unit, row));
        let ended = queue.ended.len();
        let count = ended + queue.running + queue.waiting.len();
        tell(&format!("{ended} of {count}: {line}"));
    }
}

/// Takes the next unit, if need be once those under way have ended, as one of them may come back; `None` where none is left.
fn next_unit<'a>(queue: &Mutex<Queue<'a>>) -> Option<Unit<'a>> {
    loop {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(unit) = queue.waiting.pop_front() {
            queue.running += 1;
            return Some(unit);
        }
        if queue.running == 0 {
            return None;
        }
        drop(queue);
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits for a process; ends it and gives `None` where the batch is stopped.
fn wait(mut child: Child, stop: &AtomicBool) -> std::io::Result<Option<ExitStatus>> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    // Its standard input ends, and so does it.
    drop(child.stdin.take());
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill()?;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(None)
}
