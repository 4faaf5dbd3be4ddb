//! Doses of beams that are known again in another run of the program: by the content of all that they are made from. An
//! identity stands for content within one run only.

use super::beam::{BeamResult, DoseOfBeam};
use case::{Ct, Dose, Structure};
use files::session::digest_of_ct;
use files::{BeamPlace, DoseToKeep, InputDigests, KeptDoses, NamedDose};
use input::{content_digest, content_digest_of};
use physics::{Machine, MachineContents};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

/// The beams of a case as it was opened, and the doses that were kept of them. Beams that have changed since are not looked for: a
/// drag would be held up.
#[derive(Clone, Debug)]
pub struct DosesOfOpened {
    pub doses: Vec<KeptDoses>,
    pub beams: Vec<(BeamPlace, DoseOfBeam)>,
}

impl DosesOfOpened {
    /// The dose of a beam, with the state of the machine file that it is of.
    pub(super) fn dose_of(&self, beam: &DoseOfBeam) -> Option<(Dose, MachineContents)> {
        if !self.beams.iter().any(|(_, opened)| opened == beam) {
            return None;
        }
        let contents = Machine::contents(&beam.inputs().machine);
        let inputs = beam.input_digests(&contents)?;
        let dose = self.doses.iter().find_map(|kept| kept.read(&inputs))?;
        Some((dose, contents))
    }

    /// Beams whose dose was kept and is computed again, and why, in a sentence; `None` where every dose that was kept is taken.
    /// `kept` has the beams that a session names; without it those count that its doses name. `with` says what they were kept with.
    pub fn computed_again(&self, kept: Option<&[BeamPlace]>, with: &str) -> Option<String> {
        let surveys: Vec<_> = self.doses.iter().map(KeptDoses::survey).collect();
        let named: Vec<&NamedDose> = surveys.iter().flat_map(|survey| &survey.doses).collect();
        let is_damaged = surveys.iter().any(|survey| survey.is_damaged);
        let kept_beams = self.beams.iter().filter(|(place, _)| match kept {
            Some(kept) => kept.contains(place),
            None => named.iter().any(|dose| dose.of == *place),
        });
        let beams: Vec<_> = kept_beams.collect();
        let mut reasons = Vec::new();
        let mut again = 0;
        for (place, beam) in &beams {
            let inputs = beam.input_digests(&Machine::contents(&beam.inputs().machine));
            let mut of_inputs = named
                .iter()
                .filter(|dose| inputs.as_ref() == Some(&dose.inputs));
            if of_inputs.clone().any(|dose| dose.is_whole) {
                continue;
            }
            again += 1;
            let of_place = named.iter().find(|dose| dose.of == *place && dose.is_whole);
            let reason = match (&inputs, of_place) {
                (None, _) => "of a machine file that cannot be read",
                _ if of_inputs.next().is_some() => "damaged",
                (Some(inputs), Some(dose)) => dose.inputs.difference(inputs).unwrap_or("damaged"),
                _ if is_damaged || named.iter().any(|dose| dose.of == *place) => "damaged",
                _ => "missing",
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let (beams, is, doses) = match (beams.len(), again) {
            (_, 0) => return None,
            (1, _) => ("beam".to_owned(), "is", "the dose"),
            (count, 1) => (format!("of {count} beams"), "is", "the dose"),
            (count, _) => (format!("of {count} beams"), "are", "the doses"),
        };
        Some(format!(
            "{again} {beams} {is} computed again: {doses} kept with {with} {is} {}.",
            reasons.join(" or ")
        ))
    }
}

impl DoseOfBeam {
    /// The dose of a beam of a case as files keep it; `None` where a file that it depends on cannot be read.
    pub fn to_keep(&self, place: BeamPlace, result: Option<&BeamResult>) -> Option<DoseToKeep> {
        let computed =
            result.and_then(|result| Some((Arc::clone(&result.dose), result.machine.clone()?)));
        let (dose, machine) = computed.unzip();
        let machine = machine.unwrap_or_else(|| Machine::contents(&self.inputs().machine));
        Some(DoseToKeep {
            of: place,
            inputs: self.input_digests(&machine)?,
            dose,
        })
    }

    /// Digests of all that the dose is computed from, with a state of its machine file; `None` where a file cannot be read.
    pub fn input_digests(&self, contents: &MachineContents) -> Option<InputDigests> {
        if *contents == MachineContents::Unreadable {
            return None;
        }
        let inputs = &**self.inputs();

        let mut patient = format!(
            "{:?}\n{}\n",
            inputs.patient.choice,
            inputs.patient.hu_table.to_toml()
        );
        self.densities()
            .counted_structures()
            .for_each(|structure| add_structure(&mut patient, structure));
        Some(InputDigests {
            program: program()?.to_owned(),
            images: images_digest(self.densities().ct())?,
            patient: digest(&patient)?,
            machine: digest(&format!("{:?} {contents:?}", inputs.machine))?,
            settings: digest(&format!("{:?}", inputs.settings.computation()))?,
            beam: digest(&format!("{:?} {:?}", inputs.position, inputs.beam))?,
        })
    }
}

fn digest(text: &str) -> Option<String> {
    content_digest_of(&mut text.as_bytes()).ok()
}

fn add_structure(text: &mut String, structure: &Structure) {
    let Structure {
        number,
        name,
        kind,
        density,
        contours,
        ..
    } = structure;
    let _ = writeln!(text, "{number} {name:?} {kind:?} {density:?}");
    contours.iter().for_each(|contour| {
        let _ = writeln!(text, "{:?}", contour.points_mm);
    });
}

/// Another build may compute otherwise.
fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| content_digest(&std::env::current_exe().ok()?).ok())
        .as_deref()
}

fn images_digest(ct: &Ct) -> Option<String> {
    Some(format!(
        "{} {}",
        digest_of_ct(ct)?,
        ct.frame_of_reference_uid
    ))
}
