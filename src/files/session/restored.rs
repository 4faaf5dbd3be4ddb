//! A session's state in the case that was opened for it, and what of that case is not as the session was saved with.

use super::made_for::numbers_then;
use super::{MadeFor, Session};
use case::{Case, Goal, Plan, Remark, Structure, StructureSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Structures of the files with the changes of a session.
pub(super) struct Restored {
    pub structures: Vec<Structure>,
    /// Changes to structures that are known by their numbers alone, a few words each.
    by_number: Vec<String>,
}

impl Session {
    /// Why the case that was opened for the session is of another patient, as the end of a sentence.
    pub fn other_patient(&self, case: &Case) -> Option<String> {
        self.made_for.as_ref()?.other_patient(case)
    }

    /// Restores the session's state in a freshly opened case, and remarks on what is not as it was saved with. Plans whose dose is
    /// made of something else have no record of review.
    pub fn restore(&self, case: &mut Case) {
        let loaded = Arc::clone(&case.structures);
        let Restored {
            structures,
            by_number,
        } = self.restored(&loaded);
        Arc::make_mut(&mut case.structures).structures = structures;
        let plans = self
            .plans
            .iter()
            .map(|plan| with_names_of(plan, &case.structures));
        case.plans = plans.map(Arc::new).collect();
        let goals = self
            .goals
            .as_ref()
            .map(|goals| goals.iter().map(|goal| named_goal(goal, &case.structures)));
        case.goals = goals.map(Iterator::collect);
        // A structure set that has changed since may have a new structure of the same name.
        Arc::make_mut(&mut case.structures).tell_apart();
        let facts = match &self.made_for {
            Some(made_for) => self.differences(made_for, &loaded, case),
            None => self.what_is_not_said(&by_number, case),
        };
        case.remarks.extend(
            facts
                .into_iter()
                .map(|message| Remark::warning(message, Vec::new())),
        );
    }

    /// The structures of the files with the session's changes.
    pub(super) fn restored(&self, loaded: &StructureSet) -> Restored {
        let numbers = self.numbers_then(loaded);
        let mut by_number = Vec::new();
        let mut set: Vec<Structure> = Vec::new();
        // Numbers that plans and views of the session may refer to.
        let mut taken: BTreeSet<u32> = self.structures.iter().map(|s| s.number).collect();
        taken.extend(
            self.made_for
                .iter()
                .flat_map(|made_for| &made_for.structures_of_files)
                .map(|facts| facts.number),
        );
        taken.extend(loaded.structures.iter().map(|s| s.number));
        let mut free = taken.last().map_or(1, |last| last.saturating_add(1));
        for (structure, then) in loaded.structures.iter().zip(&numbers) {
            match then {
                Some(number) if self.removed_structures.contains(number) => {
                    if !self
                        .structures
                        .iter()
                        .any(|s: &Structure| s.number == *number && s.name == structure.name)
                    {
                        by_number.push(format!("'{}' ({number}) is removed", structure.name));
                    }
                }
                Some(number) => set.push(Structure {
                    number: *number,
                    ..structure.clone()
                }),
                // A new one whose number another had.
                None if self.had_number(structure.number) => {
                    set.push(Structure {
                        number: free,
                        ..structure.clone()
                    });
                    free = free.saturating_add(1);
                }
                None => set.push(structure.clone()),
            }
        }
        for saved in &self.structures {
            let is_own = self.removed_structures.contains(&saved.number);
            match set.iter_mut().find(|s| s.number == saved.number && !is_own) {
                Some(present) => {
                    if present.name != saved.name {
                        let Structure { name, number, .. } = &*present;
                        by_number.push(format!(
                            "'{}' stands in place of '{name}' ({number})",
                            saved.name
                        ));
                    }
                    *present = saved.clone();
                }
                None => set.push(saved.clone()),
            }
        }
        Restored {
            structures: set,
            by_number,
        }
    }

    /// Numbers that structures of the files had when the session was saved; sessions of earlier versions know nothing but numbers.
    fn numbers_then(&self, loaded: &StructureSet) -> Vec<Option<u32>> {
        match &self.made_for {
            Some(made_for) => numbers_then(&made_for.structures_of_files, loaded),
            None => loaded.structures.iter().map(|s| Some(s.number)).collect(),
        }
    }

    /// Whether a structure had the number when the session was saved.
    fn had_number(&self, number: u32) -> bool {
        let of_files = self
            .made_for
            .iter()
            .flat_map(|made_for| &made_for.structures_of_files);
        self.structures.iter().any(|s| s.number == number)
            || of_files.map(|f| f.number).any(|n| n == number)
    }

    /// Differences from what the session was saved with, a sentence each. Takes the record from plans whose dose is made of something else.
    fn differences(
        &self,
        made_for: &MadeFor,
        loaded: &StructureSet,
        case: &mut Case,
    ) -> Vec<String> {
        let images = made_for.images_differ(case);
        let refusals: Vec<Option<String>> = { case.plans.iter() }
            .map(|plan| match images {
                Some(why) => Some(why.to_owned()),
                None => made_for
                    .patient_differs(case)
                    .or_else(|| made_for.other_in_dose(plan, case)),
            })
            .collect();
        for (plan, why) in case.plans.iter_mut().zip(&refusals) {
            if let Some(why) = why {
                drop_record(Arc::make_mut(plan), why);
            }
        }
        let structures = made_for.structures_differ(loaded, &self.numbers_then(loaded));
        let structures = (!structures.is_empty()).then(|| {
            format!(
                "the structure set of the case is not the one that the session was saved with: {}. The session's own changes are kept; \
                 look at the structures, then save the session",
                structures.join(", ")
            )
        });
        let images = images.map(|why| format!("the session: {why}{}", self.series_words(case)));
        let patient = made_for
            .patient_differs(case)
            .map(|why| format!("the session: {why}"));
        images
            .into_iter()
            .chain(patient)
            .chain(structures)
            .collect()
    }

    /// Questions that a session of an earlier version leaves open, a sentence each. Takes the records where its images are gone.
    fn what_is_not_said(&self, by_number: &[String], case: &mut Case) -> Vec<String> {
        let mut said = Vec::new();
        let is_gone = !self.series_words(case).is_empty();
        if is_gone {
            said.push(format!(
                "the session: its images are not there{}",
                self.series_words(case)
            ));
        }
        for plan in &mut case.plans {
            let plan = Arc::make_mut(plan);
            if is_gone {
                drop_record(plan, "the images that it was saved with are not there");
            } else if plan.approval.is_some() {
                let words = plan.approval_words();
                plan.remarks.push(Remark::warning(
                    format!(
                        "{OF_OPENING}the plan '{}' is {words}, and its session, of an earlier version, does not say for which patient, images and \
                         structures: compare them, then save the session anew",
                        plan.name
                    ),
                    Vec::new(),
                ));
            }
        }
        if !by_number.is_empty() {
            said.push(format!(
                "the session, of an earlier version, knows structures by their ROI numbers alone: {}. If the structure set was exported \
                 anew, these may be others; look at the structures, then save the session anew",
                by_number.join(", ")
            ));
        }
        said
    }

    /// Which series the session was saved with, where the case has another one of DICOM; else nothing.
    fn series_words(&self, case: &Case) -> String {
        let current_ct = case.ct.as_ref().filter(|ct| !ct.plane_uids.is_empty());
        match (&self.series_uid, current_ct) {
            (Some(then), Some(current)) if current.series_uid != *then => {
                format!(
                    " (series {then}; it is opened with series {})",
                    current.series_uid
                )
            }
            (Some(then), None) if case.ct.is_none() => {
                format!(" (series {then}; it is opened without images)")
            }
            _ => String::new(),
        }
    }
}

/// Begins remarks of an opening, which are made anew at the next one: no session keeps them.
const OF_OPENING: &str = "on opening: ";

/// Takes remarks of an earlier opening from a plan that is saved.
pub(super) fn without_remarks_of_opening(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.remarks
        .retain(|remark| !remark.message.starts_with(OF_OPENING));
    plan
}

/// Says of a plan what its dose is made of and was not when it was saved; takes its record of review.
pub(super) fn drop_record(plan: &mut Plan, why: &str) {
    let words = plan.approval.as_ref().map(|_| plan.approval_words());
    plan.approval = None;
    let message = match words {
        Some(words) => {
            format!(
                "{OF_OPENING}the plan '{}' was {words}, and {why}: it is unapproved",
                plan.name
            )
        }
        None => format!(
            "{OF_OPENING}the plan '{}' was saved with something else: {why}",
            plan.name
        ),
    };
    plan.remarks.push(Remark::warning(message, Vec::new()));
}

/// The number that leads to a structure of this name; a number that leads to another does not count.
fn number_of_name(number: Option<u32>, name: &str, set: &StructureSet) -> Option<u32> {
    number.filter(|number: &u32| {
        let named = set
            .by_number(*number)
            .map(|structure| structure.name.trim());
        named.is_none_or(|named| named.eq_ignore_ascii_case(name.trim()))
    })
}

/// The plan, whose normalisation and objectives refer to the structures that they name.
fn with_names_of(plan: &Plan, set: &StructureSet) -> Plan {
    let mut plan = plan.clone();
    if let Some(to) = &mut plan.normalisation
        && let Some((name, number)) = to
            .structure()
            .map(|(name, number)| (name.to_owned(), number))
    {
        *to = to.of_structure(&name, number_of_name(number, &name, set));
    }
    for uniform in &mut plan.objectives.uniform {
        uniform.number = number_of_name(uniform.number, &uniform.structure, set);
    }
    plan
}

/// The goal, of the structure that it names.
fn named_goal(goal: &Goal, set: &StructureSet) -> Goal {
    let number = number_of_name(goal.number, &goal.structure, set);
    goal.clone().of_structure(&goal.structure, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use case::{Approval, Contour, Normalisation, PatientInfo, Rgb, Stage, StructureKind};
    use geometry::Volume;
    use glam::DVec3;
    use serde_json::Value;

    /// A triangle on one plane.
    fn structure(name: &str, number: u32, x_mm: f64) -> Structure {
        let corners =
            [[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]].map(|[x, y]| DVec3::new(x_mm + x, y, 3.0));
        let contours = vec![Contour {
            points_mm: corners.to_vec(),
            image_uid: None,
        }]
        .into();
        Structure {
            contours,
            ..Structure::new(name, number, StructureKind::Organ)
        }
    }

    fn set(structures: Vec<Structure>) -> StructureSet {
        StructureSet {
            structures,
            ..StructureSet::default()
        }
    }

    /// As a file has it.
    fn written(session: &Session) -> Session {
        serde_json::from_str(&serde_json::to_string(session).unwrap()).unwrap()
    }

    fn named(case: &Case) -> Vec<(&str, u32)> {
        case.structures
            .structures
            .iter()
            .map(|s| (&*s.name, s.number))
            .collect()
    }

    #[test]
    fn structures_are_known_again_where_their_numbers_are_others() {
        let loaded = set(vec![
            structure("PTV", 1, 0.0),
            structure("Ring", 2, 20.0),
            structure("Cord", 3, 40.0),
        ]);
        let mut case = Case {
            structures: Arc::new(loaded.clone()),
            ..Case::default()
        };
        let structures = Arc::make_mut(&mut case.structures);
        structures.structures.remove(1);
        structures.structures[0].colour = Rgb([1, 2, 3]);
        structures.structures.push(structure("Ball", 4, 60.0));
        case.goals = Some(vec!["Cord: Dmax <= 45 Gy".parse().unwrap()].into());
        case.bind_references();
        let session = written(&Session::new(&case, "x", &loaded, Value::Null));
        // The set exported anew: Ring is gone, others are new, and one has a name as before and other contours.
        let anew = set(vec![
            structure("PTV", 1, 1.0),
            structure("Cord", 2, 40.0),
            structure("Opti", 3, 70.0),
            structure("Kidney", 4, 80.0),
        ]);
        let mut opened = Case {
            structures: Arc::new(anew),
            ..Case::default()
        };
        session.restore(&mut opened);
        opened.bind_references();
        let numbered = named(&opened);
        assert_eq!(numbered[..2], [("PTV", 1), ("Cord", 3)]);
        assert!(numbered.contains(&("Ball", 4)), "{numbered:?}");
        let numbers: std::collections::BTreeSet<u32> =
            numbered.iter().map(|(_, number)| *number).collect();
        assert_eq!((numbered.len(), numbers.len()), (5, 5), "{numbered:?}");
        assert_eq!(opened.structures.structures[0].colour, Rgb([1, 2, 3]));
        assert_eq!(opened.goals.unwrap()[0].number, Some(3));
        let said = &opened.remarks.last().expect("a remark").message;
        for words in [
            "'Opti' is new",
            "'Kidney' is new",
            "'Ring' is gone",
            "'PTV' has other contours",
            "number 2",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        // Nothing is said where nothing differs.
        let mut same = Case {
            structures: Arc::new(loaded),
            ..Case::default()
        };
        session.restore(&mut same);
        assert_eq!(same.remarks, []);
        assert_eq!(named(&same), [("PTV", 1), ("Cord", 3), ("Ball", 4)]);
    }

    /// A change of the files of a case, and whether it is in the dose of the plan.
    type Change = (&'static str, fn(&mut Case), bool);

    fn structure_named<'a>(case: &'a mut Case, name: &str) -> &'a mut Structure {
        let set = Arc::make_mut(&mut case.structures);
        set.structures
            .iter_mut()
            .find(|s| s.name == name)
            .expect("a structure")
    }

    fn move_structure(case: &mut Case, name: &str) {
        let structure = structure_named(case, name);
        *structure = structure.moved(DVec3::new(0.0, 0.0, 3.0));
    }

    fn change_voxel(case: &mut Case) {
        let ct = Arc::make_mut(case.ct.as_mut().expect("a CT"));
        let mut hu = ct.hu.data().to_vec();
        hu[7] += 1.0;
        ct.hu = Arc::new(Volume::new(Arc::clone(ct.hu.grid()), hu));
    }

    fn change_frame(case: &mut Case) {
        Arc::make_mut(case.ct.as_mut().expect("a CT")).frame_of_reference_uid = "1.2.3".to_owned();
    }

    const CHANGES: [Change; 8] = [
        ("nothing", |_| {}, false),
        ("target", |c| move_structure(c, "PTV"), true),
        ("body", |c| move_structure(c, "BODY"), true),
        (
            "density",
            |c| structure_named(c, "BODY").kind = StructureKind::Bolus,
            true,
        ),
        ("organ", |c| move_structure(c, "Core"), false),
        ("images", change_voxel, true),
        ("frame", change_frame, true),
        (
            "name of the patient",
            |c| c.patient.name = "Roe^Richard".to_owned(),
            true,
        ),
    ];

    #[test]
    fn an_approval_covers_all_that_the_dose_is_made_of() {
        let mut case = demo::build("tg119").unwrap();
        let names: Vec<String> = case
            .structures
            .structures
            .iter()
            .map(|s| s.name.clone())
            .collect();
        let (by, time) = ("Planner".to_owned(), "2026-11-26 21:43:03 UTC".to_owned());
        let plan = Arc::make_mut(&mut case.plans[0]);
        plan.normalisation = Some(Normalisation::to_named("PTV", 95.0, 50.0));
        plan.approval = Some(Approval {
            stage: Stage::Approved,
            by,
            at: time,
            reason: String::new(),
        });
        case.bind_references();
        let session = written(&Session::new(&case, "x", &case.structures, Value::Null));
        for (what, change, is_in_dose) in CHANGES {
            let mut opened = Case {
                plans: Vec::new(),
                ..case.clone()
            };
            change(&mut opened);
            session.restore(&mut opened);
            assert_eq!(
                opened.plans[0].is_approved(),
                !is_in_dose,
                "{what}, of {names:?}"
            );
            assert_eq!(opened.plans[0].remarks.is_empty(), !is_in_dose, "{what}");
            assert_eq!(
                opened.remarks.is_empty(),
                what == "nothing",
                "{what}: {:?}",
                opened.remarks
            );
        }
    }

    #[test]
    fn a_session_is_of_its_patient() {
        let session = Session::new(
            &case_of("P1", "Doe^Jane"),
            "x",
            &StructureSet::default(),
            Value::Null,
        );
        assert_eq!(session.other_patient(&case_of("P1", "Doe^Jane")), None);
        let why = session
            .other_patient(&case_of("P2", "Doe^Jane"))
            .expect("another");
        assert!(why.contains("(P1)") && why.contains("(P2)"), "{why}");
    }

    fn case_of(id: &str, name: &str) -> Case {
        Case {
            patient: PatientInfo {
                id: id.to_owned(),
                name: name.to_owned(),
                ..PatientInfo::default()
            },
            ..Case::default()
        }
    }
}
