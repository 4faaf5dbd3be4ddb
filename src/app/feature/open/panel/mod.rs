//! panel

pub mod patients;
pub mod references;
