//! `beamsight bench`: times of the jobs on this machine, beside the papers' figures. [`JOBS`] is the table of them.

mod all;
mod by_voxel;
mod drr;
mod frame;
mod gamma;
mod inverse;
mod live;
mod mccs;
mod memory;
mod register;
mod stroke;

use super::{Failure, VerbOutput, words};
use engine::bench::{self, Options};
use engine::{Compute, DeviceChoice};
use open::CaseWord;
use serde_json::Value;

/// A job that is timed.
struct Job {
    name: &'static str,
    /// Work that is timed.
    times: &'static str,
    /// The names of its cases, for people; empty: they have none.
    cases: fn() -> String,
    /// Words after `beamsight bench NAME`, a line each.
    examples: &'static [&'static str],
    /// Cases (all where empty) and runs of `bench all` on the CPU, which should end within a minute or two.
    on_the_cpu: (&'static [&'static str], u32),
    /// Whether the window is timed, which `bench all` does once, on the last device.
    is_of_the_window: bool,
    /// Paper that its rows stand beside.
    peer: Option<Peer>,
    run: fn(&Args, DeviceChoice) -> Result<VerbOutput, Failure>,
}

/// Time of a row of a job's table, and a paper's.
struct Peer {
    /// Keys of the case's name and of how it was computed.
    case: [&'static str; 2],
    /// Times of a row, and whether it is the CPU's.
    times_ms: fn(&Value, bool) -> Option<TimesMs>,
}

/// Ours, the paper's, and the paper with its hardware.
type TimesMs = (f64, f64, &'static str);

fn number(row: &Value, key: &str) -> Option<f64> {
    row[key].as_f64()
}

/// Job that compares the memory of the engine and of the window with fresh processes.
const MEMORY: &str = "memory";

/// Every job, in the order of `bench all`.
const JOBS: [Job; 11] = [
    Job {
        name: "path",
        times: "radiological depth, geometries of de Greef 2009",
        cases: || "A-I to D-IV, C-V, arc-C-1 to arc-D-2".to_owned(),
        examples: &[
            "",
            "A-I C-I arc --runs 51 --device cuda",
            "--device cpu --json",
        ],
        on_the_cpu: (&["A"], 1),
        is_of_the_window: false,
        peer: Some(by_voxel::PEER_OF_PATH),
        run: |args, choice| by_voxel::run(args, choice, bench::path_report),
    },
    Job {
        name: "cccs",
        times: "dose of a beam, a clinical grid and geometries of Xiao 2012",
        cases: || "clinical-10-48 to clinical-20-384, xiao-water to xiao-head-b".to_owned(),
        examples: &[
            "clinical --device cuda",
            "clinical-10-128 --device wgpu",
            "xiao --device cuda",
        ],
        on_the_cpu: (&["clinical"], 1),
        is_of_the_window: false,
        peer: Some(by_voxel::PEER_OF_CCCS),
        run: |args, choice| by_voxel::run(args, choice, bench::cccs_report),
    },
    Job {
        name: "mccs",
        times: "Monte Carlo dose, cases of Zhou 2010",
        cases: || mccs::CASES.to_owned(),
        examples: &["phantom linear --device cuda"],
        on_the_cpu: (&["phantom"], 1),
        is_of_the_window: false,
        peer: Some(mccs::PEER),
        run: mccs::run,
    },
    Job {
        name: "drr",
        times: "radiographs, views of Tornai 2012",
        cases: || drr::CASES.to_owned(),
        examples: &["slices --runs 200 --device cuda"],
        on_the_cpu: (&["slices", "ap"], 1),
        is_of_the_window: false,
        peer: Some(drr::PEER),
        run: drr::run,
    },
    Job {
        name: "gamma",
        times: "gamma index, tables of Gu 2010",
        cases: || gamma::CASES.to_owned(),
        examples: &["table1 --device cuda", "table1-H1 --device wgpu"],
        on_the_cpu: (&["table1-L"], 1),
        is_of_the_window: false,
        peer: Some(gamma::PEER),
        run: gamma::run,
    },
    Job {
        name: "register",
        times: "registrations from random starts: accuracy, capture range, time",
        cases: register::cases,
        examples: &["two part --runs 100", "--ct ~/ct/patient-7 --device cpu"],
        on_the_cpu: (&["two", "part"], 20),
        is_of_the_window: false,
        peer: None,
        run: register::run,
    },
    Job {
        name: "inverse",
        times: "fluence maps of nine fields: columns, solutions, true dose; drags of a goal and of a gantry",
        cases: String::new,
        examples: &["", "demo:tg119 --runs 5 --device cuda"],
        on_the_cpu: (&[], 1),
        is_of_the_window: false,
        peer: None,
        run: inverse::run,
    },
    Job {
        name: MEMORY,
        times: "memory held between jobs, and after work in the window on each CASE",
        cases: String::new,
        examples: &["", "demo:tg119 ~/ct/patient-7 --minutes 60"],
        on_the_cpu: (&[], 1),
        is_of_the_window: false,
        peer: None,
        run: memory::run,
    },
    Job {
        name: "live",
        times: "handles dragged in the window, from the pointer to dose and DVHs",
        cases: String::new,
        examples: &["--runs 5"],
        on_the_cpu: (&[], 1),
        is_of_the_window: true,
        peer: None,
        run: live::run,
    },
    Job {
        name: "frame",
        times: "the window's own work in a frame, on a large CT",
        cases: String::new,
        examples: &[""],
        on_the_cpu: (&[], 1),
        is_of_the_window: true,
        peer: None,
        run: frame::run,
    },
    Job {
        name: "stroke",
        times: "strokes of a brush in the window, on a large CT",
        cases: String::new,
        examples: &[""],
        on_the_cpu: (&[], 1),
        is_of_the_window: true,
        peer: None,
        run: stroke::run,
    },
];

/// Every job on every device.
const ALL: &str = "all";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = help())]
pub struct Args {
    #[arg(value_name = "JOB", value_parser = job, help = format!(
        "The job: {}; {ALL}: every one on every device, with a summary", names().join(", ")
    ))]
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

impl Args {
    /// Whether the window works, timed or watched.
    pub fn opens_window(&self) -> bool {
        self.job == MEMORY
            || JOBS
                .iter()
                .any(|job| job.name == self.job && job.is_of_the_window)
    }
}

impl Args {
    /// Timed runs of a case on a device: the user's number, else a usual one.
    fn runs_on(&self, device: &Compute) -> usize {
        self.runs.unwrap_or(if matches!(device, Compute::Cpu) {
            3
        } else {
            15
        }) as usize
    }

    fn options(&self, device: &Compute) -> Options {
        Options {
            cases: self.cases.clone(),
            runs: self.runs_on(device),
        }
    }
}

fn names() -> Vec<&'static str> {
    JOBS.iter().map(|job| job.name).collect()
}

fn help() -> String {
    let jobs = JOBS.iter().map(|job| {
        let cases = (job.cases)();
        let cases = if cases.is_empty() {
            cases
        } else {
            format!("; cases {cases}")
        };
        format!("  {:<9} {}{cases}\n", job.name, job.times)
    });
    let examples = JOBS.iter().flat_map(|job| {
        job.examples.iter().map(|words| {
            let gap = if words.is_empty() { "" } else { " " };
            format!("\n  beamsight bench {}{gap}{words}", job.name)
        })
    });
    format!(
        "Jobs:\n{}\n\
         Every case is run several times after warming up and the median is given: on a card the time of its \
         kernels by its own events, without transfers, and the time of the whole call with the copy to the host. Bytes are the \
         least there are to move (every input read once, every output written once), and their share is of a large copy's rate on \
         the same device.\n\n\
         Examples:\n  beamsight bench {ALL} --json{}",
        jobs.collect::<String>(),
        examples.collect::<String>()
    )
}

fn job(word: &str) -> Result<String, String> {
    let words: Vec<&str> = names().into_iter().chain([ALL]).collect();
    if words.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(format!("there is a bench of {}", words.join(", ")))
}

fn runs(word: &str) -> Result<u32, String> {
    words::count(word)
        .ok()
        .filter(|n| *n <= 10_000)
        .ok_or_else(|| "it must be from 1 to 10000".to_owned())
}

/// # Errors
/// A failing device; unknown cases.
pub fn run(args: &Args, choice: DeviceChoice) -> Result<VerbOutput, Failure> {
    match JOBS.iter().find(|job| job.name == args.job) {
        Some(job) => (job.run)(args, choice),
        None => all::run(args, choice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::Parser as _;
    use std::collections::HashSet;

    #[test]
    fn jobs_have_names_of_their_own() {
        let apart: HashSet<&str> = names().into_iter().chain([ALL]).collect();
        assert_eq!(apart.len(), JOBS.len() + 1);
        assert_eq!(job("paths").unwrap_err().matches(", ").count(), JOBS.len());
    }

    /// The help names every job, and what it gives as examples is understood.
    #[test]
    fn the_help_is_of_every_job() {
        let help = help();
        for job in &JOBS {
            assert!(
                help.contains(&format!("\n  {:<9} {}", job.name, job.times)),
                "{}",
                job.name
            );
            assert!(!job.examples.is_empty(), "{}", job.name);
        }
        let examples = help
            .lines()
            .filter_map(|line| line.strip_prefix("  beamsight bench "));
        for words in examples {
            let words = ["beamsight", "bench"]
                .into_iter()
                .chain(words.split_whitespace());
            if let Err(why) = Cli::try_parse_from(words) {
                panic!("{why}");
            }
        }
    }
}
