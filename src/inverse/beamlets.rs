//! Beamlets of a beam: those that see the target, laid out as leaves could deliver them.

use analysis::UNIT_MU;
use case::{Beam, ControlPoint, FluenceLimit, FluenceMap, Jaws, MlcAxis, bounds, turn_deg};
use geometry::{BeamFrame, PatientPosition};
use glam::DVec3;
use physics::Machine;
use rayon::prelude::*;
use thiserror::Error;

/// Margin of the beamlets round the target's projection, mm at the isocentre plane: about a penumbra.
pub(super) const MARGIN_MM: f64 = 5.0;

/// Target points in the work item of a thread.
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
    #[error(
        "beam '{beam}' turns while it delivers: a fluence map belongs to a beam from one direction"
    )]
    Moves { beam: String },
    #[error(
        "beam '{beam}' is on the machine '{machine}', which has no leaves: choose a machine with an MLC"
    )]
    NoLeaves { beam: String, machine: String },
    #[error(
        "no part of a target lies in the field that the leaves of beam '{beam}' can open: move its isocentre"
    )]
    NoTarget { beam: String },
    #[error("beam '{beam}' would have {beamlets} beamlets, more than {most}: choose wider ones", most = bounds::MOST_BEAMLETS)]
    TooMany { beam: String, beamlets: usize },
}

/// The first control point of a static beam; jaws and leaves may move, since a map replaces them.
fn static_point(beam: &Beam) -> Option<&ControlPoint> {
    let first = beam.start()?;
    beam.control_points
        .iter()
        .all(|point| has_same_angles(point, first))
        .then_some(first)
}

fn has_same_angles(a: &ControlPoint, b: &ControlPoint) -> bool {
    let angles = [
        (a.gantry_deg, b.gantry_deg),
        (a.collimator_deg, b.collimator_deg),
        (a.couch_deg, b.couch_deg),
    ];
    angles
        .iter()
        .all(|(a, b)| turn_deg(*a, *b).abs() < bounds::SAME_DEG)
}

/// Rows and columns that the leaves of a beam could open.
struct BeamletGrid<'a> {
    frame: BeamFrame,
    axis: MlcAxis,
    leaf_boundaries_mm: &'a [f64],
    step_mm: f64,
    /// Columns on either side of the axis within the reach of the collimator.
    half_columns: usize,
}

impl BeamletGrid<'_> {
    fn columns(&self) -> usize {
        2 * self.half_columns
    }

    /// Whether each beamlet, `[row][column]`, comes within the margin of the projection of some points.
    fn seen(&self, points_mm: &[DVec3]) -> Vec<bool> {
        let (boundaries, columns) = (self.leaf_boundaries_mm, self.columns());
        let mut seen = vec![false; boundaries.len().saturating_sub(1) * columns];
        for (projected, _) in points_mm.iter().filter_map(|mm| self.frame.project(*mm)) {
            let [u, v] = if self.axis == MlcAxis::X {
                projected
            } else {
                [projected[1], projected[0]]
            };
            let first = boundaries
                .partition_point(|side| *side <= v - MARGIN_MM)
                .saturating_sub(1);
            let rows =
                (first..boundaries.len() - 1).take_while(|row| boundaries[*row] < v + MARGIN_MM);
            let span = self.column_at(u - MARGIN_MM) as usize
                ..self.column_at(u + MARGIN_MM).ceil() as usize;
            for row in rows.filter(|row| boundaries[row + 1] > v - MARGIN_MM) {
                seen[row * columns..(row + 1) * columns][span.clone()].fill(true);
            }
        }
        seen
    }

    fn column_at(&self, u_mm: f64) -> f64 {
        (u_mm / self.step_mm + self.half_columns as f64).clamp(0.0, self.columns() as f64)
    }
}

/// Adds the beamlets that `other` has seen.
fn either(mut seen: Vec<bool>, other: Vec<bool>) -> Vec<bool> {
    seen.iter_mut()
        .zip(other)
        .for_each(|(seen, other)| *seen |= other);
    seen
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
        let point = static_point(beam).ok_or_else(|| BeamletError::Moves {
            beam: beam.name.clone(),
        })?;
        let Some(leaves) = &machine.leaves else {
            return Err(BeamletError::NoLeaves {
                beam: beam.name.clone(),
                machine: machine.name.clone(),
            });
        };
        let mut mlc = beam.mlc.clone().unwrap_or_else(|| leaves.to_case());
        if let Some(map) = &beam.fluence {
            mlc.axis = map.axis;
        }
        let grid = BeamletGrid {
            frame: beam.frame_at(point, position, machine.sad_mm),
            axis: mlc.axis,
            leaf_boundaries_mm: &mlc.boundaries_mm,
            step_mm,
            half_columns: (bounds::COLLIMATOR_MM.end() / step_mm) as usize,
        };
        let points = target_mm.par_chunks(POINTS_TOGETHER);
        let is_seen = points
            .map(|points_mm| grid.seen(points_mm))
            .reduce(|| grid.seen(&[]), either);
        let across = grid.columns();
        let mut seen: Vec<(usize, i64)> = (0..is_seen.len())
            .filter(|beamlet| is_seen[*beamlet])
            .map(|beamlet| {
                (
                    beamlet / across,
                    (beamlet % across) as i64 - grid.half_columns as i64,
                )
            })
            .collect();
        if let Some([low, high]) = within_mm {
            let [first, end] = [low, high].map(|mm| (mm / step_mm).round() as i64);
            if seen.iter().any(|(_, column)| (first..end).contains(column)) {
                seen.retain(|(_, column)| (first..end).contains(column));
            } else {
                seen.iter_mut()
                    .for_each(|(_, column)| *column = (*column).clamp(first, end - 1));
                seen.dedup();
            }
        }
        let Some((first_row, last_row)) =
            Some((seen.first(), seen.last())).and_then(|(first, last)| Some((first?.0, last?.0)))
        else {
            return Err(BeamletError::NoTarget {
                beam: beam.name.clone(),
            });
        };
        let low = seen
            .iter()
            .map(|(_, column)| *column)
            .min()
            .unwrap_or_default();
        let high = seen
            .iter()
            .map(|(_, column)| *column)
            .max()
            .unwrap_or_default();
        let columns = (high - low + 1) as usize;
        let beamlets = columns * (last_row + 1 - first_row);
        if beamlets > bounds::MOST_BEAMLETS {
            return Err(BeamletError::TooMany {
                beam: beam.name.clone(),
                beamlets,
            });
        }
        let active = seen
            .iter()
            .map(|(row, column)| (row - first_row) * columns + (column - low) as usize);
        let active: Vec<usize> = active.collect();
        let map = FluenceMap {
            axis: mlc.axis,
            rows_mm: mlc.boundaries_mm[first_row..=last_row + 1].to_vec(),
            first_mm: low as f64 * step_mm,
            step_mm,
            columns,
            values: vec![0.0; beamlets],
        };
        let [u, v] = map.reach_mm();
        let mut beam = beam.clone();
        let jaws = if mlc.axis == MlcAxis::X {
            Jaws { x: u, y: v }
        } else {
            Jaws { x: v, y: u }
        };
        beam.control_points.truncate(1);
        beam.control_points
            .iter_mut()
            .for_each(|point| (point.jaws, point.meterset_weight) = (jaws, 1.0));
        // Leaves that do not shape the dose would be drawn as if they did.
        beam.mlc = None;
        beam.control_points
            .iter_mut()
            .for_each(|point| point.leaves_mm.clear());
        beam.fluence = Some(map);
        beam.fluence_limits.clear();
        Ok(Self { beam, active })
    }

    /// The beam with fluences of the active beamlets, and in the other cells of its map the fluence that leaks there.
    #[must_use]
    pub fn with(&self, fluences: &[f64], leaked: f64) -> Beam {
        let mut beam = self.beam.clone();
        if let Some(map) = &mut beam.fluence {
            map.values.fill(leaked as f32);
            self.active
                .iter()
                .zip(fluences)
                .for_each(|(cell, fluence)| map.values[*cell] = *fluence as f32);
        }
        beam
    }

    /// The beam with fluences of the active beamlets, and the monitor units of the strongest one.
    #[must_use]
    pub fn with_monitor_units(&self, fluences: &[f64], leaked: f64) -> Beam {
        let strongest = fluences.iter().copied().fold(0.0, f64::max);
        let unit = if strongest > 0.0 {
            strongest.recip()
        } else {
            0.0
        };
        let relative: Vec<f64> = fluences.iter().map(|fluence| unit * fluence).collect();
        Beam {
            mu: UNIT_MU * strongest,
            ..self.with(&relative, unit * leaked)
        }
    }

    /// Fluences of another map at the middles of the active beamlets: the start of a beam that is optimised again.
    pub fn carried(&self, from: &FluenceMap) -> Vec<f64> {
        let Some(map) = &self.beam.fluence else {
            return Vec::new();
        };
        let middles_mm = self.active.iter().map(|cell| map.middle_mm(*cell));
        middles_mm
            .map(|middle_mm| f64::from(from.value_at(middle_mm).unwrap_or_default()))
            .collect()
    }

    /// Upper bounds of the active beamlets by the fluence limits of the plan's beam, multiples of [`UNIT_MU`]; infinite where there is
    /// none.
    pub fn upper(&self, plan_beam: &Beam) -> Vec<f64> {
        let limits = self
            .beam
            .fluence
            .as_ref()
            .map(|map| plan_beam.limits_on(map))
            .unwrap_or_default();
        let limits_mu = self
            .active
            .iter()
            .map(|cell| FluenceLimit::of_beamlet(*cell, &limits));
        limits_mu
            .map(|limit_mu| limit_mu.map_or(f64::INFINITY, |mu| mu / UNIT_MU))
            .collect()
    }

    /// Whether each of some points (patient LPS, mm) lies in the path of an active beamlet.
    pub fn see(
        &self,
        machine: &Machine,
        position: PatientPosition,
        points_mm: &[DVec3],
    ) -> Vec<bool> {
        let (Some(map), Some(point)) = (&self.beam.fluence, self.beam.start()) else {
            return vec![false; points_mm.len()];
        };
        let frame = self.beam.frame_at(point, position, machine.sad_mm);
        let beamlets = points_mm.par_iter().map(|mm| {
            frame
                .project(*mm)
                .and_then(|(projected, _)| map.beamlet_at(map.uv(projected)))
        });
        beamlets
            .map(|beamlet| {
                beamlet.is_some_and(|beamlet| self.active.binary_search(&beamlet).is_ok())
            })
            .collect()
    }
}
