//! The process of a job, started by a batch: the verb's own code, its answer into a folder, and what it read.

use super::super::{Cli, Failure, VerbOutput, carry_out, chain, signed, tell};
use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _};
use engine::{CudaError, DeviceChoice};
use files::{end_now, replace_file};
use input::{JOBS_BYTES, keep_trail, read_text, trail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the job's files
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,

    /// File that says how it ended
    #[arg(long, value_name = "FILE")]
    outcome: PathBuf,

    /// The job's words
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

/// How a job ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// As the verb's.
    pub exit: u8,
    /// Whether there is an answer, of whatever exit code.
    pub answered: bool,
    pub note: String,
    /// The card is at fault, not the job.
    pub card_fault: bool,
    pub inputs: BTreeMap<PathBuf, String>,
}

/// # Errors
/// An outcome that cannot be written.
pub fn run(args: &Args, device: DeviceChoice) -> Result<VerbOutput, Failure> {
    // The batch holds the other end of standard input: a job does not outlive it.
    std::thread::spawn(|| {
        let mut stdin = std::io::stdin();
        while stdin.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        end_now(1);
    });
    keep_trail();
    let words = std::iter::once("beamsight".into()).chain(args.words.iter().cloned());
    let parsed = signed(Cli::command())
        .try_get_matches_from(words)
        .and_then(|m| Cli::from_arg_matches(&m));
    let outcome = match parsed {
        Ok(mut cli) => {
            cli.common.device = device;
            outcome(carry_out(cli), &args.folder)?
        }
        Err(error) => Outcome {
            exit: 2,
            note: error.to_string(),
            ..Outcome::default()
        },
    };
    let mut inputs = trail();
    inputs.retain(|path, _| !path.starts_with(&args.folder));
    write(
        &args.outcome,
        &serde_json::to_string(&Outcome { inputs, ..outcome })?,
    )?;
    Ok(VerbOutput {
        json: serde_json::Value::Null,
        text: String::new(),
    })
}

fn outcome(ended: Result<Option<VerbOutput>, Failure>, folder: &Path) -> anyhow::Result<Outcome> {
    let (exit, answer) = match ended {
        Ok(answer) => (0, answer),
        Err(Failure::Checks(answer)) => (1, Some(answer)),
        Err(Failure::NotJudged(answer)) => (3, Some(answer)),
        Err(Failure::NoMatch(answer)) => (4, Some(answer)),
        Err(Failure::Words(note)) => {
            return Ok(Outcome {
                exit: 2,
                note,
                ..Outcome::default()
            });
        }
        Err(Failure::Work(error)) => {
            let card_fault = error.chain().any(|cause| cause.is::<CudaError>());
            return Ok(Outcome {
                exit: 1,
                note: chain(&error),
                card_fault,
                ..Outcome::default()
            });
        }
    };
    if let Some(VerbOutput { json, text }) = answer {
        // Files appear elsewhere than they are written to.
        let folder_prefix = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
        tell(text.trim_end().replace(&folder_prefix, "").as_str());
        write(&folder.join("answer.json"), &format!("{json:#}"))?;
        for entry in std::fs::read_dir(folder)?
            .flatten()
            .filter(|e| e.path().extension() == Some("json".as_ref()))
        {
            let text = read_text(&entry.path(), JOBS_BYTES)?;
            if text.contains(&folder_prefix) {
                write(&entry.path(), text.replace(&folder_prefix, "").trim_end())?;
            }
        }
    }
    let note = match exit {
        0 => "",
        1 => "not passed: see answer.json",
        4 => "no match: see answer.json",
        _ => "not judged: see answer.json",
    };
    Ok(Outcome {
        exit,
        answered: true,
        note: note.to_owned(),
        ..Outcome::default()
    })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    replace_file(path, |file| writeln!(file, "{text}"))
        .with_context(|| format!("cannot write {}", path.display()))
}
