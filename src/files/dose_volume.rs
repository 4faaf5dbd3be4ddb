//! A dose as a `.mha` volume in Gy with its status, so that a partial dose or a preview is still one when it
//! is read again.

use super::mha::{self, Facts, MhaError, Quantity};
use case::{Case, Dose, DoseStatus, DoseValueError, PatientInfo};
use geometry::Volume;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Begin of the comment in a volume written here; the status of the dose follows.
const MARK: &str = "Beamsight: ";
/// End of the status: no status and no caveat contains it.
const END: &str = " | ";
/// The word for a standard deviation after the status.
const DEVIATION: &str = "standard deviation";

/// Why a volume is no dose.
#[derive(Debug, Error)]
pub enum DoseVolumeError {
    #[error(transparent)]
    Mha(#[from] MhaError),
    #[error("'{path}' has values down to {lowest}: this is no dose in Gy; is it a CT?")]
    NoDose { path: PathBuf, lowest: f32 },
    #[error("'{path}' holds the standard deviation of a dose, not a dose; name the file of --out")]
    Deviation { path: PathBuf },
}

/// Writes a volume that belongs to a dose (the dose itself, its standard deviation) with the dose's status, its patient and
/// its frame of reference.
///
/// # Errors
/// [`MhaError`].
pub fn write_dose_volume(
    path: &Path,
    quantity: Quantity,
    volume: &Volume<f32>,
    dose: &Dose,
    case: &Case,
) -> Result<(), MhaError> {
    let frame = case.stated_frames().next().unwrap_or_default();
    mha::write_with(
        path,
        volume,
        &facts_of_dose(quantity, dose, &case.patient, frame),
    )
}

/// The facts of a dose or its deviation, the status among them: of a file, and of an image of another library.
pub fn facts_of_dose(
    quantity: Quantity,
    dose: &Dose,
    patient: &PatientInfo,
    frame_of_reference_uid: &str,
) -> Facts {
    let what = if quantity == Quantity::DoseDeviation {
        DEVIATION
    } else {
        "dose"
    };
    let dose_status = dose.status_text();
    let comment = format!(
        "{MARK}{dose_status}{END}{what} in Gy of '{}', not for clinical use",
        dose.label
    );
    let remarks = dose.remarks.join(END);
    Facts {
        comment,
        dose_status,
        remarks,
        ..Facts::new(quantity, patient, frame_of_reference_uid)
    }
}

/// The dose of values in Gy with the facts that stand beside them: imported, or of its stated status where that is worse.
pub fn dose_of_facts(gy: Arc<Volume<f32>>, facts: &Facts, label: String) -> Dose {
    let (reported, mut caveats) = stated_status(facts);
    let below_zero = DoseValueError::caveat(&gy);
    let worst_of_file = if below_zero.is_some() {
        DoseStatus::Partial
    } else {
        DoseStatus::Imported
    };
    caveats.extend(below_zero.filter(|caveat| !caveats.contains(caveat)));
    Dose {
        gy,
        status: worst_of_file.worst(reported),
        label,
        frame_of_reference_uid: facts.frame_of_reference_uid.clone(),
        receipt: None,
        caveats,
        remarks: facts
            .remarks
            .split(END)
            .filter(|remark| !remark.is_empty())
            .map(str::to_owned)
            .collect(),
        part: None,
    }
}

/// Reads a dose in Gy: imported, or of its stated status where that is worse. With what its header states.
///
/// # Errors
/// [`DoseVolumeError`].
pub fn read_dose_volume(path: &Path) -> Result<(Dose, Facts), DoseVolumeError> {
    let (gy, facts) = mha::read_as(path, Quantity::Dose)?;
    let lowest = gy.data().iter().copied().fold(f32::INFINITY, f32::min);
    if lowest < -100.0 {
        return Err(DoseVolumeError::NoDose {
            path: path.to_owned(),
            lowest,
        });
    }
    if facts.comment.starts_with(MARK) && facts.comment.contains(&format!("{END}{DEVIATION} ")) {
        // Written before headers stated the quantity.
        return Err(DoseVolumeError::Deviation {
            path: path.to_owned(),
        });
    }
    let label = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    Ok((dose_of_facts(Arc::new(gy), &facts, label), facts))
}

/// The dose status that facts state, by its key or, in older files, in the comment; final for another program's volume.
fn stated_status(facts: &Facts) -> (DoseStatus, Vec<String>) {
    let in_comment = facts
        .comment
        .strip_prefix(MARK)
        .map(|after_begin| after_begin.split(END).next().unwrap_or(after_begin));
    let by_key = Some(facts.dose_status.as_str()).filter(|status_text| !status_text.is_empty());
    let Some(status_text) = by_key.or(in_comment) else {
        return (DoseStatus::Final, Vec::new());
    };
    let (word, caveats) = status_text.split_once(": ").unwrap_or((status_text, ""));
    let caveats = caveats
        .split(", ")
        .filter(|c| !c.is_empty())
        .map(str::to_owned)
        .collect();
    // A status of a later version is unknown, so the dose is not to be trusted.
    (
        DoseStatus::from_word(word).unwrap_or(DoseStatus::Failed),
        caveats,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;
    use glam::DVec3;

    #[test]
    fn a_dose_read_again_is_worth_no_more_than_it_was() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [3, 3, 3]).expect("a grid");
        let gy = Arc::new(Volume::new(Arc::new(grid), vec![1.0; 27]));
        let path =
            std::env::temp_dir().join(format!("beamsight-dose-volume-{}.mha", std::process::id()));
        let read_back = |status, caveats: &[&str]| {
            let dose = Dose {
                gy: Arc::clone(&gy),
                status,
                label: "Plan 'a | b'".to_owned(),
                frame_of_reference_uid: String::new(),
                receipt: None,
                caveats: caveats.iter().map(|c| (*c).to_owned()).collect(),
                remarks: Vec::new(),
                part: None,
            };
            write_dose_volume(&path, Quantity::Dose, &dose.gy, &dose, &Case::default())
                .expect("written");
            read_dose_volume(&path).expect("read").0.status_text()
        };
        assert_eq!(read_back(DoseStatus::Final, &[]), "imported");
        assert_eq!(read_back(DoseStatus::Final, &["bolus"]), "imported: bolus");
        assert_eq!(read_back(DoseStatus::Coarse, &[]), "coarse");
        assert_eq!(
            read_back(
                DoseStatus::Partial,
                &["2 of 3 beams", "table pitch 3 degrees"]
            ),
            "partial: 2 of 3 beams, table pitch 3 degrees"
        );
        assert_eq!(
            read_back(DoseStatus::Preview, &[&"long ".repeat(60)])
                .split(':')
                .next(),
            Some("preview")
        );
        mha::write(&path, &gy).expect("written");
        assert_eq!(
            read_dose_volume(&path).expect("read").0.status_text(),
            "imported"
        );
        let older = Facts {
            comment: "Beamsight: coarse | dose in Gy of 'x'".to_owned(),
            ..Facts::default()
        };
        mha::write_with(&path, &gy, &older).expect("written");
        assert_eq!(
            read_dose_volume(&path).expect("read").0.status_text(),
            "coarse"
        );
        let other_reader = Facts {
            dose_status: "partial: bolus".to_owned(),
            ..Facts::default()
        };
        mha::write_with(&path, &gy, &other_reader).expect("written");
        assert_eq!(
            read_dose_volume(&path).expect("read").0.status_text(),
            "partial: bolus"
        );
        let mut values = vec![1.0; 27];
        values[13] = -0.5;
        let below_zero = Volume::new(Arc::clone(gy.grid()), values);
        mha::write(&path, &below_zero).expect("written");
        let status_text = read_dose_volume(&path).expect("read").0.status_text();
        assert_eq!(
            status_text,
            "partial: values below 0 Gy (-0.5 at voxel 1 1 1)"
        );
        std::fs::remove_file(&path).expect("removed");
    }

    /// A deviation or a depth has numbers of the size of a dose: only the header tells them apart.
    #[test]
    fn a_volume_states_its_quantity_patient_and_frame() {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::splat(2.0), [3, 3, 3]).expect("a grid");
        let volume = Volume::new(Arc::new(grid), vec![60.0; 27]);
        let path = std::env::temp_dir().join(format!("beamsight-facts-{}.mha", std::process::id()));
        let patient = PatientInfo {
            id: "P 1".to_owned(),
            name: "山田^太郎\n".to_owned(),
            ..PatientInfo::default()
        };
        let facts = Facts::new(Quantity::Dose, &patient, "1.2.3");
        mha::write_with(&path, &volume, &facts).expect("written");
        let (dose, stated) = read_dose_volume(&path).expect("read");
        assert_eq!(
            (
                dose.frame_of_reference_uid.as_str(),
                stated.patient_id.as_str()
            ),
            ("1.2.3", "P 1")
        );
        assert_eq!(stated.patient_name, "山田^太郎");
        for (quantity, says) in [
            (Quantity::RadiologicalDepth, "radiological depth in mm"),
            (Quantity::DoseDeviation, "standard deviation"),
            (Quantity::Gamma, "gamma index"),
            (Quantity::Hu, "CT number"),
        ] {
            mha::write_with(&path, &volume, &Facts::new(quantity, &patient, "")).expect("written");
            let why = read_dose_volume(&path).unwrap_err().to_string();
            assert!(
                why.contains(says) && why.contains("not the absorbed dose in Gy"),
                "{why}"
            );
        }
        let old = "Beamsight: final | standard deviation in Gy of 'Plan', not for clinical use";
        let old = Facts {
            comment: old.to_owned(),
            ..Facts::default()
        };
        mha::write_with(&path, &volume, &old).expect("written");
        assert!(
            read_dose_volume(&path)
                .unwrap_err()
                .to_string()
                .contains("standard deviation")
        );
        std::fs::remove_file(&path).expect("removed");
    }
}
