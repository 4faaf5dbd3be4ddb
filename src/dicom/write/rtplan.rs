//! Plan -> RT plan storage, and why a plan cannot be written (`plan_faults`).

use super::data_set::{DataSet, new_series, now, shortened};
use super::{Belonging, WriteError};
use crate::rotation::{rotation_tag, rotation_word};
use case::{
    Approval, Beam, BeamDose, ControlPoint, Jaws, MlcAxis, Plan, Radiation, RotationAxis, Stage,
    new_uid, turn_deg,
};
use dicom_core::Tag;
use dicom_dictionary_std::{tags, uids};
use physics::Machine;
use std::path::Path;

/// The point of a beam dose. Retired without a successor; planning systems write and read it.
pub const BEAM_DOSE_SPECIFICATION_POINT: Tag = Tag(0x300A, 0x0082);

/// Beyond this difference of nominal energies plan and machine have different beam qualities, MV.
pub(super) const SAME_ENERGY_MV: f64 = 0.5;

/// Source-axis distances within this difference are the same, mm.
const SAME_AXIS_MM: f64 = 0.5;

/// The reasons why a plan cannot be written as it is computed, a sentence each: parts that no engine models,
/// and differences from the machine that computes it.
pub fn plan_faults(plan: &Plan) -> Vec<String> {
    let mut faults: Vec<String> = plan.fault().iter().map(ToString::to_string).collect();
    for beam in delivered(plan) {
        let mut fault = |what: String| faults.push(format!("beam '{}': {what}", beam.name));
        if let Some(why) = &beam.read_only {
            fault(why.clone());
        } else if beam.radiation != Radiation::Photon {
            fault("it is not a photon beam".to_owned());
        } else if let parts = beam.parts_of_its_file()
            && !parts.is_empty()
        {
            fault(format!(
                "{}, and cannot be written either",
                parts.join(", ")
            ));
        }
        if beam.fluence.is_some() {
            fault(
                "its fluence map has no leaves that deliver it, and DICOM has no place for the map"
                    .to_owned(),
            );
        }
        computed_faults(plan, beam).into_iter().for_each(fault);
    }
    if delivered(plan).next().is_none() {
        faults.push("it has no beams that are delivered".to_owned());
    }
    faults
}

/// Why a beam cannot be written as it is computed: no monitor units, and differences from the machine that computes it.
pub(super) fn computed_faults(plan: &Plan, beam: &Beam) -> Vec<String> {
    let mut faults = match Machine::resolve(plan.machine_of(beam)) {
        Ok(machine) => machine_faults(beam, &machine),
        Err(error) => vec![error.to_string()],
    };
    if beam.mu.is_nan() || beam.mu <= 0.0 {
        faults.push(format!(
            "it has {} MU: give it monitor units, or switch it off",
            beam.mu
        ));
    }
    faults
}

fn machine_faults(beam: &Beam, machine: &Machine) -> Vec<String> {
    let mut faults = Vec::new();
    let Machine {
        name,
        nominal_mv,
        sad_mm,
        ..
    } = machine;
    if let Some(mv) = beam
        .energy_mv
        .filter(|mv| mv.is_nan() || (mv - nominal_mv).abs() > SAME_ENERGY_MV)
    {
        faults.push(format!(
            "it is planned with {mv} MV and computed with {name}, whose is {nominal_mv} MV"
        ));
    }
    if let Some(mm) = beam
        .source_axis_mm
        .filter(|mm| mm.is_nan() || (mm - sad_mm).abs() > SAME_AXIS_MM)
    {
        faults.push(format!(
            "it is planned for a source-axis distance of {mm} mm and computed with {name}, whose is {sad_mm} mm"
        ));
    }
    if beam.unflattened && machine.is_flattened() == Some(true) {
        faults.push(format!(
            "it is planned without flattening filter and computed with {name}, which has one"
        ));
    }
    faults
}

/// The treatment beams: setup fields are not computed, and beams switched off are not delivered.
pub(super) fn delivered(plan: &Plan) -> impl Iterator<Item = &Beam> {
    plan.beams.iter().filter(|beam| beam.is_switched_on())
}

/// Writes a photon plan as it is computed: energies and distances are the machines', `doses` the
/// computed doses of its beams. A static beam becomes two equal control points, as the standard wants at
/// least two. Setup fields and beams switched off are left out.
///
/// # Errors
/// [`WriteError`]; a plan with [`plan_faults`] is refused.
pub fn write_plan(
    path: &Path,
    plan: &Plan,
    doses: &[BeamDose],
    belonging: &Belonging,
) -> Result<(), WriteError> {
    let faults = plan_faults(plan);
    if !faults.is_empty() {
        return Err(WriteError::content(path, faults.join("; ")));
    }
    let beams = delivered(plan)
        .map(|beam| {
            let machine = Machine::resolve(plan.machine_of(beam))
                .map_err(|e| WriteError::content(path, e.to_string()))?;
            Ok(beam_item(beam, &machine, 1))
        })
        .collect::<Result<Vec<_>, WriteError>>()?;
    let mut set = heading(plan, belonging);
    if let Some(dose) = plan.prescription_gy {
        set.items(
            tags::DOSE_REFERENCE_SEQUENCE,
            vec![dose_reference(plan, dose, 1)],
        );
    }
    set.items(
        tags::FRACTION_GROUP_SEQUENCE,
        vec![fraction_group(plan, doses)],
    );
    set.items(tags::BEAM_SEQUENCE, beams);
    set.items(tags::PATIENT_SETUP_SEQUENCE, vec![patient_setup(plan, 1)]);
    set.write(path)
}

/// The modules of a plan before its beams, with its references.
pub(super) fn heading(plan: &Plan, belonging: &Belonging) -> DataSet {
    let series = new_series("RTPLAN", 3, &plan.name);
    let uid = plan.uid.clone().unwrap_or_else(new_uid);
    let mut set = DataSet::object(uids::RT_PLAN_STORAGE, &uid, belonging, &series);
    let (date, time) = now();
    set.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    let label = belonging.plan_label.as_deref().unwrap_or(&plan.name);
    set.text(tags::RT_PLAN_LABEL, &shortened(label, 16));
    set.text(tags::RT_PLAN_NAME, &shortened(&plan.name, 64));
    set.text(tags::RT_PLAN_DATE, &date);
    set.text(tags::RT_PLAN_TIME, &time);
    let structures = belonging.structure_set_uid.as_deref();
    set.text(
        tags::RT_PLAN_GEOMETRY,
        if structures.is_some() {
            "PATIENT"
        } else {
            "TREATMENT_DEVICE"
        },
    );
    if let Some(uid) = structures {
        let reference = DataSet::reference(uids::RT_STRUCTURE_SET_STORAGE, uid);
        set.items(tags::REFERENCED_STRUCTURE_SET_SEQUENCE, vec![reference]);
    }
    if let Some(uid) = &belonging.source_plan_uid {
        let mut source = DataSet::reference(uids::RT_PLAN_STORAGE, uid);
        source.text(tags::RT_PLAN_RELATIONSHIP, "PREDECESSOR");
        set.items(tags::REFERENCED_RT_PLAN_SEQUENCE, vec![source]);
    }
    set_approval(&mut set, plan.approval.as_ref());
    set
}

/// The approval module (PS3.3, C.8.8.16). It has no word for a plan that is only reviewed, and no place for a reason: a reviewer is
/// written of an approval or a rejection alone.
fn set_approval(set: &mut DataSet, approval: Option<&Approval>) {
    let (status, approval) = match approval {
        Some(approval) if approval.stage == Stage::Approved => ("APPROVED", approval),
        Some(approval) if approval.stage == Stage::Rejected => ("REJECTED", approval),
        _ => return set.text(tags::APPROVAL_STATUS, "UNAPPROVED"),
    };
    set.text(tags::APPROVAL_STATUS, status);
    set.text(tags::REVIEW_DATE, &digits_of(0, 10, approval));
    set.text(tags::REVIEW_TIME, &digits_of(11, 19, approval));
    // A name has a part for each caret and a script for each equals sign; a backslash begins another value.
    let name = approval.by.replace(['^', '=', '\\'], " ");
    set.text(tags::REVIEWER_NAME, &shortened(&name, 64));
}

fn digits_of(from: usize, to: usize, approval: &Approval) -> String {
    let part = approval.at.get(from..to).unwrap_or_default();
    part.chars().filter(char::is_ascii_digit).collect()
}

pub(super) fn patient_setup(plan: &Plan, number: i64) -> DataSet {
    let mut setup = DataSet::new();
    setup.text(tags::PATIENT_POSITION, plan.position.code());
    setup.whole(tags::PATIENT_SETUP_NUMBER, number);
    setup
}

pub(super) fn dose_reference(plan: &Plan, dose_gy: f64, number: i64) -> DataSet {
    let mut item = DataSet::new();
    item.whole(tags::DOSE_REFERENCE_NUMBER, number);
    item.text(tags::DOSE_REFERENCE_STRUCTURE_TYPE, "SITE");
    let target = plan
        .normalisation
        .as_ref()
        .and_then(|n| n.structure())
        .map_or("Prescription", |(name, _)| name);
    item.text(tags::DOSE_REFERENCE_DESCRIPTION, &shortened(target, 64));
    item.text(tags::DOSE_REFERENCE_TYPE, "TARGET");
    item.numbers(tags::TARGET_PRESCRIPTION_DOSE, &[dose_gy]);
    item
}

fn fraction_group(plan: &Plan, doses: &[BeamDose]) -> DataSet {
    let mut group = DataSet::new();
    group.whole(tags::FRACTION_GROUP_NUMBER, 1);
    group.whole(tags::NUMBER_OF_FRACTIONS_PLANNED, i64::from(plan.fractions));
    group.whole(tags::NUMBER_OF_BEAMS, delivered(plan).count() as i64);
    group.whole(tags::NUMBER_OF_BRACHY_APPLICATION_SETUPS, 0);
    let beams = delivered(plan).map(|beam| referenced_beam(DataSet::new(), beam, doses));
    group.items(tags::REFERENCED_BEAM_SEQUENCE, beams.collect());
    group
}

/// Monitor units of a beam in its fraction group, and its dose where it was computed.
pub(super) fn referenced_beam(mut item: DataSet, beam: &Beam, doses: &[BeamDose]) -> DataSet {
    if let Some(dose) = doses.iter().find(|dose| dose.beam == beam.number) {
        item.numbers(BEAM_DOSE_SPECIFICATION_POINT, &dose.point_mm.to_array());
        item.numbers(tags::BEAM_DOSE, &[dose.gy]);
    }
    item.numbers(tags::BEAM_METERSET, &[beam.mu]);
    item.whole(tags::REFERENCED_BEAM_NUMBER, i64::from(beam.number));
    item
}

/// Whether the beam delivers while something moves: segments between which it is off are static (PS3.3, C.8.8.14).
pub(super) fn beam_type(points: &[ControlPoint]) -> &'static str {
    let moves = points.windows(2).any(|w| {
        let held = ControlPoint {
            meterset_weight: w[1].meterset_weight,
            ..w[0].clone()
        };
        w[1].meterset_weight > w[0].meterset_weight && held != w[1]
    });
    if moves { "DYNAMIC" } else { "STATIC" }
}

pub(super) fn beam_item(beam: &Beam, machine: &Machine, setup_number: i64) -> DataSet {
    let points = two_or_more(beam);
    let mut item = DataSet::new();
    item.whole(tags::BEAM_NUMBER, i64::from(beam.number));
    item.text(tags::BEAM_NAME, &shortened(&beam.name, 64));
    item.text(tags::BEAM_TYPE, beam_type(&points));
    item.text(tags::RADIATION_TYPE, "PHOTON");
    if beam.unflattened || machine.is_flattened() == Some(false) {
        item.items(
            tags::PRIMARY_FLUENCE_MODE_SEQUENCE,
            vec![fluence_without_filter()],
        );
    }
    item.text(tags::TREATMENT_MACHINE_NAME, &shortened(&machine.name, 16));
    item.text(tags::PRIMARY_DOSIMETER_UNIT, "MU");
    item.numbers(tags::SOURCE_AXIS_DISTANCE, &[machine.sad_mm]);
    item.items(tags::BEAM_LIMITING_DEVICE_SEQUENCE, devices(beam));
    item.whole(tags::REFERENCED_PATIENT_SETUP_NUMBER, setup_number);
    item.text(tags::TREATMENT_DELIVERY_TYPE, "TREATMENT");
    for tag in [
        tags::NUMBER_OF_WEDGES,
        tags::NUMBER_OF_COMPENSATORS,
        tags::NUMBER_OF_BOLI,
        tags::NUMBER_OF_BLOCKS,
    ] {
        item.whole(tag, 0);
    }
    item.numbers(tags::FINAL_CUMULATIVE_METERSET_WEIGHT, &[1.0]);
    item.whole(tags::NUMBER_OF_CONTROL_POINTS, points.len() as i64);
    let kinds = DeviceKinds::new(beam);
    let controls = points.iter().enumerate().map(|(n, p)| {
        let mut item = DataSet::new();
        item.whole(tags::CONTROL_POINT_INDEX, n as i64);
        if n == 0 {
            item.numbers(tags::NOMINAL_BEAM_ENERGY, &[machine.nominal_mv]);
            start_point(&mut item, beam);
            set_dose_rate(&mut item, beam);
        }
        set_point(&mut item, &kinds, p, points.get(n + 1));
        item
    });
    item.items(tags::CONTROL_POINT_SEQUENCE, controls.collect());
    item
}

pub(super) fn fluence_without_filter() -> DataSet {
    let mut mode = DataSet::new();
    mode.text(tags::FLUENCE_MODE, "NON_STANDARD");
    mode.text(tags::FLUENCE_MODE_ID, "FFF");
    mode
}

pub(super) fn two_or_more(beam: &Beam) -> Vec<ControlPoint> {
    match &beam.control_points[..] {
        [only] => vec![
            ControlPoint {
                meterset_weight: 0.0,
                ..only.clone()
            },
            only.clone(),
        ],
        several => several.to_vec(),
    }
}

fn mlc_name(axis: MlcAxis) -> &'static str {
    match axis {
        MlcAxis::X => "MLCX",
        MlcAxis::Y => "MLCY",
    }
}

/// The types of a beam's jaws and leaves, as its devices and control points name them; `None` where it has none.
#[derive(Clone, Debug)]
pub(super) struct DeviceKinds {
    pub x: Option<String>,
    pub y: Option<String>,
    pub mlc: Option<String>,
}

impl DeviceKinds {
    fn new(beam: &Beam) -> Self {
        Self {
            x: Some("ASYMX".to_owned()),
            y: Some("ASYMY".to_owned()),
            mlc: beam.mlc.as_ref().map(|mlc| mlc_name(mlc.axis).to_owned()),
        }
    }
}

fn devices(beam: &Beam) -> Vec<DataSet> {
    let mut declared = vec![declared_device("ASYMX", 1), declared_device("ASYMY", 1)];
    if let Some(mlc) = &beam.mlc {
        let mut leaves = declared_device(
            mlc_name(mlc.axis),
            mlc.boundaries_mm.len().saturating_sub(1),
        );
        leaves.numbers(tags::LEAF_POSITION_BOUNDARIES, &mlc.boundaries_mm);
        declared.push(leaves);
    }
    declared
}

fn declared_device(kind: &str, pairs: usize) -> DataSet {
    let mut item = DataSet::new();
    item.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE, kind);
    item.whole(tags::NUMBER_OF_LEAF_JAW_PAIRS, pairs as i64);
    item
}

/// Attributes of the first control point that all beams have.
pub(super) fn start_point(item: &mut DataSet, beam: &Beam) {
    item.text(tags::TABLE_TOP_VERTICAL_POSITION, "");
    item.text(tags::TABLE_TOP_LONGITUDINAL_POSITION, "");
    item.text(tags::TABLE_TOP_LATERAL_POSITION, "");
    item.numbers(tags::ISOCENTER_POSITION, &beam.isocentre_mm.to_array());
}

/// The dose rate of the whole beam.
pub(super) fn set_dose_rate(start: &mut DataSet, beam: &Beam) {
    if let Some(rate) = beam.dose_rate_mu_min {
        start.numbers(tags::DOSE_RATE_SET, &[rate]);
    }
}

/// Angles, turns, collimators and meterset of a control point.
pub(super) fn set_point(
    item: &mut DataSet,
    kinds: &DeviceKinds,
    point: &ControlPoint,
    next: Option<&ControlPoint>,
) {
    item.items(
        tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE,
        positions(kinds, point),
    );
    item.numbers(tags::GANTRY_ANGLE, &[point.gantry_deg]);
    item.numbers(tags::BEAM_LIMITING_DEVICE_ANGLE, &[point.collimator_deg]);
    item.numbers(tags::PATIENT_SUPPORT_ANGLE, &[point.couch_deg]);
    for axis in RotationAxis::ALL {
        let turn = next.map(|next| turn_deg(axis.angle_deg(point), axis.angle_deg(next)));
        let direction = turn.and_then(|deg| axis.direction(deg));
        item.text(rotation_tag(axis), rotation_word(direction));
    }
    if !item.has(tags::TABLE_TOP_ECCENTRIC_ANGLE) {
        item.numbers(tags::TABLE_TOP_ECCENTRIC_ANGLE, &[0.0]);
        item.text(tags::TABLE_TOP_ECCENTRIC_ROTATION_DIRECTION, "NONE");
    }
    item.numbers(tags::CUMULATIVE_METERSET_WEIGHT, &[point.meterset_weight]);
}

fn positions(kinds: &DeviceKinds, point: &ControlPoint) -> Vec<DataSet> {
    let Jaws { x, y } = point.jaws;
    let jaws = [(&kinds.x, x), (&kinds.y, y)];
    let mut positions: Vec<DataSet> = jaws
        .iter()
        .filter_map(|(kind, mm)| Some(device_positions(kind.as_ref()?, mm)))
        .collect();
    if let Some(mlc) = &kinds.mlc {
        // All of the negative bank, then all of the other.
        positions.push(device_positions(
            mlc,
            &bank_mm(0, point)
                .chain(bank_mm(1, point))
                .collect::<Vec<f64>>(),
        ));
    }
    positions
}

fn device_positions(kind: &str, values: &[f64]) -> DataSet {
    let mut item = DataSet::new();
    item.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE, kind);
    item.numbers(tags::LEAF_JAW_POSITIONS, values);
    item
}

fn bank_mm(side: usize, point: &ControlPoint) -> impl Iterator<Item = f64> {
    point.leaves_mm.iter().map(move |pair| pair[side])
}
