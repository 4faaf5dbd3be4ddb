//! The window, driven by accessible names without a display.

mod aperture;
mod beside;
mod browser;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod contouring;
#[path = "../common/cross.rs"]
mod cross;
mod day;
#[path = "../common/dcmtk.rs"]
mod dcmtk;
mod dose;
mod drawing;
mod export;
mod files;
mod goals;
mod harness;
mod history;
mod hu;
mod keyboard;
mod machine_fit;
mod measure;
mod monte_carlo;
mod network;
mod normalisation;
mod open;
mod plans;
mod references;
mod refused_plans;
mod register;
mod register_kept;
#[path = "../common/registration.rs"]
mod registration;
mod replacing;
mod rois;
mod room;
mod second_check;
mod sizes;
mod standing;
#[path = "../common/synthetic.rs"]
mod synthetic;
mod theme;
mod tools;
mod unsaved;

use common::skip;
