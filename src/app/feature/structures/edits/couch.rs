//! The couch: one below the body, and the one in the CT.

use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, Selection, State, roi};
use analysis::{Couch, body_of, couch_densities, couch_from_ct};
use case::{Contours, Density, DensityOverride, Edit, Structure, StructureKind};
use std::sync::Arc;
use worker::Task;

impl Requests<'_> {
    /// Starts the search for what the CT shows outside the body.
    pub fn couch_from_ct(&mut self, density: DensityOverride) {
        let Some(ct) = self.state.case().ct.clone() else {
            return;
        };
        let (set, body) = (
            self.state.case().structures.clone(),
            self.state.results.settings.body,
        );
        let task = Task::new("Finding the couch in the CT", move |control| {
            let couch = couch_from_ct(&ct, &set, body, control);
            let (contours, cm3) = couch.map_err(|e| format!("Couch from CT: {e}"))?;
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.state.take_couch(contours, cm3, density)
            }))
        });
        self.worker.submit(Slot::Body, task);
    }
}

impl State {
    /// Adds the couch found in the CT, with the requested density.
    fn take_couch(&mut self, contours: Contours, cm3: f64, density: DensityOverride) {
        let empty = roi::new_structure(self.case(), "CT couch", StructureKind::Support);
        let structure = Structure {
            contours,
            density: Some(density),
            ..empty
        };
        let how = match density.density {
            Density::AsScanned => {
                "count as scanned; if they are not there at treatment, give them the density of air"
                    .to_owned()
            }
            density => format!("count with {density}"),
        };
        let text = format!("{}: {cm3:.0} cm³ outside the body {how}.", structure.name);
        self.notices.add(NoticeKind::Info, text);
        self.selection = Selection::Structure(structure.number);
        self.edit(Edit::AddStructure(structure), None);
    }

    /// Adds shell and core of a couch as one step, its top this far below the body, mm.
    pub fn add_couch(&mut self, below_mm: f64) {
        let case = self.case();
        let Some(ct) = &case.ct else { return };
        let Some(body) = body_of(&case.structures) else {
            let text = "A couch stands below the drawn body, and there is none: New, Body from CT makes one.";
            self.notices.add(NoticeKind::Warning, text);
            return;
        };
        let couch = match Couch::below(ct, body, below_mm) {
            Ok(couch) => couch,
            Err(why) => {
                self.notices
                    .add(NoticeKind::Error, format!("No couch is added: {why}."));
                return;
            }
        };
        let [shell_density, core_density] = couch_densities();
        let shell = Structure {
            contours: couch.shell,
            density: Some(shell_density),
            ..roi::new_structure(case, "Couch shell", StructureKind::Support)
        };
        // Number and name of the core must be free once the shell is there.
        let mut with_shell = case.clone();
        Arc::make_mut(&mut with_shell.structures)
            .structures
            .push(shell.clone());
        let core = Structure {
            contours: couch.core,
            density: Some(core_density),
            ..roi::new_structure(&with_shell, "Couch core", StructureKind::Support)
        };
        let number = shell.number;
        self.edit(Edit::AddStructures("couch", vec![shell, core]), None);
        self.selection = Selection::Structure(number);
        for remark in couch.remarks {
            self.notices
                .add(NoticeKind::Warning, format!("Couch: {remark}."));
        }
    }
}
