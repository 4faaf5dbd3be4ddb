//! Allowed output paths: never over an input, nor among inputs.

use super::picture;
use platform::{NAMES_DIFFER_BY_CASE, is_one_file, name_fault, real_path};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a path is not allowed for an output.
#[derive(Debug, Error)]
pub enum Obstacle {
    #[error("it is a folder; name a file in it")]
    Folder,
    #[error("there is no folder {}; make it first", .0.display())]
    NoFolder(PathBuf),
    #[error("it is no ordinary file; name another")]
    Odd,
    #[error("it is no name for a file ({0}); name another")]
    Name(&'static str),
    #[error("this is {what} itself ({}); name another file", .input.display())]
    Input { what: &'static str, input: PathBuf },
    #[error(
        "it lies among the files of {what} ({}), which are not written to; name a file outside it",
        .input.display()
    )]
    Among { what: &'static str, input: PathBuf },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// An output path: its folder without links, and its name.
#[derive(Debug)]
pub struct OutputPath(PathBuf);

/// Input files and folders, each with its description.
#[derive(Clone, Debug, Default)]
pub struct Inputs(Vec<(&'static str, PathBuf)>);

impl Inputs {
    /// Adds an input; for a picture also its geometry's file.
    pub fn add(&mut self, what: &'static str, path: PathBuf) {
        if picture::is_picture(&path) {
            self.0.push((what, picture::sidecar(&path)));
        }
        self.0.push((what, path));
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(_, path)| path.as_path())
    }

    /// The input that a folder is, holds or lies in.
    pub fn meets(&self, folder: &Path) -> Option<&'static str> {
        let meets = |input: &PathBuf| {
            real_path(input).is_ok_and(|input| {
                input.starts_with(folder) || (input.is_dir() && folder.starts_with(&input))
            })
        };
        self.0
            .iter()
            .find(|(_, input)| meets(input))
            .map(|(what, _)| *what)
    }
}

impl OutputPath {
    /// # Errors
    /// A folder, or a file in a missing folder.
    pub fn new(path: &Path) -> Result<Self, Obstacle> {
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(Obstacle::Folder);
        };
        if let Some(fault) = name_fault(&name.to_string_lossy()) {
            return Err(Obstacle::Name(fault));
        }
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(Obstacle::NoFolder(folder.to_owned()));
        }
        Ok(Self(real_path(folder)?.join(name)))
    }

    pub fn folder(&self) -> &Path {
        folder_of(&self.0)
    }

    pub fn is_taken(&self) -> bool {
        is_taken(&self.0)
    }

    /// Whether another path leads to this file, existing or not.
    pub fn is_at(&self, other: &Path) -> bool {
        self.has_name_of(other) || self.has_target_of(other) || self.has_number_of(other)
    }

    fn has_name_of(&self, other: &Path) -> bool {
        real_path(folder_of(other)).is_ok_and(|folder| folder == self.folder())
            && is_one_name(self.0.file_name(), other.file_name(), NAMES_DIFFER_BY_CASE)
    }

    fn has_target_of(&self, other: &Path) -> bool {
        real_path(&self.0).is_ok_and(|place| real_path(other).is_ok_and(|target| place == target))
    }

    /// Whether both are one file of the file system (hard links).
    fn has_number_of(&self, other: &Path) -> bool {
        is_one_file(&self.0, other)
    }

    /// # Errors
    /// [`Obstacle::Input`], [`Obstacle::Among`].
    pub fn check_against(&self, Inputs(inputs): &Inputs) -> Result<(), Obstacle> {
        inputs
            .iter()
            .try_for_each(|(what, input)| self.check_one(what, input))
    }

    fn check_one(&self, what: &'static str, input: &Path) -> Result<(), Obstacle> {
        let Self(place) = self;
        let Ok(read) = real_path(input) else {
            return Ok(());
        };
        let input = input.to_owned();
        if !read.is_dir() {
            return if self.is_at(&read) {
                Err(Obstacle::Input { what, input })
            } else {
                Ok(())
            };
        }
        let within = place.starts_with(&read)
            || real_path(place).is_ok_and(|target| target.starts_with(&read));
        // A hard link to a file of the folder lies elsewhere, and writing to it changes the folder's file.
        if within || (place.is_file() && holds(&read, place, 0)) {
            Err(Obstacle::Among { what, input })
        } else {
            Ok(())
        }
    }

    /// Checks that an existing entry at the path may be replaced.
    ///
    /// # Errors
    /// [`Obstacle::Odd`].
    pub fn check_replaceable(&self) -> Result<(), Obstacle> {
        if self.0.metadata().is_ok_and(|m| !m.is_file()) {
            Err(Obstacle::Odd)
        } else {
            Ok(())
        }
    }
}

/// Whether an entry exists at the path, including a dangling link.
pub fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Whether a folder, with its subfolders, holds the file under another name.
fn holds(folder: &Path, file: &Path, depth: u32) -> bool {
    const DEEPEST: u32 = 32;
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth < DEEPEST && holds(&entry.path(), file, depth + 1),
        _ => is_one_file(&entry.path(), file),
    })
}

/// Whether two names of a folder lead to one entry.
fn is_one_name(a: Option<&OsStr>, b: Option<&OsStr>, differ_by_case: bool) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if !differ_by_case => {
            a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase()
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_by_case_are_one_where_the_system_says_so() {
        let [lower, upper, other] =
            ["müller.mha", "MÜLLER.mha", "muller.mha"].map(|name| Some(OsStr::new(name)));
        assert!(is_one_name(lower, upper, false) && !is_one_name(lower, upper, true));
        assert!(!is_one_name(lower, other, false) && is_one_name(lower, lower, true));
        let folder = std::env::temp_dir();
        let place = OutputPath::new(&folder.join("Beamsight-A.mha")).unwrap();
        assert_eq!(
            place.is_at(&folder.join("beamsight-a.mha")),
            !NAMES_DIFFER_BY_CASE
        );
        let device = OutputPath::new(&folder.join("nul.mha"));
        assert_eq!(device.is_err(), cfg!(windows), "{device:?}");
    }
}
