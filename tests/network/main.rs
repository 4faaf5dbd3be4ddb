//! Conversations with other systems, on this machine: with the program itself, with dcmtk, with `dicom-ul`'s own associations,
//! and with peers that lie. A program of its own: peers that drip bytes need their time slices, which tests that compute would take.

#[path = "../common/mod.rs"]
mod common;
mod dcmtk;
mod hostile;
mod own;
mod peer;
mod verbs;

use common::{dcmtk as tools, synthetic};
