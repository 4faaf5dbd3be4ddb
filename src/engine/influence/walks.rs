//! Lines of each direction through a padded lattice, and the local correction of each lit voxel.

use super::field::{Lit, Sampled, Share, ShareLists};
use super::request::OpenField;
use crate::cccs::angles::{AngleTable, PRIMARY, SCATTER, place_of};
use crate::cccs::beam::{Superposition, grid_from_kernel};
use crate::cccs::correction::{DENSEST, Stencil, Tilts};
use crate::cccs::directions::start;
use crate::dose::lattice::{Lattice, ORDERS, dominant_axis};
use crate::dose::medium::Medium;
use bytemuck::{Pod, Zeroable};
use geometry::walk::lattice::{LatticeWalk, Segment};
use glam::{DMat3, DVec3, Vec3};
use physics::kernel_beam::CHANNELS;
use physics::kernel_fit::TERMS;
use rayon::prelude::*;

/// Density beyond the lattice's sides: a line that comes there ends.
pub const END: f32 = -1.0;

/// Lines of a direction that enter a tube in one of its voxels, at most: a line passes up to three of a layer.
pub const LINES_OF_SHARE: usize = 3;

/// Headroom of fixed-point deposits over the largest TERMA; scattered energy stays below it.
const HEADROOM: f32 = 8.0;

/// Whole numbers that deposits of an energy per volume of 1 count as on a card, for the TERMA of the brightest voxel and the greatest
/// density.
pub fn deposit_units(brightest: f32, densest: f32) -> f32 {
    i32::MAX as f32 / (HEADROOM * brightest.max(f32::MIN_POSITIVE) * densest)
}

/// A lattice with one voxel more on each side.
#[derive(Clone, Copy)]
pub struct Padded {
    pub lattice: Lattice,
    /// Index steps along x, y and z.
    pub steps: [usize; 3],
}

impl Padded {
    pub fn new(lattice: Lattice) -> Self {
        let [x, y, _] = lattice.size.map(|n| n + 2);
        Self {
            lattice,
            steps: [1, x, x * y],
        }
    }

    pub fn len(&self) -> usize {
        self.steps[2] * (self.lattice.size[2] + 2)
    }

    /// Index of a voxel of the lattice, and its place there.
    pub fn index_and_place(&self, voxel: usize) -> (usize, [usize; 3]) {
        let [nx, ny, _] = self.lattice.size;
        let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        (
            (0..3)
                .map(|axis| (place[axis] + 1) * self.steps[axis])
                .sum(),
            place,
        )
    }

    /// Values of the lattice, x fastest, with `padding` round them.
    pub fn filled<T: Copy + Send + Sync>(&self, values: &[T], padding: T) -> Vec<T> {
        let mut padded = vec![padding; self.len()];
        for (row, values) in values.chunks_exact(self.lattice.size[0]).enumerate() {
            let (first, _) = self.index_and_place(row * self.lattice.size[0]);
            padded[first..first + values.len()].copy_from_slice(values);
        }
        padded
    }
}

/// A segment of all lines of a direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Step {
    /// Index of the voxel minus the index of the line.
    pub offset: i32,
    pub length_cm: f32,
}

/// The walk that all lines of a direction share, in the order of travel.
pub struct Walk {
    pub steps: Vec<Step>,
    /// The same by layer and by voxel less line along the first and second axis of [`ORDERS`].
    pub segments: Vec<Segment>,
    /// The steps of each layer of voxels across `axis`: first, one past the last.
    pub of_layer: Vec<[u32; 2]>,
    pub axis: usize,
    /// Factor on the deposit: the solid angle over the path within a layer.
    pub weight: f32,
    /// Unit vector in the lattice's frame.
    pub direction: DVec3,
    /// Energy of a line, over the decay constants of its terms, below which it is dropped behind the tube.
    pub least: f32,
}

/// [`Walk::least`] as part of the greatest: a column loses less than 1e-4 of its maximum (`engine::selftest`).
const LEAST: f32 = 1e-6;

impl Walk {
    /// All directions of a beam, of which nothing is dropped.
    pub fn all(beam: &Superposition, padded: &Padded, lattice_from_kernel: DMat3) -> Vec<Self> {
        beam.directions
            .par_iter()
            .enumerate()
            .map(|(n, d)| {
                Self::new(
                    padded,
                    lattice_from_kernel * d.axis,
                    start(n),
                    d.solid_angle_sr,
                )
            })
            .collect()
    }

    /// Sets the state below which the lines of the walks end, relative to the greatest TERMA of a lit voxel. The walks belong to the
    /// beam's directions, in their order.
    pub fn drop_less(walks: &mut [Self], beam: &Superposition, brightest: &[f32; CHANNELS]) {
        for (walk, direction) in walks.iter_mut().zip(&beam.directions) {
            let term = SourceTerm::new(&beam.table, brightest, direction.axis.z as f32);
            walk.least = LEAST
                * term
                    .equilibrium
                    .iter()
                    .map(|state| state.abs())
                    .sum::<f32>();
        }
    }

    fn new(padded: &Padded, direction: DVec3, start: [f64; 2], solid_angle_sr: f64) -> Self {
        let lattice = &padded.lattice;
        let axis = dominant_axis(lattice, direction);
        let order = ORDERS[axis];
        let along = DVec3::from(order.map(|a| direction[a]));
        let walk = LatticeWalk::new(
            order.map(|a| lattice.spacing_mm[a]),
            lattice.size[axis],
            along,
            start,
        );
        let [first, second, last] = order.map(|a| padded.steps[a] as i32);
        let steps = walk.segments.iter().map(|s| Step {
            offset: (s.slab as i32 + 1) * last + s.shift[0] * first + s.shift[1] * second,
            length_cm: s.length_cm,
        });
        let steps = steps.collect();
        let mut of_layer = vec![[u32::MAX, 0]; lattice.size[axis]];
        for (n, segment) in walk.segments.iter().enumerate() {
            let [low, end] = &mut of_layer[segment.slab];
            (*low, *end) = ((*low).min(n as u32), n as u32 + 1);
        }
        Self {
            steps,
            segments: walk.segments,
            of_layer,
            axis,
            weight: (solid_angle_sr / walk.slab_path_cm) as f32,
            direction,
            least: 0.0,
        }
    }
}

/// Source term of a lit voxel along a direction, for all of its unobstructed TERMA.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct SourceTerm {
    /// State of each term at equilibrium, then zeros.
    pub equilibrium: [f32; TERMS],
    /// Energy per length.
    pub sum: f32,
    pub none: [f32; 16 - TERMS - 1],
}

impl SourceTerm {
    pub fn new(table: &AngleTable, terma: &[f32; CHANNELS], cosine: f32) -> Self {
        let row = table.at(place_of(cosine));
        let mut term = Self::default();
        for (n, a) in row.primary.iter().enumerate() {
            term.equilibrium[PRIMARY.start + n] += terma[0] * a[0] + terma[1] * a[1];
        }
        for (n, a) in row.scatter.iter().enumerate() {
            term.equilibrium[SCATTER.start + n] += terma[2] * a[0] + terma[3] * a[1];
        }
        term.sum = (0..CHANNELS).map(|c| terma[c] * row.sums[c]).sum();
        term
    }
}

/// A lit voxel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct LitVoxel {
    /// Padded index.
    pub at: u32,
    pub place: [u32; 3],
    /// Unit vector from the source to it, in the lattice's frame.
    pub ray: [f32; 3],
    none: f32,
}

/// All that lines through tubes need on the CPU.
pub struct Transport {
    /// Padded; [`END`] beyond the lattice.
    pub density: Vec<f32>,
    /// Padded: the number of the sampled voxel, or less than 0.
    pub row_of: Vec<i32>,
    pub lit: Vec<LitVoxel>,
    /// Padded: the number of the lit voxel; all ones elsewhere.
    pub number_of: Vec<u32>,
    pub walks: Vec<Walk>,
    pub padded: Padded,
    pub lattice_from_kernel: DMat3,
    /// Rays of the field against its axis.
    pub tilts: Tilts,
}

impl Transport {
    pub fn new(
        beam: &Superposition,
        field: &OpenField,
        medium: &Medium,
        lit: &Lit,
        sampled: &Sampled,
    ) -> Self {
        let padded = Padded::new(medium.lattice());
        let density = padded.filled(medium.equivalent_g_cm3.data(), END);
        let mut row_of = vec![-1_i32; padded.len()];
        for (n, voxel) in sampled.voxels.iter().enumerate() {
            row_of[padded.index_and_place(*voxel as usize).0] = n as i32;
        }
        let lattice_from_kernel = grid_from_kernel(&field.frame, &medium.grid);
        let source_mm = medium.grid.local_from_patient(field.frame.source_mm);
        let voxels: Vec<LitVoxel> = lit
            .voxels
            .par_iter()
            .map(|voxel| {
                let (index, place) = padded.index_and_place(*voxel as usize);
                let at_mm =
                    DVec3::from([0, 1, 2].map(|a| place[a] as f64 * padded.lattice.spacing_mm[a]));
                let ray = (at_mm - source_mm).normalize().as_vec3().to_array();
                LitVoxel {
                    at: index as u32,
                    place: place.map(|n| n as u32),
                    ray,
                    none: 0.0,
                }
            })
            .collect();
        let mut number_of = vec![u32::MAX; padded.len()];
        voxels
            .iter()
            .enumerate()
            .for_each(|(n, voxel)| number_of[voxel.at as usize] = n as u32);
        let sum = |terma: &&[f32; CHANNELS]| terma.iter().sum::<f32>();
        let brightest = lit.terma.iter().max_by(|a, b| sum(a).total_cmp(&sum(b)));
        let brightest = brightest.copied().unwrap_or_default();
        let mut walks = Walk::all(beam, &padded, lattice_from_kernel);
        Walk::drop_less(&mut walks, beam, &brightest);
        Self {
            walks,
            lit: voxels,
            number_of,
            density,
            row_of,
            padded,
            lattice_from_kernel,
            tilts: Tilts::within(field.flat.widest_mm() / field.frame.sad_mm),
        }
    }

    /// Energy per volume that the local correction adds at sampled voxels for all of a lit voxel's unobstructed TERMA, by lit voxel.
    pub fn local(&self, beam: &Superposition, lit: &Lit, sampled: &Sampled) -> ShareLists {
        let Self {
            padded,
            lattice_from_kernel,
            tilts,
            density,
            lit: voxels,
            number_of,
            ..
        } = self;
        if !beam.corrected {
            return ShareLists::grouped(voxels.len(), std::iter::empty());
        }
        let stencils = ORDERS
            .map(|order| Stencil::new(&padded.lattice, order, beam, *lattice_from_kernel, *tilts));
        let kernel_from_lattice = lattice_from_kernel.transpose();
        let tilt_of = |voxel: &LitVoxel| {
            let ray = kernel_from_lattice * Vec3::from(voxel.ray).as_dvec3();
            if ray.z > 0.0 {
                tilts.at([ray.x / ray.z, ray.y / ray.z].map(|t| t as f32))
            } else {
                0
            }
        };
        // Sampled voxels are few beside the lit ones: each looks for those within reach.
        let shares_of = |(row, to): (usize, &u32)| {
            let (to, _) = padded.index_and_place(*to as usize);
            let mut shares: Vec<(u32, Share)> = Vec::new();
            for (order, stencil) in ORDERS.iter().zip(&stencils) {
                let steps = order.map(|a| padded.steps[a] as i32);
                let by =
                    |offset: &[i32; 3]| (0..3).map(|n| offset[n] * steps[n]).sum::<i32>() as isize;
                for (n, offset) in stencil.offsets.iter().enumerate() {
                    let Some(from) = to.checked_add_signed(-by(&offset.to)) else {
                        continue;
                    };
                    let Some(number) = number_of.get(from).copied().filter(|n| *n != u32::MAX)
                    else {
                        continue;
                    };
                    // The path stays in the lattice where both its ends do, and an index beyond a side is one of the padding or of the
                    // next row: the place tells.
                    let voxel = &voxels[number as usize];
                    let place = voxel.place.map(|n| n as usize);
                    let inside = (0..3).all(|axis| {
                        let position = place[order[axis]] as i32 + offset.to[axis];
                        (0..padded.lattice.size[order[axis]] as i32).contains(&position)
                    });
                    if !inside {
                        continue;
                    }
                    let layer = tilt_of(voxel) * padded.lattice.size[order[2]] + place[order[2]];
                    let [a, b, c] = stencil.table[layer * stencil.offsets.len() + n].of_density;
                    let along = offset.path.iter().map(|(to_path, part)| {
                        part * density[from.wrapping_add_signed(by(to_path))]
                    });
                    let mean = along.sum::<f32>().min(DENSEST);
                    let terma = &lit.terma[number as usize];
                    let primary = density[from] * (terma[0] + terma[1]);
                    let share = density[to] * primary * (a + mean * (b + mean * c));
                    shares.push((
                        number,
                        Share {
                            number: row as u32,
                            share,
                        },
                    ));
                }
            }
            shares
        };
        let shares_by_row: Vec<Vec<(u32, Share)>> = sampled
            .voxels
            .par_iter()
            .enumerate()
            .map(shares_of)
            .collect();
        ShareLists::grouped(voxels.len(), shares_by_row.iter().flatten().copied())
    }
}
