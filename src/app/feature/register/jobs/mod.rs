//! Jobs of the Register workspace beside its results: the search, X-rays.

pub mod day;
pub mod made_up;
pub mod xray;

use crate::feature::register::state::{Proposal, Search, Trace};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State};
use registration::{self, Found, Request, Step};
use std::sync::Arc;
use worker::{Lane, Task};

impl Requests<'_> {
    /// Adds the values that a running search has come to since the last frame to the metric's curve.
    pub(crate) fn take_steps(&mut self) {
        let register = &mut self.state.register;
        if let Search::Running(trace) = &register.search {
            let values = trace.take_values();
            values.into_iter().for_each(|v| register.note_value(v));
        }
    }

    pub fn find_pose(&mut self) {
        let state = &mut *self.state;
        let centre_mm = state.register.centre_mm(state.history.case());
        let device = state.results.settings.device;
        let Some(attenuation) = state.results.current_attenuation().cloned() else {
            return;
        };
        let register = &mut state.register;
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
            let device = device.resolve_for_cuda().map_err(|e| e.to_string())?;
            let registered = registration::register(&request, &device, control, &|step: &Step| {
                trace.note(*step);
                ctx.request_repaint();
            });
            let registered = registered.map_err(|e| e.to_string())?;
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.take_registered(registered)
            }))
        });
        self.worker.submit(Slot::Search, task.on(Lane::Device));
    }

    fn take_registered(&mut self, registered: Found) {
        let register = &mut self.state.register;
        // A search that was cancelled or reset meanwhile proposes nothing.
        if matches!(register.search, Search::Running(_)) {
            register.search = Search::Ended(Box::new(Proposal {
                pose: registered.pose,
                found: Some(registered),
            }));
        }
    }

    /// The search was cancelled: the best so far waits for an answer.
    pub fn cancelled_search(&mut self) {
        let State {
            register, notices, ..
        } = &mut *self.state;
        if !matches!(register.search, Search::Running(_)) {
            return;
        }
        let how = match register.best() {
            Some(_) => {
                "The best pose so far waits for 'Accept' or 'Reject'; 'Find pose' begins anew."
            }
            None => "There is no pose yet. Press 'Find pose' to go on.",
        };
        notices.add(
            NoticeKind::Info,
            format!("Cancelled: finding the pose. {how}"),
        );
        register.search = match register.best() {
            Some(step) => Search::Ended(Box::new(Proposal {
                pose: step.pose,
                found: None,
            })),
            None => Search::Idle,
        };
    }

    /// Another case comes: what is under way for this one ends.
    pub fn reset_register(&mut self) {
        let xrays = (0..self.state.register.requested).map(Slot::Xray);
        for slot in xrays.chain([Slot::Search]) {
            self.worker.cancel(slot);
        }
        self.state.register.reset();
    }
}
