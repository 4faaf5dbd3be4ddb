//! What is asked of each job and what it answers, with the physics and the tables that all devices share. Nothing here
//! knows a device.

pub mod cccs;
pub mod drr;
pub mod gamma;
pub mod mccs;
pub mod path;
pub mod slopes;
