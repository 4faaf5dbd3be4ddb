//! Constants of CODATA 2018.

/// Rest energy of the electron, MeV.
pub const ELECTRON_MASS_MEV: f64 = 0.510_998_95;
/// Classical radius of the electron, cm.
pub const ELECTRON_RADIUS_CM: f64 = 2.817_940_326_2e-13;
/// Avogadro's number, 1/mol.
pub const AVOGADRO_PER_MOL: f64 = 6.022_140_76e23;
/// Fine-structure constant.
pub const FINE_STRUCTURE: f64 = 1.0 / 137.035_999_084;
/// h c, keV Angstrom: x = E sin(theta/2) / (h c) is the argument of form factors.
pub const PLANCK_LIGHT_KEV_ANGSTROM: f64 = 12.398_419_84;
/// Millibarn, cm2.
pub const MILLIBARN_CM2: f64 = 1e-27;

/// 2 pi re^2 m NA, MeV cm2/mol: the factor of cross sections and stopping powers of electrons per Z/A.
pub const COLLISION_MEV_CM2_MOL: f64 = 2.0
    * std::f64::consts::PI
    * ELECTRON_RADIUS_CM
    * ELECTRON_RADIUS_CM
    * ELECTRON_MASS_MEV
    * AVOGADRO_PER_MOL;
