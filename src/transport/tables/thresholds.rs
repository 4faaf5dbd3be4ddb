//! Production thresholds, to which tables belong.

/// Energies above which secondaries are transported one by one, MeV; losses below are continuous.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Kinetic energy of knock-on electrons.
    pub electron_mev: f64,
    /// Bremsstrahlung.
    pub photon_mev: f64,
}

impl Thresholds {
    /// Dose in voxels of a few mm: 200 keV electrons go 0.45 mm in water.
    pub const STANDARD: Self = Self {
        electron_mev: 0.2,
        photon_mev: 0.05,
    };
    /// Dose near surfaces: 100 keV electrons go 0.14 mm in water.
    pub const FINE: Self = Self {
        electron_mev: 0.1,
        photon_mev: 0.02,
    };
}
