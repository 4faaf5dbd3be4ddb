//! A batch as an array of Slurm: submitted by `sbatch`, watched by `squeue`.

use super::super::{Failure, tell};
use anyhow::{Context as _, anyhow, bail, ensure};
use engine::DeviceChoice;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub struct SlurmArgs {
    /// Submit the jobs as an array, wait for it and collect
    #[arg(long)]
    slurm: bool,

    /// Partition of the array
    #[arg(long, value_name = "NAME", requires = "slurm")]
    partition: Option<String>,

    /// Tasks of the array, each with its share of the jobs [default: a task a job, 16 at most]
    #[arg(long, value_name = "N", requires = "slurm", value_parser = super::super::words::count::<u32>)]
    tasks: Option<u32>,

    /// Time limit of a task, like 8:00:00
    #[arg(long, value_name = "TIME", requires = "slurm")]
    time: Option<String>,

    /// Another option of sbatch, like --sbatch=--gres=gpu:1; may be given several times
    #[arg(
        long,
        value_name = "OPTION",
        requires = "slurm",
        allow_hyphen_values = true
    )]
    sbatch: Vec<String>,
}

impl SlurmArgs {
    pub fn submits(&self) -> bool {
        self.slurm
    }
}

/// Tasks where their number is not given.
const TASKS: usize = 16;
/// Between two looks at the array.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Looks in a row that may fail: a controller may be restarted.
const MOST_FAILED_LOOKS: u32 = 30;

/// Submits the jobs and waits for the array; its number.
///
/// # Errors
/// No Slurm; an array that is refused; [`Failure::Work`] where the waiting is interrupted, which says how to go on.
pub fn run_to_the_end(
    args: &SlurmArgs,
    jobs: &Path,
    out: &Path,
    count: usize,
    device: DeviceChoice,
    stop: &AtomicBool,
) -> Result<u64, Failure> {
    let tasks = args
        .tasks
        .map_or(count.min(TASKS), |tasks| (tasks as usize).min(count));
    let program = std::env::current_exe().context("the program does not find itself")?;
    let mut quoted = Vec::new();
    for path in [&program, jobs, out] {
        let text = path
            .to_str()
            .with_context(|| format!("{}: the path is not UTF-8", path.display()))?;
        quoted.push(format!("'{}'", text.replace('\'', r"'\''")));
    }
    let [program, jobs, folder] = &quoted[..] else {
        unreachable!("three paths")
    };
    let script = format!(
        "#!/bin/sh\nexec {program} batch {jobs} --device {device} --out {folder} --task \"$SLURM_ARRAY_TASK_ID/{tasks}\"\n"
    );
    let mut sbatch = Command::new("sbatch");
    sbatch.args([
        "--parsable",
        "--job-name=beamsight",
        &format!("--array=1-{tasks}"),
    ]);
    sbatch.arg(format!("--output={}/slurm-%A_%a.log", out.display()));
    sbatch.args(
        args.partition
            .iter()
            .map(|name| format!("--partition={name}")),
    );
    sbatch.args(args.time.iter().map(|time| format!("--time={time}")));
    sbatch.args(&args.sbatch);
    let number = submit(sbatch, &script)?;
    tell(&format!(
        "Slurm has {count} jobs in {tasks} tasks as its job {number}; Ctrl-C ends only the waiting"
    ));
    wait(number, stop)?;
    Ok(number)
}

fn submit(mut sbatch: Command, script: &str) -> anyhow::Result<u64> {
    let started = sbatch
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(not_there("sbatch"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(script.as_bytes())?;
    }
    let said = text_of(child.wait_with_output()?).context("sbatch refuses the jobs")?;
    // The number, and the cluster after a semicolon.
    let number = said
        .trim()
        .split(';')
        .next()
        .and_then(|number| number.parse().ok());
    number.ok_or_else(|| anyhow!("sbatch gives no number of a job: '{}'", said.trim()))
}

fn not_there(program: &str) -> impl Fn(std::io::Error) -> anyhow::Error {
    move |error| {
        anyhow!(
            "{program} does not start ({error}): --slurm needs Slurm on this machine (slurm-client)"
        )
    }
}

fn text_of(output: Output) -> anyhow::Result<String> {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until no task of an array is left.
fn wait(number: u64, stop: &AtomicBool) -> anyhow::Result<()> {
    let (mut told, mut failed) = (String::new(), 0);
    loop {
        let squeue = Command::new("squeue")
            .args([
                "--noheader",
                "--array",
                "--format=%T %r",
                &format!("--jobs={number}"),
            ])
            .output()
            .map_err(not_there("squeue"))?;
        match text_of(squeue) {
            Ok(tasks) if tasks.trim().is_empty() => return Ok(()),
            Ok(tasks) => {
                failed = 0;
                let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
                tasks
                    .lines()
                    .for_each(|task| *counts.entry(task.trim()).or_default() += 1);
                let states = counts
                    .iter()
                    .map(|(what, n)| format!("{n} {}", what.to_lowercase()))
                    .collect::<Vec<_>>()
                    .join(", ");
                if states != told {
                    tell(&format!("Slurm job {number}: {states}"));
                    told = states;
                }
            }
            // Slurm forgets an array some minutes after its end.
            Err(error) if error.to_string().contains("Invalid job id") => return Ok(()),
            Err(error) => {
                failed += 1;
                ensure!(
                    failed < MOST_FAILED_LOOKS,
                    "squeue says nothing of job {number}: {error}"
                );
            }
        }
        let begin = Instant::now();
        while begin.elapsed() < LOOK_EVERY {
            if stop.load(Ordering::Relaxed) {
                bail!(
                    "waiting was stopped; Slurm goes on with job {number}: '--collect' in place of '--slurm' gathers what is done, \
                     'scancel {number}' ends it"
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
