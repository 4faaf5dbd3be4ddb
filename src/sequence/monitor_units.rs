//! Delivery of a plan in figures, with its monitor units beside what open fields would need.

use crate::figures::DeliveryFigures;
use crate::limits::broken_carriage;
use case::{Beam, CutFrom, Plan};
use physics::Machine;

/// Leaves that need more monitor units than so many times those of open fields are remarked on: leakage and beam-on time grow with them.
const REMARKED_MODULATION: f64 = 3.0;

/// Monitor units of a fraction for each gray from which on they are remarked on. Chosen: optimised fields and arcs of
/// `benches/RESULTS.md` have 447 to 818.
const REMARKED_MU_PER_GY: f64 = 1000.0;

/// Monitor units of one beam and fraction from which on they are remarked on. Chosen: five minutes at 600 MU/min.
const REMARKED_MU: f64 = 3000.0;

/// Delivery of a plan whose beams all have leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDelivery {
    pub figures: DeliveryFigures,
    /// Monitor units of a fraction for each gray prescribed for it.
    pub mu_per_gy: Option<f64>,
    /// Remarks on many monitor units, and on leaves that their carriage does not hold.
    pub remark: Option<String>,
}

impl PlanDelivery {
    /// `None` where a beam has no leaves, or its machine no limits of delivery. `factor`: of the normalisation on all monitor units.
    pub fn new(plan: &Plan, factor: f64) -> Option<Self> {
        let mut delivered = plan.clone();
        delivered
            .beams
            .iter_mut()
            .for_each(|beam| beam.mu *= factor);
        Some(Self {
            figures: DeliveryFigures::of_plan(&delivered)?,
            mu_per_gy: mu_per_gy(&delivered),
            remark: remark(plan, &delivered),
        })
    }

    /// The figures in one line.
    pub fn words(&self) -> String {
        let Self {
            figures: f,
            mu_per_gy,
            ..
        } = self;
        let per_gy = mu_per_gy.map_or_else(String::new, |mu| format!(" ({mu:.0} MU/Gy)"));
        format!(
            "{:.1} MU{per_gy}, beam on {:.0} s, complexity {:.2}, mean gap {:.1} mm, {} apertures, smallest {:.2} cm²",
            f.mu, f.beam_on_s, f.complexity, f.mean_gap_mm, f.apertures, f.smallest_cm2
        )
    }
}

/// Monitor units of a fraction for each gray prescribed for it; `None` without a prescription.
fn mu_per_gy(plan: &Plan) -> Option<f64> {
    let mu: f64 = plan
        .beams
        .iter()
        .filter(|beam| beam.is_switched_on())
        .map(|beam| beam.mu)
        .sum();
    plan.prescription_gy
        .filter(|gy| *gy > 0.0)
        .map(|gy| mu * f64::from(plan.fractions) / gy)
}

/// Monitor units in which an open field gives the mean fluence of the map that leaves were cut from, over its beamlets with fluence.
fn open_field_mu(from: &CutFrom) -> f64 {
    let map = &from.map;
    let (mut fluence, mut area) = (0.0, 0.0);
    for (beamlet, value) in map
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| **value > 0.0)
    {
        let area_mm2: f64 = map
            .sides_mm(beamlet)
            .map(|[low, high]| high - low)
            .iter()
            .product();
        fluence += area_mm2 * f64::from(*value);
        area += area_mm2;
    }
    from.mu * fluence / f64::max(area, f64::MIN_POSITIVE)
}

/// Monitor units of the beams whose leaves were cut from maps, over those of open fields of the same mean fluence; `None` without such
/// beams.
fn modulation_factor(plan: &Plan) -> Option<f64> {
    let cut = plan.beams.iter().filter(|beam| beam.is_switched_on());
    let pairs =
        cut.filter_map(|beam: &Beam| Some((beam.mu, open_field_mu(beam.cut_from.as_ref()?))));
    let [leaves, open] = pairs.fold([0.0; 2], |sum, (mu, open)| [sum[0] + mu, sum[1] + open]);
    (open > 0.0).then_some(leaves / open)
}

/// Remarks on a plan and on what it delivers, one after the other.
fn remark(plan: &Plan, delivered: &Plan) -> Option<String> {
    let on_modulation = modulation_remark(plan).into_iter();
    let remarks: Vec<String> = on_modulation
        .chain(monitor_units_remark(delivered))
        .chain(carriage_remarks(plan))
        .collect();
    (!remarks.is_empty()).then(|| remarks.join(" "))
}

/// Remarks on leaves of the machine, wherever they come from, that its carriage does not hold while the beam is on.
fn carriage_remarks(plan: &Plan) -> impl Iterator<Item = String> {
    plan.beams
        .iter()
        .filter(|beam| beam.is_switched_on())
        .filter_map(|beam| {
            let machine = Machine::resolve(plan.machine_of(beam)).ok()?;
            let (leaves, limits, mlc) = (
                machine.leaves.as_ref()?,
                machine.delivery.as_ref()?,
                beam.mlc.as_ref()?,
            );
            // Leaves of another machine have carriages of their own, or none.
            let are_own = leaves.boundaries_mm == mlc.boundaries_mm;
            let what = broken_carriage(&beam.control_points, limits).filter(|_| are_own)?;
            Some(format!(
                "Beam '{}' on the machine '{}', {what}.",
                beam.name, machine.name
            ))
        })
}

/// The remark on beams or a plan of many monitor units, whether leaves deliver them yet or not.
pub fn monitor_units_remark(plan: &Plan) -> Option<String> {
    let per_gy = mu_per_gy(plan).filter(|mu| *mu > REMARKED_MU_PER_GY);
    let beams = plan
        .beams
        .iter()
        .filter(|beam| beam.is_switched_on() && beam.mu > REMARKED_MU);
    let beams: Vec<String> = beams
        .map(|beam| format!("beam '{}' {:.0} MU", beam.name, beam.mu))
        .collect();
    let said = match (per_gy, beams.is_empty()) {
        (None, true) => return None,
        (Some(mu), true) => format!("The plan has {mu:.0} MU/Gy"),
        (None, false) => format!("Of one fraction {}", beams.join(", ")),
        (Some(mu), false) => format!(
            "The plan has {mu:.0} MU/Gy, {} of one fraction",
            beams.join(", ")
        ),
    };
    Some(format!(
        "{said}, where {REMARKED_MU_PER_GY:.0} MU/Gy and {REMARKED_MU:.0} MU a beam are remarked on: leakage and beam-on time grow \
         with them. Weigh 'Monitor units' more, or relax the goals that modulate the maps."
    ))
}

/// Names of computed beams that deliver nothing: their maps are empty, or give no segment that is worth delivering.
pub fn undelivered(plan: &Plan) -> impl Iterator<Item = &str> {
    let idle = plan
        .beams
        .iter()
        .filter(|beam| beam.is_switched_on() && beam.map().is_some() && beam.mu <= 0.0);
    idle.map(|beam| beam.name.as_str())
}

/// The remark on leaves that need many monitor units.
fn modulation_remark(plan: &Plan) -> Option<String> {
    let factor = modulation_factor(plan).filter(|factor| *factor > REMARKED_MODULATION)?;
    Some(format!(
        "The leaves need {factor:.1} times the monitor units of open fields of the same mean fluence, more than \
         {REMARKED_MODULATION:.0}: smoother maps need fewer."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{FluenceMap, Jaws, MlcAxis};
    use glam::DVec3;

    /// Half of the area with fluence gets 1, half gets 0.5: an open field of 75 of 100 MU has their mean.
    #[test]
    fn monitor_units_are_held_against_open_fields_of_the_same_mean_fluence() {
        let map = FluenceMap {
            axis: MlcAxis::X,
            rows_mm: vec![-10.0, 0.0, 20.0],
            first_mm: 0.0,
            step_mm: 5.0,
            columns: 2,
            values: vec![1.0, 1.0, 0.5, 0.0],
        };
        let jaws = Jaws::symmetric(40.0, 40.0);
        let mut beam = Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 150.0);
        beam.cut_from = Some(Box::new(CutFrom {
            map,
            mu: 100.0,
            limits: Vec::new(),
        }));
        let mut plan = Plan::new("P", "generic-6mv");
        (plan.prescription_gy, plan.fractions, plan.beams) = (Some(60.0), 30, vec![beam]);
        assert!((modulation_factor(&plan).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(
            (mu_per_gy(&plan), modulation_remark(&plan)),
            (Some(75.0), None)
        );
        plan.beams[0].mu = 226.0;
        assert!(modulation_remark(&plan).unwrap().contains("3.0 times"));
        plan.beams[0].off = true;
        assert_eq!(
            (mu_per_gy(&plan), modulation_factor(&plan)),
            (Some(0.0), None)
        );
    }

    /// Leaves from elsewhere that go 120 mm of the 150 of the generic machine, and then 180; the same on another machine's leaves.
    #[test]
    fn leaves_beyond_their_carriage_are_remarked_on() {
        let machine = Machine::resolve("generic-6mv").unwrap();
        let mut beam = Beam::fixed(
            "AP",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(200.0, 40.0),
            300.0,
        );
        let start = beam.control_points.remove(0);
        beam.mlc = machine.leaves.as_ref().map(physics::Leaves::to_case);
        let mut plan = Plan::new("P", "generic-6mv");
        let mut remark = |from_mm: f64, to_mm: f64| {
            let point = |meterset_weight, mm: f64| case::ControlPoint {
                meterset_weight,
                leaves_mm: vec![[mm, mm + 5.0]; 60],
                ..start.clone()
            };
            beam.control_points = vec![point(0.0, from_mm), point(1.0, to_mm)];
            plan.beams = vec![beam.clone()];
            super::remark(&plan, &plan)
        };
        assert_eq!(remark(-60.0, 60.0), None);
        let said = remark(-90.0, 90.0).expect("a remark");
        assert!(
            said.contains("Beam 'AP'") && said.contains("180.0 mm apart"),
            "{said}"
        );
        plan.beams[0]
            .mlc
            .iter_mut()
            .for_each(|mlc| mlc.boundaries_mm[0] -= 1.0);
        assert_eq!(super::remark(&plan, &plan), None);
    }

    /// Fractions of 2 Gy with 2,256 MU have 1,128 MU/Gy; a beam of 15,000 MU for 20 Gy has 750 MU/Gy, and takes 25 minutes.
    #[test]
    fn many_monitor_units_are_remarked_on() {
        let beam = |mu: f64| Beam::fixed("b", 1, 0.0, DVec3::ZERO, Jaws::symmetric(40.0, 40.0), mu);
        let plan = |prescription_gy: f64, fractions: u32, beams: &[Beam]| Plan {
            prescription_gy: Some(prescription_gy),
            fractions,
            beams: beams.to_vec(),
            ..Plan::new("P", "generic-6mv")
        };
        assert!(
            monitor_units_remark(&plan(50.0, 25, &[beam(1128.0), beam(1128.0)]))
                .unwrap()
                .contains("1128 MU/Gy")
        );
        assert!(
            monitor_units_remark(&plan(60.0, 3, &[beam(15_000.0)]))
                .unwrap()
                .contains("beam 'b' 15000 MU")
        );
        assert_eq!(
            monitor_units_remark(&plan(50.0, 25, &[beam(800.0), beam(800.0)])),
            None
        );
    }
}
