//! Sums of batches of histories on a card (`kernels/tally.cu`).

use super::{Arg, Buffer, CardLock, CudaError, Shape};
use bytemuck::{Pod, Zeroable};

/// Threads of a block.
const THREADS: u32 = 256;

/// The lattice that a batch deposits in, and the sums over batches.
pub struct CardTally {
    /// Quanta of a batch, by voxel.
    pub quanta: Buffer<u64>,
    sums: Sums,
}

/// Sums over batches, by voxel: of quanta, and of their squares in two words.
struct Sums([Buffer<u64>; 3]);

/// `struct Sums` of `kernels/tally.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct SumsAt([u64; 3]);

impl Sums {
    fn arg(&self) -> Arg {
        Arg::value(&SumsAt(self.0.each_ref().map(Buffer::address)))
    }

    fn empty(&self, card: &mut CardLock<'_>) -> Result<(), CudaError> {
        self.0.iter().try_for_each(|words| card.fill(words, 0))
    }
}

impl CardTally {
    /// An empty tally.
    ///
    /// # Errors
    /// A card's fault.
    pub fn new(voxels: usize, card: &mut CardLock<'_>) -> Result<Self, CudaError> {
        let quanta = card.alloc(voxels)?;
        let sums = Sums([
            card.alloc(voxels)?,
            card.alloc(voxels)?,
            card.alloc(voxels)?,
        ]);
        card.fill(&quanta, 0)?;
        sums.empty(card)?;
        Ok(Self { quanta, sums })
    }

    /// Queues the end of a batch: its quanta go into the sums, and its lattice is empty.
    ///
    /// # Errors
    /// A card's fault.
    pub fn add_batch(&self, card: &mut CardLock<'_>) -> Result<(), CudaError> {
        self.over_voxels(
            card,
            "tally_add_batch",
            &[Arg::from(&self.quanta), self.sums.arg()],
        )
    }

    /// Mean quanta of a history, by voxel, and the standard deviation of that mean.
    ///
    /// # Errors
    /// A card's fault.
    pub fn means(
        &self,
        card: &mut CardLock<'_>,
        batches: u64,
        histories: u64,
    ) -> Result<(Vec<f32>, Vec<f32>), CudaError> {
        let voxels = self.quanta.count();
        let (mean, sigma) = (card.alloc::<f32>(voxels)?, card.alloc::<f32>(voxels)?);
        let args = [
            Arg::value(&(batches as f64)),
            Arg::value(&(batches as f64 / histories as f64)),
            self.sums.arg(),
            Arg::from(&mean),
            Arg::from(&sigma),
        ];
        self.over_voxels(card, "tally_means", &args)?;
        Ok((card.download(&mean)?, card.download(&sigma)?))
    }

    /// Downloads the sums and clears them here.
    ///
    /// # Errors
    /// A card's fault.
    pub fn take_sums(&self, card: &mut CardLock<'_>) -> Result<[Vec<u64>; 3], CudaError> {
        let [quanta, low, high] = &self.sums.0;
        let taken = [
            card.download(quanta)?,
            card.download(low)?,
            card.download(high)?,
        ];
        self.sums.empty(card)?;
        Ok(taken)
    }

    /// Adds what another card has summed up.
    ///
    /// # Errors
    /// A card's fault.
    pub fn add_sums(&self, card: &mut CardLock<'_>, sums: &[Vec<u64>; 3]) -> Result<(), CudaError> {
        let [quanta, low, high] = sums;
        let from = Sums([card.upload(quanta)?, card.upload(low)?, card.upload(high)?]);
        self.over_voxels(card, "tally_add", &[from.arg(), self.sums.arg()])
    }

    /// Queues a kernel with a thread a voxel, whose first argument is their number.
    fn over_voxels(
        &self,
        card: &mut CardLock<'_>,
        kernel: &'static str,
        args: &[Arg],
    ) -> Result<(), CudaError> {
        let voxels = self.quanta.count();
        let args = [&[Arg::int(voxels)], args].concat();
        let shape = Shape::covering([voxels, 1, 1], [THREADS, 1, 1]);
        card.launch("tally", kernel, shape, &args)
    }
}

#[cfg(test)]
mod tests {
    use super::SumsAt;
    use crate::cuda::kernels::ptx;
    use crate::cuda::signature;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("tally").unwrap();
        let sums = size_of::<SumsAt>();
        assert_eq!(sums, 24);
        assert_eq!(signature(ptx, "tally_add_batch"), Some(vec![4, 8, sums]));
        assert_eq!(signature(ptx, "tally_add"), Some(vec![4, sums, sums]));
        assert_eq!(
            signature(ptx, "tally_means"),
            Some(vec![4, 8, 8, sums, 8, 8])
        );
    }
}
