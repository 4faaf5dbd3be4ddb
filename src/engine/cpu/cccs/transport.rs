//! Energy carried along lines: the exponential recursion, sixteen lines at a time.

use super::angles::{AngleTable, Coefficients, PRIMARY, SCATTER};
use super::block::{Block, LEAD, PHASE_STEP};
use super::lanes::{LANES, Lanes};
use super::walk::{LatticeWalk, Piece};
use crate::engine::{Stopped, Watch};
use crate::physics::kernel_beam::CHANNELS;
use crate::physics::kernel_fit::{SLOWEST_PER_CM, TERMS};
use glam::DVec3;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;

/// What a term decays to instead of zero, in units of the greatest release: keeps the state out of the denormal
/// numbers, which are slow, at no cost.
const FLOOR: f32 = 1e-20;

/// The lattices of lines of one direction, which share its solid angle.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Unit vector in the block's axis order; its dominant axis is not the contiguous one.
    pub direction: DVec3,
    /// Where within a voxel the lines of each lattice come in, as parts of its sides.
    pub starts: &'a [[f64; 2]],
    /// Sets where the strips begin; different for neighbouring directions.
    pub turn: i32,
    /// Factor on what stays: the solid angle in sr.
    pub weight: f64,
}

/// Carries energy along the lines of a direction and adds what stays to `deposit` (padded, in the block's layout): energy per volume of water of unit density.
pub fn transport(
    block: &Block,
    table: &AngleTable,
    lines: &Lines<'_>,
    deposit: &mut [f32],
    watch: &Watch,
) -> Result<(), Stopped> {
    let Lines { direction, starts, turn, weight } = *lines;
    let walks: Vec<LatticeWalk> =
        starts.iter().map(|start| LatticeWalk::new(block, direction, *start)).collect();
    let Some(other) = walks.first().map(|w| 3 - w.dominant) else { return Ok(()) };
    let union = |axis: usize| {
        let all = walks.iter().map(|w| w.shifts(axis));
        all.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or([0, 0])
    };
    let ([least, most], [row_least, row_most]) = (union(0), union(1));
    let width = block.stride + (most - least) as usize;
    let mut row = LineRow {
        block,
        table,
        direction: [direction.x as f32, direction.y as f32, direction.z as f32],
        weight: 0.0,
        base: most + LEAD as i32,
        state: std::array::from_fn(|_| vec![FLOOR; width]),
        active: [0, 0],
        phase: 0,
    };
    // The lattices take turns row by row, so that what one has read is at hand for the next.
    for line_row in -row_most..block.size[other] as i32 - row_least {
        watch.check()?;
        for walk in &walks {
            row.state.iter_mut().for_each(|s| s.fill(FLOOR));
            row.active = [0, 0];
            row.phase = phase_of(line_row, turn);
            row.weight = (weight / (walk.slab_path_cm * walks.len() as f64)) as f32;
            pass_all(&mut row, walk, line_row, deposit);
        }
    }
    Ok(())
}

/// Where the strips of a row begin. The angle of release is that of a strip's middle; beginning elsewhere in
/// each row and direction spreads the little that this misses evenly instead of leaving a pattern.
fn phase_of(line_row: i32, turn: i32) -> i32 {
    (line_row + turn).rem_euclid((LANES / PHASE_STEP) as i32) * PHASE_STEP as i32
}

/// Moves a row of lines through the whole block.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn pass_all(lines: &mut LineRow<'_>, walk: &LatticeWalk, line_row: i32, deposit: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let other = 3 - walk.dominant;
    for piece in &walk.pieces {
        let across = line_row + piece.shift[1];
        if across < 0 || across >= lines.block.size[other] as i32 {
            continue;
        }
        let mut rest = [0; 2];
        rest[walk.dominant - 1] = piece.slab;
        rest[other - 1] = across as usize;
        lines.pass::<FUSED>(piece, lines.block.row(rest), deposit);
    }
}

/// Energy on its way over `a_k`, `[term][line]`.
type State = [Vec<f32>; TERMS];

/// A row of lines on their way, side by side along the contiguous axis.
struct LineRow<'a> {
    block: &'a Block,
    table: &'a AngleTable,
    direction: [f32; 3],
    weight: f32,
    /// Line number of the first value of a term's state, negated.
    base: i32,
    state: State,
    /// Lines that carry anything: first, one past the last (indices into a term's state).
    active: [i32; 2],
    /// Voxels by which the strips begin before the block's first voxel.
    phase: i32,
}

impl LineRow<'_> {
    /// Moves all lines through one voxel each: `row` of the block, shifted.
    #[inline(always)]
    fn pass<const FUSED: bool>(&mut self, piece: &Piece, row: usize, deposit: &mut [f32]) {
        let block = self.block;
        let to_line = self.base - piece.shift[0];
        let releasing = block.releasing[row];
        let matter = block.matter[row];
        let lanes = LANES as i32;
        if releasing[0] < releasing[1] {
            let [from, to] = releasing.map(|u| u + to_line);
            let empty = self.active[0] >= self.active[1];
            self.active = if empty { [from, to] } else { [self.active[0].min(from), self.active[1].max(to)] };
        }
        let first = (self.active[0] - to_line).max(matter[0]);
        let end = (self.active[1] - to_line).min(matter[1]);
        let mut begin = (first + self.phase).div_euclid(lanes) * lanes - self.phase;
        while begin < end {
            let within = (begin + LEAD as i32) as usize;
            let cell = row * block.stride + within;
            let line = (begin + to_line) as usize;
            let path = Lanes::load(&block.density[cell..]) * Lanes::splat(piece.length_cm);
            let stays = if begin < releasing[1] && begin + lanes > releasing[0] {
                let source: [Lanes; CHANNELS] =
                    std::array::from_fn(|c| Lanes::load(&block.source[c][cell..]));
                let ray = &block.rays[(row * block.stride + within) / PHASE_STEP];
                let d = &self.direction;
                let coefficients = self.table.at(ray[0] * d[0] + ray[1] * d[1] + ray[2] * d[2]);
                release_and_carry::<FUSED>(path, &source, coefficients, &mut self.state, line)
            } else {
                carry::<FUSED>(path, &mut self.state, line)
            };
            let to = &mut deposit[cell..];
            stays.mul_add::<FUSED>(Lanes::splat(self.weight), Lanes::load(to)).store(to);
            begin += lanes;
        }
    }
}

/// `1 - exp(-a y)` of the slowest term; each faster term follows by `g -> g (2 - g)`.
#[inline(always)]
fn slowest_loss(path: Lanes) -> Lanes {
    let x = path * Lanes::splat(SLOWEST_PER_CM as f32);
    let one = Lanes::splat(1.0);
    x * (one - x * Lanes::splat(0.5) * (one - x * Lanes::splat(1.0 / 3.0) * (one - x * Lanes::splat(0.25))))
}

/// A voxel that releases: `R <- R e + (S/a)(1 - e)` for every term, with `R` over `a`; what is not carried on stays.
#[inline(always)]
fn release_and_carry<const FUSED: bool>(
    path: Lanes,
    source: &[Lanes; CHANNELS],
    coefficients: &Coefficients,
    state: &mut State,
    line: usize,
) -> Lanes {
    let [p_near, p_deep, s_near, s_deep] = *source;
    let (primary, scatter) = ([p_near, p_deep], [s_near, s_deep]);
    let released = add::<FUSED>(Lanes::ZERO, primary, &[coefficients.sums[0], coefficients.sums[1]]);
    let released = add::<FUSED>(released, scatter, &[coefficients.sums[2], coefficients.sums[3]]);
    let floor = Lanes::splat(FLOOR);
    let mut loss = slowest_loss(path);
    let mut stays = path * released;
    for (term, state) in state.iter_mut().enumerate() {
        let mut full = floor;
        if SCATTER.contains(&term) {
            full = add::<FUSED>(full, scatter, &coefficients.scatter[term - SCATTER.start]);
        }
        if PRIMARY.contains(&term) {
            full = add::<FUSED>(full, primary, &coefficients.primary[term - PRIMARY.start]);
        }
        pass::<FUSED>(&mut state[line..], full, &mut loss, &mut stays);
    }
    stays
}

/// `to` and what the two channels of a class release along a term.
#[inline(always)]
fn add<const FUSED: bool>(to: Lanes, source: [Lanes; 2], a: &[f32; 2]) -> Lanes {
    let near = source[0].mul_add::<FUSED>(Lanes::splat(a[0]), to);
    source[1].mul_add::<FUSED>(Lanes::splat(a[1]), near)
}

/// One term through one voxel: what the lines carry moves towards `full` by `loss`, and what they gain does not stay.
#[inline(always)]
fn pass<const FUSED: bool>(lines: &mut [f32], full: Lanes, loss: &mut Lanes, stays: &mut Lanes) {
    let carried = Lanes::load(lines);
    let missing = full - carried;
    loss.mul_add::<FUSED>(missing, carried).store(lines);
    *stays = loss.mul_sub_from::<FUSED>(missing, *stays);
    *loss = *loss * (Lanes::splat(2.0) - *loss);
}

/// A voxel that releases nothing.
#[inline(always)]
fn carry<const FUSED: bool>(path: Lanes, state: &mut State, line: usize) -> Lanes {
    let mut loss = slowest_loss(path);
    let mut stays = Lanes::ZERO;
    for state in state {
        pass::<FUSED>(&mut state[line..], Lanes::splat(FLOOR), &mut loss, &mut stays);
    }
    stays
}
