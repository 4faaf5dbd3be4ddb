//! A real case, opened. Not in `mod.rs`, because not all users of its folder open it.

use crate::common::patient_case;
use beamsight::case::Case;
use beamsight::dicom::{Choice, load, scan};

/// Opens it as the window does; `None` where [`patient_case`] has none.
pub fn open(name: &str) -> Option<Case> {
    let folder = patient_case(name)?;
    let catalogue = scan(&folder, &|_| true).unwrap();
    Some(load(&catalogue, Choice::default(), &|_| true).unwrap())
}
