//! The sampled voxels that each line of a direction passes. Nothing scatters in behind a tube: from one to the next a line decays by the
//! path between them alone.

use crate::cccs::cpu::slowest_loss;
use crate::dose::lattice::ORDERS;
use crate::influence::walks::{Padded, Walk};
use crate::lanes::F32xN;
use geometry::walk::lattice::Segment;
use physics::kernel_fit::{SLOWEST_PER_CM, TERMS};

/// A sampled voxel on a line.
#[derive(Clone, Copy, Default)]
pub struct Hit {
    pub step: u32,
    pub row: u32,
}

/// Decay of each term at a hit.
#[derive(Clone, Copy, Default)]
pub struct Decay {
    /// Part that stays here.
    pub lost: [f32; TERMS],
    /// Part that comes to the next hit.
    pub kept: [f32; TERMS],
}

/// Hits of all lines of a direction, in the order of travel.
#[derive(Default)]
pub struct Hits {
    /// First hit of each line, and one past the last.
    first: Vec<u32>,
    /// Apart from their decays, among which a search would not find them in the cache.
    hits: Vec<Hit>,
    decays: Vec<Decay>,
    /// Axes across the lines, the least line along each, and lines along the first.
    axes: [usize; 2],
    least: [i32; 2],
    across: i32,
}

/// Part of each term that a path leaves, g/cm2.
pub fn transmitted(path: f32) -> [f32; TERMS] {
    let mut of_term = (-SLOWEST_PER_CM as f32 * path).exp();
    let mut by_term = [0.0; TERMS];
    for part in &mut by_term {
        *part = of_term;
        // Decay constants double from term to term.
        of_term *= of_term;
    }
    by_term
}

/// Part of each term that is lost in voxels with these paths.
#[inline(always)]
pub fn losses<const N: usize>(path: F32xN<N>) -> [F32xN<N>; TERMS] {
    let mut by_term = [F32xN::splat(0.0); TERMS];
    let mut loss = slowest_loss(path);
    for of_term in &mut by_term {
        *of_term = loss;
        // Decay constants double from term to term.
        loss = loss * (F32xN::splat(2.0) - loss);
    }
    by_term
}

fn lost(path: f32) -> [f32; TERMS] {
    losses(F32xN([path])).map(|loss| loss.0[0])
}

impl Hits {
    /// `rows` has the padded index and the place of each sampled voxel.
    pub fn new(
        walk: &Walk,
        padded: &Padded,
        rows: &[(usize, [usize; 3])],
        density: &[f32],
    ) -> Self {
        let [a, b, along] = ORDERS[walk.axis];
        let shifts = |axis: usize| walk.segments.iter().map(move |segment| segment.shift[axis]);
        let first_line = [0, 1].map(|axis| -shifts(axis).max().unwrap_or(0));
        let lines = |axis: usize, axis_of_block: usize| {
            padded.lattice.size[axis_of_block] as i32
                - first_line[axis]
                - shifts(axis).min().unwrap_or(0)
        };
        let (across, down) = (lines(0, a), lines(1, b));
        let mut lists = Self {
            axes: [a, b],
            least: first_line,
            across,
            ..Self::default()
        };
        let mut of_layer: Vec<Vec<u32>> = vec![Vec::new(); padded.lattice.size[along]];
        rows.iter()
            .enumerate()
            .for_each(|(row, (_, place))| of_layer[place[along]].push(row as u32));
        let mut first = vec![0_u32; (across * down) as usize + 1];
        let line = |segment: &Segment, row: u32| {
            lists.line(rows[row as usize].1.map(|n| n as u32), segment.shift)
        };
        for segment in &walk.segments {
            of_layer[segment.slab]
                .iter()
                .for_each(|row| first[line(segment, *row) + 1] += 1);
        }
        for n in 1..first.len() {
            first[n] += first[n - 1];
        }
        let mut next = first.clone();
        // A search waits for memory: hits of 8 bytes apart from decays of 72 save a fifth of the transport's time.
        let mut hits = vec![Hit::default(); first[first.len() - 1] as usize];
        for (step, segment) in walk.segments.iter().enumerate() {
            for row in &of_layer[segment.slab] {
                let next_of_line = &mut next[line(segment, *row)];
                hits[*next_of_line as usize] = Hit {
                    step: step as u32,
                    row: *row,
                };
                *next_of_line += 1;
            }
        }
        let mut decays = vec![Decay::default(); hits.len()];
        for line in first
            .windows(2)
            .map(|line| line[0] as usize..line[1] as usize)
        {
            let Some(start) = hits[line.clone()].first() else {
                continue;
            };
            let base = rows[start.row as usize].0 as i32 - walk.steps[start.step as usize].offset;
            let path = |step: u32| {
                let step = walk.steps[step as usize];
                density[(base + step.offset) as usize] * step.length_cm
            };
            decays[line.start].lost = lost(path(start.step));
            for n in line.start + 1..line.end {
                let between = transmitted((hits[n - 1].step + 1..hits[n].step).map(path).sum());
                let last_decay = &mut decays[n - 1];
                last_decay.kept =
                    std::array::from_fn(|term| between[term] * (1.0 - last_decay.lost[term]));
                decays[n].lost = lost(path(hits[n].step));
            }
        }
        (lists.first, lists.hits, lists.decays) = (first, hits, decays);
        lists
    }

    /// The line that passes a voxel.
    fn line(&self, place: [u32; 3], shift: [i32; 2]) -> usize {
        let [a, b] = [0, 1].map(|n| place[self.axes[n]] as i32 - shift[n] - self.least[n]);
        (b * self.across + a) as usize
    }

    /// Hits of the line that passes a voxel in a step, from that step on.
    #[inline(always)]
    pub fn ahead(&self, place: [u32; 3], shift: [i32; 2], step: u32) -> (&[Hit], &[Decay]) {
        let line = self.line(place, shift);
        let (start, end) = (self.first[line] as usize, self.first[line + 1] as usize);
        let passed = self.hits[start..end].partition_point(|hit| hit.step < step);
        (
            &self.hits[start + passed..end],
            &self.decays[start + passed..end],
        )
    }
}
