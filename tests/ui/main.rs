//! The window, driven by accessible names without a display.

mod aperture;
mod beside;
mod browser;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod contouring;
mod day;
mod dose;
mod drawing;
mod export;
mod files;
mod fluence;
mod goals;
mod harness;
mod history;
mod hu;
mod kept_doses;
mod keyboard;
mod leaves;
mod machine_fit;
mod measure;
mod monte_carlo;
mod network;
mod normalisation;
mod notices;
mod open;
mod optimise;
mod optimise_guide;
mod plans;
mod proposals;
mod references;
mod refused_plans;
mod register;
mod register_kept;
mod replacing;
mod rois;
mod room;
mod second_check;
mod sizes;
mod standing;
mod theme;
mod tools;
mod unsaved;
mod views;

use common::{cross, dcmtk, registration, synthetic};
