//! RT image -> positions of source and pixels (PS3.3 C.8.8.2; IEC 61217 for its systems).

use super::DicomError;
use super::object::{Attributes, Item};
use case::Placement;
use dicom_core::Tag;
use dicom_dictionary_std::tags;
use geometry::{BeamFrame, ImagingSetup, Projection};
use glam::{DVec2, DVec3};
use std::path::Path;

/// Differences of an image from its [`ImagingSetup`] below this are rounding.
const NEAR: f64 = 1e-9;
/// Planning systems place computed images in the plane of the isocentre: their rays are extended to an image
/// this many times as far away.
const BEYOND: f64 = 2.0;

/// The geometry in the file, as far as a [`Placement`] holds it. The image plane lies at the SID; for an
/// image without one, at the receptor's translation.
pub(super) fn placement(item: &Item) -> Placement {
    let first_exposure = item.items(tags::EXPOSURE_SEQUENCE).first();
    let sad_mm = item.number(tags::RADIATION_MACHINE_SAD);
    Placement {
        position: item
            .text(tags::PATIENT_POSITION)
            .and_then(|p| p.parse().ok()),
        gantry_deg: angle_of_image(tags::GANTRY_ANGLE, item, first_exposure),
        couch_deg: angle_of_image(tags::PATIENT_SUPPORT_ANGLE, item, first_exposure),
        isocentre_mm: item.vector(tags::ISOCENTER_POSITION),
        sad_mm,
        sid_mm: item.number(tags::RT_IMAGE_SID).or_else(|| {
            let z = item.vector(tags::X_RAY_IMAGE_RECEPTOR_TRANSLATION)?.z;
            Some(sad_mm? - z)
        }),
        pixel_mm: match item.numbers(tags::IMAGE_PLANE_PIXEL_SPACING)[..] {
            [dy, dx] => Some([dx, dy]),
            _ => None,
        },
        shift_mm: None,
        field_mm: None,
        bone_is_bright: None,
        accepted_patient: None,
    }
}

fn angle_of_image(tag: Tag, item: &Item, first_exposure: Option<&Item>) -> Option<f64> {
    item.number(tag)
        .or_else(|| first_exposure.and_then(|e| e.number(tag)))
}

/// The image in its plane: first pixel and steps, mm in the gantry's system (x, y at the SID).
struct InPlane {
    first: DVec2,
    column: DVec2,
    row: DVec2,
}

impl InPlane {
    /// `None` where the file has no position of the first pixel.
    fn read(item: &Item, pixel_mm: [f64; 2], path: &Path) -> Result<Option<Self>, DicomError> {
        if let Some(plane) = item.text(tags::RT_IMAGE_PLANE).filter(|p| p != "NORMAL") {
            let what = format!(
                "its plane is {plane}, not at right angles to the beam; export it as NORMAL"
            );
            return Err(DicomError::Unsupported {
                path: path.to_owned(),
                what,
            });
        }
        let [x, y] = item.numbers(tags::RT_IMAGE_POSITION)[..] else {
            return Ok(None);
        };
        let (row_way, column_way) = match item.numbers(tags::RT_IMAGE_ORIENTATION)[..] {
            [a, b, c, d, e, f] if c.abs() < 1e-4 && f.abs() < 1e-4 => {
                (DVec2::new(a, b), DVec2::new(d, e))
            }
            [] => (DVec2::X, DVec2::NEG_Y),
            _ => {
                let what = "its RTImageOrientation leaves the plane of the image".to_owned();
                return Err(DicomError::Contradiction {
                    path: path.to_owned(),
                    what,
                });
            }
        };
        let shift = item.numbers(tags::X_RAY_IMAGE_RECEPTOR_TRANSLATION);
        let shift = DVec2::new(
            shift.first().copied().unwrap_or(0.0),
            shift.get(1).copied().unwrap_or(0.0),
        );
        let turn = DVec2::from_angle(
            item.number(tags::X_RAY_IMAGE_RECEPTOR_ANGLE)
                .unwrap_or(0.0)
                .to_radians(),
        );
        Ok(Some(Self {
            first: shift + turn.rotate(DVec2::new(x, y)),
            column: turn.rotate(row_way) * pixel_mm[0],
            row: turn.rotate(column_way) * pixel_mm[1],
        }))
    }
}

/// The same rays to an image `times` as far away.
fn farther(setup: ImagingSetup, times: f64) -> ImagingSetup {
    ImagingSetup {
        sid_mm: setup.sid_mm * times,
        shift_mm: setup.shift_mm.map(|v| v * times),
        pixel_mm: setup.pixel_mm.map(|v| v * times),
        ..setup
    }
}

/// Positions of source and pixels for a setup that is complete but for the image's shift; and the setup with
/// that shift, where the image is aligned as setups are.
pub(super) fn projection(
    item: &Item,
    setup: ImagingSetup,
    path: &Path,
) -> Result<(Projection, Option<ImagingSetup>), DicomError> {
    let beyond = if setup.sid_mm <= setup.sad_mm * (1.0 + NEAR) {
        BEYOND
    } else {
        1.0
    };
    let Some(plane) = InPlane::read(item, setup.pixel_mm, path)? else {
        let setup = farther(setup, beyond);
        return Ok((
            setup.projection().map_err(DicomError::projection(path))?,
            Some(setup),
        ));
    };
    let half = [setup.columns, setup.rows].map(|n| 0.5 * (n as f64 - 1.0));
    let middle = plane.first + plane.column * half[0] + plane.row * half[1];
    let upright = (plane.column - DVec2::X * setup.pixel_mm[0]).length() < NEAR
        && (plane.row - DVec2::NEG_Y * setup.pixel_mm[1]).length() < NEAR;
    if upright {
        let setup = farther(
            ImagingSetup {
                shift_mm: middle.to_array(),
                ..setup
            },
            beyond,
        );
        return Ok((
            setup.projection().map_err(DicomError::projection(path))?,
            Some(setup),
        ));
    }
    let ImagingSetup {
        position,
        gantry_deg,
        couch_deg,
        isocentre_mm,
        sad_mm,
        sid_mm,
        ..
    } = setup;
    let frame = BeamFrame::new(position, gantry_deg, 0.0, couch_deg, isocentre_mm, sad_mm);
    let [x, y, z] = frame.axes;
    let first = frame.source_mm + (in_patient(plane.first, x, y) - z * sid_mm) * beyond;
    let size = [setup.columns, setup.rows];
    let [column, row] = [plane.column, plane.row].map(|step| in_patient(step, x, y) * beyond);
    let projection = Projection::new(frame.source_mm, first, column, row, size);
    Ok((projection.map_err(DicomError::projection(path))?, None))
}

fn in_patient(v: DVec2, x: DVec3, y: DVec3) -> DVec3 {
    x * v.x + y * v.y
}

/// The jaws' opening as an image states it.
pub(super) struct JawOpening {
    /// `[x1, x2]` and `[y1, y2]` of the beam limiting device, mm at the axis.
    pub sides_mm: [[f64; 2]; 2],
    pub collimator_deg: f64,
}

pub(super) fn jaws(item: &Item) -> Option<JawOpening> {
    let exposure = item.items(tags::EXPOSURE_SEQUENCE).first()?;
    let collimator_deg = exposure
        .number(tags::BEAM_LIMITING_DEVICE_ANGLE)
        .or_else(|| item.number(tags::BEAM_LIMITING_DEVICE_ANGLE))
        .unwrap_or(0.0);
    Some(JawOpening {
        sides_mm: [
            jaw_opening(["X", "ASYMX"], exposure)?,
            jaw_opening(["Y", "ASYMY"], exposure)?,
        ],
        collimator_deg,
    })
}

fn jaw_opening(names: [&str; 2], exposure: &Item) -> Option<[f64; 2]> {
    exposure
        .items(tags::BEAM_LIMITING_DEVICE_SEQUENCE)
        .iter()
        .find_map(|device| {
            let kind = device.text(tags::RT_BEAM_LIMITING_DEVICE_TYPE)?;
            match device.numbers(tags::LEAF_JAW_POSITIONS)[..] {
                [low, high] if names.contains(&kind.as_str()) && low < high => Some([low, high]),
                _ => None,
            }
        })
}
