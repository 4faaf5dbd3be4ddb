//! A real case, read. Beside `mod.rs`, as not all who have its folder read it.

use crate::common::patient_case;
use beamsight::case::Case;
use beamsight::dicom::{Choice, load, scan};

/// As the window opens it; `None` where [`patient_case`] has none.
pub fn open(name: &str) -> Option<Case> {
    let folder = patient_case(name)?;
    let catalogue = scan(&folder, &|_| true).unwrap();
    Some(load(&catalogue, Choice::default(), &|_| true).unwrap())
}
