//! The program as a user runs it.

mod bad_input;
mod program;
mod verbs;
