//! A CT series.

use super::Remark;
use geometry::{PatientPosition, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// A CT series as one volume of Hounsfield units, its planes where the files put them.
#[derive(Clone, Debug)]
pub struct Ct {
    /// Hounsfield units; padding is already replaced by air (-1000 or the series' own lowest value).
    pub hu: Arc<Volume<f32>>,
    pub position: PatientPosition,
    pub series_uid: String,
    pub study_uid: String,
    /// Empty where the files have none (then no overlay may rely on it).
    pub frame_of_reference_uid: String,
    pub description: String,
    /// SOP instance UID of each plane, in plane order; empty where the CT did not come from DICOM.
    pub plane_uids: Vec<String>,
    /// File of each plane, in plane order; empty where there are none that stay.
    pub files: Vec<PathBuf>,
    /// Remarks on what is unusual about this series.
    pub remarks: Vec<Remark>,
}

impl Ct {
    /// A CT without UIDs and remarks.
    pub fn unnamed(hu: Arc<Volume<f32>>, position: PatientPosition) -> Self {
        Self {
            hu,
            position,
            series_uid: String::new(),
            study_uid: String::new(),
            frame_of_reference_uid: String::new(),
            description: String::new(),
            plane_uids: Vec::new(),
            files: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

/// The caveat of doses on values that can be no HU.
pub const NO_HU: &str = "values that are no HU";

/// A CT has air near -1000 HU, or tissue hundreds apart; values that differ by less are of another unit, as densities are.
const LEAST_SPAN_HU: f32 = 20.0;

/// The remark on values that differ by so little that they are no HU of anything but one material; `None` where they may be.
pub fn too_narrow(lowest_hu: f32, highest_hu: f32) -> Option<String> {
    // Densities relative to water and in g/cm3 are from 0 to 20: no metal has more.
    let is_density = lowest_hu >= 0.0 && highest_hu > lowest_hu && highest_hu <= LEAST_SPAN_HU;
    is_density.then(|| {
        format!("the values are from {lowest_hu} to {highest_hu}: densities, or in another unit than HU? They are used as if they were HU")
    })
}

/// The remark on HU beyond 16 bits, most likely values of another unit; `None` where they fit.
pub fn beyond_16_bits(lowest_hu: f32, highest_hu: f32) -> Option<String> {
    let beyond = lowest_hu < f32::from(i16::MIN) || highest_hu > f32::from(i16::MAX);
    beyond.then(|| {
        format!("HU from {lowest_hu} to {highest_hu} are more than 16 bits hold: are they in another unit?")
    })
}
