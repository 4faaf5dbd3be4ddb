//! The program as a user runs it.

mod bad_input;
mod dose;
mod drr;
mod program;
mod verbs;
mod window;
