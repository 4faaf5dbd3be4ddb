//! One beam of an RT plan: its parameters, the parts that are not modelled, and why it cannot be computed.
//! Parameters of the dose are never guessed: a beam that lacks one is kept, read-only, with the reason.

use super::object::{AttributeError, Attributes, IfSaid, Item, keyword, within};
use super::rtplan::{Notes, PlanFacts};
use super::rtpoints::{Devices, Walk};
use case::{Beam, Radiation, bounds};
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use glam::DVec3;
use input::plain;
use physics::Machine;

/// Source-axis distance of computable plans, and the tolerance of a beam's, mm.
const SAD_MM: f64 = 1000.0;
const SAME_SAD_MM: f64 = 1.0;

/// Beam modifiers that change the dose: their number, their sequence, the word for one.
const MODIFIERS: [(Tag, Tag, &str); 3] = [
    (tags::NUMBER_OF_WEDGES, tags::WEDGE_SEQUENCE, "wedge"),
    (tags::NUMBER_OF_BLOCKS, tags::BLOCK_SEQUENCE, "block"),
    (
        tags::NUMBER_OF_COMPENSATORS,
        tags::COMPENSATOR_SEQUENCE,
        "compensator",
    ),
];

/// Accessories that no treatment beam passes through.
const HARMLESS: [&str; 3] = ["GRATICULE", "IMAGE_DETECTOR", "RETICLE"];

/// Why a beam is not computed: the first reason found.
#[derive(Default)]
pub(super) struct Refusal(Option<String>);

impl Refusal {
    pub(super) fn because(&mut self, reason: impl Into<String>) {
        self.0.get_or_insert_with(|| reason.into());
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The value; an error is kept as the reason.
    pub(super) fn given<T>(&mut self, read: Result<T, AttributeError>) -> Option<T> {
        read.map_err(|error| self.because(error.to_string())).ok()
    }
}

/// Reads a beam; `Err` is the reason why it cannot even be shown.
pub(super) fn read_beam(item: &Item, plan: &PlanFacts, notes: &mut Notes) -> Result<Beam, String> {
    let number = item
        .try_whole(tags::BEAM_NUMBER)
        .map_err(|error| format!("one of its beams cannot be read: {error}"))?;
    let number = u32::try_from(number)
        .map_err(|_| format!("one of its beams has the BeamNumber {number}"))?;
    let name = item
        .text(tags::BEAM_NAME)
        .unwrap_or_else(|| format!("Beam {number}"));
    let sequence = if plan.ion {
        tags::ION_CONTROL_POINT_SEQUENCE
    } else {
        tags::CONTROL_POINT_SEQUENCE
    };
    let points = item.items(sequence);
    let Some(first) = points.first() else {
        return Err(format!(
            "beam '{name}' has no control points ({})",
            keyword(sequence)
        ));
    };
    let mut refusal = Refusal::default();
    let mut not_modelled = plan.not_modelled.clone();
    let setup = is_setup(item, &mut refusal);
    let radiation = radiation_of(item, plan.ion, &mut refusal);
    refuse_unit(item, &mut refusal);
    refuse_modifiers(item, &mut refusal);
    let accessories = name_accessories(item, &mut not_modelled, &mut refusal);
    plan.refuse_position(item, &mut refusal);
    let told_mu = plan.meterset_of(number);
    if setup {
        // A setup field is never delivered, whatever its file states; a portal image is delivered, but not
        // counted.
        if let Ok(mu) = told_mu
            && mu > 0.0
        {
            notes.warn_beam(
                &name,
                &format!("a setup field with {mu} MU, whose dose is not counted"),
            );
        }
    } else if let Err(why) = &told_mu {
        refusal.because(why.clone());
    }
    let energy_mv = refusal.given(
        first
            .try_number(tags::NOMINAL_BEAM_ENERGY)
            .and_then(|mv| within(tags::NOMINAL_BEAM_ENERGY, mv, bounds::ENERGY_MV)),
    );
    let place = tags::ISOCENTER_POSITION;
    let isocentre = first.try_array(place).and_then(|mm| {
        {
            mm.into_iter()
                .try_for_each(|v| within(place, v, bounds::PLACE_MM).map(drop))
        }
        .map(|()| DVec3::from(mm))
    });
    let isocentre = refusal.given(isocentre);
    refuse_distance(item, &mut refusal);
    let unflattened = is_unflattened(item, &mut not_modelled);
    let devices = Devices::read(item, &mut refusal);
    devices.remark(&name, notes, &mut refusal);
    let walk = Walk::through(points, item, &devices, &mut refusal);
    for (angle, deg) in &walk.not_modelled_deg {
        not_modelled.push(format!("{angle} {deg} degrees"));
    }
    let is_treated = radiation == Radiation::Photon && !setup;
    let mut beam = Beam {
        number,
        machine: energy_mv
            .filter(|_| is_treated)
            .map(|mv| shipped_machine(item, mv).unwrap_or_else(|| machine_for(unflattened, mv))),
        treatment_machine: treatment_machine(item).filter(|_| is_treated),
        radiation,
        energy_mv,
        unflattened,
        source_axis_mm: item.try_number(tags::SOURCE_AXIS_DISTANCE).ok(),
        mu: if setup { 0.0 } else { told_mu.unwrap_or(0.0) },
        dose_rate_mu_min: dose_rate_set(points),
        isocentre_mm: isocentre.unwrap_or(DVec3::ZERO),
        mlc: devices
            .mlc
            .filter(|_| walk.has_leaves())
            .map(|(_, mlc)| mlc),
        control_points: walk.points,
        read_only: None,
        name,
        fluence: None,
        fluence_limits: Vec::new(),
        cut_from: None,
        not_modelled,
        accessories,
        without_boluses: Vec::new(),
        setup,
        off: false,
    };
    if let Some(fault) = beam.fault().filter(|_| refusal.reason().is_none()) {
        refusal.because(fault.to_string());
    }
    match refusal.reason() {
        Some(reason) => notes.note_beam(&beam.name, &format!("shown but not computed: {reason}")),
        None => {
            if walk.moves_while_static {
                notes.warn_beam(
                    &beam.name,
                    "its BeamType is STATIC but it moves while it delivers; it is computed as moving",
                );
            }
            for what in beam
                .not_modelled
                .iter()
                .filter(|what| !plan.not_modelled.contains(what))
            {
                notes.warn_beam(&beam.name, &format!("{what}: not modelled"));
            }
            for id in &beam.accessories {
                let counted =
                    "counted by its factor in the machine file ([trays]), otherwise not modelled";
                notes.warn_beam(&beam.name, &format!("accessory '{id}': {counted}"));
            }
        }
    }
    beam.read_only = refusal.0;
    Ok(beam)
}

/// The dose rate that a beam is set to; `None` where it changes, or no machine has it. No dose depends on it.
fn dose_rate_set(points: &[Item]) -> Option<f64> {
    let mut rates = points
        .iter()
        .filter_map(|point| point.number(tags::DOSE_RATE_SET));
    let first = rates
        .next()
        .filter(|rate| bounds::DOSE_RATE_MU_MIN.contains(rate))?;
    rates.all(|rate| rate == first).then_some(first)
}

fn radiation_of(item: &Item, ion: bool, refusal: &mut Refusal) -> Radiation {
    match item.text(tags::RADIATION_TYPE).as_deref() {
        Some("PHOTON") if !ion => return Radiation::Photon,
        Some("ELECTRON") => {
            refusal.because("electrons are not computed");
            return Radiation::Electron;
        }
        Some("PROTON") => {
            refusal.because("protons and ions are not computed");
            return Radiation::Proton;
        }
        _ if ion => refusal.because("protons and ions are not computed"),
        Some(other) => refusal.because(format!(
            "its RadiationType is '{other}', which is not computed"
        )),
        None => refusal.because(AttributeError::Missing(tags::RADIATION_TYPE).to_string()),
    }
    Radiation::Other
}

/// Whether it is a setup or imaging field; a beam that is neither that nor a treatment is refused.
fn is_setup(item: &Item, refusal: &mut Refusal) -> bool {
    match item.text(tags::TREATMENT_DELIVERY_TYPE).as_deref() {
        None | Some("TREATMENT" | "CONTINUATION") => false,
        Some("SETUP" | "OPEN_PORTFILM" | "TRMT_PORTFILM") => {
            refusal.because("it is a setup field");
            true
        }
        Some(other) => {
            refusal.because(format!(
                "its TreatmentDeliveryType is '{other}', which is not known"
            ));
            false
        }
    }
}

fn refuse_unit(item: &Item, refusal: &mut Refusal) {
    if let Some(unit) = item
        .text(tags::PRIMARY_DOSIMETER_UNIT)
        .filter(|unit| unit != "MU")
    {
        refusal.because(format!(
            "its meterset is not in monitor units (PrimaryDosimeterUnit '{unit}')"
        ));
    }
}

/// Wedges, blocks, compensators and applicators change the dose. One that only the sequence or only the
/// number states counts as well.
fn refuse_modifiers(item: &Item, refusal: &mut Refusal) {
    for (number, sequence, word) in MODIFIERS {
        let declared = refusal
            .given(item.try_number(number).optional())
            .flatten()
            .unwrap_or(0.0);
        let listed = item.items(sequence).len();
        if declared != 0.0 || listed > 0 {
            refusal.because(format!(
                "it has a {word}, which is not modelled ({} {declared}, {listed} in {})",
                keyword(number),
                keyword(sequence)
            ));
        }
    }
    if let Some(applicator) = item.items(tags::APPLICATOR_SEQUENCE).first() {
        let kind = applicator
            .text(tags::APPLICATOR_TYPE)
            .unwrap_or_else(|| "not stated".to_owned());
        refusal.because(format!(
            "it has an applicator, which is not modelled (ApplicatorType '{kind}')"
        ));
    }
    if item
        .text(tags::ENHANCED_RT_BEAM_LIMITING_DEVICE_DEFINITION_FLAG)
        .as_deref()
        == Some("YES")
    {
        refusal.because(
            "its collimators are given in the enhanced way (EnhancedRTBeamLimitingDeviceDefinitionFlag 'YES'), which is not read",
        );
    }
}

/// Identifiers of accessories in the beam, for which a machine file may have factors. A bolus, a technique and an accessory without an
/// identifier are not modelled: caveats of the dose.
fn name_accessories(
    item: &Item,
    not_modelled: &mut Vec<String>,
    refusal: &mut Refusal,
) -> Vec<String> {
    let mut identifiers = Vec::new();
    let declared = refusal
        .given(item.try_number(tags::NUMBER_OF_BOLI).optional())
        .flatten()
        .unwrap_or(0.0);
    if declared != 0.0 || !item.items(tags::REFERENCED_BOLUS_SEQUENCE).is_empty() {
        not_modelled.push("bolus".to_owned());
    }
    for accessory in item.items(tags::GENERAL_ACCESSORY_SEQUENCE) {
        let kind = accessory.text(tags::GENERAL_ACCESSORY_TYPE);
        if !kind
            .as_ref()
            .is_some_and(|kind| HARMLESS.contains(&kind.as_str()))
        {
            match accessory.text(tags::GENERAL_ACCESSORY_ID) {
                Some(id) => identifiers.push(id),
                None => not_modelled.push(
                    format!("accessory {}", kind.unwrap_or_default())
                        .trim_end()
                        .to_owned(),
                ),
            }
        }
    }
    if let Some(technique) = item
        .text(tags::HIGH_DOSE_TECHNIQUE_TYPE)
        .filter(|t| t != "NORMAL")
    {
        not_modelled.push(format!("technique {technique}"));
    }
    identifiers
}

fn refuse_distance(item: &Item, refusal: &mut Refusal) {
    let declared = refusal
        .given(item.try_number(tags::SOURCE_AXIS_DISTANCE).optional())
        .flatten();
    if let Some(mm) = declared.filter(|mm| (mm - SAD_MM).abs() > SAME_SAD_MM) {
        refusal.because(format!(
            "its SourceAxisDistance is {mm} mm, the machines have {SAD_MM} mm"
        ));
    }
}

fn is_unflattened(item: &Item, not_modelled: &mut Vec<String>) -> bool {
    let Some(mode) = item.items(tags::PRIMARY_FLUENCE_MODE_SEQUENCE).first() else {
        return false;
    };
    let declared = mode.text(tags::FLUENCE_MODE);
    if declared.as_deref() == Some("STANDARD") {
        return false;
    }
    let id = mode.text(tags::FLUENCE_MODE_ID);
    let unflattened = id
        .as_ref()
        .is_some_and(|id| id.to_ascii_uppercase().contains("FFF"));
    if !unflattened || declared.as_deref() != Some("NON_STANDARD") {
        let name = id.or(declared).unwrap_or_else(|| "not stated".to_owned());
        not_modelled.push(format!("fluence mode {name}"));
    }
    unflattened
}

/// The shipped machine of a name in a file, as plans written here have it. Names in files are cut to 16 characters.
fn shipped_of(named: &str) -> Option<String> {
    Machine::shipped()
        .into_iter()
        .find(|name| name.chars().take(16).eq(named.chars()))
}

/// The machine that a beam names, where that is no shipped one.
fn treatment_machine(item: &Item) -> Option<String> {
    let named = item
        .text(tags::TREATMENT_MACHINE_NAME)
        .map(|name| plain(&name).into_owned())?;
    (!named.is_empty() && shipped_of(&named).is_none()).then_some(named)
}

/// The shipped machine that a beam names, if it has the beam's energy.
fn shipped_machine(item: &Item, energy_mv: f64) -> Option<String> {
    let machine = shipped_of(&item.text(tags::TREATMENT_MACHINE_NAME)?)?;
    let nominal_mv = Machine::resolve(&machine).ok()?.nominal_mv;
    ((nominal_mv - energy_mv).abs() < 0.5).then_some(machine)
}

/// The shipped machine nearest in energy; `analysis::beam_remarks` reports a difference from the plan's.
fn machine_for(unflattened: bool, energy_mv: f64) -> String {
    match energy_mv {
        mv if mv < 8.0 && unflattened => "generic-6mv-fff",
        mv if mv < 8.0 => "generic-6mv",
        mv if mv < 12.5 => "generic-10mv",
        _ => "generic-15mv",
    }
    .to_owned()
}
