//! The memory budget of a file: every limit of every reader.

use thiserror::Error;

/// Bytes that any file may unpack to, even the smallest: a volume of 512 x 512 x 256 voxels of four bytes.
/// Empty pictures and doses compress without bound.
const FREE_BYTES: u64 = 256 << 20;
/// Additional bytes for each byte of the file. Images compress to a third, doses of mostly zeros to a
/// thirtieth.
const TIMES: u64 = 32;
/// The limit of any file.
const CEILING_BYTES: u64 = 8 << 30;

/// Sequences within sequences: DICOM's own, except structured reports, nest up to eight.
pub const SEQUENCE_DEPTH: usize = 32;
/// Most files of one folder with its subfolders.
pub const FILES_MOST: usize = 500_000;

/// Limits of texts, by content. The plan of ten arcs of 180 control points has 2 MB.
pub const PLAN_BYTES: u64 = 16 << 20;
pub const MACHINE_BYTES: u64 = 4 << 20;
/// Scans of a water tank: some hundred curves of some hundred points.
pub const MEASURED_BYTES: u64 = 16 << 20;
pub const HU_TABLE_BYTES: u64 = 1 << 20;
/// A template of goals: a few lines for each.
pub const GOALS_BYTES: u64 = 1 << 20;
/// Cached layouts of DRRs: a card's layouts have 100 kB at most.
pub const LAYOUTS_BYTES: u64 = 4 << 20;
/// Times of devices: a line for each.
pub const DEVICES_BYTES: u64 = 1 << 20;
/// Recent cases: a few paths.
pub const RECENT_BYTES: u64 = 1 << 20;
/// The list of an export's files: a name and a digest for each.
pub const MANIFEST_BYTES: u64 = 16 << 20;
/// A file of jobs, and what a job leaves.
pub const JOBS_BYTES: u64 = 256 << 20;
/// The geometry beside a picture.
pub const SIDECAR_BYTES: u64 = 1 << 20;
/// Sessions hold drawn structures, each number of a contour on a separate line.
pub const SESSION_BYTES: u64 = 1 << 30;
/// Computed doses kept beside the unsaved work of a window, all together: some ten beams of 2.5 mm in a thorax have 200 MB.
pub const KEPT_DOSES_BYTES: u64 = 1 << 30;
/// The view state of a session, whose form the window defines.
pub const VIEW_BYTES: usize = 4 << 20;

/// Objects from the network go to disk as they arrive: the longest that is taken. An element of DICOM has fewer bytes.
pub const OBJECT_BYTES: u64 = 4 << 30;
/// Longest PDU of data that is taken, and sent where the other side sets no limit.
pub const PDU_BYTES: u32 = 128 << 10;
/// Longest PDU that opens an association: 128 contexts of a few UIDs have 100 kB.
pub const ASSOCIATE_BYTES: u32 = 1 << 20;
/// Longest command of a message: a few UIDs.
pub const COMMAND_BYTES: usize = 64 << 10;
/// Longest answer to a query, and most answers of one.
pub const ANSWER_BYTES: u64 = 1 << 20;
pub const ANSWERS_MOST: usize = 10_000;
/// Associations that are received at once.
pub const ASSOCIATIONS_MOST: usize = 8;
/// Connections at once without an A-ASSOCIATE-RQ, of all addresses and of one. The oldest is dropped for a newer one: a peer sends its
/// request in its first packet, and a peer that was dropped reconnects.
pub const WAITING_MOST: usize = 64;
pub const WAITING_OF_ADDRESS: usize = 8;
/// Time that a connection has to ask for an association, s: a few round trips of the slowest network.
pub const REQUEST_SECONDS: u64 = 5;

/// A file that needs more memory than its size allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "it would take {} of memory where {} are the most for a file of its size ({}); it is damaged, or made to exhaust memory",
    in_words(*.wanted), in_words(*.most), in_words(*.file)
)]
pub struct OverBudget {
    pub file: u64,
    pub wanted: u64,
    pub most: u64,
}

/// Bytes that a file of this length may unpack to.
pub fn unpacked_bytes(file: u64) -> u64 {
    // Uncompressed data needs a few bytes for each of its bytes, whatever the ceiling.
    FREE_BYTES
        .saturating_add(file.saturating_mul(TIMES))
        .min(CEILING_BYTES.max(file.saturating_mul(4)))
}

/// Checks that `wanted` bytes may be allocated for the content of a file of `file` bytes.
///
/// # Errors
/// [`OverBudget`].
pub fn check_unpacked(file: u64, wanted: u64) -> Result<(), OverBudget> {
    let limit = unpacked_bytes(file);
    if wanted > limit {
        Err(OverBudget {
            file,
            wanted,
            most: limit,
        })
    } else {
        Ok(())
    }
}

/// Bytes in readable units.
pub fn in_words(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "kB", "MB", "GB"];
    let step = (0..3).take_while(|n| bytes >= 1000u64.pow(n + 1)).count();
    match step {
        0 => format!("{bytes} bytes"),
        _ => format!(
            "{:.1} {}",
            bytes as f64 / 1000f64.powi(step as i32),
            UNITS[step]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_grows_with_the_file_up_to_its_ceiling() {
        let megabyte = 1 << 20;
        assert_eq!(unpacked_bytes(0), 256 * megabyte);
        assert_eq!(unpacked_bytes(megabyte), 288 * megabyte);
        assert_eq!(unpacked_bytes(1 << 30), 8 << 30);
        // An uncompressed volume of 3 GB is accepted, and no sum overflows.
        assert!(check_unpacked(3 << 30, 12 << 30).is_ok());
        assert!(check_unpacked(u64::MAX, u64::MAX).is_ok());
        let error = check_unpacked(185_000, 65_500 * 65_500 * 2)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("8.6 GB") && error.contains("274.4 MB") && error.contains("185.0 kB"),
            "{error}"
        );
    }

    #[test]
    fn bytes_in_words() {
        let words: Vec<String> = [999, 1000, 1_500_000, 11_800_000_000_000]
            .map(in_words)
            .into();
        assert_eq!(words, ["999 bytes", "1.0 kB", "1.5 MB", "11800.0 GB"]);
    }
}
