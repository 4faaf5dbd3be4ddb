//! Checks before a registration: X-ray and CT must belong together.

use super::error::RegistrationError;
use case::{Pose, Radiograph};
use geometry::Grid;
use glam::DVec3;

/// Checks that an X-ray shows the patient of a CT, as far as the files state it, in its frame of reference. Another patient ID that
/// the user has answered for is no error.
///
/// # Errors
/// [`RegistrationError::OtherPatient`], [`RegistrationError::OtherFrame`].
pub fn check_belongs(
    radiograph: &Radiograph,
    patient_id: &str,
    frame_of_reference_uid: &str,
) -> Result<(), RegistrationError> {
    let differ = |theirs: &str, ours: &str| !theirs.is_empty() && !ours.is_empty() && theirs != ours;
    let image = || radiograph.label.clone();
    let theirs = radiograph.patient.id.as_str();
    let is_accepted = radiograph.accepted_patient.as_deref() == Some(theirs);
    if differ(theirs, patient_id) && !is_accepted {
        let (theirs, ours) = (theirs.to_owned(), patient_id.to_owned());
        return Err(RegistrationError::OtherPatient { image: image(), theirs, ours });
    }
    let theirs = radiograph.frame_of_reference_uid.as_str();
    if differ(theirs, frame_of_reference_uid) {
        let (theirs, ours) = (theirs.to_owned(), frame_of_reference_uid.to_owned());
        return Err(RegistrationError::OtherFrame { image: image(), theirs, ours });
    }
    Ok(())
}

/// Remark on an X-ray of another patient ID that the user has answered for.
pub fn accepted_patient(radiograph: &Radiograph, patient_id: &str) -> Option<String> {
    let theirs = radiograph.patient.id.as_str();
    let is_other = !theirs.is_empty() && !patient_id.is_empty() && theirs != patient_id;
    (is_other && radiograph.accepted_patient.as_deref() == Some(theirs)).then(|| {
        format!(
            "the X-ray {} is of the patient {theirs}, the CT of {patient_id}, accepted as asked",
            radiograph.label
        )
    })
}

/// Checks that source, CT at a pose, and detector lie in this order.
///
/// # Errors
/// [`RegistrationError`]: CT behind the source, source or detector in it, detector before it.
pub fn check_place(
    radiograph: &Radiograph,
    grid: &Grid,
    pose: &Pose,
    centre_mm: DVec3,
) -> Result<(), RegistrationError> {
    let image = radiograph.label.clone();
    let p = &radiograph.projection;
    let inside = |room_mm: DVec3| {
        let v = grid.voxel_from_patient(pose.undo(room_mm, centre_mm));
        (0..3).all(|a| v[a] >= -0.5 && v[a] <= grid.size()[a] as f64 - 0.5)
    };
    let normal = p.column_step_mm().cross(p.row_step_mm());
    let to_image = normal.dot(p.origin_mm() - p.source_mm());
    // 0 at the source, 1 in the plane of the detector.
    let depths = grid.corners_mm().map(|c| normal.dot(pose.apply(c, centre_mm) - p.source_mm()) / to_image);
    let (least, most) =
        depths.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), d| (a.min(d), b.max(d)));
    let [right, bottom] = [p.columns(), p.rows()].map(|n| n as f64 - 1.0);
    let detector = [[0.0, 0.0], [right, 0.0], [0.0, bottom], [right, bottom], [0.5 * right, 0.5 * bottom]];
    if most <= 0.0 {
        Err(RegistrationError::BehindSource { image })
    } else if inside(p.source_mm()) {
        Err(RegistrationError::SourceInside { image })
    } else if least >= 1.0 || detector.into_iter().any(|[c, r]| inside(p.pixel_mm(c, r))) {
        Err(RegistrationError::DetectorInside { image })
    } else {
        Ok(())
    }
}
