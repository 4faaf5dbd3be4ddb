//! Doses that verbs read from files, and whether they belong to a case.

use crate::case::{Dose, PatientInfo, StructureSet};
use crate::dicom::{read_dose, read_patient};
use crate::files::read_dose_volume;
use anyhow::bail;
use std::path::Path;

/// A dose from a file and its patient; a `.mha` has neither frame nor patient.
pub fn read(path: &Path) -> anyhow::Result<(Dose, PatientInfo)> {
    if !path.exists() {
        bail!("there is no '{}'; name a .mha volume in Gy or an RTDOSE file", path.display());
    }
    if path.is_dir() {
        bail!("'{}' is a folder; name one RTDOSE file or a .mha volume in Gy", path.display());
    }
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mha")) {
        return Ok((read_dose_volume(path)?, PatientInfo::default()));
    }
    Ok((read_dose(path)?.0, read_patient(path)?))
}

/// Data of two patients are combined only on request.
pub fn check_patient(any_patient: bool, names: [&str; 2], patients: [&PatientInfo; 2]) -> anyhow::Result<()> {
    let [a, b] = patients.map(|patient| patient.id.trim());
    if any_patient || a.is_empty() || b.is_empty() || a == b {
        return Ok(());
    }
    let [one, other] = names;
    bail!(
        "{one} is of patient {a}, {other} of patient {b}: they belong to one patient; where both IDs are his, add --any-patient"
    )
}

/// Positions of structures are meaningless in the frame of another dose.
pub fn check_frame(set: &StructureSet, dose: &Dose, name: &str) -> anyhow::Result<()> {
    let (structures, frame) = (&set.frame_of_reference_uid, &dose.frame_of_reference_uid);
    if !structures.is_empty() && !frame.is_empty() && structures != frame {
        bail!(
            "the structures of the case have the frame of reference {structures} and {name} {frame}; name the case that the dose \
             belongs to"
        );
    }
    Ok(())
}
