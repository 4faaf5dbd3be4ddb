//! Folders that file dialogs begin in. They are looked at on the dialog's thread: a share that does not answer blocks no
//! window.

use super::browser::home;
use input::{RECENT_BYTES, read_text};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that a dialog may begin in, best first, and places that it must not: a file of the user's among the DICOM files of
/// the case would be read as one of them.
#[derive(Debug, Default)]
pub struct Beginnings {
    pub known: Vec<PathBuf>,
    pub avoided: Vec<PathBuf>,
    /// Whether the user's documents and home follow.
    pub with_documents: bool,
}

impl Beginnings {
    /// The first folder that exists and is not to be avoided.
    pub fn folder(self) -> Option<PathBuf> {
        let avoided = self.avoided.iter().map(|path| folder_of(real(path)));
        let avoided: Vec<PathBuf> = avoided.collect();
        let of_user = self
            .with_documents
            .then(|| [documents(), home()])
            .into_iter()
            .flatten()
            .flatten();
        let mut folders = self.known.into_iter().chain(of_user);
        folders.find(|folder| {
            let real = real(folder);
            folder.is_dir() && !avoided.iter().any(|avoided| real.starts_with(avoided))
        })
    }
}

/// The path without links, where it exists.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder of a file, or the folder itself.
fn folder_of(path: PathBuf) -> PathBuf {
    match path.parent() {
        Some(parent) if path.is_file() => parent.to_owned(),
        _ => path,
    }
}

/// The user's folder for documents: the one that the desktop names, else `Documents` at home.
fn documents() -> Option<PathBuf> {
    let home = home()?;
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let file = config
        .unwrap_or_else(|| home.join(".config"))
        .join("user-dirs.dirs");
    let named = read_text(&file, RECENT_BYTES)
        .ok()
        .and_then(|text| documents_in(&text, &home));
    Some(named.unwrap_or_else(|| home.join("Documents")))
}

/// The folder that the settings of a desktop name: `XDG_DOCUMENTS_DIR="$HOME/Dokumente"`.
fn documents_in(settings: &str, home: &Path) -> Option<PathBuf> {
    let value = settings
        .lines()
        .find_map(|line| line.trim().strip_prefix("XDG_DOCUMENTS_DIR="))?;
    let value = value.trim_matches('"');
    let path = value
        .strip_prefix("$HOME/")
        .map_or_else(|| PathBuf::from(value), |relative| home.join(relative));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_desktop_names_the_folder_for_documents() {
        let home = Path::new("/home/anna");
        let text = "# made by xdg-user-dirs\nXDG_DESKTOP_DIR=\"$HOME/Tisch\"\nXDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\n";
        for (settings, folder) in [
            (text, Some(home.join("Dokumente"))),
            (
                "XDG_DOCUMENTS_DIR=\"/srv/papers\"",
                Some(PathBuf::from("/srv/papers")),
            ),
            ("", None),
            ("XDG_DOCUMENTS_DIR=\"papers\"", None),
        ] {
            assert_eq!(documents_in(settings, home), folder, "{settings}");
        }
    }

    /// The folder that a dialog begins in, without the user's documents.
    fn first(folders: &[&PathBuf], avoided: &Path) -> Option<PathBuf> {
        let beginnings = Beginnings {
            known: folders.iter().map(|path| (*path).clone()).collect(),
            avoided: vec![avoided.to_owned()],
            with_documents: false,
        };
        beginnings.folder()
    }

    #[test]
    fn a_dialog_begins_in_the_first_folder_outside_the_dicom_folder() {
        let base = std::env::temp_dir().join(format!("beamsight-folders-{}", std::process::id()));
        let [dicom, inside, plans] = ["dicom", "dicom/plans", "plans"].map(|name| base.join(name));
        fs::create_dir_all(&inside).expect("folders");
        fs::create_dir_all(&plans).expect("folders");
        let file = dicom.join("one.dcm");
        fs::write(&file, "").expect("a file");
        let gone = base.join("gone");
        let dotted = plans.join("../dicom/plans");
        assert_eq!(
            first(&[&gone, &inside, &dotted, &dicom, &plans], &dicom),
            Some(plans.clone())
        );
        assert_eq!(
            first(&[&inside, &plans], &file),
            Some(plans.clone()),
            "a single DICOM file"
        );
        assert_eq!(first(&[&inside, &dicom], &dicom), None);
        assert_eq!(first(&[&plans], &gone), Some(plans));
        fs::remove_dir_all(base).expect("removed");
    }
}
