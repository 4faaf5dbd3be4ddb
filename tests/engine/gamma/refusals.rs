//! Invalid requests are refused with a message.

use super::phantom::{dose, even, everywhere};
use beamsight::case::{Dose, DoseStatus};
use beamsight::engine::gamma::{
    Criterion, Dims, GammaError, GammaRequest, Normalisation, Role, Subset, gamma,
};
use beamsight::engine::{Cancelled, Compute, JobControl};
use beamsight::geometry::{Grid, Mask, Volume};
use glam::{DMat3, DVec3};
use std::sync::Arc;

fn grid() -> Arc<Grid> {
    even(DVec3::splat(-10.0), DVec3::splat(2.0), [11, 10, 9])
}

fn request() -> GammaRequest {
    let a = dose(&grid(), |_| 2.0);
    everywhere(&a, &a, &[Criterion::global(3.0, 3.0)])
}

fn error(request: &GammaRequest) -> GammaError {
    gamma(request, &Compute::Cpu, &JobControl::new()).expect_err("it makes no sense")
}

fn with(value: f32) -> Arc<Volume<f32>> {
    let mut data = vec![2.0; grid().len()];
    data[grid().index(3, 4, 5)] = value;
    Arc::new(Volume::new(grid(), data))
}

#[test]
fn doses_that_are_none() {
    for value in [f32::NAN, f32::INFINITY] {
        let found = error(&GammaRequest {
            reference: with(value),
            ..request()
        });
        assert!(
            matches!(
                found,
                GammaError::NotANumber {
                    role: Role::Reference,
                    at: [3, 4, 5],
                    ..
                }
            ),
            "{found}"
        );
    }
    let found = error(&GammaRequest {
        evaluated: with(-0.25),
        ..request()
    });
    assert_eq!(
        found,
        GammaError::Negative {
            role: Role::Evaluated,
            at: [3, 4, 5],
            value: -0.25
        }
    );
    let message = found.to_string();
    assert!(
        message.contains("evaluated") && message.contains("(3, 4, 5)") && message.contains("-0.25"),
        "{message}"
    );
}

#[test]
fn numbers_that_are_none() {
    assert_eq!(
        error(&GammaRequest {
            criteria: Vec::new(),
            ..request()
        }),
        GammaError::NoCriterion
    );
    for (dose_percent, dta_mm) in [(0.0, 3.0), (3.0, -1.0), (f64::NAN, 3.0)] {
        let criteria = vec![Criterion {
            dose_percent,
            dta_mm,
            local: false,
        }];
        assert!(matches!(
            error(&GammaRequest {
                criteria,
                ..request()
            }),
            GammaError::Criterion { .. }
        ));
    }
    for gy in [0.0, -1.0, f64::INFINITY] {
        let normalisation = Normalisation::Typed(gy);
        assert!(matches!(
            error(&GammaRequest {
                normalisation,
                ..request()
            }),
            GammaError::Normalisation { .. }
        ));
    }
    let zero = dose(&grid(), |_| 0.0);
    assert!(matches!(
        error(&GammaRequest {
            reference: zero,
            ..request()
        }),
        GammaError::Normalisation { .. }
    ));
    assert!(matches!(
        error(&GammaRequest {
            threshold_percent: 101.0,
            ..request()
        }),
        GammaError::Threshold { .. }
    ));
    assert!(matches!(
        error(&GammaRequest {
            max_gamma: Some(0.0),
            ..request()
        }),
        GammaError::MaxGamma(_)
    ));
    let subset = Some(Subset { count: 0, seed: 1 });
    assert_eq!(
        error(&GammaRequest {
            subset,
            ..request()
        }),
        GammaError::EmptySubset
    );
}

#[test]
fn doses_that_do_not_meet() {
    let far = even(DVec3::splat(200.0), DVec3::splat(2.0), [11, 10, 9]);
    let found = error(&GammaRequest {
        evaluated: dose(&far, |_| 2.0),
        ..request()
    });
    assert_eq!(found, GammaError::NoOverlap { points: 990 });
    let line = even(DVec3::splat(-10.0), DVec3::splat(2.0), [1, 10, 9]);
    let found = error(&GammaRequest {
        evaluated: dose(&line, |_| 2.0),
        ..request()
    });
    assert!(matches!(found, GammaError::TooSmall { .. }));
    let named = |uid: &str| Dose {
        gy: dose(&grid(), |_| 2.0),
        status: DoseStatus::Imported,
        label: "dose".to_owned(),
        frame_of_reference_uid: uid.to_owned(),
        receipt: None,
        caveats: Vec::new(),
        remarks: Vec::new(),
        part: None,
    };
    let criteria = vec![Criterion::global(3.0, 3.0)];
    let found = GammaRequest::of_doses(&named("1.2"), &named("1.3"), criteria.clone())
        .expect_err("two frames");
    assert!(matches!(found, GammaError::FrameOfReference { .. }));
    assert!(
        GammaRequest::of_doses(&named("1.2"), &named(""), criteria).is_ok(),
        "one does not say"
    );
}

#[test]
fn planes_that_do_not_fit() {
    let found = error(&GammaRequest {
        dims: Dims::Plane,
        ..request()
    });
    assert_eq!(found, GammaError::NotPlanar { planes: 9 });
    let turn = DMat3::from_rotation_x(0.1);
    let tilted = Grid::new(
        DVec3::splat(-10.0),
        turn.x_axis,
        turn.y_axis,
        [2.0, 2.0],
        [11, 10],
        &[0.0, 2.0],
    )
    .unwrap();
    let evaluated = dose(&Arc::new(tilted), |_| 2.0);
    let found = error(&GammaRequest {
        dims: Dims::Slices,
        evaluated,
        ..request()
    });
    assert!(matches!(found, GammaError::NotParallel { .. }), "{found}");
    let plane = |z: f64| {
        dose(
            &even(DVec3::new(-10.0, -10.0, z), DVec3::splat(2.0), [11, 10, 1]),
            |_| 2.0,
        )
    };
    let found = error(&GammaRequest {
        reference: plane(0.0),
        evaluated: plane(1.5),
        ..request()
    });
    assert!(
        matches!(found, GammaError::OtherPlane { apart_mm } if (apart_mm - 1.5).abs() < 1e-9),
        "{found}"
    );
}

#[test]
fn regions_with_nothing_in_them() {
    let square = |grid: &Arc<Grid>, side: f64| {
        let corner = |x: f64, y: f64| DVec3::new(x * side, y * side, 0.0);
        let contour = [
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ];
        Some(Arc::new(
            Mask::from_contours(grid, &[&contour], &|_| true).unwrap(),
        ))
    };
    assert_eq!(
        error(&GammaRequest {
            region: square(&grid(), 0.3),
            ..request()
        }),
        GammaError::EmptyRegion
    );
    let other = even(DVec3::splat(-10.0), DVec3::splat(2.5), [11, 10, 9]);
    assert_eq!(
        error(&GammaRequest {
            region: square(&other, 6.0),
            ..request()
        }),
        GammaError::OtherGrid
    );
    let normalisation = Normalisation::Typed(100.0);
    let found = error(&GammaRequest {
        normalisation,
        threshold_percent: 10.0,
        ..request()
    });
    assert_eq!(
        found,
        GammaError::NothingToAnalyse {
            threshold_gy: 10.0,
            in_region: false
        }
    );
}

#[test]
fn a_cancelled_watch_stops_it() {
    let control = JobControl::new();
    control.cancel();
    let found = gamma(&request(), &Compute::Cpu, &control).expect_err("it was cancelled");
    assert_eq!(found, GammaError::Cancelled(Cancelled));
}
