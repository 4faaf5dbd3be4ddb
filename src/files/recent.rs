//! Recently opened cases, newest first, as CASE arguments with absolute paths.

use super::replace_file;
use super::state_folder::private_folder;
use input::{RECENT_BYTES, read_text};
use std::io::{self, Write as _};
use std::path::Path;

/// Older ones are dropped.
pub const MOST_RECENT: usize = 8;

const FILE: &str = "recent.json";

/// The recent cases in a folder for state. Empty where the list is missing or unreadable: the next case
/// starts a new one.
pub fn recent_cases(folder: &Path) -> Vec<String> {
    let text = read_text(&folder.join(FILE), RECENT_BYTES).unwrap_or_default();
    let mut words: Vec<String> = serde_json::from_str(&text).unwrap_or_default();
    words.truncate(MOST_RECENT);
    words
}

/// Puts a CASE argument first among them, and returns them all.
///
/// # Errors
/// Errors of the file system.
pub fn add_recent_case(folder: &Path, word: &str) -> io::Result<Vec<String>> {
    private_folder(folder)?;
    let mut words = recent_cases(folder);
    words.retain(|w| w != word);
    words.insert(0, word.to_owned());
    words.truncate(MOST_RECENT);
    let text = serde_json::to_string_pretty(&words)?;
    replace_file::<io::Error>(&folder.join(FILE), |out| out.write_all(text.as_bytes()))?;
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_newest_goes_first_and_once() {
        let folder = std::env::temp_dir().join(format!("beamsight-recent-{}", std::process::id()));
        for n in 0..12 {
            add_recent_case(&folder, &format!("/case/{n}")).unwrap();
        }
        add_recent_case(&folder, "/case/9").unwrap();
        let words = recent_cases(&folder);
        assert_eq!(words.len(), MOST_RECENT);
        assert_eq!(words[..3], ["/case/9", "/case/11", "/case/10"]);
        for damage in ["", "{", "[1]", "[\"a\""] {
            fs::write(folder.join(FILE), damage).unwrap();
            assert_eq!(recent_cases(&folder), [""; 0]);
        }
        assert_eq!(add_recent_case(&folder, "x").unwrap(), ["x"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
