//! The control points of a beam, each completed with its inherited values, and the collimators that they
//! move.

use super::object::{AttributeError, Attributes, IfSaid, Item, keyword, within};
use super::rotation::{read_rotation, rotation_tag};
use super::rtbeam::Refusal;
use super::rtplan::Notes;
use case::{
    Bank, ControlPoint, Jaws, Mlc, MlcAxis, RotationAxis, bounds, check_leaf_boundaries, turn_deg,
};
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use glam::DVec3;

/// Position of a jaw that the machine lacks: the edge of the largest field of any C-arm machine.
const OPEN_MM: [f64; 2] = [-200.0, 200.0];

/// The outermost collimator position, mm at the isocentre plane.
const MOST_MM: f64 = *bounds::COLLIMATOR_MM.end();

/// A lean of table or gantry beyond this changes the dose substantially.
const LEANS_DEG: f64 = 5.0;

/// The beam limiting devices a beam has.
pub(super) struct Devices {
    x: bool,
    y: bool,
    /// The MLC with its device type as the control points name it.
    pub mlc: Option<(String, Mlc)>,
    layers: usize,
}

impl Devices {
    pub(super) fn read(beam: &Item, refusal: &mut Refusal) -> Self {
        let mut devices = Self {
            x: false,
            y: false,
            mlc: None,
            layers: 0,
        };
        for device in beam.items(tags::BEAM_LIMITING_DEVICE_SEQUENCE) {
            let kind = device
                .text(tags::RT_BEAM_LIMITING_DEVICE_TYPE)
                .unwrap_or_default();
            let twice = match kind.as_str() {
                "X" | "ASYMX" => std::mem::replace(&mut devices.x, true),
                "Y" | "ASYMY" => std::mem::replace(&mut devices.y, true),
                _ if kind.starts_with("MLC") => {
                    devices.layers += 1;
                    if let Some(mlc) = read_mlc(device, &kind, refusal) {
                        devices.mlc = Some((kind.clone(), mlc));
                    }
                    false
                }
                "" => {
                    refusal.because(
                        AttributeError::Missing(tags::RT_BEAM_LIMITING_DEVICE_TYPE).to_string(),
                    );
                    false
                }
                _ => {
                    refusal.because(format!(
                        "its RTBeamLimitingDeviceType '{kind}' is not modelled"
                    ));
                    false
                }
            };
            if twice {
                refusal.because(format!(
                    "it has two pairs of jaws '{kind}' (RTBeamLimitingDeviceType)"
                ));
            }
        }
        if devices.layers > 1 {
            let kind = devices
                .mlc
                .take()
                .map_or_else(String::new, |(kind, _)| kind);
            refusal.because(format!(
                "it has an MLC of {} layers, which is not modelled (RTBeamLimitingDeviceType '{kind}')",
                devices.layers
            ));
        }
        devices
    }

    /// Remarks on the limits of the field where a jaw is missing.
    pub(super) fn remark(&self, name: &str, notes: &mut Notes, refusal: &mut Refusal) {
        let which = match (self.x, self.y) {
            (true, true) => return,
            (false, true) => "X jaw",
            (true, false) => "Y jaw",
            _ => "jaws",
        };
        if self.layers == 0 {
            refusal.because(format!(
                "it has no {which} (BeamLimitingDeviceSequence), and no MLC to bound the field"
            ));
        } else {
            notes.note_beam(
                name,
                &format!("no {which}: the leaves alone bound the field there"),
            );
        }
    }

    /// The initial jaws where the file has none: fully open along the leaves, across them at the end of the
    /// leaves.
    fn open_jaws(&self) -> Jaws {
        let mut jaws = Jaws {
            x: OPEN_MM,
            y: OPEN_MM,
        };
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

fn read_mlc(device: &Item, kind: &str, refusal: &mut Refusal) -> Option<Mlc> {
    let tag = tags::LEAF_POSITION_BOUNDARIES;
    let boundaries_mm = refusal.given(device.try_numbers(tag))?;
    let name = keyword(tag);
    if let Some(mm) = boundaries_mm.iter().find(|mm| mm.abs() > MOST_MM) {
        refusal.because(format!(
            "one of its {name} is {mm} mm, not within {MOST_MM} mm"
        ));
        return None;
    }
    let pairs = refusal.given(device.try_whole(tags::NUMBER_OF_LEAF_JAW_PAIRS).optional())?;
    if boundaries_mm.len() < 2 || pairs.is_some_and(|pairs| pairs != boundaries_mm.len() as i64 - 1)
    {
        let pairs = pairs.map_or("not stated".to_owned(), |n| n.to_string());
        refusal.because(format!(
            "it has {} {name} and its NumberOfLeafJawPairs is {pairs}",
            boundaries_mm.len()
        ));
        return None;
    }
    if let Err(why) = check_leaf_boundaries(&boundaries_mm) {
        refusal.because(format!("{name}: {why}"));
        return None;
    }
    let axis = if kind.starts_with("MLCY") {
        MlcAxis::Y
    } else {
        MlcAxis::X
    };
    Some(Mlc {
        axis,
        boundaries_mm,
    })
}

/// All control points, each with the values inherited from earlier ones.
pub(super) struct Walk {
    pub points: Vec<ControlPoint>,
    /// Names and largest values of ignored small angles.
    pub not_modelled_deg: Vec<(&'static str, f64)>,
    /// Whether a beam with a static delivery moves nevertheless.
    pub moves_while_static: bool,
    /// Cumulative meterset weight of each control point, as the file has it.
    told_weights: Vec<Option<f64>>,
}

const LEANINGS: [(&str, Tag); 4] = [
    ("table pitch", tags::TABLE_TOP_PITCH_ANGLE),
    ("table roll", tags::TABLE_TOP_ROLL_ANGLE),
    ("gantry pitch", tags::GANTRY_PITCH_ANGLE),
    ("table eccentric angle", tags::TABLE_TOP_ECCENTRIC_ANGLE),
];

impl Walk {
    pub(super) fn through(
        items: &[Item],
        beam: &Item,
        devices: &Devices,
        refusal: &mut Refusal,
    ) -> Self {
        refuse_count(items, beam, refusal);
        let mut current = ControlPoint {
            meterset_weight: 0.0,
            gantry_deg: 0.0,
            collimator_deg: 0.0,
            couch_deg: 0.0,
            jaws: devices.open_jaws(),
            leaves_mm: Vec::new(),
        };
        let mut walk = Self {
            points: Vec::with_capacity(items.len()),
            not_modelled_deg: Vec::new(),
            moves_while_static: false,
            told_weights: Vec::with_capacity(items.len()),
        };
        for (k, item) in items.iter().enumerate() {
            // Refusals of a control point name it.
            let mut refusal_here = Refusal::default();
            if k > 0 {
                refuse_changes(&items[0], item, &mut refusal_here);
            }
            walk.read_angles(item, k == 0, &mut current, &mut refusal_here);
            let weight = item.try_number(tags::CUMULATIVE_METERSET_WEIGHT).optional();
            walk.told_weights.push(refusal_here.given(weight).flatten());
            read_devices(item, k == 0, devices, &mut current, &mut refusal_here);
            if let Some(reason) = refusal_here.reason() {
                refusal.because(format!("control point {}: {reason}", k + 1));
            }
            walk.points.push(current.clone());
        }
        if !walk.has_leaves() {
            walk.points
                .iter_mut()
                .for_each(|point| point.leaves_mm.clear());
        }
        walk.settle(beam, refusal);
        refuse_turns(items, &walk.points, refusal);
        walk
    }

    /// Whether every control point has the leaves of the MLC.
    pub(super) fn has_leaves(&self) -> bool {
        self.points.iter().all(|point| !point.leaves_mm.is_empty())
    }

    fn read_angles(
        &mut self,
        item: &Item,
        first: bool,
        point: &mut ControlPoint,
        refusal: &mut Refusal,
    ) {
        for (tag, angle) in [
            (tags::GANTRY_ANGLE, &mut point.gantry_deg),
            (tags::BEAM_LIMITING_DEVICE_ANGLE, &mut point.collimator_deg),
            (tags::PATIENT_SUPPORT_ANGLE, &mut point.couch_deg),
        ] {
            match item
                .try_number(tag)
                .and_then(|deg| within(tag, deg, bounds::ANGLE_DEG))
            {
                Ok(deg) => *angle = deg,
                Err(AttributeError::Missing(_)) if !first => {}
                Err(error) => refusal.because(error.to_string()),
            }
        }
        for (name, tag) in LEANINGS {
            let Some(deg) = refusal.given(item.try_number(tag).optional()).flatten() else {
                continue;
            };
            let off = (deg + 180.0).rem_euclid(360.0) - 180.0;
            if off.abs() > LEANS_DEG {
                refusal.because(format!(
                    "its {} is {deg} degrees, which is not modelled",
                    keyword(tag)
                ));
            } else if off.abs() > 1e-6 {
                match self.not_modelled_deg.iter_mut().find(|(n, _)| *n == name) {
                    Some((_, most)) if off.abs() > most.abs() => *most = off,
                    Some(_) => {}
                    None => self.not_modelled_deg.push((name, off)),
                }
            }
        }
    }

    /// Makes cumulative weights shares of the whole. A beam in which nothing moves has one control point, and
    /// so has one whose weights are unknown; the last one has all of the meterset.
    fn settle(&mut self, beam: &Item, refusal: &mut Refusal) {
        let still = self.points.windows(2).all(|w| w[0] == w[1]);
        let weights = self.weights(beam, still, refusal);
        match weights {
            Some(weights) if !still => {
                for (point, weight) in self.points.iter_mut().zip(weights) {
                    point.meterset_weight = weight;
                }
                // The file's may differ from it by rounding.
                self.points[0].meterset_weight = 0.0;
                self.moves_while_static = beam.text(tags::BEAM_TYPE).as_deref() == Some("STATIC")
                    && self.points.windows(2).any(|w: &[ControlPoint]| {
                        let held = ControlPoint {
                            meterset_weight: w[0].meterset_weight,
                            ..w[1].clone()
                        };
                        w[1].meterset_weight > w[0].meterset_weight && held != w[0]
                    });
            }
            _ => self.points.truncate(1),
        }
        if let Some(last) = self.points.last_mut() {
            last.meterset_weight = 1.0;
        }
    }

    /// The meterset weights from 0 to 1, where the file has all of them and they agree with their total.
    fn weights(&self, beam: &Item, still: bool, refusal: &mut Refusal) -> Option<Vec<f64>> {
        let [end, point] = [
            tags::FINAL_CUMULATIVE_METERSET_WEIGHT,
            tags::CUMULATIVE_METERSET_WEIGHT,
        ]
        .map(keyword);
        let final_weight = refusal.given(
            beam.try_number(tags::FINAL_CUMULATIVE_METERSET_WEIGHT)
                .optional(),
        )?;
        if let Some(weight) = final_weight.filter(|&weight| weight <= 0.0) {
            refusal.because(format!("its {end} is {weight}, not above 0"));
            return None;
        }
        let last = *self.told_weights.last()?;
        if let (Some(final_weight_read), Some(last)) = (final_weight, last)
            && (last / final_weight_read - 1.0).abs() > 1e-3
        {
            refusal.because(format!(
                "its {end} is {final_weight_read}, but the {point} of its last control point {last}"
            ));
            return None;
        }
        if still {
            return None;
        }
        let Some(final_weight) = final_weight else {
            refusal.because(
                AttributeError::Missing(tags::FINAL_CUMULATIVE_METERSET_WEIGHT).to_string(),
            );
            return None;
        };
        if let Some(k) = self.told_weights.iter().position(Option::is_none) {
            refusal.because(format!("control point {} has no {point}", k + 1));
            return None;
        }
        let declared: Vec<f64> = self.told_weights.iter().flatten().copied().collect();
        if declared[0].abs() > 1e-3 * final_weight {
            refusal.because(format!(
                "the {point} of its first control point is {}, not 0",
                declared[0]
            ));
            return None;
        }
        if let Some(k) = declared.windows(2).position(|w| w[1] < w[0]) {
            refusal.because(format!(
                "its {point} falls at control point {} ({} to {})",
                k + 2,
                declared[k],
                declared[k + 1]
            ));
            return None;
        }
        Some(
            declared
                .iter()
                .map(|weight| (weight / final_weight).clamp(0.0, 1.0))
                .collect(),
        )
    }
}

/// A control point that is missing or out of order moves monitor units to another place.
fn refuse_count(items: &[Item], beam: &Item, refusal: &mut Refusal) {
    let declared = refusal
        .given(beam.try_whole(tags::NUMBER_OF_CONTROL_POINTS).optional())
        .flatten();
    if let Some(declared) = declared.filter(|&declared| declared != items.len() as i64) {
        refusal.because(format!(
            "its NumberOfControlPoints is {declared}, it has {}",
            items.len()
        ));
    }
    let mut previous = None;
    for item in items {
        let index = refusal
            .given(item.try_whole(tags::CONTROL_POINT_INDEX).optional())
            .flatten();
        if let (Some(previous_index), Some(index)) = (previous, index)
            && index != previous_index + 1
        {
            refusal.because(format!(
                "its control points are out of order (ControlPointIndex {previous_index}, then {index})"
            ));
        }
        previous = index;
    }
}

/// Refuses changes of parameters that the engines hold fixed through a beam.
fn refuse_changes(first: &Item, item: &Item, refusal: &mut Refusal) {
    let energy = tags::NOMINAL_BEAM_ENERGY;
    let energy_here = refusal.given(item.try_number(energy).optional()).flatten();
    if let (Some(energy_mv), Ok(start)) = (energy_here, first.try_number(energy))
        && energy_mv != start
    {
        refusal.because(format!(
            "its energy changes (NominalBeamEnergy {start}, then {energy_mv})"
        ));
    }
    let isocentre = tags::ISOCENTER_POSITION;
    let isocentre_here = refusal
        .given(item.try_array(isocentre).optional())
        .flatten()
        .map(DVec3::from);
    if let (Some(isocentre_mm), Ok(start)) =
        (isocentre_here, first.try_array(isocentre).map(DVec3::from))
        && (isocentre_mm - start).length() > 0.01
    {
        refusal.because(format!(
            "its isocentre moves (IsocenterPosition {start}, then {isocentre_mm})"
        ));
    }
    for tag in [
        tags::TABLE_TOP_VERTICAL_POSITION,
        tags::TABLE_TOP_LONGITUDINAL_POSITION,
        tags::TABLE_TOP_LATERAL_POSITION,
    ] {
        let table_here = refusal.given(item.try_number(tag).optional()).flatten();
        if let (Some(table_position), Ok(start)) = (table_here, first.try_number(tag))
            && (table_position - start).abs() > 0.01
        {
            refusal.because(format!(
                "its table moves ({} {start}, then {table_position})",
                keyword(tag)
            ));
        }
    }
}

/// The engines turn the short way between control points: a file with the opposite direction is not computed.
fn refuse_turns(items: &[Item], points: &[ControlPoint], refusal: &mut Refusal) {
    for axis in RotationAxis::ALL {
        let tag = rotation_tag(axis);
        let mut direction = None;
        for (k, w) in points.windows(2).enumerate() {
            direction = items[k].text(tag).or(direction);
            let (from, to) = (axis.angle_deg(&w[0]), axis.angle_deg(&w[1]));
            let turn = turn_deg(from, to);
            let stated = direction.as_deref().and_then(read_rotation);
            let against = stated.is_some_and(|stated| axis.is_against(turn, stated));
            // The direction of a turn by half a circle is ambiguous.
            let unsure = against || turn.abs() > 180.0 - bounds::SAME_DEG;
            if unsure && w[1].meterset_weight > w[0].meterset_weight {
                let declared = direction.as_deref().unwrap_or("not stated");
                refusal.because(format!(
                    "it turns from {from} to {to} degrees the long way round ({} {declared}), which is not modelled",
                    keyword(tag)
                ));
            }
        }
    }
}

/// Reads jaws, leaves and wedges of a control point.
fn read_devices(
    item: &Item,
    first: bool,
    devices: &Devices,
    point: &mut ControlPoint,
    refusal: &mut Refusal,
) {
    let mut declared = Vec::new();
    let positions = keyword(tags::LEAF_JAW_POSITIONS);
    for device in item.items(tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE) {
        let Some(kind) = set_device(device, devices, point, refusal) else {
            continue;
        };
        if declared.contains(&kind) {
            refusal.because(format!(
                "it has two {positions} of the RTBeamLimitingDeviceType '{kind}'"
            ));
        }
        declared.push(kind);
    }
    let where_they_are = keyword(tags::BEAM_LIMITING_DEVICE_POSITION_SEQUENCE);
    if first {
        for (has, names) in [(devices.x, ["X", "ASYMX"]), (devices.y, ["Y", "ASYMY"])] {
            if has && declares_neither(names, &declared) {
                refusal.because(format!(
                    "it has no {positions} of the {} jaws ({where_they_are})",
                    names[0]
                ));
            }
        }
        if devices.mlc.is_some() && point.leaves_mm.is_empty() {
            refusal.because(format!(
                "it has no {positions} of the leaves ({where_they_are})"
            ));
        }
    }
    for wedge in item.items(tags::WEDGE_POSITION_SEQUENCE) {
        let position = wedge
            .text(tags::WEDGE_POSITION)
            .unwrap_or_else(|| "not stated".to_owned());
        if position != "OUT" {
            refusal.because(format!(
                "it has a wedge, which is not modelled (WedgePosition '{position}')"
            ));
        }
    }
}

fn declares_neither(names: [&str; 2], declared: &[String]) -> bool {
    !names
        .iter()
        .any(|name| declared.iter().any(|kind| kind == name))
}

/// Reads the position of one device and returns its type where that could be read.
fn set_device(
    item: &Item,
    devices: &Devices,
    point: &mut ControlPoint,
    refusal: &mut Refusal,
) -> Option<String> {
    let kind = item
        .text(tags::RT_BEAM_LIMITING_DEVICE_TYPE)
        .unwrap_or_default();
    let tag = tags::LEAF_JAW_POSITIONS;
    let mm = refusal.given(item.try_numbers(tag))?;
    let name = keyword(tag);
    if let Some(mm) = mm.iter().find(|mm| mm.abs() > MOST_MM) {
        refusal.because(format!(
            "its {name} of '{kind}' are {mm} mm, not within {MOST_MM} mm"
        ));
        return None;
    }
    match kind.as_str() {
        "X" | "ASYMX" | "Y" | "ASYMY" => {
            let pair = match mm[..] {
                [low, high] if low <= high => [low, high],
                [low, high] => {
                    refusal.because(format!(
                        "its jaws '{kind}' are crossed ({name} {low} and {high} mm)"
                    ));
                    return None;
                }
                _ => {
                    refusal.because(format!("its jaws '{kind}' have {} {name}", mm.len()));
                    return None;
                }
            };
            if kind.ends_with('X') {
                point.jaws.x = pair
            } else {
                point.jaws.y = pair
            }
        }
        _ if devices.mlc.as_ref().is_some_and(|(mlc, _)| *mlc == kind) => {
            let pairs = devices
                .mlc
                .as_ref()
                .map_or(0, |(_, mlc)| mlc.boundaries_mm.len() - 1);
            if mm.len() != 2 * pairs {
                refusal.because(format!("{} {name} for {pairs} leaf pairs", mm.len()));
                return None;
            }
            // All of the negative bank first, then all of the other.
            let (negative, positive) = mm.split_at(pairs);
            let crossed = negative
                .iter()
                .zip(positive)
                .position(|(n, p)| n - p > bounds::LEAF_OVERLAP_MM);
            if let Some(n) = crossed {
                refusal.because(format!(
                    "its leaf pair {} is crossed ({name} {} and {} mm)",
                    n + 1,
                    negative[n],
                    positive[n]
                ));
            }
            point.leaves_mm = negative
                .iter()
                .zip(positive)
                .map(|(&n, &p)| -> Bank { [n, p] })
                .collect();
        }
        // Several layers, or an MLC that could not be read: refused already.
        _ if kind.starts_with("MLC") && devices.layers > 0 && devices.mlc.is_none() => {}
        _ => {
            let declared_leaves = devices.mlc.as_ref().map_or("none", |(mlc, _)| mlc.as_str());
            refusal.because(format!(
                "it has {name} of an RTBeamLimitingDeviceType '{kind}' that it does not declare (its leaves: {declared_leaves})"
            ));
        }
    }
    Some(kind)
}
