//! Tables of a run as plain numbers, the same on every device (`kernels/mccs.cuh`, field for field).

pub use crate::histories::contaminant::{LAST_CM, NODES};
use bytemuck::{Pod, Zeroable};

/// Most directions that a photon is split over.
pub const MOST_DIRECTIONS: u32 = 24;
/// Material classes that a voxel's low bits can name.
pub const CLASSES: usize = 16;

/// Beyond the range of its first charged particles a photon's energy is transported along one direction in this many, with its weight
/// multiplied by the same number: low and smooth there, it would take half of the time (Russian roulette).
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

/// Kernel and attenuation of an energy bin of the head source ([`EnergyBin`](crate::histories::head::tables::EnergyBin)), of the same
/// number.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct BinKernel {
    /// First entries of its cone limits and of its kernel rows.
    pub cones_at: u32,
    pub rows_at: u32,
    /// Radius (g/cm2) from which on only some of the directions are followed.
    pub near_cm: f32,
    /// Attenuation (cm2/g of equivalent density) by material class.
    pub mu: [f32; CLASSES],
}
