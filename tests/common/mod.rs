//! Shared parts of the tests: the data beside the repository, patients unpacked once.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod cancelling;
pub mod conforms;
pub mod cross;
pub mod dcmtk;
pub mod opened;
pub mod program;
pub mod registration;
pub mod skip;
pub mod synthetic;

use skip::{Missing, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Folder of the shared data (`patients/`, `physics/`): `BEAMSIGHT_DATA`, else `../shared/data` beside the repository.
pub fn data_folder() -> PathBuf {
    std::env::var_os("BEAMSIGHT_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    )
}

/// `data/physics/...`; `None`, reported as a skip, where the data are absent.
pub fn physics_data(path: &str) -> Option<PathBuf> {
    let found = data_folder().join("physics").join(path);
    if found.exists() {
        return Some(found);
    }
    skip(
        Missing::Data,
        &format!("no {} (set BEAMSIGHT_DATA)", found.display()),
    );
    None
}

/// Folder of one real case (`lung1-001`, ...), unpacked once into `target/patients`. `None`, reported as a
/// skip, where the data or the tools (`tar`, `zstd`) are absent.
pub fn patient_case(name: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("patients");
    let case = unpacked.join(name);
    if case.is_dir() {
        return Some(case);
    }
    let archive = data_folder()
        .join("patients")
        .join(format!("{name}.tar.zst"));
    if !archive.is_file() {
        skip(
            Missing::Data,
            &format!("no {} (set BEAMSIGHT_DATA)", archive.display()),
        );
        return None;
    }
    // Several tests may run this at once: each unpacks into a folder of its own, and the first rename wins.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let own = format!(
        ".{name}.{}.{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let aside = unpacked.join(own);
    std::fs::create_dir_all(&aside).expect("target/ is writable");
    let status = Command::new("tar")
        .arg("--zstd")
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(&aside)
        .status();
    let done = status.is_ok_and(|s| s.success());
    if done && !case.is_dir() {
        // A lost race is fine: the other folder is the same.
        let _ = std::fs::rename(aside.join(name), &case);
    }
    let _ = std::fs::remove_dir_all(&aside);
    if case.is_dir() {
        return Some(case);
    }
    let why = format!(
        "{} cannot be unpacked (apt-get install tar zstd)",
        archive.display()
    );
    skip(Missing::Program, &why);
    None
}
