//! Monte Carlo convolution/superposition on a card (`kernels/mccs.cu`): the histories of
//! [`engine::mccs::cpu`](crate::mccs::cpu), in stages as Zhou 2010, Sec. 3.1: heads and flights first, which write rays,
//! then the deposition along all of them. Neighbouring histories are of one energy and share a kernel.

use super::request::Variant;
use super::simulation::Simulation;
use super::tables::FAR_ONE_IN;
use crate::JobControl;
use crate::cuda::head::{HeadTables, uploaded};
use crate::cuda::{
    Arg, Buffer, CardLock, CardSimulation, CardTally, CardWork, Clock, CudaError, OnCard, Resident,
    Shape, int,
};
use crate::histories::Batch;
use bytemuck::{Pod, Zeroable};

/// Histories on a card.
pub(crate) type Histories<'a> = OnCard<'a, Simulation>;

/// Histories whose rays are in memory at a time.
// Threads that take new rays when theirs end, and rays sorted by tile, are slower than rays in the order of their histories.
const CHUNK: u64 = 1 << 19;
const THREADS: u32 = 128;

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
    tally: CardTally,
}

impl CardSimulation for Simulation {
    type Work = RunBuffers;

    fn work(&self, batch: u64, card: &mut CardLock<'_>) -> Result<RunBuffers, CudaError> {
        let voxels = self.lattice.voxels();
        card.fits_int("a dose lattice", voxels)?;
        let mut alive = Vec::new();
        let tables = Tables {
            head: HeadTables::uploaded(card, &mut alive, &self.head, self.seed)?,
            voxels: uploaded(card, &mut alive, &self.voxels)?,
            kernels: uploaded(card, &mut alive, &self.kernels)?,
            cones: uploaded(card, &mut alive, &self.cones)?,
            rows: uploaded(card, &mut alive, &self.rows)?,
            size: self.lattice.size.map(int),
            per_cm: self.voxels_per_cm(),
            directions: self.directions,
            paper: u32::from(self.variant == Variant::Paper),
        };
        let slots = u64::from(self.directions.next_multiple_of(FAR_ONE_IN));
        let rays = card.alloc((slots * batch.min(CHUNK)) as usize)?;
        card.fill(&rays, 0)?;
        Ok(RunBuffers {
            tables,
            _uploaded: alive,
            rays,
            tally: CardTally::new(voxels, card)?,
        })
    }
}

impl CardWork for RunBuffers {
    fn tally(&self) -> &CardTally {
        &self.tally
    }

    fn queue(
        &mut self,
        card: &mut CardLock<'_>,
        batch: Batch,
        clock: &mut Clock,
        control: &JobControl,
    ) -> Result<(), CudaError> {
        let slots = u64::from(self.tables.directions.next_multiple_of(FAR_ONE_IN));
        let mut begin = 0;
        while begin < batch.histories {
            control.check()?;
            let histories = (batch.histories - begin).min(CHUNK);
            let args = [
                Arg::value(&self.tables),
                Arg::value(&batch.first),
                Arg::value(&(begin as u32)),
                Arg::value(&(histories as u32)),
                Arg::value(&(batch.histories as f32)),
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
                Arg::from(&self.tally.quanta),
            ];
            let shape = Shape::covering([rays as usize, 1, 1], [THREADS, 1, 1]);
            card.launch("mccs", "mccs_rays", shape, &args)?;
            clock.mark(card, "card: rays")?;
            begin += histories;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ray, Tables};
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;
    use crate::mccs::tables::{CLASSES, LAST_CM, MOST_DIRECTIONS, NODES};
    use physics::kernel::CONES;

    /// The kernels repeat constants of the tables.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let sources = [include_str!("../../../kernels/mccs.cuh")];
        for (name, value) in [
            ("CONES", CONES as f64),
            ("NODES", NODES as f64),
            ("LAST_CM", LAST_CM),
            ("CLASSES", CLASSES as f64),
            ("MOST_DIRECTIONS", f64::from(MOST_DIRECTIONS)),
            ("HEAD_THREADS", f64::from(super::THREADS)),
            ("FAR_ONE_IN", f64::from(super::FAR_ONE_IN)),
        ] {
            assert_eq!(constant(&sources, name), value, "{name}");
        }
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("mccs").unwrap();
        let tables = size_of::<Tables>();
        assert_eq!(size_of::<Ray>(), 32);
        assert_eq!(
            signature(ptx, "mccs_head"),
            Some(vec![tables, 8, 4, 4, 4, 8])
        );
        assert_eq!(signature(ptx, "mccs_rays"), Some(vec![tables, 8, 4, 8]));
    }
}
