//! X-rays of a case and the pose of the CT before them, from a session or named by options.

use super::Failure;
use super::words::{CaseArgs, first_isocentre};
use anyhow::Context as _;
use app::feature::register::state::{AcceptedPose, AttenuationChoice, RegisterRecord};
use case::{Case, Placement, Pose};
use files::session;
use open::CaseWord;
use physics::HuTable;
use registration::{PoseStanding, check_belongs};
use results::{XRay, XRays, read_xray};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub struct XRayArgs {
    /// An X-ray of the patient, for registration, drr and xray; again for a second one. Left out: the session's X-rays
    #[arg(long, value_name = "FILE")]
    pub xray: Vec<PathBuf>,

    /// Pose of the patient before the X-rays, mm and degrees, as in register. Left out: the session's pose
    #[arg(long, value_name = "TX,TY,TZ,RX,RY,RZ", allow_hyphen_values = true)]
    pose: Option<Pose>,
}

impl XRayArgs {
    /// `None` where there are none.
    ///
    /// # Errors
    /// X-rays that cannot be read, or are of another patient or frame of reference.
    pub fn read(
        &self,
        case_args: &CaseArgs,
        case: &Case,
        table: &HuTable,
    ) -> Result<Option<XRays>, Failure> {
        let record = match &case_args.case {
            CaseWord::Session(path) => {
                record_of(&session::read(path).map_err(anyhow::Error::from)?.view)
            }
            _ => RegisterRecord::default(),
        };
        let named = self
            .xray
            .iter()
            .map(|path| (path.clone(), Placement::default()));
        let mut files: Vec<(PathBuf, Placement)> = named.collect();
        if files.is_empty() {
            files = record
                .images
                .into_iter()
                .map(|image| (image.path, image.placement))
                .collect();
        }
        let Some(ct) = case.ct.as_ref().filter(|_| !files.is_empty()) else {
            return Ok(None);
        };
        let mut images = Vec::new();
        for (path, placement) in files {
            let (mut read, _) = read_xray(&path, &placement, ct).with_context(|| {
                format!("the X-ray {} (--only leaves X-rays out)", path.display())
            })?;
            if case_args.accept_patient_mismatch {
                read.accepted_patient = Some(read.patient.id.clone());
            }
            check_belongs(&read, &case.patient.id, &ct.frame_of_reference_uid)
                .map_err(anyhow::Error::from)?;
            images.push(XRay {
                radiograph: Arc::new(read),
                path,
            });
        }
        let centre_mm = images
            .iter()
            .find_map(|image| image.radiograph.setup.map(|s| s.isocentre_mm));
        let standing = match self.pose {
            Some(_) => PoseStanding::ByHand,
            None => {
                let labels = images.iter().map(|image| image.radiograph.label.as_str());
                AcceptedPose::standing_of(record.accepted.as_ref(), &record.pose, labels)
            }
        };
        Ok(Some(XRays {
            images,
            pose: self.pose.unwrap_or(record.pose),
            standing,
            // As in the Register workspace.
            centre_mm: centre_mm
                .or_else(|| first_isocentre(case))
                .unwrap_or_else(|| ct.hu.grid().middle_mm()),
            curve: record
                .reading
                .unwrap_or_else(AttenuationChoice::default)
                .sound()
                .curve(table),
        }))
    }
}

/// The Register workspace in the view of a session.
fn record_of(view: &serde_json::Value) -> RegisterRecord {
    let record = view
        .get("register")
        .map(|record| serde_json::from_value(record.clone()));
    record.and_then(Result::ok).unwrap_or_default()
}
