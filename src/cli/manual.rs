//! `beamsight manual`: the manual pages, one of the program and one of each verb.

use super::outputs::{OutputArgs, Outputs};
use super::{Cli, Failure, VerbOutput, signed};
use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use files::replace_file;
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Pages have the texts of `beamsight help`. The Debian package brings them along.\n\n\
Examples:\n  \
beamsight manual --out ~/.local/share/man/man1\n  \
beamsight manual --out man1 --overwrite --json"
)]
pub struct Args {
    /// Folder to write beamsight.1, beamsight-dose.1 and so on into; made where it is missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    output: OutputArgs,
}

/// # Errors
/// Pages that are there already, a folder that cannot be written.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let mut command = signed(Cli::command());
    command.build();
    let pages = pages(&command).into_iter().map(|page| {
        let name = page.get_display_name().unwrap_or(page.get_name());
        (args.out.join(format!("{name}.1")), page)
    });
    let pages: Vec<(PathBuf, &Command)> = pages.collect();
    let mut outputs = Outputs::new(args.output);
    std::fs::create_dir_all(&args.out).with_context(|| {
        format!(
            "cannot make the folder {}; choose one you may write to with --out",
            args.out.display()
        )
    })?;
    outputs.file("--out", pages.iter().map(|(path, _)| path));
    outputs.check()?;
    outputs.write(|| {
        pages.iter().try_for_each(|(path, page)| {
            let mut text = Vec::new();
            Man::new((*page).clone()).render(&mut text)?;
            replace_file(path, |file| file.write_all(&text))
                .with_context(|| format!("cannot write {}", path.display()))
        })
    })?;
    let files: Vec<&PathBuf> = pages.iter().map(|(path, _)| path).collect();
    let text = format!(
        "{} manual pages written to {}",
        files.len(),
        args.out.display()
    );
    Ok(VerbOutput {
        json: json!({ "files": files }),
        text,
    })
}

/// A command and the verbs below it; a built one has the name of its page.
fn pages(command: &Command) -> Vec<&Command> {
    let below = command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    std::iter::once(command)
        .chain(below.flat_map(pages))
        .collect()
}
