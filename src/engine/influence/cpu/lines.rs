//! The lines of one direction through the tube of a beamlet.

use crate::cccs::cpu::slowest_loss;
use crate::influence::field::Share;
use crate::influence::walks::{LitVoxel, SourceTerm, Step, Walk};
use crate::lanes::F32xN;
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use physics::kernel_fit::TERMS;

/// Lines that go on side by side behind the tube.
const LANES: usize = 16;
type F32x16 = F32xN<LANES>;

/// Work space of a thread, as large as the padded lattice.
pub struct Room {
    /// The beamlet's share of the fluence in each voxel; 0 outside its tube.
    share: Vec<f32>,
    /// Lines that have left the tube.
    left: Vec<Line>,
}

/// A line with the energy that it carries, over the decay constant of each term.
#[derive(Clone, Copy)]
struct Line {
    base: i32,
    step: u32,
    state: [f32; TERMS],
}

impl Room {
    pub fn new(voxels: usize) -> Self {
        Self { share: vec![0.0; voxels], left: Vec::new() }
    }

    /// Marks the voxels of a tube.
    pub fn enter(&mut self, tube: &[Share], lit: &[LitVoxel]) {
        tube.iter().for_each(|of| self.share[lit[of.number as usize].at as usize] = of.share);
    }

    pub fn leave(&mut self, tube: &[Share], lit: &[LitVoxel]) {
        tube.iter().for_each(|share| self.share[lit[share.number as usize].at as usize] = 0.0);
    }
}

/// Voxels that lines of a direction pass.
pub struct Lines<'a> {
    pub walk: &'a Walk,
    /// Source terms of the lit voxels.
    pub terms: &'a [SourceTerm],
    /// Padded.
    pub density: &'a [f32],
    /// Padded: the number of the sampled voxel, or less than 0.
    pub row_of: &'a [i32],
    /// Padded: the number of the lit voxel.
    pub number_of: &'a [u32],
}

impl Lines<'_> {
    /// Adds the energy per volume that a tube leaves at the sampled voxels.
    pub fn add(&self, tube: &[Share], lit: &[LitVoxel], room: &mut Room, column: &mut [f32]) {
        room.left.clear();
        pass_tube(self, tube, lit, room, column);
        go_on(self, &room.left, column);
    }
}

/// Transports lines through the tube, from where they enter it. A line that enters it twice is two lines, since energies add up.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn pass_tube(lines: &Lines<'_>, tube: &[Share], lit: &[LitVoxel], room: &mut Room, column: &mut [f32]) {
    let Lines { walk, terms, density, row_of, number_of } = *lines;
    for Share { number, .. } in tube {
        let LitVoxel { at, place, .. } = lit[*number as usize];
        let [first, end] = walk.of_layer[place[walk.axis] as usize];
        for entry in first..end {
            let base = at as i32 - walk.steps[entry as usize].offset;
            let before = entry.checked_sub(1).map(|n| base + walk.steps[n as usize].offset);
            if before.is_some_and(|voxel| room.share[voxel as usize] > 0.0) {
                continue;
            }
            let mut state = [0.0_f32; TERMS];
            for (n, step) in walk.steps[entry as usize..].iter().enumerate() {
                let voxel = (base + step.offset) as usize;
                let share = room.share[voxel];
                if share == 0.0 {
                    let step = entry + n as u32;
                    room.left.push(Line { base, step, state });
                    break;
                }
                let source = &terms[number_of[voxel] as usize];
                let path = density[voxel] * step.length_cm;
                let mut deposited = share * path * source.sum;
                let mut loss = slowest_loss(F32xN([path])).0[0];
                for (state, equilibrium) in state.iter_mut().zip(&source.equilibrium) {
                    let gained = loss * (share * equilibrium - *state);
                    *state += gained;
                    deposited -= gained;
                    // Decay constants double from term to term.
                    loss *= 2.0 - loss;
                }
                if let Some(row) = usize::try_from(row_of[voxel]).ok().and_then(|row| column.get_mut(row)) {
                    *row += walk.weight * deposited;
                }
            }
        }
    }
}

/// Lines on their way, side by side.
struct Lanes {
    base: [i32; LANES],
    /// Index of the next step; past the last for a lane without a line.
    step: [usize; LANES],
    state: [F32x16; TERMS],
}

/// Transports lines on to the end of matter, or until they have less than [`Walk::least`].
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
fn go_on(lines: &Lines<'_>, left: &[Line], column: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let Lines { walk, density, row_of, .. } = *lines;
    let (idle, least) = (walk.steps.len(), walk.least);
    let mut lanes = Lanes { base: [0; LANES], step: [idle; LANES], state: [F32x16::ZERO; TERMS] };
    let mut waiting = left.iter().filter(|line| line.state.iter().sum::<f32>() > least);
    let mut sums = F32x16::ZERO;
    loop {
        let mut busy = false;
        let mut path = F32x16::ZERO;
        let mut rows = [-1_i32; LANES];
        for lane in 0..LANES {
            let mut step = lanes.step[lane];
            let mut here = if step < idle && sums.0[lane] > least {
                density[(lanes.base[lane] + walk.steps[step].offset) as usize]
            } else {
                -1.0
            };
            if here < 0.0 {
                let Some(line) = waiting.next() else {
                    lanes.step[lane] = idle;
                    lanes.state.iter_mut().for_each(|state| state.0[lane] = 0.0);
                    continue;
                };
                step = line.step as usize;
                lanes.base[lane] = line.base;
                lanes.state.iter_mut().zip(line.state).for_each(|(to, state)| to.0[lane] = state);
                here = density[(line.base + walk.steps[step].offset) as usize];
            }
            // A line that left the tube through the lattice's side has nothing to pass; the next turn finds its lane free.
            let Some(&Step { offset, length_cm }) = walk.steps.get(step) else {
                continue;
            };
            busy = true;
            path.0[lane] = here.max(0.0) * length_cm;
            rows[lane] = row_of[(lanes.base[lane] + offset) as usize];
            lanes.step[lane] = if here < 0.0 { idle } else { step + 1 };
        }
        if !busy {
            return;
        }
        let one = F32x16::splat(1.0);
        let mut loss = slowest_loss(path);
        let mut deposited = F32x16::ZERO;
        sums = F32x16::ZERO;
        for state in &mut lanes.state {
            let lost = loss * *state;
            deposited = deposited + lost;
            *state = *state - lost;
            sums = sums + *state;
            loss = loss * (one + one - loss);
        }
        let deposited = F32x16::splat(walk.weight).mul_add::<FUSED>(deposited, F32x16::ZERO);
        for lane in 0..LANES {
            if let Some(row) = usize::try_from(rows[lane]).ok().and_then(|row| column.get_mut(row)) {
                *row += deposited.0[lane];
            }
        }
    }
}
