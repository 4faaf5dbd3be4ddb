//! Doses, the body and the HU table, read or made for the case.

use crate::analysis::combined;
use crate::app::jobs::{Answer, Requests, open};
use crate::app::state::compare::{Side, Source};
use crate::app::state::slot::Slot;
use crate::app::state::{NoticeKind, Selection};
use crate::case::{Case, Dose, Edit, Remark, Severity, Structure};
use crate::physics::HuTable;
use crate::worker::Task;
use std::path::PathBuf;
use std::sync::Arc;

impl Requests<'_> {
    /// Reads a HU table and applies it.
    pub fn open_hu_table(&mut self, path: PathBuf) {
        let task = Task::new("Reading a HU table", move |_| {
            HuTable::resolve(&path.display().to_string()).map(|table| Answer::HuTable(Arc::new(table)))
        });
        self.worker.submit(Slot::HuTable, task);
    }

    pub fn take_hu_table(&mut self, table: Arc<HuTable>) {
        self.state.results.settings.hu_table = table;
        self.state.hu_draft = None;
    }

    /// Reads a dose from a file into the case, for a side of the comparison if one is named.
    pub fn open_dose(&mut self, path: PathBuf, side: Option<Side>) {
        let task = Task::new(format!("Opening dose {}", path.display()), move |_| {
            open::read_dose(&path).map(|(dose, remarks)| Answer::NewDose { dose, remarks, side })
        });
        self.submit_dose(task);
    }

    /// Makes a dose of the case from A and B.
    pub fn make_dose(&mut self, weights: [f64; 2]) {
        let [a, b] = Side::BOTH.map(|side| self.state.results.side(side).cloned());
        // A dose with weight 0 may be missing: the other dose replaces it.
        let (Some(a), Some(b)) = (a.clone().or_else(|| b.clone()), b.or(a)) else { return };
        let label = made_label(self.state.case(), [&a.label, &b.label], weights);
        let task = Task::new(label.clone(), move |_| {
            let made = combined(&label, &a, &b, weights);
            made.map(|dose| Answer::NewDose { dose: Arc::new(dose), remarks: Vec::new(), side: None })
        });
        self.submit_dose(task);
    }

    /// Submits a job for a new dose. Each has its own slot, so no job replaces another.
    fn submit_dose(&mut self, task: Task<Answer>) {
        self.worker.submit(Slot::NewDose(self.worker.submitted()), task);
    }

    /// Adds a dose to the case, for the named side of the comparison, else for an empty side.
    pub fn take_dose(&mut self, dose: Arc<Dose>, remarks: &[Remark], side: Option<Side>) {
        for remark in remarks.iter().filter(|r| r.severity == Severity::Warning) {
            self.state.notices.add(NoticeKind::Warning, remark.with_files());
        }
        let index = self.state.case().doses.len();
        self.state.edit(Edit::AddDose(dose), None);
        let sides = &mut self.state.compare.sides;
        let free = || [Side::B, Side::A].into_iter().find(|side| sides[side.index()].is_none());
        if let Some(side) = side.or_else(free) {
            sides[side.index()] = Some(Source::Dose(index));
        }
    }

    /// Starts the search for the body in the CT.
    pub fn add_body(&mut self) {
        let Some(ct) = self.state.case().ct.clone() else { return };
        let set = self.state.case().structures.clone();
        let task = Task::new("Body from CT", move |control| {
            let (structure, remark) = open::body(&ct, &set, control)?;
            Ok::<_, String>(Answer::Body(structure, remark))
        });
        self.worker.submit(Slot::Body, task);
    }

    /// Adds the body that the search found.
    pub fn take_body(&mut self, found: Structure, remark: Remark) {
        // Structures may have been added during the search.
        let set = &self.state.case().structures;
        let (number, name) = (self.state.case().free_number(), set.free_name("BODY"));
        let structure = Structure { number, name, ..found };
        self.state.notices.add(NoticeKind::Info, format!("{}: {}.", structure.name, remark.message));
        self.state.edit(Edit::AddStructure(structure), None);
        self.state.selection = Selection::Structure(number);
    }
}

/// Label of a dose combined from others: its formula, and a number if the label is already used.
fn made_label(case: &Case, [a, b]: [&str; 2], [wa, wb]: [f64; 2]) -> String {
    let base = match (wa, wb) {
        (1.0, 0.0) => format!("Copy of {a}"),
        (0.0, 1.0) => format!("Copy of {b}"),
        (1.0, 1.0) => format!("{a} + {b}"),
        (-1.0, 1.0) => format!("{b} - {a}"),
        (1.0, -1.0) => format!("{a} - {b}"),
        _ => format!("{wa} × {a} + {wb} × {b}"),
    };
    let taken = |label: &str| case.doses.iter().any(|d| d.label == label);
    let mut label = base.clone();
    let mut count = 2;
    while taken(&label) {
        label = format!("{base} ({count})");
        count += 1;
    }
    label
}
