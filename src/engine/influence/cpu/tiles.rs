//! Beamlets that lie together on the map: their tubes share most of their lines, so that a line carries them side by side.

use crate::influence::field::ShareLists;
use crate::influence::request::InfluenceRequest;
use crate::lanes::F32xN;
use case::FluenceMap;

/// Beamlets of a tile.
// Sixteen beamlets on one line share its voxels, paths and losses: sixteen lines of one beamlet side by side take 2.7 times as long.
pub const LANES: usize = 16;
pub type F32x16 = F32xN<LANES>;

/// Share of a beamlet where it has none, so that its state decays to this and not to zero: denormal numbers are slow.
const NO_SHARE: f32 = 1e-18;

/// The beamlets of a tile and their tubes.
pub struct Tile {
    /// Numbers among the requested beamlets, at most [`LANES`].
    pub beamlets: Vec<usize>,
    /// Lit voxels of any of the tubes, ascending.
    pub voxels: Vec<u32>,
    /// Shares of the beamlets in each of them.
    pub shares: Vec<F32x16>,
}

impl Tile {
    /// Tiles of all requested beamlets, each about as long as it is wide.
    pub fn all(request: &InfluenceRequest, map: &FluenceMap, tubes: &ShareLists) -> Vec<Self> {
        let [low, high] = map.reach_mm()[1];
        let row_mm = (high - low) / map.rows().max(1) as f64;
        let rows = (LANES as f64 * map.step_mm / row_mm)
            .sqrt()
            .round()
            .max(1.0) as usize;
        let mut order: Vec<usize> = (0..request.beamlets.len()).collect();
        order.sort_by_key(|n| {
            let [row, column] = [
                request.beamlets[*n] / map.columns,
                request.beamlets[*n] % map.columns,
            ];
            let band = row / rows;
            (
                band,
                if band.is_multiple_of(2) {
                    column
                } else {
                    map.columns - column
                },
                row,
            )
        });
        order
            .chunks(LANES)
            .map(|beamlets| Self::new(beamlets.to_vec(), tubes))
            .collect()
    }

    fn new(beamlets: Vec<usize>, tubes: &ShareLists) -> Self {
        let mut voxels: Vec<u32> = beamlets
            .iter()
            .flat_map(|beamlet| tubes.group(*beamlet))
            .map(|share| share.number)
            .collect();
        voxels.sort_unstable();
        voxels.dedup();
        let mut shares = vec![F32x16::splat(NO_SHARE); voxels.len()];
        for (lane, beamlet) in beamlets.iter().enumerate() {
            let mut slot = 0;
            for of_voxel in tubes.group(*beamlet) {
                slot += voxels[slot..].partition_point(|voxel| *voxel < of_voxel.number);
                shares[slot].0[lane] = of_voxel.share;
            }
        }
        Self {
            beamlets,
            voxels,
            shares,
        }
    }
}
