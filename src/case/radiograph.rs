//! A projected image, measured or computed, and its geometry.

use super::PatientInfo;
use geometry::{ImagingSetup, Projection};
use std::sync::Arc;

/// The meaning of a [`Radiograph`]'s values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelMeaning {
    /// Grows along the ray: a line integral of attenuation, or similar; bone is bright.
    Attenuation,
    /// Falls along the ray: the signal at the detector; bone is dark.
    Transmission,
}

/// A projection of a patient with the positions of source and pixels.
#[derive(Clone, Debug)]
pub struct Radiograph {
    /// One value a pixel, rows from the top, columns from the left, as seen from the source.
    pub values: Arc<Vec<f32>>,
    pub meaning: PixelMeaning,
    pub projection: Projection,
    /// The geometry in IEC 61217 terms, where known.
    pub setup: Option<ImagingSetup>,
    /// The origin of the image, in words: a file, `DRR`.
    pub label: String,
    /// Frame of the positions in `projection`; empty where unknown, or where the user gave the isocentre.
    pub frame_of_reference_uid: String,
    /// The patient, as far as the file states one.
    pub patient: PatientInfo,
    /// The patient ID that the user has answered to be of the case's patient.
    pub accepted_patient: Option<String>,
    /// Pixels inside the collimator's opening, where known: the others hold no information.
    pub open: Option<Arc<Vec<bool>>>,
}

impl Radiograph {
    /// An image without further information. One value a pixel of the projection.
    pub fn new(
        values: Vec<f32>,
        meaning: PixelMeaning,
        projection: Projection,
        label: &str,
    ) -> Self {
        Self {
            values: Arc::new(values),
            meaning,
            projection,
            setup: None,
            label: label.to_owned(),
            frame_of_reference_uid: String::new(),
            patient: PatientInfo::default(),
            accepted_patient: None,
            open: None,
        }
    }
}
