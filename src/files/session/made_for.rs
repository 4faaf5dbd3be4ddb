//! The patient, the images, the structures and the machines that the plans of a session were made for, by their content. Names and UIDs
//! stay the same where the content of a folder changes, and ROI numbers are given anew with each export.

use case::{Case, Contours, Ct, PatientInfo, Plan, Structure, StructureSet};
use geometry::VolumeId;
use input::{content_digest, content_digest_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The patient, images, structures and machines that a session was saved with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MadeFor {
    patient: PatientInfo,
    frame_of_reference_uid: String,
    /// Digest of the CT; `None` without one.
    images: Option<String>,
    structure_set_uid: Option<String>,
    /// Structures of the case as it was saved.
    structures: Vec<StructureFacts>,
    /// Structures as the files of the case had them.
    pub structures_of_files: Vec<StructureFacts>,
    /// Digests of the machines' files, by the machines' names; machines of the program have none.
    machines: BTreeMap<String, String>,
}

/// A structure, by all that tells it from others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StructureFacts {
    pub number: u32,
    pub name: String,
    /// Digest of the contours.
    pub contours: String,
    /// Digest of all that a dose is made of: kind, density, contours.
    in_dose: String,
}

impl MadeFor {
    pub fn new(case: &Case, loaded: &StructureSet) -> Self {
        let names = case
            .plans
            .iter()
            .flat_map(|plan| plan.beams.iter().map(|beam| plan.machine_of(beam)));
        let machines =
            names.filter_map(|machine| Some((machine.to_owned(), digest_of_machine(machine)?)));
        Self {
            patient: case.patient.clone(),
            frame_of_reference_uid: frame_of(case),
            images: case.ct.as_deref().and_then(digest_of_ct),
            structure_set_uid: case.structures.uid.clone(),
            structures: facts_of(&case.structures),
            structures_of_files: facts_of(loaded),
            machines: machines.collect(),
        }
    }

    /// Why the case is of another patient, in a sentence's end; `None` where it is of the same one, or nobody says.
    pub fn other_patient(&self, case: &Case) -> Option<String> {
        let is_other = self.patient.is_same(&case.patient) == Some(false);
        is_other.then(|| {
            format!(
                "was saved for {} and its case is of {} now",
                named(&self.patient),
                named(&case.patient)
            )
        })
    }

    /// Contradiction between the patient's data and the session's though the ID is the same.
    pub fn patient_differs(&self, case: &Case) -> Option<String> {
        let (then, current) = (&self.patient, &case.patient);
        let members = [
            ("name", &then.name, &current.name),
            ("birth date", &then.birth_date, &current.birth_date),
            ("sex", &then.sex, &current.sex),
        ];
        let (what, then, current_value) =
            members
                .into_iter()
                .find(|(_, a, b): &(&str, &String, &String)| {
                    let [a, b] = [a, b].map(|text| text.trim().trim_matches('^').to_lowercase());
                    !a.is_empty() && !b.is_empty() && a != b
                })?;
        Some(format!(
            "the patient's {what} was '{then}' when it was saved and is '{current_value}' now"
        ))
    }

    /// Difference of the images from those that the session was saved with, in a few words.
    pub fn images_differ(&self, case: &Case) -> Option<&'static str> {
        let images = case.ct.as_deref().and_then(digest_of_ct);
        if self.images != images {
            return Some("the images are other ones than it was saved with");
        }
        (self.frame_of_reference_uid != frame_of(case))
            .then_some("the images have another frame of reference than it was saved with")
    }

    /// How the structures of the files differ from those that the session was saved with, a few words for each.
    pub fn structures_differ(
        &self,
        loaded: &StructureSet,
        numbers_then: &[Option<u32>],
    ) -> Vec<String> {
        let mut words = Vec::new();
        if self.structure_set_uid.is_some()
            && loaded.uid.is_some()
            && self.structure_set_uid != loaded.uid
        {
            words.push("it was exported anew".to_owned());
        }
        for (structure, then) in loaded.structures.iter().zip(numbers_then) {
            let facts =
                { self.structures_of_files.iter() }.find(|facts| Some(facts.number) == *then);
            let current = StructureFacts::new(structure);
            let name = &structure.name;
            match facts {
                None => words.push(format!("'{name}' is new")),
                Some(facts) if facts.name != current.name => {
                    words.push(format!("'{}' is called '{name}'", facts.name));
                }
                Some(facts) if facts.contours != current.contours => {
                    words.push(format!("'{name}' has other contours"));
                }
                Some(facts) if facts.in_dose != current.in_dose => {
                    words.push(format!("'{name}' has another kind or density"));
                }
                Some(facts) if facts.number != current.number => {
                    words.push(format!(
                        "'{name}' has the ROI number {} in place of {}",
                        current.number, facts.number
                    ));
                }
                Some(_) => {}
            }
        }
        let gone = self
            .structures_of_files
            .iter()
            .filter(|facts: &&StructureFacts| !numbers_then.contains(&Some(facts.number)));
        words.extend(gone.map(|facts| format!("'{}' is gone", facts.name)));
        words
    }

    /// The first input of a plan's dose that is not as it was, in a few words; the case has the structures of the session.
    pub fn other_in_dose(&self, plan: &Plan, case: &Case) -> Option<String> {
        let set = &case.structures;
        let in_dose = set
            .structures
            .iter()
            .filter(|s| plan.is_dose_made_with(s, set));
        for structure in in_dose {
            let current = StructureFacts::new(structure);
            if !self
                .structures
                .iter()
                .any(|then| (then.number, &then.in_dose) == (current.number, &current.in_dose))
            {
                return Some(format!("the structure '{}' is another one", structure.name));
            }
        }
        // What is gone was in the dose, as far as the plan refers to it or it was saved as such.
        if let Some(gone) = self
            .structures
            .iter()
            .filter(|then| set.by_number(then.number).is_none())
            .find(|then: &&StructureFacts| {
                then.in_dose.starts_with(EVERY_DOSE) || { plan.normalisation.iter() }
                    .filter_map(|to| to.structure())
                    .any(|(name, number)| {
                        number.map_or(name == then.name, |number| number == then.number)
                    })
            })
        {
            return Some(format!("the structure '{}' is gone", gone.name));
        }
        let machine = plan
            .beams
            .iter()
            .map(|beam| plan.machine_of(beam))
            .find(|machine| self.machines.get(*machine) != digest_of_machine(machine).as_ref());
        machine.map(|machine| format!("the file of the machine '{machine}' is another one"))
    }
}

/// Begins the digest of a structure that every dose is made with.
const EVERY_DOSE: &str = "all ";

impl StructureFacts {
    fn new(structure: &Structure) -> Self {
        let contours = digest_of_contours(&structure.contours);
        let Structure {
            number,
            name,
            kind,
            density,
            ..
        } = structure;
        let none = (Plan::new("", ""), StructureSet::default());
        let every = if none.0.is_dose_made_with(structure, &none.1) {
            EVERY_DOSE
        } else {
            ""
        };
        let in_dose = format!(
            "{every}{}",
            digest_of(format!("{kind:?} {density:?} {contours}").as_bytes())
        );
        Self {
            number: *number,
            name: name.clone(),
            contours,
            in_dose,
        }
    }
}

fn facts_of(set: &StructureSet) -> Vec<StructureFacts> {
    set.structures.iter().map(StructureFacts::new).collect()
}

/// The frame of reference that the files state; one made up for other images hangs on how their path is written.
fn frame_of(case: &Case) -> String {
    let stated = case.ct.as_ref().filter(|ct| !ct.plane_uids.is_empty());
    stated
        .map(|ct| ct.frame_of_reference_uid.trim().to_owned())
        .unwrap_or_default()
}

fn digest_of_machine(machine: &str) -> Option<String> {
    content_digest(Path::new(machine)).ok()
}

fn named(patient: &PatientInfo) -> String {
    match patient.in_words() {
        words if words.is_empty() => "a patient without a name".to_owned(),
        words => format!("'{words}'"),
    }
}

/// Numbers that structures of the files had when the session was saved, in their order now; `None` for new ones. A structure is known
/// again by number and name, else by its name, else by its contours.
pub(super) fn numbers_then(then: &[StructureFacts], loaded: &StructureSet) -> Vec<Option<u32>> {
    let current_facts = facts_of(loaded);
    let mut numbers = vec![None; current_facts.len()];
    let rules: [fn(&StructureFacts, &StructureFacts) -> bool; 3] = [
        |a, b| a.number == b.number && is_same_name(a, b),
        is_same_name,
        // Structures without contours have these alike.
        |a, b| a.contours == b.contours && !a.contours.is_empty(),
    ];
    for is_same in rules {
        for facts in then {
            if numbers.contains(&Some(facts.number)) {
                continue;
            }
            if let Some(place) = (0..current_facts.len())
                .find(|n: &usize| numbers[*n].is_none() && is_same(facts, &current_facts[*n]))
            {
                numbers[place] = Some(facts.number);
            }
        }
    }
    numbers
}

fn is_same_name(a: &StructureFacts, b: &StructureFacts) -> bool {
    a.name.trim().eq_ignore_ascii_case(b.name.trim())
}

/// Digest of a CT's values, grid and position; `None` only where memory cannot be read.
pub fn digest_of_ct(ct: &Ct) -> Option<String> {
    /// The one of the case on show.
    static LAST: Mutex<Option<(VolumeId, String)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let values = match last.as_ref().filter(|(id, _)| *id == ct.hu.id()) {
        Some((_, digest)) => digest.clone(),
        None => content_digest_of(&mut Cursor::new(bytemuck::cast_slice::<f32, u8>(
            ct.hu.data(),
        )))
        .ok()?,
    };
    *last = Some((ct.hu.id(), values.clone()));
    drop(last);
    let facts = format!("{values} {:?} {:?}", ct.hu.grid(), ct.position);
    content_digest_of(&mut facts.as_bytes()).ok()
}

/// Digest of contours; empty where there are none.
fn digest_of_contours(contours: &Contours) -> String {
    /// By the contours' identity: unsaved work is kept after each edit, which changes few of them.
    static KNOWN: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());
    /// Most that are remembered.
    const MOST_KNOWN: usize = 4096;
    if contours.is_empty() {
        return String::new();
    }
    let mut cached_digests = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = cached_digests.get(&contours.id()) {
        return digest.clone();
    }
    if cached_digests.len() >= MOST_KNOWN {
        cached_digests.clear();
    }
    // Digests of contours rather than one of all: their points lie in lists of their own.
    let digests: Vec<String> = contours
        .iter()
        .map(|contour| digest_of_points(&contour.points_mm))
        .collect();
    let digest = digest_of(digests.join(" ").as_bytes());
    cached_digests.insert(contours.id(), digest.clone());
    digest
}

fn digest_of_points(points: &[glam::DVec3]) -> String {
    digest_of(bytemuck::cast_slice::<glam::DVec3, u8>(points))
}

fn digest_of(bytes: &[u8]) -> String {
    // Memory is read without an error.
    content_digest_of(&mut Cursor::new(bytes)).unwrap_or_default()
}
