//! Products of the influence matrix on a card (`kernels/influence.cu`).

use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Handed, Shape};
use crate::influence::columns::DoseColumns;
use std::sync::Arc;

/// Threads of a block.
const THREADS: u32 = 256;
/// As in `kernels/influence.cu`.
const TOGETHER: usize = 32;
const BESIDE: usize = 4;

/// The columns of a beam on a card.
#[derive(Clone)]
struct CardBeam {
    /// The host's, to know them again.
    host: Arc<DoseColumns>,
    steps: Buffer<i16>,
}

/// The influence matrix on a card.
pub struct CardMatrix {
    device: Arc<Device>,
    rows: usize,
    beams: Vec<CardBeam>,
    /// Address of the steps of each column, all beams one after another.
    columns: Buffer<u64>,
}

/// Columns of a beam in a card's memory, for others who compute on that card.
pub struct CardColumns {
    rows: usize,
    host: Arc<DoseColumns>,
    /// 16-bit integers `[beamlet][row]`.
    pub steps: Handed<i16>,
}

impl CardColumns {
    /// Beamlets and rows.
    pub fn shape(&self) -> [usize; 2] {
        [self.host.beamlets(), self.rows]
    }

    /// Gy of a step of each beamlet.
    pub fn gy_per_step(&self) -> &[f32] {
        &self.host.gy_per_step
    }
}

impl CardMatrix {
    /// The columns of each beam, ready to be read by others.
    pub fn shared(&self) -> Vec<CardColumns> {
        self.beams
            .iter()
            .map(|beam| CardColumns {
                rows: self.rows,
                host: Arc::clone(&beam.host),
                steps: Handed::new(&self.device, beam.steps.clone()),
            })
            .collect()
    }

    /// Copies columns of each beam; columns that `previous` has are shared.
    ///
    /// # Errors
    /// [`CudaError`]: a card without memory for them among them.
    pub fn new(
        device: &Arc<Device>,
        rows: usize,
        beams: &[Arc<DoseColumns>],
        previous: Option<&Self>,
    ) -> Result<Self, CudaError> {
        let previous =
            previous.filter(|matrix| Arc::ptr_eq(&matrix.device, device) && matrix.rows == rows);
        let mut card = device.lock();
        let beam = |host: &Arc<DoseColumns>| match previous.and_then(|matrix| matrix.beam(host)) {
            Some(beam) => Ok(beam),
            None => {
                card.fits_int("columns of a beam", host.steps.len())?;
                Ok(CardBeam {
                    host: Arc::clone(host),
                    steps: card.upload(&host.steps)?,
                })
            }
        };
        let beams: Vec<CardBeam> = beams.iter().map(beam).collect::<Result<_, CudaError>>()?;
        let addresses = beams.iter().flat_map(|beam| {
            let column = (rows * size_of::<i16>()) as u64;
            (0..beam.host.beamlets() as u64).map(move |n| beam.steps.address() + n * column)
        });
        let columns = card.upload(&addresses.collect::<Vec<u64>>())?;
        drop(card);
        Ok(Self {
            device: Arc::clone(device),
            rows,
            beams,
            columns,
        })
    }

    /// A beam whose columns are on the card already.
    fn beam(&self, host: &Arc<DoseColumns>) -> Option<CardBeam> {
        self.beams
            .iter()
            .find(|beam| Arc::ptr_eq(&beam.host, host))
            .cloned()
    }

    /// Gy of a step of each column.
    fn gy_per_step(&self) -> impl Iterator<Item = f64> {
        self.beams
            .iter()
            .flat_map(|beam| &beam.host.gy_per_step)
            .map(|gy| f64::from(*gy))
    }

    /// Doses of the rows for fluences of the beamlets. Equal calls give equal bits.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn doses(&self, fluences: &[f64]) -> Result<Vec<f32>, CudaError> {
        let beamlets = self.columns.count();
        let mut gy: Vec<f32> = fluences
            .iter()
            .zip(self.gy_per_step())
            .map(|(x, gy)| (x * gy) as f32)
            .collect();
        gy.resize(beamlets, 0.0);
        let mut card = self.device.lock();
        let doses: Buffer<f32> = card.alloc(self.rows)?;
        if beamlets == 0 || self.rows == 0 {
            card.fill(&doses, 0)?;
            return card.download(&doses);
        }
        let gy = card.upload(&gy)?;
        let parts = beamlets.div_ceil(TOGETHER);
        let of_parts = card.alloc::<f32>(parts * self.rows)?;
        let args = [
            Arg::int(self.rows),
            Arg::int(beamlets),
            Arg::from(&self.columns),
            Arg::from(&gy),
            Arg::from(&of_parts),
        ];
        let covering = |y: usize| Shape::covering([self.rows, y, 1], [THREADS, 1, 1]);
        card.launch("influence", "influence_doses", covering(parts), &args)?;
        let args = [
            Arg::int(self.rows),
            Arg::int(parts),
            Arg::from(&of_parts),
            Arg::from(&doses),
        ];
        card.launch("influence", "influence_sum", covering(1), &args)?;
        card.download(&doses)
    }

    /// Gradient by fluence, from that by the doses of the rows.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn transposed(&self, by_dose: &[f32]) -> Result<Vec<f64>, CudaError> {
        let sums = self.by_column("influence_transposed", by_dose)?;
        Ok(sums
            .into_iter()
            .zip(self.gy_per_step())
            .map(|(sum, gy)| f64::from(sum) * gy)
            .collect())
    }

    /// Sum of the squares of each column, Gy2, weighed by row.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn squares(&self, weights: &[f32]) -> Result<Vec<f64>, CudaError> {
        let sums = self.by_column("influence_squares", weights)?;
        Ok(sums
            .into_iter()
            .zip(self.gy_per_step())
            .map(|(sum, gy)| f64::from(sum) * gy * gy)
            .collect())
    }

    /// Sums over the rows of each column, in its steps.
    fn by_column(&self, kernel: &'static str, by_row: &[f32]) -> Result<Vec<f32>, CudaError> {
        let mut card: CardLock<'_> = self.device.lock();
        let by_row = card.upload(by_row)?;
        let sums: Buffer<f32> = card.alloc(self.columns.count())?;
        if self.columns.count() > 0 {
            let args = [
                Arg::int(self.rows),
                Arg::int(self.columns.count()),
                Arg::from(&self.columns),
                Arg::from(&by_row),
                Arg::from(&sums),
            ];
            let blocks = self.columns.count().div_ceil(BESIDE) as u32;
            let shape = Shape {
                blocks: [blocks, 1, 1],
                threads: [THREADS, 1, 1],
            };
            card.launch("influence", kernel, shape, &args)?;
        }
        card.download(&sums)
    }
}
