//! RT structure set -> contours.

use super::DicomError;
use super::catalogue::frame_of;
use super::densities::stated;
use super::object::{AttributeError, Attributes, IfSaid, Item, file_name, keyword, open, within};
use case::{
    Contour, Contours, DensityOverride, Remark, Rgb, Structure, StructureKind, StructureSet,
};
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use glam::DVec3;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reads a structure set. Regions without contours are kept (empty); single malformed contours are left out
/// with a remark.
///
/// # Errors
/// [`DicomError`] where the file cannot be read or holds no regions of interest at all.
pub fn read_structures(path: &Path) -> Result<StructureSet, DicomError> {
    let object = open(path)?;
    let rois = object.items(tags::STRUCTURE_SET_ROI_SEQUENCE);
    if rois.is_empty() {
        return Err(DicomError::Missing {
            path: path.to_owned(),
            attribute: "StructureSetROISequence",
        });
    }
    let frame = frame_of(&object);
    let mut reader = Reader {
        file: file_name(path),
        remarks: Vec::new(),
        not_modelled: Vec::new(),
    };
    let drawn = reader.by_number(object.items(tags::ROI_CONTOUR_SEQUENCE));
    let observed = reader.by_number(object.items(tags::RTROI_OBSERVATIONS_SEQUENCE));

    let mut numbers = HashSet::new();
    let mut structures = Vec::with_capacity(rois.len());
    for roi in rois {
        let name = roi.text(tags::ROI_NAME).unwrap_or_default();
        let number = match number_of(roi, tags::ROI_NUMBER) {
            Ok(number) if numbers.insert(number) => number,
            Ok(number) => {
                reader.warn(format!(
                    "structure '{name}' has the ROINumber {number} of another and is left out"
                ));
                continue;
            }
            Err(error) => {
                reader.warn(format!("structure '{name}' is left out: {error}"));
                continue;
            }
        };
        let own_frame = roi.text(tags::REFERENCED_FRAME_OF_REFERENCE_UID);
        if let Some(frame_of_roi) = own_frame.filter(|frame_of_roi| *frame_of_roi != frame) {
            reader.warn(format!(
                "structure '{name}' is drawn in another frame of reference ({} {frame_of_roi}) and is left out",
                keyword(tags::REFERENCED_FRAME_OF_REFERENCE_UID)
            ));
            continue;
        }
        let observed = observed.get(&number).and_then(|items| items.first());
        let code = observed.and_then(|o| o.text(tags::RTROI_INTERPRETED_TYPE));
        let kind = StructureKind::from_code_and_name(code.as_deref().unwrap_or_default(), &name);
        let density = observed.and_then(|observed| reader.density(observed, &name, kind));
        let name = if name.is_empty() {
            format!("ROI {number}")
        } else {
            name
        };
        let mut structure = Structure {
            density,
            ..Structure::new(name, number, kind)
        };
        match drawn.get(&number).map(Vec::as_slice) {
            None | Some([]) => {}
            Some([drawn]) => {
                structure.colour = colour_of(drawn).unwrap_or(structure.colour);
                reader.contours(drawn, &mut structure);
            }
            Some(several) => {
                let name = &structure.name;
                reader.warn(format!(
                    "structure '{name}' has {} sets of contours (ReferencedROINumber {number}) and is left out",
                    several.len()
                ));
                continue;
            }
        }
        structures.push(structure);
    }
    let mut lost: Vec<u32> = drawn
        .keys()
        .filter(|number| !numbers.contains(number))
        .copied()
        .collect();
    lost.sort_unstable();
    if !lost.is_empty() {
        let lost = lost
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        reader.warn(format!(
            "contours of no structure are left out (ReferencedROINumber {lost})"
        ));
    }
    if frame.is_empty() {
        reader.warn("the structure set names no frame of reference".to_owned());
    }
    let empty: Vec<&str> = structures
        .iter()
        .filter(|s| s.contours.is_empty() && s.points_mm.is_empty())
        .map(|s| s.name.as_str())
        .collect();
    if !empty.is_empty() {
        let message = format!(
            "{} structure(s) have no contours (ROIContourSequence, ContourSequence): {}",
            empty.len(),
            empty.join(", ")
        );
        reader
            .remarks
            .push(Remark::note(message, vec![reader.file.clone()]));
    }
    let mut set = StructureSet {
        label: object
            .text(tags::STRUCTURE_SET_LABEL)
            .or_else(|| object.text(tags::STRUCTURE_SET_NAME))
            .unwrap_or_default(),
        frame_of_reference_uid: frame,
        structures,
        uid: object.text(tags::SOP_INSTANCE_UID),
        remarks: reader.remarks,
        not_modelled: reader.not_modelled,
    };
    for name in set.tell_apart() {
        let message = format!(
            "several structures are called '{name}': each after the first has a count behind its name"
        );
        set.remarks
            .push(Remark::warning(message, vec![reader.file.clone()]).without_bearing());
    }
    Ok(set)
}

fn number_of(item: &Item, tag: Tag) -> Result<u32, AttributeError> {
    let number = item.try_whole(tag)?;
    within(tag, number as f64, 0.0..=f64::from(u32::MAX)).map(|n| n as u32)
}

/// The greatest distance of a contour from the isocentre of any frame of reference: the length of a room, mm.
const MOST_MM: f64 = 10_000.0;

fn colour_of(item: &Item) -> Option<Rgb> {
    match item.numbers(tags::ROI_DISPLAY_COLOR)[..] {
        // A cast of a float to u8 saturates, NaN becomes 0.
        [r, g, b] => Some(Rgb([r as u8, g as u8, b as u8])),
        _ => None,
    }
}

struct Reader {
    file: String,
    remarks: Vec<Remark>,
    not_modelled: Vec<String>,
}

impl Reader {
    /// Whole structures that are left out move no dose, nor is a goal decided without its structure.
    fn warn(&mut self, message: String) {
        self.remarks.push(self.warning(message).without_bearing());
    }

    /// A remark on the contours of a structure, which stands with what is made of that.
    fn warn_of(&mut self, structure: &mut Structure, remark: Remark) {
        self.remarks.push(remark.clone().without_bearing());
        structure.remarks.push(remark);
    }

    fn warning(&self, message: String) -> Remark {
        Remark::warning(message, vec![self.file.clone()])
    }

    /// Items by their structure's number.
    fn by_number<'a>(&mut self, items: &'a [Item]) -> HashMap<u32, Vec<&'a Item>> {
        let mut items_by_number: HashMap<u32, Vec<&Item>> = HashMap::new();
        for item in items {
            match number_of(item, tags::REFERENCED_ROI_NUMBER) {
                Ok(number) => items_by_number.entry(number).or_default().push(item),
                Err(error) => {
                    self.warn(format!("what belongs to a structure is left out: {error}"))
                }
            }
        }
        items_by_number
    }

    /// The density that the planner assigned to a structure in place of the CT's; one that is not taken is told.
    fn density(
        &mut self,
        observed: &Item,
        name: &str,
        kind: StructureKind,
    ) -> Option<DensityOverride> {
        let properties = observed.items(tags::ROI_PHYSICAL_PROPERTIES_SEQUENCE);
        if let Some(density_override) = stated(properties, kind) {
            let message = format!(
                "structure '{name}' has its density for dose from the file: {density_override}"
            );
            self.remarks
                .push(Remark::note(message, vec![self.file.clone()]));
            return Some(density_override);
        }
        let declared: Vec<String> = properties
            .iter()
            .map(|property: &Item| {
                let what = property
                    .text(tags::ROI_PHYSICAL_PROPERTY)
                    .unwrap_or_else(|| "a property".to_owned());
                let value = property.try_number(tags::ROI_PHYSICAL_PROPERTY_VALUE);
                let value = value.map_or_else(
                    |e| e.to_string(),
                    |v| format!("ROIPhysicalPropertyValue {v}"),
                );
                format!("{what}: {value}")
            })
            .collect();
        if !declared.is_empty() {
            self.warn(format!(
                "structure '{name}' was planned with another ROIPhysicalProperty than the CT gives ({}), which is not \
                 modelled",
                declared.join("; ")
            ));
            self.not_modelled.push(format!("density given to '{name}'"));
        }
        None
    }

    fn contours(&mut self, drawn: &Item, structure: &mut Structure) {
        // Messages with the number of contours concerned.
        let mut said: Vec<(String, usize)> = Vec::new();
        let (mut more, mut left_out) = (0, 0);
        let mut closed = Vec::new();
        let mut exclusive = false;
        let mut say = |what: String| match said.iter().position(|(w, _)| *w == what) {
            Some(n) => said[n].1 += 1,
            None if said.len() < MOST_KINDS => said.push((what, 1)),
            None => more += 1,
        };
        for contour in drawn.items(tags::CONTOUR_SEQUENCE) {
            let points_mm = match points_of(contour) {
                Ok(points) => points,
                Err(why) => {
                    left_out += 1;
                    say(format!("{LEFT_OUT}{why}"));
                    continue;
                }
            };
            match contour.try_whole(tags::NUMBER_OF_CONTOUR_POINTS).optional() {
                Ok(declared) if declared.is_none_or(|n| n == points_mm.len() as i64) => {}
                Ok(declared) => say(format!(
                    "with another number of points than NumberOfContourPoints says ({}): the points are used",
                    declared.unwrap_or_default()
                )),
                Err(error) => say(format!("of which {error}: the points are used")),
            }
            match (
                contour.text(tags::CONTOUR_GEOMETRIC_TYPE).as_deref(),
                points_mm.len(),
            ) {
                (Some("POINT"), _) | (_, 1) => structure.points_mm.extend(points_mm),
                (Some(open @ ("OPEN_PLANAR" | "OPEN_NONPLANAR")), _) => {
                    left_out += 1;
                    say(format!(
                        "{LEFT_OUT}open lines (ContourGeometricType {open})"
                    ));
                }
                (_, 2) => {
                    left_out += 1;
                    say(format!("{LEFT_OUT}2 points in ContourData"));
                }
                (declared, _) => {
                    if declared.is_none() {
                        say("without a ContourGeometricType: they count as closed".to_owned());
                    }
                    if let Some(other) = declared.filter(|form| !CLOSED.contains(form)) {
                        left_out += 1;
                        say(format!(
                            "{LEFT_OUT}their ContourGeometricType '{other}' is not known"
                        ));
                        continue;
                    }
                    exclusive |= declared == Some(EXCLUSIVE);
                    let image = contour.items(tags::CONTOUR_IMAGE_SEQUENCE).first();
                    let image_uid = image.and_then(|i| i.text(tags::REFERENCED_SOP_INSTANCE_UID));
                    closed.push(Contour {
                        points_mm,
                        image_uid,
                    });
                }
            }
        }
        structure.contours = if exclusive {
            Contours::exclusive(closed)
        } else {
            closed.into()
        };
        let caveat = format!(
            "{left_out} contour{} left out",
            if left_out == 1 { "" } else { "s" }
        );
        for (what, count) in said {
            let remark = self.warning(format!(
                "structure '{}': {count} contour(s) {what}",
                structure.name
            ));
            let is_left_out = what.starts_with(LEFT_OUT);
            self.warn_of(
                structure,
                if is_left_out {
                    remark.forbidding(&caveat)
                } else {
                    remark
                },
            );
        }
        if more > 0 {
            let message = format!(
                "structure '{}': {more} more contour(s) are odd or left out",
                structure.name
            );
            let remark = self.warning(message);
            self.warn_of(
                structure,
                if left_out > 0 {
                    remark.forbidding(&caveat)
                } else {
                    remark
                },
            );
        }
        let mended = structure.contours.mended();
        for words in mended.remarks() {
            let remark = self.warning(format!("structure '{}': {words}", structure.name));
            // Only where it is not known what counts is the volume another than was drawn.
            let is_unclear = mended.unclear > 0 && words.contains("exclusive-or");
            let remark = if is_unclear {
                remark.forbidding("contours that cannot be told apart")
            } else {
                remark
            };
            self.warn_of(structure, remark);
        }
        let winding = structure
            .contours
            .par_iter()
            .filter(|contour| contour.winds_twice())
            .count();
        if winding > 0 && !exclusive {
            let message = format!(
                "structure '{}': {winding} contour(s) go round a part of their area twice, which counts as outside (even-odd rule); \
                 correct them in the planning system",
                structure.name
            );
            let caveat = format!(
                "{winding} contour{} winding twice",
                if winding == 1 { "" } else { "s" }
            );
            self.warn_of(structure, self.warning(message).forbidding(caveat));
        }
    }
}

/// Begin of what is said of contours that were not read.
const LEFT_OUT: &str = "left out: ";

/// Most kinds of remarks about the contours of one structure.
const MOST_KINDS: usize = 8;

/// Retired, but still shifts the contour where present.
const CONTOUR_OFFSET_VECTOR: Tag = Tag(0x3006, 0x0045);

/// Contours that bound an area.
const CLOSED: [&str; 2] = ["CLOSED_PLANAR", EXCLUSIVE];

/// On a plane these combine by exclusive-or whatever they have in common (PS3.3 C.8.8.6.3).
const EXCLUSIVE: &str = "CLOSEDPLANAR_XOR";

/// The points of a contour, patient LPS, mm, or why it is malformed.
fn points_of(contour: &Item) -> Result<Vec<DVec3>, String> {
    let tag = tags::CONTOUR_DATA;
    let values = contour
        .try_numbers(tag)
        .map_err(|error| error.to_string())?;
    if values.len() % 3 != 0 {
        return Err(format!(
            "its ContourData are {} values, no points of three",
            values.len()
        ));
    }
    for mm in &values {
        within(tag, *mm, -MOST_MM..=MOST_MM).map_err(|error| error.to_string())?;
    }
    let offset = contour
        .try_array(CONTOUR_OFFSET_VECTOR)
        .optional()
        .map_err(|error| error.to_string())?;
    if let Some(offset) = offset
        .map(DVec3::from)
        .filter(|offset| *offset != DVec3::ZERO)
    {
        return Err(format!("its ContourOffsetVector {offset} is not read"));
    }
    Ok(values.chunks_exact(3).map(DVec3::from_slice).collect())
}
