//! The registered pose as a DICOM spatial registration.

use super::check::accepted_patient;
use crate::case::{Case, Ct, Pose, Radiograph, derived_uid};
use crate::dicom::{Belonging, Registration};
use glam::DVec3;

/// What the object says of itself, without IDs: it may leave anonymously. An attribute holds 64 characters.
const OF_PATIENT: &str = "CT to X-ray, not for clinical use";
const OF_ANOTHER: &str = "CT to X-ray of another patient ID, accepted; no clinical use";

/// The registration from the CT's frame of reference into that of the X-ray, the patient in `pose` about
/// `centre_mm` (patient LPS, mm). Where the X-ray has no frame of its own, a new one stands for the room,
/// equal for equal X-ray and CT.
pub fn spatial_registration(
    pose: &Pose,
    centre_mm: DVec3,
    image: &Radiograph,
    ct: &Ct,
    case: &Case,
) -> Registration {
    let source_frame_uid = Belonging::of(case).frame_of_reference_uid;
    let own = &image.frame_of_reference_uid;
    let registered_frame_uid = if own.is_empty() || *own == source_frame_uid {
        derived_uid(&format!("room of {} for {}", image.label, ct.series_uid))
    } else {
        own.clone()
    };
    let matrix = pose.matrix(centre_mm);
    let of = if accepted_patient(image, &case.patient.id).is_some() { OF_ANOTHER } else { OF_PATIENT };
    let (label, description) = ("REGISTRATION".to_owned(), of.to_owned());
    Registration { source_frame_uid, registered_frame_uid, matrix, label, description }
}
