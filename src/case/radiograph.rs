//! A projected image, measured or computed, and where it was taken.

use super::PatientInfo;
use crate::geometry::{ImagingSetup, Projection};
use std::sync::Arc;

/// What the values of a [`Radiograph`] mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelMeaning {
    /// Grows with what the ray went through: a line integral of attenuation, or its like; bone is bright.
    Attenuation,
    /// Falls with it: what arrives at the detector; bone is dark.
    Transmission,
}

/// A flat image of a patient and where source and pixels were.
#[derive(Clone, Debug)]
pub struct Radiograph {
    /// One value a pixel, rows from the top, columns from the left, as seen from the source.
    pub values: Arc<Vec<f32>>,
    pub meaning: PixelMeaning,
    pub projection: Projection,
    /// The same in the words of IEC 61217, where they are known.
    pub setup: Option<ImagingSetup>,
    /// Where it came from, in words: a file, `DRR`.
    pub label: String,
    /// Of the positions in `projection`; empty where unknown, or where whoever opened it said where the isocentre is.
    pub frame_of_reference_uid: String,
    /// Whom it shows, as far as the file says.
    pub patient: PatientInfo,
    /// Pixels that the collimator left open, where that is known: beside them the picture says nothing.
    pub open: Option<Arc<Vec<bool>>>,
}

impl Radiograph {
    /// A picture of which no more is known. One value a pixel of the projection.
    pub fn new(values: Vec<f32>, meaning: PixelMeaning, projection: Projection, label: &str) -> Self {
        Self {
            values: Arc::new(values),
            meaning,
            projection,
            setup: None,
            label: label.to_owned(),
            frame_of_reference_uid: String::new(),
            patient: PatientInfo::default(),
            open: None,
        }
    }
}
