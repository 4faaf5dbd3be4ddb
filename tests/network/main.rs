//! Conversations with other systems, on this machine: with the program itself, with dcmtk, with `dicom-ul`'s own associations,
//! and with peers that lie.

mod dcmtk;
mod hostile;
mod own;
mod peer;
#[path = "../common/skip.rs"]
mod skip;
#[path = "../common/synthetic.rs"]
mod synthetic;
#[path = "../common/dcmtk.rs"]
mod tools;
mod verbs;
