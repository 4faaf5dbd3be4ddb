//! Transport of energy along lines by exponential recursion, sixteen lines at a time.

use super::block::{Block, F32x16, LANES, LEAD, PHASE_STEP, TermaRows, union};
use super::strip::{FLOOR, SourceTerm, nodes, shares, source_term, transport_strip};
use crate::cccs::angles::{AngleTable, Coefficients, place_of, row_of};
use crate::lanes::F32xN;
use crate::{Cancelled, JobControl};
use geometry::walk::lattice::{LatticeWalk, Segment};
use glam::DVec3;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use physics::kernel_beam::CHANNELS;
use physics::kernel_fit::TERMS;
use std::ops::Range;

/// The lines of one direction.
#[derive(Clone, Copy, Debug)]
pub struct RayBundle {
    /// Unit vector in the block's axis order; its last axis is the one along which it crosses most voxels.
    pub direction: DVec3,
    /// Whether kernel coefficients change fast along them and need more nodes.
    pub near_beam_axis: bool,
    /// Entry within a voxel, as fractions of its sides.
    pub start: [f64; 2],
    /// Sets where the strips begin; different for neighbouring directions.
    pub turn: i32,
    /// Factor on the deposit: the solid angle in sr.
    pub weight: f64,
}

/// Rows of lines of a direction that are transported together.
// The state of sixteen rows of four directions, as large, takes a quarter longer.
const ROWS: usize = 8;

/// Transports energy along the lines of some directions and adds the deposit (padded, in the block's layout): energy per volume of
/// water of unit density. The directions pass each slab together, so that its voxels are read from memory once for all of them:
/// they have one sense across the slabs, and should be close to each other.
pub fn transport(
    block: &Block,
    terma: &TermaRows,
    table: &AngleTable,
    lines: &[RayBundle],
    deposit: &mut [f32],
    control: &JobControl,
) -> Result<(), Cancelled> {
    let mut bundles: Vec<BundleRows<'_>> = lines
        .iter()
        .map(|lines| BundleRows::new(block, terma, table, lines))
        .collect();
    let groups = bundles
        .iter()
        .map(BundleRows::groups)
        .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    for group in groups.unwrap_or_default() {
        control.check()?;
        bundles.iter_mut().for_each(|rows| rows.begin(group));
        for number in 0..block.size[2] {
            bundles
                .iter_mut()
                .for_each(|rows| transport_slab(rows, number, deposit));
        }
    }
    Ok(())
}

/// Offset of the strips of a voxel row. Kernel coefficients are a polynomial through a strip's nodes; its error leaves
/// no pattern where each row and direction begins elsewhere.
fn phase_of(voxel_row: i32, turn: i32) -> i32 {
    // Strips that begin at the same voxel in every row move the dose by up to 0.04 %, and save less than a tenth of the time.
    (voxel_row + turn).rem_euclid((LANES / PHASE_STEP) as i32) * PHASE_STEP as i32
}

/// Cells of a padded row that hold the voxels `first..end`.
fn padded_cells([first, end]: [i32; 2]) -> Range<usize> {
    (first + LEAD as i32) as usize..(end + LEAD as i32) as usize
}

/// Transports rows of lines through the `number`th slab on their way.
// AVX2 takes 40 % longer than AVX-512 on a processor that has both.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn transport_slab(rows: &mut BundleRows<'_>, number: usize, deposit: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    rows.plan(number);
    let (block, terma) = (rows.block, rows.terma);
    for crossing in &rows.crossings {
        let (within, with_terma) = (
            padded_cells(crossing.voxels),
            padded_cells(crossing.with_terma),
        );
        let row = crossing.row * block.stride;
        prefetch(&block.density[row..][within.clone()]);
        prefetch(&deposit[row..][within]);
        if !with_terma.is_empty() {
            (0..CHANNELS).for_each(|c| prefetch(&terma.row(crossing.row, c)[with_terma.clone()]));
        }
    }
    // Taken out, as a pass borrows all of the rows; put back for its memory.
    let crossings = std::mem::take(&mut rows.crossings);
    for crossing in &crossings {
        if block.low_density[crossing.row] {
            rows.pass_row::<FUSED, true>(crossing, deposit);
        } else {
            rows.pass_row::<FUSED, false>(crossing, deposit);
        }
    }
    rows.crossings = crossings;
}

/// Reads a value of every cache line, so that memory is read as one stream: waiting for rows one by one takes longer than their
/// transport.
#[inline(always)]
fn prefetch(values: &[f32]) {
    let sum = values
        .iter()
        .step_by(LANES)
        .fold(0, |sum, v| sum | v.to_bits());
    // A preview takes 0.24 s in place of 0.28.
    std::hint::black_box(sum);
}

/// The passage of a row of lines through a voxel row.
#[derive(Clone, Copy, Debug)]
struct RowPass {
    /// Number of the row of lines.
    lines: usize,
    /// Index of a line in a term's state minus the index of the voxel.
    to_line: i32,
    length_cm: f32,
    /// Voxels whose lines have any energy: first, one past the last.
    active: [i32; 2],
}

/// A voxel row that has TERMA, or is passed by lines with energy.
#[derive(Clone, Debug)]
struct Crossing {
    row: usize,
    /// Across and along the slabs.
    row_and_slab: [usize; 2],
    /// Range of [`BundleRows::passes`].
    passes: Range<usize>,
    /// Voxels with anything to do, and with TERMA: first, one past the last.
    voxels: [i32; 2],
    with_terma: [i32; 2],
}

/// Rows of lines of a bundle, side by side along the contiguous axis.
struct BundleRows<'a> {
    block: &'a Block,
    terma: &'a TermaRows,
    table: &'a AngleTable,
    /// The segments of a line by slab, in the order of travel; none is empty.
    slabs: Vec<Vec<Segment>>,
    direction: [f32; 3],
    /// Whether lines go up along the first and the second axis.
    increasing: [bool; 2],
    weight: f32,
    /// Line number of the first value of a term's state, negated.
    base: i32,
    turn: i32,
    /// Nodes of the strips that are looked up together, in voxels from the first strip's first.
    node_at: F32x16,
    /// Weights of the nodes for each voxel of a strip.
    shares: Vec<F32x16>,
    /// The rows of lines with a voxel in the block: first, one past the last.
    all_rows: Range<i32>,
    /// The row of lines that meets the first voxel row halfway through the slabs.
    middle_row: i32,
    /// First row of the group on its way.
    first_row: i32,
    width: usize,
    /// Transport state: radiant energy over `a_k`, `[row][term][line]`.
    state: Vec<f32>,
    /// Per row, the lines with energy: first, one past the last (indices into a term's state).
    active: Vec<[i32; 2]>,
    /// Voxel rows of the slab in hand, in the order of travel.
    crossings: Vec<Crossing>,
    passes: Vec<RowPass>,
    /// Kernel coefficients at the nodes of a voxel row's strips.
    nodes: Vec<Coefficients>,
}

impl<'a> BundleRows<'a> {
    fn new(
        block: &'a Block,
        terma: &'a TermaRows,
        table: &'a AngleTable,
        lines: &RayBundle,
    ) -> Self {
        let RayBundle {
            direction,
            near_beam_axis,
            start,
            turn,
            weight,
        } = *lines;
        let walk = LatticeWalk::new(block.spacing_mm, block.size[2], direction, start);
        let nodes = nodes(LANES as f64 * block.spacing_mm[0], near_beam_axis);
        let ([min_shift, max_shift], [min_row_shift, max_row_shift]) =
            (walk.shifts(0), walk.shifts(1));
        let width = block.stride + (max_shift - min_shift) as usize;
        let slabs: Vec<Vec<Segment>> = walk
            .segments
            .chunk_by(|a, b| a.slab == b.slab)
            .map(<[Segment]>::to_vec)
            .collect();
        Self {
            block,
            terma,
            table,
            direction: direction.as_vec3().to_array(),
            increasing: [direction.x >= 0.0, direction.y >= 0.0],
            weight: (weight / walk.slab_path_cm) as f32,
            base: max_shift + LEAD as i32,
            turn,
            node_at: F32xN(std::array::from_fn(|i| {
                nodes[i % nodes.len()] + (i / nodes.len() * LANES) as f32
            })),
            shares: shares(&nodes),
            all_rows: -max_row_shift..block.size[1] as i32 - min_row_shift,
            middle_row: -slabs[slabs.len() / 2][0].shift[1],
            slabs,
            first_row: 0,
            width,
            state: vec![FLOOR; ROWS * TERMS * width],
            active: vec![[0, 0]; ROWS],
            crossings: Vec::new(),
            passes: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// The groups of `ROWS` rows of lines; equal numbers of two bundles meet the same voxels halfway.
    fn groups(&self) -> Range<i32> {
        let [first, last] = [self.all_rows.start, self.all_rows.end - 1]
            .map(|row| (row - self.middle_row).div_euclid(ROWS as i32));
        first..last + 1
    }

    /// Begins a group of rows of lines, without energy.
    fn begin(&mut self, group: i32) {
        self.first_row = self.middle_row + group * ROWS as i32;
        self.state.fill(FLOOR);
        self.active.fill([0, 0]);
    }

    /// The first and last voxel row that the lines meet in a slab.
    fn voxel_rows(&self, number: usize) -> Option<[i32; 2]> {
        let shifts = self.slabs[number].iter().map(|p| p.shift[1]);
        let [low, high] = shifts.fold([i32::MAX, i32::MIN], |[l, h], s| [l.min(s), h.max(s)]);
        let low = (self.first_row + low).max(0);
        let high = (self.first_row + high + ROWS as i32 - 1).min(self.block.size[1] as i32 - 1);
        (low <= high).then_some([low, high])
    }

    /// Lists the voxel rows of a slab that the lines pass, in the order of travel.
    fn plan(&mut self, number: usize) {
        self.crossings.clear();
        self.passes.clear();
        let Some([low, high]) = self.voxel_rows(number) else {
            return;
        };
        let slab = self.slabs[number][0].slab;
        for step in low..=high {
            let across = if self.increasing[1] {
                step
            } else {
                low + high - step
            };
            let row_and_slab = [across as usize, slab];
            let row = self.block.row(row_and_slab);
            let (with_terma, matter) = (self.terma.with_terma[row], self.block.matter[row]);
            let first_pass = self.passes.len();
            let mut used = [i32::MAX, i32::MIN];
            for segment in &self.slabs[number] {
                let lines = across - segment.shift[1] - self.first_row;
                if !(0..ROWS as i32).contains(&lines) {
                    continue;
                }
                let (lines, to_line) = (lines as usize, self.base - segment.shift[0]);
                let active = &mut self.active[lines];
                if with_terma[0] < with_terma[1] {
                    // Energy decays along a line but never ends: a line stays active to the end of its group.
                    *active = union(*active, with_terma.map(|u| u + to_line));
                }
                let active = active.map(|l| l - to_line);
                if active[0] < active[1] {
                    used = [used[0].min(active[0]), used[1].max(active[1])];
                    self.passes.push(RowPass {
                        lines,
                        to_line,
                        length_cm: segment.length_cm,
                        active,
                    });
                }
            }
            let voxels = [used[0].max(matter[0]), used[1].min(matter[1])];
            if voxels[0] < voxels[1] {
                let passes = first_pass..self.passes.len();
                self.crossings.push(Crossing {
                    row,
                    row_and_slab,
                    passes,
                    voxels,
                    with_terma,
                });
            }
        }
    }

    /// Finds the kernel coefficients at the nodes of a voxel row's strips.
    #[inline(always)]
    fn find_coefficients(&mut self, strips: [i32; 2], phase: i32, row_and_slab: [usize; 2]) {
        self.nodes.clear();
        let per_strip = self.shares.len();
        let together = LANES / per_strip;
        let mut missing = (strips[1] - strips[0]) as usize * per_strip;
        let mut begin = LANES as i32 * strips[0] - phase;
        while missing > 0 {
            // Nodes of several strips fill the lanes of one look-up.
            let cosines = self.block.cosines(
                self.node_at + F32x16::splat(begin as f32),
                row_and_slab,
                self.direction,
            );
            let (mut rows, mut parts) = ([0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                (rows[i], parts[i]) = row_of(place_of(cosines.0[i]));
            }
            let looked_up = missing.min(together * per_strip);
            for i in 0..looked_up {
                self.nodes.push(self.table.between(rows[i], parts[i]));
            }
            missing -= looked_up;
            begin += (LANES * together) as i32;
        }
    }

    /// Transports lines through a voxel row. `LOW_DENSITY`: some of its voxels have low density.
    #[inline(always)]
    fn pass_row<const FUSED: bool, const LOW_DENSITY: bool>(
        &mut self,
        crossing: &Crossing,
        deposit: &mut [f32],
    ) {
        let Crossing {
            row,
            row_and_slab,
            voxels: [first, end],
            with_terma,
            ..
        } = *crossing;
        let lanes = LANES as i32;
        let phase = phase_of(row_and_slab[0] as i32, self.turn);
        let strip = |voxel: i32| (voxel + phase).div_euclid(lanes);
        let (first, last) = (strip(first), strip(end - 1));
        let with_terma = match with_terma {
            [from, to] if from < to => [strip(from), strip(to - 1) + 1],
            _ => [0, 0],
        };
        if with_terma[0] < with_terma[1] {
            self.find_coefficients(with_terma, phase, row_and_slab);
        }
        let Self {
            block,
            terma,
            width,
            ..
        } = *self;
        for step in first..=last {
            // Lines meet the voxels of a row in the order of travel.
            let strip = if self.increasing[0] {
                step
            } else {
                first + last - step
            };
            let begin = lanes * strip - phase;
            let within = (begin + LEAD as i32) as usize;
            let cell = row * block.stride + within;
            let density = F32x16::load(&block.density, cell);
            let source_term = if strip >= with_terma[0] && strip < with_terma[1] {
                // A loop: a closure may be compiled apart, for any processor.
                let mut channels = [F32x16::ZERO; CHANNELS];
                for (c, channel) in channels.iter_mut().enumerate() {
                    *channel = F32x16::load(terma.row(row, c), within);
                }
                let (number, per_strip) = ((strip - with_terma[0]) as usize, self.shares.len());
                source_term::<FUSED>(
                    &channels,
                    &self.shares,
                    &self.nodes[per_strip * number..][..per_strip],
                )
            } else {
                SourceTerm::NONE
            };
            let mut deposited = F32x16::ZERO;
            // Strip by strip: all passes of a row at once, or lines in registers through several slabs, take a quarter to a half longer.
            for pass in &self.passes[crossing.passes.clone()] {
                // Most strips beside a small field have no line with energy.
                if begin >= pass.active[1] || begin + lanes <= pass.active[0] {
                    continue;
                }
                let path = density * pass.length_cm;
                let state = &mut self.state[pass.lines * TERMS * width..][..TERMS * width];
                let line = (begin + pass.to_line) as usize;
                let passed =
                    transport_strip::<FUSED, LOW_DENSITY>(path, &source_term, state, width, line);
                deposited = deposited + passed;
            }
            let to = &mut deposit[cell..];
            deposited
                .mul_add::<FUSED>(F32x16::splat(self.weight), F32x16::load(to, 0))
                .store(to);
        }
    }
}
