//! The content of a folder: image series, structure sets, plans, doses, and other files.

use super::object::{Attributes, Item, file_name, open, open_told};
use super::phases::{self, Moment};
use super::planes::NoSlice;
use super::tree::{Named, named_in};
use super::{DicomError, Progress};
use case::{PatientInfo, Remark, Severity};
use dicom_core::Tag;
use dicom_dictionary_std::{tags, uids};
use files::is_own_entry;
use glam::DVec3;
use input::{FILES_MOST, odd_kind, read_folder};
use platform::real_path;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// All objects under a path, read from the headers alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Catalogue {
    /// The path that was searched, in words.
    pub place: String,
    /// All patients of the files; entries refer to them by index.
    pub patients: Vec<PatientInfo>,
    /// Image series of any modality; only CT is loaded as HU.
    pub series: Vec<Series>,
    pub structure_sets: Vec<Entry>,
    pub plans: Vec<Entry>,
    pub doses: Vec<Entry>,
    /// Radiographs, portal images, registrations, ...: listed, not loaded.
    pub others: Vec<Entry>,
    /// Names of files that are not DICOM.
    pub not_dicom: Vec<String>,
    pub unreadable: Vec<Unreadable>,
    pub remarks: Vec<Remark>,
    /// Oddities of file encodings, and the files concerned.
    #[serde(skip)]
    oddities: BTreeMap<(Severity, String), Vec<String>>,
    /// CT files without an image: truncated before it, or written without.
    #[serde(skip)]
    pub(super) imageless: Vec<PathBuf>,
}

/// Images of one series UID with one modality, frame of reference, orientation, size and pixel spacing; of a 4D CT, one phase.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    pub uid: String,
    pub modality: String,
    /// Includes the phase where the series holds several.
    pub description: String,
    pub study_uid: String,
    /// Empty where the files have none.
    pub frame_of_reference_uid: String,
    /// Index into [`Catalogue::patients`].
    pub patient: usize,
    /// Columns, rows.
    pub size: [usize; 2],
    /// Along x, along y (DICOM has them the other way round); `None` where the files have none.
    pub spacing_mm: Option<[f64; 2]>,
    /// Directions of rows and columns, patient LPS; `None` where the files have none.
    pub orientation: Option<[DVec3; 2]>,
    /// Number of images.
    pub planes: usize,
    /// An enhanced CT, or several frames in one file: listed, not loaded.
    pub multiframe: bool,
    #[serde(skip)]
    pub images: Vec<Image>,
}

/// One file of an image series.
#[derive(Clone, Debug)]
pub struct Image {
    pub path: PathBuf,
    pub sop_uid: String,
    pub instance: Option<i64>,
    /// Centre of the first voxel, patient LPS; `None` where the file has none, NaN where its values are not
    /// numbers.
    pub position_mm: Option<DVec3>,
    /// SliceThickness: compared with the positions, never used in their place.
    pub thickness_mm: Option<f64>,
    pub(super) moment: Moment,
    pub(super) no_slice: Option<NoSlice>,
}

/// An object outside any image series.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    pub path: PathBuf,
    /// `RTSTRUCT`, `RTPLAN`, `RTDOSE`, `RTIMAGE`, `CR`, ...
    pub modality: String,
    pub label: String,
    pub sop_uid: String,
    /// Empty where the file has none.
    pub frame_of_reference_uid: String,
    /// Index into [`Catalogue::patients`].
    pub patient: usize,
    /// Date and time as the file has them; later ones sort later.
    pub date_time: String,
    /// Empty where the file has none.
    pub study_uid: String,
    /// Modality of a structure set's images, where stated.
    pub drawn_on: Option<String>,
    /// UIDs of the referenced series and instances.
    #[serde(skip)]
    pub references: Vec<String>,
    /// All that it names, for [`Catalogue::tree`].
    #[serde(skip)]
    pub(super) named: Vec<Named>,
}

/// A file that is DICOM but could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unreadable {
    pub file: String,
    pub reason: String,
}

/// Searches a folder with its subfolders, or reads a single file.
///
/// # Errors
/// [`DicomError::EmptyFolder`], [`DicomError::NoDicom`], [`DicomError::NotDicom`] or the reason why the only
/// file(s) could not be read; [`DicomError::Cancelled`]. Single files that cannot be read are no error among others.
pub fn scan(path: &Path, progress: Progress) -> Result<Catalogue, DicomError> {
    let listing = files_under(path)?;
    let files = &listing.files;
    if files.is_empty() {
        let besides = listing
            .remarks()
            .into_iter()
            .map(|r| format!(" ({})", r.message))
            .collect();
        return Err(DicomError::EmptyFolder {
            folder: path.to_owned(),
            besides,
        });
    }
    let headers = read_headers(files, progress)?;
    let mut catalogue = Catalogue {
        place: path.display().to_string(),
        ..Catalogue::default()
    };
    let mut first_failure = None;
    for (file, header) in files.iter().zip(headers) {
        match header {
            Ok(header) => catalogue.add(header),
            Err(DicomError::NotDicom { .. }) if path.is_dir() => {
                catalogue.not_dicom.push(file_name(file))
            }
            Err(error) => {
                let reason = error.to_string();
                catalogue.unreadable.push(Unreadable {
                    file: file_name(file),
                    reason,
                });
                first_failure.get_or_insert(error);
            }
        }
    }
    if catalogue.is_empty() {
        return Err(first_failure.unwrap_or_else(|| DicomError::NoDicom {
            folder: path.to_owned(),
            files: files.len(),
            first: catalogue.not_dicom.first().cloned().unwrap_or_default(),
        }));
    }
    catalogue.finish();
    catalogue.remarks.extend(listing.remarks());
    Ok(catalogue)
}

/// The entries under a path.
#[derive(Default)]
pub(super) struct Found {
    pub files: Vec<PathBuf>,
    /// Links that leave the folder.
    links: Vec<String>,
    /// Neither files nor folders nor links.
    odd: Vec<String>,
}

impl Found {
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if !self.links.is_empty() {
            let message = format!(
                "{} link(s) lead out of the folder and are not followed; open what they lead to, or copy it here",
                self.links.len()
            );
            remarks.push(Remark::warning(message, self.links.clone()).without_bearing());
        }
        if !self.odd.is_empty() {
            let message = format!(
                "{} pipes, sockets or devices were passed over",
                self.odd.len()
            );
            remarks.push(Remark::note(message, self.odd.clone()));
        }
        remarks
    }
}

/// All files under a path, sorted; the path itself where it is a file. Links are not followed: a target
/// within the folder is found anyway, and others lie outside the request.
pub(super) fn files_under(path: &Path) -> Result<Found, DicomError> {
    let mut listing = Found::default();
    if !std::fs::metadata(path)
        .map_err(DicomError::io(path))?
        .is_dir()
    {
        listing.files.push(path.to_owned());
        return Ok(listing);
    }
    let root = real_path(path).map_err(DicomError::io(path))?;
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        read_folder(&folder);
        for entry in std::fs::read_dir(&folder).map_err(DicomError::io(&folder))? {
            let entry = entry.map_err(DicomError::io(&folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(DicomError::io(&path))?;
            if is_own_entry(&entry.file_name()) {
                // Objects under way, and the list beside an export.
            } else if kind.is_symlink() {
                // A dangling link is ignored.
                if real_path(&path).is_ok_and(|target| !target.starts_with(&root)) {
                    listing.links.push(file_name(&path));
                }
            } else if kind.is_dir() {
                folders.push(path);
            } else if odd_kind(kind).is_some() {
                listing.odd.push(file_name(&path));
            } else {
                listing.files.push(path);
            }
        }
        if listing.files.len() > FILES_MOST {
            let what =
                format!("it holds more than {FILES_MOST} files; name the folder of one patient");
            return Err(DicomError::Unsupported {
                path: path.to_owned(),
                what,
            });
        }
    }
    listing.files.sort();
    Ok(listing)
}

fn read_headers(
    files: &[PathBuf],
    progress: Progress,
) -> Result<Vec<Result<Header, DicomError>>, DicomError> {
    let done = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let headers = files
        .par_iter()
        .map(|path| {
            if stopped.load(Ordering::Relaxed) {
                return Err(DicomError::Cancelled);
            }
            let header = Header::read(path);
            let share = (done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / files.len() as f32;
            if !progress(share) {
                stopped.store(true, Ordering::Relaxed);
            }
            header
        })
        .collect();
    if stopped.into_inner() {
        Err(DicomError::Cancelled)
    } else {
        Ok(headers)
    }
}

/// The header of one file.
struct Header {
    oddities: Vec<(Severity, String)>,
    imageless: bool,
    patient: PatientInfo,
    kind: Kind,
    entry: Entry,
    image: Option<ImageHeader>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    Structures,
    Plan,
    Dose,
    Other,
}

struct ImageHeader {
    series_uid: String,
    study_uid: String,
    size: [usize; 2],
    spacing_mm: Option<[f64; 2]>,
    orientation: Option<[DVec3; 2]>,
    multiframe: bool,
    image: Image,
}

impl Header {
    fn read(path: &Path) -> Result<Self, DicomError> {
        let (object, oddities) = open_told(path)?;
        let class = object.text(tags::SOP_CLASS_UID).unwrap_or_else(|| {
            object
                .meta()
                .media_storage_sop_class_uid()
                .trim_end_matches('\0')
                .to_owned()
        });
        let modality = object.text_or_empty(tags::MODALITY);
        let kind = kind_of(&class, &modality, object.item());
        let label_tag = match kind {
            Kind::Structures => tags::STRUCTURE_SET_LABEL,
            Kind::Plan => tags::RT_PLAN_LABEL,
            Kind::Dose => tags::DOSE_COMMENT,
            Kind::Image | Kind::Other => tags::SERIES_DESCRIPTION,
        };
        let [date, time] = match kind {
            Kind::Structures => [tags::STRUCTURE_SET_DATE, tags::STRUCTURE_SET_TIME],
            Kind::Plan => [tags::RT_PLAN_DATE, tags::RT_PLAN_TIME],
            _ => [tags::INSTANCE_CREATION_DATE, tags::INSTANCE_CREATION_TIME],
        };
        let entry = Entry {
            path: path.to_owned(),
            label: object
                .text(label_tag)
                .or_else(|| object.text(tags::SERIES_DESCRIPTION))
                .unwrap_or_default(),
            sop_uid: object.text_or_empty(tags::SOP_INSTANCE_UID),
            frame_of_reference_uid: frame_of(object.item()),
            patient: 0,
            date_time: format!(
                "{}{}",
                object.text_or_empty(date),
                object.text_or_empty(time)
            ),
            study_uid: object.text_or_empty(tags::STUDY_INSTANCE_UID),
            drawn_on: drawn_on(object.item()),
            named: if kind == Kind::Image {
                Vec::new()
            } else {
                named_in(object.item())
            },
            references: references_of(kind, object.item()),
            modality,
        };
        let patient = patient_of(object.item());
        let image = (kind == Kind::Image).then(|| ImageHeader::read(path, &class, object.item()));
        let imageless = kind == Kind::Other && class == uids::CT_IMAGE_STORAGE;
        Ok(Self {
            oddities,
            imageless,
            patient,
            kind,
            entry,
            image,
        })
    }
}

/// The patient of a file.
pub(super) fn patient_of(item: &Item) -> PatientInfo {
    PatientInfo {
        name: item.text_or_empty(tags::PATIENT_NAME),
        id: item.text_or_empty(tags::PATIENT_ID),
        birth_date: item.text_or_empty(tags::PATIENT_BIRTH_DATE),
        sex: item.text_or_empty(tags::PATIENT_SEX),
    }
}

/// Key by which patients are told apart: the ID, else the name.
fn patient_key(patient: &PatientInfo) -> &str {
    if patient.id.is_empty() {
        &patient.name
    } else {
        &patient.id
    }
}

/// The patient of a single file.
///
/// # Errors
/// [`DicomError`] where it cannot be read.
pub fn read_patient(path: &Path) -> Result<PatientInfo, DicomError> {
    Ok(patient_of(open(path)?.item()))
}

impl ImageHeader {
    fn read(path: &Path, class: &str, item: &Item) -> Self {
        // An enhanced CT has its geometry in functional groups, even with a single frame.
        let enhanced = matches!(
            class,
            uids::ENHANCED_CT_IMAGE_STORAGE | uids::LEGACY_CONVERTED_ENHANCED_CT_IMAGE_STORAGE
        );
        Self {
            series_uid: item.text(tags::SERIES_INSTANCE_UID).unwrap_or_default(),
            study_uid: item.text(tags::STUDY_INSTANCE_UID).unwrap_or_default(),
            size: size_of(item).unwrap_or_default(),
            spacing_mm: spacing_of(item),
            orientation: orientation_of(item),
            multiframe: enhanced || item.number(tags::NUMBER_OF_FRAMES).is_some_and(|n| n > 1.0),
            image: Image {
                path: path.to_owned(),
                sop_uid: item.text(tags::SOP_INSTANCE_UID).unwrap_or_default(),
                instance: item.whole(tags::INSTANCE_NUMBER),
                position_mm: item.vector_or_nan(tags::IMAGE_POSITION_PATIENT),
                thickness_mm: item.number(tags::SLICE_THICKNESS),
                moment: Moment::read(item),
                no_slice: NoSlice::read(item),
            },
        }
    }

    fn belongs_to(&self, entry: &Entry, series: &Series) -> bool {
        let same_orientation = match (self.orientation, series.orientation) {
            (Some(a), Some(b)) => (0..2).all(|i| (a[i] - b[i]).abs().max_element() < 1e-3),
            (a, b) => a == b,
        };
        let same_spacing = match (self.spacing_mm, series.spacing_mm) {
            (Some(a), Some(b)) => (0..2).all(|i| (a[i] - b[i]).abs() <= 1e-4 * b[i].abs()),
            (a, b) => a == b,
        };
        self.series_uid == series.uid
            && entry.modality == series.modality
            && entry.frame_of_reference_uid == series.frame_of_reference_uid
            && entry.patient == series.patient
            && self.size == series.size
            && !self.multiframe
            && !series.multiframe
            && same_orientation
            && same_spacing
    }
}

/// Columns and rows; 16 bits in DICOM, whatever a damaged file has.
pub(super) fn size_of(item: &Item) -> Option<[usize; 2]> {
    Some([
        pixel_count(item, tags::COLUMNS)?,
        pixel_count(item, tags::ROWS)?,
    ])
}

fn pixel_count(item: &Item, tag: Tag) -> Option<usize> {
    let count = u16::try_from(item.whole(tag)?).ok()?;
    Some(usize::from(count))
}

/// PixelSpacing as `[dx, dy]`: the file has the distance between rows (dy) first. NaN and zero are returned
/// as they are.
pub(super) fn spacing_of(item: &Item) -> Option<[f64; 2]> {
    match item.numbers(tags::PIXEL_SPACING)[..] {
        [dy, dx] => Some([dx, dy]),
        _ => None,
    }
}

/// Directions of rows and columns.
pub(super) fn orientation_of(item: &Item) -> Option<[DVec3; 2]> {
    match item.numbers(tags::IMAGE_ORIENTATION_PATIENT)[..] {
        [a, b, c, d, e, f] => Some([DVec3::new(a, b, c), DVec3::new(d, e, f)]),
        _ => None,
    }
}

/// Frame of reference of an object; a structure set has it in a sequence.
pub(super) fn frame_of(item: &Item) -> String {
    item.items(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE)
        .first()
        .and_then(|first| first.text(tags::FRAME_OF_REFERENCE_UID))
        .or_else(|| item.text(tags::FRAME_OF_REFERENCE_UID))
        .or_else(|| {
            item.items(tags::STRUCTURE_SET_ROI_SEQUENCE)
                .iter()
                .find_map(|roi| roi.text(tags::REFERENCED_FRAME_OF_REFERENCE_UID))
        })
        .unwrap_or_default()
}

fn kind_of(class: &str, modality: &str, item: &Item) -> Kind {
    match (class, modality) {
        (uids::RT_STRUCTURE_SET_STORAGE, _) | (_, "RTSTRUCT") => Kind::Structures,
        (uids::RT_PLAN_STORAGE | uids::RT_ION_PLAN_STORAGE, _) | (_, "RTPLAN") => Kind::Plan,
        (uids::RT_DOSE_STORAGE, _) | (_, "RTDOSE") => Kind::Dose,
        (uids::RT_IMAGE_STORAGE, _) | (_, "RTIMAGE") => Kind::Other,
        (_, "CT" | "MR" | "PT") if item.get(tags::ROWS).is_some() => Kind::Image,
        _ => Kind::Other,
    }
}

fn references_of(kind: Kind, item: &Item) -> Vec<String> {
    match kind {
        Kind::Structures => {
            let images =
                contour_images(item).filter_map(|i| i.text(tags::REFERENCED_SOP_INSTANCE_UID));
            referenced_series(item)
                .filter_map(|s| s.text(tags::SERIES_INSTANCE_UID))
                .chain(images)
                .collect()
        }
        Kind::Plan => uids_in(item, tags::REFERENCED_STRUCTURE_SET_SEQUENCE).collect(),
        Kind::Dose => uids_in(item, tags::REFERENCED_RT_PLAN_SEQUENCE)
            .chain(uids_in(item, tags::REFERENCED_STRUCTURE_SET_SEQUENCE))
            .collect(),
        Kind::Image | Kind::Other => Vec::new(),
    }
}

/// UIDs of the objects that the items of a sequence refer to.
fn uids_in(item: &Item, sequence: Tag) -> impl Iterator<Item = String> {
    item.items(sequence)
        .iter()
        .filter_map(|reference| reference.text(tags::REFERENCED_SOP_INSTANCE_UID))
}

fn referenced_series(item: &Item) -> impl Iterator<Item = &Item> {
    item.items(tags::REFERENCED_FRAME_OF_REFERENCE_SEQUENCE)
        .iter()
        .flat_map(|frame| frame.items(tags::RT_REFERENCED_STUDY_SEQUENCE))
        .flat_map(|study| study.items(tags::RT_REFERENCED_SERIES_SEQUENCE))
}

fn contour_images(item: &Item) -> impl Iterator<Item = &Item> {
    referenced_series(item).flat_map(|series| series.items(tags::CONTOUR_IMAGE_SEQUENCE))
}

fn drawn_on(item: &Item) -> Option<String> {
    let class = contour_images(item)
        .next()?
        .text(tags::REFERENCED_SOP_CLASS_UID)?;
    let modality = match class.as_str() {
        uids::CT_IMAGE_STORAGE => "CT",
        uids::MR_IMAGE_STORAGE => "MR",
        uids::POSITRON_EMISSION_TOMOGRAPHY_IMAGE_STORAGE => "PT",
        _ => return None,
    };
    Some(modality.to_owned())
}

impl Catalogue {
    fn is_empty(&self) -> bool {
        let entries = [&self.structure_sets, &self.plans, &self.doses, &self.others];
        self.series.is_empty() && entries.iter().all(|e| e.is_empty())
    }

    fn add(&mut self, header: Header) {
        let Header {
            oddities,
            imageless,
            patient,
            kind,
            mut entry,
            image,
        } = header;
        for oddity in oddities {
            self.oddities
                .entry(oddity)
                .or_default()
                .push(file_name(&entry.path));
        }
        if imageless {
            self.imageless.push(entry.path.clone());
        }
        entry.patient = self.patient_index(patient);
        match (kind, image) {
            (Kind::Image, Some(image)) => self.add_image(entry, image),
            (Kind::Structures, _) => self.structure_sets.push(entry),
            (Kind::Plan, _) => self.plans.push(entry),
            (Kind::Dose, _) => self.doses.push(entry),
            _ => self.others.push(entry),
        }
    }

    fn add_image(&mut self, entry: Entry, header: ImageHeader) {
        match self
            .series
            .iter_mut()
            .find(|s| header.belongs_to(&entry, s))
        {
            Some(series) => {
                series.images.push(header.image);
                series.planes += 1;
            }
            None => self.series.push(Series {
                uid: header.series_uid,
                modality: entry.modality,
                description: entry.label,
                study_uid: header.study_uid,
                frame_of_reference_uid: entry.frame_of_reference_uid,
                patient: entry.patient,
                size: header.size,
                spacing_mm: header.spacing_mm,
                orientation: header.orientation,
                planes: 1,
                multiframe: header.multiframe,
                images: vec![header.image],
            }),
        }
    }

    /// One patient per ID; without an ID the name decides.
    fn patient_index(&mut self, patient: PatientInfo) -> usize {
        self.patients
            .iter()
            .position(|known_patient| patient_key(known_patient) == patient_key(&patient))
            .unwrap_or_else(|| {
                self.patients.push(patient);
                self.patients.len() - 1
            })
    }

    fn finish(&mut self) {
        if !self.unreadable.is_empty() {
            let files = self
                .unreadable
                .iter()
                .map(|u| u.file.clone())
                .collect::<Vec<_>>();
            let count = files.len();
            let first = &self.unreadable[0].reason;
            self.remarks.push(Remark::warning(
                format!("{count} DICOM file(s) could not be read and are left out: {first}"),
                files,
            ));
        }
        if !self.not_dicom.is_empty() {
            self.remarks.push(Remark::note(
                format!(
                    "{} file(s) are not DICOM and were passed over",
                    self.not_dicom.len()
                ),
                self.not_dicom.clone(),
            ));
        }
        for ((severity, oddity), files) in &self.oddities {
            let remark = match severity {
                Severity::Note => Remark::note(oddity, files.clone()),
                Severity::Warning => Remark::warning(oddity, files.clone()).without_bearing(),
            };
            self.remarks.push(remark);
        }
        let imageless: Vec<String> = self.imageless.iter().map(|path| file_name(path)).collect();
        if !imageless.is_empty() {
            let message = format!(
                "{} CT file(s) hold no image and are left out: cut short?",
                imageless.len()
            );
            self.remarks.push(Remark::warning(message, imageless));
        }
        let mut split: Vec<&str> = self.series.iter().map(|s| s.uid.as_str()).collect();
        split.sort_unstable();
        let mixed: HashSet<&str> = split
            .windows(2)
            .filter(|w| w[0] == w[1])
            .map(|w| w[0])
            .collect();
        for uid in mixed {
            self.remarks.push(Remark::warning(
                format!(
                    "series {uid} mixes images of different size, spacing, orientation or frame; each kind is listed by itself"
                ),
                Vec::new(),
            ).without_bearing());
        }
        let series = std::mem::take(&mut self.series);
        self.series = series
            .into_iter()
            .flat_map(|s| phases::split(s, &mut self.remarks))
            .collect();
    }
}
