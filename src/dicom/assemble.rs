//! A catalogue -> a case: one CT, and of the rest what belongs to it.

use super::catalogue::{Catalogue, Entry, Series};
use super::object::file_name;
use super::{DicomError, Progress, read_ct, read_structures};
use crate::case::{Case, Remark};
use std::sync::Arc;

/// What the user wants of a catalogue, by index; what is `None` is chosen by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Index into [`Catalogue::series`].
    pub series: Option<usize>,
    /// Index into [`Catalogue::structure_sets`].
    pub structure_set: Option<usize>,
}

/// Loads a case: the chosen CT series (else the largest, one with structures first), its structures, and the plans
/// and doses of its frame of reference. Nothing of another frame is overlaid: it is left out with a remark.
///
/// # Errors
/// [`DicomError::SeveralPatients`] where no choice tells whom to show, [`DicomError::NoSuchChoice`],
/// [`DicomError::NothingToShow`], and what [`read_ct`] says.
pub fn load(catalogue: &Catalogue, choice: Choice, progress: Progress) -> Result<Case, DicomError> {
    let series = chosen_series(catalogue, choice)?;
    let patient = patient_of(catalogue, choice, series)?;
    let ct = series.map(|s| read_ct(s, progress)).transpose()?;
    let mut remarks = catalogue.remarks.clone();
    let sets: Vec<&Entry> = catalogue.structure_sets.iter().filter(|e| e.patient == patient).collect();
    let mut structures = None;
    for set in sets {
        let belongs = series.is_none_or(|s| {
            refers_to(set, s)
                || (!s.frame_of_reference_uid.is_empty()
                    && s.frame_of_reference_uid == set.frame_of_reference_uid)
        });
        if !belongs {
            remarks.push(Remark::warning(
                "the structures are drawn in another frame of reference and are left out",
                vec![file_name(&set.path)],
            ));
        } else if structures.is_none() {
            structures = Some(read_structures(&set.path)?);
        }
    }
    Ok(Case {
        patient: catalogue.patients.get(patient).cloned().unwrap_or_default(),
        source: catalogue.place.clone(),
        ct: ct.map(Arc::new),
        structures: Arc::new(structures.unwrap_or_default()),
        remarks,
        ..Case::default()
    })
}

fn refers_to(set: &Entry, series: &Series) -> bool {
    set.references.contains(&series.uid)
}

fn chosen_series(catalogue: &Catalogue, choice: Choice) -> Result<Option<&Series>, DicomError> {
    if let Some(index) = choice.series {
        return catalogue.series.get(index).map(Some).ok_or_else(|| DicomError::NoSuchChoice {
            place: catalogue.place.clone(),
            what: "series",
            index,
            count: catalogue.series.len(),
        });
    }
    let has_structures = |s: &Series| catalogue.structure_sets.iter().any(|e| refers_to(e, s));
    Ok(catalogue
        .series
        .iter()
        .filter(|s| s.modality == "CT" && !s.multiframe)
        .max_by_key(|s| (has_structures(s), s.planes)))
}

fn patient_of(catalogue: &Catalogue, choice: Choice, series: Option<&Series>) -> Result<usize, DicomError> {
    if catalogue.patients.len() > 1 && choice.series.is_none() {
        return Err(DicomError::SeveralPatients {
            place: catalogue.place.clone(),
            patients: catalogue.patients.iter().map(|p| format!("{} {}", p.id, p.name)).collect(),
        });
    }
    Ok(series.map_or(0, |s| s.patient))
}
