//! A particle in flight, and the energy it leaves.

use glam::DVec3;
use particles::Charge;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Photon,
    Charged(Charge),
}

/// Particle as it starts.
#[derive(Clone, Copy, Debug)]
pub struct Particle {
    pub kind: Kind,
    /// Kinetic, a multiple of the quantum.
    pub energy_mev: f64,
    pub position_cm: DVec3,
    /// Unit vector.
    pub direction: DVec3,
    /// Particles that it stands for, in the source's unit; of photons times the splitting.
    pub weight: u64,
    /// Key of its random numbers.
    pub key: u64,
}

/// Energy left along a straight piece of track in one voxel.
#[derive(Clone, Copy, Debug)]
pub struct Deposit {
    pub voxel: usize,
    pub start_cm: DVec3,
    pub end_cm: DVec3,
    /// Kinetic energy of the electron or positron in the middle of the piece, MeV; of a photon that is absorbed its own.
    pub middle_mev: f64,
    pub charge: Charge,
    /// Weight included.
    pub quanta: u64,
}

/// Sums of deposits.
pub trait Scorer {
    fn deposit(&mut self, deposit: &Deposit);
}
