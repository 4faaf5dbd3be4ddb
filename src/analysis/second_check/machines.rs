//! Which machine model computes the beams of a plan from elsewhere.

use crate::beam_caveats;
use case::{Beam, Plan};
use files::ChosenMachines;
use physics::{Calibration, Machine};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A treatment machine at a beam quality, and its model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineUse {
    /// As the plan names it; may be empty.
    pub machine: String,
    /// `6 MV`, `6 MV FFF`.
    pub quality: String,
    /// A shipped name or a path.
    pub model: String,
    /// `given`, `remembered`, or `generic`: the shipped one of the energy.
    pub choice: &'static str,
    /// Numbers of its beams.
    pub beams: Vec<u32>,
    /// Why the model does not fit the beams.
    pub why_not: Option<String>,
}

impl MachineUse {
    /// The machine, its beam quality, the model and how it was chosen; `prefix` stands before the model.
    pub fn words(&self, prefix: &str) -> String {
        let machine = if self.machine.is_empty() {
            "a machine without a name"
        } else {
            &self.machine
        };
        format!(
            "{machine}, {}: {prefix}{} ({})",
            self.quality, self.model, self.choice
        )
    }
}

/// The models that beams may be computed with, in the order of preference; without one of them the shipped one of the energy.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// Picked for a treatment machine and a beam quality.
    pub picked: ChosenMachines,
    /// Given for whatever beams they fit, with the word for each.
    pub given: Vec<(String, Arc<Machine>)>,
    /// Kept from earlier choices.
    pub remembered: ChosenMachines,
}

/// Sets the models of the computed beams. `names` has the treatment machines by beam number.
pub fn choose_machines(
    plan: &mut Plan,
    names: &BTreeMap<u32, String>,
    models: &Models,
) -> Vec<MachineUse> {
    let Models {
        picked,
        given: loaded,
        remembered,
    } = models;
    let mut uses: Vec<MachineUse> = Vec::new();
    let default = plan.machine.clone();
    for beam in plan
        .beams
        .iter_mut()
        .filter(|beam| super::super::is_computed(beam))
    {
        let machine = names.get(&beam.number).cloned().unwrap_or_default();
        let quality = quality_of(beam);
        let fitting = loaded
            .iter()
            .find(|(_, model)| unlike(beam, model).is_none());
        let picked = picked.model_of(&machine, &quality);
        let remembered = remembered
            .model_of(&machine, &quality)
            .filter(|_| !machine.is_empty());
        let generic = beam.machine.clone().unwrap_or_else(|| default.clone());
        let (model, choice) = match (picked, fitting, remembered, loaded.first()) {
            (Some(model), ..) => (model.to_owned(), "given"),
            (None, Some((word, _)), ..) => (word.clone(), "given"),
            (None, None, Some(model), _) => (model.to_owned(), "remembered"),
            // One that was meant and does not fit: the reason tells why.
            (None, None, None, Some((word, _))) => (word.clone(), "given"),
            (None, None, None, None) => (generic, "generic"),
        };
        let why_not = match Machine::resolve(&model) {
            Ok(resolved) => unlike(beam, &resolved),
            Err(error) => Some(error.to_string()),
        };
        beam.machine = Some(model.clone());
        let number = beam.number;
        match uses
            .iter_mut()
            .find(|u| u.machine == machine && u.quality == quality && u.model == model)
        {
            Some(machine_use) => machine_use.beams.push(number),
            None => uses.push(MachineUse {
                machine,
                quality,
                model,
                choice,
                beams: vec![number],
                why_not,
            }),
        }
    }
    uses
}

fn quality_of(beam: &Beam) -> String {
    let energy = beam
        .energy_mv
        .map_or("unknown energy".to_owned(), |mv| format!("{mv} MV"));
    if beam.unflattened {
        format!("{energy} FFF")
    } else {
        energy
    }
}

/// Why a machine model does not fit a beam: another energy or filter.
fn unlike(beam: &Beam, model: &Machine) -> Option<String> {
    let bare = Beam {
        not_modelled: Vec::new(),
        accessories: Vec::new(),
        ..beam.clone()
    };
    if beam.energy_mv.is_none() {
        return Some("the plan does not state its energy".to_owned());
    }
    if matches!(model.calibration, Calibration::PhotonFluence {}) {
        return Some(format!(
            "{} has no calibration, so that its dose is not that of monitor units",
            model.name
        ));
    }
    if !model.not_fitted.is_empty() {
        return Some(format!(
            "{} calls itself NOT fitted ({}): fit it to data that determine its numbers, or choose another model",
            model.name,
            model.not_fitted.join("; ")
        ));
    }
    if let Some(caveat) = beam_caveats(&bare, model).first() {
        let quality = quality_of(beam);
        return Some(format!(
            "the plan asks for {quality}, and {} is another machine ({caveat}): choose a model of {quality} (--machine)",
            model.name
        ));
    }
    let lacks_filter = !beam.unflattened && model.is_flattened() == Some(false);
    lacks_filter.then(|| {
        format!(
            "the plan asks for a beam with flattening filter, and {} has none",
            model.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Jaws;
    use glam::DVec3;

    fn plan() -> Plan {
        let mut plan = Plan::new("P", "generic-6mv");
        let beam = |number, mv: f64, unflattened, machine: &str| Beam {
            energy_mv: Some(mv),
            unflattened,
            machine: Some(machine.to_owned()),
            ..Beam::fixed(
                "B",
                number,
                0.0,
                DVec3::ZERO,
                Jaws::symmetric(100.0, 100.0),
                1.0,
            )
        };
        plan.beams = vec![
            beam(1, 6.0, false, "generic-6mv"),
            beam(2, 10.0, false, "generic-10mv"),
            beam(3, 6.0, true, "generic-6mv-fff"),
        ];
        plan
    }

    fn models(words: &[&str], chosen: &ChosenMachines) -> Vec<(String, &'static str, bool)> {
        let loaded: Vec<_> = words
            .iter()
            .map(|word| ((*word).to_owned(), Machine::resolve(word).unwrap()))
            .collect();
        let names = (1..=3).map(|n| (n, "21C".to_owned())).collect();
        let mut plan = plan();
        let models = Models {
            given: loaded,
            remembered: chosen.clone(),
            ..Models::default()
        };
        let uses = choose_machines(&mut plan, &names, &models);
        plan.beams
            .iter()
            .map(|b| {
                let machine_use = uses.iter().find(|u| u.beams.contains(&b.number)).unwrap();
                (
                    b.machine.clone().unwrap(),
                    machine_use.choice,
                    machine_use.why_not.is_none(),
                )
            })
            .collect()
    }

    #[test]
    fn a_model_computes_the_beams_of_its_energy_and_filter_alone() {
        let told = |list: &[(&str, &'static str, bool)]| {
            list.iter()
                .map(|(m, c, fits)| ((*m).to_owned(), *c, *fits))
                .collect::<Vec<_>>()
        };
        let none = ChosenMachines::default();
        let generic = [
            ("generic-6mv", "generic", true),
            ("generic-10mv", "generic", true),
            ("generic-6mv-fff", "generic", true),
        ];
        assert_eq!(models(&[], &none), told(&generic));
        let hd = "generic-6mv-hd120";
        let one = [
            (hd, "given", true),
            (hd, "given", false),
            (hd, "given", false),
        ];
        assert_eq!(models(&[hd], &none), told(&one));
        let mut chosen = ChosenMachines::default();
        chosen.choose("21C", "10 MV", "generic-10mv-hd120");
        chosen.choose("21C", "6 MV FFF", "generic-6mv");
        // A remembered model without the beam's filter is as little its own as one of another energy.
        let kept = [
            (hd, "given", true),
            ("generic-10mv-hd120", "remembered", true),
            ("generic-6mv", "remembered", false),
        ];
        assert_eq!(models(&[hd], &chosen), told(&kept));
        chosen.choose("21C", "10 MV", "/no/such/file.toml");
        assert_eq!(
            models(&[], &chosen)[1],
            ("/no/such/file.toml".to_owned(), "remembered", false)
        );
        assert!(
            !models(&["point-6mv"], &none)[0].2,
            "without calibration there is no dose of a monitor unit"
        );
        assert_eq!(
            models(&["generic-6mv-fff"], &none)[0],
            ("generic-6mv-fff".to_owned(), "given", false)
        );
    }

    /// A model picked by hand goes before all others, for its treatment machine and beam quality alone.
    #[test]
    fn a_picked_model_is_that_of_its_machine_and_quality() {
        let mut models = Models::default();
        models.remembered.choose("A", "6 MV", "generic-6mv-hd120");
        models.remembered.choose("B", "6 MV", "generic-6mv-hd120");
        models.picked.choose("B", "6 MV", "generic-10mv");
        let mut plan = plan();
        plan.beams
            .iter_mut()
            .for_each(|beam| (beam.energy_mv, beam.unflattened) = (Some(6.0), false));
        let names = [(1, "A"), (2, "B"), (3, "B")]
            .map(|(n, name)| (n, name.to_owned()))
            .into();
        let uses = choose_machines(&mut plan, &names, &models);
        let told: Vec<_> = uses
            .iter()
            .map(|u| (u.model.as_str(), u.choice, u.why_not.is_none()))
            .collect();
        assert_eq!(
            told,
            [
                ("generic-6mv-hd120", "remembered", true),
                ("generic-10mv", "given", false)
            ]
        );
        assert_eq!(uses[1].beams, [2, 3]);
    }
}
