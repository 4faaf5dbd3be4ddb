//! Buffers of a run of histories on a card, and its kernels in order.

use super::CHUNK;
use crate::JobControl;
use crate::cuda::head::{HeadTables, uploaded};
use crate::cuda::{Arg, Buffer, CardLock, Clock, CudaError, Resident, Shape, int};
use crate::mccs::request::Variant;
use crate::mccs::simulation::Simulation;
use crate::mccs::tables::FAR_ONE_IN;
use bytemuck::{Pod, Zeroable};

const THREADS: u32 = 128;
/// Threads of a block of the kernels over voxels.
const WIDE: u32 = 256;

/// `struct Tables` of `kernels/mccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Tables {
    head: HeadTables,
    voxels: u64,
    kernels: u64,
    cones: u64,
    rows: u64,
    size: [i32; 3],
    per_cm: [f32; 3],
    directions: u32,
    paper: u32,
}

/// `struct Ray` of `kernels/mccs.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Ray {
    from: [f32; 3],
    energy: f32,
    direction: [f32; 3],
    packed: u32,
}

/// Buffers of a run on the card.
pub struct RunBuffers {
    tables: Tables,
    /// Alive as long as the tables point to them.
    _uploaded: Vec<Box<dyn Resident>>,
    rays: Buffer<Ray>,
    quanta: Buffer<u64>,
    sums: Sums,
    clock: Option<Clock>,
}

/// Sums over batches, by voxel: of quanta, and of their squares in two words.
struct Sums([Buffer<u64>; 3]);

/// `struct Sums` of `kernels/mccs.cuh`.
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

impl RunBuffers {
    pub fn new(run: &Simulation, batch: u64, card: &mut CardLock<'_>) -> Result<Self, CudaError> {
        let voxels = run.lattice.voxels();
        card.fits_int("a dose lattice", voxels)?;
        let mut alive = Vec::new();
        let tables = Tables {
            head: HeadTables::uploaded(card, &mut alive, &run.head, run.seed)?,
            voxels: uploaded(card, &mut alive, &run.voxels)?,
            kernels: uploaded(card, &mut alive, &run.kernels)?,
            cones: uploaded(card, &mut alive, &run.cones)?,
            rows: uploaded(card, &mut alive, &run.rows)?,
            size: run.lattice.size.map(int),
            per_cm: run.voxels_per_cm(),
            directions: run.directions,
            paper: u32::from(run.variant == Variant::Paper),
        };
        let slots = u64::from(run.directions.next_multiple_of(FAR_ONE_IN));
        let rays = card.alloc((slots * batch.min(CHUNK)) as usize)?;
        let quanta = card.alloc(voxels)?;
        let sums = Sums([
            card.alloc(voxels)?,
            card.alloc(voxels)?,
            card.alloc(voxels)?,
        ]);
        card.fill(&rays, 0)?;
        card.fill(&quanta, 0)?;
        sums.empty(card)?;
        Ok(Self {
            tables,
            _uploaded: alive,
            rays,
            quanta,
            sums,
            clock: None,
        })
    }

    /// Queues a batch.
    pub fn batch(
        &mut self,
        card: &mut CardLock<'_>,
        first: u64,
        batch: u64,
        control: &JobControl,
    ) -> Result<(), CudaError> {
        let slots = u64::from(self.tables.directions.next_multiple_of(FAR_ONE_IN));
        let mut clock = match self.clock.take() {
            Some(clock) => clock,
            None => card.clock()?,
        };
        let mut begin = 0;
        while begin < batch {
            control.check()?;
            let histories = (batch - begin).min(CHUNK);
            let args = [
                Arg::value(&self.tables),
                Arg::value(&first),
                Arg::value(&(begin as u32)),
                Arg::value(&(histories as u32)),
                Arg::value(&(batch as f32)),
                Arg::from(&self.rays),
            ];
            let shape = Shape::covering([histories as usize, 1, 1], [THREADS, 1, 1]);
            card.launch("mccs", "mccs_head", shape, &args)?;
            clock.mark(card, "card: head")?;
            let rays = slots * histories;
            let args = [
                Arg::value(&self.tables),
                Arg::from(&self.rays),
                Arg::value(&(rays as u32)),
                Arg::from(&self.quanta),
            ];
            let shape = Shape::covering([rays as usize, 1, 1], [THREADS, 1, 1]);
            card.launch("mccs", "mccs_rays", shape, &args)?;
            clock.mark(card, "card: rays")?;
            begin += histories;
        }
        self.over_voxels(
            card,
            "mccs_tally",
            &[Arg::from(&self.quanta), self.sums.arg()],
        )?;
        clock.mark(card, "card: tally")?;
        self.clock = Some(clock);
        Ok(())
    }

    /// Mean quanta of a history, by voxel, and the standard deviation of that mean, of so many batches and histories.
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
        self.over_voxels(card, "mccs_means", &args)?;
        Ok((card.download(&mean)?, card.download(&sigma)?))
    }

    /// Downloads the sums and clears them here.
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
    pub fn add_sums(&self, card: &mut CardLock<'_>, sums: &[Vec<u64>; 3]) -> Result<(), CudaError> {
        let [quanta, low, high] = sums;
        let from = Sums([card.upload(quanta)?, card.upload(low)?, card.upload(high)?]);
        self.over_voxels(card, "mccs_add", &[from.arg(), self.sums.arg()])
    }

    /// Times on the card since they were last asked for.
    pub fn times(&mut self, card: &CardLock<'_>) -> Result<Vec<(String, f64)>, CudaError> {
        self.clock
            .take()
            .map_or(Ok(Vec::new()), |clock| clock.finish(card))
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
        card.launch(
            "mccs",
            kernel,
            Shape::covering([voxels, 1, 1], [WIDE, 1, 1]),
            &args,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Ray, SumsAt, Tables};
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;
    use crate::mccs::tables::{CLASSES, LAST_CM, MOST_DIRECTIONS, NODES};
    use physics::kernel::CONES;

    /// The kernels repeat constants of the tables.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let sources = [include_str!("../../../../kernels/mccs.cuh")];
        for (name, here) in [
            ("CONES", CONES as f64),
            ("NODES", NODES as f64),
            ("LAST_CM", LAST_CM),
            ("CLASSES", CLASSES as f64),
            ("MOST_DIRECTIONS", f64::from(MOST_DIRECTIONS)),
            ("HEAD_THREADS", f64::from(super::THREADS)),
            ("FAR_ONE_IN", f64::from(super::FAR_ONE_IN)),
        ] {
            assert_eq!(constant(&sources, name), here, "{name}");
        }
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("mccs").unwrap();
        let tables = size_of::<Tables>();
        let sums = size_of::<SumsAt>();
        assert_eq!((size_of::<Ray>(), sums), (32, 24));
        assert_eq!(
            signature(ptx, "mccs_head"),
            Some(vec![tables, 8, 4, 4, 4, 8])
        );
        assert_eq!(signature(ptx, "mccs_rays"), Some(vec![tables, 8, 4, 8]));
        assert_eq!(signature(ptx, "mccs_tally"), Some(vec![4, 8, sums]));
        assert_eq!(signature(ptx, "mccs_add"), Some(vec![4, sums, sums]));
        assert_eq!(
            signature(ptx, "mccs_means"),
            Some(vec![4, 8, 8, sums, 8, 8])
        );
    }
}
