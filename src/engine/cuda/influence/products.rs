//! Products of the influence matrix on a card (`kernels/influence.cu`).

use crate::cuda::{Arg, Buffer, CudaError, Device, Shape};
use std::sync::Arc;

/// Threads of a block.
const THREADS: u32 = 256;
/// As in `kernels/influence.cu`.
const TOGETHER: usize = 32;

/// The columns of a beam on a card.
#[derive(Clone)]
struct CardBeam {
    /// The host's, to know them again.
    host: Arc<Vec<f32>>,
    gy: Buffer<f32>,
    beamlets: usize,
}

/// The influence matrix on a card.
pub struct CardMatrix {
    device: Arc<Device>,
    rows: usize,
    beams: Vec<CardBeam>,
}

impl CardMatrix {
    /// Copies columns, `[beamlet][row]` of each beam; those that a matrix of `before` has are shared.
    ///
    /// # Errors
    /// [`CudaError`]: a card without memory for them among them.
    pub fn new(
        device: &Arc<Device>,
        rows: usize,
        beams: &[Arc<Vec<f32>>],
        before: Option<&Self>,
    ) -> Result<Self, CudaError> {
        let known = |host: &Arc<Vec<f32>>| {
            let before =
                before.filter(|before| Arc::ptr_eq(&before.device, device) && before.rows == rows)?;
            before.beams.iter().find(|beam| Arc::ptr_eq(&beam.host, host)).cloned()
        };
        let mut card = device.lock();
        let beam = |host: &Arc<Vec<f32>>| match known(host) {
            Some(beam) => Ok(beam),
            None => {
                card.fits_int("columns of a beam", host.len())?;
                let gy = card.upload(host)?;
                Ok(CardBeam { host: Arc::clone(host), gy, beamlets: host.len() / rows.max(1) })
            }
        };
        let beams = beams.iter().map(beam).collect::<Result<_, CudaError>>()?;
        Ok(Self { device: Arc::clone(device), rows, beams })
    }

    /// Doses of the rows for fluences of the beamlets, added to `offset_gy`. Equal calls give equal bits.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn doses(&self, fluences: &[f64], offset_gy: &[f32]) -> Result<Vec<f32>, CudaError> {
        let beamlets: usize = self.beams.iter().map(|beam| beam.beamlets).sum();
        let mut single: Vec<f32> = fluences.iter().map(|fluence| *fluence as f32).collect();
        single.resize(beamlets, 0.0);
        let mut card = self.device.lock();
        let (doses, fluences) = (card.upload(offset_gy)?, card.upload(&single)?);
        let parts: usize = self.beams.iter().map(|beam| beam.beamlets.div_ceil(TOGETHER)).sum();
        let of_parts = card.alloc::<f32>(parts * self.rows)?;
        let (mut first, mut part) = (0, 0);
        for beam in self.beams.iter().filter(|beam| beam.beamlets > 0) {
            let args = [
                Arg::int(self.rows),
                Arg::int(beam.beamlets),
                Arg::int(first),
                Arg::int(part),
                Arg::from(&beam.gy),
                Arg::from(&fluences),
                Arg::from(&of_parts),
            ];
            let own = beam.beamlets.div_ceil(TOGETHER);
            let shape = Shape::covering([self.rows, own, 1], [THREADS, 1, 1]);
            card.launch("influence", "influence_doses", shape, &args)?;
            (first, part) = (first + beam.beamlets, part + own);
        }
        let args = [Arg::int(self.rows), Arg::int(parts), Arg::from(&of_parts), Arg::from(&doses)];
        let shape = Shape::covering([self.rows, 1, 1], [THREADS, 1, 1]);
        card.launch("influence", "influence_sum", shape, &args)?;
        card.download(&doses)
    }

    /// Gradient by fluence, from that by the doses of the rows.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn transposed(&self, by_dose: &[f32]) -> Result<Vec<f64>, CudaError> {
        let mut card = self.device.lock();
        let by_dose = card.upload(by_dose)?;
        let beamlets = self.beams.iter().map(|beam| beam.beamlets).sum();
        let products: Buffer<f32> = card.alloc(beamlets)?;
        let mut first = 0;
        for beam in self.beams.iter().filter(|beam| beam.beamlets > 0) {
            let args = [
                Arg::int(self.rows),
                Arg::int(first),
                Arg::from(&beam.gy),
                Arg::from(&by_dose),
                Arg::from(&products),
            ];
            let shape = Shape { blocks: [beam.beamlets as u32, 1, 1], threads: [THREADS, 1, 1] };
            card.launch("influence", "influence_transposed", shape, &args)?;
            first += beam.beamlets;
        }
        Ok(card.download(&products)?.into_iter().map(f64::from).collect())
    }
}
