//! Monte Carlo convolution/superposition on a card (`kernels/mccs.cu`): the histories of
//! [`engine::cpu::mccs`](crate::engine::cpu::mccs), in stages as Zhou 2010, Sec. 3.1: heads and flights first, which leave rays
//! behind, then the deposition along all of them. Neighbouring histories are of one energy and share a kernel.

use super::cccs::Failure;
use super::{Arg, Buffer, Clock, CudaError, Device, Session, Shape, int};
use crate::engine::Watch;
use crate::engine::cccs::job::add_phase;
use crate::engine::cpu::mccs::FAR_ONE_IN;
use crate::engine::mccs::Runner;
use crate::engine::mccs::simulation::Simulation;
use crate::engine::mccs::tables::{Cell, Group, Head, Segment, Stand};
use bytemuck::{Pod, Zeroable};

/// Histories whose rays are kept at a time.
const CHUNK: u64 = 1 << 19;
/// Batches that are queued before the host waits for them: what a cancelled run still does.
const QUEUED: u64 = 16;
const THREADS: u32 = 128;

/// `struct Tables` of `kernels/mccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Tables {
    voxels: u64,
    groups: u64,
    heads: u64,
    stands: u64,
    segments: u64,
    cells: u64,
    horns: u64,
    tips_mm: u64,
    sides_mm: u64,
    cones: u64,
    rows: u64,
    softening: u64,
    size: [i32; 3],
    per_cm: [f32; 3],
    group_count: u32,
    directions: u32,
    paper: u32,
    seed: [u32; 2],
    padding: u32,
}

/// `struct Ray` of `kernels/mccs.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Ray {
    from: [f32; 3],
    energy: f32,
    direction: [f32; 3],
    what: u32,
}

/// Histories on a card.
pub struct Histories<'a> {
    device: &'a Device,
    work: Option<Work>,
    batches: u64,
    histories: u64,
    phases_ms: Vec<(String, f64)>,
}

/// What is on the card.
struct Work {
    tables: Tables,
    /// Alive as long as the tables point to it.
    _held: Held,
    rays: Buffer<Ray>,
    quanta: Buffer<u64>,
    sum: Buffer<u64>,
    squares: Buffer<f64>,
    clock: Option<Clock>,
}

/// What the tables point to.
struct Held {
    voxels: Buffer<u32>,
    groups: Buffer<Group>,
    heads: Buffer<Head>,
    stands: Buffer<Stand>,
    segments: Buffer<Segment>,
    cells: Buffer<Cell>,
    numbers: [Buffer<f32>; 6],
}

impl<'a> Histories<'a> {
    pub fn new(device: &'a Device) -> Self {
        Self { device, work: None, batches: 0, histories: 0, phases_ms: Vec::new() }
    }
}

impl Work {
    fn new(run: &Simulation, batch: u64, session: &mut Session<'_>) -> Result<Self, CudaError> {
        let voxels = run.lattice.voxels();
        session.fits_int("a dose lattice", voxels)?;
        let heads = &run.heads;
        let sides: Vec<f32> = heads.sides_mm.iter().map(|mm| *mm as f32).collect();
        let softening: Vec<f32> = run.softening.iter().flatten().copied().collect();
        let mut numbers = |values: &[f32]| session.upload(if values.is_empty() { &[0.0] } else { values });
        let numbers = [
            numbers(&heads.horns)?,
            numbers(&heads.tips_mm)?,
            numbers(&sides)?,
            numbers(&run.cones)?,
            numbers(&run.rows)?,
            numbers(&softening)?,
        ];
        let held = Held {
            voxels: session.upload(&run.voxels)?,
            groups: session.upload(&run.groups)?,
            heads: session.upload(&heads.heads)?,
            stands: session.upload(&heads.stands)?,
            segments: session.upload(&heads.segments)?,
            cells: session.upload(&heads.cells)?,
            numbers,
        };
        let [horns, tips_mm, sides_mm, cones, rows, softening] = held.numbers.each_ref().map(Buffer::address);
        let tables = Tables {
            voxels: held.voxels.address(),
            groups: held.groups.address(),
            heads: held.heads.address(),
            stands: held.stands.address(),
            segments: held.segments.address(),
            cells: held.cells.address(),
            horns,
            tips_mm,
            sides_mm,
            cones,
            rows,
            softening,
            size: run.lattice.size.map(int),
            per_cm: run.voxels_per_cm(),
            group_count: run.groups.len() as u32,
            directions: run.directions,
            paper: u32::from(run.variant == crate::engine::mccs::Variant::Paper),
            seed: [run.seed as u32, (run.seed >> 32) as u32],
            padding: 0,
        };
        let slots = u64::from(run.directions.next_multiple_of(FAR_ONE_IN));
        let rays = session.alloc((slots * batch.min(CHUNK)) as usize)?;
        let quanta = session.alloc(voxels)?;
        let sum = session.alloc(voxels)?;
        let squares = session.alloc(voxels)?;
        session.fill(&rays, 0)?;
        session.fill(&quanta, 0)?;
        session.fill(&sum, 0)?;
        session.fill(&squares, 0)?;
        Ok(Self { tables, _held: held, rays, quanta, sum, squares, clock: None })
    }

    /// Queues a batch.
    fn batch(
        &mut self,
        session: &mut Session<'_>,
        first: u64,
        batch: u64,
        watch: &Watch,
    ) -> Result<(), CudaError> {
        let slots = u64::from(self.tables.directions.next_multiple_of(FAR_ONE_IN));
        let mut clock = match self.clock.take() {
            Some(clock) => clock,
            None => session.clock()?,
        };
        let mut begin = 0;
        while begin < batch {
            watch.check()?;
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
            session.launch("mccs", "mccs_head", shape, &args)?;
            clock.mark(session, "card: head")?;
            let rays = slots * histories;
            let args = [
                Arg::value(&self.tables),
                Arg::from(&self.rays),
                Arg::value(&(rays as u32)),
                Arg::from(&self.quanta),
            ];
            let shape = Shape::covering([rays as usize, 1, 1], [THREADS, 1, 1]);
            session.launch("mccs", "mccs_rays", shape, &args)?;
            clock.mark(session, "card: rays")?;
            begin += histories;
        }
        let voxels = self.quanta.count();
        let args =
            [Arg::int(voxels), Arg::from(&self.quanta), Arg::from(&self.sum), Arg::from(&self.squares)];
        session.launch("mccs", "mccs_tally", Shape::covering([voxels, 1, 1], [256, 1, 1]), &args)?;
        clock.mark(session, "card: tally")?;
        self.clock = Some(clock);
        Ok(())
    }
}

impl Runner for Histories<'_> {
    type Error = Failure;

    fn run(&mut self, run: &Simulation, first: u64, batch: u64, watch: &Watch) -> Result<(), Failure> {
        // A session for each batch: other jobs of this card come between.
        let mut session = self.device.session();
        let work = match &mut self.work {
            Some(work) => work,
            none => none.insert(Work::new(run, batch, &mut session)?),
        };
        work.batch(&mut session, first, batch, watch)?;
        self.batches += 1;
        self.histories += batch;
        if self.batches.is_multiple_of(QUEUED) {
            session.wait()?;
        }
        Ok(())
    }

    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), Failure> {
        let Some(work) = &mut self.work else { return Ok(Default::default()) };
        let mut session = self.device.session();
        let voxels = work.sum.count();
        let (mean, sigma) = (session.alloc::<f32>(voxels)?, session.alloc::<f32>(voxels)?);
        let args = [
            Arg::int(voxels),
            Arg::value(&(self.batches as f64)),
            Arg::value(&(self.batches as f64 / self.histories as f64)),
            Arg::from(&work.sum),
            Arg::from(&work.squares),
            Arg::from(&mean),
            Arg::from(&sigma),
        ];
        session.launch("mccs", "mccs_means", Shape::covering([voxels, 1, 1], [256, 1, 1]), &args)?;
        let answer = (session.download(&mean)?, session.download(&sigma)?);
        if let Some(clock) = work.clock.take() {
            for (phase, ms) in clock.finish(&session)? {
                add_phase(&mut self.phases_ms, &phase, ms);
            }
        }
        Ok(answer)
    }

    fn device(&self) -> String {
        self.device.card().to_string()
    }

    fn phases_ms(&self) -> &[(String, f64)] {
        &self.phases_ms
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels::{ptx, signature};
    use super::{Ray, Tables};
    use crate::engine::mccs::tables::{CLASSES, LAST_CM, MOST_DIRECTIONS, NODES, RADII, RADIUS_STEP_MM};
    use crate::physics::kernel::CONES;

    /// The kernels write down again what the tables are made of.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let source = include_str!("../../../../kernels/mccs.cuh");
        let constant = |name: &str| -> f64 {
            let line = source.lines().find(|l| l.contains(&format!(" {name} = ")));
            let value =
                line.and_then(|l| l.split(&format!(" {name} = ")).nth(1)).and_then(|v| v.split(';').next());
            value
                .and_then(|v| v.trim_end_matches(['f', 'u']).parse().ok())
                .unwrap_or_else(|| panic!("no {name}"))
        };
        for (name, here) in [
            ("CONES", CONES as f64),
            ("NODES", NODES as f64),
            ("LAST_CM", LAST_CM),
            ("RADII", RADII as f64),
            ("RADIUS_STEP_MM", RADIUS_STEP_MM),
            ("CLASSES", CLASSES as f64),
            ("MOST_DIRECTIONS", f64::from(MOST_DIRECTIONS)),
            ("HEAD_THREADS", f64::from(super::THREADS)),
            ("FAR_ONE_IN", f64::from(super::FAR_ONE_IN)),
        ] {
            assert_eq!(constant(name), here, "{name}");
        }
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("mccs").unwrap();
        let tables = size_of::<Tables>();
        assert_eq!(size_of::<Ray>(), 32);
        assert_eq!(signature(ptx, "mccs_head"), Some(vec![tables, 8, 4, 4, 4, 8]));
        assert_eq!(signature(ptx, "mccs_rays"), Some(vec![tables, 8, 4, 8]));
        assert_eq!(signature(ptx, "mccs_tally"), Some(vec![4, 8, 8, 8]));
        assert_eq!(signature(ptx, "mccs_means"), Some(vec![4, 8, 8, 8, 8, 8, 8]));
    }
}
