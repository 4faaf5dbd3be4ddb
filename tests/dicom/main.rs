//! Files from outside, DICOM above all: sound, odd, damaged and malicious ones read, and objects written.

mod anonymous;
mod attributes;
mod bad_input;
#[path = "../common/mod.rs"]
mod common;
mod contours;
mod ct;
mod doors;
mod export;
mod imaging;
mod patients;
mod peers;
mod rt;
mod tree;
