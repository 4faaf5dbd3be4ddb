//! Case <-> DICOM, one file per IOD.
