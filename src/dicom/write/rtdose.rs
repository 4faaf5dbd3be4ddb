//! Dose -> RT dose storage, and why a dose is no plan dose (`why_no_plan_dose`).

use super::data_set::{DataSet, decimal, new_series, shortened};
use super::{Belonging, WriteError};
use case::{Dose, DoseStatus, new_uid};
use dicom_core::value::{C, PrimitiveValue};
use dicom_dictionary_std::{tags, uids};
use geometry::Volume;
use std::path::Path;

/// Bits of a stored dose value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoseBits {
    Sixteen,
    #[default]
    ThirtyTwo,
}

impl DoseBits {
    fn bits(self) -> u32 {
        match self {
            Self::Sixteen => 16,
            Self::ThirtyTwo => 32,
        }
    }

    pub(super) fn largest(self) -> f64 {
        2f64.powi(self.bits() as i32) - 1.0
    }
}

/// Why a dose may not be written as a plan dose; `None` where it may.
pub fn why_no_plan_dose(status: DoseStatus, caveats: &[String]) -> Option<String> {
    let remedy = match status {
        DoseStatus::Final | DoseStatus::Imported if caveats.is_empty() => return None,
        DoseStatus::Final | DoseStatus::Imported | DoseStatus::Partial => {
            "what is missing is not computed here: take it out of the plan"
        }
        DoseStatus::Coarse => "compute it with the default grid or a finer one, and all directions",
        DoseStatus::Preview | DoseStatus::Stale => "compute it to its end",
        DoseStatus::Failed => "look at why it failed and compute it again",
    };
    let status_text = case::status_text(status, caveats);
    Some(format!(
        "the dose is {status_text}; only a final dose leaves as the dose of a plan: {remedy}, or write a .mha, which says what it is"
    ))
}

/// The part of a treatment that a dose is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoseOf {
    Plan,
    /// All fractions of one beam of the first fraction group, by its number.
    Beam(u32),
}

/// A dose as a file tells it.
#[derive(Clone, Copy, Debug)]
pub struct DoseFile<'a> {
    pub dose: &'a Dose,
    pub of: DoseOf,
    pub bits: DoseBits,
    /// How it was computed, and what of the plan it does not count: ImageComments.
    pub comment: &'a str,
    /// Mean relative standard deviation of a Monte Carlo dose, percent, for DoseComment.
    pub uncertainty_percent: Option<f64>,
}

/// Writes the dose of a plan.
///
/// # Errors
/// As [`write_dose_file`].
pub fn write_dose(
    path: &Path,
    dose: &Dose,
    belonging: &Belonging,
    bits: DoseBits,
) -> Result<(), WriteError> {
    let file = DoseFile {
        dose,
        of: DoseOf::Plan,
        bits,
        comment: "",
        uncertainty_percent: None,
    };
    write_dose_file(path, &file, belonging)
}

/// Writes a dose: Gy, physical, the full range of the stored integers.
///
/// # Errors
/// [`WriteError`]; refused are a dose that is neither final nor imported, one that does not count all of its
/// plan, values that are not finite, and a dose without a plan UID.
pub fn write_dose_file(
    path: &Path,
    file: &DoseFile,
    belonging: &Belonging,
) -> Result<(), WriteError> {
    let DoseFile {
        dose,
        of: dose_of,
        bits,
        comment,
        uncertainty_percent,
    } = *file;
    if let Some(why) = why_no_plan_dose(dose.status, &dose.caveats) {
        return Err(WriteError::content(path, why));
    }
    let Some(plan_uid) = &belonging.plan_uid else {
        return Err(WriteError::content(
            path,
            "a plan dose must name its plan, and this plan has no UID".to_owned(),
        ));
    };
    if let Some(bad) = dose.gy.data().iter().find(|v| !v.is_finite()) {
        return Err(WriteError::content(
            path,
            format!("the dose holds the value {bad}"),
        ));
    }
    let (scaling, stored) = quantised(&dose.gy, bits);
    let grid = dose.gy.grid();
    let [nx, ny, nz] = grid.size();
    let [dx, dy] = grid.spacing_xy_mm();
    let [row, column, _] = grid.axes();
    let series = new_series("RTDOSE", 4, &dose.label);
    let mut set = DataSet::object(uids::RT_DOSE_STORAGE, &new_uid(), belonging, &series);
    set.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    set.numbers(tags::IMAGE_POSITION_PATIENT, &grid.origin_mm().to_array());
    set.numbers(
        tags::IMAGE_ORIENTATION_PATIENT,
        &[row.to_array(), column.to_array()].concat(),
    );
    set.numbers(tags::PIXEL_SPACING, &[dy, dx]);
    match grid.even_plane_spacing_mm() {
        Some(dz) => set.numbers(tags::SLICE_THICKNESS, &[dz]),
        None => set.text(tags::SLICE_THICKNESS, ""),
    }
    set.whole(tags::SAMPLES_PER_PIXEL, 1);
    set.text(tags::PHOTOMETRIC_INTERPRETATION, "MONOCHROME2");
    set.whole(tags::NUMBER_OF_FRAMES, nz as i64);
    set.put(
        tags::FRAME_INCREMENT_POINTER,
        PrimitiveValue::from(tags::GRID_FRAME_OFFSET_VECTOR),
    );
    set.whole(tags::ROWS, ny as i64);
    set.whole(tags::COLUMNS, nx as i64);
    set.whole(tags::BITS_ALLOCATED, i64::from(bits.bits()));
    set.whole(tags::BITS_STORED, i64::from(bits.bits()));
    set.whole(tags::HIGH_BIT, i64::from(bits.bits()) - 1);
    set.whole(tags::PIXEL_REPRESENTATION, 0);
    set.text(tags::DOSE_UNITS, "GY");
    set.text(tags::DOSE_TYPE, "PHYSICAL");
    let said = match uncertainty_percent {
        Some(percent) => format!(
            "{} Monte Carlo dose, 1 SD {percent:.2} %",
            dose.status_text()
        ),
        None => format!("{} dose", dose.status_text()),
    };
    set.text(
        tags::DOSE_COMMENT,
        &shortened(&format!("{said}, not for clinical use"), 64),
    );
    let reservations: String = dose
        .remarks
        .iter()
        .map(|remark| format!(" To know: {remark}."))
        .collect();
    let comment = format!("{comment}{reservations}");
    if !comment.is_empty() {
        set.text(
            tags::IMAGE_COMMENTS,
            &shortened(comment.trim_start(), 10_240),
        );
    }
    set.text(
        tags::DOSE_SUMMATION_TYPE,
        if dose_of == DoseOf::Plan {
            "PLAN"
        } else {
            "BEAM"
        },
    );
    set.numbers(tags::GRID_FRAME_OFFSET_VECTOR, grid.planes_mm());
    set.text(tags::DOSE_GRID_SCALING, &scaling);
    set.text(tags::TISSUE_HETEROGENEITY_CORRECTION, "IMAGE");
    let mut plan = DataSet::reference(uids::RT_PLAN_STORAGE, plan_uid);
    if let DoseOf::Beam(number) = dose_of {
        let mut beam = DataSet::new();
        beam.whole(tags::REFERENCED_BEAM_NUMBER, i64::from(number));
        let mut group = DataSet::new();
        group.items(tags::REFERENCED_BEAM_SEQUENCE, vec![beam]);
        group.whole(
            tags::REFERENCED_FRACTION_GROUP_NUMBER,
            i64::from(belonging.fraction_group.unwrap_or(1)),
        );
        plan.items(tags::REFERENCED_FRACTION_GROUP_SEQUENCE, vec![group]);
    }
    set.items(tags::REFERENCED_RT_PLAN_SEQUENCE, vec![plan]);
    set.put(tags::PIXEL_DATA, PrimitiveValue::U16(stored));
    set.write(path)
}

/// Scaling and stored integers as 16-bit words, low word first. The scaling is first rounded up to a decimal
/// string, so that the largest dose fits, and only then used as the divisor.
fn quantised(gy: &Volume<f32>, bits: DoseBits) -> (String, C<u16>) {
    let max = f64::from(gy.data().iter().copied().fold(0.0, f32::max));
    let ideal = if max > 0.0 { max / bits.largest() } else { 1.0 };

    // 16 characters hold ten digits of any number: one step of the tenth digit is enough to be above.
    let (text, scaling) = [1.0, 1.0 + 1e-9, 1.0 + 1e-8]
        .iter()
        .map(|f| decimal(ideal * f))
        .find_map(|text| {
            let value = text.parse::<f64>().ok().filter(|value| *value >= ideal)?;
            Some((text, value))
        })
        .unwrap_or_else(|| ("1".to_owned(), 1.0));
    let words = match bits {
        DoseBits::Sixteen => gy
            .data()
            .iter()
            .map(|v| stored_value(v, scaling, bits) as u16)
            .collect(),
        DoseBits::ThirtyTwo => gy
            .data()
            .iter()
            .map(|v| stored_value(v, scaling, bits) as u32)
            .flat_map(|n| [(n & 0xffff) as u16, (n >> 16) as u16])
            .collect(),
    };
    (text, words)
}

fn stored_value(v: &f32, scaling: f64, bits: DoseBits) -> f64 {
    (f64::from(*v) / scaling).round().clamp(0.0, bits.largest())
}
