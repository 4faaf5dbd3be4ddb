//! The parts of an export about X-rays: the registration of the CT with them, and its DRRs as they see it.

use super::export_job::ExportFailure;
use super::inputs::Settings;
use analysis::hu_remarks;
use case::{Case, Ct, PixelMeaning, Pose, Radiograph};
use dicom::{ExportPart, Imaging, Registration, WriteError};
use engine::JobControl;
use engine::drr::{DrrRequest, Integrator, Pixels, drr};
use files::picture::is_picture;
use glam::DVec3;
use physics::{AttenuationCurve, BeyondTable, CurveKind};
use registration::{
    PoseStanding, RegistrationError, accepted_patient, check_belongs, remarks_beside,
    spatial_registration,
};
use std::path::PathBuf;
use std::sync::Arc;

/// X-rays of a patient, and the pose of the CT before them.
#[derive(Clone, Debug)]
pub struct XRays {
    pub images: Vec<XRay>,
    pub pose: Pose,
    pub standing: PoseStanding,
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
        let drrs = self
            .images
            .iter()
            .all(|image| image.radiograph.setup.is_some());
        let files = self.images.iter().any(|image| !is_picture(&image.path));
        let parts = [
            (ExportPart::Registration, true),
            (ExportPart::Drr, drrs),
            (ExportPart::Xray, files),
        ];
        parts
            .into_iter()
            .filter(|(_, can)| *can)
            .map(|(part, _)| part)
            .collect()
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
    let (Some(ct), Some(first)) = (&case.ct, xrays.images.first()) else {
        let why = format!(
            "{} has no CT and X-ray to be exported together",
            case.source
        );
        return Err(ExportFailure::Refused(why));
    };
    let mut remarks = Vec::new();
    for XRay { radiograph, path } in &xrays.images {
        let label = &radiograph.label;
        // Frames of reference may differ: the registration ties them.
        if let Err(RegistrationError::OtherPatient { theirs, ours, .. }) =
            check_belongs(radiograph, &case.patient.id, "")
        {
            return Err(ExportFailure::Refused(format!(
                "the X-ray {label} is of the patient {theirs}, the CT of {ours}: they do not leave together unless it is \
                 answered that they are one (--accept-patient-mismatch, or the question of Register)"
            )));
        }
        remarks.extend(accepted_patient(radiograph, &case.patient.id));
        remarks.extend(remarks_beside(radiograph, case));
        if is_picture(path) {
            remarks.push(format!(
                "the X-ray {label} is a picture, not a file of DICOM: it is left out"
            ));
        }
    }
    if let PoseStanding::NoMatch { why } = &xrays.standing {
        remarks.push(format!(
            "the pose is no match of the X-rays, and the registration says so: {why}"
        ));
    }
    // One X-ray of another patient ID makes it a registration with one.
    let other = xrays
        .images
        .iter()
        .find(|x| accepted_patient(&x.radiograph, &case.patient.id).is_some());
    let described = &other.unwrap_or(first).radiograph;
    let pose = (&xrays.pose, &xrays.standing);
    let registration = Registration {
        description: spatial_registration(pose, xrays.centre_mm, described, ct, case).description,
        ..spatial_registration(pose, xrays.centre_mm, &first.radiograph, ct, case)
    };
    if with_drrs && xrays.curve.kind == CurveKind::Tissue {
        let table = &settings.hu_table;
        remarks.extend(hu_remarks(
            &BeyondTable::count(ct, table, None, &[]),
            table,
            "of the CT",
        ));
    }
    let drrs = if with_drrs {
        drrs_of(ct, xrays, settings, control)?
    } else {
        Vec::new()
    };
    let files = xrays
        .images
        .iter()
        .filter(|image| !is_picture(&image.path))
        .map(|image| image.path.clone());
    Ok(Imaging {
        registration,
        drrs,
        xrays: files.collect(),
        remarks,
    })
}

/// The DRRs at the pose, one for each X-ray.
fn drrs_of(
    ct: &Ct,
    xrays: &XRays,
    settings: &Settings,
    control: &JobControl,
) -> Result<Vec<Radiograph>, ExportFailure> {
    let unplaced = xrays
        .images
        .iter()
        .filter(|image| image.radiograph.setup.is_none());
    let names: Vec<&str> = unplaced
        .map(|image| image.radiograph.label.as_str())
        .collect();
    if !names.is_empty() {
        return Err(ExportFailure::Refused(format!(
            "no DRR of {} can be exported: its gantry and couch angles are not known",
            names.join(", ")
        )));
    }
    let device = settings
        .device
        .resolve_for_cuda()
        .map_err(|why| ExportFailure::Refused(why.to_string()))?;
    let attenuation = Arc::new(xrays.curve.attenuation(&ct.hu));
    let mut drrs = Vec::new();
    for (n, image) in (1..).zip(&xrays.images) {
        let request = DrrRequest {
            attenuation: Arc::clone(&attenuation),
            projection: image.radiograph.projection,
            poses: vec![xrays.pose],
            pose_centre_mm: xrays.centre_mm,
            integrator: Integrator::Trilinear { step_mm: None },
            pixels: Pixels::All,
        };
        let answer = drr(&request, &device, control)
            .map_err(|why| ExportFailure::Refused(why.to_string()))?;
        if control.check().is_err() {
            return Err(WriteError::Cancelled.into());
        }
        let mut values = vec![0.0; request.projection.pixels()];
        for (&pixel, &integral) in answer.indices.iter().zip(&answer.integrals) {
            values[pixel as usize] = integral;
        }
        let label = format!("DRR {n}");
        let radiograph = Radiograph::new(
            values,
            PixelMeaning::Attenuation,
            request.projection,
            &label,
        );
        drrs.push(Radiograph {
            setup: image.radiograph.setup,
            ..radiograph
        });
    }
    Ok(drrs)
}
