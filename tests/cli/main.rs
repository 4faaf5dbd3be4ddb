//! The program as a user runs it.

mod bad_input;
mod batch;
mod card;
mod check;
#[path = "../common/conforms.rs"]
mod conforms;
#[path = "../common/cross.rs"]
mod cross;
mod dose;
mod dose_given;
mod drr;
mod dvh;
mod export;
mod gamma;
mod machine;
mod outputs;
mod program;
mod refused_plans;
mod register;
#[path = "../common/registration.rs"]
mod registration;
#[path = "../common/skip.rs"]
mod skip;
#[path = "../common/synthetic.rs"]
mod synthetic;
mod verbs;
mod window;
