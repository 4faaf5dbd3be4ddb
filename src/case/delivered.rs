//! Parts of a beam and of a plan that a dose is made of. They are told here alone: results, leaves and the optimisation compare beams and
//! plans by them. Each member is named, so that a new one must be placed.

use super::{Beam, FluenceObjectives, Plan};

impl Beam {
    /// The beam without what no dose is made of: its name, what bounds its map, what its leaves were cut from.
    #[must_use]
    pub fn delivered(&self) -> Self {
        let Self {
            name: _,
            number,
            machine,
            treatment_machine,
            radiation,
            energy_mv,
            unflattened,
            source_axis_mm,
            mu,
            isocentre_mm,
            mlc,
            fluence,
            fluence_limits: _,
            cut_from: _,
            dose_rate_mu_min: _,
            control_points,
            setup,
            off,
            read_only,
            not_modelled,
            accessories,
            without_boluses,
        } = self;
        Self {
            name: String::new(),
            number: *number,
            machine: machine.clone(),
            treatment_machine: treatment_machine.clone(),
            radiation: *radiation,
            energy_mv: *energy_mv,
            unflattened: *unflattened,
            source_axis_mm: *source_axis_mm,
            mu: *mu,
            isocentre_mm: *isocentre_mm,
            mlc: mlc.clone(),
            fluence: fluence.clone(),
            fluence_limits: Vec::new(),
            cut_from: None,
            // Time alone hangs on it.
            dose_rate_mu_min: None,
            control_points: control_points.clone(),
            setup: *setup,
            off: *off,
            read_only: read_only.clone(),
            not_modelled: not_modelled.clone(),
            accessories: accessories.clone(),
            without_boluses: without_boluses.clone(),
        }
    }

    /// Whether another beam is the same in a file: which machine here computes it, whether it is computed, and whether it is switched
    /// on, are no part of one.
    pub fn is_unchanged(&self, other: &Self) -> bool {
        // No dose is made of name and dose rate, and a file states both.
        (&self.name, self.dose_rate_mu_min) == (&other.name, other.dose_rate_mu_min)
            && self.delivered_by_file() == other.delivered_by_file()
    }

    /// The beam as [`Self::delivered`], without what the program adds to its file.
    fn delivered_by_file(&self) -> Self {
        Self {
            machine: None,
            treatment_machine: None,
            off: false,
            read_only: None,
            not_modelled: Vec::new(),
            ..self.delivered()
        }
    }
}

impl Plan {
    /// A beam of the plan as [`Beam::delivered`], with its machine.
    pub fn delivered_beam(&self, beam: &Beam) -> Beam {
        Beam {
            machine: Some(self.machine_of(beam).to_owned()),
            ..beam.delivered()
        }
    }

    /// The plan without what no dose is made of: names, objectives, records. Two plans that are equal so have one dose on one patient.
    #[must_use]
    pub fn delivered(&self) -> Self {
        let Self {
            name: _,
            machine: _,
            position,
            prescription_gy,
            fractions,
            normalisation,
            objectives: _,
            beams,
            uid: _,
            approval: _,
            answered_goals: _,
            follows_goals: _,
            remarks,
            absent_beams,
        } = self;
        Self {
            name: String::new(),
            // Each beam has its own.
            machine: String::new(),
            position: *position,
            prescription_gy: *prescription_gy,
            fractions: *fractions,
            normalisation: normalisation.clone(),
            objectives: FluenceObjectives::default(),
            beams: beams.iter().map(|beam| self.delivered_beam(beam)).collect(),
            uid: None,
            approval: None,
            answered_goals: None,
            follows_goals: false,
            // Both bear on the standing of the dose.
            remarks: remarks.clone(),
            absent_beams: absent_beams.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        AbsentBeam, Approval, Beam, ControlPoint, CutFrom, FallOff, FluenceLimit, FluenceMap,
        FluenceObjectives, Jaws, Mlc, MlcAxis, Normalisation, Plan, Radiation, Remark, Stage,
    };
    use geometry::PatientPosition;
    use glam::DVec3;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// A member, another value of it, and whether a dose is made of it.
    type Change<T> = (&'static str, fn(&mut T), bool);

    fn map(value: f32) -> FluenceMap {
        FluenceMap {
            axis: MlcAxis::X,
            rows_mm: vec![-5.0, 5.0],
            first_mm: -10.0,
            step_mm: 10.0,
            columns: 2,
            values: vec![value, 1.0],
        }
    }

    /// A beam that has all that a beam can have, so that its file names every member.
    fn full_beam() -> Beam {
        let jaws = Jaws::symmetric(40.0, 40.0);
        let mut beam = Beam::fixed("A", 1, 10.0, DVec3::ZERO, jaws, 100.0);
        beam.machine = Some("generic-6mv".to_owned());
        (beam.treatment_machine, beam.dose_rate_mu_min) = (Some("M1".to_owned()), Some(600.0));
        (beam.energy_mv, beam.unflattened, beam.source_axis_mm) = (Some(6.0), true, Some(1000.0));
        beam.mlc = Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm: vec![-10.0, 0.0, 10.0],
        });
        beam.control_points[0].leaves_mm = vec![[-5.0, 5.0]; 2];
        beam.fluence = Some(map(0.5));
        beam.fluence_limits = vec![FluenceLimit {
            beamlet: 0,
            mu: 80.0,
        }];
        beam.cut_from = Some(Box::new(CutFrom {
            map: map(0.4),
            mu: 90.0,
            limits: Vec::new(),
        }));
        (beam.setup, beam.off, beam.read_only) = (true, true, Some("electrons".to_owned()));
        (beam.not_modelled, beam.without_boluses) =
            (vec!["wedge".to_owned()], vec!["Gel".to_owned()]);
        beam.accessories = vec!["T1".to_owned()];
        beam
    }

    fn full_plan() -> Plan {
        let (by, date) = ("A".to_owned(), "2026-11-26 21:43:03 UTC".to_owned());
        Plan {
            prescription_gy: Some(60.0),
            fractions: 30,
            normalisation: Some(Normalisation::to_named("PTV", 95.0, 60.0)),
            objectives: FluenceObjectives {
                monitor_units: 2.0,
                ..FluenceObjectives::default()
            },
            beams: vec![full_beam()],
            uid: Some("1.2".to_owned()),
            approval: Some(Approval {
                stage: Stage::Reviewed,
                by,
                at: date,
                reason: "fine".to_owned(),
            }),
            answered_goals: Some("x".to_owned()),
            follows_goals: true,
            remarks: vec![Remark::warning("of another structure set", Vec::new())],
            absent_beams: vec![AbsentBeam {
                number: 2,
                mu: 50.0,
            }],
            ..Plan::new("P", "generic-6mv")
        }
    }

    const OF_BEAM: [Change<Beam>; 22] = [
        ("name", |b| b.name.push('x'), false),
        ("number", |b| b.number += 1, true),
        (
            "machine",
            |b| b.machine = Some("generic-10mv".to_owned()),
            true,
        ),
        // A dose by another machine than the file's says so.
        ("treatment_machine", |b| b.treatment_machine = None, true),
        ("radiation", |b| b.radiation = Radiation::Electron, true),
        ("energy_mv", |b| b.energy_mv = Some(10.0), true),
        ("unflattened", |b| b.unflattened = false, true),
        ("source_axis_mm", |b| b.source_axis_mm = Some(990.0), true),
        ("mu", |b| b.mu += 1.0, true),
        ("isocentre_mm", |b| b.isocentre_mm.x += 1.0, true),
        ("mlc", |b| b.mlc = None, true),
        ("fluence", |b| b.fluence = Some(map(0.6)), true),
        ("fluence_limits", |b| b.fluence_limits.clear(), false),
        ("cut_from", |b| b.cut_from = None, false),
        ("dose_rate_mu_min", |b| b.dose_rate_mu_min = None, false),
        ("control_points", |b| b.control_points.clear(), true),
        ("setup", |b| b.setup = false, true),
        ("off", |b| b.off = false, true),
        ("read_only", |b| b.read_only = None, true),
        ("not_modelled", |b| b.not_modelled.clear(), true),
        ("accessories", |b| b.accessories.push("T2".to_owned()), true),
        ("without_boluses", |b| b.without_boluses.clear(), true),
    ];

    const OF_POINT: [Change<ControlPoint>; 6] = [
        ("meterset_weight", |p| p.meterset_weight = 0.5, true),
        ("gantry_deg", |p| p.gantry_deg += 1.0, true),
        ("collimator_deg", |p| p.collimator_deg += 1.0, true),
        ("couch_deg", |p| p.couch_deg += 1.0, true),
        ("jaws", |p| p.jaws.y[1] += 1.0, true),
        ("leaves_mm", |p| p.leaves_mm[1][0] -= 1.0, true),
    ];

    const OF_PLAN: [Change<Plan>; 14] = [
        ("name", |p| p.name.push('x'), false),
        // Of beams without a machine of their own.
        ("machine", |p| p.machine = "generic-10mv".to_owned(), true),
        ("position", |p| p.position = PatientPosition::Ffs, true),
        ("prescription_gy", |p| p.prescription_gy = Some(50.0), true),
        ("fractions", |p| p.fractions += 1, true),
        ("normalisation", |p| p.normalisation = None, true),
        (
            "objectives",
            |p| {
                p.objectives.fall_off = FallOff {
                    weight: 9.0,
                    ..FallOff::default()
                }
            },
            false,
        ),
        ("beams", |p| p.beams.clear(), true),
        ("uid", |p| p.uid = None, false),
        ("approval", |p| p.approval = None, false),
        ("answered_goals", |p| p.answered_goals = None, false),
        ("follows_goals", |p| p.follows_goals = false, false),
        ("remarks", |p| p.remarks.clear(), true),
        ("absent_beams", |p| p.absent_beams.clear(), true),
    ];

    /// Members of a value as its file names them: a member that no change is of is one that was forgotten.
    fn members(value: impl serde::Serialize) -> BTreeSet<String> {
        let Ok(Value::Object(object)) = serde_json::to_value(value) else {
            panic!("an object")
        };
        object.keys().cloned().collect()
    }

    fn named<T>(changes: &[Change<T>]) -> BTreeSet<String> {
        changes
            .iter()
            .map(|(member, ..)| (*member).to_owned())
            .collect()
    }

    #[test]
    fn each_member_counts_exactly_where_a_dose_is_made_of_it() {
        assert_eq!(members(full_beam()), named(&OF_BEAM));
        assert_eq!(
            members(full_beam().control_points.remove(0)),
            named(&OF_POINT)
        );
        assert_eq!(members(full_plan()), named(&OF_PLAN));
        let mut plan = full_plan();
        for (member, change, counts) in OF_BEAM {
            let mut beam = full_beam();
            change(&mut beam);
            assert_ne!(beam, full_beam(), "{member}");
            assert_eq!(
                beam.delivered() != full_beam().delivered(),
                counts,
                "{member}"
            );
        }
        for (member, change, counts) in OF_POINT {
            let mut beam = full_beam();
            change(&mut beam.control_points[0]);
            assert_eq!(
                beam.delivered() != full_beam().delivered(),
                counts,
                "{member}"
            );
        }
        plan.beams[0].machine = None;
        for (member, change, counts) in OF_PLAN {
            let mut changed = plan.clone();
            change(&mut changed);
            assert_ne!(changed, plan, "{member}");
            assert_eq!(changed.delivered() != plan.delivered(), counts, "{member}");
        }
    }
}
