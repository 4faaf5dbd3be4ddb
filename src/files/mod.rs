//! Case <-> everything on disk that is not DICOM.

pub mod demo;
