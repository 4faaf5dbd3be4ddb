use super::*;
use crate::figures::DeliveryFigures;
use case::{FluenceLimit, FluenceMap, Jaws, MlcAxis};
use glam::DVec3;
use physics::Delivery;
use proptest::prelude::*;

/// Rows of 5 mm from the leaf side `low_mm` on, columns of 5 mm about the axis.
pub fn with_map(axis: MlcAxis, low_mm: f64, rows: &[Vec<f32>], mu: f64) -> Beam {
    let columns = rows[0].len();
    let map = FluenceMap {
        axis,
        rows_mm: (0..=rows.len()).map(|n| low_mm + 5.0 * n as f64).collect(),
        first_mm: -5.0 * (columns / 2) as f64,
        step_mm: 5.0,
        columns,
        values: rows.concat(),
    };
    let mut beam = Beam::fixed("G", 1, 30.0, DVec3::ZERO, map.jaws(), mu);
    beam.fluence = Some(map);
    beam
}

fn machine(limits: impl Fn(&mut Delivery)) -> Machine {
    let mut machine = (*Machine::resolve("generic-6mv").unwrap()).clone();
    machine.delivery.iter_mut().for_each(limits);
    machine
}

/// The machine's numbers: leaves of 25 mm/s by 600 MU/min, of which 99 % are used.
const SPEED_MM_MU: f64 = 0.99 * 2.5;

/// Sliding windows of a wedge, a pyramid and two islands: monitor units by the closed form but for leakage and rounded ends, which the
/// machine's leaves add; their fluence is the map's.
#[test]
fn sliding_windows_deliver_the_map() {
    let ten = |of: &dyn Fn(usize) -> f32| vec![(0..12).map(of).collect::<Vec<f32>>(); 8];
    let machine = machine(|_| {});
    for (name, rows, rises) in [
        ("wedge", ten(&|n| 0.1 * (n as f32 + 1.0)), 1.2),
        (
            "pyramid",
            ten(&|n| 0.2 * (6.0 - (n as f32 - 5.5).abs())),
            1.1,
        ),
        (
            "islands",
            ten(&|n| if matches!(n, 0..3 | 9..12) { 1.0 } else { 0.3 }),
            1.7,
        ),
    ] {
        let mut beam = with_map(MlcAxis::X, -20.0, &rows, 60.0);
        let at_its_rate = sequence_beam(&beam, &machine, Technique::SlidingWindow).unwrap();
        beam.dose_rate_mu_min = Some(600.0);
        let cut = sequence_beam(&beam, &machine, Technique::SlidingWindow).unwrap();
        // The window's own rate takes no more monitor units.
        assert!(at_its_rate.beam.mu < 1.01 * cut.beam.mu, "{name}");
        // Travel between nodes under the jaws: the least gap (retreat of either tip, 0.5 mm) and 5 mm beyond the map.
        let retreat = machine
            .leaves
            .as_ref()
            .unwrap()
            .end_retreat_mm(machine.sad_mm);
        let travel = 60.0 + 2.0 * (5.0 + 0.5 + 2.0 * retreat);
        let mu = travel / SPEED_MM_MU + 60.0 * rises;
        println!(
            "{name}: {} MU for {mu:.2}, {:?}",
            cut.beam.mu, cut.difference
        );
        assert!(
            (cut.beam.mu / mu - 1.0).abs() < 0.08,
            "{name}: {} for {mu}",
            cut.beam.mu
        );
        assert!(
            cut.difference.mean_percent.abs() < 0.5 && cut.difference.rms_percent < 4.5,
            "{name}"
        );
        assert_eq!((cut.beam.fluence.as_ref(), cut.beam.fault()), (None, None));
        let figures = DeliveryFigures::new(&cut.beam, &machine.delivery.unwrap());
        assert!(
            (figures.beam_on_s - 0.1 * cut.beam.mu).abs() < 0.01,
            "{figures:?}"
        );
    }
}

/// Jaws wider than the map would let leaves irradiate what the map does not: they close to it; narrower ones stay.
#[test]
fn jaws_close_to_the_map() {
    let mut beam = with_map(MlcAxis::X, -20.0, &vec![vec![1.0; 10]; 8], 60.0);
    beam.control_points[0].jaws = Jaws {
        x: [-60.0, 10.0],
        y: [-15.0, 80.0],
    };
    let cut = sequence_beam(&beam, &machine(|_| {}), Technique::SlidingWindow).unwrap();
    let want = Jaws {
        x: [-25.0, 10.0],
        y: [-15.0, 20.0],
    };
    assert!(
        cut.beam
            .control_points
            .iter()
            .all(|point| point.jaws == want)
    );
}

/// Beams keep the map that their leaves were cut from, with its monitor units and bounds: cut anew, the leaves are the same.
#[test]
fn leaves_keep_the_map_that_they_were_cut_from() {
    let mut beam = with_map(MlcAxis::X, -20.0, &vec![vec![1.0, 0.4, 0.7, 1.0]; 8], 60.0);
    beam.fluence_limits = vec![FluenceLimit {
        beamlet: 2,
        mu: 50.0,
    }];
    let machine = machine(|_| {});
    let cut = sequence_beam(&beam, &machine, Technique::SlidingWindow)
        .unwrap()
        .beam;
    assert!(
        cut.is_cut() && cut.fluence_limits.is_empty() && cut.limits_of_map() == beam.fluence_limits
    );
    assert_eq!(
        (cut.map(), cut.uncut()),
        (beam.fluence.as_ref(), beam.clone())
    );
    assert_eq!(
        sequence_beam(&cut.uncut(), &machine, Technique::SlidingWindow)
            .unwrap()
            .beam,
        cut
    );
    // A newer map counts in place of the one that the leaves were cut from.
    let newer = Beam {
        fluence: beam.fluence,
        ..cut
    };
    assert!(!newer.is_cut() && newer.uncut() == newer);
}

#[test]
fn segments_deliver_the_map() {
    let rows: Vec<Vec<f32>> = (0..12)
        .map(|row| {
            (0..14)
                .map(|n| 0.25 * ((n / 4 + row / 4) % 4 + 1) as f32)
                .collect()
        })
        .collect();
    let beam = with_map(MlcAxis::Y, -30.0, &rows, 80.0);
    let machine = machine(|_| {});
    let cut = sequence_beam(&beam, &machine, Technique::StepAndShoot).unwrap();
    let figures = DeliveryFigures::new(&cut.beam, &machine.delivery.unwrap());
    println!("{} MU, {:?}, {figures:?}", cut.beam.mu, cut.difference);
    assert!(cut.difference.mean_percent.abs() < 2.0 && cut.difference.rms_percent < 5.0);
    assert!(figures.smallest_cm2 >= 4.0 && figures.apertures >= 4);
    for pair in cut.beam.control_points.windows(2) {
        let mu = cut.beam.mu * (pair[1].meterset_weight - pair[0].meterset_weight);
        assert!(
            mu == 0.0 || (pair[0].leaves_mm == pair[1].leaves_mm && mu > 1.99),
            "{mu}"
        );
    }
}

/// Few segments: no more than they may be, and most of the map, in about its monitor units.
#[test]
fn few_segments_deliver_most_of_the_map() {
    let rows: Vec<Vec<f32>> = (0..12)
        .map(|row| {
            let hill = (0..14).map(|n| (0.4 * n as f32 + 0.1 * row as f32).sin());
            hill.map(|value| 0.6 + 0.4 * value).collect()
        })
        .collect();
    let beam = with_map(MlcAxis::Y, -30.0, &rows, 80.0);
    let machine = machine(|_| {});
    let [many, few] = [Technique::StepAndShoot, Technique::FewSegments]
        .map(|technique| sequence_beam(&beam, &machine, technique).unwrap());
    let [many_segments, few_segments] =
        [&many, &few].map(|leaves| leaves.beam.control_points.len() / 2);
    println!(
        "{few_segments} of {many_segments}: {:?}, {:?}",
        few.difference, many.difference
    );
    assert!((2..=5).contains(&few_segments) && few_segments < many_segments);
    assert!(few.difference.rms_percent > many.difference.rms_percent);
    assert!(few.difference.rms_percent < 20.0 && few.difference.mean_percent.abs() < 5.0);
    assert!(
        (few.beam.mu / many.beam.mu - 1.0).abs() < 0.25,
        "{} of {}",
        few.beam.mu,
        many.beam.mu
    );
}

/// Maps and machines that the sweep cannot have are refused with a sentence.
#[test]
fn what_cannot_be_cut_is_refused_in_words() {
    let good = with_map(MlcAxis::X, -20.0, &vec![vec![1.0; 10]; 8], 60.0);
    let said = |beam: &Beam, machine: &Machine, technique| {
        sequence_beam(beam, machine, technique)
            .expect_err("refused")
            .to_string()
    };
    let sliding = Technique::SlidingWindow;
    let own = machine(|_| {});
    let unlimited = Machine {
        delivery: None,
        ..own.clone()
    };
    assert!(said(&good, &unlimited, sliding).contains("[delivery]"));
    let leafless = Machine {
        leaves: None,
        ..own.clone()
    };
    assert!(said(&good, &leafless, sliding).contains("no leaves"));
    assert!(
        said(
            &Beam {
                fluence: None,
                ..good.clone()
            },
            &own,
            sliding
        )
        .contains("no fluence map")
    );
    assert!(
        said(
            &Beam {
                mu: 0.0,
                ..good.clone()
            },
            &own,
            sliding
        )
        .contains("nothing to deliver")
    );
    let shifted = with_map(MlcAxis::X, -22.0, &vec![vec![1.0; 10]; 8], 60.0);
    assert!(said(&shifted, &own, sliding).contains("rows of the map"));
    assert!(
        said(
            &with_map(MlcAxis::X, 0.0, &vec![vec![1.0; 2]; 2], 60.0),
            &own,
            Technique::StepAndShoot
        )
        .contains("4 cm2")
    );
    let mut wide = vec![vec![0.01; 60]; 8];
    wide[0].iter_mut().for_each(|value| *value = 1.0);
    wide[1].iter_mut().take(30).for_each(|value| *value = 2.0);
    let narrow = machine(|limits| limits.max_span_mm = 40.0);
    let said = said(&with_map(MlcAxis::X, -20.0, &wide, 100.0), &narrow, sliding);
    assert!(said.contains("carriage holds 40.0 mm"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// No control point of any map breaks a limit of any machine, and what is delivered is never far from the map on average.
    #[test]
    fn no_limit_is_broken(
        values in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0.0_f32), 0.0_f32..3.0], 9), 2..9),
        mu in 5.0_f64..150.0,
        gap in 0.0_f64..6.0,
        speed in 15.0_f64..60.0,
        interdigitates in any::<bool>(),
        sliding in any::<bool>(),
    ) {
        let machine = machine(|limits| {
            *limits = Delivery { min_gap_mm: gap, leaf_speed_mm_s: speed, interdigitates, max_span_mm: 800.0, ..*limits };
        });
        let beam = with_map(MlcAxis::X, -20.0, &values, mu);
        let technique = if sliding { Technique::SlidingWindow } else { Technique::StepAndShoot };
        match sequence_beam(&beam, &machine, technique) {
            Ok(cut) => {
                prop_assert_eq!(cut.beam.fault(), None);
                prop_assert_eq!(broken_limit(&cut.beam, &machine.delivery.unwrap()), None);
                let points = &cut.beam.control_points;
                prop_assert!(points.windows(2).all(|p| p[0].meterset_weight <= p[1].meterset_weight));
                prop_assert!(points.iter().all(|p| p.leaves_mm.len() == 60));
            }
            Err(why) => prop_assert!(matches!(why, SequenceError::TooSmall { .. } | SequenceError::Empty { .. }), "{}", why),
        }
    }
}

/// A map wider than the carriage holds its leaves apart: leaves deliver it in parts that fade into each other, its fluence stays, and
/// monitor units are those of all parts. Narrower ones are delivered at once.
#[test]
fn wide_maps_are_delivered_in_parts() {
    // Open in the first columns on the odd rows and in the last ones on the even, so that a sweep has leaves on both sides.
    let open = |row: usize, column: usize| {
        if (column < 10) == row.is_multiple_of(2) {
            1.0
        } else {
            0.2
        }
    };
    let rows: Vec<Vec<f32>> = (0..8)
        .map(|row| (0..36).map(|column| open(row, column)).collect())
        .collect();
    let beam = with_map(MlcAxis::X, -20.0, &rows, 60.0);
    for technique in [Technique::SlidingWindow, Technique::StepAndShoot] {
        let sequenced = |span_mm: f64| {
            let machine = machine(|limits| limits.max_span_mm = span_mm);
            let cut = sequence_beam(&beam, &machine, technique).unwrap();
            assert_eq!(broken_limit(&cut.beam, &machine.delivery.unwrap()), None);
            cut
        };
        let [wide, split] = [250.0, 120.0].map(sequenced);
        println!(
            "{technique:?}: {} MU, {:?}; {} MU, {:?}",
            wide.beam.mu, wide.difference, split.beam.mu, split.difference
        );
        let moves_dark = |cut: &Sequenced| {
            let dark = |pair: &&[case::ControlPoint]| {
                pair[0].meterset_weight == pair[1].meterset_weight
                    && pair[0].leaves_mm != pair[1].leaves_mm
            };
            cut.beam.control_points.windows(2).filter(dark).count()
        };
        if technique == Technique::SlidingWindow {
            assert_eq!([&wide, &split].map(moves_dark), [0, 1]);
        }
        assert!(
            split.beam.mu > 1.2 * wide.beam.mu,
            "{} for {}",
            split.beam.mu,
            wide.beam.mu
        );
        let mean = [&wide, &split].map(|cut| cut.difference.mean_percent.abs());
        assert!(mean[1] < mean[0] + 0.5, "{mean:?}");
        assert!(
            split.difference.rms_percent < wide.difference.rms_percent + 1.5,
            "{:?}",
            split.difference
        );
    }
}
