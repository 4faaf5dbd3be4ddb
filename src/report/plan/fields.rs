//! The beams of a plan as fields on the patient: energy, technique, distances along the central ray, field size.

use super::PlanReport;
use crate::pdf::Type;
use crate::pen::{LEFT, PLAIN, Pen, RED, RIGHT, SMALL};
use analysis::CentralRay;
use case::{Beam, Plan, Rgb};
use geometry::{BeamFrame, Hull};
use std::sync::Arc;

/// A beam beside what it meets, at its first control point.
#[derive(Clone)]
pub struct FieldFacts {
    pub name: String,
    /// `6 MV FFF`; empty where nothing states it.
    pub energy: String,
    pub technique: &'static str,
    /// Share of the plan's monitor units.
    pub weight_percent: Option<f64>,
    /// Between the jaws at the isocentre plane.
    pub sides_mm: [f64; 2],
    pub equivalent_square_mm: Option<f64>,
    /// `None`: not computed; `Some(None)`: it meets no surface.
    pub ray: Option<Option<CentralRay>>,
    pub frame: BeamFrame,
}

/// A structure whose outline stands in the apertures.
#[derive(Clone)]
pub struct Outline {
    pub hull: Arc<Hull>,
    pub colour: Rgb,
}

impl FieldFacts {
    /// `None` for a beam without control points. `machine_mv`: nominal energy of the machine's model, MV, and whether it has no
    /// flattening filter.
    pub fn new(
        plan: &Plan,
        index: usize,
        sad_mm: f64,
        machine_mv: Option<(f64, bool)>,
        ray: Option<Option<CentralRay>>,
    ) -> Option<Self> {
        let beam = plan.beams.get(index)?;
        let start = beam.start()?;
        let mv = beam.energy_mv.or(machine_mv.map(|(mv, _)| mv));
        let unflattened =
            beam.unflattened || machine_mv.is_some_and(|(_, unflattened)| unflattened);
        Some(Self {
            name: beam.name.clone(),
            energy: mv.map_or(String::new(), |mv| {
                format!("{mv} MV{}", if unflattened { " FFF" } else { "" })
            }),
            technique: technique(beam),
            weight_percent: plan.weight_percent(index),
            sides_mm: start.jaws.sides_mm(),
            equivalent_square_mm: start.jaws.equivalent_square_mm(),
            ray,
            frame: beam.frame_at(start, plan.position, sad_mm),
        })
    }
}

/// How a beam delivers: by what moves from control point to control point, and whether the beam is on meanwhile.
fn technique(beam: &Beam) -> &'static str {
    let points = &beam.control_points;
    let any = |moves: fn(&[case::ControlPoint]) -> bool| points.windows(2).any(moves);
    let is_arc =
        any(|w| w[0].gantry_deg != w[1].gantry_deg && w[1].meterset_weight > w[0].meterset_weight);
    let leaves_move = any(|w| w[0].leaves_mm != w[1].leaves_mm || w[0].jaws != w[1].jaws);
    let while_on = any(|w| {
        (w[0].leaves_mm != w[1].leaves_mm || w[0].jaws != w[1].jaws)
            && w[1].meterset_weight > w[0].meterset_weight
    });
    match (beam.fluence.is_some(), is_arc, leaves_move) {
        (true, ..) => "fluence map",
        (_, true, true) => "VMAT",
        (_, true, false) => "arc",
        (_, false, true) if while_on => "sliding window",
        (_, false, true) => "step and shoot",
        (_, false, false) if beam.mlc.is_some() => "static, leaves",
        (_, false, false) => "static, jaws",
    }
}

/// The table of the fields.
pub(super) fn fields(pen: &mut Pen, report: &PlanReport) {
    if report.fields.is_empty() {
        return;
    }
    pen.heading("Fields at the first control point");
    let ends = [70.0, 118.0, 190.0, 232.0, 306.0, 352.0, 398.0, 444.0].map(|right| LEFT + right);
    let ends: Vec<f32> = ends.into_iter().chain([RIGHT]).collect();
    let words = [
        "",
        "energy",
        "technique",
        "weight",
        "field mm",
        "square mm",
        "SSD mm",
        "depth mm",
        "water depth mm",
    ];
    pen.row(&words.map(|h| (h.to_owned(), SMALL)), &ends);
    let small = Type { size: 7.5, ..PLAIN };
    for field in &report.fields {
        let [x, y] = field.sides_mm;
        let ray = field.ray.flatten();
        let mm = |figure: fn(&CentralRay) -> f64| {
            ray.as_ref()
                .map_or_else(dash, |ray| format!("{:.1}", figure(ray)))
        };
        let cells = [
            field.name.clone(),
            if field.energy.is_empty() {
                dash()
            } else {
                field.energy.clone()
            },
            field.technique.to_owned(),
            field
                .weight_percent
                .map_or_else(dash, |percent| format!("{percent:.1} %")),
            format!("{x:.0} x {y:.0}"),
            field
                .equivalent_square_mm
                .map_or_else(dash, |mm| format!("{mm:.1}")),
            mm(|ray| ray.ssd_mm),
            mm(|ray| ray.depth_mm),
            mm(|ray| ray.water_mm),
        ];
        pen.row(&cells.map(|text| (text, small)), &ends);
    }
    let text = "Weight: share of the monitor units. Square: equivalent square of the jaws, 4 A / P (Sterling 1964). SSD, depth of the \
                isocentre and the same as water (relative electron density) along the central ray.";
    pen.line(text, SMALL);
    for field in &report.fields {
        let why = match field.ray {
            None => "its SSD is not computed",
            Some(None) => "its central ray meets no surface",
            Some(Some(ray)) if ray.depth_mm < 0.0 => "its isocentre lies in front of the surface",
            Some(Some(_)) => continue,
        };
        pen.line(
            &format!("{}: {why}.", field.name),
            Type {
                colour: RED,
                ..SMALL
            },
        );
    }
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{ControlPoint, Jaws};
    use glam::DVec3;

    #[test]
    fn the_technique_is_what_moves_while_the_beam_is_on() {
        let mut beam = Beam::fixed(
            "A",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 50.0),
            100.0,
        );
        assert_eq!(technique(&beam), "static, jaws");
        let start = ControlPoint {
            meterset_weight: 0.0,
            ..beam.control_points[0].clone()
        };
        for (points, want) in [
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(9.0, 0.0, 1.0, &start),
                ],
                "static, jaws",
            ),
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(5.0, 0.0, 1.0, &start),
                ],
                "sliding window",
            ),
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(9.0, 0.0, 0.5, &start),
                    point_with(5.0, 0.0, 0.5, &start),
                    point_with(5.0, 0.0, 1.0, &start),
                ],
                "step and shoot",
            ),
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(9.0, 90.0, 1.0, &start),
                ],
                "arc",
            ),
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(5.0, 90.0, 1.0, &start),
                ],
                "VMAT",
            ),
            // A gantry that turns while the beam is off delivers no arc.
            (
                vec![
                    point_with(9.0, 0.0, 0.0, &start),
                    point_with(9.0, 0.0, 1.0, &start),
                    point_with(9.0, 90.0, 1.0, &start),
                ],
                "static, jaws",
            ),
        ] {
            beam.control_points = points;
            assert_eq!(technique(&beam), want, "{:?}", beam.control_points.len());
        }
    }

    fn point_with(
        leaf: f64,
        gantry_deg: f64,
        meterset_weight: f64,
        start: &ControlPoint,
    ) -> ControlPoint {
        ControlPoint {
            leaves_mm: vec![[-leaf, leaf]],
            gantry_deg,
            meterset_weight,
            ..start.clone()
        }
    }

    #[test]
    fn energy_weight_and_size_are_those_of_the_beam() {
        let mut plan = Plan::new("P", "generic-6mv");
        for (n, mu) in [(1, 30.0), (2, 90.0)] {
            plan.beams.push(Beam::fixed(
                "A",
                n,
                0.0,
                DVec3::ZERO,
                Jaws::symmetric(100.0, 50.0),
                mu,
            ));
        }
        let facts = FieldFacts::new(&plan, 0, 1000.0, Some((6.0, true)), None).unwrap();
        assert_eq!(
            (facts.energy.as_str(), facts.weight_percent),
            ("6 MV FFF", Some(25.0))
        );
        // 4 A / P of 100 x 50: 4 * 5000 / 300.
        assert_eq!(facts.sides_mm, [100.0, 50.0]);
        assert!(
            facts
                .equivalent_square_mm
                .is_some_and(|mm| (mm - 200.0 / 3.0).abs() < 1e-9)
        );
        plan.beams[0].energy_mv = Some(10.0);
        assert_eq!(
            FieldFacts::new(&plan, 0, 1000.0, None, None)
                .unwrap()
                .energy,
            "10 MV"
        );
        assert!(FieldFacts::new(&plan, 2, 1000.0, None, None).is_none());
    }
}
