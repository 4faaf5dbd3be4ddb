//! A density that a planner gives a structure for dose calculations, in place of the CT's.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The density of a structure for dose calculations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DensityOverride {
    #[serde(flatten)]
    pub density: Density,
    /// Its atoms; without one those that the HU table has at that density.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<Medium>,
    /// Switched off: kept, and the CT's densities count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Density {
    #[serde(rename = "mass_g_cm3")]
    MassGCm3(f64),
    /// Electrons per volume, water = 1.
    #[serde(rename = "relative_electrons")]
    RelativeElectrons(f64),
    /// Density of the CT: a couch or a cushion counts as it was scanned, though it lies outside the body.
    #[serde(rename = "as_scanned")]
    AsScanned,
}

/// Atoms of a density that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    Air,
    Lung,
    Water,
    Bone,
    Titanium,
}

impl Density {
    /// The range of densities of HU tables, too.
    pub const RANGE: std::ops::RangeInclusive<f64> = 0.0..=25.0;

    pub fn value(self) -> Option<f64> {
        match self {
            Self::MassGCm3(value) | Self::RelativeElectrons(value) => Some(value),
            Self::AsScanned => None,
        }
    }
}

impl DensityOverride {
    /// Densities to choose from (`assets/PHYSICS.md`, Densities of structures), g/cm3.
    pub const PRESETS: [(Medium, f64); 5] = [
        (Medium::Water, 1.0),
        (Medium::Air, 0.001_205),
        (Medium::Lung, 0.26),
        (Medium::Bone, 1.92),
        (Medium::Titanium, 4.54),
    ];

    /// The CT's densities, which count outside the body, too.
    pub const AS_SCANNED: Self = Self {
        density: Density::AsScanned,
        medium: None,
        off: false,
    };

    /// A medium with its usual density.
    pub fn preset(medium: Medium) -> Self {
        let mass = Self::PRESETS
            .iter()
            .find(|(m, _)| *m == medium)
            .map_or(1.0, |(_, mass)| *mass);
        Self {
            density: Density::MassGCm3(mass),
            medium: Some(medium),
            off: false,
        }
    }

    /// Why its number cannot be, if so.
    pub fn fault(&self) -> Option<String> {
        let value = self.density.value()?;
        let range = Density::RANGE;
        (!range.contains(&value)).then(|| {
            format!(
                "its density {value} is no number from {} to {}: type another",
                range.start(),
                range.end()
            )
        })
    }
}

impl Medium {
    pub fn name(self) -> &'static str {
        match self {
            Self::Air => "Air",
            Self::Lung => "Lung",
            Self::Water => "Water",
            Self::Bone => "Bone",
            Self::Titanium => "Titanium",
        }
    }
}

impl fmt::Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MassGCm3(value) if *value < 0.01 => write!(f, "{value:.4} g/cm³"),
            Self::MassGCm3(value) => write!(f, "{value:.2} g/cm³"),
            Self::RelativeElectrons(value) => write!(f, "{value:.3} rel. el."),
            Self::AsScanned => f.write_str("as scanned"),
        }
    }
}

impl fmt::Display for DensityOverride {
    /// `1.00 g/cm³ (water)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.density)?;
        self.medium.map_or(Ok(()), |medium| {
            write!(f, " ({})", medium.name().to_lowercase())
        })
    }
}
