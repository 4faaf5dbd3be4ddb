//! Requests and answers of each job, with the physics and the tables that all devices share.

pub mod cccs;
pub mod drr;
pub mod drr_gradient;
pub mod failure;
pub mod gamma;
pub mod mccs;
pub mod path;
