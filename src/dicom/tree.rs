//! The reference tree of a folder: patient, study, frame of reference, objects, and the objects that each names.

use super::catalogue::{Catalogue, Entry};
use super::object::{Attributes as _, Item, file_name};
use case::PatientInfo;
use dicom_core::header::Header as _;
use dicom_dictionary_std::{tags, uids};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

/// An object, series or frame of reference that another object names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    kind: &'static str,
    uid: String,
    /// How a plan is related to a plan that it names: `PREDECESSOR`.
    relation: String,
}

const SERIES: &str = "series";
const FRAME: &str = "frame of reference";

/// References of an object, at any depth, each once.
pub(super) fn named_in(item: &Item) -> Vec<Named> {
    let own_uids: HashSet<String> = [tags::FRAME_OF_REFERENCE_UID]
        .into_iter()
        .filter_map(|tag| item.text(tag))
        .collect();
    let mut named_objects = BTreeSet::new();
    collect(item, false, &mut named_objects);
    named_objects
        .into_iter()
        .filter(|named| named.kind != FRAME || !own_uids.contains(&named.uid))
        .collect()
}

/// `is_reference`: the item itself may name an object or a series.
fn collect(item: &Item, is_reference: bool, named_objects: &mut BTreeSet<Named>) {
    if is_reference {
        let class = item
            .text(tags::REFERENCED_SOP_CLASS_UID)
            .unwrap_or_default();
        if let Some(kind) = kind_of(&class) {
            add_named(
                kind,
                item.text(tags::REFERENCED_SOP_INSTANCE_UID),
                item.text(tags::RT_PLAN_RELATIONSHIP),
                named_objects,
            );
        }
        add_named(
            SERIES,
            item.text(tags::SERIES_INSTANCE_UID),
            None,
            named_objects,
        );
    }
    for frame in item.items(tags::REGISTRATION_SEQUENCE) {
        add_named(
            FRAME,
            frame.text(tags::FRAME_OF_REFERENCE_UID),
            None,
            named_objects,
        );
    }
    for element in item {
        // Studies are named with whatever class, also with the object's own class.
        let of_studies = [
            tags::RT_REFERENCED_STUDY_SEQUENCE,
            tags::REFERENCED_STUDY_SEQUENCE,
        ];
        let is_reference = !of_studies.contains(&element.tag());
        element
            .items()
            .unwrap_or_default()
            .iter()
            .for_each(|item| collect(item, is_reference, named_objects));
    }
}

fn add_named(
    kind: &'static str,
    uid: Option<String>,
    relation: Option<String>,
    named_objects: &mut BTreeSet<Named>,
) {
    if let Some(uid) = uid {
        named_objects.insert(Named {
            kind,
            uid,
            relation: relation.unwrap_or_default(),
        });
    }
}

/// `None` for classes that are no objects: studies and study components.
fn kind_of(class: &str) -> Option<&'static str> {
    Some(match class {
        uids::CT_IMAGE_STORAGE => "CT image",
        uids::MR_IMAGE_STORAGE => "MR image",
        uids::POSITRON_EMISSION_TOMOGRAPHY_IMAGE_STORAGE => "PET image",
        uids::RT_STRUCTURE_SET_STORAGE => "RTSTRUCT",
        uids::RT_PLAN_STORAGE | uids::RT_ION_PLAN_STORAGE => "RTPLAN",
        uids::RT_DOSE_STORAGE => "RTDOSE",
        uids::RT_IMAGE_STORAGE => "RTIMAGE",
        uids::SPATIAL_REGISTRATION_STORAGE => "REG",
        _ if class.starts_with("1.2.840.10008.3.1.2.") || class.is_empty() => return None,
        _ => "object",
    })
}

/// The objects of a folder by what they belong to, in the order of the catalogue.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    pub patients: Vec<PatientBranch>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PatientBranch {
    pub patient: PatientInfo,
    pub studies: Vec<StudyBranch>,
}

/// A study; its UID is empty where the files have none.
#[derive(Clone, Debug, Serialize)]
pub struct StudyBranch {
    pub uid: String,
    pub frames: Vec<FrameBranch>,
}

/// A frame of reference; its UID is empty where the files have none.
#[derive(Clone, Debug, Serialize)]
pub struct FrameBranch {
    pub uid: String,
    pub objects: Vec<Leaf>,
}

/// An image series or a single object.
#[derive(Clone, Debug, Serialize)]
pub struct Leaf {
    /// `RTPLAN 2`: the number that `--series`, `--structure-set` and `--rtplan` take.
    pub name: String,
    pub label: String,
    /// Its file; of a series the number of images.
    pub file: String,
    pub uid: String,
    /// Name of the plan that a dose belongs to, where that plan is here.
    pub under: Option<String>,
    /// Objects that this one names.
    pub partners: Vec<Partner>,
    #[serde(skip)]
    pub object: Object,
    /// `None` for a series.
    #[serde(skip)]
    pub path: Option<PathBuf>,
}

/// Kind of a leaf, with its index in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Series(usize),
    StructureSet(usize),
    Plan(usize),
    Dose(usize),
    Other,
}

/// An object that another one names.
#[derive(Clone, Debug, Serialize)]
pub struct Partner {
    /// In words: `RTSTRUCT 1`, or what is missing.
    pub text: String,
    pub missing: bool,
}

/// Name and patient of the object with a UID.
struct NamedObject {
    name: String,
    patient: usize,
}

struct Builder<'a> {
    catalogue: &'a Catalogue,
    /// Series, images and objects by their UIDs.
    places: HashMap<&'a str, NamedObject>,
    frames: HashSet<&'a str>,
}

impl Catalogue {
    /// The reference tree of the catalogue.
    pub fn tree(&self) -> Tree {
        Builder::new(self).tree()
    }

    /// The objects outside image series, with their names.
    fn objects(&self) -> impl Iterator<Item = (String, Object, &Entry)> {
        type List<'a> = (&'static str, fn(usize) -> Object, &'a Vec<Entry>);
        let lists: [List<'_>; 3] = [
            ("RTSTRUCT", Object::StructureSet, &self.structure_sets),
            ("RTPLAN", Object::Plan, &self.plans),
            ("RTDOSE", Object::Dose, &self.doses),
        ];
        let listed = lists.into_iter().flat_map(|(kind, object, leaves)| {
            leaves
                .iter()
                .enumerate()
                .map(move |(n, entry)| (format!("{kind} {}", n + 1), object(n), entry))
        });
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let others: Vec<(String, Object, &Entry)> = { self.others.iter() }
            .map(|entry| {
                let kind = if entry.modality.is_empty() {
                    "object"
                } else {
                    entry.modality.as_str()
                };
                let count = counts.entry(kind).or_default();
                *count += 1;
                (format!("{kind} {count}"), Object::Other, entry)
            })
            .collect();
        listed.chain(others)
    }
}

impl<'a> Builder<'a> {
    fn new(catalogue: &'a Catalogue) -> Self {
        let (mut places, mut frames) = (HashMap::new(), HashSet::new());
        for (n, series) in (1..).zip(&catalogue.series) {
            let uids = series.images.iter().map(|image| image.sop_uid.as_str());
            for uid in uids
                .chain([series.uid.as_str()])
                .filter(|uid| !uid.is_empty())
            {
                let name = format!("{} {n}", series.modality);
                places.entry(uid).or_insert(NamedObject {
                    name,
                    patient: series.patient,
                });
            }
            frames.insert(series.frame_of_reference_uid.as_str());
        }
        for (name, _, entry) in catalogue.objects() {
            places.entry(&entry.sop_uid).or_insert(NamedObject {
                name,
                patient: entry.patient,
            });
            frames.insert(&entry.frame_of_reference_uid);
        }
        Self {
            catalogue,
            places,
            frames,
        }
    }

    fn tree(&self) -> Tree {
        let catalogue = self.catalogue;
        let mut patients: Vec<PatientBranch> = { catalogue.patients.iter() }
            .map(|patient| PatientBranch {
                patient: patient.clone(),
                studies: Vec::new(),
            })
            .collect();
        let mut add = |patient: usize, study: &str, frame: &str, leaf: Leaf| {
            let Some(branch) = patients.get_mut(patient) else {
                return;
            };
            let study = found(
                &mut branch.studies,
                |s| s.uid == study,
                || StudyBranch {
                    uid: study.to_owned(),
                    frames: Vec::new(),
                },
            );
            let frame = found(
                &mut study.frames,
                |f| f.uid == frame,
                || FrameBranch {
                    uid: frame.to_owned(),
                    objects: Vec::new(),
                },
            );
            frame.objects.push(leaf);
        };
        for (n, series) in catalogue.series.iter().enumerate() {
            let leaf = Leaf {
                name: format!("{} {}", series.modality, n + 1),
                label: series.description.clone(),
                file: format!("{} images", series.planes),
                uid: series.uid.clone(),
                under: None,
                partners: Vec::new(),
                object: Object::Series(n),
                path: None,
            };
            add(
                series.patient,
                &series.study_uid,
                &series.frame_of_reference_uid,
                leaf,
            );
        }
        for (name, object, entry) in catalogue.objects() {
            let leaf = Leaf {
                label: entry.label.clone(),
                file: file_name(&entry.path),
                uid: entry.sop_uid.clone(),
                under: self.plan_of(object, entry),
                partners: self.partners(&name, entry),
                name,
                object,
                path: Some(entry.path.clone()),
            };
            add(
                entry.patient,
                &entry.study_uid,
                &entry.frame_of_reference_uid,
                leaf,
            );
        }
        patients.retain(|patient| !patient.studies.is_empty());
        let frames = patients
            .iter_mut()
            .flat_map(|p| &mut p.studies)
            .flat_map(|s| &mut s.frames);
        frames.for_each(|frame| frame.put_doses_under_plans());
        Tree { patients }
    }

    /// The name of the plan that a dose is of.
    fn plan_of(&self, object: Object, entry: &Entry) -> Option<String> {
        let plans = entry.named.iter().filter(|named| named.kind == "RTPLAN");
        let mut plan_places = plans.filter_map(|named| self.places.get(named.uid.as_str()));
        plan_places
            .next()
            .filter(|_| matches!(object, Object::Dose(_)))
            .map(|place| place.name.clone())
    }

    /// Partners that are there by their names, missing ones by their kinds and UIDs.
    fn partners(&self, name: &str, entry: &Entry) -> Vec<Partner> {
        let mut other_places = BTreeSet::new();
        let mut missing = BTreeSet::new();
        let mut images: BTreeMap<&str, usize> = BTreeMap::new();
        for Named {
            kind,
            uid,
            relation,
        } in entry
            .named
            .iter()
            .filter(|named| named.uid != entry.sop_uid)
        {
            let how = if relation.is_empty() {
                String::new()
            } else {
                format!(" ({})", relation.to_lowercase())
            };
            match self.places.get(uid.as_str()) {
                Some(place) if place.name == name => {}
                Some(place) => {
                    let other = if place.patient == entry.patient {
                        ""
                    } else {
                        ", of another patient"
                    };
                    other_places.insert(format!("{}{how}{other}", place.name));
                }
                None if *kind == FRAME && self.frames.contains(uid.as_str()) => {
                    other_places.insert(format!("{FRAME} {uid}"));
                }
                None if kind.ends_with("image") => *images.entry(kind).or_default() += 1,
                None => {
                    missing.insert(format!("{kind} {uid}{how}, which is not here"));
                }
            }
        }
        missing.extend(
            images
                .into_iter()
                .map(|(kind, count)| format!("{count} {kind}(s) that are not here")),
        );
        let wanted = [
            ("RTPLAN", "RTSTRUCT", "no structure set"),
            ("RTDOSE", "RTPLAN", "no plan"),
        ];
        let none = wanted.into_iter().filter(|(prefix, other, _)| {
            name.starts_with(prefix) && !entry.named.iter().any(|named| named.kind == *other)
        });
        missing.extend(none.map(|(.., what)| what.to_owned()));
        let partner = |missing| move |text| Partner { text, missing };
        other_places
            .into_iter()
            .map(partner(false))
            .chain(missing.into_iter().map(partner(true)))
            .collect()
    }
}

impl FrameBranch {
    /// Doses follow their plans where those are of the same frame; the others stay in their places.
    fn put_doses_under_plans(&mut self) {
        let names: Vec<String> = self.objects.iter().map(|leaf| leaf.name.clone()).collect();
        for leaf in &mut self.objects {
            leaf.under = leaf.under.take().filter(|plan| names.contains(plan));
        }
        let (under, mut objects): (Vec<Leaf>, Vec<Leaf>) = std::mem::take(&mut self.objects)
            .into_iter()
            .partition(|leaf| leaf.under.is_some());
        for leaf in under.into_iter().rev() {
            let plan = objects
                .iter()
                .position(|other| Some(&other.name) == leaf.under.as_ref());
            objects.insert(plan.map_or(objects.len(), |n| n + 1), leaf);
        }
        self.objects = objects;
    }
}

/// The branch that fits, made where there is none.
fn found<T>(branches: &mut Vec<T>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let place = branches.iter().position(fits).unwrap_or_else(|| {
        branches.push(make());
        branches.len() - 1
    });
    &mut branches[place]
}

impl std::fmt::Display for Tree {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for branch in &self.patients {
            writeln!(
                out,
                "patient {} ({})",
                or_not_stated(&branch.patient.name),
                or_not_stated(&branch.patient.id)
            )?;
            for study in &branch.studies {
                writeln!(out, "  study {}", or_not_stated(&study.uid))?;
                for frame in &study.frames {
                    writeln!(out, "    frame of reference {}", or_not_stated(&frame.uid))?;
                    for leaf in &frame.objects {
                        let label = if leaf.label.is_empty() {
                            String::new()
                        } else {
                            format!(" '{}'", leaf.label)
                        };
                        let texts: Vec<&str> = leaf
                            .partners
                            .iter()
                            .map(|partner| partner.text.as_str())
                            .collect();
                        let names = if texts.is_empty() {
                            String::new()
                        } else {
                            format!(" names {}", texts.join("; "))
                        };
                        let step = if leaf.under.is_some() { "  " } else { "" };
                        writeln!(
                            out,
                            "      {step}{:<10} {}{label}{names}",
                            leaf.name, leaf.file
                        )?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn or_not_stated(uid: &str) -> String {
    if uid.is_empty() {
        "not stated".to_owned()
    } else {
        uid.to_owned()
    }
}
