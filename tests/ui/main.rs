//! The window, driven by accessible names without a display.

mod compare;
mod dose;
mod files;
mod harness;
mod hu;
mod open;
mod register;
mod rois;
mod tools;
