//! Doses that verbs read from files, and whether they belong to a case.

use anyhow::bail;
use case::{Case, Remark};
use open::{DoseFile, NotOfCase};

/// Remarks that stand with a dose of a file: on the file, and on the case that it is used with.
pub fn remarks_of(file: &DoseFile) -> Vec<String> {
    let of_file: Vec<&str> = file.remarks.iter().map(|r| r.message.as_str()).collect();
    let of_case = file
        .dose
        .remarks
        .iter()
        .filter(|message| !of_file.contains(&message.as_str()))
        .cloned();
    file.remarks
        .iter()
        .map(Remark::with_files)
        .chain(of_case)
        .collect()
}

/// The outcome of a check: another patient is taken only on request, and said by the dose then.
pub fn taken(
    file: &mut DoseFile,
    checked: Result<(), NotOfCase>,
    any_patient: bool,
) -> anyhow::Result<()> {
    match checked {
        Err(NotOfCase::Patient { .. }) if any_patient => file.accept(),
        Err(other @ NotOfCase::Patient { .. }) => {
            bail!(
                "{other}: they belong to one patient; where both are the same person, add --any-patient"
            )
        }
        checked => checked?,
    }
    Ok(())
}

/// Checks that two doses are of one patient and one frame of reference.
pub fn check_pair([a, b]: [&mut DoseFile; 2], any_patient: bool) -> anyhow::Result<()> {
    let checked = b.check_dose(a);
    taken(b, checked, any_patient)?;
    // The other way round nothing is refused: it is remarked on what this file does not state.
    let _ = a.check_dose(b);
    Ok(())
}

/// Checks that a dose is of a case.
pub fn check(file: &mut DoseFile, case: &Case, any_patient: bool) -> anyhow::Result<()> {
    let checked = file.check(case);
    taken(file, checked, any_patient)
}
