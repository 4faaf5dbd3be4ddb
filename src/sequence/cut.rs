//! Leaves for a map: the sweep is corrected until the machine's leaves deliver the map.

use crate::difference::{Delivered, FluenceDifference};
use crate::field::Field;
use crate::flatten::flattened;
use crate::limits::broken_limit;
use crate::sliding::{MOST_STEPS, sliding_window, without_leakage};
use crate::step::{few_segments, step_and_shoot};
use case::{Beam, CutFrom, Plan};
use physics::{Delivery, FluenceError, Leaves, Machine, MachineError};
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// How leaves deliver a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    SlidingWindow,
    StepAndShoot,
    /// Step and shoot in few segments of a field: for palliative plans, and machines whose leaves are not trusted with many.
    FewSegments,
}

/// A beam with leaves in place of its map.
#[derive(Clone, Debug)]
pub struct Sequenced {
    pub beam: Beam,
    pub difference: FluenceDifference,
}

/// A plan whose maps are cut into leaves; other beams are as they were. A map that leaves nothing to deliver leaves its beam 0 MU: the
/// others are worth keeping, and [`crate::undelivered`] names it.
#[derive(Clone, Debug)]
pub struct SequencedPlan {
    pub plan: Plan,
    /// Beams that were cut, in order.
    pub beams: Vec<Sequenced>,
}

/// Why a map is not cut into leaves.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SequenceError {
    #[error("beam '{beam}' has no fluence map: optimise the plan first")]
    NoMap { beam: String },
    #[error(
        "the plan '{plan}' has no fluence map that could be cut into leaves: optimise it first"
    )]
    NoMaps { plan: String },
    #[error("beam '{beam}' has an empty map or no monitor units: there is nothing to deliver")]
    Empty { beam: String },
    #[error(
        "beam '{beam}' is on the machine '{machine}', which has no leaves: choose a machine with an MLC"
    )]
    NoLeaves { beam: String, machine: String },
    #[error(
        "the machine '{machine}' of beam '{beam}' does not say how fast its leaves move: give its file a table [delivery] \
         (assets/machines/README.md)"
    )]
    NoLimits { beam: String, machine: String },
    #[error(
        "the rows of the map of beam '{beam}' are not leaves of the machine '{machine}': optimise it for that machine"
    )]
    Rows { beam: String, machine: String },
    #[error(
        "beam '{beam}': every segment of its map is under 4 cm2 or 2 MU: deliver it as a sliding window, or with more monitor units"
    )]
    TooSmall { beam: String },
    #[error("beam '{beam}' on the machine '{machine}', {what}")]
    Limit {
        beam: String,
        machine: String,
        what: String,
    },
    #[error("beam '{beam}': {why}")]
    Beam { beam: String, why: String },
    #[error("beam '{beam}': {why}")]
    Machine { beam: String, why: String },
    #[error("stopped before all beams had leaves")]
    Stopped,
    #[error(transparent)]
    Fluence(#[from] FluenceError),
}

/// Passes in which the difference from the map is added to the fluences requested from the sweep.
const PASSES: usize = 3;

/// A pass is accepted if it lowers the RMS difference by at least 5 %: less is not worth its monitor units.
const LEAST_GAIN: f64 = 0.95;

/// Part by which fluences may change so that rows rise less, in fewer monitor units. Chosen.
const FLATTENED: f64 = 0.2;

/// Steps of a sliding window that are tried after the finest: fewer as long as the fluence is that of the finest within a part of its
/// greatest.
const FEWER_STEPS: [usize; 2] = [50, 25];
const SAME_FLUENCE_PERCENT: f64 = 0.5;

/// Whether the machines of some beams of a plan have what cutting their maps takes, before there are maps.
///
/// # Errors
/// [`SequenceError`] of the first that does not.
pub fn check_machines<'a>(
    plan: &Plan,
    beams: impl IntoIterator<Item = &'a Beam>,
) -> Result<(), SequenceError> {
    beams
        .into_iter()
        .try_for_each(|beam| check_machine(beam, &*machine_of(plan, beam)?))
}

/// Whether a machine has what cutting the map of a beam takes.
///
/// # Errors
/// [`SequenceError::NoLeaves`], [`SequenceError::NoLimits`].
pub fn check_machine(beam: &Beam, machine: &Machine) -> Result<(), SequenceError> {
    limits(beam, machine).map(|_| ())
}

pub(super) fn machine_of(plan: &Plan, beam: &Beam) -> Result<Arc<Machine>, SequenceError> {
    let why = |e: MachineError| SequenceError::Machine {
        beam: beam.name.clone(),
        why: e.to_string(),
    };
    Machine::resolve(plan.machine_of(beam)).map_err(why)
}

/// Leaves of a machine, and the limits of their motion.
pub(super) fn limits<'a>(
    beam: &Beam,
    machine: &'a Machine,
) -> Result<(&'a Leaves, Delivery), SequenceError> {
    let (name, on) = (|| beam.name.clone(), || machine.name.clone());
    let leaves = machine.leaves.as_ref();
    let leaves = leaves.ok_or_else(|| SequenceError::NoLeaves {
        beam: name(),
        machine: on(),
    })?;
    let delivery = machine.delivery.ok_or_else(|| SequenceError::NoLimits {
        beam: name(),
        machine: on(),
    })?;
    Ok((leaves, delivery))
}

impl SequencedPlan {
    /// Leaves that deliver the maps of another plan, held against those of beams with the same numbers.
    ///
    /// # Errors
    /// [`SequenceError`] of a fluence that cannot be computed.
    pub fn new(maps: &Plan, leaves: Plan) -> Result<Self, SequenceError> {
        let mut beams = Vec::new();
        for beam in &leaves.beams {
            // Sectors of an arc have numbers of their own.
            let Some(source) = maps
                .beams
                .iter()
                .find(|source| source.number == beam.number)
            else {
                continue;
            };
            let Some(map) = &source.fluence else { continue };
            let machine = machine_of(maps, source)?;
            let [got, want] = [beam, source].map(|beam| Delivered::new(beam, map, &machine));
            let difference = got?.less(&want?, map);
            beams.push(Sequenced {
                beam: beam.clone(),
                difference,
            });
        }
        Ok(Self {
            plan: leaves,
            beams,
        })
    }
}

/// Cuts the map of each beam of a plan that has one.
///
/// # Errors
/// [`SequenceError`] of the first beam that cannot be cut, of a plan without maps, or of one whose maps leave nothing to deliver.
pub fn sequence_plan(plan: &Plan, technique: Technique) -> Result<SequencedPlan, SequenceError> {
    sequence_plan_while(plan, technique, &|| true)
}

/// As [`sequence_plan`], as long as `goes_on` before each beam.
///
/// # Errors
/// Errors of [`sequence_plan`]; [`SequenceError::Stopped`].
pub fn sequence_plan_while(
    plan: &Plan,
    technique: Technique,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<SequencedPlan, SequenceError> {
    let with_map = plan
        .beams
        .par_iter()
        .enumerate()
        .filter(|(_, beam)| beam.fluence.is_some());
    let results: Vec<_> = with_map
        .map(|(n, beam)| {
            if !goes_on() {
                return (n, Err(SequenceError::Stopped));
            }
            (
                n,
                machine_of(plan, beam).and_then(|machine| sequence_beam(beam, &machine, technique)),
            )
        })
        .collect();
    let mut sequenced = SequencedPlan {
        plan: plan.clone(),
        beams: Vec::new(),
    };
    let mut first_empty = None;
    for (n, result) in results {
        let beam = &mut sequenced.plan.beams[n];
        match result {
            Ok(leaves) => {
                *beam = leaves.beam.clone();
                sequenced.beams.push(leaves);
            }
            Err(why @ (SequenceError::Empty { .. } | SequenceError::TooSmall { .. })) => {
                *beam = without_delivery(beam);
                first_empty.get_or_insert(why);
            }
            Err(why) => return Err(why),
        }
    }
    if sequenced.beams.is_empty() {
        return Err(first_empty.unwrap_or_else(|| SequenceError::NoMaps {
            plan: plan.name.clone(),
        }));
    }
    Ok(sequenced)
}

/// A beam that delivers nothing, and keeps the map that gave it no leaves.
fn without_delivery(beam: &Beam) -> Beam {
    let Beam {
        mu, fluence_limits, ..
    } = beam;
    let from = |map| {
        Box::new(CutFrom {
            map,
            mu: *mu,
            limits: fluence_limits.clone(),
        })
    };
    let cut_from = beam.fluence.clone().map(from);
    Beam {
        mu: 0.0,
        fluence: None,
        fluence_limits: Vec::new(),
        cut_from,
        ..beam.clone()
    }
}

/// Cuts the map of a beam: leaves within the machine's limits, and how far their fluence is from the map's.
///
/// # Errors
/// [`SequenceError`].
pub fn sequence_beam(
    beam: &Beam,
    machine: &Machine,
    technique: Technique,
) -> Result<Sequenced, SequenceError> {
    let field = Field::new(beam, machine)?;
    let field = match technique {
        Technique::SlidingWindow => field.at_sliding_rate(),
        Technique::StepAndShoot | Technique::FewSegments => field,
    };
    let want = Delivered::new(beam, field.map, machine)?;
    let Refined {
        beam: leaves, got, ..
    } = cut_on_carriage(&field, &want, technique)?;
    let leaves = within_limits(leaves, machine, &field.delivery)?;
    Ok(Sequenced {
        difference: got.less(&want, field.map),
        beam: leaves,
    })
}

/// The best leaves for the map of a field, in parts where the carriage does not hold it.
fn cut_on_carriage(
    field: &Field<'_>,
    want: &Delivered,
    technique: Technique,
) -> Result<Refined, SequenceError> {
    let Some(in_parts) = field.split() else {
        return cut(field, want, technique);
    };
    // A window slides over the whole field with the beam on. Segments of a wide field may each be narrow: from one place of the carriage
    // they take fewer monitor units than in parts.
    if technique != Technique::SlidingWindow {
        let at_once = cut(field, want, technique)?;
        if broken_limit(&at_once.beam, &field.delivery).is_none() {
            return Ok(at_once);
        }
    }
    cut(&in_parts, want, technique)
}

/// The best leaves for the map of a field.
fn cut(
    field: &Field<'_>,
    want: &Delivered,
    technique: Technique,
) -> Result<Refined, SequenceError> {
    let leaves = match technique {
        Technique::SlidingWindow => {
            let finest = refined(field, want, &|fluences| {
                Some(sliding_window(field, fluences, MOST_STEPS))
            })?;
            finest
                .map(|leaves| fewer_steps(field, leaves))
                .transpose()?
        }
        Technique::StepAndShoot => {
            refined(field, want, &|fluences| step_and_shoot(field, fluences))?
        }
        Technique::FewSegments => refined(field, want, &|fluences| few_segments(field, fluences))?,
    };
    let name = || field.beam.name.clone();
    let leaves = leaves.ok_or_else(|| SequenceError::TooSmall { beam: name() })?;
    match leaves.beam.fault() {
        Some(why) => Err(SequenceError::Beam {
            beam: name(),
            why: why.to_string(),
        }),
        None => Ok(leaves),
    }
}

/// A beam whose leaves break no limit of its machine.
pub(super) fn within_limits(
    beam: Beam,
    machine: &Machine,
    limits: &Delivery,
) -> Result<Beam, SequenceError> {
    match broken_limit(&beam, limits) {
        Some(what) => Err(SequenceError::Limit {
            beam: beam.name,
            machine: machine.name.clone(),
            what,
        }),
        None => Ok(beam),
    }
}

/// Leaves with their fluence, the fluences requested from the sweep, and the RMS difference of their beamlets from the map's, percent.
struct Refined {
    beam: Beam,
    got: Delivered,
    requested: Vec<Vec<f64>>,
    rms_percent: f64,
}

/// The best leaves of a few passes, each of which adds the difference left by the one before.
fn refined(
    field: &Field<'_>,
    want: &Delivered,
    cut: &dyn Fn(&[Vec<f64>]) -> Option<Beam>,
) -> Result<Option<Refined>, FluenceError> {
    let want = want.by_beamlet(field.map);
    let mut best: Option<Refined> = None;
    let mut requested = without_leakage(field, &flattened(&field.fluences_mu(), FLATTENED));
    for _ in 0..PASSES {
        let Some(beam) = cut(&requested) else { break };
        let got = Delivered::new(&beam, field.map, field.machine)?;
        let by_beamlet = got.by_beamlet(field.map);
        let rms_percent = FluenceDifference::between(&by_beamlet, &want).rms_percent;
        if best
            .as_ref()
            .is_none_or(|best| rms_percent < LEAST_GAIN * best.rms_percent)
        {
            best = Some(Refined {
                beam,
                got,
                requested: requested.clone(),
                rms_percent,
            });
        }
        for (requested, (got, want)) in requested
            .iter_mut()
            .flatten()
            .zip(by_beamlet.iter().zip(&want))
        {
            *requested = (*requested + want - got).max(0.0);
        }
    }
    Ok(best)
}

/// The same leaves in fewer steps, where their fluence stays.
fn fewer_steps(field: &Field<'_>, mut leaves: Refined) -> Result<Refined, FluenceError> {
    let finest = leaves.got.on_raster(field.map);
    for steps in FEWER_STEPS {
        let beam = sliding_window(field, &leaves.requested, steps);
        let got = Delivered::new(&beam, field.map, field.machine)?;
        let off = FluenceDifference::between(&got.on_raster(field.map), &finest);
        if off.worst_percent.abs() > SAME_FLUENCE_PERCENT {
            break;
        }
        leaves = Refined {
            beam,
            got,
            ..leaves
        };
    }
    Ok(leaves)
}

#[cfg(test)]
pub(super) mod tests;
