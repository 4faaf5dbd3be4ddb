//! The machine models chosen for the treatment machines of plans, by machine name and beam quality: kept from run to run in
//! a TOML file that may be edited by hand.

use super::replace_file;
use super::state_folder::private_folder;
use input::{RECENT_BYTES, from_toml, read_text};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::Path;
use thiserror::Error;

const FILE: &str = "machines.toml";

/// Why the chosen machines cannot be read or kept.
#[derive(Debug, Error)]
#[error("the remembered machines '{path}': {why}")]
pub struct ChosenMachinesError {
    path: String,
    why: String,
}

/// Machine models by treatment machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenMachines {
    #[serde(default, rename = "machine")]
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// As the plans name it.
    name: String,
    /// `6 MV`, `6 MV FFF`.
    quality: String,
    /// A shipped name or a path.
    model: String,
}

impl ChosenMachines {
    /// The choices in a folder for state; none where there is no file yet.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged: it is not to be replaced.
    pub fn load(folder: &Path) -> Result<Self, ChosenMachinesError> {
        let path = folder.join(FILE);
        match read_text(&path, RECENT_BYTES) {
            Ok(text) => from_toml(&text).map_err(|e| read_fault(e.message().to_owned(), &path)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(read_fault(e.to_string(), &path)),
        }
    }

    pub fn model_of(&self, name: &str, quality: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|entry: &&Entry| entry.name == name && entry.quality == quality)
            .map(|entry| entry.model.as_str())
    }

    /// Notes a choice.
    pub fn choose(&mut self, name: &str, quality: &str, model: &str) {
        self.entries
            .retain(|entry| entry.name != name || entry.quality != quality);
        let [name, quality, model] = [name, quality, model].map(str::to_owned);
        self.entries.push(Entry {
            name,
            quality,
            model,
        });
    }

    /// # Errors
    /// Errors of the file system.
    pub fn save(&self, folder: &Path) -> Result<(), ChosenMachinesError> {
        let path = folder.join(FILE);
        let write = || -> io::Result<()> {
            private_folder(folder)?;
            let text = toml::to_string(self).map_err(io::Error::other)?;
            replace_file::<io::Error>(&path, |out| out.write_all(text.as_bytes()))
        };
        write().map_err(|e| ChosenMachinesError {
            path: path.display().to_string(),
            why: e.to_string(),
        })
    }
}

fn read_fault(why: String, path: &Path) -> ChosenMachinesError {
    ChosenMachinesError {
        path: path.display().to_string(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_choice_is_kept_by_machine_and_quality_and_a_damaged_file_is_not_replaced() {
        let folder =
            std::env::temp_dir().join(format!("beamsight-machines-{}", std::process::id()));
        let mut chosen = ChosenMachines::load(&folder).unwrap();
        assert_eq!(chosen, ChosenMachines::default());
        chosen.choose("21C", "6 MV", "generic-6mv");
        chosen.choose("21C", "10 MV", "/m/\"10\".toml");
        chosen.choose("21C", "6 MV", "/m/six.toml");
        chosen.save(&folder).unwrap();
        let read = ChosenMachines::load(&folder).unwrap();
        assert_eq!(read.model_of("21C", "6 MV"), Some("/m/six.toml"));
        assert_eq!(read.model_of("21C", "10 MV"), Some("/m/\"10\".toml"));
        assert_eq!(read.model_of("21C", "6 MV FFF"), None);
        assert_eq!(read.model_of("21D", "6 MV"), None);
        for damage in [
            "[[machine]]\nname = 3",
            "x",
            "[[machine]]\nname=\"a\"\nquality=\"b\"\nmodel=\"c\"\nmore=1",
        ] {
            fs::write(folder.join(FILE), damage).unwrap();
            assert!(
                ChosenMachines::load(&folder)
                    .unwrap_err()
                    .to_string()
                    .contains(FILE),
                "{damage}"
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
