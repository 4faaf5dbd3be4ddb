//! StructureSet -> RT structure set storage.

use super::data_set::{DataSet, new_series, now, shortened};
use super::source::StructureSource;
use super::{Belonging, WriteError};
use crate::densities::{density_of_file, properties};
use crate::object::{Attributes as _, Item};
use case::{Ct, DensityOverride, Structure, StructureSet, new_uid};
use dicom_dictionary_std::{tags, uids};
use glam::DVec3;
use std::path::Path;

/// Writes a structure set. A contour refers to the image that it names; without one, to the image of the CT plane
/// within 0.01 mm of it, if any.
///
/// # Errors
/// [`WriteError`]; a set without structures and contours with values that are not finite are refused.
pub fn write_structures(
    path: &Path,
    structures: &StructureSet,
    ct: Option<&Ct>,
    belonging: &Belonging,
) -> Result<(), WriteError> {
    write_structures_from(path, structures, ct, belonging, None)
}

/// As [`write_structures`]; unchanged structures as their source has them, with what the case does not hold.
///
/// # Errors
/// As [`write_structures`].
pub fn write_structures_from(
    path: &Path,
    structures: &StructureSet,
    ct: Option<&Ct>,
    belonging: &Belonging,
    source: Option<&StructureSource>,
) -> Result<(), WriteError> {
    if structures.structures.is_empty() {
        return Err(WriteError::content(
            path,
            "the structure set has no structures".to_owned(),
        ));
    }
    for s in &structures.structures {
        let points = s
            .contours
            .iter()
            .flat_map(|c| &c.points_mm)
            .chain(&s.points_mm);
        if points.into_iter().any(|p| !p.is_finite()) {
            return Err(WriteError::content(
                path,
                format!(
                    "structure '{}' has a point that is not a finite position",
                    s.name
                ),
            ));
        }
    }
    let series = new_series("RTSTRUCT", 2, &structures.label);
    let uid = structures.uid.clone().unwrap_or_else(new_uid);
    let mut set = DataSet::object(uids::RT_STRUCTURE_SET_STORAGE, &uid, belonging, &series);
    let (date, time) = now();
    set.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    let label = if structures.label.is_empty() {
        "Structures"
    } else {
        &structures.label
    };
    set.text(tags::STRUCTURE_SET_LABEL, &shortened(label, 16));
    set.text(tags::STRUCTURE_SET_DATE, &date);
    set.text(tags::STRUCTURE_SET_TIME, &time);
    let frames = match source {
        Some(source) if ct.is_none_or(|ct| ct.plane_uids.is_empty()) => {
            let frames = source
                .object
                .items(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE);
            frames.iter().map(DataSet::from).collect()
        }
        _ => vec![referenced_frame(ct, belonging)],
    };
    set.items(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE, frames);
    let with_sources = || {
        structures
            .structures
            .iter()
            .map(|s| (s, Carried::new(s, source)))
    };
    set.items(
        tags::STRUCTURE_SET_ROI_SEQUENCE,
        with_sources().map(|(s, c)| roi(s, &c, belonging)).collect(),
    );
    set.items(
        tags::ROI_CONTOUR_SEQUENCE,
        with_sources().map(|(s, c)| drawn(s, &c, ct)).collect(),
    );
    // Numbers of carried and new observations would meet: nothing refers to them.
    let numbered = (1_i64..).zip(with_sources()).map(|(number, (s, c))| {
        let mut item = observation(s, &c);
        item.whole(tags::OBSERVATION_NUMBER, number);
        item
    });
    set.items(tags::RTROI_OBSERVATIONS_SEQUENCE, numbered.collect());
    set.text(tags::APPROVAL_STATUS, "UNAPPROVED");
    set.write(path)
}

/// The items of a structure in its source, and the structure as it was read from them; none for a new one.
#[derive(Clone, Copy, Default)]
struct Carried<'a> {
    read: Option<&'a Structure>,
    roi: Option<&'a Item>,
    drawn: Option<&'a Item>,
    observation: Option<&'a Item>,
}

impl<'a> Carried<'a> {
    fn new(structure: &Structure, source: Option<&'a StructureSource>) -> Self {
        let Some(source) = source else {
            return Self::default();
        };
        let number = structure.number;
        Self {
            read: source.read.by_number(number),
            roi: source.item_of(tags::STRUCTURE_SET_ROI_SEQUENCE, tags::ROI_NUMBER, number),
            drawn: source.item_of(
                tags::ROI_CONTOUR_SEQUENCE,
                tags::REFERENCED_ROI_NUMBER,
                number,
            ),
            observation: source.item_of(
                tags::RTROI_OBSERVATIONS_SEQUENCE,
                tags::REFERENCED_ROI_NUMBER,
                number,
            ),
        }
    }

    fn is_drawn_as_read(&self, structure: &Structure) -> bool {
        self.read.is_some_and(|read: &Structure| {
            read.contours == structure.contours && read.points_mm == structure.points_mm
        })
    }
}

/// Frame, study, series and images of the contours.
fn referenced_frame(ct: Option<&Ct>, belonging: &Belonging) -> DataSet {
    let mut frame = DataSet::new();
    frame.text(
        tags::FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    if let Some(ct) = ct.filter(|ct| !ct.plane_uids.is_empty()) {
        let images = ct
            .plane_uids
            .iter()
            .map(|uid| DataSet::reference(uids::CT_IMAGE_STORAGE, uid))
            .collect();
        let mut series = DataSet::new();
        series.text(tags::SERIES_INSTANCE_UID, &ct.series_uid);
        series.items(tags::CONTOUR_IMAGE_SEQUENCE, images);
        // Detached study management: retired, but every reader still expects this class here.
        let mut study = DataSet::reference("1.2.840.10008.3.1.2.3.1", &belonging.study.uid);
        study.items(tags::RT_REFERENCED_SERIES_SEQUENCE, vec![series]);
        frame.items(tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    }
    frame
}

fn roi(structure: &Structure, carried: &Carried, belonging: &Belonging) -> DataSet {
    let mut item = carried.roi.map_or_else(DataSet::new, DataSet::from);
    item.whole(tags::ROI_NUMBER, i64::from(structure.number));
    item.text(
        tags::REFERENCED_FRAME_OF_REFERENCE_UID,
        &belonging.frame_of_reference_uid,
    );
    // Structures of one name in the file were told apart.
    if item
        .as_item()
        .text(tags::ROI_NAME)
        .is_none_or(|name| name != structure.name)
    {
        item.text(tags::ROI_NAME, &shortened(&structure.name, 64));
    }
    if !carried.is_drawn_as_read(structure) {
        // Volume and algorithm described the contours before they changed.
        item.remove(&[tags::ROI_VOLUME]);
        item.text(tags::ROI_GENERATION_ALGORITHM, "");
    }
    item.text_where_absent(tags::ROI_GENERATION_ALGORITHM);
    item
}

fn drawn(structure: &Structure, carried: &Carried, ct: Option<&Ct>) -> DataSet {
    let colour = structure.colour.0.map(|c| c.to_string()).join("\\");
    let same = carried.is_drawn_as_read(structure);
    let mut item = carried
        .drawn
        .filter(|_| same)
        .map_or_else(DataSet::new, DataSet::from);
    if carried
        .read
        .is_none_or(|read| read.colour != structure.colour)
        || !same
    {
        item.text(tags::ROI_DISPLAY_COLOR, &colour);
    }
    if same && carried.drawn.is_some() {
        return item;
    }
    let polygons = structure.contours.iter().map(|c| {
        let image = c
            .image_uid
            .as_deref()
            .or_else(|| plane_of(&c.points_mm, ct?));
        contour("CLOSED_PLANAR", &c.points_mm, image)
    });
    let points = structure
        .points_mm
        .iter()
        .map(|p| contour("POINT", &[*p], None));
    let contours: Vec<DataSet> = polygons.chain(points).collect();
    // The standard allows this sequence to be absent, but not empty.
    if !contours.is_empty() {
        item.items(tags::CONTOUR_SEQUENCE, contours);
    }
    item.whole(tags::REFERENCED_ROI_NUMBER, i64::from(structure.number));
    item
}

fn contour(form: &str, points_mm: &[DVec3], image: Option<&str>) -> DataSet {
    let mut item = DataSet::new();
    if let Some(uid) = image {
        item.items(
            tags::CONTOUR_IMAGE_SEQUENCE,
            vec![DataSet::reference(uids::CT_IMAGE_STORAGE, uid)],
        );
    }
    item.text(tags::CONTOUR_GEOMETRIC_TYPE, form);
    item.whole(tags::NUMBER_OF_CONTOUR_POINTS, points_mm.len() as i64);
    let flat: Vec<f64> = points_mm.iter().flat_map(|p| p.to_array()).collect();
    item.numbers(tags::CONTOUR_DATA, &flat);
    item
}

/// The image whose plane a contour lies on.
fn plane_of<'a>(points_mm: &[DVec3], ct: &'a Ct) -> Option<&'a str> {
    let grid = ct.hu.grid();
    let z = grid.local_from_patient(*points_mm.first()?).z;
    let k = grid.planes_mm().iter().position(|p| (p - z).abs() < 0.01)?;
    ct.plane_uids.get(k).map(String::as_str)
}

/// A code needs a meaning, which some systems leave out: the code itself stands for it.
fn name_codes(item: &mut DataSet) {
    let tag = tags::RTROI_IDENTIFICATION_CODE_SEQUENCE;
    let codes: Vec<DataSet> = item
        .as_item()
        .items(tag)
        .iter()
        .map(DataSet::from)
        .collect();
    if codes.is_empty() {
        return;
    }
    let named = codes.into_iter().map(|mut code| {
        if !code.has(tags::CODE_MEANING) {
            let value = code.as_item().text(tags::CODE_VALUE).unwrap_or_default();
            code.text(tags::CODE_MEANING, &shortened(&value, 64));
        }
        code
    });
    item.items(tag, named.collect());
}

fn observation(structure: &Structure, carried: &Carried) -> DataSet {
    let same_kind = carried.read.is_some_and(|read| read.kind == structure.kind);
    let density_override = density_of_file(structure);
    if let Some(item) = carried.observation {
        let mut item = DataSet::from(item);
        if carried.read.and_then(density_of_file) != density_override {
            state_density(&mut item, density_override);
        }
        if !same_kind {
            item.text(tags::RTROI_INTERPRETED_TYPE, structure.kind.code());
        }
        name_codes(&mut item);
        item.text_where_absent(tags::RTROI_INTERPRETED_TYPE);
        item.text_where_absent(tags::ROI_INTERPRETER);
        return item;
    }
    let mut item = DataSet::new();
    item.whole(tags::REFERENCED_ROI_NUMBER, i64::from(structure.number));
    item.text(tags::RTROI_INTERPRETED_TYPE, structure.kind.code());
    item.text(tags::ROI_INTERPRETER, "");
    state_density(&mut item, density_override);
    item
}

fn state_density(item: &mut DataSet, stated_density: Option<DensityOverride>) {
    item.remove(&[tags::ROI_PHYSICAL_PROPERTIES_SEQUENCE]);
    let Some(density_override) = stated_density else {
        return;
    };
    let stated = properties(&density_override)
        .into_iter()
        .map(|(term, value): (&str, f64)| {
            let mut item = DataSet::new();
            item.text(tags::ROI_PHYSICAL_PROPERTY, term);
            item.numbers(tags::ROI_PHYSICAL_PROPERTY_VALUE, &[value]);
            item
        })
        .collect();
    item.items(tags::ROI_PHYSICAL_PROPERTIES_SEQUENCE, stated);
}
