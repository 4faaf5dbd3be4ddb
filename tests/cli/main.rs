//! The program as a user runs it.

mod bad_input;
mod dose;
mod program;
mod verbs;
mod window;
