//! Structures computed on the worker, and structures of templates.

pub mod couch;

use crate::feature::structures::state::{ContouringAction, Destination};
use crate::jobs::{JobAnswer, Requests};
use crate::state::slot::Slot;
use crate::state::{NoticeKind, Selection, State, roi};
use analysis::contouring::{ContouringError, MadeContours, made_of};
use case::{Case, DensityOverride, Edit, Medium, Structure, StructureKind};
use files::StructureTemplate;
use std::path::PathBuf;
use worker::Task;

/// Contours that were calculated, and of what.
struct Contoured {
    action: ContouringAction,
    /// Numbers and contours of the structures they are made of.
    sources: Vec<(u32, Option<u64>)>,
    /// The contours of each structure, by ROI number.
    calculated: Vec<(u32, MadeContours)>,
}

impl Requests<'_> {
    /// Calculates contours; a calculation under way is cancelled.
    pub fn contouring(&mut self, action: ContouringAction) {
        let case = self.state.case();
        let Some(ct) = case.ct.clone() else { return };
        let set = case.structures.clone();
        let sources = sources(case, &action);
        let source = set
            .by_number(action.structure)
            .map_or("", |s| s.name.as_str());
        let name = match changed(&action).len() {
            1 => format!("{} of {source}", action.operation.name()),
            count => format!("{} of {count} structures", action.operation.name()),
        };
        let task = Task::new(name, move |control| {
            let mut calculated = Vec::new();
            let mut refused: Option<ContouringError> = None;
            for number in changed(&action) {
                match made_of(&ct, &set, number, action.operation, control) {
                    Ok(contours) => calculated.push((number, contours)),
                    Err(why) if why == ContouringError::Cancelled => return Err(why.to_string()),
                    Err(why) => _ = refused.get_or_insert(why),
                }
            }
            match refused {
                Some(why) if calculated.is_empty() => {
                    Err(format!("{}: {why}", action.operation.name()))
                }
                _ => {
                    let contoured = Contoured {
                        action,
                        sources,
                        calculated,
                    };
                    Ok::<_, String>(JobAnswer::then(move |window| {
                        window.take_contoured(contoured)
                    }))
                }
            }
        });
        self.worker.submit(Slot::Contouring, task);
    }

    /// Applies what was calculated as one step, if it is made of the structures as they are.
    fn take_contoured(&mut self, contoured: Contoured) {
        let Contoured {
            action,
            sources: made_of,
            calculated,
        } = contoured;
        let state = &mut *self.state;
        let case = state.history.case();
        let what = action.operation.name();
        if case.structures.by_number(action.structure).is_none()
            || sources(case, &action) != made_of
        {
            let text = format!(
                "{what}: a structure it is made of changed meanwhile, so the result is not used. Do it again."
            );
            state.notices.add(NoticeKind::Warning, text);
            return;
        }
        let (names, selected, edit) = match action.into {
            Destination::Itself | Destination::Each(_) => {
                let (names, mut changed) = changed_structures(case, &calculated);
                let edit = match changed.len() {
                    1 => changed
                        .pop()
                        .map(|(index, value)| Edit::SetStructure { index, value }),
                    _ => Some(Edit::SetStructures(what, changed)),
                };
                (names, action.structure, edit)
            }
            Destination::New { name, kind } => {
                let mut value = roi::new_structure(case, &name, kind);
                value.contours = calculated
                    .first()
                    .map(|(_, calculated)| calculated.contours.clone())
                    .unwrap_or_default();
                // A bolus without a density takes no part in dose.
                value.density =
                    (kind == StructureKind::Bolus).then(|| DensityOverride::preset(Medium::Water));
                (
                    vec![value.name.clone()],
                    value.number,
                    Some(Edit::AddStructure(value)),
                )
            }
        };
        for (name, (_, calculated)) in names.iter().zip(&calculated) {
            let done = calculated
                .done
                .iter()
                .map(|text| (NoticeKind::Success, text));
            for (kind, text) in done.chain(
                calculated
                    .remarks
                    .iter()
                    .map(|text| (NoticeKind::Warning, text)),
            ) {
                state.notices.add(kind, format!("{name}: {text}."));
            }
        }
        if let Some(edit) = edit {
            state.edit(edit, None);
        }
        state.selection = Selection::Structure(selected);
    }

    /// Reads a template of structures and adds those that the case has not.
    pub fn open_structures(&mut self, path: PathBuf) {
        let task = Task::new("Reading a template of structures", move |_| {
            let read = StructureTemplate::read(&path);
            read.map(|t| JobAnswer::then(move |window| window.state.add_structures(&t)))
                .map_err(|e| e.to_string())
        });
        self.worker.submit(Slot::Contouring, task);
    }
}

impl State {
    /// Adds the structures of a template that the case has not, without contours, as one step.
    pub fn add_structures(&mut self, template: &StructureTemplate) {
        let case = self.case();
        let missing = template.missing_in(&case.structures, case.free_number());
        let existing = template.structures.len() - missing.len();
        let text = match (missing.len(), existing) {
            (0, _) => format!("{}: all its structures are there already.", template.name),
            (added, 0) => format!("{}: {added} structures added, to be drawn.", template.name),
            (added, existing) => {
                format!(
                    "{}: {added} structures added, to be drawn; {existing} were there.",
                    template.name
                )
            }
        };
        if !missing.is_empty() {
            self.edit(
                Edit::AddStructures("structures of a template", missing),
                None,
            );
        }
        self.notices.add(NoticeKind::Success, text);
    }
}

/// Structures that an action changes or, where it makes a new one, works on.
fn changed(action: &ContouringAction) -> Vec<u32> {
    let others = match &action.into {
        Destination::Each(others) => others.as_slice(),
        Destination::Itself | Destination::New { .. } => &[],
    };
    let others = others
        .iter()
        .copied()
        .filter(|number| *number != action.structure);
    std::iter::once(action.structure).chain(others).collect()
}

/// Names of the structures with new contours, and the structures with their places in the set.
fn changed_structures(
    case: &Case,
    calculated: &[(u32, MadeContours)],
) -> (Vec<String>, Vec<(usize, Structure)>) {
    let structures = &case.structures.structures;
    let changed = calculated.iter().filter_map(|(number, contours)| {
        let index = structures.iter().position(|s| s.number == *number)?;
        let value = Structure {
            contours: contours.contours.clone(),
            ..structures[index].clone()
        };
        Some((value.name.clone(), (index, value)))
    });
    changed.unzip()
}

/// Numbers and contours of the structures that an action works with.
fn sources(case: &Case, action: &ContouringAction) -> Vec<(u32, Option<u64>)> {
    let numbers = changed(action)
        .into_iter()
        .chain(action.operation.others(&case.structures));
    numbers
        .map(|n| (n, case.structures.by_number(n).map(|s| s.contours.id())))
        .collect()
}
