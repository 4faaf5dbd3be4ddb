//! Statements of plan and dose files about themselves and each other, beyond what a case holds: the plan and beam of
//! each dose, and where a plan states doses.

use super::DicomError;
use super::object::{Attributes, Item, open};
use super::write::BEAM_DOSE_SPECIFICATION_POINT;
use case::BeamDose;
use dicom_dictionary_std::tags;
use glam::DVec3;
use std::collections::BTreeMap;
use std::path::Path;

/// Statements of a dose file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedDose {
    /// DoseType; empty where it is not stated.
    pub kind: String,
    /// DoseSummationType; empty where it is not stated.
    pub summation: String,
    /// SOP instance UIDs of the plans that it is a dose of.
    pub plans: Vec<String>,
    /// Numbers of the beams that it is a dose of.
    pub beams: Vec<u32>,
}

/// Statements of a plan file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedPlan {
    /// TreatmentMachineName by beam number.
    pub machines: BTreeMap<u32, String>,
    /// Doses of beams at points for one fraction; those without a point are left out.
    pub beam_doses: Vec<BeamDose>,
    /// Dose reference points with coordinates, by their description.
    pub references: Vec<(String, DVec3)>,
}

/// # Errors
/// [`DicomError`] of a file that cannot be read.
pub fn read_stated_dose(path: &Path) -> Result<StatedDose, DicomError> {
    let object = open(path)?;
    let mut stated = StatedDose {
        kind: object.text(tags::DOSE_TYPE).unwrap_or_default(),
        summation: object.text(tags::DOSE_SUMMATION_TYPE).unwrap_or_default(),
        ..StatedDose::default()
    };
    for plan in object.items(tags::REFERENCED_RT_PLAN_SEQUENCE) {
        stated
            .plans
            .extend(plan.text(tags::REFERENCED_SOP_INSTANCE_UID));
        for group in plan.items(tags::REFERENCED_FRACTION_GROUP_SEQUENCE) {
            let beams = group.items(tags::REFERENCED_BEAM_SEQUENCE).iter();
            stated
                .beams
                .extend(beams.filter_map(|beam| beam.unsigned(tags::REFERENCED_BEAM_NUMBER)));
        }
    }
    stated.plans.sort();
    stated.plans.dedup();
    Ok(stated)
}

/// # Errors
/// [`DicomError`] of a file that cannot be read.
pub fn read_stated_plan(path: &Path) -> Result<StatedPlan, DicomError> {
    let object = open(path)?;
    let ion = object.items(tags::ION_BEAM_SEQUENCE);
    let beams = if ion.is_empty() {
        object.items(tags::BEAM_SEQUENCE)
    } else {
        ion
    };
    let groups = object.items(tags::FRACTION_GROUP_SEQUENCE).iter();
    let in_groups = groups.flat_map(|group| group.items(tags::REFERENCED_BEAM_SEQUENCE));
    Ok(StatedPlan {
        machines: beams
            .iter()
            .filter_map(|beam: &Item| {
                Some((
                    beam.unsigned(tags::BEAM_NUMBER)?,
                    beam.text(tags::TREATMENT_MACHINE_NAME)?,
                ))
            })
            .collect(),
        beam_doses: in_groups
            .filter_map(|beam: &Item| {
                Some(BeamDose {
                    beam: beam.unsigned(tags::REFERENCED_BEAM_NUMBER)?,
                    point_mm: beam.vector(BEAM_DOSE_SPECIFICATION_POINT)?,
                    gy: beam.number(tags::BEAM_DOSE)?,
                })
            })
            .collect(),
        references: object
            .items(tags::DOSE_REFERENCE_SEQUENCE)
            .iter()
            .filter_map(|item: &Item| {
                let point_mm = item.vector(tags::DOSE_REFERENCE_POINT_COORDINATES)?;
                Some((
                    item.text(tags::DOSE_REFERENCE_DESCRIPTION)
                        .unwrap_or_default(),
                    point_mm,
                ))
            })
            .collect(),
    })
}
