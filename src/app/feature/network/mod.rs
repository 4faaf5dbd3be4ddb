//! Other DICOM systems: address book, search, and transfers.

pub mod panel;
pub mod state;
