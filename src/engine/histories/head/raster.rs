//! Cells of the isocentre plane, and the particles of a beam position through each.

use super::source::MachineOutput;
use geometry::{BeamFrame, Grid};
use physics::{Fluence, Machine};
use rayon::prelude::*;

/// Cells are no finer than this, mm, and no more than this number each way.
const FINEST_MM: f64 = 2.5;
const MOST_CELLS: usize = 128;
/// A cell beside an open one is drawn at least this often: averages over cells are coarse at the field's edge.
const EDGE: f64 = 0.3;
/// Reach of the collimators, as in the fluence, mm.
pub const WIDEST_MM: f64 = 400.0;

/// Cells over the part of the isocentre plane through which rays reach the dose lattice.
pub struct Raster {
    pub corner_mm: [f64; 2],
    pub cell_mm: [f64; 2],
    pub size: [usize; 2],
}

impl Raster {
    pub fn over(machine: &Machine, frame: &BeamFrame, lattice: &Grid) -> Self {
        // Rays of the extra-focal source come in beside the shadow that the lattice throws from the target.
        let margin = machine.extra_focal.map_or(1.0, |e| e.sigma_mm);
        let mut low = [WIDEST_MM; 2];
        let mut high = [-WIDEST_MM; 2];
        for corner in lattice.corners_mm() {
            let shadow = frame.project(corner).map(|(xy, _)| xy);
            for axis in 0..2 {
                let (a, b) = shadow.map_or((-WIDEST_MM, WIDEST_MM), |xy| (xy[axis], xy[axis]));
                low[axis] = low[axis].min(a - margin);
                high[axis] = high[axis].max(b + margin);
            }
        }
        let [low, high] = [low, high].map(|v| v.map(|mm| mm.clamp(-WIDEST_MM, WIDEST_MM)));
        let size = [0, 1].map(|axis| cells_across(high[axis] - low[axis]));
        let cell_mm = [0, 1].map(|axis| (high[axis] - low[axis]) / size[axis] as f64);
        Self {
            corner_mm: low,
            cell_mm,
            size,
        }
    }

    fn area_cm2(&self) -> f64 {
        0.01 * self.cell_mm[0] * self.cell_mm[1]
    }

    /// Middle of a cell, mm.
    fn centre_mm(&self, number: usize) -> [f64; 2] {
        let [columns, _] = self.size;
        let index = [number % columns, number / columns];
        [0, 1].map(|axis| self.corner_mm[axis] + (index[axis] as f64 + 0.5) * self.cell_mm[axis])
    }
}

fn cells_across(width_mm: f64) -> usize {
    ((width_mm / FINEST_MM).ceil() as usize).clamp(1, MOST_CELLS)
}

/// Output of a beam position through each cell: photons by source, and electrons.
pub struct PositionOutput {
    pub position: usize,
    /// Cells in a row.
    columns: usize,
    /// Photons through a cell with nothing in their way.
    unattenuated: f64,
    /// Photons of the focal and the extra-focal source.
    pub photons: Vec<[f64; 2]>,
    /// Photons at the reference point with which as many electrons come.
    pub electrons: Vec<f64>,
}

impl PositionOutput {
    /// Output of `photons` per cm2 on the axis.
    pub fn new(
        position: usize,
        raster: &Raster,
        fluence: &Fluence,
        machine: &Machine,
        output: MachineOutput,
        photons: f64,
    ) -> Self {
        let [columns, rows] = raster.size;
        let area = raster.area_cm2();
        let has_electrons = machine.electrons.is_some() && output.has_electrons;
        let side = raster.cell_mm[0].max(raster.cell_mm[1]);
        let (by_source, electrons) = (0..columns * rows)
            .into_par_iter()
            .map(|number| {
                let [x, y] = raster.centre_mm(number);
                let by_source = fluence
                    .sources_at(x, y, machine.sad_mm, side)
                    .map(|f| f * photons * area);
                let electrons = if has_electrons {
                    fluence.electrons_at(x, y) * photons * area
                } else {
                    0.0
                };
                (by_source, electrons)
            })
            .unzip();
        Self {
            position,
            columns,
            unattenuated: photons * area * fluence.scale(),
            photons: by_source,
            electrons,
        }
    }

    /// How often each cell is drawn for its focal and its extra-focal photons, relative.
    pub fn chances(&self) -> Vec<[f64; 2]> {
        let mut chances = self.photons.clone();
        for source in 0..2 {
            let photons: Vec<f64> = self.photons.iter().map(|p| p[source]).collect();
            for (number, chance) in chances.iter_mut().enumerate() {
                chance[source] = photons[number].max(EDGE * self.most_beside(&photons, number));
            }
        }
        chances
    }

    /// Most photons of a cell and those around it.
    fn most_beside(&self, photons: &[f64], number: usize) -> f64 {
        let (column, row) = (number % self.columns, number / self.columns);
        let last_row = photons.len() / self.columns - 1;
        let mut greatest = 0.0_f64;
        for row in row.saturating_sub(1)..=(row + 1).min(last_row) {
            for column in column.saturating_sub(1)..=(column + 1).min(self.columns - 1) {
                greatest = greatest.max(photons[row * self.columns + column]);
            }
        }
        greatest
    }

    /// Unattenuated photons of a source through a cell, over the chance (not yet normalised) to draw it.
    pub fn first_weight(&self, chance: f64) -> f64 {
        if chance > 0.0 {
            self.unattenuated / chance
        } else {
            0.0
        }
    }
}
