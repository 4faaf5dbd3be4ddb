//! Hot spots between the rows: those of the body and of large organs are sampled, and a beamlet that grows alone passes between them.
//! Each look at the true dose finds the voxels that get more than was asked; they become rows, which hold them.

use super::OptimiseError;
use super::columns::Columns;
use super::objective::{Aim, Objective};
use super::optimiser::{Optimiser, Progress, Watch, make_missing};
use super::rows::Rows;
use super::setup::{Setup, Truth, completed, shell_names, weigh_fall_off};
use analysis::HotSpot;
use engine::JobControl;
use geometry::Volume;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of hot spots outside the targets.
pub(super) const OUTSIDE: &str = "hot spots outside the targets";

/// Dose outside the targets that is no hot spot yet, part of the reference dose, where goals of targets ask for no more. Chosen: what
/// targets themselves may have at most by ICRU report 50.
const NO_HOT_SPOT: f64 = 1.07;

/// A maximum that is asked for is missed by more than this, part of the reference dose, before its voxels become rows.
const MISSED: f64 = 0.01;

/// Weight of the hot spots: that of a goal of priority 1 on a maximum. Contested goals do not take it away: a plan with a hot spot at the skin
/// is signed by nobody.
const WEIGHT: f64 = 4.0;

/// Voxels that become rows at once, the hottest first.
const MOST_VOXELS: usize = 2000;

/// All columns are computed anew for more rows: so often at most.
const MOST_TIMES: usize = 2;

/// Passes after which doses have settled enough to tell hot spots from what the next solution takes away.
pub(super) const SETTLED: usize = 2;

/// Rows of the hottest voxels of a structure.
fn hottest_of(structure: &str) -> String {
    format!("{structure}: hottest voxels")
}

/// Objectives of the hot spots that are rows: `outside_gy` outside the targets, in a structure what was asked of its maximum.
pub(super) fn objectives(asked: &[Objective], rows: &Rows, outside_gy: f64) -> Vec<Objective> {
    let outside = Objective {
        structure: OUTSIDE.to_owned(),
        aim: Aim::Over,
        gy: outside_gy,
        weight: WEIGHT,
        asked: None,
    };
    let of_maximum = asked.iter().filter(|o| o.aim == Aim::Over);
    let of_structures = of_maximum.map(|o| Objective { structure: hottest_of(&o.structure), ..o.clone() });
    let all = std::iter::once(outside).chain(of_structures);
    all.filter(|o| rows.set(&o.structure).is_some()).collect()
}

/// Whether an objective holds the hottest voxels of the structure of another, which asks for its maximum.
pub(super) fn is_part_of(hot: &Objective, of: &Objective) -> bool {
    of.aim == Aim::Over && hot.gy == of.gy && hot.structure == hottest_of(&of.structure)
}

/// Voxels of the shells round the targets; of a small shell all are rows.
fn outside(setup: &Setup) -> Vec<Cow<'_, [usize]>> {
    let of_shell = |name: String| match setup.wholes.get(&name) {
        Some(voxels) => Some(Cow::Borrowed(&**voxels)),
        None => setup.rows.voxels_of(&name).map(Cow::Owned),
    };
    shell_names().filter_map(of_shell).collect()
}

/// The voxels of the hot spots of a dose, by the name of their rows; empty where all are rows already.
fn found(
    setup: &Setup,
    asked: &[Objective],
    reference_gy: f64,
    gy: &Volume<f32>,
) -> Vec<(String, Vec<usize>)> {
    let hot = |parts: &[Cow<'_, [usize]>], [hot_gy, held_gy]: [f64; 2], name: String| {
        let rows = setup.rows.voxels_of(&name).unwrap_or_default();
        let is_new = |voxel: &usize| rows.binary_search(voxel).is_err();
        let above = |gy_of: f64| -> Vec<usize> {
            let voxels = parts.par_iter().flat_map(|part| part.par_iter().copied());
            voxels.filter(|voxel| f64::from(gy.data()[*voxel]) > gy_of).filter(is_new).collect()
        };
        if above(hot_gy).is_empty() {
            return None;
        }
        let mut voxels = above(held_gy);
        voxels.sort_unstable_by(|a, b| gy.data()[*b].total_cmp(&gy.data()[*a]).then(a.cmp(b)));
        voxels.truncate(MOST_VOXELS);
        Some((name, voxels))
    };
    let mut all = Vec::new();
    if setup.plan.objectives.fall_off.weight > 0.0 {
        let of_targets = asked.iter().filter(|o| setup.targets().any(|target| target.name == o.structure));
        let held_gy = setup.held_outside_gy(reference_gy);
        let allowed_gy = of_targets.map(|o| o.gy).fold(NO_HOT_SPOT * held_gy, f64::max);
        all.extend(hot(&outside(setup), [allowed_gy, held_gy], OUTSIDE.to_owned()));
    }
    for objective in asked.iter().filter(|o| o.aim == Aim::Over && o.weight > 0.0) {
        if let Some(whole) = setup.wholes.get(&objective.structure) {
            let missed_gy = objective.gy + MISSED * reference_gy;
            all.extend(hot(
                &[Cow::Borrowed(&**whole)],
                [missed_gy, objective.gy],
                hottest_of(&objective.structure),
            ));
        }
    }
    all
}

/// Doses of the rows of a structure or shell, of the doses of all rows; none where it has no rows.
fn doses_of_set<'a>(rows: &'a Rows, name: &str, rows_gy: &'a [f32]) -> impl Iterator<Item = f64> + use<'a> {
    rows.set(name).into_iter().flat_map(|set| &set.rows).map(|row| f64::from(rows_gy[*row as usize]))
}

/// The greatest of some voxels.
fn greatest(voxels: &[usize], gy: &Volume<f32>) -> Option<usize> {
    voxels.par_iter().copied().max_by(|a, b| gy.data()[*a].total_cmp(&gy.data()[*b]).then(b.cmp(a)))
}

/// Greatest true doses at the last look.
#[derive(Clone, Debug, Default)]
pub struct Greatest {
    /// Hottest place of the body outside the targets.
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
        let spot = |voxel| HotSpot { gy: f64::from(gy.data()[voxel]), at_mm: gy.grid().centre_of_mm(voxel) };
        let of_structure = |(name, voxels): (&String, &Arc<[usize]>)| {
            Some((name.clone(), f64::from(gy.data()[greatest(voxels, gy)?])))
        };
        Self {
            outside: hottest.map(spot),
            by_structure: setup.wholes.iter().filter_map(of_structure).collect(),
        }
    }
}

impl Optimiser {
    /// Greatest dose of even fluence outside the targets, scaled to the reference dose on average in the targets, Gy: deep targets of few
    /// beams cannot do without it. Rows sample both.
    fn unavoidable_gy(&self) -> f64 {
        let rows = &self.setup.rows;
        let even_gy = self.columns.doses(&vec![1.0; self.setup.beamlets()], &vec![0.0; rows.voxels.len()]);
        let target_gy: Vec<f64> =
            self.setup.targets().flat_map(|target| doses_of_set(rows, &target.name, &even_gy)).collect();
        let mean_gy = target_gy.iter().sum::<f64>() / target_gy.len().max(1) as f64;
        let greatest_gy =
            shell_names().flat_map(|shell| doses_of_set(rows, &shell, &even_gy)).fold(0.0, f64::max);
        if mean_gy > 0.0 { self.reference_gy * greatest_gy / mean_gy } else { 0.0 }
    }

    /// Gives the hot spots of a true dose rows of their own, with the columns of those; whether there were any. Fluences stay.
    ///
    /// # Errors
    /// [`OptimiseError`]: nothing has changed then.
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
        let found = found(&self.setup, self.asked(), self.reference_gy, &truth.gy);
        let rows = self.setup.rows.with(&found);
        if found.is_empty() || Columns::check(rows.voxels.len(), self.setup.beamlets()).is_err() {
            return Ok(false);
        }
        let mut setup = self.setup.clone();
        setup.rows = Arc::new(rows);
        let mut made = vec![None; setup.fields.len()];
        while make_missing(&setup, &mut made, control)? {
            let (done, of) = (made.iter().flatten().count(), made.len());
            watch(Progress::Columns { done, of }, &|| None);
        }
        let before = std::mem::replace(&mut self.setup, setup);
        self.made = made;
        self.join_columns();
        self.times_held += 1;
        let finer_gy = |voxel: &usize| {
            let row = before.rows.voxels.binary_search(voxel).ok();
            row.and_then(|row| self.finer_gy.get(row).copied()).unwrap_or_default()
        };
        self.finer_gy = self.setup.rows.voxels.iter().map(finer_gy).collect();
        let rows_gy = self.setup.on_rows(&truth.gy);
        let rows_gy: Vec<f32> = rows_gy.iter().zip(&self.finer_gy).map(|(gy, finer)| gy + finer).collect();
        let moved_percent = self.moved_percent;
        self.offset_gy = vec![0.0; rows_gy.len()];
        self.take_truth(&rows_gy);
        self.moved_percent = moved_percent;
        self.objectives = completed(self.asked().to_vec(), &self.setup, self.reference_gy);
        weigh_fall_off(&mut self.objectives, &self.setup.plan, self.is_contested);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::RowSet;
    use geometry::Grid;
    use glam::DVec3;

    /// A maximum asked of a structure holds its hottest voxels as well, and only once they are rows.
    #[test]
    fn the_hottest_voxels_are_held_to_what_is_asked_of_their_structure() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [4, 1, 1]).expect("a grid");
        let set = |name: &str| RowSet { name: name.to_owned(), rows: vec![0], cm3: vec![1.0] };
        let mut rows = Rows { grid: Arc::new(grid), voxels: vec![0], sets: vec![set("Body")] };
        let of = |aim, gy| Objective { structure: "Body".to_owned(), aim, gy, weight: 2.0, asked: None };
        let asked = [of(Aim::MeanOver, 10.0), of(Aim::Over, 55.0)];
        assert_eq!(objectives(&asked, &rows, 50.0), []);
        rows.sets.extend([set(&hottest_of("Body")), set(OUTSIDE)]);
        let held = objectives(&asked, &rows, 50.0);
        let what: Vec<_> = held.iter().map(|o| (&*o.structure, o.gy, o.weight)).collect();
        assert_eq!(what, [(OUTSIDE, 50.0, WEIGHT), ("Body: hottest voxels", 55.0, 2.0)]);
        assert!(is_part_of(&held[1], &asked[1]) && !is_part_of(&held[1], &asked[0]));
    }
}
