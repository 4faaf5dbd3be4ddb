//! Files that are damaged, odd, or made to harm: what each reader answers, and with how much memory.

mod attacks;
mod bytes;
mod odd;
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "the command line's tests use the rest")]
mod program;
#[path = "../common/synthetic.rs"]
mod synthetic;
