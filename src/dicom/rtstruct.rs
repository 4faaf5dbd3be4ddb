//! RT structure set -> contours.

use super::DicomError;
use super::catalogue::frame_of;
use super::object::{Attributes, Item, file_name, open};
use crate::case::{Contour, Remark, Rgb, Structure, StructureKind, StructureSet};
use dicom_dictionary_std::tags;
use glam::DVec3;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reads a structure set. Regions without contours are kept (empty); single contours that make no sense are left
/// out and named in the remarks.
///
/// # Errors
/// [`DicomError`] where the file cannot be read or holds no regions of interest at all.
pub fn read_structures(path: &Path) -> Result<StructureSet, DicomError> {
    let object = open(path)?;
    let rois = object.items(tags::STRUCTURE_SET_ROI_SEQUENCE);
    if rois.is_empty() {
        return Err(DicomError::Missing { path: path.to_owned(), attribute: "StructureSetROISequence" });
    }
    let frame = frame_of(&object);
    let mut reader = Reader { file: file_name(path), remarks: Vec::new() };
    let drawn = by_number(object.items(tags::ROI_CONTOUR_SEQUENCE), tags::REFERENCED_ROI_NUMBER);
    let observed = by_number(object.items(tags::RTROI_OBSERVATIONS_SEQUENCE), tags::REFERENCED_ROI_NUMBER);

    let mut numbers = HashSet::new();
    let mut structures = Vec::with_capacity(rois.len());
    for roi in rois {
        let name = roi.text(tags::ROI_NAME).unwrap_or_default();
        let number = roi.whole(tags::ROI_NUMBER).and_then(|n| u32::try_from(n).ok());
        let Some(number) = number.filter(|&n| numbers.insert(n)) else {
            reader.warn(format!("structure '{name}' has no number of its own and is left out"));
            continue;
        };
        let own_frame = roi.text(tags::REFERENCED_FRAME_OF_REFERENCE_UID);
        if own_frame.is_some_and(|own| own != frame) {
            reader.warn(format!("structure '{name}' is drawn in another frame of reference and is left out"));
            continue;
        }
        let code = observed.get(&number).and_then(|o| o.text(tags::RTROI_INTERPRETED_TYPE));
        let kind = StructureKind::from_code_and_name(code.as_deref().unwrap_or_default(), &name);
        let mut structure = Structure {
            name: if name.is_empty() { format!("ROI {number}") } else { name },
            number,
            kind,
            colour: kind.default_colour(),
            contours: Vec::new(),
            points_mm: Vec::new(),
        };
        if let Some(drawn) = drawn.get(&number) {
            structure.colour = colour_of(drawn).unwrap_or(structure.colour);
            reader.contours(drawn, &mut structure);
        }
        structures.push(structure);
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
        let message = format!("{} structure(s) have no contours: {}", empty.len(), empty.join(", "));
        reader.remarks.push(Remark::note(message, vec![reader.file.clone()]));
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
    };
    for name in set.tell_apart() {
        let message = format!(
            "several structures are called '{name}': each after the first has a count behind its name"
        );
        set.remarks.push(Remark::warning(message, vec![reader.file.clone()]));
    }
    Ok(set)
}

fn by_number(items: &[Item], tag: dicom_core::Tag) -> HashMap<u32, &Item> {
    let number = |item: &Item| item.whole(tag).and_then(|n| u32::try_from(n).ok());
    items.iter().filter_map(|item| Some((number(item)?, item))).collect()
}

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
}

impl Reader {
    fn warn(&mut self, message: String) {
        self.remarks.push(Remark::warning(message, vec![self.file.clone()]));
    }

    fn contours(&mut self, drawn: &Item, structure: &mut Structure) {
        let mut open_ones = 0;
        let mut senseless = 0;
        let mut miscounted = 0;
        for contour in drawn.items(tags::CONTOUR_SEQUENCE) {
            let values = contour.numbers(tags::CONTOUR_DATA);
            if values.is_empty() {
                continue;
            }
            if values.len() % 3 != 0 || values.iter().any(|v| !v.is_finite()) {
                senseless += 1;
                continue;
            }
            let points_mm: Vec<DVec3> = values.chunks_exact(3).map(DVec3::from_slice).collect();
            let told = contour.whole(tags::NUMBER_OF_CONTOUR_POINTS);
            miscounted += usize::from(told.is_some_and(|n| n != points_mm.len() as i64));
            let form = contour.text(tags::CONTOUR_GEOMETRIC_TYPE).unwrap_or_default();
            match form.as_str() {
                "POINT" => structure.points_mm.extend(points_mm),
                "OPEN_PLANAR" | "OPEN_NONPLANAR" => open_ones += 1,
                _ if points_mm.len() == 1 => structure.points_mm.extend(points_mm),
                _ if points_mm.len() == 2 => senseless += 1,
                _ => structure.contours.push(Contour {
                    points_mm,
                    image_uid: contour
                        .items(tags::CONTOUR_IMAGE_SEQUENCE)
                        .first()
                        .and_then(|i| i.text(tags::REFERENCED_SOP_INSTANCE_UID)),
                }),
            }
        }
        let name = &structure.name;
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                let message = format!("structure '{name}': {count} contour(s) {what}");
                self.remarks.push(Remark::warning(message, vec![self.file.clone()]));
            }
        };
        say(open_ones, "are open lines and are left out");
        say(senseless, "have too few points or values that are no numbers, and are left out");
        say(miscounted, "have another number of points than they say; the points are used");
    }
}
