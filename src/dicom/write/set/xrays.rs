//! The parts of an export about X-rays: the pose as a registration, DRRs at it, the X-rays as they are.

use super::{Case, ExportOptions, ExportPart, Set, copy};
use crate::object::open;
use crate::write::{Belonging, Registration, WriteError, write_radiograph, write_registration};

/// Refuses what cannot leave of X-rays.
pub(super) fn check(case: &Case, options: &ExportOptions) -> Result<(), WriteError> {
    let Some(part) = options.parts.iter().find(|part| part.is_of_xrays()) else {
        return Ok(());
    };
    let Some(imaging) = &options.imaging else {
        return refuse(
            part,
            "the case has no X-rays; a session has those of Register, --xray names others",
        );
    };
    if case.ct.is_none() {
        return refuse(part, "there is no CT that X-rays could show");
    }
    if options.has(ExportPart::Drr) && imaging.drrs.is_empty() {
        return refuse(
            &ExportPart::Drr,
            "angles and distances of the X-rays are not known",
        );
    }
    if options.has(ExportPart::Xray) && imaging.xrays.is_empty() {
        return refuse(&ExportPart::Xray, "the X-rays are no files of DICOM");
    }
    Ok(())
}

fn refuse<T>(part: &ExportPart, why: &str) -> Result<T, WriteError> {
    Err(WriteError::Refused(format!(
        "no {} can be exported: {why}",
        part.word()
    )))
}

impl Set<'_> {
    pub(super) fn write_imaging(&mut self) -> Result<(), WriteError> {
        let options = self.options;
        let (Some(imaging), Some(ct)) = (&options.imaging, self.case.ct.clone()) else {
            return Ok(());
        };
        if options.parts.iter().any(|part| part.is_of_xrays()) {
            self.exported
                .remarks
                .extend(imaging.remarks.iter().cloned());
        }
        let room = &imaging.registration.registered_frame_uid;
        if options.has(ExportPart::Registration) {
            let source_frame_uid = self.belonging.frame_of_reference_uid.clone();
            let registration = Registration {
                source_frame_uid,
                ..imaging.registration.clone()
            };
            let path = self.add("REG.dcm", "registration of the CT with X-rays", false);
            write_registration(&path, &registration, &ct, &self.belonging)?;
        }
        for (n, drr) in (1..)
            .zip(&imaging.drrs)
            .filter(|_| options.has(ExportPart::Drr))
        {
            // The picture is of the room, in which the patient was moved.
            let belonging = Belonging {
                frame_of_reference_uid: room.clone(),
                ..self.belonging.clone()
            };
            let path = self.add(
                format!("RI-drr-{n}.dcm"),
                format!("DRR as seen by X-ray {n}"),
                false,
            );
            write_radiograph(&path, drr, &belonging)?;
        }
        for (n, xray) in (1..)
            .zip(&imaging.xrays)
            .filter(|_| options.has(ExportPart::Xray))
        {
            let path = self.add(format!("RI-xray-{n}.dcm"), format!("X-ray {n}"), true);
            // A file that is there and can be read: an X-ray may have gone since it was shown.
            open(xray).map_err(WriteError::Source)?;
            copy(xray, &path)?;
        }
        Ok(())
    }
}
