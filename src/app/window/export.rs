//! An export of the case on show, by the same code as `beamsight export`.

use super::App;
use crate::jobs::{JobAnswer, WindowAnswer};
use crate::state::NoticeKind;
use crate::state::State;
use crate::state::files::Target;
use analysis::Engine;
use dicom::ExportPart;
use dicom::Exported;
use files::{NewFolder, NewFolderError};
use results::{ExportHow, export_case};
use std::path::Path;
use worker::{Lane, Task};

impl App {
    /// Writes the case into a new folder, on the worker; an earlier export there is replaced only after confirmation.
    pub(super) fn export(&mut self, target: Target) {
        let state = &self.state;
        let case = state.export.case_that_leaves(state.case());
        let xrays = state.xrays();
        let options = state.export.options(&case, xrays.as_ref());
        if options.has(ExportPart::Registration) && !state.register.is_free() {
            let text = "The search's pose is not yet accepted: accept or reject it, or export without the registration.";
            self.state.notices.add(NoticeKind::Warning, text);
            return;
        }
        let has_doses = options.has(ExportPart::Dose);
        let has_drrs = options.has(ExportPart::Drr);
        // Their monitor units follow from doses.
        let has_normalised = options.has(ExportPart::Plan)
            && case.plans.iter().any(|plan| plan.normalisation.is_some());
        let plans = state.export.plans_of(state.case());
        let engines: Vec<Engine> = plans
            .map(|index| state.results.engine_of(index).engine())
            .collect();
        let doses = (
            state.export.doses().unwrap_or_default(),
            state.results.settings.clone(),
        );
        let inputs = self.inputs(&target);
        let task = Task::new(target.in_words(), move |control| {
            const REMEDY: &str = "confirm it";
            let folder = match NewFolder::prepare(&target.path, &inputs, target.replaces, REMEDY) {
                Err(NewFolderError::NotEmpty { .. }) => {
                    // A folder with other files is refused rather than asked about.
                    NewFolder::prepare(&target.path, &inputs, true, REMEDY)
                        .map_err(|e| e.to_string())?;
                    return Ok(JobAnswer::Window(WindowAnswer::IsThere(target)));
                }
                prepared => prepared.map_err(|e| e.to_string())?,
            };
            let how = ExportHow {
                doses: doses.0,
                settings: &doses.1,
                engines: &engines,
                xrays: xrays.as_ref(),
            };
            let exported = export_case(folder.path(), &case, &options, how, control, &|_| {});
            let exported = exported.map_err(|e| format!("Nothing is exported: {e}"))?;
            let path = folder.finish().map_err(|e| e.to_string())?;
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.state.tell_exported(&path, exported)
            }))
        });
        let lane = if has_doses || has_drrs || has_normalised {
            Lane::Device
        } else {
            Lane::Host
        };
        self.submit_save(task.on(lane));
    }
}

impl State {
    fn tell_exported(&mut self, folder: &Path, exported: Exported) {
        let text = format!(
            "Exported {} files to {}.",
            exported.files.len(),
            folder.display()
        );
        self.notices.add(NoticeKind::Success, text);
        for remark in exported.remarks {
            self.notices
                .add(NoticeKind::Warning, format!("Export: {remark}."));
        }
    }
}
