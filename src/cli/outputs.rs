//! Where a verb writes: never over what it reads, over what is there only when told to, all files of a call or none.
//! Refused before anything is computed.

use super::Failure;
use crate::files::{Temporary, picture, together};
use crate::open::{CaseWord, paths_of};
use anyhow::{anyhow, bail};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Replace files that exist; left out, they are refused
    #[arg(long)]
    pub overwrite: bool,
}

/// The files that a verb is to write, and what it reads.
#[derive(Debug, Default)]
pub struct Outputs {
    overwrite: bool,
    /// The option that names each, and its path.
    files: Vec<(&'static str, PathBuf)>,
    /// What is read: how it is called, and a file or folder.
    inputs: Vec<(&'static str, PathBuf)>,
}

impl Outputs {
    pub fn new(args: OutputArgs) -> Self {
        Self { overwrite: args.overwrite, ..Self::default() }
    }

    /// A file that an option names.
    pub fn file<'a>(&mut self, option: &'static str, path: impl IntoIterator<Item = &'a PathBuf>) {
        self.files.extend(path.into_iter().map(|path| (option, path.clone())));
    }

    /// Files that are read.
    pub fn reads<'a>(&mut self, what: &'static str, paths: impl IntoIterator<Item = &'a PathBuf>) {
        for path in paths {
            self.inputs.push((what, path.clone()));
            if picture::is_picture(path) {
                self.inputs.push((what, picture::sidecar(path)));
            }
        }
    }

    /// What a word names where there is a file of that name, as of a machine or HU table.
    pub fn reads_word(&mut self, what: &'static str, word: &str) {
        self.inputs.push((what, PathBuf::from(word)));
    }

    pub fn reads_case(&mut self, case: &CaseWord) {
        self.inputs.extend(paths_of(case).into_iter().map(|path| ("the CASE", path)));
    }

    /// # Errors
    /// [`Failure::Words`] where two files have one name; the file that is read, that exists or that cannot be written.
    pub fn check(&self) -> Result<(), Failure> {
        for (n, (option, path)) in self.files.iter().enumerate() {
            let folder = check_place(path)?;
            let place = folder.join(path.file_name().unwrap_or_default());
            for (earlier, other) in &self.files[..n] {
                if is_same(&place, other) {
                    return Err(Failure::Words(format!(
                        "{earlier} and {option} name one file, {}; give each a name of its own",
                        path.display()
                    )));
                }
            }
            for (what, input) in &self.inputs {
                check_against(option, path, &place, what, input)?;
            }
            if !self.overwrite {
                refuse_existing(option, path)?;
            } else if path.metadata().is_ok_and(|m| !m.is_file()) {
                return Err(
                    anyhow!("{option} {}: it is no ordinary file; name another", path.display()).into()
                );
            }
            // Written to and gone at once: what may not be written is said now, not after the work.
            Temporary::folder_in(&folder).map_err(|e| {
                anyhow!(
                    "cannot write {}: {e}; choose a folder you may write to with {option}",
                    path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Writes all files of a call, or none where one cannot be written or has come to exist meanwhile.
    ///
    /// # Errors
    /// What `write` says; a file that another program has put there.
    pub fn write<T>(&self, write: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        together(|| {
            let written = write()?;
            if !self.overwrite {
                self.files.iter().try_for_each(|(option, path)| refuse_existing(option, path))?;
            }
            Ok(written)
        })
    }
}

/// The folder of a file to be, without links.
fn check_place(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_dir() || path.file_name().is_none() {
        bail!("cannot write {}: it is a folder; name a file in it", path.display());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("cannot write {}: there is no folder {}; make it first", path.display(), folder.display());
    }
    folder.canonicalize().map_err(|e| anyhow!("cannot write {}: {e}", path.display()))
}

fn refuse_existing(option: &str, path: &Path) -> anyhow::Result<()> {
    // A link to nothing is something, too.
    match path.symlink_metadata() {
        Ok(_) => {
            bail!("{option} {}: it exists; add --overwrite to replace it, or name another", path.display())
        }
        Err(_) => Ok(()),
    }
}

/// Refuses an output that is an input, or lies among the files of a folder that is one.
fn check_against(option: &str, path: &Path, place: &Path, what: &str, input: &Path) -> anyhow::Result<()> {
    let Ok(read) = input.canonicalize() else { return Ok(()) };
    if !read.is_dir() {
        if is_same(place, &read) {
            bail!(
                "{option} {}: this is {what} itself ({}); name another file",
                path.display(),
                input.display()
            );
        }
        return Ok(());
    }
    let target = place.canonicalize().ok();
    let within = place.starts_with(&read) || target.as_ref().is_some_and(|t| t.starts_with(&read));
    let one = || place.metadata().is_ok_and(|m| m.is_file() && holds(&read, &m, 0));
    if within || one() {
        bail!(
            "{option} {}: it lies among the files of {what} ({}), which are not written to; name a file outside it",
            path.display(),
            input.display()
        );
    }
    Ok(())
}

/// Whether two paths lead to one file, there already or not.
fn is_same(place: &Path, other: &Path) -> bool {
    let by_name = || {
        let folder = other.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().is_ok_and(|folder| Some(folder.as_path()) == place.parent())
            && place.file_name() == other.file_name()
    };
    let by_target = || place.canonicalize().is_ok_and(|p| other.canonicalize().is_ok_and(|o| p == o));
    let by_number = || place.metadata().is_ok_and(|p| other.metadata().is_ok_and(|o| is_one(&p, &o)));
    by_name() || by_target() || by_number()
}

/// Whether a folder, with its subfolders, holds a file under another name.
fn holds(folder: &Path, file: &Metadata, depth: u32) -> bool {
    const DEEPEST: u32 = 32;
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth < DEEPEST && holds(&entry.path(), file, depth + 1),
        _ => entry.path().metadata().is_ok_and(|m| is_one(&m, file)),
    })
}

/// Two names of one file have one device and one number.
#[cfg(unix)]
fn is_one(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    a.is_file() && b.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Elsewhere paths without links tell.
#[cfg(not(unix))]
fn is_one(_: &Metadata, _: &Metadata) -> bool {
    false
}
