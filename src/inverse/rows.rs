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

/// Rows, and all voxels of those structures that they sample only in part, by name: a hot spot may lie between the rows.
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
    /// Voxels taken at most, by chance of equal likelihood; each then stands for more.
    pub most: usize,
    /// Only where the distance to the targets is in this range, mm; `None`: everywhere.
    pub beyond_target_mm: Option<[f64; 2]>,
}

impl Rows {
    /// Samples structures on a grid. `distance_mm` tells the distance of a voxel to the targets. Equal inputs give equal rows.
    ///
    /// # Errors
    /// [`RowsError`] for a target or structure without any voxel; shells of distances may have none.
    pub fn sample(
        grid: &Arc<Grid>,
        structures: &[Sampled],
        distance_mm: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Result<Sampling, RowsError> {
        // Shells share the mask of the body.
        let mut masks: Vec<&Arc<Mask>> = structures.iter().map(|of| &of.mask).collect();
        masks.dedup_by_key(|mask| Arc::as_ptr(mask));
        let wholes: Vec<Vec<(usize, f64)>> = masks.par_iter().map(|mask| volumes(grid, mask)).collect();
        let number = |of: &Sampled| masks.iter().position(|mask| Arc::ptr_eq(mask, &of.mask));
        let mut distances: Vec<Vec<f32>> = vec![Vec::new(); masks.len()];
        for of in structures.iter().filter(|of| of.beyond_target_mm.is_some()).filter_map(number) {
            if distances[of].is_empty() {
                distances[of] = wholes[of].par_iter().map(|(voxel, _)| distance_mm(*voxel)).collect();
            }
        }
        let choose = |(n, structure): (usize, &Sampled)| {
            let of = number(structure).unwrap_or_default();
            let whole = &wholes[of];
            let mut volumes: Vec<(usize, f64)> = match structure.beyond_target_mm {
                Some([from, to]) => {
                    let of_voxel = whole.iter().zip(&distances[of]);
                    let lies_in = of_voxel.filter(|(_, mm)| (from..to).contains(&f64::from(**mm)));
                    lies_in.map(|(of, _)| *of).collect()
                }
                None if whole.is_empty() => return Err(RowsError::Empty(structure.name.clone())),
                None => whole.clone(),
            };
            let all: Option<Arc<[usize]>> =
                (volumes.len() > structure.most).then(|| volumes.iter().map(|(voxel, _)| *voxel).collect());
            thin_out(&mut volumes, structure.most, n as u64);
            Ok((structure.name.clone(), volumes, all))
        };
        // All are looked at, so that the first empty one is named at every run.
        let sampled = structures.par_iter().enumerate().map(choose).collect::<Vec<_>>();
        let (mut chosen, mut wholes) = (Vec::new(), BTreeMap::new());
        for structure in sampled {
            let (name, volumes, all) = structure?;
            wholes.extend(all.map(|voxels| (name.clone(), voxels)));
            if !volumes.is_empty() {
                chosen.push((name, volumes));
            }
        }
        let mut voxels: Vec<usize> =
            chosen.iter().flat_map(|(_, of)| of.iter().map(|(voxel, _)| *voxel)).collect();
        voxels.sort_unstable();
        voxels.dedup();
        let row = |voxel: usize| voxels.binary_search(&voxel).unwrap_or_default() as u32;
        let set = |(name, of): (String, Vec<(usize, f64)>)| RowSet {
            name,
            rows: of.iter().map(|(voxel, _)| row(*voxel)).collect(),
            cm3: of.iter().map(|(_, cm3)| *cm3 as f32).collect(),
        };
        let sets = chosen.into_iter().map(set).collect();
        Ok(Sampling { rows: Self { grid: Arc::clone(grid), voxels, sets }, wholes })
    }

    /// Voxels of a set, ascending.
    pub(super) fn voxels_of(&self, name: &str) -> Option<Vec<usize>> {
        Some(self.set(name)?.rows.iter().map(|row| self.voxels[*row as usize]).collect())
    }

    /// With more sets of whole voxels of the grid, by name; a set that is there gets more voxels.
    #[must_use]
    pub(super) fn with(&self, more: &[(String, Vec<usize>)]) -> Self {
        let mut voxels = self.voxels.clone();
        more.iter().for_each(|(_, of_set)| voxels.extend(of_set));
        voxels.sort_unstable();
        voxels.dedup();
        let row = |voxel: usize| voxels.binary_search(&voxel).unwrap_or_default() as u32;
        let moved = |set: &RowSet| RowSet {
            rows: set.rows.iter().map(|own| row(self.voxels[*own as usize])).collect(),
            ..set.clone()
        };
        let mut sets: Vec<RowSet> = self.sets.iter().map(moved).collect();
        for (name, of_set) in more {
            let mut rows: Vec<u32> = of_set.iter().map(|voxel| row(*voxel)).collect();
            if let Some(known) = sets.iter().position(|set| set.name == *name) {
                rows.extend(&sets.remove(known).rows);
            }
            rows.sort_unstable();
            rows.dedup();
            let cm3 = |row: &u32| self.grid.voxel_cm3(self.grid.voxel_of(voxels[*row as usize])[2]) as f32;
            sets.push(RowSet { name: name.clone(), cm3: rows.iter().map(cm3).collect(), rows });
        }
        Self { grid: Arc::clone(&self.grid), voxels, sets }
    }

    pub fn set(&self, name: &str) -> Option<&RowSet> {
        self.sets.iter().find(|set| set.name == name)
    }
}

/// Volume of a mask, on a grid of its own, in each voxel of another grid that has any, cm3, ascending: each voxel of the mask counts
/// where its centre lies.
fn volumes(grid: &Grid, mask: &Mask) -> Vec<(usize, f64)> {
    let own = mask.grid();
    let mut volumes = vec![0.0_f64; grid.len()];
    if own.axes() == grid.axes() {
        // Grids of a case have the axes of its CT: the voxel of one follows from each index of the other alone.
        let of_axis = |axis: usize| -> Vec<Option<usize>> {
            let of = |n| {
                let mut at = [0; 3];
                at[axis] = n;
                let place = grid.voxel_from_patient(own.centre_mm(at[0], at[1], at[2]))[axis].round();
                (0.0..grid.size()[axis] as f64).contains(&place).then_some(place as usize)
            };
            (mask.offset()[axis]..mask.offset()[axis] + mask.size()[axis]).map(of).collect()
        };
        let [x, y, z] = [0, 1, 2].map(of_axis);
        let [nx, ny, _] = grid.size();
        volumes.par_chunks_mut(nx * ny).enumerate().for_each(|(to, plane)| {
            let planes = (0..z.len()).filter(|k| z[*k] == Some(to));
            let rows =
                planes.flat_map(|k| y.iter().enumerate().filter_map(move |(j, row)| Some((k, j, (*row)?))));
            for (k, j, row) in rows {
                let cm3 = own.voxel_cm3(mask.offset()[2] + k);
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
            let [i, j, k] = own.voxel_of(voxel);
            if let Some([x, y, z]) = grid.voxel_at(own.centre_mm(i, j, k)) {
                volumes[grid.index(x, y, z)] += f64::from(coverage) * own.voxel_cm3(k);
            }
        }
    }
    volumes.into_iter().enumerate().filter(|(_, cm3)| *cm3 > 0.0).collect()
}

/// Keeps at most so many voxels; the volumes of those that stay grow to the whole.
fn thin_out(volumes: &mut Vec<(usize, f64)>, most: usize, seed: u64) {
    if volumes.len() <= most {
        return;
    }
    let sum = |volumes: &[(usize, f64)]| volumes.iter().map(|(_, cm3)| cm3).sum::<f64>();
    let whole = sum(volumes);
    let mut random = Random::new(seed);
    let mut order: Vec<(u64, (usize, f64))> = volumes.iter().map(|of| (random.bits(), *of)).collect();
    order.select_nth_unstable_by_key(most, |(bits, of)| (*bits, of.0));
    order.truncate(most);
    *volumes = order.into_iter().map(|(_, of)| of).collect();
    volumes.sort_unstable_by_key(|(voxel, _)| *voxel);
    let kept = sum(volumes);
    volumes.iter_mut().for_each(|(_, cm3)| *cm3 *= whole / kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    /// Rows of before keep their voxels; a set that is there grows.
    #[test]
    fn more_rows_leave_the_others_where_they_are() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [10, 1, 1]).expect("a grid");
        let own = RowSet { name: "S".to_owned(), rows: vec![0, 1], cm3: vec![1.0, 2.0] };
        let rows = Rows { grid: Arc::new(grid), voxels: vec![3, 7], sets: vec![own] };
        let voxels_of = |rows: &Rows, name: &str| rows.voxels_of(name).expect("a set");
        let more = rows.with(&[("hot".to_owned(), vec![9, 1, 7])]);
        assert_eq!(more.voxels, [1, 3, 7, 9]);
        assert_eq!((voxels_of(&more, "S"), voxels_of(&more, "hot")), (vec![3, 7], vec![1, 7, 9]));
        assert_eq!(more.set("S").expect("a set").cm3, [1.0, 2.0]);
        let again = more.with(&[("hot".to_owned(), vec![0, 9])]);
        assert_eq!((voxels_of(&again, "S"), voxels_of(&again, "hot")), (vec![3, 7], vec![0, 1, 7, 9]));
        assert!(again.set("hot").expect("a set").cm3.iter().all(|cm3| (cm3 - 0.008).abs() < 1e-7));
    }
}
