//! Hot spots between the rows: voxels of the body and of large organs are sampled, and a single strong beamlet may pass between them.
//! Each true dose is searched for voxels above their objectives; these become rows, so that the solver limits their dose.

use super::OptimiseError;
use super::columns::{Columns, compute_missing};
use super::objective::{Aim, Objective};
use super::optimiser::Optimiser;
use super::progress::{Progress, Watch};
use super::rows::Rows;
use super::setup::{Setup, Truth, completed, shell_names};
use analysis::HotSpot;
use engine::JobControl;
use geometry::Volume;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of hot spots outside the targets.
pub(super) const OUTSIDE: &str = "hot spots outside the targets";

/// Threshold of hot spots outside the targets, fraction of the reference dose, unless a target objective has a higher dose. Chosen: the
/// maximum within targets of ICRU report 50.
const NO_HOT_SPOT: f64 = 1.07;

/// Voxels become rows where a maximum is exceeded by more than this fraction of the reference dose.
const MISSED: f64 = 0.01;

/// Weight of the hot spots: as a goal on a maximum has.
const WEIGHT: f64 = 4.0;

/// Factor on this weight at each solution that leaves a hot spot, and the most: eight times the weight of a raised goal on a maximum.
// A plan with a hot spot at the skin is not acceptable, and goals that cannot be met pull against it with eight times their weight. The
// greatest weight from the start costs plans without such goals up to a fifth more monitor units.
const RAISE: f64 = 4.0;
const MOST_RAISED: f64 = 64.0;

/// Maximum number of voxels that become rows at once, the hottest first.
const MOST_VOXELS: usize = 2000;

/// Maximum number of times that rows are added: each time all columns are computed again.
const MOST_TIMES: usize = 2;

/// Rows of the hottest voxels of a structure.
fn hottest_of(structure: &str) -> String {
    format!("{structure}: hottest voxels")
}

/// Objectives of the hot spots that are rows: `outside_gy` outside the targets, the maximum's objective in a structure.
pub(super) fn objectives(requested: &[Objective], rows: &Rows, outside_gy: f64) -> Vec<Objective> {
    let outside = Objective {
        structure: OUTSIDE.to_owned(),
        aim: Aim::Over,
        gy: outside_gy,
        weight: WEIGHT,
        asked: None,
        wish_range_gy: None,
        raised: 1.0,
    };
    let maxima = requested.iter().filter(|o| o.aim == Aim::Over);
    let in_structures = maxima.map(|o| Objective {
        structure: hottest_of(&o.structure),
        ..o.clone()
    });
    std::iter::once(outside)
        .chain(in_structures)
        .filter(|o| rows.set(&o.structure).is_some())
        .collect()
}

/// Raises the weight of the hot spots outside the targets while their doses exceed the threshold; whether it may still rise.
pub(super) fn raise(
    objectives: &mut [Objective],
    rows: &Rows,
    rows_gy: &[f32],
    limits: HotSpotLimits,
) -> bool {
    let outside = objectives.iter_mut().find(|o| o.structure == OUTSIDE);
    let (Some(outside), Some(set)) = (outside, rows.set(OUTSIDE)) else {
        return false;
    };
    let doses_gy = set.rows.iter().map(|row| f64::from(rows_gy[*row as usize]));
    let may_rise =
        outside.raised < MOST_RAISED && doses_gy.fold(0.0, f64::max) > limits.threshold_gy;
    if may_rise {
        outside.raised *= RAISE;
    }
    may_rise
}

/// Whether an objective limits the hottest voxels of the structure whose maximum another one limits.
pub(super) fn is_part_of(hot: &Objective, maximum: &Objective) -> bool {
    maximum.aim == Aim::Over
        && hot.gy == maximum.gy
        && hot.structure == hottest_of(&maximum.structure)
}

/// Voxels of the shells round the targets; all voxels of a small shell are rows.
fn outside(setup: &Setup) -> Vec<Cow<'_, [usize]>> {
    let shells = shell_names().filter_map(|name| match setup.wholes.get(&name) {
        Some(voxels) => Some(Cow::Borrowed(&**voxels)),
        None => setup.rows.voxels_of(&name).map(Cow::Owned),
    });
    shells.collect()
}

/// Limits of the hot spots outside the targets. Where targets may have more than the threshold, their penumbrae may, too.
pub(super) fn outside_limits(
    setup: &Setup,
    requested: &[Objective],
    reference_gy: f64,
) -> HotSpotLimits {
    let of_targets = requested
        .iter()
        .filter(|o| setup.targets().any(|target| target.name == o.structure));
    let held_gy = setup.held_outside_gy(reference_gy);
    let threshold_gy = of_targets
        .map(|o| o.gy)
        .fold(NO_HOT_SPOT * held_gy, f64::max);
    HotSpotLimits {
        threshold_gy,
        held_gy,
    }
}

/// Voxels of the hot spots of a dose, by the name of their rows; empty where all of them are rows already.
fn hot_spots(
    setup: &Setup,
    requested: &[Objective],
    reference_gy: f64,
    gy: &Volume<f32>,
) -> Vec<(String, Vec<usize>)> {
    let mut hot_spots = Vec::new();
    if setup.plan.objectives.fall_off.weight > 0.0 {
        let limits = outside_limits(setup, requested, reference_gy);
        hot_spots.extend(hot_voxels(
            setup,
            gy,
            &outside(setup),
            limits,
            OUTSIDE.to_owned(),
        ));
    }
    for objective in requested
        .iter()
        .filter(|o| o.aim == Aim::Over && o.weight > 0.0)
    {
        if let Some(voxels) = setup.wholes.get(&objective.structure) {
            let threshold_gy = objective.gy + MISSED * reference_gy;
            let limits = HotSpotLimits {
                threshold_gy,
                held_gy: objective.gy,
            };
            let name = hottest_of(&objective.structure);
            hot_spots.extend(hot_voxels(
                setup,
                gy,
                &[Cow::Borrowed(&**voxels)],
                limits,
                name,
            ));
        }
    }
    hot_spots
}

/// A dose above the threshold is a hot spot; then all voxels above the dose that they are held to become rows.
#[derive(Clone, Copy)]
pub(super) struct HotSpotLimits {
    threshold_gy: f64,
    held_gy: f64,
}

/// Hottest voxels of some parts that are not among the rows `name` yet; `None` without a hot spot.
fn hot_voxels(
    setup: &Setup,
    gy: &Volume<f32>,
    parts: &[Cow<'_, [usize]>],
    limits: HotSpotLimits,
    name: String,
) -> Option<(String, Vec<usize>)> {
    let rows = setup.rows.voxels_of(&name).unwrap_or_default();
    if voxels_above(limits.threshold_gy, gy, parts, &rows).is_empty() {
        return None;
    }
    let mut voxels = voxels_above(limits.held_gy, gy, parts, &rows);
    voxels.sort_unstable_by(|a, b| gy.data()[*b].total_cmp(&gy.data()[*a]).then(a.cmp(b)));
    voxels.truncate(MOST_VOXELS);
    Some((name, voxels))
}

/// Voxels of some parts above a dose, without `rows` (ascending).
fn voxels_above(
    limit_gy: f64,
    gy: &Volume<f32>,
    parts: &[Cow<'_, [usize]>],
    rows: &[usize],
) -> Vec<usize> {
    let voxels = parts.par_iter().flat_map(|part| part.par_iter().copied());
    voxels
        .filter(|voxel| f64::from(gy.data()[*voxel]) > limit_gy)
        .filter(|voxel| rows.binary_search(voxel).is_err())
        .collect()
}

/// Doses of the rows of a structure or shell, Gy, taken from the doses of all rows; empty without rows.
fn doses_of_set<'a>(
    rows: &'a Rows,
    name: &str,
    rows_gy: &'a [f32],
) -> impl Iterator<Item = f64> + use<'a> {
    rows.set(name)
        .into_iter()
        .flat_map(|set| &set.rows)
        .map(|row| f64::from(rows_gy[*row as usize]))
}

/// The voxel of greatest dose among `voxels`.
fn greatest(voxels: &[usize], gy: &Volume<f32>) -> Option<usize> {
    voxels
        .par_iter()
        .copied()
        .max_by(|a, b| gy.data()[*a].total_cmp(&gy.data()[*b]).then(b.cmp(a)))
}

/// Greatest doses of the last true dose.
#[derive(Clone, Debug, Default)]
pub struct Greatest {
    /// Hottest voxel of the body outside the targets.
    pub outside: Option<HotSpot>,
    /// Greatest doses of structures that the rows sample in part, by name, Gy.
    pub by_structure: BTreeMap<String, f64>,
}

impl Greatest {
    pub(super) fn new(setup: &Setup, truth: &Truth) -> Self {
        let gy = &truth.gy;
        let voxels = outside(setup);
        let voxels = voxels.iter().filter_map(|voxels| greatest(voxels, gy));
        let hottest = voxels.max_by(|a, b| gy.data()[*a].total_cmp(&gy.data()[*b]));
        let mut by_structure = BTreeMap::new();
        for (name, voxels) in setup.wholes.iter() {
            if let Some(voxel) = greatest(voxels, gy) {
                by_structure.insert(name.clone(), f64::from(gy.data()[voxel]));
            }
        }
        Self {
            outside: hottest.map(|voxel| HotSpot {
                gy: f64::from(gy.data()[voxel]),
                at_mm: gy.grid().centre_of_mm(voxel),
            }),
            by_structure,
        }
    }
}

impl Optimiser {
    /// Greatest dose outside the targets of uniform fluence that gives the targets the reference dose on average, Gy: with few beams and a
    /// deep target it is unavoidable. By the sampled voxels.
    fn unavoidable_gy(&self) -> f64 {
        let rows = &self.setup.rows;
        let uniform_gy = self.columns.doses(
            &vec![1.0; self.setup.beamlets()],
            &vec![0.0; rows.voxels.len()],
        );
        let target_gy: Vec<f64> = self
            .setup
            .targets()
            .flat_map(|target| doses_of_set(rows, &target.name, &uniform_gy))
            .collect();
        let mean_gy = target_gy.iter().sum::<f64>() / target_gy.len().max(1) as f64;
        let greatest_gy = shell_names()
            .flat_map(|shell| doses_of_set(rows, &shell, &uniform_gy))
            .fold(0.0, f64::max);
        if mean_gy > 0.0 {
            self.reference_gy * greatest_gy / mean_gy
        } else {
            0.0
        }
    }

    /// Adds rows for the hot spots of a true dose and computes their columns; whether there were any. Fluences stay.
    ///
    /// # Errors
    /// [`OptimiseError`]: then the optimiser is unchanged.
    pub(super) fn hold_hot_spots(
        &mut self,
        truth: &Truth,
        control: &JobControl,
        watch: &mut Watch<'_>,
    ) -> Result<bool, OptimiseError> {
        if self.times_held >= MOST_TIMES {
            return Ok(false);
        }
        self.setup.unavoidable_gy = self.unavoidable_gy();
        let hot_spots = hot_spots(&self.setup, self.asked(), self.reference_gy, &truth.gy);
        let rows = self.setup.rows.with(&hot_spots);
        if hot_spots.is_empty() || Columns::check(rows.voxels.len(), self.setup.beamlets()).is_err()
        {
            return Ok(false);
        }
        let mut setup = self.setup.clone();
        setup.rows = Arc::new(rows);
        setup.has_hot_spots = true;
        let mut columns = vec![None; setup.fields.len()];
        while compute_missing(&setup, &mut columns, control)? {
            let done = columns.iter().flatten().count();
            watch(
                Progress::Columns {
                    done,
                    of: columns.len(),
                },
                &|| None,
            );
        }
        let previous = std::mem::replace(&mut self.setup, setup);
        self.field_columns = columns;
        self.join_columns();
        self.times_held += 1;
        let mut finer_gy = Vec::with_capacity(self.setup.rows.voxels.len());
        for voxel in &self.setup.rows.voxels {
            let row = previous.rows.voxels.binary_search(voxel).ok();
            finer_gy.push(
                row.and_then(|row| self.finer_gy.get(row).copied())
                    .unwrap_or_default(),
            );
        }
        self.finer_gy = finer_gy;
        let rows_gy = self.setup.on_rows(&truth.gy);
        let rows_gy: Vec<f32> = rows_gy
            .iter()
            .zip(&self.finer_gy)
            .map(|(gy, finer)| gy + finer)
            .collect();
        // The offsets start at 0 for the new rows: that is no move of the true dose.
        let moved_percent = self.moved_percent;
        self.offset_gy = vec![0.0; rows_gy.len()];
        self.take_truth(&rows_gy);
        self.moved_percent = moved_percent;
        self.objectives = completed(self.asked().to_vec(), &self.setup, self.reference_gy);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RowSet;
    use geometry::Grid;
    use glam::DVec3;

    fn objective(aim: Aim, gy: f64) -> Objective {
        Objective {
            structure: "Body".to_owned(),
            aim,
            gy,
            weight: 2.0,
            asked: None,
            wish_range_gy: None,
            raised: 1.0,
        }
    }

    fn row_set(name: &str) -> RowSet {
        RowSet {
            name: name.to_owned(),
            rows: vec![0],
            cm3: vec![1.0],
        }
    }

    /// A structure's maximum limits its hottest voxels as well, once they are rows.
    #[test]
    fn the_hottest_voxels_are_held_to_what_is_asked_of_their_structure() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [4, 1, 1]).expect("a grid");
        let mut rows = Rows {
            grid: Arc::new(grid),
            voxels: vec![0],
            sets: vec![row_set("Body")],
        };
        let requested = [objective(Aim::MeanOver, 10.0), objective(Aim::Over, 55.0)];
        assert_eq!(objectives(&requested, &rows, 50.0), []);
        rows.sets
            .extend([row_set(&hottest_of("Body")), row_set(OUTSIDE)]);
        let held = objectives(&requested, &rows, 50.0);
        let limits: Vec<_> = held
            .iter()
            .map(|o| (&*o.structure, o.gy, o.weight))
            .collect();
        assert_eq!(
            limits,
            [(OUTSIDE, 50.0, WEIGHT), ("Body: hottest voxels", 55.0, 2.0)]
        );
        assert!(is_part_of(&held[1], &requested[1]) && !is_part_of(&held[1], &requested[0]));
    }

    /// The weight rises by fours to 256 while a voxel has more than the threshold, and stays after.
    #[test]
    fn hot_spots_gain_weight_until_they_are_cold_enough() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [4, 1, 1]).expect("a grid");
        let rows = Rows {
            grid: Arc::new(grid),
            voxels: vec![0, 1],
            sets: vec![row_set("Body"), row_set(OUTSIDE)],
        };
        let mut held = objectives(&[], &rows, 50.0);
        let limits = HotSpotLimits {
            threshold_gy: 53.5,
            held_gy: 50.0,
        };
        let mut weights = Vec::new();
        for hottest_gy in [53.6, 53.4, 60.0, 60.0, 60.0] {
            raise(&mut held, &rows, &[hottest_gy], limits);
            weights.push(held[0].raised * held[0].weight);
        }
        assert_eq!(weights, [16.0, 16.0, 64.0, 256.0, 256.0]);
        assert!(
            !raise(&mut held, &rows, &[60.0], limits),
            "it rises no further"
        );
    }
}
