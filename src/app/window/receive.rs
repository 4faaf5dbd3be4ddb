//! The worker's reports, received into the state.

use super::App;
use crate::feature::register::state::Search;
use crate::jobs::{JobAnswer, WindowAnswer};
use crate::state::slot::Slot;
use crate::state::{About, JobEnd, LiveJob, NoticeKind};
use case::Receipt;
use engine::card_failure;
use results::{Delivery, MetricAtPose};
use std::sync::Arc;
use std::time::Instant;
use worker::{JobEvent, Report};

impl App {
    /// Receives the worker's reports.
    pub(super) fn receive(&mut self) {
        let reports = self.worker.drain();
        let quiet = reports.is_empty();
        for report in reports {
            self.take(report);
        }
        if let Some(error) = card_failure().filter(|_| !quiet) {
            self.state.notices.add_once(
                NoticeKind::Warning,
                format!("Computing on the CPU: {error}."),
            );
        }
        let submitted = self.worker.submitted();
        let idle = quiet && self.worker.live_jobs() == 0 && submitted == self.jobs_seen;
        self.jobs_seen = submitted;
        self.idle_frames = if idle {
            self.idle_frames.saturating_add(1)
        } else {
            0
        };
    }

    /// Ends the time of successes, which does not run behind a question, and removes the offer to compute what is computed.
    pub(super) fn fade_notices(&mut self, ctx: &egui::Context) {
        if !self.state.results.is_any_cancelled() {
            self.state
                .notices
                .retain(|about| *about != About::CancelledResult);
        }
        if ctx.memory(|m| m.top_modal_layer().is_some()) {
            return;
        }
        if let Some(left) = self.state.notices.fade(self.memory.now()) {
            ctx.request_repaint_after(left);
        }
    }

    fn take(&mut self, report: Report<Slot, JobAnswer>) {
        let Report {
            job,
            slot,
            name,
            superseded,
            event,
        } = report;
        if event.is_last() {
            self.saves = self
                .saves
                .saturating_sub(usize::from(matches!(slot, Slot::Save(_))));
            if slot == Slot::SecondCheck && !superseded {
                self.state.second_check.running = None;
            }
            let live = &mut self.state.jobs.live;
            let ended = live
                .iter()
                .position(|j| j.id == job)
                .map(|index| live.remove(index));
            if matches!(event, JobEvent::Cancelled) && ended.is_some_and(|job| job.is_cancelled) {
                self.tell_cancelled(slot, &name);
            }
        }
        let jobs = &mut self.state.jobs;
        match event {
            // A job preempted by a preview starts again.
            JobEvent::Started if jobs.live.iter().any(|j| j.id == job) => {}
            JobEvent::Started => {
                let began = Instant::now();
                jobs.live.push(LiveJob {
                    id: job,
                    slot,
                    name,
                    done: None,
                    began,
                    is_cancelled: false,
                });
            }
            JobEvent::Progress(done) => {
                if let Some(live) = self.state.jobs.live.iter_mut().find(|j| j.id == job) {
                    live.done = Some(done);
                }
            }
            JobEvent::Partial(JobAnswer::Result(delivery)) => {
                self.state.results.nodes.receive(delivery)
            }
            JobEvent::Partial(answer) => self.accept(answer),
            JobEvent::Done(JobAnswer::Result(delivery), receipt) => {
                self.take_result(delivery, slot, name, receipt, superseded);
            }
            JobEvent::Done(answer, receipt) => {
                if slot.is_listed() {
                    self.state.jobs.finish(name, JobEnd::Done(receipt));
                }
                self.accept(answer);
            }
            JobEvent::Failed { message } if !superseded => self.fail(slot, &name, message),
            JobEvent::Failed { .. } => {}
            JobEvent::Cancelled => match slot {
                Slot::Search if !superseded => self.requests().cancelled_search(),
                Slot::MachineFit => self.state.machine_fit.end(None),
                _ => {}
            },
        }
    }

    /// Says that work was cancelled by the user, and how to go on.
    fn tell_cancelled(&mut self, slot: Slot, name: &str) {
        let Some(how) = slot.after_cancel() else {
            return;
        };
        let about = if matches!(slot, Slot::Result(_)) {
            About::CancelledResult
        } else {
            About::Case
        };
        self.state
            .notices
            .add_about(about, NoticeKind::Info, format!("Cancelled: {name}. {how}"));
    }

    /// Receives a result of the case, and reports a failure of its job.
    fn take_result(
        &mut self,
        mut delivery: Delivery,
        slot: Slot,
        name: Arc<str>,
        receipt: Arc<Receipt>,
        superseded: bool,
    ) {
        let card_receipt = delivery.receipt.take();
        if let Some(why) = card_receipt.as_ref().and_then(|r| r.card_failure()) {
            // A failure of the CUDA device is shown as a notice, not only in the receipt.
            let text = format!("A job was {why}.");
            self.state.notices.add_once(NoticeKind::Warning, text);
        }
        match delivery.failure.take() {
            Some((why, true)) if !superseded => {
                self.state.notices.add_once(NoticeKind::Error, why.clone());
                // The preview fails likewise: only the full job is listed.
                if delivery.place.is_full() {
                    self.state.jobs.finish(name, JobEnd::Failed(why));
                }
            }
            Some(_) => {}
            None if slot.is_listed() && !delivery.is_step => self
                .state
                .jobs
                .finish(name, JobEnd::Done(card_receipt.unwrap_or(receipt))),
            None => {}
        }
        let is_metric = delivery.place.is::<MetricAtPose>();
        self.state.results.nodes.receive(delivery);
        if is_metric {
            self.state.note_metric();
        }
    }

    fn accept(&mut self, answer: JobAnswer) {
        match answer {
            JobAnswer::Result(delivery) => self.state.results.nodes.receive(delivery),
            JobAnswer::Then(completion) => completion(&mut self.requests()),
            JobAnswer::Window(WindowAnswer::Opened(opened)) => self.take_case(*opened),
            JobAnswer::Window(WindowAnswer::Saved(path))
                if self.start.writes_report.as_ref() == Some(&path) => {}
            JobAnswer::Window(WindowAnswer::Saved(path)) => {
                self.state
                    .notices
                    .add(NoticeKind::Success, format!("Saved {}.", path.display()));
            }
            JobAnswer::Window(WindowAnswer::IsThere(target)) => self.ask_to_replace(target),
            JobAnswer::Window(WindowAnswer::SessionSaved {
                path,
                work,
                case,
                without_doses,
            }) => {
                self.session_saved(path, *work, case, without_doses);
            }
            JobAnswer::Window(WindowAnswer::Remembered(remembered)) => {
                self.take_remembered(*remembered)
            }
            JobAnswer::Window(WindowAnswer::Recoverable(found)) => self.take_recoverable(found),
        }
    }

    /// Handles a failed job; its slot identifies the missing result.
    fn fail(&mut self, slot: Slot, name: &Arc<str>, message: String) {
        match slot {
            Slot::Save(_) => self.save_ended(),
            // Reported once, not each minute.
            Slot::Autosave => {
                let text = format!("Unsaved work is not kept against a crash: {message}.");
                self.state.notices.add_once(NoticeKind::Warning, text);
                return;
            }
            Slot::Search => self.state.register.search = Search::Idle,
            Slot::MachineFit => self.state.machine_fit.end(Some(message.clone())),
            _ => {}
        }
        let about = match slot {
            Slot::Xray(_) => About::XrayRefused,
            Slot::Memory | Slot::Recent => About::Window,
            _ => About::Case,
        };
        self.state
            .notices
            .add_about(about, NoticeKind::Error, message.clone());
        self.state
            .jobs
            .finish(name.clone(), JobEnd::Failed(message));
    }
}
