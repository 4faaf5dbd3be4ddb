//! `beamsight completions`: verbs and options that a shell completes.

use super::{Cli, Failure, VerbOutput, signed};
use clap::{CommandFactory as _, ValueEnum};
use clap_complete::Shell;
use serde_json::json;

#[derive(Debug, clap::Args)]
#[command(after_help = "The Debian package brings them along.\n\n\
Examples:\n  \
beamsight completions bash > ~/.local/share/bash-completion/completions/beamsight\n  \
beamsight completions fish > ~/.config/fish/completions/beamsight.fish")]
pub struct Args {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    shell: Known,
}

/// Shells that scripts are made for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// # Errors
/// None; all verbs return this type.
pub fn run(args: &Args) -> Result<VerbOutput, Failure> {
    let (name, shell) = match args.shell {
        Known::Bash => ("bash", Shell::Bash),
        Known::Zsh => ("zsh", Shell::Zsh),
        Known::Fish => ("fish", Shell::Fish),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut signed(Cli::command()), "beamsight", &mut script);
    let script = String::from_utf8(script)?;
    Ok(VerbOutput {
        json: json!({ "shell": name, "script": script }),
        text: script,
    })
}
