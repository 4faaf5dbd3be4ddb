//! Tables of a head source as plain numbers, the same on every device (`kernels/head.cuh`, field for field).
//!
//! Lengths are cm in the lattice's frame (axes of the dose lattice, from its low corner) where a name says cm, and mm at the
//! isocentre plane where it says mm.

use bytemuck::{Pod, Zeroable};

/// Nodes of the tables over the distance from the axis, and their step.
pub const RADII: usize = 81;
pub const RADIUS_STEP_MM: f64 = 5.0;

/// Kinds of particles.
pub const PHOTON: u32 = 0;
/// Contaminant electrons: they come from the target along the photons' rays, through the cells of their own table.
pub const ELECTRON: u32 = 1;

/// Histories of one energy of a machine, or of its contaminant electrons.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct EnergyBin {
    /// Histories whose stratified number lies below this belong here, unless an earlier bin has them.
    pub until: f32,
    /// Weight of a history through a cell of weight 1, in the engine's unit.
    pub weight: f32,
    pub energy_mev: f32,
    pub kind: u32,
    pub head: u32,
    /// First of its cells, and their number.
    pub cells_at: u32,
    pub cells: u32,
    /// First entry of its softening table.
    pub softening_at: u32,
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
