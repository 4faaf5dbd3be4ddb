//! Structures made or changed by calculation, on the worker.

use crate::jobs::{Answer, Contoured, Requests};
use crate::state::contouring::{ContouringAction, Destination};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, Selection, roi};
use analysis::contouring::made_of;
use case::{Case, DensityOverride, Edit, Medium, Structure, StructureKind};
use worker::Task;

impl Requests<'_> {
    /// Calculates contours; a calculation under way is cancelled.
    pub fn contouring(&mut self, action: ContouringAction) {
        let case = self.state.case();
        let Some(ct) = case.ct.clone() else { return };
        let set = case.structures.clone();
        let sources = sources(case, &action);
        let of = set.by_number(action.structure).map_or("", |s| s.name.as_str());
        let name = format!("{} of {of}", action.operation.name());
        let task = Task::new(name, move |control| {
            let made = made_of(&ct, &set, action.structure, action.operation, control);
            let made = made.map_err(|e| format!("{}: {e}", action.operation.name()))?;
            Ok::<_, String>(Answer::Contoured(Box::new(Contoured { action, sources, made })))
        });
        self.worker.submit(Slot::Contouring, task);
    }

    /// Applies what was calculated as one step, if it is made of the structures as they are.
    pub fn take_contoured(&mut self, contoured: Contoured) {
        let Contoured { action, sources: made_of, made } = contoured;
        let state = &mut *self.state;
        let case = state.history.case();
        let what = action.operation.name();
        let index = case.structures.structures.iter().position(|s| s.number == action.structure);
        let Some(index) = index.filter(|_| sources(case, &action) == made_of) else {
            let text = format!(
                "{what}: a structure it is made of changed meanwhile, so the result is not used. Do it again."
            );
            state.notices.add(NoticeKind::Warning, text);
            return;
        };
        let source = &case.structures.structures[index];
        let (name, number, edit) = match action.into {
            Destination::Itself => {
                let value = Structure { contours: made.contours, ..source.clone() };
                (value.name.clone(), value.number, Edit::SetStructure { index, value })
            }
            Destination::New { name, kind } => {
                let mut value = roi::new_structure(case, &name, kind);
                value.contours = made.contours;
                value.density =
                    (kind == StructureKind::Bolus).then(|| DensityOverride::preset(Medium::Water));
                (value.name.clone(), value.number, Edit::AddStructure(value))
            }
        };
        for remark in made.remarks {
            state.notices.add(NoticeKind::Warning, format!("{name}: {remark}."));
        }
        state.edit(edit, None);
        state.selection = Selection::Structure(number);
    }
}

/// Numbers and contours of the structures that an action works with.
fn sources(case: &Case, action: &ContouringAction) -> Vec<(u32, Option<u64>)> {
    let numbers = [Some(action.structure), action.operation.other()].into_iter().flatten();
    numbers.map(|n| (n, case.structures.by_number(n).map(|s| s.contours.id()))).collect()
}
