//! Faults of plans and structures. Every reader, every edit and every dose asks here: what one refuses, all refuse, in
//! the same words.

use super::bounds;
use super::rotation::RotationAxis;
use super::{
    Approval, ApprovalError, Beam, ControlPoint, Density, FluenceLimit, FluenceMapError, Jaws,
    LeafBoundaryError, Mlc, Normalisation, NormalisationError, Plan, Structure,
    check_leaf_boundaries,
};
use glam::DVec3;
use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use thiserror::Error;

/// A number or an arrangement that no plan can have, and what to do about it.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Fault {
    #[error("{key} = {value} must be {range}")]
    Value {
        key: &'static str,
        value: f64,
        range: String,
    },
    #[error("no machine is named: choose a shipped one (generic-6mv) or a machine file")]
    NoMachine,
    #[error(transparent)]
    Normalisation(#[from] NormalisationError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error("its number {0} is that of an earlier beam: number the beams differently")]
    NumberTaken(u32),
    #[error(
        "it is a setup field with {0} MU: a setup field delivers none; give it 0 MU, or make it a treatment beam"
    )]
    SetupDelivers(f64),
    #[error("it has no control points: give it one, or two and more where it moves")]
    NoControlPoints,
    #[error("meterset_weight falls from {0} to {1}: it is cumulative, and never falls")]
    WeightFalls(f64, f64),
    #[error("the {axis} jaws at [{low}, {high}] mm are crossed: give the negative jaw first")]
    JawsCrossed { axis: char, low: f64, high: f64 },
    #[error("it has {0} pairs of leaf tips and no mlc: give the MLC, or leave out the leaves")]
    NoMlc(usize),
    #[error(
        "it has {tips} pairs of leaf tips, and its mlc {pairs} leaf pairs: give a pair of tips for each"
    )]
    LeafCount { tips: usize, pairs: usize },
    #[error("leaf pair {pair} at [{low}, {high}] mm is crossed: give the negative bank first")]
    LeavesCrossed { pair: usize, low: f64, high: f64 },
    #[error(transparent)]
    FluenceMap(#[from] FluenceMapError),
    #[error(
        "it has a fluence map and moves between control points: a map belongs to a beam that stands still"
    )]
    FluenceMapMoves,
    #[error(
        "the upper bound of {mu} MU on beamlet {beamlet} of its fluence map: bounds are from 0 to {} MU, each of a beamlet of the map, \
         in their order", bounds::MU.end()
    )]
    FluenceLimit { beamlet: usize, mu: f64 },
    #[error("boundaries_mm of its mlc: {0}")]
    LeafBoundaries(#[from] LeafBoundaryError),
    #[error(
        "the {axis} turns by half a circle, from {from} to {to} degrees, and which way round is not known: give a control point between"
    )]
    HalfTurn {
        axis: &'static str,
        from: f64,
        to: f64,
    },
    #[error("another structure has its ROI number {0}: number it differently")]
    StructureNumberTaken(u32),
    #[error("another structure is called '{0}': give it another name")]
    StructureNameTaken(String),
}

/// A fault of a beam, with its control point where it has several.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamFault {
    /// Index of the control point.
    pub point: Option<usize>,
    pub fault: Fault,
}

/// The first fault of a plan, with its place.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanFault {
    #[error("plan '{plan}': {fault}")]
    Plan { plan: String, fault: Fault },
    #[error("plan '{plan}', beam '{beam}': {fault}")]
    Beam {
        plan: String,
        beam: String,
        fault: BeamFault,
    },
}

/// The first fault of a structure.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("structure '{name}': {fault}")]
pub struct StructureFault {
    pub name: String,
    pub fault: Fault,
}

impl fmt::Display for BeamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.point {
            Some(index) => write!(f, "control point {}: {}", index + 1, self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl From<Fault> for BeamFault {
    fn from(fault: Fault) -> Self {
        Self { point: None, fault }
    }
}

type Checked<E = Fault> = Result<(), E>;

fn within(key: &'static str, value: f64, range: &RangeInclusive<f64>) -> Checked {
    must(range.contains(&value), || Fault::Value {
        key,
        value,
        range: format!("from {} to {}", range.start(), range.end()),
    })
}

fn place(key: &'static str, mm: DVec3) -> Checked {
    mm.to_array()
        .into_iter()
        .try_for_each(|value| within(key, value, &bounds::PLACE_MM))
}

fn must(holds: bool, fault: impl FnOnce() -> Fault) -> Checked {
    if holds { Ok(()) } else { Err(fault()) }
}

impl Plan {
    /// The first fault of the plan or of one of its beams.
    pub fn fault(&self) -> Option<PlanFault> {
        let plan = self.name.clone();
        if let Some(fault) = self.own_fault() {
            return Some(PlanFault::Plan { plan, fault });
        }
        let (index, fault) = self.first_beam_fault()?;
        Some(PlanFault::Beam {
            plan,
            beam: self.beams[index].name.clone(),
            fault,
        })
    }

    /// The first fault of the plan without its beams.
    pub fn own_fault(&self) -> Option<Fault> {
        self.check_own().err()
    }

    fn check_own(&self) -> Checked {
        if let Some(value) = self.prescription_gy {
            let holds = value > 0.0 && value <= bounds::MOST_COURSE_GY;
            must(holds, || Fault::Value {
                key: "prescription_gy",
                value,
                range: format!("above 0 and at most {} Gy", bounds::MOST_COURSE_GY),
            })?;
        }
        let (from, to) = bounds::FRACTIONS.into_inner();
        within(
            "fractions",
            f64::from(self.fractions),
            &(f64::from(from)..=f64::from(to)),
        )?;
        self.normalisation
            .as_ref()
            .map_or(Ok(()), Normalisation::check)?;
        self.approval.as_ref().map_or(Ok(()), Approval::check)?;
        self.objectives
            .numbers()
            .into_iter()
            .try_for_each(|(key, value, range)| within(key, value, &range))
    }

    /// The first fault of a beam, with the beam's index. A beam that is only shown may lack anything but a number of its
    /// own.
    pub fn first_beam_fault(&self) -> Option<(usize, BeamFault)> {
        let mut numbers = HashSet::new();
        self.beams.iter().enumerate().find_map(|(index, beam)| {
            let named = !self.machine_of(beam).trim().is_empty() || beam.read_only.is_some();
            let checked = must(numbers.insert(beam.number), || {
                Fault::NumberTaken(beam.number)
            })
            .and_then(|()| must(named, || Fault::NoMachine))
            .map_err(BeamFault::from)
            .and_then(|()| beam.check());
            checked.err().map(|fault| (index, fault))
        })
    }
}

impl Beam {
    /// The first fault of the beam by itself.
    pub fn fault(&self) -> Option<BeamFault> {
        self.check().err()
    }

    fn check(&self) -> Checked<BeamFault> {
        must(!self.control_points.is_empty(), || Fault::NoControlPoints)?;
        place("isocentre_mm", self.isocentre_mm)?;
        if self.read_only.is_some() {
            // It is shown with what could be read of it.
            return Ok(());
        }
        within("mu", self.mu, &bounds::MU)?;
        must(!self.setup || self.mu == 0.0, || {
            Fault::SetupDelivers(self.mu)
        })?;
        for (key, value, range) in [
            ("energy_mv", self.energy_mv, &bounds::ENERGY_MV),
            (
                "source_axis_mm",
                self.source_axis_mm,
                &bounds::SOURCE_AXIS_MM,
            ),
            (
                "dose_rate_mu_min",
                self.dose_rate_mu_min,
                &bounds::DOSE_RATE_MU_MIN,
            ),
        ] {
            value.map_or(Ok(()), |value| within(key, value, range))?;
        }
        self.mlc.as_ref().map_or(Ok(()), Mlc::check)?;
        let several = self.control_points.len() > 1;
        if let Some(map) = &self.fluence {
            must(!several, || Fault::FluenceMapMoves)?;
            map.check().map_err(Fault::from)?;
        }
        if let Some(from) = &self.cut_from {
            from.map.check().map_err(Fault::from)?;
            within("mu", from.mu, &bounds::MU)?;
        }
        if let Some(FluenceLimit { beamlet, mu }) = self.false_limit() {
            return Err(Fault::FluenceLimit { beamlet, mu }.into());
        }

        for (n, point) in self.control_points.iter().enumerate() {
            point.check(self.mlc.as_ref()).map_err(|fault| BeamFault {
                point: several.then_some(n),
                fault,
            })?;
        }
        let weights: Vec<f64> = self
            .control_points
            .iter()
            .map(|p| p.meterset_weight)
            .collect();
        if several {
            let first = weights[0];
            must(first == 0.0, || Fault::Value {
                key: "meterset_weight",
                value: first,
                range: "0 at the first control point".to_owned(),
            })?;
        }
        let last = weights[weights.len() - 1];
        let range = if several {
            "1 at the last control point"
        } else {
            "1 at the only control point"
        };
        must(last == 1.0, || Fault::Value {
            key: "meterset_weight",
            value: last,
            range: range.to_owned(),
        })?;
        for (n, pair) in self.control_points.windows(2).enumerate() {
            check_step(&pair[0], &pair[1]).map_err(|fault| BeamFault {
                point: several.then_some(n + 1),
                fault,
            })?;
        }
        Ok(())
    }
}

/// Checks what the beam delivers from one control point to the next.
fn check_step(from: &ControlPoint, to: &ControlPoint) -> Checked {
    let (from_weight, to_weight) = (from.meterset_weight, to.meterset_weight);
    must(to_weight >= from_weight, || {
        Fault::WeightFalls(from_weight, to_weight)
    })?;
    if to_weight == from_weight {
        return Ok(());
    }
    for axis in RotationAxis::ALL {
        let [from, to] = [from, to].map(|point| axis.angle_deg(point));
        let is_half = turn_deg(from, to).abs() > 180.0 - bounds::SAME_DEG;
        must(!is_half, || Fault::HalfTurn {
            axis: axis.name(),
            from,
            to,
        })?;
    }
    Ok(())
}

/// The turn the short way from one angle to another, degrees: from -180 to 180, above 0 as angles rise.
pub fn turn_deg(from: f64, to: f64) -> f64 {
    (to - from + 180.0).rem_euclid(360.0) - 180.0
}

impl Mlc {
    fn check(&self) -> Checked {
        check_leaf_boundaries(&self.boundaries_mm)?;
        { self.boundaries_mm.iter() }
            .try_for_each(|mm| within("boundaries_mm", *mm, &bounds::COLLIMATOR_MM))
    }
}

impl ControlPoint {
    fn check(&self, mlc: Option<&Mlc>) -> Checked {
        for (key, deg) in [
            ("gantry_deg", self.gantry_deg),
            ("collimator_deg", self.collimator_deg),
            ("couch_deg", self.couch_deg),
        ] {
            within(key, deg, &bounds::ANGLE_DEG)?;
        }
        within("meterset_weight", self.meterset_weight, &(0.0..=1.0))?;
        let Jaws { x, y } = self.jaws;
        for (axis, key, [low, high]) in [('x', "jaws_mm.x", x), ('y', "jaws_mm.y", y)] {
            [low, high]
                .into_iter()
                .try_for_each(|mm| within(key, mm, &bounds::COLLIMATOR_MM))?;
            must(low <= high, || Fault::JawsCrossed { axis, low, high })?;
        }
        let tips = self.leaves_mm.len();
        match mlc {
            None => must(tips == 0, || Fault::NoMlc(tips))?,
            Some(mlc) => {
                let pairs = mlc.boundaries_mm.len() - 1;
                must(tips == pairs, || Fault::LeafCount { tips, pairs })?;
            }
        }
        for (n, [low, high]) in self.leaves_mm.iter().copied().enumerate() {
            [low, high]
                .into_iter()
                .try_for_each(|mm| within("leaves_mm", mm, &bounds::COLLIMATOR_MM))?;
            let holds = low - high <= bounds::LEAF_OVERLAP_MM;
            must(holds, || Fault::LeavesCrossed {
                pair: n + 1,
                low,
                high,
            })?;
        }
        Ok(())
    }
}

impl Structure {
    /// The first fault of the structure by itself.
    pub fn fault(&self) -> Option<StructureFault> {
        self.check().err().map(|fault| StructureFault {
            name: self.name.clone(),
            fault,
        })
    }

    fn check(&self) -> Checked {
        let drawn = self.contours.iter().flat_map(|contour| &contour.points_mm);
        drawn
            .chain(&self.points_mm)
            .try_for_each(|mm| place("points_mm", *mm))?;
        let density = self.density.and_then(|density| density.density.value());
        density.map_or(Ok(()), |value| within("density", value, &Density::RANGE))
    }
}

/// The first fault of structures that belong together: numbers and names are identities.
pub fn structures_fault(structures: &[Structure]) -> Option<StructureFault> {
    let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
    structures.iter().find_map(|structure| {
        let Structure { name, number, .. } = structure;
        let checked = must(numbers.insert(*number), || {
            Fault::StructureNumberTaken(*number)
        })
        .and_then(|()| {
            must(names.insert(name.trim().to_ascii_lowercase()), || {
                Fault::StructureNameTaken(name.clone())
            })
        });
        let fault = checked.err().map(|fault| StructureFault {
            name: name.clone(),
            fault,
        });
        fault.or_else(|| structure.fault())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GantryArc, StructureKind, Template};

    #[test]
    fn what_templates_make_has_no_fault() {
        for template in Template::ALL {
            let mut plan = Plan::new("P", "generic-6mv");
            plan.beams = template.beams(&plan, DVec3::new(1.0, -2.0, 3.0));
            assert_eq!(plan.fault(), None, "{template:?}");
            plan.beams = plan.beams.iter().map(Beam::opposing).collect();
            assert_eq!(plan.fault(), None, "{template:?}, opposed");
        }
    }

    #[test]
    fn a_fault_names_plan_beam_and_control_point() {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = Template::Arc(GantryArc::FULL).beams(&plan, DVec3::ZERO);
        plan.beams[0].control_points[6].jaws.y = [30.0, -30.0];
        let said = plan
            .fault()
            .map(|fault| fault.to_string())
            .unwrap_or_default();
        assert!(
            said.starts_with("plan 'P', beam 'G181-179': control point 7: the y jaws"),
            "{said}"
        );
        // Beams that are only shown have a number and a place, and no more is asked of them.
        plan.beams[0].read_only = Some("its jaws are crossed".to_owned());
        assert_eq!(plan.fault(), None);
        plan.beams.push(plan.beams[0].clone());
        assert!(plan.fault().is_some_and(|fault| {
            fault
                .to_string()
                .contains("number 1 is that of an earlier beam")
        }));
        plan.fractions = 0;
        assert!(plan.fault().is_some_and(
            |fault| fault.to_string() == "plan 'P': fractions = 0 must be from 1 to 200"
        ));
    }

    #[test]
    fn setup_fields_deliver_nothing() {
        let mut plan = Plan::new("P", "generic-6mv");
        plan.beams = Template::One.beams(&plan, DVec3::ZERO);
        plan.beams[0].setup = true;
        assert!(
            plan.fault()
                .is_some_and(|fault| fault.to_string().contains("setup field with 100 MU"))
        );
        plan.beams[0].mu = 0.0;
        assert_eq!(plan.fault(), None);
    }

    fn structure(number: u32, name: &str) -> Structure {
        Structure {
            points_mm: vec![DVec3::X],
            ..Structure::new(name, number, StructureKind::Organ)
        }
    }

    fn fault_words(structures: &[Structure]) -> String {
        structures_fault(structures)
            .map(|fault| fault.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn structures_are_told_apart_by_number_and_name_and_lie_somewhere() {
        assert_eq!(
            fault_words(&[structure(1, "Cord"), structure(2, "Heart")]),
            ""
        );
        assert!(
            fault_words(&[structure(1, "Cord"), structure(1, "Heart")]).contains("ROI number 1")
        );
        assert!(
            fault_words(&[structure(1, "Cord"), structure(2, " CORD")])
                .contains("structure ' CORD': another")
        );
        let mut lost = structure(1, "Cord");
        lost.points_mm.push(DVec3::new(0.0, 1e300, 0.0));
        assert!(fault_words(&[lost]).contains("structure 'Cord': points_mm = 1"));
    }
}
