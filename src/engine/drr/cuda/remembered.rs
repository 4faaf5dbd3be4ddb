//! Launch layouts cached on disk. The search takes 90 ms, the cached layout 9 (`benches/RESULTS.md`): a first radiograph is shown in
//! one frame.
//!
//! One small file for all cards of a user, `drr-layouts.json` in the [cache folder](cache_folder): by card, driver and
//! kernels, so that another of either is searched anew. A file that does not read is as good as none.

use super::tune::{Class, Launch};
use files::{cache_folder, read_cached, write_cached};
use input::LAYOUTS_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "drr-layouts.json";
/// The only version there has been.
const VERSION: u32 = 1;
/// Layouts of one card at most; the oldest are dropped first.
const MOST: usize = 512;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Layouts {
    version: u32,
    cards: BTreeMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    kernel: String,
    listed: bool,
    rays: u32,
    samples: u32,
    launch: Launch,
}

impl Entry {
    fn is_of(&self, class: &Class) -> bool {
        (self.kernel.as_str(), self.listed, self.rays, self.samples)
            == (class.kernel, class.listed, class.rays, class.samples)
    }
}

/// The cached layout of a class of works on a card, where it is one that a search would time.
pub(super) fn layout(card: &str, class: &Class) -> Option<Launch> {
    read(&file()?, card, class)
}

/// Writes a layout to disk; on failure the next run searches again.
pub(super) fn store(card: &str, class: &Class, launch: Launch) {
    let Some(path) = file() else { return };
    if let Err(error) = write(&path, card, class, launch) {
        tracing::debug!(
            "layouts of DRRs are not cached in {}: {error}",
            path.display()
        );
    }
}

fn file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join(NAME))
}

fn all(path: &Path) -> Layouts {
    let layouts: Layouts = read_cached(path, LAYOUTS_BYTES);
    if layouts.version == VERSION {
        layouts
    } else {
        Layouts::default()
    }
}

fn read(path: &Path, card: &str, class: &Class) -> Option<Launch> {
    let layouts = all(path);
    let launch = layouts
        .cards
        .get(card)?
        .iter()
        .find(|entry| entry.is_of(class))?
        .launch;
    let is_candidate = launch == Launch::PLAIN || class.candidates().contains(&launch);
    is_candidate.then_some(launch)
}

/// Beside what others have written since.
fn write(path: &Path, card: &str, class: &Class, launch: Launch) -> io::Result<()> {
    let mut layouts = Layouts {
        version: VERSION,
        ..all(path)
    };
    let entries = layouts.cards.entry(card.to_owned()).or_default();
    entries.retain(|entry| !entry.is_of(class));
    let Class {
        kernel,
        listed,
        rays,
        samples,
    } = *class;
    entries.push(Entry {
        kernel: kernel.to_owned(),
        listed,
        rays,
        samples,
        launch,
    });
    let beyond = entries.len().saturating_sub(MOST);
    entries.drain(..beyond);
    write_cached(path, &layouts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const CARD: &str = "a card, driver 13.0, kernels 0";

    fn class(rays: u32) -> Class {
        Class {
            kernel: "drr_texture_one",
            listed: false,
            rays,
            samples: 6,
        }
    }

    fn place(name: &str) -> [PathBuf; 2] {
        let folder =
            std::env::temp_dir().join(format!("beamsight-layouts-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = folder.join("deep").join(NAME);
        [folder, path]
    }

    #[test]
    fn what_was_found_is_there_the_next_time_for_that_card_alone() {
        let [folder, path] = place("found");
        let launch = Launch {
            lanes: 8,
            threads: 256,
            tile_width: 16,
        };
        assert_eq!(read(&path, CARD, &class(10)), None);
        write(&path, CARD, &class(10), Launch::PLAIN).expect("written");
        write(&path, CARD, &class(11), launch).expect("written");
        write(&path, CARD, &class(10), launch).expect("written");
        assert_eq!(read(&path, CARD, &class(10)), Some(launch));
        assert_eq!(read(&path, CARD, &class(11)), Some(launch));
        assert_eq!(all(&path).cards[CARD].len(), 2, "one a class");
        for other in [
            Class {
                listed: true,
                ..class(10)
            },
            Class {
                kernel: "drr_exact",
                ..class(10)
            },
            class(12),
        ] {
            assert_eq!(read(&path, CARD, &other), None, "{other:?}");
        }
        assert_eq!(
            read(&path, "a card, driver 13.1, kernels 0", &class(10)),
            None
        );
        fs::remove_dir_all(folder).expect("written");
    }

    /// Cut short, of another program, of a version to come, of a layout that no search looks at: found anew, and the file is
    /// whole again after.
    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let [folder, path] = place("damaged");
        let launch = Launch {
            lanes: 1,
            threads: 64,
            tile_width: 8,
        };
        write(&path, CARD, &class(10), launch).expect("written");
        let intact = fs::read_to_string(&path).expect("there");
        let bad = intact.replace("\"threads\": 64", "\"threads\": 100000");
        let later = intact.replace("\"version\": 1", "\"version\": 2");
        for text in [
            &intact[..intact.len() / 2],
            "",
            "[1, 2]",
            "\u{0}\u{1}",
            &bad,
            &later,
        ] {
            fs::write(&path, text).expect("written");
            assert_eq!(read(&path, CARD, &class(10)), None, "{text}");
            write(&path, CARD, &class(10), launch).expect("written");
            assert_eq!(read(&path, CARD, &class(10)), Some(launch), "{text}");
        }
        // Sound, and longer than anything that this program writes: not read, and small again after.
        let blank = " ".repeat(LAYOUTS_BYTES as usize);
        fs::write(&path, intact.clone() + &blank).expect("written");
        assert_eq!(read(&path, CARD, &class(10)), None, "too long");
        write(&path, CARD, &class(10), launch).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), intact);
        // Not a folder one may write to: an error, no panic.
        assert!(write(&path.join("no-folder").join("x"), CARD, &class(10), launch).is_err());
        fs::remove_dir_all(folder).expect("written");
    }
}
