//! A real case, opened.

use super::patient_case;
use beamsight::case::Case;
use beamsight::dicom::{Choice, load, scan};

/// Opens it as the window does; `None` where [`patient_case`] has none.
pub fn open(name: &str) -> Option<Case> {
    let folder = patient_case(name)?;
    let catalogue = scan(&folder, &|_| true).unwrap();
    Some(load(&catalogue, Choice::default(), &|_| true).unwrap())
}
