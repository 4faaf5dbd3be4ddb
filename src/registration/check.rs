//! Checks before a registration: X-ray and CT must belong together.

use super::error::RegistrationError;
use case::{Case, PatientInfo, Plan, Pose, Radiograph};
use geometry::Grid;
use glam::DVec3;
use std::sync::Arc;

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
    let image = || radiograph.label.clone();
    let theirs = radiograph.patient.id.as_str();
    let is_accepted = radiograph.accepted_patient.as_deref() == Some(theirs);
    if are_stated_and_differ(theirs, patient_id) && !is_accepted {
        let (theirs, ours) = (theirs.to_owned(), patient_id.to_owned());
        return Err(RegistrationError::OtherPatient {
            image: image(),
            theirs,
            ours,
        });
    }
    let theirs = radiograph.frame_of_reference_uid.as_str();
    if are_stated_and_differ(theirs, frame_of_reference_uid) {
        let (theirs, ours) = (theirs.to_owned(), frame_of_reference_uid.to_owned());
        return Err(RegistrationError::OtherFrame {
            image: image(),
            theirs,
            ours,
        });
    }
    Ok(())
}

fn are_stated_and_differ(theirs: &str, ours: &str) -> bool {
    !theirs.is_empty() && !ours.is_empty() && theirs != ours
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

/// An isocentre nearer than this to a plan's is the plan's, mm: the isocentres of imaging and treatment coincide within 2 mm (AAPM TG-142,
/// Klein et al., Med. Phys. 36, 4197 (2009)).
const SAME_ISOCENTRE_MM: f64 = 2.0;

/// Remarks on an X-ray beside its case, a sentence each: what the two state of patient, position and isocentre and is not the same.
/// Another patient ID is an error, or accepted ([`accepted_patient`]).
pub fn remarks_beside(radiograph: &Radiograph, case: &Case) -> Vec<String> {
    let label = &radiograph.label;
    let differences = differences(&radiograph.patient, &case.patient);
    let is_accepted = accepted_patient(radiograph, &case.patient.id).is_some();
    let other_person = (!differences.is_empty() && !is_accepted).then(|| {
        format!(
            "the X-ray {label} and the CT are of patients who differ in {}: look whether both are of one",
            differences.join("; ")
        )
    });
    let positions = radiograph
        .setup
        .map(|setup| setup.position)
        .zip(case.ct.as_ref().map(|ct| ct.position));
    let position = positions.filter(|(xray, ct)| xray != ct).map(|(xray, ct)| {
        format!("the patient of the X-ray {label} lies {xray}, that of the CT {ct}: the X-ray is placed as its own position says")
    });
    let isocentre = radiograph.setup.and_then(|setup| off_isocentre(setup.isocentre_mm, case)).map(|(mm, plan)| {
        format!(
            "the isocentre of the X-ray {label} lies {mm:.1} mm from that of the plan '{plan}': the pose is about that of the X-ray, \
             and its shifts do not bring the patient to that of the plan"
        )
    });
    [other_person, position, isocentre]
        .into_iter()
        .flatten()
        .collect()
}

/// In what two patients state something else beside their IDs, in words: name, birth date, sex.
fn differences(a: &PatientInfo, b: &PatientInfo) -> Vec<String> {
    let [name_a, name_b] = [a, b].map(|patient| PatientInfo {
        name: patient.name.clone(),
        ..PatientInfo::default()
    });
    let names = (name_a.is_same(&name_b) == Some(false))
        .then(|| format!("name {} and {}", name_a.in_words(), name_b.in_words()));
    let birth_date = difference_of("birth date", [&a.birth_date, &b.birth_date]);
    let sex = difference_of("sex", [&a.sex, &b.sex]);
    [names, birth_date, sex].into_iter().flatten().collect()
}

fn difference_of(what: &str, values: [&str; 2]) -> Option<String> {
    let [a, b] = values.map(|value| value.trim().to_uppercase());
    (!a.is_empty() && !b.is_empty() && a != b).then(|| format!("{what} {a} and {b}"))
}

/// The distance of a position from the nearest isocentre of the case's plans, mm, and its plan, where it is none of them.
fn off_isocentre(isocentre_mm: DVec3, case: &Case) -> Option<(f64, String)> {
    let nearest = case
        .plans
        .iter()
        .filter_map(|plan: &Arc<Plan>| {
            let distances = plan
                .beams
                .iter()
                .map(|beam| beam.isocentre_mm.distance(isocentre_mm));
            Some((distances.min_by(f64::total_cmp)?, plan.name.clone()))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 > SAME_ISOCENTRE_MM).then_some(nearest)
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
    let depths = grid
        .corners_mm()
        .map(|c| normal.dot(pose.apply(c, centre_mm) - p.source_mm()) / to_image);
    let (nearest, farthest) = depths
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), d| {
            (a.min(d), b.max(d))
        });
    let [right, bottom] = [p.columns(), p.rows()].map(|n| n as f64 - 1.0);
    let detector = [
        [0.0, 0.0],
        [right, 0.0],
        [0.0, bottom],
        [right, bottom],
        [0.5 * right, 0.5 * bottom],
    ];
    if farthest <= 0.0 {
        Err(RegistrationError::BehindSource { image })
    } else if inside(p.source_mm()) {
        Err(RegistrationError::SourceInside { image })
    } else if nearest >= 1.0 || detector.into_iter().any(|[c, r]| inside(p.pixel_mm(c, r))) {
        Err(RegistrationError::DetectorInside { image })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_id_says_twice_is_told() {
        let ours = patient("Doe^Jane", "19500102", "F");
        for same in [
            patient("DOE^JANE^^", "19500102 ", "f"),
            patient("", "", ""),
            patient("Doe^Jane=", "", "F"),
        ] {
            assert_eq!(differences(&ours, &same), Vec::<String>::new(), "{same:?}");
        }
        let other = patient("Roe^Jim", "19600304", "M");
        let told = [
            "name Doe, Jane and Roe, Jim",
            "birth date 19500102 and 19600304",
            "sex F and M",
        ];
        assert_eq!(differences(&ours, &other), told);
    }

    fn patient(name: &str, birth_date: &str, sex: &str) -> PatientInfo {
        PatientInfo {
            id: "P1".to_owned(),
            name: name.to_owned(),
            birth_date: birth_date.to_owned(),
            sex: sex.to_owned(),
        }
    }
}
