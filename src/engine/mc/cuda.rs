//! Monte Carlo with electrons on a card (`kernels/mc.cu`): the transport of [`transport`] in single precision.
//!
//! Photons of a batch's histories first, whose electrons wait in a queue; then generation by generation the electrons that wait, and
//! the photons that they made. Most batches are over after a few generations; the host looks once for several.

use super::simulation::Simulation;
use crate::JobControl;
use crate::cuda::head::{HeadTables, uploaded};
use crate::cuda::{
    Arg, Buffer, CardLock, CardSimulation, CardTally, CardWork, Clock, CudaError, OnCard, Resident,
    Shape, int,
};
use crate::dose::DoseTo;
use crate::histories::{Batch, Faults};
use bytemuck::{Pod, Zeroable};
use particles::Medium;
use particles::constants::COLLISION_MEV_CM2_MOL;
use physics::Material;
use transport::energy::quanta;
use transport::tables::MaterialTables;

/// Histories on a card.
pub(crate) type Histories<'a> = OnCard<'a, Simulation>;

/// Histories, times their splitting, whose first electrons are in a queue at a time: 1.6 GB of queues.
const CHUNK: u64 = 1 << 23;
/// Chunks whose later generations are run together.
const CHUNKS: usize = 2;
/// Places for each history of a chunk in the queues of electrons, of the first and of later generations, and of photons: twice what
/// 18 MV takes.
const ELECTRONS_A_HISTORY: [f64; 2] = [2.0, 1.2];
const PHOTONS_A_HISTORY: f64 = 0.75;
/// Words of a particle in a queue.
const WORDS: usize = 12;
/// Generations of secondaries between two looks of the host.
const GENERATIONS: usize = 8;
/// Counters of a generation: electrons and photons that wait, and the next of each to be taken.
const COUNTERS: usize = 4;
/// Place of the first later generation among the counters, behind the chunks.
const FIRST_GENERATION: usize = CHUNKS;
const THREADS: u32 = 256;
const ELECTRON_THREADS: u32 = 128;
/// Blocks that fill the largest cards; those that find no particle end at once.
const BLOCKS: u32 = 1056;
const ELECTRON_BLOCKS: u32 = 1584;
const CLASSES: usize = 16;

/// `struct McTables` of `kernels/mc.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Tables {
    charged: u64,
    photon: u64,
    compton: u64,
    rayleigh: u64,
    bremsstrahlung: u64,
    angles: u64,
    bends: u64,
    majorant_per_cm: u64,
    collision_bound_cm2_g: [[f32; 2]; CLASSES],
    collision_cm2_mev_g: [f32; CLASSES],
}

/// `struct McBlocks` of `kernels/mc.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct BlocksAt {
    boxes: u64,
    shape: [i32; 3],
    edge: [i32; 3],
    per_cm: [f32; 3],
    padding: u32,
}

/// `struct McRun` of `kernels/mc.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct RunTables {
    head: HeadTables,
    tables: Tables,
    blocks: BlocksAt,
    voxels: u64,
    electron_rows: u64,
    electron_row_at: u64,
    quanta: u64,
    counters: u64,
    size: [i32; 3],
    spacing_cm: [f32; 3],
    per_cm: [f32; 3],
    cut_off: u32,
    gas_cut_off: u32,
    photon_cut_off: u32,
    electron_threshold_mev: f32,
    photon_threshold_mev: f32,
    step_loss: f32,
    splitting: u32,
    to_water: u32,
    padding: u32,
}

/// `struct McQueue` of `kernels/mc.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct QueueAt {
    entries: u64,
    count: u64,
    capacity: u32,
    padding: u32,
}

/// `struct McHistories` of `kernels/mc.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct HistoriesAt {
    first: u64,
    begin: u32,
    count: u32,
    batch: f32,
    padding: u32,
}

/// Buffers of a run on the card.
pub struct RunBuffers {
    run: RunTables,
    /// Alive as long as the tables point to them.
    _uploaded: Vec<Box<dyn Resident>>,
    /// Electrons of a generation, and of the next one.
    electrons: [Buffer<u32>; 2],
    photons: Buffer<u32>,
    /// [`COUNTERS`] for each chunk, then for each generation between two looks and the one behind.
    counters: Buffer<u32>,
    faults: Buffer<u32>,
    tally: CardTally,
}

impl CardSimulation for Simulation {
    type Work = RunBuffers;

    fn work(&self, batch: u64, card: &mut CardLock<'_>) -> Result<RunBuffers, CudaError> {
        let voxels = self.lattice.voxels();
        card.fits_int("a dose lattice", voxels)?;
        let tally = CardTally::new(voxels, card)?;
        let faults: Buffer<u32> = card.upload(&[0; 2])?;
        let split = (batch * self.world().settings().splitting).min(CHUNK);
        let mut alive = Vec::new();
        let settings = self.world().settings();
        let thresholds = self.world().thresholds();
        let spacing_cm = self.lattice.spacing_mm.map(|mm| (mm / 10.0) as f32);
        let run = RunTables {
            head: HeadTables::uploaded(card, &mut alive, &self.head, self.seed)?,
            tables: self.tables_on(card, &mut alive)?,
            blocks: self.blocks_on(card, &mut alive)?,
            voxels: uploaded(card, &mut alive, self.world().all_matter())?,
            electron_rows: uploaded(card, &mut alive, &self.electron_rows)?,
            electron_row_at: uploaded(card, &mut alive, &self.electron_row_at)?,
            quanta: tally.quanta.address(),
            counters: faults.address(),
            size: self.lattice.size.map(int),
            spacing_cm,
            per_cm: self.lattice.spacing_mm.map(|mm| (10.0 / mm) as f32),
            cut_off: quanta(settings.cut_off_mev) as u32,
            gas_cut_off: quanta(settings.gas_cut_off_mev) as u32,
            photon_cut_off: quanta(settings.photon_cut_off_mev) as u32,
            electron_threshold_mev: thresholds.electron_mev as f32,
            photon_threshold_mev: thresholds.photon_mev as f32,
            step_loss: settings.step_loss as f32,
            splitting: settings.splitting as u32,
            to_water: u32::from(self.dose_to == DoseTo::Water),
            padding: 0,
        };
        Ok(RunBuffers {
            run,
            _uploaded: alive,
            electrons: [
                card.alloc(queue_words(split, ELECTRONS_A_HISTORY[0]))?,
                card.alloc(queue_words(split, ELECTRONS_A_HISTORY[1]))?,
            ],
            photons: card.alloc(queue_words(split, PHOTONS_A_HISTORY))?,
            counters: card.alloc(COUNTERS * (CHUNKS + GENERATIONS + 1))?,
            faults,
            tally,
        })
    }
}

impl Simulation {
    fn tables_on(
        &self,
        card: &mut CardLock<'_>,
        alive: &mut Vec<Box<dyn Resident>>,
    ) -> Result<Tables, CudaError> {
        let Some(any) = self.world().all_tables().iter().flatten().next() else {
            return Ok(Tables::default());
        };
        // A class without a voxel has no tables; another's stand in its place.
        let by_class: Vec<&MaterialTables> = { self.world().all_tables().iter() }
            .map(|tables| tables.unwrap_or(any))
            .collect();
        let mut collision_bound_cm2_g = [[0.0; 2]; CLASSES];
        let mut collision_cm2_mev_g = [0.0; CLASSES];
        for (class, tables) in by_class.iter().enumerate() {
            collision_bound_cm2_g[class] = tables.collision_bound_cm2_g;
            let medium = Medium::of(Material::ALL[class]);
            collision_cm2_mev_g[class] = (COLLISION_MEV_CM2_MOL * medium.z_over_a_mol_g()) as f32;
        }
        let charged = by_class.iter().flat_map(|tables| tables.charged.iter());
        Ok(Tables {
            charged: joined(card, alive, charged)?,
            photon: joined(card, alive, by_class.iter().map(|tables| &tables.photon))?,
            compton: joined(card, alive, by_class.iter().map(|tables| &tables.compton))?,
            rayleigh: joined(card, alive, by_class.iter().map(|tables| &tables.rayleigh))?,
            bremsstrahlung: joined(
                card,
                alive,
                by_class.iter().map(|tables| &tables.bremsstrahlung),
            )?,
            angles: joined(card, alive, by_class.iter().map(|tables| &tables.angles.v))?,
            bends: joined(
                card,
                alive,
                by_class.iter().map(|tables| &tables.angles.bends),
            )?,
            majorant_per_cm: uploaded(card, alive, &self.majorants())?,
            collision_bound_cm2_g,
            collision_cm2_mev_g,
        })
    }
}

impl Simulation {
    /// Majorants of light matter, then of all.
    fn majorants(&self) -> Vec<f32> {
        let majorants = self.world().majorants();
        [majorants.light_per_cm(), majorants.all_per_cm()].concat()
    }

    fn blocks_on(
        &self,
        card: &mut CardLock<'_>,
        alive: &mut Vec<Box<dyn Resident>>,
    ) -> Result<BlocksAt, CudaError> {
        let Some(blocks) = self.world().majorants().blocks() else {
            return Ok(BlocksAt::default());
        };
        let per_cm = [0, 1, 2]
            .map(|axis| (10.0 / (self.lattice.spacing_mm[axis] * blocks.edge[axis] as f64)) as f32);
        Ok(BlocksAt {
            boxes: uploaded(card, alive, &blocks.boxes)?,
            shape: blocks.shape.map(int),
            edge: blocks.edge.map(int),
            per_cm,
            padding: 0,
        })
    }
}

/// Words of a queue for a number of particles of each history.
fn queue_words(histories: u64, particles: f64) -> usize {
    WORDS * ((histories as f64 * particles) as usize).max(1 << 16)
}

/// Uploads arrays one behind the other, and returns their address.
fn joined<'a>(
    card: &mut CardLock<'_>,
    alive: &mut Vec<Box<dyn Resident>>,
    arrays: impl Iterator<Item = &'a Vec<f32>>,
) -> Result<u64, CudaError> {
    let values: Vec<f32> = arrays.flatten().copied().collect();
    uploaded(card, alive, &values)
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
        let chunk = CHUNK / u64::from(self.run.splitting);
        let mut numbers = 0..batch.histories;
        while !numbers.is_empty() {
            card.fill(&self.counters, 0)?;
            for place in FIRST_GENERATION - CHUNKS..FIRST_GENERATION {
                control.check()?;
                let end = numbers.end.min(numbers.start + chunk);
                let histories = HistoriesAt {
                    first: batch.first,
                    begin: numbers.start as u32,
                    count: (end - numbers.start) as u32,
                    batch: batch.histories as f32,
                    padding: 0,
                };
                self.run_chunk(card, clock, place, &histories)?;
                numbers.start = end;
            }
            while self.run_generations(card, clock)? > 0 {
                control.check()?;
            }
        }
        Ok(())
    }

    fn faults(&self, card: &mut CardLock<'_>) -> Result<Faults, CudaError> {
        let counts = card.download(&self.faults)?;
        Ok(Faults {
            lost: u64::from(counts[0]),
            stuck: u64::from(counts[1]),
        })
    }
}

impl RunBuffers {
    /// Runs histories and their first electrons: photons that those make fly with the photons of the next chunk's histories, so that
    /// the card waits for the longest flights once for both; knock-on electrons wait for the later generations.
    fn run_chunk(
        &self,
        card: &mut CardLock<'_>,
        clock: &mut Clock,
        place: usize,
        histories: &HistoriesAt,
    ) -> Result<(), CudaError> {
        if histories.count > 0 {
            let args = [
                Arg::value(&self.run),
                Arg::value(histories),
                Arg::value(&self.photon_queue(place)),
            ];
            let shape = Shape::covering([histories.count as usize, 1, 1], [THREADS, 1, 1]);
            card.launch("mc", "mc_source", shape, &args)?;
            clock.mark(card, "card: source")?;
        }
        let electrons = self.electron_queue(place);
        self.run_photons(card, place, &electrons)?;
        clock.mark(card, "card: photons")?;
        let later = self.electron_queue(FIRST_GENERATION);
        self.run_electrons(card, place, [&electrons, &later], place + 1)?;
        clock.mark(card, "card: electrons")
    }

    /// Runs [`GENERATIONS`] of secondaries, and returns the electrons that still wait, which are the first generation then.
    fn run_generations(
        &mut self,
        card: &mut CardLock<'_>,
        clock: &mut Clock,
    ) -> Result<u32, CudaError> {
        for place in FIRST_GENERATION..FIRST_GENERATION + GENERATIONS {
            let [electrons, next] = [place, place + 1].map(|place| self.electron_queue(place));
            self.run_electrons(card, place, [&electrons, &next], place)?;
            clock.mark(card, "card: secondary electrons")?;
            self.run_photons(card, place, &next)?;
            clock.mark(card, "card: secondary photons")?;
        }
        let counts = card.download(&self.counters)?;
        let last = self.electron_queue(FIRST_GENERATION + GENERATIONS);
        let waiting = counts[COUNTERS * (FIRST_GENERATION + GENERATIONS)].min(last.capacity);
        if waiting > 0 {
            // The last generation is in the buffer of the first again: their number is even.
            let mut fresh = vec![0; self.counters.count()];
            fresh[COUNTERS * FIRST_GENERATION] = waiting;
            card.write(&self.counters, &fresh)?;
        }
        Ok(waiting)
    }

    /// Transports the photons of a place; their electrons wait in a queue.
    fn run_photons(
        &self,
        card: &mut CardLock<'_>,
        place: usize,
        electrons: &QueueAt,
    ) -> Result<(), CudaError> {
        let args = [
            Arg::value(&self.run),
            Arg::value(&self.photon_queue(place)),
            Arg::value(electrons),
            Arg::value(&self.counter_address(place, 3)),
        ];
        card.launch("mc", "mc_photons", of_blocks(BLOCKS, THREADS), &args)
    }

    /// Transports the electrons of a place from one queue, knock-on electrons into another; their photons wait at `photons`.
    fn run_electrons(
        &self,
        card: &mut CardLock<'_>,
        place: usize,
        [from, to]: [&QueueAt; 2],
        photons: usize,
    ) -> Result<(), CudaError> {
        let args = [
            Arg::value(&self.run),
            Arg::value(from),
            Arg::value(to),
            Arg::value(&self.photon_queue(photons)),
            Arg::value(&self.counter_address(place, 2)),
        ];
        let shape = of_blocks(ELECTRON_BLOCKS, ELECTRON_THREADS);
        card.launch("mc", "mc_electrons", shape, &args)
    }

    /// Electrons of a place: chunks, and every second generation behind the first, have the large buffer.
    fn electron_queue(&self, place: usize) -> QueueAt {
        let is_later = place >= FIRST_GENERATION && (place - FIRST_GENERATION).is_multiple_of(2);
        let entries = &self.electrons[usize::from(is_later)];
        QueueAt {
            entries: entries.address(),
            count: self.counter_address(place, 0),
            capacity: (entries.count() / WORDS) as u32,
            padding: 0,
        }
    }

    fn photon_queue(&self, place: usize) -> QueueAt {
        QueueAt {
            entries: self.photons.address(),
            count: self.counter_address(place, 1),
            capacity: (self.photons.count() / WORDS) as u32,
            padding: 0,
        }
    }

    /// Address of a counter of a place.
    fn counter_address(&self, place: usize, counter: usize) -> u64 {
        self.counters.address() + (size_of::<u32>() * (COUNTERS * place + counter)) as u64
    }
}

fn of_blocks(blocks: u32, threads: u32) -> Shape {
    Shape {
        blocks: [blocks, 1, 1],
        threads: [threads, 1, 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;
    use crate::histories::contaminant;
    use crate::mc::simulation::{LEAST_WEIGHT, WEIGHT_UNITS};
    use particles::constants::ELECTRON_MASS_MEV;
    use particles::goudsmit_saunderson::NODES;
    use transport::energy::{QUANTUM_MEV, rest_energy_mev};
    use transport::tables::{angles, bremsstrahlung, charged, compton, photon, rayleigh};

    /// The kernels repeat constants of the tables.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let sources = [include_str!("../../../kernels/mc.cuh")];
        for (name, value) in [
            ("MC_CLASSES", CLASSES as f64),
            ("QUANTA_PER_MEV", 1.0 / QUANTUM_MEV),
            ("REST_QUANTA", quanta(rest_energy_mev()) as f64),
            ("MASS_MEV", ELECTRON_MASS_MEV),
            ("CHARGED_NODES", charged::ENERGY_GRID.nodes() as f64),
            ("PHOTON_NODES", photon::ENERGY_GRID.nodes() as f64),
            ("COMPTON_ROWS", compton::ENERGY_GRID.nodes() as f64),
            ("COMPTON_COLUMNS", compton::PROBABILITIES as f64),
            ("RAYLEIGH_ENTRIES", rayleigh::ENTRIES as f64),
            (
                "BREMSSTRAHLUNG_ROWS",
                bremsstrahlung::ENERGY_GRID.nodes() as f64,
            ),
            ("BREMSSTRAHLUNG_COLUMNS", bremsstrahlung::SHARES as f64),
            ("ANGLE_ENERGIES", angles::ENERGIES as f64),
            ("ANGLE_PATHS", angles::PATHS as f64),
            ("ANGLE_NODES", NODES as f64),
            ("WEIGHT_UNITS", WEIGHT_UNITS),
            ("LEAST_WEIGHT", LEAST_WEIGHT),
            ("ROW_NODES", contaminant::NODES as f64),
            ("ROW_LAST_CM", contaminant::LAST_CM),
            ("WATER", f64::from(Material::Water as u8)),
        ] {
            assert_eq!(constant(&sources, name), value, "{name}");
        }
        assert!(GENERATIONS.is_multiple_of(2) && Material::ALL.len() <= CLASSES);
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("mc").unwrap();
        let run = size_of::<RunTables>();
        let queue = size_of::<QueueAt>();
        let histories = size_of::<HistoriesAt>();
        assert_eq!(
            signature(ptx, "mc_source"),
            Some(vec![run, histories, queue])
        );
        assert_eq!(
            signature(ptx, "mc_photons"),
            Some(vec![run, queue, queue, 8])
        );
        assert_eq!(
            signature(ptx, "mc_electrons"),
            Some(vec![run, queue, queue, queue, 8])
        );
    }
}
