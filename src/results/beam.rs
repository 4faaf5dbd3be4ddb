//! The dose of one beam.

use super::graph::{Access, Failure, Grade, Priority, Query};
use super::inputs::{BeamInputs, Settings};
use super::patient::Densities;
use super::shared::Shared;
use analysis::{Computation, DEFAULT_GRID_MM, contradiction, dose_of_beam};
use case::{Beam, Dose, DoseStatus, Plan};
use engine::DeviceChoice;
use engine::dose::Quality;
use physics::{Machine, MachineContents};
use std::sync::Arc;
use worker::Lane;

/// Spacing of the dose grid while a control moves, mm.
const PREVIEW_GRID_MM: f64 = 5.0;
/// The same on few threads of the processor, for one beam: a drag is then followed five times a second.
const PREVIEW_GRID_ON_FEW_MM: f64 = 7.0;
/// No preview is coarser, mm.
const COARSEST_PREVIEW_MM: f64 = 12.0;
/// Fewer threads of the processor are few.
const MANY_THREADS: usize = 4;

/// Grid spacing of the preview of one of `beams` that change together, mm: on few threads all of them share the voxel count of a single
/// beam.
fn preview_grid_mm(beams: usize, is_slow: bool) -> f64 {
    if !is_slow {
        return PREVIEW_GRID_MM;
    }
    (PREVIEW_GRID_ON_FEW_MM * (beams.max(1) as f64).cbrt()).min(COARSEST_PREVIEW_MM)
}

/// The dose of a beam by itself, Gy for one fraction of [`UNIT_MU`](analysis::UNIT_MU) monitor units.
#[derive(Clone, Debug)]
pub struct DoseOfBeam {
    name: String,
    inputs: Shared<BeamInputs>,
    densities: Densities,
    plan: Arc<Plan>,
    /// One of the requested devices, where the beams are spread over them.
    on: Option<DeviceChoice>,
    /// Beams of the plan that changed with this one, itself among them.
    changed_together: usize,
}

#[derive(Clone, Debug)]
pub struct BeamResult {
    pub dose: Arc<Dose>,
    pub max_gy: f64,
    /// The state of the machine file that it is of; `None` where the file changed meanwhile, and for a preview.
    pub machine: Option<MachineContents>,
}

impl BeamResult {
    fn new(name: &str, dose: Dose, machine: Option<MachineContents>) -> Self {
        let dose = Dose {
            label: name.to_owned(),
            ..dose
        };
        Self {
            max_gy: f64::from(dose.max_gy()),
            dose: Arc::new(dose),
            machine,
        }
    }
}

impl DoseOfBeam {
    /// The query of a beam of the plan; `previous` is the previous request.
    pub fn new(
        densities: &Densities,
        plan: &Arc<Plan>,
        beam: &Beam,
        settings: &Settings,
        previous: Option<&Self>,
    ) -> Self {
        let densities = densities.for_beam(beam);
        let inputs = BeamInputs::new(&densities.inputs, plan, beam, settings);
        let inputs = Shared::new(inputs, previous.map(|previous| &previous.inputs));
        let unchanged = previous.filter(|previous| previous.inputs == inputs);
        Self {
            name: beam.name.clone(),
            inputs,
            densities,
            plan: Arc::clone(plan),
            on: None,
            changed_together: unchanged.map_or(1, |previous| previous.changed_together),
        }
    }

    /// The same, one of `beams` of the plan that changed together: a preview of each is the coarser the more they are.
    #[must_use]
    pub fn among(self, beams: usize) -> Self {
        Self {
            changed_together: beams,
            ..self
        }
    }

    /// The same, computed on one of the requested devices.
    #[must_use]
    pub fn on(&self, device: DeviceChoice) -> Self {
        Self {
            on: Some(device),
            ..self.clone()
        }
    }

    pub fn beam_name(&self) -> &str {
        &self.name
    }

    /// The patient as the beam meets it.
    pub fn densities(&self) -> &Densities {
        &self.densities
    }

    pub fn inputs(&self) -> &Shared<BeamInputs> {
        &self.inputs
    }
}

impl PartialEq for DoseOfBeam {
    fn eq(&self, other: &Self) -> bool {
        self.inputs == other.inputs
    }
}

impl Query for DoseOfBeam {
    type Answer = BeamResult;

    const PRIORITY: Option<Priority> = Some(Priority::Beams);
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];
    const LISTED: bool = true;

    fn name(&self) -> String {
        // Many a beam is named "Beam 1".
        let is_named = self
            .name
            .get(..4)
            .is_some_and(|first| first.eq_ignore_ascii_case("beam"));
        format!(
            "Dose of {}{}",
            if is_named { "" } else { "beam " },
            self.name
        )
    }

    fn job_name(&self, grade: Grade) -> String {
        let how = self.inputs.settings.computation();
        let on_this_grid = if how.grid_mm > DEFAULT_GRID_MM {
            DoseStatus::Coarse
        } else {
            DoseStatus::Final
        };
        let status = match grade {
            Grade::Preview => DoseStatus::Preview,
            Grade::Full => how.quality.status().worst(on_this_grid),
        };
        format!("{}, {}", self.name(), status.word())
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn receipt(answer: &BeamResult) -> Option<Arc<case::Receipt>> {
        answer.dose.receipt.clone()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<BeamResult, Failure> {
        let Self {
            name,
            inputs: beam_inputs,
            densities,
            plan,
            on,
            changed_together,
        } = self;
        let in_plan = plan
            .beams
            .iter()
            .find(|b| b.number == beam_inputs.beam.number);
        if let Some(why) = in_plan.and_then(|beam| contradiction(plan, beam, densities.ct())) {
            return Err(Failure::Here(format!("Not computed: {why}.")));
        }
        if let Some((dose, machine)) = inputs
            .doses_of_opened()
            .and_then(|opened| opened.dose_of(self))
        {
            return Ok(BeamResult::new(name, dose, Some(machine)));
        }
        let ready = inputs.get(densities)?;
        let how = beam_inputs.settings.computation();
        let mut how = Computation {
            device: on.unwrap_or(how.device),
            ..how
        };
        if inputs.grade() == Grade::Preview {
            let is_slow =
                rayon::current_num_threads() < MANY_THREADS && !how.device.is_for_a_card();
            let grid_mm = how.grid_mm.max(preview_grid_mm(*changed_together, is_slow));
            how = Computation {
                quality: Quality::Preview,
                grid_mm,
                ..how
            };
        }
        let beam = Beam {
            name: name.clone(),
            ..beam_inputs.beam.clone()
        };
        let is_kept = inputs.grade() == Grade::Full;
        let contents = is_kept.then(|| Machine::contents(&beam_inputs.machine));
        let dose = dose_of_beam(&ready, &beam, &beam_inputs.machine, how, inputs.control());
        inputs.control().check()?;
        let dose = dose.map_err(|e| Failure::Here(format!("{}: {e}", self.name())))?;
        // A machine file that changed meanwhile is not the one that the dose is of.
        let contents =
            contents.filter(|contents| Machine::contents(&beam_inputs.machine) == *contents);
        Ok(BeamResult::new(name, dose, contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative_voxels(beams: usize) -> f64 {
        beams as f64 / preview_grid_mm(beams, true).powi(3)
    }

    #[test]
    fn beams_that_change_together_are_previewed_in_as_many_voxels_as_one() {
        for beams in 2..=5 {
            assert!(
                (relative_voxels(beams) / relative_voxels(1) - 1.0).abs() < 1e-9,
                "{beams} beams"
            );
        }
        assert_eq!(preview_grid_mm(40, true), COARSEST_PREVIEW_MM);
        assert_eq!(
            [1, 5].map(|beams| preview_grid_mm(beams, false)),
            [PREVIEW_GRID_MM; 2]
        );
    }
}
