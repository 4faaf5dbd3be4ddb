//! How apertures are fitted and edited, and which control point of a dynamic beam is displayed.

pub mod fits;

use crate::state::State;
use analysis::{FitSettings, target_of};
use case::{Beam, Structure, StructureKind};
use std::ops::RangeInclusive;

/// Settings of the aperture tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aperture {
    /// The structure, by ROI number, that apertures are fitted to; `None`: the plan's target.
    pub structure: Option<u32>,
    pub how: FitSettings,
    /// Whether the margin is set separately for each side.
    pub per_side: bool,
    /// Whether a drag in the beam's-eye view sets all leaves that it passes.
    pub brush: bool,
    /// Fitted apertures are fitted again whenever what they were fitted to moves.
    pub follows: bool,
    /// The brush that bounds the fluence of a map, and whether it is active.
    pub limits: LimitBrush,
    /// The beam, by number, and the index of its displayed control point.
    pub point: (u32, usize),
    pub plays: bool,
}

/// A brush over the map in the beam's-eye view: what it passes gets an upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitBrush {
    pub on: bool,
    /// The bound, percent of the greatest fluence of the map.
    pub percent: f64,
    /// Takes bounds away instead.
    pub erases: bool,
    /// At the isocentre plane.
    pub diameter_mm: f64,
}

impl LimitBrush {
    pub const DIAMETERS_MM: RangeInclusive<f64> = 1.0..=150.0;

    /// The bound that a stroke sets; `None` takes bounds away.
    pub fn bound(&self) -> Option<f64> {
        (!self.erases).then_some(self.percent)
    }
}

impl Default for LimitBrush {
    fn default() -> Self {
        Self {
            on: false,
            percent: 30.0,
            erases: false,
            diameter_mm: 15.0,
        }
    }
}

impl State {
    /// The index of the displayed control point of a beam; 0 if none was chosen.
    pub fn shown_point(&self, beam: &Beam) -> usize {
        let (number, index) = self.aperture.point;
        let last = beam.control_points.len().saturating_sub(1);
        if number == beam.number {
            index.min(last)
        } else {
            0
        }
    }

    /// The structure that apertures are fitted to: the chosen one, else the plan's target, else any target.
    pub fn fitted_structure(&self) -> Option<&Structure> {
        let set = &self.case().structures;
        let chosen = self
            .aperture
            .structure
            .and_then(|number| set.by_number(number));
        chosen.or_else(|| target_of(self.plan()?, set)).or_else(|| {
            StructureKind::TARGETS
                .into_iter()
                .find_map(|kind| set.structures.iter().find(|s| s.kind == kind))
        })
    }
}
