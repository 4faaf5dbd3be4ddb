//! The head source of a request: its machines, its energy bins, and the tables of its beams.

use super::raster::PositionOutput;
use super::tables::{
    BeamPosition, Cell, ELECTRON, EnergyBin, Head, PHOTON, RADII, RADIUS_STEP_MM, Segment,
};
use crate::JobControl;
use crate::digest::Digest;
use crate::dose::DoseError;
use crate::histories::alias::alias_table;
use bytemuck::cast_slice;
use case::Beam;
use geometry::Grid;
use physics::kernel::KernelTable;
use physics::{Leaves, Machine, Patient, Softening};
use std::sync::Arc;

/// The last bin has every history that rounding leaves above the others.
const ABOVE_ALL: f32 = 2.0;
/// Chances of the extra-focal source in a cell with photons of both stay within these, so that no history weighs much more than others.
const EXTRA_FOCAL_CHANCES: [f64; 2] = [0.02, 0.98];

/// Beams of a request, and the lattice whose frame histories are in.
#[derive(Clone, Copy)]
pub struct HeadRequest<'a> {
    pub patient: &'a Patient,
    pub beams: &'a [(Beam, Arc<Machine>)],
    pub lattice: &'a Grid,
}

/// Output of a machine, as the calibration of an engine states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineOutput {
    /// Photons per cm2 on the axis at the isocentre, per monitor unit.
    pub photons_per_cm2: f64,
    /// Whether its contaminant electrons are sampled, where it has any.
    pub has_electrons: bool,
}

/// Histories of one energy of a machine's spectrum, or of its contaminant electrons, as an engine samples them.
#[derive(Clone, Copy, Debug)]
pub struct SampledLine {
    /// Number of the machine in [`HeadSource::machines`].
    pub machine: usize,
    /// [`PHOTON`] or [`ELECTRON`].
    pub kind: u32,
    /// Energy of each particle, MeV; 0 for an engine that gives electrons no energy of their own.
    pub energy_mev: f64,
    /// Part of all histories.
    pub chance: f64,
    /// Share of the machine's particles, times the engine's unit of weight.
    pub weight: f64,
}

/// A machine, and all that is drawn from it.
pub struct MachineHead {
    pub machine: Arc<Machine>,
    pub photons: Cells,
    pub electrons: Option<Cells>,
}

impl MachineHead {
    /// Energy of all its photons, MeV.
    pub fn energy_mev(&self) -> f64 {
        self.photons.total * self.machine.spectrum.mean_energy_mev()
    }
}

/// Cells of one alias table.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// First of them, and their number.
    pub first: usize,
    pub count: usize,
    /// Photons through all of them; for electrons, photons at the reference point.
    pub total: f64,
}

/// Head source of a request's beams.
#[derive(Default)]
pub struct HeadSource {
    pub machines: Vec<MachineHead>,
    pub bins: Vec<EnergyBin>,
    pub heads: Vec<Head>,
    pub horns: Vec<f32>,
    /// Photons off the axis over those on it, by bin of photons.
    pub softening: Vec<[f32; RADII]>,
    pub beam_positions: Vec<BeamPosition>,
    pub segments: Vec<Segment>,
    pub tips_mm: Vec<f32>,
    pub leaf_boundaries_mm: Vec<f64>,
    pub map_values: Vec<f32>,
    pub cells: Vec<Cell>,
}

impl HeadSource {
    /// Tables of all beams, without energies: [`Self::set_lines`] adds those. `output` is asked once a machine.
    ///
    /// # Errors
    /// Beams without fluence, machines no photon of which reaches the lattice, errors of `output`, and a cancelled job.
    pub fn new(
        request: HeadRequest<'_>,
        output: &dyn Fn(&Machine) -> Result<MachineOutput, DoseError>,
        control: &JobControl,
    ) -> Result<Self, DoseError> {
        let mut source = Self::default();
        let mut machines: Vec<&Arc<Machine>> = Vec::new();
        for (_, machine) in request.beams {
            if !machines.iter().any(|m| **m == *machine) {
                machines.push(machine);
            }
        }
        for machine in machines {
            let machine_output = output(machine)?;
            let mut outputs = Vec::new();
            for (beam, _) in request.beams.iter().filter(|(_, m)| m == machine) {
                outputs.extend(source.add_beam(request, beam, machine, machine_output, control)?);
            }
            source.add_head(machine, &outputs)?;
        }
        Ok(source)
    }

    /// Bins of the energies that an engine samples, a line each, in place of any before.
    pub fn set_lines(&mut self, lines: &[SampledLine]) {
        let softening: Vec<Softening> = self
            .machines
            .iter()
            .map(|m| Softening::new(&m.machine))
            .collect();
        self.bins.clear();
        self.softening.clear();
        let mut until = 0.0;
        for line in lines {
            until += line.chance;
            let machine = &self.machines[line.machine];
            let cells = match line.kind {
                ELECTRON => machine.electrons.unwrap_or(machine.photons),
                _ => machine.photons,
            };
            self.bins.push(EnergyBin {
                until: until as f32,
                weight: (line.weight / line.chance) as f32,
                energy_mev: line.energy_mev as f32,
                kind: line.kind,
                head: line.machine as u32,
                cells_at: cells.first as u32,
                cells: cells.count as u32,
                softening_at: (self.softening.len() * RADII) as u32,
            });
            if line.kind == PHOTON {
                let mu = KernelTable::water().mu_over_rho_cm2_g(line.energy_mev);
                let layers = &softening[line.machine];
                self.softening.push(std::array::from_fn(|n| {
                    layers.at(n as f64 * RADIUS_STEP_MM).photons(mu) as f32
                }));
            }
        }
        if let Some(last) = self.bins.last_mut() {
            last.until = ABOVE_ALL;
        }
    }

    /// Adds all tables to a digest: equal ones give equal histories.
    pub fn add_to(&self, digest: &mut Digest) {
        let Self {
            machines: _,
            bins,
            heads,
            horns,
            softening,
            beam_positions,
            segments,
            tips_mm,
            leaf_boundaries_mm,
            map_values,
            cells,
        } = self;
        let tables: [&[u8]; 10] = [
            cast_slice(bins),
            cast_slice(heads),
            cast_slice(horns),
            cast_slice(softening),
            cast_slice(beam_positions),
            cast_slice(segments),
            cast_slice(tips_mm),
            cast_slice(leaf_boundaries_mm),
            cast_slice(map_values),
            cast_slice(cells),
        ];
        tables.into_iter().for_each(|table| digest.add_bytes(table));
    }

    fn add_head(
        &mut self,
        machine: &Arc<Machine>,
        outputs: &[PositionOutput],
    ) -> Result<(), DoseError> {
        let horn_at = self.horns.len() as u32;
        self.horns
            .extend((0..RADII).map(|n| machine.off_axis.at(n as f64 * RADIUS_STEP_MM) as f32));
        self.heads.push(head_of(machine, horn_at));
        let photons = self
            .add_photon_cells(outputs)
            .ok_or_else(|| DoseError::Beam {
                beam: machine.name.clone(),
                why: "no photon of this machine reaches the dose grid".to_owned(),
            })?;
        let electrons = self.add_electron_cells(outputs);
        self.machines.push(MachineHead {
            machine: Arc::clone(machine),
            photons,
            electrons,
        });
        Ok(())
    }

    /// All beam positions of a head in one table: one draw finds beam, control point and place.
    fn add_photon_cells(&mut self, outputs: &[PositionOutput]) -> Option<Cells> {
        let first = self.cells.len();
        let mut weights = Vec::new();
        for output in outputs {
            self.beam_positions[output.position].first_cell = self.cells.len() as u32;
            for chances in output.chances() {
                let chance = chances.iter().sum();
                weights.push(chance);
                self.cells.push(Cell {
                    beam_position: output.position as u32,
                    weight: output.first_weight(chance) as f32,
                    extra: extra_focal_chance(&chances) as f32,
                    ..Cell::default()
                });
            }
        }
        let cells = self.ready_cells(first, &weights)?;
        let photons = outputs.iter().flat_map(|output| &output.photons).flatten();
        Some(Cells {
            total: photons.sum(),
            ..cells
        })
    }

    fn add_electron_cells(&mut self, outputs: &[PositionOutput]) -> Option<Cells> {
        let first = self.cells.len();
        let mut weights = Vec::new();
        for output in outputs {
            self.beam_positions[output.position].first_electron_cell = self.cells.len() as u32;
            for electrons in &output.electrons {
                weights.push(*electrons);
                // With the normalisation of the table: all electrons, whichever the cell.
                self.cells.push(Cell {
                    beam_position: output.position as u32,
                    weight: 1.0,
                    ..Cell::default()
                });
            }
        }
        self.ready_cells(first, &weights)
    }

    /// Readies the cells from `first` on to be drawn by their weights, and puts the weights' sum over their chances.
    fn ready_cells(&mut self, first: usize, weights: &[f64]) -> Option<Cells> {
        let table = alias_table(weights)?;
        let sum: f64 = weights.iter().sum();
        for (cell, (keep, other)) in self.cells[first..].iter_mut().zip(table) {
            cell.keep = keep;
            cell.other = other;
            cell.weight *= sum as f32;
        }
        Some(Cells {
            first,
            count: weights.len(),
            total: sum,
        })
    }
}

/// Chance that a history through a cell comes from the extra-focal source, by the chances of the focal and the extra-focal one.
fn extra_focal_chance(chances: &[f64; 2]) -> f64 {
    if chances[1] > 0.0 {
        let [low, high] = EXTRA_FOCAL_CHANCES;
        (chances[1] / chances.iter().sum::<f64>()).clamp(low, high)
    } else {
        0.0
    }
}

fn head_of(machine: &Machine, horn_at: u32) -> Head {
    let leaf = |value: fn(&Leaves) -> f64| machine.leaves.as_ref().map_or(0.0, value) as f32;
    let extra = machine.extra_focal;
    Head {
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
        leaf_distance_mm: leaf(|l| l.distance_mm),
        leaf_thickness_mm: leaf(|l| l.thickness_mm),
        leaf_radius_mm: leaf(|l| l.end_radius_mm),
        leaf_transmission: leaf(|l| l.transmission),
        interleaf_transmission: leaf(|l| l.interleaf_transmission),
        tongue_mm: leaf(|l| l.tongue_mm),
    }
}
