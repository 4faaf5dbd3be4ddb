//! The registered pose as a DICOM spatial registration.

use super::check::accepted_patient;
use super::standing::PoseStanding;
use case::{Case, Ct, Pose, Radiograph, derived_uid};
use dicom::{Belonging, Registration};
use glam::DVec3;

/// Description of the object, without IDs: it may leave anonymously. An attribute holds 64 characters.
fn description(standing: &PoseStanding, is_of_another: bool) -> String {
    let worth = standing.short();
    match (is_of_another, standing) {
        (false, _) => format!("CT to X-ray, {worth}, not for clinical use"),
        (true, PoseStanding::NoMatch { .. }) => {
            format!("CT to X-ray of another patient ID, accepted; {worth}")
        }
        (true, _) => "CT to X-ray of another patient ID, accepted; no clinical use".to_owned(),
    }
}

/// The registration from the CT's frame of reference into the X-ray's, the patient in `pose` about
/// `centre_mm` (patient LPS, mm). Where the X-ray has no frame, a new one stands for the room,
/// equal for equal X-ray and CT.
pub fn spatial_registration(
    (pose, standing): (&Pose, &PoseStanding),
    centre_mm: DVec3,
    image: &Radiograph,
    ct: &Ct,
    case: &Case,
) -> Registration {
    let source_frame_uid = Belonging::new(case).frame_of_reference_uid;
    let image_frame = &image.frame_of_reference_uid;
    let registered_frame_uid = if image_frame.is_empty() || *image_frame == source_frame_uid {
        derived_uid(&format!("room of {} for {}", image.label, ct.series_uid))
    } else {
        image_frame.clone()
    };
    let matrix = pose.matrix(centre_mm);
    let description = description(
        standing,
        accepted_patient(image, &case.patient.id).is_some(),
    );
    let label = "REGISTRATION".to_owned();
    Registration {
        source_frame_uid,
        registered_frame_uid,
        matrix,
        label,
        description,
    }
}
