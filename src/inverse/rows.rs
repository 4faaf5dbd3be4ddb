//! Rows of the influence matrix: sampled voxels of an optimisation grid, and the volume of each structure that they stand for.

use engine::Random;
use geometry::{Grid, Mask};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Rows of a structure, with the volume of each.
#[derive(Clone, Debug)]
pub struct RowSet {
    pub name: String,
    /// Indices into [`Rows::voxels`], ascending.
    pub rows: Vec<u32>,
    /// Volume that each row stands for, cm3.
    pub cm3: Vec<f32>,
}

impl RowSet {
    /// Shares of the volume; they sum to 1.
    pub fn shares(&self) -> Vec<f64> {
        let whole: f64 = self.cm3.iter().map(|cm3| f64::from(*cm3)).sum();
        self.cm3.iter().map(|cm3| f64::from(*cm3) / whole).collect()
    }
}

/// Sampled voxels of a grid.
#[derive(Clone, Debug)]
pub struct Rows {
    pub grid: Arc<Grid>,
    /// Indices into the grid, ascending.
    pub voxels: Vec<usize>,
    pub sets: Vec<RowSet>,
}

/// Why there are no rows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RowsError {
    #[error("'{0}' has no volume in the dose grid: nothing can be asked of it")]
    Empty(String),
}

/// A structure to sample.
pub struct Sampled<'a> {
    pub name: String,
    pub mask: &'a Mask,
    /// Voxels taken at most, by chance of equal likelihood; each then stands for more.
    pub most: usize,
    /// Only where the distance to the targets is in this range, mm; `None`: everywhere.
    pub beyond_target_mm: Option<[f64; 2]>,
}

impl Rows {
    /// Samples structures on a grid. `distance_mm` has the distance of each voxel to the targets. Equal inputs give equal rows.
    ///
    /// # Errors
    /// [`RowsError`] for a target or structure without any voxel; shells of distances may have none.
    pub fn of(grid: &Arc<Grid>, structures: &[Sampled<'_>], distance_mm: &[f32]) -> Result<Self, RowsError> {
        let mut chosen: Vec<(String, BTreeMap<usize, f64>)> = Vec::new();
        for (n, structure) in structures.iter().enumerate() {
            let mut volumes = volumes(grid, structure.mask);
            if let Some([from, to]) = structure.beyond_target_mm {
                volumes.retain(|voxel, _| (from..to).contains(&f64::from(distance_mm[*voxel])));
            } else if volumes.is_empty() {
                return Err(RowsError::Empty(structure.name.clone()));
            }
            thin_out(&mut volumes, structure.most, n as u64);
            if !volumes.is_empty() {
                chosen.push((structure.name.clone(), volumes));
            }
        }
        let mut voxels: Vec<usize> = chosen.iter().flat_map(|(_, of)| of.keys().copied()).collect();
        voxels.sort_unstable();
        voxels.dedup();
        let row = |voxel: &usize| voxels.binary_search(voxel).unwrap_or_default() as u32;
        let set = |(name, of): (String, BTreeMap<usize, f64>)| RowSet {
            name,
            rows: of.keys().map(row).collect(),
            cm3: of.values().map(|cm3| *cm3 as f32).collect(),
        };
        let sets = chosen.into_iter().map(set).collect();
        Ok(Self { grid: Arc::clone(grid), voxels, sets })
    }

    pub fn set(&self, name: &str) -> Option<&RowSet> {
        self.sets.iter().find(|set| set.name == name)
    }
}

/// Volume of a mask, on a grid of its own, in each voxel of another grid, cm3: each voxel of the mask counts where its centre lies.
fn volumes(grid: &Grid, mask: &Mask) -> BTreeMap<usize, f64> {
    let own = mask.grid();
    let mut volumes = BTreeMap::new();
    for (voxel, coverage) in mask.iter() {
        let [i, j, k] = own.voxel_of(voxel);
        if let Some([x, y, z]) = grid.voxel_at(own.centre_mm(i, j, k)) {
            *volumes.entry(grid.index(x, y, z)).or_insert(0.0) += f64::from(coverage) * own.voxel_cm3(k);
        }
    }
    volumes
}

/// Keeps at most so many voxels; the volumes of those that stay grow to the whole.
fn thin_out(volumes: &mut BTreeMap<usize, f64>, most: usize, seed: u64) {
    if volumes.len() <= most {
        return;
    }
    let whole: f64 = volumes.values().sum();
    let mut random = Random::new(seed);
    let mut order: Vec<(u64, usize)> = volumes.keys().map(|voxel| (random.bits(), *voxel)).collect();
    order.sort_unstable();
    order[most..].iter().for_each(|(_, voxel)| {
        volumes.remove(voxel);
    });
    let kept: f64 = volumes.values().sum();
    volumes.values_mut().for_each(|cm3| *cm3 *= whole / kept);
}
