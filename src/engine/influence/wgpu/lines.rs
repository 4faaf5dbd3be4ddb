//! Lines and the local correction of a chunk of beamlets, on the device.

use crate::cccs::angles::ANGLES;
use crate::cccs::beam::Superposition;
use crate::cccs::wgpu::correction::{STENCIL_WGSL, StencilOnDevice, stencil};
use crate::cccs::wgpu::superpose::{Placement, TERMS_WGSL, row};
use crate::influence::field::{Lit, Share, ShareLists};
use crate::influence::walks::{LINES_OF_SHARE, LitVoxel, Transport, Walk, deposit_units};
use crate::kernel_size::int;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};
use physics::kernel_beam::CHANNELS;
use std::ops::Range;

const FIELD_WGSL: &str = include_str!("../../../../kernels/engine_influence_field.wgsl");
const LINES_WGSL: &[&str] = &[
    TERMS_WGSL,
    FIELD_WGSL,
    include_str!("../../../../kernels/engine_influence.wgsl"),
];
const ENTRIES: Kernel = Kernel {
    name: "influence_entries",
    sources: LINES_WGSL,
};
const LINES: Kernel = Kernel {
    name: "influence_lines",
    sources: LINES_WGSL,
};
const LOCAL: Kernel = Kernel {
    name: "influence_local",
    sources: &[
        STENCIL_WGSL,
        FIELD_WGSL,
        include_str!("../../../../kernels/engine_influence_local.wgsl"),
    ],
};
#[cfg(test)]
pub(crate) const KERNELS: &[&Kernel] = &[&ENTRIES, &LINES, &LOCAL];
/// Threads of a workgroup, of all.
const THREADS: u32 = 128;
/// Lines to a layer of workgroups.
const LINES_OF_LAYER: usize = 8192;

/// `struct Walk` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct WalkOnDevice {
    first_step: u32,
    end_step: u32,
    first_layer: u32,
    axis: u32,
    direction: [f32; 3],
    weight: f32,
    least: f32,
}

/// `struct Chunk` of the kernels but for the walks, which follow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Chunk {
    first_beamlet: u32,
    beamlets: u32,
    sampled: u32,
    units: f32,
    padded: [u32; 3],
}

/// `struct Cell` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Cell {
    density: f32,
    row: i32,
    lit: u32,
}

/// `struct LitVoxel` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct LitOnDevice {
    ray: [f32; 3],
    at: u32,
    terma: [f32; CHANNELS],
    shares: [u32; 2],
    none: [u32; 2],
}

/// A field on the device, for all of its beamlets.
pub struct OnDevice {
    walks: Vec<WalkOnDevice>,
    padded: [u32; 3],
    /// Deposit for an energy per volume of 1.
    pub units: f32,
    /// Steps of the walks, then their layers.
    steps: Buffer<[i32; 2]>,
    table: Buffer<[f32; CHANNELS]>,
    cells: Buffer<Cell>,
    lit: Buffer<LitOnDevice>,
    shares: Buffer<Share>,
    stencils: Vec<StencilOnDevice>,
}

impl OnDevice {
    pub fn new(
        session: &Session<'_>,
        transport: &Transport,
        beam: &Superposition,
        placement: &Placement,
        lit: &Lit,
    ) -> Result<Self, WgpuError> {
        let Transport {
            density,
            row_of,
            number_of,
            padded,
            ..
        } = transport;
        let (walks, steps) = walks_and_steps(&transport.walks);
        let cells = density.iter().zip(row_of).zip(number_of);
        let cells = cells.map(|((density, row), lit)| Cell {
            density: *density,
            row: *row,
            lit: *lit,
        });
        let of_voxels = transport
            .lit
            .iter()
            .zip(&lit.terma)
            .zip(lit.beamlets.first.windows(2));
        let brightest = lit
            .terma
            .iter()
            .map(|terma| terma.iter().sum::<f32>())
            .fold(0.0, f32::max);
        let densest = density.iter().copied().fold(1.0, f32::max);
        let mut stencils = Vec::new();
        for axis in (0..3).filter(|_| beam.corrected) {
            stencils.extend(stencil(
                session,
                placement,
                axis,
                padded.steps,
                beam,
                transport.tilts,
            )?);
        }
        // Between the rows straight lines are the kernel itself; the nearest of finer ones would be 0.05 % of a column's maximum off.
        let table: Vec<_> = (0..ANGLES)
            .flat_map(|n| row(&beam.table.at(n as f32)))
            .collect();
        Ok(Self {
            walks,
            padded: padded.lattice.size.map(|n| int(n + 2).unsigned_abs()),
            units: deposit_units(brightest, densest),
            steps: session.upload("steps of lines", &steps)?,
            table: session.upload("kernel coefficients", &table)?,
            cells: session.upload("voxels", &cells.collect::<Vec<_>>())?,
            lit: session.upload(
                "lit voxels",
                &of_voxels
                    .map(
                        |((LitVoxel { at: index, ray, .. }, terma), shares)| LitOnDevice {
                            ray: *ray,
                            at: *index,
                            terma: *terma,
                            shares: [shares[0], shares[1]],
                            none: [0; 2],
                        },
                    )
                    .collect::<Vec<_>>(),
            )?,
            shares: session.upload("shares of beamlets", &lit.beamlets.shares)?,
            stencils,
        })
    }

    /// The deposits of a chunk of beamlets, `[beamlet][row]`, of at most `most_lines` lines at a time unless one direction has more;
    /// `report` receives the fraction done.
    pub fn deposits(
        &self,
        session: &mut Session<'_>,
        tubes: &ShareLists,
        chunk: Range<usize>,
        rows: usize,
        most_lines: usize,
        report: impl Fn(f32),
    ) -> Result<Vec<i32>, WgpuError> {
        let members = |beamlet| {
            tubes
                .group(beamlet)
                .iter()
                .map(move |share| [share.number, beamlet as u32])
        };
        let members: Vec<[u32; 2]> = chunk.clone().flat_map(members).collect();
        let deposit: Buffer<i32> = session.zeroed("influence of beamlets", chunk.len() * rows)?;
        if !members.is_empty() && rows > 0 {
            let tubes = session.upload("tubes of beamlets", &members)?;
            let header = Chunk {
                first_beamlet: chunk.start as u32,
                beamlets: chunk.len() as u32,
                sampled: rows as u32,
                units: self.units,
                padded: self.padded,
            };
            let of_direction = LINES_OF_SHARE * members.len();
            let most_lines = most_lines.max(of_direction);
            let together = (most_lines / of_direction).min(self.walks.len());
            // As large for every chunk: the memory of the last is used again.
            let entries = session.alloc("lines of beamlets", 4 * (1 + most_lines))?;
            for (done, walks) in self.walks.chunks(together).enumerate() {
                report((done * together) as f32 / self.walks.len() as f32);
                let chunk = upload(session, header, walks)?;
                self.walk(session, &chunk, walks, &tubes, &entries, &deposit)?;
            }
            self.correct(session, &upload(session, header, &self.walks)?, &deposit)?;
        }
        session.download("influence of beamlets", &deposit)
    }

    /// Runs the lines of some directions.
    fn walk(
        &self,
        session: &mut Session<'_>,
        chunk: &Buffer<u32>,
        walks: &[WalkOnDevice],
        tubes: &Buffer<[u32; 2]>,
        entries: &Buffer<u32>,
        deposit: &Buffer<i32>,
    ) -> Result<(), WgpuError> {
        let Self {
            steps,
            table,
            cells,
            lit,
            shares,
            ..
        } = self;
        session.clear_first(entries);
        session.run(
            &ENTRIES,
            &[steps, tubes, entries, chunk, cells, lit, shares],
            Session::groups([tubes.count(), 1, walks.len()], [THREADS, 1, 1]),
        )?;
        let entered = session.first("the number of lines", entries)? as usize;
        let of_walks: u32 = walks
            .iter()
            .map(|walk| walk.end_step - walk.first_step)
            .sum();
        session.run_weighted(
            &LINES,
            &[steps, table, entries, chunk, cells, lit, shares, deposit],
            Session::groups(
                [LINES_OF_LAYER, 1, entered.div_ceil(LINES_OF_LAYER)],
                [THREADS, 1, 1],
            ),
            f64::from(of_walks) / walks.len() as f64,
        )
    }

    /// Queues the local correction of a chunk.
    fn correct(
        &self,
        session: &mut Session<'_>,
        chunk: &Buffer<u32>,
        deposit: &Buffer<i32>,
    ) -> Result<(), WgpuError> {
        let Self {
            cells, lit, shares, ..
        } = self;
        for StencilOnDevice {
            correction,
            offsets,
            powers,
        } in &self.stencils
        {
            session.run(
                &LOCAL,
                &[
                    correction, offsets, powers, chunk, cells, lit, shares, deposit,
                ],
                Session::groups([lit.count(), 1, offsets.count()], [THREADS, 1, 1]),
            )?;
        }
        Ok(())
    }
}

/// The walks of a chunk with what is said of it.
fn upload(
    session: &Session<'_>,
    header: Chunk,
    walks: &[WalkOnDevice],
) -> Result<Buffer<u32>, WgpuError> {
    let words = [bytemuck::cast_slice(&[header]), bytemuck::cast_slice(walks)].concat();
    session.upload("directions", &words)
}

/// Walks and one list of their steps, then their layers, which number the steps in the list.
fn walks_and_steps(walks: &[Walk]) -> (Vec<WalkOnDevice>, Vec<[i32; 2]>) {
    let step_count: usize = walks.iter().map(|walk| walk.steps.len()).sum();
    let (mut steps, mut layers) = (Vec::new(), Vec::new());
    let walks = walks
        .iter()
        .map(|walk| {
            let first = steps.len() as i32;
            let first_layer = (step_count + layers.len()) as u32;
            steps.extend(
                walk.steps
                    .iter()
                    .map(|step| [step.offset, step.length_cm.to_bits() as i32]),
            );
            // A layer without a step has the greatest number first.
            layers.extend(
                walk.of_layer
                    .iter()
                    .map(|[low, end]| [*low.min(end), *end].map(|step| first + step as i32)),
            );
            WalkOnDevice {
                first_step: first as u32,
                end_step: steps.len() as u32,
                first_layer,
                axis: walk.axis as u32,
                direction: walk.direction.as_vec3().to_array(),
                weight: walk.weight,
                least: walk.least,
            }
        })
        .collect();
    steps.extend(layers);
    (walks, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cccs::correction::DENSEST;
    use crate::wgpu::kernel::constant;
    use physics::kernel_fit::SLOWEST_PER_CM;

    /// The kernels repeat numbers of the host: a change on one side alone would be a wrong dose.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        assert_eq!(
            constant(&LINES, "SLOWEST_PER_CM") as f32,
            SLOWEST_PER_CM as f32
        );
        assert_eq!(constant(&LINES, "ANGLES"), ANGLES as f64);
        assert_eq!(constant(&LINES, "LINES"), LINES_OF_LAYER as f64);
        assert_eq!(constant(&LOCAL, "DENSEST") as f32, DENSEST);
        assert_eq!(
            [
                size_of::<LitOnDevice>(),
                size_of::<Cell>(),
                size_of::<Share>()
            ],
            [48, 12, 8]
        );
    }
}
