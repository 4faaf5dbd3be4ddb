//! The window, driven by accessible names without a display.

mod browser;
mod compare;
mod dose;
mod drawing;
mod files;
mod harness;
mod hu;
mod keyboard;
mod monte_carlo;
mod open;
mod refused_plans;
mod register;
mod register_kept;
#[path = "../common/registration.rs"]
mod registration;
mod replacing;
mod rois;
mod standing;
#[path = "../common/synthetic.rs"]
mod synthetic;
mod tools;
mod unsaved;
