//! Energy carried along lines: the exponential recursion, sixteen lines at a time.

use super::block::{Block, LEAD, PHASE_STEP, Sources, union};
use super::lanes::{F32x16, LANES};
use crate::engine::jobs::cccs::angles::{AngleTable, Coefficients, PRIMARY, SCATTER, place_of, row_of};
use crate::engine::jobs::cccs::walk::{LatticeWalk, Piece};
use crate::engine::{Cancelled, JobControl};
use crate::physics::kernel_beam::CHANNELS;
use crate::physics::kernel_fit::{SLOWEST_PER_CM, TERMS};
use glam::DVec3;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use std::ops::Range;

/// What a term decays to instead of zero, in units of the greatest release: keeps the state out of the denormal
/// numbers, which are slow, at no cost.
const FLOOR: f32 = 1e-20;

/// The lines of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Unit vector in the block's axis order; its last axis is the one along which it crosses most voxels.
    pub direction: DVec3,
    /// Whether they go much as the beam does, and what is sent along them is to be found with more care.
    pub forward: bool,
    /// Where within a voxel they come in, as parts of its sides.
    pub start: [f64; 2],
    /// Sets where the strips begin; different for neighbouring directions.
    pub turn: i32,
    /// Factor on what stays: the solid angle in sr.
    pub weight: f64,
}

/// Rows of lines of a direction that go through the block together: a voxel between two of them is met again by the next rows.
const ROWS: usize = 8;

/// Carries energy along the lines of some directions and adds what stays to `deposit` (padded, in the block's layout):
/// energy per volume of water of unit density. The directions go through the slabs together, so that the voxels of a slab come
/// from the memory once for all of them, which takes as long as what one direction does with them: they all go the same way
/// across the slabs, and should be close to each other.
pub fn transport(
    (block, sources): (&Block, &Sources),
    table: &AngleTable,
    lines: &[Lines],
    deposit: &mut [f32],
    control: &JobControl,
) -> Result<(), Cancelled> {
    let bundle = |lines| Rows::new((block, sources), table, lines);
    let mut bundles: Vec<Rows<'_>> = lines.iter().map(bundle).collect();
    let groups = bundles.iter().map(Rows::groups).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end));
    for group in groups.unwrap_or_default() {
        control.check()?;
        bundles.iter_mut().for_each(|rows| rows.begin(group));
        for number in 0..block.size[2] {
            bundles.iter_mut().for_each(|rows| pass_slab(rows, number, deposit));
        }
    }
    Ok(())
}

/// Where the strips of a voxel row begin. What a strip sends is a polynomial through its nodes; beginning elsewhere in
/// each row and direction spreads the little that this misses evenly instead of leaving a pattern.
fn phase_of(voxel_row: i32, turn: i32) -> i32 {
    (voxel_row + turn).rem_euclid((LANES / PHASE_STEP) as i32) * PHASE_STEP as i32
}

/// Moves rows of lines through a slab, the `number`th on their way.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn pass_slab(rows: &mut Rows<'_>, number: usize, deposit: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    rows.plan(number);
    let (block, sources) = (rows.block, rows.sources);
    for crossing in &rows.crossings {
        let cells = |[first, end]: [i32; 2]| (first + LEAD as i32) as usize..(end + LEAD as i32) as usize;
        let (within, released) = (cells(crossing.voxels), cells(crossing.releasing));
        let row = crossing.row * block.stride;
        touch(&block.density[row..][within.clone()]);
        touch(&deposit[row..][within]);
        if !released.is_empty() {
            (0..CHANNELS).for_each(|c| touch(&sources.row(crossing.row, c)[released.clone()]));
        }
    }
    let crossings = std::mem::take(&mut rows.crossings);
    for crossing in &crossings {
        if block.thin[crossing.row] {
            rows.pass::<FUSED, true>(crossing, deposit);
        } else {
            rows.pass::<FUSED, false>(crossing, deposit);
        }
    }
    rows.crossings = crossings;
}

/// Reads a value of every cache line, so that the memory brings them in one stream: rows met one by one would be waited for
/// one by one, which takes longer than what is done with them.
#[inline(always)]
fn touch(values: &[f32]) {
    let all = values.iter().step_by(LANES).fold(0, |all, v| all | v.to_bits());
    std::hint::black_box(all);
}

/// One row of lines passing one voxel row.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// Which of the rows of lines.
    lines: usize,
    /// Index of a line in a term's state less that of the voxel.
    to_line: i32,
    length_cm: f32,
    /// Voxels whose lines carry anything: first, one past the last.
    active: [i32; 2],
}

/// A voxel row that lines pass which carry something, or which gives them something.
#[derive(Clone, Debug)]
struct Crossing {
    row: usize,
    /// Across and along the slabs.
    rest: [usize; 2],
    /// Of [`Rows::visits`].
    visits: Range<usize>,
    /// Where anything happens, and where anything is released: first, one past the last.
    voxels: [i32; 2],
    releasing: [i32; 2],
}

/// Rows of lines on their way, side by side along the contiguous axis.
struct Rows<'a> {
    block: &'a Block,
    sources: &'a Sources,
    table: &'a AngleTable,
    /// The pieces of a line by slab, in the order of travel; none is empty.
    slabs: Vec<Vec<Piece>>,
    direction: [f32; 3],
    /// Whether the lines go forward along the first and the second axis.
    forward: [bool; 2],
    weight: f32,
    /// Line number of the first value of a term's state, negated.
    base: i32,
    turn: i32,
    /// Where the nodes of the strips are that are looked up together, in voxels from the first strip's first one on.
    node_at: F32x16,
    /// How much of what is sent by the voxels of a strip is as at each node.
    shares: Vec<F32x16>,
    /// The rows of lines with a voxel in the block: first, one past the last.
    all_rows: Range<i32>,
    /// The row of lines that meets the first voxel row halfway through the slabs.
    middle_row: i32,
    /// Of those now on their way.
    first_row: i32,
    width: usize,
    /// Energy on its way over `a_k`, `[row][term][line]`.
    state: Vec<f32>,
    /// Per row, the lines that carry anything: first, one past the last (indices into a term's state).
    active: Vec<[i32; 2]>,
    /// What happens in the slab where they are, in the order of travel.
    crossings: Vec<Crossing>,
    visits: Vec<Visit>,
    /// What the strips of a voxel row send at their nodes.
    nodes: Vec<Coefficients>,
}

impl<'a> Rows<'a> {
    fn new((block, sources): (&'a Block, &'a Sources), table: &'a AngleTable, lines: &Lines) -> Self {
        let Lines { direction, forward, start, turn, weight } = *lines;
        let walk = LatticeWalk::new(block.spacing_mm, block.size[2], direction, start);
        let nodes = nodes(LANES as f64 * block.spacing_mm[0], forward);
        let ([least, most], [row_least, row_most]) = (walk.shifts(0), walk.shifts(1));
        let width = block.stride + (most - least) as usize;
        let slabs: Vec<Vec<Piece>> =
            walk.pieces.chunk_by(|a, b| a.slab == b.slab).map(<[Piece]>::to_vec).collect();
        Self {
            block,
            sources,
            table,
            direction: direction.as_vec3().to_array(),
            forward: [direction.x >= 0.0, direction.y >= 0.0],
            weight: (weight / walk.slab_path_cm) as f32,
            base: most + LEAD as i32,
            turn,
            node_at: F32x16(std::array::from_fn(|i| {
                nodes[i % nodes.len()] + (i / nodes.len() * LANES) as f32
            })),
            shares: shares(&nodes),
            all_rows: -row_most..block.size[1] as i32 - row_least,
            middle_row: -slabs[slabs.len() / 2][0].shift[1],
            slabs,
            first_row: 0,
            width,
            state: vec![FLOOR; ROWS * TERMS * width],
            active: vec![[0, 0]; ROWS],
            crossings: Vec::new(),
            visits: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// The groups of `ROWS` rows of lines, numbered so that those of one number meet the same voxels halfway.
    fn groups(&self) -> Range<i32> {
        let [first, last] = [self.all_rows.start, self.all_rows.end - 1]
            .map(|row| (row - self.middle_row).div_euclid(ROWS as i32));
        first..last + 1
    }

    /// Sets out with a group of rows of lines that carry nothing yet.
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

    /// Sets out which voxel rows of a slab the lines pass, in the order of travel.
    fn plan(&mut self, number: usize) {
        self.crossings.clear();
        self.visits.clear();
        let Some([low, high]) = self.voxel_rows(number) else { return };
        let slab = self.slabs[number][0].slab;
        for step in low..=high {
            let across = if self.forward[1] { step } else { low + high - step };
            let rest = [across as usize, slab];
            let row = self.block.row(rest);
            let (releasing, matter) = (self.sources.releasing[row], self.block.matter[row]);
            let first_visit = self.visits.len();
            let mut used = [i32::MAX, i32::MIN];
            for piece in &self.slabs[number] {
                let lines = across - piece.shift[1] - self.first_row;
                if !(0..ROWS as i32).contains(&lines) {
                    continue;
                }
                let (lines, to_line) = (lines as usize, self.base - piece.shift[0]);
                let active = &mut self.active[lines];
                if releasing[0] < releasing[1] {
                    *active = union(*active, releasing.map(|u| u + to_line));
                }
                let active = active.map(|l| l - to_line);
                if active[0] < active[1] {
                    used = [used[0].min(active[0]), used[1].max(active[1])];
                    self.visits.push(Visit { lines, to_line, length_cm: piece.length_cm, active });
                }
            }
            let voxels = [used[0].max(matter[0]), used[1].min(matter[1])];
            if voxels[0] < voxels[1] {
                let visits = first_visit..self.visits.len();
                self.crossings.push(Crossing { row, rest, visits, voxels, releasing });
            }
        }
    }

    /// Looks up what strips of a voxel row send at their nodes.
    #[inline(always)]
    fn look_up(&mut self, strips: [i32; 2], phase: i32, rest: [usize; 2]) {
        self.nodes.clear();
        let per_strip = self.shares.len();
        let together = LANES / per_strip;
        let mut missing = (strips[1] - strips[0]) as usize * per_strip;
        let mut begin = LANES as i32 * strips[0] - phase;
        while missing > 0 {
            let cosines =
                self.block.cosines(self.node_at + F32x16::splat(begin as f32), rest, self.direction);
            let (mut rows, mut parts) = ([0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                (rows[i], parts[i]) = row_of(place_of(cosines.0[i]));
            }
            let found = missing.min(together * per_strip);
            for i in 0..found {
                self.nodes.push(self.table.between(rows[i], parts[i]));
            }
            missing -= found;
            begin += (LANES * together) as i32;
        }
    }

    /// Moves the visiting lines through a voxel row each. `THIN`: some of its voxels are.
    #[inline(always)]
    fn pass<const FUSED: bool, const THIN: bool>(&mut self, crossing: &Crossing, deposit: &mut [f32]) {
        let Crossing { row, rest, voxels: [first, end], releasing, .. } = *crossing;
        let lanes = LANES as i32;
        let phase = phase_of(rest[0] as i32, self.turn);
        let strip = |voxel: i32| (voxel + phase).div_euclid(lanes);
        let (first, last) = (strip(first), strip(end - 1));
        let releasing = match releasing {
            [from, to] if from < to => [strip(from), strip(to - 1) + 1],
            _ => [0, 0],
        };
        if releasing[0] < releasing[1] {
            self.look_up(releasing, phase, rest);
        }
        let Self { block, sources, width, .. } = *self;
        for step in first..=last {
            // Lines meet the voxels of a row in the order of travel.
            let strip = if self.forward[0] { step } else { first + last - step };
            let begin = lanes * strip - phase;
            let within = (begin + LEAD as i32) as usize;
            let cell = row * block.stride + within;
            let density = F32x16::load(&block.density[cell..]);
            let release = if strip >= releasing[0] && strip < releasing[1] {
                let source: [F32x16; CHANNELS] =
                    std::array::from_fn(|c| F32x16::load(&sources.row(row, c)[within..]));
                let (number, per_strip) = ((strip - releasing[0]) as usize, self.shares.len());
                release::<FUSED>(&source, &self.shares, &self.nodes[per_strip * number..][..per_strip])
            } else {
                Release::NONE
            };
            let mut stays = F32x16::ZERO;
            for visit in &self.visits[crossing.visits.clone()] {
                if begin >= visit.active[1] || begin + lanes <= visit.active[0] {
                    continue;
                }
                let path = density * F32x16::splat(visit.length_cm);
                let state = &mut self.state[visit.lines * TERMS * width..][..TERMS * width];
                let line = (begin + visit.to_line) as usize;
                stays += carry::<FUSED, THIN>(path, &release, state, width, line);
            }
            let to = &mut deposit[cell..];
            stays.mul_add::<FUSED>(F32x16::splat(self.weight), F32x16::load(to)).store(to);
        }
    }
}

/// `1 - exp(-a y)` of the slowest term.
#[inline(always)]
fn slowest_loss(path: F32x16) -> F32x16 {
    let x = path * F32x16::splat(SLOWEST_PER_CM as f32);
    let one = F32x16::splat(1.0);
    x * (one
        - x * F32x16::splat(0.5) * (one - x * F32x16::splat(1.0 / 3.0) * (one - x * F32x16::splat(0.25))))
}

/// What a voxel releases along a line, whatever the line's length in it.
struct Release {
    /// Energy per length.
    all: F32x16,
    /// What each term would settle at: `S / a`.
    full: [F32x16; TERMS],
}

impl Release {
    const NONE: Self = Self { all: F32x16::ZERO, full: [F32x16([FLOOR; LANES]); TERMS] };
}

/// Strips longer than this have three nodes, others two; for lines that go much as the beam does, eight and four.
const LONG_STRIP_MM: f64 = 60.0;

/// Where in a strip what is sent is looked up, in voxels from its first one on: the zeros of Chebyshev's polynomial on it, so that
/// what goes by the polynomial through them errs as little as it can.
fn nodes(strip_mm: f64, forward: bool) -> Vec<f32> {
    let count = match (strip_mm > LONG_STRIP_MM, forward) {
        (false, false) => 2.0,
        (true, false) => 3.0,
        (false, true) => 4.0,
        (true, true) => 8.0,
    };
    let zero = |n: usize| ((n as f64 + 0.5) * std::f64::consts::PI / count).cos();
    let at = |n: usize| 0.5 * (LANES as f64 * (1.0 + zero(n)) - 1.0);
    (0..count as usize).map(|n| at(n) as f32).collect()
}

/// How much of what is sent by the voxels of a strip is as at each node: Lagrange's polynomials.
fn shares(nodes: &[f32]) -> Vec<F32x16> {
    let share =
        |own: f32, x: f32| nodes.iter().filter(|n| **n != own).map(|n| (x - n) / (own - n)).product::<f32>();
    nodes.iter().map(|own| F32x16(std::array::from_fn(|lane| share(*own, lane as f32)))).collect()
}

/// What a strip sends, each voxel its shares of the nodes.
#[inline(always)]
fn release<const FUSED: bool>(
    source: &[F32x16; CHANNELS],
    shares: &[F32x16],
    nodes: &[Coefficients],
) -> Release {
    let mut sent = Release::NONE;
    for (share, node) in shares.iter().zip(nodes) {
        let [p_near, p_deep, s_near, s_deep] = *source;
        let mine = [p_near * *share, p_deep * *share, s_near * *share, s_deep * *share];
        add_node::<FUSED>(&mut sent, &mine, node);
    }
    sent
}

/// Adds what is sent as at a node.
#[inline(always)]
fn add_node<const FUSED: bool>(sent: &mut Release, source: &[F32x16; CHANNELS], node: &Coefficients) {
    let [p_near, p_deep, s_near, s_deep] = *source;
    let (primary, scatter) = ([p_near, p_deep], [s_near, s_deep]);
    sent.all = add::<FUSED>(sent.all, primary, &[node.sums[0], node.sums[1]]);
    sent.all = add::<FUSED>(sent.all, scatter, &[node.sums[2], node.sums[3]]);
    for (term, full) in sent.full.iter_mut().enumerate() {
        if SCATTER.contains(&term) {
            *full = add::<FUSED>(*full, scatter, &node.scatter[term - SCATTER.start]);
        }
        if PRIMARY.contains(&term) {
            *full = add::<FUSED>(*full, primary, &node.primary[term - PRIMARY.start]);
        }
    }
}

/// Lines through a voxel: `R <- R e + (S/a)(1 - e)` for every term, with `R` over `a`; what is not carried on stays. `THIN`: some of
/// the voxels are, and `e` does not tell how much stays in them.
#[inline(always)]
fn carry<const FUSED: bool, const THIN: bool>(
    path: F32x16,
    release: &Release,
    state: &mut [f32],
    width: usize,
    line: usize,
) -> F32x16 {
    let one = F32x16::splat(1.0);
    // Each term decays twice as fast as the one before. A chain of one product a term: that of `1 - exp(-a y)` itself would be
    // twice as long, and waiting for it is what takes the time.
    let mut loss = slowest_loss(path);
    let mut keeps = one - loss;
    let mut stays = path * release.all;
    for (term, full) in release.full.iter().enumerate() {
        let loses = if THIN { loss } else { one - keeps };
        pass::<FUSED>(&mut state[term * width + line..], *full, loses, &mut stays);
        loss = loss * (one + one - loss);
        keeps = keeps * keeps;
    }
    stays
}

/// `to` and what the two channels of a class release along a term.
#[inline(always)]
fn add<const FUSED: bool>(to: F32x16, source: [F32x16; 2], a: &[f32; 2]) -> F32x16 {
    let near = source[0].mul_add::<FUSED>(F32x16::splat(a[0]), to);
    source[1].mul_add::<FUSED>(F32x16::splat(a[1]), near)
}

/// One term through one voxel: what the lines carry moves towards `full` by `loss`, and what they gain does not stay.
#[inline(always)]
fn pass<const FUSED: bool>(lines: &mut [f32], full: F32x16, loss: F32x16, stays: &mut F32x16) {
    let carried = F32x16::load(lines);
    let missing = full - carried;
    loss.mul_add::<FUSED>(missing, carried).store(lines);
    *stays = loss.mul_sub_from::<FUSED>(missing, *stays);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::jobs::cccs::medium::THIN_G_CM3;

    /// What stays in a voxel and what goes on, against exponentials in f64: where next to nothing stays as well.
    #[test]
    fn what_stays_in_a_voxel_is_exact_however_thin() {
        for density in [1.2e-4, 1.2e-3, 0.01, 0.04, 0.06, 0.3, 1.0, 2.0] {
            for length_cm in [0.013, 0.05, 0.31] {
                let path = density * length_cm;
                let carried = |term: usize| 3.0 / (1.0 + term as f64);
                let full = |term: usize| 1.0 + 0.2 * term as f64;
                let a = |term: usize| SLOWEST_PER_CM * f64::from(1 << term);
                let release = Release {
                    all: F32x16::splat((0..TERMS).map(|t| a(t) * full(t)).sum::<f64>() as f32),
                    full: std::array::from_fn(|t| F32x16::splat(full(t) as f32)),
                };
                let mut state: Vec<f32> = (0..TERMS * LANES).map(|i| carried(i / LANES) as f32).collect();
                // What single precision knows of `e` is a part of what is lost.
                let (carry, known): (fn(_, &_, &mut _, _, _) -> _, f64) = if density < f64::from(THIN_G_CM3) {
                    (carry::<true, true>, 0.0)
                } else {
                    (carry::<true, false>, 2e-7 / (SLOWEST_PER_CM * path))
                };
                let stays: F32x16 = carry(F32x16::splat(path as f32), &release, &mut state[..], LANES, 0);
                let loses = |term: usize| -(-a(term) * path).exp_m1();
                let gone =
                    |term: usize| loses(term) * (carried(term) - full(term)) + a(term) * path * full(term);
                let want: f64 = (0..TERMS).map(gone).sum();
                let off = f64::from(stays.0[0]) / want - 1.0;
                assert!(off.abs() < 1e-5 + known, "{density} g/cm3, {length_cm} cm: {off:e}");
                for term in 0..TERMS {
                    let want = carried(term) + loses(term) * (full(term) - carried(term));
                    assert!((f64::from(state[term * LANES]) / want - 1.0).abs() < 1e-4, "{density}, {term}");
                }
            }
        }
    }
}
