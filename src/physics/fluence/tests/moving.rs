//! Jaws and leaves that move while the beam is on.

use super::*;

/// A beam that moves, and the same motion in `steps` static steps.
fn moving_and_stepped(from: &Beam, to: &Beam, steps: usize) -> [Beam; 2] {
    let (a, b) = (&from.control_points[0], &to.control_points[0]);
    let stops = (0..steps).flat_map(|n| {
        let p = a.on_the_way_to(b, share_of_steps(n, steps) + 0.5 / steps as f64);
        [
            point_at(share_of_steps(n, steps), &p),
            point_at(share_of_steps(n + 1, steps), &p),
        ]
    });
    [vec![point_at(0.0, a), point_at(1.0, b)], stops.collect()].map(|control_points| Beam {
        control_points,
        ..from.clone()
    })
}

fn point_at(weight: f64, p: &ControlPoint) -> ControlPoint {
    ControlPoint {
        meterset_weight: weight,
        ..p.clone()
    }
}

fn share_of_steps(n: usize, steps: usize) -> f64 {
    n as f64 / steps as f64
}

/// Greatest difference between a moving beam and the same in 1000 steps: of both sources together, and of electrons.
fn off_by(
    m: &Machine,
    from: &Beam,
    to: &Beam,
    points: &[[f64; 2]],
    distances_mm: &[f64],
) -> [f64; 2] {
    let [moving, stepped] = moving_and_stepped(from, to, 1000).map(|b| fluence_of(m, &b));
    let mut worst = [0.0_f64; 2];
    for &[x, y] in points {
        for &d in distances_mm {
            let off = moving.at(x, y, d, 2.5) - stepped.at(x, y, d, 2.5);
            worst[0] = worst[0].max(off.abs());
        }
        worst[1] = worst[1].max((moving.electrons_at(x, y) - stepped.electrons_at(x, y)).abs());
    }
    worst
}

fn still(jaws: Jaws) -> Beam {
    Beam::fixed("b", 1, 0.0, DVec3::ZERO, jaws, 100.0)
}

/// A jaw that travels 90 mm opens each point for its share of the units; a point source without transmission has no more.
#[test]
fn a_moving_jaw_opens_a_point_for_its_share_of_the_units() {
    let m = machine("point-6mv");
    let jaws = |right: f64| {
        still(Jaws {
            x: [-40.0, right],
            y: [-30.0, 50.0],
        })
    };
    let [moving, _] = moving_and_stepped(&jaws(60.0), &jaws(-30.0), 1);
    let f = fluence_of(&m, &moving);
    for (x, share) in [
        (-45.0, 0.0),
        (-35.0, 1.0),
        (-30.0, 1.0),
        (-12.0, 0.8),
        (10.0, 50.0 / 90.0),
        (59.1, 0.01),
    ] {
        assert!(
            (f.at(x, 5.0, 1000.0, 0.0) - share).abs() < 1e-9,
            "{x}: {}",
            f.at(x, 5.0, 1000.0, 0.0)
        );
    }
    assert_eq!(f.widest_mm(), 60.0);
}

/// One axis moves: exact, at every distance, with both sources.
#[test]
fn a_moving_pair_of_jaws_is_the_mean_of_still_ones() {
    let m = machine("generic-6mv");
    let points = grid_of_points(72, 3);
    for (from, to) in [
        (
            Jaws {
                x: [-40.0, 60.0],
                y: [-30.0, 50.0],
            },
            Jaws {
                x: [-40.0, -30.0],
                y: [-30.0, 50.0],
            },
        ),
        (
            Jaws {
                x: [-60.0, -58.0],
                y: [-30.0, 50.0],
            },
            Jaws {
                x: [40.0, 50.0],
                y: [-30.0, 50.0],
            },
        ),
        (
            Jaws {
                x: [-30.0, 30.0],
                y: [-30.0, 50.0],
            },
            Jaws {
                x: [-30.0, 30.0],
                y: [-30.8, 50.4],
            },
        ),
    ] {
        let off = off_by(
            &m,
            &still(from),
            &still(to),
            &points,
            &[850.0, 1000.0, 1150.0],
        );
        println!("{from:?} to {to:?}: {off:?}");
        assert!(
            off.iter().all(|off| *off < 3e-4),
            "{from:?} to {to:?}: {off:?}"
        );
    }
}

/// Both axes move together: the corner that two edges pass at once is off by no more than the bound of a part.
#[test]
fn jaws_that_move_along_both_axes_keep_to_their_bound() {
    let m = machine("generic-6mv");
    let mut points = grid_of_points(60, 4);
    points.extend((-240..240).map(|n| [0.25 * f64::from(n); 2]));
    for (from, to) in [
        (
            Jaws {
                x: [-50.0, -40.0],
                y: [-50.0, -40.0],
            },
            Jaws {
                x: [40.0, 50.0],
                y: [40.0, 50.0],
            },
        ),
        (
            Jaws {
                x: [-30.0, 30.0],
                y: [-20.0, 30.0],
            },
            Jaws {
                x: [-30.0, 28.0],
                y: [-20.0, 28.5],
            },
        ),
        (
            Jaws {
                x: [-30.0, 30.0],
                y: [-20.0, 30.0],
            },
            Jaws {
                x: [-30.0, 29.2],
                y: [-20.0, 29.1],
            },
        ),
    ] {
        let off = off_by(&m, &still(from), &still(to), &points, &[900.0, 1000.0]);
        println!("{from:?} to {to:?}: {off:?}");
        assert!(
            off.iter().all(|off| *off < 5e-3),
            "{from:?} to {to:?}: {off:?}"
        );
    }
}

/// Leaves that move under jaws that move: as many still pictures, but for the sixth of a part by which an edge of both is off.
#[test]
fn leaves_that_move_under_moving_jaws_are_the_mean_of_still_ones() {
    let m = machine("generic-6mv");
    let points = grid_of_points(56, 8);
    let tips =
        |left_mm: f64, width: f64| move |v: f64| [left_mm + 0.1 * v, left_mm + width - 0.05 * v];
    // Jaws behind the leaves, jaws at the leaves' tips all the way, jaws across the leaves, leaves that stand still, jaws that do.
    for (name, from, to, bound) in [
        (
            "followed",
            shaped(&m, jaws([-50.0, -20.0], [-40.0, 40.0]), tips(-40.0, 12.0)),
            shaped(&m, jaws([10.0, 50.0], [-40.0, 40.0]), tips(28.0, 12.0)),
            4e-3,
        ),
        (
            "at the tips",
            shaped(&m, jaws([-40.0, 50.0], [-40.0, 40.0]), |_| [-40.0, 45.0]),
            shaped(&m, jaws([30.0, 50.0], [-40.0, 40.0]), |_| [30.0, 45.0]),
            4e-3,
        ),
        (
            "across",
            shaped(&m, jaws([-50.0, 50.0], [-40.0, -10.0]), tips(-40.0, 20.0)),
            shaped(&m, jaws([-50.0, 50.0], [10.0, 40.0]), tips(20.0, 20.0)),
            4e-3,
        ),
        (
            "still leaves",
            shaped(&m, jaws([-50.0, 40.0], [-40.0, 40.0]), tips(-30.0, 50.0)),
            shaped(&m, jaws([-50.0, -40.0], [-40.0, 40.0]), tips(-30.0, 50.0)),
            2e-3,
        ),
        (
            "from beyond the jaws to beyond them",
            shaped(&m, jaws([-30.0, 30.0], [-40.0, 40.0]), tips(-170.0, 110.0)),
            shaped(&m, jaws([-30.0, 30.0], [-40.0, 40.0]), tips(0.0, 160.0)),
            1e-3,
        ),
    ] {
        let off = off_by(&m, &from, &to, &points, &[900.0, 1000.0]);
        println!("{name}: {off:?}");
        assert!(off.iter().all(|off| *off < bound), "{name}: {off:?}");
    }
}

fn jaws(x: [f64; 2], y: [f64; 2]) -> Jaws {
    Jaws { x, y }
}

/// Leaves of any width that are all open take nothing away and add nothing.
#[test]
fn narrow_leaves_that_are_open_add_nothing() {
    let m = machine("generic-6mv");
    let jaws = Jaws::symmetric(60.0, 60.0);
    let plain = open(&m, jaws);
    for width in [1.5, 2.5, 10.0] {
        let mut b = still(jaws);
        let boundaries_mm: Vec<f64> = (-40..=40).map(|n| width * f64::from(n)).collect();
        b.control_points[0].leaves_mm = vec![[-100.0, 100.0]; 80];
        b.mlc = Some(Mlc {
            axis: MlcAxis::X,
            boundaries_mm,
        });
        let f = fluence_of(&m, &b);
        for [x, y] in grid_of_points(24, 4) {
            let (got, want) = (f.at(x, y, 1000.0, 1.0), plain.at(x, y, 1000.0, 1.0));
            assert!(
                (got - want).abs() < 5e-3,
                "{width} mm at ({x}, {y}): {got} against {want}"
            );
        }
    }
}
