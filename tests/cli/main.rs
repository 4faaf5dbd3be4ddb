//! The program as a user runs it.

mod batch;
mod card;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod dose;
mod dose_given;
mod drr;
mod dvh;
mod export;
mod gamma;
mod machine;
mod optimise;
mod outputs;
mod register;
mod sequence;
mod verbs;
mod window;

use common::{conforms, cross, program, registration, skip, synthetic};
