//! Bounds of the numbers of plans and structures, each with its reason. No reader has others.

use std::ops::RangeInclusive;

/// Monitor units of a beam and fraction. Beyond the range of any counter; a machine whose monitor unit is one photon
/// per cm² has large numbers.
pub const MU: RangeInclusive<f64> = 0.0..=1e9;

/// Dose rates that machines are set to, MU a minute.
pub const DOSE_RATE_MU_MIN: RangeInclusive<f64> = 1.0..=10_000.0;

/// Beyond the fractions of any course.
pub const FRACTIONS: RangeInclusive<u32> = 1..=200;

/// Beyond the dose of any course, Gy: a prescription or a normalisation.
pub const MOST_COURSE_GY: f64 = 1000.0;

/// Percent of a prescription that a plan is normalised to: tenfold is a slip of the decimal point.
pub const MOST_NORMALISED_PERCENT: f64 = 1000.0;

/// Angles are given from 0 to 360 or from -180 to 180 degrees.
pub const ANGLE_DEG: RangeInclusive<f64> = -360.0..=360.0;

/// Jaws, leaf tips and leaf sides, mm at the isocentre plane: twice as far from the axis as the edge of the widest
/// fields of any machine (400 mm x 400 mm), so that parked leaves are within.
pub const COLLIMATOR_MM: RangeInclusive<f64> = -400.0..=400.0;

/// Opposing leaf tips overlap by no more than this, mm: rounded positions of closed leaves do.
pub const LEAF_OVERLAP_MM: f64 = 0.1;

/// Width of beamlets along the leaves' travel, mm at the isocentre plane: below, the focal spot blurs them; above, they shape nothing.
pub const BEAMLET_MM: RangeInclusive<f64> = 1.0..=50.0;

/// Beamlets of a beam: 400 mm x 400 mm in beamlets of 2.5 mm have 25,600.
pub const MOST_BEAMLETS: usize = 30_000;

/// Fluence of a beamlet beside the open field's for all monitor units of the beam.
pub const MOST_FLUENCE: f32 = 1000.0;

/// Coordinates in the patient, mm: single precision of the graphics device resolves 0.01 mm there.
pub const PLACE_MM: RangeInclusive<f64> = -1e5..=1e5;

/// Nominal energies of photon beams, MV; cobalt counts as 1.25.
pub const ENERGY_MV: RangeInclusive<f64> = 1.0..=50.0;

/// Source-axis distances of machine files, mm.
pub const SOURCE_AXIS_MM: RangeInclusive<f64> = 100.0..=5000.0;

/// Angles that differ by less are the same up to rounding, degrees.
pub const SAME_DEG: f64 = 0.01;
