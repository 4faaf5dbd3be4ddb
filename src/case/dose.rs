//! A dose and its status.

use super::Reservations;
use super::dose_engine::DoseEngine;
use super::remark::add_each_once;
use geometry::Volume;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The status of a dose. Ordered from best to worst: the status of a sum is the greatest of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoseStatus {
    /// Computed with the full engine at the requested quality, for the plan as it is now.
    Final,
    /// Read from a file: the result of another system.
    Imported,
    /// Computed in full but with fewer directions or a coarser grid than the default, or by Monte Carlo with a standard
    /// deviation above 2 %.
    Coarse,
    /// Part of the plan or the patient is not counted or not as it is: a beam that cannot be computed, a wedge, a beam of
    /// another energy or filter than its machine's, matter outside the body. A dose with caveats is no better.
    Partial,
    /// A quick result while a control moves.
    Preview,
    /// Belongs to an earlier state of the plan.
    Stale,
    /// The computation failed; the shown values are not to be used.
    Failed,
}

impl DoseStatus {
    /// The status of a sum of two doses.
    pub fn worst(self, other: Self) -> Self {
        self.max(other)
    }

    /// The status of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        use DoseStatus::{Coarse, Failed, Final, Imported, Partial, Preview, Stale};
        let statuses = [Final, Imported, Coarse, Partial, Preview, Stale, Failed];
        statuses.into_iter().find(|status| status.word() == word)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::Imported => "imported",
            Self::Coarse => "coarse",
            Self::Partial => "partial",
            Self::Preview => "preview",
            Self::Stale => "stale",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for DoseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A dose distribution on its grid.
#[derive(Clone, Debug)]
pub struct Dose {
    /// Gy (absolute), whole treatment course unless the label says otherwise.
    pub gy: Arc<Volume<f32>>,
    pub status: DoseStatus,
    pub label: String,
    /// Frame of reference, empty where unknown.
    pub frame_of_reference_uid: String,
    pub receipt: Option<Arc<Receipt>>,
    /// Parts of plan or patient that this dose does not count, a few words each: `2 of 3 beams`, `wedge not
    /// modelled`.
    pub caveats: Vec<String>,
    /// Remarks on what may move it, or why it is partial, a sentence each: they were made on reading what it is made of.
    pub remarks: Vec<String>,
    /// The part of a plan that it is, where it is not the whole.
    pub part: Option<DosePart>,
}

/// The part of a plan that a dose is of, where it is not the whole plan, by DoseSummationType (PS3.3 C.8.8.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DosePart {
    Beam,
    ControlPoint,
    Fraction,
    /// Dose of sources in the patient, whatever else the plan delivers.
    Brachytherapy,
    /// Dose of what was recorded in single treatments.
    Record,
}

impl DosePart {
    pub fn word(self) -> &'static str {
        match self {
            Self::Beam => "one beam",
            Self::ControlPoint => "one control point",
            Self::Fraction => "one fraction",
            Self::Brachytherapy => "brachytherapy alone",
            Self::Record => "single treatments",
        }
    }

    /// Why it decides nothing that is meant of the plan.
    pub fn why_undecided(self) -> String {
        format!("the dose is that of {}", self.word())
    }
}

impl Dose {
    /// Adds remarks, each once.
    pub fn remark<'a>(&mut self, remarks: impl IntoIterator<Item = &'a str>) {
        add_each_once(&mut self.remarks, remarks);
    }

    /// The dose with what is known of its inputs. One with caveats is partial at best.
    #[must_use]
    pub fn with_reservations(mut self, reservations: &Reservations) -> Self {
        add_each_once(
            &mut self.caveats,
            reservations.caveats.iter().map(String::as_str),
        );
        add_each_once(
            &mut self.remarks,
            reservations.remarks.iter().map(String::as_str),
        );
        if !reservations.caveats.is_empty() {
            self.status = self.status.worst(DoseStatus::Partial);
        }
        self
    }

    /// The status with its caveats: `final`, `partial: 2 of 3 beams`. Stands wherever the dose is shown.
    pub fn status_text(&self) -> String {
        status_text(self.status, &self.caveats)
    }

    /// Whether it is one to rely on: computed in full or of another system, without a caveat.
    pub fn is_reliable(&self) -> bool {
        self.status <= DoseStatus::Imported && self.caveats.is_empty()
    }

    /// The status with its caveats and what else is known of the dose, on one line.
    pub fn status_with_remarks(&self) -> String {
        let remarks: String = self
            .remarks
            .iter()
            .map(|remark| format!("; {remark}"))
            .collect();
        self.status_text() + &remarks
    }

    /// Largest finite value, Gy.
    pub fn max_gy(&self) -> f32 {
        self.gy.greatest()
    }
}

/// Why a volume is no dose in Gy: its first voxel (x, y, z) that is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum DoseValueError {
    #[error("{value} at voxel ({i}, {j}, {k}); every voxel must be a finite dose in Gy", i = at[0], j = at[1], k = at[2])]
    NotFinite { at: [usize; 3], value: f32 },
    #[error(
        "negative, {value} Gy, at voxel ({i}, {j}, {k}); set what is below 0 to 0 where you know why it is there",
        i = at[0], j = at[1], k = at[2]
    )]
    Negative { at: [usize; 3], value: f32 },
}

impl DoseValueError {
    /// The fault of values that are to be a dose.
    ///
    /// # Errors
    /// Itself.
    pub fn check(gy: &Volume<f32>) -> Result<(), Self> {
        match gy.first_where(|gy| !(0.0..f32::INFINITY).contains(&gy)) {
            Some((voxel, value)) if value.is_finite() => Err(Self::Negative { at: voxel, value }),
            Some((voxel, value)) => Err(Self::NotFinite { at: voxel, value }),
            None => Ok(()),
        }
    }

    /// The caveat of a dose whose file has values below 0 Gy: it is shown as the file has it, and nothing is judged on it in
    /// silence.
    pub fn caveat(gy: &Volume<f32>) -> Option<String> {
        match Self::check(gy) {
            Err(Self::Negative {
                at: [i, j, k],
                value,
            }) => Some(format!("values below 0 Gy ({value} at voxel {i} {j} {k})")),
            _ => None,
        }
    }
}

/// The dose of one beam of a plan to a point in one fraction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BeamDose {
    /// Its number in the plan.
    pub beam: u32,
    /// Patient LPS, mm.
    pub point_mm: DVec3,
    pub gy: f64,
}

/// A status with its caveats.
pub fn status_text(status: DoseStatus, caveats: &[String]) -> String {
    if caveats.is_empty() {
        status.to_string()
    } else {
        format!("{status}: {}", caveats.join(", "))
    }
}

/// The record of a finished job: its inputs, its device and its times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// `path`, `cccs`, ...
    pub job: String,
    /// Digest of the inputs: equal requests have equal digests.
    pub digest: String,
    /// `cpu (2 threads)`, `cuda:0 NVIDIA H200`, ...
    pub device: String,
    /// Named phases and their wall times in ms, in order.
    pub phases_ms: Vec<(String, f64)>,
    pub warnings: Vec<String>,
    /// Voxels times directions, where that is the measure of the work; else voxels.
    pub work: u64,
}

/// The beginning of a failed card's warning.
const ON_THE_CPU: &str = "computed on the CPU";

impl Receipt {
    /// Dose engine that did the job; none of a job that computes no dose.
    pub fn engine(&self) -> Option<DoseEngine> {
        self.job.parse().ok()
    }

    /// Whether the job sampled histories.
    pub fn is_statistical(&self) -> bool {
        self.engine().is_some_and(DoseEngine::is_statistical)
    }

    /// The receipt of a job that the CPU ran because a card failed, with that reason as a warning.
    pub fn instead_of_a_card(&self, error: &impl std::fmt::Display) -> Arc<Self> {
        self.with_warning(format!("{ON_THE_CPU}: {error}"))
    }

    /// The warning that the CPU did the job because a card failed, and why.
    pub fn card_failure(&self) -> Option<&str> {
        self.warnings
            .iter()
            .map(String::as_str)
            .find(|w| w.starts_with(ON_THE_CPU))
    }

    /// The receipt with one more warning.
    pub fn with_warning(&self, warning: String) -> Arc<Self> {
        let mut receipt = self.clone();
        receipt.warnings.push(warning);
        Arc::new(receipt)
    }

    pub fn total_ms(&self) -> f64 {
        self.phases_ms.iter().map(|(_, ms)| ms).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;

    #[test]
    fn the_worst_part_names_the_sum() {
        use DoseStatus::*;
        assert_eq!(Final.worst(Preview), Preview);
        assert_eq!(Imported.worst(Final), Imported);
        assert_eq!(Failed.worst(Stale), Failed);
        assert_eq!(Preview.worst(Stale), Stale);
        assert_eq!(Coarse.worst(Partial), Partial);
        assert_eq!(Partial.worst(Preview), Preview);
    }

    /// 3 x 4 x 5 voxels of 1 Gy but for these.
    fn volume_with(changes: &[(usize, f32)]) -> Volume<f32> {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [3, 4, 5]).expect("a grid");
        let mut values = vec![1.0; 60];
        changes.iter().for_each(|(n, gy)| values[*n] = *gy);
        Volume::new(Arc::new(grid), values)
    }

    #[test]
    fn values_that_are_no_dose_are_named_with_their_voxel() {
        assert_eq!(
            DoseValueError::check(&volume_with(&[(3, 0.0), (4, -0.0)])),
            Ok(())
        );
        // Voxel (2, 1, 3) is the 2 + 3 (1 + 4 * 3) = 41st.
        let (voxel, nan) = ([2, 1, 3], volume_with(&[(41, f32::NAN), (50, -1.0)]));
        assert!(
            matches!(DoseValueError::check(&nan), Err(DoseValueError::NotFinite { at: a, .. }) if a == voxel)
        );
        let infinite = DoseValueError::check(&volume_with(&[(41, f32::INFINITY)]));
        assert_eq!(
            infinite,
            Err(DoseValueError::NotFinite {
                at: voxel,
                value: f32::INFINITY
            })
        );
        let negative = volume_with(&[(41, -0.25)]);
        assert_eq!(
            DoseValueError::check(&negative),
            Err(DoseValueError::Negative {
                at: voxel,
                value: -0.25
            })
        );
        assert!(DoseValueError::caveat(&negative).is_some_and(|caveat| caveat.contains("2 1 3")));
        assert_eq!(DoseValueError::caveat(&volume_with(&[])), None);
    }
}
