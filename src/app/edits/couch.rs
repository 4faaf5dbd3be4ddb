//! A couch below the body.

use crate::analysis::{Couch, body_of, couch_densities};
use crate::app::state::{NoticeKind, Selection, State, roi};
use crate::case::{Case, DensityOverride, Edit, Structure, StructureKind};
use std::sync::Arc;

impl State {
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
                self.notices.add(NoticeKind::Error, format!("No couch is added: {why}."));
                return;
            }
        };
        let [shell_density, core_density] = couch_densities();
        let part = |case: &Case, name: &str, contours, density: DensityOverride| Structure {
            contours,
            density: Some(density),
            ..roi::new_structure(case, name, StructureKind::Support)
        };
        let shell = part(case, "Couch shell", couch.shell, shell_density);
        let mut with_shell = case.clone();
        Arc::make_mut(&mut with_shell.structures).structures.push(shell.clone());
        let core = part(&with_shell, "Couch core", couch.core, core_density);
        let number = shell.number;
        self.edit(Edit::AddStructures("couch", vec![shell, core]), None);
        self.selection = Selection::Structure(number);
        for remark in couch.remarks {
            self.notices.add(NoticeKind::Warning, format!("Couch: {remark}."));
        }
    }
}
