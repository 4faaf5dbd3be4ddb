//! `beamsight bench`: times of the jobs on this machine, beside the papers' figures.

mod all;

use super::bench_memory::Asked;
use super::{Answer, Failure, words};
use engine::bench::{self, Options, Report};
use engine::{Compute, DeviceChoice, JobControl};
use open::CaseWord;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every case is run several times after warming up and the median is given: on a card the time of its \
kernels by its own events, without transfers, and the time of the whole call with the copy to the host. Bytes are the \
least there are to move (every input read once, every output written once), and their share is of a large copy's rate on \
the same device.\n\n\
Examples:\n  \
beamsight bench path\n  \
beamsight bench all --json\n  \
beamsight bench path A-I C-I arc --runs 51 --device cuda\n  \
beamsight bench cccs clinical --device cuda\n  \
beamsight bench cccs clinical-10-128 --device wgpu\n  \
beamsight bench cccs xiao --device cuda\n  \
beamsight bench drr slices --runs 200 --device cuda\n  \
beamsight bench gamma table1 --device cuda\n  \
beamsight bench gamma table1-H1 --device wgpu\n  \
beamsight bench mccs phantom linear --device cuda\n  \
beamsight bench live --runs 5\n  \
beamsight bench frame\n  \
beamsight bench stroke\n  \
beamsight bench memory\n  \
beamsight bench memory demo:tg119 ~/ct/patient-7 --minutes 60\n  \
beamsight bench register two part --runs 100\n  \
beamsight bench register --ct ~/ct/patient-7 --device cpu\n  \
beamsight bench path --device cpu --json"
)]
pub struct Args {
    /// The job: path, cccs, mccs, drr, frame, gamma, live, memory, register, stroke; all: every one on every device, with a summary
    #[arg(value_name = "JOB", value_parser = job)]
    job: String,

    /// Only cases whose names begin so; for memory, CASEs that are opened in turn: demo:tg119 and demo:thorax, unless others are named
    #[arg(value_name = "CASE")]
    cases: Vec<String>,

    /// Timed runs of a case; left out: 15 on a card, 3 on the CPU, 100 starts of register
    #[arg(long, value_name = "N", value_parser = runs)]
    runs: Option<u32>,

    /// For register: the case whose CT is taken
    #[arg(long, value_name = "CASE", default_value = "demo:thorax")]
    ct: CaseWord,

    /// For memory: minutes of planning, comparing and registering in the window
    #[arg(long, value_name = "MINUTES", default_value = "3", value_parser = words::within(0.0, 600.0))]
    minutes: f64,

    /// For memory: this process does the work, and tells what it holds
    #[arg(long, hide = true)]
    works: bool,
}

/// Every table.
const ALL: &str = "all";
/// Radiographs, in a table of their own.
const DRR: &str = "drr";
/// The tables of Gu 2010.
const GAMMA: &str = "gamma";
/// The cases of Zhou 2010.
const MCCS: &str = "mccs";
/// Handles dragged in the window.
const LIVE: &str = "live";
/// Frame times of the window.
const FRAME: &str = "frame";
/// Strokes of a brush in the window.
const STROKE: &str = "stroke";
/// Memory held between jobs, and after work in the window.
const MEMORY: &str = "memory";
/// Registrations from random starts.
const REGISTER: &str = "register";

fn job(word: &str) -> Result<String, String> {
    let known: Vec<&str> =
        bench::jobs().chain([ALL, LIVE, FRAME, STROKE, DRR, GAMMA, MCCS, MEMORY, REGISTER]).collect();
    if known.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(format!("there is a bench of {}", known.join(", ")))
}

fn runs(word: &str) -> Result<u32, String> {
    words::count(word).ok().filter(|n| *n <= 10_000).ok_or_else(|| "it must be from 1 to 10000".to_owned())
}

/// # Errors
/// A failing device; unknown cases.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<Answer, Failure> {
    if args.job == ALL {
        return all::run(args, choice);
    }
    if args.job == REGISTER {
        return super::bench_register::run(&args.ct, &args.cases, args.runs.unwrap_or(100) as usize, choice);
    }
    if args.job == MEMORY {
        // In the process that works nothing but its window opens a device.
        let asked = Asked { cases: &args.cases, minutes: args.minutes, works: args.works };
        return super::bench_memory::run(&asked, choice);
    }
    let has_wgsl = ![DRR, MCCS].contains(&args.job.as_str());
    let device = if has_wgsl { choice.resolve()? } else { choice.resolve_for_cuda()? };
    let few = if matches!(device, Compute::Cpu) { 3 } else { 15 };
    if args.job == LIVE {
        return super::live::run(args.runs.unwrap_or(few) as usize, choice);
    }
    if args.job == FRAME {
        return super::frame::run(choice);
    }
    if args.job == STROKE {
        return super::stroke::run(choice);
    }
    let options = Options { cases: args.cases.clone(), runs: args.runs.unwrap_or(few) as usize };
    if args.job == DRR {
        return super::bench_drr::run(&device, &options);
    }
    if args.job == GAMMA {
        return super::bench_gamma::run(&options, &device);
    }
    if args.job == MCCS {
        return super::bench_mccs::run(&options, &choice.resolve_all(true)?);
    }
    let report = bench::run(&args.job, &device, &options, &JobControl::new())?
        .filter(|report| !report.rows.is_empty())
        .ok_or_else(|| {
            Failure::Words(format!("no case of {} is named {}", args.job, args.cases.join(", ")))
        })?;
    Ok(Answer { json: as_json(&report), text: as_text(&report, options.runs) })
}

fn as_text(report: &Report, runs: usize) -> String {
    let Report { job, device, copy_gb_per_s, rows } = report;
    let mut text = format!(
        "{job} on {device}: median of {runs} runs; a large copy moves {copy_gb_per_s:.0} GB/s (read plus written)\n\
         {:<8} {:<8} {:>10} {:>5} {:>10} {:>9} {:>7} {:>6} {:>10} {:>10} {:>8}  measured on\n",
        "case", "way", "voxels", "dirs", "ms", "ns each", "GB/s", "share", "call ms", "paper ms", "ratio"
    );
    for row in rows {
        let _ = write!(
            text,
            "{:<8} {:<8} {:>10} {:>5} {:>10.4} {:>9.5} {:>7.0} {:>5.1}% {:>10.3}",
            row.case,
            row.way,
            row.voxels,
            row.directions,
            row.ms,
            row.ns_each(),
            row.gb_per_s(),
            100.0 * row.gb_per_s() / copy_gb_per_s,
            row.call_ms,
        );
        let _ = match row.paper {
            Some((ms, on)) => writeln!(text, " {ms:>10.0} {:>8.0}  {on}", ms / row.ms),
            None => writeln!(text),
        };
    }
    text
}

fn as_json(report: &Report) -> Value {
    let row = |row: &bench::Row| {
        json!({
            "case": row.case,
            "way": row.way,
            "voxels": row.voxels,
            "directions": row.directions,
            "ms": row.ms,
            "ns_per_voxel_and_direction": row.ns_each(),
            "gb_per_s": row.gb_per_s(),
            "share_of_copy": row.gb_per_s() / report.copy_gb_per_s,
            "call_ms": row.call_ms,
            "paper_ms": row.paper.map(|(ms, _)| ms),
            "paper_device": row.paper.map(|(_, on)| on),
            "ratio_to_paper": row.paper.map(|(ms, _)| ms / row.ms),
        })
    };
    let rows: Vec<Value> = report.rows.iter().map(row).collect();
    json!({ "job": report.job, "device": report.device, "copy_gb_per_s": report.copy_gb_per_s, "rows": rows })
}
