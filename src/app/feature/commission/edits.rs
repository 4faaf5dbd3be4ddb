//! A machine fitted to measured data: asked of the worker, received, used for a plan.

use crate::feature::commission::state::{Answered, MachineFitAction, Outcome, Running};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, State};
use analysis::machine_fit::FittedMachine;
use analysis::machine_fit::{FitContext, FitJob, compare_files};
use case::{Edit, Plan};
use physics::MachineContents;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use worker::{Lane, Task};

/// A beam of another nominal energy keeps its machine, MV.
const SAME_ENERGY_MV: f64 = 0.5;

impl Requests<'_> {
    pub fn machine_fit(&mut self, action: MachineFitAction) {
        let fit = &mut self.state.machine_fit;
        match action {
            MachineFitAction::Open(open) => fit.is_open = open,
            MachineFitAction::Choose(chosen) => fit.chosen = *chosen,
            MachineFitAction::Add(what, path) => fit.add(what, path),
            MachineFitAction::Run { fits } => self.run_machine_fit(fits),
            MachineFitAction::Use => self.state.use_fitted_machine(),
        }
    }

    fn run_machine_fit(&mut self, fits: bool) {
        let device = self.state.results.settings.device;
        let fit = &mut self.state.machine_fit;
        if fit.running.is_some() {
            return;
        }
        let from = fit.chosen.clone();
        fit.failure = None;
        fit.running = Some(Running {
            fits,
            stage: String::new(),
        });
        let name = format!(
            "{} {}",
            if fits { "Fitting" } else { "Comparing" },
            from.machine
        );
        let task = Task::refining(name, move |control, partial| {
            let partial = RefCell::new(partial);
            let device = device.resolve().map_err(|e| e.to_string())?;
            let context = FitContext {
                device: &device,
                control,
                tell: &|line| {
                    let stage = line.trim().to_owned();
                    partial.borrow_mut()(JobAnswer::then(move |window| {
                        window.state.machine_fit.begin_stage(stage)
                    }));
                },
            };
            let (machine, files, settings) =
                (from.machine.clone(), from.files.clone(), from.settings);
            let outcome = if fits {
                let job = FitJob {
                    start: machine,
                    files,
                    fixed: from.fixed.clone(),
                    settings,
                };
                job.run(&context)
                    .map(|fitted| Outcome::Fitted(Arc::new(fitted)))
            } else {
                let compared = compare_files(&machine, &files, &settings.last, &context);
                compared.map(|compared| Outcome::Compared(Arc::new(compared)))
            };
            let outcome = outcome.map_err(|e| e.to_string())?;
            let answered = Answered {
                from,
                outcome,
                saved: None,
            };
            Ok::<_, String>(JobAnswer::then(move |window| {
                let fit = &mut window.state.machine_fit;
                fit.running = None;
                fit.answer = Some(answered);
            }))
        });
        self.worker.submit(Slot::MachineFit, task.on(Lane::Device));
    }
}

impl State {
    /// Takes the present state of the machine files, and says which have changed.
    pub fn tell_changed_machines(&mut self, contents: Vec<(String, MachineContents)>) {
        for name in self.take_machine_contents(contents) {
            let text = format!(
                "The machine file {name} has changed: doses are computed with it as it is now."
            );
            self.notices.add(NoticeKind::Warning, text);
        }
    }

    /// The file of a fitted machine is written: the fit on show is saved, if it is this one.
    pub fn take_saved_machine(&mut self, path: PathBuf, fitted: &Arc<FittedMachine>) {
        let text = format!("Saved {}.", path.display());
        let answer = self.machine_fit.answer.as_mut().filter(|answer| {
            answer
                .outcome
                .fitted()
                .is_some_and(|on_show| Arc::ptr_eq(on_show, fitted))
        });
        if let Some(answer) = answer {
            answer.saved = Some(path);
        }
        self.notices.add(NoticeKind::Success, text);
        self.look_at_machines_again();
    }

    /// Gives the displayed plan the machine that was fitted and saved, as one step.
    fn use_fitted_machine(&mut self) {
        let Some(answer) = &self.machine_fit.answer else {
            return;
        };
        let (Some(path), Some(fitted)) = (&answer.saved, answer.outcome.fitted()) else {
            return;
        };
        let Some(machine) = path.to_str().map(str::to_owned) else {
            let text = format!(
                "The name of {} is not UTF-8, and a plan names its machine: save it under another.",
                path.display()
            );
            self.notices.add(NoticeKind::Error, text);
            return;
        };
        let Some(plan) = self.plan() else { return };
        let (value, kept) = with_machine(plan, &machine, fitted.fit.machine.nominal_mv);
        let text = match kept {
            0 => format!("{} is computed with {machine}.", plan.name),
            n => format!(
                "{} is computed with {machine}, but for {n} beams of another energy.",
                plan.name
            ),
        };
        self.edit(
            Edit::SetPlan {
                plan: self.plan,
                value,
            },
            None,
        );
        self.notices.add(NoticeKind::Info, text);
    }
}

/// A plan with a machine for all beams of its energy, and how many keep theirs.
fn with_machine(plan: &Plan, machine: &str, nominal_mv: f64) -> (Plan, usize) {
    let mut value = plan.clone();
    let mut kept = 0;
    for beam in &mut value.beams {
        let is_other = beam
            .energy_mv
            .is_some_and(|mv| (mv - nominal_mv).abs() > SAME_ENERGY_MV);
        // A beam that is not computed is exported as it was read.
        let is_computed = beam.read_only.is_none() && !beam.setup;
        let keeps = is_other || !is_computed;
        beam.machine = keeps.then(|| plan.machine_of(beam).to_owned());
        kept += usize::from(is_other && is_computed);
    }
    value.machine = machine.to_owned();
    (value, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Beam, Jaws};
    use glam::DVec3;

    #[test]
    fn beams_of_another_energy_keep_their_machine() {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = [
            (Some(6.0), None),
            (None, Some("generic-10mv")),
            (Some(15.0), Some("generic-15mv")),
            (Some(10.0), None),
        ]
        .map(|(energy_mv, machine)| Beam {
            energy_mv,
            machine: machine.map(str::to_owned),
            ..Beam::fixed("B", 1, 0.0, DVec3::ZERO, Jaws::symmetric(50.0, 50.0), 1.0)
        })
        .to_vec();
        let (plan, kept) = with_machine(&plan, "my.toml", 6.0);
        let machines: Vec<&str> = plan.beams.iter().map(|b| plan.machine_of(b)).collect();
        assert_eq!(
            (machines, kept),
            (vec!["my.toml", "my.toml", "generic-15mv", "generic-6mv"], 2)
        );
    }
}
