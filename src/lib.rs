//! Beamsight: a radiotherapy viewer in which the dose follows the gantry. Not for clinical use.
//!
//! The map, from the ground up; each room may use those above it in this list and never one below:
//!
//! * [`input`]: what comes from outside: regular files alone, a budget of memory, decoders fenced in, words without controls.
//! * [`geometry`]: grids, volumes, rays, the voxel walk, IEC 61217 and the patient frame.
//! * [`case`]: what a planner works on: CT, structures, plan, dose; edits as values.
//! * [`files`]: case <-> everything on disk but DICOM (MetaImage, plan.toml, PNG, demo cases). [`dicom`]: case <-> DICOM.
//! * [`open`]: CASE (a folder, a file, a volume, a session, a demo) -> a case, from these two.
//! * [`physics`]: why dose lands where it does: density, attenuation, spectrum, kernels, machine, fluence.
//! * [`engine`]: the jobs over a patient's voxels, each written once per device.
//! * [`worker`]: the thread that owns the devices: jobs, slots, progress, cancellation.
//! * [`analysis`]: DVH and plan figures.
//! * [`registration`]: X-rays against DRRs: metrics and the pose search.
//! * [`results`]: what follows from a case, and what each result answers.
//! * [`app`]: the window. [`cli`]: the same jobs without one.
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

pub mod analysis;
pub mod app;
pub mod case;
pub mod cli;
pub mod dicom;
pub mod engine;
pub mod files;
pub mod geometry;
pub mod input;
pub mod open;
pub mod physics;
pub mod registration;
pub mod results;
pub mod worker;
