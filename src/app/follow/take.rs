//! The worker's reports taken into the state.

use super::Follow;
use super::sum::sum_work;
use super::work::Answer;
use crate::analysis::Dvh;
use crate::app::App;
use crate::app::state::{About, JobEnd, LiveJob, NoticeKind, State};
use crate::case::Receipt;
use crate::engine::card_trouble;
use crate::geometry::VolumeId;
use crate::results::{DvhAnswer, Followed, Node, patient_grid};
use crate::worker::{News, Report, Slot};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

impl App {
    /// Takes the worker's reports over and asks for what is missing now.
    pub(in crate::app) fn follow(&mut self) {
        let reports = self.worker.drain();
        let quiet = reports.is_empty();
        for report in reports {
            self.take(report);
        }
        self.ask();
        if let Some(error) = card_trouble().filter(|_| !quiet) {
            self.state.notices.add_once(NoticeKind::Warning, format!("Computing on the CPU: {error}."));
        }
        let idle = quiet && self.worker.live_jobs() == 0;
        self.idle_frames = if idle { self.idle_frames.saturating_add(1) } else { 0 };
    }

    fn take(&mut self, report: Report<Answer>) {
        let Report { job, slot, name, superseded, news } = report;
        let jobs = &mut self.state.jobs;
        let follow = &mut self.state.follow;
        let dvh_asked = match slot {
            Slot::SideDvh(side) => follow.side_dvh_asked(side, news.is_last()),
            _ => follow.dvh_asked,
        };
        if news.is_last() {
            self.saves = self.saves.saturating_sub(usize::from(matches!(slot, Slot::Save(_))));
            jobs.live.retain(|j| j.id != job);
            if slot == Slot::Dvh {
                self.state.follow.dvh_asked = None;
            }
        }
        match news {
            // A job that made way for a preview starts again.
            News::Started if jobs.live.iter().any(|j| j.id == job) => {}
            News::Started => {
                jobs.live.push(LiveJob { id: job, slot, name, done: 0.0, began: Instant::now() })
            }
            News::Progress(done) => {
                if let Some(live) = self.state.jobs.live.iter_mut().find(|j| j.id == job) {
                    live.done = done;
                }
            }
            News::Partial(answer) => {
                self.note_card_failure(&answer);
                self.accept(answer, dvh_asked);
            }
            News::Done(answer, receipt) => {
                self.note_card_failure(&answer);
                if is_worth_a_line(slot) {
                    self.state.jobs.finish(name, JobEnd::Done(own_receipt(&answer).unwrap_or(receipt)));
                }
                self.accept(answer, dvh_asked);
            }
            News::Failed { message } if !superseded => self.fail(slot, &name, message),
            News::Failed { .. } => {}
            News::Cancelled => {
                if !superseded {
                    self.cancelled(slot);
                }
            }
        }
    }

    /// A card that fails is told of where it is seen, not only in the receipt.
    fn note_card_failure(&mut self, answer: &Answer) {
        let receipt = own_receipt(answer);
        if let Some(why) = receipt.as_ref().and_then(|r| r.card_failure()) {
            let text = format!("A job was {why}.");
            self.state.notices.add_once(NoticeKind::Warning, text);
        }
    }

    /// Takes an answer over, unless it belongs to a case that is no longer on show.
    fn accept(&mut self, answer: Answer, dvh_asked: Option<VolumeId>) {
        let case = self.state.history.case();
        let ct = case.ct.as_ref().map(|ct| ct.hu.id());
        let images = patient_grid(case).map(|(_, id)| id);
        let follow = &mut self.state.follow;
        match answer {
            Answer::Opened(opened) => self.take_case(*opened),
            Answer::Saved(path) => {
                self.state.notices.add(NoticeKind::Info, format!("Saved {}.", path.display()));
            }
            Answer::IsThere(target) => self.ask_to_replace(target),
            Answer::SessionSaved(path, work, of_case) => self.session_saved(path, *work, of_case),
            Answer::Remembered(remembered) => self.take_remembered(*remembered),
            Answer::Recent(words) => self.state.recent = words,
            Answer::Kept => {}
            Answer::Patient(inputs, patient) => {
                if Some(inputs.ct) == ct {
                    follow.patient.have = Some((inputs, patient));
                }
            }
            Answer::Beam { inputs, result, followed, board } => {
                let own = Arc::ptr_eq(&board, &follow.board);
                let node = follow.beams.get_mut(&inputs.beam.number);
                if let Some(wanted) = node.filter(|_| own && Some(inputs.patient.ct) == ct) {
                    wanted.failure = None;
                    wanted.have = Some((*inputs, result));
                }
                if let Some(followed) = followed.filter(|_| own) {
                    self.state.take_followed(*followed);
                }
            }
            Answer::Shown(inputs, result) => {
                follow.on_show.answered(inputs, result);
            }
            Answer::MonteCarlo(inputs, result) => follow.run.take(*inputs, result),
            Answer::Mask { structure, inputs, mask } => {
                if let Some(wanted) = follow.masks.get_mut(&structure).filter(|_| Some(inputs.1) == images) {
                    wanted.have = Some((inputs, mask));
                }
            }
            Answer::Dvhs(answers) => follow.take_own_dvhs(dvh_asked, answers),
            Answer::Side(side, inputs, result) => follow.take_side(side, inputs, result),
            Answer::OtherPlan(plan, inputs, dose) => follow.take_other_plan(plan, *inputs, dose),
            Answer::SideDvhs(side, answers) => follow.take_side_dvhs(side, dvh_asked, answers),
            Answer::GammaEstimate(inputs, estimate) => follow.take_gamma_estimate(inputs, estimate),
            Answer::Gamma(inputs, result) => follow.take_gamma(inputs, result),
            Answer::GammaFigures(inputs, figures) => follow.take_gamma_figures(inputs, figures),
            Answer::NewDose { dose, remarks, side } => self.take_dose(dose, &remarks, side),
            Answer::HuTable(table) => self.take_hu_table(table),
            Answer::Body(structure, remark) => self.take_body(structure, remark),
            Answer::Register(answer) => self.take_register(answer),
        }
    }

    /// A failed job: its slot says whose result is missing now.
    fn fail(&mut self, slot: Slot, name: &Arc<str>, message: String) {
        let follow = &mut self.state.follow;
        match slot {
            Slot::Patient => follow.patient.failed(&message),
            Slot::BeamDose { beam, .. } => {
                if let Some(wanted) = follow.beams.get_mut(&(beam as u32)) {
                    wanted.failed(&message);
                }
            }
            Slot::Shown => follow.on_show.failed(&message),
            Slot::MonteCarlo => follow.run.wanted.failed(&message),
            Slot::Mask(number) => {
                if let Some(wanted) = follow.masks.get_mut(&(number as u32)) {
                    wanted.have = None;
                    wanted.failed(&message);
                }
                return;
            }
            Slot::Save(_) => self.save_ended(),
            // Said once, not each minute.
            Slot::Autosave => {
                let text = format!("Unsaved work is not kept against a crash: {message}.");
                self.state.notices.add_once(NoticeKind::Warning, text);
                return;
            }
            // Its panel says why.
            Slot::Gamma | Slot::GammaFigures => {
                follow.gamma_failed(slot, &message);
                return;
            }
            Slot::Xray(_) | Slot::Attenuation | Slot::MetricEvaluator | Slot::MetricValue | Slot::Search => {
                if !self.fail_register(slot, &message) {
                    return;
                }
            }
            other => follow.side_failed(other, &message),
        }
        let about = if matches!(slot, Slot::Xray(_)) { About::XrayRefused } else { About::Other };
        self.state.notices.add_about(about, NoticeKind::Error, message.clone());
        self.state.jobs.finish(name.clone(), JobEnd::Failed(message));
    }

    /// Cancelled by the user: what there is stays, and is asked for again with the next change.
    fn cancelled(&mut self, slot: Slot) {
        if slot == Slot::Shown {
            self.state.follow.on_show.asked = None;
        }
        self.cancelled_register(slot);
    }
}

impl State {
    /// Takes over what the job that has made a beam's dose has made of it, where it is what the doses at hand still give.
    fn take_followed(&mut self, followed: Followed) {
        let now = sum_work(self, self.follow.shown);
        if now.is_none_or(|work| work.inputs != followed.inputs) {
            return;
        }
        let (of, sum) = (followed.of(), &mut self.follow.on_show);
        sum.now = Some(followed.inputs.clone());
        sum.asked = Some(followed.inputs.clone());
        sum.answered(followed.inputs, followed.result);
        self.follow.take_own_dvhs(Some(of), followed.dvhs);
    }
}

impl Follow {
    fn take_own_dvhs(&mut self, of: Option<VolumeId>, answers: Vec<DvhAnswer>) {
        for answer in answers.iter().filter(|a| Some(a.inputs.1) == of) {
            match answer.run {
                Some(run) => self.uncertainties.insert(answer.structure, run),
                None => self.uncertainties.remove(&answer.structure),
            };
        }
        take_dvhs(&mut self.dvhs, of, answers);
    }
}

/// Takes the DVHs over that are of the dose asked for.
pub(super) fn take_dvhs(
    known: &mut BTreeMap<u32, Node<(u64, VolumeId), Arc<Dvh>>>,
    of: Option<VolumeId>,
    answers: Vec<DvhAnswer>,
) {
    for answer in answers.into_iter().filter(|a| Some(a.inputs.1) == of) {
        let Some(wanted) = known.get_mut(&answer.structure) else { continue };
        match answer.dvh {
            Ok(dvh) => wanted.have = Some((answer.inputs, dvh)),
            Err(why) => {
                wanted.have = None;
                wanted.failure = Some((answer.inputs, why));
            }
        }
    }
}

/// Masks, sums and DVHs come by the dozen: they are listed only while they run, and when they fail.
pub(in crate::app) fn is_worth_a_line(slot: Slot) -> bool {
    !matches!(
        slot,
        Slot::Mask(_)
            | Slot::Masks
            | Slot::Shown
            | Slot::Dvh
            | Slot::Side(_)
            | Slot::SideDvh(_)
            | Slot::GammaFigures
            | Slot::MetricEvaluator
            | Slot::MetricValue
            | Slot::Autosave
            | Slot::Memory
            | Slot::Recent
    )
}

/// A dose's own receipt says more than the worker's.
fn own_receipt(answer: &Answer) -> Option<Arc<Receipt>> {
    match answer {
        Answer::Beam { result, .. } => result.dose.receipt.clone(),
        Answer::MonteCarlo(_, result) => result.dose.receipt.clone(),
        Answer::Gamma(_, result) => Some(result.receipt.clone()),
        _ => None,
    }
}
