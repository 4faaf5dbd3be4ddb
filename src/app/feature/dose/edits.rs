//! Doses, the body and the HU table, read or made for the case.

use crate::feature::compare::state::Source;
use crate::feature::open;
use crate::feature::open::state::StrangeDose;
use crate::jobs::{JobAnswer, Requests};
use crate::state::files::file_name;
use crate::state::slot::Slot;
use crate::state::{NoticeKind, Selection};
use ::open::{DoseFile, NotOfCase, read_dose};
use analysis::{Side, combined};
use case::{Case, Dose, Edit, Remark, Severity, Structure};
use physics::HuTable;
use std::path::PathBuf;
use std::sync::Arc;
use worker::Task;

impl Requests<'_> {
    /// Reads a HU table and applies it.
    pub fn open_hu_table(&mut self, path: PathBuf) {
        let task = Task::new("Reading a HU table", move |_| {
            HuTable::resolve(&path.display().to_string())
                .map(|table| JobAnswer::then(move |window| window.take_hu_table(Arc::new(table))))
        });
        self.worker.submit(Slot::HuTable, task);
    }

    fn take_hu_table(&mut self, table: Arc<HuTable>) {
        self.state.results.settings.hu_table = table;
        self.state.hu_draft = None;
    }

    /// Reads a dose from a file into the case, for a side of the comparison if one is named.
    pub fn open_dose(&mut self, path: PathBuf, side: Option<Side>) {
        let task = Task::new(format!("Opening dose {}", file_name(&path)), move |_| {
            read_dose(&path)
                .map(|file| JobAnswer::then(move |window| window.take_dose_file(file, side)))
        });
        self.submit_dose(task);
    }

    /// Makes a dose of the case from A and B.
    pub fn make_dose(&mut self, weights: [f64; 2]) {
        let [a, b] = Side::BOTH.map(|side| self.state.results.side(side).cloned());
        // A dose with weight 0 may be missing: the other dose replaces it.
        let (Some(a), Some(b)) = (a.clone().or_else(|| b.clone()), b.or(a)) else {
            return;
        };
        let label = made_label(self.state.case(), [&a.label, &b.label], weights);
        let task = Task::new(format!("Making the dose {label}"), move |_| {
            let dose = combined(&label, &a, &b, weights);
            dose.map(|dose| JobAnswer::then(move |window| window.take_dose(Arc::new(dose), None)))
        });
        self.submit_dose(task);
    }

    /// Submits a job for a new dose. Each has its own slot, so no job replaces another.
    fn submit_dose(&mut self, task: Task<JobAnswer>) {
        self.worker
            .submit(Slot::NewDose(self.worker.submitted()), task);
    }

    /// Adds a dose of a file that belongs to the case; of another patient's the user is asked first.
    fn take_dose_file(&mut self, mut file: DoseFile, side: Option<Side>) {
        match file.check(self.state.case()) {
            Ok(()) => self.add_dose_file(file, side),
            Err(why @ NotOfCase::Frame { .. }) => {
                self.state
                    .notices
                    .add(NoticeKind::Error, format!("Not opened: {why}."));
            }
            Err(why) => self.state.strange_doses.push(StrangeDose {
                file,
                side,
                why: why.to_string(),
            }),
        }
    }

    /// Opens a dose of another patient if the user accepts it, else drops it.
    pub fn answer_strange_dose(&mut self, accepted: bool) {
        if self.state.strange_doses.is_empty() {
            return;
        }
        let StrangeDose { mut file, side, .. } = self.state.strange_doses.remove(0);
        if accepted {
            file.accept();
            self.add_dose_file(file, side);
        }
    }

    fn add_dose_file(&mut self, file: DoseFile, side: Option<Side>) {
        for remark in file
            .remarks
            .iter()
            .filter(|r| r.severity == Severity::Warning)
        {
            self.state
                .notices
                .add(NoticeKind::Warning, remark.with_files());
        }
        self.take_dose(Arc::new(file.dose), side);
    }

    /// Adds a dose to the case, for the named side of the comparison, else for an empty side.
    pub fn take_dose(&mut self, dose: Arc<Dose>, side: Option<Side>) {
        let index = self.state.case().doses.len();
        self.state.edit(Edit::AddDose(dose), None);
        let sides = &mut self.state.compare.sides;
        let side = side.or_else(|| {
            [Side::B, Side::A]
                .into_iter()
                .find(|side| sides[side.index()].is_none())
        });
        if let Some(side) = side {
            sides[side.index()] = Some(Source::Dose(index));
        }
    }

    /// Starts the search for the body in the CT.
    pub fn add_body(&mut self) {
        let Some(ct) = self.state.case().ct.clone() else {
            return;
        };
        let set = self.state.case().structures.clone();
        let task = Task::new("Finding the body in the CT", move |control| {
            let (structure, remark) = open::jobs::body(&ct, &set, control)?;
            Ok::<_, String>(JobAnswer::then(move |window| {
                window.take_body(structure, &remark)
            }))
        });
        self.worker.submit(Slot::Body, task);
    }

    /// Adds the body that the search found.
    fn take_body(&mut self, body: Structure, remark: &Remark) {
        // Structures may have been added during the search.
        let set = &self.state.case().structures;
        let (number, name) = (self.state.case().free_number(), set.free_name("BODY"));
        let structure = Structure {
            number,
            name,
            ..body
        };
        self.state.notices.add(
            NoticeKind::Info,
            format!("{}: {}.", structure.name, remark.message),
        );
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
    let mut label = base.clone();
    let mut count = 2;
    while case.doses.iter().any(|d| d.label == label) {
        label = format!("{base} ({count})");
        count += 1;
    }
    label
}
