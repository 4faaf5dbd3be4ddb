//! Trays and couch: matter between head and patient that no engine transports through. A machine file has a factor on the dose for
//! each, and monitor units are multiplied by it on their way to the patient, once for all engines.

use super::exposure::{Exposure, SAME_ANGLE_DEG, Segment, exposures, short_way};
use super::{Machine, Patient};
use case::{Beam, ControlPoint};
use serde::Deserialize;

/// Share of the dose that passes the couch, at gantry angles at which the beam comes through it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CouchFactor {
    pub factor: f64,
    /// Ranges of gantry angles (from, to; IEC 61217) with the couch at 0 degrees. They rise, and share no angle.
    pub gantry_deg: Vec<[f64; 2]>,
}

/// A couch further from 0 degrees is turned: its sides lie at other gantry angles than its factor's. Less is the rounding of plans.
const TURNED_DEG: f64 = 0.1;

impl CouchFactor {
    /// Part of a beam's monitor units that comes through the couch, 0 to 1.
    pub fn part_of_beam(&self, beam: &Beam) -> f64 {
        exposures(beam, 360.0)
            .iter()
            .map(|exposure| exposure.share * self.part_of_exposure(exposure))
            .sum()
    }

    fn part_of_exposure(&self, exposure: &Exposure<'_>) -> f64 {
        exposure
            .segments
            .iter()
            .map(|segment| segment.weight * self.part_of_segment(segment))
            .sum()
    }

    /// Between control points the gantry turns evenly with the monitor units, so that the part is one of the way.
    fn part_of_segment(&self, Segment { from, to, span, .. }: &Segment<'_>) -> f64 {
        if is_turned(from) || is_turned(to) {
            return 0.0;
        }
        let (first_deg, turn_deg) = (
            from.gantry_deg.rem_euclid(360.0),
            short_way(from.gantry_deg, to.gantry_deg),
        );
        let [start, end] = span.map(|part| first_deg + part * turn_deg);
        let (low, high) = (start.min(end), start.max(end));
        if high - low < SAME_ANGLE_DEG {
            let middle = (0.5 * (low + high)).rem_euclid(360.0);
            return f64::from(
                self.gantry_deg
                    .iter()
                    .any(|[from, to]| (*from..=*to).contains(&middle)),
            );
        }
        // The way of an arc may pass 0 or 360 degrees.
        let turns = [-360.0, 0.0, 360.0];
        let ranges = turns.iter().flat_map(|turn| {
            self.gantry_deg
                .iter()
                .map(move |range| range.map(|deg| deg + turn))
        });
        let within_deg: f64 = ranges
            .map(|[from, to]| (high.min(to) - low.max(from)).max(0.0))
            .sum();
        within_deg / (high - low)
    }
}

/// Whether the couch is turned at a control point.
fn is_turned(point: &ControlPoint) -> bool {
    short_way(0.0, point.couch_deg).abs() > TURNED_DEG
}

/// Whether the couch is turned at some control point of a beam.
pub fn turns_couch(beam: &Beam) -> bool {
    beam.control_points.iter().any(is_turned)
}

impl Machine {
    /// Identifiers of a beam's accessories, each with its factor where the machine file has one.
    pub fn accessory_factors<'a>(
        &'a self,
        beam: &'a Beam,
    ) -> impl Iterator<Item = (&'a str, Option<f64>)> {
        beam.accessories
            .iter()
            .map(|id| (id.as_str(), self.trays.get(id).copied()))
    }

    /// Share of the dose that passes the accessories of a beam which have a factor.
    fn tray_factor(&self, beam: &Beam) -> f64 {
        self.accessory_factors(beam)
            .filter_map(|(_, factor)| factor)
            .product()
    }
}

impl Exposure<'_> {
    /// Monitor units of an exposure as they reach the patient: times the factors of trays, and of the couch where the patient's voxels
    /// hold none. All engines take them from here.
    pub fn transmitted_mu(&self, machine: &Machine, beam: &Beam, patient: &Patient) -> f64 {
        let couch = machine.couch.as_ref().filter(|_| !patient.has_couch);
        let couch_factor = couch.map_or(1.0, |couch| {
            1.0 - (1.0 - couch.factor) * couch.part_of_exposure(self)
        });
        beam.mu * self.share * machine.tray_factor(beam) * couch_factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Material;
    use case::Jaws;
    use geometry::{Grid, PatientPosition, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    fn patient(has_couch: bool) -> Patient {
        let grid =
            Arc::new(Grid::axis_aligned(DVec3::ZERO, DVec3::splat(10.0), [2; 3]).expect("a grid"));
        let water = Arc::new(Volume::new(Arc::clone(&grid), vec![1.0; 8]));
        Patient {
            mass_density_g_cm3: Arc::clone(&water),
            relative_electron_density: water,
            material: Arc::new(Volume::new(grid, vec![Material::Water as u8; 8])),
            position: PatientPosition::Hfs,
            has_couch,
        }
    }

    fn machine() -> Machine {
        let mut machine = (*Machine::resolve("generic-6mv").expect("shipped")).clone();
        machine.trays = [("T1".to_owned(), 0.97), ("T2".to_owned(), 0.9)].into();
        machine.couch = Some(CouchFactor {
            factor: 0.9,
            gantry_deg: vec![[110.0, 170.0], [190.0, 250.0]],
        });
        machine
    }

    /// A beam of 200 MU through control points of (gantry, couch), evenly weighted.
    fn beam(points: &[[f64; 2]]) -> Beam {
        let mut beam = Beam::fixed(
            "b",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(100.0, 100.0),
            200.0,
        );
        let first = beam.control_points[0].clone();
        let last = points.len().saturating_sub(1).max(1) as f64;
        beam.control_points = points
            .iter()
            .enumerate()
            .map(
                |(n, [gantry_deg, couch_deg]): (usize, &[f64; 2])| ControlPoint {
                    meterset_weight: if points.len() == 1 {
                        1.0
                    } else {
                        n as f64 / last
                    },
                    gantry_deg: *gantry_deg,
                    couch_deg: *couch_deg,
                    ..first.clone()
                },
            )
            .collect();
        beam
    }

    fn transmitted(beam: &Beam, has_couch: bool, step_deg: f64) -> f64 {
        let (machine, patient) = (machine(), patient(has_couch));
        exposures(beam, step_deg)
            .iter()
            .map(|e| e.transmitted_mu(&machine, beam, &patient))
            .sum()
    }

    #[test]
    fn trays_multiply_where_they_have_factors() {
        for (ids, want) in [
            (vec![], 200.0),
            (vec!["T1"], 194.0),
            (vec!["T1", "T2"], 174.6),
            (vec!["t1", "X"], 200.0),
        ] {
            let accessories = ids.iter().map(|id| (*id).to_owned()).collect();
            let beam = Beam {
                accessories,
                ..beam(&[[0.0, 0.0]])
            };
            assert!(
                (transmitted(&beam, false, 4.0) - want).abs() < 1e-9,
                "{ids:?}"
            );
            let without = machine()
                .accessory_factors(&beam)
                .filter(|(_, factor)| factor.is_none())
                .count();
            assert_eq!(
                without,
                ids.iter().filter(|id| !["T1", "T2"].contains(id)).count()
            );
        }
    }

    #[test]
    fn the_couch_counts_at_its_angles_where_no_voxels_are_of_one() {
        for (gantry, couch, want) in [
            (0.0, 0.0, 200.0),
            (110.0, 0.0, 180.0),
            (109.0, 0.0, 200.0),
            (180.0, 0.0, 200.0),
            (-120.0, 360.0, 180.0),
            (150.0, 10.0, 200.0),
            (150.0, 359.95, 180.0),
        ] {
            let beam = beam(&[[gantry, couch]]);
            assert!(
                (transmitted(&beam, false, 4.0) - want).abs() < 1e-9,
                "{gantry} {couch}"
            );
            assert_eq!(transmitted(&beam, true, 4.0), 200.0);
            assert_eq!(turns_couch(&beam), couch == 10.0);
        }
    }

    /// The share of the way is counted by hand, and no step of an arc changes it.
    #[test]
    fn an_arc_loses_as_much_as_its_part_through_the_couch() {
        let cases: [(&[[f64; 2]], f64); 5] = [
            // 60 of 120 degrees, either way round.
            (&[[60.0, 0.0], [180.0, 0.0]], 0.5),
            (&[[180.0, 0.0], [60.0, 0.0]], 0.5),
            // Half of the units on 60 degrees of which 20 are within, half on 100 of which 60 are.
            (
                &[[70.0, 0.0], [130.0, 0.0], [230.0, 0.0]],
                0.5 * 20.0 / 60.0 + 0.5 * 80.0 / 100.0,
            ),
            // Through 0.
            (&[[260.0, 0.0], [0.0, 0.0], [115.0, 0.0]], 0.5 * 5.0 / 115.0),
            (&[[150.0, 5.0], [160.0, 0.0]], 0.0),
        ];
        for (points, want) in cases {
            let couch = machine().couch.expect("a couch");
            let got = couch.part_of_beam(&beam(points));
            assert!((got - want).abs() < 1e-9, "{points:?}: {got}, not {want}");
            for step_deg in [1.7, 4.0] {
                let mu = transmitted(&beam(points), false, step_deg);
                assert!(
                    (mu - 200.0 * (1.0 - 0.1 * want)).abs() < 1e-9,
                    "{points:?} in {step_deg}: {mu}"
                );
            }
        }
    }
}
