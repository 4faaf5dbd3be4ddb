//! A plan written from the object that it was read from: unchanged beams as they are, changed ones with what the case
//! does not hold (bolus, accessories, setup, tolerances), or refused by name.

use super::data_set::{DataSet, shortened};
use super::rtplan::{
    DeviceKinds, beam_item, beam_type, computed_faults, dose_reference, fluence_without_filter,
    heading, patient_setup, referenced_beam, set_dose_rate, set_point, start_point, two_or_more,
};
use super::source::{PlanSource, without_private};
use super::{Belonging, WriteError};
use crate::object::{Attributes as _, Item};
use case::{Beam, BeamDose, ControlPoint, Plan, Radiation};
use dicom_core::Tag;
use dicom_core::header::Header as _;
use dicom_dictionary_std::tags;
use physics::Machine;
use std::path::Path;
use std::sync::Arc;

/// Doses, depths and points of a beam that hold for the dose of the source alone. The retired ones are still written.
const DOSE_OF_SOURCE: [Tag; 10] = [
    tags::BEAM_DOSE,
    Tag(0x300A, 0x0082),
    tags::BEAM_DOSE_POINT_DEPTH,
    tags::BEAM_DOSE_POINT_EQUIVALENT_DEPTH,
    tags::BEAM_DOSE_POINT_SSD,
    tags::BEAM_DOSE_MEANING,
    tags::BEAM_DOSE_VERIFICATION_CONTROL_POINT_SEQUENCE,
    tags::ALTERNATE_BEAM_DOSE,
    tags::ALTERNATE_BEAM_DOSE_TYPE,
    tags::BEAM_DOSE_TYPE,
];

/// Distances to the patient and shares of doses, which another geometry changes.
const GEOMETRY_OF_SOURCE: [Tag; 5] = [
    tags::SOURCE_TO_SURFACE_DISTANCE,
    tags::SURFACE_ENTRY_POINT,
    tags::SOURCE_TO_EXTERNAL_CONTOUR_DISTANCE,
    tags::EXTERNAL_CONTOUR_ENTRY_POINT,
    tags::REFERENCED_DOSE_REFERENCE_SEQUENCE,
];

/// Attributes of a plan that its heading or its beams replace.
const REPLACED: [Tag; 8] = [
    tags::RT_PLAN_LABEL,
    tags::RT_PLAN_NAME,
    tags::RT_PLAN_DATE,
    tags::RT_PLAN_TIME,
    tags::RT_PLAN_GEOMETRY,
    tags::FRACTION_GROUP_SEQUENCE,
    tags::BEAM_SEQUENCE,
    tags::RT_PLAN_DESCRIPTION,
];

/// How a beam is written.
enum Beginning<'a> {
    /// As the source has it.
    Kept(&'a Item),
    /// The source's item with what was changed, and the beam as it was read.
    Changed(&'a Item, &'a Beam),
    /// A beam that the source does not have.
    New,
}

impl PlanSource {
    fn beginning<'a>(&'a self, plan: &Plan, beam: &Beam) -> Beginning<'a> {
        let item = self.item_of(tags::BEAM_SEQUENCE, tags::BEAM_NUMBER, beam.number);
        let read = self
            .read
            .beams
            .iter()
            .find(|read| read.number == beam.number);
        let (Some(item), Some(read)) = (item, read) else {
            return Beginning::New;
        };
        let same_machine = plan.machine_of(beam) == self.read.machine_of(read);
        if read.is_unchanged(beam) && (same_machine || beam.read_only.is_some()) {
            return Beginning::Kept(item);
        }
        let same_kind = read.radiation == beam.radiation && read.mlc == beam.mlc;
        if same_kind && keeps_not_modelled(read, beam) {
            Beginning::Changed(item, read)
        } else {
            Beginning::New
        }
    }

    /// Whether the plan is the file's, with all its beams in their order.
    pub fn is_unchanged(&self, plan: &Plan) -> bool {
        let read = &self.read;
        plan.uid == read.uid
            && plan.name == read.name
            && plan.position == read.position
            && plan.prescription_gy == read.prescription_gy
            && plan.fractions == read.fractions
            && plan.approval == read.approval
            && plan.normalisation.is_none()
            && plan.beams.len() == read.beams.len()
            && plan.beams.iter().zip(&read.beams).all(|(beam, was)| {
                was.is_unchanged(beam) && !beam.off && plan.machine_of(beam) == read.machine_of(was)
            })
    }

    /// The reasons why a plan cannot be written from this source, a sentence each; `computed`: with a computed dose.
    pub fn faults(&self, plan: &Plan, computed: bool) -> Vec<String> {
        let mut faults: Vec<String> = plan.fault().iter().map(ToString::to_string).collect();
        if self.object.get(tags::ION_BEAM_SEQUENCE).is_some() {
            faults.push(
                "it is an ion plan, which leaves only unchanged and without a computed dose"
                    .to_owned(),
            );
            return faults;
        }
        if self.object.items(tags::FRACTION_GROUP_SEQUENCE).len() != 1 {
            faults.push(
                "it has no fraction group, or several: such a plan leaves only unchanged"
                    .to_owned(),
            );
        }
        let mut treated = 0;
        for beam in plan.beams.iter().filter(|beam| !beam.off) {
            treated += usize::from(!beam.setup);
            let beginning = self.beginning(plan, beam);
            if let (Beginning::Kept(_), true) = (&beginning, beam.read_only.is_some() || !computed)
            {
                continue;
            }
            if let Some(why) = &beam.read_only {
                faults.push(beam_fault(
                    format!("{why}; such a beam leaves only unchanged"),
                    beam,
                ));
                continue;
            }
            if beam.radiation != Radiation::Photon {
                faults.push(beam_fault("it is not a photon beam".to_owned(), beam));
            } else if let parts = beam.parts_of_its_file()
                && matches!(beginning, Beginning::New)
                && !parts.is_empty()
            {
                faults.push(beam_fault(
                    format!(
                        "{}, and the file of the plan has no such beam",
                        parts.join(", ")
                    ),
                    beam,
                ));
            }
            faults.extend(
                computed_faults(plan, beam)
                    .into_iter()
                    .map(|what| beam_fault(what, beam)),
            );
            if let Beginning::Changed(item, read) = beginning {
                faults.extend(
                    kinds_of(item, beam, read)
                        .err()
                        .map(|what| beam_fault(what, beam)),
                );
            }
        }
        if treated == 0 {
            faults.push("it has no beams that are delivered".to_owned());
        }
        faults
    }
}

fn beam_fault(what: String, beam: &Beam) -> String {
    format!("beam '{}': {what}", beam.name)
}

/// Whether a changed beam still has the accessories of its file and the parts that no engine models: a new beam that was given the
/// number of a removed one has none of them.
fn keeps_not_modelled(read: &Beam, beam: &Beam) -> bool {
    read.accessories == beam.accessories
        && read
            .not_modelled
            .iter()
            .all(|what| beam.not_modelled.contains(what))
}

/// Writes a plan from its source. `note` says how its doses were computed.
///
/// # Errors
/// [`WriteError`]; a plan with [`PlanSource::faults`] is refused.
pub fn write_plan_from(
    path: &Path,
    plan: &Plan,
    doses: &[BeamDose],
    belonging: &Belonging,
    source: &PlanSource,
    note: &str,
) -> Result<(), WriteError> {
    let faults = source.faults(plan, !doses.is_empty());
    if !faults.is_empty() {
        return Err(WriteError::content(path, faults.join("; ")));
    }
    let mut set = heading(plan, belonging);
    for element in source.object.iter() {
        let tag = element.tag();
        if tag.group() == 0x300A && !REPLACED.contains(&tag) {
            set.carry(element);
        }
    }
    if plan.name == source.read.name {
        source
            .object
            .get(tags::RT_PLAN_NAME)
            .into_iter()
            .for_each(|element| set.carry(element));
        if belonging.plan_label.is_none() {
            source
                .object
                .get(tags::RT_PLAN_LABEL)
                .into_iter()
                .for_each(|element| set.carry(element));
        }
    }
    let description = source
        .object
        .text(tags::RT_PLAN_DESCRIPTION)
        .unwrap_or_default();
    let said: Vec<&str> = [description.as_str(), note]
        .into_iter()
        .filter(|s| !s.is_empty())
        .collect();
    if !said.is_empty() {
        set.text(
            tags::RT_PLAN_DESCRIPTION,
            &shortened(&said.join("; "), 1024),
        );
    }
    set_prescription(&mut set, plan, source);
    let setup_number = set_setups(&mut set, plan);
    let mut beams = Vec::new();
    let mut references = Vec::new();
    for beam in plan.beams.iter().filter(|beam| !beam.off) {
        let beginning = source.beginning(plan, beam);
        let machine = || {
            Machine::resolve(plan.machine_of(beam))
                .map_err(|e| WriteError::content(path, e.to_string()))
        };
        let item = match beginning {
            Beginning::Kept(item) => DataSet::from(item),
            Beginning::Changed(item, read) => {
                let same = plan.machine_of(beam) == source.read.machine_of(read);
                let other: Option<Arc<Machine>> = if same { None } else { Some(machine()?) };
                changed(item, beam, read, other.as_deref())
                    .map_err(|what| WriteError::content(path, what))?
            }
            Beginning::New => {
                let machine = machine()?;
                beam_item(beam, &machine, setup_number)
            }
        };
        beams.push(item);
        references.extend(reference(source, beam, doses, &beginning));
    }
    set.items(tags::BEAM_SEQUENCE, beams);
    let group = &source.object.items(tags::FRACTION_GROUP_SEQUENCE)[0];
    let mut group = DataSet::from(group);
    if plan.fractions != source.read.fractions {
        group.whole(tags::NUMBER_OF_FRACTIONS_PLANNED, i64::from(plan.fractions));
        // The file's pattern of days belongs to its own number of fractions.
        group.remove(&[tags::FRACTION_PATTERN, tags::REPEAT_FRACTION_CYCLE_LENGTH]);
    }
    group.whole(tags::NUMBER_OF_BEAMS, references.len() as i64);
    group.items(tags::REFERENCED_BEAM_SEQUENCE, references);
    if !group.has(tags::NUMBER_OF_BRACHY_APPLICATION_SETUPS) {
        group.whole(tags::NUMBER_OF_BRACHY_APPLICATION_SETUPS, 0);
    }
    set.items(tags::FRACTION_GROUP_SEQUENCE, vec![group]);
    set.write(path)
}

/// A changed prescription replaces the highest one of the targets, or is added.
fn set_prescription(set: &mut DataSet, plan: &Plan, source: &PlanSource) {
    let tag = tags::TARGET_PRESCRIPTION_DOSE;
    if plan.prescription_gy == source.read.prescription_gy {
        return;
    }
    let mut items: Vec<DataSet> = set
        .as_item()
        .items(tags::DOSE_REFERENCE_SEQUENCE)
        .iter()
        .map(DataSet::from)
        .collect();
    let was = source.read.prescription_gy;
    let place = items
        .iter()
        .position(|item| was.is_some() && item.as_item().number(tag) == was);
    match (plan.prescription_gy, place) {
        (Some(gy), Some(n)) => items[n].numbers(tag, &[gy]),
        (Some(gy), None) => {
            let taken = items
                .iter()
                .filter_map(|item| item.as_item().whole(tags::DOSE_REFERENCE_NUMBER))
                .max();
            items.push(dose_reference(plan, gy, taken.unwrap_or(0) + 1));
        }
        (None, Some(n)) => items[n].remove(&[tag]),
        (None, None) => {}
    }
    if !items.is_empty() {
        set.items(tags::DOSE_REFERENCE_SEQUENCE, items);
    }
}

/// The number of the setup of new beams; one is added where the source has none.
fn set_setups(set: &mut DataSet, plan: &Plan) -> i64 {
    let setups = set.as_item().items(tags::PATIENT_SETUP_SEQUENCE);
    let number = setups.iter().find_map(|setup| {
        (setup.text(tags::PATIENT_POSITION)? == plan.position.code())
            .then(|| setup.whole(tags::PATIENT_SETUP_NUMBER))?
    });
    if let Some(number) = number {
        return number;
    }
    let taken = setups
        .iter()
        .filter_map(|setup| setup.whole(tags::PATIENT_SETUP_NUMBER))
        .max();
    let number = taken.unwrap_or(0) + 1;
    if setups.is_empty() {
        set.items(
            tags::PATIENT_SETUP_SEQUENCE,
            vec![patient_setup(plan, number)],
        );
    }
    number
}

/// The beam in its fraction group: a dose of the source stands only with a beam that is unchanged.
fn reference(
    source: &PlanSource,
    beam: &Beam,
    doses: &[BeamDose],
    beginning: &Beginning,
) -> Option<DataSet> {
    let group = source.object.items(tags::FRACTION_GROUP_SEQUENCE).first()?;
    let number = i64::from(beam.number);
    let mut items = group.items(tags::REFERENCED_BEAM_SEQUENCE).iter();
    let beam_item = items.find(|item| item.whole(tags::REFERENCED_BEAM_NUMBER) == Some(number));
    let computed = doses.iter().any(|dose| dose.beam == beam.number);
    match (beginning, beam_item) {
        (Beginning::Kept(_), None) => None,
        (Beginning::Kept(_), Some(item)) if !computed => Some(DataSet::from(item)),
        (Beginning::New, _) | (_, None) => Some(referenced_beam(DataSet::new(), beam, doses)),
        (_, Some(item)) => {
            let mut item = DataSet::from(&without_private(item));
            item.remove(&DOSE_OF_SOURCE);
            Some(referenced_beam(item, beam, doses))
        }
    }
}

/// The source's item with the parameters of a changed beam; `other`: the machine, where it was changed too.
fn changed(
    item: &Item,
    beam: &Beam,
    read: &Beam,
    other: Option<&Machine>,
) -> Result<DataSet, String> {
    let kinds = kinds_of(item, beam, read)?;
    let points = two_or_more(beam);
    let plain = without_private(item);
    let mut set = DataSet::from(&plain);
    set.text(tags::BEAM_NAME, &shortened(&beam.name, 64));
    set.text(tags::BEAM_TYPE, beam_type(&points));
    let devices = plain
        .items(tags::BEAM_LIMITING_DEVICE_SEQUENCE)
        .iter()
        .map(|device| {
            let mut named = DataSet::from(device);
            let kind = device
                .text(tags::RT_BEAM_LIMITING_DEVICE_TYPE)
                .unwrap_or_default();
            let moved_kind = [("X", &kinds.x), ("Y", &kinds.y)]
                .into_iter()
                .find(|(was, _)| *was == kind);
            if let Some((_, Some(moved_kind))) = moved_kind {
                named.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE, moved_kind);
            }
            named
        });
    set.items(tags::BEAM_LIMITING_DEVICE_SEQUENCE, devices.collect());
    if let Some(machine) = other {
        set.text(tags::TREATMENT_MACHINE_NAME, &shortened(&machine.name, 16));
        set.numbers(tags::SOURCE_AXIS_DISTANCE, &[machine.sad_mm]);
    }
    if beam.unflattened != read.unflattened {
        set.remove(&[tags::PRIMARY_FLUENCE_MODE_SEQUENCE]);
        if beam.unflattened {
            set.items(
                tags::PRIMARY_FLUENCE_MODE_SEQUENCE,
                vec![fluence_without_filter()],
            );
        }
    }
    set.numbers(tags::FINAL_CUMULATIVE_METERSET_WEIGHT, &[1.0]);
    set.whole(tags::NUMBER_OF_CONTROL_POINTS, points.len() as i64);
    let source_points = plain.items(tags::CONTROL_POINT_SEQUENCE);
    let controls = points.iter().enumerate().map(|(n, point)| {
        // Control points that were added have nothing of the source.
        let mut item = match source_points
            .get(n)
            .filter(|_| n == 0 || source_points.len() == points.len())
        {
            Some(source_point) => DataSet::from(source_point),
            None => DataSet::new(),
        };
        item.remove(&GEOMETRY_OF_SOURCE);
        item.whole(tags::CONTROL_POINT_INDEX, n as i64);
        if let Some(machine) = other {
            item.remove(&[tags::NOMINAL_BEAM_ENERGY]);
            if n == 0 {
                item.numbers(tags::NOMINAL_BEAM_ENERGY, &[machine.nominal_mv]);
            }
        }
        set_isocentre(&mut item, n, beam, read);
        if beam.dose_rate_mu_min != read.dose_rate_mu_min {
            item.remove(&[tags::DOSE_RATE_SET]);
            if n == 0 {
                set_dose_rate(&mut item, beam);
            }
        }
        set_point(&mut item, &kinds, point, points.get(n + 1));
        item
    });
    set.items(tags::CONTROL_POINT_SEQUENCE, controls.collect());
    Ok(set)
}

/// A moved isocentre leaves the positions of the table unknown.
fn set_isocentre(item: &mut DataSet, index: usize, beam: &Beam, read: &Beam) {
    if beam.isocentre_mm == read.isocentre_mm {
        return;
    }
    if index == 0 {
        start_point(item, beam);
    } else {
        item.remove(&[
            tags::ISOCENTER_POSITION,
            tags::TABLE_TOP_VERTICAL_POSITION,
            tags::TABLE_TOP_LONGITUDINAL_POSITION,
            tags::TABLE_TOP_LATERAL_POSITION,
        ]);
    }
}

/// The device types of a source's beam. A jaw that its machine lacks cannot be moved; a symmetric pair that stands
/// otherwise becomes an asymmetric one.
fn kinds_of(item: &Item, beam: &Beam, read: &Beam) -> Result<DeviceKinds, String> {
    let declared: Vec<String> = item
        .items(tags::BEAM_LIMITING_DEVICE_SEQUENCE)
        .iter()
        .filter_map(|device| device.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE))
        .collect();
    type Pair = fn(&ControlPoint) -> [f64; 2];
    let jaw = |names: [&str; 2], pair: Pair| -> Result<Option<String>, String> {
        let kind = first_kind(&|kind| names.contains(&kind), &declared);
        let open = read.control_points.first().map(pair);
        if kind.is_none()
            && beam
                .control_points
                .iter()
                .any(|point| Some(pair(point)) != open)
        {
            return Err(format!("its machine has no {} jaws to be moved", names[0]));
        }
        let symmetric = beam
            .control_points
            .iter()
            .all(|point| pair(point)[0] == -pair(point)[1]);
        Ok(kind.map(|kind| if symmetric { kind } else { names[1].to_owned() }))
    };
    Ok(DeviceKinds {
        x: jaw(["X", "ASYMX"], |point| point.jaws.x)?,
        y: jaw(["Y", "ASYMY"], |point| point.jaws.y)?,
        mlc: first_kind(&|kind| kind.starts_with("MLC"), &declared).filter(|_| beam.mlc.is_some()),
    })
}

fn first_kind(test: &dyn Fn(&str) -> bool, declared: &[String]) -> Option<String> {
    declared.iter().find(|kind| test(kind)).cloned()
}
