//! Tables of a run as plain numbers, the same on every device (`kernels/mccs.cuh`, field for field).
//!
//! Lengths are cm in the lattice's frame (axes of the dose lattice, from its low corner) where a name says cm, and mm at the
//! isocentre plane where it says mm.

use bytemuck::{Pod, Zeroable};

/// Most directions that a photon is split over.
pub const MOST_DIRECTIONS: u32 = 24;
/// Nodes of a cumulative kernel: radius `LAST_CM (n / (NODES - 1))^2`.
pub const NODES: usize = 129;
pub const LAST_CM: f64 = 60.0;
/// Nodes of the tables over the distance from the axis, and their step.
pub const RADII: usize = 81;
pub const RADIUS_STEP_MM: f64 = 5.0;
/// Material classes that a voxel's low bits can name.
pub const CLASSES: usize = 16;

/// Beyond the range of its first charged particles a photon's energy is transported along one direction in so many, at so many times
/// its weight: low and smooth there, it would take half of the time (Russian roulette).
pub const FAR_ONE_IN: u32 = 6;

/// Equivalent density of a voxel (g/cm3) with its material class in the lowest four bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct PackedVoxel(u32);

impl PackedVoxel {
    const CLASS_BITS: u32 = 0xf;

    pub fn new(density_g_cm3: f32, class: u8) -> Self {
        Self(density_g_cm3.to_bits() & !Self::CLASS_BITS | u32::from(class))
    }

    /// Exact to the class's bits (2e-6).
    #[inline(always)]
    pub fn density_g_cm3(self) -> f32 {
        f32::from_bits(self.0)
    }

    #[inline(always)]
    pub fn class(self) -> usize {
        (self.0 & Self::CLASS_BITS) as usize
    }
}

/// Kinds of particles.
pub const PHOTON: u32 = 0;
/// Contaminant electrons: their dose falls off along the ray from where it enters.
pub const ELECTRON: u32 = 1;

/// Histories of one energy, or the electrons of a machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Group {
    /// Histories whose stratified number lies below this belong here, unless an earlier group has them.
    pub until: f32,
    /// Energy of a history of weight 1, quanta.
    pub energy: f32,
    pub kind: u32,
    pub head: u32,
    /// First of its cells, and how many there are.
    pub cells_at: u32,
    pub cells: u32,
    /// First entries of its cone limits, its kernel rows and its softening table.
    pub cones_at: u32,
    pub rows_at: u32,
    pub softening_at: u32,
    /// Radius (g/cm2) from which on only some of the directions are followed.
    pub near_cm: f32,
    /// Attenuation (cm2/g of equivalent density) by material class.
    pub mu: [f32; CLASSES],
}

/// A machine's head.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Head {
    pub sad_mm: f32,
    pub focal_sigma_mm: [f32; 2],
    pub jaw_distance_mm: [f32; 2],
    pub jaw_transmission: f32,
    pub extra_share: f32,
    pub extra_distance_mm: f32,
    pub extra_sigma_mm: f32,
    /// First entry of its off-axis table.
    pub horn_at: u32,
    pub leaf_distance_mm: f32,
    pub leaf_thickness_mm: f32,
    pub leaf_radius_mm: f32,
    pub leaf_transmission: f32,
    pub interleaf_transmission: f32,
    pub tongue_mm: f32,
}

/// A span of monitor units from one direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct BeamPosition {
    pub source_cm: [f32; 3],
    /// Axes of the beam limiting device; the photons go against the third.
    pub axes: [[f32; 3]; 3],
    /// The raster of cells over the isocentre plane.
    pub corner_mm: [f32; 2],
    pub cell_mm: [f32; 2],
    pub columns: u32,
    /// First of the raster's cells, of photons and of electrons.
    pub first_cell: u32,
    pub first_electron_cell: u32,
    pub segments_at: u32,
    pub segments: u32,
    /// Boundaries of the leaves, or of the rows of a fluence map: the first of them, and how many pairs or rows there are (0: nothing
    /// shapes the field within the jaws).
    pub boundaries_at: u32,
    pub pairs: u32,
    /// Leaves travel, and columns of a map lie, along y.
    pub along_y: u32,
    /// First value of the fluence map, `[row][column]`, and its columns (0: no map stands in place of the leaves).
    pub map_at: u32,
    pub map_columns: u32,
    /// Low edge of the map's first column, and the width of a column.
    pub map_first_mm: f32,
    pub map_step_mm: f32,
}

/// A cell of the isocentre plane through which photons start.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Cell {
    /// Chance to stay with this cell when it is drawn, and which to take else (alias method).
    pub keep: f32,
    pub other: u32,
    pub beam_position: u32,
    /// Photons (or electrons) that a history through it stands for.
    pub weight: f32,
    /// Chance that the history comes from the extra-focal source.
    pub extra: f32,
}

/// Collimators moving evenly.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Segment {
    /// Part of the beam position's units given until its end.
    pub until: f32,
    /// x low, x high, y low, y high.
    pub jaws_from_mm: [f32; 4],
    pub jaws_to_mm: [f32; 4],
    /// First of its tips: both banks of each pair at the beginning, then at the end.
    pub tips_at: u32,
}
