//! CT series -> one volume of Hounsfield units, its planes where the files put them.

use super::catalogue::{Image, Series};
use super::object::{Attributes, IfSaid, Object, file_name, open_header};
use super::pixels::read_samples;
use super::planes::{Stack, stack};
use super::{DicomError, Progress};
use case::{Ct, NO_HU, Remark, beyond_16_bits, too_narrow};
use dicom_dictionary_std::tags;
use geometry::{Grid, PatientPosition, Volume};
use input::check_unpacked;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A gantry tilt below this is upright, degrees.
const LEVEL_DEG: f64 = 0.1;

/// Replaces padding pixels: air.
const AIR_HU: f32 = -1000.0;

/// Reads a CT series: planes ordered along the normal, at the positions of the files, rescaled plane by plane.
///
/// # Errors
/// [`DicomError`] with the file's name: another modality, missing attributes, images that form no grid (zero
/// spacing, sheared by a gantry tilt), unreadable or truncated pixels, images that contradict each other.
pub fn read_ct(series: &Series, progress: Progress) -> Result<Ct, DicomError> {
    let Stack {
        grid,
        images,
        mut remarks,
    } = stack(series, |a, b| same_pixels(series, a, b))?;
    let (hu, facts) = read_planes(&grid, &images, progress)?;
    let names: Vec<String> = images.iter().map(|i| file_name(&i.path)).collect();
    let position = common_position(&images, &facts, &mut remarks)?;
    if series.frame_of_reference_uid.is_empty() {
        remarks.push(Remark::warning(
            "the images name no frame of reference: only structures that refer to these very images are shown",
            Vec::new(),
        ).without_bearing());
    }
    remark_pixels(&facts, &names, &mut remarks);
    remark_acquisition(&facts, &names, &mut remarks);
    remark_tilt(&grid, &facts, &names, &mut remarks);
    Ok(Ct {
        hu: Arc::new(Volume::new(Arc::new(grid), hu)),
        position,
        series_uid: series.uid.clone(),
        study_uid: series.study_uid.clone(),
        frame_of_reference_uid: series.frame_of_reference_uid.clone(),
        description: series.description.clone(),
        plane_uids: images.iter().map(|i| i.sop_uid.clone()).collect(),
        files: images.iter().map(|i| i.path.clone()).collect(),
        remarks,
    })
}

/// Attributes of a plane's file beside its pixels.
#[derive(Default)]
struct Facts {
    position: Option<String>,
    no_rescale: bool,
    /// RescaleType where it is given and not HU.
    other_unit: Option<String>,
    lossy: bool,
    padded: usize,
    lowest_hu: f32,
    highest_hu: f32,
    /// GantryDetectorTilt, where it is not 0.
    tilt_deg: Option<f64>,
    /// Material that the values are of, where ImageType names a decomposition by energies.
    decomposed: Option<String>,
    tube_kv: Option<f64>,
    contrast_agent: bool,
}

fn read_planes(
    grid: &Grid,
    images: &[&Image],
    progress: Progress,
) -> Result<(Vec<f32>, Vec<Facts>), DicomError> {
    let [nx, ny, nz] = grid.size();
    let area = nx * ny;
    // The first plane is read alone: a header that claims a larger size than its file has is found before
    // memory is allocated.
    let mut first = Vec::new();
    let mut facts = Vec::with_capacity(nz);
    facts.push(read_plane(&images[0].path, area, &mut first)?);
    // Each image may claim a larger size than its file has.
    let files = images
        .iter()
        .filter_map(|i| i.path.metadata().ok())
        .map(|m| input::held_bytes(&m))
        .sum();
    check_unpacked(files, (area as u64).saturating_mul(4 * nz as u64)).map_err(|source| {
        DicomError::OverBudget {
            path: images[0].path.clone(),
            source,
        }
    })?;
    let mut hu: Vec<f32> = Vec::new();
    hu.try_reserve_exact(area * nz)
        .map_err(|_| DicomError::Unsupported {
            path: images[0].path.clone(),
            what: format!(
                "{nx} x {ny} x {nz} voxels do not fit into memory; choose a smaller series"
            ),
        })?;
    hu.resize(area * nz, 0.0);
    hu[..area].copy_from_slice(&first);
    let done = AtomicUsize::new(1);
    let stopped = AtomicBool::new(!progress(1.0 / nz as f32));
    let other_facts: Vec<Facts> = hu[area..]
        .par_chunks_mut(area)
        .zip(&images[1..])
        .map_init(Vec::new, |plane, (out, image)| {
            if stopped.load(Ordering::Relaxed) {
                return Err(DicomError::Cancelled);
            }
            let facts = read_plane(&image.path, area, plane)?;
            out.copy_from_slice(plane);
            if !progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / nz as f32) {
                stopped.store(true, Ordering::Relaxed);
            }
            Ok(facts)
        })
        .collect::<Result<_, _>>()?;
    facts.extend(other_facts);
    Ok((hu, facts))
}

/// Reads one plane's HU into `hu`, resized to `area`.
fn read_plane(path: &Path, area: usize, hu: &mut Vec<f32>) -> Result<Facts, DicomError> {
    let object = open_header(path)?;
    let samples = read_samples(&object, path, area)?;
    let slope = object
        .try_number(tags::RESCALE_SLOPE)
        .optional()
        .map_err(DicomError::attribute(path))?;
    let intercept = object
        .try_number(tags::RESCALE_INTERCEPT)
        .optional()
        .map_err(DicomError::attribute(path))?;
    if slope == Some(0.0) {
        let what = "its RescaleSlope is 0".to_owned();
        return Err(DicomError::Contradiction {
            path: path.to_owned(),
            what,
        });
    }
    if object.get(tags::MODALITY_LUT_SEQUENCE).is_some() {
        let what = "it has a modality look-up table in place of slope and intercept; export it with a rescale";
        return Err(DicomError::Unsupported {
            path: path.to_owned(),
            what: what.to_owned(),
        });
    }
    let (a, b) = (slope.unwrap_or(1.0), intercept.unwrap_or(0.0));
    let layout = samples.layout;
    let padding = Padding::read(&object, layout.signed);
    let mut facts = Facts {
        position: object.text(tags::PATIENT_POSITION),
        no_rescale: slope.is_none() || intercept.is_none(),
        other_unit: object
            .text(tags::RESCALE_TYPE)
            .filter(|t| t != "HU" && t != "US"),
        lossy: object.text(tags::LOSSY_IMAGE_COMPRESSION).as_deref() == Some("01"),
        padded: 0,
        lowest_hu: f32::INFINITY,
        highest_hu: f32::NEG_INFINITY,
        tilt_deg: object
            .number(tags::GANTRY_DETECTOR_TILT)
            .filter(|deg| deg.abs() > LEVEL_DEG),
        decomposed: object
            .text(tags::IMAGE_TYPE)
            .and_then(|kind| decomposed_into(&kind)),
        tube_kv: object.number(tags::KVP).filter(|kv| *kv > 0.0),
        contrast_agent: object
            .text(tags::CONTRAST_BOLUS_AGENT)
            .is_some_and(|agent| is_given(&agent)),
    };
    hu.clear();
    hu.reserve(area);
    for &raw in &samples.raw {
        let value = layout.value(raw);
        if padding.as_ref().is_some_and(|p| p.holds(raw, value)) {
            facts.padded += 1;
            hu.push(AIR_HU);
            continue;
        }
        let one = (a * value as f64 + b) as f32;
        facts.lowest_hu = facts.lowest_hu.min(one);
        facts.highest_hu = facts.highest_hu.max(one);
        hu.push(one);
    }
    if facts.lowest_hu == f32::NEG_INFINITY || facts.highest_hu == f32::INFINITY {
        let what =
            format!("its RescaleSlope of {a:e} and RescaleIntercept of {b:e} make infinite HU");
        return Err(DicomError::Contradiction {
            path: path.to_owned(),
            what,
        });
    }
    Ok(facts)
}

/// Stored values of padding pixels (PixelPaddingValue, with PixelPaddingRangeLimit where given).
struct Padding {
    /// The bit pattern; some systems write one that does not fit the bits stored.
    pattern: u32,
    range: (i64, i64),
}

impl Padding {
    fn read(object: &Object, signed: bool) -> Option<Self> {
        // The value may be typed signed or unsigned independently of the pixels: only its 16 bits count.
        let [pattern, limit] = [tags::PIXEL_PADDING_VALUE, tags::PIXEL_PADDING_RANGE_LIMIT]
            .map(|tag| object.whole(tag).map(|value| value as u16));
        let pattern = pattern?;
        let value = stored_value(pattern, signed);
        let limit = limit.map_or(value, |bits| stored_value(bits, signed));
        Some(Self {
            pattern: u32::from(pattern),
            range: (value.min(limit), value.max(limit)),
        })
    }

    fn holds(&self, raw: u32, value: i64) -> bool {
        raw == self.pattern || (self.range.0..=self.range.1).contains(&value)
    }
}

fn stored_value(bits: u16, signed: bool) -> i64 {
    if signed {
        i64::from(bits as i16)
    } else {
        i64::from(bits)
    }
}

fn same_pixels(series: &Series, a: &Image, b: &Image) -> bool {
    let area = series.size[0] * series.size[1];
    let (mut left, mut right) = (Vec::new(), Vec::new());
    read_plane(&a.path, area, &mut left).is_ok()
        && read_plane(&b.path, area, &mut right).is_ok()
        && left == right
}

fn common_position(
    images: &[&Image],
    facts: &[Facts],
    remarks: &mut Vec<Remark>,
) -> Result<PatientPosition, DicomError> {
    let first = facts[0].position.as_deref();
    if let Some(k) = facts.iter().position(|f| f.position.as_deref() != first) {
        let what = format!(
            "its patient position is {}, that of {} is {}",
            facts[k].position.as_deref().unwrap_or("none"),
            file_name(&images[0].path),
            first.unwrap_or("none")
        );
        return Err(DicomError::Contradiction {
            path: images[k].path.clone(),
            what,
        });
    }
    Ok(match first.map(str::parse) {
        Some(Ok(position)) => position,
        Some(Err(reason)) => {
            remarks.push(Remark::warning(
                format!("{reason}; beams are placed as for HFS: check their direction"),
                Vec::new(),
            ));
            PatientPosition::Hfs
        }
        None => {
            remarks.push(Remark::warning(
                "the images have no PatientPosition; beams are placed as for HFS: check their direction",
                Vec::new(),
            ));
            PatientPosition::Hfs
        }
    })
}

/// Names of the images whose facts pass a test.
fn files_where(facts: &[Facts], names: &[String], test: impl Fn(&Facts) -> bool) -> Vec<String> {
    facts
        .iter()
        .zip(names)
        .filter(|(fact, _)| test(fact))
        .map(|(_, name)| name.clone())
        .collect()
}

fn remark_pixels(facts: &[Facts], names: &[String], remarks: &mut Vec<Remark>) {
    let files = files_where(facts, names, |f| f.no_rescale);
    if !files.is_empty() {
        let message = format!(
            "{} image(s) lack RescaleSlope or RescaleIntercept; 1 and 0 are used: check that water is at 0 HU",
            files.len()
        );
        remarks.push(
            Remark::warning(message, files)
                .forbidding("HU without RescaleSlope or RescaleIntercept"),
        );
    }
    if let Some(unit) = facts.iter().find_map(|f| f.other_unit.as_deref()) {
        let message =
            format!("the values are in '{unit}', not in HU; they are used as if they were HU");
        let files = files_where(facts, names, |f| f.other_unit.is_some());
        remarks
            .push(Remark::warning(message, files).forbidding(format!("values in '{unit}' as HU")));
    }
    let files = files_where(facts, names, |f| f.lossy);
    if !files.is_empty() {
        remarks.push(Remark::warning(
            "the images were compressed with loss: their HU are not the scanner's",
            files,
        ));
    }
    let padded: usize = facts.iter().map(|f| f.padded).sum();
    if padded > 0 {
        let message = format!("{padded} pixels are padding and count as air ({AIR_HU} HU)");
        remarks.push(Remark::note(
            message,
            files_where(facts, names, |f| f.padded > 0),
        ));
    }
    let lowest = facts
        .iter()
        .map(|f| f.lowest_hu)
        .fold(f32::INFINITY, f32::min);
    if lowest < -1024.5 {
        let message = format!("HU go down to {lowest}: values below -1024 count as air");
        remarks.push(Remark::note(
            message,
            files_where(facts, names, |f| f.lowest_hu < -1024.5),
        ));
    }
    let highest = facts
        .iter()
        .map(|f| f.highest_hu)
        .fold(f32::NEG_INFINITY, f32::max);
    if let Some(message) = beyond_16_bits(lowest, highest) {
        let files = files_where(facts, names, |f| {
            beyond_16_bits(f.lowest_hu, f.highest_hu).is_some()
        });
        remarks.push(Remark::warning(message, files).forbidding(NO_HU));
    } else if let Some(message) = too_narrow(lowest, highest) {
        remarks.push(Remark::warning(message, names.to_vec()).forbidding(NO_HU));
    }
}

/// Remarks on how the images were taken, which moves their HU.
fn remark_acquisition(facts: &[Facts], names: &[String], remarks: &mut Vec<Remark>) {
    if let Some(material) = facts.iter().find_map(|f| f.decomposed.as_deref()) {
        let message = format!(
            "the images are a decomposition by energies (ImageType {material}): their values are those of no table of HU; compute on \
             the images of one energy"
        );
        let caveat = format!("values of {material} as HU");
        remarks.push(
            Remark::warning(
                message,
                files_where(facts, names, |f| f.decomposed.is_some()),
            )
            .forbidding(caveat),
        );
    }
    let mut tubes_kv: Vec<f64> = facts.iter().filter_map(|f| f.tube_kv).collect();
    tubes_kv.sort_by(f64::total_cmp);
    tubes_kv.dedup();
    if let [first, .., last] = tubes_kv[..] {
        let message = format!(
            "the images were taken with tubes of {first} to {last} kV (KVP): no table of HU is that of all"
        );
        remarks.push(Remark::warning(
            message,
            files_where(facts, names, |f| f.tube_kv.is_some_and(|kv| kv != first)),
        ));
    }
    let files = files_where(facts, names, |f| f.contrast_agent);
    if !files.is_empty() {
        let message = "the images were taken with a contrast agent (ContrastBolusAgent): where it is, HU are above those of treatment";
        remarks.push(Remark::note(message, files).moving());
    }
}

/// The material or energy that values are of, where ImageType names one (PS3.3 C.8.15.2.1: enhanced images of several energies; others
/// write the same words).
fn decomposed_into(image_type: &str) -> Option<String> {
    const MATERIALS: [&str; 8] = [
        "IODINE",
        "CALCIUM",
        "WATER",
        "VNC",
        "VIRTUALNONCONTRAST",
        "ZEFF",
        "EFFECTIVE_Z",
        "MATERIAL",
    ];
    image_type
        .split('\\')
        .skip(2)
        .map(|value| value.trim().to_uppercase())
        .find(|value| {
            let mut words = value.split(|c: char| !c.is_ascii_alphanumeric());
            MATERIALS.contains(&value.as_str()) || words.any(|word| MATERIALS.contains(&word))
        })
}

/// Files write that there was none.
fn is_given(agent: &str) -> bool {
    !matches!(
        agent.trim().to_uppercase().as_str(),
        "" | "NONE" | "NO" | "NATIVE" | "WITHOUT"
    )
}

/// Warns of a tilted gantry where the planes claim to be upright: the volume is sheared unless it was
/// resampled.
fn remark_tilt(grid: &Grid, facts: &[Facts], names: &[String], remarks: &mut Vec<Remark>) {
    let upright = grid.axes()[2].z.abs() > LEVEL_DEG.to_radians().cos();
    let leaning: Vec<(&Facts, &String)> = facts
        .iter()
        .zip(names)
        .filter(|(f, _)| f.tilt_deg.is_some())
        .collect();
    if let Some(deg) = leaning
        .iter()
        .find_map(|(f, _)| f.tilt_deg)
        .filter(|_| upright)
    {
        let message = format!(
            "GantryDetectorTilt is {deg} degrees and the orientation is axial: unless the images were sliced anew, the patient is \
             sheared; the orientation is used"
        );
        remarks.push(Remark::warning(
            message,
            leaning.into_iter().map(|(_, n)| n.clone()).collect(),
        ));
    }
}
