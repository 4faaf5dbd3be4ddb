//! The patient: densities inside the body, and structures as voxels.

use super::graph::{Access, Failure, Priority, Query};
use super::inputs::{PatientInputs, Settings, patient_grid};
use analysis::{Body, BodyChoice, DensityOverrides, Ready, mask_after};
use case::{Beam, Case, Contours, Ct, Structure, StructureSet};
use geometry::{Grid, Mask, Volume, VolumeId};
use std::sync::Arc;

/// Densities and materials of a CT.
#[derive(Clone, Debug)]
pub struct Densities {
    pub inputs: PatientInputs,
    ct: Arc<Ct>,
    structures: Arc<StructureSet>,
}

impl Densities {
    /// The query of the current case; `None` without a CT.
    pub fn new(case: &Case, settings: &Settings) -> Option<Self> {
        let inputs = PatientInputs::new(case, settings)?;
        Some(Self {
            inputs,
            ct: case.ct.clone()?,
            structures: Arc::clone(&case.structures),
        })
    }

    /// The patient as a beam meets it: without the boluses that are taken off for the beam.
    #[must_use]
    pub fn for_beam(&self, beam: &Beam) -> Self {
        if self.structures.structures.iter().all(|s| beam.meets(s)) {
            return self.clone();
        }
        let mut structures = StructureSet::clone(&self.structures);
        structures.structures.retain(|s| beam.meets(s));
        let PatientInputs {
            ct,
            hu_table,
            choice,
            ..
        } = &self.inputs;
        let inputs = PatientInputs::with(*ct, &structures, hu_table, *choice);
        Self {
            inputs,
            ct: Arc::clone(&self.ct),
            structures: Arc::new(structures),
        }
    }

    pub fn ct(&self) -> &Arc<Ct> {
        &self.ct
    }

    /// The structures that the densities depend on.
    pub(super) fn counted_structures(&self) -> impl Iterator<Item = &Structure> {
        let PatientInputs {
            choice,
            body,
            given: overrides,
            without_density,
            ..
        } = &self.inputs;
        self.structures.structures.iter().filter(move |structure| {
            let id = structure.contours.id();
            // A body that is looked for in the CT leaves out others.
            *choice == BodyChoice::Auto
                || *body == Some(id)
                || overrides.iter().any(|(contours, ..)| *contours == id)
                || without_density.contains(&id)
        })
    }
}

impl Densities {
    fn failure(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Here(format!("{}: {error}", self.name()))
    }
}

impl PartialEq for Densities {
    fn eq(&self, other: &Self) -> bool {
        self.inputs == other.inputs
    }
}

impl Query for Densities {
    type Answer = Ready;

    const PRIORITY: Option<Priority> = Some(Priority::Densities);
    const LISTED: bool = true;

    fn name(&self) -> String {
        "Densities of the patient".to_owned()
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Ready, Failure> {
        let Self {
            inputs: PatientInputs {
                hu_table, choice, ..
            },
            ct,
            structures,
        } = self;

        let body =
            Body::new(ct, structures, *choice, inputs.control()).map_err(|e| self.failure(&e));
        inputs.control().check()?;
        let body = body?;
        let overrides = DensityOverrides::new(ct, structures, hu_table, inputs.control());
        inputs.control().check()?;
        let overrides = overrides.map_err(|e| self.failure(&e))?;
        Ready::new(ct, hu_table, body, overrides).map_err(|e| self.failure(&e))
    }
}

/// The voxels of a structure, on the patient's grid as a rule.
#[derive(Clone, Debug)]
pub struct MaskOf {
    structure: Structure,
    grid: Arc<Grid>,
    /// The volume of the grid.
    images: VolumeId,
    /// The contours before the last change, with their mask: planes that are the same are copied. No input: the
    /// answer is the same without it.
    former: Option<(Contours, Arc<Mask>)>,
}

impl MaskOf {
    pub fn structure_name(&self) -> &str {
        &self.structure.name
    }

    pub(super) fn structure(&self) -> &Structure {
        &self.structure
    }

    /// `None` where there are no images, or the structure has no contours.
    pub fn new(case: &Case, structure: &Structure) -> Option<Self> {
        let (grid, images) = patient_grid(case)?;
        (!structure.contours.is_empty()).then(|| Self {
            structure: structure.clone(),
            grid,
            images,
            former: None,
        })
    }

    /// With an earlier answer, of which unchanged planes are taken.
    #[must_use]
    pub fn after(self, earlier: Option<(&Self, &Arc<Mask>)>) -> Self {
        let earlier = earlier.filter(|(query, _)| query.images == self.images && **query != self);
        let former =
            earlier.map(|(query, mask)| (query.structure.contours.clone(), Arc::clone(mask)));
        Self { former, ..self }
    }

    /// On the grid of a volume.
    pub fn on(volume: &Volume<f32>, structure: &Structure) -> Self {
        Self {
            structure: structure.clone(),
            grid: Arc::clone(volume.grid()),
            images: volume.id(),
            former: None,
        }
    }
}

impl PartialEq for MaskOf {
    fn eq(&self, other: &Self) -> bool {
        self.images == other.images && self.structure.contours.id() == other.structure.contours.id()
    }
}

impl Query for MaskOf {
    type Answer = Arc<Mask>;

    const PRIORITY: Option<Priority> = Some(Priority::Basis(1));
    const NOTICED: bool = false;

    fn name(&self) -> String {
        format!("Volume of {}", self.structure.name)
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<Mask>, Failure> {
        let former = self
            .former
            .as_ref()
            .map(|(contours, mask)| (contours, &**mask));
        let mask = mask_after(&self.grid, &self.structure, former, inputs.control());
        inputs.control().check()?;
        mask.map(Arc::new)
            .map_err(|e| Failure::Here(format!("{}: {e}", self.structure.name)))
    }
}
