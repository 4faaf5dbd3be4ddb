//! One program for all targets; `BEAMSIGHT_FUZZ_TARGET` selects one.
#![no_main]

#[path = "../../readers.rs"]
mod readers;

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

static TARGET: LazyLock<&readers::Target> = LazyLock::new(|| {
    readers::target(&std::env::var("BEAMSIGHT_FUZZ_TARGET").expect("BEAMSIGHT_FUZZ_TARGET names a target"))
});
/// In memory, where the system has such a folder.
static VICTIM: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("beamsight-fuzz-{}.{}", std::process::id(), TARGET.ending))
});

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*VICTIM, data).expect("the folder is writable");
    (TARGET.read)(&VICTIM);
});
