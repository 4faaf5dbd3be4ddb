//! Inputs of results: equal inputs give equal results.

use analysis::{BodyChoice, Computation, body_of, is_without_density, unit_beam};
use case::{Beam, Case, DensityOverride, DoseEngine, Plan, StructureKind, StructureSet};
use engine::DeviceChoice;
use engine::dose::{DoseTo, Quality};
use geometry::{Grid, PatientPosition, VolumeId};
use physics::HuTable;
use std::sync::Arc;

/// Settings of the dose computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Engine of single beams ([`DoseEngine::beam_engine`]): a plan chooses it.
    pub engine: DoseEngine,
    pub quality: Quality,
    pub dose_to: DoseTo,
    pub grid_mm: f64,
    pub device: DeviceChoice,
    pub hu_table: Arc<HuTable>,
    pub body: BodyChoice,
    /// Changes of machine files since the window opened: a dose computed before a change is not of the file.
    pub machine_changes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let Computation {
            engine,
            quality,
            dose_to,
            grid_mm,
            device,
        } = Computation::default();
        let hu_table = Arc::new(HuTable::shipped_default());
        Self {
            engine,
            quality,
            dose_to,
            grid_mm,
            device,
            hu_table,
            body: BodyChoice::default(),
            machine_changes: 0,
        }
    }
}

impl Settings {
    /// Another case is shown: fineness that was chosen for one patient does not pass to the next. What belongs to the scanner or to the
    /// clinic, the HU table and what doses are to, stays. Both in words, where they are not the usual.
    pub fn begin_case(&mut self) -> Option<String> {
        let usual = Self::default();
        let mut said = Vec::new();
        if self.grid_mm != usual.grid_mm {
            said.push(format!(
                "the dose grid is {} mm again ({} mm before)",
                usual.grid_mm, self.grid_mm
            ));
        }
        if self.quality != usual.quality {
            said.push(format!(
                "the quality is {} again ({} before)",
                usual.quality.word(),
                self.quality.word()
            ));
        }
        (self.grid_mm, self.quality) = (usual.grid_mm, usual.quality);
        if self.hu_table != usual.hu_table {
            said.push(format!("the HU table stays '{}'", self.hu_table.name));
        }
        if self.dose_to != usual.dose_to {
            said.push(format!("doses are still to {}", self.dose_to.word()));
        }
        (!said.is_empty()).then(|| format!("Settings of the case before: {}.", said.join("; ")))
    }

    /// The same settings, beams computed by `engine`.
    #[must_use]
    pub fn by(&self, engine: DoseEngine) -> Self {
        Self {
            engine: engine.beam_engine(),
            ..self.clone()
        }
    }

    pub fn computation(&self) -> Computation {
        let Self {
            engine,
            quality,
            dose_to,
            grid_mm,
            device,
            ..
        } = *self;
        Computation {
            engine,
            quality,
            dose_to,
            grid_mm,
            device,
        }
    }
}

/// The dose in the views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// The sum of all beams.
    #[default]
    Plan,
    /// A beam, by number.
    Beam(u32),
    /// Dose of a beam (by number) from one control point (by index) to the next.
    Point(u32, usize),
    /// A dose of the case, by index.
    Imported(usize),
}

/// Inputs of the patient model.
#[derive(Clone, Debug, PartialEq)]
pub struct PatientInputs {
    pub ct: VolumeId,
    pub hu_table: Arc<HuTable>,
    pub choice: BodyChoice,
    /// Identity of the body's contours, where a drawn body is chosen.
    pub body: Option<u64>,
    /// Structures with densities of their own, by the identity of their contours; the kind of those that count outside the body: a couch
    /// takes the place of a machine file's couch factor, a bolus does not.
    pub given: Vec<(u64, DensityOverride, Option<StructureKind>)>,
    /// Bolus and couch without a density, by the identity of their contours: caveats of a dose where a beam meets them.
    pub without_density: Vec<u64>,
}

impl PatientInputs {
    pub fn new(case: &Case, settings: &Settings) -> Option<Self> {
        let ct = case.ct.as_ref()?.hu.id();
        Some(Self::with(
            ct,
            &case.structures,
            &settings.hu_table,
            settings.body,
        ))
    }

    /// Inputs of a CT with these structures.
    pub fn with(
        ct: VolumeId,
        set: &StructureSet,
        hu_table: &Arc<HuTable>,
        choice: BodyChoice,
    ) -> Self {
        let drawn = match choice {
            BodyChoice::Drawn => body_of(set).map(|b| b.number),
            BodyChoice::Structure(number) => Some(number),
            BodyChoice::Auto | BodyChoice::Everything => None,
        };
        let body = drawn
            .and_then(|number| set.by_number(number))
            .map(|s| s.contours.id());
        let overrides = { set.structures.iter() }.filter_map(|s| {
            Some((
                s.contours.id(),
                s.counted_density()?,
                beside_patient(s.kind),
            ))
        });
        let overrides = overrides.filter(|(contours, ..)| *contours != 0).collect();
        let without_density = set
            .structures
            .iter()
            .filter(|s| is_without_density(s))
            .map(|s| s.contours.id());
        let without_density = without_density.collect();
        Self {
            ct,
            hu_table: Arc::clone(hu_table),
            choice,
            body,
            given: overrides,
            without_density,
        }
    }
}

fn beside_patient(kind: StructureKind) -> Option<StructureKind> {
    kind.is_beside_patient().then_some(kind)
}

/// The grid of the structures' masks, which covers the patient, with the volume it belongs to. The CT's grid;
/// the first dose's without a CT, and where the CT is a single plane, as with some plans.
pub fn patient_grid(case: &Case) -> Option<(Arc<Grid>, VolumeId)> {
    let ct = case.ct.as_ref().map(|ct| (ct.hu.grid(), ct.hu.id()));
    let dose = case
        .doses
        .first()
        .map(|dose| (dose.gy.grid(), dose.gy.id()));
    let (grid, id) = match (ct, dose) {
        (Some(ct), Some(dose)) if ct.0.size()[2] == 1 && dose.0.size()[2] > 1 => dose,
        (ct, dose) => ct.or(dose)?,
    };
    Some((Arc::clone(grid), id))
}

/// Inputs of a beam's dose.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamInputs {
    pub patient: PatientInputs,
    /// The beam with the unit monitor units, and without attributes that do not affect the dose.
    pub beam: Beam,
    pub machine: String,
    pub position: PatientPosition,
    pub settings: Settings,
}

impl BeamInputs {
    pub fn new(patient: &PatientInputs, plan: &Plan, beam: &Beam, settings: &Settings) -> Self {
        let machine = plan.machine_of(beam).to_owned();
        // The patient is without the boluses that are taken off.
        let beam = Beam {
            without_boluses: Vec::new(),
            ..unit_beam(plan, beam)
        };
        let (patient, settings) = (patient.clone(), settings.clone());
        Self {
            patient,
            beam,
            machine,
            position: plan.position,
            settings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Ct, Dose, DoseStatus};
    use geometry::{PatientPosition, Volume};
    use glam::DVec3;

    fn volume(planes: usize) -> Arc<Volume<f32>> {
        let grid =
            Grid::axis_aligned(DVec3::ZERO, DVec3::splat(3.0), [4, 4, planes]).expect("a grid");
        Arc::new(Volume::new(Arc::new(grid), vec![0.0; 16 * planes]))
    }

    fn case(ct_planes: Option<usize>, dose_planes: Option<usize>) -> Case {
        Case {
            ct: ct_planes.map(|planes| Arc::new(Ct::unnamed(volume(planes), PatientPosition::Hfs))),
            doses: dose_planes
                .map(|planes| Arc::new(dose(planes)))
                .into_iter()
                .collect(),
            ..Case::default()
        }
    }

    fn dose(planes: usize) -> Dose {
        Dose {
            gy: volume(planes),
            status: DoseStatus::Imported,
            label: String::new(),
            frame_of_reference_uid: String::new(),
            receipt: None,
            caveats: Vec::new(),
            remarks: Vec::new(),
            part: None,
        }
    }

    fn planes(ct_planes: Option<usize>, dose_planes: Option<usize>) -> Option<usize> {
        patient_grid(&case(ct_planes, dose_planes)).map(|(grid, _)| grid.size()[2])
    }

    #[test]
    fn a_ct_of_one_plane_does_not_cut_structures_down_to_it() {
        assert_eq!(planes(Some(5), Some(7)), Some(5));
        assert_eq!(planes(None, Some(7)), Some(7));
        assert_eq!(planes(Some(1), Some(7)), Some(7));
        assert_eq!(planes(Some(1), Some(1)), Some(1));
        assert_eq!(planes(Some(1), None), Some(1));
        assert_eq!(planes(None, None), None);
    }
}
