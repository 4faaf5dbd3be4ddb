//! All directions of a beam, in fixed chunks whose deposits are summed in a fixed order.

use super::block::{Block, TermaRows};
use super::correction::add_correction;
use super::low_terma::split;
use super::terma::Terma;
use super::transport::{RayBundle, transport};
use crate::cccs::angles::{AngleTable, TiltNorm};
use crate::cccs::beam::Superposition;
use crate::cccs::correction::{Stencil, Tilts};
use crate::cccs::directions::{Direction, start};
use crate::dose::lattice::{Lattice, ORDERS, dominant_axis};
use crate::{Cancelled, JobControl};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Chunks of directions (at most, for each layout): the sum over directions does not depend on the number of threads
/// because it is cut the same way for any.
const CHUNKS: usize = 16;
/// Directions transported together: their state has to fit into a core's cache. 4 and 16 are as quick with 8 rows each; 4 with
/// 16 rows take a fifth longer.
const TOGETHER: usize = 8;
/// Minimum directions of a chunk: each chunk clears and sums a separate deposit.
const LEAST_TOGETHER: usize = 2;
/// Values to a thread at a time in element-wise loops: they fit its cache.
const PIECE: usize = 1 << 13;

/// Density and TERMA of a field, and where its radiation source is.
#[derive(Clone)]
pub struct TransportInput<'a> {
    pub lattice: Lattice,
    /// Attenuation-equivalent density of water, g/cm3, x fastest.
    pub density: &'a [f32],
    /// By channel, Gy (energy per mass of water), tilt normalisation included.
    pub terma: &'a Terma,
    /// The radiation source in the lattice's frame, mm.
    pub source_mm: DVec3,
    /// Directions' frame -> the lattice's frame.
    pub lattice_from_kernel: DMat3,
    /// Rays of the field against its axis.
    pub tilts: Tilts,
    /// Factors of low TERMA by tilt; `None` where all TERMA is transported along the same directions.
    pub low_terma_norm: Option<TiltNorm>,
}

/// High or low TERMA, and its directions.
struct TermaPart<'a> {
    terma: Cow<'a, Terma>,
    directions: &'a [Direction],
    /// Cosine to the beam's axis above which kernel coefficients change fast with the angle and need more nodes.
    near_axis_cos: f64,
}

/// [`TermaPart::near_axis_cos`] for 48 to 128 directions; above all cosines for others: of 384 the errors average out, a preview along 40
/// would take a quarter longer.
fn near_axis_cos(directions: &[Direction]) -> f64 {
    const FEW: std::ops::RangeInclusive<usize> = 48..=128;
    const NEAR_AXIS_DEG: f64 = 30.0;
    if FEW.contains(&directions.len()) {
        NEAR_AXIS_DEG.to_radians().cos()
    } else {
        f64::INFINITY
    }
}

/// Low TERMA first: the local correction takes the last, which is high TERMA.
fn parts<'a>(
    input: &TransportInput<'a>,
    beam: &'a Superposition,
    control: &JobControl,
) -> Result<Vec<TermaPart<'a>>, Cancelled> {
    let Superposition {
        directions,
        low_terma_directions,
        ..
    } = beam;
    let near_axis_cos = near_axis_cos(directions);
    match &input.low_terma_norm {
        None => Ok(vec![TermaPart {
            terma: Cow::Borrowed(input.terma),
            directions,
            near_axis_cos,
        }]),
        Some(norm) => {
            let [high, low] = split(input, norm, control)?.map(Cow::Owned);
            let low = TermaPart {
                terma: low,
                directions: low_terma_directions,
                near_axis_cos: f64::INFINITY,
            };
            Ok(vec![
                low,
                TermaPart {
                    terma: high,
                    directions,
                    near_axis_cos,
                },
            ])
        }
    }
}

/// Ray bundles of a part's directions dominated by `order[2]`, neighbours beside each other.
fn bundles_along(
    order: [usize; 3],
    part: &TermaPart<'_>,
    input: &TransportInput<'_>,
) -> Vec<RayBundle> {
    let mut mine: Vec<RayBundle> = part
        .directions
        .iter()
        .enumerate()
        .map(|(n, d)| (n, d, input.lattice_from_kernel * d.axis))
        .filter(|(_, _, axis)| dominant_axis(&input.lattice, *axis) == order[2])
        .map(|(n, d, axis)| {
            let direction = DVec3::from(order.map(|a| axis[a]));
            let near_beam_axis = d.axis.z > part.near_axis_cos;
            RayBundle {
                direction,
                near_beam_axis,
                start: start(n),
                turn: n as i32,
                weight: d.solid_angle_sr,
            }
        })
        .collect();
    // By sense, then by slope across the rows.
    mine.sort_by(|a, b| {
        increasing(a)
            .cmp(&increasing(b))
            .then(slope_across_rows(a).total_cmp(&slope_across_rows(b)))
    });
    mine
}

/// Whether slabs are traversed in increasing order.
fn increasing(bundle: &RayBundle) -> bool {
    bundle.direction.z >= 0.0
}

/// Energy deposited per volume of water of unit density (Gy g/cm3), x fastest.
pub fn superpose(
    input: &TransportInput<'_>,
    beam: &Superposition,
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let lattice = &input.lattice;
    let mut sum = vec![0.0; lattice.voxels()];
    // Transport works on TERMA of order 1, whatever its unit.
    let greatest_terma = input.terma.iter().map(|s| greatest(s)).fold(0.0, f32::max);
    if greatest_terma == 0.0 {
        return Ok(sum);
    }
    let parts = parts(input, beam, control)?;
    let directions: usize = parts.iter().map(|part| part.directions.len()).sum();
    let done = AtomicUsize::new(0);
    let mut deposits: Vec<Vec<f32>> = vec![Vec::new(); CHUNKS];
    // One layout for each dominant axis: a slab across it is a plane of contiguous memory.
    for order in ORDERS.into_iter().rev() {
        let block = Block::new(lattice, order, input.density, input.source_mm, control)?;
        let laid_out: Vec<(TermaRows, Vec<RayBundle>)> = parts
            .iter()
            .map(|part| {
                let terma =
                    block.terma_rows(lattice, &part.terma, 1.0 / greatest_terma, control)?;
                Ok((terma, bundles_along(order, part, input)))
            })
            .collect::<Result<_, Cancelled>>()?;
        let Some(deposit) = transported(
            &block,
            &laid_out,
            &beam.table,
            &mut deposits,
            |bundles: usize| {
                let finished = done.fetch_add(bundles, Ordering::Relaxed) + bundles;
                control.report(finished as f32 / directions as f32);
            },
            control,
        )?
        else {
            continue;
        };
        control.check()?;
        // Without the local correction single voxels of water are 1.7 % off the reference in place of 0.7 %.
        if let Some((terma, _)) = laid_out.last().filter(|_| beam.corrected) {
            let TransportInput {
                lattice,
                lattice_from_kernel,
                tilts,
                ..
            } = *input;
            let stencil = Stencil::new(&lattice, order, beam, lattice_from_kernel, tilts);
            add_correction(
                &block,
                terma,
                &stencil,
                lattice_from_kernel,
                deposit,
                control,
            )?;
        }
        block.add_onto(lattice, deposit, &mut sum);
    }
    sum.par_iter_mut().for_each(|s| *s *= greatest_terma);
    Ok(sum)
}

fn slope_across_rows(bundle: &RayBundle) -> f64 {
    bundle.direction.y / bundle.direction.z
}

/// Bundles of a part that are transported into one deposit.
fn chunk_len(bundles: &[RayBundle]) -> usize {
    bundles.len().div_ceil(CHUNKS).max(LEAST_TOGETHER)
}

/// Deposits of all parts in a block, padded; `None` where no line has its axis. The sum is the first of `deposits`, one for each
/// chunk; `progress` receives the number of bundles transported.
fn transported<'a>(
    block: &Block,
    parts: &[(TermaRows, Vec<RayBundle>)],
    table: &AngleTable,
    deposits: &'a mut [Vec<f32>],
    progress: impl Fn(usize) + Sync,
    control: &JobControl,
) -> Result<Option<&'a mut [f32]>, Cancelled> {
    let used = parts
        .iter()
        .map(|(_, bundles)| bundles.len().div_ceil(chunk_len(bundles)))
        .max()
        .unwrap_or(0);
    deposits[..used]
        .par_iter_mut()
        .enumerate()
        .try_for_each(|(chunk, deposit)| {
            // Memory is reused from layout to layout: clearing it is quicker than allocating.
            deposit.clear();
            deposit.resize(block.padded_len(), 0.0);
            for (terma, bundles) in parts {
                let mine = bundles
                    .chunks(chunk_len(bundles))
                    .nth(chunk)
                    .unwrap_or_default();
                let same_sense = mine.chunk_by(|a, b| increasing(a) == increasing(b));
                for bundles in same_sense.flat_map(|bundles| bundles.chunks(TOGETHER)) {
                    transport(block, terma, table, bundles, deposit, control)?;
                    progress(bundles.len());
                }
            }
            Ok(())
        })?;
    let Some((sum, others)) = deposits[..used].split_first_mut() else {
        return Ok(None);
    };
    add_up(sum, others);
    Ok(Some(sum))
}

/// The greatest size of a value.
fn greatest(values: &[f32]) -> f32 {
    values
        .par_chunks(PIECE)
        .map(|p| p.iter().fold(0.0, |m: f32, v| m.max(v.abs())))
        .reduce(|| 0.0, f32::max)
}

/// Adds the others to the first, voxel by voxel in their order.
fn add_up(sum: &mut [f32], others: &[Vec<f32>]) {
    sum.par_chunks_mut(PIECE).enumerate().for_each(|(n, sum)| {
        for other in others {
            sum.iter_mut()
                .zip(&other[n * PIECE..])
                .for_each(|(a, o)| *a += o);
        }
    });
}
