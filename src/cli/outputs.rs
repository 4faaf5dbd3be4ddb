//! Output files of a verb: never over its inputs, over existing files only with `--overwrite`, all files of a
//! call or none. Refusals precede any computation.

use super::Failure;
use anyhow::{anyhow, bail};
use files::{Inputs, OutputPath, Temporary, is_taken, together};
use open::{CaseWord, paths_of};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Replace files that exist; left out, they are refused
    #[arg(long)]
    pub overwrite: bool,
}

/// The output files of a verb, and its input files.
#[derive(Debug, Default)]
pub struct Outputs {
    overwrite: bool,
    /// The option of each file, and its path.
    files: Vec<(&'static str, PathBuf)>,
    inputs: Inputs,
    /// Inputs that must be there, named as `inputs` does.
    needed: Vec<(&'static str, PathBuf)>,
}

impl Outputs {
    pub fn new(args: OutputArgs) -> Self {
        Self {
            overwrite: args.overwrite,
            ..Self::default()
        }
    }

    /// Adds an output file of an option.
    pub fn file<'a>(&mut self, option: &'static str, path: impl IntoIterator<Item = &'a PathBuf>) {
        self.files
            .extend(path.into_iter().map(|path| (option, path.clone())));
    }

    /// Adds input files.
    pub fn reads<'a>(&mut self, what: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) {
        for path in paths {
            self.inputs.add(what, path.clone());
            self.needed.push((what, path.clone()));
        }
    }

    /// Adds the file of that name, if it exists, for a word that may also be a shipped name, such as a
    /// machine or HU table.
    pub fn reads_word(&mut self, what: &'static str, word: &str) {
        self.inputs.add(what, PathBuf::from(word));
    }

    pub fn reads_case(&mut self, case: &CaseWord) {
        // A demo is written where it is missing.
        let is_needed = !matches!(case, CaseWord::Demo(_));
        for path in paths_of(case) {
            self.inputs.add("the CASE", path.clone());
            self.needed.extend(is_needed.then_some(("the CASE", path)));
        }
    }

    /// The inputs that must be there and are not.
    pub fn missing(&self) -> impl Iterator<Item = &(&'static str, PathBuf)> {
        self.needed.iter().filter(|(_, path)| !path.exists())
    }

    /// All that is written.
    pub fn written_paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path)| path.as_path())
    }

    /// All that is read.
    pub fn read_paths(&self) -> impl Iterator<Item = &Path> {
        self.inputs.paths()
    }

    /// # Errors
    /// [`Failure::Words`] where two files have one name, or a file is also read, exists or cannot be written.
    pub fn check(&self) -> Result<(), Failure> {
        for (n, (option, path)) in self.files.iter().enumerate() {
            let place = OutputPath::new(path)
                .map_err(|e| anyhow!("cannot write {}: {e}", path.display()))?;
            if let Some((earlier, _)) = self.files[..n].iter().find(|(_, other)| place.is_at(other))
            {
                return Err(Failure::Words(format!(
                    "{earlier} and {option} name one file, {}; give each a name of its own",
                    path.display()
                )));
            }
            let mut checked = place.check_against(&self.inputs);
            if self.overwrite {
                checked = checked.and_then(|()| place.check_replaceable());
            }
            checked.map_err(|obstacle| anyhow!("{option} {}: {obstacle}", path.display()))?;
            if !self.overwrite {
                refuse_existing(option, path)?;
            }
            // A temporary folder tests write access, so that a refusal precedes the work.
            Temporary::folder_in(place.folder()).map_err(|e| {
                anyhow!(
                    "cannot write {}: {e}; choose a folder you may write to with {option}",
                    path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Writes all files of a call, or none where one cannot be written or has been created in the meantime.
    ///
    /// # Errors
    /// Errors of `write`; a file that another program has created.
    pub fn write<T>(&self, write: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        together(|| {
            let written = write()?;
            if !self.overwrite {
                self.files
                    .iter()
                    .try_for_each(|(option, path)| refuse_existing(option, path))?;
            }
            Ok(written)
        })
    }
}

fn refuse_existing(option: &str, path: &Path) -> anyhow::Result<()> {
    if is_taken(path) {
        bail!(
            "{option} {}: it exists; add --overwrite to replace it, or name another",
            path.display()
        );
    }
    Ok(())
}
