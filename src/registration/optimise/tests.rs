use super::*;
use std::convert::Infallible;

const WIDE: Range = Range {
    low: -10.0,
    high: 10.0,
};

fn sphere(x: &[f64]) -> f64 {
    x.iter()
        .enumerate()
        .map(|(i, v)| (v - 0.5 * i as f64).powi(2))
        .sum()
}

fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2)
        .map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2))
        .sum()
}

fn cma(start: &[f64], ranges: &[Range], generations: usize, f: impl Fn(&[f64]) -> f64) -> Best {
    let settings = CmaSettings {
        population: None,
        generations,
        sigma: 1.0,
        least_sigma: 1e-9,
        seed: 7,
    };
    let mut cma = CmaEs::new(start, ranges, settings);
    while let Some(points) = cma.ask() {
        for point in &points {
            assert!(
                point
                    .iter()
                    .zip(ranges)
                    .all(|(x, r)| *x >= r.low && *x <= r.high)
            );
        }
        cma.tell(&points.iter().map(|p| f(p)).collect::<Vec<_>>());
    }
    cma.best().unwrap().clone()
}

fn by_powell(start: &[f64], ranges: &[Range], f: impl Fn(&[f64]) -> f64) -> Best {
    let settings = PowellSettings {
        step: 0.5,
        tolerance: 1e-6,
        values: 2000,
    };
    let Ok(best) = powell::<Infallible>(start, ranges, settings, |x| {
        assert!(
            x.iter()
                .zip(ranges)
                .all(|(x, r)| *x >= r.low && *x <= r.high)
        );
        Ok(f(x))
    });
    best
}

/// Rosenbrock's function as a sum of squares, with its Jacobian.
fn rosenbrock_model(x: &[f64]) -> Quadratic {
    let rows = [
        (10.0 * (x[1] - x[0] * x[0]), [-20.0 * x[0], 10.0]),
        (1.0 - x[0], [-1.0, 0.0]),
    ];
    let gradient = (0..2)
        .map(|a| 2.0 * rows.iter().map(|(r, j)| r * j[a]).sum::<f64>())
        .collect();
    let matrix = (0..2)
        .map(|a| {
            (0..2)
                .map(|b| 2.0 * rows.iter().map(|(_, j)| j[a] * j[b]).sum::<f64>())
                .collect()
        })
        .collect();
    Quadratic {
        value: rosenbrock(x),
        gradient,
        matrix,
    }
}

#[test]
fn all_find_the_least_of_a_sphere_and_of_rosenbrocks_valley() {
    for n in [1, 3, 6] {
        let (start, ranges) = (vec![4.0; n], vec![WIDE; n]);
        for best in [
            cma(&start, &ranges, 300, sphere),
            by_powell(&start, &ranges, sphere),
        ] {
            assert!(best.value < 1e-8, "{n}: {best:?}");
            assert!(
                best.point
                    .iter()
                    .enumerate()
                    .all(|(i, x)| (x - 0.5 * i as f64).abs() < 1e-4)
            );
        }
    }
    let start = [-1.2, 1.0];
    // With four numbers the valley has a second minimum, which this start avoids.
    for n in [2, 4] {
        let start = if n == 2 { start.to_vec() } else { vec![0.0; 4] };
        for best in [
            cma(&start, &[WIDE].repeat(n), 1000, rosenbrock),
            by_powell(&start, &[WIDE].repeat(n), rosenbrock),
        ] {
            assert!(
                best.point.iter().all(|x| (x - 1.0).abs() < 1e-2),
                "{best:?}"
            );
        }
    }
    let settings = GaussNewton {
        steps: 60,
        tolerance: 1e-12,
        longest: 10.0,
    };
    let Ok(refined) = refine::<Infallible>(&start, &[WIDE; 2], settings, |x| {
        Ok(Some(rosenbrock_model(x)))
    });
    let best = refined.unwrap();
    assert!(
        best.point.iter().all(|x| (x - 1.0).abs() < 1e-6),
        "{best:?}"
    );
}

/// The minimum of the sphere within a box is at the box's nearest point.
#[test]
fn bounds_hold_and_locked_numbers_stay() {
    let ranges = [
        Range {
            low: 1.0,
            high: 3.0,
        },
        Range {
            low: 2.0,
            high: 2.0,
        },
        Range {
            low: -4.0,
            high: 0.25,
        },
    ];
    let start = [2.0, 2.0, -3.0];
    let want = [1.0, 2.0, 0.25];
    let settings = GaussNewton {
        steps: 40,
        tolerance: 1e-12,
        longest: 10.0,
    };
    let Ok(refined) = refine::<Infallible>(&start, &ranges, settings, |x| {
        Ok(Some(Quadratic {
            value: sphere(x),
            gradient: x
                .iter()
                .enumerate()
                .map(|(i, v)| 2.0 * (v - 0.5 * i as f64))
                .collect(),
            matrix: (0..3)
                .map(|r| (0..3).map(|c| if r == c { 2.0 } else { 0.0 }).collect())
                .collect(),
        }))
    });
    // CMA-ES does not know locked numbers: the caller passes the free ones only.
    let two = [ranges[0], ranges[2]];
    let evolved = cma(&[2.0, -3.0], &two, 400, |p| {
        sphere(&with_fixed_middle(p.to_vec()))
    });
    for point in [
        refined.unwrap().point,
        by_powell(&start, &ranges, sphere).point,
        with_fixed_middle(evolved.point),
    ] {
        assert!(
            point.iter().zip(want).all(|(x, w)| (x - w).abs() < 1e-4),
            "{point:?}"
        );
    }
}

fn with_fixed_middle(p: Vec<f64>) -> Vec<f64> {
    [p[0], 2.0, p[1]].to_vec()
}

#[test]
fn a_seed_leads_the_same_way_each_time() {
    let run = |seed| {
        let settings = CmaSettings {
            population: Some(8),
            generations: 5,
            sigma: 1.0,
            least_sigma: 0.0,
            seed,
        };
        let mut cma = CmaEs::new(&[1.0, 2.0], &[WIDE; 2], settings);
        while let Some(points) = cma.ask() {
            cma.tell(&points.iter().map(|p| sphere(p)).collect::<Vec<_>>());
        }
        cma.best().unwrap().clone()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// A point without a value is skipped, and an error ends the search.
#[test]
fn holes_and_errors() {
    assert!(cma(&[3.0, 3.0], &[WIDE; 2], 300, sphere_with_hole).point[0] < 1e-3);
    assert!(by_powell(&[3.0, 3.0], &[WIDE; 2], sphere_with_hole).point[0] < 1e-3);
    let settings = PowellSettings {
        step: 0.5,
        tolerance: 1e-6,
        values: 2000,
    };
    assert_eq!(
        powell(&[3.0], &[WIDE], settings, |_| Err::<f64, _>("cancelled")),
        Err("cancelled")
    );
    let mut evaluations = 0;
    let later = powell(&[3.0; 6], &[WIDE; 6], settings, |_| {
        evaluations += 1;
        if evaluations < 20 {
            Ok(f64::from(evaluations))
        } else {
            Err("cancelled")
        }
    });
    assert_eq!(later, Err("cancelled"));
    // Nowhere a value, the same everywhere, and no room: the start stays.
    let narrow = [
        Range {
            low: 3.0,
            high: 3.0,
        },
        Range {
            low: 2.0,
            high: 2.0 + 1e-9,
        },
    ];
    for ranges in [[WIDE; 2], narrow, [WIDE, narrow[1]]] {
        assert_eq!(
            by_powell(&[3.0, 2.0], &ranges, |_| f64::NAN).point,
            [3.0, 2.0]
        );
        assert_eq!(
            by_powell(&[3.0, 2.0], &ranges, |_| 1.0),
            Best {
                point: vec![3.0, 2.0],
                value: 1.0
            }
        );
    }
}

fn sphere_with_hole(x: &[f64]) -> f64 {
    if x[0] < 0.0 {
        f64::NAN
    } else {
        sphere(x) + x[0]
    }
}
