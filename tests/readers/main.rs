//! Damaged, odd and malicious files: the answer of each reader, and its memory.

mod attacks;
mod bytes;
mod doors;
mod odd;
#[path = "../cli/program.rs"]
#[allow(dead_code, reason = "the command line's tests use the rest")]
mod program;
#[path = "../common/synthetic.rs"]
mod synthetic;
