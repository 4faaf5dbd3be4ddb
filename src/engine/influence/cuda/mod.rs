//! Influence of beamlets on a card (`kernels/influence.cu`): the algorithm of [`cpu`](crate::influence::cpu).

mod lit;
mod products;
mod smooth;
mod tables;

pub use products::{CardColumns, CardMatrix};

use crate::JobControl;
use crate::cccs::angles::{ANGLES, Coefficients};
use crate::cccs::beam::{Superposition, grid_from_kernel};
use crate::cccs::correction::Tilts;
use crate::cccs::cuda::correction::stencils;
use crate::cccs::cuda::superpose::{BeamLines, Layouts, Placement, coefficients, line_directions};
use crate::cccs::cuda::{energy_on_card, monitor_unit_at};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Download, Failure, Shape};
use crate::dose::DoseError;
use crate::dose::lattice::ORDERS;
use crate::dose::medium::Medium;
use crate::dose::{Clock, digest, receipt};
use crate::influence::columns::DoseColumns;
use crate::influence::field::Sampled;
use crate::influence::request::{BeamletDoses, InfluenceRequest, OpenField};
use crate::influence::walks::{LINES_OF_SHARE, Padded, Step, Walk, deposit_units};
use crate::path::cuda::{PathBuffers, PathMethod};
use bytemuck::{Pod, Zeroable};
use lit::{Counting, LitOnCard, SampledOnCard, TracedMedium};
use smooth::{SmoothOnCard, WideSources};
use std::sync::Arc;
use tables::Tables;

const THREADS: u32 = 128;
/// Lanes of a warp.
const LANES: usize = 32;
/// Threads of a block of `influence_finish`.
const FINISH_THREADS: u32 = 256;
/// Blocks that walk the listed lines: each thread takes one after another.
const WALKING_BLOCKS: u32 = 8192;
/// Lines listed at a time, at most: 256 MiB of them. Launches of fewer end with a card that is half idle: on 2.5 mm columns take 19 ms
/// with a quarter.
const MOST_ENTRIES: usize = 16 << 20;
/// The part of a card's memory that they take at most.
const ENTRIES_PART: usize = 64;

/// `struct Walk` of `kernels/influence.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct CardWalk {
    first_step: i32,
    steps: i32,
    first_layer: i32,
    axis: i32,
    direction: [f32; 3],
    weight: f32,
    least: f32,
    none: i32,
}

/// `struct Lattice` of `kernels/influence.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Launch {
    lit: u32,
    sampled: u32,
    most_entries: u32,
    units: f32,
}

/// The doses of the beamlets of a beam.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamletDoses, Failure<DoseError>> {
    let mut clock = Clock::start();
    let dose = &request.dose;
    let medium = Medium::cached(&dose.patient, &dose.machine.spectrum, &dose.grid, control)?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&dose.machine, dose.quality, device, control)?;
    let beam = Superposition::cached(&dose.machine, dose.quality, control.cache());
    clock.phase("calibration");
    let field = OpenField::new(request)?;
    clock.phase("fluence");
    // The card begins before the host is through with the rest.
    let extra_focal = field.by_extra_focal(&dose.machine, |alone| {
        energy_on_card(&beam, alone, &medium, device)
    })?;
    clock.phase("extra-focal");
    let tilt = beam.tilt_norm(&field.frame, &medium.grid);
    let tables = Tables::new(request, &dose.machine, &field, &beam, &tilt, &medium);
    let padded = Padded::new(medium.lattice());
    let lattice_from_kernel = grid_from_kernel(&field.frame, &medium.grid);
    let walks = Walk::all(&beam, &padded, lattice_from_kernel);
    let sampled = Sampled::new(request, &medium, field.mu * per_mu.fluence);
    let lattice = OnLattice {
        placement: Placement {
            lattice: padded.lattice,
            source_mm: medium.grid.local_from_patient(field.frame.source_mm),
            lattice_from_kernel,
            tilts: Tilts::within(field.flat.widest_mm() / field.frame.sad_mm),
        },
        padded,
    };
    clock.phase("lines");
    let mut card = device.lock();
    let tables = tables.upload(&mut card)?;
    let density = card.uploaded(&medium.equivalent_g_cm3)?;
    let path = PathBuffers::prepare(
        &mut card,
        &medium.equivalent_g_cm3,
        field.frame.source_mm,
        &medium.grid,
        PathMethod::default(),
    )?;
    path.queue(&mut card)?;
    let traced = TracedMedium {
        medium: &medium,
        padded: &lattice.padded,
        density: &density,
        depth_mm: &path.depth_mm,
    };
    let counting = Counting::begin(&mut card, &tables, traced)?;
    let on_card = SampledOnCard::new(&mut card, &sampled, &medium, &padded)?;
    let sources = WideSources {
        density: &density,
        depth_mm: &path.depth_mm,
        extra_focal: extra_focal.as_ref(),
        electrons_gy: dose.machine.electrons.map_or(0.0, |_| per_mu.electrons_gy),
    };
    let smooth = SmoothOnCard::new(
        &mut card,
        &tables,
        &on_card,
        &sampled.gy_per_energy,
        &sources,
    )?;
    // Other fields are queued while the card counts, and while it walks the lines of this one.
    drop(card);
    let counted = counting.end()?;
    clock.phase("terma");
    let mut card = device.lock();
    let lit = LitOnCard::new(&mut card, &tables, &counted, traced)?;
    let parts = Parts {
        request,
        beam: &beam,
        lit: &lit,
        on_card: &on_card,
        lattice: &lattice,
    };
    let (launch, deposit) = transported(&mut card, &parts, walks, control)?;
    let (steps, gy_per_step) = finished(&mut card, &tables.places, &smooth, launch, &deposit)?;
    drop(card);
    let rows = request.voxels.len();
    let columns = DoseColumns {
        rows,
        steps: steps.end()?,
        gy_per_step: gy_per_step.end()?,
    };
    clock.phase("transport");
    let work = (lit.shares() * beam.directions.len()) as u64;
    let receipt = receipt(
        "influence",
        digest(dose),
        device.card().to_string(),
        clock,
        work,
    );
    Ok(BeamletDoses {
        columns: Arc::new(columns),
        receipt,
    })
}

/// The lattice of the dose, and the beam in it.
struct OnLattice {
    placement: Placement,
    padded: Padded,
}

struct Parts<'a> {
    request: &'a InfluenceRequest,
    beam: &'a Superposition,
    lit: &'a LitOnCard,
    on_card: &'a SampledOnCard,
    lattice: &'a OnLattice,
}

/// Queues the energies of all columns.
fn transported(
    card: &mut CardLock<'_>,
    parts: &Parts<'_>,
    mut walks: Vec<Walk>,
    control: &JobControl,
) -> Result<(Launch, Buffer<i32>), Failure<DoseError>> {
    let Parts {
        request, beam, lit, ..
    } = *parts;
    let sampled = request.voxels.len();
    let count = request.beamlets.len() * sampled;
    card.fits_int("influence of beamlets", count)?;
    let deposit: Buffer<i32> = card.alloc(count)?;
    card.fill(&deposit, 0)?;
    Walk::drop_less(&mut walks, beam, &lit.brightest);
    let (walks, steps, layers) = card_walks(&walks);
    let upload = Uploaded {
        steps: card.upload(&steps)?,
        layers: card.upload(&layers)?,
        table: card.upload(
            &(0..ANGLES)
                .map(|n| beam.table.at(n as f32))
                .collect::<Vec<_>>(),
        )?,
        lit,
        row_of: &parts.on_card.row_of,
    };
    let (voxels, shares) = (lit.voxels.count(), lit.shares());
    let mut launch = Launch {
        lit: voxels as u32,
        sampled: sampled as u32,
        most_entries: 0,
        units: deposit_units(lit.brightest.iter().sum(), lit.densest),
    };
    let of_direction = LINES_OF_SHARE * shares;
    let most_entries = (card.memory_bytes / ENTRIES_PART / size_of::<[i32; 4]>()).min(MOST_ENTRIES);
    let together = (most_entries / of_direction.max(1)).clamp(1, walks.len().max(1));
    launch.most_entries = (of_direction * together) as u32;
    if shares > 0 {
        let work_space = WorkSpace {
            entries: card.alloc(of_direction * together)?,
            terms: card.alloc(together * voxels)?,
            counter: card.alloc(1)?,
        };
        for chunk in walks.chunks(together) {
            control.check()?;
            let walks = card.upload(chunk)?;
            upload.walk(card, launch, &walks, &work_space, &deposit)?;
        }
    }
    if shares > 0 && beam.corrected {
        upload.correct(card, launch, parts.lattice, beam, &deposit)?;
    }
    Ok((launch, deposit))
}

/// Buffers of a launch, reused by the next one: entries of lines into tubes, source terms of lit voxels, and the number of entries.
struct WorkSpace {
    entries: Buffer<[i32; 4]>,
    terms: Buffer<[f32; 16]>,
    counter: Buffer<u32>,
}

/// Inputs of the kernels, on the card.
struct Uploaded<'a> {
    steps: Buffer<Step>,
    layers: Buffer<[u32; 2]>,
    table: Buffer<Coefficients>,
    lit: &'a LitOnCard,
    row_of: &'a Buffer<i32>,
}

impl Uploaded<'_> {
    /// Queues the lines of some directions.
    fn walk(
        &self,
        card: &mut CardLock<'_>,
        launch: Launch,
        walks: &Buffer<CardWalk>,
        work_space: &WorkSpace,
        deposit: &Buffer<i32>,
    ) -> Result<(), CudaError> {
        let WorkSpace {
            entries,
            terms,
            counter,
        } = work_space;
        let covering =
            |count: u32| Shape::covering([count as usize, walks.count(), 1], [THREADS, 1, 1]);
        let args = [
            Arg::value(&launch),
            Arg::from(walks),
            Arg::from(&self.lit.voxels),
            Arg::from(&self.lit.terma),
            Arg::from(&self.table),
            Arg::from(terms),
        ];
        card.launch("influence", "influence_terms", covering(launch.lit), &args)?;
        card.fill(counter, 0)?;
        let args = [
            Arg::value(&launch),
            Arg::from(walks),
            Arg::from(&self.steps),
            Arg::from(&self.layers),
            Arg::from(&self.lit.voxels),
            Arg::from(&self.lit.number_of),
            Arg::from(&self.lit.first),
            Arg::from(&self.lit.beamlets),
            Arg::from(counter),
            Arg::from(entries),
        ];
        card.launch(
            "influence",
            "influence_entries",
            covering(launch.lit),
            &args,
        )?;
        let args = [
            Arg::value(&launch),
            Arg::from(walks),
            Arg::from(&self.steps),
            Arg::from(terms),
            Arg::from(&self.lit.density),
            Arg::from(self.row_of),
            Arg::from(&self.lit.number_of),
            Arg::from(&self.lit.first),
            Arg::from(&self.lit.beamlets),
            Arg::from(counter),
            Arg::from(entries),
            Arg::from(deposit),
        ];
        let shape = Shape {
            blocks: [WALKING_BLOCKS, 1, 1],
            threads: [THREADS, 1, 1],
        };
        card.launch("influence", "influence_lines", shape, &args)
    }

    /// Queues the local correction of all beamlets.
    fn correct(
        &self,
        card: &mut CardLock<'_>,
        launch: Launch,
        OnLattice { placement, padded }: &OnLattice,
        beam: &Superposition,
        deposit: &Buffer<i32>,
    ) -> Result<(), CudaError> {
        let layouts = Layouts::new(placement).of_axis;
        let directions = line_directions(placement, &beam.directions);
        let table = card.upload(&coefficients(&beam.table))?;
        let lines = BeamLines {
            beam,
            directions: &directions,
            table: &table,
        };
        let steps = ORDERS.map(|order| order.map(|axis| padded.steps[axis] as i32));
        for stencil in stencils(card, placement, &layouts, &lines, steps)? {
            let order = ORDERS[stencil.number].map(|axis| axis as i32);
            let args = [
                Arg::value(&launch),
                Arg::value(&stencil.layout),
                Arg::value(&stencil.correction),
                Arg::value(&order),
                Arg::from(&stencil.list),
                Arg::from(&stencil.table),
                Arg::from(&self.lit.voxels),
                Arg::from(&self.lit.terma),
                Arg::from(&self.lit.density),
                Arg::from(self.row_of),
                Arg::from(&self.lit.first),
                Arg::from(&self.lit.beamlets),
                Arg::from(deposit),
            ];
            let shape = Shape::covering([self.lit.voxels.count() * LANES, 1, 1], [THREADS, 1, 1]);
            card.launch("influence", "influence_local", shape, &args)?;
        }
        Ok(())
    }
}

/// Walks, their steps and their layers, one walk after another.
fn card_walks(walks: &[Walk]) -> (Vec<CardWalk>, Vec<Step>, Vec<[u32; 2]>) {
    let (mut steps, mut layers) = (Vec::new(), Vec::new());
    let walks = walks
        .iter()
        .map(|walk| {
            let on_card = CardWalk {
                first_step: steps.len() as i32,
                steps: walk.steps.len() as i32,
                first_layer: layers.len() as i32,
                axis: walk.axis as i32,
                direction: walk.direction.as_vec3().to_array(),
                weight: walk.weight,
                least: walk.least,
                none: 0,
            };
            steps.extend(&walk.steps);
            layers.extend(&walk.of_layer);
            on_card
        })
        .collect();
    (walks, steps, layers)
}

/// Queues the columns of energies in steps of Gy, with the smooth part: the steps, and the Gy of one. `places` are row and column of
/// each beamlet in the map.
fn finished<'a>(
    card: &mut CardLock<'a>,
    places: &Buffer<[u32; 2]>,
    smooth: &SmoothOnCard,
    launch: Launch,
    deposit: &Buffer<i32>,
) -> Result<(Download<'a, i16>, Download<'a, f32>), CudaError> {
    let steps: Buffer<i16> = card.alloc(deposit.count())?;
    let gy_per_step: Buffer<f32> = card.alloc(places.count())?;
    let args = [
        Arg::value(&launch),
        Arg::from(deposit),
        Arg::from(&smooth.gy_per_energy),
        Arg::from(places),
        Arg::value(&smooth.profiles()),
        Arg::from(&steps),
        Arg::from(&gy_per_step),
    ];
    if deposit.count() > 0 {
        let shape = Shape {
            blocks: [places.count() as u32, 1, 1],
            threads: [FINISH_THREADS, 1, 1],
        };
        card.launch("influence", "influence_finish", shape, &args)?;
    }
    Ok((
        card.begin_download(&steps)?,
        card.begin_download(&gy_per_step)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cccs::cuda::correction::Correction;
    use crate::cccs::cuda::superpose::SlabLayout;
    use crate::cuda::kernels::ptx;
    use crate::cuda::signature;
    use crate::influence::field::Share;
    use crate::influence::walks::LitVoxel;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("influence").expect("kernels");
        let (layout, correction) = (size_of::<SlabLayout>(), size_of::<Correction>());
        let (launch, smooth) = (size_of::<Launch>(), size_of::<[smooth::Profiles; 2]>());
        for (kernel, more) in [
            ("influence_terms", vec![8; 5]),
            ("influence_entries", vec![8; 9]),
            ("influence_lines", vec![8; 11]),
            (
                "influence_local",
                [vec![layout, correction, 12], vec![8; 9]].concat(),
            ),
            ("influence_finish", vec![8, 8, 8, smooth, 8, 8]),
        ] {
            let want = [vec![launch], more].concat();
            assert_eq!(signature(ptx, kernel), Some(want), "{kernel}");
        }
        assert_eq!(
            [
                size_of::<CardWalk>(),
                size_of::<LitVoxel>(),
                size_of::<Share>(),
                size_of::<Coefficients>()
            ],
            [40, 32, 8, 104]
        );
    }
}
