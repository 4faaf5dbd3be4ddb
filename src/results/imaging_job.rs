//! The parts of an export about X-rays: the registration of the CT with them, and its DRRs as they see it.

use super::export_job::ExportFailure;
use super::inputs::Settings;
use crate::case::{Case, PixelMeaning, Pose, Radiograph};
use crate::dicom::{ExportPart, Imaging, WriteError};
use crate::engine::JobControl;
use crate::engine::drr::{DrrRequest, Integrator, Pixels, drr};
use crate::files::picture::is_picture;
use crate::physics::AttenuationCurve;
use crate::registration::spatial_registration;
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

/// X-rays of a patient, and the pose of the CT before them.
#[derive(Clone, Debug)]
pub struct XRays {
    pub images: Vec<XRay>,
    pub pose: Pose,
    /// Poses turn about it, patient LPS, mm.
    pub centre_mm: DVec3,
    /// How the DRRs read the CT.
    pub curve: AttenuationCurve,
}

/// An X-ray and its file.
#[derive(Clone, Debug)]
pub struct XRay {
    pub radiograph: Arc<Radiograph>,
    pub path: PathBuf,
}

impl XRays {
    /// Which of the parts about X-rays can leave.
    pub fn parts(&self) -> Vec<ExportPart> {
        let drrs = self.images.iter().all(|image| image.radiograph.setup.is_some());
        let files = self.images.iter().any(|image| !is_picture(&image.path));
        let all = [(ExportPart::Registration, true), (ExportPart::Drr, drrs), (ExportPart::Xray, files)];
        all.into_iter().filter(|(_, can)| *can).map(|(part, _)| part).collect()
    }
}

/// # Errors
/// [`ExportFailure`]: X-rays of another patient, a case without a CT, errors of the DRRs.
pub(super) fn imaging(
    case: &Case,
    xrays: &XRays,
    with_drrs: bool,
    settings: &Settings,
    control: &JobControl,
) -> Result<Imaging, ExportFailure> {
    let refuse = |why: String| Err(ExportFailure::Refused(why));
    let (Some(ct), Some(first)) = (&case.ct, xrays.images.first()) else {
        return refuse(format!("{} has no CT and X-ray to be exported together", case.source));
    };
    let mut remarks = Vec::new();
    for XRay { radiograph, path } in &xrays.images {
        let (label, id) = (&radiograph.label, &radiograph.patient.id);
        if !id.is_empty() && !case.patient.id.is_empty() && *id != case.patient.id {
            return refuse(format!(
                "the X-ray {label} is of the patient {id}, the CT of {}: they do not leave together",
                case.patient.id
            ));
        }
        if is_picture(path) {
            remarks.push(format!("the X-ray {label} is a picture, not a file of DICOM: it is left out"));
        }
    }
    let registration = spatial_registration(&xrays.pose, xrays.centre_mm, &first.radiograph, ct, case);
    let device = settings.device.resolve().map_err(|why| ExportFailure::Refused(why.to_string()))?;
    let mut drrs = Vec::new();
    let attenuation = with_drrs.then(|| Arc::new(xrays.curve.attenuation(&ct.hu)));
    for (n, image) in (1..).zip(&xrays.images) {
        let (Some(attenuation), Some(setup)) = (&attenuation, image.radiograph.setup) else { continue };
        let request = DrrRequest {
            attenuation: Arc::clone(attenuation),
            projection: image.radiograph.projection,
            poses: vec![xrays.pose],
            pose_centre_mm: xrays.centre_mm,
            integrator: Integrator::Trilinear { step_mm: None },
            pixels: Pixels::All,
        };
        let answer =
            drr(&request, &device, control).map_err(|why| ExportFailure::Refused(why.to_string()))?;
        if control.check().is_err() {
            return Err(WriteError::Cancelled.into());
        }
        let mut values = vec![0.0; request.projection.pixels()];
        for (&pixel, &integral) in answer.indices.iter().zip(&answer.integrals) {
            values[pixel as usize] = integral;
        }
        let label = format!("DRR {n}");
        let of = Radiograph::new(values, PixelMeaning::Attenuation, request.projection, &label);
        drrs.push(Radiograph { setup: Some(setup), ..of });
    }
    if with_drrs && drrs.len() < xrays.images.len() {
        let of = |image: &&XRay| image.radiograph.setup.is_none();
        let names: Vec<&str> =
            xrays.images.iter().filter(of).map(|image| image.radiograph.label.as_str()).collect();
        return refuse(format!(
            "no DRR of {} can be exported: its gantry and couch angles are not known",
            names.join(", ")
        ));
    }
    let files = xrays.images.iter().filter(|image| !is_picture(&image.path)).map(|image| image.path.clone());
    Ok(Imaging { registration, drrs, xrays: files.collect(), remarks })
}
