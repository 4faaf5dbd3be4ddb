//! Reports, for the window and the command line alike: tables and pages drawn from results that have been gathered. A report
//! needs neither a window nor a graphics device, so its bytes are the same on every machine.

pub mod machine;
pub mod pdf;
