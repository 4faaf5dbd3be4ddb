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
    /// The file has no place of its own, and with that of the plan it is refused too.
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
    Ok(if picture::is_picture(path) { picture::beside(path)? } else { read_placement(path)? })
}

/// An X-ray of DICOM or a picture with its geometry beside it; `given` is what the user says of its place. The position of the patient is
/// that of the CT where neither says one.
///
/// # Errors
/// [`XRayFileError`] of its reader.
pub fn read_xray(
    path: &Path,
    given: &Placement,
    ct: &Ct,
) -> Result<(Radiograph, Vec<Remark>), XRayFileError> {
    let position = given.position.or(declared_placement(path)?.position).unwrap_or(ct.position);
    let given = Placement { position: Some(position), ..given.clone() };
    if picture::is_picture(path) {
        return Ok((picture::read(path, &given)?, Vec::new()));
    }
    Ok(read_radiograph(path, &given)?)
}

/// An X-ray of a case. The isocentre of the case's first beam is taken where the image's file has another frame of reference, or no
/// position, and none is given. `accepted`: the user answers for a patient with another ID.
///
/// # Errors
/// [`XRayFileError`]: also of what is given against what the file says, of another patient and another frame of reference.
pub fn xray_of_case(
    path: &Path,
    given: &Placement,
    (case, ct): (&Case, &Ct),
    accepted: bool,
) -> Result<(Radiograph, Vec<Remark>), XRayFileError> {
    // One of them is wrong, so the pose would be wrong.
    let said = given.against(&declared_placement(path)?);
    if !said.is_empty() {
        return Err(XRayFileError::Contradiction { path: path.to_owned(), said: said.join("; ") });
    }
    let placed = |isocentre_mm| -> Result<_, XRayFileError> {
        let (mut image, mut said) =
            read_xray(path, &given.or(&Placement { isocentre_mm, ..Placement::default() }), ct)?;
        if accepted {
            image.accepted_patient = Some(image.patient.id.clone());
        }
        check_belongs(&image, &case.patient.id, &ct.frame_of_reference_uid)?;
        let accepted = accepted_patient(&image, &case.patient.id).into_iter();
        let beside = accepted.chain(remarks_beside(&image, case));
        said.extend(beside.map(|what| Remark::warning(what, vec![image.label.clone()])));
        Ok((image, said))
    };
    let first_beam = case.plans.iter().flat_map(|plan| &plan.beams).next().map(|beam| beam.isocentre_mm);
    match (placed(None), first_beam) {
        (Err(first), Some(isocentre)) if given.isocentre_mm.is_none() && first.is_about_place() => {
            // Missing values are reported once.
            let (image, mut said) =
                placed(Some(isocentre)).map_err(|second| match second.is_about_place() {
                    true => second,
                    false => {
                        XRayFileError::WithIsocentre { first: Box::new(first), second: Box::new(second) }
                    }
                })?;
            let words = "the isocentre of the case's first beam is taken".to_owned();
            said.push(Remark::note(words, vec![image.label.clone()]));
            Ok((image, said))
        }
        (placed, _) => placed,
    }
}
