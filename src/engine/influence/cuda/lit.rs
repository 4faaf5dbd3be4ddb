//! The lit voxels and their shares on a card (`kernels/influence_lit.cu`): as [`Lit`](crate::influence::field::Lit).

use super::tables::{Spans, TablesOnCard};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Download, Shape};
use crate::dose::medium::Medium;
use crate::influence::field::{Sampled, Share};
use crate::influence::walks::{LitVoxel, Padded};
use bytemuck::{Pod, Zeroable};
use physics::LEAST_SHARE;
use physics::kernel_beam::CHANNELS;

/// As in `kernels/influence_lit.cu`.
const THREADS: u32 = 256;

/// `struct LitField` of `kernels/influence_lit.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct LitField {
    lines: [Spans; 2],
    spacing_mm: [f32; 3],
    source_mm: [f32; 3],
    least: f32,
    open: f32,
}

/// `struct Brightest` of `kernels/influence_lit.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Brightest {
    key: u64,
    densest: u32,
    none: u32,
    terma: [f32; CHANNELS],
}

/// Lit voxels in the padded lattice.
pub struct LitOnCard {
    pub voxels: Buffer<LitVoxel>,
    pub terma: Buffer<[f32; CHANNELS]>,
    /// First share of each voxel, and one past the last.
    pub first: Buffer<u32>,
    pub beamlets: Buffer<Share>,
    /// The number of the lit voxel; all ones elsewhere.
    pub number_of: Buffer<u32>,
    /// [`END`](crate::influence::walks::END) beyond the lattice.
    pub density: Buffer<f32>,
    /// TERMA of the brightest voxel by channel.
    pub brightest: [f32; CHANNELS],
    /// The greatest density, 1 g/cm3 at least.
    pub densest: f32,
}

/// A medium on a card, with the depth of each voxel from the source.
#[derive(Clone, Copy)]
pub struct TracedMedium<'a> {
    pub medium: &'a Medium,
    pub padded: &'a Padded,
    pub density: &'a Buffer<f32>,
    pub depth_mm: &'a Buffer<f32>,
}

/// Lit voxels and shares that are being counted.
pub struct Counting<'a> {
    lit: LitField,
    shape: Shape,
    /// Lit voxels and shares of each block.
    of_blocks: Download<'a, [u32; 2]>,
    brightest: Download<'a, Brightest>,
}

/// Lit voxels and shares, counted.
pub struct Counted {
    lit: LitField,
    shape: Shape,
    /// Lit voxels and shares of all blocks before each.
    before: Vec<[u32; 2]>,
    voxels: usize,
    shares: usize,
    brightest: Brightest,
}

impl<'a> Counting<'a> {
    /// Queues the count: memory for the lit voxels is taken once their number is known.
    pub fn begin(
        card: &mut CardLock<'a>,
        tables: &TablesOnCard,
        TracedMedium {
            medium,
            density,
            depth_mm,
            ..
        }: TracedMedium<'_>,
    ) -> Result<Self, CudaError> {
        let lit = LitField {
            lines: tables.focal,
            spacing_mm: medium.lattice().spacing_mm.map(|mm| mm as f32),
            source_mm: tables.source_mm,
            least: LEAST_SHARE as f32,
            open: tables.open_focal,
        };
        let shape = Shape::covering([medium.grid.len(), 1, 1], [THREADS, 1, 1]);
        let of_blocks: Buffer<[u32; 2]> = card.alloc(shape.blocks[0] as usize)?;
        let brightest: Buffer<Brightest> = card.upload(&[Brightest::default()])?;
        let args = [
            &inputs(tables, &lit, density, depth_mm)[..],
            &[Arg::from(&of_blocks), Arg::from(&brightest)],
        ];
        card.launch("influence_lit", "lit_count", shape, &args.concat())?;
        let args = [
            Arg::value(&tables.field),
            Arg::value(&lit),
            Arg::from(&tables.numbers),
            Arg::from(depth_mm),
            Arg::from(&brightest),
        ];
        card.launch(
            "influence_lit",
            "lit_brightest",
            Shape::covering([1; 3], [1; 3]),
            &args,
        )?;
        let (of_blocks, brightest) = (
            card.begin_download(&of_blocks)?,
            card.begin_download(&brightest)?,
        );
        Ok(Self {
            lit,
            shape,
            of_blocks,
            brightest,
        })
    }

    /// Waits for the count; needs no lock on the card.
    pub fn end(self) -> Result<Counted, CudaError> {
        // A field on 5 mm takes 3.9 ms in place of 4.6 to 5.0: meanwhile others hold the card.
        let mut counts_before = self.of_blocks.end()?;
        let mut counts = [0_usize; 2];
        for of_block in &mut counts_before {
            let of_this_block = of_block.map(|count| count as usize);
            *of_block = counts.map(|count| count as u32);
            counts = [counts[0] + of_this_block[0], counts[1] + of_this_block[1]];
        }
        let [voxels, shares] = counts;
        let brightest = self.brightest.end()?.first().copied().unwrap_or_default();
        Ok(Counted {
            lit: self.lit,
            shape: self.shape,
            before: counts_before,
            voxels,
            shares,
            brightest,
        })
    }
}

/// First arguments of the kernels that count and fill.
fn inputs(
    tables: &TablesOnCard,
    lit: &LitField,
    density: &Buffer<f32>,
    depth_mm: &Buffer<f32>,
) -> [Arg; 8] {
    [
        Arg::value(&tables.field),
        Arg::value(lit),
        Arg::from(&tables.numbers),
        Arg::from(&tables.sides_mm),
        Arg::from(&tables.sums),
        Arg::from(&tables.asked),
        Arg::from(density),
        Arg::from(depth_mm),
    ]
}

impl LitOnCard {
    /// Queues the lit voxels of a medium with a depth in each voxel.
    pub fn new(
        card: &mut CardLock<'_>,
        tables: &TablesOnCard,
        counted: &Counted,
        TracedMedium {
            medium,
            padded,
            density,
            depth_mm,
        }: TracedMedium<'_>,
    ) -> Result<Self, CudaError> {
        let Counted {
            voxels,
            shares,
            brightest,
            ..
        } = *counted;
        card.fits_int("shares of beamlets", shares)?;
        let lit = Self {
            voxels: card.alloc(voxels)?,
            terma: card.alloc(voxels)?,
            first: card.alloc(voxels + 1)?,
            beamlets: card.alloc(shares)?,
            number_of: card.alloc(padded.len())?,
            density: card.alloc(padded.len())?,
            brightest: brightest.terma,
            densest: f32::from_bits(brightest.densest).max(1.0),
        };
        card.fill(&lit.number_of, u8::MAX)?;
        let [nx, ny, nz] = medium.grid.size();
        let args = [
            Arg::int(nx),
            Arg::int(ny),
            Arg::int(nz),
            Arg::from(density),
            Arg::from(&lit.density),
        ];
        let shape = Shape::covering([padded.len(), 1, 1], [THREADS, 1, 1]);
        card.launch("influence_lit", "lit_pad", shape, &args)?;
        if voxels > 0 {
            let counts_before = card.upload(&counted.before)?;
            let outputs = [
                Arg::from(&counts_before),
                Arg::from(&lit.voxels),
                Arg::from(&lit.terma),
                Arg::from(&lit.first),
                Arg::from(&lit.beamlets),
                Arg::from(&lit.number_of),
            ];
            let args = [
                &inputs(tables, &counted.lit, density, depth_mm)[..],
                &outputs,
            ]
            .concat();
            card.launch("influence_lit", "lit_fill", counted.shape, &args)?;
        }
        Ok(lit)
    }

    pub fn shares(&self) -> usize {
        self.beamlets.count()
    }
}

/// Sampled voxels on a card.
pub struct SampledOnCard {
    pub voxels: Buffer<u32>,
    /// Padded: the number of the sampled voxel, or less than 0.
    pub row_of: Buffer<i32>,
}

impl SampledOnCard {
    pub fn new(
        card: &mut CardLock<'_>,
        sampled: &Sampled,
        medium: &Medium,
        padded: &Padded,
    ) -> Result<Self, CudaError> {
        let on_card = Self {
            voxels: card.upload(&sampled.voxels)?,
            row_of: card.alloc(padded.len())?,
        };
        card.fill(&on_card.row_of, u8::MAX)?;
        let [nx, ny, _] = medium.grid.size();
        let args = [
            Arg::int(sampled.voxels.len()),
            Arg::int(nx),
            Arg::int(ny),
            Arg::from(&on_card.voxels),
            Arg::from(&on_card.row_of),
        ];
        if !sampled.voxels.is_empty() {
            let shape = Shape::covering([sampled.voxels.len(), 1, 1], [THREADS, 1, 1]);
            card.launch("influence_lit", "lit_rows", shape, &args)?;
        }
        Ok(on_card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cccs::field_tables::Field;
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;
    use crate::influence::walks::END;

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let ptx = ptx("influence_lit").expect("kernels");
        let (field, lit) = (size_of::<Field>(), size_of::<LitField>());
        for (kernel, want) in [
            ("lit_count", [vec![field, lit], vec![8; 8]].concat()),
            ("lit_brightest", vec![field, lit, 8, 8, 8]),
            ("lit_fill", [vec![field, lit], vec![8; 12]].concat()),
            ("lit_pad", vec![4, 4, 4, 8, 8]),
            ("lit_rows", vec![4, 4, 4, 8, 8]),
        ] {
            assert_eq!(signature(ptx, kernel), Some(want), "{kernel}");
        }
        let source = include_str!("../../../../kernels/influence_lit.cu");
        assert_eq!(constant(&[source], "THREADS"), f64::from(THREADS));
        assert_eq!(constant(&[source], "END"), f64::from(END));
        assert_eq!(size_of::<Brightest>(), 32);
    }
}
