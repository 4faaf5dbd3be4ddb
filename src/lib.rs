#![doc = include_str!("../ARCHITECTURE.md")]
//!
//! # Invariants
//!
//! 1. Positions are mm in the DICOM patient frame (LPS), `f64`; angles are degrees, IEC 61217; dose is Gy.
//! 2. Volumes index as `[z][y][x]`, x fastest; voxel (0,0,0) is *centred* on the grid's origin.
//! 3. A volume never changes once built: an edit makes a new one, with a new identity.
//! 4. Every dose carries a [`case::DoseStatus`]; a sum carries the worst of its parts.
//! 5. The UI thread neither computes nor waits: it submits jobs and drains reports once a frame.
//! 6. A newer job for a slot cancels the older one; a failed job is a report, never a crash.
//! 7. Uneven planes are data: nothing resamples a CT on load.
//! 8. Equal inputs give equal results, whatever the number of threads.
//! 9. Outside a dose grid there is no dose, which is not the same as zero.
//! 10. Nothing a file, a user or a driver can influence may panic.

pub use analysis;
pub use app;
pub use case;
pub use cli;
pub use dicom;
pub use engine;
pub use files;
pub use geometry;
pub use input;
pub use inverse;
pub use network;
pub use open;
pub use physics;
pub use registration;
pub use report;
pub use results;
pub use sequence;
pub use worker;
