//! Influence of beamlets: the columns of inverse planning.

pub(crate) mod columns;
pub(crate) mod cpu;
pub(crate) mod cuda;
mod field;
pub(crate) mod reference;
pub(crate) mod request;
pub(crate) mod selftest;
mod smooth;
mod walks;
pub(crate) mod wgpu;

use crate::dispatch::{HasReceipt, answer};
use crate::dose::DoseError;
use crate::in_turn::in_turn;
use crate::{Compute, JobControl};
use case::Receipt;
pub use columns::DoseColumns;
pub use cuda::CardColumns;
pub use request::{BeamletDoses, InfluenceRequest};
use std::fmt;
use std::sync::Arc;

impl HasReceipt for BeamletDoses {
    fn receipt(&mut self) -> &mut Receipt {
        Arc::make_mut(&mut self.receipt)
    }
}

/// The doses of the beamlets of a beam at sampled voxels.
///
/// # Errors
/// [`DoseError`]: no photon beam, a beam without a map or one that turns, a grid that is uneven or lies outside the patient, or the job
/// was cancelled.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<BeamletDoses, DoseError> {
    let doses = answer(
        device,
        |card| cuda::beamlet_doses(request, card, control),
        |card| wgpu::beamlet_doses(request, card, control),
        || cpu::beamlet_doses(request, control),
    )?;
    tracing::debug!(
        "influence of {} beamlets, ms: {:?}",
        request.beamlets.len(),
        doses.receipt.phases_ms
    );
    Ok(doses)
}

/// Beams whose columns are made in one call: a plan's fields on a card. On the CPU each takes so long that its end is worth telling.
pub fn beams_together(device: &Compute) -> usize {
    if matches!(device, Compute::Cuda(_)) {
        9
    } else {
        1
    }
}

/// Beams in hand at a time: while a card walks the lines of one, the host prepares the next.
// A field of nine takes 4.8 to 5.0 ms with four in hand, 5.6 to 5.7 with three; six are no faster.
const IN_HAND: usize = 4;

/// The doses of the beamlets of a few beams, each as [`beamlet_doses`] has them.
///
/// # Errors
/// [`DoseError`] of the first beam that has one.
pub fn beamlet_doses_of_beams(
    requests: &[InfluenceRequest],
    device: &Compute,
    control: &JobControl,
) -> Result<Vec<BeamletDoses>, DoseError> {
    in_turn(requests, IN_HAND, |request| {
        beamlet_doses(request, device, control)
    })
}

/// The influence matrix where its products are fastest: on the card that it was made for, else on the CPU.
#[derive(Clone, Default)]
pub struct Matrix {
    rows: usize,
    /// Gy at fluence 1, of each beam.
    beams: Vec<Arc<DoseColumns>>,
    card: Option<Arc<cuda::CardMatrix>>,
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beamlets: Vec<usize> = self.beams.iter().map(|beam| beam.beamlets()).collect();
        f.debug_struct("Matrix")
            .field("rows", &self.rows)
            .field("beamlets", &beamlets)
            .finish_non_exhaustive()
    }
}

impl Matrix {
    /// Columns of beams over the same rows. The card keeps the beams that `previous` has as well.
    pub fn new(
        rows: usize,
        beams: Vec<Arc<DoseColumns>>,
        device: &Compute,
        previous: Option<&Self>,
    ) -> Self {
        let cards_matrix = previous.and_then(|matrix| matrix.card.as_deref());
        let card = match device {
            Compute::Cuda(card) => cuda::CardMatrix::new(card, rows, &beams, cards_matrix),
            Compute::Cpu | Compute::Wgpu(_) => {
                return Self {
                    rows,
                    beams,
                    card: None,
                };
            }
        };
        let card =
            card.map_err(|why| tracing::warn!("the influence matrix stays on the CPU: {why}"));
        Self {
            rows,
            beams,
            card: card.ok().map(Arc::new),
        }
    }

    /// The columns of each beam in the memory of a card, for others who compute there; none on the CPU.
    pub fn on_card(&self) -> Vec<CardColumns> {
        self.card
            .as_ref()
            .map(|card| card.shared())
            .unwrap_or_default()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn beamlets(&self) -> usize {
        self.beams.iter().map(|beam| beam.beamlets()).sum()
    }

    /// All columns in turn: steps by row, and the Gy of one.
    pub fn columns(&self) -> impl Iterator<Item = (&[i16], f32)> {
        self.beams.iter().flat_map(|beam| beam.columns())
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`. Equal calls on a device give equal bits.
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Vec<f32> {
        let by_card = self
            .card
            .as_ref()
            .and_then(|card| answer_or_log(card.doses(fluences)));
        match by_card {
            Some(doses) => doses
                .into_iter()
                .zip(offset_gy)
                .map(|(gy, offset)| gy + offset)
                .collect(),
            None => cpu::products::doses(self.columns(), fluences, offset_gy),
        }
    }

    /// Gradient by fluence, from that by the doses of the rows.
    pub fn transposed(&self, by_dose: &[f32]) -> Vec<f64> {
        let by_card = self
            .card
            .as_ref()
            .and_then(|card| answer_or_log(card.transposed(by_dose)));
        by_card.unwrap_or_else(|| cpu::products::transposed(self.columns(), by_dose))
    }

    /// Sum of the squares of each column, Gy2, weighed by row.
    pub fn squares(&self, weights: &[f32]) -> Vec<f64> {
        let by_card = self
            .card
            .as_ref()
            .and_then(|card| answer_or_log(card.squares(weights)));
        by_card.unwrap_or_else(|| cpu::products::squares(self.columns(), weights))
    }
}

/// The answer of a card; a failure goes into the log.
fn answer_or_log<T>(by_card: Result<T, crate::CudaError>) -> Option<T> {
    by_card
        .map_err(|why| tracing::warn!("a product of the influence matrix on the CPU: {why}"))
        .ok()
}
