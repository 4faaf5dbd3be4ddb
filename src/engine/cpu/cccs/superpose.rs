//! All directions of a beam: shared out in fixed chunks, summed in a fixed order.

use super::block::{Block, Sources};
use super::faint::split;
use super::near::add_near;
use super::terma::Source;
use super::transport::{Lines, transport};
use crate::engine::jobs::cccs::angles::{AngleTable, TiltNorm};
use crate::engine::jobs::cccs::beam::Superposition;
use crate::engine::jobs::cccs::directions::{Direction, start};
use crate::engine::jobs::cccs::lattice::{Lattice, dominant_axis};
use crate::engine::jobs::cccs::near::{Stencil, Tilts};
use crate::engine::{Cancelled, JobControl};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Chunks of directions (at most, for each layout): the sum over directions does not depend on the number of threads
/// because it is cut the same way for any.
const CHUNKS: usize = 16;
/// Directions that go through the block together: what their lines carry has to fit into a processor's own memory. With 8 rows
/// each, 4 and 16 directions are about as quick; 16 rows and 4 directions take a fifth longer.
const TOGETHER: usize = 8;
/// At least so many to a chunk: each chunk has a deposit of its own to clear and to add up.
const LEAST_TOGETHER: usize = 2;
/// Values that a thread takes at a time where each is by itself: few enough for its cache.
const PIECE: usize = 1 << 13;

/// What is transported: voxels, what they release, and from where the radiation comes.
#[derive(Clone)]
pub struct Released<'a> {
    pub lattice: Lattice,
    /// Attenuation-equivalent density of water, g/cm3, x fastest.
    pub density: &'a [f32],
    /// Gy per channel (energy per mass of water), tilt normalisation included.
    pub source: &'a Source,
    /// The radiation source in the lattice's frame, mm.
    pub source_mm: DVec3,
    /// Directions' frame -> the lattice's frame.
    pub lattice_from_kernel: DMat3,
    /// Rays of the field against its axis.
    pub tilts: Tilts,
    /// What the faint part of the release is multiplied by; `None` where all of it goes along the same directions.
    pub faint_norm: Option<TiltNorm>,
}

/// A part of what is released, and the directions along which it goes.
struct Part<'a> {
    source: Cow<'a, Source>,
    directions: &'a [Direction],
    /// What is sent along lines within this of the beam's axis, as a cosine, changes so fast with the angle that it takes care.
    forward_cos: f64,
}

/// [`Part::forward_cos`], where each direction carries so much that it shows: else nowhere. Of 384 the mistakes even out; a preview,
/// along 40, would take a quarter longer.
fn forward_cos(directions: &[Direction]) -> f64 {
    const FEW: std::ops::RangeInclusive<usize> = 48..=128;
    const FORWARD_DEG: f64 = 30.0;
    if FEW.contains(&directions.len()) { FORWARD_DEG.to_radians().cos() } else { f64::INFINITY }
}

/// The faint part first: what is put right last is the bright one.
fn parts<'a>(
    released: &Released<'a>,
    beam: &'a Superposition,
    control: &JobControl,
) -> Result<Vec<Part<'a>>, Cancelled> {
    let Superposition { directions, faint, .. } = beam;
    let forward_cos = forward_cos(directions);
    match &released.faint_norm {
        None => Ok(vec![Part { source: Cow::Borrowed(released.source), directions, forward_cos }]),
        Some(norm) => {
            let [bright, dim] = split(released, norm, control)?.map(Cow::Owned);
            let dim = Part { source: dim, directions: faint, forward_cos: f64::INFINITY };
            Ok(vec![dim, Part { source: bright, directions, forward_cos }])
        }
    }
}

/// The lines of a part's directions that go mostly along `order[2]`: neighbours beside each other.
fn lines_along(order: [usize; 3], part: &Part<'_>, released: &Released<'_>) -> Vec<Lines> {
    let mut mine: Vec<Lines> = part
        .directions
        .iter()
        .enumerate()
        .map(|(n, d)| (n, d, released.lattice_from_kernel * d.axis))
        .filter(|(_, _, axis)| dominant_axis(&released.lattice, *axis) == order[2])
        .map(|(n, d, axis)| {
            let direction = DVec3::from(order.map(|a| axis[a]));
            let forward = d.axis.z > part.forward_cos;
            Lines { direction, forward, start: start(n), turn: n as i32, weight: d.solid_angle_sr }
        })
        .collect();
    // Those that go the same way, by their slope across the rows.
    let slope = |lines: &Lines| lines.direction.y / lines.direction.z;
    mine.sort_by(|a, b| goes_forward(a).cmp(&goes_forward(b)).then(slope(a).total_cmp(&slope(b))));
    mine
}

fn goes_forward(lines: &Lines) -> bool {
    lines.direction.z >= 0.0
}

/// Energy deposited per volume of water of unit density (Gy g/cm3), x fastest.
///
/// # Errors
/// [`Cancelled`] when cancelled.
pub fn superpose(
    released: &Released<'_>,
    beam: &Superposition,
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let lattice = &released.lattice;
    let mut sum = vec![0.0; lattice.voxels()];
    // Transport works on releases of order 1, whatever their unit.
    let most = released.source.iter().map(|s| greatest(s)).fold(0.0, f32::max);
    if most == 0.0 {
        return Ok(sum);
    }
    let parts = parts(released, beam, control)?;
    let directions: usize = parts.iter().map(|part| part.directions.len()).sum();
    let done = AtomicUsize::new(0);
    let mut deposits: Vec<Vec<f32>> = vec![Vec::new(); CHUNKS];
    // One layout for each dominant axis: a slab across it is a plane of contiguous memory, which lines pass one by one.
    for order in [[0, 1, 2], [0, 2, 1], [1, 2, 0]] {
        let block = Block::new(lattice, order, released.density, released.source_mm, control)?;
        let laid: Vec<(Sources, Vec<Lines>)> = parts
            .iter()
            .map(|part| {
                let sources = block.sources(lattice, &part.source, 1.0 / most, control)?;
                Ok((sources, lines_along(order, part, released)))
            })
            .collect::<Result<_, Cancelled>>()?;
        let progress = |lines: usize| {
            let finished = done.fetch_add(lines, Ordering::Relaxed) + lines;
            control.report(finished as f32 / directions as f32);
        };
        let Some(all) = carried(&block, &laid, &beam.table, &mut deposits, progress, control)? else {
            continue;
        };
        control.check()?;
        if let Some((sources, _)) = laid.last().filter(|_| beam.near) {
            let Released { lattice, lattice_from_kernel, tilts, .. } = *released;
            let stencil = Stencil::new(&lattice, order, beam, lattice_from_kernel, tilts);
            add_near(&block, sources, &stencil, lattice_from_kernel, all, control)?;
        }
        block.add_onto(lattice, all, &mut sum);
    }
    sum.par_iter_mut().for_each(|s| *s *= most);
    Ok(sum)
}

/// What the lines of all parts leave in a block, padded; `None` where there are none. It lies in the first of `deposits`, one for
/// each chunk; `progress` is told of lines that have passed.
fn carried<'a>(
    block: &Block,
    parts: &[(Sources, Vec<Lines>)],
    table: &AngleTable,
    deposits: &'a mut [Vec<f32>],
    progress: impl Fn(usize) + Sync,
    control: &JobControl,
) -> Result<Option<&'a mut [f32]>, Cancelled> {
    let chunk_len = |lines: &[Lines]| lines.len().div_ceil(CHUNKS).max(LEAST_TOGETHER);
    let used = parts.iter().map(|(_, lines)| lines.len().div_ceil(chunk_len(lines))).max().unwrap_or(0);
    deposits[..used].par_iter_mut().enumerate().try_for_each(|(chunk, deposit)| {
        // Kept from layout to layout: the system takes longer to find new memory than we to clear it.
        deposit.clear();
        deposit.resize(block.padded_len(), 0.0);
        for (sources, lines) in parts {
            let mine = lines.chunks(chunk_len(lines)).nth(chunk).unwrap_or_default();
            let same_way = mine.chunk_by(|a, b| goes_forward(a) == goes_forward(b));
            for lines in same_way.flat_map(|lines| lines.chunks(TOGETHER)) {
                transport((block, sources), table, lines, deposit, control)?;
                progress(lines.len());
            }
        }
        Ok(())
    })?;
    let Some((all, others)) = deposits[..used].split_first_mut() else { return Ok(None) };
    add_up(all, others);
    Ok(Some(all))
}

/// The greatest size of a value.
fn greatest(values: &[f32]) -> f32 {
    values.par_chunks(PIECE).map(|p| p.iter().fold(0.0, |m: f32, v| m.max(v.abs()))).reduce(|| 0.0, f32::max)
}

/// Adds the others to the first, voxel by voxel in their order.
fn add_up(all: &mut [f32], others: &[Vec<f32>]) {
    all.par_chunks_mut(PIECE).enumerate().for_each(|(n, all)| {
        for other in others {
            all.iter_mut().zip(&other[n * PIECE..]).for_each(|(a, o)| *a += o);
        }
    });
}
