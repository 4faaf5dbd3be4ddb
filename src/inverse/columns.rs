//! The influence matrix: the dose of each beamlet at the sampled voxels, and its products.

use super::beamlets::Beamlets;
use super::rows::Rows;
use analysis::UNIT_MU;
use case::Beam;
use engine::cccs::{DoseError, DoseRequest};
use engine::influence::{InfluenceRequest, Matrix, beamlet_doses};
use engine::{Compute, JobControl};
use geometry::Grid;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Columns of the influence matrix of one beam: dense, since a beamlet of 5 mm keeps only half of its energy within 5 mm.
#[derive(Clone, Debug)]
pub struct BeamColumns {
    /// `[beamlet][row]`: Gy of all fractions at fluence 1, for [`UNIT_MU`] a fraction.
    gy: Arc<Vec<f32>>,
}

/// The influence matrix: columns of all beams, one beam after another. A turned beam replaces its own alone.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    matrix: Matrix,
}

/// Why there are no columns.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ColumnError {
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error(
        "{beamlets} beamlets at {rows} voxels need {gib:.1} GiB, more than {most_gib:.1}: choose wider beamlets or a coarser grid"
    )]
    Memory { beamlets: usize, rows: usize, gib: f64, most_gib: f64 },
}

/// Bytes that columns may take: of nine fields on 5 mm they have 0.1 GiB.
const MOST_BYTES: usize = 4 << 30;

impl BeamColumns {
    /// The columns of a beam. The request has the patient, machine, quality and the grid on which beamlets are computed; its beam is
    /// replaced.
    ///
    /// # Errors
    /// [`ColumnError`].
    pub fn of(
        request: &DoseRequest,
        beamlets: &Beamlets,
        rows: &Rows,
        fractions: u32,
        device: &Compute,
        control: &JobControl,
    ) -> Result<Self, ColumnError> {
        let between = Between::new(rows, &request.grid);
        let beam = Beam { mu: UNIT_MU * f64::from(fractions), ..beamlets.beam.clone() };
        let request = InfluenceRequest {
            dose: DoseRequest { beam, ..request.clone() },
            beamlets: beamlets.active.clone().into(),
            voxels: Arc::clone(&between.voxels),
        };
        let coarse = beamlet_doses(&request, device, control)?.gy;
        let count = rows.voxels.len();
        if request.dose.grid == rows.grid {
            return Ok(Self { gy: Arc::new(coarse) });
        }
        let mut gy = vec![0.0_f32; count * beamlets.active.len()];
        let columns = gy.par_chunks_mut(count.max(1)).zip(coarse.par_chunks(between.voxels.len().max(1)));
        columns.for_each(|(column, coarse)| {
            for (gy, corners) in column.iter_mut().zip(&between.corners) {
                *gy = corners.iter().map(|(voxel, share)| share * coarse[*voxel as usize]).sum();
            }
        });
        Ok(Self { gy: Arc::new(gy) })
    }
}

/// Rows as points between the voxels of a coarser grid, trilinear.
struct Between {
    /// Voxels of the coarse grid that any row lies beside, ascending.
    voxels: Arc<[usize]>,
    /// Of each row the eight round it, by their place among those, with their shares.
    corners: Vec<[(u32, f32); 8]>,
}

impl Between {
    fn new(rows: &Rows, coarse: &Grid) -> Self {
        if *rows.grid == *coarse {
            return Self { voxels: rows.voxels.clone().into(), corners: Vec::new() };
        }
        let corners_of = |voxel: &usize| cell_round(coarse, rows.grid.centre_of_mm(*voxel));
        let cells: Vec<[(usize, f32); 8]> = rows.voxels.par_iter().map(corners_of).collect();
        let mut voxels: Vec<usize> = cells.iter().flatten().map(|(voxel, _)| *voxel).collect();
        voxels.sort_unstable();
        voxels.dedup();
        let place = |voxel: usize| voxels.binary_search(&voxel).unwrap_or_default() as u32;
        let corners = cells.par_iter().map(|cell| cell.map(|(voxel, share)| (place(voxel), share)));
        let corners = corners.collect();
        Self { voxels: voxels.into(), corners }
    }
}

/// The eight voxels of an even grid round a point (patient LPS, mm) and their shares; at the rim and beyond, those of the rim.
fn cell_round(grid: &Grid, at_mm: DVec3) -> [(usize, f32); 8] {
    let local = grid.local_from_patient(at_mm);
    let [x, y] = grid.spacing_xy_mm();
    let spacing_mm = [x, y, grid.even_plane_spacing_mm().unwrap_or(x)];
    let size = grid.size();
    let low_and_part: [(usize, f32); 3] = std::array::from_fn(|a| {
        let place = (local[a] / spacing_mm[a]).clamp(0.0, size[a].saturating_sub(1) as f64);
        let low = (place as usize).min(size[a].saturating_sub(2));
        (low, (place - low as f64) as f32)
    });
    std::array::from_fn(|corner| {
        let mut share = 1.0;
        let at: [usize; 3] = std::array::from_fn(|a| {
            let (low, part) = low_and_part[a];
            let is_high = corner >> a & 1 == 1;
            share *= if is_high { part } else { 1.0 - part };
            (low + usize::from(is_high)).min(size[a] - 1)
        });
        (grid.index(at[0], at[1], at[2]), share)
    })
}

fn refused(rows: usize, beamlets: usize) -> ColumnError {
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    let bytes = rows.saturating_mul(beamlets).saturating_mul(size_of::<f32>());
    ColumnError::Memory { beamlets, rows, gib: gib(bytes), most_gib: gib(MOST_BYTES) }
}

impl Columns {
    /// Asks for the memory of columns before any is computed.
    ///
    /// # Errors
    /// [`ColumnError::Memory`].
    pub fn check(rows: usize, beamlets: usize) -> Result<(), ColumnError> {
        let bytes = rows.saturating_mul(beamlets).saturating_mul(size_of::<f32>());
        if bytes > MOST_BYTES { Err(refused(rows, beamlets)) } else { Ok(()) }
    }

    /// Columns of beams over so many rows, for products on a device; what `before` has there is shared.
    pub fn new(rows: usize, beams: &[Arc<BeamColumns>], device: &Compute, before: &Self) -> Self {
        let beams = beams.iter().map(|beam| Arc::clone(&beam.gy)).collect();
        Self { matrix: Matrix::new(rows, beams, device, Some(&before.matrix)) }
    }

    /// Columns of one beam from numbers, `[beamlet][row]`.
    pub fn from_gy(rows: usize, gy: Vec<f32>) -> Self {
        Self { matrix: Matrix::new(rows, vec![Arc::new(gy)], &Compute::Cpu, None) }
    }

    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    pub fn beamlets(&self) -> usize {
        self.iter().count()
    }

    /// All columns in turn, each Gy by row.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.matrix.columns()
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`.
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
        self.matrix.doses(fluences, offset_gy)
    }

    /// Gradient by fluence, from that by the doses of the rows.
    pub fn transposed(&self, by_dose: &[f32]) -> Vec<f64> {
        self.matrix.transposed(by_dose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowSet;

    /// A linear dose is exact between the voxels of the coarse grid.
    #[test]
    fn rows_between_voxels_are_exact_in_a_linear_dose() {
        let grid = |first: f64, mm: f64, n: usize| {
            Arc::new(Grid::axis_aligned(DVec3::splat(first), DVec3::splat(mm), [n, n + 1, n + 2]).unwrap())
        };
        let (coarse, fine) = (grid(-10.0, 5.0, 5), grid(-9.0, 2.0, 8));
        let dose = |at: DVec3| at.dot(DVec3::new(0.3, -0.2, 0.5)) + 20.0;
        let voxels: Vec<usize> = (0..fine.len()).step_by(7).collect();
        let sets: Vec<RowSet> = Vec::new();
        let rows = Rows { grid: Arc::clone(&fine), voxels, sets };
        let between = Between::new(&rows, &coarse);
        for (voxel, corners) in rows.voxels.iter().zip(&between.corners) {
            let of = |(n, share): &(u32, f32)| {
                f64::from(*share) * dose(coarse.centre_of_mm(between.voxels[*n as usize]))
            };
            let (got, want) = (corners.iter().map(of).sum::<f64>(), dose(fine.centre_of_mm(*voxel)));
            assert!((got - want).abs() < 1e-5, "{voxel}: {got} for {want}");
        }
    }

    /// The transposed product is that of the matrix: <A x, w> = <x, A^T w>.
    #[test]
    fn the_transposed_product_is_the_matrixs() {
        let (rows, beamlets) = (1500, 7);
        let gy: Vec<f32> = (0..rows * beamlets).map(|n| ((n * 7919 % 1013) as f32) / 1013.0).collect();
        let columns = Columns::from_gy(rows, gy);
        let fluences: Vec<f64> = (0..beamlets).map(|b| 0.3 + b as f64).collect();
        let by_dose: Vec<f32> = (0..rows).map(|n| ((n * 31 % 17) as f32) - 8.0).collect();
        let doses = columns.doses(&fluences, &vec![0.0; rows]);
        let one: f64 = doses.iter().zip(&by_dose).map(|(d, w)| f64::from(*d) * f64::from(*w)).sum();
        let two: f64 = columns.transposed(&by_dose).iter().zip(&fluences).map(|(g, x)| g * x).sum();
        assert!((one - two).abs() < 1e-5 * one.abs().max(1.0), "{one} and {two}");
    }

    #[test]
    fn columns_beyond_the_budget_are_refused_before_they_are_computed() {
        let said = Columns::check(1 << 20, 1 << 20).unwrap_err().to_string();
        assert!(said.contains("4096.0 GiB"), "{said}");
    }
}
