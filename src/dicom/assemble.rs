//! A catalogue -> a case: one CT, and the objects that belong to it.

use super::catalogue::{Catalogue, Entry, Series};
use super::object::file_name;
use super::{DicomError, Progress, contour_places, read_ct, read_dose, read_plan, read_structures};
use case::{Case, Ct, Dose, PatientInfo, Plan, Remark, Source, Sources, StructureSet};
use geometry::Grid;
use glam::DVec3;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The user's choice from a catalogue, by index; `None` is chosen automatically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Index into [`Catalogue::series`].
    pub series: Option<usize>,
    /// Index into [`Catalogue::structure_sets`].
    pub structure_set: Option<usize>,
    /// Index into [`Catalogue::plans`]: the only one that is loaded.
    pub plan: Option<usize>,
    /// Objects of another patient ID are taken where frame of reference or references tie them to what is shown: the
    /// user has answered for it. Plans and doses then have it as a caveat.
    pub other_patients: bool,
}

/// Loads a case: the chosen CT series (else the largest, one with structures first), its structures, and the
/// plans and doses of its frame of reference. Objects of another frame are never overlaid: they are left out
/// with a remark, like any single object that cannot be read.
///
/// # Errors
/// [`DicomError::SeveralPatients`] where no choice selects a patient, [`DicomError::NoSuchChoice`],
/// [`DicomError::NothingToShow`], errors of [`read_ct`], and the first failure where no object could be read.
pub fn load(catalogue: &Catalogue, choice: Choice, progress: Progress) -> Result<Case, DicomError> {
    let series = chosen_series(catalogue, choice)?;
    let patient = patient_of(catalogue, choice, series)?;
    // The CT is nearly all of the work.
    let ct = series
        .map(|s| read_ct(s, &|share| progress(0.9 * share)))
        .transpose()?;
    let mut assembly = Assembly {
        patient,
        frame: frame_to_show(catalogue, patient, choice, series),
        linked: linked_to(series),
        has_images: series.is_some(),
        remarks: catalogue.remarks.clone(),
        refused_plans: Vec::new(),
        other_patients: choice.other_patients,
        accepted: Vec::new(),
        failure: None,
        sources: Sources::default(),
        drawn_in: None,
    };
    if series.is_none() {
        assembly.remark_enhanced(catalogue);
    }
    let structures = Arc::new(assembly.structures(catalogue, choice)?.unwrap_or_default());
    assembly.sources.structures = assembly.drawn_in.take().map(|path| Source {
        path,
        read: Arc::clone(&structures),
    });
    if !progress(0.94) {
        return Err(DicomError::Cancelled);
    }
    // A plan without a frame is linked through its doses.
    let doses = assembly.accepted(&catalogue.doses);
    assembly
        .linked
        .extend(doses.iter().flat_map(|d| d.references.iter().cloned()));
    let plans = assembly.plans(catalogue, choice, ct.as_ref(), &structures)?;
    if catalogue.plans.is_empty() {
        // An unreadable file may be the missing plan.
        let said = catalogue
            .unreadable
            .iter()
            .map(|u| format!("a file could not be read: {}", u.reason));
        assembly.refused_plans.extend(said.take(MOST_REASONS));
    }
    let late = assembly.accepted_late(&catalogue.doses, &doses);
    let doses = assembly.doses(
        catalogue,
        doses.into_iter().chain(late),
        &plans,
        ct.as_ref(),
    );
    if !progress(1.0) {
        return Err(DicomError::Cancelled);
    }
    let mut case = Case {
        patient: catalogue.patients.get(patient).cloned().unwrap_or_default(),
        source: catalogue.place.clone(),
        ct: ct.map(Arc::new),
        structures,
        plans,
        doses,
        remarks: assembly.remarks,
        refused_plans: assembly.refused_plans,
        goals: None,
        spent_number: 0,
        sources: Arc::new(assembly.sources),
    };
    let empty = case.ct.is_none()
        && case.structures.structures.is_empty()
        && case.plans.is_empty()
        && case.doses.is_empty();
    if empty {
        return Err(assembly
            .failure
            .unwrap_or_else(|| nothing_to_show(catalogue)));
    }
    if let Some(ct) = &case.ct {
        case.remarks
            .extend(contour_places::remarks(&case.structures, ct));
    }
    Ok(remark_places(case))
}

fn nothing_to_show(catalogue: &Catalogue) -> DicomError {
    if let Some(first) = catalogue.imageless.first() {
        return DicomError::NoImage {
            path: first.clone(),
            files: catalogue.imageless.len(),
        };
    }
    let mut contents: Vec<String> = catalogue
        .series
        .iter()
        .map(|s| format!("{} {} image(s)", s.planes, s.modality))
        .collect();
    contents.extend(catalogue.others.iter().map(modality_in_words));
    DicomError::NothingToShow {
        place: catalogue.place.clone(),
        what: format!("it holds only {}", contents.join(", ")),
    }
}

fn modality_in_words(entry: &Entry) -> String {
    if entry.modality.is_empty() {
        "an object of no modality".to_owned()
    } else {
        entry.modality.clone()
    }
}

fn no_such_choice(
    catalogue: &Catalogue,
    what: &'static str,
    index: usize,
    count: usize,
) -> DicomError {
    DicomError::NoSuchChoice {
        place: catalogue.place.clone(),
        what,
        index,
        count,
    }
}

/// How well the best of `sets` fits a series: its link, then how many of the images it names.
fn strength_of_sets(series: &Series, sets: &[Entry]) -> Option<(Link, usize)> {
    let linked = linked_to(Some(series));
    sets.iter()
        .map(|set| {
            // Phases of a 4D CT share their series UID: the phase with the most referenced images is meant.
            let images = set.references.iter().filter(|uid| linked.contains(*uid));
            (
                link(set, &series.frame_of_reference_uid, &linked),
                images.count(),
            )
        })
        .max()
}

fn chosen_series(catalogue: &Catalogue, choice: Choice) -> Result<Option<&Series>, DicomError> {
    let sets = &catalogue.structure_sets;
    if let Some(index) = choice.structure_set.filter(|&i| i >= sets.len()) {
        return Err(no_such_choice(
            catalogue,
            "structure set",
            index,
            sets.len(),
        ));
    }
    if let Some(index) = choice.plan.filter(|&i| i >= catalogue.plans.len()) {
        return Err(no_such_choice(
            catalogue,
            "plan",
            index,
            catalogue.plans.len(),
        ));
    }
    if let Some(index) = choice.series {
        return match catalogue.series.get(index) {
            Some(series) => Ok(Some(series)),
            None => Err(no_such_choice(
                catalogue,
                "series",
                index,
                catalogue.series.len(),
            )),
        };
    }
    // A chosen structure set or plan goes with images of the same patient.
    let chosen_patient = (choice.structure_set.map(|i| &sets[i]))
        .or(choice.plan.map(|i| &catalogue.plans[i]))
        .filter(|_| !choice.other_patients)
        .map(|entry| entry.patient);
    let wanted_sets = choice.structure_set.map_or(&sets[..], |i| &sets[i..=i]);
    Ok(catalogue
        .series
        .iter()
        .enumerate()
        .filter(|(_, s)| s.modality == "CT" && !s.multiframe)
        .filter(|(_, s)| chosen_patient.is_none_or(|patient| s.patient == patient))
        .max_by_key(|(index, s)| {
            (
                strength_of_sets(s, wanted_sets),
                s.slices(),
                std::cmp::Reverse(*index),
            )
        })
        .map(|(_, s)| s))
}

fn patient_of(
    catalogue: &Catalogue,
    choice: Choice,
    series: Option<&Series>,
) -> Result<usize, DicomError> {
    let chosen_set = choice
        .structure_set
        .map(|i| catalogue.structure_sets[i].patient);
    let chosen_plan = choice.plan.map(|i| catalogue.plans[i].patient);
    let chosen = choice
        .series
        .and(series)
        .map(|s| s.patient)
        .or(chosen_set)
        .or(chosen_plan);
    // Whose images are shown, the others' objects beside them being accepted.
    let chosen = chosen.or(series.filter(|_| choice.other_patients).map(|s| s.patient));
    match chosen {
        Some(patient) => Ok(patient),
        None => {
            let shown = patients_to_show(catalogue);
            match shown[..] {
                [] => Ok(0),
                [one] => Ok(one),
                _ => Err(DicomError::SeveralPatients {
                    place: catalogue.place.clone(),
                    patients: shown
                        .iter()
                        .filter_map(|&p| catalogue.patients.get(p))
                        .map(in_words)
                        .collect(),
                }),
            }
        }
    }
}

/// Patients with at least one loadable object.
fn patients_to_show(catalogue: &Catalogue) -> Vec<usize> {
    let images = catalogue
        .series
        .iter()
        .filter(|s| s.modality == "CT")
        .map(|s| s.patient);
    let entries = [
        &catalogue.structure_sets,
        &catalogue.plans,
        &catalogue.doses,
    ];
    let patients: BTreeSet<usize> = images
        .chain(entries.into_iter().flatten().map(|e| e.patient))
        .collect();
    patients.into_iter().collect()
}

fn in_words(patient: &PatientInfo) -> String {
    match (patient.id.as_str(), patient.name.as_str()) {
        ("", "") => "one without name and ID".to_owned(),
        (id, "") => id.to_owned(),
        ("", name) => name.to_owned(),
        (id, name) => format!("{id} {name}"),
    }
}

/// The frame of the images; without images the structures' frame, else the doses', else the plans'.
fn frame_to_show(
    catalogue: &Catalogue,
    patient: usize,
    choice: Choice,
    series: Option<&Series>,
) -> String {
    if let Some(series) = series {
        return series.frame_of_reference_uid.clone();
    }
    let wanted = choice.structure_set.map(|i| &catalogue.structure_sets[i]);
    let objects = [
        &catalogue.structure_sets,
        &catalogue.doses,
        &catalogue.plans,
    ];
    wanted
        .into_iter()
        .chain(
            objects
                .into_iter()
                .flatten()
                .filter(|e| e.patient == patient),
        )
        .map(|e| e.frame_of_reference_uid.clone())
        .find(|uid| !uid.is_empty())
        .unwrap_or_default()
}

fn linked_to(series: Option<&Series>) -> HashSet<String> {
    let Some(series) = series else {
        return HashSet::new();
    };
    let images = series.images.iter().map(|i| i.sop_uid.clone());
    images
        .chain([series.uid.clone()])
        .filter(|uid| !uid.is_empty())
        .collect()
}

/// The link of an object to the displayed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    /// Another frame of reference, or neither frame nor reference.
    None,
    /// The same frame of reference.
    Frame,
    /// A reference to a displayed object, with no contradicting frame of reference.
    Reference,
}

fn link(entry: &Entry, frame: &str, linked: &HashSet<String>) -> Link {
    let entry_frame = entry.frame_of_reference_uid.as_str();
    let frames_known = !entry_frame.is_empty() && !frame.is_empty();
    if frames_known && entry_frame != frame {
        Link::None
    } else if entry.references.iter().any(|r| linked.contains(r)) {
        Link::Reference
    } else if frames_known {
        Link::Frame
    } else {
        Link::None
    }
}

/// Most unreadable files that are named where a plan is missing.
const MOST_REASONS: usize = 3;

/// The word for a plan in remarks.
const PLAN: &str = "plan";

struct Assembly {
    patient: usize,
    frame: String,
    /// UIDs of the displayed objects.
    linked: HashSet<String>,
    has_images: bool,
    remarks: Vec<Remark>,
    refused_plans: Vec<String>,
    other_patients: bool,
    /// Objects of other patients that were taken, in words: caveats of plans and doses.
    accepted: Vec<String>,
    /// The error of the first unreadable object.
    failure: Option<DicomError>,
    sources: Sources,
    /// The file of the structures.
    drawn_in: Option<PathBuf>,
}

impl Assembly {
    fn link(&self, entry: &Entry) -> Link {
        match link(entry, &self.frame, &self.linked) {
            // Without images and frame no conflict is possible.
            Link::None if self.frame.is_empty() && !self.has_images => Link::Frame,
            link => link,
        }
    }

    /// Whether an object is of the patient on show, or of another whom the user has answered for.
    fn is_mine(&self, entry: &Entry) -> bool {
        entry.patient == self.patient || self.other_patients
    }

    /// Refuses a chosen object of another patient.
    fn check_patient(
        &self,
        catalogue: &Catalogue,
        entry: &Entry,
        what: &'static str,
    ) -> Result<(), DicomError> {
        if self.is_mine(entry) {
            return Ok(());
        }

        Err(DicomError::OtherPatient {
            path: entry.path.clone(),
            what,
            theirs: patient_name(catalogue, entry.patient),
            ours: patient_name(catalogue, self.patient),
        })
    }

    /// Records that an object of another patient was taken; `None` where it is of the patient on show.
    fn accept(&mut self, catalogue: &Catalogue, entry: &Entry, what: &str) -> Option<String> {
        if entry.patient == self.patient {
            return None;
        }

        let message = format!(
            "the {what} is of the patient {}, what is shown of {}: accepted as asked (--accept-patient-mismatch)",
            patient_name(catalogue, entry.patient),
            patient_name(catalogue, self.patient)
        );
        self.remarks
            .push(Remark::warning(message, vec![file_name(&entry.path)]).without_bearing());
        let caveat = format!(
            "{what} of another patient, {}, accepted",
            patient_name(catalogue, entry.patient)
        );
        self.accepted.push(caveat.clone());
        Some(caveat)
    }

    /// Explains why an enhanced CT is not shown.
    fn remark_enhanced(&mut self, catalogue: &Catalogue) {
        let Some(Err(error)) = catalogue
            .series
            .iter()
            .find(|s| s.multiframe && s.modality == "CT" && s.patient == self.patient)
            .map(|s| read_ct(s, &|_| true))
        else {
            return;
        };
        self.remarks.push(
            Remark::warning(format!("the CT is left out: {error}"), Vec::new()).without_bearing(),
        );
        self.failure = Some(error);
    }

    fn left_out(&mut self, entry: &Entry, what: &str) {
        let why = if entry.frame_of_reference_uid.is_empty() || self.frame.is_empty() {
            "nothing ties it to what is shown (no frame of reference, no reference)"
        } else {
            "it is in another frame of reference"
        };
        let message = format!("a {what} is left out: {why}");
        self.refuse(entry, what, message);
    }

    fn refuse(&mut self, entry: &Entry, what: &str, message: String) {
        let file = file_name(&entry.path);
        if what == PLAN {
            self.refused_plans.push(format!("{message} ({file})"));
        }
        self.remarks
            .push(Remark::warning(message, vec![file]).without_bearing());
    }

    fn keep<T>(&mut self, read: Result<T, DicomError>, entry: &Entry, what: &str) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                self.refuse(entry, what, format!("a {what} is left out: {error}"));
                self.failure.get_or_insert(error);
                None
            }
        }
    }

    /// How well a structure set fits what is shown; the greatest is taken.
    fn set_rank<'a>(&self, set: &'a Entry) -> (bool, Link, bool, &'a str) {
        // Only CT is shown, so sets drawn on other modalities are last.
        let is_on_ct = set.drawn_on.as_deref().is_none_or(|m| m == "CT");
        (
            set.patient == self.patient,
            self.link(set),
            is_on_ct,
            &set.date_time,
        )
    }

    /// The chosen structure set, else the one with the strongest link, of equals the latest.
    fn structures(
        &mut self,
        catalogue: &Catalogue,
        choice: Choice,
    ) -> Result<Option<StructureSet>, DicomError> {
        let mut sets: Vec<&Entry> = Vec::new();
        for (index, set) in catalogue.structure_sets.iter().enumerate() {
            if choice.structure_set.is_some_and(|wanted| wanted != index) {
                continue;
            }
            if choice.structure_set.is_some() {
                self.check_patient(catalogue, set, "structure set")?;
            } else if !self.is_mine(set) {
                continue;
            }
            if self.link(set) == Link::None {
                self.left_out(set, "structure set")
            } else {
                sets.push(set)
            }
        }
        sets.sort_by(|a, b| {
            (self.set_rank(b).cmp(&self.set_rank(a))).then_with(|| a.path.cmp(&b.path))
        });
        let mut read = None;
        let mut others = Vec::new();
        for set in sets {
            if read.is_some() {
                others.push(file_name(&set.path));
                continue;
            }
            read = self.keep(read_structures(&set.path), set, "structure set");
            self.drawn_in = read.is_some().then(|| set.path.clone());
            if read.is_some() {
                self.accept(catalogue, set, "structure set");
            }
            if read.is_some() && !set.sop_uid.is_empty() {
                self.linked.insert(set.sop_uid.clone());
            }
        }
        if !others.is_empty() {
            let message = format!(
                "{} more structure set(s) of this frame can be chosen",
                others.len()
            );
            self.remarks.push(Remark::note(message, others));
        }
        match (choice.structure_set, read) {
            // An explicit choice: a failure to show it is an error.
            (Some(_), None) => match self.failure.take() {
                Some(error) => Err(error),
                None => Err(DicomError::NothingToShow {
                    place: catalogue.place.clone(),
                    what: "the structure set is in another frame of reference than the images"
                        .to_owned(),
                }),
            },
            (_, read) => Ok(read),
        }
    }

    /// Entries linked to the objects displayed so far.
    fn accepted<'a>(&self, entries: &'a [Entry]) -> Vec<&'a Entry> {
        entries
            .iter()
            .filter(|e| self.is_mine(e) && self.link(e) != Link::None)
            .collect()
    }

    /// Entries that are linked only now that more is displayed; the remaining ones are named.
    fn accepted_late<'a>(&mut self, entries: &'a [Entry], early: &[&Entry]) -> Vec<&'a Entry> {
        let mut late = Vec::new();
        for entry in entries {
            if !self.is_mine(entry) {
                continue;
            }
            if early.iter().any(|e| e.path == entry.path) {
                continue;
            }
            if self.link(entry) == Link::None {
                self.left_out(entry, "dose")
            } else {
                late.push(entry)
            }
        }
        late
    }

    /// The plans, with the structures' settings that no dose models as caveats.
    fn plans(
        &mut self,
        catalogue: &Catalogue,
        choice: Choice,
        ct: Option<&Ct>,
        structures: &StructureSet,
    ) -> Result<Vec<Arc<Plan>>, DicomError> {
        let mut plans = Vec::new();
        for (index, entry) in catalogue.plans.iter().enumerate() {
            if choice.plan.is_some_and(|wanted| wanted != index) {
                continue;
            }
            if choice.plan.is_some() {
                self.check_patient(catalogue, entry, PLAN)?;
            } else if !self.is_mine(entry) {
                continue;
            }
            let tied = self.link(entry) != Link::None || self.linked.contains(&entry.sop_uid);
            if !tied {
                self.left_out(entry, PLAN);
                continue;
            }
            let read = read_plan(&entry.path, ct.map(|ct| ct.position));
            if let Some(mut plan) = self.keep(read, entry, PLAN) {
                if let Some(ct) = ct {
                    self.check_position(&mut plan, ct, entry);
                }
                // What was accepted of another plan is none of this one's.
                let mut said: Vec<String> = self.accepted.clone();
                said.retain(|what| !what.starts_with(PLAN));
                said.extend(self.accept(catalogue, entry, PLAN));
                for beam in &mut plan.beams {
                    beam.not_modelled
                        .extend(structures.not_modelled.iter().chain(&said).cloned());
                }
                remark_structure_set(&mut plan, entry, structures);
                self.linked.extend(plan.uid.clone());
                let plan = Arc::new(plan);
                self.sources.plans.push(Source {
                    path: entry.path.clone(),
                    read: Arc::clone(&plan),
                });
                plans.push(plan);
            }
        }
        Ok(plans)
    }

    /// Refuses the beams of a plan for another patient position than the images': they would enter from the
    /// wrong side.
    fn check_position(&mut self, plan: &mut Plan, ct: &Ct, entry: &Entry) {
        if plan.position == ct.position {
            return;
        }
        let reason = format!(
            "the plan is for a patient in {}, the CT shows {}",
            plan.position, ct.position
        );
        self.remarks.push(
            Remark::warning(
                format!("{reason}: its beams are not computed"),
                vec![file_name(&entry.path)],
            )
            .without_bearing(),
        );
        for beam in &mut plan.beams {
            beam.read_only.get_or_insert_with(|| reason.clone());
        }
    }

    fn doses<'a>(
        &mut self,
        catalogue: &Catalogue,
        entries: impl Iterator<Item = &'a Entry>,
        plans: &[Arc<Plan>],
        ct: Option<&Ct>,
    ) -> Vec<Arc<Dose>> {
        let unfit = ct
            .iter()
            .flat_map(|ct| &ct.remarks)
            .filter(|remark| remark.caveat().is_some());
        let unfit: Vec<String> = unfit.map(|remark| remark.message.clone()).collect();
        let plan_uids: Vec<&String> = plans.iter().filter_map(|plan| plan.uid.as_ref()).collect();
        let mut doses = Vec::new();
        for entry in entries {
            if let Some((mut dose, remarks)) = self.keep(read_dose(&entry.path), entry, "dose") {
                // They stand with the dose itself, not among the plans' remarks.
                self.remarks
                    .extend(remarks.into_iter().map(Remark::without_bearing));
                dose.caveats.extend(self.accept(catalogue, entry, "dose"));
                dose.remark(unfit.iter().map(String::as_str));
                if !entry.references.is_empty()
                    && !entry.references.iter().any(|uid| plan_uids.contains(&uid))
                {
                    let message = format!("the plan of '{}' is not among the files", dose.label);
                    self.remarks
                        .push(Remark::note(message, vec![file_name(&entry.path)]));
                }
                let dose = Arc::new(dose);
                self.sources.doses.push(Source {
                    path: entry.path.clone(),
                    read: Arc::clone(&dose),
                });
                doses.push(dose);
            }
        }
        // Doses of whole plans are first.
        doses.sort_by_key(|d| (!d.label.starts_with("plan"), d.label.clone()));
        doses
    }
}

fn patient_name(catalogue: &Catalogue, patient: usize) -> String {
    catalogue
        .patients
        .get(patient)
        .map(in_words)
        .unwrap_or_default()
}

/// Whether a place (patient LPS, mm) lies in a voxel of the grid.
fn is_inside(grid: &Grid, place_mm: DVec3) -> bool {
    let voxel = grid.voxel_from_patient(place_mm);
    let size = grid.size();
    (0..3).all(|axis| voxel[axis] >= -0.5 && voxel[axis] <= size[axis] as f64 - 0.5)
}

/// A plan that was made with other structures than those on show has its dose to another body, and its normalisation by others.
fn remark_structure_set(plan: &mut Plan, entry: &Entry, structures: &StructureSet) {
    let Some(shown_set_uid) = structures
        .uid
        .as_ref()
        .filter(|_| !entry.references.is_empty())
    else {
        return;
    };
    if !entry.references.contains(shown_set_uid) {
        let message = format!(
            "the plan was made with another structure set than '{}' (ReferencedStructureSetSequence): body, densities and targets may differ",
            structures.label
        );
        plan.remarks
            .push(Remark::warning(message, vec![file_name(&entry.path)]));
    }
}

/// Warns of plans and doses that lie outside the images.
fn remark_places(mut case: Case) -> Case {
    let Some(ct) = &case.ct else { return case };
    let grid = ct.hu.grid();

    let mut remarks = Vec::new();
    for plan in &case.plans {
        let outside: Vec<&str> = plan
            .beams
            .iter()
            .filter(|b| !is_inside(grid, b.isocentre_mm))
            .map(|b| b.name.as_str())
            .collect();
        if !outside.is_empty() {
            let message = format!(
                "plan '{}': the isocentre of {} lies outside the CT",
                plan.name,
                outside.join(", ")
            );
            remarks.push(Remark::warning(message, Vec::new()).without_bearing());
        }
    }
    for dose in &case.doses {
        if !is_inside(grid, dose.gy.grid().middle_mm()) {
            let message = format!("the middle of '{}' lies outside the CT", dose.label);
            remarks.push(Remark::warning(message, Vec::new()).without_bearing());
        }
    }
    case.remarks.extend(remarks);
    case
}
