//! Case <-> files on disk other than DICOM.

mod cache;
#[cfg(test)]
mod children;
mod chosen_machines;
mod csv;
pub mod demo;
mod dose_volume;
mod goal_template;
mod kept_doses;
mod layout;
mod leftovers;
mod lock;
pub mod measured;
pub mod mha;
mod moving;
mod new_folder;
pub mod picture;
mod place;
pub mod plan_toml;
mod poses;
mod private;
mod protocol;
mod recent;
mod recovery;
mod replace;
pub mod session;
mod state_folder;
mod structure_template;
mod user;

pub use cache::{cache_folder, read_cached, write_cached};
pub use chosen_machines::{ChosenMachines, ChosenMachinesError};
pub use csv::csv_cell;
pub use dose_volume::{
    DoseVolumeError, dose_of_facts, facts_of_dose, read_dose_volume, write_dose_volume,
};
pub use goal_template::{GoalTemplate, Matched, TemplateError, TemplateGoal};
pub use kept_doses::{BeamPlace, DoseToKeep, InputDigests, KeptDoses, NamedDose, Survey};
pub use layout::{Layout, PeerSettings, ThemeChoice};
pub use leftovers::{is_own_entry, remove_leftovers};
pub use lock::Lock;
pub use new_folder::{NewFolder, NewFolderError};
pub use place::{Inputs, Obstacle, OutputPath, is_taken};
pub use poses::{NamedPose, PosesError, read_poses};
pub use private::{is_private, make_private};
pub use protocol::{
    Arrangement, Delivery, Level, Protocol, ProtocolBeams, ProtocolError, ProtocolFault,
    StructureToMake,
};
pub use recent::{CasePicture, RecentCase, RecentChange, change_recent_cases, recent_cases};
pub use recovery::{Keeper, Recoverable};
pub use replace::{
    Temporary, end_now, remove_temporaries_on_signals, replace_file, stop_in_order, together,
};
pub use state_folder::state_folder;
pub use structure_template::{StructureTemplate, StructureTemplateError, TemplateStructure};
pub use user::user_name;
