//! What comes from outside, before a reader sees it: regular files alone, held to a budget, foreign decoders fenced in,
//! words without control characters.

mod budget;
mod fence;
mod file;
mod words;

pub use budget::{
    FILES_MOST, HU_TABLE_BYTES, LAYOUTS_BYTES, MACHINE_BYTES, OverBudget, PLAN_BYTES, RECENT_BYTES,
    SEQUENCE_DEPTH, SESSION_BYTES, SIDECAR_BYTES, VIEW_BYTES, check_unpacked, unpacked_bytes,
};
pub use fence::fenced;
pub use file::{odd_kind, open, read_text};
pub use words::{beginning, plain, plain_lines};
