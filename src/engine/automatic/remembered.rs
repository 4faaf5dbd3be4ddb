//! Times of devices, remembered on disk: one small file of a user, `devices.json` in the [cache folder](cache_folder). A file that does not
//! read is as good as none.

use super::Measured;
use crate::DeviceChoice;
use files::{cache_folder, read_cached, write_cached};
use input::DEVICES_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "devices.json";
/// Sets of devices that are remembered: of the machines that share a home folder.
const MOST: usize = 64;

pub(super) fn file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join(NAME))
}

/// Times measured at an earlier start, and the graphics devices that were present then.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Key of the graphics devices beside them.
    pub adapters: String,
    /// Words of `--device`, names, and ms.
    measured: Vec<(String, String, f64)>,
}

/// By key of those devices.
fn records(file: &Path) -> BTreeMap<String, Record> {
    read_cached(file, DEVICES_BYTES)
}

pub(super) fn find(file: &Path, plain: &str) -> Option<Record> {
    records(file).remove(plain)
}

/// Beside what others have written since.
pub(super) fn store(file: &Path, plain: String, record: Record) -> io::Result<()> {
    let mut records_by_key = records(file);
    if records_by_key.len() >= MOST {
        records_by_key.clear();
    }
    records_by_key.insert(plain, record);
    write_cached(file, &records_by_key)
}

impl Record {
    pub fn new(adapters: String, order: &[Measured]) -> Self {
        let measured = order
            .iter()
            .map(|one| (one.choice.to_string(), one.name.clone(), one.rank()))
            .collect();
        Self { adapters, measured }
    }

    /// None where a word is none, or the CPU, which always answers, is not among them.
    pub fn order(&self) -> Option<Vec<Measured>> {
        let mut order = self
            .measured
            .iter()
            .map(|(word, name, ms)| {
                Some(Measured {
                    choice: word.parse().ok()?,
                    name: name.clone(),
                    ms: Some(Ok(*ms)),
                })
            })
            .collect::<Option<Vec<_>>>()?;
        order.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
        let is_whole = order
            .iter()
            .all(|one| !matches!(one.choice, DeviceChoice::Auto | DeviceChoice::AllCuda))
            && order.iter().any(|one| one.choice == DeviceChoice::Cpu);
        is_whole.then_some(order)
    }
}
