//! Rows of the influence matrix: sampled voxels of an optimisation grid, and the volume of each structure that they stand for.

use engine::Random;
use geometry::{Grid, Mask};
use rayon::prelude::*;
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
    /// Set of rows with their volumes, ascending; `None` without any.
    pub(super) fn of_volumes(name: String, volumes: Vec<(u32, f32)>) -> Option<Self> {
        let (rows, cm3): (Vec<u32>, Vec<f32>) = volumes.into_iter().unzip();
        (!rows.is_empty()).then_some(Self { name, rows, cm3 })
    }

    /// Shares of the volume; they sum to 1.
    pub fn shares(&self) -> Vec<f64> {
        let volume_cm3: f64 = self.cm3.iter().map(|cm3| f64::from(*cm3)).sum();
        self.cm3
            .iter()
            .map(|cm3| f64::from(*cm3) / volume_cm3)
            .collect()
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

/// Rows, and all voxels of partly sampled structures by name: a hot spot may lie between the rows.
#[derive(Clone, Debug)]
pub struct Sampling {
    pub rows: Rows,
    pub wholes: BTreeMap<String, Arc<[usize]>>,
}

/// Why there are no rows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RowsError {
    #[error("'{0}' has no volume in the dose grid: nothing can be asked of it")]
    Empty(String),
}

/// A structure to sample.
pub struct Sampled {
    pub name: String,
    pub mask: Arc<Mask>,
    /// Maximum number of sampled voxels, drawn with equal probability; each then stands for a larger volume.
    pub max_voxels: usize,
    /// Only where the distance to the targets is in this range, mm; `None`: everywhere.
    pub beyond_target_mm: Option<[f64; 2]>,
}

impl Rows {
    /// Samples structures on a grid. `distance_mm` is the distance of a voxel to the targets. Equal inputs give equal rows.
    ///
    /// # Errors
    /// [`RowsError`] for a target or structure without any voxel; shells of distances may have none.
    pub fn sample(
        grid: &Arc<Grid>,
        structures: &[Sampled],
        distance_mm: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Result<Sampling, RowsError> {
        let volumes = MaskVolumes::new(grid, structures, distance_mm);
        let sampled: Vec<_> = structures
            .par_iter()
            .enumerate()
            .map(|(n, structure)| volumes.sample(structure, n as u64))
            .collect();
        // Errors are taken in order, so that each run names the same empty structure.
        let (mut chosen, mut wholes) = (Vec::new(), BTreeMap::new());
        for (structure, sampled) in structures.iter().zip(sampled) {
            let SampledVoxels {
                volumes,
                all_voxels,
            } = sampled?;
            wholes.extend(all_voxels.map(|voxels| (structure.name.clone(), voxels)));
            if !volumes.is_empty() {
                chosen.push((structure.name.clone(), volumes));
            }
        }
        let mut voxels: Vec<usize> = chosen
            .iter()
            .flat_map(|(_, volumes)| volumes.iter().map(|(voxel, _)| *voxel))
            .collect();
        voxels.sort_unstable();
        voxels.dedup();
        let mut sets = Vec::with_capacity(chosen.len());
        for (name, volumes) in chosen {
            let rows = volumes
                .iter()
                .map(|(voxel, _)| row_of(&voxels, *voxel))
                .collect();
            sets.push(RowSet {
                name,
                rows,
                cm3: volumes.iter().map(|(_, cm3)| *cm3 as f32).collect(),
            });
        }
        Ok(Sampling {
            rows: Self {
                grid: Arc::clone(grid),
                voxels,
                sets,
            },
            wholes,
        })
    }

    /// Voxels of a set, ascending.
    pub(super) fn voxels_of(&self, name: &str) -> Option<Vec<usize>> {
        Some(
            self.set(name)?
                .rows
                .iter()
                .map(|row| self.voxels[*row as usize])
                .collect(),
        )
    }

    /// Adds sets of entire voxels of the grid, by name; an existing set gets more voxels.
    #[must_use]
    pub(super) fn with(&self, more: &[(String, Vec<usize>)]) -> Self {
        let mut voxels = self.voxels.clone();
        more.iter()
            .for_each(|(_, set_voxels)| voxels.extend(set_voxels));
        voxels.sort_unstable();
        voxels.dedup();
        let mut sets = self.sets.clone();
        for row in sets.iter_mut().flat_map(|set| &mut set.rows) {
            *row = row_of(&voxels, self.voxels[*row as usize]);
        }
        for (name, set_voxels) in more {
            let mut rows: Vec<u32> = set_voxels
                .iter()
                .map(|voxel| row_of(&voxels, *voxel))
                .collect();
            if let Some(existing) = sets.iter().position(|set| set.name == *name) {
                rows.extend(&sets.remove(existing).rows);
            }
            rows.sort_unstable();
            rows.dedup();
            let planes = rows
                .iter()
                .map(|row| self.grid.voxel_of(voxels[*row as usize])[2]);
            let cm3 = planes
                .map(|plane| self.grid.voxel_cm3(plane) as f32)
                .collect();
            sets.push(RowSet {
                name: name.clone(),
                cm3,
                rows,
            });
        }
        Self {
            grid: Arc::clone(&self.grid),
            voxels,
            sets,
        }
    }

    pub fn set(&self, name: &str) -> Option<&RowSet> {
        self.sets.iter().find(|set| set.name == name)
    }
}

/// Row of a voxel that is among the rows.
fn row_of(voxels: &[usize], voxel: usize) -> u32 {
    voxels.binary_search(&voxel).unwrap_or_default() as u32
}

/// Voxels of the grid in each mask of the structures, with their volumes (cm3) and, for masks of shells, distances to the targets (mm).
struct MaskVolumes<'a> {
    masks: Vec<&'a Arc<Mask>>,
    volumes: Vec<Vec<(usize, f64)>>,
    distances_mm: Vec<Vec<f32>>,
}

/// Sampled voxels of a structure with the volume that each stands for, cm3, and all its voxels where it is sampled in part.
struct SampledVoxels {
    volumes: Vec<(usize, f64)>,
    all_voxels: Option<Arc<[usize]>>,
}

impl<'a> MaskVolumes<'a> {
    fn new(
        grid: &Grid,
        structures: &'a [Sampled],
        distance_mm: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Self {
        // Shells share the mask of the body.
        let mut masks: Vec<&Arc<Mask>> =
            structures.iter().map(|structure| &structure.mask).collect();
        masks.dedup_by_key(|mask| Arc::as_ptr(mask));
        let volumes = masks.par_iter().map(|mask| volumes(grid, mask)).collect();
        let distances_mm = vec![Vec::new(); masks.len()];
        let mut mask_volumes = Self {
            masks,
            volumes,
            distances_mm,
        };
        for shell in structures
            .iter()
            .filter(|structure| structure.beyond_target_mm.is_some())
        {
            let mask = mask_volumes.mask_of(shell);
            if mask_volumes.distances_mm[mask].is_empty() {
                mask_volumes.distances_mm[mask] = mask_volumes.volumes[mask]
                    .par_iter()
                    .map(|(voxel, _)| distance_mm(*voxel))
                    .collect();
            }
        }
        mask_volumes
    }

    fn mask_of(&self, structure: &Sampled) -> usize {
        self.masks
            .iter()
            .position(|mask| Arc::ptr_eq(mask, &structure.mask))
            .unwrap_or_default()
    }

    fn sample(&self, structure: &Sampled, seed: u64) -> Result<SampledVoxels, RowsError> {
        let mask = self.mask_of(structure);
        let mut volumes = match structure.beyond_target_mm {
            Some([from, to]) => {
                let by_distance = self.volumes[mask].iter().zip(&self.distances_mm[mask]);
                let in_shell = by_distance.filter(|(_, mm)| (from..to).contains(&f64::from(**mm)));
                in_shell.map(|(volume, _)| *volume).collect()
            }
            None if self.volumes[mask].is_empty() => {
                return Err(RowsError::Empty(structure.name.clone()));
            }
            None => self.volumes[mask].clone(),
        };
        let is_partial = volumes.len() > structure.max_voxels;
        let all_voxels = is_partial.then(|| volumes.iter().map(|(voxel, _)| *voxel).collect());
        thin_out(&mut volumes, structure.max_voxels, seed);
        Ok(SampledVoxels {
            volumes,
            all_voxels,
        })
    }
}

/// Volume of a mask in each voxel of a grid that contains any, cm3, ascending. The mask has another grid: each of its voxels counts for the
/// voxel that contains its centre.
fn volumes(grid: &Grid, mask: &Mask) -> Vec<(usize, f64)> {
    let mask_grid = mask.grid();
    let mut volumes = vec![0.0_f64; grid.len()];
    if mask_grid.axes() == grid.axes() {
        // Grids of a case have the axes of its CT: each index of one follows from the same index of the other.
        let [x, y, z] = [0, 1, 2].map(|axis| grid_indices(grid, mask, axis));
        let [nx, ny, _] = grid.size();
        volumes
            .par_chunks_mut(nx * ny)
            .enumerate()
            .for_each(|(to, plane)| {
                let planes = (0..z.len()).filter(|k| z[*k] == Some(to));
                let rows = planes.flat_map(|k| {
                    y.iter()
                        .enumerate()
                        .filter_map(move |(j, row)| Some((k, j, (*row)?)))
                });
                for (k, j, row) in rows {
                    let cm3 = mask_grid.voxel_cm3(mask.offset()[2] + k);
                    let (first, covered) = mask.covered_row(j, k);
                    let columns = x.iter().skip(first).zip(covered);
                    for (column, coverage) in
                        columns.filter_map(|(column, coverage)| Some(((*column)?, coverage)))
                    {
                        plane[row * nx + column] += f64::from(f32::from(*coverage) / 255.0) * cm3;
                    }
                }
            });
    } else {
        for (voxel, coverage) in mask.iter() {
            let [i, j, k] = mask_grid.voxel_of(voxel);
            if let Some([x, y, z]) = grid.voxel_at(mask_grid.centre_mm(i, j, k)) {
                volumes[grid.index(x, y, z)] += f64::from(coverage) * mask_grid.voxel_cm3(k);
            }
        }
    }
    volumes
        .into_iter()
        .enumerate()
        .filter(|(_, cm3)| *cm3 > 0.0)
        .collect()
}

/// Index in a grid of each plane of a mask along an axis that both share; `None` outside the grid.
fn grid_indices(grid: &Grid, mask: &Mask, axis: usize) -> Vec<Option<usize>> {
    let (first, size) = (mask.offset()[axis], mask.size()[axis]);
    let mut indices = Vec::with_capacity(size);
    for n in first..first + size {
        let mut voxel = [0; 3];
        voxel[axis] = n;
        let centre_mm = mask.grid().centre_mm(voxel[0], voxel[1], voxel[2]);
        let index = grid.voxel_from_patient(centre_mm)[axis].round();
        indices.push(
            (0.0..grid.size()[axis] as f64)
                .contains(&index)
                .then_some(index as usize),
        );
    }
    indices
}

/// Keeps at most `max_voxels` voxels; their volumes are scaled to the original sum.
fn thin_out(volumes: &mut Vec<(usize, f64)>, max_voxels: usize, seed: u64) {
    if volumes.len() <= max_voxels {
        return;
    }
    let total_cm3 = sum_cm3(volumes);
    let mut random = Random::new(seed);
    let mut order: Vec<(u64, (usize, f64))> = volumes
        .iter()
        .map(|volume| (random.bits(), *volume))
        .collect();
    order.select_nth_unstable_by_key(max_voxels, |(bits, (voxel, _))| (*bits, *voxel));
    order.truncate(max_voxels);
    *volumes = order.into_iter().map(|(_, volume)| volume).collect();
    volumes.sort_unstable_by_key(|(voxel, _)| *voxel);
    let kept_cm3 = sum_cm3(volumes);
    volumes
        .iter_mut()
        .for_each(|(_, cm3)| *cm3 *= total_cm3 / kept_cm3);
}

fn sum_cm3(volumes: &[(usize, f64)]) -> f64 {
    volumes.iter().map(|(_, cm3)| cm3).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn voxels_of(rows: &Rows, name: &str) -> Vec<usize> {
        rows.voxels_of(name).expect("a set")
    }

    /// Existing rows keep their voxels; an existing set grows.
    #[test]
    fn more_rows_leave_the_others_where_they_are() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [10, 1, 1]).expect("a grid");
        let set = RowSet {
            name: "S".to_owned(),
            rows: vec![0, 1],
            cm3: vec![1.0, 2.0],
        };
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: vec![3, 7],
            sets: vec![set],
        };
        let more = rows.with(&[("hot".to_owned(), vec![9, 1, 7])]);
        assert_eq!(more.voxels, [1, 3, 7, 9]);
        assert_eq!(
            (voxels_of(&more, "S"), voxels_of(&more, "hot")),
            (vec![3, 7], vec![1, 7, 9])
        );
        assert_eq!(more.set("S").expect("a set").cm3, [1.0, 2.0]);
        let again = more.with(&[("hot".to_owned(), vec![0, 9])]);
        assert_eq!(
            (voxels_of(&again, "S"), voxels_of(&again, "hot")),
            (vec![3, 7], vec![0, 1, 7, 9])
        );
        assert!(
            again
                .set("hot")
                .expect("a set")
                .cm3
                .iter()
                .all(|cm3| (cm3 - 0.008).abs() < 1e-7)
        );
    }
}
