//! A folder of new files: all of them appear at once, or none. It replaces an earlier one only if that holds nothing but
//! such files, and if the user has asked for it.

use super::place::Inputs;
use super::replace::Temporary;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why no files can be written into a folder.
#[derive(Debug, Error)]
pub enum NewFolderError {
    #[error("cannot write to {}: {source}; choose a folder you may write to", folder.display())]
    Io { folder: PathBuf, source: io::Error },
    #[error("{} is a file; name a folder", .0.display())]
    File(PathBuf),
    #[error("there is no folder {}; make it first", .0.display())]
    NoParent(PathBuf),
    #[error("the folder {} is not empty ({first}); name a new one, or have it replaced ({remedy})", folder.display())]
    NotEmpty { folder: PathBuf, first: String, remedy: &'static str },
    #[error(
        "the folder {} holds more than an earlier export ({first}), which is not removed; name another", folder.display()
    )]
    Foreign { folder: PathBuf, first: String },
    #[error("{} is {what} itself, or holds it or lies in it; name a folder elsewhere", folder.display())]
    Input { folder: PathBuf, what: &'static str },
}

/// A folder under way: its files are written to [`Self::path`].
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    staged: Temporary,
    path: PathBuf,
}

/// Name of the folder that is moved, within the temporary one.
const STAGED: &str = "new";

impl NewFolder {
    /// Prepares a folder. `is_own` says which names an earlier one has; `remedy` is how the user asks for its
    /// replacement, where `replaces` says that this was done.
    ///
    /// # Errors
    /// [`NewFolderError`].
    pub fn prepare(
        folder: &Path,
        inputs: &Inputs,
        is_own: impl Fn(&str) -> bool,
        replaces: bool,
        remedy: &'static str,
    ) -> Result<Self, NewFolderError> {
        let failed = |source| NewFolderError::Io { folder: folder.to_owned(), source };
        let target = place_of(folder)?;
        if let Some(what) = inputs.meets(&target) {
            return Err(NewFolderError::Input { folder: folder.to_owned(), what });
        }
        if target.symlink_metadata().is_ok() {
            check_content(&target, is_own, replaces, remedy)?;
        }
        let beside = target.parent().unwrap_or(Path::new("/"));
        let staged = Temporary::folder_in(beside).map_err(failed)?;
        // Within the private folder, one with the permissions of any new one.
        let path = staged.path().join(STAGED);
        fs::create_dir(&path).map_err(failed)?;
        Ok(Self { target, staged, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the folder into its place.
    ///
    /// # Errors
    /// [`NewFolderError::Io`]; the earlier folder, if any, is then as before.
    pub fn finish(self) -> Result<PathBuf, NewFolderError> {
        let Self { target, staged, .. } = self;
        match staged.publish(STAGED, &target) {
            Ok(()) => Ok(target),
            Err(source) => Err(NewFolderError::Io { folder: target, source }),
        }
    }
}

/// The folder's own path, without links.
fn place_of(folder: &Path) -> Result<PathBuf, NewFolderError> {
    let failed = |source| NewFolderError::Io { folder: folder.to_owned(), source };
    if folder.exists() {
        let place = folder.canonicalize().map_err(failed)?;
        return if place.is_dir() { Ok(place) } else { Err(NewFolderError::File(folder.to_owned())) };
    }
    if folder.symlink_metadata().is_ok() {
        return Err(NewFolderError::File(folder.to_owned()));
    }
    let parent = folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), folder.file_name()) {
        (Ok(parent), Some(name)) if parent.is_dir() => Ok(parent.join(name)),
        _ => Err(NewFolderError::NoParent(parent.to_owned())),
    }
}

fn check_content(
    target: &Path,
    is_own: impl Fn(&str) -> bool,
    replaces: bool,
    remedy: &'static str,
) -> Result<(), NewFolderError> {
    let failed = |source| NewFolderError::Io { folder: target.to_owned(), source };
    for entry in fs::read_dir(target).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let first = entry.file_name().to_string_lossy().into_owned();
        let folder = target.to_owned();
        let is_file = entry.file_type().map_err(failed)?.is_file();
        if !is_file || !is_own(&first) {
            return Err(match replaces {
                true => NewFolderError::Foreign { folder, first },
                false => NewFolderError::NotEmpty { folder, first, remedy },
            });
        }
        if !replaces {
            return Err(NewFolderError::NotEmpty { folder, first, remedy });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace::tests::names;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("beamsight-new-folder-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn prepare(folder: &Path, replaces: bool) -> Result<NewFolder, NewFolderError> {
        let own = |name: &str| name.ends_with(".dcm");
        NewFolder::prepare(folder, &Inputs::default(), own, replaces, "--overwrite")
    }

    #[test]
    fn a_folder_appears_with_all_its_files_or_not_at_all() {
        let base = folder("appears");
        let out = base.join("out");
        let new = prepare(&out, false).unwrap();
        fs::write(new.path().join("a.dcm"), "1").unwrap();
        assert!(!out.exists());
        new.finish().unwrap();
        assert_eq!((names(&base), names(&out)), (vec!["out".to_owned()], vec!["a.dcm".to_owned()]));

        // Dropped before its end, the earlier one stays; asked for again, it is replaced.
        assert!(matches!(prepare(&out, false), Err(NewFolderError::NotEmpty { .. })));
        drop(prepare(&out, true).unwrap());
        assert_eq!((names(&base), names(&out)), (vec!["out".to_owned()], vec!["a.dcm".to_owned()]));
        let new = prepare(&out, true).unwrap();
        fs::write(new.path().join("b.dcm"), "2").unwrap();
        new.finish().unwrap();
        assert_eq!((names(&base), names(&out)), (vec!["out".to_owned()], vec!["b.dcm".to_owned()]));

        // An empty folder is as good as none; foreign files are never removed.
        fs::create_dir(base.join("empty")).unwrap();
        prepare(&base.join("empty"), false).unwrap().finish().unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        let error = prepare(&out, true).unwrap_err().to_string();
        assert!(error.contains("notes.txt"), "{error}");
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn inputs_and_files_are_never_written_over() {
        let base = folder("inputs");
        fs::create_dir(base.join("case")).unwrap();
        fs::write(base.join("case/ct.dcm"), "").unwrap();
        let mut inputs = Inputs::default();
        inputs.add("the CASE", base.join("case"));
        for place in [base.clone(), base.join("case"), base.join("case/out")] {
            let error = NewFolder::prepare(&place, &inputs, |_| true, true, "").unwrap_err();
            assert!(matches!(error, NewFolderError::Input { what: "the CASE", .. }), "{error}");
        }
        assert!(matches!(prepare(&base.join("case/ct.dcm"), true), Err(NewFolderError::File(_))));
        assert!(matches!(prepare(&base.join("no/out"), true), Err(NewFolderError::NoParent(_))));
        fs::remove_dir_all(base).unwrap();
    }
}
