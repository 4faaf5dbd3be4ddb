//! Tables of a beam: its leaves or its map, and each of its positions with the collimators that move there.

use super::raster::{PositionOutput, Raster, WIDEST_MM};
use super::source::{HeadRequest, HeadSource, MachineOutput};
use super::tables::{self, BeamPosition};
use crate::JobControl;
use crate::dose::{DoseError, Quality};
use case::{Beam, ControlPoint, MlcAxis};
use geometry::{BeamFrame, Grid};
use glam::DVec3;
use physics::{Exposure, Fluence, Machine, Segment, exposures};

impl HeadSource {
    /// Adds the positions of a beam, and returns their output.
    pub(super) fn add_beam(
        &mut self,
        request: HeadRequest<'_>,
        beam: &Beam,
        machine: &Machine,
        output: MachineOutput,
        control: &JobControl,
    ) -> Result<Vec<PositionOutput>, DoseError> {
        let shape = self.add_shape(beam);
        let mut outputs = Vec::new();
        for exposure in exposures(beam, Quality::Full.arc_step_deg()) {
            control.check()?;
            let fluence = Fluence::new(machine, beam, &exposure)?;
            let frame = BeamFrame::new(
                request.patient.position,
                exposure.gantry_deg,
                exposure.collimator_deg,
                exposure.couch_deg,
                beam.isocentre_mm,
                machine.sad_mm,
            );
            let raster = Raster::over(machine, &frame, request.lattice);
            let photons =
                exposure.transmitted_mu(machine, beam, request.patient) * output.photons_per_cm2;
            let (first_segment, segments) = self.add_segments(&exposure, machine);
            outputs.push(PositionOutput::new(
                self.beam_positions.len(),
                &raster,
                &fluence,
                machine,
                output,
                photons,
            ));
            self.beam_positions.push(BeamPosition {
                segments_at: first_segment as u32,
                segments: segments as u32,
                ..position_of(shape, &frame, &raster, request.lattice)
            });
        }
        Ok(outputs)
    }

    /// Leaves or map of a beam, as all its positions have them; the map stands in place of the leaves, where it has both.
    fn add_shape(&mut self, beam: &Beam) -> BeamPosition {
        let (axis, boundaries_mm) = match (&beam.fluence, &beam.mlc) {
            (Some(map), _) => (map.axis, &map.rows_mm),
            (None, Some(mlc)) => (mlc.axis, &mlc.boundaries_mm),
            (None, None) => return BeamPosition::default(),
        };
        let shape = BeamPosition {
            boundaries_at: self.leaf_boundaries_mm.len() as u32,
            pairs: boundaries_mm.len().saturating_sub(1) as u32,
            along_y: u32::from(axis == MlcAxis::Y),
            ..BeamPosition::default()
        };
        self.leaf_boundaries_mm.extend(boundaries_mm);
        let Some(map) = &beam.fluence else {
            return shape;
        };
        let map_at = self.map_values.len() as u32;
        self.map_values.extend(&map.values);
        BeamPosition {
            map_at,
            map_columns: map.columns as u32,
            map_first_mm: map.first_mm as f32,
            map_step_mm: map.step_mm as f32,
            ..shape
        }
    }

    /// Adds the segments of an exposure; returns the first of them and their number.
    fn add_segments(&mut self, exposure: &Exposure<'_>, machine: &Machine) -> (usize, usize) {
        let first = self.segments.len();
        let mut until = 0.0;
        for segment in &exposure.segments {
            until += segment.weight;
            let [jaws_from_mm, jaws_to_mm] = segment.span.map(|part| jaws_at(segment, part));
            self.segments.push(tables::Segment {
                until: until as f32,
                jaws_from_mm,
                jaws_to_mm,
                tips_at: self.tips_mm.len() as u32,
            });
            for part in segment.span {
                let pairs = segment.from.leaves_mm.iter().zip(&segment.to.leaves_mm);
                let planned =
                    pairs.map(|(a, b)| [0, 1].map(|bank| a[bank] + part * (b[bank] - a[bank])));
                let tips = planned.flat_map(|tips| match &machine.leaves {
                    Some(leaves) => leaves.standing_tips_mm(tips),
                    None => tips,
                });
                self.tips_mm.extend(tips.map(|mm| mm as f32));
            }
        }
        (first, self.segments.len() - first)
    }
}

/// Jaws at a part of the way between a segment's control points: x low, x high, y low, y high, mm.
fn jaws_at(segment: &Segment<'_>, part: f64) -> [f32; 4] {
    let [from, to] = [segment.from, segment.to].map(jaws_of);
    [0, 1, 2, 3].map(|i| (from[i] + part * (to[i] - from[i])).clamp(-WIDEST_MM, WIDEST_MM) as f32)
}

fn jaws_of(point: &ControlPoint) -> [f64; 4] {
    let [x, y] = [point.jaws.x, point.jaws.y];
    [x[0], x[1], y[0], y[1]]
}

/// A beam's shape with its direction in the frame of the lattice and its raster of cells.
fn position_of(
    shape: BeamPosition,
    frame: &BeamFrame,
    raster: &Raster,
    lattice: &Grid,
) -> BeamPosition {
    let low_edges = [0, 1, 2].map(|axis| lattice.edges_mm(axis)[0]);
    let low_corner = lattice.patient_from_local(DVec3::from(low_edges));
    let source_mm = lattice.local_direction(frame.source_mm - low_corner);
    BeamPosition {
        source_cm: (source_mm / 10.0).as_vec3().to_array(),
        axes: frame
            .axes
            .map(|axis| lattice.local_direction(axis).as_vec3().to_array()),
        corner_mm: raster.corner_mm.map(|mm| mm as f32),
        cell_mm: raster.cell_mm.map(|mm| mm as f32),
        columns: raster.size[0] as u32,
        ..shape
    }
}
