//! The jobs over voxels, and what is computed with them: against closed forms, published figures and plain references.

mod cccs;
#[path = "../common/mod.rs"]
mod common;
mod drr;
mod dvh_patients;
mod gamma;
mod machine_fit;
mod mask_patients;
mod mc;
mod mccs;
mod path;
mod plan_fluence;
mod radiograph;
mod registration;
