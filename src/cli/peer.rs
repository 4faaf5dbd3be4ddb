//! Arguments of the verbs that speak with other systems.

use anyhow::Context as _;
use network::{AeTitle, Call, Patience};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

/// By what names two systems know each other.
#[derive(Debug, clap::Args)]
pub struct TitleArgs {
    /// AE title of the other system
    #[arg(long, value_name = "AE")]
    called: AeTitle,

    /// AE title of this program, as the other system knows it
    #[arg(long, value_name = "AE", default_value = "BEAMSIGHT")]
    calling: AeTitle,
}

impl TitleArgs {
    pub fn call(&self, to: &str) -> Call {
        let (called, calling) = (self.called.clone(), self.calling.clone());
        Call {
            to: to.to_owned(),
            called,
            calling,
            patience: Patience::default(),
        }
    }
}

/// Makes the folder of an option where it is missing; its parent must be there.
pub fn make_folder(folder: &Path, option: &str) -> anyhow::Result<()> {
    if folder.exists() {
        return Ok(());
    }
    std::fs::create_dir(folder).with_context(|| {
        format!(
            "cannot make the folder {}; choose another with {option}",
            folder.display()
        )
    })
}

/// A line of progress, told at most every two seconds, not for every object.
pub struct ThrottledLine {
    last: Cell<Option<Instant>>,
}

impl ThrottledLine {
    pub fn new() -> Self {
        Self {
            last: Cell::new(None),
        }
    }

    pub fn tell(&self, line: impl FnOnce() -> String) {
        const EVERY: Duration = Duration::from_secs(2);
        if self.last.get().is_none_or(|last| last.elapsed() >= EVERY) {
            self.last.set(Some(Instant::now()));
            super::tell(&line());
        }
    }
}
