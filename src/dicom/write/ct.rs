//! Ct -> CT image storage, one file a plane.

use super::data_set::{DataSet, Series};
use super::{Belonging, WriteError};
use crate::Progress;
use case::Ct;
use dicom_core::value::{C, PrimitiveValue};
use dicom_dictionary_std::{tags, uids};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Writes a CT as `CT0001.dcm`, `CT0002.dcm`, ... into a folder that exists: whole Hounsfield units, signed 16 bits.
///
/// # Errors
/// [`WriteError`]; [`WriteError::Cancelled`] when `progress` returns it. Files already written remain.
pub fn write_ct(
    folder: &Path,
    ct: &Ct,
    belonging: &Belonging,
    progress: Progress,
) -> Result<Vec<PathBuf>, WriteError> {
    let planes = ct.hu.grid().size()[2];
    let written = AtomicUsize::new(0);
    (0..planes)
        .into_par_iter()
        .map(|k| {
            let path = folder.join(format!("CT{:04}.dcm", k + 1));
            plane(ct, k, belonging).write(&path)?;
            let done = written.fetch_add(1, Ordering::Relaxed) + 1;
            if progress(done as f32 / planes as f32) {
                Ok(path)
            } else {
                Err(WriteError::Cancelled)
            }
        })
        .collect()
}

fn plane(ct: &Ct, k: usize, belonging: &Belonging) -> DataSet {
    let grid = ct.hu.grid();
    let [nx, ny, _] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let [row, column, normal] = grid.axes();
    let first = grid.centre_mm(0, 0, k);
    let series = Series {
        modality: "CT",
        uid: ct.series_uid.clone(),
        number: 1,
        description: &ct.description,
    };
    let sop_uid = ct.plane_uids.get(k).cloned().unwrap_or_else(case::new_uid);
    let mut set = DataSet::object(uids::CT_IMAGE_STORAGE, &sop_uid, belonging, &series);
    set.text(tags::IMAGE_TYPE, "DERIVED\\SECONDARY\\AXIAL");
    set.text(tags::PATIENT_POSITION, ct.position.code());
    set.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.text(tags::LATERALITY, "");
    set.text(tags::KVP, "");
    set.text(tags::ACQUISITION_NUMBER, "");
    set.whole(tags::INSTANCE_NUMBER, k as i64 + 1);
    set.numbers(tags::IMAGE_POSITION_PATIENT, &first.to_array());
    set.numbers(
        tags::IMAGE_ORIENTATION_PATIENT,
        &[row.to_array(), column.to_array()].concat(),
    );
    set.numbers(tags::PIXEL_SPACING, &[dy, dx]);
    set.numbers(tags::SLICE_THICKNESS, &[grid.plane_thickness_mm(k)]);
    set.numbers(tags::SLICE_LOCATION, &[first.dot(normal)]);
    set.whole(tags::SAMPLES_PER_PIXEL, 1);
    set.text(tags::PHOTOMETRIC_INTERPRETATION, "MONOCHROME2");
    set.whole(tags::ROWS, ny as i64);
    set.whole(tags::COLUMNS, nx as i64);
    set.whole(tags::BITS_ALLOCATED, 16);
    set.whole(tags::BITS_STORED, 16);
    set.whole(tags::HIGH_BIT, 15);
    set.whole(tags::PIXEL_REPRESENTATION, 1);
    set.numbers(tags::RESCALE_INTERCEPT, &[0.0]);
    set.numbers(tags::RESCALE_SLOPE, &[1.0]);
    set.text(tags::RESCALE_TYPE, "HU");
    set.numbers(tags::WINDOW_CENTER, &[40.0]);
    set.numbers(tags::WINDOW_WIDTH, &[400.0]);
    // Words of 16 bits; the cast keeps the bits of the signed number.
    let words: C<u16> = ct
        .hu
        .plane(k)
        .iter()
        .map(|v| v.round().clamp(-32_768.0, 32_767.0) as i16 as u16)
        .collect();
    set.put(tags::PIXEL_DATA, PrimitiveValue::U16(words));
    set
}
