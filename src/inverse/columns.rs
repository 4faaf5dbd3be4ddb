//! The influence matrix: the dose of each beamlet at the sampled voxels, and its products.

use super::OptimiseError;
use super::beamlets::Beamlets;
use super::rows::Rows;
use super::setup::Setup;
use analysis::UNIT_MU;
use case::Beam;
use engine::dose::{DoseError, DoseRequest, Quality};
use engine::influence::{
    CardColumns, DoseColumns, InfluenceRequest, Matrix, beamlet_doses_of_beams, beams_together,
};
use engine::{Compute, JobControl};
use std::sync::Arc;
use thiserror::Error;

/// Columns of the influence matrix of one beam: dense, since a beamlet of 5 mm keeps only half of its energy within 5 mm.
#[derive(Clone, Debug)]
pub struct BeamColumns {
    /// Gy of all fractions at fluence 1, for [`UNIT_MU`] a fraction.
    gy: Arc<DoseColumns>,
}

/// The influence matrix: columns of all beams, one beam after another. A turned beam replaces only its own.
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
    Memory {
        beamlets: usize,
        rows: usize,
        gib: f64,
        most_gib: f64,
    },
}

/// Memory limit of the columns, bytes: nine fields on a 2.5 mm grid need 0.2 GiB, two arcs through a large target 6 GiB.
const MOST_BYTES: usize = 8 << 30;

impl BeamColumns {
    /// The columns of a few beams. Requests have the patient, machine, grid and quality; their beams are replaced.
    ///
    /// # Errors
    /// [`ColumnError`].
    pub fn compute(
        fields: &[(DoseRequest, &Beamlets)],
        rows: &Rows,
        fractions: u32,
        device: &Compute,
        control: &JobControl,
    ) -> Result<Vec<Self>, ColumnError> {
        let voxels: Arc<[usize]> = rows.voxels.clone().into();
        let mut requests = Vec::with_capacity(fields.len());
        for (dose, beamlets) in fields {
            let beam = Beam {
                mu: UNIT_MU * f64::from(fractions),
                ..beamlets.beam.clone()
            };
            requests.push(InfluenceRequest {
                dose: DoseRequest {
                    beam,
                    ..dose.clone()
                },
                beamlets: beamlets.active.clone().into(),
                voxels: Arc::clone(&voxels),
            });
        }
        let doses = beamlet_doses_of_beams(&requests, device, control)?;
        Ok(doses
            .into_iter()
            .map(|doses| Self { gy: doses.columns })
            .collect())
    }
}

fn gib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

impl Columns {
    /// Refuses a matrix beyond the memory limit before any column is computed.
    ///
    /// # Errors
    /// [`ColumnError::Memory`].
    pub fn check(rows: usize, beamlets: usize) -> Result<(), ColumnError> {
        let bytes = rows
            .saturating_mul(beamlets)
            .saturating_mul(size_of::<i16>());
        if bytes > MOST_BYTES {
            return Err(ColumnError::Memory {
                beamlets,
                rows,
                gib: gib(bytes),
                most_gib: gib(MOST_BYTES),
            });
        }
        Ok(())
    }

    /// Columns of beams, each with `rows` rows, for products on a device; columns that `previous` has there are shared.
    pub fn new(rows: usize, beams: &[Arc<BeamColumns>], device: &Compute, previous: &Self) -> Self {
        let beams = beams.iter().map(|beam| Arc::clone(&beam.gy)).collect();
        Self {
            matrix: Matrix::new(rows, beams, device, Some(&previous.matrix)),
        }
    }

    /// Columns of one beam from numbers, `[beamlet][row]`.
    pub fn from_gy(rows: usize, gy: &[f32]) -> Self {
        Self {
            matrix: Matrix::new(
                rows,
                vec![Arc::new(DoseColumns::of_gy(rows, gy))],
                &Compute::Cpu,
                None,
            ),
        }
    }

    /// The columns of each beam in the memory of a card; none on the CPU.
    pub fn on_card(&self) -> Vec<CardColumns> {
        self.matrix.on_card()
    }

    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    pub fn beamlets(&self) -> usize {
        self.matrix.beamlets()
    }

    /// All columns in turn: steps by row, and the Gy of one.
    pub fn iter(&self) -> impl Iterator<Item = (&[i16], f32)> {
        self.matrix.columns()
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`.
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
        self.matrix.doses(fluences, offset_gy)
    }

    /// Gradient by fluence from the gradient by the doses of the rows.
    pub fn transposed(&self, by_dose: &[f32]) -> Vec<f64> {
        self.matrix.transposed(by_dose)
    }

    /// Sum of the squares of each column, Gy2, weighed by row.
    pub fn squares(&self, weights: &[f32]) -> Vec<f64> {
        self.matrix.squares(weights)
    }
}

/// Computes the next missing columns, for as many beams as the device processes together; whether any were missing.
pub(super) fn compute_missing(
    setup: &Setup,
    columns: &mut [Option<Arc<BeamColumns>>],
    control: &JobControl,
) -> Result<bool, OptimiseError> {
    let Setup {
        fields,
        rows,
        plan,
        device,
        ..
    } = setup;
    let missing = (0..columns.len()).filter(|n| columns[*n].is_none());
    let next: Vec<usize> = missing.take(beams_together(device)).collect();
    let mut requests = Vec::with_capacity(next.len());
    for n in &next {
        let (machine, beamlets) = &fields[*n];
        requests.push((
            setup.request(machine, &beamlets.beam, Quality::Fast),
            beamlets,
        ));
    }
    let computed = BeamColumns::compute(&requests, rows, plan.fractions, device, control)?;
    next.iter()
        .zip(computed)
        .for_each(|(n, computed)| columns[*n] = Some(Arc::new(computed)));
    Ok(!next.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// <A x, w> = <x, A^T w>.
    #[test]
    fn the_transposed_product_is_the_matrixs() {
        let (rows, beamlets) = (1500, 7);
        let gy: Vec<f32> = (0..rows * beamlets)
            .map(|n| ((n * 7919 % 1013) as f32) / 1013.0)
            .collect();
        let columns = Columns::from_gy(rows, &gy);
        let fluences: Vec<f64> = (0..beamlets).map(|b| 0.3 + b as f64).collect();
        let by_dose: Vec<f32> = (0..rows).map(|n| ((n * 31 % 17) as f32) - 8.0).collect();
        let doses = columns.doses(&fluences, &vec![0.0; rows]);
        let one: f64 = doses
            .iter()
            .zip(&by_dose)
            .map(|(d, w)| f64::from(*d) * f64::from(*w))
            .sum();
        let two: f64 = columns
            .transposed(&by_dose)
            .iter()
            .zip(&fluences)
            .map(|(g, x)| g * x)
            .sum();
        assert!(
            (one - two).abs() < 1e-5 * one.abs().max(1.0),
            "{one} and {two}"
        );
    }

    #[test]
    fn columns_beyond_the_budget_are_refused_before_they_are_computed() {
        let said = Columns::check(1 << 20, 1 << 20).unwrap_err().to_string();
        assert!(said.contains("2048.0 GiB"), "{said}");
    }
}
