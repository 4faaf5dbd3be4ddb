//! The influence of beamlets: the dose of each at the sampled voxels, by the engine itself.

use super::beamlets::Beamlets;
use super::rows::Rows;
use analysis::UNIT_MU;
use engine::cccs::{DoseError, DoseRequest, beam_dose};
use engine::{Compute, JobControl};
use rayon::prelude::*;
use thiserror::Error;

/// Columns of the influence matrix of all beams: dense, since a beamlet of 5 mm keeps only half of its energy within 5 mm.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    rows: usize,
    /// `[beamlet][row]`: Gy of all fractions at fluence 1, for [`UNIT_MU`] a fraction.
    gy: Vec<f32>,
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

impl Columns {
    /// Memory for so many columns, asked for before any is computed.
    ///
    /// # Errors
    /// [`ColumnError::Memory`].
    pub fn reserved(rows: usize, beamlets: usize) -> Result<Self, ColumnError> {
        let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
        let bytes = rows.saturating_mul(beamlets).saturating_mul(size_of::<f32>());
        let refused = || ColumnError::Memory { beamlets, rows, gib: gib(bytes), most_gib: gib(MOST_BYTES) };
        if bytes > MOST_BYTES {
            return Err(refused());
        }
        let mut gy = Vec::new();
        gy.try_reserve_exact(rows * beamlets).map_err(|_| refused())?;
        Ok(Self { rows, gy })
    }

    /// Adds the columns of a beam, one beamlet after another: the definition that every faster form is held to. The request has the
    /// patient, machine, grid and quality; its beam is replaced.
    ///
    /// # Errors
    /// [`ColumnError`].
    pub fn add(
        &mut self,
        request: &DoseRequest,
        beamlets: &Beamlets,
        rows: &Rows,
        fractions: u32,
        device: &Compute,
        control: &JobControl,
    ) -> Result<(), ColumnError> {
        let mut alone = vec![0.0; beamlets.active.len()];
        for n in 0..alone.len() {
            control.check().map_err(DoseError::from)?;
            alone[n] = 1.0;
            let mut beam = beamlets.with(&alone);
            alone[n] = 0.0;
            beam.mu = UNIT_MU;
            let request = DoseRequest { beam, ..request.clone() };
            let dose = beam_dose(&request, device, control)?.gy;
            let times = fractions as f32;
            self.gy.extend(rows.voxels.iter().map(|voxel| times * dose.data()[*voxel]));
        }
        Ok(())
    }

    /// Columns from numbers, `[beamlet][row]`.
    pub fn from_gy(rows: usize, gy: Vec<f32>) -> Self {
        Self { rows, gy }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn beamlets(&self) -> usize {
        self.gy.len() / self.rows.max(1)
    }

    /// `[beamlet][row]`, Gy.
    pub fn gy(&self) -> &[f32] {
        &self.gy
    }

    pub fn column(&self, beamlet: usize) -> &[f32] {
        &self.gy[beamlet * self.rows..(beamlet + 1) * self.rows]
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`. The order of the sums does not depend on the threads.
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
        const BLOCK: usize = 1024;
        let mut doses = offset_gy.to_vec();
        doses.par_chunks_mut(BLOCK).enumerate().for_each(|(block, doses)| {
            let from = block * BLOCK;
            for (beamlet, fluence) in fluences.iter().enumerate().filter(|(_, fluence)| **fluence != 0.0) {
                let (column, fluence) = (&self.column(beamlet)[from..], *fluence as f32);
                doses.iter_mut().zip(column).for_each(|(dose, gy)| *dose += fluence * gy);
            }
        });
        doses
    }

    /// Gradient by fluence, from that by the doses of the rows.
    pub fn transposed(&self, by_dose: &[f32]) -> Vec<f64> {
        const LANES: usize = 8;
        let product = |beamlet: usize| {
            let column = self.column(beamlet);
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
        (0..self.beamlets()).into_par_iter().map(product).collect()
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
        let said = Columns::reserved(1 << 20, 1 << 20).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("4096.0 GiB"), "{said}");
    }
}
