//! Case <-> files on disk other than DICOM.

mod cache;
mod chosen_machines;
mod csv;
pub mod demo;
mod dose_volume;
mod goal_template;
mod layout;
mod lock;
pub mod measured;
pub mod mha;
mod new_folder;
pub mod pdf;
pub mod picture;
mod place;
pub mod plan_toml;
mod private;
mod recent;
mod recovery;
mod replace;
pub mod session;
mod state_folder;

pub use cache::{cache_folder, read_cached, write_cached};
pub use chosen_machines::{ChosenMachines, ChosenMachinesError};
pub use csv::csv_cell;
pub use dose_volume::{DoseVolumeError, read_dose_volume, write_dose_volume};
pub use goal_template::{GoalTemplate, Matched, TemplateError, TemplateGoal};
pub use layout::{Layout, PeerSettings, ThemeChoice};
pub use lock::Lock;
pub use new_folder::{NewFolder, NewFolderError};
pub use place::{Inputs, Obstacle, Place, is_taken};
pub use private::{is_private, make_private};
pub use recent::{add_recent_case, recent_cases};
pub use recovery::{Keeper, Recoverable};
pub use replace::{
    Temporary, end_now, remove_leftovers, remove_temporaries_on_signals, replace_file, stop_in_order,
    together,
};
pub use state_folder::state_folder;
