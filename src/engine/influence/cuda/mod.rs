//! Influence of beamlets on a card (`kernels/influence.cu`): the algorithm of [`cpu`](crate::influence::cpu).

mod products;

pub use products::{CardColumns, CardMatrix};

use crate::JobControl;
use crate::cccs::DoseError;
use crate::cccs::angles::{ANGLES, Coefficients};
use crate::cccs::beam::{Field, Superposition};
use crate::cccs::cuda::correction::stencils;
use crate::cccs::cuda::superpose::{Layouts, Placement, coefficients, line_directions};
use crate::cccs::cuda::{energy_of, monitor_unit_at};
use crate::cccs::job::{Clock, digest, receipt};
use crate::cccs::lattice::ORDERS;
use crate::cccs::medium::Medium;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Device, Failure, Shape};
use crate::influence::columns::DoseColumns;
use crate::influence::field::{Lit, Sampled, Share};
use crate::influence::request::{BeamletDoses, InfluenceRequest, OpenField};
use crate::influence::smooth::Smooth;
use crate::influence::walks::{LitVoxel, Step, Transport};
use crate::path::cuda::{PathBuffers, PathMethod};
use bytemuck::{Pod, Zeroable};
use geometry::Volume;
use glam::DVec3;
use std::sync::Arc;

const THREADS: u32 = 128;
/// Lanes of a warp.
const LANES: usize = 32;
/// Threads of a block of `influence_finish`.
const FINISH_THREADS: u32 = 256;
/// Blocks that walk the listed lines: each thread takes one after another.
const WALKING_BLOCKS: u32 = 8192;
/// Lines listed at a time, at most: 64 MiB of them.
const MOST_ENTRIES: usize = 4 << 20;
/// Fixed point keeps this much room above the TERMA of the brightest voxel, which what scatters in cannot fill.
const HEADROOM: f32 = 8.0;

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
    shares: u32,
    sampled: u32,
    most_entries: u32,
    units: f32,
}

/// `struct Smooth` of `kernels/influence.cu`: addresses, 0 where there is nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct CardSmooth {
    columns: [u64; 2],
    rows: [u64; 2],
}

/// The doses of the beamlets of a beam.
pub fn beamlet_doses(
    request: &InfluenceRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamletDoses, Failure<DoseError>> {
    let mut clock = Clock::start();
    let dose = &request.dose;
    let medium = Medium::of(&dose.patient, &dose.machine.spectrum, &dose.grid, control)?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&dose.machine, dose.quality, device, control)?;
    let beam = Superposition::of(&dose.machine, dose.quality, control.cache());
    clock.phase("calibration");
    let field = OpenField::of(request)?;
    clock.phase("fluence");
    let depth_mm = radiological_depth(&medium, field.frame.source_mm, device)?;
    clock.phase("path");
    let tilt = beam.tilt_norm(&field.frame, &medium.grid);
    let lit = Lit::new(request, &field, (&beam, &tilt), &medium, &depth_mm, control)?;
    clock.phase("terma");
    let sampled = Sampled::new(request, &medium, field.share * dose.beam.mu * per_mu.fluence);
    let extra = if dose.machine.extra_focal.is_some() {
        let fluence = field.flat.extra_focal_alone();
        let alone =
            Field { machine: &dose.machine, frame: &field.frame, fluence: &fluence, electrons_gy: 0.0 };
        let energy = energy_of(&beam, &alone, &medium, device)?;
        sampled.voxels.iter().map(|voxel| energy[*voxel as usize]).collect()
    } else {
        Vec::new()
    };
    clock.phase("extra-focal");
    let transport = Transport::new((&beam, &field), &medium, &lit, &sampled);
    clock.phase("lines");
    let work = (lit.beamlets.shares.len() * beam.directions.len()) as u64;
    let parts = Parts {
        request,
        beam: &beam,
        lit: &lit,
        sampled: &sampled,
        source_mm: medium.grid.local_from_patient(field.frame.source_mm),
        map_columns: field.map.columns,
    };
    let (launch, deposit) = transported(&mut device.lock(), &parts, &transport, control)?;
    // The host's part goes on while the card walks.
    let smooth = Smooth::new(request, &field, &medium, &depth_mm, &sampled, (&extra, per_mu.electrons_gy));
    let columns = finished(&mut device.lock(), &parts, &smooth, launch, &deposit)?;
    clock.phase("transport");
    let receipt = receipt("influence", digest(dose), device.card().to_string(), clock, work);
    Ok(BeamletDoses { columns: Arc::new(columns), receipt })
}

/// Radiological depth of the medium's voxels, mm of water.
fn radiological_depth(medium: &Medium, source_mm: DVec3, device: &Device) -> Result<Volume<f32>, CudaError> {
    let mut card = device.lock();
    let (density, grid) = (&medium.equivalent_g_cm3, &medium.grid);
    let path = PathBuffers::prepare(&mut card, density, source_mm, grid, PathMethod::default())?;
    path.queue(&mut card)?;
    Ok(Volume::new(Arc::clone(grid), card.download(&path.depth_mm)?))
}

struct Parts<'a> {
    request: &'a InfluenceRequest,
    beam: &'a Superposition,
    lit: &'a Lit,
    sampled: &'a Sampled,
    /// The radiation source in the lattice's frame.
    source_mm: DVec3,
    map_columns: usize,
}

/// Queues the energies of all columns.
fn transported(
    card: &mut CardLock<'_>,
    parts: &Parts<'_>,
    transport: &Transport,
    control: &JobControl,
) -> Result<(Launch, Buffer<i32>), Failure<DoseError>> {
    let Parts { request, beam, lit, sampled, .. } = *parts;
    let count = request.beamlets.len() * sampled.voxels.len();
    card.fits_int("influence of beamlets", count)?;
    let deposit: Buffer<i32> = card.alloc(count)?;
    card.fill(&deposit, 0)?;
    let (walks, steps, layers) = card_walks(transport);
    let upload = Uploaded {
        steps: card.upload(&steps)?,
        layers: card.upload(&layers)?,
        lit: card.upload(&transport.lit)?,
        terma: card.upload(&lit.terma)?,
        table: card.upload(&(0..ANGLES).map(|n| beam.table.at(n as f32)).collect::<Vec<_>>())?,
        voxel_of: card.upload(&lit.beamlets.groups().collect::<Vec<_>>())?,
        number_of: card.upload(&transport.number_of)?,
        first: card.upload(&lit.beamlets.first)?,
        beamlets: card.upload(&lit.beamlets.shares)?,
        density: card.upload(&transport.density)?,
        row_of: card.upload(&transport.row_of)?,
    };
    let brightest = lit.terma.iter().map(|terma| terma.iter().sum::<f32>()).fold(f32::MIN_POSITIVE, f32::max);
    let densest = transport.density.iter().copied().fold(1.0, f32::max);
    let shares = lit.beamlets.shares.len();
    let mut launch = Launch {
        lit: lit.voxels.len() as u32,
        shares: shares as u32,
        sampled: sampled.voxels.len() as u32,
        most_entries: 0,
        units: i32::MAX as f32 / (HEADROOM * brightest * densest),
    };
    // A line passes up to three voxels of a layer.
    let together = (MOST_ENTRIES / (3 * shares).max(1)).clamp(1, walks.len().max(1));
    launch.most_entries = (3 * shares * together) as u32;
    if shares > 0 {
        let entries: Buffer<[i32; 4]> = card.alloc(3 * shares * together)?;
        let terms: Buffer<[f32; 16]> = card.alloc(together * lit.voxels.len())?;
        let counter: Buffer<u32> = card.alloc(1)?;
        for chunk in walks.chunks(together) {
            control.check()?;
            let walks = card.upload(chunk)?;
            upload.walk(card, launch, &walks, (&entries, &terms, &counter), &deposit)?;
        }
    }
    if shares > 0 && beam.corrected {
        upload.correct(card, launch, parts.source_mm, transport, beam, &deposit)?;
    }
    Ok((launch, deposit))
}

/// Inputs of the kernels, on the card.
struct Uploaded {
    steps: Buffer<Step>,
    layers: Buffer<[u32; 2]>,
    lit: Buffer<LitVoxel>,
    terma: Buffer<[f32; 4]>,
    table: Buffer<Coefficients>,
    /// The voxel of each beamlet's share.
    voxel_of: Buffer<u32>,
    number_of: Buffer<u32>,
    first: Buffer<u32>,
    beamlets: Buffer<Share>,
    density: Buffer<f32>,
    row_of: Buffer<i32>,
}

impl Uploaded {
    /// Queues the lines of some directions.
    fn walk(
        &self,
        card: &mut CardLock<'_>,
        launch: Launch,
        walks: &Buffer<CardWalk>,
        (entries, terms, counter): (&Buffer<[i32; 4]>, &Buffer<[f32; 16]>, &Buffer<u32>),
        deposit: &Buffer<i32>,
    ) -> Result<(), CudaError> {
        let covering = |count: u32| Shape::covering([count as usize, walks.count(), 1], [THREADS, 1, 1]);
        let args = [
            Arg::value(&launch),
            Arg::from(walks),
            Arg::from(&self.lit),
            Arg::from(&self.terma),
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
            Arg::from(&self.lit),
            Arg::from(&self.voxel_of),
            Arg::from(&self.number_of),
            Arg::from(&self.first),
            Arg::from(&self.beamlets),
            Arg::from(counter),
            Arg::from(entries),
        ];
        card.launch("influence", "influence_entries", covering(launch.shares), &args)?;
        let args = [
            Arg::value(&launch),
            Arg::from(walks),
            Arg::from(&self.steps),
            Arg::from(terms),
            Arg::from(&self.density),
            Arg::from(&self.row_of),
            Arg::from(&self.number_of),
            Arg::from(&self.first),
            Arg::from(&self.beamlets),
            Arg::from(counter),
            Arg::from(entries),
            Arg::from(deposit),
        ];
        let shape = Shape { blocks: [WALKING_BLOCKS, 1, 1], threads: [THREADS, 1, 1] };
        card.launch("influence", "influence_lines", shape, &args)
    }

    /// Queues the local correction of all beamlets.
    fn correct(
        &self,
        card: &mut CardLock<'_>,
        launch: Launch,
        source_mm: DVec3,
        transport: &Transport,
        beam: &Superposition,
        deposit: &Buffer<i32>,
    ) -> Result<(), CudaError> {
        let Transport { padded, lattice_from_kernel, tilts, .. } = *transport;
        let placement = Placement { lattice: padded.lattice, source_mm, lattice_from_kernel, tilts };
        let steps = |layout: usize| ORDERS[layout].map(|axis| padded.steps[axis] as i32);
        let layouts = Layouts::new(&placement).of_axis;
        let directions = line_directions(&placement, &beam.directions);
        let table = card.upload(&coefficients(&beam.table))?;
        for stencil in stencils(card, &placement, &layouts, (beam, &directions, &table), steps)? {
            let order = ORDERS[stencil.number].map(|axis| axis as i32);
            let args = [
                Arg::value(&launch),
                Arg::value(&stencil.layout),
                Arg::value(&stencil.correction),
                Arg::value(&order),
                Arg::from(&stencil.list),
                Arg::from(&stencil.table),
                Arg::from(&self.lit),
                Arg::from(&self.terma),
                Arg::from(&self.density),
                Arg::from(&self.row_of),
                Arg::from(&self.first),
                Arg::from(&self.beamlets),
                Arg::from(deposit),
            ];
            let shape = Shape::covering([self.lit.count() * LANES, 1, 1], [THREADS, 1, 1]);
            card.launch("influence", "influence_local", shape, &args)?;
        }
        Ok(())
    }
}

/// Walks, their steps and their layers, one walk after another.
fn card_walks(transport: &Transport) -> (Vec<CardWalk>, Vec<Step>, Vec<[u32; 2]>) {
    let (mut steps, mut layers) = (Vec::new(), Vec::new());
    let walk = |walk: &crate::influence::walks::Walk| {
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
    };
    let walks = transport.walks.iter().map(walk).collect();
    (walks, steps, layers)
}

/// Energies to columns in steps of Gy, with the smooth part.
fn finished(
    card: &mut CardLock<'_>,
    parts: &Parts<'_>,
    smooth: &Smooth,
    launch: Launch,
    deposit: &Buffer<i32>,
) -> Result<DoseColumns, Failure<DoseError>> {
    let beamlets = &parts.request.beamlets;
    let place =
        |beamlet: &usize| [beamlet / parts.map_columns, beamlet % parts.map_columns].map(|n| n as u32);
    let places = card.upload(&beamlets.iter().map(place).collect::<Vec<[u32; 2]>>())?;
    let gy_per_energy = card.upload(&parts.sampled.gy_per_energy)?;
    let mut on_card = CardSmooth::default();
    // The buffers outlive the launch that reads them.
    let mut held = Vec::new();
    for (n, (columns, rows)) in smooth.parts().enumerate() {
        let (columns, rows) = (card.upload(columns)?, card.upload(rows)?);
        (on_card.columns[n], on_card.rows[n]) = (columns.address(), rows.address());
        held.push((columns, rows));
    }
    let steps: Buffer<i16> = card.alloc(deposit.count())?;
    let gy_per_step: Buffer<f32> = card.alloc(beamlets.len())?;
    let args = [
        Arg::value(&launch),
        Arg::from(deposit),
        Arg::from(&gy_per_energy),
        Arg::from(&places),
        Arg::value(&on_card),
        Arg::from(&steps),
        Arg::from(&gy_per_step),
    ];
    if deposit.count() > 0 {
        let shape = Shape { blocks: [beamlets.len() as u32, 1, 1], threads: [FINISH_THREADS, 1, 1] };
        card.launch("influence", "influence_finish", shape, &args)?;
    }
    let rows = launch.sampled as usize;
    Ok(DoseColumns { rows, steps: card.download(&steps)?, gy_per_step: card.download(&gy_per_step)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cccs::cuda::correction::Correction;
    use crate::cccs::cuda::superpose::SlabLayout;
    use crate::cuda::kernels::ptx;
    use crate::cuda::signature;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("influence").expect("kernels");
        let (layout, correction) = (size_of::<SlabLayout>(), size_of::<Correction>());
        let (launch, smooth) = (size_of::<Launch>(), size_of::<CardSmooth>());
        for (kernel, more) in [
            ("influence_terms", vec![8; 5]),
            ("influence_entries", vec![8; 10]),
            ("influence_lines", vec![8; 11]),
            ("influence_local", [vec![layout, correction, 12], vec![8; 9]].concat()),
            ("influence_finish", vec![8, 8, 8, smooth, 8, 8]),
        ] {
            let want = [vec![launch], more].concat();
            assert_eq!(signature(ptx, kernel), Some(want), "{kernel}");
        }
        assert_eq!(
            [size_of::<CardWalk>(), size_of::<LitVoxel>(), size_of::<Share>(), size_of::<Coefficients>()],
            [40, 32, 8, 104]
        );
    }
}
