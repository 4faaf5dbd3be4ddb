//! A dose from a file, as window and verbs read it, and whether it belongs to the case on show: by patient and by frame of
//! reference.

use case::{Case, Dose, PatientInfo, Remark};
use dicom::{self, DicomError};
use files::mha::Facts;
use files::{DoseVolumeError, read_dose_volume};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file gives no dose.
#[derive(Debug, Error)]
pub enum DoseFileError {
    #[error("there is no '{}'; name an RTDOSE file or a .mha volume in Gy", .0.display())]
    Nothing(PathBuf),
    #[error("'{}' is a folder; name one RTDOSE file or a .mha volume in Gy", .0.display())]
    Folder(PathBuf),
    #[error(transparent)]
    Dicom(#[from] DicomError),
    #[error(transparent)]
    Volume(#[from] DoseVolumeError),
}

/// A dose with what its file states.
#[derive(Clone, Debug)]
pub struct DoseFile {
    /// Its name in messages.
    pub name: String,
    pub dose: Dose,
    /// As far as the file states one.
    pub patient: PatientInfo,
    pub remarks: Vec<Remark>,
    /// Whether it states that its numbers are a dose.
    pub is_stated: bool,
}

/// Reads a dose: RTDOSE, or a `.mha` volume in Gy.
///
/// # Errors
/// [`DoseFileError`], also of files that hold another quantity.
pub fn read_dose(path: &Path) -> Result<DoseFile, DoseFileError> {
    if !path.exists() {
        return Err(DoseFileError::Nothing(path.to_owned()));
    }
    if path.is_dir() {
        return Err(DoseFileError::Folder(path.to_owned()));
    }
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    if !path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("mha"))
    {
        let (dose, remarks) = dicom::read_dose(path)?;
        return Ok(DoseFile {
            name,
            dose,
            patient: dicom::read_patient(path)?,
            remarks,
            is_stated: true,
        });
    }
    let (dose, facts) = read_dose_volume(path)?;
    Ok(DoseFile::with_facts(name, dose, &facts))
}

/// Why a dose does not belong to a case, or to another dose.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotOfCase {
    #[error("'{file}' is a dose of the patient {theirs}, and {what} of {ours}")]
    Patient {
        file: String,
        theirs: String,
        what: String,
        ours: String,
    },
    #[error(
        "'{file}' is in the frame of reference {theirs}, and {what} in {ours}: its positions say nothing there; name the dose \
         that belongs to it"
    )]
    Frame {
        file: String,
        theirs: String,
        what: String,
        ours: String,
    },
}

impl DoseFile {
    /// A dose of values with facts beside them: a volume of a file, an image of another library.
    pub fn with_facts(name: String, dose: Dose, facts: &Facts) -> Self {
        let (patient, is_stated) = (facts.patient(), !facts.quantity.is_empty());
        Self {
            name,
            dose,
            patient,
            remarks: Vec::new(),
            is_stated,
        }
    }

    /// Checks that the dose is of the frame and the patient of a case, and remarks where a side does not say whose it is.
    ///
    /// # Errors
    /// [`NotOfCase`]. A user may answer for another patient ([`Self::accept`]), never for another frame.
    pub fn check(&mut self, case: &Case) -> Result<(), NotOfCase> {
        self.check_with(case.stated_frames(), &case.patient, "the case")?;
        self.dose.remark(case.remarks_of_unfit_images());
        Ok(())
    }

    /// As [`Self::check`], with another dose.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_dose(&mut self, other: &Self) -> Result<(), NotOfCase> {
        let frame = Some(other.dose.frame_of_reference_uid.trim()).filter(|uid| !uid.is_empty());
        self.check_with(
            frame.into_iter(),
            &other.patient,
            &format!("'{}'", other.name),
        )
    }

    fn check_with<'a>(
        &mut self,
        frames: impl Iterator<Item = &'a str> + Clone,
        patient: &PatientInfo,
        what: &str,
    ) -> Result<(), NotOfCase> {
        let (file, what) = (self.name.clone(), what.to_owned());
        let theirs = self.dose.frame_of_reference_uid.trim();
        if let Some(ours) = frames
            .clone()
            .find(|ours| !theirs.is_empty() && *ours != theirs)
        {
            return Err(NotOfCase::Frame {
                file,
                theirs: theirs.to_owned(),
                what,
                ours: ours.to_owned(),
            });
        }
        let same = self.patient.is_same(patient);
        if same == Some(false) {
            let [theirs, ours] = [&self.patient, patient].map(PatientInfo::in_words);
            return Err(NotOfCase::Patient {
                file,
                theirs,
                what,
                ours,
            });
        }
        let names_patient = !self.patient.in_words().is_empty();
        let silent = [
            (!self.is_stated, "quantity"),
            (same.is_none() && !names_patient, "patient"),
            (
                theirs.is_empty() && frames.count() > 0,
                "frame of reference",
            ),
        ];
        let silent: Vec<&str> = silent
            .iter()
            .filter(|(silent, _)| *silent)
            .map(|(_, fact)| *fact)
            .collect();
        if !silent.is_empty() {
            let facts = silent.join(", ");
            let message = format!(
                "the file says nothing of its {facts}: it is taken as the dose in Gy that belongs to {what}"
            );
            self.remark(message, file);
        } else if same.is_none() {
            let theirs = self.patient.in_words();
            let message = format!(
                "the dose is of the patient {theirs}, and {what} says nothing of its patient"
            );
            self.remark(message, file);
        }
        Ok(())
    }

    fn remark(&mut self, message: String, file: String) {
        self.dose.remark([message.as_str()]);
        let remark = Remark::warning(message, vec![file]);
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Takes the dose although it is of another patient, as its user answers: the dose says so from then on.
    pub fn accept(&mut self) {
        let caveat = format!(
            "dose of another patient, {}, accepted",
            self.patient.in_words()
        );
        if !self.dose.caveats.contains(&caveat) {
            self.dose.caveats.push(caveat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::DoseStatus;
    use files::demo;
    use geometry::{Grid, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    fn file(id: &str, frame: &str) -> DoseFile {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [2, 2, 2]).expect("a grid");
        DoseFile {
            name: "dose.mha".to_owned(),
            dose: Dose {
                gy: Arc::new(Volume::new(Arc::new(grid), vec![1.0; 8])),
                status: DoseStatus::Imported,
                label: String::new(),
                frame_of_reference_uid: frame.to_owned(),
                receipt: None,
                caveats: Vec::new(),
                remarks: Vec::new(),
                part: None,
            },
            patient: PatientInfo {
                id: id.to_owned(),
                ..PatientInfo::default()
            },
            remarks: Vec::new(),
            is_stated: true,
        }
    }

    #[test]
    fn a_dose_is_of_the_case_by_patient_and_frame() {
        let case = demo::build("water").expect("a demo");
        let frame = case.stated_frames().next().expect("a frame").to_owned();
        let id = case.patient.id.clone();
        let mut dose_file = file(&id, &frame);
        assert_eq!(
            (dose_file.check(&case), dose_file.remarks.len()),
            (Ok(()), 0)
        );
        for (mut silent, fact) in [
            (file("", &frame), "nothing of its patient:"),
            (file("", ""), "nothing of its patient, frame of reference:"),
            (
                DoseFile {
                    is_stated: false,
                    ..file(&id, "")
                },
                "nothing of its quantity, frame of reference:",
            ),
        ] {
            assert_eq!((silent.check(&case), silent.remarks.len()), (Ok(()), 1));
            assert!(
                silent.remarks[0].message.contains(fact),
                "{:?}",
                silent.remarks
            );
        }
        let mut other = file("X-9", &frame);
        let why = other.check(&case).expect_err("another patient").to_string();
        assert!(
            why.contains("X-9") && why.contains(&id) && why.contains("dose.mha"),
            "{why}"
        );
        other.accept();
        assert_eq!(
            other.dose.caveats,
            ["dose of another patient, X-9, accepted"]
        );
        assert!(matches!(
            file(&id, "1.2.3").check(&case),
            Err(NotOfCase::Frame { .. })
        ));
        assert!(matches!(
            file("a", "").check_dose(&file("b", "")),
            Err(NotOfCase::Patient { .. })
        ));
        assert!(matches!(
            file("a", "1.2").check_dose(&file("a", "1.3")),
            Err(NotOfCase::Frame { .. })
        ));
        assert!(file("a", "1.2").check_dose(&file("a", "")).is_ok());
        // The frame of an image that is no DICOM series is this program's own: no dose can name it.
        let mut volume = case.clone();
        Arc::make_mut(volume.ct.as_mut().expect("a CT"))
            .plane_uids
            .clear();
        Arc::make_mut(&mut volume.structures)
            .frame_of_reference_uid
            .clear();
        assert!(file(&id, "1.2.3").check(&volume).is_ok());
    }
}
