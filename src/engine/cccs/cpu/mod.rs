//! Collapsed-cone convolution/superposition on the CPU.
//!
//! 1. [`medium`](crate::dose::medium): the patient averaged onto the lattice of the dose, as water of equivalent
//!    attenuation.
//! 2. [`terma`]: TERMA of each voxel in four channels (primary and scatter, each shallow and deep).
//! 3. [`superpose`]: for each direction a lattice of parallel lines ([`walk`](geometry::walk::lattice)) transports energy
//!    by exponential recursion ([`transport`]), slab by slab, sixteen lines at a time; low TERMA along fewer directions
//!    ([`low_terma`]); a local correction takes the lattice's discretisation out of the nearest voxels ([`correction`]).
//! 4. [`calibrate`](crate::cccs::calibrate): Gy per monitor unit from the machine's reference condition.
//!
//! Energy is conserved: a voxel's TERMA is deposited in it and in the voxels down the lines, or escapes from the grid.

mod block;
mod correction;
mod dose;
mod low_terma;
mod strip;
mod superpose;
mod terma;
mod transport;

pub use dose::beam_dose;
pub(crate) use dose::monitor_unit;
pub(crate) use dose::{energy_of, monitor_unit_at};
pub(crate) use strip::slowest_loss;
