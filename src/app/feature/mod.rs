//! Features of the window, a folder each. A file of one bears the name of its floor (ARCHITECTURE.md): `state`, `command`,
//! `edits`, `jobs`, `view`, `panel`; files of a floor use only files of the floors under it, also of other features.

pub mod beam;
pub mod check;
pub mod commission;
pub mod compare;
pub mod ct;
pub mod dose;
pub mod draw;
pub mod goals;
pub mod leaves;
pub mod measure;
pub mod network;
pub mod open;
pub mod optimise;
pub mod plan;
pub mod protocol;
pub mod register;
pub mod robust;
pub mod room;
pub mod start;
pub mod structures;
