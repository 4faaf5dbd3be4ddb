//! DICOM unique identifiers under the free root 2.25 (PS3.5 annex B.2): a 128-bit number in decimal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Equal texts give equal identifiers: a demo phantom, which is built the same each time, keeps its UIDs.
pub fn derived_uid(text: &str) -> String {
    format!("2.25.{}", fnv1a(text.as_bytes()))
}

/// A unique identifier among all calls, processes and machines.
pub fn new_uid() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    // The operating system seeds RandomState once a thread, so machines and processes differ.
    use std::hash::{BuildHasher as _, RandomState};
    let seed = RandomState::new().hash_one("beamsight");
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let nanoseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos());
    derived_uid(&format!(
        "{seed}/{call}/{nanoseconds}/{}",
        std::process::id()
    ))
}

/// FNV-1a, 128 bits (offset basis and prime of the reference).
fn fnv1a(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |h, b| {
            (h ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_legal_and_do_not_repeat() {
        let uids: std::collections::BTreeSet<String> = (0..1000).map(|_| new_uid()).collect();
        assert_eq!(uids.len(), 1000);
        for uid in &uids {
            assert!(uid.len() <= 64 && uid.starts_with("2.25."));
            assert!(!uid["2.25.".len()..].starts_with('0'), "{uid}");
        }
        // Reference value of the hash for "a" (draft-eastlake-fnv, 128 bits).
        assert_eq!(fnv1a(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
