//! X-rays from files: read on the worker's thread; where a file does not say where it was taken, the user is asked.

use super::RegisterAnswer;
use super::image::{Image, Region};
use crate::app::App;
use crate::app::follow::Answer;
use crate::app::slot::Slot;
use crate::app::state::{About, NoticeKind};
use crate::case::{Case, Placement, Radiograph, Remark};
use crate::dicom::{DicomError, read_radiograph};
use crate::files::picture::{self, PictureError};
use crate::worker::Task;
use std::path::{Path, PathBuf};

/// An X-ray whose file does not say all of its geometry, with what the user says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GeometryDraft {
    pub path: PathBuf,
    /// What the file lacks, by name.
    pub missing: Vec<&'static str>,
    pub placement: Placement,
}

impl GeometryDraft {
    /// What is asked, in a sentence.
    pub fn said(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{name} does not say where it was taken: no {}", self.missing.join(", no "))
    }

    /// Whether a name is among what the file lacks.
    pub fn lacks(&self, name: &str) -> bool {
        self.missing.contains(&name)
    }

    /// Fills what is missing with what is usual, the isocentre with the plan's: to begin with.
    pub(super) fn suggest(&mut self, case: &Case, centre_mm: glam::DVec3) {
        let lacks = |name: &str| self.missing.contains(&name);
        let placement = &mut self.placement;
        if lacks("gantry angle") {
            placement.gantry_deg.get_or_insert(0.0);
        }
        if lacks("isocentre") {
            placement.isocentre_mm.get_or_insert(centre_mm);
        }
        if lacks("source to axis distance") {
            placement.sad_mm.get_or_insert(1000.0);
        }
        if lacks("source to image distance") {
            placement.sid_mm.get_or_insert(1500.0);
        }
        if lacks("pixel size") {
            placement.pixel_mm.get_or_insert([0.4, 0.4]);
        }
        placement.position = placement.position.or(case.ct.as_ref().map(|ct| ct.position));
    }
}

/// An X-ray read, and what is unusual about it.
#[derive(Debug)]
pub struct OpenedImage {
    pub(super) image: Image,
    pub(super) remarks: Vec<Remark>,
}

/// What comes of reading a file.
enum Read {
    Whole(Box<Radiograph>, Vec<Remark>),
    Lacks(Vec<&'static str>),
}

fn read(path: &Path, given: &Placement) -> Result<Read, String> {
    if picture::is_picture(path) {
        return match picture::read(path, given) {
            Ok(radiograph) => Ok(Read::Whole(Box::new(radiograph), Vec::new())),
            Err(PictureError::NoGeometry { missing, .. }) => Ok(Read::Lacks(missing)),
            Err(error) => Err(error.to_string()),
        };
    }
    match read_radiograph(path, given) {
        Ok((radiograph, remarks)) => Ok(Read::Whole(Box::new(radiograph), remarks)),
        Err(DicomError::NoGeometry { missing, .. }) => Ok(Read::Lacks(missing)),
        Err(error) => Err(error.to_string()),
    }
}

impl App {
    /// Reads an X-ray and puts it beside the ones on show; `given` goes before what the file says of its geometry. The metric
    /// looks at `region` of it, where there is such.
    pub(in crate::app) fn open_xray(&mut self, path: PathBuf, given: Placement, region: Option<Region>) {
        self.state.notices.retain(|about| *about != About::XrayRefused);
        if self.state.case().ct.is_none() {
            let text = "An X-ray is registered with a CT: open the CT first.";
            self.state.notices.add_about(About::XrayRefused, NoticeKind::Warning, text);
            return;
        }
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let task = Task::new(format!("Opening {name}"), move |_| {
            let answer = match read(&path, &given)? {
                Read::Whole(radiograph, remarks) => {
                    let image = Image::new(*radiograph).map_err(|e| e.to_string())?;
                    let p = &image.radiograph.projection;
                    let region = region.filter(|r| r.fits([p.columns(), p.rows()]));
                    let image = Image { region, file: Some((path, given)), ..image };
                    RegisterAnswer::Image(Box::new(OpenedImage { image, remarks }))
                }
                Read::Lacks(missing) => {
                    RegisterAnswer::Ask(Box::new(GeometryDraft { path, missing, placement: given }))
                }
            };
            Ok::<_, String>(Answer::Register(answer))
        });
        self.submit_xray(task);
    }

    /// X-rays are read one by one: none takes the place of another.
    pub(super) fn submit_xray(&mut self, task: Task<Answer>) {
        self.worker.submit(Slot::Xray(self.new_xrays), task);
        self.new_xrays += 1;
        self.idle_frames = 0;
    }
}
