//! The program as a user runs it.

mod bad_input;
mod card;
mod dose;
mod drr;
mod gamma;
mod outputs;
mod program;
mod refused_plans;
mod register;
#[path = "../common/synthetic.rs"]
mod synthetic;
mod verbs;
mod window;
