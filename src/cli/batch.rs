//! `beamsight batch`: many jobs of a file, each in another process, so that a crash is one job's and its memory is given back.

pub mod job;
mod jobs_file;
mod order;
mod record;
mod slurm;
mod table;
mod unit;
mod workers;

use super::{Failure, VerbOutput};
use anyhow::{Context as _, anyhow};
use engine::DeviceChoice;
use engine::histories::RunPart;
use files::{Lock, remove_leftovers, stop_in_order};
use jobs_file::Job;
use record::{Program, check_own, done, failure, inputs_stand};
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::Ordering;
use table::{Row, State};
use unit::{Piece, Unit};
use workers::{BatchContext, carry_out_all};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The file of jobs is TOML or, with an object a line, JSON Lines:\n\n  \
[[job]]\n  \
name = \"patient-7\"\n  \
run = [\"dose\", \"plans/patient-7\", \"--out\", \"dose.mha\"]\n\n  \
{\"name\": \"patient-8\", \"run\": [\"check\", \"plans/patient-8\", \"--report\", \"check.pdf\"]}\n\n\
The verbs are dose, gamma, check and register, their words those of the command line; paths are relative to the file's folder. \
A job's files appear in DIR/NAME, whole or not at all, with answer.json, log.txt and job.json. A job of the same words, inputs \
and program that is there is not run again, so a batch that was stopped goes on where it was. A failing job stops no other but those \
that read its files: a job that reads DIR/OTHER/FILE is run after OTHER. \
'parts = 4' beside a dose by --engine mccs or mc with --histories splits its histories, whose dose is that of one run, to the bit.\n\n\
Jobs are spread over all cards of --device, one process a card; without one they run one after the other on all cores.\n\n\
Exit 0: all jobs are done. 1: some are not, or are outside tolerance, not judged or no match.\n\n\
Examples:\n  \
beamsight batch jobs.toml --out night\n  \
beamsight batch jobs.jsonl --out night --device cuda --json\n  \
beamsight batch jobs.toml --out night --slurm --partition gpu --tasks 16 --time 8:00:00 --sbatch=--gres=gpu:1\n  \
beamsight batch jobs.toml --out night --collect"
)]
pub struct Args {
    /// The jobs (.toml, .jsonl)
    #[arg(value_name = "JOBS")]
    jobs: PathBuf,

    /// Folder of the jobs' folders; made where it is missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    slurm: slurm::SlurmArgs,

    /// Run only this share of the jobs, like 2/16, as a task of Slurm does
    #[arg(long, value_name = "I/N", conflicts_with_all = ["slurm", "collect"])]
    task: Option<RunPart>,

    /// Run no job: merge the parts of Monte Carlo runs and print the table
    #[arg(long, conflicts_with = "slurm")]
    collect: bool,
}

/// # Errors
/// A file of jobs that is wrong, before anything is run; a folder that cannot be written or that another batch works in;
/// [`Failure::Checks`] where a job is not done or not passed.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    let stop = stop_in_order();
    let (file, out) = (absolute(&args.jobs)?, absolute(&args.out)?);
    // The jobs' paths are relative to their file.
    let base = file.parent().unwrap_or(Path::new("/"));
    if base.is_dir() {
        std::env::set_current_dir(base)
            .with_context(|| format!("cannot enter {}", base.display()))?;
    }
    let jobs = jobs_file::read(&file, &out)?;
    if args.task.is_some() || args.slurm.submits() {
        check_tasks(&jobs)?;
    }
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let pieces = jobs.iter().map(|job| job.parts.unwrap_or(1) as usize).sum();
    let slurm_job = match args.slurm.submits() {
        true => Some(slurm::run_to_the_end(
            &args.slurm,
            &file,
            &out,
            pieces,
            device,
            stop,
        )?),
        false => None,
    };
    let runs = !args.collect && slurm_job.is_none();
    let _locks = locks(&out, args.task)?;
    if args.task.is_none() {
        remove_leftovers(&out);
    }
    let context = BatchContext {
        out: &out,
        program: &Program::this()?,
        device,
        stop,
    };
    let mut rows: Vec<Option<Row>> = jobs.iter().map(|_| None).collect();
    let (mut part_rows, mut has_run) = (Vec::new(), false);
    for level in 0..=jobs.iter().map(|job| job.level).max().unwrap_or(0) {
        let of_level: Vec<usize> = (0..jobs.len())
            .filter(|n| jobs[*n].level == level)
            .collect();
        let mut units: Vec<Unit<'_>> = Vec::new();
        for n in of_level.iter().copied() {
            let job = &jobs[n];
            let whole_job = Unit {
                job,
                n,
                piece: Piece::Whole,
            };
            let mut reads = job.reads.iter();
            let missing = reads.find(|other| !rows[**other].as_ref().is_some_and(Row::is_done));
            rows[n] = if let Some(other) = missing {
                let why = format!(
                    "it reads the files of '{}', which is not done",
                    jobs[*other].name
                );
                Some(Row::bare(&whole_job, State::NotDone, &why))
            } else if let Some(record) = done(&context, &whole_job) {
                Some(Row::new(&whole_job, State::Before, &record))
            } else {
                units.extend(job.pieces(n).filter(|unit| done(&context, unit).is_none()));
                None
            };
        }
        if let Some(RunPart { number, of }) = args.task {
            // Every task has a share of all jobs, done or not, so that two never share one.
            units.retain(|unit| (unit.job.group as u64 + unit.piece.number()) % of == number - 1);
        }
        if runs {
            has_run |= !units.is_empty();
            for (unit, row) in carry_out_all(&context, &units) {
                match unit.piece {
                    Piece::Whole => rows[unit.n] = Some(row),
                    _ => part_rows.push(row),
                }
            }
        }
        if args.task.is_some() {
            continue;
        }
        let left: Vec<usize> = of_level
            .into_iter()
            .filter(|n| rows[*n].is_none())
            .collect();
        let merges: Vec<Unit<'_>> = { left.iter() }
            .filter_map(|n| jobs[*n].merge(*n, &context))
            .collect();
        has_run |= !merges.is_empty();
        for (unit, row) in carry_out_all(&context, &merges) {
            if row.state == State::Done {
                unit.job
                    .pieces(unit.n)
                    .for_each(|part| remove_part(&part.folder(&out)));
            }
            rows[unit.n] = Some(row);
        }
        for n in left {
            rows[n].get_or_insert_with(|| not_done(&context, &jobs[n], n));
        }
    }
    for (n, row) in rows.iter_mut().enumerate() {
        let is_before = row.as_ref().is_some_and(|row| row.state == State::Before);
        if args.task.is_some() {
            // The table of a task lists only what the task has done.
            row.take_if(|row| matches!(row.state, State::Before | State::NotDone));
        } else if is_before && has_run {
            let unit = Unit {
                job: &jobs[n],
                n,
                piece: Piece::Whole,
            };
            if !inputs_stand(&context, &unit) {
                let why = "what it read was written to by another job; start the batch again";
                *row = Some(Row::bare(&unit, State::NotDone, why));
            }
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    rows.extend(
        part_rows
            .into_iter()
            .filter(|row| args.task.is_some() || row.state != State::Done),
    );
    let answer = table::answer(&rows, &out, slurm_job, stop.load(Ordering::Relaxed));
    if rows.iter().all(Row::passes) {
        Ok(answer)
    } else {
        Err(Failure::Checks(answer))
    }
}

/// Removes the folder of a part that was merged, unless there is more in it.
fn remove_part(folder: &Path) {
    if check_own(folder, folder).is_ok() {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Refuses what tasks that do not know of each other cannot keep in order.
fn check_tasks(jobs: &[Job]) -> Result<(), Failure> {
    let split = jobs.iter().find_map(|job| {
        let mut reads = job.reads.iter().copied();
        let other = reads.find(|other| job.parts.is_some() || jobs[*other].parts.is_some())?;
        Some((job, other))
    });
    split.map_or(Ok(()), |(job, other)| {
        Err(Failure::Words(format!(
            "the job '{}' reads the files of '{}', and parts are spread over tasks that do not wait for each other: run these two \
             without --slurm and --task, or without parts",
            job.name, jobs[other].name
        )))
    })
}

/// The row of a job that was not run now, by what its last run left.
fn not_done(context: &BatchContext<'_>, job: &Job, n: usize) -> Row {
    let unit = Unit {
        job,
        n,
        piece: Piece::Whole,
    };
    match failure(context, &unit) {
        Some(record) => Row::new(&unit, State::Failed, &record),
        None => Row::bare(&unit, State::NotDone, ""),
    }
}

/// One batch works in a folder at a time, or several tasks of one.
fn locks(out: &Path, task: Option<RunPart>) -> anyhow::Result<Vec<Lock>> {
    match task {
        None => Ok(vec![lock(out, ".lock", false)?]),
        Some(RunPart { number, of }) => Ok(vec![
            lock(out, ".lock", true)?,
            lock(out, &format!(".lock-{number}-of-{of}"), false)?,
        ]),
    }
}

fn lock(out: &Path, name: &str, shared: bool) -> anyhow::Result<Lock> {
    let path = out.join(name);
    let lock =
        Lock::try_take(&path, shared).with_context(|| format!("cannot lock {}", path.display()))?;
    lock.ok_or_else(|| {
        anyhow!(
            "another batch works in {}; wait for it, or name another --out",
            out.display()
        )
    })
}
