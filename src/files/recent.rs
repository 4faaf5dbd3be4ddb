//! Recently opened cases, newest first: the CASE argument with its absolute path, the patient, the day, and a small picture.
//!
//! One file holds them all, so that a case is forgotten with its picture or not at all.

use super::replace_file;
use super::state_folder::private_folder;
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use input::{RECENT_BYTES, read_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Older ones are dropped.
pub const MOST_RECENT: usize = 8;

const FILE: &str = "recent.json";

/// A case that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentCase {
    /// The CASE argument.
    pub word: String,
    /// Name and ID in words, as far as the files state them.
    #[serde(default)]
    pub patient: String,
    /// The day it was last opened, where that was: `2026-11-27`.
    #[serde(default)]
    pub opened: String,
    #[serde(default)]
    pub picture: Option<CasePicture>,
}

/// A picture of a case: 8-bit RGB, top row first, of the size [`CasePicture::SIZE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasePicture(Arc<[u8]>);

impl CasePicture {
    /// Columns and rows. Eight pictures of noise, which no compression shortens, leave the list below [`RECENT_BYTES`].
    pub const SIZE: [usize; 2] = [144, 108];
    const BYTES: usize = 3 * Self::SIZE[0] * Self::SIZE[1];

    /// `None` for other than the bytes of one picture.
    pub fn new(rgb: Vec<u8>) -> Option<Self> {
        (rgb.len() == Self::BYTES).then(|| Self(rgb.into()))
    }

    pub fn rgb(&self) -> &[u8] {
        &self.0
    }
}

/// Compressed bytes as hexadecimal digits: the list is a text.
impl Serialize for CasePicture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        ZlibEncoder::new(self.rgb(), Compression::best())
            .read_to_end(&mut bytes)
            .map_err(serde::ser::Error::custom)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for CasePicture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let bytes: Option<Vec<u8>> = digits
            .as_bytes()
            .chunks(2)
            .map(|pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let mut rgb = Vec::new();
        let read = bytes.and_then(|bytes| {
            let byte_limit = Self::BYTES as u64 + 1;
            ZlibDecoder::new(bytes.as_slice())
                .take(byte_limit)
                .read_to_end(&mut rgb)
                .ok()
        });
        read.and_then(|_| Self::new(rgb))
            .ok_or_else(|| serde::de::Error::custom("not a picture of a case"))
    }
}

/// A change of the list.
#[derive(Debug)]
pub enum RecentChange {
    /// Puts a case first; a picture of it stays.
    Opened(RecentCase),
    /// The picture of a listed case, by its CASE argument.
    Picture(String, CasePicture),
    /// Forgets a case, or (`None`) all of them.
    Forget(Option<String>),
}

/// The recent cases in a folder for state. Empty where the list is missing or unreadable: the next case starts a new one.
/// Cases whose file or folder is gone are forgotten.
pub fn recent_cases(folder: &Path) -> Vec<RecentCase> {
    let listed = listed(folder);
    let is_gone = |case: &RecentCase| {
        Path::new(&case.word)
            .try_exists()
            .is_ok_and(|is_there| !is_there)
    };
    let count = listed.len();
    let present: Vec<RecentCase> = listed.into_iter().filter(|case| !is_gone(case)).collect();
    if present.len() < count {
        // If the writing fails, the next look forgets them.
        let _ = write(folder, &present);
    }
    present
}

/// Changes the list, and returns it.
///
/// # Errors
/// Errors of the file system.
pub fn change_recent_cases(
    folder: &Path,
    changes: impl IntoIterator<Item = RecentChange>,
) -> io::Result<Vec<RecentCase>> {
    private_folder(folder)?;
    let mut cases = listed(folder);
    for change in changes {
        match change {
            RecentChange::Opened(mut case) => {
                let earlier = cases
                    .iter()
                    .position(|c| c.word == case.word)
                    .map(|n| cases.remove(n));
                case.picture = case.picture.or(earlier.and_then(|c| c.picture));
                cases.insert(0, case);
            }
            RecentChange::Picture(word, picture) => {
                cases
                    .iter_mut()
                    .filter(|c| c.word == word)
                    .for_each(|c| c.picture = Some(picture.clone()));
            }
            RecentChange::Forget(Some(word)) => cases.retain(|c| c.word != word),
            RecentChange::Forget(None) => cases.clear(),
        }
    }
    cases.truncate(MOST_RECENT);
    write(folder, &cases)?;
    Ok(cases)
}

fn listed(folder: &Path) -> Vec<RecentCase> {
    /// Lists of earlier versions are of words alone.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Case(RecentCase),
        Word(String),
    }
    let text = read_text(&folder.join(FILE), RECENT_BYTES).unwrap_or_default();
    let lines: Vec<Line> = serde_json::from_str(&text).unwrap_or_default();
    lines
        .into_iter()
        .map(|line| match line {
            Line::Case(case) => case,
            Line::Word(word) => RecentCase {
                word,
                patient: String::new(),
                opened: String::new(),
                picture: None,
            },
        })
        .take(MOST_RECENT)
        .collect()
}

/// Writes the list: names of patients and pictures of them, for their owner's eyes alone.
fn write(folder: &Path, cases: &[RecentCase]) -> io::Result<()> {
    let text = serde_json::to_string_pretty(cases)?;
    replace_file::<io::Error>(&folder.join(FILE), |out| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            out.get_ref()
                .set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        out.write_all(text.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("beamsight-recent-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A case whose file is in the folder.
    fn case(folder: &Path, name: &str) -> RecentCase {
        let path = folder.join(name);
        fs::write(&path, "").unwrap();
        let word = path.to_str().unwrap().to_owned();
        RecentCase {
            word,
            patient: format!("Test  ({name})"),
            opened: "2026-11-27".to_owned(),
            picture: None,
        }
    }

    /// A picture of noise, by a linear congruential generator: zlib makes it no shorter.
    fn noise(seed: u32) -> CasePicture {
        let values = std::iter::successors(Some(seed), |s: &u32| {
            Some(s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
        });
        CasePicture::new(
            values
                .map(|v| (v >> 24) as u8)
                .take(CasePicture::BYTES)
                .collect(),
        )
        .unwrap()
    }

    #[test]
    fn the_newest_goes_first_and_once() {
        let folder = folder("order");
        for n in 0..12 {
            change_recent_cases(
                &folder,
                [RecentChange::Opened(case(&folder, &n.to_string()))],
            )
            .unwrap();
        }
        change_recent_cases(&folder, [RecentChange::Opened(case(&folder, "9"))]).unwrap();
        let cases = recent_cases(&folder);
        assert_eq!(cases.len(), MOST_RECENT);
        assert_eq!(
            cases[..3],
            ["9", "11", "10"].map(|name| case(&folder, name))
        );
        for damage in [
            "",
            "{",
            "[1]",
            "[\"a\"",
            r#"[{ "word": "x", "picture": "zz" }]"#,
        ] {
            fs::write(folder.join(FILE), damage).unwrap();
            assert_eq!(recent_cases(&folder), []);
        }
        // A list of the time before there were pictures.
        let old = case(&folder, "9").word;
        fs::write(folder.join(FILE), format!("[{old:?}]")).unwrap();
        assert_eq!(recent_cases(&folder)[0].word, old);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn pictures_come_back_and_go_with_their_cases() {
        let folder = folder("pictures");
        let names: Vec<String> = (0..MOST_RECENT).map(|n| n.to_string()).collect();
        let opened = names
            .iter()
            .map(|name| RecentChange::Opened(case(&folder, name)));
        change_recent_cases(&folder, opened).unwrap();
        let shown = names
            .iter()
            .zip(0..)
            .map(|(name, n)| RecentChange::Picture(case(&folder, name).word, noise(n)));
        change_recent_cases(&folder, shown.collect::<Vec<_>>()).unwrap();
        assert!(fs::metadata(folder.join(FILE)).unwrap().len() < RECENT_BYTES);
        // Opened once more, a case has its picture still; one that is not listed gets none.
        let first = case(&folder, "0");
        let stray = RecentChange::Picture("/elsewhere".to_owned(), noise(9));
        change_recent_cases(&folder, [RecentChange::Opened(first.clone()), stray]).unwrap();
        let cases = recent_cases(&folder);
        assert_eq!(
            (&cases[0].word, &cases[0].picture),
            (&first.word, &Some(noise(0)))
        );
        assert_eq!(cases.len(), MOST_RECENT);

        fs::remove_file(&first.word).unwrap();
        assert!(
            recent_cases(&folder).iter().all(|c| c.word != first.word),
            "its file is gone"
        );
        assert!(
            !recent_text(&folder).contains(&first.patient),
            "forgotten on disk, too"
        );
        let second = case(&folder, "1");
        let left = change_recent_cases(&folder, [RecentChange::Forget(Some(second.word))]).unwrap();
        assert!(left.len() == MOST_RECENT - 2 && !recent_text(&folder).contains(&second.patient));
        change_recent_cases(&folder, [RecentChange::Forget(None)]).unwrap();
        assert_eq!(recent_text(&folder), "[]");
        fs::remove_dir_all(folder).unwrap();
    }

    fn recent_text(folder: &Path) -> String {
        fs::read_to_string(folder.join(FILE)).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn the_list_is_for_its_owner_alone() {
        let folder = folder("owner");
        change_recent_cases(&folder, [RecentChange::Opened(case(&folder, "a"))]).unwrap();
        assert_eq!([mode(&folder), mode(&folder.join(FILE))], [0o700, 0o600]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }
}
