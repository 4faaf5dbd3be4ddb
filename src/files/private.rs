//! Private folders: the content of a folder that others may write to is not trusted.

use super::Temporary;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Makes a folder and its missing parents, accessible to the user only; an existing one is not changed.
///
/// # Errors
/// Errors of the file system.
pub fn make_private(folder: &Path) -> io::Result<()> {
    private_builder().recursive(true).create(folder)
}

/// Makes folders accessible to the user only. On Windows they have the rights of the folder around them: in the user's own,
/// the user's rights.
pub(super) fn private_builder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(false);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Whether a folder, its parent and its files are private: owned by the user, no links, and not writable for
/// others. `false` where that is unknown.
pub fn is_private(folder: &Path) -> bool {
    let is_secure = || -> io::Result<bool> {
        let parent = folder.parent().ok_or(io::ErrorKind::NotFound)?;
        let reference = Temporary::folder_in(parent)?.path().symlink_metadata()?;
        let all_private = |mut paths: fs::ReadDir| {
            paths.try_fold(true, |so_far, entry| {
                let what = entry?.path().symlink_metadata()?;
                Ok::<_, io::Error>(so_far && what.is_file() && is_users(&what, &reference))
            })
        };
        let folders = [parent.symlink_metadata()?, folder.symlink_metadata()?];
        Ok(folders
            .iter()
            .all(|what| what.is_dir() && is_users(what, &reference))
            && all_private(fs::read_dir(folder)?)?)
    };
    is_secure().unwrap_or(false)
}

/// Whether a file or folder has the owner of one that the user has just made, and is not writable for others.
#[cfg(unix)]
fn is_users(what: &Metadata, reference: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    what.uid() == reference.uid() && what.mode() & 0o022 == 0
}

/// Other systems protect the cache folder by their own rules.
#[cfg(not(unix))]
fn is_users(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn links_and_what_others_may_write_to_are_not_private() {
        let root = std::env::temp_dir().join(format!("beamsight-private-{}", std::process::id()));
        let folder = root.join("demos").join("one");
        make_private(&folder).unwrap();
        fs::write(folder.join("a"), "a").unwrap();
        assert_eq!(root.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(is_private(&folder) && !is_private(&root.join("nothing")));

        let link = root.join("demos").join("link");
        symlink(&folder, &link).unwrap();
        assert!(!is_private(&link), "a folder by a link");
        symlink(folder.join("a"), folder.join("b")).unwrap();
        assert!(!is_private(&folder), "a file by a link");
        fs::remove_file(folder.join("b")).unwrap();
        for path in [folder.join("a"), folder.clone(), root.join("demos")] {
            let permissions = path.metadata().unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(!is_private(&folder), "{} for all", path.display());
            fs::set_permissions(&path, permissions).unwrap();
        }
        assert!(is_private(&folder));
        fs::remove_dir_all(root).unwrap();
    }
}
