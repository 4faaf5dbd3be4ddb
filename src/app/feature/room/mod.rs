//! The treatment room: what stands in it, its camera, and the clearance of the gantry.

pub mod state;
pub mod view;
