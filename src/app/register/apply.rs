//! What the user asks of the Register workspace, carried out.

use super::image::{Image, Region};
use super::open::{GeometryDraft, OpenedImage};
use super::{Display, MOST_IMAGES, Proposal, Reading, RegisterAnswer, RegisterWish, Search, demo, held};
use crate::app::App;
use crate::app::Ask;
use crate::app::follow::Answer;
use crate::app::slot::Slot;
use crate::app::state::{About, NoticeKind, State, Workspace};
use crate::case::{Placement, Pose, Steps};
use crate::registration::{Method, Metric, RegistrationError, check_belongs};
use crate::worker::Task;
use std::path::PathBuf;
use std::sync::Arc;

/// One thing the user asked for.
#[derive(Debug)]
pub enum RegisterAction {
    OpenImage(PathBuf),
    /// How the DRRs read HU.
    Reading(Reading),
    /// Writes the pose as a DICOM registration.
    Save(PathBuf),
    /// Changes what is said of an X-ray that waits for its geometry; `None` drops it.
    Draft(Option<Box<GeometryDraft>>),
    /// Opens that X-ray with what is said.
    UseGeometry(Box<GeometryDraft>),
    /// Two X-rays made up from the CT, the patient in a pose that is not told.
    MakeUp,
    RemoveImage(usize),
    /// Where the patient is; locked numbers stay. Moves of one `gesture` undo together.
    Move {
        pose: Pose,
        gesture: Option<u64>,
    },
    /// Back to where the plan has the patient.
    Reset,
    Lock {
        axis: usize,
        locked: bool,
    },
    Step(f64),
    Display(Display),
    Metric(Metric),
    Method(Method),
    /// Begins or ends marking the region.
    Mark(bool),
    /// What the metric looks at in an image; `None` of it: all.
    Region {
        image: usize,
        region: Option<Region>,
    },
    /// Looks for the pose.
    Find,
    Stop,
    Accept,
    Reject,
}

impl App {
    pub(in crate::app) fn register(&mut self, action: RegisterAction) {
        let register = &mut self.state.register;
        match action {
            RegisterAction::OpenImage(path) => self.open_xray(path, Placement::default(), None),
            RegisterAction::Reading(reading) => register.reading = reading.sound(),
            RegisterAction::Save(path) => self.write(Ask::SaveRegistration, path, false),
            RegisterAction::Draft(draft) => register.draft = draft,
            RegisterAction::UseGeometry(draft) => {
                register.draft = None;
                self.open_xray(draft.path, draft.placement, None);
            }
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
                if let Search::Ended(Proposal { pose, .. }) = std::mem::take(&mut register.search) {
                    register.set_pose(pose, None);
                }
            }
            RegisterAction::Reject => {
                if matches!(register.search, Search::Ended(_)) {
                    register.search = Search::Idle;
                }
            }
        }
    }

    fn move_patient(&mut self, pose: &Pose, gesture: Option<u64>) {
        // As for the case: a later drag of the same thing is another step.
        let gesture = gesture.map(|g| g ^ self.gestures.wrapping_mul(0x9e37_79b9_7f4a_7c15));
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
            *shown = Arc::new(Image { region, ..(**shown).clone() });
            self.worker.cancel(Slot::Search);
            register.set_images(images);
        }
    }

    /// What a new window was asked to begin with, once its case is on show.
    pub(in crate::app) fn begin_register(&mut self, wish: RegisterWish) {
        let RegisterWish { images, made_up, pose, mode, pair, bone_dark } = wish;
        let register = &mut self.state.register;
        let display = &mut register.display;
        display.mode = mode.unwrap_or(display.mode);
        display.pair = pair.unwrap_or(display.pair);
        display.bone_dark |= bone_dark;
        if let Some(pose) = pose {
            register.set_pose(pose, None);
        }
        if made_up {
            self.make_up_xrays();
        }
        images.into_iter().for_each(|path| self.open_xray(path, Placement::default(), None));
    }

    /// The pair; by the user's hand the pose then begins at the plan's.
    pub(super) fn make_up_xrays(&mut self) {
        let state = &mut self.state;
        let Some(ct) = state.case().ct.clone() else {
            state.notices.add(NoticeKind::Warning, "X-rays are made up from a CT: open one, or a demo.");
            return;
        };
        let isocentre_mm = state.register.centre_mm(state.case());
        let patient = state.case().patient.clone();
        let number = state.register.made_up;
        state.register.made_up += 1;
        let task = Task::new("Making up X-rays", move |control| {
            demo::made_up(&ct, isocentre_mm, &patient, number, control)
                .map(|(images, hidden)| Answer::Register(RegisterAnswer::MadeUp(images, hidden)))
        });
        self.submit_xray(task);
    }

    /// A made-up pair takes the place of what was on show.
    pub(super) fn take_made_up(&mut self, images: Vec<Image>, hidden: Pose) {
        self.worker.cancel(Slot::Search);
        let register = &mut self.state.register;
        register.set_images(images.into_iter().map(Arc::new).collect());
        register.hidden = Some(hidden);
        self.state.notices.retain(|about| *about != About::XrayRefused);
        self.forget_old_xrays();
    }

    /// Puts an X-ray beside those on show, unless it is of somebody else; more than two push out the oldest. Where its
    /// positions are told in another frame of reference than the CT's, the isocentre is asked for.
    pub(super) fn take_opened(&mut self, opened: OpenedImage) {
        let OpenedImage { image, remarks } = opened;
        let state = &mut self.state;
        for remark in remarks {
            let label = image.radiograph.label.clone();
            let text = format!("{label}: {}.", remark.message);
            state.notices.add_about(About::Xray(label), NoticeKind::Warning, text);
        }
        let case = state.history.case();
        let ct_frame = case.ct.as_ref().map_or("", |ct| ct.frame_of_reference_uid.as_str());
        match check_belongs(&image.radiograph, &case.patient.id, ct_frame) {
            Err(RegistrationError::OtherFrame { .. }) => {
                let Some((path, placement)) = image.file else { return };
                let mut draft = GeometryDraft { path, missing: vec!["isocentre"], placement };
                draft.suggest(case, state.register.centre_mm(case));
                state.register.draft = Some(Box::new(draft));
            }
            Err(why) => {
                let text = format!("Not shown: {why}.");
                state.notices.add_about(About::XrayRefused, NoticeKind::Error, text);
            }
            Ok(()) => {
                // A made-up pair is no company for a real X-ray.
                let kept =
                    if state.register.hidden.take().is_some() { &[][..] } else { state.register.images() };
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

    /// What was said of X-rays that are no longer on show goes with them.
    fn forget_old_xrays(&mut self) {
        let State { notices, register, .. } = &mut self.state;
        let shown = |label: &str| register.images().iter().any(|i| i.radiograph.label == label);
        notices.retain(|about| match about {
            About::Xray(label) => shown(label),
            About::Other | About::XrayRefused => true,
        });
    }
}
