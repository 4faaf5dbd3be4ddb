//! Facts of a patient, a dose and a DVH in all reports.

use analysis::{Dvh, DvhPair, percent_words};
use case::{Case, Dose, DoseStatus, Receipt, Rgb, Structure, StructureKind};
use dicom::date_time;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The program and its version.
pub const PROGRAM: &str = concat!("Beamsight ", env!("CARGO_PKG_VERSION"));

/// The patient's name for a reader: DICOM separates its parts by carets (PS3.5, section 6.2, PN).
pub fn patient_name(case: &Case) -> String {
    case.patient.name.replace('^', " ").trim().to_owned()
}

/// Date and time of day of a report that is written now, UTC.
pub fn written_now() -> String {
    utc(SystemTime::now())
}

/// A dose with its status and origin.
#[derive(Clone, Serialize)]
pub struct DoseFacts {
    pub label: String,
    pub status: DoseStatus,
    pub caveats: Vec<String>,
    /// Remarks on what it is made of that may move it.
    pub remarks: Vec<String>,
    /// Mean standard deviation of a Monte Carlo dose above half its maximum, percent.
    pub uncertainty_percent: Option<f64>,
    pub max_gy: f64,
    pub voxels: [usize; 3],
    pub spacing_mm: [f64; 3],
    pub frame_of_reference_uid: String,
    /// Receipt of a computed dose.
    pub receipt: Option<Receipt>,
}

impl DoseFacts {
    /// `uncertainty_percent`: of a Monte Carlo dose.
    pub fn new(dose: &Dose, max_gy: f64, uncertainty_percent: Option<f64>) -> Self {
        let grid = dose.gy.grid();
        let [dx, dy] = grid.spacing_xy_mm();
        Self {
            label: dose.label.clone(),
            status: dose.status,
            caveats: dose.caveats.clone(),
            remarks: dose.remarks.clone(),
            uncertainty_percent,
            max_gy,
            voxels: grid.size(),
            spacing_mm: [dx, dy, grid.even_plane_spacing_mm().unwrap_or(f64::NAN)],
            frame_of_reference_uid: dose.frame_of_reference_uid.clone(),
            receipt: dose.receipt.as_deref().cloned(),
        }
    }

    /// The status with all limitations of the dose and its uncertainty.
    pub fn status_text(&self) -> String {
        let status = case::status_text(self.status, &self.caveats);
        self.uncertainty_percent.map_or(status.clone(), |percent| {
            format!("{status}, {}", percent_words(percent))
        })
    }

    /// Whether the dose is neither final nor imported, or has caveats.
    pub fn is_limited(&self) -> bool {
        !matches!(self.status, DoseStatus::Final | DoseStatus::Imported) || !self.caveats.is_empty()
    }
}

/// Cumulative DVHs of a structure: Gy, percent.
#[derive(Clone)]
pub struct Curve {
    pub name: String,
    pub colour: Rgb,
    /// In A and B; B is empty where one dose is shown.
    pub points: [Vec<[f64; 2]>; 2],
}

impl Curve {
    /// The DVH of the one dose shown.
    pub fn new(structure: &Structure, dvh: &Dvh) -> Self {
        Self {
            name: structure.name.clone(),
            colour: structure.colour,
            points: [dvh.cumulative(), Vec::new()],
        }
    }

    /// The DVHs of pairs, in the order of the structures' tree: targets and organs before what supports them.
    pub fn of_pairs(pairs: &[DvhPair<'_>]) -> Vec<Self> {
        let mut order: Vec<&DvhPair<'_>> = pairs.iter().collect();
        order.sort_by_key(|pair| pair.structure.kind.min(StructureKind::Organ));
        order
            .into_iter()
            .map(|pair: &DvhPair<'_>| Self {
                name: pair.structure.name.clone(),
                colour: pair.structure.colour,
                points: pair.dvhs.map(Dvh::cumulative),
            })
            .collect()
    }
}

/// Date and time of day, UTC.
fn utc(moment: SystemTime) -> String {
    let (date, time) = date_time(moment.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()));
    format!(
        "{}-{}-{} {}:{} UTC",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, want) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_795_276_800, "2026-11-21 16:00 UTC"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }
}
