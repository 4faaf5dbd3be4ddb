//! RT plan -> plan. Beams that cannot be computed are kept, read-only, with the reason.

use super::object::{AttributeError, Attributes, IfSaid, Item, file_name, keyword, open, within};
use super::rtbeam::{Refusal, read_beam};
use super::{DicomError, OWN_MANUFACTURER};
use case::{AbsentBeam, Approval, Beam, PatientInfo, Plan, Remark, Severity, Stage, bounds};
use dicom_dictionary_std::tags;
use geometry::PatientPosition;
use input::plain;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Reads a plan; `images` is the patient position of its images, for a plan that states none. Machines
/// of treatment sites are unknown here: each beam gets the generic model of its energy.
///
/// # Errors
/// [`DicomError`] with the file's name where it cannot be read, has no external beams or contradicts itself.
pub fn read_plan(path: &Path, images: Option<PatientPosition>) -> Result<Plan, DicomError> {
    let object = open(path)?;
    let ion = object.items(tags::ION_BEAM_SEQUENCE);
    let beams = if ion.is_empty() {
        object.items(tags::BEAM_SEQUENCE)
    } else {
        ion
    };
    if beams.is_empty() {
        let what = "it has no external beams (BeamSequence): a brachytherapy plan, or an empty one"
            .to_owned();
        return Err(DicomError::Unsupported {
            path: path.to_owned(),
            what,
        });
    }
    let groups = object.items(tags::FRACTION_GROUP_SEQUENCE);
    let mut notes = Notes::new(path);
    let mut facts = PlanFacts {
        ion: !ion.is_empty(),
        metersets: metersets(groups, &mut notes),
        setups: object.items(tags::PATIENT_SETUP_SEQUENCE),
        position: Ok(PatientPosition::default()),
        not_modelled: Vec::new(),
    };
    let fractions = fractions_of(groups, &mut facts.not_modelled, &mut notes);
    facts.position = position_of(facts.setups, images, &mut facts.not_modelled, &mut notes);
    let mut numbers = HashSet::new();
    let mut read = Vec::with_capacity(beams.len());
    for item in beams {
        let beam =
            read_beam(item, &facts, &mut notes).map_err(|what| DicomError::Contradiction {
                path: path.to_owned(),
                what,
            })?;
        if !numbers.insert(beam.number) {
            let what = format!("two of its beams have the BeamNumber {}", beam.number);
            return Err(DicomError::Contradiction {
                path: path.to_owned(),
                what,
            });
        }
        read.push(beam);
    }
    let absent_beams = absent_beams(&facts.metersets, &numbers, &mut notes);
    remark_brachytherapy(groups, &mut notes);
    // A label has 16 characters at most: the name is longer where it begins with the label.
    let (label, long) = (
        object.text(tags::RT_PLAN_LABEL),
        object.text(tags::RT_PLAN_NAME),
    );
    let long = long.filter(|long| label.as_ref().is_none_or(|label| is_beginning(label, long)));
    let name = long.or(label).unwrap_or_else(|| file_name(path));
    let mut plan = Plan {
        machine: main_machine(&read),
        position: facts.position.unwrap_or(images.unwrap_or_default()),
        prescription_gy: prescription_gy(object.items(tags::DOSE_REFERENCE_SEQUENCE), &mut notes),
        fractions,
        beams: read,
        absent_beams,
        uid: object.text(tags::SOP_INSTANCE_UID),
        ..Plan::new(&name, "")
    };
    for beam in &mut plan.beams {
        if beam.machine.as_ref() == Some(&plan.machine) {
            beam.machine = None;
        }
    }
    note_machines(beams, &plan, &mut notes);
    plan.approval = read_approval(&object);
    if plan
        .approval
        .as_ref()
        .is_some_and(|approval| approval.stage == Stage::Rejected)
    {
        notes.warn("the plan was rejected (ApprovalStatus)".to_owned());
    }
    plan.remarks = notes.into_remarks();
    // Beams with a fault are read-only by now, and numbers out of bounds passed over in words.
    match plan.fault() {
        Some(fault) => Err(DicomError::Contradiction {
            path: path.to_owned(),
            what: fault.to_string(),
        }),
        None => Ok(plan),
    }
}

/// The record of a review (PS3.3, C.8.8.16). Names and times that are not legible stay out; the zone of a time is known in what
/// this program wrote, in UTC.
fn read_approval(object: &Item) -> Option<Approval> {
    let stage = match object.text_or_empty(tags::APPROVAL_STATUS).as_str() {
        "APPROVED" => Stage::Approved,
        "REJECTED" => Stage::Rejected,
        _ => return None,
    };
    let (date, time) = (
        object.text_or_empty(tags::REVIEW_DATE),
        object.text_or_empty(tags::REVIEW_TIME),
    );
    let parts: Option<Vec<&str>> = [
        (&date, 0..4),
        (&date, 4..6),
        (&date, 6..8),
        (&time, 0..2),
        (&time, 2..4),
        (&time, 4..6),
    ]
    .into_iter()
    .map(|(text, range)| {
        text.get(range)
            .filter(|part: &&str| part.bytes().all(|b| b.is_ascii_digit()))
    })
    .collect();
    let zone = if object.text_or_empty(tags::MANUFACTURER) == OWN_MANUFACTURER {
        " UTC"
    } else {
        ""
    };
    let time = parts.map(|p| {
        format!(
            "{}-{}-{} {}:{}:{}{zone}",
            p[0], p[1], p[2], p[3], p[4], p[5]
        )
    });
    let by = PatientInfo {
        name: object.text_or_empty(tags::REVIEWER_NAME),
        ..PatientInfo::default()
    }
    .in_words();
    let by = plain(&by).chars().take(64).collect();
    Some(Approval {
        stage,
        by,
        at: time.unwrap_or_default(),
        reason: String::new(),
    })
}

/// Whether a label is the beginning of a name, or one that an export has numbered because another plan begins likewise.
fn is_beginning(label: &str, name: &str) -> bool {
    name.starts_with(label) || is_numbered(label, name).unwrap_or(false)
}

/// Whether a label is a plan's name, cut short and numbered, as this program writes labels that two plans would share.
fn is_numbered(label: &str, name: &str) -> Option<bool> {
    let (beginning, number) = label.rsplit_once('-')?;
    let is_cut = label.chars().count() == 16 || name.trim() == beginning;
    Some(is_cut && number.parse::<u32>().is_ok() && name.starts_with(beginning))
}

/// The plan's attributes that apply to all its beams.
pub(super) struct PlanFacts<'a> {
    pub ion: bool,
    /// Monitor units per fraction by beam number, or why there are none.
    metersets: HashMap<i64, Result<f64, String>>,
    setups: &'a [Item],
    /// The patient position, or why it is unknown.
    position: Result<PatientPosition, String>,
    /// Assumptions about all beams, which are caveats of their doses.
    pub not_modelled: Vec<String>,
}

impl PlanFacts<'_> {
    /// Monitor units per fraction, or why there are none.
    pub(super) fn meterset_of(&self, number: u32) -> Result<f64, String> {
        self.metersets
            .get(&i64::from(number))
            .cloned()
            .unwrap_or_else(|| {
            Err("no fraction group gives it monitor units (FractionGroupSequence, ReferencedBeamSequence, \
                 ReferencedBeamNumber)"
                .to_owned())
        })
    }

    /// Refuses a beam for another patient position: it would enter from another side.
    pub(super) fn refuse_position(&self, beam: &Item, refusal: &mut Refusal) {
        let plan = match &self.position {
            Ok(position) => *position,
            Err(why) => return refusal.because(why.clone()),
        };
        let codes = codes_of(self.setups);
        if codes.len() < 2 {
            return;
        }
        let wanted = refusal.given(beam.try_whole(tags::REFERENCED_PATIENT_SETUP_NUMBER));
        let stated_position = self
            .setups
            .iter()
            .filter(|setup| {
                wanted.is_some() && setup.try_whole(tags::PATIENT_SETUP_NUMBER).ok() == wanted
            })
            .find_map(|setup| setup.text(tags::PATIENT_POSITION));
        match stated_position.map(|code| (code.parse(), code)) {
            Some((Ok::<PatientPosition, _>(position), _)) if position == plan => {}
            Some((_, code)) => {
                refusal.because(format!(
                    "its PatientPosition is {code}, that of the plan's first setup {plan}"
                ));
            }
            None => {
                let wanted = wanted.unwrap_or_default();
                refusal.because(format!(
                    "its ReferencedPatientSetupNumber {wanted} is that of no setup with a PatientPosition"
                ));
            }
        }
    }
}

/// Remarks on one plan; a remark shared by several beams is made once.
pub(super) struct Notes {
    file: String,
    remarks: Vec<Remark>,
    /// Severity, message, and the beams concerned.
    of_beams: Vec<(Severity, String, Vec<String>)>,
}

impl Notes {
    fn new(path: &Path) -> Self {
        Self {
            file: file_name(path),
            remarks: Vec::new(),
            of_beams: Vec::new(),
        }
    }

    fn warn(&mut self, message: String) {
        self.remark(self.warning(message));
    }

    fn warning(&self, message: String) -> Remark {
        Remark::warning(message, vec![self.file.clone()])
    }

    fn remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }

    fn note(&mut self, message: String) {
        self.remarks
            .push(Remark::note(message, vec![self.file.clone()]));
    }

    pub(super) fn warn_beam(&mut self, beam: &str, what: &str) {
        self.say_of(Severity::Warning, beam, what);
    }

    pub(super) fn note_beam(&mut self, beam: &str, what: &str) {
        self.say_of(Severity::Note, beam, what);
    }

    fn say_of(&mut self, severity: Severity, beam: &str, what: &str) {
        match self
            .of_beams
            .iter_mut()
            .find(|(s, w, _)| *s == severity && w == what)
        {
            Some((_, _, beams)) => beams.push(beam.to_owned()),
            None => self
                .of_beams
                .push((severity, what.to_owned(), vec![beam.to_owned()])),
        }
    }

    fn into_remarks(mut self) -> Vec<Remark> {
        for (severity, what, beams) in self.of_beams {
            let message = format!("beam '{}': {what}", beams.join("', '"));
            let files = vec![self.file.clone()];
            self.remarks.push(match severity {
                Severity::Note => Remark::note(message, files),
                Severity::Warning => Remark::warning(message, files),
            });
        }
        self.remarks
    }
}

/// Monitor units per fraction by beam number. A beam of a group with other fractions than the first, or of
/// two groups, has no value that the plan's fractions could multiply.
fn metersets(groups: &[Item], notes: &mut Notes) -> HashMap<i64, Result<f64, String>> {
    let mut mu_of_beams: HashMap<i64, Result<f64, String>> = HashMap::new();
    for (n, group) in groups.iter().enumerate() {
        let beams = group.items(tags::REFERENCED_BEAM_SEQUENCE);
        if let Ok(Some(declared)) = group.try_whole(tags::NUMBER_OF_BEAMS).optional()
            && declared != beams.len() as i64
        {
            notes.warn(format!(
                "fraction group {}: its NumberOfBeams is {declared}, it refers to {}",
                n + 1,
                beams.len()
            ));
        }
        for beam in beams {
            let number = match beam.try_whole(tags::REFERENCED_BEAM_NUMBER) {
                Ok(number) => number,
                Err(error) => {
                    notes.warn(format!(
                        "fraction group {}: a beam in it is passed over: {error}",
                        n + 1
                    ));
                    continue;
                }
            };
            let mu = beam
                .try_number(tags::BEAM_METERSET)
                .and_then(|mu| within(tags::BEAM_METERSET, mu, bounds::MU))
                .map_err(|error| error.to_string());
            let mu = if mu_of_beams.contains_key(&number) {
                Err(format!(
                    "fraction groups refer to it twice (ReferencedBeamNumber {number})"
                ))
            } else if planned_fractions(group) != planned_fractions(&groups[0]) {
                Err(format!(
                    "fraction group {} has another {} than the first",
                    n + 1,
                    keyword(tags::NUMBER_OF_FRACTIONS_PLANNED)
                ))
            } else {
                mu
            };
            mu_of_beams.insert(number, mu);
        }
    }
    mu_of_beams
}

fn planned_fractions(group: &Item) -> Option<i64> {
    group.try_whole(tags::NUMBER_OF_FRACTIONS_PLANNED).ok()
}

/// Beams that fraction groups deliver and the plan lacks; those without monitor units deliver nothing.
fn absent_beams(
    metersets: &HashMap<i64, Result<f64, String>>,
    in_plan: &HashSet<u32>,
    notes: &mut Notes,
) -> Vec<AbsentBeam> {
    let mut absent: Vec<(i64, &Result<f64, String>)> = metersets
        .iter()
        .filter(|(number, _)| {
            !u32::try_from(**number).is_ok_and(|number| in_plan.contains(&number))
        })
        .map(|(number, mu)| (*number, mu))
        .collect();
    absent.sort_by_key(|(number, _)| *number);
    let mut delivered = Vec::new();
    for (number, mu) in absent {
        let refers = format!(
            "a fraction group refers to beam {number} (ReferencedBeamNumber), which is not in the plan"
        );
        match mu {
            Ok(mu) if *mu > 0.0 => {
                notes.warn(format!("{refers}, and delivers {mu} MU by it in each fraction: the plan's dose is not whole without it"));
                delivered.push(AbsentBeam { number, mu: *mu });
            }
            Ok(_) => notes.warn(refers),
            Err(why) => notes.remark(
                notes
                    .warning(format!("{refers}: {why}"))
                    .forbidding(format!("beam {number} not in the plan")),
            ),
        }
    }
    delivered
}

/// Sources in the patient add a dose that is not computed.
fn remark_brachytherapy(groups: &[Item], notes: &mut Notes) {
    if groups.iter().any(|group: &Item| {
        let declared = group
            .whole(tags::NUMBER_OF_BRACHY_APPLICATION_SETUPS)
            .is_some_and(|n| n > 0);
        declared
            || !group
                .items(tags::REFERENCED_BRACHY_APPLICATION_SETUP_SEQUENCE)
                .is_empty()
    }) {
        let message = "a fraction group delivers brachytherapy beside the beams (NumberOfBrachyApplicationSetups): its dose is not computed";
        notes.remark(
            notes
                .warning(message.to_owned())
                .forbidding("brachytherapy not counted"),
        );
    }
}

fn fractions_of(groups: &[Item], not_modelled: &mut Vec<String>, notes: &mut Notes) -> u32 {
    if groups.len() > 1 {
        notes.warn(format!(
            "the plan has {} fraction groups; the number of fractions is that of the first",
            groups.len()
        ));
    }
    let tag = tags::NUMBER_OF_FRACTIONS_PLANNED;
    let declared = match groups.first() {
        Some(group) => group.try_whole(tag),
        None => Err(AttributeError::Missing(tag)),
    };
    let [fewest, most_fractions] =
        [bounds::FRACTIONS.start(), bounds::FRACTIONS.end()].map(|n| f64::from(*n));
    let counted = declared.and_then(|n| within(tag, n as f64, fewest..=most_fractions));
    counted.map(|n| n as u32).unwrap_or_else(|error| {
        notes.warn(format!(
            "the number of fractions is not known: {error}; 1 is used"
        ));
        not_modelled.push("fractions not known, 1 counted".to_owned());
        1
    })
}

/// The highest dose prescribed to a target, Gy for the course.
fn prescription_gy(references: &[Item], notes: &mut Notes) -> Option<f64> {
    let tag = tags::TARGET_PRESCRIPTION_DOSE;
    let mut all_gy: Vec<f64> = Vec::new();
    for reference in references {
        if reference
            .text(tags::DOSE_REFERENCE_TYPE)
            .is_some_and(|kind| kind != "TARGET")
        {
            continue;
        }
        let read = reference
            .try_number(tag)
            .and_then(|gy| within(tag, gy, 0.0..=bounds::MOST_COURSE_GY));
        match read.optional() {
            Ok(declared) => all_gy.extend(declared.filter(|&gy| gy > 0.0)),
            Err(error) => notes.warn(format!("a prescription is passed over: {error}")),
        }
    }
    all_gy.sort_by(f64::total_cmp);
    all_gy.dedup();
    let (&most_gy, lower) = all_gy.split_last()?;
    if !lower.is_empty() {
        let lower: Vec<String> = lower.iter().map(|gy| format!("{gy} Gy")).collect();
        let message = format!(
            "the plan prescribes {most_gy} Gy to a target and {} to others (TargetPrescriptionDose): 100 % is {most_gy} Gy for all",
            lower.join(", ")
        );
        notes.remark(notes.warning(message));
    }
    Some(most_gy)
}

fn codes_of(setups: &[Item]) -> BTreeSet<String> {
    setups
        .iter()
        .filter_map(|setup| setup.text(tags::PATIENT_POSITION))
        .collect()
}

fn position_of(
    setups: &[Item],
    images: Option<PatientPosition>,
    not_modelled: &mut Vec<String>,
    notes: &mut Notes,
) -> Result<PatientPosition, String> {
    let codes = codes_of(setups);
    if codes.len() > 1 {
        notes.warn(format!(
            "the plan has several patient positions ({}); beams of another than the first are not computed",
            codes.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ));
    }
    match setups
        .iter()
        .find_map(|setup| setup.text(tags::PATIENT_POSITION))
    {
        Some(code) => code
            .parse()
            .map_err(|reason| format!("the plan's PatientPosition is not known: {reason}")),
        None => {
            let position = images.unwrap_or_default();
            notes.warn(format!(
                "the plan has no PatientPosition; {position} is used"
            ));
            not_modelled.push(format!(
                "position of the patient not stated, {position} taken"
            ));
            Ok(position)
        }
    }
}

/// The machine of most beams.
fn main_machine(beams: &[Beam]) -> String {
    let machines = || beams.iter().filter_map(|b| b.machine.as_deref());
    // The first of equally frequent ones: max_by_key would return the last.
    machines()
        .rev()
        .max_by_key(|name| machines().filter(|m| m == name).count())
        .unwrap_or_default()
        .to_owned()
}

fn note_machines(items: &[Item], plan: &Plan, notes: &mut Notes) {
    let declared: BTreeSet<String> = items
        .iter()
        .filter_map(|b| b.text(tags::TREATMENT_MACHINE_NAME))
        .collect();
    let used: BTreeSet<&str> = plan
        .beams
        .iter()
        .filter(|b| b.read_only.is_none())
        .map(|b| plan.machine_of(b))
        .collect();
    if !used.is_empty() {
        let declared = match declared.into_iter().collect::<Vec<_>>().join("', '") {
            none if none.is_empty() => "the file names no treatment machine".to_owned(),
            some => format!("treatment machine '{some}' of the file"),
        };
        let used = used.into_iter().collect::<Vec<_>>().join(", ");
        notes.note(format!(
            "{declared}: doses are computed with the shipped {used}"
        ));
    }
}
