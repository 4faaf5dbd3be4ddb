//! Tables of beams: the heads of their machines, their directions, their collimators, and the cells of the isocentre
//! plane through which histories start.

use super::request::MccsRequest;
use super::tables::{BeamPosition, Cell, Head, RADII, RADIUS_STEP_MM, Segment};
use crate::JobControl;
use crate::cccs::calibrate::MonitorUnit;
use crate::dose::{DoseError, Quality};
use crate::histories::alias::alias_table;
use case::{Beam, MlcAxis};
use geometry::{BeamFrame, Grid};
use glam::DVec3;
use physics::{Exposure, Fluence, Machine, exposures};
use rayon::prelude::*;
use std::sync::Arc;

/// Cells are no finer than this, and no more than so many each way, mm.
const FINEST_MM: f64 = 2.5;
const MOST_CELLS: usize = 128;
/// A cell beside an open one is drawn at least this often: averages over cells are coarse at the field's edge.
const EDGE: f64 = 0.3;
/// The collimators' reach, as in the fluence, mm.
const WIDEST_MM: f64 = 400.0;

/// The monitor unit of a machine.
pub type MonitorUnitOf<'a> = &'a dyn Fn(&Machine) -> Result<MonitorUnit, DoseError>;

/// A machine, and all that is drawn from it.
pub struct MachineHead {
    pub machine: Arc<Machine>,
    pub per_mu: MonitorUnit,
    /// Photons and electrons: where their cells begin, how many there are, and the photons (or, for electrons, photons at the
    /// reference point) in all.
    pub photons: Cells,
    pub electrons: Option<Cells>,
}

/// Cells of one alias table.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    pub at: usize,
    pub count: usize,
    pub total: f64,
}

/// All beams of a request.
#[derive(Default)]
pub struct Heads {
    pub machines: Vec<MachineHead>,
    pub heads: Vec<Head>,
    pub horns: Vec<f32>,
    pub beam_positions: Vec<BeamPosition>,
    pub segments: Vec<Segment>,
    pub tips_mm: Vec<f32>,
    pub leaf_boundaries_mm: Vec<f64>,
    pub map_values: Vec<f32>,
    pub cells: Vec<Cell>,
}

/// Output of a beam position through each cell: photons by source, and electrons.
struct PositionOutput {
    position: usize,
    /// Cells in a row.
    columns: usize,
    /// Photons through a cell with nothing in their way.
    weight: f64,
    photons: Vec<[f64; 2]>,
    electrons: Vec<f64>,
}

impl Heads {
    /// # Errors
    /// Beams without fluence, machines without dose at their reference condition, and a cancelled job.
    pub fn new(
        request: &MccsRequest,
        grid: &Grid,
        monitor_unit: MonitorUnitOf<'_>,
        control: &JobControl,
    ) -> Result<Self, DoseError> {
        let mut all = Self::default();
        let mut machines: Vec<&Arc<Machine>> = Vec::new();
        for (_, machine) in &request.beams {
            if !machines.iter().any(|m| **m == *machine) {
                machines.push(machine);
            }
        }
        for machine in machines {
            let per_mu = monitor_unit(machine)?;
            let mut outputs = Vec::new();
            for (beam, _) in request.beams.iter().filter(|(_, m)| m == machine) {
                all.add_beam(request, beam, machine, &per_mu, grid, control, &mut outputs)?;
            }
            all.add_head(machine, per_mu, &outputs)?;
        }
        Ok(all)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what the tables of a beam are made of"
    )]
    fn add_beam(
        &mut self,
        request: &MccsRequest,
        beam: &Beam,
        machine: &Machine,
        per_mu: &MonitorUnit,
        grid: &Grid,
        control: &JobControl,
        outputs: &mut Vec<PositionOutput>,
    ) -> Result<(), DoseError> {
        let shaped = self.add_shape(beam);
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
            let raster = Raster::over(machine, &frame, grid);
            let photons = exposure.transmitted_mu(machine, beam, &request.patient) * per_mu.fluence;
            let position = self.add_position(shaped, &exposure, machine, &frame, grid, &raster);
            outputs.push(PositionOutput::new(
                position, &raster, &fluence, machine, per_mu, photons,
            ));
        }
        Ok(())
    }

    /// Leaves or map of a beam, as all its positions have them; the map stands in place of the leaves, where it has both.
    fn add_shape(&mut self, beam: &Beam) -> BeamPosition {
        let (axis, boundaries_mm) = match (&beam.fluence, &beam.mlc) {
            (Some(map), _) => (map.axis, &map.rows_mm),
            (None, Some(mlc)) => (mlc.axis, &mlc.boundaries_mm),
            (None, None) => return BeamPosition::default(),
        };
        let shaped = BeamPosition {
            boundaries_at: self.leaf_boundaries_mm.len() as u32,
            pairs: boundaries_mm.len().saturating_sub(1) as u32,
            along_y: u32::from(axis == MlcAxis::Y),
            ..BeamPosition::default()
        };
        self.leaf_boundaries_mm.extend(boundaries_mm);
        let Some(map) = &beam.fluence else {
            return shaped;
        };
        let map_at = self.map_values.len() as u32;
        self.map_values.extend(&map.values);
        BeamPosition {
            map_at,
            map_columns: map.columns as u32,
            map_first_mm: map.first_mm as f32,
            map_step_mm: map.step_mm as f32,
            ..shaped
        }
    }

    fn add_position(
        &mut self,
        shaped: BeamPosition,
        exposure: &Exposure<'_>,
        machine: &Machine,
        frame: &BeamFrame,
        grid: &Grid,
        raster: &Raster,
    ) -> usize {
        let segments_at = self.segments.len();
        let mut until = 0.0;
        for segment in &exposure.segments {
            until += segment.weight;
            let at = |t: f64, of: fn(&case::ControlPoint) -> [f64; 4]| {
                let (a, b) = (of(segment.from), of(segment.to));
                [0, 1, 2, 3].map(|i| (a[i] + t * (b[i] - a[i])).clamp(-WIDEST_MM, WIDEST_MM) as f32)
            };
            let jaws =
                |p: &case::ControlPoint| [p.jaws.x[0], p.jaws.x[1], p.jaws.y[0], p.jaws.y[1]];
            self.segments.push(Segment {
                until: until as f32,
                jaws_from_mm: at(segment.span[0], jaws),
                jaws_to_mm: at(segment.span[1], jaws),
                tips_at: self.tips_mm.len() as u32,
            });
            for t in segment.span {
                let pairs = segment.from.leaves_mm.iter().zip(&segment.to.leaves_mm);
                let planned =
                    pairs.map(|(a, b)| [0, 1].map(|bank| a[bank] + t * (b[bank] - a[bank])));
                let tips = planned.flat_map(|tips| match &machine.leaves {
                    Some(leaves) => leaves.standing_tips_mm(tips),
                    None => tips,
                });
                self.tips_mm.extend(tips.map(|mm| mm as f32));
            }
        }
        let low_corner =
            grid.patient_from_local(DVec3::from([0, 1, 2].map(|a| grid.edges_mm(a)[0])));
        let cm = |v: DVec3| (grid.local_direction(v) / 10.0).as_vec3().to_array();
        self.beam_positions.push(BeamPosition {
            source_cm: cm(frame.source_mm - low_corner),
            axes: frame
                .axes
                .map(|a| grid.local_direction(a).as_vec3().to_array()),
            corner_mm: raster.corner_mm.map(|mm| mm as f32),
            cell_mm: raster.cell_mm.map(|mm| mm as f32),
            columns: raster.size[0] as u32,
            first_cell: 0,
            first_electron_cell: 0,
            segments_at: segments_at as u32,
            segments: (self.segments.len() - segments_at) as u32,
            ..shaped
        });
        self.beam_positions.len() - 1
    }

    fn add_head(
        &mut self,
        machine: &Arc<Machine>,
        per_mu: MonitorUnit,
        outputs: &[PositionOutput],
    ) -> Result<(), DoseError> {
        let horn_at = self.horns.len() as u32;
        self.horns
            .extend((0..RADII).map(|n| machine.off_axis.at(n as f64 * RADIUS_STEP_MM) as f32));
        let leaves = machine.leaves.as_ref();
        let of_leaves = |value: fn(&physics::Leaves) -> f64| leaves.map_or(0.0, value) as f32;
        let extra = machine.extra_focal;
        self.heads.push(Head {
            sad_mm: machine.sad_mm as f32,
            focal_sigma_mm: machine.focal_sigma_mm.map(|s| s as f32),
            jaw_distance_mm: [
                machine.jaws.x_distance_mm as f32,
                machine.jaws.y_distance_mm as f32,
            ],
            jaw_transmission: machine.jaws.transmission as f32,
            extra_share: extra.map_or(0.0, |e| e.share) as f32,
            extra_distance_mm: extra.map_or(0.0, |e| e.distance_mm) as f32,
            extra_sigma_mm: extra.map_or(0.0, |e| e.sigma_mm) as f32,
            horn_at,
            leaf_distance_mm: of_leaves(|l| l.distance_mm),
            leaf_thickness_mm: of_leaves(|l| l.thickness_mm),
            leaf_radius_mm: of_leaves(|l| l.end_radius_mm),
            leaf_transmission: of_leaves(|l| l.transmission),
            interleaf_transmission: of_leaves(|l| l.interleaf_transmission),
            tongue_mm: of_leaves(|l| l.tongue_mm),
        });
        // All beam positions of the head in one table each: one draw finds beam, control point and place.
        let at = self.cells.len();
        let mut weights = Vec::new();
        for s in outputs {
            self.beam_positions[s.position].first_cell = self.cells.len() as u32;
            for (photons, chance) in s.photons.iter().zip(s.chances()) {
                let whole: f64 = photons.iter().sum();
                let extra = if photons[1] > 0.0 {
                    (photons[1] / whole).clamp(0.02, 0.98)
                } else {
                    0.0
                };
                weights.push(chance);
                self.cells.push(Cell {
                    beam_position: s.position as u32,
                    weight: s.first_weight(chance) as f32,
                    extra: extra as f32,
                    ..Cell::default()
                });
            }
        }
        let photons = self.draw(at, &weights).ok_or_else(|| DoseError::Beam {
            beam: machine.name.clone(),
            why: "no photon of this machine reaches the dose grid".to_owned(),
        })?;
        let photons_in_all: f64 = outputs
            .iter()
            .flat_map(|s| s.photons.iter().flatten())
            .sum();
        let photons = Cells {
            total: photons_in_all,
            ..photons
        };
        let electrons = self.add_electrons(outputs);
        self.machines.push(MachineHead {
            machine: Arc::clone(machine),
            per_mu,
            photons,
            electrons,
        });
        Ok(())
    }

    fn add_electrons(&mut self, outputs: &[PositionOutput]) -> Option<Cells> {
        let at = self.cells.len();
        let mut weights = Vec::new();
        for s in outputs {
            self.beam_positions[s.position].first_electron_cell = self.cells.len() as u32;
            for electrons in &s.electrons {
                weights.push(*electrons);
                // With the drawing's normalisation: all electrons, whichever the cell.
                self.cells.push(Cell {
                    beam_position: s.position as u32,
                    weight: 1.0,
                    ..Cell::default()
                });
            }
        }
        self.draw(at, &weights)
    }

    /// Readies the cells from `at` on to be drawn by their weights, and puts the weights' sum over their chances.
    fn draw(&mut self, at: usize, weights: &[f64]) -> Option<Cells> {
        let table = alias_table(weights)?;
        let sum: f64 = weights.iter().sum();
        for (cell, (keep, other)) in self.cells[at..].iter_mut().zip(table) {
            cell.keep = keep;
            cell.other = other;
            cell.weight *= sum as f32;
        }
        Some(Cells {
            at,
            count: weights.len(),
            total: sum,
        })
    }
}

/// Cells over the part of the isocentre plane through which rays reach the dose lattice.
struct Raster {
    corner_mm: [f64; 2],
    cell_mm: [f64; 2],
    size: [usize; 2],
}

impl Raster {
    fn over(machine: &Machine, frame: &BeamFrame, grid: &Grid) -> Self {
        // Rays of the extra-focal source come in beside the shadow that the lattice throws from the target.
        let margin = machine.extra_focal.map_or(1.0, |e| e.sigma_mm);
        let mut low = [WIDEST_MM; 2];
        let mut high = [-WIDEST_MM; 2];
        for corner in grid.corners_mm() {
            let shadow = frame.project(corner).map(|(xy, _)| xy);
            for axis in 0..2 {
                let (a, b) = shadow.map_or((-WIDEST_MM, WIDEST_MM), |xy| (xy[axis], xy[axis]));
                low[axis] = low[axis].min(a - margin);
                high[axis] = high[axis].max(b + margin);
            }
        }
        let [low, high] = [low, high].map(|v| v.map(|mm| mm.clamp(-WIDEST_MM, WIDEST_MM)));
        let count =
            |a: usize| (((high[a] - low[a]) / FINEST_MM).ceil() as usize).clamp(1, MOST_CELLS);
        let size = [count(0), count(1)];
        let cell_mm = [0, 1].map(|a| (high[a] - low[a]) / size[a] as f64);
        Self {
            corner_mm: low,
            cell_mm,
            size,
        }
    }

    fn area_cm2(&self) -> f64 {
        0.01 * self.cell_mm[0] * self.cell_mm[1]
    }
}

impl PositionOutput {
    fn new(
        position: usize,
        raster: &Raster,
        fluence: &Fluence,
        machine: &Machine,
        per_mu: &MonitorUnit,
        photons: f64,
    ) -> Self {
        let [columns, rows] = raster.size;
        let area = raster.area_cm2();
        let has_electrons = machine.electrons.is_some() && per_mu.electrons_gy > 0.0;
        let side = raster.cell_mm[0].max(raster.cell_mm[1]);
        let at = |n: usize| {
            let [x, y] = [n % columns, n / columns];
            let x = raster.corner_mm[0] + (x as f64 + 0.5) * raster.cell_mm[0];
            let y = raster.corner_mm[1] + (y as f64 + 0.5) * raster.cell_mm[1];
            let parts = fluence
                .sources_at(x, y, machine.sad_mm, side)
                .map(|f| f * photons * area);
            let electrons = if has_electrons {
                fluence.electrons_at(x, y) * photons * area
            } else {
                0.0
            };
            (parts, electrons)
        };
        let (cells, electrons) = (0..columns * rows).into_par_iter().map(at).unzip();
        Self {
            position,
            columns,
            weight: photons * area * fluence.scale(),
            photons: cells,
            electrons,
        }
    }

    /// How often each cell is drawn, relative.
    fn chances(&self) -> Vec<f64> {
        let whole: Vec<f64> = self.photons.iter().map(|p| p[0] + p[1]).collect();
        let rows = whole.len() / self.columns;
        let highest_near = |i: usize, j: usize| {
            let mut most = 0.0_f64;
            for row in j.saturating_sub(1)..=(j + 1).min(rows - 1) {
                for column in i.saturating_sub(1)..=(i + 1).min(self.columns - 1) {
                    most = most.max(whole[row * self.columns + column]);
                }
            }
            most
        };
        (0..whole.len())
            .map(|n| whole[n].max(EDGE * highest_near(n % self.columns, n / self.columns)))
            .collect()
    }

    /// Unattenuated photons of a source through a cell, over the chance (not yet normalised) to draw it.
    fn first_weight(&self, chance: f64) -> f64 {
        if chance > 0.0 {
            self.weight / chance
        } else {
            0.0
        }
    }
}
