//! The operating system, where it differs: graphics interfaces with their remedies, the console that the program was started from,
//! names and identities of files.

mod console;
mod graphics;
#[cfg(windows)]
mod mathematics;
mod names;
mod one_file;
mod usual_path;

pub use console::{Ending, join_console, on_ending, tell_without_console};
pub use graphics::{DRIVER_REMEDY, DRIVERS_ARE_PROVED, GRAPHICS_INTERFACES, LIBRARIES_REMEDY};
pub use names::{NAMES_DIFFER_BY_CASE, is_held_elsewhere, name_fault};
pub use one_file::is_one_file;
pub use usual_path::{real_path, usual_path};
