//! A folder of new files: all of them appear at once, or none, with a list of their digests. By that list an earlier one is known:
//! it is replaced, if the user requests it, only where it holds nothing but files that stand as they were written.

use super::place::Inputs;
use super::replace::{Temporary, replace_file};
use input::{MANIFEST_BYTES, content_digest, read_cached_text, stamp};
use platform::{name_fault, real_path, usual_path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
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
    #[error("{} is no name for a folder ({fault}); name another", folder.display())]
    Name {
        folder: PathBuf,
        fault: &'static str,
    },
    #[error("there is no folder {}; make it first", .0.display())]
    NoParent(PathBuf),
    #[error("the folder {} is not empty ({first}); name a new one, or have it replaced ({remedy})", folder.display())]
    NotEmpty {
        folder: PathBuf,
        first: String,
        remedy: &'static str,
    },
    #[error(
        "the folder {} holds {first}, which is not as an export of this program left it there and is not removed; name another \
         folder",
        folder.display()
    )]
    Foreign { folder: PathBuf, first: String },
    #[error("{} has changed while its files were made ({first}), and is left as it is; name another folder", folder.display())]
    Changed { folder: PathBuf, first: String },
    #[error("{} is {what} itself, or holds it or lies in it; name a folder elsewhere", folder.display())]
    Input { folder: PathBuf, what: &'static str },
}

/// A folder under way: its files are written to [`Self::path`].
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    staged: Temporary,
    path: PathBuf,
    /// The entry in its place, which may go.
    earlier: Entries,
}

/// The entries of a folder, and how each stood.
type Entries = BTreeMap<OsString, Option<String>>;

/// The list of the files that were written into a folder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Name and version of the program.
    written_by: String,
    /// Names and digests.
    files: BTreeMap<String, String>,
}

/// Name of the folder that is moved, within the temporary one.
const STAGED: &str = "new";
/// Name of the list in its folder.
const MANIFEST: &str = ".beamsight.files";

impl NewFolder {
    /// Prepares a folder; `remedy` is how the user asks for the replacement of an earlier one, where `replaces` says that this was
    /// done.
    ///
    /// # Errors
    /// [`NewFolderError`].
    pub fn prepare(
        folder: &Path,
        inputs: &Inputs,
        replaces: bool,
        remedy: &'static str,
    ) -> Result<Self, NewFolderError> {
        let target = place_of(folder)?;
        if let Some(what) = inputs.meets(&target) {
            return Err(NewFolderError::Input {
                folder: folder.to_owned(),
                what,
            });
        }
        let earlier = match target.symlink_metadata() {
            Ok(_) => check_content(&target, replaces, remedy)?,
            Err(_) => Entries::new(),
        };
        let parent = target.parent().unwrap_or(Path::new("/"));
        let staged = Temporary::folder_in(parent).map_err(|source| io_error(source, folder))?;
        // Within the private folder, one with the permissions of any new one.
        let path = staged.path().join(STAGED);
        fs::create_dir(&path).map_err(|source| io_error(source, folder))?;
        Ok(Self {
            target,
            staged,
            path,
            earlier,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the folder into its place, with the permissions of the earlier one.
    ///
    /// # Errors
    /// [`NewFolderError::Io`], [`NewFolderError::Changed`]; the earlier folder, if any, is then as before.
    pub fn finish(self) -> Result<PathBuf, NewFolderError> {
        let Self {
            target,
            staged,
            path,
            earlier,
        } = self;
        let mut changed = None;
        let moved = list(&path).and_then(|()| {
            if let Ok(metadata) = target.metadata() {
                fs::set_permissions(&path, metadata.permissions())?;
            }
            staged.publish(STAGED, &target, |old| {
                let digests = entries(old)?;
                changed = digests
                    .iter()
                    .find(|(name, how)| earlier.get(*name) != Some(*how))
                    .map(|(name, _)| shown(name));
                if changed.is_some() {
                    Err(io::Error::other("it has changed"))
                } else {
                    Ok(())
                }
            })
        });
        let target = usual_path(&target);
        match (moved, changed) {
            (Ok(()), _) => Ok(target),
            (Err(_), Some(first)) => Err(NewFolderError::Changed {
                folder: target,
                first,
            }),
            (Err(source), None) => Err(NewFolderError::Io {
                folder: target,
                source,
            }),
        }
    }
}

fn io_error(source: io::Error, folder: &Path) -> NewFolderError {
    NewFolderError::Io {
        folder: folder.to_owned(),
        source,
    }
}

/// Writes the list of a folder's files into it.
fn list(folder: &Path) -> io::Result<()> {
    let mut files = BTreeMap::new();
    for name in entries(folder)?.into_keys() {
        files.insert(shown(&name), content_digest(&folder.join(name))?);
    }
    let written_by = format!("Beamsight {}", env!("CARGO_PKG_VERSION"));
    replace_file(&folder.join(MANIFEST), |out| {
        serde_json::to_writer_pretty(out, &Manifest { written_by, files }).map_err(io::Error::from)
    })
}

fn entries(folder: &Path) -> io::Result<Entries> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|e| (e.file_name(), stamp(&e.path()))))
        .collect()
}

fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// The folder's own path, without links.
fn place_of(folder: &Path) -> Result<PathBuf, NewFolderError> {
    if folder.exists() {
        let place = real_path(folder).map_err(|source| NewFolderError::Io {
            folder: folder.to_owned(),
            source,
        })?;
        return if place.is_dir() {
            Ok(place)
        } else {
            Err(NewFolderError::File(folder.to_owned()))
        };
    }
    if folder.symlink_metadata().is_ok() {
        return Err(NewFolderError::File(folder.to_owned()));
    }
    let name = folder.file_name().unwrap_or_default();
    if let Some(fault) = name_fault(&name.to_string_lossy()) {
        let folder = folder.to_owned();
        return Err(NewFolderError::Name { folder, fault });
    }
    let parent = folder
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match (real_path(parent), folder.file_name()) {
        (Ok(parent), Some(name)) if parent.is_dir() => Ok(parent.join(name)),
        _ => Err(NewFolderError::NoParent(parent.to_owned())),
    }
}

/// Entries of a folder, all of which may be replaced.
fn check_content(
    target: &Path,
    replaces: bool,
    remedy: &'static str,
) -> Result<Entries, NewFolderError> {
    let present = entries(target).map_err(|source| NewFolderError::Io {
        folder: usual_path(target),
        source,
    })?;
    let folder = usual_path(target);
    if let Some(name) = present.keys().next().filter(|_| !replaces) {
        return Err(NewFolderError::NotEmpty {
            folder,
            first: shown(name),
            remedy,
        });
    }
    let text = read_cached_text(&target.join(MANIFEST), MANIFEST_BYTES).ok();
    let manifest = text.and_then(|text| serde_json::from_str::<Manifest>(&text).ok());
    let files = manifest.map(|manifest| manifest.files);
    let is_own = |name: &OsString| {
        let (Some(files), Some(text)) = (&files, name.to_str()) else {
            return false;
        };
        let path = target.join(name);
        let is_file = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file());
        is_file
            && (text == MANIFEST || {
                files
                    .get(text)
                    .is_some_and(|then| content_digest(&path).is_ok_and(|digest| digest == *then))
            })
    };
    match present.keys().find(|name| !is_own(name)) {
        Some(name) => Err(NewFolderError::Foreign {
            folder,
            first: shown(name),
        }),
        None => Ok(present),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace::tests::names;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!(
            "beamsight-new-folder-{}-{name}",
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn prepare(folder: &Path, replaces: bool) -> Result<NewFolder, NewFolderError> {
        NewFolder::prepare(folder, &Inputs::default(), replaces, "--overwrite")
    }

    #[test]
    fn a_folder_appears_with_all_its_files_or_not_at_all() {
        let base = folder("appears");
        let out = base.join("out");
        let new = prepare(&out, false).unwrap();
        fs::write(new.path().join("a.dcm"), "1").unwrap();
        assert!(!out.exists());
        new.finish().unwrap();
        assert_eq!(
            (names(&base), names(&out)),
            (
                vec!["out".to_owned()],
                vec![MANIFEST.into(), "a.dcm".into()]
            )
        );

        // Dropped before its end, the earlier one stays; made a second time, it is replaced.
        assert!(matches!(
            prepare(&out, false),
            Err(NewFolderError::NotEmpty { .. })
        ));
        drop(prepare(&out, true).unwrap());
        assert_eq!(
            (names(&base), names(&out)),
            (
                vec!["out".to_owned()],
                vec![MANIFEST.into(), "a.dcm".into()]
            )
        );
        let new = prepare(&out, true).unwrap();
        fs::write(new.path().join("b.dcm"), "2").unwrap();
        new.finish().unwrap();
        assert_eq!(
            (names(&base), names(&out)),
            (
                vec!["out".to_owned()],
                vec![MANIFEST.into(), "b.dcm".into()]
            )
        );

        // An empty folder is as good as none.
        fs::create_dir(base.join("empty")).unwrap();
        prepare(&base.join("empty"), false)
            .unwrap()
            .finish()
            .unwrap();
        fs::remove_dir_all(base).unwrap();
    }

    /// Files are told by what they hold: names are those that other systems give, too.
    #[test]
    fn only_what_stands_as_it_was_written_is_replaced() {
        let base = folder("own");
        let out = base.join("out");
        let export = || {
            let new = prepare(&out, true)?;
            fs::write(new.path().join("RP.dcm"), "plan").unwrap();
            fs::write(new.path().join("RS.dcm"), "structures").unwrap();
            new.finish()
        };
        let refused = |first: &str| {
            let names_before: Vec<_> = names(&out)
                .into_iter()
                .map(|n| (fs::read(out.join(&n)).ok(), n))
                .collect();
            let error = export().unwrap_err();
            assert!(
                matches!(&error, NewFolderError::Foreign { first: first_name, .. } if first_name == first),
                "{error}"
            );
            let after: Vec<_> = names(&out)
                .into_iter()
                .map(|n| (fs::read(out.join(&n)).ok(), n))
                .collect();
            assert_eq!(names_before, after, "nothing is touched");
            assert_eq!(names(&base), ["out"]);
        };
        export().unwrap();
        // Another system's file beside, one in the place of an own one, and a folder of an own name.
        fs::write(out.join("RD.1.2.3.dcm"), "theirs").unwrap();
        refused("RD.1.2.3.dcm");
        fs::remove_file(out.join("RD.1.2.3.dcm")).unwrap();
        fs::write(out.join("RP.dcm"), "PLAN").unwrap();
        refused("RP.dcm");
        fs::remove_file(out.join("RP.dcm")).unwrap();
        fs::create_dir(out.join("RP.dcm")).unwrap();
        refused("RP.dcm");
        fs::remove_dir(out.join("RP.dcm")).unwrap();
        // A file of it that is gone is no obstacle; without its list no file is known.
        export().unwrap();
        fs::remove_file(out.join(MANIFEST)).unwrap();
        refused("RP.dcm");
        fs::write(out.join(MANIFEST), "{\"written_by\": \"x\"}").unwrap();
        refused(MANIFEST);
        fs::remove_dir_all(base).unwrap();
    }

    /// An export takes minutes, in which others go on.
    #[test]
    fn what_comes_into_the_folder_meanwhile_is_not_lost() {
        let base = folder("meanwhile");
        let out = base.join("out");
        fs::create_dir(&out).unwrap();
        let new = prepare(&out, false).unwrap();
        fs::write(out.join("late.txt"), "mine").unwrap();
        let error = new.finish().unwrap_err();
        assert!(
            matches!(&error, NewFolderError::Changed { first, .. } if first == "late.txt"),
            "{error}"
        );
        assert_eq!(
            (names(&base), names(&out)),
            (vec!["out".to_owned()], vec!["late.txt".to_owned()])
        );
        fs::remove_dir_all(base).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_closed_folder_stays_closed() {
        use std::os::unix::fs::PermissionsExt as _;
        let base = folder("closed");
        let out = base.join("out");
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o700)).unwrap();
        prepare(&out, false).unwrap().finish().unwrap();
        assert_eq!(out.metadata().unwrap().permissions().mode() & 0o777, 0o700);
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
            let error = NewFolder::prepare(&place, &inputs, true, "").unwrap_err();
            assert!(
                matches!(
                    error,
                    NewFolderError::Input {
                        what: "the CASE",
                        ..
                    }
                ),
                "{error}"
            );
        }
        assert!(matches!(
            prepare(&base.join("case/ct.dcm"), true),
            Err(NewFolderError::File(_))
        ));
        assert!(matches!(
            prepare(&base.join("no/out"), true),
            Err(NewFolderError::NoParent(_))
        ));
        fs::remove_dir_all(base).unwrap();
    }
}
