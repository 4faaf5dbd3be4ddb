//! Errors of a registration.

use engine::Cancelled;
use thiserror::Error;

/// Errors of X-ray, CT or settings; loaded data is not changed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RegistrationError {
    #[error("no X-ray is given; give one or two")]
    NoImage,
    #[error("{image}: {there} values for {pixels} pixels; load the image again")]
    Size {
        image: String,
        there: usize,
        pixels: usize,
    },
    #[error("{image}: no pixel counts; choose a region or mask that holds some of the image")]
    NothingCounts { image: String },
    #[error(
        "{image}: all pixels that count have the same value, so that nothing can be matched; choose another region or image"
    )]
    Flat { image: String },
    #[error(
        "{image}: the CT is not seen (the DRR has one value only); look at isocentre, angles, distances and start"
    )]
    NotSeen { image: String },
    #[error("{image}: the CT lies behind the source; look at source position, isocentre and start")]
    BehindSource { image: String },
    #[error(
        "{image}: the detector lies inside the CT or before it; look at the source to image distance and the isocentre"
    )]
    DetectorInside { image: String },
    #[error(
        "{image}: the source lies inside the CT; look at the source to axis distance and the isocentre"
    )]
    SourceInside { image: String },
    #[error(
        "{image} shows patient {theirs}, the CT shows {ours}; load the CT of the same patient, or answer that both are \
         one (--accept-patient-mismatch)"
    )]
    OtherPatient {
        image: String,
        theirs: String,
        ours: String,
    },
    #[error(
        "{image} is placed in another frame of reference than the CT ({theirs}, not {ours}): its positions say nothing \
         about this CT; give the isocentre in the CT's frame"
    )]
    OtherFrame {
        image: String,
        theirs: String,
        ours: String,
    },
    #[error("all six numbers of the pose are locked; leave one free")]
    AllLocked,
    #[error("{what} is {value}; it must be {must}")]
    Setting {
        what: &'static str,
        value: f64,
        must: &'static str,
    },
    #[error(
        "{metric} has no gradient for the gradient method; choose method auto, cma or powell, or another metric"
    )]
    NoSlopes { metric: &'static str },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
