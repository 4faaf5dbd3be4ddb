//! The dose on show and doses from files; DVHs and their handles.

pub mod edits;
pub mod panel;
