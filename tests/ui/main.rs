//! The window, driven by accessible names without a display.

mod compare;
mod dose;
mod files;
mod harness;
mod hu;
mod keyboard;
mod monte_carlo;
mod open;
mod register;
mod register_kept;
mod rois;
mod standing;
mod tools;
mod unsaved;
