//! The displayed dose: of a plan, of one of its beams, or of a file.

use super::beam::DoseOfBeam;
use super::dose::{DoseInputs, Source, reservations_of};
use super::dvh::sampling_of;
use super::graph::{Access, Failure, Grade, Graph, Priority, Query};
use super::inputs::Shown;
use super::monte_carlo::Certainty;
use super::patient::MaskOf;
use super::run::{RunOfPlan, RunResult};
use super::shared::Shared;
use analysis::{BeamShare, Normalising, is_computed, sum_of_beams, times};
use case::{Case, Dose, DosePart, DoseStatus, Normalisation, Plan, Reservations};
use engine::JobControl;
use geometry::Volume;
use std::sync::Arc;
use worker::Lane;

/// A displayed dose, of all fractions and normalised.
#[derive(Clone, Debug)]
pub struct DoseOfPlan {
    pub what: Shown,
    inputs: Shared<DoseInputs>,
    made_of: MadeOf,
}

#[derive(Clone, Debug)]
enum MadeOf {
    File(Arc<Dose>),
    Plan(Arc<Beams>),
}

#[derive(Debug)]
struct Beams {
    plan: Arc<Plan>,
    label: String,
    /// The contributing beams, each with its weight.
    beams: Vec<(DoseOfBeam, f64)>,
    /// The index of a single displayed beam.
    only: Option<usize>,
    run: Option<RunOfPlan>,
    /// A run's dose that differs from the requested one by its noise only.
    like_it: Option<RunResult>,
    normalisation: Option<(Normalisation, Result<Needs, String>)>,
    /// Caveats and remarks on the case.
    reservations: Reservations,
}

/// Dose and mask that a normalisation needs of its case.
#[derive(Clone, Debug)]
struct Needs {
    /// The dose to normalise to, Gy for the whole course.
    gy: f64,
    mask: Option<MaskOf>,
}

/// A sum of beams, or a dose of a file.
#[derive(Clone, Debug)]
pub struct Summed {
    pub dose: Arc<Dose>,
    pub max_gy: f64,
    /// Factor of the normalisation on all monitor units; 1 without one.
    pub factor: f64,
    /// One standard deviation of the Monte Carlo dose that the plan is normalised to, percent.
    pub factor_uncertainty_percent: Option<f64>,
    /// The uncertainty of a Monte Carlo dose.
    pub certainty: Option<Arc<Certainty>>,
}

impl DoseOfPlan {
    /// A dose as it was read, the case's number `index`.
    pub fn of_file(dose: &Arc<Dose>, index: usize, previous: Option<&Self>) -> Self {
        let inputs = Shared::new(
            DoseInputs::Imported(dose.gy.id()),
            previous.map(|previous| &previous.inputs),
        );
        Self {
            what: Shown::Imported(index),
            inputs,
            made_of: MadeOf::File(Arc::clone(dose)),
        }
    }

    /// The dose of a plan, or of one of its beams: `beams` has all computed ones, in the order of the plan.
    /// `None` where there is nothing to add. `previous` is the previous request.
    pub fn of_plan(
        case: &Case,
        plan: &Arc<Plan>,
        only: Option<u32>,
        beams: &[DoseOfBeam],
        run: Option<(RunOfPlan, Option<RunResult>)>,
        previous: Option<&Self>,
    ) -> Option<Self> {
        // A single beam depends on the others only through the normalisation.
        let contributing = plan.beams.iter().filter(|beam| {
            let counts = plan.normalisation.is_some() || only.is_none_or(|n| n == beam.number);
            counts && is_computed(beam)
        });
        let beams: Vec<(DoseOfBeam, f64)> = contributing
            .filter_map(|beam| {
                let dose = beams
                    .iter()
                    .find(|dose| dose.inputs().beam.number == beam.number)?;
                Some((dose.clone(), times(plan, beam)))
            })
            .collect();

        let (index, label, what) = match only {
            Some(number) => {
                let beam = plan.beams.iter().find(|b| b.number == number)?;
                let index = beams
                    .iter()
                    .position(|(dose, _)| dose.inputs().beam.number == number)?;
                (
                    Some(index),
                    format!("Beam {}", beam.name),
                    Shown::Beam(number),
                )
            }
            None => (None, format!("Plan {}", plan.name), Shown::Plan),
        };
        if beams.is_empty() {
            return None;
        }
        let normalisation = plan
            .normalisation
            .as_ref()
            .map(|n| (n.clone(), needs_of(case, plan, n)));
        let (run, like_it) = run.unzip();
        let source = match &run {
            Some(run) => Source::MonteCarlo(run.inputs().clone(), plan.fractions),
            None => {
                let weighted = beams
                    .iter()
                    .map(|(dose, times)| (dose.inputs().clone(), *times));
                Source::CollapsedCone(weighted.collect())
            }
        };
        let inputs = DoseInputs::computed(case, plan, only, source);
        Some(Self {
            what,
            inputs: Shared::new(inputs, previous.map(|previous| &previous.inputs)),
            made_of: MadeOf::Plan(Arc::new(Beams {
                plan: Arc::clone(plan),
                label,
                beams,
                only: index,
                run,
                like_it: like_it.flatten(),
                normalisation,
                reservations: reservations_of(case, plan),
            })),
        })
    }
}

/// The dose of a beam, and how often it counts.
pub type WeighedDose = (Arc<Volume<f32>>, f32);

impl DoseOfPlan {
    /// The doses of its beams with their weights; `None` where no sum of beams on one grid makes it: a file, a Monte Carlo run.
    ///
    /// # Errors
    /// [`Failure`] of a beam.
    pub fn beams_on_one_grid(
        &self,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Option<Vec<WeighedDose>>, Failure> {
        let MadeOf::Plan(made_of) = &self.made_of else {
            return Ok(None);
        };
        if made_of.run.is_some() || made_of.only.is_some() {
            return Ok(None);
        }
        let mut beams: Vec<(Arc<Dose>, f32)> = Vec::new();
        for (beam, times) in &made_of.beams {
            beams.push((graph.full(beam, control)?.dose, *times as f32));
        }
        let grids = beams
            .windows(2)
            .all(|pair| pair[0].0.gy.grid() == pair[1].0.gy.grid());
        Ok(grids.then(|| {
            beams
                .iter()
                .map(|(dose, times)| (Arc::clone(&dose.gy), *times))
                .collect()
        }))
    }
}

impl Beams {
    /// The doses to be added, and the uncertainty of their sum.
    fn parts(
        &self,
        inputs: &Access<'_>,
    ) -> Result<(Vec<BeamShare>, Option<Arc<Certainty>>), Failure> {
        let Self {
            plan,
            beams,
            run,
            like_it,
            ..
        } = self;
        if let Some(run) = run {
            let result = match inputs.grade() {
                Grade::Full => Some(inputs.get(run)?),
                Grade::Preview => inputs.so_far(run).or_else(|| like_it.clone()),
            };
            if let Some(RunResult {
                dose, certainty, ..
            }) = result
            {
                return Ok((
                    vec![BeamShare {
                        dose,
                        scale: f64::from(plan.fractions),
                    }],
                    Some(certainty),
                ));
            }
            // Before the first histories collapsed cone is the substitute.
        }
        let mut shares = Vec::new();
        for (beam, scale) in beams {
            shares.push(BeamShare {
                dose: inputs.get(beam)?.dose,
                scale: *scale,
            });
        }
        Ok((shares, None))
    }
}

/// The dose that a plan is normalised to, and the voxels of the structure.
fn needs_of(case: &Case, plan: &Plan, wanted: &Normalisation) -> Result<Needs, String> {
    let gy = wanted
        .wanted_gy(plan.prescription_gy)
        .map_err(|e| e.to_string())?;
    let Some(structure) = case.structures.normalised_to(wanted) else {
        return Ok(Needs { gy, mask: None });
    };
    let structure = structure.map_err(|e| e.to_string())?;
    let mask = MaskOf::new(case, structure)
        .ok_or_else(|| format!("{} has no contours", structure.name))?;
    Ok(Needs {
        gy,
        mask: Some(mask),
    })
}

fn not_normalised(why: &str) -> String {
    format!("The plan cannot be normalised: {why}.")
}

impl PartialEq for DoseOfPlan {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what && self.inputs == other.inputs
    }
}

impl Query for DoseOfPlan {
    type Answer = Summed;

    const PRIORITY: Option<Priority> = Some(Priority::Doses(0));
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];

    fn name(&self) -> String {
        match &self.made_of {
            MadeOf::File(dose) => dose.label.clone(),
            MadeOf::Plan(beams) => format!("Sum of the beams of {}", beams.label),
        }
    }

    /// Previews are added in parallel with the transport; the full sum follows its beams.
    fn lane(&self, grade: Grade) -> Lane {
        match (grade, &self.made_of) {
            (Grade::Full, MadeOf::Plan(_)) => Lane::Device,
            _ => Lane::Host,
        }
    }

    fn is_whole(answer: &Summed) -> bool {
        answer.certainty.is_none() || answer.dose.status != DoseStatus::Preview
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Summed, Failure> {
        let made_of = match &self.made_of {
            MadeOf::File(dose) => {
                let (max_gy, dose) = (f64::from(dose.max_gy()), Arc::clone(dose));
                return Ok(Summed {
                    max_gy,
                    dose,
                    factor: 1.0,
                    factor_uncertainty_percent: None,
                    certainty: None,
                });
            }
            MadeOf::Plan(beams) => beams,
        };
        let Beams {
            plan,
            label,
            only,
            normalisation,
            reservations,
            ..
        } = &**made_of;

        let mask = match normalisation {
            Some((_, Err(why))) => return Err(Failure::Here(not_normalised(why))),
            Some((
                _,
                Ok(Needs {
                    mask: Some(mask), ..
                }),
            )) => Some(inputs.get(mask).map_err(|failure| match failure {
                Failure::Below(why) => Failure::Below(not_normalised(&why)),
                other => other,
            })?),
            _ => None,
        };
        let (parts, certainty) = made_of.parts(inputs)?;
        let worst = parts
            .iter()
            .map(|part| part.dose.status)
            .fold(DoseStatus::Final, DoseStatus::worst);
        let sampling = sampling_of(worst, inputs);
        let normalisation = normalisation.as_ref().and_then(|(to, needs)| {
            Some(Normalising {
                to,
                gy: needs.as_ref().ok()?.gy,
                mask: mask.as_deref(),
                sampling,
            })
        });
        let factor_uncertainty_percent =
            normalisation
                .as_ref()
                .zip(certainty.as_ref())
                .and_then(|(normalising, certainty)| {
                    normalising.uncertainty_percent(&certainty.spread)
                });
        let summed = sum_of_beams(
            label,
            plan,
            &parts,
            *only,
            normalisation,
            &inputs.control().child(),
        );
        inputs.control().check()?;
        let (dose, factor) = summed.map_err(|e| Failure::Here(format!("{}: {e}", self.name())))?;
        let mut dose = dose.with_reservations(reservations);
        let is_one_of_several = plan.beams.iter().filter(|beam| is_computed(beam)).count() > 1;
        dose.part = only.filter(|_| is_one_of_several).map(|_| DosePart::Beam);
        let max_gy = f64::from(dose.max_gy());
        Ok(Summed {
            max_gy,
            dose: Arc::new(dose),
            factor,
            factor_uncertainty_percent,
            certainty,
        })
    }
}
