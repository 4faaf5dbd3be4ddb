//! The user's commands of the Register workspace, applied to the state.

use crate::feature::register::command::RegisterAction;
use crate::feature::register::jobs::xray::OpenedImage;
use crate::feature::register::state::{
    AcceptedPose, AttenuationChoice, Display, GeometryDraft, Image, KeptImage, MOST_IMAGES, Region,
    RegisterRecord, STEPS, Search, StrangeXray, held,
};
use crate::jobs::Requests;
use crate::state::slot::Slot;
use crate::state::{About, NoticeKind, State, Workspace};
use analysis::second_check::capital;
use case::{Placement, Pose, Steps};
use engine::drr::forget_images;
use registration::{RegistrationError, accepted_patient, check_belongs, remarks_beside};
use std::sync::Arc;

impl Requests<'_> {
    pub fn register(&mut self, action: RegisterAction) {
        let register = &mut self.state.register;
        match action {
            RegisterAction::OpenImage(path) => self.open_xray(path, Placement::default(), None),
            RegisterAction::Attenuation(reading) => register.reading = reading.sound(),
            RegisterAction::Draft(draft) => register.draft = draft,
            RegisterAction::UseGeometry(draft) => {
                register.draft = None;
                self.open_xray(draft.path, draft.placement, None);
            }
            RegisterAction::IsOfPatient(accepted) => self.answer_stranger(accepted),
            RegisterAction::MakeUp => {
                register.poses = Steps::default();
                self.state.workspace = Workspace::Register;
                self.make_up_xrays();
            }
            RegisterAction::RemoveImage(index) => {
                let mut images = register.images.clone();
                if index < images.len() {
                    images.remove(index);
                    self.worker.cancel(Slot::Search);
                    register.set_images(images);
                    if register.images().is_empty() {
                        forget_images(self.worker.cache());
                    }
                    self.forget_old_xrays();
                }
            }
            RegisterAction::Move { pose, gesture } => self.move_patient(&pose, gesture),
            RegisterAction::Reset => {
                if register.is_free() {
                    register.set_pose(Pose::default(), None);
                }
            }
            RegisterAction::Lock { axis, locked } => {
                if let Some(lock) = register.locked.get_mut(axis) {
                    *lock = locked;
                }
            }
            RegisterAction::Step(step) => register.step = step,
            RegisterAction::Display(display) => register.display = display,
            RegisterAction::Metric(metric) => {
                register.metric = metric;
                register.curve.clear();
            }
            RegisterAction::Method(method) => register.method = method,
            RegisterAction::Mark(marking) => register.marking = marking,
            RegisterAction::Region { image, region } => self.set_region(image, region),
            RegisterAction::Find => self.find_pose(),
            RegisterAction::Stop => self.worker.cancel(Slot::Search),
            RegisterAction::Accept => {
                if let Search::Ended(proposal) = std::mem::take(&mut register.search) {
                    let images = register
                        .images
                        .iter()
                        .map(|image| image.radiograph.label.clone())
                        .collect();
                    let (pose, standing) = (proposal.pose, proposal.standing());
                    register.accepted = Some(AcceptedPose {
                        pose,
                        standing,
                        images,
                    });
                    register.set_pose(proposal.pose, None);
                }
            }
            RegisterAction::Reject => {
                if matches!(register.search, Search::Ended(_)) {
                    register.search = Search::Idle;
                }
            }
            RegisterAction::DoseAtPose => self.dose_at_pose(),
        }
    }

    fn move_patient(&mut self, pose: &Pose, gesture: Option<u64>) {
        let gesture = self.state.step_of(gesture);
        let register = &mut self.state.register;
        let finite = pose.translation_mm.is_finite() && pose.rotation_deg.is_finite();
        if register.is_free() && finite {
            let pose = held(register.poses.now(), pose, register.locked);
            register.set_pose(pose, gesture);
        }
    }

    fn set_region(&mut self, image: usize, region: Option<Region>) {
        let register = &mut self.state.register;
        register.marking = false;
        let mut images = register.images.clone();
        if let Some(shown) = images.get_mut(image) {
            *shown = Arc::new(Image {
                region,
                ..(**shown).clone()
            });
            self.worker.cancel(Slot::Search);
            register.set_images(images);
        }
    }

    /// Replaces the displayed X-rays by a made-up pair.
    pub fn take_made_up(&mut self, images: Vec<Image>, hidden: Pose) {
        self.worker.cancel(Slot::Search);
        let register = &mut self.state.register;
        register.set_images(images.into_iter().map(Arc::new).collect());
        register.hidden = Some(hidden);
        self.state
            .notices
            .retain(|about| *about != About::XrayRefused);
        self.forget_old_xrays();
    }

    /// Adds an X-ray to those displayed, unless it belongs to another patient; beyond the maximum the oldest is
    /// removed. If its positions are in another frame of reference than the CT's, the isocentre is requested from the
    /// user.
    pub fn take_opened(&mut self, opened: OpenedImage) {
        let OpenedImage { image, remarks } = opened;
        let state = &mut *self.state;
        for remark in remarks {
            let label = image.radiograph.label.clone();
            let text = format!("{label}: {}.", remark.message);
            state
                .notices
                .add_about(About::Xray(label), NoticeKind::Warning, text);
        }
        let case = state.history.case();
        let ct_frame = case
            .ct
            .as_ref()
            .map_or("", |ct| ct.frame_of_reference_uid.as_str());
        match check_belongs(&image.radiograph, &case.patient.id, ct_frame) {
            Err(RegistrationError::OtherFrame { .. }) => {
                let Some((path, placement)) = image.file else {
                    return;
                };
                let position = image.radiograph.setup.map(|setup| setup.position);
                let placement = Placement {
                    position: placement.position.or(position),
                    ..placement
                };
                let mut draft = GeometryDraft {
                    path,
                    missing: vec!["isocentre"],
                    placement,
                };
                draft.suggest(case, state.register.centre_mm(case));
                state.register.draft = Some(Box::new(draft));
            }
            Err(RegistrationError::OtherPatient {
                image: label,
                theirs,
                ours,
            }) if image.file.is_some() => {
                let (Some((path, placement)), region) = (image.file, image.region) else {
                    return;
                };
                let strange = StrangeXray {
                    path,
                    placement,
                    region,
                    label,
                    theirs,
                    ours,
                };
                state.register.strange.push(strange);
            }
            Err(why) => {
                let text = format!("Not shown: {why}.");
                state
                    .notices
                    .add_about(About::XrayRefused, NoticeKind::Error, text);
            }
            Ok(()) => {
                let accepted = accepted_patient(&image.radiograph, &case.patient.id);
                let accepted = accepted.map(|what| format!("Accepted: {what}."));
                let remarks = remarks_beside(&image.radiograph, case);
                for text in accepted
                    .into_iter()
                    .chain(remarks.iter().map(|what| format!("{}.", capital(what))))
                {
                    let about = About::Xray(image.radiograph.label.clone());
                    state.notices.add_about(about, NoticeKind::Warning, text);
                }
                // A made-up pair is not combined with a real X-ray.
                let kept = if state.register.hidden.take().is_some() {
                    &[][..]
                } else {
                    state.register.images()
                };
                let mut images = kept.to_vec();
                images.push(Arc::new(image));
                let beyond = images.len().saturating_sub(MOST_IMAGES);
                images.drain(..beyond);
                self.worker.cancel(Slot::Search);
                state.register.set_images(images);
                self.forget_old_xrays();
            }
        }
    }

    /// Opens an X-ray of another patient ID once more, with the answer that it is of the case's patient, or leaves it out.
    fn answer_stranger(&mut self, accepted: bool) {
        if self.state.register.strange.is_empty() {
            return;
        }
        let StrangeXray {
            path,
            placement,
            region,
            label,
            theirs,
            ..
        } = self.state.register.strange.remove(0);
        if accepted {
            let placement = Placement {
                accepted_patient: Some(theirs),
                ..placement
            };
            self.open_xray(path, placement, region);
        } else {
            let text = format!("Not shown: {label} is of the patient {theirs}.");
            self.state
                .notices
                .add_about(About::XrayRefused, NoticeKind::Warning, text);
        }
    }

    /// Removes the notices about X-rays that are no longer displayed.
    fn forget_old_xrays(&mut self) {
        let State {
            notices, register, ..
        } = &mut *self.state;
        notices.retain(|about| match about {
            About::Xray(label) => register
                .images()
                .iter()
                .any(|i| i.radiograph.label == *label),
            _ => true,
        });
    }

    /// Restores the workspace of a session; X-rays are read anew, and failures to open are reported as usual.
    pub fn restore_register(&mut self, record: RegisterRecord) {
        let RegisterRecord {
            images,
            made_up,
            pose,
            accepted,
            locked,
            step,
            display,
            reading,
            metric,
            method,
        } = record;
        let register = &mut self.state.register;
        if pose.translation_mm.is_finite() && pose.rotation_deg.is_finite() {
            register.poses = Steps::at(pose);
        }
        (register.accepted, register.locked) = (accepted, locked);
        register.step = step.filter(|s| STEPS.contains(s)).unwrap_or(register.step);
        register.display = display.map_or(register.display, Display::sound);
        register.reading = reading.map_or(register.reading, AttenuationChoice::sound);
        (register.metric, register.method) = (metric, method);
        if let Some(number) = made_up {
            register.made_up = number;
            self.make_up_xrays();
        }
        for KeptImage {
            path,
            placement,
            region,
        } in images
        {
            self.open_xray(path, placement, region);
        }
    }
}
