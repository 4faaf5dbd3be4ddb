//! A treatment machine as numbers: spectrum, sources, off-axis behaviour, electrons, jaws, leaves, calibration.
//!
//! The file format and the source of each number stand in `assets/machines/README.md` and in the files themselves.

use super::{CouchFactor, Curve, Spectrum};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A photon beam of a treatment machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub name: String,
    pub description: String,
    /// Nominal accelerating potential, MV.
    pub nominal_mv: f64,
    /// Source-axis distance, mm.
    pub sad_mm: f64,
    pub spectrum: Spectrum,
    /// Standard deviation of the Gaussian focal spot along the device's x and y, mm; 0 is a point.
    pub focal_sigma_mm: [f64; 2],
    /// Photons scattered in the head; none in a point source.
    pub extra_focal: Option<ExtraFocal>,
    /// Primary fluence per solid angle against the distance from the axis at the isocentre plane (mm); 1 on the axis.
    /// As a chamber in air shows it: the collision kerma, so that the change of spectrum is in it at the surface.
    pub off_axis: Curve,
    /// Factor on the attenuation coefficient of the primary beam against the angle to the axis (degrees); 1 on the axis.
    pub softening: Curve,
    pub electrons: Option<Electrons>,
    pub jaws: JawModel,
    pub leaves: Option<Leaves>,
    pub calibration: Calibration,
    /// Share of the dose that passes an accessory in the beam, by the identifier that plans name it by.
    pub trays: BTreeMap<String, f64>,
    pub couch: Option<CouchFactor>,
    /// Limits of motion; without them no fluence map is cut into leaves.
    pub delivery: Option<Delivery>,
    /// Numbers that a fit could not find, a sentence each: what is computed with such a machine is none of a fitted one.
    pub not_fitted: Vec<String>,
    /// Measured data that a fitted machine does not give within tolerance, each with its difference.
    pub outside_tolerance: Vec<String>,
}

/// A Gaussian source of scattered photons below the target, seen through the aperture.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraFocal {
    /// From the target, mm.
    pub distance_mm: f64,
    /// Standard deviation at its own plane, mm.
    pub sigma_mm: f64,
    /// Share of the photon fluence on the axis at the isocentre when the whole source is seen.
    pub share: f64,
}

/// Electrons that come with the photons: a dose near the surface.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Electrons {
    /// Their dose at the surface on the axis of the reference field, as a share of that field's dose at the
    /// calibration depth.
    pub surface_share: f64,
    /// Depth in water at which none are left, mm.
    pub range_mm: f64,
    /// Exponential fall-off with depth in water, per mm.
    pub falloff_per_mm: f64,
    /// Standard deviation of their spread from each point of the aperture, mm at the isocentre plane.
    pub sigma_mm: f64,
}

impl Electrons {
    /// Dose at a depth relative to that at the surface: exponential, 0 from `range_mm` on. The form of DoseCUDA
    /// (beam_model_numbers.json): `(exp(-k d) - exp(-k r)) / (1 - exp(-k r))`.
    pub fn at_depth(&self, depth_mm: f64) -> f64 {
        let end = (-self.falloff_per_mm * self.range_mm).exp();
        (((-self.falloff_per_mm * depth_mm.max(0.0)).exp() - end) / (1.0 - end)).max(0.0)
    }
}

/// The two pairs of jaws. Their faces follow the beam's divergence; the blur of their edges is their mid-plane's.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JawModel {
    /// Mid-plane of the X jaws from the target, mm.
    pub x_distance_mm: f64,
    /// Mid-plane of the Y jaws from the target, mm.
    pub y_distance_mm: f64,
    /// Part of the primary that passes one pair of jaws.
    pub transmission: f64,
}

/// A multileaf collimator.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaves {
    pub name: String,
    pub description: String,
    /// Mid-plane of the leaves from the target, mm.
    pub distance_mm: f64,
    /// Height of a leaf along the beam, mm.
    pub thickness_mm: f64,
    /// Radius of the rounded leaf end, mm.
    pub end_radius_mm: f64,
    /// Part of the primary that passes the full height of a leaf.
    pub transmission: f64,
    /// Part of the primary that passes where two closed leaves join (tongue, groove and the gap between them).
    pub interleaf_transmission: f64,
    /// Width of the tongue at the leaf plane, mm.
    pub tongue_mm: f64,
    /// Either tip of a pair stands so much farther from the other than plans state, mm at the isocentre plane: what calibration and readout
    /// of the leaves leave. With twice the retreat of the rounded ends ([`Self::end_retreat_mm`]) it is the dosimetric leaf gap.
    #[serde(skip)]
    pub offset_mm: f64,
    /// Sides of the leaves, mm at the isocentre plane, ascending; pairs + 1 values.
    pub boundaries_mm: Vec<f64>,
}

/// Limits of what the machine delivers. Lengths of leaves are at the isocentre plane.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Monitor units a minute, at most.
    pub dose_rate_mu_min: f64,
    /// Degrees a second, at most.
    pub gantry_speed_deg_s: f64,
    /// Speed of a leaf, at most, mm/s.
    pub leaf_speed_mm_s: f64,
    /// Opposing tips of a pair, as plans state them, come no closer while the beam is on, mm.
    pub min_gap_mm: f64,
    /// Maximum leaf span of a carriage while the beam is on, mm: the difference between the extreme positions of a bank's leaves.
    pub max_span_mm: f64,
    /// Whether a leaf may pass the opposing leaves of the pairs beside its own.
    pub interdigitates: bool,
}

impl Delivery {
    /// The limits at the dose rate that a beam is set to.
    #[must_use]
    pub fn at_rate_of(self, beam: &case::Beam) -> Self {
        let set = beam.dose_rate_mu_min.unwrap_or(self.dose_rate_mu_min);
        Self {
            dose_rate_mu_min: set.min(self.dose_rate_mu_min),
            ..self
        }
    }
}

impl Leaves {
    /// The leaves in the form of a beam's MLC (leaf travel along X).
    pub fn to_case(&self) -> case::Mlc {
        case::Mlc {
            axis: case::MlcAxis::X,
            boundaries_mm: self.boundaries_mm.clone(),
        }
    }
}

/// Calibration of the monitor unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Calibration {
    /// Dose per MU in water at a depth on the axis of a field.
    Reference {
        /// Field sides (x, y) at the isocentre plane, mm.
        field_mm: [f64; 2],
        /// Source to surface, mm.
        ssd_mm: f64,
        depth_mm: f64,
        gy_per_mu: f64,
    },
    /// One MU is one photon per cm2 on the axis at the isocentre plane: "dose" is in Gy cm2.
    PhotonFluence {},
}

/// A beam whose fluence falls below this share of the axis 15 cm off it has no flattening filter: published profiles
/// of flattened beams stay above 0.9 there, profiles of unflattened ones of 6 MV and more fall below 0.8.
const FLAT_AT_150_MM: f64 = 0.85;

impl Machine {
    /// Whether its beam has a flattening filter; an ideal point source has neither filter nor profile.
    pub fn is_flattened(&self) -> Option<bool> {
        let ideal = matches!(self.calibration, Calibration::PhotonFluence {});
        (!ideal).then(|| self.off_axis.at(150.0) > FLAT_AT_150_MM)
    }

    /// Angle to the axis of the ray through a point of the isocentre plane, degrees.
    pub fn off_axis_deg(&self, x_iso_mm: f64, y_iso_mm: f64) -> f64 {
        let radius_mm = (x_iso_mm * x_iso_mm + y_iso_mm * y_iso_mm).sqrt();
        (radius_mm / self.sad_mm).atan().to_degrees()
    }

    /// Factor on the attenuation coefficients of the primary beam on its way to a point, at an angle to the axis: above 1
    /// where the beam is softer than on the axis.
    pub fn softening(&self, off_axis_deg: f64) -> f64 {
        self.softening.at(off_axis_deg)
    }
}
