//! X-rays from files, read on the worker's thread; a dialog completes the geometry of files that lack it.

use crate::feature::register::jobs::made_up;
use crate::feature::register::state::{GeometryDraft, Image, Region};
use crate::jobs::{JobAnswer, Requests};
use crate::state::files::file_name;
use crate::state::slot::Slot;
use crate::state::{About, NoticeKind};
use case::{Ct, Placement, Radiograph, Remark};
use dicom::DicomError;
use files::picture::PictureError;
use results::{XRayFileError, declared_placement, read_xray};
use std::path::{Path, PathBuf};
use worker::Task;

/// An X-ray from a file, with remarks on its unusual properties.
#[derive(Debug)]
pub struct OpenedImage {
    pub image: Image,
    pub remarks: Vec<Remark>,
}

/// Outcome of reading a file.
enum Read {
    Whole(Box<Radiograph>, Vec<Remark>),
    Lacks(Vec<&'static str>),
}

fn read(path: &Path, placement: &Placement, ct: &Ct) -> Result<Read, String> {
    match read_xray(path, placement, ct) {
        Ok((radiograph, remarks)) => Ok(Read::Whole(Box::new(radiograph), remarks)),
        Err(
            XRayFileError::Picture(PictureError::NoGeometry { missing, .. })
            | XRayFileError::Dicom(DicomError::NoGeometry { missing, .. }),
        ) => Ok(Read::Lacks(missing)),
        Err(error) => Err(error.to_string()),
    }
}

impl Requests<'_> {
    /// Reads an X-ray and adds it to the displayed ones; `placement` takes precedence over the geometry in the file. The
    /// metric is restricted to `region`, if any.
    pub fn open_xray(&mut self, path: PathBuf, placement: Placement, region: Option<Region>) {
        self.state
            .notices
            .retain(|about| *about != About::XrayRefused);
        let Some(ct) = self.state.case().ct.clone() else {
            let text = "An X-ray is registered with a CT: open the CT first.";
            self.state
                .notices
                .add_about(About::XrayRefused, NoticeKind::Warning, text);
            return;
        };
        let task = Task::new(format!("Opening X-ray {}", file_name(&path)), move |_| {
            let answer = match read(&path, &placement, &ct)? {
                Read::Whole(radiograph, remarks) => {
                    let image = Image::new(*radiograph).map_err(|e| e.to_string())?;
                    let p = &image.radiograph.projection;
                    let region = region.filter(|r| r.fits([p.columns(), p.rows()]));
                    let image = Image {
                        region,
                        file: Some((path, placement)),
                        ..image
                    };
                    JobAnswer::then(move |window| {
                        window.take_opened(OpenedImage { image, remarks })
                    })
                }
                Read::Lacks(missing) => {
                    // The dialog begins with the geometry that the file declares.
                    let declared = declared_placement(&path).map_err(|error| error.to_string())?;
                    let placement = Placement {
                        position: placement.position.or(declared.position),
                        ..placement
                    };
                    let draft = Box::new(GeometryDraft {
                        path,
                        missing,
                        placement,
                    });
                    JobAnswer::then(move |window| window.ask_for_geometry(draft))
                }
            };
            Ok::<_, String>(answer)
        });
        self.submit_xray(task);
    }

    /// Makes up a pair of X-rays from the CT; the user's command also resets the pose to the planned one.
    pub fn make_up_xrays(&mut self) {
        let state = &mut *self.state;
        let Some(ct) = state.case().ct.clone() else {
            state.notices.add(
                NoticeKind::Warning,
                "X-rays are made up from a CT: open one, or a demo.",
            );
            return;
        };
        let isocentre_mm = state.register.centre_mm(state.case());
        let patient = state.case().patient.clone();
        let number = state.register.made_up;
        state.register.made_up += 1;
        let task = Task::new("Making up X-rays", move |control| {
            made_up::made_up(&ct, isocentre_mm, &patient, number, control).map(
                |(images, hidden)| {
                    JobAnswer::then(move |window| window.take_made_up(images, hidden))
                },
            )
        });
        self.submit_xray(task);
    }

    fn ask_for_geometry(&mut self, mut draft: Box<GeometryDraft>) {
        let case = self.state.history.case();
        draft.suggest(case, self.state.register.centre_mm(case));
        self.state.register.draft = Some(draft);
    }

    /// Submits a job that reads an X-ray. Each has its own slot, so no job replaces another.
    fn submit_xray(&mut self, task: Task<JobAnswer>) {
        self.worker
            .submit(Slot::Xray(self.state.register.requested), task);
        self.state.register.requested += 1;
    }
}
