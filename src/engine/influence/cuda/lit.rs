//! The lit voxels and their shares on a card (`kernels/influence_lit.cu`): as [`Lit`](crate::influence::field::Lit).

use super::tables::{Spans, TablesOnCard};
use crate::cccs::medium::Medium;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
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
    /// The voxel of each share.
    pub voxel_of: Buffer<u32>,
    /// The number of the lit voxel; all ones elsewhere.
    pub number_of: Buffer<u32>,
    /// [`END`](crate::influence::walks::END) beyond the lattice.
    pub density: Buffer<f32>,
    /// TERMA of the brightest voxel by channel.
    pub brightest: [f32; CHANNELS],
    /// The greatest density, 1 g/cm3 at least.
    pub densest: f32,
}

impl LitOnCard {
    /// Finds the lit voxels of a medium with a depth in each voxel; waits for the card twice, because their number is not known before.
    pub fn find(
        card: &mut CardLock<'_>,
        tables: &TablesOnCard,
        (medium, padded): (&Medium, &Padded),
        (density, depth_mm): (&Buffer<f32>, &Buffer<f32>),
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
        let inputs = [
            Arg::value(&tables.field),
            Arg::value(&lit),
            Arg::from(&tables.numbers),
            Arg::from(&tables.sides_mm),
            Arg::from(&tables.sums),
            Arg::from(&tables.asked),
            Arg::from(density),
            Arg::from(depth_mm),
        ];
        let args = [&inputs[..], &[Arg::from(&of_blocks), Arg::from(&brightest)]].concat();
        card.launch("influence_lit", "lit_count", shape, &args)?;
        let mut before = card.download(&of_blocks)?;
        let mut counts = [0_usize; 2];
        for of_block in &mut before {
            let own = of_block.map(|count| count as usize);
            *of_block = counts.map(|count| count as u32);
            counts = [counts[0] + own[0], counts[1] + own[1]];
        }
        let [voxels, shares] = counts;
        card.fits_int("shares of beamlets", shares)?;
        let mut lit = Self {
            voxels: card.alloc(voxels)?,
            terma: card.alloc(voxels)?,
            first: card.alloc(voxels + 1)?,
            beamlets: card.alloc(shares)?,
            voxel_of: card.alloc(shares)?,
            number_of: card.alloc(padded.len())?,
            density: card.alloc(padded.len())?,
            brightest: [0.0; CHANNELS],
            densest: 1.0,
        };
        card.fill(&lit.number_of, u8::MAX)?;
        let [nx, ny, nz] = medium.grid.size();
        let args = [Arg::int(nx), Arg::int(ny), Arg::int(nz), Arg::from(density), Arg::from(&lit.density)];
        let whole = Shape::covering([padded.len(), 1, 1], [THREADS, 1, 1]);
        card.launch("influence_lit", "lit_pad", whole, &args)?;
        if voxels > 0 {
            let before = card.upload(&before)?;
            let outputs = [
                Arg::from(&before),
                Arg::from(&brightest),
                Arg::from(&lit.voxels),
                Arg::from(&lit.terma),
                Arg::from(&lit.first),
                Arg::from(&lit.beamlets),
                Arg::from(&lit.voxel_of),
                Arg::from(&lit.number_of),
            ];
            card.launch("influence_lit", "lit_fill", shape, &[&inputs[..], &outputs].concat())?;
        }
        if let [brightest] = card.download(&brightest)?[..] {
            lit.brightest = brightest.terma;
            lit.densest = f32::from_bits(brightest.densest).max(1.0);
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
        let on_card = Self { voxels: card.upload(&sampled.voxels)?, row_of: card.alloc(padded.len())? };
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
            ("lit_fill", [vec![field, lit], vec![8; 14]].concat()),
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
