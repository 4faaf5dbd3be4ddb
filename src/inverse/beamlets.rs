//! Beamlets of a beam: those that see the target, laid out as leaves could deliver them.

use analysis::UNIT_MU;
use case::{Beam, ControlPoint, FluenceLimit, FluenceMap, Jaws, MlcAxis, bounds, turn_deg};
use geometry::PatientPosition;
use glam::DVec3;
use physics::Machine;
use rayon::prelude::*;
use thiserror::Error;

/// Beamlets reach so far beyond the target's projection, mm at the isocentre plane: the penumbra falls off within it.
pub(super) const MARGIN_MM: f64 = 5.0;

/// Points of a target that a thread projects in turn.
const POINTS_TOGETHER: usize = 4096;

/// A beam with an empty map, and the beamlets of the map that see the target.
#[derive(Clone, Debug)]
pub struct Beamlets {
    /// Jaws round the map; no fluence yet.
    pub beam: Beam,
    /// Indices into the values of the map, ascending. All others stay at 0.
    pub active: Vec<usize>,
}

/// Why a beam has no beamlets.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BeamletError {
    #[error("beam '{beam}' turns while it delivers: a fluence map belongs to a beam from one direction")]
    Moves { beam: String },
    #[error("beam '{beam}' is on the machine '{machine}', which has no leaves: choose a machine with an MLC")]
    NoLeaves { beam: String, machine: String },
    #[error(
        "no part of a target lies in the field that the leaves of beam '{beam}' can open: move its isocentre"
    )]
    NoTarget { beam: String },
    #[error("beam '{beam}' would have {beamlets} beamlets, more than {most}: choose wider ones", most = bounds::MOST_BEAMLETS)]
    TooMany { beam: String, beamlets: usize },
}

/// The first control point of a beam from one direction; its collimators may move, a map replaces them.
fn stands_still(beam: &Beam) -> Option<&ControlPoint> {
    let first = beam.start()?;
    let angles = |p: &ControlPoint| [p.gantry_deg, p.collimator_deg, p.couch_deg];
    let same = |p: &ControlPoint| {
        angles(p).iter().zip(angles(first)).all(|(a, b)| turn_deg(*a, b).abs() < bounds::SAME_DEG)
    };
    beam.control_points.iter().all(same).then_some(first)
}

impl Beamlets {
    /// The beamlets of a beam that come within 5 mm of the projection of a target's voxels, `target_mm` (patient LPS). Rows are
    /// the machine's leaves, columns `step_mm` wide from the axis on, none of them beyond `within_mm`: where no target is seen there, the
    /// outermost column is kept, so that each field has beamlets.
    ///
    /// # Errors
    /// [`BeamletError`].
    pub fn new(
        beam: &Beam,
        machine: &Machine,
        position: PatientPosition,
        target_mm: &[DVec3],
        step_mm: f64,
        within_mm: Option<[f64; 2]>,
    ) -> Result<Self, BeamletError> {
        let name = || beam.name.clone();
        let point = stands_still(beam).ok_or_else(|| BeamletError::Moves { beam: name() })?;
        let Some(leaves) = &machine.leaves else {
            return Err(BeamletError::NoLeaves { beam: name(), machine: machine.name.clone() });
        };
        let mut mlc = beam.mlc.clone().unwrap_or_else(|| leaves.to_case());
        if let Some(map) = &beam.fluence {
            mlc.axis = map.axis;
        }
        let frame = beam.frame_at(point, position, machine.sad_mm);
        let sides = &mlc.boundaries_mm;
        let columns = (bounds::COLLIMATOR_MM.end() / step_mm) as usize;
        // Columns on either side of the axis within the reach of the collimator.
        let across = 2 * columns;
        let see = |points_mm: &[DVec3]| {
            let mut seen = vec![false; sides.len().saturating_sub(1) * across];
            for (at, _) in points_mm.iter().filter_map(|mm| frame.project(*mm)) {
                let [u, v] = if mlc.axis == MlcAxis::X { at } else { [at[1], at[0]] };
                let first = sides.partition_point(|side| *side <= v - MARGIN_MM).saturating_sub(1);
                let rows = (first..sides.len() - 1).take_while(|row| sides[*row] < v + MARGIN_MM);
                let place = |mm: f64| (mm / step_mm + columns as f64).clamp(0.0, across as f64);
                let span = place(u - MARGIN_MM) as usize..place(u + MARGIN_MM).ceil() as usize;
                for row in rows.filter(|row| sides[row + 1] > v - MARGIN_MM) {
                    seen[row * across..(row + 1) * across][span.clone()].fill(true);
                }
            }
            seen
        };
        let either = |mut one: Vec<bool>, other: Vec<bool>| {
            one.iter_mut().zip(other).for_each(|(one, other)| *one |= other);
            one
        };
        let seen = target_mm.par_chunks(POINTS_TOGETHER).map(see).reduce(|| see(&[]), either);
        let mut seen: Vec<(usize, i64)> = (0..seen.len())
            .filter(|at| seen[*at])
            .map(|at| (at / across, (at % across) as i64 - columns as i64))
            .collect();
        if let Some([low, high]) = within_mm {
            let [first, end] = [low, high].map(|mm| (mm / step_mm).round() as i64);
            let is_within = |(_, column): &(usize, i64)| (first..end).contains(column);
            if seen.iter().any(is_within) {
                seen.retain(is_within);
            } else {
                seen.iter_mut().for_each(|(_, column)| *column = (*column).clamp(first, end - 1));
                seen.dedup();
            }
        }
        let Some((first_row, last_row)) =
            Some((seen.first(), seen.last())).and_then(|(first, last)| Some((first?.0, last?.0)))
        else {
            return Err(BeamletError::NoTarget { beam: name() });
        };
        let of_columns = || seen.iter().map(|(_, column)| *column);
        let (low, high) = (of_columns().min().unwrap_or_default(), of_columns().max().unwrap_or_default());
        let columns = (high - low + 1) as usize;
        let beamlets = columns * (last_row + 1 - first_row);
        if beamlets > bounds::MOST_BEAMLETS {
            return Err(BeamletError::TooMany { beam: name(), beamlets });
        }
        let active = seen.iter().map(|(row, column)| (row - first_row) * columns + (column - low) as usize);
        let active: Vec<usize> = active.collect();
        let map = FluenceMap {
            axis: mlc.axis,
            rows_mm: sides[first_row..=last_row + 1].to_vec(),
            first_mm: low as f64 * step_mm,
            step_mm,
            columns,
            values: vec![0.0; beamlets],
        };
        let [u, v] = map.reach_mm();
        let mut beam = beam.clone();
        let jaws = if mlc.axis == MlcAxis::X { Jaws { x: u, y: v } } else { Jaws { x: v, y: u } };
        beam.control_points.truncate(1);
        beam.control_points.iter_mut().for_each(|point| (point.jaws, point.meterset_weight) = (jaws, 1.0));
        // Leaves that do not shape the dose would be drawn as if they did.
        beam.mlc = None;
        beam.control_points.iter_mut().for_each(|point| point.leaves_mm.clear());
        beam.fluence = Some(map);
        beam.fluence_limits.clear();
        Ok(Self { beam, active })
    }

    /// The beam with fluences of the active beamlets.
    #[must_use]
    pub fn with(&self, fluences: &[f64]) -> Beam {
        let mut beam = self.beam.clone();
        if let Some(map) = &mut beam.fluence {
            self.active.iter().zip(fluences).for_each(|(at, value)| map.values[*at] = *value as f32);
        }
        beam
    }

    /// The beam with fluences of the active beamlets; its monitor units are those of the strongest.
    #[must_use]
    pub fn with_monitor_units(&self, fluences: &[f64]) -> Beam {
        let strongest = fluences.iter().copied().fold(0.0, f64::max);
        let relative: Vec<f64> =
            fluences.iter().map(|x| if strongest > 0.0 { x / strongest } else { 0.0 }).collect();
        Beam { mu: UNIT_MU * strongest, ..self.with(&relative) }
    }

    /// Fluences of the active beamlets in another map, by place: what is carried over when a beam is optimised again.
    pub fn carried(&self, from: &FluenceMap) -> Vec<f64> {
        let Some(map) = &self.beam.fluence else { return Vec::new() };
        let value = |at: &usize| f64::from(from.value_at(map.middle_mm(*at)).unwrap_or_default());
        self.active.iter().map(value).collect()
    }

    /// Upper bounds of the active beamlets by those that the plan's beam has in their places, multiples of [`UNIT_MU`]; infinite where
    /// there is none.
    pub fn upper(&self, of: &Beam) -> Vec<f64> {
        let limits = self.beam.fluence.as_ref().map(|map| of.limits_on(map)).unwrap_or_default();
        let bound =
            |at: &usize| FluenceLimit::of_beamlet(*at, &limits).map_or(f64::INFINITY, |mu| mu / UNIT_MU);
        self.active.iter().map(bound).collect()
    }

    /// Whether each of some points (patient LPS, mm) lies in the path of an active beamlet.
    pub fn see(&self, machine: &Machine, position: PatientPosition, points_mm: &[DVec3]) -> Vec<bool> {
        let (Some(map), Some(point)) = (&self.beam.fluence, self.beam.start()) else {
            return vec![false; points_mm.len()];
        };
        let frame = self.beam.frame_at(point, position, machine.sad_mm);
        let is_seen = |mm: &DVec3| {
            let beamlet = frame.project(*mm).and_then(|(at, _)| map.beamlet_at(map.uv(at)));
            beamlet.is_some_and(|beamlet| self.active.binary_search(&beamlet).is_ok())
        };
        points_mm.par_iter().map(is_seen).collect()
    }

    /// Pairs of active beamlets, by their index among them, that lie beside each other along the leaf's travel.
    pub fn neighbours(&self) -> Vec<[usize; 2]> {
        let columns = self.beam.fluence.as_ref().map_or(1, |map| map.columns);
        let pairs = self.active.windows(2).enumerate();
        pairs
            .filter(|(_, pair)| pair[1] == pair[0] + 1 && pair[1] % columns != 0)
            .map(|(n, _)| [n, n + 1])
            .collect()
    }
}
