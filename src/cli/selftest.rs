//! `beamsight selftest`: whether the results of the jobs are correct on this machine.

use super::{Failure, VerbOutput};
use engine::selftest::{self, Row};
use engine::{Compute, DeviceChoice, JobControl, cuda};
use serde_json::json;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every job runs over seeded cases: phantoms with known answers, uneven planes, oblique grids, sources \
inside the grid, rays through edges and corners. A card is compared with the CPU, the CPU with slower ways of its own, both \
with closed forms; every case is computed twice and must give the same bits, and so must histories shared by cards. With --device auto the CPU and every card \
of CUDA are tested; with wgpu the jobs that graphics cards have a form of. Exit 1 where anything is wrong.\n\n\
Examples:\n  \
beamsight selftest\n  \
beamsight selftest --device cuda:1\n  \
beamsight selftest --device wgpu\n  \
beamsight selftest --device cpu --json"
)]
pub struct Args {}

/// # Errors
/// A failing device; [`Failure::Checks`] with the table where a case fails.
pub fn run(_: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    let mut rows = Vec::new();
    let mut text = String::new();
    let devices: Vec<Compute> = devices(choice, &mut text)
        .into_iter()
        .map(DeviceChoice::resolve)
        .collect::<Result<_, _>>()?;
    let control = JobControl::new();
    for device in &devices {
        rows.extend(selftest::run(device, &control)?);
    }
    let cards: Vec<Compute> = devices
        .into_iter()
        .filter(|d| matches!(d, Compute::Cuda(_)))
        .collect();
    rows.extend(selftest::run_together(&cards, &control)?);
    text += &table(&rows);
    let failed = rows.iter().filter(|row| !row.passes()).count();
    let _ = match failed {
        0 => writeln!(text, "all {} comparisons pass", rows.len()),
        _ => writeln!(text, "{failed} of {} comparisons FAIL", rows.len()),
    };
    let json = json!({ "comparisons": rows, "failed": failed });
    let answer = VerbOutput { json, text };
    if failed == 0 {
        Ok(answer)
    } else {
        Err(Failure::Checks(answer))
    }
}

/// Each device of a choice by itself: with `auto` the CPU and every card, or a line that there is none.
pub(super) fn devices(choice: DeviceChoice, text: &mut String) -> Vec<DeviceChoice> {
    if choice != DeviceChoice::Auto {
        return choice.spread();
    }
    let mut devices = vec![DeviceChoice::Cpu];
    match cuda::cards() {
        Ok(cards) => devices.extend(cards.iter().map(|card| DeviceChoice::Cuda(card.ordinal))),
        Err(error) => *text += &format!("no card: {error}\n"),
    }
    devices
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<5} {:<44} {:<22} {:<8} {:<18} {:>12} {:>12} {:>9}  {:<7} pass\n",
        "job", "case", "device", "way", "against", "worst", "mean", "tolerance", "repeats"
    );
    for row in rows {
        let [repeats, passes] =
            [row.repeats, row.passes()].map(|holds| if holds { "yes" } else { "NO" });
        let _ = writeln!(
            text,
            "{:<5} {:<44} {:<22} {:<8} {:<18} {:>9.6} {} {:>9.6} {} {:>6.3} {}  {:<7} {}",
            row.job,
            row.case,
            row.device,
            row.way,
            row.against,
            row.worst,
            row.unit,
            row.mean,
            row.unit,
            row.tolerance,
            row.unit,
            repeats,
            passes,
        );
    }
    text
}
