//! Influence of beamlets: the dose of every beamlet of a fluence map at sampled voxels, in one pass for all.
//!
//! Equal to one collapsed-cone dose after another, each of a map with a single beamlet (`reference`): same lines, same
//! local correction. What is new is what is left out. A beamlet's focal TERMA is a tube, and only the lines of a direction through the
//! tube carry energy. What the extra-focal source and the electrons give is smooth and scaled from one dose of all beamlets.

use crate::cccs::beam::Field;
use crate::dose::{DoseError, DoseRequest};
use crate::dose::{check, frame_of};
use crate::influence::columns::DoseColumns;
use case::{FluenceMap, Receipt};
use geometry::BeamFrame;
use physics::{BeamletFluence, Exposure, Fluence, Machine, exposures};
use std::sync::Arc;

/// Asks for the doses of the beamlets of a beam at sampled voxels.
#[derive(Clone, Debug)]
pub struct InfluenceRequest {
    /// The beam has one direction and a fluence map, whose values do not matter. All TERMA goes along the directions of the quality:
    /// separate directions for low TERMA would not be linear in the fluence.
    pub dose: DoseRequest,
    /// Indices into the values of the map, ascending.
    pub beamlets: Arc<[usize]>,
    /// Indices into the dose grid, ascending.
    pub voxels: Arc<[usize]>,
}

/// The answer to an [`InfluenceRequest`].
#[derive(Clone, Debug)]
pub struct BeamletDoses {
    /// Gy of one fraction at fluence 1, for the beam's monitor units; a row for each voxel.
    pub columns: Arc<DoseColumns>,
    pub receipt: Arc<Receipt>,
}

/// The one field of a request.
pub struct OpenField {
    pub frame: BeamFrame,
    /// Fluence of the map with all requested beamlets at 1.
    pub flat: Fluence,
    pub beamlets: BeamletFluence,
    pub map: FluenceMap,
    /// Monitor units of the beam that reach the patient.
    pub mu: f64,
}

impl OpenField {
    /// # Errors
    /// [`DoseError`]: no photon beam, no map, a beam that turns, or beamlets that the map does not have.
    pub fn new(request: &InfluenceRequest) -> Result<Self, DoseError> {
        let DoseRequest { machine, beam, .. } = &request.dose;
        check(beam)?;
        let refused = |why: &str| DoseError::Beam {
            beam: beam.name.clone(),
            why: why.to_owned(),
        };
        let Some(map) = &beam.fluence else {
            return Err(refused("it has no fluence map"));
        };
        let mut map = map.clone();
        map.values.fill(0.0);
        for beamlet in &*request.beamlets {
            *map.values
                .get_mut(*beamlet)
                .ok_or_else(|| refused("its fluence map lacks a beamlet"))? = 1.0;
        }
        let mut flat = beam.clone();
        flat.fluence = Some(map.clone());
        let exposures = exposures(&flat, request.dose.quality.arc_step_deg());
        let [exposure]: &[Exposure<'_>; 1] = exposures
            .as_slice()
            .try_into()
            .map_err(|_| refused("it turns while it delivers"))?;
        let (flat_fluence, of_each) = rayon::join(
            || Fluence::new(machine, &flat, exposure),
            || BeamletFluence::new(machine, &flat, &map, exposure),
        );
        Ok(Self {
            frame: frame_of(&request.dose, exposure),
            flat: flat_fluence?,
            beamlets: of_each?,
            mu: exposure.transmitted_mu(machine, beam, &request.dose.patient),
            map,
        })
    }

    /// Answer to the field that the extra-focal source alone gives through all beamlets; `None` where the machine has no such source.
    pub fn by_extra_focal<T, E>(
        &self,
        machine: &Machine,
        answer: impl FnOnce(&Field<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        machine.extra_focal.map_or(Ok(None), |_| {
            let fluence = self.flat.extra_focal_alone();
            answer(&Field {
                machine,
                frame: &self.frame,
                fluence: &fluence,
                electrons_gy: 0.0,
            })
            .map(Some)
        })
    }
}
