use super::*;
use crate::broken_limit;
use crate::cut::tests::with_map;
use case::MlcAxis;
use glam::DVec3;
use proptest::prelude::*;

/// A beam from some angles, equal steps of monitor units.
fn beam(angles_deg: &[f64]) -> Beam {
    let jaws = Jaws {
        x: [-40.0, 40.0],
        y: [-20.0, 20.0],
    };
    let mut beam = Beam::fixed("A", 1, 0.0, DVec3::ZERO, jaws, 100.0);
    let start = beam.control_points.remove(0);
    let last = (angles_deg.len() - 1) as f64;
    let point = |(n, deg): (usize, &f64)| ControlPoint {
        meterset_weight: n as f64 / last,
        gantry_deg: *deg,
        ..start.clone()
    };
    beam.control_points = angles_deg.iter().enumerate().map(point).collect();
    beam
}

/// A sector's field with a map of rows of 5 mm.
fn sector(rows: &[Vec<f32>], mu: f64) -> Beam {
    with_map(MlcAxis::X, -20.0, rows, mu)
}

#[test]
fn an_arc_goes_on_through_zero_and_never_turns_back() {
    let whole = arc_of(&beam(&[181.0, 270.0, 0.0, 90.0, 179.0])).unwrap();
    assert!((whole.span_deg() - 358.0).abs() < 1e-9);
    assert_eq!((whole.at_deg(0.5), whole.at_deg(1.0)), (0.0, 179.0));
    let back = arc_of(&beam(&[30.0, 350.0, 300.0])).unwrap();
    assert!((back.span_deg() - 90.0).abs() < 1e-9 && !back.clockwise && back.at_deg(0.5) == 345.0);
    assert_eq!(arc_of(&beam(&[10.0, 40.0, 20.0])), None);
    assert_eq!(arc_of(&beam(&[10.0, 10.0])), None);
    let mut turning = beam(&[10.0, 40.0]);
    turning.control_points[1].collimator_deg = 5.0;
    assert_eq!(arc_of(&turning), None);
}

/// Monitor units of open cells by following the tips in small steps: those that the map asks for, where leaves have time.
#[test]
fn a_sector_is_open_for_what_its_map_asks() {
    let row: Vec<f32> = vec![0.4, 0.8, 1.0, 0.6, 0.6, 0.2];
    let mut plan = Plan::new("arcs", "generic-6mv");
    plan.beams = vec![beam(&[0.0, 20.0])];
    let map = sector(&vec![row.clone(); 4], 40.0);
    for mirrored in [false, true] {
        let arc = arc_leaves(
            &plan,
            &plan.beams[0],
            &[&map],
            ArcStart {
                mirrored,
                flattened: 0.0,
            },
        )
        .unwrap();
        let pair = arc
            .mlc
            .as_ref()
            .unwrap()
            .boundaries_mm
            .partition_point(|side| *side < -15.0);
        for (column, value) in row.iter().enumerate() {
            let place = -15.0 + 5.0 * (column as f64 + 0.5);
            let mut open = 0.0;
            for points in arc.control_points.windows(2) {
                let mu = arc.mu * (points[1].meterset_weight - points[0].meterset_weight);
                let at = |n: u32| {
                    points[0]
                        .on_the_way_to(&points[1], (f64::from(n) + 0.5) / 500.0)
                        .leaves_mm[pair]
                };
                let opened = (0..500)
                    .filter(|n| at(*n)[0] < place && place < at(*n)[1])
                    .count();
                open += mu * opened as f64 / 500.0;
            }
            // Ten steps of straight ways are not the sweep's; what ends let through is not counted.
            let want = 40.0 * f64::from(*value);
            assert!(
                (open - want).abs() < 5.0,
                "{mirrored}, column {column}: {open} for {want}"
            );
        }
    }
}

#[test]
fn from_angles_has_all_monitor_units_and_leaves() {
    let arc = beam(&[0.0, 2.0, 4.0, 6.0, 8.0]);
    let still = from_angles(&arc, &[2.0, 7.5]);
    let angles: Vec<f64> = still
        .control_points
        .iter()
        .map(|point| point.gantry_deg)
        .collect();
    assert_eq!(angles, [2.0, 2.0, 2.0, 2.0, 7.5, 7.5, 7.5, 7.5]);
    assert_eq!(still.control_points[7].meterset_weight, 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Arcs of any maps keep the limits of any machine, sectors in the shadow among them.
    #[test]
    fn no_limit_is_broken(
        maps in prop::collection::vec(prop::collection::vec(prop::collection::vec(0.0_f32..3.0, 9), 2..7), 1..4),
        dark in 0_usize..4,
        interdigitates in any::<bool>(),
        mirrored in any::<bool>(),
    ) {
        let mut machine = (*physics::Machine::resolve("generic-6mv").unwrap()).clone();
        machine.delivery.iter_mut().for_each(|limits| limits.interdigitates = interdigitates);
        let mut sectors: Vec<Beam> = maps.iter().map(|rows| sector(rows, 30.0)).collect();
        if let Some(map) = sectors.get_mut(dark).and_then(|beam| beam.fluence.as_mut()) {
            map.values.fill(0.0);
        }
        let way = beam(&[100.0, 100.0 - 20.0 * maps.len() as f64]);
        let sectors: Vec<&Beam> = sectors.iter().collect();
        match leaves_on(&machine, &way, &sectors, ArcStart { mirrored, flattened: 0.2 }) {
            Ok(arc) => {
                prop_assert_eq!(arc.fault(), None);
                prop_assert_eq!(broken_limit(&arc, &machine.delivery.unwrap()), None);
                prop_assert!(arc.control_points.windows(2).all(|p| p[1].meterset_weight > p[0].meterset_weight));
            }
            Err(why) => prop_assert!(matches!(why, SequenceError::Empty { .. }), "{}", why),
        }
    }
}
