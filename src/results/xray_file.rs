//! X-rays of files for a registration: read, placed and checked against the case.

use case::{Case, Ct, Placement, Radiograph, Remark};
use dicom::{DicomError, read_placement, read_radiograph};
use files::picture::{self, PictureError};
use registration::{RegistrationError, accepted_patient, check_belongs, remarks_beside};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file is no X-ray of a case.
#[derive(Debug, Error)]
pub enum XRayFileError {
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Dicom(#[from] DicomError),
    #[error(transparent)]
    Belongs(#[from] RegistrationError),
    #[error(
        "{}: {said}; leave out what the file says, or, where the file is wrong, save the picture as PNG with its geometry beside it",
        path.display()
    )]
    Contradiction { path: PathBuf, said: String },
    /// The file states no place, and it is refused at the plan's isocentre too.
    #[error("{first}: {second}")]
    WithIsocentre { first: Box<Self>, second: Box<Self> },
}

impl XRayFileError {
    fn is_about_place(&self) -> bool {
        matches!(
            self,
            Self::Belongs(RegistrationError::OtherFrame { .. })
                | Self::Dicom(DicomError::NoGeometry { .. })
                | Self::Picture(PictureError::NoGeometry { .. })
        )
    }
}

/// Placement by the file of an X-ray, or the one beside a picture.
///
/// # Errors
/// [`XRayFileError`] of its reader.
pub fn declared_placement(path: &Path) -> Result<Placement, XRayFileError> {
    Ok(if picture::is_picture(path) {
        picture::beside(path)?
    } else {
        read_placement(path)?
    })
}

/// An X-ray of DICOM or a picture with its geometry beside it; `placement` is what the user states of its place. The CT's patient
/// position is taken where neither states one.
///
/// # Errors
/// [`XRayFileError`] of its reader.
pub fn read_xray(
    path: &Path,
    placement: &Placement,
    ct: &Ct,
) -> Result<(Radiograph, Vec<Remark>), XRayFileError> {
    let position = placement
        .position
        .or(declared_placement(path)?.position)
        .unwrap_or(ct.position);
    let placement = Placement {
        position: Some(position),
        ..placement.clone()
    };
    if picture::is_picture(path) {
        return Ok((picture::read(path, &placement)?, Vec::new()));
    }
    Ok(read_radiograph(path, &placement)?)
}

/// An X-ray of a case. The isocentre of the case's first beam is taken where the image's file has another frame of reference, or no
/// position, and none is given. `accepted`: the user answers for a patient with another ID.
///
/// # Errors
/// [`XRayFileError`]: also of what is given against what the file says, of another patient and another frame of reference.
pub fn xray_of_case(
    path: &Path,
    placement: &Placement,
    case: &Case,
    ct: &Ct,
    accepted: bool,
) -> Result<(Radiograph, Vec<Remark>), XRayFileError> {
    // One of them is wrong, so the pose would be wrong.
    let said = placement.against(&declared_placement(path)?);
    if !said.is_empty() {
        return Err(XRayFileError::Contradiction {
            path: path.to_owned(),
            said: said.join("; "),
        });
    }

    let first_beam = case
        .plans
        .iter()
        .flat_map(|plan| &plan.beams)
        .next()
        .map(|beam| beam.isocentre_mm);
    match (
        read_and_check(path, placement, case, ct, accepted),
        first_beam,
    ) {
        (Err(first), Some(isocentre))
            if placement.isocentre_mm.is_none() && first.is_about_place() =>
        {
            // Missing values are reported once.
            let at_isocentre = placement.or(&Placement {
                isocentre_mm: Some(isocentre),
                ..Placement::default()
            });
            let placed = read_and_check(path, &at_isocentre, case, ct, accepted);
            let (image, mut said) = placed.map_err(|second| match second.is_about_place() {
                true => second,
                false => XRayFileError::WithIsocentre {
                    first: Box::new(first),
                    second: Box::new(second),
                },
            })?;
            let words = "the isocentre of the case's first beam is taken".to_owned();
            said.push(Remark::note(words, vec![image.label.clone()]));
            Ok((image, said))
        }
        (placed, _) => placed,
    }
}

/// Reads an X-ray at this placement and checks that it belongs to the case.
fn read_and_check(
    path: &Path,
    placement: &Placement,
    case: &Case,
    ct: &Ct,
    accepted: bool,
) -> Result<(Radiograph, Vec<Remark>), XRayFileError> {
    let (mut image, mut said) = read_xray(path, placement, ct)?;
    if accepted {
        image.accepted_patient = Some(image.patient.id.clone());
    }
    check_belongs(&image, &case.patient.id, &ct.frame_of_reference_uid)?;
    let accepted = accepted_patient(&image, &case.patient.id).into_iter();
    let patient_remarks = accepted.chain(remarks_beside(&image, case));
    said.extend(patient_remarks.map(|what| Remark::warning(what, vec![image.label.clone()])));
    Ok((image, said))
}
