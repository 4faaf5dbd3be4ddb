//! A treatment beam: angles, collimation, monitor units; the one check of leaf boundaries.

use super::cut_from::CutFrom;
use super::fluence_limits::FluenceLimit;
use super::fluence_map::FluenceMap;
use super::structure::is_same_name;
use super::{Structure, StructureKind};
use geometry::{BeamFrame, PatientPosition};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One beam. Control points are complete (inheritance of DICOM is already resolved).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beam {
    pub name: String,
    /// DICOM beam number; unique in the plan.
    pub number: u32,
    /// Machine of this beam where it differs from the plan's; a shipped name or a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The treatment machine that its file names, where that is none of the shipped ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub treatment_machine: Option<String>,
    #[serde(default)]
    pub radiation: Radiation,
    /// Nominal energy, MV, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_mv: Option<f64>,
    /// Whether the plan has a beam without flattening filter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unflattened: bool,
    /// Source-axis distance of the plan, mm, where stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_axis_mm: Option<f64>,
    /// Monitor units per fraction.
    pub mu: f64,
    /// Dose rate that the machine is set to, MU a minute, where stated: leaves that move meanwhile were made for it. No dose hangs on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dose_rate_mu_min: Option<f64>,
    /// Patient LPS, mm.
    pub isocentre_mm: DVec3,
    /// The leaves, if the beam has an MLC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mlc: Option<Mlc>,
    /// The requested fluence, in place of what the leaves let through; no leaves deliver it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fluence: Option<FluenceMap>,
    /// Upper bounds of that fluence, by ascending beamlet; no beamlet without one is bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fluence_limits: Vec<FluenceLimit>,
    /// The map that the leaves were cut from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from: Option<Box<CutFrom>>,
    /// At least one; the last has `meterset_weight` 1 (a static beam has one, of weight 1).
    pub control_points: Vec<ControlPoint>,
    /// An imaging or setup field: shown, never delivered, never missing from a sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub setup: bool,
    /// Switched off by the user: not in the plan's sum, not delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
    /// Why this beam cannot be computed or edited (electrons, protons, setup field), if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<String>,
    /// Parts of this beam that no engine models, a few words each (`wedge 30 degrees`): caveats of its dose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_modelled: Vec<String>,
    /// Identifiers of accessories in the beam (trays): the machine file has their factors, and one without a factor is a caveat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accessories: Vec<String>,
    /// Boluses that are taken off for this beam, by name; all others of the case lie on the patient.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_boluses: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Radiation {
    #[default]
    Photon,
    Electron,
    Proton,
    Other,
}

/// State of the machine at a fraction of the beam's monitor units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlPoint {
    /// Cumulative, 0 to 1.
    pub meterset_weight: f64,
    pub gantry_deg: f64,
    pub collimator_deg: f64,
    pub couch_deg: f64,
    pub jaws: Jaws,
    /// Leaf tip positions, one entry a leaf pair: `[negative bank, positive bank]`, mm at the isocentre
    /// plane. Empty where the beam has no MLC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_mm: Vec<Bank>,
}

/// Tips of one leaf pair: negative bank, positive bank, mm at the isocentre plane.
pub type Bank = [f64; 2];

/// Jaw positions `[negative, positive]`, mm at the isocentre plane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jaws {
    pub x: [f64; 2],
    pub y: [f64; 2],
}

/// Leaf travel axis and leaf sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlc {
    pub axis: MlcAxis,
    /// Leaf sides across the direction of travel, mm at the isocentre plane: pairs + 1 ascending values.
    pub boundaries_mm: Vec<f64>,
}

/// Narrower leaves are of no collimator; boundaries stated in cm or m have them. Assumed (`assets/PHYSICS.md`).
const NARROWEST_LEAF_MM: f64 = 1.5;

/// Why leaf boundaries belong to no collimator.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum LeafBoundaryError {
    #[error("its leaves need two or more boundaries, each a finite number of mm")]
    Count,
    #[error(
        "the boundaries of its leaves do not ascend ({low_mm} mm, then {high_mm} mm): list them from the lowest up"
    )]
    Order { low_mm: f64, high_mm: f64 },
    #[error(
        "its leaf pair {pair} is {width_mm:.3} mm wide, narrower than the leaves of any collimator ({NARROWEST_LEAF_MM} mm): \
         state the boundaries in mm at the isocentre plane"
    )]
    Narrow { pair: usize, width_mm: f64 },
}

/// The one check of leaf boundaries, of plans and of machines.
///
/// # Errors
/// [`LeafBoundaryError`] with the first fault.
pub fn check_leaf_boundaries(boundaries_mm: &[f64]) -> Result<(), LeafBoundaryError> {
    if boundaries_mm.len() < 2 || boundaries_mm.iter().any(|mm| !mm.is_finite()) {
        return Err(LeafBoundaryError::Count);
    }
    for (row, side) in boundaries_mm.windows(2).enumerate() {
        let (low_mm, high_mm) = (side[0], side[1]);
        if low_mm >= high_mm {
            return Err(LeafBoundaryError::Order { low_mm, high_mm });
        }
        if high_mm - low_mm < NARROWEST_LEAF_MM {
            return Err(LeafBoundaryError::Narrow {
                pair: row + 1,
                width_mm: high_mm - low_mm,
            });
        }
    }
    Ok(())
}

/// Direction of leaf travel in the beam limiting device frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MlcAxis {
    X,
    Y,
}

impl ControlPoint {
    /// Itself with the jaws and leaves that it has after a part of its way to another, 0 to 1.
    #[must_use]
    pub fn on_the_way_to(&self, to: &Self, part: f64) -> Self {
        let (x, y) = (
            interpolated(self.jaws.x, to.jaws.x, part),
            interpolated(self.jaws.y, to.jaws.y, part),
        );
        let leaves = self.leaves_mm.iter().zip(&to.leaves_mm);
        Self {
            jaws: Jaws { x, y },
            leaves_mm: leaves.map(|(a, b)| interpolated(*a, *b, part)).collect(),
            ..*self
        }
    }
}

fn interpolated(from: [f64; 2], to: [f64; 2], part: f64) -> [f64; 2] {
    [0, 1].map(|side| from[side] + part * (to[side] - from[side]))
}

impl Beam {
    /// A static photon beam.
    pub fn fixed(
        name: &str,
        number: u32,
        gantry_deg: f64,
        isocentre_mm: DVec3,
        jaws: Jaws,
        mu: f64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            number,
            machine: None,
            treatment_machine: None,
            radiation: Radiation::Photon,
            energy_mv: None,
            unflattened: false,
            source_axis_mm: None,
            mu,
            dose_rate_mu_min: None,
            isocentre_mm,
            mlc: None,
            fluence: None,
            fluence_limits: Vec::new(),
            cut_from: None,
            control_points: vec![ControlPoint {
                meterset_weight: 1.0,
                gantry_deg,
                collimator_deg: 0.0,
                couch_deg: 0.0,
                jaws,
                leaves_mm: Vec::new(),
            }],
            read_only: None,
            not_modelled: Vec::new(),
            accessories: Vec::new(),
            without_boluses: Vec::new(),
            setup: false,
            off: false,
        }
    }

    /// Whether a structure takes part in this beam: all but the boluses that are taken off for it.
    pub fn meets(&self, structure: &Structure) -> bool {
        structure.kind != StructureKind::Bolus
            || !self
                .without_boluses
                .iter()
                .any(|name| is_same_name(name, &structure.name))
    }

    /// Whether a bolus of this name is taken off for this beam.
    pub(super) fn is_without_bolus(&self, name: &str) -> bool {
        self.without_boluses
            .iter()
            .any(|other| is_same_name(other, name))
    }

    /// Takes a bolus off for this beam, or lays it back on.
    pub fn set_bolus(&mut self, name: &str, on: bool) {
        self.without_boluses
            .retain(|other| !is_same_name(other, name));
        if !on {
            self.without_boluses.push(name.to_owned());
        }
    }

    /// Parts of the beam that its file alone states and no new file of it would, a few words each.
    pub fn parts_of_its_file(&self) -> Vec<String> {
        let accessories = self
            .accessories
            .iter()
            .map(|id| format!("accessory '{id}'"));
        self.not_modelled
            .iter()
            .cloned()
            .chain(accessories)
            .collect()
    }

    /// Whether the beam is meant to be delivered: for treatment, and not switched off.
    pub fn is_switched_on(&self) -> bool {
        !self.setup && !self.off
    }

    /// The beam limiting device's frame at one of its control points.
    pub fn frame_at(
        &self,
        point: &ControlPoint,
        position: PatientPosition,
        sad_mm: f64,
    ) -> BeamFrame {
        let ControlPoint {
            gantry_deg,
            collimator_deg,
            couch_deg,
            ..
        } = *point;
        BeamFrame::new(
            position,
            gantry_deg,
            collimator_deg,
            couch_deg,
            self.isocentre_mm,
            sad_mm,
        )
    }

    /// The first control point: the start of the beam, and all of a static one.
    pub fn start(&self) -> Option<&ControlPoint> {
        self.control_points.first()
    }
}

impl Jaws {
    /// A symmetric field of the given sides, mm.
    pub fn symmetric(x_mm: f64, y_mm: f64) -> Self {
        Self {
            x: [-x_mm / 2.0, x_mm / 2.0],
            y: [-y_mm / 2.0, y_mm / 2.0],
        }
    }

    /// Sides of the field, mm at the isocentre plane.
    pub fn sides_mm(&self) -> [f64; 2] {
        [self.x, self.y].map(|[low, high]| high - low)
    }

    /// Side of the square field that scatters alike, mm: four times the area over the perimeter (Sterling, Perry and
    /// Katz, Br. J. Radiol. 37 (1964) 544). `None` for a closed field.
    pub fn equivalent_square_mm(&self) -> Option<f64> {
        let [x, y] = self.sides_mm();
        self.is_open().then(|| 2.0 * x * y / (x + y))
    }

    pub fn is_open(&self) -> bool {
        self.x[1] > self.x[0] && self.y[1] > self.y[0]
    }
}
