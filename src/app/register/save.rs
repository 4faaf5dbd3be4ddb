//! The pose as a DICOM registration for other systems.

use crate::app::App;
use crate::app::follow::Answer;
use crate::app::save::Target;
use crate::app::state::NoticeKind;
use crate::dicom::{Belonging, write_registration};
use crate::registration::spatial_registration;

impl App {
    /// Writes the pose as it is by hand, or was accepted; what the search proposes is not yet one.
    pub(in crate::app) fn save_registration(&mut self, target: Target) {
        let state = &mut self.state;
        let (Some(ct), Some(image)) = (state.case().ct.clone(), state.register.images.first().cloned())
        else {
            let text = "A registration is of a CT and an X-ray: open both first.";
            state.notices.add(NoticeKind::Warning, text);
            return;
        };
        if !state.register.is_free() {
            let text = "The search's pose is not yet accepted: accept or reject it, then save.";
            state.notices.add(NoticeKind::Warning, text);
            return;
        }
        let case = state.case().clone();
        let (pose, centre_mm) = (*state.register.poses.now(), state.register.centre_mm(&case));
        self.submit_write(target, move |path| {
            let object = spatial_registration(&pose, centre_mm, &image.radiograph, &ct, &case);
            write_registration(path, &object, &ct, &Belonging::of(&case)).map_err(|e| e.to_string())?;
            Ok(Answer::Saved(path.to_owned()))
        });
    }
}
