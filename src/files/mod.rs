//! Case <-> everything on disk that is not DICOM.

mod cache;
pub mod demo;
pub mod mha;
pub mod pdf;
pub mod picture;
pub mod plan_toml;
mod replace;
pub mod session;

pub use cache::cache_folder;
pub use replace::replace_file;
