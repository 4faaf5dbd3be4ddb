//! Account of the energy of a run, in quanta.

use std::ops::AddAssign;

/// Energies of histories in quanta, weights included, and what did not go as it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub incident: u64,
    /// In voxels: along tracks, and where a particle ends below its cut-off.
    pub deposited: u64,
    /// Left the voxels or never met them. Of positrons with the rest energy of both partners.
    pub escaped: u64,
    /// Particles that took more steps than one ever needs; what they had left lies where they were.
    pub exhausted_particles: u64,
    /// Source particles of energies that the tables do not reach; they are not transported.
    pub refused_particles: u64,
}

impl AddAssign for Ledger {
    fn add_assign(&mut self, other: Self) {
        self.incident += other.incident;
        self.deposited += other.deposited;
        self.escaped += other.escaped;
        self.exhausted_particles += other.exhausted_particles;
        self.refused_particles += other.refused_particles;
    }
}

impl Ledger {
    /// Whether all energy is accounted for; holds of runs without splitting.
    pub fn is_closed(&self) -> bool {
        self.incident == self.deposited + self.escaped
    }
}
