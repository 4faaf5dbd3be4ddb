//! The nodes: each a pure function of its inputs' results. They call the functions of `analysis` that the command line calls.

use super::{BeamInputs, Certainty, Shown, SumInputs};
use crate::analysis::{Body, BodyChoice, Computation, Dvh, Part, Ready, dose_of_beam, sum_of_beams};
use crate::case::{Beam, Ct, Dose, Normalisation, Plan, StructureSet};
use crate::engine::JobControl;
use crate::engine::cccs::Quality;
use crate::geometry::{Mask, VolumeId};
use crate::physics::HuTable;
use std::sync::Arc;

/// Spacing of the dose grid while something moves, mm.
const PREVIEW_GRID_MM: f64 = 5.0;

/// A beam's dose, Gy for one fraction of [`UNIT_MU`](crate::analysis::UNIT_MU) monitor units.
#[derive(Clone, Debug)]
pub struct BeamResult {
    pub dose: Arc<Dose>,
    pub max_gy: f64,
}

/// A sum of beams, or a dose of a file.
#[derive(Clone, Debug)]
pub struct Summed {
    pub dose: Arc<Dose>,
    pub max_gy: f64,
    /// Of the normalisation, on all monitor units; 1 without one.
    pub factor: f64,
    /// Of a Monte Carlo dose.
    pub certainty: Option<Arc<Certainty>>,
}

/// Densities and materials of a CT.
///
/// # Errors
/// Why the CT gives none.
pub fn patient(
    ct: &Ct,
    table: &HuTable,
    set: &StructureSet,
    body: BodyChoice,
    control: &JobControl,
) -> Result<Ready, String> {
    let body = Body::new(ct, set, body, control).map_err(|e| e.to_string())?;
    control.check().map_err(|e| e.to_string())?;
    Ready::new(ct, table, body).map_err(|e| e.to_string())
}

/// The dose of one beam on a grid round the patient.
///
/// # Errors
/// Why it has none, naming the beam.
pub fn beam(
    name: &str,
    inputs: &BeamInputs,
    ready: &Ready,
    preview: bool,
    control: &JobControl,
) -> Result<BeamResult, String> {
    let mut how = inputs.settings.computation();
    if preview {
        how = Computation { quality: Quality::Preview, grid_mm: how.grid_mm.max(PREVIEW_GRID_MM), ..how };
    }
    let beam = Beam { name: name.to_owned(), ..inputs.beam.clone() };
    let dose =
        dose_of_beam(ready, &beam, &inputs.machine, how, control).map_err(|e| format!("{name}: {e}"))?;
    let dose = Dose { label: name.to_owned(), ..dose };
    let max_gy = f64::from(dose.max_gy());
    Ok(BeamResult { dose: Arc::new(dose), max_gy })
}

/// What the dose on show is made of.
pub struct SumWork {
    pub inputs: SumInputs,
    pub label: String,
    /// None for an imported dose.
    pub plan: Option<Arc<Plan>>,
    /// All parts of the plan; of one beam where the normalisation asks for no more.
    pub parts: Vec<Part>,
    /// The part on show alone, by index.
    pub only: Option<usize>,
    /// With the mask of its structure.
    pub normalisation: Option<(Normalisation, Arc<Mask>)>,
    /// Of a Monte Carlo dose.
    pub certainty: Option<Arc<Certainty>>,
}

/// Adds, normalises, and finds the maximum.
///
/// # Errors
/// Why the doses do not add, or cannot be normalised.
pub fn sum(work: &SumWork, control: &JobControl) -> Result<Summed, String> {
    if let Shown::Imported(_) = work.inputs.what {
        let dose = work.parts.first().ok_or("there is no dose")?.dose.clone();
        return Ok(Summed { max_gy: f64::from(dose.max_gy()), dose, factor: 1.0, certainty: None });
    }
    let normalisation = work.normalisation.as_ref().map(|(wanted, mask)| (wanted, &**mask));
    let (dose, factor) =
        sum_of_beams(&work.label, work.plan.as_deref(), &work.parts, work.only, normalisation, control)
            .map_err(|e| e.to_string())?;
    let certainty = work.certainty.clone();
    Ok(Summed { max_gy: f64::from(dose.max_gy()), dose: Arc::new(dose), factor, certainty })
}

/// A structure's DVH, or why it has none.
#[derive(Debug)]
pub struct DvhAnswer {
    pub structure: u32,
    pub inputs: (u64, VolumeId),
    pub dvh: Result<Arc<Dvh>, String>,
    /// Of a Monte Carlo dose: which run, and the mean relative standard deviation in the structure.
    pub run: Option<(u64, Option<f64>)>,
}

/// One structure of a DVH job.
pub struct DvhWork {
    pub structure: u32,
    pub inputs: (u64, VolumeId),
    pub mask: Arc<Mask>,
    /// Of a Monte Carlo dose.
    pub certainty: Option<Arc<Certainty>>,
}

/// The DVHs of several structures in one dose.
///
/// # Errors
/// When it is cancelled.
pub fn dvhs(work: &[DvhWork], dose: &Dose, control: &JobControl) -> Result<Vec<DvhAnswer>, String> {
    work.iter()
        .enumerate()
        .map(|(n, w)| {
            let dvh = Dvh::new(&w.mask, &dose.gy, &control.child()).map(Arc::new).map_err(|e| e.to_string());
            control.check().map_err(|e| e.to_string())?;
            control.report((n + 1) as f32 / work.len() as f32);
            let run = w.certainty.as_ref().map(|c| (c.run, c.spread.mean_percent(&w.mask)));
            Ok(DvhAnswer { structure: w.structure, inputs: w.inputs, dvh, run })
        })
        .collect()
}
