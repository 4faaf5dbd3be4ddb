//! The command line: the same jobs without a window, one verb a file.
//!
//! Machines read standard output (one JSON object with `--json`), people standard error. Exit codes: 0 done, 1 the
//! work failed, 2 the words were wrong, 3 a plan could not be judged.

mod batch;
mod bench;
mod check;
mod completions;
mod delivery;
mod demo;
mod dose;
mod doses;
mod drr;
mod dvh;
mod export;
mod find;
mod fractions;
mod gamma;
mod info;
mod machine;
mod manual;
mod misspelt;
mod optimise;
mod outputs;
mod path;
mod peer;
mod plan;
mod plan_args;
mod plan_report;
mod receive;
mod register;
mod render;
mod robust;
mod scorecard;
mod selftest;
mod send;
mod sequence;
mod window;
mod words;
mod xrays;

use case::Pose;
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use engine::DeviceChoice;
use engine::drr::Region;
use files::remove_temporaries_on_signals;
use glam::DVec3;
use input::plain_lines;
use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// A radiotherapy viewer in which the dose follows the gantry. Not for clinical use.
#[derive(Debug, Parser)]
#[command(
    name = "beamsight",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "CASE is a folder of DICOM files (searched with its subfolders), one such file, a .mha volume in HU, a \
session file (.json), or demo:water, demo:slab, demo:tg119, demo:thorax.\n\n\
Examples:\n  \
beamsight                              open the window: recent cases, demos, a tour\n  \
beamsight demo:tg119                   open the window on another built-in case\n  \
beamsight ~/ct/patient-7               open the window on a folder of DICOM files\n  \
beamsight info ~/ct/patient-7          what is in it, and what is unusual about it\n  \
beamsight help path                    more about a verb, with examples"
)]
struct Cli {
    /// Case to open in the window; left out: the first page, with recent cases and demos (without a display demo:thorax)
    #[arg(value_name = "CASE")]
    case: Option<String>,

    /// Picture to write where there is no display (.png); left out: beamsight.png, or the first free of beamsight-2.png and so on
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Write the accessibility tree of each frame into a file (.json): for scripts that drive the window by mouse and keys
    #[arg(
        long,
        value_name = "FILE",
        hide_short_help = true,
        help_heading = "For developers"
    )]
    access_tree: Option<PathBuf>,

    #[command(flatten)]
    output: outputs::OutputArgs,

    #[command(flatten)]
    common: Common,

    #[command(subcommand)]
    verb: Option<Verb>,
}

impl Cli {
    /// Whether the process may run for hours: a window, on a display or timed without one, a listener, a batch.
    fn stays(&self) -> bool {
        match &self.verb {
            None | Some(Verb::Receive(_) | Verb::Batch(_)) => true,
            Some(Verb::Bench(args)) => args.opens_window(),
            Some(_) => false,
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
struct Common {
    /// Device to compute on: auto (the fastest device, measured at the first start), cpu, cuda (the beams of a plan, or the histories of Monte Carlo, spread over all cards) cuda:N (that card alone), wgpu or wgpu:N (any graphics card)
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,

    /// Print one JSON object on standard output
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what a case holds and what is unusual about it
    Info(info::Args),
    /// List the built-in cases, or write one as DICOM files
    Demo(demo::Args),
    /// Compute the radiological depth from the source to every voxel
    Path(path::Args),
    /// Compute the dose of a plan, its figures and DVHs
    Dose(dose::Args),
    /// Find fluence maps whose dose meets goals
    Optimise(Box<optimise::Args>),
    /// Make a plan by a protocol: structures, beams, leaves, dose and goals
    Plan(Box<plan::Args>),
    /// Cut the fluence maps of a plan into leaves that deliver them
    Sequence(Box<sequence::Args>),
    /// Compute a plan under set-up errors: bands of DVHs, and the worst value of each goal
    Robust(Box<robust::Args>),
    /// Compute fractions at the poses of their days, and their sum
    Fractions(Box<fractions::Args>),
    /// Read metrics and curves off the DVHs of structures in a dose
    Dvh(Box<dvh::Args>),
    /// Check a plan from elsewhere: its dose recomputed for its own monitor units, and a verdict
    Check(check::Args),
    /// Compute a digitally reconstructed radiograph
    Drr(Box<drr::Args>),
    /// Write a case as DICOM files for other systems
    Export(Box<export::Args>),
    /// Compare two doses by the gamma index
    Gamma(gamma::Args),
    /// Find the pose of a CT in one or two X-rays
    Register(register::Args),
    /// Fit a machine to measured water-tank data, or compare it with them
    Machine(machine::Args),
    /// Draw the window on a case into a picture
    Render(render::Args),
    /// Receive DICOM objects from other systems, as long as it runs
    Receive(receive::Args),
    /// Send DICOM files to another system
    Send(send::Args),
    /// Ask another system for its studies, and retrieve them
    Find(find::Args),
    /// Run many dose, gamma, check and register jobs, and go on where they were stopped
    Batch(batch::Args),
    /// A job of a batch, which starts it
    #[command(hide = true)]
    Job(batch::job::Args),
    /// Check that the jobs answer right on this machine's devices
    Selftest(selftest::Args),
    /// Time a job on a device, beside the papers' figures
    Bench(bench::Args),
    /// Print a script with which a shell completes verbs and options
    Completions(completions::Args),
    /// Write the manual pages
    Manual(manual::Args),
}

/// Why a run ends without a result.
#[derive(Debug)]
enum Failure {
    /// Contradicting or impossible arguments: exit 2.
    Words(String),
    /// The work failed: exit 1.
    Work(anyhow::Error),
    /// A check failed; the answer states which: exit 1.
    Checks(VerbOutput),
    /// The question could not be judged; the answer states why: exit 3.
    NotJudged(VerbOutput),
    /// A search ended without a match; the answer states why: exit 4.
    NoMatch(VerbOutput),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Work(error.into())
    }
}

/// The output of a verb: an object for machines, lines for people.
#[derive(Debug)]
struct VerbOutput {
    json: serde_json::Value,
    text: String,
}

/// Runs the program with the given arguments (the first is the program's name). `before_hours` is called where the process
/// may run for hours, before there is another thread.
pub fn run(words: impl IntoIterator<Item = OsString>, before_hours: fn()) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    let parsed = signed(Cli::command()).try_get_matches_from(&words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(message) = misspelt::no_verb(&words, &error) {
                tell(&format!("error: {message}"));
                return ExitCode::from(2);
            }
            // There is no fallback when even this cannot be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    if cli.stays() {
        before_hours();
    }
    let json = cli.common.json;
    log_to_standard_error();
    if let Err(error) = remove_temporaries_on_signals() {
        tracing::warn!("temporary files stay where the program is stopped by a signal: {error}");
    }
    match carry_out(cli) {
        Ok(answer) => {
            // A closed window has no answer.
            if let Some(answer) = answer {
                say(&answer, json);
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let (message, code) = match failure {
                Failure::Words(message) => (message, 2),
                Failure::Work(error) => (chain(&error), 1),
                Failure::Checks(answer) => {
                    say(&answer, json);
                    return ExitCode::from(1);
                }
                Failure::NotJudged(answer) => {
                    say(&answer, json);
                    return ExitCode::from(3);
                }
                Failure::NoMatch(answer) => {
                    say(&answer, json);
                    return ExitCode::from(4);
                }
            };
            if json {
                print_line(&serde_json::json!({ "error": message }).to_string());
            }
            tell(&format!("error: {message}"));
            ExitCode::from(code)
        }
    }
}

/// Options with numbers accept signed ones too, so that `--dose -1` gets an error about the value -1.
fn signed(command: Command) -> Command {
    let numbers = [
        TypeId::of::<f64>(),
        TypeId::of::<u8>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<[f64; 2]>(),
        TypeId::of::<[[f64; 4]; 3]>(),
        TypeId::of::<DVec3>(),
        TypeId::of::<Pose>(),
        TypeId::of::<Region>(),
    ];
    let command = command.mut_args(|arg: Arg| {
        let of_numbers = numbers
            .iter()
            .any(|number| arg.get_value_parser().type_id() == *number);
        if of_numbers && arg.get_action().takes_values() {
            arg.allow_hyphen_values(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(signed)
}

fn carry_out(cli: Cli) -> Result<Option<VerbOutput>, Failure> {
    let common = cli.common;
    match cli.verb {
        Some(Verb::Info(args)) => info::run(&args),
        Some(Verb::Demo(args)) => demo::run(&args),
        Some(Verb::Path(args)) => path::run(&args, common.device),
        Some(Verb::Dose(args)) => dose::run(&args, common.device),
        Some(Verb::Dvh(args)) => dvh::run(&args, common.device),
        Some(Verb::Check(args)) => check::run(&args, common.device),
        Some(Verb::Export(args)) => export::run(&args, common.device),
        Some(Verb::Drr(args)) => drr::run(&args, common.device),
        Some(Verb::Register(args)) => register::run(&args, common.device),
        Some(Verb::Gamma(args)) => gamma::run(&args, common.device),
        Some(Verb::Machine(args)) => machine::run(&args, common.device),
        Some(Verb::Optimise(args)) => optimise::run(&args, common.device),
        Some(Verb::Robust(args)) => robust::run(&args, common.device),
        Some(Verb::Fractions(args)) => fractions::run(&args, common.device),
        Some(Verb::Plan(args)) => plan::run(&args, common.device),
        Some(Verb::Sequence(args)) => sequence::run(&args, common.device),
        Some(Verb::Render(args)) => render::run(&args, common.device),
        Some(Verb::Receive(args)) => receive::run(&args),
        Some(Verb::Send(args)) => send::run(&args),
        Some(Verb::Find(args)) => find::run(&args),
        Some(Verb::Batch(args)) => batch::run(&args, common.device),
        Some(Verb::Job(args)) => batch::job::run(&args, common.device),
        Some(Verb::Selftest(args)) => selftest::run(&args, common.device),
        Some(Verb::Bench(args)) => bench::run(&args, common.device),
        Some(Verb::Completions(args)) => completions::run(&args),
        Some(Verb::Manual(args)) => manual::run(&args),
        None => {
            return window::run(
                cli.case,
                cli.out,
                cli.access_tree,
                cli.output,
                common.device,
            );
        }
    }
    .map(Some)
}

/// Rooms whose warnings are shown unasked: all that list `tracing`.
const ROOMS_THAT_LOG: [&str; 5] = ["app", "cli", "engine", "results", "worker"];

/// Logs our own warnings; failures of the graphics libraries are returned as errors. `BEAMSIGHT_LOG` selects
/// more: a level (`debug`), or levels of rooms and of others' crates (`engine=debug,wgpu=info`).
fn log_to_standard_error() {
    let wanted = std::env::var("BEAMSIGHT_LOG")
        .ok()
        .and_then(|text| text.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| {
        Targets::new().with_targets(ROOMS_THAT_LOG.map(|room| (room, LevelFilter::WARN)))
    });
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    // A second call in one process (a test) keeps the first subscriber.
    let _ = tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .try_init();
}

fn say(answer: &VerbOutput, json: bool) {
    if json {
        tell(answer.text.trim_end());
        print_line(&answer.json.to_string());
    } else {
        print_line(answer.text.trim_end());
    }
}

/// As `println!`, but a closed pipe (`| head`) is no reason to panic.
fn print_line(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{}", plain_lines(line));
}

/// Prints a line for people; text from files must not control their terminal.
fn tell(line: &str) {
    eprintln!("{}", plain_lines(line));
}

/// An error and its causes in one line without repetition: messages here often quote their source already.
fn chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_consistent() {
        signed(Cli::command()).debug_assert();
    }

    #[test]
    fn causes_are_said_once() {
        let inner = std::io::Error::other("disk full");
        let error = anyhow::Error::from(inner).context("cannot write a.mha: disk full");
        assert_eq!(chain(&error), "cannot write a.mha: disk full");
        let error =
            anyhow::Error::from(std::io::Error::other("disk full")).context("cannot write a.mha");
        assert_eq!(chain(&error), "cannot write a.mha: disk full");
    }
}
