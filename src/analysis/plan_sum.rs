//! The dose of a plan: the sum of its beams.

use super::fineness::as_fine_as_its_voxels;
use super::{Normalising, is_computed, sampler::Sampler};
use case::{Dose, DoseStatus, Plan, Receipt};
use engine::{Cancelled, JobControl};
use geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// The extent of a beam's dose beyond its outermost voxels where another beam's grid is finer or reaches a
/// little further, in its own voxels. Beyond that the sum is NaN: unknown, which is not zero.
const RIM_VOXELS: f64 = 1.0;

/// Voxels that a thread writes at a time.
const TAKEN: usize = 1 << 14;

/// One beam's share of a plan dose.
#[derive(Clone, Debug)]
pub struct BeamShare {
    /// The dose for its computed monitor units, one fraction.
    pub dose: Arc<Dose>,
    /// Weight: fractions x monitor units now / monitor units computed. Dose is linear in monitor units, so
    /// changing them needs no computation.
    pub scale: f64,
}

/// Why doses do not add.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SumError {
    #[error("there is no beam dose to add")]
    NoParts,
    #[error("the doses of {0} and {1} lie in different frames of reference; they cannot be added")]
    Frames(String, String),
    #[error("the dose of {0} counts {1} times, which is not a number of zero or more")]
    Scale(String, f64),
}

/// Why the beams of a plan have no sum.
#[derive(Debug, Error)]
pub enum PlanSumError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error(transparent)]
    Sum(#[from] SumError),
    #[error("the plan is normalised to {to}: {why}")]
    Normalisation { to: String, why: String },
}

/// Adds beam doses, each times its scale, on the finest of their grids; the status is the worst of its parts. With previews it is
/// the finest of theirs: nothing is known more finely of the beams that move. Parts on other grids are read trilinearly.
///
/// # Errors
/// [`SumError`].
pub fn plan_dose(label: &str, parts: &[BeamShare]) -> Result<Dose, SumError> {
    Ok(dose_of(label, parts, added(parts)?))
}

/// The sum of the parts, Gy.
fn added(parts: &[BeamShare]) -> Result<Volume<f32>, SumError> {
    // Previews first.
    let finest = parts
        .iter()
        .min_by(|a, b| {
            let [a_is_preview, b_is_preview] =
                [a, b].map(|part| part.dose.status == DoseStatus::Preview);
            b_is_preview
                .cmp(&a_is_preview)
                .then(voxel_cm3(&a.dose).total_cmp(&voxel_cm3(&b.dose)))
        })
        .ok_or(SumError::NoParts)?;
    for part in parts {
        if part.dose.frame_of_reference_uid != finest.dose.frame_of_reference_uid {
            return Err(SumError::Frames(
                finest.dose.label.clone(),
                part.dose.label.clone(),
            ));
        }
        if !(part.scale.is_finite() && part.scale >= 0.0) {
            return Err(SumError::Scale(part.dose.label.clone(), part.scale));
        }
    }
    let grid = finest.dose.gy.grid().clone();
    // The finest part is written, not added to zeros: a plan is summed at the pace of a drag, and zeros are as many bytes again.
    let scale = finest.scale as f32;
    let mut sum: Vec<f32> = finest
        .dose
        .gy
        .data()
        .par_iter()
        .with_min_len(TAKEN)
        .map(|gy| scale * gy)
        .collect();
    let others = parts.iter().filter(|part| !std::ptr::eq(*part, finest));
    let rows: Vec<Rows<'_>> = others.map(|part| Rows::new(part, &grid)).collect();
    if !rows.is_empty() {
        // Each row is added up while it is in the processor's cache.
        sum.par_chunks_mut(grid.size()[0])
            .enumerate()
            .for_each(|(row, sum)| {
                rows.iter().for_each(|part| part.add(&grid, row, sum));
            });
    }
    Ok(Volume::new(grid, sum))
}

/// A sum of the parts as a dose: the status is the worst of theirs.
fn dose_of(label: &str, parts: &[BeamShare], gy: Volume<f32>) -> Dose {
    let frame = parts
        .first()
        .map(|part| part.dose.frame_of_reference_uid.clone());
    Dose {
        gy: Arc::new(gy),
        status: parts
            .iter()
            .map(|p| p.dose.status)
            .fold(DoseStatus::Final, DoseStatus::worst),
        label: label.to_owned(),
        frame_of_reference_uid: frame.unwrap_or_default(),
        receipt: Some(Arc::new(receipt(parts))),
        caveats: caveats_of(parts.iter().map(|p| &p.dose.caveats)),
        remarks: caveats_of(parts.iter().map(|p| &p.dose.remarks)),
        part: None,
    }
}

/// The sum of the beams of `plan`, normalised, and the normalisation's factor on all monitor units; with
/// `only`, of one part alone, by index. Window and command line make their doses here.
///
/// # Errors
/// [`PlanSumError`].
pub fn sum_of_beams(
    label: &str,
    plan: &Plan,
    parts: &[BeamShare],
    only: Option<usize>,
    normalisation: Option<Normalising<'_>>,
    control: &JobControl,
) -> Result<(Dose, f64), PlanSumError> {
    let whole_plan = |dose| as_whole_plan(plan, as_fine_as_its_voxels(dose));
    let Some(normalising) = normalisation else {
        let is_one_of_several = plan.beams.iter().filter(|beam| is_computed(beam)).count() > 1;
        let dose = match only {
            None => whole_plan(plan_dose(label, parts)?),
            // Peaks of one beam of several are evened out by the others: the whole is judged.
            Some(index) if is_one_of_several => plan_dose(label, &parts[index..=index])?,
            Some(_) => as_fine_as_its_voxels(plan_dose(label, parts)?),
        };
        return Ok((dose, 1.0));
    };
    let sum = added(parts)?;
    let factor = normalising.factor(&sum, control)?;
    control.check()?;
    let sum = whole_plan(dose_of(label, parts, sum.scaled(factor as f32)));
    let Some(index) = only else {
        return Ok((sum, factor));
    };
    let part = BeamShare {
        scale: factor * parts[index].scale,
        ..parts[index].clone()
    };
    let mut dose = plan_dose(label, &[part])?;
    // The normalisation of a single beam has the status of the whole plan.
    dose.status = dose.status.worst(sum.status);
    dose.caveats = caveats_of([&dose.caveats, &sum.caveats]);
    dose.remarks = caveats_of([&dose.remarks, &sum.remarks]);
    Ok((dose, factor))
}

fn voxel_cm3(dose: &Dose) -> f64 {
    dose.gy.grid().voxel_cm3(0)
}

/// The rows of a part along x, as they are added to a sum.
struct Rows<'a> {
    gy: &'a Volume<f32>,
    scale: f32,
    /// How the dose is read where the grids differ: the sampler, and a step along the row in its frame.
    other_grid: Option<(Sampler<'a>, DVec3)>,
}

impl<'a> Rows<'a> {
    fn new(part: &'a BeamShare, grid: &Grid) -> Self {
        let gy = &*part.dose.gy;
        let other_grid = (**gy.grid() != *grid).then(|| {
            let step_mm = gy.grid().local_direction(grid.axes()[0]) * grid.spacing_xy_mm()[0];
            (Sampler::new(gy), step_mm)
        });
        Self {
            gy,
            scale: part.scale as f32,
            other_grid,
        }
    }

    fn add(&self, grid: &Grid, row: usize, sum: &mut [f32]) {
        let [nx, ny, _] = grid.size();
        let Some((sampler, step)) = &self.other_grid else {
            let values = &self.gy.data()[row * nx..][..nx];
            sum.iter_mut()
                .zip(values)
                .for_each(|(sum, value)| *sum += self.scale * value);
            return;
        };
        let start = self
            .gy
            .grid()
            .local_from_patient(grid.centre_mm(0, row % ny, row / ny));
        for (i, sum) in sum.iter_mut().enumerate() {
            let value = sampler.within(start + *step * i as f64, RIM_VOXELS);
            *sum += self.scale * value.unwrap_or(f32::NAN);
        }
    }
}

/// The caveats or the remarks of all parts, each once.
pub fn caveats_of<'a>(parts: impl IntoIterator<Item = &'a Vec<String>>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for caveat in parts.into_iter().flatten() {
        if !remarks.contains(caveat) {
            remarks.push(caveat.clone());
        }
    }
    remarks
}

/// The dose of a plan as a whole, with what is known of the plan: partial where it delivers beams that are not computed.
pub fn as_whole_plan(plan: &Plan, mut dose: Dose) -> Dose {
    if let Some(left_out) = super::beams_left_out(plan) {
        dose.status = dose.status.worst(DoseStatus::Partial);
        dose.caveats.insert(0, left_out);
    }
    dose.with_reservations(&plan.reservations())
}

/// The receipt of the sum: one phase a beam.
fn receipt(parts: &[BeamShare]) -> Receipt {
    let receipts: Vec<(&String, &Receipt)> = parts
        .iter()
        .filter_map(|p| p.dose.receipt.as_deref().map(|r| (&p.dose.label, r)))
        .collect();
    let mut devices: Vec<&str> = receipts.iter().map(|(_, r)| r.device.as_str()).collect();
    devices.dedup();
    let mut warnings: Vec<String> = receipts
        .iter()
        .flat_map(|(_, r)| r.warnings.iter().cloned())
        .collect();
    warnings.sort();
    warnings.dedup();
    Receipt {
        job: receipts
            .first()
            .map(|(_, r)| r.job.clone())
            .unwrap_or_default(),
        digest: receipts
            .iter()
            .map(|(_, r)| r.digest.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        device: devices.join(", "),
        phases_ms: receipts
            .iter()
            .map(|(label, r)| ((*label).clone(), r.total_ms()))
            .collect(),
        warnings,
        work: receipts.iter().map(|(_, r)| r.work).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dose of `gy` on `size`^3 voxels of `spacing` mm from the origin on.
    fn dose(
        label: &str,
        spacing: f64,
        size: usize,
        status: DoseStatus,
        gy: impl Fn(DVec3) -> f64,
    ) -> Arc<Dose> {
        let grid = Grid::axis_aligned(
            DVec3::splat(spacing / 2.0),
            DVec3::splat(spacing),
            [size; 3],
        )
        .unwrap();
        let voxels = (0..grid.len()).map(|n| (n % size, n / size % size, n / size / size));
        let data = voxels
            .map(|(i, j, k)| gy(grid.centre_mm(i, j, k)) as f32)
            .collect();
        Arc::new(Dose {
            gy: Arc::new(Volume::new(Arc::new(grid), data)),
            status,
            label: label.to_owned(),
            frame_of_reference_uid: "1.2".to_owned(),
            receipt: Some(Arc::new(Receipt {
                work: 5,
                warnings: vec!["w".to_owned()],
                ..Receipt::default()
            })),
            caveats: Vec::new(),
            remarks: Vec::new(),
            part: None,
        })
    }

    #[test]
    fn parts_of_different_grids_add_on_the_finest_with_the_worst_status() {
        let fine = dose("fine", 2.0, 20, DoseStatus::Final, linear);
        let coarse = dose("coarse", 4.0, 10, DoseStatus::Coarse, linear);
        let parts = [
            BeamShare {
                dose: coarse,
                scale: 3.0,
            },
            BeamShare {
                dose: fine.clone(),
                scale: 2.0,
            },
        ];
        let sum = plan_dose("plan", &parts).unwrap();
        assert_eq!(sum.status, DoseStatus::Coarse);
        assert_eq!(**sum.gy.grid(), **fine.gy.grid());
        let receipt = sum.receipt.unwrap();
        assert_eq!((receipt.work, receipt.warnings.len()), (10, 1));
        // A linear dose is exact away from the outermost half voxels of the coarse grid.
        for (i, j, k) in [(5, 6, 7), (1, 18, 10), (12, 3, 16)] {
            let want = 5.0 * linear(sum.gy.grid().centre_mm(i, j, k));
            assert!((f64::from(sum.gy.at(i, j, k)) - want).abs() < 1e-4);
        }
        assert!(
            sum.gy.data().iter().all(|gy| gy.is_finite()),
            "the rim is filled"
        );
    }

    /// A linear dose, which interpolation reproduces.
    fn linear(p: DVec3) -> f64 {
        1.0 + 0.1 * p.x - 0.02 * p.y + 0.05 * p.z
    }

    /// The sum of two previews and a final dose lies on the finer preview's grid, and is known wherever that is.
    #[test]
    fn a_sum_with_previews_lies_on_the_finest_of_them() {
        let doses = [
            dose("final", 2.5, 28, DoseStatus::Final, linear),
            dose("preview", 7.0, 10, DoseStatus::Preview, linear),
            dose("coarser preview", 10.0, 7, DoseStatus::Preview, linear),
        ];
        let parts = doses.clone().map(|dose| BeamShare { dose, scale: 1.0 });
        let sum = plan_dose("plan", &parts).unwrap();
        assert_eq!(
            (sum.status, sum.gy.grid()),
            (DoseStatus::Preview, doses[1].gy.grid())
        );
        let want = 3.0 * linear(sum.gy.grid().centre_mm(4, 5, 6));
        assert!((f64::from(sum.gy.at(4, 5, 6)) - want).abs() < 1e-4);
        assert!(sum.gy.data().iter().all(|gy| gy.is_finite()));
    }

    #[test]
    fn beyond_a_part_the_sum_is_unknown() {
        let small = dose("small", 2.0, 5, DoseStatus::Final, |_| 1.0);
        let large = dose("large", 1.9, 20, DoseStatus::Final, |_| 1.0);
        let sum = plan_dose(
            "plan",
            &[
                BeamShare {
                    dose: small,
                    scale: 1.0,
                },
                BeamShare {
                    dose: large,
                    scale: 1.0,
                },
            ],
        )
        .unwrap();
        assert_eq!(sum.gy.at(2, 2, 2), 2.0);
        assert!(sum.gy.at(19, 2, 2).is_nan());
    }

    #[test]
    fn what_does_not_add_is_refused() {
        assert_eq!(plan_dose("p", &[]).unwrap_err(), SumError::NoParts);
        let a = dose("a", 2.0, 3, DoseStatus::Final, |_| 1.0);
        let mut b = (*a).clone();
        b.frame_of_reference_uid = "9.9".to_owned();
        b.label = "b".to_owned();
        let part = |dose: &Dose, scale| BeamShare {
            dose: Arc::new(dose.clone()),
            scale,
        };
        let parts = [part(&a, 1.0), part(&b, 1.0)];
        assert_eq!(
            plan_dose("p", &parts).unwrap_err(),
            SumError::Frames("a".into(), "b".into())
        );
        assert!(matches!(
            plan_dose("p", &[part(&a, f64::NAN)]),
            Err(SumError::Scale(..))
        ));
    }
}
