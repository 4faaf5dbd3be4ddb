//! What the Register workspace needs of the worker: the CT's attenuation, the metric of the pose on show, the search.

use super::{Answer, OpenedImage, Requests};
use crate::app::state::Workspace;
use crate::app::state::register::{
    AttenuationInputs, GeometryDraft, Image, MeterInputs, Prepared, Proposal, Search, Trace,
};
use crate::app::state::slot::Slot;
use crate::case::Pose;
use crate::engine::drr::{DrrRequest, Integrator, Pixels, Spread, drr};
use crate::engine::{Compute, DeviceChoice, JobControl};
use crate::geometry::{Projection, Volume};
use crate::physics::AttenuationCurve;
use crate::registration::{self, Found, MetricEvaluator, Request, Step, range_of};
use crate::worker::{Lane, Task};
use glam::DVec3;
use std::sync::Arc;

/// Pixels a DRR's black and white are taken from, and the step of their rays, mm.
const RANGE_PIXELS: usize = 1500;
const RANGE_STEP_MM: f64 = 3.0;

/// What the workspace's jobs answer.
#[derive(Debug)]
pub enum RegisterAnswer {
    Attenuation(Box<AttenuationAnswer>),
    Image(Box<OpenedImage>),
    /// An X-ray's geometry is to be asked for.
    Ask(Box<GeometryDraft>),
    /// With the pose they hide.
    MadeUp(Vec<Image>, Pose),
    Prepared(Box<Prepared>),
    Value(Box<(MeterInputs, Pose)>, Option<f64>),
    Found(Box<Found>),
}

/// An attenuation with what it was made from.
#[derive(Debug)]
pub struct AttenuationAnswer {
    inputs: AttenuationInputs,
    volume: Arc<Volume<f32>>,
}

impl Requests<'_> {
    /// Asks for what the workspace lacks; nothing while another is on show.
    pub fn request_register(&mut self) {
        let state = &mut *self.state;
        if let Search::Running(trace) = &state.register.search {
            let values = trace.take_values();
            values.into_iter().for_each(|v| state.register.note_value(v));
        }
        if state.workspace != Workspace::Register || state.register.images.is_empty() {
            return;
        }
        self.request_attenuation();
        self.request_meter();
        self.request_value();
    }

    fn request_attenuation(&mut self) {
        let state = &mut *self.state;
        let Some(ct) = state.history.case().ct.clone() else { return };
        let table = Arc::clone(&state.results.settings.hu_table);
        let reading = state.register.reading;
        let inputs = AttenuationInputs { ct: ct.hu.id(), table, reading };
        if state.register.attenuation_asked.as_ref() == Some(&inputs) {
            return;
        }
        state.register.attenuation_asked = Some(inputs.clone());
        let task = Task::new("Attenuation of the CT", move |_| {
            let curve = AttenuationCurve::new(inputs.reading.curve, &inputs.table, 1e-3 * inputs.reading.kev);
            let volume = Arc::new(curve.attenuation(&ct.hu));
            let answer = AttenuationAnswer { inputs, volume };
            Ok::<_, String>(Answer::Register(RegisterAnswer::Attenuation(Box::new(answer))))
        });
        self.worker.submit(Slot::Attenuation, task);
    }

    fn request_meter(&mut self) {
        let state = &mut *self.state;
        let centre_mm = state.register.centre_mm(state.history.case());
        let device = state.results.settings.device;
        let register = &mut state.register;
        let Some(attenuation) = register.attenuation().cloned() else { return };
        let (version, metric) = (register.version, register.metric);
        let inputs = MeterInputs { attenuation: attenuation.id(), version, centre_mm, metric, device };
        if register.meter_asked.as_ref() == Some(&inputs) {
            return;
        }
        register.meter_asked = Some(inputs.clone());
        let images = register.images.clone();
        let task = Task::new("Metric", move |control| {
            prepared(inputs, &attenuation, &images, control)
                .map(|p| Answer::Register(RegisterAnswer::Prepared(Box::new(p))))
        });
        self.worker.submit(Slot::MetricEvaluator, on_lane_of(device, task));
    }

    fn request_value(&mut self) {
        let register = &mut self.state.register;
        let current = register.meter.as_ref().filter(|m| register.meter_asked.as_ref() == Some(&m.inputs));
        let (Some(prepared), false) = (current, matches!(register.search, Search::Running(_))) else {
            return;
        };
        let wanted = (prepared.inputs.clone(), register.shown_pose());
        // A value under way is let finish: else, during a drag, none ever would.
        let busy = register.value_asked.is_some();
        if busy || register.value.as_ref().is_some_and(|(valued, _)| *valued == wanted) {
            return;
        }
        let (meter, device) = (Arc::clone(&prepared.meter), prepared.inputs.device);
        register.value_asked = Some(wanted.clone());
        let task = Task::new("Metric of a pose", move |control| {
            let value = meter.value(&wanted.1, control)?;
            Ok::<_, crate::engine::Cancelled>(Answer::Register(RegisterAnswer::Value(
                Box::new(wanted),
                value,
            )))
        });
        self.worker.submit(Slot::MetricValue, on_lane_of(device, task));
    }

    pub fn find_pose(&mut self) {
        let state = &mut *self.state;
        let centre_mm = state.register.centre_mm(state.history.case());
        let device = state.results.settings.device;
        let register = &mut state.register;
        let Some(attenuation) = register.attenuation().cloned() else { return };
        if matches!(register.search, Search::Running(_)) || register.images.is_empty() {
            return;
        }
        let views = register.images.iter().map(|i| i.view()).collect();
        let request = Request {
            start: *register.poses.now(),
            metric: register.metric,
            method: register.method,
            locked: register.locked,
            ..Request::new(attenuation, views, centre_mm)
        };
        let trace = Arc::new(Trace::default());
        register.search = Search::Running(Arc::clone(&trace));
        register.curve.clear();
        let ctx = self.ctx.clone();
        let task = Task::new("Finding the pose", move |control| {
            let note = |step: &Step| {
                trace.note(*step);
                ctx.request_repaint();
            };
            let device = device.resolve().map_err(|e| e.to_string())?;
            let found =
                registration::register(&request, &device, control, &note).map_err(|e| e.to_string())?;
            Ok::<_, String>(Answer::Register(RegisterAnswer::Found(Box::new(found))))
        });
        self.worker.submit(Slot::Search, task.on(Lane::Device));
    }

    pub fn take_register(&mut self, answer: RegisterAnswer) {
        let ct = self.state.case().ct.as_ref().map(|ct| ct.hu.id());
        let register = &mut self.state.register;
        match answer {
            RegisterAnswer::Attenuation(answer) => {
                if Some(answer.inputs.ct) == ct {
                    register.attenuation = Some((answer.inputs, answer.volume));
                }
            }
            RegisterAnswer::Image(opened) => self.take_opened(*opened),
            RegisterAnswer::Ask(mut draft) => {
                let centre_mm = register.centre_mm(self.state.history.case());
                draft.suggest(self.state.history.case(), centre_mm);
                register.draft = Some(draft);
            }
            RegisterAnswer::MadeUp(images, hidden) => self.take_made_up(images, hidden),
            RegisterAnswer::Prepared(prepared) => {
                if register.meter_asked.as_ref() == Some(&prepared.inputs) {
                    register.meter_failure = None;
                    register.meter = Some(*prepared);
                }
            }
            RegisterAnswer::Value(valued, value) => {
                register.value_asked = None;
                if let Some(value) = value {
                    register.note_value(value);
                }
                register.value = Some((*valued, value));
            }
            RegisterAnswer::Found(found) => {
                if matches!(register.search, Search::Running(_)) {
                    register.search = Search::Ended(Proposal { pose: found.pose, found: Some(*found) });
                }
            }
        }
    }

    /// A job of the workspace failed. Whether a notice is to say so: the panel says what is the matter with the metric.
    pub fn fail_register(&mut self, slot: Slot, message: &str) -> bool {
        let register = &mut self.state.register;
        match slot {
            Slot::MetricEvaluator => {
                register.meter_failure =
                    register.meter_asked.clone().map(|inputs| (inputs, message.to_owned()));
                return false;
            }
            Slot::MetricValue => register.value_asked = None,
            Slot::Search => register.search = Search::Idle,
            _ => {}
        }
        true
    }

    /// A job of the workspace was cancelled: of a search, the best so far waits for an answer.
    pub fn cancelled_register(&mut self, slot: Slot) {
        let register = &mut self.state.register;
        match slot {
            Slot::Search => {
                register.search = match register.best() {
                    Some(step) => Search::Ended(Proposal { pose: step.pose, found: None }),
                    None => Search::Idle,
                };
            }
            Slot::MetricValue => register.value_asked = None,
            Slot::MetricEvaluator => register.meter_asked = None,
            Slot::Attenuation => register.attenuation_asked = None,
            _ => {}
        }
    }

    /// Another case comes: what is under way for this one ends.
    pub fn reset_register(&mut self) {
        let xrays = (0..self.state.register.asked).map(Slot::Xray);
        for slot in xrays.chain([Slot::Attenuation, Slot::MetricEvaluator, Slot::MetricValue, Slot::Search]) {
            self.worker.cancel(slot);
        }
        self.state.register.reset();
    }
}

/// What is quick goes before the card's full work; without a card it has the other thread to itself.
fn on_lane_of(device: DeviceChoice, task: Task<Answer>) -> Task<Answer> {
    if device.is_for_a_card() { task.quick().on(Lane::Device) } else { task }
}

/// The metric made ready, and each DRR's black and white at the pose planned.
fn prepared(
    inputs: MeterInputs,
    attenuation: &Arc<Volume<f32>>,
    images: &[Arc<Image>],
    control: &JobControl,
) -> Result<Prepared, String> {
    let range = |image: &Arc<Image>| {
        let projection = image.radiograph.projection;
        range(attenuation, projection, inputs.centre_mm, control)
    };
    let ranges = images.iter().map(range).collect::<Result<_, _>>()?;
    let views: Vec<_> = images.iter().map(|i| i.view()).collect();
    let device = inputs.device.resolve().map_err(|e| e.to_string())?;
    let meter =
        MetricEvaluator::new(attenuation, &views, inputs.centre_mm, inputs.metric, &device, control.cache())
            .map_err(|e| e.to_string())?;
    Ok(Prepared { inputs, meter: Arc::new(meter), ranges })
}

fn range(
    attenuation: &Arc<Volume<f32>>,
    projection: Projection,
    centre_mm: DVec3,
    control: &JobControl,
) -> Result<[f32; 2], String> {
    let count = RANGE_PIXELS.min(projection.pixels());
    let request = DrrRequest {
        attenuation: Arc::clone(attenuation),
        projection,
        poses: vec![Pose::default()],
        pose_centre_mm: centre_mm,
        integrator: Integrator::Trilinear { step_mm: Some(RANGE_STEP_MM) },
        pixels: Pixels::Subset { region: None, count, spread: Spread::LowDiscrepancy, seed: 1 },
    };
    drr(&request, &Compute::Cpu, control).map(|d| range_of(d.integrals)).map_err(|e| e.to_string())
}
