//! The influence matrix: the dose of each beamlet at the sampled voxels, and its products.

use super::beamlets::Beamlets;
use super::rows::Rows;
use analysis::UNIT_MU;
use case::Beam;
use engine::cccs::{DoseError, DoseRequest};
use engine::influence::{InfluenceRequest, beamlet_doses};
use engine::{Compute, JobControl};
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Columns of the influence matrix of one beam: dense, since a beamlet of 5 mm keeps only half of its energy within 5 mm.
#[derive(Clone, Debug)]
pub struct BeamColumns {
    rows: usize,
    /// `[beamlet][row]`: Gy of all fractions at fluence 1, for [`UNIT_MU`] a fraction.
    gy: Vec<f32>,
}

/// The influence matrix: columns of all beams, one beam after another. A turned beam replaces its own alone.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    beams: Vec<Arc<BeamColumns>>,
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
    /// The columns of a beam. The request has the patient, machine, grid and quality; its beam is replaced.
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
        let beam = Beam { mu: UNIT_MU * f64::from(fractions), ..beamlets.beam.clone() };
        let request = InfluenceRequest {
            dose: DoseRequest { beam, ..request.clone() },
            beamlets: beamlets.active.clone().into(),
            voxels: rows.voxels.clone().into(),
        };
        let gy = beamlet_doses(&request, device, control)?.gy;
        Ok(Self { rows: rows.voxels.len(), gy })
    }

    fn beamlets(&self) -> usize {
        self.gy.len() / self.rows.max(1)
    }
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

    /// Columns of beams over the same rows.
    pub fn new(beams: Vec<Arc<BeamColumns>>) -> Self {
        Self { beams }
    }

    /// Columns of one beam from numbers, `[beamlet][row]`.
    pub fn from_gy(rows: usize, gy: Vec<f32>) -> Self {
        Self { beams: vec![Arc::new(BeamColumns { rows, gy })] }
    }

    pub fn rows(&self) -> usize {
        self.beams.first().map_or(0, |beam| beam.rows)
    }

    pub fn beamlets(&self) -> usize {
        self.beams.iter().map(|beam| beam.beamlets()).sum()
    }

    /// All columns in turn, each Gy by row.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.beams.iter().flat_map(|beam| beam.gy.chunks_exact(beam.rows.max(1)))
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`. The order of the sums does not depend on the threads.
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
        const BLOCK: usize = 1024;
        let used = self.iter().zip(fluences).filter(|(_, fluence)| **fluence != 0.0);
        let used: Vec<(&[f32], f32)> = used.map(|(column, fluence)| (column, *fluence as f32)).collect();
        let mut doses = offset_gy.to_vec();
        doses.par_chunks_mut(BLOCK).enumerate().for_each(|(block, doses)| {
            let from = block * BLOCK;
            for (column, fluence) in &used {
                doses.iter_mut().zip(&column[from..]).for_each(|(dose, gy)| *dose += fluence * gy);
            }
        });
        doses
    }

    /// Gradient by fluence, from that by the doses of the rows.
    pub fn transposed(&self, by_dose: &[f32]) -> Vec<f64> {
        const LANES: usize = 8;
        let product = |column: &[f32]| {
            let mut sums = [0.0_f32; LANES];
            let (whole, rest) = column.as_chunks::<LANES>();
            let (by_whole, by_rest) = by_dose.as_chunks::<LANES>();
            let mut total = 0.0_f64;
            // Single precision is summed in short runs alone.
            for (run, by_run) in whole.chunks(64).zip(by_whole.chunks(64)) {
                sums.fill(0.0);
                for (gy, by) in run.iter().zip(by_run) {
                    (0..LANES).for_each(|lane| sums[lane] += gy[lane] * by[lane]);
                }
                total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
            }
            total + rest.iter().zip(by_rest).map(|(gy, by)| f64::from(gy * by)).sum::<f64>()
        };
        let columns: Vec<&[f32]> = self.iter().collect();
        columns.into_par_iter().map(product).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
