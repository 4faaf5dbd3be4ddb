//! StructureSet -> RT structure set storage.

use super::data_set::{DataSet, new_series, now, shortened};
use super::{Belonging, WriteError};
use crate::case::{Ct, Structure, StructureSet, new_uid};
use dicom_dictionary_std::{tags, uids};
use glam::DVec3;
use std::path::Path;

/// Writes a structure set. A contour refers to the image that it names; without one, to that of the CT plane
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
    let content = |what: String| WriteError::Content { path: path.to_owned(), what };
    if structures.structures.is_empty() {
        return Err(content("the structure set has no structures".to_owned()));
    }
    for s in &structures.structures {
        let points = s.contours.iter().flat_map(|c| &c.points_mm).chain(&s.points_mm);
        if points.into_iter().any(|p| !p.is_finite()) {
            return Err(content(format!("structure '{}' has a point that is not a finite position", s.name)));
        }
    }
    let series = new_series("RTSTRUCT", 2, &structures.label);
    let uid = structures.uid.clone().unwrap_or_else(new_uid);
    let mut set = DataSet::object(uids::RT_STRUCTURE_SET_STORAGE, &uid, belonging, &series);
    let (date, time) = now();
    set.text(tags::FRAME_OF_REFERENCE_UID, &belonging.frame_of_reference_uid);
    set.text(tags::POSITION_REFERENCE_INDICATOR, "");
    set.whole(tags::INSTANCE_NUMBER, 1);
    let label = if structures.label.is_empty() { "Structures" } else { &structures.label };
    set.text(tags::STRUCTURE_SET_LABEL, &shortened(label, 16));
    set.text(tags::STRUCTURE_SET_DATE, &date);
    set.text(tags::STRUCTURE_SET_TIME, &time);
    set.items(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE, vec![referenced_frame(ct, belonging)]);
    let all = &structures.structures;
    set.items(tags::STRUCTURE_SET_ROI_SEQUENCE, all.iter().map(|s| roi(s, belonging)).collect());
    set.items(tags::ROI_CONTOUR_SEQUENCE, all.iter().map(|s| drawn(s, ct)).collect());
    set.items(tags::RTROI_OBSERVATIONS_SEQUENCE, all.iter().map(observation).collect());
    set.text(tags::APPROVAL_STATUS, "UNAPPROVED");
    set.write(path)
}

/// Frame, study, series and images of the contours.
fn referenced_frame(ct: Option<&Ct>, belonging: &Belonging) -> DataSet {
    let mut frame = DataSet::new();
    frame.text(tags::FRAME_OF_REFERENCE_UID, &belonging.frame_of_reference_uid);
    if let Some(ct) = ct.filter(|ct| !ct.plane_uids.is_empty()) {
        let images =
            ct.plane_uids.iter().map(|uid| DataSet::reference(uids::CT_IMAGE_STORAGE, uid)).collect();
        let mut series = DataSet::new();
        series.text(tags::SERIES_INSTANCE_UID, &ct.series_uid);
        series.items(tags::CONTOUR_IMAGE_SEQUENCE, images);
        // Detached study management: retired, but every reader still expects this class here.
        let mut study = DataSet::reference("1.2.840.10008.3.1.2.3.1", &belonging.study_uid);
        study.items(tags::RT_REFERENCED_SERIES_SEQUENCE, vec![series]);
        frame.items(tags::RT_REFERENCED_STUDY_SEQUENCE, vec![study]);
    }
    frame
}

fn roi(structure: &Structure, belonging: &Belonging) -> DataSet {
    let mut item = DataSet::new();
    item.whole(tags::ROI_NUMBER, i64::from(structure.number));
    item.text(tags::REFERENCED_FRAME_OF_REFERENCE_UID, &belonging.frame_of_reference_uid);
    item.text(tags::ROI_NAME, &shortened(&structure.name, 64));
    item.text(tags::ROI_GENERATION_ALGORITHM, "");
    item
}

fn drawn(structure: &Structure, ct: Option<&Ct>) -> DataSet {
    let mut item = DataSet::new();
    let colour = structure.colour.0.map(|c| c.to_string()).join("\\");
    item.text(tags::ROI_DISPLAY_COLOR, &colour);
    let polygons = structure.contours.iter().map(|c| {
        let image = c.image_uid.as_deref().or_else(|| plane_of(&c.points_mm, ct?));
        contour("CLOSED_PLANAR", &c.points_mm, image)
    });
    let points = structure.points_mm.iter().map(|p| contour("POINT", &[*p], None));
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
        item.items(tags::CONTOUR_IMAGE_SEQUENCE, vec![DataSet::reference(uids::CT_IMAGE_STORAGE, uid)]);
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

fn observation(structure: &Structure) -> DataSet {
    let mut item = DataSet::new();
    item.whole(tags::OBSERVATION_NUMBER, i64::from(structure.number));
    item.whole(tags::REFERENCED_ROI_NUMBER, i64::from(structure.number));
    item.text(tags::RTROI_INTERPRETED_TYPE, structure.kind.code());
    item.text(tags::ROI_INTERPRETER, "");
    item
}
