//! The window, driven by accessible names without a display.

mod dose;
mod harness;
mod open;
mod tools;
