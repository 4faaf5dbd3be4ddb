//! From a map to leaves: the sweep is asked for what the machine's leaves make the map of.

use crate::difference::{Delivered, FluenceDifference};
use crate::field::Field;
use crate::flatten::flattened;
use crate::limits::broken_limit;
use crate::sliding::{MOST_STEPS, sliding_window, without_leakage};
use crate::step::step_and_shoot;
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
    #[error("the plan '{plan}' has no fluence map that could be cut into leaves: optimise it first")]
    NoMaps { plan: String },
    #[error("beam '{beam}' has an empty map or no monitor units: there is nothing to deliver")]
    Empty { beam: String },
    #[error("beam '{beam}' is on the machine '{machine}', which has no leaves: choose a machine with an MLC")]
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
    Limit { beam: String, machine: String, what: String },
    #[error("beam '{beam}': {why}")]
    Beam { beam: String, why: String },
    #[error("beam '{beam}': {why}")]
    Machine { beam: String, why: String },
    #[error("stopped before all beams had leaves")]
    Stopped,
    #[error(transparent)]
    Fluence(#[from] FluenceError),
}

/// Passes in which the difference from the map is added to what is asked of the sweep.
const PASSES: usize = 3;

/// Passes that leave more of the difference are not worth the monitor units that they ask for.
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
    beams.into_iter().try_for_each(|beam| check_machine(beam, &*machine_of(plan, beam)?))
}

/// Whether a machine has what cutting the map of a beam takes.
///
/// # Errors
/// [`SequenceError::NoLeaves`], [`SequenceError::NoLimits`].
pub fn check_machine(beam: &Beam, machine: &Machine) -> Result<(), SequenceError> {
    limits(beam, machine).map(|_| ())
}

pub(super) fn machine_of(plan: &Plan, beam: &Beam) -> Result<Arc<Machine>, SequenceError> {
    let why = |e: MachineError| SequenceError::Machine { beam: beam.name.clone(), why: e.to_string() };
    Machine::resolve(plan.machine_of(beam)).map_err(why)
}

/// Leaves of a machine, and the limits of their motion.
pub(super) fn limits<'a>(beam: &Beam, machine: &'a Machine) -> Result<(&'a Leaves, Delivery), SequenceError> {
    let (name, on) = (|| beam.name.clone(), || machine.name.clone());
    let leaves = machine.leaves.as_ref();
    let leaves = leaves.ok_or_else(|| SequenceError::NoLeaves { beam: name(), machine: on() })?;
    let delivery = machine.delivery.ok_or_else(|| SequenceError::NoLimits { beam: name(), machine: on() })?;
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
            let own = maps.beams.iter().find(|own| own.number == beam.number);
            let Some((own, map)) = own.and_then(|own| Some((own, own.fluence.as_ref()?))) else { continue };
            let machine = machine_of(maps, own)?;
            let [got, want] = [beam, own].map(|beam| Delivered::new(beam, map, &machine));
            let difference = got?.less(&want?, map);
            beams.push(Sequenced { beam: beam.clone(), difference });
        }
        Ok(Self { plan: leaves, beams })
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
    let cut = |beam: &Beam| -> Option<Result<Sequenced, SequenceError>> {
        beam.fluence.as_ref()?;
        if !goes_on() {
            return Some(Err(SequenceError::Stopped));
        }
        Some(machine_of(plan, beam).and_then(|machine| sequence_beam(beam, &machine, technique)))
    };
    let cuts: Vec<_> = plan.beams.par_iter().map(cut).collect();
    let mut sequenced = SequencedPlan { plan: plan.clone(), beams: Vec::new() };
    let mut nothing = None;
    for (beam, cut) in sequenced.plan.beams.iter_mut().zip(cuts) {
        match cut {
            None => {}
            Some(Ok(cut)) => {
                *beam = cut.beam.clone();
                sequenced.beams.push(cut);
            }
            Some(Err(why @ (SequenceError::Empty { .. } | SequenceError::TooSmall { .. }))) => {
                *beam = without_delivery(beam);
                nothing.get_or_insert(why);
            }
            Some(Err(why)) => return Err(why),
        }
    }
    if sequenced.beams.is_empty() {
        return Err(nothing.unwrap_or_else(|| SequenceError::NoMaps { plan: plan.name.clone() }));
    }
    Ok(sequenced)
}

/// A beam that delivers nothing, and keeps the map that gave it no leaves.
fn without_delivery(beam: &Beam) -> Beam {
    let Beam { mu, fluence_limits, .. } = beam;
    let from = |map| Box::new(CutFrom { map, mu: *mu, limits: fluence_limits.clone() });
    let cut_from = beam.fluence.clone().map(from);
    Beam { mu: 0.0, fluence: None, fluence_limits: Vec::new(), cut_from, ..beam.clone() }
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
    let want = Delivered::new(beam, field.map, machine)?;
    let Refined { beam: leaves, got, .. } = cut_on_carriage(&field, &want, technique)?;
    let leaves = within_limits(leaves, machine, &field.delivery)?;
    Ok(Sequenced { difference: got.less(&want, field.map), beam: leaves })
}

/// The best leaves for the map of a field, in parts where the carriage does not hold it.
fn cut_on_carriage(
    field: &Field<'_>,
    want: &Delivered,
    technique: Technique,
) -> Result<Refined, SequenceError> {
    let Some(in_parts) = field.split() else { return cut(field, want, technique) };
    // A window slides over the whole field with the beam on. Segments of a wide field may each be narrow: from one place of the carriage
    // they take fewer monitor units than in parts.
    if technique == Technique::StepAndShoot {
        let at_once = cut(field, want, technique)?;
        if broken_limit(&at_once.beam, &field.delivery).is_none() {
            return Ok(at_once);
        }
    }
    cut(&in_parts, want, technique)
}

/// The best leaves for the map of a field.
fn cut(field: &Field<'_>, want: &Delivered, technique: Technique) -> Result<Refined, SequenceError> {
    let found = match technique {
        Technique::SlidingWindow => {
            let by = |asked: &[Vec<f64>]| Some(sliding_window(field, asked, MOST_STEPS));
            refined(field, want, &by)?.map(|found| fewer_steps(field, found)).transpose()?
        }
        Technique::StepAndShoot => refined(field, want, &|asked| step_and_shoot(field, asked))?,
    };
    let name = || field.beam.name.clone();
    let found = found.ok_or_else(|| SequenceError::TooSmall { beam: name() })?;
    match found.beam.fault() {
        Some(why) => Err(SequenceError::Beam { beam: name(), why: why.to_string() }),
        None => Ok(found),
    }
}

/// A beam whose leaves break no limit of its machine.
pub(super) fn within_limits(beam: Beam, machine: &Machine, limits: &Delivery) -> Result<Beam, SequenceError> {
    match broken_limit(&beam, limits) {
        Some(what) => Err(SequenceError::Limit { beam: beam.name, machine: machine.name.clone(), what }),
        None => Ok(beam),
    }
}

/// Leaves with their fluence, what was asked of the sweep for them, and how far their beamlets are from the map's.
struct Refined {
    beam: Beam,
    got: Delivered,
    asked: Vec<Vec<f64>>,
    rms: f64,
}

/// The best leaves of a few passes, each of which asks for what the last one missed.
fn refined(
    field: &Field<'_>,
    want: &Delivered,
    cut: &dyn Fn(&[Vec<f64>]) -> Option<Beam>,
) -> Result<Option<Refined>, FluenceError> {
    let want = want.by_beamlet(field.map);
    let mut best: Option<Refined> = None;
    let mut asked = without_leakage(field, &flattened(&field.asked(), FLATTENED));
    for _ in 0..PASSES {
        let Some(beam) = cut(&asked) else { break };
        let got = Delivered::new(&beam, field.map, field.machine)?;
        let by_beamlet = got.by_beamlet(field.map);
        let rms = FluenceDifference::between(&by_beamlet, &want).rms_percent;
        if best.as_ref().is_none_or(|best| rms < LEAST_GAIN * best.rms) {
            best = Some(Refined { beam, got, asked: asked.clone(), rms });
        }
        for (asked, (got, want)) in asked.iter_mut().flatten().zip(by_beamlet.iter().zip(&want)) {
            *asked = (*asked + want - got).max(0.0);
        }
    }
    Ok(best)
}

/// The same leaves in fewer steps, where their fluence stays.
fn fewer_steps(field: &Field<'_>, mut found: Refined) -> Result<Refined, FluenceError> {
    let finest = found.got.on_raster(field.map);
    for steps in FEWER_STEPS {
        let beam = sliding_window(field, &found.asked, steps);
        let got = Delivered::new(&beam, field.map, field.machine)?;
        let off = FluenceDifference::between(&got.on_raster(field.map), &finest);
        if off.worst_percent.abs() > SAME_FLUENCE_PERCENT {
            break;
        }
        found = Refined { beam, got, ..found };
    }
    Ok(found)
}

#[cfg(test)]
pub(super) mod tests;
