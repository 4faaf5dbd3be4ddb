//! The planned side of a second check: its doses, and the beams that cannot be judged whatever is computed.

use super::CheckJob;
use analysis::second_check::{BeamDoses, BeamSum, Item, MachineUse, capital, common_point};
use analysis::{accessory_caveats, is_computed, value_at};
use case::{Beam, BeamDose};
use dicom::StatedPlan;
use physics::Machine;
use std::collections::BTreeMap;

/// Beam doses of a plan whose sum differs more from its dose at their point are of something else, share.
const SAME_SUM: f64 = 0.05;

/// Planned doses to compare with.
pub struct Planned {
    /// The index of the plan's dose.
    pub dose: Option<usize>,
    pub whole: Item,
    /// The treatment beams in order.
    pub beams: Vec<Item>,
    numbers: Vec<u32>,
    /// Indices of the beams' doses.
    pub of_beams: BTreeMap<u32, usize>,
    /// Stated doses that agree with the plan's.
    pub stated: Vec<BeamDose>,
    has_ct: bool,
    pub notes: Vec<String>,
}

impl Planned {
    pub fn new(job: &CheckJob<'_>, stated: &StatedPlan) -> Self {
        let CheckJob { files, plan, .. } = job;
        let mut planned = Self {
            dose: None,
            whole: Item {
                name: "the plan".to_owned(),
                mu: plan.mu(),
                ..Item::default()
            },
            beams: Vec::new(),
            numbers: Vec::new(),
            of_beams: BTreeMap::new(),
            stated: Vec::new(),
            has_ct: files.case.ct.is_some(),
            notes: Vec::new(),
        };
        match files.dose_of_plan(plan) {
            Ok(index) => planned.dose = Some(index),
            Err(why) => planned.whole.not_judged.push(why),
        }
        if !planned.has_ct {
            planned
                .whole
                .not_judged
                .push("There is no CT: nothing can be recomputed.".to_owned());
        }
        for beam in plan.beams.iter().filter(|beam| !beam.setup) {
            let mut item = Item {
                name: format!("beam '{}'", beam.name),
                mu: beam.mu,
                ..Item::default()
            };
            item.not_judged.extend(why_open(beam, &job.machines));
            let dose = files.dose_of_beam(plan, beam.number, &mut item);
            planned
                .of_beams
                .extend(dose.map(|index| (beam.number, index)));
            planned.numbers.push(beam.number);
            planned.beams.push(item);
        }
        if plan.normalisation.is_some() {
            let text = "The plan is normalised here: its monitor units are not those of its file.";
            planned.whole.not_judged.push(text.to_owned());
        }
        if planned.beams.is_empty() {
            planned
                .whole
                .not_judged
                .push("The plan has no treatment beam.".to_owned());
        }
        planned.find_undelivered(job);
        planned.take_stated(job, stated);
        planned
    }

    /// Beams of 0 MU deliver nothing: a planned dose of one is wrong, and one without is none of the plan's dose.
    fn find_undelivered(&mut self, job: &CheckJob<'_>) {
        let doses = &job.files.case.doses;
        let read = self
            .beams
            .iter_mut()
            .zip(&self.numbers)
            .filter(|(item, _)| item.not_judged.is_empty());
        for (item, number) in read.filter(|(item, _)| item.mu <= 0.0) {
            let beam_dose = self.of_beams.get(number).map(|index| &doses[*index]);
            match beam_dose.map(|dose| dose.max_gy()).filter(|gy| *gy > 0.0) {
                Some(gy) => item.wrong.push(format!(
                    "{} delivers nothing, it has 0 MU: its planned dose goes up to {gy:.3} Gy.",
                    capital(&item.name)
                )),
                None => self
                    .notes
                    .push(format!("{} has 0 MU: it delivers nothing", item.name)),
            }
        }
        if !self.beams.is_empty()
            && self.whole.mu <= 0.0
            && self.beams.iter().all(|item| item.not_judged.is_empty())
        {
            let planned = self
                .dose
                .map(|index| doses[index].max_gy())
                .filter(|gy| *gy > 0.0);
            let planned = planned.map_or(String::new(), |gy| {
                format!(", and its planned dose goes up to {gy:.3} Gy")
            });
            self.whole.wrong.push(format!(
                "The plan delivers nothing: all of its beams have 0 MU{planned}."
            ));
        }
    }

    /// The plan's planned dose beside the sum of its beams'; what is to be told of it is noted.
    pub fn beam_sum(&mut self, job: &CheckJob<'_>) -> Option<BeamSum> {
        let doses = &job.files.case.doses;
        let planned = &*doses[self.dose?].gy;
        let of_beams: Vec<_> = self
            .of_beams
            .values()
            .map(|index| &*doses[*index].gy)
            .collect();
        let delivering = self
            .beams
            .iter()
            .zip(&self.numbers)
            .filter(|(item, _)| item.mu > 0.0);
        let missing = delivering.filter(|(_, number)| !self.of_beams.contains_key(number));
        let missing = missing.map(|(item, _)| item.name.clone()).collect();
        if of_beams.is_empty() {
            return None;
        }
        let fractions = job.plan.fractions;
        let sum = BeamDoses {
            planned,
            beams: of_beams,
            missing,
            fractions,
        }
        .compare();
        match &sum {
            None => self.notes.push(
                "the plan's dose is not held against the sum of its beam doses: their grids have no place in common".to_owned(),
            ),
            Some(sum) if sum.worst.is_none() => self.notes.push(sum.words()),
            Some(_) => {}
        }
        sum
    }

    /// The stated beam doses, where they sum up to the plan's dose at their point: some systems state shares of a prescription.
    fn take_stated(&mut self, job: &CheckJob<'_>, stated: &StatedPlan) {
        let beam_doses = self.numbers.iter().map(|n| {
            stated
                .beam_doses
                .iter()
                .find(|dose| dose.beam == *n)
                .copied()
        });
        let Some(beam_doses) = beam_doses.collect::<Option<Vec<BeamDose>>>() else {
            return;
        };
        let Some(dose) = self.dose.map(|index| &job.files.case.doses[index]) else {
            return;
        };
        let Some(point_mm) = common_point(beam_doses.iter().map(|dose| dose.point_mm)) else {
            return;
        };
        let sum_gy =
            f64::from(job.plan.fractions) * beam_doses.iter().map(|dose| dose.gy).sum::<f64>();
        match value_at(&dose.gy, point_mm) {
            Some(gy) if gy > 0.0 && (sum_gy / gy - 1.0).abs() <= SAME_SUM => self.stated = beam_doses,
            Some(gy) => self.notes.push(format!(
                "the plan's beam doses sum up to {sum_gy:.3} Gy at their point, where its dose is {gy:.3} Gy: they are not used"
            )),
            None => {}
        }
    }

    /// Whether some beam can be recomputed, and there is a dose to compare it or the plan with.
    pub fn is_worth_computing(&self) -> bool {
        let mut judged = { self.beams.iter().zip(&self.numbers) }
            .filter(|(item, _)| item.not_judged.is_empty() && item.mu > 0.0);
        self.has_ct
            && judged.clone().count() > 0
            && (self.is_whole() || judged.any(|(_, number)| self.has_dose_of_beam(*number)))
    }

    fn has_dose_of_beam(&self, number: u32) -> bool {
        self.of_beams.contains_key(&number) || self.stated.iter().any(|dose| dose.beam == number)
    }

    /// Says of the plan that it was not compared, and of beams that they were not by themselves.
    pub fn settle(&mut self, notes: &mut Vec<String>) {
        let count = self.beams.len();
        let open = self
            .beams
            .iter()
            .filter(|item| !item.not_judged.is_empty())
            .count();
        if self.whole.agreement.is_none()
            && self.whole.not_judged.is_empty()
            && self.whole.wrong.is_empty()
        {
            let text = format!(
                "The plan as a whole is not compared: {open} of its {count} beams are not judged."
            );
            self.whole.not_judged.push(text);
        }
        let alone = self
            .beams
            .iter()
            .filter(|item| item.agreement.is_none() && item.not_judged.is_empty() && item.mu > 0.0);
        let alone = alone.count();
        if self.whole.agreement.is_some() && alone > 0 {
            notes.push(format!(
                "{alone} of {count} beams have no dose of their own: they count in the plan's alone"
            ));
        }
    }

    /// Whether the plan can be compared as a whole.
    pub fn is_whole(&self) -> bool {
        self.dose.is_some()
            && self.whole.not_judged.is_empty()
            && self.beams.iter().all(|item| item.not_judged.is_empty())
    }
}

/// Why a beam cannot be judged, before anything is computed.
fn why_open(beam: &Beam, machines: &[MachineUse]) -> Vec<String> {
    let name = &beam.name;
    if !is_computed(beam) {
        let otherwise = if beam.off {
            "it is switched off"
        } else {
            "it is no photon beam"
        };
        let why = beam.read_only.as_deref().unwrap_or(otherwise);
        return vec![format!("Beam '{name}' is not judged: {why}.")];
    }
    let of_machine = machines.iter().filter(|m| m.beams.contains(&beam.number));
    let mut reasons: Vec<String> = of_machine
        .filter_map(|m| m.why_not.as_ref())
        .map(|why| format!("Beam '{name}' is not judged: {why}."))
        .collect();
    let not_modelled = not_modelled(beam, machines);
    if !not_modelled.is_empty() {
        reasons.push(format!(
            "Beam '{name}' is not judged: not modelled: {}.",
            not_modelled.join(", ")
        ));
    }
    reasons
}

/// Parts of a beam that its recomputed dose lacks. A model that cannot be read is another reason.
fn not_modelled(beam: &Beam, machines: &[MachineUse]) -> Vec<String> {
    let model = machines
        .iter()
        .find(|used| used.beams.contains(&beam.number))
        .map(|used| used.model.as_str());
    let machine = model.and_then(|model| Machine::resolve(model).ok());
    let accessories = machine.map_or_else(Vec::new, |machine| accessory_caveats(beam, &machine));
    beam.not_modelled
        .iter()
        .cloned()
        .chain(accessories)
        .collect()
}
