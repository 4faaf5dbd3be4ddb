//! Input before it reaches a reader: regular files only, a memory budget, foreign decoders fenced in, texts
//! without control characters.

mod budget;
mod content;
mod fence;
mod file;
mod trail;
mod whole_toml;
mod words;

pub use budget::{
    ANSWER_BYTES, ANSWERS_MOST, ASSOCIATE_BYTES, ASSOCIATIONS_MOST, COMMAND_BYTES, DEVICES_BYTES,
    FILES_MOST, GOALS_BYTES, HU_TABLE_BYTES, JOBS_BYTES, KEPT_DOSES_BYTES, LAYOUTS_BYTES,
    MACHINE_BYTES, MANIFEST_BYTES, MEASURED_BYTES, OBJECT_BYTES, OverBudget, PDU_BYTES, PLAN_BYTES,
    RECENT_BYTES, REQUEST_SECONDS, SEQUENCE_DEPTH, SESSION_BYTES, SIDECAR_BYTES, VIEW_BYTES,
    WAITING_MOST, WAITING_OF_ADDRESS, check_unpacked, in_words, unpacked_bytes,
};
pub use content::{content_digest, content_digest_of};
pub use fence::fenced;
pub use file::{held_bytes, odd_kind, open, read_cached_text, read_text};
pub use trail::{keep_trail, read_folder, stamp, trail};
pub use whole_toml::{from_toml, surplus_of};
pub use words::{beginning, code_of, plain, plain_lines};
