//! Remarks on an optimisation: where it departs from the plan or its goals.

use super::objective::{Aim, Objective};
use super::receipt::OptimiseReceipt;
use super::setup::Setup;
use case::Plan;
use sequence::{monitor_units_remark, undelivered};
use std::fmt;

/// A remark.
#[derive(Clone, Debug, PartialEq)]
pub enum OptimiseRemark {
    /// Percentage of a target outside the path of all beamlets.
    WithoutBeamlets { target: String, percent: f64 },
    /// A target with upper limits only is held to a minimum dose.
    OnlyLimited { target: String, gy: f64 },
    /// The normalisation of the plan is removed.
    NormalisationTakenOut,
    /// Without a body there is no fall-off round the targets.
    WithoutFallOff,
    /// A run of histories, by the method of this name, is less certain than it was to be.
    UncertainCorrection(String),
    /// A beam gets 0 MU.
    NothingDelivered { beam: String },
    /// Each move of a beam's leaves broke a limit of its machine: it has the leaves of the sequencer.
    LeavesNotMoved { beam: String, limit: String },
    /// None of the moves of the refinement lowered the objective under true dose.
    NothingRefined { passes: usize },
    /// Beams, or all of them, have many monitor units.
    ManyMonitorUnits(String),
}

impl fmt::Display for OptimiseRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithoutBeamlets { target, percent } if *percent >= 100.0 => write!(
                f,
                "{target} has no beamlets: no beam sees it through its leaves. Move an isocentre, or add a beam that does"
            ),
            Self::WithoutBeamlets { target, percent } => write!(
                f,
                "{percent:.1} % of {target} has no beamlets: no beam sees that part through its leaves. Move an isocentre, or \
                 add a beam that does"
            ),
            Self::OnlyLimited { target, gy } => write!(
                f,
                "{target} has upper limits alone, and is held to {gy:.2} Gy at least: give it a goal of its least dose, as D95%"
            ),
            Self::NormalisationTakenOut => write!(
                f,
                "the normalisation of the plan is taken out: the maps have the doses that the goals ask for, and it would \
                 scale them away from there. Ask for it by a goal, or normalise the plan anew"
            ),
            Self::WithoutFallOff => write!(
                f,
                "there is no body, drawn or to be found in the CT: nothing but goals keeps the dose outside the targets low. Draw one"
            ),
            Self::UncertainCorrection(method) => write!(
                f,
                "a run of {method} that corrected the maps lost too many particles, or ended before its uncertainty: the \
                 correction is less certain than it was to be. Judge the plan by another dose"
            ),
            Self::NothingDelivered { beam } => write!(
                f,
                "beam '{beam}' gets 0 MU: the optimum does without it, or its segments are all too small. Switch it off or \
                 remove it before an export"
            ),
            Self::LeavesNotMoved { beam, limit } => write!(
                f,
                "beam '{beam}' has leaves that are not refined: each move broke a limit of the machine, the last at {limit}"
            ),
            Self::NothingRefined { passes } => write!(
                f,
                "the leaves are not refined: none of {passes} moves made their true dose better by the goals and objectives"
            ),
            Self::ManyMonitorUnits(words) => write!(f, "{}", words.trim_end_matches('.')),
        }
    }
}

/// Remarks on inputs, before the first evaluation. `requested` are the objectives of goals and of the plan.
pub(super) fn of_setup(
    setup: &Setup,
    requested: &[Objective],
    reference_gy: f64,
) -> Vec<OptimiseRemark> {
    let mut remarks: Vec<OptimiseRemark> = Vec::new();
    for (target, percent) in setup.without_beamlets() {
        remarks.push(OptimiseRemark::WithoutBeamlets {
            target: target.to_owned(),
            percent,
        });
    }
    for region in setup.targets() {
        if let Prescribed::Least(gy) = prescribed(&region.name, requested, reference_gy) {
            remarks.push(OptimiseRemark::OnlyLimited {
                target: region.name.clone(),
                gy,
            });
        }
    }
    if setup.plan.normalisation.is_some() {
        remarks.push(OptimiseRemark::NormalisationTakenOut);
    }
    if !setup.has_body() && setup.plan.objectives.fall_off.weight > 0.0 {
        remarks.push(OptimiseRemark::WithoutFallOff);
    }
    remarks
}

impl OptimiseRemark {
    /// Remark on the runs of histories that corrected maps.
    pub fn of_receipt(receipt: &OptimiseReceipt) -> Option<Self> {
        let histories = receipt.histories.as_ref()?;
        let is_short = histories.is_short;
        is_short.then(|| Self::UncertainCorrection(histories.method.clone()))
    }

    /// Remarks on an optimised plan, with leaves or with maps.
    pub fn of_plan(plan: &Plan) -> Vec<Self> {
        let idle = undelivered(plan).map(|beam| Self::NothingDelivered {
            beam: beam.to_owned(),
        });
        idle.chain(monitor_units_remark(plan).map(Self::ManyMonitorUnits))
            .collect()
    }
}

/// Dose that a target is held to in addition to its objectives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Prescribed {
    /// Its objectives include a minimum dose.
    Nothing,
    /// No objective names it: a uniform dose, Gy.
    Uniform(f64),
    /// Minimum dose, Gy, of a target with upper limits only.
    Least(f64),
}

/// Dose that a target is held to: without a minimum dose the optimum would spare organs at the target's expense.
pub(super) fn prescribed(target: &str, objectives: &[Objective], reference_gy: f64) -> Prescribed {
    let mut of_target = objectives
        .iter()
        .filter(|o| o.structure == target && o.weight > 0.0 && !o.is_wish());
    let limits_gy = of_target.clone().map(|o| o.gy);
    if of_target.any(|o| matches!(o.aim, Aim::Under | Aim::Deviation | Aim::TailMin { .. })) {
        return Prescribed::Nothing;
    }
    match limits_gy.reduce(f64::min) {
        None => Prescribed::Uniform(reference_gy),
        Some(limit) => Prescribed::Least(limit.min(reference_gy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(aim: Aim, gy: f64) -> Objective {
        Objective {
            structure: "PTV".to_owned(),
            aim,
            gy,
            weight: 1.0,
            asked: None,
            wish_range_gy: None,
            raised: 1.0,
        }
    }

    #[test]
    fn a_target_with_upper_limits_alone_is_held_to_the_prescription() {
        let over = objective(Aim::Over, 55.0);
        let upper_tail = objective(Aim::TailMax { volume: 10.0 }, 48.0);
        let lower_tail = objective(Aim::TailMin { volume: 5.0 }, 50.0);
        assert_eq!(prescribed("PTV", &[], 50.0), Prescribed::Uniform(50.0));
        assert_eq!(
            prescribed("PTV", std::slice::from_ref(&over), 50.0),
            Prescribed::Least(50.0)
        );
        // The minimum dose is below the lowest limit.
        assert_eq!(
            prescribed("PTV", &[over.clone(), upper_tail], 50.0),
            Prescribed::Least(48.0)
        );
        assert_eq!(
            prescribed("PTV", &[over.clone(), lower_tail.clone()], 50.0),
            Prescribed::Nothing
        );
        assert_eq!(
            prescribed("GTV", &[over, lower_tail], 50.0),
            Prescribed::Uniform(50.0)
        );
    }
}
