//! Collapsed-cone convolution/superposition on the CPU: the reference.
//!
//! 1. [`medium`](crate::engine::jobs::cccs::medium): the patient averaged onto the lattice of the dose, as water of equivalent
//!    attenuation.
//! 2. [`terma`]: what each voxel releases into four channels (primary and scatter, each near and deep).
//! 3. [`superpose`]: for each direction a lattice of parallel lines ([`walk`](crate::engine::jobs::cccs::walk)) carries that
//!    energy on by exponential recursion ([`transport`]), slab by slab, sixteen lines at a time; what is released faintly goes
//!    along fewer directions ([`faint`]); what thin lines misplace close by is put right ([`near`]).
//! 4. [`calibrate`](crate::engine::jobs::cccs::calibrate): Gy per monitor unit from the machine's reference condition.
//!
//! Energy is conserved: what a voxel releases is what it and the voxels down the lines receive, but for what leaves.

mod block;
mod dose;
mod faint;
mod lanes;
mod near;
mod superpose;
mod terma;
mod transport;

pub use dose::beam_dose;
pub(in crate::engine) use dose::monitor_unit;
