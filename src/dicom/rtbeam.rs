//! One beam of an RT plan: control points made complete, apertures, and why a beam cannot be computed.

use super::object::{Attributes, Item};
use super::rtplan::Notes;
use crate::case::{Bank, Beam, ControlPoint, Jaws, Mlc, MlcAxis, Radiation};
use dicom_dictionary_std::tags;
use glam::DVec3;
use std::collections::HashMap;

/// Where a jaw stands that a machine does not have: at the edge of the largest field of any C-arm machine.
const OPEN_MM: [f64; 2] = [-200.0, 200.0];

/// Reads a beam; `Err` says what contradicts itself.
pub(super) fn read_beam(
    item: &Item,
    ion: bool,
    mu: &HashMap<i64, f64>,
    notes: &mut Notes,
) -> Result<Beam, String> {
    let number = item
        .whole(tags::BEAM_NUMBER)
        .and_then(|n| u32::try_from(n).ok())
        .ok_or("one of its beams has no number")?;
    let name = item.text(tags::BEAM_NAME).unwrap_or_else(|| format!("Beam {number}"));
    let sequence = if ion { tags::ION_CONTROL_POINT_SEQUENCE } else { tags::CONTROL_POINT_SEQUENCE };
    let points = item.items(sequence);
    let Some(first) = points.first() else {
        return Err(format!("beam '{name}' has no control points"));
    };
    let radiation = radiation_of(item, ion);
    let devices = Devices::read(item, &name)?;
    let mut read_only = refusal(item, radiation, &devices);
    let setup = is_setup(item);
    let told_mu = mu.get(&i64::from(number)).copied();
    if told_mu.is_none() && !setup {
        notes.warn_beam(&name, "no monitor units; 0 are used");
    }
    let energy_mv = first.number(tags::NOMINAL_BEAM_ENERGY);
    let isocentre = first.vector(tags::ISOCENTER_POSITION);
    if isocentre.is_none() {
        read_only.get_or_insert_with(|| "the file gives no isocentre".to_owned());
    }
    let walk = Walk::through(points, item, &devices, &name)?;
    walk.remark(&name, isocentre, &mut read_only, notes);
    note_odd_geometry(item, &name, &devices, notes);
    let unflattened = is_unflattened(item);
    let machine = (radiation == Radiation::Photon && !setup).then(|| machine_for(unflattened, energy_mv));
    Ok(Beam {
        number,
        machine,
        radiation,
        energy_mv,
        unflattened,
        // A setup field is never delivered, whatever its file says.
        mu: if setup { 0.0 } else { told_mu.unwrap_or(0.0) },
        isocentre_mm: isocentre.unwrap_or(DVec3::ZERO),
        mlc: devices.mlc.map(|(_, mlc)| mlc),
        control_points: walk.points,
        read_only,
        name,
        not_modelled: Vec::new(),
        setup,
    })
}

fn radiation_of(item: &Item, ion: bool) -> Radiation {
    match item.text(tags::RADIATION_TYPE).as_deref() {
        Some("PHOTON") => Radiation::Photon,
        Some("ELECTRON") => Radiation::Electron,
        Some("PROTON") => Radiation::Proton,
        None if !ion => Radiation::Photon,
        _ => Radiation::Other,
    }
}

fn is_setup(item: &Item) -> bool {
    item.text(tags::TREATMENT_DELIVERY_TYPE).is_some_and(|t| t != "TREATMENT" && t != "CONTINUATION")
}

/// Why the beam cannot be computed here, if so.
fn refusal(item: &Item, radiation: Radiation, devices: &Devices) -> Option<String> {
    let some = |tag| item.number(tag).is_some_and(|n| n > 0.0);
    let unit = item.text(tags::PRIMARY_DOSIMETER_UNIT);
    let reason = if is_setup(item) {
        "it is a setup field"
    } else if radiation == Radiation::Electron {
        "electrons are not computed"
    } else if radiation != Radiation::Photon {
        "protons and ions are not computed"
    } else if some(tags::NUMBER_OF_WEDGES) {
        "it has a wedge, which is not modelled"
    } else if some(tags::NUMBER_OF_BLOCKS) {
        "it has a block, which is not modelled"
    } else if some(tags::NUMBER_OF_COMPENSATORS) {
        "it has a compensator, which is not modelled"
    } else if devices.layers > 1 {
        "it has an MLC of several layers, which is not modelled"
    } else if unit.is_some_and(|u| u != "MU") {
        "its meterset is not in monitor units"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

fn is_unflattened(item: &Item) -> bool {
    let modes = item.items(tags::PRIMARY_FLUENCE_MODE_SEQUENCE);
    modes.iter().any(|mode| mode.text(tags::FLUENCE_MODE).is_some_and(|m| m != "STANDARD"))
}

/// The shipped machine nearest in energy; where it is not the plan's, `analysis::beam_remarks` says so.
fn machine_for(unflattened: bool, energy_mv: Option<f64>) -> String {
    match energy_mv.unwrap_or(6.0) {
        mv if mv < 8.0 && unflattened => "generic-6mv-fff",
        mv if mv < 8.0 => "generic-6mv",
        mv if mv < 12.5 => "generic-10mv",
        _ => "generic-15mv",
    }
    .to_owned()
}

/// The beam limiting devices a beam has.
struct Devices {
    x: bool,
    y: bool,
    /// The MLC's device type as the control points name it.
    mlc: Option<(String, Mlc)>,
    layers: usize,
}

impl Devices {
    fn read(item: &Item, name: &str) -> Result<Self, String> {
        let mut devices = Self { x: false, y: false, mlc: None, layers: 0 };
        for device in item.items(tags::BEAM_LIMITING_DEVICE_SEQUENCE) {
            let kind = device.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE).unwrap_or_default();
            match kind.as_str() {
                "X" | "ASYMX" => devices.x = true,
                "Y" | "ASYMY" => devices.y = true,
                _ if kind.starts_with("MLC") => {
                    devices.layers += 1;
                    let boundaries_mm = device.numbers(tags::LEAF_POSITION_BOUNDARIES);
                    // NaN does not ascend either.
                    let ascend = boundaries_mm.windows(2).all(|w| w[1] > w[0]);
                    if boundaries_mm.len() < 2 || !ascend {
                        return Err(format!("the leaf boundaries of beam '{name}' do not ascend"));
                    }
                    let axis = if kind.starts_with("MLCY") { MlcAxis::Y } else { MlcAxis::X };
                    devices.mlc.get_or_insert((kind, Mlc { axis, boundaries_mm }));
                }
                _ => {}
            }
        }
        Ok(devices)
    }

    /// The jaws at the start, for those the file does not have: along the leaves fully open, across them where the
    /// leaves end.
    fn open_jaws(&self) -> Jaws {
        let mut jaws = Jaws { x: OPEN_MM, y: OPEN_MM };
        if let Some((_, mlc)) = &self.mlc {
            let b = &mlc.boundaries_mm;
            let across = [b[0], b[b.len() - 1]];
            match mlc.axis {
                MlcAxis::X => jaws.y = across,
                MlcAxis::Y => jaws.x = across,
            }
        }
        jaws
    }
}

/// All control points, each with what it inherits from those before.
struct Walk {
    points: Vec<ControlPoint>,
    isocentre_moves: bool,
    energy_changes: bool,
    no_meterset: bool,
    /// Names and largest values of angles that are not modelled.
    ignored_deg: Vec<(&'static str, f64)>,
}

const IGNORED_ANGLES: [(&str, dicom_core::Tag); 4] = [
    ("table pitch", tags::TABLE_TOP_PITCH_ANGLE),
    ("table roll", tags::TABLE_TOP_ROLL_ANGLE),
    ("gantry pitch", tags::GANTRY_PITCH_ANGLE),
    ("table eccentric angle", tags::TABLE_TOP_ECCENTRIC_ANGLE),
];

impl Walk {
    fn through(items: &[Item], beam: &Item, devices: &Devices, name: &str) -> Result<Self, String> {
        let whole = beam.number(tags::FINAL_CUMULATIVE_METERSET_WEIGHT).filter(|&w| w > 0.0);
        let pairs = devices.mlc.as_ref().map_or(0, |(_, mlc)| mlc.boundaries_mm.len() - 1);
        let mut now = ControlPoint {
            meterset_weight: 0.0,
            gantry_deg: 0.0,
            collimator_deg: 0.0,
            couch_deg: 0.0,
            jaws: devices.open_jaws(),
            leaves_mm: Vec::new(),
        };
        let mut walk = Self {
            points: Vec::with_capacity(items.len()),
            isocentre_moves: false,
            energy_changes: false,
            no_meterset: whole.is_none(),
            ignored_deg: Vec::new(),
        };
        for (k, item) in items.iter().enumerate() {
            if k > 0 {
                walk.isocentre_moves |= moved(&items[0], item);
                let energy = item.number(tags::NOMINAL_BEAM_ENERGY);
                walk.energy_changes |=
                    energy.is_some() && energy != items[0].number(tags::NOMINAL_BEAM_ENERGY);
            }
            walk.note_angles(item);
            let told = item.number(tags::CUMULATIVE_METERSET_WEIGHT);
            let before = now.meterset_weight;
            now.meterset_weight = match (told, whole) {
                (Some(weight), Some(whole)) => weight / whole,
                _ => before,
            };
            if now.meterset_weight < before {
                return Err(format!("the meterset of beam '{name}' falls at control point {}", k + 1));
            }
            now.gantry_deg = item.number(tags::GANTRY_ANGLE).unwrap_or(now.gantry_deg);
            now.collimator_deg = item.number(tags::BEAM_LIMITING_DEVICE_ANGLE).unwrap_or(now.collimator_deg);
            now.couch_deg = item.number(tags::PATIENT_SUPPORT_ANGLE).unwrap_or(now.couch_deg);
            for device in item.items(tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE) {
                set_device(device, devices, pairs, &mut now)
                    .map_err(|what| format!("beam '{name}', control point {}: {what}", k + 1))?;
            }
            walk.points.push(now.clone());
        }
        if pairs > 0 && now.leaves_mm.is_empty() {
            return Err(format!("beam '{name}' has an MLC but no leaf positions"));
        }
        walk.settle(name)?;
        Ok(walk)
    }

    /// A beam in which nothing moves has one control point; the last one stands at all of the meterset.
    fn settle(&mut self, name: &str) -> Result<(), String> {
        let still = self.points.windows(2).all(|w| {
            let same_weight = ControlPoint { meterset_weight: w[0].meterset_weight, ..w[1].clone() };
            same_weight == w[0]
        });
        if still {
            self.points.truncate(1);
        } else {
            let end = self.points.last().map_or(1.0, |last| last.meterset_weight);
            if !self.no_meterset && (end - 1.0).abs() > 1e-3 {
                return Err(format!("the meterset of beam '{name}' ends at {end:.4} of its total"));
            }
        }
        if let Some(last) = self.points.last_mut() {
            last.meterset_weight = 1.0;
        }
        Ok(())
    }

    fn note_angles(&mut self, item: &Item) {
        for (name, tag) in IGNORED_ANGLES {
            let Some(deg) = item.number(tag).filter(|d| d.abs() > 1e-6 && (d.abs() - 360.0).abs() > 1e-6)
            else {
                continue;
            };
            match self.ignored_deg.iter_mut().find(|(n, _)| *n == name) {
                Some((_, most)) if deg.abs() > most.abs() => *most = deg,
                Some(_) => {}
                None => self.ignored_deg.push((name, deg)),
            }
        }
    }

    fn remark(
        &self,
        name: &str,
        isocentre: Option<DVec3>,
        read_only: &mut Option<String>,
        notes: &mut Notes,
    ) {
        if self.isocentre_moves && isocentre.is_some() {
            read_only.get_or_insert_with(|| "its isocentre moves between control points".to_owned());
        }
        if self.energy_changes {
            read_only.get_or_insert_with(|| "its energy changes between control points".to_owned());
        }
        if self.no_meterset && self.points.len() > 1 {
            read_only.get_or_insert_with(|| "its control points have no meterset weights".to_owned());
        }
        for (angle, deg) in &self.ignored_deg {
            notes.warn_beam(name, &format!("a {angle} of {deg} degrees, which is not modelled"));
        }
        if let Some(reason) = read_only {
            notes.note_beam(name, &format!("shown but not computed: {reason}"));
        }
    }
}

fn moved(first: &Item, later: &Item) -> bool {
    match (first.vector(tags::ISOCENTER_POSITION), later.vector(tags::ISOCENTER_POSITION)) {
        (Some(a), Some(b)) => (a - b).length() > 0.01,
        _ => false,
    }
}

/// Takes over the position of one device.
fn set_device(item: &Item, devices: &Devices, pairs: usize, now: &mut ControlPoint) -> Result<(), String> {
    let kind = item.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE).unwrap_or_default();
    let values = item.numbers(tags::LEAF_JAW_POSITIONS);
    if values.iter().any(|v| !v.is_finite()) {
        return Err(format!("a position of device {kind} is no number"));
    }
    let pair = |values: &[f64]| match *values {
        [low, high] if low <= high => Ok([low, high]),
        _ => Err(format!("the positions of jaw {kind} are {values:?}")),
    };
    match kind.as_str() {
        "X" | "ASYMX" => now.jaws.x = pair(&values)?,
        "Y" | "ASYMY" => now.jaws.y = pair(&values)?,
        _ if devices.mlc.as_ref().is_some_and(|(name, _)| *name == kind) => {
            if values.len() != 2 * pairs {
                return Err(format!("{} leaf positions for {pairs} leaf pairs", values.len()));
            }
            // All of the negative bank first, then all of the other.
            let (negative, positive) = values.split_at(pairs);
            now.leaves_mm = negative.iter().zip(positive).map(|(&n, &p)| -> Bank { [n, p] }).collect();
        }
        _ => {}
    }
    Ok(())
}

fn note_odd_geometry(item: &Item, name: &str, devices: &Devices, notes: &mut Notes) {
    if !(devices.x && devices.y) {
        let which = match (devices.x, devices.y) {
            (false, true) => "X jaw",
            (true, false) => "Y jaw",
            _ => "jaws",
        };
        let stands = if devices.mlc.is_some() {
            "the leaves alone bound the field there"
        } else {
            "it counts as open to 20 cm to each side"
        };
        notes.note_beam(name, &format!("no {which}: {stands}"));
    }
    if let Some(sad) = item.number(tags::SOURCE_AXIS_DISTANCE).filter(|sad| (sad - 1000.0).abs() > 0.5) {
        notes.warn_beam(name, &format!("a source-axis distance of {sad} mm, not 1000 mm"));
    }
    if item.number(tags::NUMBER_OF_BOLI).is_some_and(|n| n > 0.0) {
        notes.warn_beam(name, "a bolus, which is not modelled");
    }
}
